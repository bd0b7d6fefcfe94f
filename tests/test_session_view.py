"""The reader's view of a session: its items, pages and places, complete and the same live as loaded."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import making
import pytest
from batches import each
from hypothesis import given
from hypothesis import strategies as st
from making import GrowingSource, answer, attachment, image, read, reply, result, system, text, thinking, use, user
from msgspec.structs import replace
from test_laws import ANY_TRANSCRIPT, cut
from test_real_client import TRANSCRIPTS, name

import reread
from reread.base import jsontext
from reread.base.text import as_title
from reread.model import parts as p
from reread.reader import schema
from reread.reader.drawing import PartBuilder
from reread.reader.session_search import search_session
from reread.reader.session_view import SessionView
from reread.reader.thread_view import MAX_FILLS, run_steps
from reread.reader.timeline import MAX_MESSAGES, Timeline
from reread.render.format import heading
from reread.session.session import Session, threads_of
from reread.tools import nodes

BASE_URL = "/api/sessions/k"


def session_view(session: Session) -> SessionView:
    """A view of a session."""
    return SessionView(session, "k", base_url=BASE_URL)


def view_of(*records: making.Object) -> SessionView:
    """A view of a session with these records."""
    return session_view(read(*records))


def everything(view: SessionView) -> dict[str, bytes]:
    """All items of all branches and agents, encoded, with the outlines and how full the context was."""
    out: dict[str, Any] = {}
    for agent in (None, *view.session.agents):
        conversation = view.thread(agent).conversation
        out[f"{agent} overview"] = jsontext.dumps(replace(run_steps(view.counted_overview(agent)), live=False))
        out[f"{agent} context"] = jsontext.dumps(run_steps(view.thread(agent).context()))
        for branch in conversation.branches:
            page = view.page(0, 1 << 30, agent=agent, branch=branch.id)
            out[f"{agent} {branch.id} waterfall"] = jsontext.dumps(run_steps(view.waterfall(agent, branch.id)))
            out[f"{agent} {branch.id}"] = [encoded(item) for item in page.items]
            out[f"{agent} {branch.id} turns"] = jsontext.dumps(
                view.outline(0, 1 << 30, agent=agent, branch=branch.id).turns
            )
    return out


def encoded(item: schema.TimelineItem) -> bytes:
    """An item as it is sent, without the titles of the branches at a fork."""
    parts = [
        replace(part, branches=[replace(branch, title="") for branch in part.branches])
        if isinstance(part, schema.ForkPart)
        else part
        for part in item.parts
    ]
    return jsontext.dumps(replace(item, parts=parts))


def kinds(view: SessionView) -> list[str]:
    """The kind of each item."""
    return [item.kind for item in view.page(0, 1000).items]


def parts_of(view: SessionView, kind: type[schema.Part]) -> list[Any]:
    """Every part of a kind, in order."""
    return [part for item in view.page(0, 1000).items for part in item.parts if isinstance(part, kind)]


# Grouping


def small_use(id: str, tool: str = "Read", **input: Any) -> making.Object:
    """A small call."""
    return use(id, tool, file_path=f"/p/{id}", **input)


def small_calls(*ids: str) -> list[making.Object]:
    """Responses that each make one small call, with their results."""
    return [record for id in ids for record in (reply(small_use(id), id=f"m{id}"), user([result(id)]))]


def test_a_run_of_small_calls_is_one_item() -> None:
    view = view_of(
        user("go"),
        *small_calls("a", "b"),
        reply(small_use("c", "Grep", pattern="x"), id="mc"),
        reply("Found.", id="m9"),
    )
    assert kinds(view) == ["prompt", "run", "response"]
    run = view.page(1, 1).items[0]
    assert run.title == "2 reads, 1 search"
    assert [part.id for part in run.parts] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("records", "found"),
    [
        ([*small_calls("a", "b"), reply("Found.")], ["response", "response", "response"]),
        (small_calls(*(f"c{n}" for n in range(MAX_MESSAGES * 2 + 1))), ["run", "run", "response"]),
        *(
            ([*small_calls("a", "b", "c"), between, *small_calls("d", "e", "f")], ["run", kind, "run"])
            for between, kind in (
                (reply("Now the other.", id="t"), "response"),
                (reply(use("x", "Bash", command="ls"), id="t"), "response"),
                (user("wait"), "prompt"),
            )
        ),
    ],
)
def test_text_other_calls_prompts_and_many_messages_end_a_run(records: list[making.Object], found: list[str]) -> None:
    assert kinds(view_of(user("go"), *records)) == ["prompt", *found]


def test_thinking_and_hooks_do_not_end_a_run() -> None:
    hook = attachment("hook_success", {"stdout": "ok", "hookName": "PostToolUse"})
    view = view_of(
        user("go"), *small_calls("a"), hook, reply(thinking("hm"), id="t"), *small_calls("b", "c"), reply("Done.")
    )
    assert kinds(view) == ["prompt", "run", "response"]
    assert [part.text for part in view.page(1, 1).items[0].parts if isinstance(part, schema.ThinkingPart)] == ["hm"]


@pytest.mark.parametrize(
    ("written", "seconds"), [(2500, 2.5), (0, 0), (None, None), ("2500", None), (-1, None), (10**400, None)]
)
def test_thinking_has_its_recorded_duration(written: Any, seconds: float | None) -> None:
    view = view_of(user("go"), reply(thinking("hm"), id="msg_1", thinkingDurationMs=written), reply("so", id="msg_1"))
    assert [part.seconds for part in parts_of(view, schema.ThinkingPart)] == [seconds]


@pytest.mark.parametrize("signature", [[], {}, None, 5])
def test_thinking_with_an_odd_signature_is_shown(signature: Any) -> None:
    block = {**thinking("hm"), "signature": signature}
    session = read(user("go"), reply(block, thinkingDurationMs=100))
    assert [part.seconds for part in parts_of(session_view(session), schema.ThinkingPart)] == [None]
    (message,) = session.turns[0].messages[1:]
    assert [part.text for part in p.message_parts(message) if isinstance(part, p.MessageThinking)] == ["hm"]


def test_client_additions_are_closed_parts() -> None:
    view = view_of(user("<system-reminder>be nice</system-reminder>hello"), user("context", isMeta=True), reply("hi"))
    assert kinds(view) == ["prompt", "response"]
    typed, closed = view.page(0, 1).items[0].parts
    assert typed == schema.TextPart(text="hello")
    assert (closed.title, closed.folded) == ("2 reminders", True)
    assert [(section.title, section.nodes[0].text) for section in closed.nodes] == [
        ("system reminder", "be nice"),
        ("context", "context"),
    ]


def test_hooks_and_context_are_one_closed_part_and_files_their_own() -> None:
    view = view_of(
        attachment("hook_success", {"hookName": "SessionStart", "stdout": "{}"}),
        user("go"),
        attachment("deferred_tools_delta", {"addedNames": ["x" * 30_000]}),
        attachment("file", {"filename": "a.py", "content": "x"}),
        attachment("date", {"date": "today"}),
        reply("ok"),
    )
    typed, file, folded = view.page(0, 1).items[0].parts
    assert (typed.text, file.title, folded.title) == ("go", "file a.py", "1 hook, 2 reminders")
    assert [section.title for section in folded.nodes] == ["hook success SessionStart", "deferred tools delta", "date"]
    assert [cut.path for cut in folded.cut] == [[1, 0]]


def test_a_notice_is_named_by_who_sent_it() -> None:
    failed = {"hookName": "Stop", "stderr": "boom", "exitCode": 1}
    view = view_of(
        user("go"), user("hi", origin={"kind": "peer", "from": "ann"}), attachment("hook_non_blocking_error", failed)
    )
    assert [(item.author, item.label) for item in view.page(0, 9).items] == [
        ("person", ""),
        ("peer", "message from ann"),
        ("hook", "hook Stop failed"),
    ]


def test_attachments_are_closed_parts() -> None:
    file = {"type": "text", "file": {"filePath": "/p/a.py", "content": "x = 1\n", "startLine": 1}}
    view = view_of(user("see @a.py"), attachment("file", {"filename": "a.py", "content": file}), reply("ok"))
    part = view.page(0, 1).items[0].parts[1]
    assert (part.title, part.nodes[0].text, part.nodes[0].path) == ("file a.py", "x = 1\n", "/p/a.py")


def test_the_kinds_of_client_messages() -> None:
    view = view_of(
        user("<command-name>/model</command-name><command-args>opus</command-args>"),
        user("<local-command-stdout>Set to opus</local-command-stdout>"),
        user("go"),
        attachment("queued_command", {"prompt": "and this"}),
        attachment("hook_success", {"stdout": "linted", "exitCode": 1}),
        system("api_error", error={"message": "overloaded"}),
        user("[Request interrupted by user]"),
        user("<task-notification><summary>built</summary><result>ok</result></task-notification>"),
        system("compact_boundary", compactMetadata={"trigger": "auto", "preTokens": 9, "postTokens": 2}),
        user("what was", isCompactSummary=True),
    )
    assert kinds(view) == [
        *("command", "output", "prompt", "prompt", "hook", "error", "interrupt", "notification", "compaction")
    ]
    assert view.page(3, 1).items[0].flags == ["queued"]
    assert parts_of(view, schema.CompactionPart) == [
        schema.CompactionPart(trigger="auto", micro=False, before=9, after=2, summary="what was")
    ]


def test_a_branch_that_was_left_has_figures_of_its_own() -> None:
    view = view_of(
        user("start"),
        reply("yes", id="m1", usage={"output_tokens": 5}),
        user("left", uuid="left"),
        reply(use("t1", "Bash", command="false"), id="m2", usage={"output_tokens": 7}),
        answer(result("t1", "Exit code 1", is_error=True)),
        user("right", parentUuid="u2", uuid="right"),
        reply(use("t2", "Read", file_path="/a"), id="m3", usage={"output_tokens": 20}),
    )
    left, active = (run_steps(view.counted_overview(branch=branch)) for branch in (0, None))
    assert (left.tools, left.errors, active.tools, active.errors) == ({"Bash": 1}, 1, {"Bash": 1, "Read": 1}, 1)
    assert left.ended is not None and active.ended is not None and left.ended < active.ended
    whole, of_left = run_steps(view.usage())(), run_steps(view.usage(branch=0))()
    assert (of_left.figures.tokens, whole.figures.tokens) == (12, 32)
    assert of_left.by_model.keys() == whole.by_model.keys()


def test_counting_may_be_interrupted_by_other_counting_and_by_updates() -> None:
    calls = [reply(use(f"t{n}", "Bash", command="x"), id=f"m{n}") for n in range(9)]
    ends = [answer(result(f"t{n}", "Exit code 1", is_error=True)) for n in range(3)]
    view = view_of(user("go"), *calls, *ends)
    assert view.overview().errors is None
    first, second = view.counted_overview(), view.counted_overview()
    next(first), next(second), next(first)
    view.update()
    assert run_steps(first).errors == run_steps(second).errors == run_steps(view.counted_overview()).errors == 3


def test_responses_without_a_model_are_counted_under_a_name() -> None:
    record = reply("yes", id="m1")
    del record["message"]["model"]
    assert "None" not in run_steps(view_of(user("start"), record).usage())().by_model


def test_a_fork_offers_its_branches() -> None:
    view = view_of(
        user("start"),
        reply("yes", id="m1"),
        user("left", uuid="left"),
        reply("went left", id="m2"),
        user("right", parentUuid="u2", uuid="right"),
        reply("went right", id="m3"),
    )
    overview = view.overview()
    assert [(mark.id, mark.title, mark.active) for mark in overview.branches] == [
        (1, "right", True),
        (0, "start", False),
    ]
    for branch, words in ((1, "right"), (0, "left")):
        page = view.page(0, 10, branch=branch)
        fork = page.items[1].parts[-1]
        assert isinstance(fork, schema.ForkPart)
        assert ([mark.title for mark in fork.branches], fork.shown) == (["left", "right"], branch)
        assert page.items[2].parts[0] == schema.TextPart(text=words)
    assert view.place(message="left").branch == 0


def test_a_fork_ends_a_run() -> None:
    view = view_of(user("go"), *small_calls("a", "b", "c", "d", "e", "f"), user("again", parentUuid="u7"))
    prompt, before, after = view.page(0, 10, branch=0).items
    assert (before.kind, after.kind) == ("run", "run")
    assert [type(part) for part in before.parts] == [schema.CallPart] * 3 + [schema.ForkPart]
    assert [part.id for part in after.parts] == ["d", "e", "f"] and prompt.kind == "prompt"


def test_the_chart_of_many_turns_has_the_fullest_of_each_group() -> None:
    few, many = (
        view_of(*(record for n in range(turns) for record in (user(f"{n}"), reply("x", id=f"m{n}", usage=tokens(n)))))
        for turns in (3, MAX_FILLS * 3)
    )
    assert [fill.tokens for fill in run_steps(few.thread().context())] == [100, 101, 102]
    fills = run_steps(many.thread().context())
    assert [fill.turn for fill in fills] == list(range(3, MAX_FILLS * 3 + 1, 3))


def tokens(number: int) -> dict[str, int]:
    """Usage of a context that grows by one token per turn."""
    return {"input_tokens": 90 + number, "output_tokens": 10}


def test_the_last_item_of_a_turn_has_its_usage_and_duration() -> None:
    usage = {"input_tokens": 5, "output_tokens": 7}
    view = view_of(
        user("go"), reply("one", id="a", usage=usage), reply("two", id="b", usage=usage), user("on"), reply("ok")
    )
    figures = [(item.figures.tokens, item.seconds) if item.figures else None for item in view.page(0, 9).items]
    assert figures == [None, None, (24, 2.0), None, (0, 1.0)]


def test_the_outline_has_a_letter_for_each_call() -> None:
    view = view_of(
        user("fix it"),
        reply(small_use("a"), use("b", "Edit", file_path="/p/x"), use("c", "Bash", command="x"), id="m"),
        user([result("a"), result("b"), result("c", "Exit code 1", is_error=True)]),
        reply(use("d", "Task", prompt="look"), use("e", "Bash", command="y"), id="n"),
        user([result("e", "The user doesn't want to proceed with this tool use", is_error=True)]),
    )
    (turn,) = view.outline(0, 10).turns
    assert (turn.title, turn.marks, turn.errors, turn.edits, turn.agents) == ("fix it", ".exr?", 1, 1, 1)


def test_a_turn_without_a_prompt_is_named_after_its_first_answer() -> None:
    hook = {"type": "system", "subtype": "hook_response", "uuid": "h", "output": "68 tests collected", "exit_code": 2}
    (turn,) = view_of(hook, reply(small_use("a"), id="m"), reply("I'll look at `it`.", id="n")).outline(0, 10).turns
    assert turn.title == "I'll look at it."
    assert view_of(hook).outline(0, 10).turns[0].title == view_of(hook).session.messages[0].text


# Trimming


def test_long_texts_are_cut_unless_whole() -> None:
    view = view_of(
        user("x" * 50_000), reply(use("a", "Bash", command="y"), id="m"), user([result("a", "line\n" * 3000)])
    )
    (cut_text,) = view.page(0, 1).items[0].parts
    assert (len(cut_text.text), cut_text.chars) == (20_000, 50_000)
    (whole,) = view.page(0, 1, whole=True).items[0].parts
    assert (len(whole.text), whole.chars) == (50_000, None)
    body = view.call(0)
    assert [(c.lines, c.chars) for c in body.cut] == [(3000, 14_999)] or body.cut[0].lines >= 3000
    node = body.nodes[body.cut[0].path[0]]
    assert isinstance(node, nodes.Terminal) and node.text.count("\n") < 200
    assert view.call(0, whole=True).cut == []


def test_deep_and_wide_values_are_cut() -> None:
    deep: Any = "end"
    for _ in range(300):
        deep = {"in": deep}
    view = view_of(user("x"), reply(use("a", "Odd", deep=deep, wide=["w" * 100] * 1000), id="m"))
    assert len(jsontext.dumps(view.call(0))) < 60_000
    assert view.call(0).cut
    assert b'"end' in jsontext.dumps(view.call(0, whole=True)).replace(b"\\", b"")


def test_only_raster_pictures_have_urls() -> None:
    png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    svg = {"type": "image", "source": {"type": "base64", "media_type": "image/svg+xml", "data": "PHN2Zy8+"}}
    view = view_of(
        user([text("see"), image(png), svg]), reply(small_use("a"), id="m"), user([result("a", [image(png)])])
    )
    shown = [
        node for part in view.page(0, 1).items[0].parts if isinstance(part, schema.NodesPart) for node in part.nodes
    ]
    assert [(node.url, node.data) for node in shown] == [(f"{BASE_URL}/pictures/message/0/0", None), (None, None)]
    assert view.picture("message", 0, 0).data == png
    assert view.picture("call", 0, 0).data == png
    with pytest.raises(reread.NotFound):
        view.picture("message", 0, 1)


# Raw lines and places


def test_raw_lines_have_their_fate() -> None:
    view = view_of(user("go"), reply(small_use("a"), id="m"), user([result("a", "found")]), reply("so", id="m"))
    found = view.lines(call="a")
    assert [(line.line, line.fate) for line in found.lines] == [(2, "shown"), (3, "paired")]
    assert jsontext.loads(found.lines[0].text.encode())["message"]["id"] == "m"
    assert [line.line for line in view.lines(message="m").lines] == [2, 4]
    assert view.lines(line=3).lines[0].reason == "result of call a (Read)"
    with pytest.raises(reread.NotFound):
        view.lines(message="never")


def test_a_long_raw_line_is_cut_unless_whole() -> None:
    view = view_of(user("ü" * 300_000))
    (line,) = view.lines(line=1).lines
    assert len(line.text) == 100_000 and line.chars is not None and line.chars > 300_000
    (line,) = view.lines(line=1, whole=True).lines
    assert line.chars is None and jsontext.loads(line.text.encode())["message"]["content"] == "ü" * 300_000


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("Why does `make test` fail\nin ``a `b` c``?", "Why does make test fail in a `b` c?"),
        ("```python\nprint(1)\n```\nWhat is this?", "python print(1) What is this?"),
        ("A lone ` stays, and so do ``two", "A lone ` stays, and so do ``two"),
        ("`code` " * 60, "code " * 23 + "code…"),
        ("``" * 100_000, "``" * 59 + "`…"),
    ],
)
def test_titles_have_no_markup(prompt: str, title: str) -> None:
    view = view_of(user(prompt))
    (turn,) = view.outline(0, 10).turns
    assert turn.title == title
    assert view.session.title == as_title(prompt)
    assert view.overview().title == heading(view.session.title, schema.TITLE)


def test_places_by_message_call_line_and_turn() -> None:
    view = view_of(user("go"), *small_calls("a", "b", "c"), reply("Done.", id="z"), user("more"))
    assert view.place(call="b") == schema.Place(item=1, key="ma", branch=0, call=1)
    assert view.place(message="z").item == view.place(line=8).item == 2
    assert view.place(line=5) == schema.Place(item=1, key="ma", branch=0, call=1)
    assert view.place(turn=2).item == 3
    for unknown in ({"message": "no"}, {"call": "no"}, {"turn": 3}, {"line": 0}):
        with pytest.raises(reread.NotFound):
            view.place(**unknown)


def test_agents_have_timelines_of_their_own() -> None:
    side = {"isSidechain": True}
    view = view_of(
        user("go"),
        reply(use("t", "Task", prompt="look", description="Look around", subagent_type="Explore"), id="m"),
        user("look", uuid="s1", parentUuid=None, **side),
        reply(small_use("inner"), id="i", uuid="s2", parentUuid="s1", **side),
        user([result("t", "seen")]),
    )
    (mark,) = run_steps(view.counted_overview()).agents
    assert (mark.title, mark.type, mark.calls, mark.call) == ("Look around", "Explore", 1, "t")
    assert view.overview().agent_turns == {mark.id: 1} and view.overview(mark.id).agent_turns == {}
    (call,) = parts_of(view, schema.CallPart)
    assert call.agents == [mark] and call.category == "agent"
    page = view.page(0, 10, agent=mark.id)
    assert [item.kind for item in page.items] == ["prompt", "response"]
    assert view.overview(mark.id).agent == mark
    assert view.place(call="inner").agent == mark.id
    assert search_session(view, "inner").hits[0].agent == mark.id
    with pytest.raises(reread.NotFound):
        view.page(0, 1, agent="nobody")


def test_an_agent_whose_call_failed_is_marked() -> None:
    side = {"isSidechain": True}
    view = view_of(
        user("go"),
        reply(use("t", "Task", prompt="look", description="Look around"), id="m"),
        user("look", uuid="s1", parentUuid=None, **side),
        user([result("t", "No such agent", is_error=True)]),
    )
    (mark,) = run_steps(view.counted_overview()).agents
    assert mark.failed and not mark.running


# The laws


def test_a_response_that_becomes_small_joins_the_run_before_it() -> None:
    records = making.told(
        user("go"), *small_calls("a", "b"), reply(id="mc"), reply(small_use("c"), id="mc"), user("on")
    )
    assert_live_equals_loaded(making.jsonl(*records), [making.jsonl(*records[:-2]), making.jsonl(*records[-2:])])
    assert kinds(view_of(*records)) == ["prompt", "run", "prompt"]


@pytest.mark.parametrize("first", [reply("one", id=None, uuid="x"), reply("one", id="x", uuid="y")])
def test_the_key_of_an_item_stays_when_another_message_gets_its_id(first: making.Object) -> None:
    second = reply("two", id="x", uuid="z") if first["uuid"] == "x" else reply("two", id=None, uuid="x")
    records = making.told(user("go"), first, user("on"), second)
    assert_live_equals_loaded(making.jsonl(*records), [making.jsonl(*records[:2]), making.jsonl(*records[2:])])
    assert [item.key for item in view_of(*records).page(0, 9).items] == ["u1", "x", "u3", "record 3"]


@given(ANY_TRANSCRIPT, st.data())
def test_law_3_live_items_are_the_loaded_items(data: bytes, choice: st.DataObject) -> None:
    assert_live_equals_loaded(data, choice.draw(cut(data)))


def assert_live_equals_loaded(data: bytes, chunks: Iterable[bytes]) -> None:
    """A view that is updated chunk by chunk has the items of a loaded one, and says which items changed."""
    source = GrowingSource(data)
    session = Session(source)
    threads_of(session).restart()
    view = session_view(session)
    before = everything(view)
    for chunk in chunks:
        source.size += len(chunk)
        threads_of(session).load_lines()
        view.update()
        after = everything(view)
        assert_unchanged_before_first_changed(view, before, after)
        before = after
    threads_of(session).load_rest()
    view.update()
    assert everything(view) == everything(session_view(reread.open(data)))


def assert_unchanged_before_first_changed(view: SessionView, before: dict[str, Any], after: dict[str, Any]) -> None:
    """The items before the first one that changed are the same."""
    for agent in (None, *view.session.agents):
        for branch in view.thread(agent).conversation.branches:
            old = before.get(f"{agent} {branch.id}")
            if old is not None:
                first = view.timeline(agent, branch.id).first_changed
                assert after[f"{agent} {branch.id}"][:first] == old[:first]


@given(ANY_TRANSCRIPT)
def test_law_4_every_message_and_call_is_shown_once(data: bytes) -> None:
    view = session_view(reread.open(data))
    assert_complete(view)


def assert_complete(view: SessionView) -> None:
    """Every message and call of every branch is shown exactly once, in its turn, with all its texts."""
    for agent in (None, *view.session.agents):
        conversation = view.thread(agent).conversation
        for branch in conversation.branches:
            timeline = view.timeline(agent, branch.id)
            page = view.page(0, 1 << 30, agent=agent, branch=branch.id, whole=True)
            assert [m for n in range(len(timeline)) for m in timeline.item(n)] == branch.messages
            assert_turns(timeline, branch)
            calls = Counter(part.id for item in page.items for part in item.parts if isinstance(part, schema.CallPart))
            assert calls == Counter(call.id for message in branch.messages for call in message.calls)
            for item in page.items:
                assert_reachable(view, agent, branch.id, item)
            for message in branch.messages:
                assert_says_all(view.builder(agent, whole=True), message)
        for call in conversation.calls:
            jsontext.dumps(view.call(call.index, agent=agent))
    jsontext.loads(jsontext.dumps(run_steps(view.counted_overview())))


def assert_turns(timeline: Timeline, branch: Any) -> None:
    """The turns of a timeline are those of its branch."""
    turns = [
        [m.index for m in timeline.messages[slice(*timeline.turn_messages(n))]] for n in range(1, timeline.turns + 1)
    ]
    assert turns == [[m.index for m in turn.messages] for turn in branch.turns]
    for number in range(1, timeline.turns + 1):
        assert timeline.turn_of(timeline.turn_item(number)) == number
        assert timeline.item(timeline.turn_item(number))[0].index == turns[number - 1][0]


def assert_reachable(view: SessionView, agent: str | None, branch: int, item: schema.TimelineItem) -> None:
    """An item can be linked to, and has raw lines."""
    jsontext.loads(jsontext.dumps(item))
    assert view.place(message=item.key, agent=agent, branch=branch).key == item.key
    assert view.lines(message=item.key, agent=agent).lines


def assert_says_all(builder: PartBuilder, message: Any) -> None:
    """The parts sent for a message contain every text and thinking block of it."""
    drawn = list(builder.parts(message))
    for part in p.message_parts(message):
        if isinstance(part, p.MessageText) and part.text.strip():
            assert schema.TextPart(text=part.text) in drawn
        elif isinstance(part, p.MessageThinking):
            assert schema.ThinkingPart(text=part.text, seconds=part.seconds) in drawn


@each("path", TRANSCRIPTS, ids=name, every=6)
def test_every_real_session_is_complete_and_searchable(path: Path) -> None:
    view = session_view(reread.open(path))
    assert_complete(view)
    prompts = [m for m in view.session.messages if m.kind == "prompt" and m.active and m.text.strip()]
    for message in prompts[:3]:
        word = max(re.findall(r"\w+", message.text), key=len, default="")
        items: set[int] = set()
        at: int | None = 0
        while at is not None:
            found = search_session(view, word, start=at)
            items.update(hit.item for hit in found.hits if hit.agent is None)
            at = found.next
        assert view.timeline().item_of(message) in items


def test_a_turn_knows_when_the_one_before_it_ended() -> None:
    records = [
        user("one", timestamp="2026-11-09T12:00:00.000Z"),
        reply("1", timestamp="2026-11-09T12:00:05.000Z"),
        system("informational", "Welcome back", timestamp="2026-11-10T07:59:59.000Z"),
        user("two", timestamp="2026-11-10T08:00:00.000Z"),
    ]
    items = SessionView(read(*making.told(*records)), "key").page(0, 10).items
    assert [item.after and item.after.isoformat() for item in items] == [None, None, None, "2026-11-09T12:00:05+00:00"]


def test_the_waterfall_says_when_what_was_at_work() -> None:
    def at(second: int, record: making.Object) -> making.Object:
        return {**record, "timestamp": f"2025-01-29T14:00:{second:02}.000Z"}

    inner = {"isSidechain": True, "agentId": "ag1"}
    view = view_of(
        at(0, user("Go.")),
        at(4, reply(use("a", "Bash", command="x"), use("q", "AskUserQuestion"), use("t", "Task", prompt="P"), id="m1")),
        at(5, user("P", **inner)),
        at(9, reply("Found.", id="m2", **inner)),
        at(7, answer(result("a", "no", is_error=True))),
        at(10, answer(result("q", "yes"))),
        at(11, answer(result("t", "Done."), data={"agentId": "ag1", "status": "completed"})),
        at(14, reply("Good.", id="m3")),
        at(40, user("More.")),
    )
    found = run_steps(view.waterfall())
    start = found.turns[0].start
    assert [(turn.index, turn.start - start, turn.end - start) for turn in found.turns] == [
        (1, 0, 14_000),
        (2, 40_000, 40_000),
    ]
    spans = [(span.kind, span.start - start, span.end - start, span.name, span.state) for span in found.spans]
    assert sorted(spans, key=lambda span: span[1:3]) == [
        ("model", 0, 4000, "claude-x", ""),
        ("tool", 4000, 7000, "Bash", "failed"),
        ("person", 4000, 10_000, "AskUserQuestion", "done"),
        ("agent", 5000, 9000, "P", "done"),
        ("model", 11_000, 14_000, "claude-x", ""),
    ]


def test_a_night_in_the_middle_of_a_turn_is_no_work_of_the_model() -> None:
    def at(day: int, hour: int, record: making.Object) -> making.Object:
        return {**record, "timestamp": f"2025-01-{day}T{hour:02}:00:00.000Z"}

    view = view_of(
        at(29, 18, user("Go.")),
        at(29, 18, reply(use("a", "Bash", command="x"), id="m1")),
        at(29, 18, answer(result("a"))),
        at(30, 8, reply("Good.", id="m2")),
        at(31, 8, user("<local-command-caveat>Before the next command.</local-command-caveat>", isMeta=True)),
        at(31, 8, user("More.")),
    )
    found = run_steps(view.waterfall())
    assert [span.end - span.start for span in found.spans if span.kind == "model"] == [0, 0]
    assert found.turns[0].end - found.turns[0].start == 14 * 3_600_000
    assert view.page(0, 9).items[2].seconds == 14 * 3600


def test_a_call_says_its_command_besides_its_description() -> None:
    view = view_of(
        user("Go."),
        reply(use("a", command="pytest -q", description="Run the tests"), use("b", command="ls"), id="m1"),
    )
    calls = [part for item in view.page(0, 9).items for part in item.parts if isinstance(part, schema.CallPart)]
    assert [(call.title, call.detail) for call in calls] == [("Run the tests", "pytest -q"), ("ls", "")]


def test_the_end_of_a_long_output_is_sent_with_its_beginning() -> None:
    printed = "\n".join(f"line {n}" for n in range(5000))
    view = view_of(user("Go."), reply(use("a", command="x")), answer(result("a", printed), data={"stdout": printed}))
    (cut,) = view.call(0).cut
    assert cut.tail.split("\n") == [f"line {n}" for n in range(4988, 5000)]
    assert view.call(0, whole=True).cut == []
