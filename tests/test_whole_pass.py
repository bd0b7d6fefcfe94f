"""The process that derives everything kept of sessions: when one is due, how it is started, and what it reads."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from indexes import open_reader
from limits import wait_until
from making import SESSION, reply, user, write
from used import facts_of

from reread.dataset import whole_pass
from reread.disk.cache import cache_folder
from reread.disk.file_set import FileSet, find_files
from reread.session import pass_process
from reread.session.pass_process import PassJob, begin_pass, pass_is_due, start_pass
from reread.session.session_pass import PARTS, SessionPass

NOW = 1_800_000_000


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that says when a pass was begun last; there is none yet."""
    monkeypatch.setenv("REREAD_BACKGROUND", "on")
    return cache_folder() / "pass"


@pytest.mark.parametrize(
    ("age", "due"), [(0, False), (0.5, False), (3599, False), (3600, True), (-0.5, True), (10**9, True)]
)
def test_a_pass_is_due_an_hour_after_the_last(
    begun: Path, monkeypatch: pytest.MonkeyPatch, age: float, due: bool
) -> None:
    assert pass_is_due() is True
    begun.parent.mkdir(parents=True)
    begun.touch()
    os.utime(begun, (NOW, NOW))
    monkeypatch.setattr(time, "time", lambda: NOW + age)
    assert pass_is_due() is due


@pytest.mark.parametrize(
    ("value", "due"),
    [("off", False), ("OFF", False), ("0", False), ("no", False), ("False", False), ("on", True), ("", True)],
)
def test_a_variable_forbids_passes(monkeypatch: pytest.MonkeyPatch, value: str, due: bool) -> None:
    monkeypatch.setenv("REREAD_BACKGROUND", value)
    assert pass_is_due() is due
    monkeypatch.delenv("REREAD_BACKGROUND")
    assert pass_is_due() is True


def test_beginning_a_pass_notes_the_time_and_says_whether_it_is_the_first(
    begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[PassJob] = []
    opened: list[int] = []
    original = pass_process.open_own
    monkeypatch.setattr(pass_process, "start_pass", started.append)
    monkeypatch.setattr(pass_process, "open_own", lambda *given: opened.append(original(*given)) or opened[-1])
    assert begin_pass() is True and begun.exists() and started == [PassJob()]
    with pytest.raises(OSError):
        os.fstat(opened[0])  # it is closed
    os.utime(begun, (0, 0))
    assert begin_pass() is False and begun.stat().st_mtime > 0 and len(started) == 2
    assert pass_is_due() is False


@pytest.mark.parametrize("by_descriptor", [True, False])
def test_the_time_is_set_on_the_opened_file_where_that_can_be(
    begun: Path, monkeypatch: pytest.MonkeyPatch, by_descriptor: bool
) -> None:
    touched: list[Any] = []
    monkeypatch.setattr(pass_process, "start_pass", lambda _: None)
    monkeypatch.setattr(os, "utime", touched.append)
    monkeypatch.setattr(os, "supports_fd", {os.utime} if by_descriptor else set())
    begin_pass()
    assert touched == [begun] if not by_descriptor else isinstance(touched[0], int)


def test_a_pass_is_a_process_of_its_own_that_no_terminal_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, user("needle"), reply("found"))
    worker = start_pass(PassJob(paths=[str(path)]))
    if os.name == "posix":
        pid = worker._process.pid  # type: ignore[union-attr]
        assert os.getsid(pid) == pid
        wait_until(lambda: os.getpriority(os.PRIO_PROCESS, pid) == min(19, os.nice(0) + 10))
    worker.wait(120)
    reader = open_reader()
    assert reader is not None and list(reader.cursors) == [str(path)]
    monkeypatch.setattr(SessionPass, "_open", refuse)
    whole_pass.derive_all(find_files(paths=[path]))


# What it reads


@pytest.fixture
def filled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the sessions that a pass fills, in order."""
    names: list[str] = []
    original = SessionPass.fill
    monkeypatch.setattr(
        SessionPass, "fill", lambda self, path, *more: names.append(Path(path).stem) or original(self, path, *more)
    )
    return names


def refuse(*_: object) -> Any:
    raise AssertionError("it was opened again")


def test_the_newest_sessions_are_derived_first_and_agents_with_theirs(
    tmp_path: Path, filled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, modified in (("s1", 20), ("s2", 40), ("s3", 10), ("s4", 30)):
        path = write(tmp_path, user("needle"), reply("found"), name=name)
        os.utime(path, (modified, modified))
    agent = tmp_path / "projects/p/s1/subagents/agent-x.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_bytes(path.read_bytes())
    asked: list[Any] = []
    original = whole_pass.refresh
    monkeypatch.setattr(
        whole_pass, "refresh", lambda files, **more: asked.append((len(filled), more)) or original(files, **more)
    )
    files = find_files([tmp_path])
    assert len(files.states) == 5
    whole_pass.derive_all(files, wait=3)
    assert asked == [(0, {"wait": 3, "parts": PARTS})]
    assert filled[-4:] == ["s2", "s4", "s1", "s3"] and "agent-x" not in filled
    reader = open_reader()
    assert reader is not None and len(reader.cursors) == 5
    monkeypatch.setattr(SessionPass, "_open", refuse)
    assert len(list(facts_of(sorted(tmp_path.glob("projects/p/*.jsonl"))))) == 4
    whole_pass.derive_all(files)
    assert asked[1][1] == {"wait": 60.0, "parts": PARTS}


def test_what_a_refresh_did_not_derive_is_derived_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, user("needle"), reply("found"))
    monkeypatch.setattr(whole_pass, "refresh", lambda *_, **__: None)  # another process has the index
    whole_pass.derive_all(find_files([tmp_path]))
    monkeypatch.setattr(SessionPass, "_open", refuse)
    assert len(list(facts_of([path]))) == 1


@pytest.mark.parametrize(("roots", "given"), [(["/a", "/b"], ["/a", "/b"]), ([], None)])
def test_rows_are_derived_if_what_writes_them_is_installed(
    monkeypatch: pytest.MonkeyPatch, roots: list[str], given: list[str] | None
) -> None:
    pytest.importorskip("pyarrow")
    steps: list[Any] = []

    @contextmanager
    def own_tables(roots: list[str] | None) -> Iterator[None]:
        steps.append(roots)
        yield
        steps.append("done")

    monkeypatch.setattr("reread.dataset.local_tables.own_tables", own_tables)
    whole_pass.derive_rows(roots)
    assert steps == [given, "done"]
    monkeypatch.setattr(whole_pass, "find_spec", lambda name: None if name == "pyarrow" else SimpleNamespace())
    whole_pass.derive_rows(roots)
    assert len(steps) == 2


@pytest.mark.parametrize(
    ("named", "alone", "waits", "passes"),
    [
        ("", True, [60.0], 1),
        ("", False, [60.0], 0),
        ("roots", False, [], 1),
        ("paths", False, [], 1),
    ],
)
def test_of_passes_over_the_whole_machine_one_runs_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, alone: bool, waits: list[float], passes: int
) -> None:
    waited: list[float] = []
    derived: list[FileSet] = []

    @contextmanager
    def only_pass(wait: float) -> Iterator[bool]:
        waited.append(wait)
        yield alone

    monkeypatch.setattr(whole_pass, "only_pass", only_pass)
    monkeypatch.setattr(whole_pass, "derive_all", derived.append)
    monkeypatch.setattr(whole_pass, "derive_rows", lambda _: None)
    whole_pass.make_pass(iter([PassJob(**({named: [str(tmp_path)]} if named else {}))]))
    assert (waited, len(derived)) == (waits, passes)


def test_the_job_says_which_sessions_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    roots = [tmp_path / name for name in ("own", "one", "two")]
    paths = [str(write(root, user("needle"), name=f"{SESSION[:-1]}{n}")) for n, root in enumerate(roots)]
    prompt = {"display": "hello", "timestamp": 1, "project": "/w", "sessionId": SESSION.replace("5e55", "90ae")}
    (roots[1] / "history.jsonl").write_text(json.dumps(prompt) + "\n")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(roots[0]))
    derived: list[FileSet] = []
    rows: list[list[str]] = []
    monkeypatch.setattr(whole_pass, "derive_all", derived.append)
    monkeypatch.setattr(whole_pass, "derive_rows", rows.append)

    def main(**job: list[str]) -> list[str]:
        whole_pass.make_pass(iter([PassJob(**job)]))
        return sorted(path for path in derived[-1].states if path in paths)

    assert main() == paths[:1] and rows == [[]]
    assert main(roots=[str(root) for root in roots[1:]]) == sorted(paths[1:])
    assert len(derived[-1].states) == 3, "of one session, only its prompts are left"
    assert rows[1:] == [[str(root) for root in roots[1:]]]
    assert main(paths=paths[2:]) == paths[2:] and len(derived[-1].states) == 1
    assert len(rows) == 2, "rows are those of whole folders"
