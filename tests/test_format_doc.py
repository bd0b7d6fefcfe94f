"""docs/format.md is true: its examples are read as it says, and it names every known type."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from batches import table

import reread
from reread.records.types import RECORDS
from reread.session.rules import RULES

HERE = Path(__file__).parent
TEXT = (HERE.parent / "docs" / "format.md").read_text(encoding="utf-8")
LARGER = os.environ.get("REREAD_REAL_CLIENT")
ROOTS = [HERE / "real", *([Path(LARGER) / "data"] if LARGER else [])]
VERSIONS = ["1.0.128", "2.0.55", "2.1.76", "2.1.220", "2.1.325"]
"""The versions of the captures, oldest first."""

_EXAMPLE = re.compile(
    r"(?:^In `(?P<path>[^`]+)`:\n\n)?^```json\n(?P<lines>.*?)^```\n\n"
    r"Read: (?P<fates>[^.]+)\.(?: Check: (?P<codes>[^.]+)\.)?\n",
    re.MULTILINE | re.DOTALL,
)
_HEADING = re.compile(r"^#{2,3} (.*)$", re.MULTILINE)
_LEAD = re.compile(r"^\*\*(.*?)\.\*\*", re.MULTILINE)
NEW = {"unknown-type", "unknown-subtype", "unknown-block", "unknown-field"}


class Example(NamedTuple):
    """Lines in the document, and what it says about them."""

    place: str
    """The heading above, and the bold words at the start of the paragraph, if any."""
    path: str | None
    lines: bytes
    fates: list[tuple[str, str]]
    codes: list[str]


def examples() -> Iterator[Example]:
    """Yield every example of the document."""
    for found in _EXAMPLE.finditer(TEXT):
        heading = [h for h in _HEADING.finditer(TEXT) if h.start() < found.start()][-1]
        leads = _LEAD.findall(TEXT, heading.end(), found.start())
        place = " / ".join([heading[1], *leads[-1:]])
        fates = re.findall(r"`([\w-]+)` (\w+)", found["fates"])
        codes = re.findall(r"`([\w-]+)`", found["codes"] or "")
        yield Example(place, found["path"], found["lines"].encode(), fates, codes)


EXAMPLES = list(examples())


def opened(place: str) -> reread.Session:
    """Open the only example at a place."""
    (example,) = (example for example in EXAMPLES if example.place == place)
    return reread.open(example.lines)


def written_out(place: str, folder: Path) -> reread.Session:
    """Write the examples at a place to the files that the document names, and open the first one."""
    files = [(folder / example.path, example) for example in EXAMPLES if example.place == place and example.path]
    for path, example in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(example.lines)
    return reread.open(files[0][0])


def texts(messages: list[reread.value_types.Message]) -> list[str]:
    """Return the texts of the messages."""
    return [message.text for message in messages]


class TestExamples:
    """Tests of each example."""

    def test_every_block_of_json_is_an_example(self) -> None:
        assert len(EXAMPLES) == TEXT.count("```json\n") > 20

    @table("example", EXAMPLES)
    def test_each_record_is_read_as_the_text_says(self, example: Example) -> None:
        session = reread.open(example.lines)
        fates = [(record.type, fate.fate) for record, fate in zip(session.records, session.ledger, strict=True)]
        assert fates == example.fates

    @table("example", EXAMPLES)
    def test_check_finds_what_the_text_says(self, example: Example) -> None:
        found = {finding.code for finding in reread.check(example.lines)} - {"foreign-dialect", "absent-agent"}
        assert sorted(found) == example.codes
        assert not NEW & found or example.fates[0][1] == "unknown"

    @table("example", EXAMPLES)
    def test_it_is_written_in_the_dialect_of_its_section(self, example: Example) -> None:
        dialect = example.place if example.place in ("early", "stored") else "native"
        dialect = "stream-json" if example.place.startswith("stream-json") else dialect
        assert dialect in reread.open(example.lines).dialects
        assert dialect == "early" or len(reread.open(example.lines).dialects) == 1


class TestWhatTheTextSays:
    """The sentences around the examples."""

    def test_the_lines_of_a_response_are_one_message_and_a_result_is_on_its_call(self) -> None:
        session = opened("One response, several lines")
        first, last = session.messages
        assert [block.type for block in first.blocks] == ["thinking", "text", "tool_use"]
        (call,) = session.calls
        assert (call.ok, call.data["stdout"]) == (True, "shelf.py")
        assert last.text == "One file."

    def test_results_of_parallel_calls_make_no_branch(self) -> None:
        session = opened("Calls and results")
        assert [(call.name, call.ok) for call in session.calls] == [("Bash", False), ("Read", True)]
        assert session.calls[0].data == "Error: Exit code 2"
        assert len(session.branches) == 1

    def test_who_wrote_a_message(self) -> None:
        session = opened("Who wrote a message")
        assert [message.kind for message in session.messages] == ["command", "output", "interrupt", "prompt"]

    def test_a_later_prompt_under_an_old_parent_is_a_branch_and_zeros_mean_nothing(self) -> None:
        active, left = opened("Branches").branches
        assert texts(active.messages) == ["Sort the shelf", "By name?", "By colour"]
        assert texts(left.messages) == ["Sort the shelf", "By name?", "By size", "Done."]

    def test_a_boundary_and_its_summary_are_one_compaction(self) -> None:
        session = opened("Compactions")
        (compaction,) = session.compactions
        assert (compaction.trigger, compaction.pre_tokens) == ("auto", 155000)
        assert compaction.summary is session.messages[-1]
        assert session.messages[0].text == "Sort the shelf"

    @pytest.mark.parametrize("place", dict.fromkeys(e.place for e in EXAMPLES if e.place.startswith("Agents")))
    def test_an_agent_is_linked_to_its_call_wherever_it_is_written(self, place: str, tmp_path: Path) -> None:
        apart = any(example.path for example in EXAMPLES if example.place == place)
        session = written_out(place, tmp_path) if apart else opened(place)
        (agent,) = session.agents.values()
        assert agent.call is session.calls[0] and session.calls[0].agent is agent
        assert agent.prompt == "Look around"
        assert texts(agent.messages)[-1] == "Three shelves."

    def test_what_a_background_agent_answers_comes_as_a_notification(self, tmp_path: Path) -> None:
        last = written_out("Agents / 2.1: below the session", tmp_path).messages[-1]
        assert (last.kind, last.fields["summary"]) == ("notification", "Three shelves")

    def test_a_stream_is_read_as_lines_as_an_array_and_as_a_lone_result(self) -> None:
        lines = next(example for example in EXAMPLES if example.place == "stream-json").lines.splitlines()
        whole, array = reread.open(b"\n".join(lines)), reread.open(b"[" + b",".join(lines) + b"]")
        assert texts(whole.messages) == texts(array.messages) and whole.id == array.id == "s"
        assert [record.type for record in reread.open(lines[-1]).records] == ["result"]

    def test_in_a_stream_the_agent_is_that_of_the_call_it_names(self) -> None:
        session = reread.open([example for example in EXAMPLES if example.place == "stream-json"][1].lines)
        (agent,) = session.agents.values()
        assert agent.call is session.calls[0]
        assert [call.name for call in agent.calls] == ["LS"]

    def test_partial_messages_and_the_whole_one_are_one_message(self) -> None:
        session = reread.open([example for example in EXAMPLES if example.place == "stream-json"][2].lines)
        assert texts(session.messages) == ["One file."]

    def test_early_records_are_read_as_native_ones(self) -> None:
        session = opened("early")
        assert session.calls[0].result is not None and session.calls[0].by_position
        assert len(session.compactions) == 1 and session.compactions[0].summary is session.messages[-1]
        assert session.records[0].native["timestamp"] == "2026-11-15T10:00:00.000Z"

    def test_the_last_state_record_counts(self) -> None:
        assert opened("Oddities in real files / Repeated lines").title == "A longer look"

    def test_late_parents_are_found_and_missing_ones_replaced(self) -> None:
        conversation = opened("Oddities in real files / Missing and late parents").conversation
        assert [conversation.tree.parent(index) for index in range(3)] == [-1, 2, 0]

    def test_a_summary_is_the_title_of_the_session_that_has_its_leaf(self) -> None:
        summary = EXAMPLES[1].lines.splitlines()[0]
        said = EXAMPLES[0].lines.splitlines()[0]
        assert reread.open(summary + b"\n" + said).title == "What is here?"
        assert reread.open(summary.replace(b"0d3b", b"a") + b"\n" + said).title == "Sorting the shelves"


class TestRealFiles:
    """What the text says about versions, compared with files written by those versions."""

    @staticmethod
    def files(version: str, pattern: str) -> list[Path]:
        """Return the files of all captures of a version that match a pattern in their project."""
        return [path for root in ROOTS for path in sorted(root.glob(f"{version}/*/projects/*/{pattern}"))]

    @pytest.mark.parametrize("version", VERSIONS)
    def test_every_line_of_a_response_has_one_block(self, version: str) -> None:
        for path in self.files(version, "*.jsonl"):
            said = [record.native for record in reread.open(path).records if record.type == "assistant"]
            assert {len(native["message"]["content"]) for native in said} <= {1}

    def test_agents_are_inside_then_next_to_then_below_the_session(self) -> None:
        below = "*/subagents/agent-*.jsonl"
        assert not self.files("1.0.128", "agent-*.jsonl") + self.files("1.0.128", below)
        assert self.files("2.0.55", "agent-*.jsonl") and not self.files("2.0.55", below)
        for version in ("2.1.76", "2.1.220", "2.1.325"):
            assert self.files(version, below) and not self.files(version, "agent-*.jsonl")
            assert all(path.with_suffix(".meta.json").exists() for path in self.files(version, below))

    def test_when_record_types_appeared(self) -> None:
        types = {
            version: {r.type for path in self.files(version, "**/*.jsonl") for r in reread.open(path).records}
            for version in VERSIONS
        }
        first = {
            "queue-operation": "2.0.55",
            "last-prompt": "2.1.76",
            "attachment": "2.1.220",
            "api-request": "2.1.325",
        }
        for name, version in first.items():
            seen = [v for v in VERSIONS if name in types[v]]
            assert seen == VERSIONS[VERSIONS.index(version) :]
        assert "summary" in types["1.0.128"] and "summary" not in types["2.0.55"]

    def test_an_agent_that_was_resumed_has_its_history_twice(self) -> None:
        fates = [reread.open(path).ledger.fates for path in self.files("2.1.76", "*/subagents/agent-*.jsonl")]
        assert any(fate.get("duplicate") for fate in fates)


class TestCompleteness:
    """The tables are complete."""

    @table("name", sorted(RECORDS))
    def test_every_type_of_record_is_named(self, name: str) -> None:
        assert f"`{name}`" in TEXT

    def test_the_codes_it_names_are_codes(self) -> None:
        codes = {rule.code for rule in RULES}
        assert {code for example in EXAMPLES for code in example.codes} <= codes
