"""Records to a conversation: what joins, what pairs, what forks, and what became of each line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from batches import table
from effort import one_in
from limits import within
from making import (
    DEEP,
    SESSION,
    GrowingSource,
    Object,
    answer,
    attachment,
    encode,
    event,
    image,
    jsonl,
    printed,
    progress,
    read,
    reply,
    result,
    state,
    system,
    text,
    told,
    use,
    user,
)
from walk import accounts, walk

import reread
from reread.model.compaction_linker import compaction_of
from reread.model.fold import DEEPEST
from reread.model.parts import CompactionPoint, message_parts
from reread.records import dialects
from reread.session.changes import change_of
from reread.session.session import Session, threads_of


def texts(part: Any) -> list[str]:
    """The texts of its messages."""
    return [message.text for message in part.messages]


def kinds(conversation: Any) -> list[str]:
    """The kinds of its messages."""
    return [message.kind for message in conversation.messages]


def prompts(conversation: Any) -> list[str | None]:
    """What opened each turn of the active branch."""
    return [turn.prompt.text if turn.prompt else None for turn in conversation.turns]


def fates(conversation: Any) -> list[str]:
    """The fate of each record."""
    return [entry.fate for entry in conversation.ledger]


def reasons(conversation: Any) -> list[str]:
    """The reason for each fate."""
    return [entry.reason for entry in conversation.ledger]


FIGURES: dict[str, Callable[[Any], Any]] = {
    "agents": lambda session: {id: texts(agent) for id, agent in session.agents.items()},
    "attached": lambda session: [list(call.attached) for call in session.calls],
    "branches": lambda session: [texts(branch) for branch in session.branches],
    "compactions": lambda session: [
        (one.line, one.micro, one.boundary is not None, one.summary and one.summary.text) for one in session.compactions
    ],
    "data": lambda session: [call.data for call in session.calls],
    "fates": fates,
    "flags": lambda session: [sorted(message.flags) for message in session.messages],
    "ids": lambda session: [message.id for message in session.messages],
    "kinds": kinds,
    "linked": lambda session: [call.agent and call.agent.id for call in session.calls],
    "notices": lambda session: [[session.messages[n].text for n in call.notices] for call in session.calls],
    "ok": lambda session: [call.ok for call in session.calls],
    "preserved": lambda session: [one.preserved for one in session.compactions],
    "prompts": prompts,
    "reasons": reasons,
    "repeats": lambda session: [entry.of for entry in session.ledger],
    "results": lambda session: [call.result and call.result.content for call in session.calls],
    "roles": lambda session: sorted({message.role for message in session.messages}),
    "stops": lambda session: [message.stop_reason for message in session.messages],
    "texts": texts,
    "title": lambda session: session.title,
    "tokens": lambda session: [(one.pre_tokens, one.post_tokens) for one in session.compactions],
    "turns": lambda session: [texts(turn) for turn in session.turns],
    "types": lambda session: [[block.type for block in message.blocks] for message in session.messages],
    "uuids": lambda session: [message.uuids for message in session.messages],
}
"""What a session says of its messages, calls, agents, branches and records, each in order."""


def side(record: Object, uuid: str, parent: str | None, **more: Any) -> Object:
    """A record of a sidechain."""
    return {**record, "isSidechain": True, "uuid": uuid, "parentUuid": parent, **more}


def boundary(**more: Any) -> Object:
    """A compaction's boundary."""
    figures = {"trigger": "auto", "preTokens": 900, "postTokens": 90, **more.pop("figures", {})}
    return system("compact_boundary", "Conversation compacted", parentUuid=None, **more) | {"compactMetadata": figures}


def summary(words: str = "This session is being continued", **more: Any) -> Object:
    """A compaction's summary."""
    return user(words, isCompactSummary=True, isVisibleInTranscriptOnly=True, **more)


START = event("message_start", message={"id": "msg_1", "role": "assistant", "model": "m", "content": []})
OPEN = event("content_block_start", index=0, content_block={"type": "text", "text": ""})


def delta(words: str, index: int = 0) -> Object:
    """A piece of text."""
    return event("content_block_delta", index=index, delta={"type": "text_delta", "text": words})


def grown(*records: Object) -> reread.Session:
    """A stream of these records."""
    return read(*streamed(*records))


def streamed(*records: Object) -> list[Object]:
    """Records as a stream has them."""
    return [printed(record) for record in records]


MAKERS: dict[str, Callable[..., Object]] = {
    maker.__name__: maker for maker in (answer, attachment, event, progress, reply, state, system, user)
}
CASES = Path(__file__).parent / "fixtures" / "conversations"
"""Each case is a paragraph: its name, its records, one a line, and what they make, as in `= texts ["a", "b"]`."""


def record(line: str) -> Object:
    """A record as a case writes it: what makes it, with its arguments, or else the record itself."""
    maker, _, rest = line.partition(" ")
    if maker == "record":
        return json.loads(rest)
    given, _, named = rest.partition(" with {")
    return MAKERS[maker](*json.loads(f"[{given}]"), **json.loads(f"{{{named}" if named else "{}"))


@table("case", [case for path in sorted(CASES.glob("*.case")) for case in path.read_text("utf-8").split("\n\n")])
def test_records_make_a_session(case: str) -> None:
    name, *lines = case.splitlines()
    session = read(*(record(line) for line in lines if not line.startswith("= ")))
    said = [line.split(" ", 2)[1:] for line in lines if line.startswith("= ")]
    assert said, name
    for figure, value in said:
        assert json.loads(json.dumps(FIGURES[figure](session))) == json.loads(value), f"{figure} of {name}"


class TestMessages:
    """Records with the same `message.id` are one message."""

    def test_usage_counts_once_a_message(self) -> None:
        first = reply("a", usage={"input_tokens": 5, "output_tokens": 1})
        last = reply("b", usage={"input_tokens": 5, "output_tokens": 9}, stop_reason="end_turn")
        session = read(user("go"), first, last)
        assert (session.usage.input_tokens, session.usage.output_tokens) == (5, 9)

    def test_other_words_under_a_uuid_that_is_taken_are_another_message(self) -> None:
        session = read(user("go"), reply("a"), user("WOMBAT", uuid="u1", parentUuid=None), reply("b", id="msg_2"))
        assert texts(session) == ["go", "a", "WOMBAT", "b"]
        assert fates(session) == ["shown"] * 4
        assert len({message.id for message in session.messages}) == 4
        assert session.conversation.find_message("u1") is session.messages[0]

    @pytest.mark.parametrize(
        ("first", "again", "count"),
        [
            (user("go"), user([text("go")]), 1),
            (user("go", version="2.1.1"), user("go", version="2.1.9", timestamp="2026-01-01T00:00:00Z"), 1),
            (user([text("go"), text("on")]), user("on"), 1),
            (user("go"), user([text("go"), text("on")]), 2),
            (system("informational", "one"), system("informational", "two"), 2),
            (system("informational", "one"), system("informational", "one"), 1),
        ],
    )
    def test_a_copy_has_no_words_of_its_own(self, first: Object, again: Object, count: int) -> None:
        session = read(user("start"), first | {"uuid": "x"}, again | {"uuid": "x"})
        assert len(session.messages) == 1 + count


class TestPartials:
    """`stream_event`s fold into the message in progress."""

    def test_each_start_begins_or_continues_a_message_of_its_own(self) -> None:
        other = event("message_start", message={"id": "msg_2", "role": "assistant", "model": "n", "content": []})
        nameless = event("message_start", message={"role": "assistant", "content": []})
        first = [START, OPEN, delta("one"), other, OPEN, delta("two"), START]
        session = grown(*first, delta("!"), nameless, OPEN, delta("three"))
        said = [(message.text, message.model) for message in session.messages]
        assert said == [("one!", "m"), ("two", "n"), ("three", None)]
        assert [message.id for message in session.messages][:2] == ["msg_1", "msg_2"]

    def test_thinking_and_calls_grow_too(self) -> None:
        thought = event("content_block_start", index=0, content_block={"type": "thinking", "thinking": ""})
        more = event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "hm"})
        called = event("content_block_start", index=1, content_block=use("t1"))
        (message,) = grown(START, thought, more, called).messages
        assert [block.type for block in message.blocks] == ["thinking", "tool_use"]
        assert message.blocks[0].thinking == "hm"

    def test_the_end_of_a_stream_has_the_final_numbers(self) -> None:
        end = event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 42})
        (message,) = grown(START, OPEN, reply("Hello"), end).messages
        assert (message.stop_reason, message.usage.output_tokens) == ("end_turn", 42)

    def test_the_time_is_that_of_the_first_line_that_states_one(self) -> None:
        (message,) = grown(START, OPEN, reply("Hi", timestamp="2025-01-29T14:15:30Z")).messages
        assert message.timestamp is not None

    def test_pieces_do_not_upset_the_tree(self) -> None:
        said = [user("a"), reply("b", id="msg_2"), user("c"), user("d", parentUuid="u4")]
        session = read(printed(START), printed(OPEN), *said)
        assert [[m.text for m in branch.messages] for branch in session.branches] == [
            ["", "a", "b", "d"],
            ["", "a", "b", "c"],
        ]
        assert [session.conversation.tree.parent(n) for n in range(6)] == [-1, -1, -1, 2, 3, 3]


class TestCalls:
    """A tool use and its result together."""

    def test_a_result_is_on_its_call(self) -> None:
        (call,) = read(
            user("go"),
            reply(use("t1", "Bash", command="ls", description="List  the\nfiles")),
            answer(result("t1", "a.txt"), data={"stdout": "a.txt"}),
        ).calls
        assert (call.id, call.name, call.ok, call.input["command"]) == ("t1", "Bash", True, "ls")
        assert (call.title, call.result.content) == ("Bash List the files", "a.txt")
        assert (call.data, call.message.id) == ({"stdout": "a.txt"}, "msg_1")

    def test_a_call_that_was_never_answered(self) -> None:
        (call,) = read(user("go"), reply(use("t1"))).calls
        assert (call.ok, call.result, call.data, call.duration) == (None, None, None, None)

    def test_a_call_without_an_id_keeps_its_input(self) -> None:
        nameless = {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}
        (call,) = read(user("go"), reply(nameless)).calls
        assert (call.name, call.input, call.title) == ("Bash", {"command": "ls"}, "Bash ls")

    def test_what_the_api_ran_itself_is_answered_in_the_response(self) -> None:
        asked = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
        found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
        (call,) = read(user("go"), reply(asked), reply(found)).calls
        assert (call.name, call.ok, call.result.type) == ("web_search", True, "web_search_tool_result")

    @table(
        ("block", "record"),
        [
            ({"is_error": True}, {}),
            ({}, {"isError": True}),
            ({}, {"toolDenialKind": "user-rejected"}),
            ({}, {"data": "Error: Exit code 1"}),
            ({}, {"data": "User rejected tool use"}),
            ({}, {"data": {"status": "failed"}}),
            ({}, {"data": {"success": False}}),
            ({"content": "<tool_use_error>No such tool</tool_use_error>"}, {}),
        ],
    )
    def test_what_makes_a_call_fail(self, block: Object, record: Object) -> None:
        (call,) = read(reply(use("t1")), answer(result("t1", **block), **record)).calls
        assert call.ok is False

    @pytest.mark.parametrize(
        "data",
        [
            {"retrieval_status": "success", "task": {"status": "failed", "exitCode": 1}},
            {"shellId": "b1", "status": "failed", "exitCode": 2},
        ],
    )
    def test_a_call_that_fetched_a_failed_task_did_not_fail(self, data: Object) -> None:
        (call,) = read(reply(use("t1")), answer(result("t1"), data=data)).calls
        assert (call.ok, call.state) == (True, "done")

    @pytest.mark.parametrize(
        "data",
        [
            "Structured output provided",
            {"status": "completed"},
            {"status": 5},
            {"retrieval_status": "timeout", "task": None},
            [],
        ],
    )
    def test_what_does_not(self, data: Any) -> None:
        (call,) = read(reply(use("t1")), answer(result("t1", is_error=False), data=data)).calls
        assert (call.ok, call.state, call.error) == (True, "done", None)

    def test_an_exit_code_that_a_program_printed_is_not_its_own(self) -> None:
        data = {"stdout": "Exit code 1", "stderr": "", "interrupted": False}
        (call,) = read(reply(use("t1")), answer(result("t1", "Exit code 1"), data=data)).calls
        assert (call.state, call.exit_code) == ("done", None)

    @table(
        ("block", "record", "state", "code", "error"),
        [
            ({}, {"data": {"stdout": "half", "interrupted": True}}, "interrupted", None, ""),
            ({"content": "Exit code 1\nno"}, {}, "failed", 1, "no"),
            ({"content": "Exit code 0\nyes"}, {}, "done", 0, None),
            ({"content": "Exit code 2\nno", "is_error": True}, {"data": "Error: Exit code 2\nno"}, "failed", 2, "no"),
            ({"content": "no", "is_error": True}, {"toolDenialKind": "permission-rule"}, "denied", None, "no"),
            ({"content": "no", "is_error": True}, {"toolDenialKind": "interrupted"}, "interrupted", None, "no"),
            ({"content": "Exit plan mode?", "is_error": True}, {}, "denied", None, "Exit plan mode?"),
            ({"content": "PreToolUse:Bash hook error: no", "is_error": True}, {}, "denied", None, None),
            ({}, {"data": {"task": {"status": "failed", "exitCode": 3}}}, "failed", 3, None),
        ],
    )
    def test_how_a_call_ended(
        self, block: Object, record: Object, state: str, code: int | None, error: str | None
    ) -> None:
        (call,) = read(reply(use("t1")), answer(result("t1", **block), **record)).calls
        assert (call.state, call.exit_code) == (state, code)
        assert error is None or call.error == error

    def test_the_result_of_a_turn_lists_the_denied_calls(self) -> None:
        denials = [{"tool_name": "Bash", "tool_use_id": "t1"}, {"tool_use_id": 5}, "?"]
        (call,) = read(
            printed(reply(use("t1"))),
            printed(answer(result("t1", "The tester says no.", is_error=True))),
            {"type": "result", "subtype": "success", "permission_denials": denials},
        ).calls
        assert (call.state, call.error) == ("denied", "The tester says no.")


class TestAgents:
    """A conversation that a call started."""

    def test_an_inline_sidechain_is_tied_to_its_call_by_the_prompt(self) -> None:
        session = read(
            user("go"),
            reply(use("t1", "Task", prompt="look", subagent_type="Explore")),
            side(user("look"), "s1", None),
            side(reply("found", id="msg_s"), "s2", "s1"),
            answer(result("t1", "found")),
        )
        (agent,) = session.agents.values()
        (call,) = session.calls
        assert call.agent is agent and agent.call is call and agent.parent is None
        assert (agent.type, agent.prompt, texts(agent)) == ("Explore", "look", ["look", "found"])
        assert texts(session) == ["go", ""]
        assert fates(session) == ["shown", "shown", "agent", "agent", "paired"]

    def test_linking_a_retold_agent_loads_no_plugins(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = {"type": "user", "message": {"role": "user", "content": "look"}, "uuid": "p1"}
        session = read(
            user("go"),
            reply(use("t1", "Task", prompt="look")),
            progress("agent_progress", {"agentId": "ag", "message": asked}, parentToolUseID="t1"),
        )
        monkeypatch.setattr(dialects, "others", lambda: pytest.fail("a message without a session id was translated"))
        assert session.calls[0].agent is session.agents["ag"]

    def test_a_stream_names_the_call(self) -> None:
        session = reread.open(
            jsonl(
                printed(reply(use("t1", "Task", prompt="look"), id="m1")),
                printed(user("look"), parent="t1"),
                printed(reply(use("n1", "Task", prompt="deeper"), id="m2"), parent="t1"),
                printed(user("deeper"), parent="n1"),
                printed(reply("found", id="m3"), parent="n1"),
                printed(answer(result("n1", "found")), parent="t1"),
                printed(answer(result("t1", "found"))),
            )
        )
        outer, inner = session.agents["t1"], session.agents["n1"]
        assert session.calls[0].agent is outer and outer.parent is None
        assert outer.calls[0].agent is inner and inner.parent is outer
        assert texts(inner) == ["deeper", "found"]
        assert [call.ok for call in (*session.calls, *outer.calls)] == [True, True]

    def test_a_skill_that_names_another_agent_is_linked_by_its_folder(self) -> None:
        (path,) = (Path(__file__).parent / "fixtures" / "findings" / "skill-fork").glob("*.jsonl")
        session = reread.open(path)
        (call,) = session.calls
        assert call.name == "Skill" and call.data["agentId"] not in session.agents
        assert session.agents["a27c468"].call is call and call.agent is session.agents["a27c468"]

    def test_an_agent_without_a_link_is_listed(self) -> None:
        session = read(user("go"), side(user("who called?"), "s1", None))
        (agent,) = session.agents.values()
        assert (agent.call, agent.parent, texts(agent)) == (None, None, ["who called?"])

    def test_an_agent_inside_an_agents_progress_is_listed(self) -> None:
        deepest = {"type": "user", "message": {"role": "user", "content": "deep"}, "uuid": "d1"}
        inner = progress("agent_progress", {"agentId": "inner", "message": deepest}, uuid="i1")
        session = read(user("go"), progress("agent_progress", {"agentId": "outer", "message": inner}))
        assert texts(session.agents["inner"]) == ["deep"]

    def test_links_are_found_anew_as_a_session_grows(self) -> None:
        source = GrowingSource(
            jsonl(
                *told(
                    reply(use("t1", "Agent", prompt="look")),
                    side(user("look"), "s1", None),
                    side(user("look harder"), "s2", None, agentId="ag"),
                    answer(result("t1"), data={"agentId": "ag", "status": "completed"}),
                )
            )
        )
        session = Session(source)
        threads_of(session).restart()
        for size in (source.data.index(b"look harder"), len(source.data)):
            source.size = size
            threads_of(session).load_lines()
            called = session.calls[0].agent
        assert called is session.agents["ag"]
        assert (session.agents["ag"].call, session.agents["s1"].call) == (session.calls[0], None)

    @pytest.mark.parametrize("depth", [20, 100, 1000])
    def test_agents_may_be_nested_in_progress_records_without_end(self, depth: int) -> None:
        nested = b'{"type":"user","uuid":"d","message":{"content":"deep"}}'
        for n in range(depth):
            start = b'{"type":"progress","uuid":"p%d","sessionId":"s","data":{"type":"agent_progress",' % n
            nested = start + b'"agentId":"a%d","message":' % n + nested + b"}}"
        session = reread.open(nested)
        assert len(session.ledger) == 1
        if depth <= 100:  # deeper JSON is read only in part
            assert len(session.agents) == min(depth, DEEPEST)
        assert 1 <= len(session.agents) <= DEEPEST

    def test_no_agent_is_its_own_ancestor(self) -> None:
        session = reread.open(
            jsonl(
                printed(reply(use("b", "Task"), id="m1"), parent="a"),
                printed(reply(use("a", "Task"), id="m2"), parent="b"),
            )
        )
        for agent in session.agents.values():
            above = [agent]
            while above[-1].parent is not None:
                assert above[-1].parent not in above
                above.append(above[-1].parent)

    def test_the_first_words_to_an_agent_are_a_prompt(self) -> None:
        session = read(user("go"), side(user("look", isMeta=True), "s1", None))
        (agent,) = session.agents.values()
        assert (kinds(agent), prompts(agent)) == (["prompt"], ["look"])

    def test_a_repeated_sidechain_record_is_a_duplicate_in_the_agent(self) -> None:
        first, second = side(user("look"), "s1", None), side(reply("found"), "s2", "s1")
        session = read(user("go"), first, second, first, second)
        (agent,) = session.agents.values()
        assert fates(agent) == ["shown", "shown", "duplicate", "duplicate"]
        assert texts(agent) == ["look", "found"]


class TestBranches:
    """A branch starts where a later prompt hangs under a parent that already leads somewhere."""

    def test_a_rewind_makes_two_branches(self) -> None:
        session = read(
            user("a"),
            reply("b"),
            user("old"),
            reply("old answer", id="msg_2"),
            user("new", parentUuid="u2"),
            reply("new answer", id="msg_3"),
        )
        active, abandoned = session.branches
        assert (active.active, abandoned.active) == (True, False)
        assert [m.text for m in active.messages] == ["a", "b", "new", "new answer"]
        assert [m.text for m in abandoned.messages] == ["a", "b", "old", "old answer"]
        assert prompts(session) == ["a", "new"]
        assert len(session.messages) == 6
        assert fates(session) == ["shown", "shown", "abandoned", "abandoned", "shown", "shown"]
        assert "abandoned branch" in reasons(session)[2]
        assert [m.active for m in session.messages] == [True, True, False, False, True, True]

    def test_a_parent_may_come_later(self) -> None:
        session = read(
            user("a"),
            reply("b", parentUuid="u3"),
            attachment("date", parentUuid="u1"),
            user("c", parentUuid="u2"),
        )
        assert len(session.branches) == 1
        assert session.conversation.tree.parent(1) == 2


class TestTurns:
    """A prompt and everything up to the next prompt."""

    def test_only_what_a_person_typed_opens_a_turn(self) -> None:
        session = read(
            user("a"),
            reply(use("t1")),
            answer(result("t1")),
            user("Stop hook feedback", isMeta=True),
            user("<task-notification><summary>done</summary></task-notification>"),
            reply("b", id="msg_2"),
            user("<command-name>/cost</command-name>"),
            user("<local-command-stdout>free</local-command-stdout>"),
        )
        assert prompts(session) == ["a", "/cost"]
        assert [len(turn.messages) for turn in session.turns] == [5, 2]
        assert [len(turn.calls) for turn in session.turns] == [1, 0]

    def test_usage_of_a_turn(self) -> None:
        session = read(
            user("a"),
            reply("b", usage={"output_tokens": 3}),
            reply("c", id="msg_2", usage={"output_tokens": 4}),
            user("d"),
        )
        assert [turn.usage.output_tokens for turn in session.turns] == [7, 0]


class TestCompactions:
    """Where the conversation was summed up to make room."""

    def test_boundary_and_summary_are_one_compaction(self) -> None:
        session = read(user("a"), reply("b"), boundary(logicalParentUuid="u2"), summary("So far …"), user("c"))
        (compaction,) = session.compactions
        assert (compaction.trigger, compaction.pre_tokens, compaction.post_tokens) == ("auto", 900, 90)
        assert (compaction.line, compaction.micro, compaction.summary.text) == (3, False, "So far …")
        assert kinds(session) == ["prompt", "response", "compaction", "summary", "prompt"]
        assert prompts(session) == ["a", "c"]
        assert len(session.branches) == 1

    def test_every_mark_knows_its_own_of_many_compactions(self) -> None:
        again = [boundary(uuid="b2"), summary("second", parentUuid="b2"), user("d"), reply("e", id="m2")]
        session = read(user("a"), reply("b"), boundary(), summary("first"), user("c"), *again)
        first, second = session.compactions
        assert (first.summary.text, second.summary.text) == ("first", "second")
        for compaction in (first, second):
            assert compaction_of(compaction.boundary) is compaction_of(compaction.summary) is compaction
        others = [one for one in session.messages if one.kind not in ("compaction", "summary")]
        assert len(others) >= 4 and not any(map(compaction_of, others))

    def test_prelude_and_recap_are_one_compaction(self) -> None:
        prelude = {"type": "compact_prelude", "uuid": "e1", "message": {"content": "long story"}}
        recap = {"type": "compact_recap", "uuid": "e2", "parentUuid": "e1", "message": {"content": "short"}}
        session = reread.open(jsonl(prelude, recap))
        (compaction,) = session.compactions
        assert (compaction.boundary.text, compaction.summary.text) == ("long story", "short")
        (point,) = (part for part in message_parts(compaction.boundary) if isinstance(part, CompactionPoint))
        assert point.summary == "long story\n\nshort"

    def test_an_agent_that_begins_with_a_summary_was_compacted(self, tmp_path: Path) -> None:
        (tmp_path / "s" / "subagents").mkdir(parents=True)
        (tmp_path / "s.jsonl").write_bytes(jsonl(user("a")))
        of_agent = {"isSidechain": True, "agentId": "a1"}
        lines = [summary("so far", **of_agent), reply("on", **of_agent), user("more", **of_agent)]
        lines += [boundary(**of_agent), summary("again", **of_agent), reply("done", id="msg_2", **of_agent)]
        (tmp_path / "s" / "subagents" / "agent-a1.jsonl").write_bytes(jsonl(*lines))
        (agent,) = reread.open(tmp_path / "s.jsonl").agents.values()
        assert kinds(agent) == ["summary", "response", "prompt", "compaction", "summary", "response"]
        assert [(c.line, c.boundary is None, c.summary.text) for c in agent.compactions] == [
            (1, True, "so far"),
            (4, False, "again"),
        ]


class TestUserText:
    """What a person typed, told apart from what the client put there."""

    @table(
        ("written", "kind", "shown"),
        [
            ("Hello", "prompt", "Hello"),
            ("<div>HTML</div> is what I typed", "prompt", "<div>HTML</div> is what I typed"),
            (
                "<command-name>/model</command-name><command-args>opus</command-args>",
                "command",
                "/model opus",
            ),
            (
                "<command-message>init</command-message>\n<command-name>/init</command-name>",
                "command",
                "/init",
            ),
            ("<local-command-stdout>Set model</local-command-stdout>", "output", "Set model"),
            ("<local-command-stderr>No such</local-command-stderr>", "output", "No such"),
            ("<bash-input>ls</bash-input>", "command", "! ls"),
            ("<bash-stdout>a</bash-stdout><bash-stderr>b</bash-stderr>", "output", "a\nb"),
            ("<user-memory-input>use tabs</user-memory-input>", "command", "# use tabs"),
            (
                "<task-notification><task-id>1</task-id><summary>Done</summary></task-notification>",
                "notification",
                "Done",
            ),
            ("[Request interrupted by user]", "interrupt", "[Request interrupted by user]"),
            (
                "[Request interrupted by user for tool use]",
                "interrupt",
                "[Request interrupted by user for tool use]",
            ),
            ("<system-reminder>Be brief</system-reminder>", "meta", ""),
            ("<ide_selection>line 5</ide_selection>Fix this", "prompt", "Fix this"),
            ("<ide_opened_file>a.py</ide_opened_file>\nFix this", "prompt", "Fix this"),
            ("Fix this\n<system-reminder>Be brief</system-reminder>", "prompt", "Fix this"),
        ],
    )
    def test_each_kind(self, written: str, kind: str, shown: str) -> None:
        for content in (written, [text(written)]):
            (message,) = read(user(content)).messages
            assert (message.role, message.kind, message.text) == ("user", kind, shown)

    @pytest.mark.parametrize(
        "caveat",
        [
            "<local-command-caveat>Caveat: The messages below …</local-command-caveat>",
            "Caveat: The messages below were generated by the user while running local commands. DO NOT …",
        ],
    )
    def test_caveats_are_meta_with_or_without_the_flag(self, caveat: str) -> None:
        assert kinds(read(user(caveat, isMeta=True))) == ["meta"]
        assert kinds(read(user(caveat))) == ["meta"]

    def test_what_is_flagged_meta_is_no_prompt(self) -> None:
        session = read(user("Base directory for this skill: …", isMeta=True))
        assert (kinds(session), prompts(session)) == (["meta"], [None])

    @pytest.mark.parametrize("written", ["<command-name>/x</command-name>", "<bash-input>ls</bash-input>"])
    def test_no_turn_opens_with_a_meta_record(self, written: str) -> None:
        assert prompts(read(user(written, isMeta=True))) == [None]

    @pytest.mark.parametrize(
        ("origin", "kind"),
        [
            ({"kind": "human"}, "prompt"),
            ({"kind": "task-notification"}, "notification"),
            ({"kind": "peer"}, "notification"),
            (None, "prompt"),
            ("odd", "prompt"),
        ],
    )
    def test_the_origin_tells_who_spoke(self, origin: Any, kind: str) -> None:
        assert kinds(read(user("Words", origin=origin))) == [kind]

    def test_the_clients_additions_are_asides(self) -> None:
        (message,) = read(
            user(
                [
                    text("<ide_opened_file>The user opened a.py</ide_opened_file>"),
                    text("Fix it <system-reminder>Be brief</system-reminder>"),
                ]
            )
        ).messages
        assert (message.kind, message.text) == ("prompt", "Fix it")
        assert [(aside.tag, aside.text) for aside in message.asides] == [
            ("ide_opened_file", "The user opened a.py"),
            ("system-reminder", "Be brief"),
        ]

    def test_a_command_has_a_name_and_arguments(self) -> None:
        written = "<command-args>the tests</command-args><command-name>/fix</command-name>"
        (message,) = read(user(written)).messages
        assert (message.command.name, message.command.args) == ("/fix", "the tests")

    def test_a_notification_has_fields(self) -> None:
        written = "<task-notification>\n<task-id>b1</task-id>\n<status>failed</status>\n</task-notification>"
        (message,) = read(user(written)).messages
        assert message.fields == {"task-id": "b1", "status": "failed"}

    @pytest.mark.parametrize(
        ("payload", "kind"),
        [
            ({"prompt": "also this", "commandMode": "prompt"}, "prompt"),
            ({"prompt": [text("also this")], "commandMode": "prompt", "origin": {"kind": "human"}}, "prompt"),
            ({"prompt": "also this"}, "prompt"),
            ({"prompt": "also this", "commandMode": "task-notification"}, "notification"),
            ({"prompt": "also this", "origin": {"kind": "task-notification"}}, "notification"),
            ({"prompt": "also this", "isMeta": True}, "notification"),
        ],
    )
    def test_queued_input_was_typed_or_reported(self, payload: Object, kind: str) -> None:
        session = read(user("go"), reply("on it"), attachment("queued_command", payload))
        assert (kinds(session)[2], texts(session)[2]) == (kind, "also this")
        assert prompts(session) == ["go", "also this"][: 2 if kind == "prompt" else 1]

    def test_pasted_images_are_found_by_their_numbers(self) -> None:
        content = [text("Compare [Image #7] with [Image #3]"), image("AAAA"), image("BBBB")]
        (message,) = read(user(content, imagePasteIds=[3, 7])).messages
        assert {n: block.source.data for n, block in message.pasted.items()} == {3: "AAAA", 7: "BBBB"}

    def test_images_pasted_into_queued_input(self) -> None:
        payload = {"prompt": [text("[Image #2]"), image("AAAA")], "imagePasteIds": [2]}
        (message,) = read(attachment("queued_command", payload)).messages
        assert message.pasted[2].source.data == "AAAA"

    def test_system_records_speak_by_kind(self) -> None:
        session = read(
            system("local_command", "<local-command-stdout>x</local-command-stdout>"),
            system("stop_hook_summary", preventedContinuation=True),
            system("api_error"),
            system("scheduled_task_fire", "tick"),
            system("informational", "by the way"),
            system("something_new", "who knows"),
            system("turn_duration", durationMs=5),
        )
        assert kinds(session) == ["output", "hook", "error", "notification", "notice", "notice"]
        assert {m.role for m in session.messages} == {"system"}
        assert fates(session)[-1] == "state"


class TestFacts:
    """What the records say of the session as a whole."""

    def test_the_session_id_may_change(self) -> None:
        session = read(user("a"), reply("b"), user("c", sessionId="other"), reply("d", sessionId=SESSION))
        assert session.ids == [SESSION, "other"]
        assert session.metadata.ids_at == [0, 2, 3]
        assert session.id == SESSION

    def test_what_changes_over_time_is_kept_in_order(self) -> None:
        session = read(
            user("a", cwd="/p", gitBranch="main", version="2.0", entrypoint="cli", permissionMode="default"),
            reply("b", cwd="/p", gitBranch="fix", version="2.1", slug="happy-cat"),
            user("c", cwd="/q", gitBranch="main", version="2.0", permissionMode="plan"),
        )
        facts = session.metadata
        assert (session.project, facts.cwds, facts.versions) == ("/p", ["/p", "/q"], ["2.0", "2.1"])
        assert (facts.git_branches, facts.slugs) == (["main", "fix", "main"], ["happy-cat"])
        assert (facts.entrypoints, facts.permission_modes) == (["cli"], ["default", "plan"])
        assert facts.models == ["claude-x"]

    def test_first_and_last_time_whatever_the_order(self) -> None:
        session = read(
            user("a", timestamp="2025-01-02T00:00:00Z"),
            reply("b", timestamp="2025-01-01T00:00:00Z"),
            user("c", timestamp="2025-01-03T00:00:00Z"),
        )
        assert (session.started.day, session.ended.day) == (1, 3)

    def test_a_timestamp_that_is_none_hides_no_other(self) -> None:
        session = read(user("a", timestamp="yesterday"), user("b", timestamp="2025-01-03T00:00:00Z"))
        assert session.started is not None and session.ended is not None
        assert (session.started.day, session.ended.day) == (3, 3)

    def test_where_it_came_from_and_went(self) -> None:
        origin = {"sessionId": "old", "messageUuid": "x"}
        session = read(user("a", forkedFrom=origin), state("continued-in", continuedInSessionId="next"))
        assert (session.metadata.forked_from, session.metadata.continued_in) == (origin, ["next"])


class TestLedger:
    """Every record's fate, with its reason."""

    SESSION = (
        user("go"),
        reply(use("t1")),
        attachment("date"),
        answer(result("t1")),
        answer(result("t9")),
        state("mode", mode="normal"),
        user("aside", isSidechain=True, uuid="s1", parentUuid=None),
        state("never-seen", x=1),
        reply("more"),
        user("go", uuid="u1"),
    )

    def test_each_record_has_a_fate_and_a_reason(self) -> None:
        session = read(*self.SESSION)
        assert [(entry.fate, entry.reason) for entry in session.ledger] == [
            ("shown", "starts prompt u1"),
            ("shown", "starts response msg_1"),
            ("attached", "attached to response msg_1"),
            ("paired", "result of call t1 (Bash)"),
            ("orphan", "a result whose call is not in this file"),
            ("state", "mode: session state, the last one wins"),
            ("agent", "belongs to agent s1"),
            ("unknown", "unknown type never-seen, kept as written"),
            ("merged", "continues response msg_1"),
            ("duplicate", "repeats line 1"),
        ]

    def test_the_counts_are_those_of_the_entries(self) -> None:
        ledger = read(*self.SESSION).ledger
        assert sum(ledger.fates.values()) == len(ledger) == len(self.SESSION)
        assert ledger.fates == {fate: fates_of(ledger).count(fate) for fate in fates_of(ledger)}

    def test_a_broken_line_is_accounted_for(self) -> None:
        session = reread.open(jsonl(*told(user("a"))) + b'{"type": "user", "mess\n[1]\n')
        assert fates(session) == ["shown", "malformed", "malformed"]
        assert "not JSON" in reasons(session)[1] and "not a JSON object" in reasons(session)[2]

    def test_entries_name_what_a_record_belongs_to(self) -> None:
        ledger = read(*self.SESSION).ledger
        assert (ledger[0].message, ledger[3].call, ledger[6].agent, ledger[9].of) == ("u1", "t1", "s1", 1)

    def test_a_ledger_is_a_sequence(self) -> None:
        ledger = read(*self.SESSION).ledger
        assert ledger[-1] == list(ledger)[-1] == ledger[9:][0]
        with pytest.raises(IndexError):
            ledger[-len(ledger) - 1]

    def test_what_a_record_changed(self) -> None:
        conversation = read(*self.SESSION).conversation
        assert change_of(conversation, 0).message is conversation.messages[0]
        assert change_of(conversation, 3).call is conversation.calls[0]
        assert change_of(conversation, 6).agent is conversation.inline_agents["s1"]
        assert change_of(conversation, 5).message is None


def fates_of(ledger: Any) -> list[str]:
    """The fates that its entries state."""
    return [entry.fate for entry in ledger]


@table(
    "records",
    [
        [system("api_error", retryAttempt=1, retryInMs=10**400)],
        [system("api_error", error={"status": DEEP, "message": "x"})],
        [system("stop_hook_summary", hookErrors=[DEEP], hookInfos=[{"command": DEEP}])],
        [system(DEEP)],
        [system("new", content=[DEEP, {}])],
        [state("pr-link", prUrl=DEEP)],
        [state("summary", summary=DEEP)],
        [user("x", uuid=[1], supersedes=["u1"])],
        [attachment("hook_success", {"content": [DEEP, {}]})],
        [reply({"type": "new", "x": DEEP}), reply({"type": "new", "x": DEEP})],
        [reply("a", use("t1", "X", a=DEEP)), reply("a", use("t1", "X", a=DEEP))],
        [reply(use("t1")), answer(result("t1", DEEP), data=DEEP)],
        [reply("x", usage={"input_tokens": 10**400, "output_tokens": -5}, costUSD=10**400)],
        [reply({"type": "tool_use", "id": {}, "name": [], "input": 5})],
    ],
)
def test_no_odd_value_raises(records: list[Object]) -> None:
    session = reread.open(b"\n".join(map(encode, told(*records))))
    walk(session)
    accounts(session)


def many(count: int, *shapes: Callable[[int], Object]) -> list[Object]:
    """So many of each of these records, in turn."""
    return [shape(n) for n in range(count) for shape in shapes]


def forked(count: int) -> list[Object]:
    """A session that leaves its branch again and again."""
    records = [user("a"), reply("b")]
    for _ in range(count):
        fork = f"u{len(records)}"
        records += [user("c"), reply("d", id=f"m{len(records)}"), user("e", parentUuid=fork)]
    return records


HOSTILE = {
    "texts in one message": lambda: many(1000, lambda n: reply(f"text {n}")),
    "branches on branches": lambda: forked(1500),
    "prompts beside attachments": lambda: [
        user("a"),
        *many(4000, lambda n: attachment("date", parentUuid="u1")),
        *many(4000, lambda n: user("b", parentUuid="u1")),
    ],
    "agents without a call": lambda: many(
        750,
        lambda n: reply(use(f"t{n}", "Task", prompt=f"asked {n}"), id=f"m{n}"),
        lambda n: user(f"told {n}", isSidechain=True, uuid=f"s{n}", parentUuid=None),
    ),
    "agents in agents": lambda: many(
        150, lambda n: printed(reply(use(f"t{n + 1}", "Task"), id=f"m{n}"), f"t{n}" if n else None)
    ),
    "progress of one call": lambda: [
        reply(use("t1")),
        *many(40_000, lambda n: progress("bash_progress", parentToolUseID="t1", parentUuid="u1")),
    ],
    "compactions": lambda: many(
        3000, lambda n: system("compact_boundary"), lambda n: user("In short", isCompactSummary=True)
    ),
    "boundaries": lambda: many(6000, lambda n: system("compact_boundary")),
    "results of nothing": lambda: (
        many(6000, lambda n: reply(use(f"t{n}"), id=f"m{n}")) + many(12_000, lambda n: answer(result(None)))
    ),
    "places": lambda: many(10_000, lambda n: user("a", cwd=f"/{n}", version=f"{n}", slug=f"{n}")),
}


@one_in(4)
@pytest.mark.parametrize("name", HOSTILE)
def test_no_session_takes_long(name: str) -> None:
    session = read(*HOSTILE[name]())
    with within(1.5):
        assert len(list(session.ledger)) == len(session.records)
        assert session.turns and session.branches and session.agents is not None


DRAWN_OUT: dict[str, Callable[[], list[Object]]] = {
    "deltas": lambda: [
        event("message_start", message={"id": "msg_1", "role": "assistant", "content": []}),
        *many(40_000, lambda n: event("content_block_delta", index=0, delta={"type": "text_delta", "text": "a" * 100})),
    ],
    "requests": lambda: many(10_000, lambda n: reply(f"block {n}", requestId=f"r{n}")),
    "small compactions": lambda: many(
        4000, lambda n: system("microcompact_boundary"), lambda n: user("In short", isCompactSummary=True)
    ),
}


@one_in(3)
@pytest.mark.parametrize("name", DRAWN_OUT)
def test_no_message_takes_long(name: str) -> None:
    session = read(*DRAWN_OUT[name]())
    with within(3):
        assert all(message.text or message.kind == "compaction" for message in session.messages)
        assert session.conversation.usage is not None and session.context


def test_many_silent_parents_with_a_prompt_each_are_no_quadratic_work() -> None:
    silent = [{"type": "system", "subtype": "x", "content": "c", "uuid": f"p{n}"} for n in range(20_000)]
    prompts = [user(f"hello {n}", uuid=f"c{n}", parentUuid=f"p{n}") for n in range(20_000)]
    data = jsonl(*silent, *prompts)
    with within(5):
        opened = reread.open(data)
        assert len(opened.branches) == 1 and len(opened.turns) == 20_000


def test_a_prompt_far_back_leaves_a_branch_where_something_was_said_and_none_where_not() -> None:
    between = [user("x", uuid=f"m{n}", parentUuid="a") for n in range(100)]
    begun = [user("one", uuid="a"), {"type": "system", "subtype": "x", "content": "c", "uuid": "b", "parentUuid": "a"}]
    assert len(read(*begun, *between, user("two", uuid="z", parentUuid="b")).branches) == 101 - 1
    assert len(read(*begun, *between, user("two", uuid="z", parentUuid="a")).branches) == 101


def test_a_denial_in_a_stream_belongs_to_its_call_and_is_no_error() -> None:
    session = reread.open(Path(__file__).parent / "real" / "2.1.325" / "deny" / "stream.jsonl")
    assert "error" not in {message.kind for message in session.messages}
    attached = [[session.records[index].native.get("subtype") for index in call.attached] for call in session.calls]
    assert attached == [["permission_denied"], ["permission_denied"]]


@pytest.mark.parametrize("others", [["an okapi"], [{"odd": "an okapi"}], {"odd": "an okapi"}, "an okapi"])
def test_what_stands_in_place_of_an_agents_messages_is_found_and_shown(tmp_path: Path, others: Any) -> None:
    data = {"agentId": "a1", "message": {"uuid": "x1", **reply(text("on"))}, "normalizedMessages": others}
    report = progress("agent_progress", data, parentToolUseID="toolu_1")
    path = tmp_path / "projects" / "-p" / "s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(jsonl(user("go"), reply(use("toolu_1", "Task", prompt="look around")), report))
    assert "an okapi" in reread.export(path, "markdown", full=True).decode()
    assert reread.search("okapi", root=tmp_path).total == 1


@pytest.mark.parametrize("others", [None, {}, "x", [1, None]])
def test_an_agent_in_progress_records_has_every_message_once(others: Any) -> None:
    """`message` is the last block of those in `normalizedMessages`, which may repeat earlier ones."""
    first = {"uuid": "x1", **user("look around")}
    said = {"uuid": "x2", **reply(text("I look"), id="msg_9")}
    called = {"uuid": "x3", **reply(use("toolu_9", "Read", file_path="/a"), id="msg_9")}
    done = {"uuid": "x4", **answer(result("toolu_9", "shelves"))}
    steps = [(first, [first]), (called, [said, called]), (done, [first, said, called, done]), (done, others)]
    records = [
        {
            "type": "progress",
            "uuid": f"p{n}",
            "parentToolUseID": "toolu_1",
            "data": {"type": "agent_progress", "agentId": "a1", "message": message, "normalizedMessages": all},
        }
        for n, (message, all) in enumerate(steps)
    ]
    session = reread.open(jsonl(user("go"), reply(use("toolu_1", "Task", prompt="look around")), *records))
    agent = session.agents["a1"]
    assert [(message.kind, message.text) for message in agent.messages] == [
        ("prompt", "look around"),
        ("response", "I look"),
    ]
    assert [(call.name, call.result.content) for call in agent.calls] == [("Read", "shelves")]
    assert {"duplicate"}.isdisjoint(agent.ledger.fates)
