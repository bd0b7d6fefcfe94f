"""No verb and no route takes more than in proportion to folders, sessions, turns, files, branches or agents."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from command import cli
from effort import SAMPLE, sampled
from limits import assert_linear
from making import Object, answer, jsonl, reply, result, system, told, use, user
from starlette.testclient import TestClient

from reread.server.library import SessionLibrary
from reread.server.routes import make_app

ENOUGH = 1.0
"""Seconds of CPU above which a measurement means something."""
FILE = "/work/app/main.py"
START = 1_760_000_000
VERBS = """
ls --json | ls | usage --by session | usage --by cache | stats | stats --list | check | search needle3 | advise --full
digest --since 2020 | now | budget | keep | share --check | sql SELECT~count(*)~FROM~calls
delete --dry-run --since 2020 | delete --yes --since 2020 | tag SESSION x
show --no-pager SESSION | show --no-pager --full SESSION | show -f markdown --full SESSION | show -f json SESSION
show -f raw SESSION | files SESSION | diff SESSION | diff SESSION SESSION | context SESSION | brief SESSION
resume --dry-run SESSION | replay --speed=instant SESSION | export -f html -o /dev/null SESSION
export -f html --full -o /dev/null SESSION | share -f markdown -o /dev/null --replace-likely SESSION
"""
ROUTES = """
library | now | reports/usage | reports/stats
sessions/ID | sessions/ID/items?count=200&whole=1 | sessions/ID/outline | sessions/ID/context | sessions/ID/files
sessions/ID/waterfall | sessions/ID/share
"""


def session_id(number: int) -> str:
    return f"{number:08x}-1111-4111-8111-111111111111"


def turn(number: int, name: str = "", file: str = FILE) -> list[Object]:
    """A prompt, an edit, and what came of it."""
    id = f"{name}{number}"
    asked = reply(
        use(f"t{id}", "Edit", file_path=file, old_string=f"a{number}", new_string=f"a{number + 1}"), id=f"m{id}"
    )
    asked["message"] |= {"model": "claude-opus-4-5", "usage": {"input_tokens": 5, "output_tokens": number + 1}}
    hunk = {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": [f"-a{number}", f"+a{number + 1}"]}
    edit = {"filePath": file, "oldString": f"a{number}", "newString": f"a{number + 1}", "structuredPatch": [hunk]}
    done = answer(result(f"t{id}", "ok"), data=edit)
    return [user(f"Do thing {number} with needle{number % 50}"), asked, done, reply("Done.", id=f"n{id}")]


def write(root: Path, number: int, records: list[Object], project: str = "-work-app") -> Path:
    lines = told(*records)
    for place, line in enumerate(lines):
        then = time.gmtime(START + number * 3600 + place * 7)
        line |= {"sessionId": session_id(number), "cwd": "/work/app", "gitBranch": "main"}
        line["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", then)
    path = root / "projects" / project / f"{session_id(number)}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(jsonl(*lines))
    os.utime(path, (START, START))  # what was just written is in use
    return path


def folders(root: Path, size: int) -> None:
    for number in range(size // 4):
        write(root, number, [*turn(0, str(number)), *turn(1, str(number))], f"-work-{number}")


def sessions(root: Path, size: int) -> None:
    for number in range(size // 4):
        write(root, number, [*turn(0, str(number)), *turn(1, str(number))])


def copies(root: Path, size: int) -> None:
    """Sessions that begin with the same records."""
    for number in range(size // 4):
        write(root, number, [*(row for each in range(4) for row in turn(each)), *turn(9, str(number))])


def turns(root: Path, size: int) -> None:
    write(root, 0, [row for number in range(size) for row in turn(number)])


def files(root: Path, size: int) -> None:
    write(root, 0, [row for number in range(size) for row in turn(number, file=f"/work/app/{number}.py")])


def compactions(root: Path, size: int) -> None:
    boundary = system("compact_boundary", "Compacted", compactMetadata={"trigger": "auto", "preTokens": 100})
    summary = user("Summary", isCompactSummary=True)
    write(root, 0, [row for number in range(size) for row in (*turn(number), boundary, summary)])


def branches(root: Path, size: int) -> None:
    rows = [user("Begin")]
    for number in range(size):
        rows += [reply("b", id=f"m{number}"), user("left"), user("right", parentUuid=f"u{3 * number + 2}")]
    write(root, 0, rows)


def agents(root: Path, size: int) -> None:
    ids = [f"a{number:06x}" for number in range(size // 2)]
    rows = [user("Begin")]
    for id in ids:
        done = {"status": "completed", "agentId": id, "content": [{"type": "text", "text": "ok"}]}
        rows += [reply(use(f"t{id}", "Task", prompt=id), id=f"m{id}"), answer(result(f"t{id}", "ok"), data=done)]
    folder = write(root, 0, rows).with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    for id in ids:
        own = told(user(id), reply("ok", id=f"g{id}"))
        path = folder / f"agent-{id}.jsonl"
        path.write_bytes(
            jsonl(*(row | {"sessionId": session_id(0), "agentId": id, "isSidechain": True} for row in own))
        )
        os.utime(path, (START, START))


AXES: dict[str, Callable[[Path, int], None]] = {
    made.__name__: made for made in (folders, sessions, copies, turns, files, compactions, branches, agents)
}
SIZE = 240


def chosen(works: str) -> list[tuple[str, str]]:
    """Return each work on each axis; in a sample, every work on one."""
    each = [one.strip() for line in works.strip().splitlines() for one in line.split("|")]
    axes = list(AXES)
    return [(axis, work) for n, work in enumerate(each) for axis in (axes[n % len(axes) :][:1] if SAMPLE else axes)]


class Homes:
    """Homes of any size along an axis, each made once, with nothing derived from it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder, self._monkeypatch, self._numbers = folder, monkeypatch, count()

    def enter(self, axis: str, size: int) -> Path:
        folder = self._folder / str(next(self._numbers))
        AXES[axis](folder / ".claude", size)
        for name, below in (("CLAUDE_CONFIG_DIR", ".claude"), ("REREAD_HOME", "reread"), ("REREAD_CACHE", "cache")):
            self._monkeypatch.setenv(name, str(folder / below))
        return folder / ".claude"


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Homes:
    return Homes(tmp_path, monkeypatch)


@sampled
@pytest.mark.parametrize(("axis", "words"), chosen(VERBS))
def test_verbs(homes: Homes, axis: str, words: str) -> None:
    def prepare(size: int) -> Callable[[], object]:
        root = homes.enter(axis, size)
        session = next(root.glob("projects/*/*.jsonl"))
        given = [word.replace("SESSION", str(session)).replace("~", " ") for word in words.split()]

        def run() -> None:
            assert cli(*given).exit_code in (0, 1)

        return run

    assert_linear(prepare, SIZE, enough=ENOUGH, what=words)


@sampled
@pytest.mark.parametrize(("axis", "route"), chosen(ROUTES))
def test_routes(homes: Homes, axis: str, route: str) -> None:
    def prepare(size: int) -> Callable[[], object]:
        root = homes.enter(axis, size)

        def ask() -> None:
            app = make_app(SessionLibrary([root], count=False))
            with closing(app.state.library), closing(app.state.open_sessions), TestClient(app) as client:
                assert client.get(f"/api/{route.replace('ID', session_id(0))}").status_code == 200

        return ask

    assert_linear(prepare, SIZE, enough=ENOUGH, what=route)
