"""The reader's view of requests and files: lists, bodies, differences and the turns that wrote the lines."""

from itertools import groupby, pairwise

import pytest
from prompt_cache import Client
from requested import RequestedSession, conversation, in_blocks

import reread
from reread.base.paths import SAMPLES
from reread.errors import NotFound
from reread.reader.file_view import file_blame, file_diff, list_changed_files
from reread.reader.request_view import list_requests, request_body, request_context
from reread.reader.session_view import SessionView
from reread.reader.thread_view import ThreadView
from reread.tools.nodes import Code, Diff, Note, Section

SAMPLE = next(SAMPLES.glob("projects/*/8c1f0b52*.jsonl"))


def thread_of(made: RequestedSession) -> ThreadView:
    return SessionView(reread.open(made.data), "key").thread()


def test_requests_are_listed_in_pages_with_their_figures() -> None:
    thread = thread_of(conversation(3))
    listed = list_requests(thread, 2, 3)
    assert (listed.start, listed.total, [one.number for one in listed.requests]) == (2, 6, [3, 4, 5])
    first = listed.requests[0]
    assert (first.turn, first.model, first.purpose) == (2, "claude-sonnet-4-5", "sdk")
    assert (first.tokens, first.read_tokens, first.output_tokens) == (100, 90, 5)
    assert list_requests(thread, 99, 5).requests == []


def test_a_request_shows_all_of_it_closed_or_what_it_changed() -> None:
    made = conversation(2)
    thread = thread_of(made)
    whole = request_body(thread, 4, changes=False, whole=False)
    sections = [node for node in whole.nodes if isinstance(node, Section)]
    assert whole.proof == "verified" and len(sections) == len(whole.nodes) and not any(one.open for one in sections)
    messages = [in_blocks(message) for message in made.sent[3]["messages"]]
    titles = [one.title for one in sections]
    assert titles[0] == "Parameters" and titles[1].startswith("System 1 · ") and "2 tools" in titles
    assert [title.split(" ")[1] for title in titles[-len(messages) :]] == [message["role"] for message in messages]
    assert any("cached up to here" in title for title in titles)
    [text] = sections[1].nodes
    assert isinstance(text, Code) and text.text == "You are a helper."
    changed = request_body(thread, 4, changes=True, whole=False).nodes
    assert changed and all(isinstance(one, Section) and one.title.startswith("+ message") for one in changed)
    [first] = request_body(thread, 1, changes=True, whole=False).nodes
    assert isinstance(first, Note)


def test_an_edited_part_of_a_request_is_a_difference_and_an_equal_request_says_so() -> None:
    made = RequestedSession()
    made.row("user", "Hello")
    hello = [{"role": "user", "content": "Hello"}]
    made.send(hello)
    made.send(hello)
    made.send(hello, system=[{"type": "text", "text": "You are another."}])
    thread = thread_of(made)
    [note] = request_body(thread, 2, changes=True, whole=False).nodes
    assert isinstance(note, Note) and note.text.startswith("Equal")
    edited, gone = request_body(thread, 3, changes=True, whole=False).nodes
    assert isinstance(edited, Section) and isinstance(edited.nodes[0], Diff) and edited.title == "~ system 1"
    assert isinstance(gone, Section) and gone.title.startswith("− system 2")


def test_a_context_knows_its_place_among_the_requests() -> None:
    thread = thread_of(conversation(3))
    at = request_context(thread, turn=2, request=None, agent=None)
    assert (at.context.request, at.requests, at.cache_breaks) == (4, 6, [])
    assert request_context(thread, turn=None, request=3, agent=None).context.turn == 2
    with pytest.raises(NotFound):
        request_body(thread, 7, changes=False, whole=False)


def test_a_request_that_wrote_to_the_cache_again_is_marked_in_list_body_and_context() -> None:
    client = Client()
    client.shape = [("Read Bash", 9_000), ("Be brief.", 3_000)]
    client.prompt()
    client.note_request()
    client.respond(40)
    client.shape = [("Read", 8_000), ("Be brief.", 3_000)]
    client.note_request()
    client.respond()
    thread = SessionView(client.opened(), "key").thread()
    first, second = list_requests(thread, 0, 9).requests
    assert first.cache_breaks == [] and "tools" in second.cache_breaks[0]
    assert request_body(thread, 2, changes=True, whole=False).info.cache_breaks == second.cache_breaks
    assert request_context(thread, turn=None, request=2, agent=None).cache_breaks == second.cache_breaks


def test_items_say_how_the_context_grew_and_where_the_model_changed() -> None:
    view = SessionView(reread.open(next(SAMPLES.glob("projects/*/d2a94e17*.jsonl"))), "key")
    items = [item for item in view.page(0, 500).items if item.context is not None]
    sizes = [item.context for item in items]
    assert [item.grew for item in items[1:]] == [b - a for a, b in pairwise(sizes) if a is not None and b is not None]
    assert items[0].grew is None and min(item.grew or 0 for item in items) < 0  # a compaction
    models = [item.new_model for item in items if item.new_model is not None]
    assert models == [name for name, _ in groupby(item.responses[-1].model for item in items)]
    assert 1 < len(models) < len(items) / 4


def test_files_have_what_is_left_of_all_changes_and_the_turn_of_each_line() -> None:
    session = reread.open(SAMPLE)
    for index, (file, history) in enumerate(
        zip(list_changed_files(session).files, session.files.values(), strict=True)
    ):
        [node] = file_diff(session, index).nodes
        assert isinstance(node, Diff)
        lines = [line for hunk in node.hunks for line in hunk.lines]
        assert (file.added, file.removed) == tuple(sum(line[0] == sign for line in lines) for sign in "+-")
        blamed = file_blame(session, index)
        last = history.versions[-1].after
        assert last is not None and "\n".join(line for run in blamed.runs for line in run.lines) == last.text.rstrip(
            "\n"
        )
        added = {line[1:] for line in lines if line[0] == "+"}
        own = {line for run in blamed.runs for line in run.lines if run.turn is not None}
        assert added <= own and {run.turn for run in blamed.runs} <= {None, 1, 2}
    with pytest.raises(NotFound):
        file_blame(session, 99)
