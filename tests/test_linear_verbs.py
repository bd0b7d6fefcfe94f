"""Twice the input takes at most about twice the time: verbs, exports, answers and routes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from batches import part
from click.testing import CliRunner
from effort import THOROUGH, one_in
from limits import assert_linear
from making import Object, answer, attachment, jsonl, reply, result, told, use, user
from starlette.testclient import TestClient

import reread
from reread import cli
from reread.addons.mcp.answers import turns_answer
from reread.server.library import SessionLibrary
from reread.server.routes import make_app

LIMIT = 2.5
"""Growth of the time for twice the input above which a test fails."""
SCALE = 10 if THOROUGH else 1
"""How many times larger the sessions are: some parts are so fast that only large ones show how they grow."""
ENOUGH = 0.35
"""Seconds of CPU above which a measurement means something."""
SIZES = {"files": 4_000, "secrets": 100, "share": 50}
"""Records of the smaller session, about, for a verb that is fast or slow; 150 for others."""
ID = "5e551017-0000-4000-8000-000000000001"
FILE = "/w/a.py"

Verb = Callable[[Path], object]


def run(*words: object) -> None:
    done = CliRunner().invoke(cli.reread, [str(word) for word in words])
    assert done.exit_code in (0, 1), done.output[-2000:]


def route(path: str) -> Verb:
    def ask(session: Path) -> None:
        app = make_app(SessionLibrary([session.parents[2]], count=False))
        with closing(app.state.library), closing(app.state.open_sessions), TestClient(app) as client:
            found = client.get(f"/api/sessions/{ID}{path}")
            assert found.status_code == 200, found.text

    return ask


def blame(session: Path) -> None:
    path = session.parents[3] / "a.py"
    path.write_text("x\n")
    run("--root", session.parents[2], "blame", path)


def adopt(session: Path) -> None:
    trajectory = session.with_suffix(".json")
    reread.export(session, "atif", to=trajectory)
    run("capture", "--from", trajectory)


VERBS: dict[str, Verb] = {
    "files": lambda path: run("files", path, "--json"),
    "file": lambda path: run("file", FILE, path),
    "diff": lambda path: run("diff", path),
    "blame": blame,
    "stats": lambda path: run("stats", path, "--json"),
    "secrets": lambda path: run("share", "--check", path, "--json"),
    "share": lambda path: run("share", path, "-o", path.with_suffix(".html"), "--replace-likely"),
    "keep": lambda path: run("keep", path, "--to", path.parents[3] / "kept"),
    "tables": lambda path: run("--root", path.parents[2], "tables", "-o", path.parents[3] / "tables"),
    "sql": lambda path: run("--root", path.parents[2], "sql", "select count(*) from calls"),
    "adopt": adopt,
    "turns of mcp": lambda path: turns_answer(ID, turns="1-", full=True, roots=[path.parents[2]]),
    **{form: lambda path, form=form: reread.export(path, form) for form in ("atif", "chat", "pairs", "otlp")},
    **{
        f"route {name}": route(name)
        for name in (
            "",
            "/items",
            "/outline",
            "/waterfall",
            "/files",
            "/files/0/0",
            "/problems",
            "/search?q=zzz",
            "/share",
            "/annotation",
        )
    },
}


def edits(n: int) -> list[Object]:
    """Very many small edits of one file."""
    out = [user("a"), *wrote("w", "line 0\n")]
    for number in range(n // 4):
        out += edited(f"t{number}", f"line {number}\n", f"line {number + 1}\n")
    return out


def wrote(id: str, content: str) -> list[Object]:
    data = {"type": "create", "filePath": FILE, "content": content, "structuredPatch": [], "originalFile": None}
    return [reply(use(id, "Write", file_path=FILE, content=content), id=f"m{id}"), answer(result(id), data=data)]


def edited(id: str, old: str, new: str, **more: Any) -> list[Object]:
    given = {"file_path": FILE, "old_string": old, "new_string": new, "replace_all": False}
    data = {"filePath": FILE, "oldString": old, "newString": new, "originalFile": None, "replaceAll": False}
    return [
        reply(use(id, "Edit", **given), id=f"m{id}"),
        answer(result(id), data={**data, "structuredPatch": [], **more}),
    ]


def huge_line(n: int) -> list[Object]:
    """One line of very many words that is edited."""
    line = "word " * (n * 20)
    return [user("a"), *wrote("w", line), *edited("e", line, line.replace("word ", "other ", 100))]


def huge_diff(n: int) -> list[Object]:
    """Lines of which every other one changes."""
    lines = [f"line {number}\n" for number in range(n * 4)]
    changed = [f"new {number}\n" if number % 2 else line for number, line in enumerate(lines)]
    hunks = [
        {"oldStart": at, "oldLines": 1, "newStart": at, "newLines": 1, "lines": [f"-{lines[at]}", f"+{changed[at]}"]}
        for at in range(1, len(lines), 2)
    ]
    old, new = "".join(lines), "".join(changed)
    return [user("a"), *wrote("w", old), *edited("e", old, new, structuredPatch=hunks)]


def same_lines(n: int) -> list[Object]:
    """A file of equal lines, half of which go."""
    return [user("a"), *wrote("w", "x\n" * (n * 8)), *edited("e", "x\n" * (n * 4), "")]


def many_files(n: int) -> list[Object]:
    out = [user("a")]
    for number in range(n // 4):
        data = {"type": "create", "filePath": f"/w/{number}/a.py", "content": "x\n", "structuredPatch": []}
        out += [reply(use(f"t{number}", "Write", file_path=f"/w/{number}/a.py", content="x\n"), id=f"m{number}")]
        out += [answer(result(f"t{number}"), data=data)]
    return [*out, *wrote("w", "x\n")]


def many_results(n: int) -> list[Object]:
    ids = [f"t{number}" for number in range(n // 2)]
    return [user("a"), reply(*(use(id) for id in ids)), answer(*(result(id) for id in ids)), *wrote("w", "x\n")]


def agent_chain(n: int) -> list[Object]:
    out = [user("a"), *wrote("w", "x\n"), {**reply(use("t0", "Task")), "parent_tool_use_id": None}]
    for number in range(n // 4):
        message = reply(use(f"t{number + 1}", "Task"), id=f"m{number}")
        out.append({**message, "session_id": ID, "parent_tool_use_id": f"t{number}"})
    return out


def escapes(n: int) -> list[Object]:
    output = "\x1b[31mred\x1b[0m \\\\n\\u0041 %41 &#65;\r" * (n * 4)
    data = {"stdout": output, "stderr": "", "interrupted": False}
    return [user("a"), *wrote("w", "x\n"), reply(use("t", "Bash", command="x")), answer(result("t", output), data=data)]


def deep_json(n: int) -> list[Object]:
    """A value as deep as the decoders go, many times."""
    value: Any = "end"
    for number in range(100):
        value = {f"key {number}": [value]}
    calls = [use(f"t{number}", "mcp__a__b", value=value) for number in range(n // 20)]
    return [user("a"), *wrote("w", "x\n"), *(reply(call, id=call["id"]) for call in calls)]


def hooks(n: int) -> list[Object]:
    hook = {"hookName": "Stop", "stdout": '{"systemMessage":"x"}', "exitCode": 0, "hookEvent": "Stop", "toolUseID": "w"}
    return [user("a"), *wrote("w", "x\n"), *(attachment("hook_success", hook) for _ in range(n // 2))]


def turns(n: int) -> list[Object]:
    out = wrote("w", "x\n")
    for number in range(n // 2):
        out += [user(f"prompt {number}"), reply("answer", id=f"m{number}")]
    return out


def rewinds(n: int) -> list[Object]:
    """Prompts that were asked again, each with answers of its own."""
    out = [user("a"), *wrote("w", "x\n")]
    for number in range(n // 4):
        out += [user(f"again {number}", parentUuid="u3"), reply("b", id=f"m{number}")]
    return out


def keys(n: int) -> list[Object]:
    """What looks like secrets, whole and broken over lines."""
    words = "".join(
        f'password="hunter{number}x" ghp_{number:036d} AKIA{number:016d}\nsk-ant-\napi03-{number:020d}\n'
        for number in range(n // 4)
    )
    return [user(words), *wrote("w", words)]


SESSIONS: dict[str, Callable[[int], list[Object]]] = {
    function.__name__: function
    for function in (
        *(edits, huge_line, huge_diff, same_lines, many_files, many_results, agent_chain, escapes, deep_json, hooks),
        *(turns, rewinds, keys),
    )
}


def laid_out(folder: Path, records: list[Object]) -> Path:
    path = folder / "claude" / "projects" / "-w" / f"{ID}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(jsonl(*({**record, "cwd": "/w", "sessionId": ID} for record in told(*records))))
    return path


@one_in(4)
@pytest.mark.parametrize("name", part(VERBS, 3))
def test_verbs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = count()
    for kind, make in SESSIONS.items():

        def prepare(size: int, make: Callable[[int], list[Object]] = make) -> Callable[[], object]:
            """A verb on a session that nothing is known of."""
            folder = tmp_path / str(next(numbers))
            session = laid_out(folder, make(size))
            monkeypatch.setenv("REREAD_HOME", str(folder / "home"))
            monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder / "claude"))
            return lambda: VERBS[name](session)

        assert_linear(prepare, SIZES.get(name, 150) * SCALE, enough=ENOUGH, what=kind)
