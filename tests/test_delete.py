"""Deleting a session: all of it goes, nothing else does, and until it is for good everything can come back."""

import errno
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command import cli, offered
from killing import killed
from session_home import ID, Machine, line, write

import reread
from reread.accounting.digest import UsageCache
from reread.archive.archive import Archive
from reread.catalog import headers
from reread.catalog.annotations import Annotations
from reread.catalog.resolve import resolve_session
from reread.dataset.local_tables import own_tables
from reread.dataset.manifest import newest_manifest
from reread.dataset.update import TableUpdate
from reread.disk import cache as cache_module
from reread.disk import joins, layout
from reread.disk.cache import FileState, cache_folder
from reread.disk.file_set import find_files
from reread.disk.machine import machine_id
from reread.errors import Ambiguous, Misuse, NotFound, Unwritable
from reread.facts.store import FactStore
from reread.handover import deletion, prompt_lines, trash
from reread.session import loader, saved_fold
from reread.session.pass_process import PassJob, start_pass
from reread.session.session_pass import SessionPass
from reread.storage.atomic import NewFile

OTHER = "0ther017-0000-4000-8000-000000000002".replace("0ther", "07be2")
WORD = "quixotically"
"""What only the session says."""


def prompt(session: str, words: str, time: int, **more: object) -> bytes:
    value = {"display": words, "pastedContents": {}, "timestamp": time, "project": "/p", "sessionId": session}
    return json.dumps(value | more).encode() + b"\n"


HISTORY = [
    prompt(OTHER, "first", 1),
    prompt(ID, f"say {WORD}", 2, pastedContents={"1": {"id": 1, "type": "text", "contentHash": "abc"}}),
    b"not json\n",
    prompt(ID, f"again {WORD}", 3),
    prompt(OTHER, f"about {ID}", 4),
]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """A home with a session that says a word everywhere, and another that does not."""
    machine = Machine(tmp_path / "home", monkeypatch)
    write(machine.config)
    config = machine.config
    more = {
        f"debug/{ID}.txt": b"log",
        f"session-env/{ID}/env.sh": b"export A=1",
        "paste-cache/abc.txt": b"pasted",
        "projects/-first/sessions-index.json": json.dumps(
            {"version": 1, "entries": [{"sessionId": ID, "firstPrompt": WORD}, {"sessionId": OTHER}]}
        ).encode(),
        "sessions/1073741823.json": json.dumps({"pid": 1 << 30, "sessionId": ID}).encode(),
        "history.jsonl": b"".join(HISTORY),
        f"projects/-first/{OTHER}.jsonl": line(1, sessionId=OTHER, slug="another-one"),
        f"file-history/{OTHER}/abc@v1": b"other",
        "shell-snapshots/snapshot-bash-1.sh": b"x",
    }
    for name, data in more.items():
        path = config / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    for path in config.rglob("*"):
        if path.is_file() and (ID in str(path.relative_to(config)) or "blue-fox" in path.name or "b2" in path.name):
            path.write_bytes(path.read_bytes() + line(9, message={"role": "user", "content": f"{WORD} {path.name}"}))
    (config / "paste-cache" / "abc.txt").write_text(WORD)
    (config / "debug" / "latest").symlink_to(config / "debug" / f"{ID}.txt")
    settle(config)
    yield machine


def settle(config: Path) -> None:
    for number, path in enumerate(sorted(config.rglob("*"))):
        if path.is_file() and not path.is_symlink():
            os.utime(path, ns=(1_700_000_000_123_456_789 + number,) * 2)
            path.chmod(0o600 if number % 2 else 0o640)


def state(folder: Path) -> dict[str, tuple[bytes, int, int] | str]:
    """Return every file and link below a folder: its bytes, mode and time of modification."""
    return {
        str(path.relative_to(folder)): str(path.readlink())
        if path.is_symlink()
        else (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def others(before: dict[str, tuple[bytes, int, int] | str]) -> dict[str, tuple[bytes, int, int] | str]:
    """Return what is not the session's own, and stays as it is."""
    mine = (ID, "blue-fox", "agent-b2", "paste-cache", "history.jsonl", "sessions-index", "sessions/", "debug/latest")
    return {name: data for name, data in before.items() if not any(part in name for part in mine)}


def saying(folder: Path, word: str = WORD) -> list[str]:
    """Return the files below a folder that have a word in any of its forms, or a part of it long enough to tell."""
    forms = [word.encode(), word.encode("utf-16-le"), word[:9].encode()]
    return [
        str(path) for path in folder.rglob("*") if path.is_file() and any(form in path.read_bytes() for form in forms)
    ]


def use_everything() -> None:
    """Fill every cache with what reread derives from sessions."""
    for words in (
        ["search", WORD],
        ["ls"],
        ["usage"],
        ["stats"],
        ["show", ID],
        ["ls", "--only", "prompts"],
        ["check", ID],
    ):
        cli(*words)


def test_no_byte_of_it_is_left_and_others_stay_as_they_are(machine: Machine) -> None:
    before = state(machine.config)
    reread.keep()
    use_everything()
    Annotations().change(ID, note=WORD)
    (done,) = reread.delete(ID, kept=True, now=True)
    assert saying(machine.folder) == []
    after = state(machine.config)
    assert others(after) == others(before)
    assert {*after} - {*others(before)} == {"history.jsonl", "projects/-first/sessions-index.json"}
    assert (machine.config / "history.jsonl").read_bytes() == b"".join(
        one for one in HISTORY if WORD.encode() not in one
    )
    assert len(done.lines) == 2 and not done.trash and not trash.trash()
    assert cli("search", WORD).exit_code == 1
    with pytest.raises(NotFound):
        cli("show", ID)


def delete_before(monkeypatch: pytest.MonkeyPatch, where: object, name: str) -> None:
    """Delete the session for good just before a function is called for the first time, as another process would."""
    call = getattr(where, name)

    def late(*arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(where, name, call)
        reread.delete(ID, kept=True, now=True)
        return call(*arguments, **options)

    monkeypatch.setattr(where, name, late)


def usage_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    delete_before(monkeypatch, FactStore, "writing")
    reread.usage()


def list_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = headers.read_headers(find_files(None).states)
    seen = [next(listed) for _ in range(2)]
    reread.delete(ID, now=True)
    assert ID in {header.id for header in seen} and list(listed) == []


def pass_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    with SessionPass() as sessions:
        for path in find_files(None).states:
            sessions.fill(path)
        reread.delete(ID, now=True)


def tables_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletion, "TABLES", "elsewhere")  # what is written while a folder is removed stays in it
    delete_before(monkeypatch, TableUpdate, "_write_usage")
    with own_tables(text=True) as place:
        assert newest_manifest(place, machine_id())


def fold_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "SMALLEST", 1)
    delete_before(monkeypatch, saved_fold, "write_atomic")
    with SessionPass() as sessions:
        sessions.fill(resolve_session(ID))


def join_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    reread.keep()
    path = resolve_session(ID)
    path.write_bytes(path.read_bytes().partition(b"\n")[2])  # the archive has a line that it has not
    settle(layout.config_folders()[0])
    monkeypatch.setattr(joins, "is_settled", lambda changed: True)
    delete_before(monkeypatch, joins, "write_atomic")
    FileState.at(path)


@pytest.mark.parametrize(
    "derive",
    [usage_meanwhile, list_meanwhile, pass_meanwhile, tables_meanwhile, fold_meanwhile, join_meanwhile],
)
def test_what_another_process_has_read_before_is_not_stored_after(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, derive: Callable[[pytest.MonkeyPatch], None]
) -> None:
    derive(monkeypatch)
    assert [*saying(machine.folder), *saying(cache_folder(), ID)] == []
    with pytest.raises(NotFound):
        reread.open(ID)
    with closing(UsageCache()) as values:
        assert values.known_paths() or derive in (tables_meanwhile, fold_meanwhile, join_meanwhile), (
            "what is there is stored"
        )


def test_a_pass_that_runs_leaves_nothing_of_what_is_deleted_meanwhile(machine: Machine) -> None:
    source = (machine.config / "projects" / "-first" / f"{OTHER}.jsonl").read_bytes()
    for number in range(300):
        other = OTHER[:-4] + f"{number:04}"
        (machine.config / "projects" / "-first" / f"{other}.jsonl").write_bytes(
            source.replace(OTHER.encode(), other.encode())
        )
    worker = start_pass(PassJob())
    while not (cache_folder() / "cache.sqlite").exists():
        time.sleep(0.01)
    reread.delete(ID, now=True)
    worker.wait(300)
    assert [*saying(machine.folder), *saying(cache_folder(), ID)] == []


def test_a_cache_that_another_process_keeps_locked_is_said(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    use_everything()
    monkeypatch.setattr(cache_module, "BUSY_SECONDS", 0.1)
    with closing(sqlite3.connect(cache_folder() / cache_module.NAME, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unwritable, match="another process is writing"):
            reread.delete(ID, now=True)
    reread.delete(ID, now=True)
    assert saying(cache_folder(), ID) == []


@pytest.mark.parametrize("kept", [False, True])
def test_everything_comes_back_with_its_times_modes_and_lines(machine: Machine, kept: bool) -> None:
    reread.keep()
    before, archived = state(machine.config), state(machine.folder / "reread" / "archive" / "projects")
    (planned,) = reread.delete(ID, kept=kept, dry_run=True)
    assert state(machine.config) == before
    (done,) = reread.delete("5e55", kept=kept)
    assert (planned.files, planned.lines, planned.kept) == (done.files, done.lines, not kept)
    assert [(one.session, one.size) for one in reread.trash()] == [(ID, done.size)] and planned.size == done.size
    assert saying(machine.config) == [] and bool(saying(machine.folder / "reread" / "trash"))
    (back,) = reread.undo_delete()
    assert back.session == ID and state(machine.config) == before and reread.trash() == []
    assert state(machine.folder / "reread" / "archive" / "projects") == archived
    assert reread.keep().count("failed") == 0
    with pytest.raises(NotFound, match="trash is empty"):
        reread.undo_delete()


@pytest.mark.parametrize(("answer", "code"), [("n\n", 1), ("\n", 1), ("y\n", 0)])
def test_a_person_is_asked_and_no_deletes_nothing(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, answer: str, code: int
) -> None:
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True)
    asked = cli("delete", ID, input=answer)
    assert (asked.exit_code, "Nothing was deleted." in asked.stderr) == (code, bool(code))
    assert [one.session for one in reread.trash()] == ([] if code else [ID])
    assert offered("reread", "delete", "--undo", "") == ([] if code else [f"plain,{ID}"])


def test_notes_about_it_stay_until_nothing_is_left_of_it(machine: Machine) -> None:
    notes = Annotations()
    for act in (lambda: reread.delete(ID, now=True), lambda: reread.delete(ID, kept=True)):
        notes.change(ID, starred=True, note=f"about {WORD}")
        notes.change(OTHER, note="about another")
        reread.keep()
        act()
        assert notes.of(ID).note == f"about {WORD}"
        write(machine.config)
    shutil.rmtree(machine.config / "projects")
    reread.delete(ID, now=True)
    assert ID not in notes.all() and notes.of(OTHER).note == "about another" and saying(machine.folder) == []


def test_it_can_be_deleted_for_good_from_the_trash(machine: Machine) -> None:
    reread.delete(ID)
    reread.delete(ID, now=True)
    assert saying(machine.folder) == [] and reread.trash() == []
    with pytest.raises(NotFound):
        reread.delete(ID)


def test_undone_in_another_order_lines_go_where_their_time_is(machine: Machine) -> None:
    reread.delete(ID)
    reread.delete(OTHER)
    history = machine.config / "history.jsonl"
    history.write_bytes(history.read_bytes() + prompt("new", "later", 9))
    reread.undo_delete("5e55")
    reread.undo_delete(OTHER[:4])
    now = history.read_bytes().splitlines(keepends=True)
    assert sorted(now) == sorted([*HISTORY, prompt("new", "later", 9)])
    assert [json.loads(one)["timestamp"] for one in now if one != b"not json\n"] == [1, 2, 3, 4, 9]


def test_what_was_deleted_last_is_restored_unless_named(machine: Machine) -> None:
    reread.delete(ID)
    reread.delete(OTHER)
    for session in (OTHER, ID):
        assert [one.session for one in reread.undo_delete()] == [session]


def test_a_list_without_the_session_stays_in_the_trash_when_a_deletion_is_given_up(machine: Machine) -> None:
    reread.delete(ID)
    (entry,) = trash.entries()
    lists = [file for file in entry.files if file.edited]
    said = trash.give_up(msgspec.structs.replace(entry, files=lists, lines=[]), lambda _: None)
    assert lists and "is in the trash" in said and reread.trash()


def test_what_is_there_again_is_not_replaced(machine: Machine) -> None:
    reread.delete(ID)
    path = machine.config / "projects" / "-first" / f"{ID}.jsonl"
    path.write_bytes(b"another\n")
    with pytest.raises(Misuse, match="is there again"):
        reread.undo_delete()
    assert path.read_bytes() == b"another\n" and len(reread.trash()) == 1


def test_a_running_session_is_refused(machine: Machine) -> None:
    before = state(machine.config)
    transcript = machine.config / "projects" / "-first" / f"{ID}.jsonl"
    os.utime(transcript)
    with pytest.raises(Misuse, match="ago; end it"):
        reread.delete(ID)
    settle(machine.config)
    entry = machine.config / "sessions" / f"{os.getpid()}.json"
    entry.write_text(json.dumps({"pid": os.getpid(), "sessionId": ID}))
    with pytest.raises(Misuse, match=f"as process {os.getpid()}"):
        reread.delete(ID, now=True)
    entry.unlink()
    settle(machine.config)
    assert state(machine.config) == before


def test_a_plan_that_a_fork_shares_stays(machine: Machine) -> None:
    (machine.config / "projects" / "-first" / f"{OTHER}.jsonl").write_bytes(line(1, sessionId=OTHER))
    settle(machine.config)
    reread.delete(ID)
    assert (machine.config / "plans" / "old-blue-fox.md").exists()


def test_only_kept_copies_need_to_be_named(machine: Machine) -> None:
    reread.keep()
    reread.delete(ID, now=True)
    with pytest.raises(Misuse, match="--kept"):
        reread.delete(ID)
    reread.delete(ID, kept=True, now=True)
    assert saying(machine.folder) == []


APPENDING = """
import os, sys, time
path, count = sys.argv[1], 0
while not os.path.exists(sys.argv[2]):
    lock = path + ".lock"
    try:
        os.mkdir(lock)
    except FileExistsError:
        time.sleep(0.001)
        continue
    out = os.open(path, os.O_WRONLY | os.O_APPEND)
    os.write(out, b'{"display": "line %d", "timestamp": 9, "sessionId": "x"}\\n' % count)
    os.close(out)
    os.rmdir(lock)
    count += 1
print(count)
"""


def test_no_line_is_lost_that_the_client_appends_meanwhile(machine: Machine, tmp_path: Path) -> None:
    history, stop = machine.config / "history.jsonl", tmp_path / "stop"
    client = subprocess.Popen([sys.executable, "-c", APPENDING, str(history), str(stop)], stdout=subprocess.PIPE)
    for _ in range(6):
        size = history.stat().st_size
        deadline = time.monotonic() + 60
        while history.stat().st_size == size and time.monotonic() < deadline:
            time.sleep(0.001)
        reread.delete(ID)
        reread.undo_delete()
    stop.touch()
    out, _ = client.communicate(timeout=60)
    lines = history.read_bytes().splitlines(keepends=True)
    written = [json.loads(one)["display"] for one in lines if b'"sessionId": "x"' in one]
    assert written == [f"line {number}" for number in range(int(out))]
    assert [one for one in lines if b'"sessionId": "x"' not in one] == HISTORY


def test_the_lock_of_a_killed_client_is_taken_over_and_one_that_is_held_is_not(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, history = machine.config / "history.jsonl.lock", machine.config / "history.jsonl"
    monkeypatch.setattr(prompt_lines, "WAIT_SECONDS", 0.05)
    lock.mkdir()
    with pytest.raises(Unwritable, match="holds the lock"):
        reread.delete(ID)
    assert history.read_bytes() == b"".join(HISTORY) and lock.is_dir()
    old = time.time() - prompt_lines.STALE_SECONDS - 1
    os.utime(lock, (old, old))
    monkeypatch.setattr(prompt_lines, "WAIT_SECONDS", 0.0)
    reread.delete(ID)  # finishes what was begun
    assert WORD.encode() not in history.read_bytes() and not lock.exists()
    assert [one.session for one in reread.undo_delete()] == [ID]
    assert history.read_bytes() == b"".join(HISTORY)


REMOVING = """
import sys
from pathlib import Path
from reread.handover import prompt_lines

def asleep(path, target):
    print("about to replace", flush=True)
    sys.stdin.readline()
    return replace(path, target)

replace, history, session, sleeps = Path.replace, Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
if sleeps:
    Path.replace = asleep
prompt_lines.remove_lines(prompt_lines.find_lines(history, session)[0], session)
"""


def test_a_process_that_slept_and_lost_the_lock_undoes_nothing(tmp_path: Path) -> None:
    history = tmp_path / "history.jsonl"
    history.write_bytes(b"".join(HISTORY))
    start = [sys.executable, "-c", REMOVING, str(history)]
    slow = subprocess.Popen([*start, ID, "sleeps"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert slow.stdout is not None and slow.stdout.readline() == "about to replace\n"
    old = time.time() - prompt_lines.STALE_SECONDS - 1
    os.utime(f"{history}.lock", (old, old))
    other = subprocess.Popen([*start, OTHER])
    with suppress(subprocess.TimeoutExpired):  # it waits for the one that sleeps
        other.wait(2)
    slow.communicate("\n", timeout=60)
    assert (slow.returncode, other.wait(60)) == (0, 0)
    assert history.read_bytes() == b"not json\n" and list(tmp_path.iterdir()) == [history]


def test_a_lock_that_another_process_took_over_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history, held, rename = tmp_path / "history.jsonl", tmp_path / "history.jsonl.lock", Path.rename
    held.mkdir()
    os.utime(held, (0, 0))

    def after_another(path: Path, target: Path) -> Path:
        if path == held:
            os.utime(held)
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", after_another)
    monkeypatch.setattr(prompt_lines, "WAIT_SECONDS", 0.05)
    with pytest.raises(OSError, match="holds the lock"):
        prompt_lines.rewrite(history, lambda _: None)
    assert list(tmp_path.iterdir()) == [held]


def test_a_line_without_the_lock_is_carried_over(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    history, replace = machine.config / "history.jsonl", Path.replace
    late = [prompt("x", "before it is replaced", 5), prompt("x", "while it is", 6)]

    def write_late(path: Path, target: Path) -> Path:
        if target == history and len(late) == 1:
            with history.open("ab") as file:
                file.write(late.pop())
        return replace(path, target)

    def lines(new: NewFile, data: bytes) -> None:
        if len(late) == 2 and new.path.parent == history.parent:
            with history.open("ab") as file:
                file.write(late.pop(0))
        write(new, data)

    write = NewFile.write
    monkeypatch.setattr(NewFile, "write", lines)
    monkeypatch.setattr(Path, "replace", write_late)
    reread.delete(ID)
    assert [json.loads(one)["display"] for one in history.read_bytes().splitlines()[3:]] == [
        "before it is replaced",
        "while it is",
    ]


@pytest.mark.parametrize("is_running", [False, True])
def test_what_is_written_while_it_is_deleted_stays(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, is_running: bool
) -> None:
    history, carry_out, todos = machine.config / "history.jsonl", trash.carry_out, machine.config / "todos"
    transcript = next((machine.config / "projects").glob(f"*/{ID}.jsonl"))
    other, late = next(todos.glob(f"{ID}*")), prompt(ID, "one more", 7)
    written = [history, transcript] if is_running else [history, other]
    now = [path.read_bytes() + late for path in written]

    def write_late(entry: Any, finish: Any) -> Any:
        for path in written:
            with path.open("ab") as file:
                file.write(late)
        return carry_out(entry, finish)

    before = state(machine.config)
    said = "nothing was deleted" if is_running else f"{other.name} was written to meanwhile, and stays"
    with monkeypatch.context() as patched, pytest.raises(Misuse, match=said):
        patched.setattr(trash, "carry_out", write_late)
        reread.delete(ID)
    after = state(machine.config)
    if is_running:  # nothing else was touched
        assert [path.read_bytes() for path in written] == now and reread.trash() == []
        assert {name for name in before if before[name] != after.get(name)} == {
            str(path.relative_to(machine.config)) for path in written
        }
    else:
        assert other.read_bytes() == now[1] and not transcript.exists()
        lines = history.read_bytes().splitlines(keepends=True)
        assert [one for one in lines if f'"sessionId": "{ID}"'.encode() in one] == [late]
        assert [one.session for one in reread.trash()] == [ID]


LATE = """
import os, sys
path, text = sys.argv[1:]
os.makedirs(os.path.dirname(path), exist_ok=True)
with open(path, "w") as file:
    file.write(text)
os.utime(path, (1.7e9, 1.7e9))
"""


@pytest.mark.parametrize(
    ("name", "is_left"),
    [
        (f"projects/-first/{ID}/tool-results/late.txt", False),
        (f"todos/{ID}-agent-late.json", False),
        (f"debug/{ID}-late.txt", True),
        (f"projects/-moved/{ID}/tool-results/late.txt", True),
        ("projects/-first/agent-late.jsonl", True),
        (f"projects/-moved/{ID}.jsonl", True),
    ],
)
def test_what_another_process_writes_while_sessions_before_it_are_deleted_is_gone_or_named(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, name: str, is_left: bool
) -> None:
    """The folders are listed once for all sessions, before the first is deleted."""
    carry_out, path = trash.carry_out, machine.config / name
    text = json.dumps({"type": "user", "sessionId": ID, "agentId": "late", "isSidechain": True})

    def write_late(entry: Any, finish: Any) -> None:
        carry_out(entry, finish)
        if entry.session == OTHER:
            subprocess.run([sys.executable, "-c", LATE, str(path), text + "\n"], check=True)

    monkeypatch.setattr(trash, "carry_out", write_late)
    if is_left:
        with pytest.raises(Misuse) as refused:
            reread.delete(OTHER, ID)
        assert str(path) in str(refused.value) and path.read_text() == text + "\n"
    else:
        assert len(reread.delete(OTHER, ID)) == 2 and not path.exists()
        assert str(path) in {file.path for file in trash.trash()[0].files}


def carried_out(verb: str) -> None:
    if verb == "undo":
        reread.undo_delete()
    else:
        reread.delete(ID, now=verb == "now")


@pytest.mark.parametrize("verb", ["delete", "now", "undo"])
def test_killed_at_any_step_it_is_there_or_gone_and_the_next_one_finishes(machine: Machine, verb: str) -> None:
    before, backup = state(machine.config), machine.folder.parent / "backup"
    shutil.copytree(machine.config, backup, symlinks=True)
    for step in range(0, 400, 5):
        if verb == "undo":
            reread.delete(ID)
        was_killed = killed(lambda: carried_out(verb), step, machine.folder)
        if not was_killed:
            break
        now = clean(state(machine.config))
        assert others(now) == others(before)
        there = f"projects/-first/{ID}.jsonl" in now
        if verb == "undo":
            if reread.trash():
                reread.undo_delete()
            assert clean(state(machine.config)) == before, step
        elif verb == "delete":
            if not there:
                reread.undo_delete()
            else:  # nothing was removed, or the next deletion finishes it
                reread.delete(ID)
                reread.undo_delete()
            assert clean(state(machine.config)) == before, step
        elif there:
            assert now == before
            reread.delete(ID, now=True)
            shutil.rmtree(machine.config)
            shutil.copytree(backup, machine.config, symlinks=True)
        else:
            with suppress(NotFound):  # everything was gone already
                reread.delete(ID, now=True)
            assert saying(machine.folder) == [], step
            shutil.rmtree(machine.config)
            shutil.copytree(backup, machine.config, symlinks=True)
    assert not was_killed and step > 5


def kill(machine: Machine, verb: str, place: Path | str) -> None:
    """Run a deletion or an undo of it, and kill it when it comes to a file."""
    assert killed(lambda: carried_out(verb), 0, place)


def goes_on(machine: Machine, how: str) -> None:
    transcript = machine.config / "projects" / "-first" / f"{ID}.jsonl"
    if how == "appends":
        with transcript.open("ab") as file:
            file.write(line(5, message={"role": "user", "content": f"one more {WORD}"}))
        os.utime(transcript, (1, 1))
    elif how == "runs":
        entry = machine.config / "sessions" / f"{os.getpid()}.json"
        entry.write_text(json.dumps({"pid": os.getpid(), "sessionId": ID}))
    else:
        into = machine.folder / "elsewhere" if how == "is put elsewhere" else None
        if into is not None:
            into.mkdir()
        reread.resume(ID, into=into)
        for path in machine.config.rglob(f"{ID}.jsonl"):
            os.utime(path, (1, 1))


@pytest.mark.parametrize("how", ["appends", "runs", "is resumed", "is put elsewhere"])
@pytest.mark.parametrize("reached", ["projects/-first/{}.jsonl", "debug/{}.txt", "history.jsonl"])
@pytest.mark.parametrize("verb", ["delete", "now"])
def test_a_session_that_goes_on_after_a_kill_is_not_deleted_by_the_next_one(
    machine: Machine, verb: str, reached: str, how: str
) -> None:
    reread.keep()
    whole = state(machine.config)
    kill(machine, verb, machine.config / reached.format(ID))
    goes_on(machine, how)
    before, told = state(machine.config), list[str]()
    for _ in range(2):
        reread.delete(OTHER, on_error=lambda error: told.append(str(error)))
        reread.undo_delete(OTHER)
    assert clean(state(machine.config)) == clean(before)
    if how in ("appends", "runs"):
        assert len(told) == 1 and "was not finished" in told[0]
    if verb == "delete" and how == "runs":
        (machine.config / "sessions" / f"{os.getpid()}.json").unlink()
        if reread.trash():
            reread.undo_delete(ID)
        assert clean(state(machine.config)) == whole and reread.trash() == []


def test_a_resumed_session_stays_though_its_bytes_are_those_of_a_killed_deletion(machine: Machine) -> None:
    """Without the lock of a run of reread's own: as another program may put it back."""
    path = machine.config / "projects" / "-first" / f"{ID}.jsonl"
    data = path.read_bytes()
    kill(machine, "now", machine.config / "debug" / f"{ID}.txt")
    path.write_bytes(data)
    os.utime(path, (1, 1))
    reread.delete(OTHER)
    assert path.exists() and (machine.config / "debug" / f"{ID}.txt").exists()
    assert WORD.encode() in (machine.config / "history.jsonl").read_bytes()


@pytest.mark.parametrize("grown", [True, False])
def test_an_undo_that_was_killed_is_in_nobodys_way(machine: Machine, grown: bool) -> None:
    whole = state(machine.config)
    reread.delete(ID)
    kill(machine, "undo", machine.config / "history.jsonl")
    path = machine.config / "projects" / "-first" / f"{ID}.jsonl"
    path.write_bytes((path.read_bytes() if grown else b"") + line(9))
    os.utime(path, (1, 1))
    now, told = path.read_bytes(), list[str]()
    reread.delete(OTHER, on_error=lambda error: told.append(str(error)))
    reread.undo_delete(OTHER)
    assert path.read_bytes() == now
    if grown:
        after = clean(state(machine.config))
        assert {name for name in whole if whole[name] != after.get(name)} == {f"projects/-first/{ID}.jsonl"}
        assert told == [] and reread.trash() == []
    else:
        assert "is there again" in told[0] and len(told) == 1
        with pytest.raises(Misuse, match="is there again"):
            reread.undo_delete(ID)
        path.unlink()
        reread.undo_delete(ID)
        assert clean(state(machine.config)) == whole


def test_a_list_of_sessions_is_never_missing_while_a_deletion_is_undone(machine: Machine) -> None:
    index = machine.config / "projects" / "-first" / "sessions-index.json"
    for step in range(9):
        reread.delete(ID)
        was_killed = killed(reread.undo_delete, step, index)
        assert len(json.loads(index.read_bytes())["entries"]) in (1, 2)
        if not was_killed:
            break
        reread.undo_delete()
    assert not was_killed and step > 0


TWIN = f"{ID[:-1]}2"
"""Begins as the session does."""


def test_the_beginning_of_two_ids_in_the_trash_is_refused(machine: Machine) -> None:
    path = machine.config / "projects" / "-first" / f"{TWIN}.jsonl"
    path.write_bytes(line(1, sessionId=TWIN, slug="x"))
    settle(machine.config)
    whole = state(machine.config)
    reread.delete(ID, TWIN)
    for act in (lambda: reread.undo_delete(ID[:8]), lambda: reread.delete(ID[:8], now=True)):
        with pytest.raises(Ambiguous, match=f"(?s){ID}.*{TWIN}|{TWIN}.*{ID}"):
            act()
    with pytest.raises(NotFound):
        reread.undo_delete(ID, "nothing")
    assert len(reread.trash()) == 2
    reread.undo_delete(ID, TWIN)
    assert state(machine.config) == whole


def test_one_that_is_running_keeps_all_from_being_deleted(machine: Machine) -> None:
    reread.keep()
    before = state(machine.config)
    entry = machine.config / "sessions" / f"{os.getpid()}.json"
    entry.write_text(json.dumps({"pid": os.getpid(), "sessionId": ID}))
    kept = next((machine.folder / "reread" / "archive").rglob(f"{ID}.jsonl.zst"))
    for names in ([OTHER, ID], [kept], [OTHER, "nothing"]):
        with pytest.raises((Misuse, NotFound)):
            reread.delete(*names, kept=True)
    entry.unlink()
    assert state(machine.config) == before and reread.trash() == []


def test_a_conversation_that_is_being_captured_is_refused(machine: Machine) -> None:
    store = reread.Store()
    with store.writer("talk") as writer:
        writer.append(json.dumps({"type": "system", "subtype": "init", "session_id": ID}).encode())
        os.utime(writer.path, (1, 1))
        for name in ("talk", ID):
            with pytest.raises(Misuse, match="is being captured"):
                reread.delete(name, kept=True)
        assert writer.path.exists()
    os.utime(writer.path, (1, 1))
    (done,) = reread.delete(ID, "talk", kept=True)
    assert str(writer.path) in done.files and not writer.path.exists()


def test_a_conversation_goes_with_each_session_that_it_ran(machine: Machine) -> None:
    """Also with one between two others, and one that the client ended before it said its id."""
    store = reread.Store()
    silent, several, other = (f"talk-{number}" for number in range(3))
    for name, ids in ((silent, []), (several, ["one", ID, "three"]), (other, ["one"])):
        with store.writer(name) as writer:
            if not ids:
                writer.start_run(["claude", "--resume", ID, "-p", f"say {WORD}"])
                writer.end_run(1)
            for id in ids:
                writer.append(
                    json.dumps({"type": "result", "session_id": id, "result": ID if id == ID else ""}).encode()
                )
        os.utime(writer.path, (1, 1))
    (done,) = reread.delete(ID, kept=True)
    left = {name: str(store.path_of(name)) not in done.files for name in (silent, several, other)}
    assert left == {silent: False, several: False, other: True}
    assert store.path_of(other).exists() and not store.path_of(silent).exists()


def test_a_plan_that_only_they_share_goes_with_both(machine: Machine) -> None:
    (machine.config / "projects" / "-first" / f"{OTHER}.jsonl").write_bytes(line(1, sessionId=OTHER))
    settle(machine.config)
    whole = state(machine.config)
    reread.delete(ID, OTHER, ID)
    assert not (machine.config / "plans" / "old-blue-fox.md").exists() and len(reread.trash()) == 2
    reread.undo_delete()
    assert state(machine.config) == whole


def test_another_session_of_the_same_name_stays(machine: Machine) -> None:
    projects = machine.config / "projects"
    for name in ("-first", "-second"):
        (projects / name).mkdir(exist_ok=True)
        (projects / name / "notes.jsonl").write_bytes(line(1, sessionId="x"))
    settle(machine.config)
    reread.delete(projects / "-first" / "notes.jsonl", now=True)
    assert [path.parent.name for path in projects.glob("*/notes.jsonl")] == ["-second"]


def test_sessions_of_one_name_are_told_apart_in_the_trash(machine: Machine) -> None:
    one, two = (machine.config / "projects" / name / "main.jsonl" for name in ("-first", "-second"))
    for number, path in enumerate((one, two)):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(line(number, sessionId="main"))
    settle(machine.config)
    whole = state(machine.config)
    reread.delete(two)
    (planned,) = reread.delete(one, now=True, dry_run=True)
    reread.delete(one, now=True)
    assert planned.files == (str(one),) and [entry.transcript for entry in reread.trash()] == [str(two)]
    reread.undo_delete()
    one.write_bytes(line(0, sessionId="main"))
    settle(machine.config)
    assert len(reread.delete(one, two)) == 2 and not one.exists() and not two.exists()
    with pytest.raises(Ambiguous, match=f"(?s){one}.*{two}|{two}.*{one}"):
        reread.undo_delete("main")
    reread.undo_delete(str(one), str(two))
    assert state(machine.config) == whole


def test_the_kept_copy_of_another_session_of_the_same_name_stays(machine: Machine) -> None:
    one, two = (machine.config / "projects" / name / "main.jsonl" for name in ("-first", "-second"))
    for path in (one, two):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(line(1, sessionId="main"))
        settle(machine.config)
        if path == one:
            reread.keep()
    reread.delete(two, kept=True, now=True)
    assert list((machine.folder / "reread" / "archive").rglob("main.jsonl.zst"))


def test_a_deletion_for_good_that_cannot_be_finished_is_not_forgotten(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"s3://{machine.folder.name}/x"
    entry = trash.TrashEntry(TWIN, "", "", datetime.now(UTC), [], for_good=True, pieces={url: ["one"]}, archives=[url])
    for name, value in (("ENDPOINT_URL", "http://127.0.0.1:9"), ("ACCESS_KEY_ID", "a"), ("SECRET_ACCESS_KEY", "b")):
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    folder = trash.stage(entry, [], {}).folder
    for _ in range(2):
        with pytest.raises(Unwritable, match="not deleted whole yet"):
            reread.delete(TWIN, now=True)
        trash.empty(entry.key)
        assert [one.folder for one in trash.entries()] == [folder]


@pytest.mark.parametrize("kept", [False, True])
def test_what_is_kept_while_it_is_deleted_is_named(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    carry_out = trash.carry_out
    Annotations().change(ID, note="mine")

    def keep_first(entry: Any, finish: Any) -> None:
        reread.keep()
        carry_out(entry, finish)

    monkeypatch.setattr(trash, "carry_out", keep_first)
    if kept:
        with pytest.raises(Misuse, match=r"\.zst was written to meanwhile, and stays"):
            reread.delete(ID, kept=True, now=True)
    else:
        assert reread.delete(ID, now=True)[0].kept
    assert Annotations().of(ID).note == "mine"


def test_the_trash_is_emptied_though_a_copy_is_kept(machine: Machine) -> None:
    reread.keep()
    Annotations().change(ID, note="mine")
    reread.delete(ID)
    (done,) = reread.delete(ID, now=True)
    assert done.kept and done.size and done.files and reread.trash() == [] and Annotations().of(ID).note == "mine"
    with pytest.raises(Misuse, match="--kept"):
        reread.delete(ID, now=True)


def test_an_undo_that_was_killed_is_finished_with_all_that_were_deleted_at_once(machine: Machine) -> None:
    whole = state(machine.config)
    reread.delete(ID, OTHER)
    kill(machine, "undo", machine.config / "projects")
    assert {one.session for one in reread.undo_delete()} == {ID, OTHER}
    assert clean(state(machine.config)) == whole


def test_the_list_of_sessions_gets_its_entries_back_in_any_order(machine: Machine) -> None:
    index = machine.config / "projects" / "-first" / "sessions-index.json"
    listed = json.loads(index.read_bytes())
    reread.delete(ID)
    reread.delete(OTHER)
    reread.undo_delete(ID)
    reread.undo_delete(OTHER)
    assert json.loads(index.read_bytes()) == listed
    reread.delete(ID)
    index.write_bytes(b"[]")
    with pytest.raises(Misuse, match="is no list of sessions; nothing was restored"):
        reread.undo_delete()
    index.unlink()
    reread.undo_delete()
    assert json.loads(index.read_bytes()) == listed


def test_a_last_line_without_an_end_is_not_joined_with_the_next(machine: Machine) -> None:
    history = machine.config / "history.jsonl"
    own, new = prompt(ID, "the end", 5), prompt("x", "appended", 6)
    for others in (HISTORY, HISTORY[:1]):  # the others are as they were, or were changed, too
        history.write_bytes(b"".join(HISTORY) + own[:-1])
        reread.delete(ID)
        history.write_bytes((history.read_bytes() if others == HISTORY else others[0]) + new)
        reread.undo_delete()
        now = history.read_bytes().splitlines(keepends=True)
        assert now[-2:] == [own, new] and {*others} <= {*now}


@pytest.mark.parametrize("name", ["projects/-first/{}.jsonl", "tasks/{}/1.json"])
def test_a_line_written_just_before_a_file_is_removed_is_not_lost(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path, unlink = machine.config / name.format(ID), Path.unlink
    data = path.read_bytes()

    def write_late(one: Path, missing_ok: bool = False) -> None:
        if one == path:
            with path.open("ab") as file:
                file.write(b"late\n")
        unlink(one, missing_ok)

    with monkeypatch.context() as patched, pytest.raises(Misuse, match="was written"):
        patched.setattr(Path, "unlink", write_late)
        reread.delete(ID, now=True)
    assert path.read_bytes() == data + b"late\n"


def test_folders_are_the_sessions_own_only_if_they_are_called_so(machine: Machine) -> None:
    path = machine.folder / "logs-main" / "main.jsonl"
    path.parent.mkdir()
    path.write_bytes(line(1, sessionId="main"))
    os.utime(path, (1, 1))
    reread.delete(path, now=True)
    assert path.parent.is_dir() and not path.exists()


def test_modes_of_folders_come_back_and_a_pipe_stays(machine: Machine) -> None:
    tasks, results = machine.config / "tasks" / ID, machine.config / "projects" / "-first" / ID / "tool-results"
    for folder in (tasks, results):
        folder.chmod(0o751)
    os.mkfifo(tasks / "pipe")
    reread.delete(ID)
    assert (tasks / "pipe").is_fifo() and not results.parent.exists()
    (tasks / "pipe").unlink()
    tasks.rmdir()
    reread.undo_delete()
    assert [folder.stat().st_mode & 0o777 for folder in (tasks, results)] == [0o751] * 2
    assert [one.name for one in tasks.iterdir()] == ["1.json"]


def test_resume_says_that_a_session_is_in_the_trash(machine: Machine) -> None:
    reread.delete(ID)
    with pytest.raises(NotFound, match=f"reread delete --undo {ID}"):
        reread.resume(ID[:6])


@pytest.mark.parametrize("name", ["history.jsonl", "projects/-first/sessions-index.json"])
def test_what_would_be_edited_behind_a_link_is_a_clear_error(machine: Machine, name: str) -> None:
    path, moved = machine.config / name, machine.folder / "dotfiles"
    data = path.read_bytes()
    path.rename(moved)
    path.symlink_to(moved)
    before = state(machine.config)
    with pytest.raises(Misuse, match="is a link, and names"):
        reread.delete(ID)
    assert state(machine.config) == before and moved.read_bytes() == data
    moved.write_bytes(HISTORY[0])
    reread.delete(ID)
    assert moved.read_bytes() == HISTORY[0]


def test_an_undo_waits_for_whoever_writes_into_the_archive(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    reread.keep()
    reread.delete(ID, kept=True)
    monkeypatch.setattr(Archive.locked, "__defaults__", (0.0,))
    with reread.Archive().locked(), pytest.raises(Unwritable, match="Another process is writing"):
        reread.undo_delete()
    reread.undo_delete()


def clean(found: dict[str, tuple[bytes, int, int] | str]) -> dict[str, tuple[bytes, int, int] | str]:
    return {name: data for name, data in found.items() if "/.reread-" not in f"/{name}"}


def test_two_at_once_delete_it_once(machine: Machine) -> None:
    before = state(machine.config)
    said = f"import reread\ntry:\n    reread.delete({ID!r})\nexcept reread.NotFound:\n    pass"
    both = [subprocess.Popen([sys.executable, "-c", said]) for _ in range(2)]
    assert [one.wait(timeout=120) for one in both] == [0, 0]
    assert len(reread.trash()) == 1
    reread.undo_delete()
    assert state(machine.config) == before


def test_a_full_disk_deletes_nothing(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    before = state(machine.config)

    def full(fd: int, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(trash, "write_all", full)
    with pytest.raises(Unwritable, match="No space left"):
        reread.delete(ID)
    assert state(machine.config) == before and reread.trash() == []


class TestCommand:
    """`reread delete`, and `ls --only trash`."""

    def test_it_names_every_file_and_line_and_asks(self, machine: Machine) -> None:
        before = state(machine.config)
        said = cli("delete", ID, "--dry-run").stdout
        for name in (f"projects/-first/{ID}.jsonl", f"debug/{ID}.txt", f"session-env/{ID}/env.sh", "history.jsonl:2"):
            assert str(machine.config / name) in said
        with pytest.raises(Misuse, match="use --yes"):
            cli("delete", ID)
        assert state(machine.config) == before

    def test_what_the_trash_has_is_named_too(self, machine: Machine) -> None:
        reread.delete(ID)
        entry = Path(reread.trash()[0].folder)
        for _ in range(2):  # in the trash alone, then also here
            said = cli("delete", ID, "--now", "--dry-run").stdout
            assert str(entry / "manifest.json") in said and str(entry / "0") in said
            write(machine.config)
        assert str(entry) not in cli("delete", ID, "--dry-run").stdout

    def test_a_file_that_the_options_do_not_choose_is_not_deleted(self, machine: Machine) -> None:
        second = machine.config / "projects" / "-second" / f"{ID}.jsonl"
        second.parent.mkdir()
        for path, cwd in ((second, "/x/two"), (second.parents[1] / "-first" / f"{ID}.jsonl", "/x/one")):
            path.write_bytes(line(1, cwd=cwd))
        settle(machine.config)
        before = state(machine.config)
        with pytest.raises(Misuse, match="is also at"):
            cli("delete", "--project", "/x/two", "--yes")
        assert state(machine.config) == before
        assert cli("delete", "--project", "/x", "--yes").exit_code == 0
        assert not list(machine.config.rglob(f"{ID}*")) and len(reread.trash()) == 1

    def test_options_leave_out_what_is_only_kept(self, machine: Machine) -> None:
        reread.keep()
        reread.delete(ID, now=True)
        for more in ("--dry-run", "--yes"):
            done = cli("delete", "--grep", "say 1", more)
            assert OTHER in done.stdout and ID not in done.stdout
            assert "Nothing but kept copies is left of 1 session; delete them with --kept" in done.stderr
        with pytest.raises(Misuse, match="Nothing but kept copies is left of 2 sessions"):
            cli("delete", "--grep", "say 1", "--yes")

    def test_sessions_are_chosen_as_in_ls(self, machine: Machine) -> None:
        assert cli("delete", "--grep", "say 1", "--yes").exit_code == 0
        assert [one.session for one in reread.trash()] and len({one.batch for one in reread.trash()}) == 1
        listed = json.loads(cli("ls", "--only", "trash", "--json").stdout)
        assert {one["session"] for one in listed} == {ID, OTHER}
        assert ID[:8] in cli("ls", "--only", "trash").stdout
        assert cli("delete", "--undo").exit_code == 0 and reread.trash() == []
        assert cli("delete", "--grep", "nothing", "--yes").exit_code == 1
        with pytest.raises(Misuse, match="No session to delete"):
            cli("delete")
        assert json.loads(cli("delete", ID, "--dry-run", "--json").stdout)[0]["session"] == ID


def test_a_manifest_that_cannot_be_read_is_no_empty_trash(machine: Machine) -> None:
    reread.delete(ID)
    (entry,) = reread.trash()
    Path(entry.folder, "manifest.json").write_bytes(b"{")
    with pytest.raises(reread.Unreadable, match="Cannot read"):
        reread.trash()
    with pytest.raises(reread.Unreadable, match="Cannot read"):
        reread.undo_delete()
    said = cli("ls", "--only", "trash")
    assert "Cannot read" in said.stderr and "the trash is empty" not in said.stderr
    told = list[str]()
    reread.delete(OTHER, on_error=lambda error: told.append(str(error)))  # in nobody's way
    assert "manifest.json" in told[0] and [one.session for one in reread.undo_delete()] == [OTHER]
    reread.delete(ID, now=True)
    assert saying(machine.folder) == [] and reread.trash() == []


def test_two_kept_sessions_of_one_name_are_in_nobodys_way(machine: Machine) -> None:
    paths = [machine.config / "projects" / name / "main.jsonl" for name in ("-first", "-second")]
    for number, path in enumerate(paths):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(line(number, sessionId="main", cwd=f"/x/{number}"))
    settle(machine.config)
    reread.keep()
    assert cli("delete", "--project", "/x/0", "--kept", "--now", "--yes").exit_code == 0
    kept = sorted((machine.folder / "reread" / "archive").rglob("main.jsonl.zst"))
    assert [path.parent.name for path in kept] == ["-second"] and not paths[0].exists() and paths[1].exists()


def test_a_project_that_is_called_after_a_session_is_not_its_own(machine: Machine) -> None:
    path = machine.config / "projects" / f"-tmp-{ID}-scratchpad" / f"{OTHER[:-1]}3.jsonl"
    path.parent.mkdir()
    path.write_bytes(line(1, sessionId=f"{OTHER[:-1]}3", slug="x"))
    settle(machine.config)
    reread.keep()
    reread.delete(ID, kept=True, now=True)
    assert path.exists() and list((machine.folder / "reread" / "archive").rglob(f"{path.name}.zst"))


def test_what_03_has_kept_of_an_export_goes_with_the_session_that_has_its_texts(machine: Machine) -> None:
    maps = machine.folder / "reread" / "share" / "maps"
    maps.mkdir(parents=True)
    (maps / "own.json").write_text(json.dumps({"[one]": WORD}))
    (maps / "other.json").write_text(json.dumps({"[one]": WORD, "[two]": "elsewhere"}))
    reread.delete(ID, now=True)
    assert [path.name for path in maps.iterdir()] == ["other.json"]


def test_what_the_sdk_stores_of_agents_goes_with_the_conversation(machine: Machine) -> None:
    store = reread.Store()
    store.append("talk", json.dumps({"type": "system", "subtype": "init", "session_id": ID}).encode())
    path = next(machine.folder.rglob("talk.jsonl"))
    below = path.with_suffix("") / "subagents" / "agent-a1.jsonl"
    below.parent.mkdir(parents=True)
    below.write_text(WORD)
    settle(machine.folder / "reread")
    reread.delete(ID, kept=True, now=True)
    assert saying(machine.folder) == []
