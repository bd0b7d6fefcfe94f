"""Guards of the fold, the agent links, the merge and the headers: each test fails if its guard is removed."""

from pathlib import Path

import making
from making import Object, attachment, jsonl, read, reply, system, use, user
from test_merge import capture, printed, result, transcript

import reread
from reread.catalog.headers import read_header

BOUNDARY = system("compact_boundary", "Conversation compacted", compactMetadata={"preTokens": 900})
MICRO = system("microcompact_boundary", "Context cleared", microcompactMetadata={"preTokens": 7})
SUMMARY = user("In short", isCompactSummary=True)


def hung(record: Object, uuid: str, parent: str | None) -> Object:
    """A record with its place in the tree."""
    return {**record, "uuid": uuid, "parentUuid": parent}


def test_a_compaction_after_a_microcompaction_keeps_its_boundary() -> None:
    session = read(user("a"), MICRO, BOUNDARY, SUMMARY)
    micro, full = session.compactions
    assert (micro.micro, micro.pre_tokens) == (True, 7)
    assert (full.micro, full.pre_tokens, full.boundary, full.summary) == (
        False,
        900,
        session.messages[2],
        session.messages[3],
    )


def test_a_microcompaction_after_a_boundary_is_its_own() -> None:
    session = read(user("a"), BOUNDARY, MICRO, SUMMARY)
    assert [(c.micro, c.pre_tokens, c.summary is not None) for c in session.compactions] == [
        (False, 900, True),
        (True, 7, False),
    ]


def test_two_boundaries_with_a_message_between_are_two_compactions() -> None:
    assert len(read(user("a"), BOUNDARY, user("b"), BOUNDARY, SUMMARY).compactions) == 2
    assert len(read(user("a"), BOUNDARY, BOUNDARY, SUMMARY).compactions) == 1


def test_a_branch_is_judged_anew_once_a_late_parent_takes_its_child_away() -> None:
    filler = [hung(attachment("file"), f"f{n}", f"f{n - 1}" if n else "c") for n in range(80)]
    session = reread.open(
        jsonl(
            hung(user("a"), "d", None),
            hung(attachment("file"), "b", "d"),
            hung(reply("c"), "c", "late"),  # falls back to the record before, b
            *filler,
            hung(user("another try"), "q", "d"),  # far from its parent, so the index is built
            hung(attachment("file"), "late", "d"),  # the parent of c: b leads nowhere any more
            hung(user("under b"), "z", "b"),
        )
    )
    assert len(session.branches) == 2
    assert [branch.fork for branch in session.branches if branch.parent is not None] == [0]


def test_an_agent_did_not_start_itself() -> None:
    def side(record: Object, uuid: str, parent: str | None) -> Object:
        return {**hung(record, uuid, parent), "isSidechain": True}

    session = read(
        user("go"),
        side(user("look"), "s1", None),
        side(reply(use("t1", "Agent", prompt="look"), id="m_s"), "s2", "s1"),
    )
    (agent,) = session.agents.values()
    assert (agent.call, agent.parent, agent.calls[0].agent) == (None, None, None)


def test_agents_that_name_each_other_as_parents_have_no_cycle() -> None:
    def side(record: Object, agent: str, uuid: str, parent: str | None) -> Object:
        return {**hung(record, uuid, parent), "isSidechain": True, "agentId": agent}

    session = read(
        user("go"),
        side(user("one"), "a", "a1", None),
        side(reply(use("t1", "Agent", prompt="two"), id="m_a"), "a", "a2", "a1"),
        side(user("two"), "b", "b1", None),
        side(reply(use("t2", "Agent", prompt="one"), id="m_b"), "b", "b2", "b1"),
    )
    parents = {id: agent.parent.id if agent.parent else None for id, agent in session.agents.items()}
    assert sorted(parents.items(), key=str) in ([("a", None), ("b", "a")], [("a", "b"), ("b", None)])


def test_a_prompt_that_a_stream_echoes_is_not_there_twice(tmp_path: Path) -> None:
    asked, said = transcript(tmp_path, user("Hi"), reply("Hello."))
    echo = {**printed(asked), "uuid": "another", "isReplay": True}
    capture(tmp_path, echo, printed(said), result())
    assert [message.text for message in reread.open("c", root=tmp_path).messages] == ["Hi", "Hello."]


def test_the_title_of_another_session_is_not_taken(tmp_path: Path) -> None:
    foreign = {"type": "summary", "summary": "Another session", "leafUuid": "elsewhere"}
    own = {"type": "summary", "summary": "This session", "leafUuid": "u2"}
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl(foreign, *making.told(user("My prompt"), reply("Yes."))))
    assert read_header(path).title == reread.open(path).title == "My prompt"
    unnamed = {"type": "summary", "summary": "Nobody's session"}
    path.write_bytes(jsonl(*making.told(user("My prompt"), reply("Yes.")), unnamed))
    assert read_header(path).title == reread.open(path).title == "My prompt"
    path.write_bytes(jsonl(foreign, *making.told(user("My prompt"), hung(reply("Yes."), "u2", "u1")), own))
    assert read_header(path).title == reread.open(path).title == "This session"


def test_a_result_without_an_id_answers_the_first_open_call_of_the_last_response() -> None:
    session = read(
        user("a"),
        reply(use("t1"), use("t2")),
        user([{"type": "tool_result", "content": "one"}]),
        user([{"type": "tool_result", "content": "two"}]),
        user([{"type": "tool_result", "content": "three"}]),
    )
    assert [(call.by_position, call.result.content) for call in session.calls] == [(True, "one"), (True, "two")]
    assert session.ledger.fates == {"shown": 2, "paired": 2, "orphan": 1}
    assert session.ledger[2].reason == "result of call t1 (Bash) by position"


def test_a_result_before_its_call_keeps_its_error() -> None:
    session = read(
        user("a"),
        user([{"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": True}]),
        reply(use("t1")),
    )
    assert (session.calls[0].ok, session.ledger[1].fate) == (False, "paired")


def test_a_second_result_does_not_replace_the_first() -> None:
    first, second = ([{"type": "tool_result", "tool_use_id": "t1", "content": word}] for word in ("one", "two"))
    session = read(user("a"), reply(use("t1")), user(first), user(second))
    assert session.calls[0].result.content == "one"


def test_a_record_may_name_itself_as_its_parent() -> None:
    session = reread.open(jsonl(hung(user("a"), "u1", "u1"), hung(reply("b"), "u2", "u1")))
    assert [(m.text, m.active) for m in session.messages] == [("a", True), ("b", True)]
    assert session.conversation.tree.parent(0) == -1


def test_an_uuid_of_another_type_is_another_record() -> None:
    session = reread.open(jsonl(hung(user("a"), "u1", None), hung(system("info", "b"), "u1", None)))
    assert session.ledger.fates == {"shown": 2}


def test_a_marked_branch_stays_the_active_one() -> None:
    session = read(
        hung(user("a"), "u1", None),
        hung(reply("b", id="m1"), "u2", "u1"),
        {**hung(user("c"), "u3", "u2"), "is_active": True},
        hung(user("d"), "u4", "u2"),
        hung(reply("e", id="m2"), "u5", "u4"),
    )
    assert [turn.prompt.text for turn in session.turns if turn.prompt] == ["a", "c"]
