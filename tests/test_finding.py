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
from reread.reader.search import Filter, filtered, find
from reread.reader.session_view import Desk

PATH = Path(__file__).parent / "fixtures" / "finding.json"
CASES: dict[str, Any] = json.loads(PATH.read_text())


@pytest.fixture(scope="module")
def desk() -> Desk:
    """The records of the cases, opened."""
    return Desk(reread.open(making.jsonl(*CASES["records"])), "k")


def sent(desk: Desk) -> dict[str, Any]:
    """What the reader is sent: passages, and the bodies of their calls."""
    passages = desk.page(0, 1000, whole=True).passages
    bodies = {str(n): desk.call(n, whole=True) for n in range(len(desk.talk().conversation.calls))}
    return json.loads(jsontext.dumps({"passages": passages, "bodies": bodies}))


def hits(desk: Desk, query: str) -> list[list[Any]]:
    """Where a text stands; around a call's words, the server has those recorded, and a page those drawn."""
    found = find(desk, query).hits
    return [[h.passage, h.where, h.match, *([h.before, h.after] if h.where != "call" else [])] for h in found]


def kept(desk: Desk, case: dict[str, Any]) -> list[int]:
    """The passages that fit."""
    return filtered(desk, Filter(frozenset(case["kinds"]), frozenset(case["tools"]), case["errors"])).indices


def write_anew(desk: Desk) -> None:
    """Write what is found now, an item on each line."""
    made = {
        "records": CASES["records"],
        **sent(desk),
        "find": [{"query": case["query"], "hits": hits(desk, case["query"])} for case in CASES["find"]],
        "filter": [{**case, "indices": kept(desk, case)} for case in CASES["filter"]],
    }
    lines = (f"{json.dumps(name)}: {_listed(value)}" for name, value in made.items())
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _listed(value: Any) -> str:
    if isinstance(value, dict):
        items = (f"{json.dumps(name)}: {json.dumps(item, ensure_ascii=False)}" for name, item in value.items())
        return "{\n" + ",\n".join(items) + "\n}"
    return "[\n" + ",\n".join(json.dumps(item, ensure_ascii=False) for item in value) + "\n]"


def test_the_passages_are_those_that_the_reader_is_sent(desk: Desk) -> None:
    if os.environ.get("REREAD_GOLDEN") == "update":
        write_anew(desk)
        pytest.skip("written anew: read the difference")
    assert sent(desk) == {name: CASES[name] for name in ("passages", "bodies")}


@pytest.mark.parametrize("case", CASES["find"], ids=lambda case: case["query"])
def test_a_text_is_found_where_it_stands(desk: Desk, case: dict[str, Any]) -> None:
    assert hits(desk, case["query"]) == case["hits"]


@pytest.mark.parametrize("case", CASES["filter"], ids=str)
def test_a_filter_keeps_what_fits(desk: Desk, case: dict[str, Any]) -> None:
    assert kept(desk, case) == case["indices"]
