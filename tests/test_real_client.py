"""Every session that the real client wrote, held against what the API was asked and answered.

The selection in `tests/real` is always read; with `REREAD_REAL_CLIENT` set, so is all of its `data/` folder.
What is expected comes from `plain.py`, which knows nothing of reread.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import plain
from batches import SIZE, each, table
from effort import one_in
from walk import accounts, answers, holds_together, walk

import reread
from reread.disk.spilled import tool_result_file

HERE = Path(__file__).parent / "real"
LARGER = os.environ.get("REREAD_REAL_CLIENT")
ROOTS = [HERE, *([Path(LARGER) / "data"] if LARGER else [])]
SCENARIOS = sorted(path.parent for root in ROOTS for path in root.glob("*/*/meta.json"))
TRANSCRIPTS = [path for scenario in SCENARIOS for path in plain.transcripts(scenario)]
STREAMS = [path for scenario in SCENARIOS for path in plain.streams(scenario)]

CUT_SHORT = ("interrupt_", "stream_cut", "stream_error", "no_content")
"""Scenarios in which the client itself wrote less than the API sent."""


def name(path: Path) -> str:
    """A test's name for a scenario or a file of one."""
    scenario = scenario_of(path)
    origin = "" if HERE in path.parents else "data:"
    rest = path.name[-14:] if path != scenario else ""
    return f"{origin}{scenario.parent.name}/{scenario.name}/{rest}".rstrip("/")


def scenario_of(path: Path) -> Path:
    """The folder of the scenario that a file belongs to."""
    return next(folder for folder in (path, *path.parents) if (folder / "meta.json").exists())


every_scenario = each("scenario", SCENARIOS, ids=name)
every_transcript = each("path", TRANSCRIPTS, ids=name)
every_stream = each("path", STREAMS, ids=name)


@lru_cache(maxsize=SIZE)
def session_of(path: Path) -> Any:
    """A file as a session; those of one batch stay open, since each has a descriptor."""
    return reread.open(path)


def conversations(path: Path) -> Iterator[tuple[Any, list[plain.Object]]]:
    """Each conversation of a session (its main thread, its agents) with the rows that it must hold."""
    session = session_of(path)
    yield session, plain.main_thread(path)
    for agent_id, file in plain.agent_files(path).items():
        yield session.agents[agent_id], plain.objects(file)
    for rows in plain.side_threads(path):
        holders = [a for a in session.agents.values() if rows[0]["uuid"] in {u for m in a.messages for u in m.uuids}]
        assert len(holders) == 1
        yield holders[0], rows


def spoken(session: Any) -> dict[str, Any]:
    """All messages of a session and of its agents, by the uuids of their records."""
    everyone = [session, *session.agents.values()]
    return {uuid: m for speaker in everyone for m in speaker.messages for uuid in m.uuids}


def called(session: Any) -> dict[str, Any]:
    """All calls of a session and of its agents, by id."""
    return {call.id: call for speaker in [session, *session.agents.values()] for call in speaker.calls}


def as_written(content: Any) -> Any:
    """A result's content as plain JSON."""
    return content if content is None or isinstance(content, str) else [fields(block) for block in content]


def fields(block: Any) -> Any:
    """A block's type, and its text where it has one."""
    if isinstance(block, dict):
        return block["type"], block.get("text", "")
    return block.type, getattr(block, "text", "")


def test_there_is_something_to_read() -> None:
    assert len(SCENARIOS) >= 60
    assert len({scenario.parent.name for scenario in SCENARIOS}) == 5


@one_in(3)
@every_transcript
def test_no_byte_is_lost_and_every_record_accounted_for(path: Path) -> None:
    session = session_of(path)
    walk(session)
    holds_together(session, path.read_bytes())
    for agent_id, file in plain.agent_files(path).items():
        holds_together(session.agents[agent_id], file.read_bytes())


@one_in(3)
@every_stream
def test_no_byte_of_a_stream_is_lost(path: Path) -> None:
    session = session_of(path)
    walk(session)
    holds_together(session, path.read_bytes())
    for agent in session.agents.values():
        accounts(agent)


@every_transcript
def test_nothing_is_unknown_or_malformed(path: Path) -> None:
    assert [r.type for r in session_of(path).records] == [row["type"] for row in plain.objects(path)]


@every_transcript
def test_the_model_said_what_the_api_answered(path: Path) -> None:
    scenario = scenario_of(path)
    truth = plain.truth(scenario)
    for conversation, rows in conversations(path):
        expected, got = plain.responses(rows), answers(conversation)
        assert list(got) == list(expected)
        for message_id, response in expected.items():
            sent, message = truth[message_id], got[message_id]
            types = [block.type for block in message.blocks]
            tools = [block for block in message.blocks if block.type == "tool_use"]
            if scenario.name.startswith(CUT_SHORT):
                assert types == sent["blocks"][: len(response.blocks)]
            else:
                assert types == sent["blocks"]
            wanted = sent["tool_uses"][: len(response.tools)]
            assert [(t.id, t.name) for t in tools] == [(t["id"], t["name"]) for t in wanted]
            for tool, asked in zip(tools, wanted, strict=True):
                assert tool.input.items() >= asked["input"].items()
            assert message.stop_reason == (sent["stop"] if response.stops else None)


@every_transcript
def test_tokens_are_counted_once_and_as_the_api_reported_them(path: Path) -> None:
    truth = plain.truth(scenario_of(path))
    for conversation, rows in conversations(path):
        got = answers(conversation)
        for message_id, response in plain.responses(rows).items():
            usage, sent = got[message_id].usage, truth[message_id]["usage"]
            assert usage.responses == 1
            assert usage.input_tokens == sent["input_tokens"]
            assert usage.cache_read_tokens == sent["cache_read_input_tokens"]
            written = usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
            assert written == sent["cache_creation_input_tokens"]
            assert usage.unconfirmed_responses == int(not response.stops)
            if response.stops and not scenario_of(path).name.startswith(CUT_SHORT):
                assert usage.output_tokens == sent["output_tokens"]
            else:
                assert usage.output_tokens <= sent["output_tokens"]


@every_transcript
def test_every_block_is_there_with_its_words(path: Path) -> None:
    for conversation, rows in conversations(path):
        got = answers(conversation)
        for message_id, response in plain.responses(rows).items():
            texts = [block["text"] for block in response.blocks if block["type"] == "text"]
            assert [b.text for b in got[message_id].blocks if b.type == "text"] == texts


@every_transcript
def test_every_call_is_a_call_of_its_message(path: Path) -> None:
    for conversation, rows in conversations(path):
        for message_id, response in plain.responses(rows).items():
            calls = [call for call in conversation.calls if call.message.id == message_id]
            assert [(c.id, c.name) for c in calls] == [(t["id"], t["name"]) for t in response.tools]
            assert [c.input for c in calls] == [t["input"] for t in response.tools]


@every_transcript
def test_every_result_is_on_its_call(path: Path) -> None:
    for conversation, rows in conversations(path):
        results = plain.results(rows)
        for call in conversation.calls:
            if call.id not in results:
                assert (call.ok, call.result, call.data) == (None, None, None)
                continue
            block, row = results[call.id]
            assert call.result.type == "tool_result"
            assert as_written(call.result.content) == as_written(block["content"])
            assert call.data == row.get("toolUseResult")
            assert call.ok is not plain.failed(block, row)
            assert call.state == call.outcome.state
        assert {call.id for call in conversation.calls} >= results.keys()


@every_transcript
def test_what_a_person_typed_is_a_prompt(path: Path) -> None:
    typed = {
        row["message"]["content"]
        for row in plain.main_thread(path)
        if row["type"] == "user" and not row.get("isMeta") and isinstance(row["message"]["content"], str)
    }
    asked = {p for p in plain.start_prompts(scenario_of(path)) if not p.startswith("/")}
    session = session_of(path)
    prompts = {t.prompt.text for branch in session.branches for t in branch.turns if t.prompt}
    assert typed & asked <= prompts
    assert all(message.kind == "prompt" for message in session.messages if message.text in asked & typed)


@every_transcript
def test_what_nobody_typed_is_no_prompt(path: Path) -> None:
    session = session_of(path)
    kinds = {uuid: message.kind for message in session.messages for uuid in message.uuids}
    for row in plain.main_thread(path):
        if row["type"] == "user" and plain.has_own_content(row) and not plain.is_typed(row):
            assert kinds[row["uuid"]] != "prompt"
            assert all(
                turn.prompt is None or row["uuid"] not in turn.prompt.uuids or kinds[row["uuid"]] == "command"
                for turn in session.turns
            )


@every_transcript
def test_nothing_is_said_twice(path: Path) -> None:
    session = session_of(path)
    for speaker in [session, *session.agents.values()]:
        uuids = [uuid for message in speaker.messages for uuid in message.uuids]
        assert len(uuids) == len(set(uuids))
        assert len({message.id for message in speaker.messages}) == len(speaker.messages)


@every_transcript
def test_spilled_results_are_found_beside_the_session(path: Path) -> None:
    session = session_of(path)
    for call in session.calls:
        written = call.data.get("persistedOutputPath") if isinstance(call.data, dict) else None
        if written:
            assert tool_result_file(path, written) == path.with_suffix("") / "tool-results" / Path(written).name


@every_transcript
def test_every_agent_file_is_an_agent_of_its_session(path: Path) -> None:
    session = session_of(path)
    files = plain.agent_files(path)
    if files:
        assert session.agents.keys() == files.keys()
    assert len(session.agents) == len(files) + len(plain.side_threads(path))


@every_transcript
def test_agents_are_linked_to_the_calls_that_started_them(path: Path) -> None:
    session = session_of(path)
    calls, first = called(session), {}
    for conversation, rows in conversations(path):
        for call_id, (_, row) in plain.results(rows).items():
            data = row.get("toolUseResult")
            agent_id = data.get("agentId") if isinstance(data, dict) else None
            if agent_id in session.agents:
                assert calls[call_id].agent is session.agents[agent_id]
                assert session.agents[agent_id].call is calls[first.setdefault(agent_id, call_id)]
                assert calls[call_id] in conversation.calls
    for rows in plain.side_threads(path):
        prompt = rows[0]["message"]["content"]
        (call,) = (c for c in session.calls if c.name == "Task" and c.input["prompt"] == prompt)
        assert rows[0]["uuid"] in {uuid for m in call.agent.messages for uuid in m.uuids}


@every_transcript
def test_a_branch_begins_where_a_person_went_back(path: Path) -> None:
    session, rewinds = session_of(path), plain.rewinds(path)
    assert len(session.branches) == 1 + len(rewinds)
    assert [branch.active for branch in session.branches] == [True] + [False] * len(rewinds)
    taken = {uuid for message in session.branches[0].messages for uuid in message.uuids}
    assert {row["uuid"] for row in rewinds[-1:]} <= taken
    everything = {uuid for branch in session.branches for message in branch.messages for uuid in message.uuids}
    assert everything == {uuid for message in session.messages for uuid in message.uuids}


@every_transcript
def test_compactions_are_counted_once(path: Path) -> None:
    rows = plain.unique(plain.main_thread(path))
    boundaries = [row for row in rows if row.get("subtype") == "compact_boundary"]
    assert len(session_of(path).compactions) == len(boundaries)


@every_transcript
def test_the_session_knows_where_it_ran(path: Path) -> None:
    session, rows = session_of(path), plain.objects(path)
    ids = list(dict.fromkeys(row["sessionId"] for row in rows if "sessionId" in row))
    assert set(session.ids) == set(ids)
    folders = [row["cwd"] for row in rows if row.get("cwd")]
    if folders:
        assert session.project == folders[0] == "/home/dev/proj"
        assert session.id == path.stem


@every_scenario
def test_agents_and_journals_are_never_taken_for_sessions(scenario: Path) -> None:
    found = {Path(header.path) for header in reread.sessions(root=scenario)}
    files = set(plain.transcripts(scenario))
    assert found <= files
    assert found >= {path for path in files if path.stat().st_size}


@one_in(3)
@every_scenario
def test_healthy_sessions_have_no_errors(scenario: Path) -> None:
    for path in [*plain.transcripts(scenario), *plain.streams(scenario)]:
        assert [f for f in reread.check(path) if f.level == "error"] == []


@one_in(3)
@every_stream
def test_a_stream_tells_what_its_transcript_tells(path: Path) -> None:
    stream = spoken(session_of(path))
    scenario = scenario_of(path)
    rows = {
        row["uuid"]: row
        for file in scenario.glob("projects/**/*.jsonl")
        for row in plain.objects(file)
        if "uuid" in row
    }
    native = {uuid: m for file in plain.transcripts(scenario) for uuid, m in spoken(session_of(file)).items()}
    for row in plain.objects(path):
        twin = rows.get(row.get("uuid", ""), {})
        if row["type"] not in {"user", "assistant"} or twin.get("type") != row["type"]:
            continue
        if all(block["type"] == "tool_result" for block in plain.content(row)):
            continue
        printed, written = stream[row["uuid"]], native[row["uuid"]]
        assert printed.role == written.role == row["type"]
        if row["type"] == "assistant":
            assert printed.id == written.id == row["message"]["id"]
            whole = iter([fields(block) for block in written.blocks])
            assert all(fields(block) in whole for block in printed.blocks)
        else:
            assert printed.text == written.text


@one_in(3)
@every_stream
def test_the_calls_of_a_stream_are_those_of_its_transcript(path: Path) -> None:
    printed = called(session_of(path))
    written: dict[str, Any] = {}
    for file in plain.transcripts(scenario_of(path)):
        written.update(called(session_of(file)))
    results = plain.results(plain.objects(path))
    uses = [b for row in plain.objects(path) for b in plain.content(row) if b["type"] == "tool_use"]
    assert printed.keys() == {block["id"] for block in uses}
    for call_id, call in printed.items():
        if call_id in written:
            assert (call.name, call.input) == (written[call_id].name, written[call_id].input)
        if call_id in results:
            block, row = results[call_id]
            assert as_written(call.result.content) == as_written(block["content"])
            assert call.data == row.get("tool_use_result")
            assert call.ok is not plain.failed(block, row)
            assert call.state == call.outcome.state
            if call_id in written and not call.denied:  # old transcripts do not say that a program denied a call
                assert call.state == written[call_id].state


@every_stream
def test_the_responses_of_a_stream_are_what_the_api_answered(path: Path) -> None:
    truth = plain.truth(scenario_of(path))
    session = session_of(path)
    for conversation in [session, *session.agents.values()]:
        for message_id, message in answers(conversation).items():
            sent = truth[message_id]["blocks"]
            types = iter(sent)
            assert all(block.type in types for block in message.blocks)


@every_stream
def test_an_agent_of_a_stream_hangs_on_its_call(path: Path) -> None:
    session = session_of(path)
    calls = called(session)
    parents = {row["parent_tool_use_id"] for row in plain.objects(path) if row.get("parent_tool_use_id")}
    assert {call_id for call_id in parents if calls[call_id].agent} == parents
    for row in plain.objects(path):
        if row.get("parent_tool_use_id"):
            agent = calls[row["parent_tool_use_id"]].agent
            used = {block["id"] for block in plain.content(row) if block["type"] == "tool_use"}
            assert used <= {call.id for call in agent.calls}
            assert row.get("uuid") not in {uuid for message in session.messages for uuid in message.uuids}


@table("scenario", [s for s in SCENARIOS if s.name == "json_output"])
def test_json_output_is_one_result_and_text_output_is_no_transcript(scenario: Path) -> None:
    result, text = reread.open(scenario / "stream.0.out"), reread.open(scenario / "stream.1.out")
    walk(result)
    walk(text)
    said = json.loads((scenario / "stream.0.out").read_bytes())
    assert [(r.type, r.dialect, r.value) for r in result.records] == [("result", "stream-json", said)]
    assert result.id == said["session_id"]
    assert [r.type for r in text.records] == ["malformed"]


@every_transcript
def test_every_message_knows_its_turn(path: Path) -> None:
    session = reread.open(path)
    for conversation in (session.conversation, *session.agents.values()):
        assert all(message in message.turn.messages for message in conversation.messages)
        assert [turn for turn in conversation.turns if any(m.turn is not turn for m in turn.messages)] == []


def test_a_client_is_not_tried_with_a_script_that_is_not_there() -> None:
    program = Path(__file__).parent.parent / "real_client" / "try_client.py"
    done = subprocess.run([sys.executable, program, "--only", "plain,plian"], capture_output=True, text=True)
    assert done.returncode == 2 and "no scenario 'plian'; there are plain, " in done.stderr
