"""The patterns of the documents that started the project, each read as the model says."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from batches import table
from walk import holds_together, texts, types, walk

import reread

SEEDS = Path(__file__).parent / "fixtures" / "seeds"
EARLY = "conversations/_home_dev_proj"
STORED = ".chorus/conversations/w/a/c.jsonl"
FILES = sorted(str(path.relative_to(SEEDS)) for path in SEEDS.rglob("*.jsonl"))


def read(name: str) -> reread.Session:
    """A fixture as a session."""
    return reread.open(SEEDS / name)


def prompts(session: reread.Session) -> list[str]:
    """What was asked on the active branch."""
    return [turn.prompt.text for turn in session.turns if turn.prompt]


def levels(name: str) -> set[str]:
    """The levels of all that `check` finds."""
    return {finding.level for finding in reread.check(SEEDS / name)}


@table("name", FILES)
def test_every_pattern_reads_without_loss(name: str) -> None:
    session = read(name)
    walk(session)
    holds_together(session, (SEEDS / name).read_bytes())
    assert "malformed" not in types(session) or "rough" in name


@table("name", [name for name in FILES if "broken" not in name and "rough" not in name])
def test_every_sound_pattern_checks_without_an_error(name: str) -> None:
    assert "error" not in levels(name)


class TestStreamedChunks:
    """Seed 000: one response in several lines, with bookkeeping between them."""

    NAME = "000_streamed.jsonl"

    def test_the_lines_of_one_message_are_one_message(self) -> None:
        first = next(m for m in read(self.NAME).messages if m.role == "assistant")
        assert first.id == "msg_01"
        assert [block.type for block in first.blocks] == ["thinking", "text", "tool_use"]
        assert first.uuids == ["uuid-002", "uuid-003", "uuid-004"]
        assert first.stop_reason == "tool_use"
        assert first.model == "claude-opus-4-5-20251101"

    def test_a_response_without_a_stop_reason_is_shown(self) -> None:
        answers = [m for m in read(self.NAME).messages if m.role == "assistant"]
        assert [m.stop_reason for m in answers] == ["tool_use", None, None]
        assert answers[1].text == "It is the heading of a project."

    def test_usage_is_counted_once_a_message(self) -> None:
        first = next(m for m in read(self.NAME).messages if m.role == "assistant")
        assert (first.usage.input_tokens, first.usage.output_tokens) == (12, 57)

    def test_a_call_has_its_result(self) -> None:
        (call,) = read(self.NAME).calls
        assert (call.name, call.ok, call.result.content) == ("Read", True, "     1→# Proj")
        assert call.data["file"]["content"] == "# Proj"
        assert "README.md" in call.title
        assert call.message.id == "msg_01"

    def test_queue_operations_and_snapshots_are_reachable_but_no_messages(self) -> None:
        session = read(self.NAME)
        assert types(session).count("queue-operation") == 4
        assert types(session).count("file-history-snapshot") == 1
        assert prompts(session) == ["Read the README", "And now?"]
        assert all(message.uuids for message in session.messages)
        assert not any(record.value.get("uuid") for record in session.records if "-" in record.type)

    def test_history_before_a_compaction_stays_readable(self) -> None:
        session = read(self.NAME)
        assert len(session.compactions) == 1
        assert next(m.text for m in session.messages if m.kind == "summary").endswith("They read the README.")
        assert len(session.branches) == 1

    def test_the_session_knows_its_facts(self) -> None:
        session = read(self.NAME)
        assert session.id == "0c0ffee0-0000-4000-8000-000000000000"
        assert session.project == "/home/dev/proj"
        assert session.title == "Read the README"


class TestPlainPatterns:
    """Seed 001: the edge cases that it lists."""

    def test_an_empty_session_is_one_summary(self) -> None:
        session = read("001_empty_session.jsonl")
        assert (session.title, session.messages, session.turns) == ("Brief description", [], [])

    def test_a_new_session_inside_a_file_is_found_and_reported(self) -> None:
        session = read("001_new_session.jsonl")
        assert list(session.ids) == [
            "aaaaaaaa-0000-4000-8000-000000000001",
            "bbbbbbbb-0000-4000-8000-000000000002",
        ]
        findings = [f for f in reread.check(session) if f.level == "info" and f.line == 4]
        assert any("bbbbbbbb" in f.text for f in findings)
        assert {turn.prompt.text for branch in session.branches for turn in branch.turns if turn.prompt} == {
            "The first session",
            "The second session",
        }

    def test_meta_messages_are_told_apart_and_start_no_turn(self) -> None:
        session = read("001_meta_only.jsonl")
        assert [m.kind for m in session.messages] == ["meta", "meta"]
        assert prompts(session) == []

    def test_tool_results_of_their_own_type_are_on_their_calls(self) -> None:
        session = read("001_tools.jsonl")
        listing, reading = session.calls
        assert (listing.ok, listing.result.content) == (True, "a.txt\nb.txt")
        assert (reading.ok, reading.result.content) == (False, "cat: a.txt: Permission denied")
        assert types(session).count("user") == 3
        assert len(session.turns) == 1
        assert "position" in list(session.ledger)[2].reason
        assert "position" not in list(session.ledger)[5].reason

    def test_git_branches_are_no_branches_of_the_conversation(self) -> None:
        session = read("001_git_branches.jsonl")
        assert prompts(session) == ["On main", "On a feature", "Nowhere"]
        assert len(session.branches) == 1
        assert list(session.git_branches) == ["main", "feature/sort"]

    def test_a_sidechain_is_an_agent_and_not_the_main_thread(self) -> None:
        session = read("001_sidechain.jsonl")
        (agent,) = session.agents.values()
        (call,) = session.calls
        assert call.agent is agent and agent.call is call and agent.parent in (None, session)
        assert texts(session) == ["Explore it", "", "The agent found app.py."]
        assert [c.name for c in agent.calls] == ["Glob"]
        assert texts(agent)[-1] == "There is app.py."


class TestEarlyDialect:
    """Seed 003: `human`, results of their own type, milliseconds, no message ids."""

    NAME = f"{EARLY}/2025-01-29T14-15-30.jsonl"

    def test_human_reads_as_user_and_every_line_is_early(self) -> None:
        session = read(self.NAME)
        assert {record.dialect for record in session.records} == {"early"}
        assert set(types(session)) == {"user", "assistant"}
        assert session.records[0].value["type"] == "human"

    def test_milliseconds_are_a_time(self) -> None:
        assert read(self.NAME).messages[0].timestamp == datetime(2025, 1, 29, 14, 15, 30, 123000, UTC)

    def test_assistants_without_an_id_are_messages_of_their_own(self) -> None:
        answers = [m for m in read(self.NAME).messages if m.role == "assistant"]
        assert [m.id for m in answers] == [f"msg_assistant_{n:03d}" for n in (2, 4, 5, 7, 9)]
        assert [m.text for m in answers[1:3]] == ["It is written.", "Shall I run it?"]

    def test_several_results_in_one_record_find_their_calls(self) -> None:
        calls = {call.id: call for call in read(self.NAME).calls}
        assert {i: call.ok for i, call in calls.items()} == {
            "toolu_01abc123": True,
            "toolu_02": False,
            "toolu_03": True,
        }
        assert calls["toolu_03"].result.content == "import json\n"

    def test_turns_begin_with_what_was_asked(self) -> None:
        session = read(self.NAME)
        assert [p.splitlines()[0] for p in prompts(session)] == [
            "Create a Python script to parse JSON files",
            "Yes, and look at this:",
        ]
        assert [block.type for block in session.turns[1].prompt.blocks] == ["text", "image"]

    def test_a_result_without_an_id_answers_the_call_before_it(self) -> None:
        session = read(f"{EARLY}/by_position.jsonl")
        assert [(call.id, call.ok) for call in session.calls] == [("toolu_d1", True), ("toolu_d2", True)]
        assert session.calls[0].result.content == "Wed Jan 29 14:15:30 UTC 2025"
        ledger = list(session.ledger)
        assert "by position" in ledger[2].reason and "by position" in ledger[4].reason

    def test_prelude_and_recap_are_one_compaction(self) -> None:
        session = read(f"{EARLY}/compacted.jsonl")
        assert len(session.compactions) == 1
        assert "Summary of compacted conversation..." in texts(session)
        assert prompts(session) == ["A long story", "Go on"]

    def test_is_active_marks_the_active_branch(self) -> None:
        session = read(f"{EARLY}/forked.jsonl")
        assert prompts(session) == ["Pick a colour", "Red"]
        active, other = session.branches
        assert (active.active, other.active) == (True, False)
        assert [m.text for m in other.messages][-2:] == ["Blue", "Blue it is."]
        assert {"Red it is.", "Blue it is."} <= set(texts(session))

    def test_flagged_messages_are_kept_and_shown(self) -> None:
        session = read(f"{EARLY}/flags.jsonl")
        error, deleted, aborted = (session.records[n].value for n in (1, 2, 3))
        assert error["isError"] and deleted["isDeleted"] and aborted["isAborted"]
        assert texts(session)[:4] == [
            "Do it",
            "Something went wrong.",
            "Forget that I said this",
            "I was just about to",
        ]
        assert session.messages[4].kind == "meta"

    def test_a_sidechain_that_hangs_on_a_call_is_that_calls_agent(self) -> None:
        session = read(f"{EARLY}/delegated.jsonl")
        (call,) = session.calls
        (agent,) = session.agents.values()
        assert call.agent is agent and agent.call is call
        assert agent.type == "bug-hunter"
        assert texts(agent) == ["Look closely at the auth module", "Analyzing...", "Found 3 issues..."]
        assert [c.id for c in agent.calls] == ["toolu_side"]
        assert texts(session) == ["Find the bugs", "Delegating to specialist", "There are three."]

    def test_each_broken_rule_is_an_error_on_its_line(self) -> None:
        found = {f.line for f in reread.check(SEEDS / EARLY / "broken_rules.jsonl") if f.level == "error"}
        assert found == {2, 3, 4, 5, 7, 8, 9}

    def test_conversations_are_found_below_a_root(self, tmp_path: Path) -> None:
        shutil.copytree(SEEDS / "conversations", tmp_path / "conversations")
        found = {Path(header.path).name for header in reread.sessions(root=tmp_path)}
        assert found == {path.name for path in (SEEDS / EARLY).iterdir()}


class TestStreamAndStored:
    """Seed 004: what `claude -p` prints, and the form in which it is kept."""

    @pytest.fixture(params=["004_stream.jsonl", STORED])
    def session(self, request: pytest.FixtureRequest) -> reread.Session:
        return read(request.param)

    def test_a_stream_and_its_stored_form_read_alike(self, session: reread.Session) -> None:
        assert types(session) == ["system", "assistant", "user", "user", "assistant", "result"]
        assert session.id == "abc123-def456-4000-8000-000000000004"
        assert session.project == "/path/to/workspace"

    def test_several_blocks_in_one_line_are_one_message(self, session: reread.Session) -> None:
        first, last = (m for m in session.messages if m.role == "assistant")
        assert [block.type for block in first.blocks] == ["thinking", "text", "tool_use"]
        assert (first.id, first.stop_reason, last.text) == ("msg_01ABC", "tool_use", "Done.")

    def test_the_result_is_on_its_call(self, session: reread.Session) -> None:
        (call,) = session.calls
        assert (call.name, call.ok, call.result.content) == ("Read", True, "File contents here...")

    def test_direct_input_is_a_prompt(self, session: reread.Session) -> None:
        assert prompts(session) == ["User's message here"]

    def test_the_dialect_is_told_per_record(self) -> None:
        assert {record.dialect for record in read(STORED).records} == {"stored"}
        stream = read("004_stream.jsonl").records
        assert (stream[0].dialect, stream[-1].dialect) == ("stream-json", "stream-json")

    def test_a_stored_line_keeps_the_original_to_the_byte(self) -> None:
        originals = [line.raw.rstrip(b"\n") for line in read("004_stream.jsonl").lines]
        for record, original in zip(read(STORED).records, originals, strict=True):
            assert original in record.raw

    def test_lines_that_were_no_json_are_kept_as_well(self) -> None:
        session = read(".chorus/conversations/w/a/rough.jsonl")
        assert len(session.records) == 5
        assert "Whole again." in texts(session)

    def test_a_price_tag_on_a_native_line_is_read(self) -> None:
        session = read("004_native_with_cost.jsonl")
        assert texts(session) == ["How much?", "With a price tag."]
        assert session.records[1].value["costUSD"] == 0.0123
