"""Deleting a session: all of it goes, nothing else does, and until it is for good everything can come back."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from effort import one_in
from session_home import ID, Machine, line, write

import reread
from reread.cli import reread as command
from reread.errors import Misuse, NotFound, Unwritable
from reread.handover import prompt_lines, trash

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


def cli(*words: str) -> Result:
    result = CliRunner().invoke(command, list(words))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def use_everything() -> None:
    """Fill every cache with what reread derives from sessions."""
    for words in (["search", WORD], ["ls"], ["usage"], ["stats"], ["show", ID], ["ls", "--prompts"], ["check", ID]):
        cli(*words)


def test_no_byte_of_it_is_left_and_others_stay_as_they_are(machine: Machine) -> None:
    before = state(machine.config)
    reread.keep()
    use_everything()
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


@pytest.mark.parametrize("kept", [False, True])
def test_everything_comes_back_with_its_times_modes_and_lines(machine: Machine, kept: bool) -> None:
    reread.keep()
    before, archived = state(machine.config), state(machine.folder / "reread" / "archive" / "projects")
    (planned,) = reread.delete(ID, kept=kept, dry_run=True)
    assert state(machine.config) == before
    (done,) = reread.delete("5e55", kept=kept)
    assert (planned.files, planned.lines, planned.kept) == (done.files, done.lines, not kept)
    assert [one.session for one in reread.trash()] == [ID]
    assert saying(machine.config) == [] and bool(saying(machine.folder / "reread" / "trash"))
    (back,) = reread.undo_delete()
    assert back.session == ID and state(machine.config) == before and reread.trash() == []
    assert state(machine.folder / "reread" / "archive" / "projects") == archived
    assert reread.keep().count("failed") == 0
    with pytest.raises(NotFound, match="trash is empty"):
        reread.undo_delete()


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
    with pytest.raises(Misuse, match="seconds ago"):
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
    reread.delete(ID)  # finishes what was begun
    assert WORD.encode() not in history.read_bytes() and not lock.exists()
    assert [one.session for one in reread.undo_delete()] == [ID]
    assert history.read_bytes() == b"".join(HISTORY)


def test_a_line_without_the_lock_is_carried_over(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    history, replace = machine.config / "history.jsonl", Path.replace
    late = [prompt("x", "before it is replaced", 5), prompt("x", "while it is", 6)]

    def write_late(path: Path, target: Path) -> Path:
        if target == history and len(late) == 1:
            with history.open("ab") as file:
                file.write(late.pop())
        return replace(path, target)

    def lines(path: Path, data: bytes, mode: int) -> None:
        if len(late) == 2:
            with history.open("ab") as file:
                file.write(late.pop(0))
        write(path, data, mode)

    write = prompt_lines._write  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(prompt_lines, "_write", lines)
    monkeypatch.setattr(Path, "replace", write_late)
    reread.delete(ID)
    assert [json.loads(one)["display"] for one in history.read_bytes().splitlines()[3:]] == [
        "before it is replaced",
        "while it is",
    ]


def test_what_is_written_while_it_is_deleted_stays(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    history, carry_out = machine.config / "history.jsonl", trash.carry_out
    transcript = next((machine.config / "projects").glob(f"*/{ID}.jsonl"))
    late = prompt(ID, "one more", 7)

    def write_late(entry: Any, finish: Any) -> Any:
        for path in (history, transcript):
            with path.open("ab") as file:
                file.write(late)
        return carry_out(entry, finish)

    before = transcript.read_bytes()
    with monkeypatch.context() as patched, pytest.raises(Misuse, match="stays as it is"):
        patched.setattr(trash, "carry_out", write_late)
        reread.delete(ID)
    assert transcript.read_bytes() == before + late
    lines = history.read_bytes().splitlines(keepends=True)
    assert [one for one in lines if f'"sessionId": "{ID}"'.encode() in one] == [late]
    assert [one.session for one in reread.trash()] == [ID]
    os.utime(transcript, (1, 1))
    assert [one.session for one in reread.delete(ID)] == [ID], "nothing is in the way of the next one"
    assert not transcript.exists()


KILLED = """
import os, signal, sys
import reread
left, verb = int(sys.argv[1]), sys.argv[2]
def stop(event, args):
    global left
    if event in ("os.link", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.utime") and sys.argv[3] in str(args):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(stop)
if verb == "undo":
    reread.undo_delete()
else:
    reread.delete(sys.argv[4], now=verb == "now")
"""


@one_in(3)
@pytest.mark.parametrize("verb", ["delete", "now", "undo"])
def test_killed_at_any_step_it_is_there_or_gone_and_the_next_one_finishes(machine: Machine, verb: str) -> None:
    before, backup = state(machine.config), machine.folder.parent / "backup"
    shutil.copytree(machine.config, backup, symlinks=True)
    for step in range(0, 400, 5):
        if verb == "undo":
            reread.delete(ID)
        words = [sys.executable, "-c", KILLED, str(step), verb, str(machine.folder), ID]
        done = subprocess.run(words, capture_output=True, timeout=120)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()
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
    assert done.returncode == 0 and step > 5


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
    """`reread delete`, and `ls --trash`."""

    def test_it_names_every_file_and_line_and_asks(self, machine: Machine) -> None:
        before = state(machine.config)
        said = cli("delete", ID, "--dry-run").stdout
        for name in (f"projects/-first/{ID}.jsonl", f"debug/{ID}.txt", f"session-env/{ID}/env.sh", "history.jsonl:2"):
            assert str(machine.config / name) in said
        with pytest.raises(Misuse, match="use --yes"):
            cli("delete", ID)
        assert state(machine.config) == before

    def test_sessions_are_chosen_as_in_ls(self, machine: Machine) -> None:
        assert cli("delete", "--grep", "say 1", "--yes").exit_code == 0
        assert [one.session for one in reread.trash()] and len({one.batch for one in reread.trash()}) == 1
        listed = json.loads(cli("ls", "--trash", "--json").stdout)
        assert {one["session"] for one in listed} == {ID, OTHER}
        assert ID[:8] in cli("ls", "--trash").stdout
        assert cli("delete", "--undo").exit_code == 0 and reread.trash() == []
        assert cli("delete", "--grep", "nothing", "--yes").exit_code == 1
        with pytest.raises(Misuse, match="No session to delete"):
            cli("delete")
        assert json.loads(cli("delete", ID, "--dry-run", "--json").stdout)[0]["session"] == ID
