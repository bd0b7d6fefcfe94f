"""Search and filters: the server and an exported page follow one rule, which one file of cases tests for both.

`fixtures/search.json` has records, the items and call bodies that the web UI gets for them, and what searches and
filters find. The TypeScript tests read the same file. Run with REREAD_GOLDEN=update to write it again, and review the
difference before you commit it.
"""

import json
import os
from pathlib import Path
from typing import Any

import making
import pytest

import reread
from reread.base import jsontext
from reread.reader.search import ItemFilter, filtered, search_session
from reread.reader.session_view import SessionView

PATH = Path(__file__).parent / "fixtures" / "search.json"
CASES: dict[str, Any] = json.loads(PATH.read_text())


@pytest.fixture(scope="module")
def view() -> SessionView:
    """The session made of the records."""
    return SessionView(reread.open(making.jsonl(*CASES["records"])), "k")


def served_values(view: SessionView) -> dict[str, Any]:
    """The items and call bodies that the web UI gets."""
    items = view.page(0, 1000, whole=True).items
    bodies = {str(n): view.call(n, whole=True) for n in range(len(view.thread().conversation.calls))}
    return json.loads(jsontext.dumps({"items": items, "bodies": bodies}))


def hits(view: SessionView, query: str) -> list[list[Any]]:
    """The hits of a search. In calls the server searches the recorded text and a page the drawn text, so their
    contexts differ.
    """
    found = search_session(view, query).hits
    return [[h.item, h.where, h.match, *([h.before, h.after] if h.where != "call" else [])] for h in found]


def matching(view: SessionView, case: dict[str, Any]) -> list[int]:
    """The indices of the items that match a filter."""
    return filtered(view, ItemFilter(frozenset(case["kinds"]), frozenset(case["tools"]), case["errors"])).indices


def write_fixture(view: SessionView) -> None:
    """Write the fixture with current results, one entry per line."""
    made = {
        "records": CASES["records"],
        **served_values(view),
        "search": [{"query": case["query"], "hits": hits(view, case["query"])} for case in CASES["search"]],
        "filter": [{**case, "indices": matching(view, case)} for case in CASES["filter"]],
    }
    lines = (f"{json.dumps(name)}: {_one_per_line(value)}" for name, value in made.items())
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _one_per_line(value: Any) -> str:
    if isinstance(value, dict):
        entries = (f"{json.dumps(name)}: {json.dumps(item, ensure_ascii=False)}" for name, item in value.items())
        return "{\n" + ",\n".join(entries) + "\n}"
    return "[\n" + ",\n".join(json.dumps(item, ensure_ascii=False) for item in value) + "\n]"


def test_the_fixture_has_the_items_that_the_web_ui_gets(view: SessionView) -> None:
    if os.environ.get("REREAD_GOLDEN") == "update":
        write_fixture(view)
        pytest.skip("fixture written: review the difference")
    assert served_values(view) == {name: CASES[name] for name in ("items", "bodies")}


@pytest.mark.parametrize("case", CASES["search"], ids=lambda case: case["query"])
def test_search_finds_every_text(view: SessionView, case: dict[str, Any]) -> None:
    assert hits(view, case["query"]) == case["hits"]


@pytest.mark.parametrize("case", CASES["filter"], ids=str)
def test_a_filter_selects_matching_items(view: SessionView, case: dict[str, Any]) -> None:
    assert matching(view, case) == case["indices"]
