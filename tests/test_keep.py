"""What `reread keep` copies, how kept sessions are read, and what happens on bad days."""

import errno
import hashlib
import json
import os
import re
import shutil
import stat
import time
from pathlib import Path
from typing import Any

import making
import msgspec
import pytest
from batches import some
from click.testing import CliRunner
from command import cli
from effort import sampled

import reread
from reread import Archive
from reread.archive import retention, sync
from reread.archive.archive import KeepReport
from reread.archive.places import FolderPlace
from reread.archive.source_files import files_below
from reread.archive.sync_state import SourceState
from reread.archive.verify import KeptEntry, KeptProblem
from reread.catalog.headers import read_header
from reread.cli import reread as command
from reread.disk import layout
from reread.errors import Misuse, NotFound, Unwritable
from reread.reader.export_formats import FORMATS
from reread.reader.session_view import SessionView
from reread.server.library import SessionLibrary
from reread.storage import frames, kept_names
from reread.storage.kept_copy import KeptFolder
from reread.storage.kept_file import open_regular
from reread.storage.kept_names import generation_path, kept_path

REAL = Path(__file__).parent / "real"
LARGER = os.environ.get("REREAD_REAL_CLIENT")
ONE, TWO = "11111111-0000-4000-8000-000000000001", "22222222-0000-4000-8000-000000000002"


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Claude Code's folder, with two sessions and all that can lie beside them."""
    root = tmp_path / "claude"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(root))
    for id, words in ((ONE, "the first needle"), (TWO, "the second needle")):
        write(root / f"projects/-p/{id}.jsonl", lines(id, words))
    own = root / f"projects/-p/{ONE}"
    write(own / "subagents/agent-a1.jsonl", lines(ONE, "an agent's needle"))
    write(own / "subagents/agent-a1.meta.json", b'{"agentType":"Explore"}')
    write(own / "subagents/workflows/wf_1/journal.jsonl", b"{}\n")
    write(own / "workflows/wf_1.json", b"{}")
    write(own / "tool-results/t 1\n.txt", b"spilled\n")
    write(own / "custom-title.json", b"{}")
    write(root / f"file-history/{ONE}/abc@v1", b"before")
    write(root / f"todos/{ONE}-agent-{ONE}.json", b"[]")
    write(root / f"tasks/{TWO}/1.json", b"{}")
    return root


def lines(id: str, words: str) -> bytes:
    records = [making.user(words), making.reply(making.text("done"))]
    common = {"sessionId": id, "cwd": "/p", "timestamp": "2026-11-01T00:00:00.000Z", "version": "2.1.0"}
    return b"".join(json.dumps({**record, **common}).encode() + b"\n" for record in records)


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_all_that_belongs_to_sessions_is_kept_and_restored(claude: Path, tmp_path: Path) -> None:
    report = reread.keep(to=tmp_path / "kept")
    assert report.count("new") == len(files_in(claude)) == 11
    assert reread.keep(to=tmp_path / "kept").count("unchanged") == 11
    Archive(tmp_path / "kept").restore(to=tmp_path / "out")
    assert files_in(tmp_path / "out") == files_in(claude)
    for path in claude.rglob("*.jsonl"):
        assert (tmp_path / "out" / path.relative_to(claude)).stat().st_mtime_ns == path.stat().st_mtime_ns


def test_every_outcome_has_its_figures(claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run would do and what it did: outcome, size, raw bytes added, packed bytes added, generation."""
    for name in ("FINE_WINDOW", "COARSE_WINDOW"):
        monkeypatch.setattr(kept_names, name, -1)  # what was written just now is taken as it is
    root, archive = claude / "projects" / "-p", Archive(tmp_path / "kept")
    path = root / f"{TWO}.jsonl"
    first = path.read_bytes()

    def figures(report: KeepReport) -> tuple[Any, ...]:
        (file,) = (file for file in report.files if file.path == str(path))
        assert (file.name, file.session, file.note) == (f"projects/-p/{TWO}.jsonl", TWO, "")
        assert (report.added, report.packed) == (
            sum(f.added for f in report.files),
            sum(f.packed for f in report.files),
        )
        return file.outcome, file.size, file.added, file.packed, file.generation

    def kept(generation: int = 1) -> int:
        name = tmp_path / "kept" / "projects" / "-p" / f"{TWO}.jsonl"
        return Path(generation_path(name, generation)).stat().st_size

    would, sizes = archive.keep(dry_run=True), {name: len(data) for name, data in files_in(claude).items()}
    assert figures(would) == ("new", len(first), len(first), 0, 0) and not (tmp_path / "kept").exists()
    assert (would.dry_run, would.sessions, would.added, archive.size()) == (True, 2, sum(sizes.values()), (0, 0))
    assert archive.pending_bytes() == sum(sizes.values())
    report = archive.keep()
    assert figures(report) == ("new", len(first), len(first), kept(), 1)
    assert (report.dry_run, report.count("new", "grown"), report.problems) == (False, 11, [])
    assert archive.size() == (2, report.packed) and archive.pending_bytes() == 0
    for report in (archive.keep(dry_run=True), archive.keep()):
        assert figures(report) == ("unchanged", len(first), 0, 0, 0)
    append(path, b'{"more":1}\n')
    size, before = len(first) + 11, kept()
    assert figures(archive.keep(dry_run=True)) == ("grown", size, 11, 0, 0) and archive.pending_bytes() == size
    assert figures(archive.keep()) == ("grown", size, 11, kept() - before, 1)
    path.write_bytes(first[:-9])
    assert figures(archive.keep(dry_run=True)) == ("rewritten", len(first) - 9, len(first) - 9, 0, 0)
    assert figures(archive.keep()) == ("rewritten", len(first) - 9, len(first) - 9, kept(2), 2)
    found = [one for one in archive.verify() if one.name == f"projects/-p/{TWO}.jsonl"]  # type: ignore[union-attr]
    assert sorted(found, key=lambda one: one.generation) == [  # type: ignore[union-attr]
        KeptEntry(f"projects/-p/{TWO}.jsonl", 1, size, kept()),
        KeptEntry(f"projects/-p/{TWO}.jsonl", 2, len(first) - 9, kept(2)),
    ]
    stranger, left = tmp_path / "kept" / "notes.txt", tmp_path / "kept" / "projects" / ".reread-1"
    write(stranger, b"mine")
    write(left, b"half")
    problems = [one for one in archive.verify() if isinstance(one, KeptProblem)]
    assert [(one.level, one.path, one.text) for one in sorted(problems, key=lambda one: one.path)] == [
        ("info", str(stranger), "not a file of reread's"),
        ("info", str(left), "left by a run that was killed"),
    ]
    restored = archive.restore(TWO, to=tmp_path / "out")
    assert [(one.path, one.size, one.generation, one.damage) for one in restored] == [
        (str(tmp_path / "out" / "projects" / "-p" / f"{TWO}.jsonl"), len(first) - 9, 2, ""),
        (str(tmp_path / "out" / "tasks" / TWO / "1.json"), 2, 1, ""),
    ]


@pytest.mark.parametrize(
    "written, days",
    [
        ('{"cleanupPeriodDays": 0}', 0),
        ('{"cleanupPeriodDays": 1e9}', 1e6),
        ('{"cleanupPeriodDays": true}', 30),
        ('{"cleanupPeriodDays": -0.5}', 30),
        ("{}", 30),
    ],
)
def test_retention_is_a_number_of_days(written: str, days: float, claude: Path) -> None:
    (claude / "settings.json").write_text(written)
    assert retention.retention(claude).days == days
    assert retention.retention(claude).source == (str(claude / "settings.json") if days != 30 else "")


def test_an_administrators_retention_goes_before_all_others(
    claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    managed, path = tmp_path / "managed.json", claude / "projects" / "-p" / f"{ONE}.jsonl"
    monkeypatch.setattr(retention, "_managed_settings", lambda: [managed])
    write(tmp_path / "work" / ".claude" / "settings.json", b'{"cleanupPeriodDays": 8}')
    path.write_bytes(making.jsonl(*making.told({**making.user("a"), "cwd": str(tmp_path / "work")})))
    (claude / "settings.json").write_text('{"cleanupPeriodDays": 20}')
    stake = retention.at_stake(claude, [str(path)], [])
    assert [one.days for one in stake.sooner] == [8]
    assert (stake.folder, stake.retention.days, stake.sessions, stake.due) == (str(claude), 20, 1, 0)
    managed.write_text('{"cleanupPeriodDays": 50}')
    stake = retention.at_stake(claude, [str(path)], [])
    assert (stake.retention, stake.sooner) == (retention.Retention(50, str(managed)), ())


def test_what_is_older_than_all_but_a_week_of_the_retention_is_due(claude: Path) -> None:
    paths = [str(path) for path in sorted((claude / "projects" / "-p").glob("*.jsonl"))]
    for path, age in zip(paths, (23 * 86400 + 600, 23 * 86400 - 600), strict=True):
        os.utime(path, (time.time() - age, time.time() - age))
    stake = retention.at_stake(claude, paths, [*reversed(paths), "/gone"])
    assert (stake.sessions, stake.due, stake.unkept) == (2, 1, (paths[0],))


def test_one_session_is_kept_and_restored_with_what_belongs_to_it(claude: Path, tmp_path: Path) -> None:
    reread.keep(ONE[:8], to=tmp_path / "kept")
    kept = {name for name in files_in(tmp_path / "kept") if name.endswith(".zst")}
    assert len(kept) == 9
    assert not any(TWO in name for name in kept)
    reread.keep(to=tmp_path / "kept")
    Archive(tmp_path / "kept").restore(TWO, to=tmp_path / "out")
    assert sorted(files_in(tmp_path / "out")) == [f"projects/-p/{TWO}.jsonl", f"tasks/{TWO}/1.json"]


def test_what_is_kept_already_is_not_kept_again(claude: Path, tmp_path: Path) -> None:
    reread.keep(to=tmp_path / "kept")
    for source in (tmp_path / "kept", tmp_path / "kept/projects/-p"):
        with pytest.raises(Misuse, match="has kept sessions already; copy it as it is"):
            reread.keep(source, to=tmp_path / "other")
    with pytest.raises(Misuse, match="has kept sessions already"):
        reread.keep(to=tmp_path / "other", root=tmp_path / "kept")
    assert not files_in(tmp_path / "other") or not any((tmp_path / "other").rglob("*.zst"))


def test_nothing_else_of_the_folder_is_kept(claude: Path, tmp_path: Path) -> None:
    before = {file.name for file in files_below(claude)}
    secret = tmp_path / "secret"
    write(secret, b"private")
    own = claude / f"projects/-p/{ONE}"
    for name in ("settings.json", ".credentials.json", ".claude.json", "history.jsonl", "plugins/x.jsonl"):
        write(claude / name, b"private")
    for name in ("settings.local.json", ".credentials.json", "memory/MEMORY.md", "tool-results/.env", "notes.txt"):
        write(own / name, b"private")
    write(claude / "projects/-p/memory/MEMORY.md", b"private")
    write(claude / "projects/-p/notes.md", b"private")
    for link in (own / "tool-results/link.txt", claude / "projects/-p/linked.jsonl", own / "link.json"):
        link.symlink_to(secret)
    (own / "tool-results/folder").symlink_to(tmp_path)
    (claude / "projects/around").symlink_to(claude / "projects")
    os.mkfifo(own / "tool-results/pipe")
    report = reread.keep(to=tmp_path / "kept")
    assert {file.name for file in report.files if file.outcome != "skipped"} == before
    assert report.count("skipped") == 6
    assert not report.count("failed")
    with pytest.raises(Misuse, match="lies in"):
        reread.keep(to=claude / "kept")
    with pytest.raises(Misuse, match="lies in"):
        reread.keep(claude / "projects/-p", to=claude / "projects/-p/kept")
    assert not (claude / "kept").exists()


def test_kept_files_are_for_their_owner_alone(claude: Path, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        reread.keep(to=tmp_path / "kept")
        Archive(tmp_path / "kept").restore(to=tmp_path / "out")
    finally:
        os.umask(before)
    for folder in (tmp_path / "kept", tmp_path / "out"):
        for path in (folder, *folder.rglob("*")):
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_a_kept_session_is_listed_found_and_counted_once(claude: Path, tmp_path: Path) -> None:
    before = {header.id: header for header in reread.sessions()}
    usage, hits = reread.usage().totals, len(list(reread.search("needle")))
    reread.keep()
    marked = {header.id: (header.kept, header.gone) for header in reread.sessions()}
    assert marked == {ONE: (True, False), TWO: (True, False)}
    assert len(list(reread.search("needle"))) == hits == 3
    assert reread.usage().totals == usage
    text = reread.open(ONE).messages[0].text
    shutil.rmtree(claude)
    headers = {header.id: header for header in reread.sessions()}
    assert {id: (header.kept, header.gone) for id, header in headers.items()} == {ONE: (True, True), TWO: (True, True)}
    for id, header in headers.items():
        assert (header.title, header.size, header.updated) == (before[id].title, before[id].size, before[id].updated)
    assert len(list(reread.search("needle"))) == hits
    assert reread.usage().totals == usage
    assert reread.open(ONE[:8]).messages[0].text == text == "the first needle"
    assert [agent.id for agent in reread.open(ONE).agents.values()] == ["a1"]
    assert "kept, gone" in cli("ls").output
    assert reread.resume(ONE, dry_run=True).written


def test_a_kept_session_is_found_by_path_and_in_another_folder(claude: Path, tmp_path: Path) -> None:
    cli("keep", "--to", str(tmp_path / "elsewhere"))
    shutil.rmtree(claude)
    path = tmp_path / f"elsewhere/projects/-p/{ONE}.jsonl"
    for name in (path, f"{path}.zst", ONE):
        assert reread.open(name).path == path
        assert reread.open(name).agents
    assert len(list(reread.sessions(root=tmp_path / "elsewhere"))) == 2
    assert cli("show", f"{path}.zst").output == cli("show", ONE[:6]).output
    assert cli("check", ONE).exit_code == 0


def test_the_reader_lists_a_kept_session_and_shows_its_source(claude: Path) -> None:
    reread.keep()
    shutil.rmtree(claude / "projects" / "-p" / ONE)
    (claude / f"projects/-p/{ONE}.jsonl").unlink()
    library = SessionLibrary(count=False)
    rows = {row.id: row for row in library.listing().sessions}
    assert {id: (row.kept, row.gone) for id, row in rows.items()} == {ONE: (True, True), TWO: (True, False)}
    view = SessionView(reread.open(library.find(rows[ONE].key)), ONE)
    assert view.overview().path == str(Archive().folder / f"projects/-p/{ONE}.jsonl.zst")
    library.close()


def test_sessions_with_one_id_in_two_projects_are_two(claude: Path) -> None:
    write(claude / f"projects/-q/{ONE}.jsonl", lines(ONE, "another place"))
    reread.keep()
    shutil.rmtree(claude / "projects/-p")
    assert sorted((header.id, header.gone) for header in reread.sessions()) == [(ONE, False), (ONE, True), (TWO, True)]


def test_restoring_never_overwrites(claude: Path, tmp_path: Path) -> None:
    reread.keep()
    write(tmp_path / f"out/tasks/{TWO}/1.json", b"mine")
    result = CliRunner().invoke(command, ["keep", "--restore", TWO, "-o", str(tmp_path / "out")])
    assert isinstance(result.exception, Misuse)
    assert files_in(tmp_path / "out") == {f"tasks/{TWO}/1.json": b"mine"}
    refused = cli("keep", "--restore", ONE, "-o", str(claude / "back"), input="n\n")
    assert refused.exit_code == 1
    assert not (claude / "back").exists()


def test_a_session_is_found_if_only_one_of_the_clients_folders_exists(
    claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    shutil.copytree(claude, tmp_path / "home" / ".claude")
    assert reread.keep(ONE, to=tmp_path / "kept").sessions == 1


@pytest.mark.parametrize("words", [["--check"], ["--restore", "latest", "-o", "out"]])
def test_before_anything_is_kept_there_is_nothing_to_verify_or_restore(words: list[str], tmp_path: Path) -> None:
    result = CliRunner().invoke(command, ["keep", "--to", str(tmp_path / "kept"), *words])
    assert isinstance(result.exception, NotFound) and "run `reread keep`" in str(result.exception)


def test_a_rewritten_file_begins_a_generation_and_the_earlier_one_can_be_restored(claude: Path, tmp_path: Path) -> None:
    path = claude / f"projects/-p/{ONE}.jsonl"
    states = [path.read_bytes(), path.read_bytes()[:40], b"other\n"]
    for data in states:
        path.write_bytes(data)
        reread.keep()
    assert [version.generation for version in Archive().versions(ONE) if version.name.endswith(f"{ONE}.jsonl")] == [
        1,
        2,
        3,
    ]
    for number, data in enumerate(states, 1):
        cli("keep", "--restore", ONE, "-o", str(tmp_path / f"out{number}"), "--generation", str(number))
        assert (tmp_path / f"out{number}/projects/-p/{ONE}.jsonl").read_bytes() == data
    assert reread.open(Path(kept_path(Archive().folder / path.relative_to(claude)) or "")).lines[0].raw == b"other\n"


def test_every_flipped_bit_is_reported(claude: Path, tmp_path: Path) -> None:
    reread.keep(TWO, to=tmp_path / "kept")
    archive = Archive(tmp_path / "kept")
    for path in sorted(archive.folder.rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        for at in range(len(data)):
            path.write_bytes(data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1 :])
            found = [one for one in archive.verify() if isinstance(one, KeptProblem) and one.level == "error"]
            assert found, (path, at)
        if data:
            path.write_bytes(data)
    assert not [one for one in archive.verify() if isinstance(one, KeptProblem)]


def test_damage_is_said_and_the_original_is_kept_anew(claude: Path, tmp_path: Path) -> None:
    reread.keep()
    kept = Archive().folder / f"projects/-p/{ONE}.jsonl.zst"
    data = bytearray(kept.read_bytes())
    data[len(data) // 2] ^= 1
    kept.write_bytes(data)
    assert cli("keep", "--check").exit_code == 1
    report = reread.keep()
    assert report.count("rewritten") == 1
    assert "left as it is" in report.problems[0].note
    assert kept.read_bytes() == data
    shutil.rmtree(claude)
    assert reread.open(ONE).messages[0].text == "the first needle"
    kept.with_name(f"{ONE}.jsonl.gen2.zst").unlink()
    with pytest.raises(reread.Unreadable, match="run `reread keep --check`"):
        _ = reread.open(ONE).messages
    assert [hit.session for hit in reread.search("needle")] == [TWO]
    result = cli("keep", "--restore", "-o", str(tmp_path / "out"))
    assert result.exit_code == 1
    assert len(files_in(tmp_path / "out")) == 10


@pytest.mark.parametrize("content", [None, b"", b"junk", b"\xff" * 300, "foreign"])
def test_a_map_that_is_missing_or_wrong_is_made_again(claude: Path, content: Any) -> None:
    path = claude / f"projects/-p/{ONE}.jsonl"
    reread.keep()
    map = Archive().folder / f"projects/-p/{ONE}.jsonl.zst.map"
    right = map.read_bytes()
    if content is None:
        map.unlink()
    else:
        map.write_bytes((map.parent / f"{TWO}.jsonl.zst.map").read_bytes() if content == "foreign" else content)
    with open_regular(Archive().folder / path.relative_to(claude)) as file:
        assert file.read() == path.read_bytes()
    append(path, b"more\n")
    report = reread.keep()
    assert report.count("grown") == 1
    assert "was made again" in report.problems[0].note
    assert map.read_bytes().startswith(right)
    assert cli("keep", "--check").exit_code == 0


def test_a_map_that_vouches_for_junk_does_not_stop_a_run(claude: Path) -> None:
    reread.keep()
    kept = Archive().folder / f"projects/-p/{ONE}.jsonl.zst"
    junk = kept.read_bytes()[:-1] + b"?"
    frame = frames.ZstdFrame(9, len(junk), bytes(32), hashlib.sha256(junk).digest())
    kept.write_bytes(junk + b"tail")
    Path(f"{kept}.map").write_bytes(frames.map_bytes([frame]))
    assert reread.keep().count("rewritten") == 1
    assert cli("keep", "--check").exit_code == 1
    assert kept.read_bytes() == junk + b"tail"


def during_copy(monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    """Have a source changed after the first frame of it was read."""
    monkeypatch.setattr(sync, "FRAME_SIZE", 64)
    add, done = sync.FrameBuilder.add, []

    def adding(self: Any, data: bytes) -> bytes:
        if not done:
            done.append(1)
            change()
        return add(self, data)

    monkeypatch.setattr(sync.FrameBuilder, "add", adding)


@pytest.mark.parametrize("how", ["grow", "shrink", "rewrite", "replace", "delete"])
def test_a_source_that_changes_while_it_is_copied(claude: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    path = claude / f"projects/-p/{ONE}.jsonl"
    before = path.read_bytes()
    other = bytes(reversed(before))

    def replace() -> None:
        (claude / "new").write_bytes(other)
        (claude / "new").replace(path)

    changes = {
        "grow": (lambda: append(path, b"more"), {before, before + b"more"}),
        "shrink": (lambda: os.truncate(path, 10), {before[:10]}),
        "rewrite": (lambda: path.write_bytes(other), {other}),
        "replace": (replace, {before, other}),
        "delete": (path.unlink, {before}),
    }
    during_copy(monkeypatch, changes[how][0])
    report = reread.keep(path)
    assert not report.count("failed")
    with open_regular(Archive().folder / path.relative_to(claude)) as file:
        assert file.read() in changes[how][1]
    assert cli("keep", "--check").exit_code == 0
    if how != "delete":
        reread.keep(path)
        newest = kept_path(Archive().folder / path.relative_to(claude))
        assert b"".join(line.raw for line in reread.open(Path(newest or "")).lines) == path.read_bytes()


def test_a_time_that_is_set_back_hides_no_change(claude: Path) -> None:
    path = claude / f"projects/-p/{ONE}.jsonl"
    for moment in (2_000_000_000, 1, 2_000_000_000):  # the clock runs wild
        data = path.read_bytes().replace(b"needle", b"needles"[: 6 + moment % 2])
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        os.utime(path, (moment, moment))
        reread.keep()
        newest = kept_path(Archive().folder / path.relative_to(claude))
        assert b"".join(line.raw for line in reread.open(Path(newest or "")).lines) == path.read_bytes()


def test_a_quiet_file_is_packed_anew(claude: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = claude / f"projects/-p/{ONE}.jsonl"
    for n in range(5):
        append(path, lines(ONE, f"word {n} " * 9))
        reread.keep()
    kept = Archive().folder / f"projects/-p/{ONE}.jsonl.zst"
    before = kept.stat()
    monkeypatch.setattr(sync, "QUIET_SECONDS", -1.0)
    time.sleep(0.1)  # until then, the file might change without a new time
    reread.keep()
    reread.keep()
    assert reread.keep().count("unchanged") == 11
    assert kept.stat().st_size < before.st_size
    assert cli("keep", "--check").exit_code == 0
    append(path, b"more\n")
    assert reread.keep().count("grown") == 1


def test_what_is_at_stake_is_said(claude: Path) -> None:
    old = claude / f"projects/-p/{ONE}.jsonl"
    os.utime(old, (1, 1))
    output = cli("keep", "--dry-run").output
    assert "older than 30 days" in output
    assert f"    {old}" in output
    (claude / "settings.json").write_text('{"cleanupPeriodDays": 9.5}')
    value = json.loads(cli("keep", "--json").output)
    stake = value["at_stake"][0]
    assert stake["retention"] == {"days": 9.5, "source": str(claude / "settings.json")}
    assert stake["unkept"] == []
    assert value["counts"]["new"] == 11
    assert value["archive"]["sessions"] == 2
    for bad in ("{", "[]", '{"cleanupPeriodDays": "x"}', '{"cleanupPeriodDays": -1}'):
        (claude / "settings.json").write_text(bad)
        assert "its default" in cli("keep").output


def test_one_report_says_one_number_of_sessions(claude: Path) -> None:
    """A session may be in the folders of two projects, and of another one, only tasks may be left."""
    copy = claude / f"projects/-q/{ONE}.jsonl"
    copy.parent.mkdir()
    copy.write_bytes((claude / f"projects/-p/{ONE}.jsonl").read_bytes())
    left = claude / "tasks/5e551017-9999-4000-8000-000000000009/1.json"
    left.parent.mkdir(parents=True)
    left.write_text("{}")
    for path in claude.glob("projects/*/*.jsonl"):
        os.utime(path, (1, 1))
    output = cli("keep").output
    assert re.findall(r"[\d,]+(?= sessions)", output) == ["2", "2", "2"], output
    assert "is kept: 2 of 2 sessions." in output
    value = json.loads(cli("keep", "--json").output)
    assert {value["sessions"], value["at_stake"][0]["sessions"], value["at_stake"][0]["due"]} == {2}
    assert value["archive"]["sessions"] == 2 and len(list(reread.sessions(root=claude))) == 3


def test_before_the_first_run_nothing_is_said_to_be_kept(claude: Path) -> None:
    output = cli("keep", "--dry-run").output
    assert "Within 7 days it deletes none of 2 sessions." in output and "is kept" not in output
    old = claude / f"projects/-p/{ONE}.jsonl"
    os.utime(old, (1, 1))
    assert "deletes 1 session not kept as they are now" in cli("keep", "--dry-run").output
    assert "All that it deletes within 7 days is kept: 1 of 2 sessions." in cli("keep").output


def test_a_project_that_deletes_sooner_is_named(claude: Path, tmp_path: Path) -> None:
    old = claude / f"projects/-p/{ONE}.jsonl"
    project = tmp_path / "work"
    settings = project / ".claude" / "settings.local.json"
    settings.parent.mkdir(parents=True)
    for path in old.parent.glob("*.jsonl"):
        path.write_bytes(making.jsonl(*making.told({**making.user("a"), "cwd": str(project)})))
    days_ago = time.time() - 10 * 86400
    os.utime(old, (days_ago, days_ago))
    settings.write_text('{"cleanupPeriodDays": 40}')
    assert "work" not in cli("keep", "--dry-run").output
    settings.write_text('{"cleanupPeriodDays": 12}')
    output = cli("keep", "--dry-run").output
    assert "older than 30 days" in output
    assert f"  By {settings}, it deletes what is older than 12 days when it runs there." in output
    assert f"    {old}" in output
    stake = json.loads(cli("keep", "--dry-run", "--json").output)["at_stake"][0]
    assert stake["sooner"] == [{"days": 12, "source": str(settings)}]


def test_nothing_is_at_stake_elsewhere(claude: Path) -> None:
    assert "deletes" not in cli("keep", "--dry-run", "--root", str(claude)).output


def own_ids() -> list[str]:
    return [header.id for header in reread.sessions()]


def test_samples_and_other_folders_do_not_become_ones_own(
    claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REREAD_ARCHIVE", raising=False)
    before = own_ids()
    samples, other = tmp_path / "samples", tmp_path / "other"
    assert f"use `--root {samples}`" in cli("--demo", "keep", "--to", str(samples)).output
    shutil.copytree(claude, tmp_path / "copy")
    (tmp_path / f"copy/projects/-p/{ONE}.jsonl").rename(tmp_path / "copy/projects/-p/elsewhere.jsonl")
    cli("--root", str(tmp_path / "copy"), "keep", "--to", str(other))
    cli("keep", str(tmp_path / "copy/projects/-p"), "--to", str(other))
    assert own_ids() == before
    assert len(list(reread.sessions(root=samples))) == 8
    with pytest.raises(Misuse, match="name another folder: --to DIR"):
        cli("--demo", "keep")
    assert own_ids() == before and not (layout.default_store() / layout.ARCHIVES).exists()


def test_an_archive_is_read_until_it_is_forgotten(
    claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REREAD_ARCHIVE", raising=False)
    folder = tmp_path / "kept"
    assert "--root" not in cli("keep", ONE, "--to", str(folder)).output
    (claude / f"projects/-p/{ONE}.jsonl").unlink()
    assert sorted(own_ids()) == [ONE, TWO]
    before = files_in(folder)
    said = cli("keep", "--forget", str(folder)).output
    assert said == f"Forgot {folder}. Nothing was deleted: `--root {folder}` reads it.\n"
    assert own_ids() == [TWO] and files_in(folder) == before
    with pytest.raises(NotFound, match=r"does not read .*kept by default; it remembers no other folder"):
        cli("keep", "--forget", str(folder))
    cli("keep", "--to", str(folder))
    assert sorted(own_ids()) == [ONE, TWO]
    shutil.rmtree(folder)  # one that is gone can be forgotten, too
    assert json.loads(cli("keep", "--forget", str(folder), "--json").output) == {
        "folder": str(folder),
        "forgotten": True,
    }
    with pytest.raises(Misuse, match="reread's own"):
        cli("keep", "--forget", str(layout.default_archive()))
    with pytest.raises(Misuse, match="name one folder"):
        cli("keep", "--forget", str(folder), "--to", str(folder))
    monkeypatch.setenv("REREAD_ARCHIVE", str(folder))
    with pytest.raises(Misuse, match="REREAD_ARCHIVE says what is read"):
        cli("keep", "--forget", str(folder))


def test_a_no_has_the_same_exit_code_everywhere(claude: Path, tmp_path: Path) -> None:
    reread.keep()
    assert cli("keep", "--prune", ONE, input="n\n").exit_code == 1
    assert cli("keep", "--restore", "-o", str(claude), input="n\n").exit_code == 1
    assert len(Archive().versions()) == 11


def test_a_file_that_changes_twice_in_one_tick_is_kept_as_it_is(claude: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change keeps size, times and inode if the clock of the file system has not moved on since the last run."""
    path = claude / f"projects/-p/{ONE}.jsonl"
    tick = 1_800_000_000_123_000_000
    now, frozen = tick + 1_000_000, SourceState.of

    def of(status: os.stat_result) -> SourceState:
        return msgspec.structs.replace(frozen(status), modified=tick, changed=tick)

    monkeypatch.setattr(SourceState, "of", staticmethod(of))
    monkeypatch.setattr(kept_names.time, "time_ns", lambda: now)
    reread.keep()
    path.write_bytes(path.read_bytes().replace(b"first", b"other"))
    assert reread.keep().count("rewritten") == 1
    now = tick + 10 * kept_names.FINE_WINDOW
    reread.keep()
    path.write_bytes(path.read_bytes().replace(b"other", b"third"))
    assert reread.keep().count("unchanged") == 11, "a tick that is over tells states apart"


def test_frames_that_may_not_be_those_that_were_kept_are_not_restored(claude: Path, tmp_path: Path) -> None:
    reread.keep()
    one, two = (Archive().folder / f"projects/-p/{id}.jsonl.zst" for id in (ONE, TWO))
    shutil.copyfile(two, one)  # whole frames, and another file's
    results = {Path(file.path).name: file.damage for file in Archive().restore(to=tmp_path / "out")}
    assert results[f"{ONE}.jsonl"] == "its frames are not those of its map"
    assert not results[f"{TWO}.jsonl"] and not (tmp_path / f"out/projects/-p/{ONE}.jsonl").exists()


@pytest.mark.parametrize(("number", "kept"), [(errno.ENOSPC, 0), (errno.EDQUOT, 0), (errno.EROFS, 0), (errno.EIO, 10)])
def test_a_full_disk_ends_a_run_and_another_error_does_not(
    claude: Path, monkeypatch: pytest.MonkeyPatch, number: int, kept: int
) -> None:
    create, calls = KeptFolder.create, 0

    def failing(self: KeptFolder, path: str) -> Any:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise OSError(number, os.strerror(number), path)
        return create(self, path)

    monkeypatch.setattr(KeptFolder, "create", failing)
    report = reread.keep()
    assert (report.count("failed"), report.count("new"), calls) == (1, kept, kept + 1)
    assert os.strerror(number) in report.problems[0].note
    assert reread.keep().count("new") == 11 - kept


def test_waiting_for_another_process_is_said(claude: Path) -> None:
    reread.keep()
    said: list[str] = []
    with FolderPlace(Archive().folder).writer(0), pytest.raises(Unwritable, match="Another process"):
        Archive().keep(wait=0.1, waiting=lambda: said.append("waiting"))
    assert said == ["waiting"]


def views(path: Path) -> dict[str, object]:
    """All that is shown of a session, without its path."""
    session = reread.open(path)
    forms = ("markdown", "json", "html", "jsonl")
    texts = {
        form: reread.export(session, form).replace(str(path.parent).encode(), b"").replace(b".jsonl.zst", b".jsonl")
        for form in forms
        if form in FORMATS
    }
    header = read_header(path)
    return {
        **texts,
        "header": {name: getattr(header, name) for name in header.__struct_fields__ if name != "path"},
        "lines": b"".join(bytes(line.raw) for line in session.lines),
        "problems": [(finding.line, finding.code) for finding in session.problems],
        "usage": session.usage,
        "agents": sorted(session.agents),
        "files": {
            path: [(version.action, version.line, version.source, version.added) for version in file.versions]
            for path, file in session.files.items()
        },
    }


SAMPLE = ("tui_rewind", "workflow", "agent_bg", "bash", "tui_compact")


@pytest.mark.parametrize("version", sorted(path.name for path in REAL.iterdir() if path.is_dir()))
def test_views_of_a_kept_session_are_those_of_the_original(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "")
    scenarios = sorted(path for path in (REAL / version).iterdir() if (path / "projects").is_dir())
    chosen = [path for path in scenarios if path.name in SAMPLE] or scenarios[:3]
    assert compare(chosen, tmp_path) >= len(chosen)


@sampled
@pytest.mark.skipif(LARGER is None, reason="needs REREAD_REAL_CLIENT")
def test_views_of_all_kept_sessions_are_those_of_the_originals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "")
    scenarios = some(sorted((Path(LARGER or "") / "data").glob("*/*/projects")), 6)
    assert compare([path.parent for path in scenarios], tmp_path) >= len(scenarios) // 2


def compare(scenarios: list[Path], tmp_path: Path) -> int:
    """Keep scenarios, restore them and compare every view; return how many sessions were compared."""
    count = 0
    for number, scenario in enumerate(scenarios):
        archive = Archive(tmp_path / f"kept{number}")
        original = shutil.copytree(scenario, tmp_path / f"original{number}")
        os.environ["CLAUDE_CONFIG_DIR"] = str(original)
        assert not archive.keep().problems
        archive.restore(to=tmp_path / f"out{number}")
        restored = files_in(tmp_path / f"out{number}")
        originals = files_in(original)
        assert {name: originals[name] for name in restored} == restored
        below = [name for name in originals if name.startswith("projects") and name.endswith(".jsonl")]
        assert set(below) <= set(restored)
        for name in below:
            if layout.is_session_filename(Path(name).name) and "subagents" not in name:
                count += 1
                kept = views(archive.folder / name)
                for what, value in views(original / name).items():
                    assert kept[what] == value, (scenario, name, what)
        shutil.rmtree(archive.folder)
        shutil.rmtree(tmp_path / f"out{number}")
    return count
