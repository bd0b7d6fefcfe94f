"""Search and filters: the server and an exported page follow the same rules, tested with the same cases.

`fixtures/search.json` contains records, the items that the reader is sent for them, and what is found in those; the
reader's own tests read the same file. Run with REREAD_GOLDEN=update to rewrite it, and review the difference before
you commit it.
"""

import json
import os
from pathlib import Path
from typing import Any

import making
import msgspec
import pytest
from batches import table
from making import reply, result, system, text, thinking, use, user
from test_real_client import TRANSCRIPTS

import reread
from reread.base import jsontext
from reread.index.terms import words
from reread.reader.session_search import ItemFilter, filter_items, message_texts, search_session
from reread.reader.session_view import SessionView

PATH = Path(__file__).parent / "fixtures" / "search.json"
CASES: dict[str, Any] = json.loads(PATH.read_text())


@pytest.fixture(scope="module")
def view() -> SessionView:
    """A view of the cases' records."""
    return SessionView(reread.open(making.jsonl(*CASES["records"])), "k")


def sent(view: SessionView) -> dict[str, Any]:
    """What an exported page has: items, and the texts of each."""
    items = view.page(0, 1000, whole=True).items
    timeline = view.timeline()
    texts = [[text for m in timeline.item(n) for _, text in message_texts(m)] for n in range(len(timeline))]
    return json.loads(jsontext.dumps({"items": items, "texts": texts}))


def hits(view: SessionView, query: str) -> list[list[Any]]:
    """The hits for a text."""
    return [[h.item, h.where, h.match, h.before, h.after] for h in search_session(view, query).hits]


def matching(view: SessionView, case: dict[str, Any]) -> list[int]:
    """The items that match a filter."""
    return filter_items(
        view, ItemFilter(frozenset(case["kinds"]), frozenset(case["tools"]), case["errors"], case["stopped"])
    ).indices


def rewrite(view: SessionView) -> None:
    """Write the current results, one item per line."""
    cases = {
        "records": CASES["records"],
        **sent(view),
        "search": [{"query": case["query"], "hits": hits(view, case["query"])} for case in CASES["search"]],
        "filter": [{**case, "indices": matching(view, case)} for case in CASES["filter"]],
    }
    lines = (f"{json.dumps(name)}: {_listed(value)}" for name, value in cases.items())
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _listed(value: Any) -> str:
    if isinstance(value, dict):
        items = (f"{json.dumps(name)}: {json.dumps(item, ensure_ascii=False)}" for name, item in value.items())
        return "{\n" + ",\n".join(items) + "\n}"
    return "[\n" + ",\n".join(json.dumps(item, ensure_ascii=False) for item in value) + "\n]"


def test_the_items_are_those_that_the_reader_is_sent(view: SessionView) -> None:
    if os.environ.get("REREAD_GOLDEN") == "update":
        rewrite(view)
        pytest.skip("rewritten: review the difference")
    assert sent(view) == {name: CASES[name] for name in ("items", "texts")}


@table("case", CASES["search"])
def test_search_finds_a_text(view: SessionView, case: dict[str, Any]) -> None:
    assert hits(view, case["query"]) == case["hits"]


@table("case", CASES["filter"])
def test_a_filter_selects_items(view: SessionView, case: dict[str, Any]) -> None:
    assert matching(view, case) == case["indices"]


def view_of(*records: making.Object) -> SessionView:
    """A view of a session with these records."""
    return SessionView(making.read(*records), "k")


def test_a_text_is_found_in_every_kind_of_part() -> None:
    view = view_of(
        user('say "needle" twice'),
        reply(thinking("a Needle?"), text("The needle."), id="m1"),
        reply(use("a", "Bash", command="grep needle"), id="m2"),
        user([result("a", "a nEEdle in hay")]),
        system("informational", "needle notice"),
        reply("hay", id="m3"),
    )
    found = search_session(view, "NEEDLE")
    assert [(hit.item, hit.where, hit.match) for hit in found.hits] == [
        (0, "prompt", "needle"),
        (1, "thinking", "Needle"),
        (1, "text", "needle"),
        (2, "call", "needle"),
        (3, "notice", "needle"),
    ]
    assert found.hits[0].before == 'say "' and found.hits[0].after == '" twice'
    assert (found.next, found.searched, found.total) == (None, 5, 5)
    assert [hit.where for hit in search_session(view, "needle", ItemFilter(frozenset({"tools"}))).hits] == ["call"]
    assert [hit.item for hit in search_session(view, '"needle" twice').hits] == [0]
    assert search_session(view, "needle", start=3).hits[0].item == 3


@table("query", ["Größe", "日本", "a/b", "<b>", "\\d+", "'q'", "tab\there", "€ 5", "😀"])
def test_a_text_is_found_however_json_escapes_it(query: str) -> None:
    for dump in (making.jsonl, lambda *r: b"\n".join(msgspec.json.encode(x) for x in r)):
        view = SessionView(reread.open(dump(*making.told(user(f"x {query} y")))), "k")
        (hit,) = search_session(view, query).hits
        assert (hit.before, hit.match, hit.after) == ("x ", query, " y")


def test_a_search_continues_after_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reread.reader.session_search.SECONDS", 0)
    view = view_of(*(user(f"needle {n}") for n in range(5)))
    at: int | None = 0
    found: list[int] = []
    while at is not None:
        hits = search_session(view, "needle", start=at)
        found += [hit.item for hit in hits.hits]
        at = hits.next
    assert found == [0, 1, 2, 3, 4]


def test_a_filter_by_kind_tool_and_error() -> None:
    view = view_of(
        user("go"),
        reply(thinking("hm"), text("ok"), id="m1"),
        reply(use("a", "Bash", command="x"), id="m2"),
        user([result("a", "no", is_error=True)]),
        reply(use("b", "Edit", file_path="/p"), id="m3"),
        user([result("b")]),
        system("informational", "note"),
    )
    for item_filter, expected in {
        ItemFilter(): [0, 1, 2, 3, 4],
        ItemFilter(kinds=frozenset({"prompts"})): [0],
        ItemFilter(kinds=frozenset({"text", "thinking"})): [1],
        ItemFilter(kinds=frozenset({"tools"})): [2, 3],
        ItemFilter(tools=frozenset({"Edit"})): [3],
        ItemFilter(kinds=frozenset({"prompts"}), tools=frozenset({"Edit"})): [0, 3],
        ItemFilter(errors=True): [2],
        ItemFilter(kinds=frozenset({"notices"})): [4],
    }.items():
        assert filter_items(view, item_filter).indices == expected, item_filter


def test_a_message_with_an_attachment_matches_notices() -> None:
    view = view_of(user("see @a.py"), making.attachment("file", {"filename": "a.py"}), reply("ok", id="m"), user("on"))
    assert filter_items(view, ItemFilter(kinds=frozenset({"notices"}))).indices == [0]


def test_a_text_is_found_in_an_attachment() -> None:
    content = {"file": {"content": "a needle", "filePath": "/p/a.py"}}
    view = view_of(user("see @a.py"), making.attachment("file", {"filename": "a.py", "content": content}))
    assert [(hit.where, hit.before) for hit in search_session(view, "needle").hits] == [("notice", "a.py\na ")]


def test_the_look_at_the_bytes_passes_over_no_text() -> None:
    """Words that escape codes or the pieces of a stream split in the file are found too."""
    view = view_of(
        user("go"),
        reply(use("a", "Bash", command="ls"), id="m1"),
        user([result("a", "nee\x1b[31mdle\x1b[0m")]),
        making.event("message_start", message={"id": "m2", "role": "assistant", "content": []}),
        making.event("content_block_start", index=0, content_block=text("")),
        making.event("content_block_delta", index=0, delta={"type": "text_delta", "text": "a nee"}),
        making.event("content_block_delta", index=0, delta={"type": "text_delta", "text": "dle"}),
    )
    assert [hit.where for hit in search_session(view, "needle").hits] == ["call", "text"]
    queued = {"type": "queue-operation", "content": "a needle", "timestamp": "2026-11-15T01:13:50.805Z"}
    view = view_of(user("go"), reply("well"), {**queued, "operation": "enqueue"}, {**queued, "operation": "remove"})
    assert [hit.where for hit in search_session(view, "needle").hits] == ["notice"]


def test_every_word_of_a_real_session_is_found() -> None:
    for path in TRANSCRIPTS[::9]:
        view = SessionView(reread.open(path), "k")
        for index in range(len(view.timeline())):
            for message in view.timeline().item(index):
                for _, said in message_texts(message):
                    for word in sorted(set(words(said.text)), key=len)[-3:]:
                        assert index in {hit.item for hit in search_session(view, word, start=index).hits}, (path, word)
