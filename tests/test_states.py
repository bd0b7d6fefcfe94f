"""A session is all of its states: what a rewrite of its file dropped is read, found and counted once, and marked."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import reread
from reread import Archive
from reread.cli import reread as command
from reread.dataset.schema import RECORDS
from reread.dataset.transcripts import TranscriptFile
from reread.disk import joins, states
from reread.disk.cache import FileState, states_at
from reread.disk.transcript_file import stat_transcript
from reread.session.session import threads_of
from reread.storage import kept_names
from reread.storage.kept_names import generation_path

ID = "11111111-0000-4000-8000-000000000001"
OTHER = "22222222-0000-4000-8000-000000000002"
REAL = sorted((Path(__file__).parent / "real").rglob("*.jsonl"), key=lambda path: path.stat().st_size)


@pytest.fixture(autouse=True)
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "claude"
    (folder / "projects" / "-p").mkdir(parents=True)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder))
    monkeypatch.setenv("REREAD_HOME", str(tmp_path / "store"))
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("REREAD_ARCHIVE", raising=False)
    return folder


def row(number: int, parent: int | None, *, boundary: bool = False) -> dict[str, Any]:
    """A prompt if the number is odd, else its answer."""
    head = {
        "uuid": f"u{number}",
        "parentUuid": None if parent is None else f"u{parent}",
        "sessionId": ID,
        "timestamp": f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z",
        "cwd": "/p",
        "version": "2.1.325",
        "isSidechain": False,
    }
    if boundary:
        return {**head, "type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"}
    if number % 2:
        return {**head, "type": "user", "message": {"role": "user", "content": f"ask w{number}w"}}
    usage = {"input_tokens": 100, "output_tokens": number}
    content = [{"type": "text", "text": f"say w{number}w"}]
    message = {"role": "assistant", "id": f"msg_{number}", "model": "claude-sonnet-4-5", "content": content}
    return {**head, "type": "assistant", "message": {**message, "stop_reason": "end_turn", "usage": usage}}


def rows(*numbers: int, boundary: int = 0) -> list[dict[str, Any]]:
    return [row(number, number - 1 or None, boundary=number == boundary) for number in numbers]


def write(path: Path, values: Iterable[dict[str, Any]]) -> bytes:
    data = b"".join(json.dumps(value).encode() + b"\n" for value in values)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return data


def main_file(claude: Path, project: str = "-p") -> Path:
    return claude / "projects" / project / f"{ID}.jsonl"


def uuids(session: reread.Session) -> list[str | None]:
    return [record.envelope.uuid for record in session.records]


def is_joined(path: Path) -> bool:
    """True if a file is read together with what only its earlier states have."""
    assert dict(states_at([path])) == {path: FileState.at(path)}, "looked at with others, it is as looked at alone"
    return stat_transcript(path).st_ino != path.stat().st_ino


def wait_until_settled(*tops: Path) -> None:
    """Wait until folders can no longer change and keep their times."""
    for top in tops:
        for folder in (path for path in (top, *top.rglob("*")) if path.is_dir()):
            while not kept_names.is_settled(folder.stat().st_ctime_ns):
                time.sleep(0.01)


def cli(*words: str) -> str:
    result = CliRunner().invoke(command, list(words), catch_exceptions=False)
    return result.output


def found(word: str) -> list[reread.value_types.Hit]:
    return [hit for hit in reread.search(word) if hit.kind != "title"]


def assert_all_once(path: Path, wanted: set[int], current: set[int]) -> None:
    """Every verb has each record of all states once, and says of those that the file dropped that it did."""
    session = reread.open(path)
    assert dict(states_at([path])) == {path: FileState.at(path)}
    assert sorted(uuids(session), key=str) == sorted((f"u{number}" for number in wanted), key=str)
    assert {record.envelope.uuid for record in session.records if record.dropped} == {
        f"u{number}" for number in wanted - current
    }
    assert b"".join(line.raw for line in session.lines) == (path.read_bytes() if path.exists() else b"") or not current
    for record in session.records:
        if record.state is None and path.exists():
            assert path.read_bytes()[record.offset :].startswith(record.raw)
            assert path.read_bytes().split(b"\n")[record.line - 1] == record.raw
    assert sum(session.ledger.fates.values()) == len(session.records)
    assert {fate.line for fate in session.ledger if fate.state is None} == set(range(1, len(session.lines) + 1))
    messages = json.loads(reread.export(path, "json", full=True))["messages"]
    assert {uuid for message in messages for uuid in message["uuids"]} == {f"u{number}" for number in wanted}
    for message in messages:
        in_file = {int(uuid[1:]) for uuid in message["uuids"]} & current
        assert ("dropped" in message["flags"]) == (not in_file)
    views = reread.export(path, "markdown", full=True).decode(), cli("show", str(path), "--full", "--no-pager")
    shown, terminal = (view.replace(session.title, "", 1) for view in views)
    spoken = [int(message["uuids"][0][1:]) for message in messages if message["kind"] != "compaction"]
    for number in spoken:
        assert [hit.dropped for hit in found(f"w{number}w")] == [number not in current], number
        most = 2 if session.branches[1:] else 1  # where it went on otherwise, the first words of both ways are named
        assert 1 <= shown.count(f"w{number}w") == terminal.count(f"w{number}w") <= most
    rows = [row for _, row in TranscriptFile(path, "machine").rows(["records"])]
    columns = [column.name for column in RECORDS.columns]
    assert {row[columns.index("uuid")]: row[columns.index("dropped")] for row in rows} == {
        f"u{number}": number not in current for number in wanted
    } and len(rows) == len(wanted)
    answers = [number for number in spoken if number % 2 == 0]
    for usage in (session.usage, reread.usage().totals):
        assert (usage.responses, usage.output_tokens) == (len(answers), sum(answers))
    assert [header.id for header in reread.sessions()] == [ID]
    assert next(iter(reread.sessions())).title == session.title


@pytest.mark.parametrize("kept", [False, True])
def test_each_folder_is_looked_at_a_few_times_however_many_there_are(
    claude: Path, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    count = 100
    for number in range(count):
        write(claude / "projects" / f"-p{number}" / f"{ID[:-4]}{number:04}.jsonl", rows(1, 2))
    if kept:
        reread.keep()
    wait_until_settled(claude, Archive().folder)
    looked, state = list[str](), kept_names.folder_state
    for module in (kept_names, states):
        monkeypatch.setattr(module, "folder_state", lambda folder: (looked.append(folder), state(folder))[1])
    for _ in range(2):
        assert len(list(reread.sessions())) == count
        assert reread.usage().totals.responses and found("w1w")
    assert 0 < len(looked) < 300 * count


class TestRewrites:
    def test_a_file_that_only_grew_has_no_earlier_state(self, claude: Path) -> None:
        path = main_file(claude)
        write(path, rows(1, 2))
        reread.keep()
        write(path, rows(1, 2, 3, 4))
        assert not is_joined(path)
        reread.keep()
        assert not is_joined(path)
        assert not reread.open(path).records.dropped and threads_of(reread.open(path)).loader.joined is None

    @pytest.mark.parametrize("name", [ID, "agent-a1"])
    def test_an_archive_has_a_state_that_is_live_again(self, claude: Path, tmp_path: Path, name: str) -> None:
        path = main_file(claude).with_name(f"{name}.jsonl")
        first, archive = write(path, rows(*range(1, 9))), tmp_path / "kept"
        reread.keep(to=archive)
        write(path, rows(*range(9, 15)))
        reread.keep(to=archive)
        before = reread.usage(root=archive).totals.responses
        path.write_bytes(first)
        for _ in range(2):  # read before and after it is kept again
            assert reread.usage(root=archive).totals.responses == before == 7
            kept = archive / "projects" / "-p" / path.name
            assert len([one for one in uuids(reread.open(kept)) if one is not None]) == 14
            reread.keep(to=archive)

    def test_an_archive_of_two_folders_has_what_either_has_of_a_session(
        self, claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = tmp_path / "other"
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", f"{claude},{other}")
        for folder in (claude, other):
            write(main_file(folder), rows(*range(1, 9)))
        reread.keep(to=tmp_path / "kept")
        write(main_file(other), rows(*range(9, 15)))
        reread.keep(to=tmp_path / "kept")
        session = reread.open(tmp_path / "kept" / "projects" / "-p" / f"{ID}.jsonl")
        assert session.usage.responses == 7

    def test_a_session_below_another_root_is_not_joined_with_what_is_kept_here(
        self, claude: Path, tmp_path: Path
    ) -> None:
        write(main_file(claude), rows(1, 2, 3, 4))
        reread.keep()
        main_file(claude).unlink()
        other = main_file(tmp_path / "elsewhere")
        write(other, rows(1, 2))
        assert not is_joined(other)
        assert uuids(reread.open(other)) == ["u1", "u2"]

    def test_nothing_was_kept(self, claude: Path) -> None:
        path = main_file(claude)
        write(path, rows(1, 2, 3, 4))
        write(path, rows(3, 4))
        assert_all_once(path, {3, 4}, {3, 4})

    @pytest.mark.parametrize("more", [(), (61, 62)])
    @pytest.mark.parametrize("whole_second", [False, True])
    def test_one_line_of_equal_length_is_replaced(
        self, claude: Path, more: tuple[int, ...], whole_second: bool
    ) -> None:
        path = main_file(claude)
        write(path, rows(*range(11, 19)))
        times = (10**18, 10**18) if whole_second else (10**18 + 5, 10**18 + 5)
        os.utime(path, ns=times)
        reread.keep()
        assert not is_joined(path)
        write(path, rows(11, 12, 13, 94, 15, 16, 17, 18, *more))
        os.utime(path, ns=times)  # not even its time tells
        assert found("w14w")[0].dropped and not found("w94w")[0].dropped
        assert set(uuids(reread.open(path))) == {f"u{number}" for number in (*range(11, 19), 94, *more)}

    def test_a_joined_file_is_rewritten_once_more(self, claude: Path) -> None:
        path = main_file(claude)
        write(path, rows(*range(11, 25)))
        reread.keep()
        write(path, rows(*range(13, 25)))
        assert len(reread.open(path).records) == 14
        write(path, rows(13, 14, 15, 86, *range(17, 27)))  # as long as before, and then more
        assert "u16" in uuids(reread.open(path))

    @pytest.mark.parametrize("rewritten", [False, True])
    def test_what_was_found_out_is_remembered(
        self, claude: Path, monkeypatch: pytest.MonkeyPatch, rewritten: bool
    ) -> None:
        path = main_file(claude)
        write(path, rows(*range(1, 9)))
        reread.keep()
        write(path, rows(*range(3 if rewritten else 1, 11)))
        monkeypatch.setattr(joins, "WORTH_SAVING", 1)
        monkeypatch.setattr(joins, "is_settled", lambda changed: True)
        first = uuids(reread.open(path))
        joins._plans.clear()  # pyright: ignore[reportPrivateUsage]
        monkeypatch.setattr(joins, "read_map_file", pytest.fail)
        assert uuids(reread.open(path)) == first == [f"u{number}" for number in range(1, 11)]
        with path.open("ab") as file:
            file.write(json.dumps(row(11, 10)).encode() + b"\n")
        assert uuids(reread.open(path)) == [*first, "u11"]

    @pytest.mark.parametrize("again", [False, True])
    def test_a_compaction_of_the_file(self, claude: Path, again: bool) -> None:
        path = main_file(claude)
        write(path, rows(*range(1, 9), boundary=7))
        reread.keep()
        assert found("w2w")
        write(path, rows(4, 7, 8, 9, 10, boundary=7))
        if again:
            reread.keep()
        assert_all_once(path, set(range(1, 11)), {4, 7, 8, 9, 10})
        assert uuids(reread.open(path)) == [f"u{number}" for number in range(1, 11)]

    def test_tombstones(self, claude: Path) -> None:
        path = main_file(claude)
        write(path, rows(*range(1, 9)))
        reread.keep()
        write(path, rows(1, 2, 5, 6))
        assert_all_once(path, set(range(1, 9)), {1, 2, 5, 6})
        assert uuids(reread.open(path)) == [f"u{number}" for number in range(1, 9)]
        write(path, [*rows(1, 2, 5, 6), row(9, 6), row(10, 9)])
        assert_all_once(path, set(range(1, 11)), {1, 2, 5, 6, 9, 10})
        assert uuids(reread.open(path)) == [f"u{number}" for number in range(1, 11)]

    def test_several_rewrites(self, claude: Path) -> None:
        path = main_file(claude)
        for numbers in ((1, 2, 3, 4), (3, 4, 5, 6), (5, 6, 7, 8)):
            write(path, rows(*numbers))
            reread.keep()
        assert_all_once(path, set(range(1, 9)), {5, 6, 7, 8})
        assert uuids(reread.open(path)) == [f"u{number}" for number in range(1, 9)]
        path.unlink()
        session = reread.open(ID)
        assert uuids(session) == [f"u{number}" for number in range(1, 9)]
        assert len(session.records.dropped) == 4 and found("w1w")[0].dropped and not found("w8w")[0].dropped
        assert reread.usage().totals.output_tokens == 20

    def test_an_agents_file(self, claude: Path) -> None:
        path = main_file(claude)
        agent = path.with_suffix("") / "subagents" / "agent-a1.jsonl"
        write(path, rows(1, 2))
        write(agent, [{**one, "isSidechain": True, "agentId": "a1"} for one in rows(11, 12, 13, 14)])
        reread.keep()
        write(agent, [{**one, "isSidechain": True, "agentId": "a1"} for one in rows(13, 14)])
        session = reread.open(path)
        assert [message.dropped for message in session.agents["a1"].messages] == [True, True, False, False]
        assert [hit.agent for hit in found("w11w")] == ["a1"]
        assert reread.usage().totals.output_tokens == session.usage.output_tokens == 2 + 12 + 14

    def test_records_without_a_uuid_are_compared_by_content(self, claude: Path) -> None:
        path = main_file(claude)
        title = {"type": "custom-title", "sessionId": ID}
        mode = {"type": "mode", "mode": "normal", "sessionId": ID}
        write(path, [*rows(1, 2), {**title, "customTitle": "old"}, mode, {"type": "summary", "summary": "gist"}])
        reread.keep()
        write(path, [*rows(1), mode, {**title, "customTitle": "new"}, *rows(2)])
        session = reread.open(path)
        assert sorted(record.type for record in session.records) == sorted(
            ["user", "assistant", "custom-title", "custom-title", "mode", "summary"]
        )
        assert session.title == next(iter(reread.sessions())).title == "new"

    def test_the_newest_copy_of_a_record_counts(self, claude: Path) -> None:
        path = main_file(claude)
        write(path, rows(1, 2, 3))
        reread.keep()
        first = {**row(1, None), "message": {"role": "user", "content": "said otherwise"}}
        write(path, [first, row(3, 2)])
        session = reread.open(path)
        assert [message.text for message in session.messages] == ["said otherwise", "say w2w", "ask w3w"]


class TestSuperseded:
    def moved(self, path: Path, stamp: int = 1_700_000_000_000) -> Path:
        return path.rename(path.with_name(f"{path.name}.superseded-{stamp}"))

    def test_a_superseded_file_is_a_state_and_is_kept(self, claude: Path) -> None:
        path = main_file(claude)
        write(path, rows(1, 2, 3, 4))
        self.moved(path)
        write(path, rows(3, 4, 5, 6))
        assert_all_once(path, set(range(1, 7)), {3, 4, 5, 6})
        assert reread.keep().sessions == 1
        path.with_name(f"{path.name}.superseded-1700000000000").unlink()
        assert_all_once(path, set(range(1, 7)), {3, 4, 5, 6})

    def test_it_is_in_another_project(self, claude: Path) -> None:
        write(main_file(claude), rows(1, 2))
        self.moved(main_file(claude))
        path = main_file(claude, "-q")
        write(path, rows(3, 4))
        assert_all_once(path, {1, 2, 3, 4}, {3, 4})
        reread.keep()
        assert_all_once(path, {1, 2, 3, 4}, {3, 4})
        shutil.rmtree(claude / "projects")
        assert sorted(uuids(reread.open(ID)), key=str) == ["u1", "u2", "u3", "u4"]
        assert len(found("w1w")) == len(found("w3w")) == 1

    def test_it_is_all_that_is_left(self, claude: Path) -> None:
        path = main_file(claude)
        write(path, rows(1, 2))
        self.moved(path)
        write(path, rows(1, 2, 3, 4))
        self.moved(path, 1_700_000_000_001)
        assert uuids(reread.open(ID)) == ["u1", "u2", "u3", "u4"]
        assert [header.id for header in reread.sessions()] == [ID]
        assert len(found("w1w")) == 1 and reread.usage().totals.output_tokens == 6

    def test_a_file_that_moved_is_one_session(self, claude: Path) -> None:
        write(main_file(claude), rows(1, 2))
        reread.keep()
        path = main_file(claude, "-q")
        path.parent.mkdir()
        main_file(claude).rename(path)
        write(path, rows(1, 2, 3, 4))
        assert_all_once(path, {1, 2, 3, 4}, {1, 2, 3, 4})
        reread.keep()
        write(path, rows(3, 4))
        reread.keep()
        assert_all_once(path, {1, 2, 3, 4}, {3, 4})

    def test_all_that_is_kept_of_a_session_that_moved_is_restored_and_pruned(
        self, claude: Path, tmp_path: Path
    ) -> None:
        first, then, other = (main_file(claude, project) for project in ("-p", "-q", "-r"))
        agent = first.with_suffix("") / "subagents" / "agent-a1.jsonl"
        write(first, rows(1, 2))
        write(agent, rows(11, 12))
        write(other, rows(21, 22))  # another one with the same name
        write(other.with_name(f"{OTHER}.jsonl"), rows(31, 32))
        reread.keep()
        then.parent.mkdir()
        self.moved(first)
        write(then, rows(1, 2, 3, 4))
        reread.keep()
        shutil.rmtree(claude / "projects" / "-p")
        names = {file.relative_to(claude).as_posix() for file in (first, then, agent)}
        names.add(f"projects/-p/{ID}.jsonl.superseded-1700000000000")
        archive = Archive()
        restored = archive.restore(str(archive.folder / "projects" / "-q" / f"{ID}.jsonl"), to=tmp_path / "back")
        assert {Path(one.path).relative_to(tmp_path / "back").as_posix() for one in restored} == names
        session = str(archive.folder / "projects" / "-q" / f"{ID}.jsonl")
        assert {Path(one.name).as_posix() for one in archive.prune(session)} == names
        assert {Path(one.name).as_posix() for one in archive.versions()} == {
            f"projects/-r/{id}.jsonl" for id in (ID, OTHER)
        }

    def test_it_moves_while_its_folders_are_known(self, claude: Path) -> None:
        first, then = main_file(claude), main_file(claude, "-q")
        write(first, rows(1, 2))
        write(then.with_name(f"{OTHER}.jsonl"), rows(31, 32))
        reread.keep()
        wait_until_settled(claude, Archive().folder)
        for path in (first, then.with_name(f"{OTHER}.jsonl")):
            assert not is_joined(path)
        self.moved(first)
        write(then, rows(3, 4))
        assert uuids(reread.open(then)) == ["u1", "u2", "u3", "u4"]
        reread.keep()
        wait_until_settled(claude, Archive().folder)
        assert is_joined(then)
        first.with_name(f"{first.name}.superseded-1700000000000").unlink()
        then.rename(first)
        assert uuids(reread.open(first)) == ["u1", "u2", "u3", "u4"]

    def test_a_link_is_no_state(self, claude: Path, tmp_path: Path) -> None:
        path = main_file(claude)
        write(tmp_path / "elsewhere", rows(1, 2))
        path.with_name(f"{path.name}.superseded-5").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(reread.NotFound):
            _ = reread.open(path).records
        write(path, rows(3, 4))
        assert uuids(reread.open(path)) == ["u3", "u4"]

    def test_names_that_are_no_ids_are_not_looked_for_elsewhere(self, claude: Path) -> None:
        one, two = (claude / f"projects/{project}/notes.jsonl" for project in ("-p", "-q"))
        write(one, rows(1, 2))
        self.moved(one)
        write(two, rows(3, 4))
        assert uuids(reread.open(two)) == ["u3", "u4"]


class TestDamage:
    def test_a_damaged_state_is_read_as_far_as_it_can_be(self, claude: Path) -> None:
        path = main_file(claude)
        write(path, rows(1, 2))
        reread.keep()
        write(path, rows(1, 2, 3, 4))
        reread.keep()
        kept = Path(generation_path(Archive().folder / path.relative_to(claude), 1))
        write(path, rows(7, 8))
        data = bytearray(kept.read_bytes())
        data[len(data) - 30] ^= 255
        times = kept.stat()
        kept.write_bytes(data)
        os.utime(kept, ns=(times.st_atime_ns, times.st_mtime_ns))
        session = reread.open(path)
        assert uuids(session) == ["u1", "u2", "u7", "u8"]
        assert [finding.code for finding in session.problems if finding.level == "warning"][-1] == "damaged-state"
        kept.write_bytes(b"no frames at all")
        assert uuids(reread.open(path)) == ["u7", "u8"]
        assert "damaged-state" in cli("check", str(path))

    def test_check_names_what_was_dropped(self, claude: Path) -> None:
        path = main_file(claude)
        write(path, rows(1, 2, 3, 4))
        reread.keep()
        write(path, rows(3, 4))
        findings = [finding for finding in reread.check(path) if finding.code == "dropped-records"]
        assert [finding.text.startswith("2 records") for finding in findings] == [True]
        assert "dropped-records" in cli("check", "--full", str(path))

    @pytest.mark.parametrize("data", [b"", b"[", b'[{"type":"user"}]', b"\xef\xbb\xbf{}\n", b"{}", b"\0\n\n"])
    def test_whatever_the_file_is_now(self, claude: Path, data: bytes) -> None:
        path = main_file(claude)
        write(path, rows(1, 2))
        reread.keep()
        path.write_bytes(data)
        session = reread.open(path)
        assert {"u1", "u2"} <= set(uuids(session))
        assert b"".join(line.raw for line in session.lines) == data
        assert sum(session.ledger.fates.values()) == len(session.records)
        path.write_bytes(data + b"\n" + write(path.with_name("x"), rows(3)))
        assert {"u1", "u2"} <= set(uuids(reread.open(path)))


@pytest.mark.parametrize("path", REAL[: len(REAL) // 2 : max(1, len(REAL) // 12)], ids=lambda path: path.name)
def test_real_files_are_whole_after_every_other_line_is_dropped(claude: Path, path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    target = claude / "projects/-p" / path.name
    target.write_bytes(b"".join(lines))
    before = reread.open(target)
    whole = {record.raw for record in before.records}
    usage, calls = before.usage, {call.id for call in before.calls}
    reread.keep()
    target.write_bytes(b"".join(lines[::2]))
    after = reread.open(target)
    assert {record.raw for record in after.records} == whole
    assert b"".join(line.raw for line in after.lines) == b"".join(lines[::2])
    assert (after.usage, {call.id for call in after.calls}) == (usage, calls)
    assert sum(after.ledger.fates.values()) == len(after.records)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 3)),
        st.tuples(st.just("drop"), st.integers(0, 255)),
        st.tuples(st.just("keep"), st.just(0)),
        st.tuples(st.just("supersede"), st.integers(0, 255)),
    ),
    max_size=8,
)


@settings(max_examples=examples(15))
@given(steps=steps)
def test_any_sequence_of_changes_gives_the_union_once(claude: Path, steps: list[tuple[str, int]]) -> None:
    for folder in (claude, claude.parent / "store"):
        shutil.rmtree(folder, ignore_errors=True)
    path = main_file(claude)
    current, kept, number = rows(1, 2), set[str](), 2
    write(path, current)
    for count, (step, value) in enumerate(steps):
        names = {one["uuid"] for one in current}
        if step == "append":
            current = [*current, *rows(*range(number + 1, number + value + 1))]
            number += value
        elif step == "keep":
            reread.keep()
            kept |= names
        else:
            if step == "supersede":
                path.rename(path.with_name(f"{path.name}.superseded-{count}"))
                kept |= names
            current = [one for index, one in enumerate(current) if value >> index % 8 & 1]
        write(path, current)
    names = [one["uuid"] for one in current]
    session = reread.open(path)
    assert sorted(uuids(session), key=str) == sorted(kept | set(names), key=str)
    assert [record.envelope.uuid for record in session.records if not record.dropped] == names
    assert b"".join(line.raw for line in session.lines) == path.read_bytes()
    spoken = {int(name[1:]) for name in kept | set(names)}
    assert session.usage.output_tokens == sum(one for one in spoken if one % 2 == 0)


def test_a_session_that_is_followed_goes_on(claude: Path) -> None:
    path = main_file(claude)
    write(path, rows(1, 2, 3, 4))
    reread.keep()
    write(path, rows(3, 4))
    session = reread.open(path)
    changes = iter(reread.follow(session))
    with path.open("ab") as file:
        file.write(json.dumps(row(5, 4)).encode() + b"\n")
    change = next(change for change in changes if change.kind == "record")
    assert change.record is not None and change.record.envelope.uuid == "u5" and change.line == 3
    assert uuids(session) == ["u1", "u2", "u3", "u4", "u5"]
    assert uuids(reread.open(path)) == uuids(session)
    changes.close() if hasattr(changes, "close") else None
