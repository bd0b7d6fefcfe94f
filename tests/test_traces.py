"""Nothing is left of a session that was deleted for good: whatever was done with it before, and whoever was killed."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from urllib.request import urlopen
from zlib import crc32

import pytest
from command import REREAD, cli
from effort import EFFORT
from killing import CHANGES, at_once, end_of
from planted_home import ID, OTHER, SAID, WORD, plant, saying, settle, transcript
from session_home import Machine

import reread
from reread.addons.mcp import answers
from reread.archive.archive import Archive
from reread.catalog.annotations import Annotations
from reread.cli import all_verbs
from reread.handover import session_files
from reread.handover.deletion import CACHE, PLACES, STORE
from reread.session import loader
from reread.storage.kept_file import open_regular

STEPS = 1 if EFFORT in ("all", "thorough") else 29
"""Which steps of a verb are killed: by default one in so many, beginning with another one for each verb."""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    machine = Machine(tmp_path / "home", monkeypatch)
    (tmp_path / "out").mkdir()
    monkeypatch.setattr(session_files, "JUST_WRITTEN", 0.0)
    monkeypatch.setattr(loader, "SMALLEST", 1)
    plant(machine)
    yield machine


def out(machine: Machine, name: str) -> Path:
    """Return a file that a person names, outside of what reread writes by itself."""
    return machine.folder.parent / "out" / name


def serve(machine: Machine) -> None:
    words = [*REREAD, "serve", "--no-token", "--no-open", "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        assert server.stdout is not None
        url = next(word for said in server.stdout for word in said.split() if word.startswith("http"))
        for path in ("api/sessions", f"api/search?q={WORD}", f"api/session?session={ID}"):
            with suppress(OSError):
                urlopen(url.rstrip("/") + "/" + path, timeout=60).read()
        server.terminate()


def tail(machine: Machine) -> None:
    with subprocess.Popen([*REREAD, "tail", ID], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline()
        process.terminate()


def commit(machine: Machine) -> None:
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@b.c"]
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    subprocess.run(["git", "add", "app.py"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "second"], check=True)


def adopted(machine: Machine) -> list[str]:
    run = {"schema_version": "ATIF-v1.4", "session_id": "run", "agent": {"name": "a", "version": "1"}, "steps": []}
    path = out(machine, "run.json")
    path.write_text(json.dumps(run))
    return ["capture", "--from", str(path)]


def captured(machine: Machine) -> list[str]:
    said = [
        {"type": "system", "subtype": "init", "session_id": ID},
        {"type": "result", "session_id": ID, "result": WORD},
    ]
    program = f"print({json.dumps(said[0])!r}); print({json.dumps(said[1])!r})"
    return ["capture", "-q", "--", sys.executable, "-c", program]


def given_to_status_line(machine: Machine) -> None:
    value = {"session_id": ID, "transcript_path": str(machine.config / "projects" / "-first" / f"{ID}.jsonl")}
    subprocess.run([*REREAD, "statusline"], input=json.dumps(value).encode(), check=True, capture_output=True)


Use = list[str] | Callable[[Machine], Any]
USES: dict[str, list[Use]] = {
    "serve": [serve],
    "ls": [["ls"], ["ls", "--only", "prompts"], ["ls", "--only", "trash"], ["ls", "--json"]],
    "search": [["search", WORD], ["search", WORD, "--match=regex"]],
    "show": [["show", ID], ["show", ID, "--json"]],
    "context": [["context", ID]],
    "tail": [tail],
    "now": [["now"]],
    "statusline": [given_to_status_line],
    "budget": [["budget", "set", "5/day"], ["budget"]],
    "digest": [["digest", "--since", "2026-11-01"]],
    "files": [["files", ID]],
    "file": [["file", "app.py", ID]],
    "diff": [["diff", f"{ID}:1", f"{ID}:2"]],
    "blame": [["blame", "app.py"]],
    "review": [commit, ["review", "HEAD~1..HEAD", "--note", "write"], ["review", "HEAD~1..HEAD"]],
    "usage": [["usage"], ["usage", "--by", "cache"], ["usage", "--by", "session"]],
    "stats": [["stats"], ["stats", "--by", "session"]],
    "advise": [["advise"]],
    "check": [["check", ID]],
    "sql": [["sql", "--text", "select * from messages"], ["sql", "select * from sessions"]],
    "tables": [lambda machine: ["tables", "-o", str(out(machine, "tables")), "--text"]],
    "capture": [captured, adopted],
    "replay": [["replay", ID, "--speed=instant"]],
    "share": [
        lambda machine: ["share", ID, "-o", str(out(machine, "a.html")), "--replace", WORD, "--replace-likely"],
        lambda machine: ["share", ID, "--to", str(out(machine, "team")), "--replace", WORD, "--replace-likely"],
        ["share", "--check", ID],
    ],
    "export": [lambda machine: ["export", ID, "-f", "markdown", "-o", str(out(machine, "a.md"))]],
    "rerun": [lambda _: reread.fake_api(ID).answer({"messages": [{"role": "user", "content": WORD}], "tools": []})],
    "mcp": [lambda _: answers.search_answer(WORD), lambda _: answers.search_answer(SAID)],
    "lsp": [lambda machine: len(reread.blame(machine.project / "app.py", text=WORD))],
    "completion": [["completion", "bash"]],
    "keep": [["keep"], ["keep", "--check"], ["keep", "--prune", "--yes"], ["keep"]],
    "resume": [lambda machine: reread.resume(ID, into=machine.folder / "elsewhere")],
    "brief": [["brief", ID], ["brief", ID, "--json"]],
    "tag": [["tag", ID, WORD], ["tag"], ["tag", ID]],
    "archive": [["archive", ID], ["archive", "--undo", ID]],
    "delete": [["delete", ID, "--yes"], ["delete", "--undo"]],
}
"""How each verb is used, in this order, with the session; a verb that is not here is not tried."""


def use(machine: Machine, verb: str) -> None:
    """Use a verb as a person would."""
    for one in USES[verb]:
        words = one(machine) if callable(one) else one
        if isinstance(words, list):
            done = cli(*words)
            assert done.exit_code in (0, 1), (words, done.output)
        settle(machine.config)


def places(machine: Machine) -> list[Path]:
    """Return all that reread writes into by itself."""
    return [machine.config, machine.folder / "reread", machine.folder / "cache"]


def left(machine: Machine) -> list[str]:
    return [f"{folder.name}/{name}" for folder in places(machine) for name in saying(folder, WORD, ID)]


def delete_all() -> None:
    """Delete every session but the other one for good."""
    for _ in range(2):  # with what a killed run has begun, and then what is left
        ids = {ID, *(header.id for header in reread.sessions(prompts=True))} - {OTHER, "run", "Run"}
        for id in sorted(ids):
            with suppress(reread.NotFound):
                reread.delete(id, kept=True, now=True)


def test_no_word_is_left_whatever_was_done_with_it_before(machine: Machine) -> None:
    assert sorted(USES) == sorted(all_verbs()), "say in USES how a new verb is used with a session"
    (machine.folder / "elsewhere").mkdir()
    for verb in USES:
        use(machine, verb)
    Annotations().change(ID, starred=True, note=WORD)
    for folder, place in (("reread", STORE), ("cache", CACHE)):
        for path in (machine.folder / folder).rglob("*"):
            name = str(path.relative_to(machine.folder / folder))
            assert path.is_dir() or any(one.folder == place and fnmatch(name, one.name) for one in PLACES), name
    before = left(machine)
    assert any("share/maps" in name for name in before) and any("archive" in name for name in before)
    delete_all()
    assert left(machine) == []
    assert cli("search", WORD).exit_code == 1 and SAID in cli("show", OTHER).output


def killed(act: Callable[[], object], step: int) -> bool:
    """Do something in a child that is killed before its n-th change of a file or folder; False if it came to its end.

    What is appended to a file is torn.
    """
    return end_of(act, lambda: _kill_at(step))


def _kill_at(step: int) -> None:
    left, write = step, os.write

    def count(event: str, arguments: Any) -> None:
        nonlocal left
        if event in (*CHANGES, "os.truncate", "os.chmod") or (
            event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_CREAT
        ):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def torn(descriptor: int, data: bytes) -> int:
        nonlocal left
        left -= 1
        if left < 0:
            write(descriptor, memoryview(data)[: len(data) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return write(descriptor, data)

    os.write = torn
    sys.addaudithook(count)


def share(machine: Machine) -> None:
    words = USES["share"][0](machine)  # type: ignore[operator]
    assert cli(*words).exit_code == 0


def grow(machine: Machine) -> None:
    path = machine.config / "projects" / "-first" / f"{ID}.jsonl"
    path.write_bytes(transcript(machine.project, 3))
    settle(machine.config)


def rewrite(machine: Machine) -> None:
    path = machine.config / "projects" / "-first" / f"{ID}.jsonl"
    path.write_bytes(path.read_bytes()[:-30] + b"\n")
    settle(machine.config)


def kept(machine: Machine) -> None:
    reread.keep()


def grown(machine: Machine) -> None:
    kept(machine)
    rewrite(machine)
    kept(machine)
    grow(machine)


def lost(machine: Machine) -> None:
    """Only the archive has it."""
    kept(machine)
    shutil.rmtree(machine.config)
    machine.config.mkdir()


def trashed(machine: Machine) -> None:
    kept(machine)
    reread.delete(ID, kept=True)


def nothing(machine: Machine) -> None:
    """Leave all as it is."""


Step = Callable[[Machine], object]
KILLED: dict[str, tuple[Step, Step]] = {
    "keep": (nothing, lambda _: reread.keep()),
    "keep again": (grown, lambda _: reread.keep()),
    "keep --prune": (grown, lambda _: Archive().prune()),
    "keep --prune SESSION": (kept, lambda _: Archive().prune(ID)),
    "keep --restore": (lost, lambda machine: Archive().restore(to=machine.config)),
    "resume": (lost, lambda _: reread.resume(ID)),
    "resume --in": (nothing, lambda machine: reread.resume(ID, into=machine.project)),
    "resume at a turn": (nothing, lambda machine: reread.resume(ID, at=1, into=machine.project)),
    "delete": (kept, lambda _: reread.delete(ID)),
    "delete --kept": (kept, lambda _: reread.delete(ID, kept=True)),
    "delete --now": (kept, lambda _: reread.delete(ID, now=True)),
    "delete --now --kept": (grown, lambda _: reread.delete(ID, kept=True, now=True)),
    "delete --now --kept, shared": (share, lambda _: reread.delete(ID, kept=True, now=True)),
    "delete --now --kept, trashed": (trashed, lambda _: reread.delete(ID, kept=True, now=True)),
    "delete --undo": (trashed, lambda _: reread.undo_delete()),
    "share": (nothing, share),
    "note": (nothing, lambda _: Annotations().change(ID, starred=True, note=WORD)),
    "tag": (nothing, lambda _: reread.tag_sessions(ID, add=WORD)),
    "archive": (nothing, lambda _: reread.archive_sessions(ID)),
    "capture": (nothing, lambda _: reread.Store().append("talk", b'{"session_id": "%b"}' % ID.encode())),
}
"""The verbs that write something of sessions: what was done before, and what is killed."""


def copies(machine: Machine) -> dict[str, bytes]:
    """Return what the client and the archive have of the session and the other one, unpacked."""
    found = {str(path): path.read_bytes() for path in machine.config.rglob("*.jsonl")}
    archive = machine.folder / "reread" / "archive"
    for path in archive.rglob("*.jsonl.zst"):
        with open_regular(path) as file:
            found[str(path)] = file.readall()
    return found


@pytest.mark.parametrize("verb", KILLED)
def test_no_word_is_left_by_whoever_was_killed(machine: Machine, verb: str) -> None:
    prepare, act = KILLED[verb]
    prepare(machine)
    backup = machine.folder.parent / "backup"
    shutil.copytree(machine.folder, backup, symlinks=True)
    step = crc32(verb.encode()) % min(STEPS, 5)
    while True:
        before = copies(machine)
        was_killed = killed(lambda: act(machine), step)
        if not verb.startswith("delete") and "prune" not in verb:
            now = copies(machine)
            assert all(now.get(name, b"").startswith(data) for name, data in before.items()), (verb, step)
        delete_all()
        assert left(machine) == [], (verb, step)
        assert SAID in str(copies(machine)), (verb, step)
        if not was_killed:
            break
        shutil.rmtree(machine.folder)
        shutil.copytree(backup, machine.folder, symlinks=True)
        os.chdir(machine.project)
        step += STEPS
    assert step >= STEPS, "it was killed at least once"


@pytest.mark.parametrize("other", ["keep", "resume at a turn", "delete --kept", "share"])
def test_two_at_once_leave_no_word(machine: Machine, other: str) -> None:
    kept(machine)

    def meanwhile() -> None:
        with suppress(reread.RereadError):
            KILLED[other][1](machine)

    at_once(meanwhile, delete_all)
    delete_all()
    assert left(machine) == []


def test_the_documents_list_every_place() -> None:
    """The table is that of the program."""
    text = (Path(__file__).parents[1] / "docs" / "take-up-again.md").read_text()
    rows = [f"| {one.folder}: `{one.name}` | {one.holds} | {one.deleted} |" for one in PLACES]
    assert [said for said in text.splitlines() if said.startswith(("| store:", "| cache:"))] == rows
