"""The session as the reader sees it: passages, paged, growing, and losing nothing."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import making
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import GrowingSource, attachment, image, read, reply, result, system, text, thinking, use, user
from msgspec.structs import replace
from test_laws import TALKS, cut
from test_real_client import TRANSCRIPTS, name

import reread
from reread.base import jsontext
from reread.reader import schema
from reread.reader.drawing import PartBuilder
from reread.reader.search import ItemFilter, filtered, search_session
from reread.reader.session_view import SessionView
from reread.reader.steps import at_once
from reread.reader.thread_view import MOST_FILLS
from reread.reader.timeline import LONGEST, Timeline
from reread.render import parts as p
from reread.session.session import Session
from reread.tools import nodes

ADDRESS = "/api/sessions/k"


def desk_of(session: Session) -> SessionView:
    """A desk for a session."""
    return SessionView(session, "k", address=ADDRESS)


def told(*records: making.Object) -> SessionView:
    """A desk over these records."""
    return desk_of(read(*records))


def everything(view: SessionView) -> dict[str, bytes]:
    """All pages of a session, all branches and agents, encoded passage by passage, and how full the context was."""
    out: dict[str, Any] = {}
    for agent in (None, *view.session.agents):
        conversation = view.thread(agent).conversation
        out[f"{agent} context"] = jsontext.dumps(at_once(view.thread(agent).context()))
        for branch in conversation.branches:
            page = view.page(0, 1 << 30, agent=agent, branch=branch.id)
            out[f"{agent} {branch.id}"] = [shown(item) for item in page.items]
            out[f"{agent} {branch.id} turns"] = jsontext.dumps(
                view.outline(0, 1 << 30, agent=agent, branch=branch.id).turns
            )
    return out


def shown(item: schema.TimelineItem) -> bytes:
    """A passage as it is sent, encoded; where branches part, without the words that each goes on with."""
    parts = [
        replace(part, branches=[replace(way, title="") for way in part.branches])
        if isinstance(part, schema.ForkPart)
        else part
        for part in item.parts
    ]
    return jsontext.dumps(replace(item, parts=parts))


def kinds(view: SessionView) -> list[str]:
    """The kind of each passage."""
    return [item.kind for item in view.page(0, 1000).items]


def only(view: SessionView, kind: type[schema.Part]) -> list[Any]:
    """Every part of a kind, in order."""
    return [part for item in view.page(0, 1000).items for part in item.parts if isinstance(part, kind)]


# Grouping


def look(id: str, tool: str = "Read", **input: Any) -> making.Object:
    """A small call."""
    return use(id, tool, file_path=f"/p/{id}", **input)


def answered(*ids: str) -> list[making.Object]:
    """Responses that each make one small call, with their results."""
    return [record for id in ids for record in (reply(look(id), id=f"m{id}"), user([result(id)]))]


def test_a_run_of_small_calls_is_one_passage() -> None:
    view = told(
        user("go"), *answered("a", "b"), reply(look("c", "Grep", pattern="x"), id="mc"), reply("Found.", id="m9")
    )
    assert kinds(view) == ["prompt", "run", "response"]
    run = view.page(1, 1).items[0]
    assert run.title == "2 reads, 1 search"
    assert [part.id for part in run.parts] == ["a", "b", "c"]


def test_two_small_calls_are_no_run() -> None:
    assert kinds(told(user("go"), *answered("a", "b"), reply("Found."))) == [
        "prompt",
        "response",
        "response",
        "response",
    ]


@pytest.mark.parametrize(
    "between",
    [reply("Now the other.", id="t"), reply(use("x", "Bash", command="ls"), id="t"), user("wait")],
    ids=["text", "command", "prompt"],
)
def test_a_run_ends_where_something_else_is_said_or_done(between: making.Object) -> None:
    view = told(user("go"), *answered("a", "b", "c"), between, *answered("d", "e", "f"))
    assert kinds(view)[1::2] == ["run", "run"]


def test_thinking_and_hooks_do_not_end_a_run() -> None:
    hook = attachment("hook_success", {"stdout": "ok", "hookName": "PostToolUse"})
    view = told(user("go"), *answered("a"), hook, reply(thinking("hm"), id="t"), *answered("b", "c"), reply("Done."))
    assert kinds(view) == ["prompt", "run", "response"]
    assert [part.text for part in view.page(1, 1).items[0].parts if isinstance(part, schema.ThinkingPart)] == ["hm"]


@pytest.mark.parametrize(
    ("written", "seconds"), [(2500, 2.5), (0, 0), (None, None), ("2500", None), (-1, None), (10**400, None)]
)
def test_a_thought_says_how_long_it_took_where_the_client_wrote_it_down(written: Any, seconds: float | None) -> None:
    view = told(user("go"), reply(thinking("hm"), id="msg_1", thinkingDurationMs=written), reply("so", id="msg_1"))
    assert [part.seconds for part in only(view, schema.ThinkingPart)] == [seconds]


@pytest.mark.parametrize("signature", [[], {}, None, 5])
def test_a_thought_with_an_odd_signature_is_shown(signature: Any) -> None:
    thought = {**thinking("hm"), "signature": signature}
    session = read(user("go"), reply(thought, thinkingDurationMs=100))
    assert [part.seconds for part in only(desk_of(session), schema.ThinkingPart)] == [None]
    (message,) = session.turns[0].messages[1:]
    assert [part.text for part in p.message_parts(message, p.EVERYTHING) if isinstance(part, p.Thought)] == ["hm"]


def test_a_long_run_is_cut() -> None:
    ids = [f"c{n}" for n in range(LONGEST * 2 + 1)]
    view = told(user("go"), *answered(*ids))
    assert kinds(view) == ["prompt", "run", "run", "response"]


def test_what_the_client_adds_is_closed_and_there() -> None:
    view = told(user("<system-reminder>be nice</system-reminder>hello"), user("context", isMeta=True), reply("hi"))
    assert kinds(view) == ["prompt", "response"]
    typed, *closed = view.page(0, 1).items[0].parts
    assert typed == schema.TextPart(text="hello")
    assert [(part.title, part.nodes[0].text) for part in closed] == [
        ("system reminder", "be nice"),
        ("context", "context"),
    ]


def test_what_is_attached_is_closed_and_there() -> None:
    file = {"type": "text", "file": {"filePath": "/p/a.py", "content": "x = 1\n", "startLine": 1}}
    view = told(user("see @a.py"), attachment("file", {"filename": "a.py", "content": file}), reply("ok"))
    part = view.page(0, 1).items[0].parts[1]
    assert (part.title, part.nodes[0].text, part.nodes[0].path) == ("file a.py", "x = 1\n", "/p/a.py")


def test_the_kinds_of_what_is_no_talk() -> None:
    view = told(
        user("<command-name>/model</command-name><command-args>opus</command-args>"),
        user("<local-command-stdout>Set to opus</local-command-stdout>"),
        user("go"),
        attachment("queued_command", {"prompt": "and this"}),
        attachment("hook_success", {"stdout": "linted"}),
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
    assert only(view, schema.CompactionPart) == [
        schema.CompactionPart(trigger="auto", micro=False, before=9, after=2, summary="what was")
    ]


def test_where_branches_part_one_can_choose() -> None:
    view = told(
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


def test_the_context_of_many_turns_is_that_of_the_fullest() -> None:
    few, many = (
        told(*(record for n in range(turns) for record in (user(f"{n}"), reply("x", id=f"m{n}", usage=tokens(n)))))
        for turns in (3, MOST_FILLS * 3)
    )
    assert [fill.tokens for fill in at_once(few.thread().context())] == [100, 101, 102]
    fills = at_once(many.thread().context())
    assert [fill.turn for fill in fills] == list(range(3, MOST_FILLS * 3 + 1, 3))


def tokens(number: int) -> dict[str, int]:
    """Usage of a context that grows by a token."""
    return {"input_tokens": 90 + number, "output_tokens": 10}


def test_a_turn_ends_with_what_it_spent_and_how_long_it_took() -> None:
    spent = {"input_tokens": 5, "output_tokens": 7}
    view = told(
        user("go"), reply("one", id="a", usage=spent), reply("two", id="b", usage=spent), user("on"), reply("ok")
    )
    figures = [(item.figures.tokens, item.seconds) if item.figures else None for item in view.page(0, 9).items]
    assert figures == [None, None, (24, 2.0), None, (0, 1.0)]


def test_the_outline_has_a_mark_for_each_call() -> None:
    view = told(
        user("fix it"),
        reply(look("a"), use("b", "Edit", file_path="/p/x"), use("c", "Bash", command="x"), id="m"),
        user([result("a"), result("b"), result("c", "Exit code 1", is_error=True)]),
        reply(use("d", "Task", prompt="look"), use("e", "Bash", command="y"), id="n"),
        user([result("e", "The user doesn't want to proceed with this tool use", is_error=True)]),
    )
    (turn,) = view.outline(0, 10).turns
    assert (turn.title, turn.marks, turn.errors, turn.edits, turn.agents) == ("fix it", ".exr?", 2, 1, 1)


def test_a_turn_without_a_prompt_is_named_after_its_first_answer() -> None:
    hook = {"type": "system", "subtype": "hook_response", "uuid": "h", "output": "68 tests collected"}
    (turn,) = told(hook, reply(look("a"), id="m"), reply("I'll look at `it`.", id="n")).outline(0, 10).turns
    assert turn.title == "I'll look at it."
    assert told(hook).outline(0, 10).turns[0].title == told(hook).session.messages[0].text


# Cutting


def test_long_texts_come_cut_and_whole_when_asked() -> None:
    view = told(user("x" * 50_000), reply(use("a", "Bash", command="y"), id="m"), user([result("a", "line\n" * 3000)]))
    (cut_text,) = view.page(0, 1).items[0].parts
    assert (len(cut_text.text), cut_text.chars) == (20_000, 50_000)
    (whole,) = view.page(0, 1, whole=True).items[0].parts
    assert (len(whole.text), whole.chars) == (50_000, None)
    body = view.call(0)
    assert [(c.lines, c.chars) for c in body.cut] == [(3000, 14_999)] or body.cut[0].lines >= 3000
    node = body.nodes[body.cut[0].path[0]]
    assert isinstance(node, nodes.Terminal) and node.text.count("\n") < 200
    assert view.call(0, whole=True).cut == []


def test_a_deep_or_wide_value_comes_cut() -> None:
    deep: Any = "end"
    for _ in range(300):
        deep = {"in": deep}
    view = told(user("x"), reply(use("a", "Odd", deep=deep, wide=["w" * 100] * 1000), id="m"))
    assert len(jsontext.dumps(view.call(0))) < 60_000
    assert view.call(0).cut
    assert b'"end' in jsontext.dumps(view.call(0, whole=True)).replace(b"\\", b"")


def test_pictures_are_addresses_and_only_of_plain_kinds() -> None:
    png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    svg = {"type": "image", "source": {"type": "base64", "media_type": "image/svg+xml", "data": "PHN2Zy8+"}}
    view = told(user([text("see"), image(png), svg]), reply(look("a"), id="m"), user([result("a", [image(png)])]))
    shown = [
        node for part in view.page(0, 1).items[0].parts if isinstance(part, schema.NodesPart) for node in part.nodes
    ]
    assert [(node.url, node.data) for node in shown] == [(f"{ADDRESS}/pictures/message/0/0", None), (None, None)]
    assert view.picture("message", 0, 0).data == png
    assert view.picture("call", 0, 0).data == png
    with pytest.raises(reread.NotFound):
        view.picture("message", 0, 1)


# Lines and places


def test_lines_say_what_became_of_them() -> None:
    view = told(user("go"), reply(look("a"), id="m"), user([result("a", "found")]), reply("so", id="m"))
    found = view.lines(call="a")
    assert [(line.line, line.fate) for line in found.lines] == [(2, "shown"), (3, "paired")]
    assert jsontext.loads(found.lines[0].text.encode())["message"]["id"] == "m"
    assert [line.line for line in view.lines(message="m").lines] == [2, 4]
    assert view.lines(line=3).lines[0].reason == "result of call a (Read)"
    with pytest.raises(reread.NotFound):
        view.lines(message="never")


def test_a_long_line_comes_cut() -> None:
    view = told(user("ü" * 300_000))
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
def test_titles_are_plain_words(prompt: str, title: str) -> None:
    view = told(user(prompt))
    (turn,) = view.outline(0, 10).turns
    assert turn.title == title
    assert view.session.title == " ".join(prompt.split())[:120]


def test_the_title_of_a_session_is_plain_words_too() -> None:
    assert told(user("Fix `make test`")).overview().title == "Fix make test"


def test_places_by_message_call_line_and_turn() -> None:
    view = told(user("go"), *answered("a", "b", "c"), reply("Done.", id="z"), user("more"))
    assert view.place(call="b") == schema.Place(item=1, key="ma", branch=0, call=1)
    assert view.place(message="z").item == view.place(line=8).item == 2
    assert view.place(line=5) == schema.Place(item=1, key="ma", branch=0, call=1)
    assert view.place(turn=2).item == 3
    for nothing in ({"message": "no"}, {"call": "no"}, {"turn": 3}, {"line": 0}):
        with pytest.raises(reread.NotFound):
            view.place(**nothing)


def test_agents_have_pages_of_their_own() -> None:
    side = {"isSidechain": True}
    view = told(
        user("go"),
        reply(use("t", "Task", prompt="look", description="Look around", subagent_type="Explore"), id="m"),
        user("look", uuid="s1", parentUuid=None, **side),
        reply(look("inner"), id="i", uuid="s2", parentUuid="s1", **side),
        user([result("t", "seen")]),
    )
    (mark,) = view.overview().agents
    assert (mark.title, mark.type, mark.calls, mark.call) == ("Look around", "Explore", 1, "t")
    (call,) = only(view, schema.CallPart)
    assert call.agents == [mark] and call.category == "agent"
    page = view.page(0, 10, agent=mark.id)
    assert [item.kind for item in page.items] == ["prompt", "response"]
    assert view.overview(mark.id).agent == mark
    assert view.place(call="inner").agent == mark.id
    assert search_session(view, "inner").hits[0].agent == mark.id
    with pytest.raises(reread.NotFound):
        view.page(0, 1, agent="nobody")


# Finding


def test_finding_in_every_place() -> None:
    view = told(
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
    assert [hit.item for hit in search_session(view, '"needle"').hits] == [0]
    assert search_session(view, "needle", start=3).hits[0].item == 3


@pytest.mark.parametrize("query", ["Größe", "日本", "a/b", "<b>", "\\d+", "'q'", "tab\there", "€ 5", "😀"])
def test_finding_what_json_may_write_in_several_ways(query: str) -> None:
    for dump in (making.jsonl, lambda *r: b"\n".join(msgspec.json.encode(x) for x in r)):
        view = desk_of(reread.open(dump(*making.told(user(f"x {query} y")))))
        (hit,) = search_session(view, query).hits
        assert (hit.before, hit.match, hit.after) == ("x ", query, " y")


def test_finding_goes_on_where_time_ran_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reread.reader.search.SECONDS", 0)
    view = told(*(user(f"needle {n}") for n in range(5)))
    at: int | None = 0
    found: list[int] = []
    while at is not None:
        hits = search_session(view, "needle", start=at)
        found += [hit.item for hit in hits.hits]
        at = hits.next
    assert found == [0, 1, 2, 3, 4]


def test_a_filter_gives_the_passages_that_fit() -> None:
    view = told(
        user("go"),
        reply(thinking("hm"), text("ok"), id="m1"),
        reply(use("a", "Bash", command="x"), id="m2"),
        user([result("a", "no", is_error=True)]),
        reply(use("b", "Edit", file_path="/p"), id="m3"),
        user([result("b")]),
        system("informational", "note"),
    )
    for wanted, expected in {
        ItemFilter(): [0, 1, 2, 3, 4],
        ItemFilter(kinds=frozenset({"prompts"})): [0],
        ItemFilter(kinds=frozenset({"text", "thinking"})): [1],
        ItemFilter(kinds=frozenset({"tools"})): [2, 3],
        ItemFilter(tools=frozenset({"Edit"})): [3],
        ItemFilter(kinds=frozenset({"prompts"}), tools=frozenset({"Edit"})): [0, 3],
        ItemFilter(errors=True): [2],
        ItemFilter(kinds=frozenset({"notices"})): [4],
    }.items():
        assert filtered(view, wanted).indices == expected, wanted


# The laws


@given(TALKS, st.data())
def test_law_3_pages_that_grow_are_the_pages_loaded(data: bytes, choice: st.DataObject) -> None:
    source = GrowingSource(data)
    session = Session(source)
    session.loader = session.new_loader()
    view = desk_of(session)
    before = everything(view)
    for chunk in choice.draw(cut(data)):
        source.size += len(chunk)
        session.loader.take_in()
        view.grow()
        after = everything(view)
        assert_unchanged_before_the_first(view, before, after)
        before = after
    session.loader.load()
    view.grow()
    assert everything(view) == everything(desk_of(reread.open(data)))


def assert_unchanged_before_the_first(view: SessionView, before: dict[str, Any], after: dict[str, Any]) -> None:
    """What stands before the first passage that changed is as it was."""
    for agent in (None, *view.session.agents):
        for branch in view.thread(agent).conversation.branches:
            old = before.get(f"{agent} {branch.id}")
            if old is not None:
                first = view.timeline(agent, branch.id).first_changed
                assert after[f"{agent} {branch.id}"][:first] == old[:first]


@given(TALKS)
def test_law_4_every_message_and_call_is_on_its_page_once(data: bytes) -> None:
    view = desk_of(reread.open(data))
    assert_complete(view)


def assert_complete(view: SessionView) -> None:
    """Every message and call of every branch is in the pages exactly once, its turn right, its texts whole."""
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
    jsontext.loads(jsontext.dumps(view.overview()))


def assert_turns(timeline: Timeline, branch: Any) -> None:
    """The turns of a scroll are those of its branch."""
    turns = [
        [m.index for m in timeline.messages[slice(*timeline.turn_messages(n))]] for n in range(1, timeline.turns + 1)
    ]
    assert turns == [[m.index for m in turn.messages] for turn in branch.turns]
    for number in range(1, timeline.turns + 1):
        assert timeline.turn_of(timeline.turn_item(number)) == number
        assert timeline.item(timeline.turn_item(number))[0].index == turns[number - 1][0]


def assert_reachable(view: SessionView, agent: str | None, branch: int, item: schema.TimelineItem) -> None:
    """A passage can be linked to, and its lines asked for."""
    jsontext.loads(jsontext.dumps(item))
    assert view.place(message=item.key, agent=agent, branch=branch).key == item.key
    assert view.lines(message=item.key, agent=agent).lines


def assert_says_all(pen: PartBuilder, message: Any) -> None:
    """A message's parts say what the other views say of it."""
    drawn = list(pen.parts(message))
    for part in p.message_parts(message, p.EVERYTHING):
        if isinstance(part, p.Said):
            assert schema.TextPart(text=part.text) in drawn
        elif isinstance(part, p.Thought):
            assert schema.ThinkingPart(text=part.text, seconds=part.seconds) in drawn
        elif isinstance(part, p.Prompt) and message.text.strip():
            assert schema.TextPart(text=message.text) in drawn


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=name)
def test_every_real_session_is_on_its_pages(path: Path) -> None:
    view = desk_of(reread.open(path))
    assert_complete(view)
    typed = [m for m in view.session.messages if m.kind == "prompt" and m.active and m.text.strip()]
    for message in typed[:3]:
        word = max(re.findall(r"\w+", message.text), key=len, default="")
        items = {hit.item for hit in search_session(view, word).hits if hit.agent is None}
        assert view.timeline().item_of(message) in items
