"""A verb that reads many files goes on past one that makes it fail, and says which one it was."""

from __future__ import annotations

import json
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from making import jsonl, told, user

import reread
from reread.accounting import workers
from reread.catalog import header_scan
from reread.cli import reread as group
from reread.facts import opening, responses
from reread.index import file_pass, update
from reread.reader import site_export
from reread.reports import check_report
from reread.session import session

SAMPLES = Path(reread.__file__).parent / "samples"
BAD = b"makes-reading-fail"


class Fault(Exception):
    """A fault of reread that nobody knows yet."""


def faulty(function: Any) -> Any:
    """Return a function that fails on anything that holds the bad text."""

    def call(*args: Any, **options: Any) -> Any:
        if any(BAD in (value if isinstance(value, bytes) else repr(value).encode()) for value in args):
            raise Fault("unforeseen")
        return function(*args, **options)

    return call


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The samples, and a session that makes reading fail."""
    shutil.copytree(SAMPLES / "projects", tmp_path / "projects", ignore=shutil.ignore_patterns("*.zst*"))
    folder = next((tmp_path / "projects").iterdir())
    good = next(folder.glob("*.jsonl")).read_bytes()
    (folder / "bad.jsonl").write_bytes(good.replace(b'"sessionId":"', b'"sessionId":"' + BAD))
    return tmp_path


def sessions_in(root: Path) -> list[Path]:
    return [path for path in sorted(root.glob("projects/*/*.jsonl")) if not path.name.startswith("agent-")]


def run(root: Path, *words: str) -> Result:
    return CliRunner().invoke(group, [*words, "--root", str(root)])


def test_ls_lists_the_others(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(header_scan, "_header", faulty(header_scan._header))
    monkeypatch.setattr(header_scan._HeaderScan, "_note", faulty(header_scan._HeaderScan._note))
    done = run(root, "ls", "--json")
    assert done.exit_code == 0
    assert len(json.loads(done.stdout)) == len(sessions_in(root)) - 1
    assert "bad.jsonl: Fault: unforeseen" in done.stderr


@pytest.mark.parametrize("where", ["scan", "resolve"])
def test_usage_counts_the_others(root: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    before = run(root, "usage", "--json")
    monkeypatch.setenv("REREAD_CACHE", str(root / "counted anew"))
    if where == "scan":
        monkeypatch.setattr(workers, "read", faulty_on_path(workers.read))
    else:
        monkeypatch.setattr(responses, "resolve", faulty_on_path(responses.resolve))
    done = run(root, "usage", "--json")
    assert done.exit_code == 0 and "bad.jsonl" in done.stderr
    assert 0 < json.loads(done.stdout)["totals"]["responses"] <= json.loads(before.stdout)["totals"]["responses"]


def faulty_on_path(function: Any) -> Any:
    """Return a function that fails if one of the files that it is given is the bad one."""

    def call(*args: Any, **options: Any) -> Any:
        if "bad.jsonl" in repr(args[0]):
            raise Fault("unforeseen")
        return function(*args, **options)

    return call


@pytest.mark.parametrize("where", ["open", "check"])
@pytest.mark.parametrize("named", [False, True])
def test_check_reports_it_and_checks_the_others(
    root: Path, monkeypatch: pytest.MonkeyPatch, named: bool, where: str
) -> None:
    check_file = check_report.check_file

    def check(conversation: Any, *args: Any, **options: Any) -> Any:
        if BAD.decode() in repr(conversation.metadata.ids):
            raise Fault("unforeseen")
        return check_file(conversation, *args, **options)

    if where == "open":
        monkeypatch.setattr(session, "FileSource", faulty_on_path(session.FileSource))
    else:
        monkeypatch.setattr(check_report, "check_file", check)
    files = sessions_in(root)
    report = check_report.check_report(files if named else [root])
    failed = [file for file in report.files if any(f.code == "unreadable-file" for f in file.findings)]
    assert [Path(file.path).name for file in failed] == ["bad.jsonl"]
    assert "Fault: unforeseen" in failed[0].findings[0].text
    assert report.totals.files > len(files) - 1


def test_export_writes_the_others(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_export, "FileSource", faulty_on_path(site_export.FileSource))
    done = CliRunner().invoke(group, ["export", str(root), "-f", "html", "-o", str(tmp_path / "site")])
    assert done.exit_code == 1
    assert "bad.jsonl: Fault: unforeseen" in done.stderr
    assert len(list((tmp_path / "site").glob("*.html"))) == len(sessions_in(root))


def test_stats_and_blame_report_on_the_others(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "SessionFacts", faulty(opening.SessionFacts))
    bad = next(root.glob("projects/*/bad.jsonl"))
    report = reread.stats(root=root, cache=False)
    assert report.unread == (str(bad),) and report.totals.calls
    (root / "a.txt").write_text("a\n")
    assert [line.session for line in reread.blame(root / "a.txt", root=root)] == [None]


def test_a_file_that_fails_after_its_first_part_is_indexed_whole_once_it_does_not(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, last = (jsonl(*told(user(word))) for word in ("firstneedle", f"lastneedle {BAD.decode()}"))
    filler = jsonl(*told(user("filler " * 1000))) * (2 * file_pass.CHUNK // 7000)
    (next((root / "projects").iterdir()) / "long.jsonl").write_bytes(first + filler + last)
    with monkeypatch.context() as patch:
        patch.setattr(file_pass.FilePass, "_add_record", faulty(file_pass.FilePass._add_record))
        assert "long.jsonl: Fault: unforeseen" in run(root, "search", "firstneedle").stderr
    for word in ("firstneedle", "lastneedle"):
        assert json.loads(run(root, "search", word, "--json").stdout)["total"] == 1


def test_search_finds_the_others(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    total = json.loads(run(root, "search", "the", "--json").stdout)["total"]
    (next((root / "projects").iterdir()) / "bad.jsonl").touch()  # so that it is read again
    monkeypatch.setattr(file_pass.FilePass, "_add_record", faulty(file_pass.FilePass._add_record))
    for _ in range(2):
        done = run(root, "search", "the", "--json")
        assert done.exit_code == 0, done.output
        assert "bad.jsonl: Fault: unforeseen" in done.stderr
        assert 0 < json.loads(done.stdout)["total"] < total
    monkeypatch.setattr(update, "open_update", lambda name, wait: nullcontext(None))
    monkeypatch.setattr(update, "open_reader", lambda name: None)
    assert "bad.jsonl: Fault: unforeseen" in run(root, "search", "the", "--json").stderr
