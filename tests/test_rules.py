"""Every rule has a fixture that breaks it, healthy files break none, and reports add up."""

import io
import json
import os
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from batches import some, table
from effort import sampled
from hypothesis import given
from hypothesis import strategies as st

import reread
from reread.disk.layout import NON_SESSION_FILES
from reread.disk.sources import FileSource
from reread.reports import check_report
from reread.session import merge, rules, session, threads
from reread.session.finding import LEVELS, STATE_RULES
from reread.session.session import threads_of

HERE = Path(__file__).parent
RULES = HERE / "fixtures" / "rules"
DOCS = (HERE.parent / "docs" / "checking.md").read_text(encoding="utf-8")
LARGER = os.environ.get("REREAD_REAL_CLIENT")
ROOTS = [HERE / "real", *([Path(LARGER) / "data"] if LARGER else [])]
REAL = [
    path
    for root in ROOTS
    for pattern in ("*/*/projects/**/*.jsonl", "*/*/stream*.jsonl")
    for path in some([path for path in sorted(root.glob(pattern)) if path.name not in NON_SESSION_FILES])
]

BROKEN = {
    "not-json": [2],
    "not-an-object": [2],
    "torn-tail": [3],
    "spliced-line": [2],
    "nul-bytes": [2],
    "invalid-utf8": [1],
    "missing-field": [3, 4, 5],
    "wrong-type": [2, 2, 3, 4, 5],
    "bad-timestamp": [2],
    "bad-content": [1, 3, 4],
    "bad-image": [1, 1, 3],
    "sidechain-marker": [4],
    "no-active-branch": [2],
    "repeated-uuid": [3, 4],
    "dangling-parent": [3],
    "parent-cycle": [1, 3],
    "orphan-result": [2, 4],
    "result-before-call": [2],
    "unnamed-result": [3],
    "several-results": [4],
    "unanswered-call": [2],
    "absent-agent": [2],
    "forward-parent": [2],
    "reappended-record": [5, 6],
    "repeated-record": [3],
    "session-change": [3, 5],
    "foreign-dialect": [3, 4],
    "unknown-type": [2, 5],
    "unknown-subtype": [2, 3],
    "unknown-block": [2],
    "unknown-tool": [2],
    "unknown-field": [2],
    "changed-type": [2, 2, 3],
    "lone-surrogate": [1],
    "loose-json": [2],
    "byte-order-mark": [1],
    "blank-line": [2],
    "carriage-return": [2],
    "no-final-newline": [2],
}
"""The lines of each rule's fixture on which the rule finds something; nothing else is found there."""

BROKEN_EARLY = {
    "bad-content": [4],
    "bad-image": [4, 5],
    "dangling-parent": [4],
    "missing-field": [4, 5, 6, 7],
    "no-active-branch": [4],
    "orphan-result": [4],
    "parent-cycle": [1],
    "repeated-uuid": [4],
    "result-before-call": [2],
    "sidechain-marker": [4],
    "wrong-type": list(range(5, 22)),
}
"""The same, in the dialect of which a broken rule is an error."""

SECTIONS = {section.split("`", 1)[0]: re.split(r"\n## ", section)[0] for section in DOCS.split("\n### `")[1:]}
"""What the documents say of each code."""

FENCES = {
    code: re.findall(r"^```(jsonl|bytes|text)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    for code, section in SECTIONS.items()
}


def as_bytes(kind: str, example: str) -> bytes:
    """An example as the bytes that it shows; one of bytes spells out those that cannot be shown."""
    if kind == "jsonl":
        return example.encode()
    return example.removesuffix("\n").encode("latin-1").decode("unicode_escape").encode("latin-1")


EXAMPLES = [
    (code, as_bytes(kind, example)) for code, found in FENCES.items() for kind, example in found if kind != "text"
]
"""The lines that the documents show for a code."""

SEVERAL = [*check_report.RULES, *merge.RULES, *STATE_RULES]
ALL_RULES = [*rules.RULES, *SEVERAL]


def found(path: Path) -> list[rules.Finding]:
    """What is odd about a file."""
    return list(reread.check(path))


def lines_of(findings: list[rules.Finding]) -> dict[str, list[int]]:
    """The lines of each code that was found."""
    lines: dict[str, list[int]] = {}
    for finding in findings:
        lines.setdefault(finding.code, []).append(finding.line)
    return lines


class TestTable:
    """The table itself."""

    def test_codes_are_stable_words_and_no_two_are_the_same(self) -> None:
        codes = [rule.code for rule in ALL_RULES]
        assert len(codes) == len(set(codes))
        assert all(re.fullmatch(r"[a-z]+(-[a-z0-9]+)*", code) for code in codes)

    def test_every_rule_has_a_level_one_sentence_and_one_function(self) -> None:
        assert {rule.level for rule in ALL_RULES} == set(LEVELS)
        assert all(re.fullmatch(r"[A-Z][^.]*\.", rule.says) for rule in ALL_RULES)
        for rule in rules.RULES:
            assert sum(find is not None for find in (rule.line, rule.record, rule.file)) == 1

    def test_every_rule_has_a_fixture(self) -> None:
        codes = {rule.code for rule in rules.RULES}
        assert set(BROKEN) == codes
        assert {path.stem for path in RULES.glob("*.jsonl")} == codes
        assert set(BROKEN_EARLY) == rules.WRITTEN_RULES

    def test_the_gravest_come_first(self) -> None:
        levels = [LEVELS.index(rule.level) for rule in rules.RULES]
        assert levels == sorted(levels)


class TestFindings:
    """What each rule finds."""

    @table("rule", rules.RULES)
    def test_each_rule_finds_what_its_fixture_breaks_and_nothing_else(self, rule: rules.Rule) -> None:
        findings = found(RULES / f"{rule.code}.jsonl")
        assert lines_of(findings) == {rule.code: BROKEN[rule.code]}
        assert {finding.level for finding in findings} == {rule.level}

    @table("code", BROKEN_EARLY)
    def test_a_broken_rule_is_an_error_in_the_dialect_that_was_written_as_rules(self, code: str) -> None:
        errors = [f for f in found(RULES / "early" / f"{code}.jsonl") if f.level == "error"]
        assert lines_of(errors) == {code: BROKEN_EARLY[code]}

    @pytest.mark.parametrize("path", sorted((RULES / "healthy").rglob("*.jsonl")), ids=lambda path: path.stem)
    def test_healthy_files_have_nothing_odd(self, path: Path) -> None:
        assert [f for f in found(path) if f.code != "foreign-dialect"] == []

    def test_a_file_without_a_native_record_is_held_to_its_own_rules_throughout(self) -> None:
        undated = (RULES / "early" / "missing-field.jsonl").read_bytes().splitlines()[4]
        native = (RULES / "healthy" / "native.jsonl").read_bytes()
        early = (RULES / "healthy" / "early.jsonl").read_bytes()
        assert [f.level for f in reread.check(early + undated) if f.code == "missing-field"] == ["error"]
        mixed = native + early + undated
        assert [f.level for f in reread.check(mixed) if f.code == "missing-field"] == ["warning"]

    def test_unknown_things_are_told_once_with_count_and_versions(self) -> None:
        (field,) = found(RULES / "unknown-field.jsonl")
        assert field.text == "field assistant.mood: 2 records, versions 2.1.76, 2.1.77"
        hologram, none = found(RULES / "unknown-type.jsonl")
        assert hologram.text == "type hologram: 2 records, version 2.1.76"
        assert none.text.startswith("type (none)")

    def test_a_tool_of_a_server_or_a_failed_call_is_no_drift(self) -> None:
        told = (RULES / "changed-type.jsonl").read_bytes()
        assert (
            "changed-type" not in lines_of(list(reread.check(told.replace(b'"Bash"', b'"mcp__a__b"'))))["changed-type"]
        )
        failed = told.replace(b'"content":"a"', b'"content":"a","is_error":true')
        texts = [finding.text for finding in reread.check(failed) if finding.code == "changed-type"]
        assert not any("Bash.input" in text for text in texts)

    def test_a_repeat_says_what_it_repeats(self) -> None:
        same, other = found(RULES / "repeated-uuid.jsonl")
        assert same.text == "repeats line 1"
        assert other.text == "says something else under the uuid of line 2"

    def test_a_piece_before_a_whole_record_is_an_error_and_no_splice(self) -> None:
        torn = (RULES / "torn-tail.jsonl").read_bytes()
        whole = (RULES / "healthy" / "sidechain.jsonl").read_bytes().splitlines()[0]
        findings = list(reread.check(torn + whole + b"\n"))
        assert [(f.code, f.line) for f in findings if f.level != "info"] == [
            ("not-json", 3),
            ("repeated-uuid", 3),
        ]

    @pytest.mark.parametrize("end", [b"", b"\n"])
    def test_a_document_that_is_not_closed_is_torn(self, end: bytes) -> None:
        line = (RULES / "healthy" / "stream.jsonl").read_bytes().splitlines()[-1]
        assert lines_of(list(reread.check(b"[" + line + b"]" + end))) == {"foreign-dialect": [1]}
        after_a_blank = reread.check(b"\n[" + line + b"]" + end)
        assert {f.code for f in after_a_blank} == {"blank-line", "foreign-dialect"}
        for torn in (b"[" + line + b",", b"[" + line + b",\n" + line[:40]):
            last = torn.count(b"\n") + 1
            findings = [f for f in reread.check(torn + end) if f.code != "foreign-dialect"]
            assert [(f.code, f.line) for f in findings] == [("torn-tail", last)]

    def test_texts_can_do_no_harm_on_a_terminal(self) -> None:
        data = json.dumps({"type": "\x1b]0;owned\x07" + "x" * 500, "sessionId": "s1"}).encode()
        (finding,) = (f for f in reread.check(data) if f.code == "unknown-type")
        assert finding.text.isprintable() and len(finding.text) < 200

    def test_parents_and_calls_may_stand_in_another_file_of_the_session(self) -> None:
        main = reread.open((RULES / "healthy" / "sidechain.jsonl").read_bytes())
        lost = b"".join(
            (RULES / f"{code}.jsonl").read_bytes().replace(b"gone", b"a1").replace(b"toolu_a1", b"toolu_1")
            for code in ("dangling-parent", "orphan-result")
        )
        agent = reread.open(lost)
        alone = {f.code for f in rules.findings(agent.conversation, agent.lines)}
        together = rules.findings(agent.conversation, agent.lines, relatives=[main.conversation])
        assert "orphan-result" in alone
        assert not any("toolu_1" in f.text for f in together)

    def test_a_file_is_read_once(self) -> None:
        opened = reread.open(HERE / "real" / "2.1.76" / "agent" / "stream.jsonl")
        conversation, lines = opened.conversation, opened.lines
        size, taken = sum(len(line.raw) for line in lines), 0
        read = threads_of(opened).source.read

        def counting(offset: int, length: int) -> bytes:
            nonlocal taken
            taken += length
            return read(offset, length)

        threads_of(opened).source.read = counting  # type: ignore[method-assign]
        conversation.records.read = counting
        list(rules.findings(conversation, opened.lines))
        assert taken == size

    def test_a_long_backward_chain_is_no_quadratic_work(self) -> None:
        row = (
            '{{"type":"user","uuid":"{}","parentUuid":"{}","sessionId":"s",'
            '"timestamp":"2026-11-15T10:00:00Z","message":{{"content":"x"}}}}\n'
        )
        data = "".join(row.format(n, n + 1) for n in range(20_000)).encode()
        codes = Counter(f.code for f in reread.check(data))
        assert codes == {"forward-parent": 19_999, "dangling-parent": 1}


PIECES = [path.read_bytes() for path in sorted(RULES.rglob("*.jsonl"))]


@given(st.lists(st.sampled_from(PIECES), max_size=4), st.integers(0, 4000), st.binary(max_size=6), st.booleans())
def test_nothing_in_a_file_makes_checking_fail(pieces: list[bytes], at: int, noise: bytes, cut: bool) -> None:
    data = b"".join(pieces)
    data = data[:at] + noise + (b"" if cut else data[at:])
    opened = reread.open(data)
    survey = rules.check_file(opened.conversation, opened.lines)
    assert [f.line for f in survey.findings] == sorted(f.line for f in survey.findings)
    assert all(1 <= f.line <= len(opened.lines) and f.text for f in survey.findings)
    assert sum(survey.tally.types.values()) == len(opened.records)
    assert sum(survey.tally.dialects.values()) == len(opened.records)


class TestReports:
    """Files checked together."""

    def report(self, *names: str, **options: Any) -> check_report.CheckReport:
        return check_report.check_report([RULES / name for name in names], **options)

    def test_the_json_is_exactly_the_public_shape(self) -> None:
        value = json.loads(msgspec.json.encode(self.report("unlinked-agent", "unknown-field.jsonl")))
        assert list(value) == ["files", "totals"]
        for file in value["files"]:
            assert list(file) == ["path", "dialects", "lines", "records", "fates", "findings"]
            assert all(list(finding) == ["code", "level", "line", "text"] for finding in file["findings"])
        assert list(value["totals"]) == [
            *("files", "lines", "records", "fates", "errors", "warnings", "infos"),
            *("types", "tools", "unknown_types", "unknown_fields", "changed_types"),
        ]

    def test_a_sessions_own_file_comes_first_then_its_agents_each_once(self) -> None:
        names = ["s1.jsonl", "agent-a0000001.jsonl", "agent-a0000009.jsonl"]
        main, agent = "unlinked-agent/s1.jsonl", "unlinked-agent/s1/subagents/agent-a0000009.jsonl"
        for asked in ([main], ["unlinked-agent"], [agent, main], [main, "unlinked-agent", main]):
            assert [Path(file.path).name for file in self.report(*asked).files] == names
        assert [Path(file.path).name for file in self.report(agent).files] == [names[2]]

    def test_a_folder_stands_for_every_transcript_below_it(self) -> None:
        below = {path for path in RULES.rglob("*.jsonl") if path.name not in NON_SESSION_FILES}
        assert sorted(file.path for file in self.report(".").files) == sorted(map(str, below))

    def test_the_sums_are_the_sums(self) -> None:
        report = self.report(".")
        totals = report.totals
        assert totals.files == len(report.files)
        assert totals.lines == sum(file.lines for file in report.files)
        assert totals.records == sum(file.records for file in report.files) == sum(totals.types.values())
        assert sum(totals.fates.values()) == totals.records
        assert all(sum(file.fates.values()) == file.records for file in report.files)
        levels = Counter(finding.level for file in report.files for finding in file.findings)
        assert (totals.errors, totals.warnings, totals.infos) == tuple(levels[x] for x in LEVELS)

    def test_types_tools_and_unknown_things_are_counted(self) -> None:
        totals = self.report("unknown-type.jsonl", "unknown-subtype.jsonl", "unknown-field.jsonl").totals
        assert totals.types["hologram"] == 2
        assert totals.unknown_types == {"hologram": 2, "": 1, "system/eclipse": 1, "attachment/perfume": 1}
        assert totals.unknown_fields == {"assistant.mood": 2}
        totals = self.report("unknown-tool.jsonl", "changed-type.jsonl").totals
        assert totals.unknown_types == {"tool/Hologram": 1}
        assert totals.changed_types == {
            "assistant.message.usage.input_tokens is a string, not an integer": 1,
            "tool/Bash.input.command is a number, not a string": 1,
            "tool/Bash.result.stdout is a number, not a string": 1,
        }
        assert self.report("healthy/sidechain.jsonl").totals.tools == {"Task": 1, "LS": 1}

    def test_copies_are_told_with_the_file_they_come_from(self) -> None:
        files = {Path(file.path).name: file for file in self.report("copied-records").files}
        assert files["original.jsonl"].findings == []
        (fork,), (resumed,) = files["fork.jsonl"].findings, files["resumed.jsonl"].findings
        assert (fork.code, fork.level, fork.line) == ("copied-records", "info", 2)
        assert "2 records of" in fork.text and fork.text.endswith("original.jsonl, by uuid")
        assert (resumed.code, resumed.line) == ("copied-records", 2)
        assert resumed.text.endswith("original.jsonl, by message id")

    def test_an_agent_that_no_call_started_is_told(self) -> None:
        files = self.report("unlinked-agent").files
        assert [lines_of(file.findings) for file in files] == [{}, {}, {"unlinked-agent": [1]}]

    def test_a_file_in_a_folder_that_cannot_be_read_is_a_finding(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shutil.copytree(RULES / "unlinked-agent", tmp_path / "p")
        shutil.copy(RULES / "healthy" / "native.jsonl", tmp_path / "p" / "locked.jsonl")
        opens = FileSource

        def refuse(path: Path) -> Any:
            if path.name in ("locked.jsonl", "agent-a0000009.jsonl"):
                raise reread.Unreadable(f"{path}: Permission denied", path=str(path))
            return opens(path)

        monkeypatch.setattr(session, "FileSource", refuse)
        monkeypatch.setattr(threads, "FileSource", refuse)
        report = check_report.check_report([tmp_path])
        refused = [file for file in report.files if "unreadable-file" in lines_of(file.findings)]
        assert {Path(file.path).name for file in refused} == {"locked.jsonl", "agent-a0000009.jsonl"}
        assert all((f.level, f.line) == ("error", 0) for file in refused for f in file.findings)
        assert (report.totals.files, report.totals.errors) == (4, 2)
        with pytest.raises(reread.Unreadable):
            check_report.check_report([tmp_path / "p" / "locked.jsonl"])

    def test_a_named_file_that_is_not_there_raises(self, tmp_path: Path) -> None:
        with pytest.raises(reread.NotFound):
            check_report.check_report([tmp_path / "none.jsonl"])

    def test_a_session_can_be_named_by_id_and_come_from_standard_input(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        name = "0c0ffee0-0000-4000-8000-000000000000"
        (tmp_path / "projects" / "p").mkdir(parents=True)
        shutil.copy(RULES / "healthy" / "native.jsonl", tmp_path / "projects" / "p" / f"{name}.jsonl")
        (file,) = check_report.check_report([name[:6]], root=tmp_path).files
        assert file.path.endswith(f"{name}.jsonl")
        piped = io.TextIOWrapper(io.BytesIO((RULES / "not-json.jsonl").read_bytes()))
        monkeypatch.setattr("sys.stdin", piped)
        (file,) = check_report.check_report(["-"]).files
        assert (file.path, lines_of(file.findings)) == ("-", {"not-json": [2]})

    def test_progress_is_told_for_each_file(self) -> None:
        told: list[Path] = []
        report = self.report(".", progress=told.append)
        assert sorted(map(str, told)) == sorted(file.path for file in report.files)


@sampled
@pytest.mark.parametrize("root", ROOTS, ids=["selection", "data"][: len(ROOTS)])
def test_healthy_sessions_of_every_version_have_no_error(root: Path) -> None:
    asked = [path for path in REAL if root in path.parents]
    report = check_report.check_report(asked)
    assert {file.path for file in report.files} >= set(map(str, asked))  # and their agents
    assert [(f.path, x) for f in report.files for x in f.findings if x.level == "error"] == []
    assert all(sum(file.fates.values()) == file.records for file in report.files)
    assert all(file.lines == Path(file.path).read_bytes().count(b"\n") for file in report.files)
    assert (report.totals.unknown_types, report.totals.unknown_fields, report.totals.changed_types) == ({}, {}, {})


@sampled
def test_the_only_warnings_about_the_real_client_are_of_what_it_wrote_twice() -> None:
    """A resumed agent of 2.1.76 repeats its history in its own file."""
    warned = {
        (finding.code, path.name.startswith("agent-"))
        for path in REAL
        for finding in reread.check(path)
        if finding.level == "warning"
    }
    assert warned <= {("repeated-uuid", True)}


def test_every_code_is_documented_with_its_level() -> None:
    headings = dict(re.findall(r"^### `([a-z0-9-]+)` · (\w+)", DOCS, re.MULTILINE))
    assert headings == {rule.code: rule.level for rule in ALL_RULES}


@table("code", [rule.code for rule in ALL_RULES])
def test_every_code_has_one_example_and_advice(code: str) -> None:
    assert len(FENCES[code]) == 1
    assert re.search(r"\nWhat to do: \w[^`]", SECTIONS[code])


def test_only_what_takes_several_files_is_shown_by_its_words() -> None:
    assert {code for code, ((kind, _),) in FENCES.items() if kind == "text"} == {rule.code for rule in SEVERAL}


@table("code, example", EXAMPLES)
def test_the_examples_in_the_documents_show_what_they_say(code: str, example: bytes) -> None:
    assert code in {finding.code for finding in reread.check(example)}


def test_the_words_in_the_documents_are_those_of_a_report() -> None:
    report = check_report.check_report([RULES / "unlinked-agent", RULES / "copied-records"])
    said = {finding.code: finding.text for file in report.files for finding in file.findings}
    assert SECTIONS["unlinked-agent"].count(said["unlinked-agent"]) == 1
    assert re.search(r"from here on \d+ records of \S+\.jsonl, by uuid", SECTIONS["copied-records"])
