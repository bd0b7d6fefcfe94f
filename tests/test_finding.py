"""Finding and filtering: what the server does and what an exported page does are one rule, in one file of cases.

`fixtures/finding.json` holds records, the passages that the reader is sent of them, and what is found among these; the
reader's own tests read the same file. Run with REREAD_GOLDEN=update to write it anew, and read the difference before
you keep it.
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

PATH = Path(__file__).parent / "fixtures" / "finding.json"
CASES: dict[str, Any] = json.loads(PATH.read_text())


@pytest.fixture(scope="module")
def view() -> SessionView:
    """The records of the cases, opened."""
    return SessionView(reread.open(making.jsonl(*CASES["records"])), "k")


def sent(view: SessionView) -> dict[str, Any]:
    """What the reader is sent: passages, and the bodies of their calls."""
    passages = view.page(0, 1000, whole=True).items
    bodies = {str(n): view.call(n, whole=True) for n in range(len(view.thread().conversation.calls))}
    return json.loads(jsontext.dumps({"items": passages, "bodies": bodies}))


def hits(view: SessionView, query: str) -> list[list[Any]]:
    """Where a text stands; around a call's words, the server has those recorded, and a page those drawn."""
    found = search_session(view, query).hits
    return [[h.item, h.where, h.match, *([h.before, h.after] if h.where != "call" else [])] for h in found]


def kept(view: SessionView, case: dict[str, Any]) -> list[int]:
    """The passages that fit."""
    return filtered(view, ItemFilter(frozenset(case["kinds"]), frozenset(case["tools"]), case["errors"])).indices


def write_anew(view: SessionView) -> None:
    """Write what is found now, an item on each line."""
    made = {
        "records": CASES["records"],
        **sent(view),
        "find": [{"query": case["query"], "hits": hits(view, case["query"])} for case in CASES["find"]],
        "filter": [{**case, "indices": kept(view, case)} for case in CASES["filter"]],
    }
    lines = (f"{json.dumps(name)}: {_listed(value)}" for name, value in made.items())
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _listed(value: Any) -> str:
    if isinstance(value, dict):
        items = (f"{json.dumps(name)}: {json.dumps(item, ensure_ascii=False)}" for name, item in value.items())
        return "{\n" + ",\n".join(items) + "\n}"
    return "[\n" + ",\n".join(json.dumps(item, ensure_ascii=False) for item in value) + "\n]"


def test_the_passages_are_those_that_the_reader_is_sent(view: SessionView) -> None:
    if os.environ.get("REREAD_GOLDEN") == "update":
        write_anew(view)
        pytest.skip("written anew: read the difference")
    assert sent(view) == {name: CASES[name] for name in ("items", "bodies")}


@pytest.mark.parametrize("case", CASES["find"], ids=lambda case: case["query"])
def test_a_text_is_found_where_it_stands(view: SessionView, case: dict[str, Any]) -> None:
    assert hits(view, case["query"]) == case["hits"]


@pytest.mark.parametrize("case", CASES["filter"], ids=str)
def test_a_filter_keeps_what_fits(view: SessionView, case: dict[str, Any]) -> None:
    assert kept(view, case) == case["indices"]
