"""More input takes longer in proportion: for every view, over texts and structures made to be slow."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from math import isqrt
from pathlib import Path

import pytest
from effort import SAMPLE, one_in, sampled
from limits import assert_linear
from making import Object, answer, jsonl, progress, reply, result, system, text, thinking, told, use, user

import reread
from reread.disk.cache import FileState
from reread.index.document import ParseState
from reread.index.file_pass import FilePass
from reread.index.store import Cursor
from reread.render.selection import Selection
from reread.render.terminal import TerminalView, make_console
from reread.session.session import threads_of

pytestmark = one_in(2)

ENOUGH = 0.4
"""Seconds of CPU above which a measurement means something."""
SCALE = int(os.environ.get("REREAD_LINEAR", "1"))
"""How many times larger the structures are: some parts are so fast that only large ones show how they grow."""
SIZE = 5_000
"""Characters of the smaller text."""
RECORDS = {"check": 600, "usage": 4_000, "search": 1_500, "html": 250}
"""Records of the smaller structure, about, for fast views and for pages, which hold 200 branches; 150 for others."""


def terminal(session: reread.Session, *, full: bool = True) -> None:
    console = make_console(width=100)
    with console.capture():
        for item in TerminalView(Selection(full=full)).session(session):
            console.print(item)


def search(session: reread.Session) -> None:
    units: list[object] = []
    cursor = Cursor(FileState(0, 0, 0, 0), 0, b"", ParseState())
    for _ in FilePass(threads_of(session).source, cursor, lambda *unit: units.append(unit)).run():
        pass


VIEWS: dict[str, Callable[[reread.Session], object]] = {
    "terminal": terminal,
    "short terminal": lambda session: terminal(session, full=False),
    "markdown": lambda session: reread.export(session, "markdown", full=True),
    "json": lambda session: reread.export(session, "json", full=True),
    "html": lambda session: reread.export(session, "html"),
    "check": lambda session: list(reread.check(session)),
    "usage": lambda session: session.usage,
    "search": search,
}


def ticks(n: int) -> str:
    out, length = [], 0
    while sum(out) < n:
        length += 1
        out.append(length)
    return " ".join("`" * length for length in out)


TEXTS: dict[str, Callable[[int], str]] = {
    "backtick runs": ticks,
    "backticks": lambda n: "`a " * (n // 3),
    "one long line and CRLF": lambda n: "x" * n + "\r\n",
    "carriage returns": lambda n: "x\r" * (n // 2),
    "tags": lambda n: "<a " * (n // 3),
    "open tags": lambda n: "<system-reminder>" * (n // 17),
    "tool errors": lambda n: "<tool_use_error>" * (n // 16),
    "quotes in tags": lambda n: '<a b="' * (n // 6),
    "persisted": lambda n: "<persisted-output>\n" * (n // 19),
    "cells": lambda n: '<cell id="a">' * (n // 13),
    "tasks": lambda n: "#1 [pending] " + "a [blocked by " * (n // 14),
    "spaces": lambda n: "a" + " " * n + "b",
    "line breaks": lambda n: "a" + "\n" * n + "b",
    "list markers": lambda n: "- " * (n // 2),
    "quotes": lambda n: "> " * (n // 2),
    "brackets": lambda n: "[" * n,
    "links": lambda n: "[a](" * (n // 4),
    "images": lambda n: "![" * (n // 2),
    "emphasis": lambda n: "*a _b " * (n // 6),
    "stars": lambda n: "*" * n,
    "table row": lambda n: "|a" * (n // 4) + "\n" + "|-" * (n // 4) + "\n",
    "table": lambda n: "|a|b|\n|-|-|\n" + "|c|d|\n" * (n // 6),
    "wide table": lambda n: "|" + "a|" * 200 + "\n|" + "-|" * 200 + "\n" + ("|" + "c|" * 200 + "\n") * (n // 401),
    "entities": lambda n: "&" * n,
    "addresses": lambda n: "https://" * (n // 8),
    "fences": lambda n: "```x\n" * (n // 5),
    "xpp fence": lambda n: "```xpp\n" + "a b " * (n // 4) + "\n```",
    "html fence": lambda n: "```html\n" + "<a href='" * (n // 9) + "\n```",
    "python fence": lambda n: "```python\n" + "'''" + '"a\\' * (n // 3) + "\n```",
    "escape codes": lambda n: "\x1b[" * (n // 2),
    "operating system commands": lambda n: "\x1b]" * (n // 2),
    "colours": lambda n: "\x1b[31mx" * (n // 6),
    "numbers": lambda n: "1" * n,
    "exit codes": lambda n: "Exit code 1\n" * (n // 12),
    "agent ids": lambda n: "agentId: " * (n // 9),
    "combining marks": lambda n: "a" + "\u0301" * n,
    "wide characters": lambda n: "漢" * n,
    "backslashes": lambda n: "\\" * n,
    "definitions": lambda n: "[a]: " * (n // 5),
    "setext": lambda n: "a\n=\n" * (n // 4),
    "nested lists": lambda n: "\n".join(" " * (i % 200) + "- a" for i in range(n // 100)),
    "json": lambda n: "[" * (n // 2) + "]" * (n // 2),
    "links found": lambda n: "Links: [" + '{"a":' * (n // 5) + "\n",
    "hunks": lambda n: "@@ -1 +1 @@\n" * (n // 12),
}

PLACES: dict[str, Callable[[str], list[Object]]] = {
    "prompt": lambda words: [user(words)],
    "answer": lambda words: [user("a"), reply(words)],
    "thinking": lambda words: [user("a"), reply(thinking(words))],
    "Bash": lambda words: [
        user("a"),
        reply(use("t", "Bash", command=words)),
        answer(result("t", words), data={"stdout": words, "stderr": words, "interrupted": False}),
    ],
    "Read": lambda words: [
        user("a"),
        reply(use("t", "Read", file_path=f"/a/{words[:200]}.ipynb")),
        answer(result("t", words), data={"type": "text", "file": {"filePath": "/a.py", "content": words}}),
    ],
    "failure": lambda words: [
        user("a"),
        reply(use("t", "Edit")),
        answer(result("t", words, is_error=True), data=words),
    ],
    "others": lambda words: [
        user("a"),
        *(
            record
            for name in (
                "Grep",
                "Glob",
                "Task",
                "TaskList",
                "WebSearch",
                "WebFetch",
                "Workflow",
                "mcp__a__b",
                "TodoWrite",
            )
            for record in (
                reply(use(name, name, prompt=words, pattern=words[:500], script=words), id=name),
                answer(result(name, words)),
            )
        ),
    ],
    "notices": lambda words: [
        system("local_command", words),
        system("compact_boundary", words, compactMetadata={"trigger": words}),
        user(f"<command-name>/x</command-name>{words}"),
        user(f"<task-notification>{words}"),
        user(words, isMeta=True),
        progress("hook_progress", {"command": words}),
    ],
}


def results(n: int) -> list[Object]:
    ids = [f"t{number}" for number in range(n)]
    return [user("a"), reply(*(use(id) for id in ids)), answer(*(result(id) for id in ids))]


def result_turns(n: int) -> list[Object]:
    out = [user("a"), reply(*(use(f"t{number}") for number in range(n)))]
    return out + [answer(result(f"t{number}")) for number in range(n)]


def streamed(n: int) -> list[Object]:
    return [user("a"), *(reply(text(f"block {number}")) for number in range(n))]


def growing(n: int) -> list[Object]:
    """A text that is written again with each word; `n` is the size of them all."""
    return [user("a"), *(reply(text("word " * number)) for number in range(isqrt(n * 40)))]


def far_parents(n: int) -> list[Object]:
    out = [user("a")]
    for number in range(n):
        out += [reply("b", id=f"m{number}"), user(f"c{number}", parentUuid="u1")]
    return out


def nested_branches(n: int) -> list[Object]:
    out = [user("a")]
    for number in range(n):
        out += [reply("b", id=f"m{number}"), user("left"), user("right", parentUuid=f"u{3 * number + 2}")]
    return out


def backwards(n: int) -> list[Object]:
    return [user("a", uuid=f"r{number}", parentUuid=f"r{number + 1}") for number in range(n)]


def compactions(n: int) -> list[Object]:
    out: list[Object] = []
    for number in range(n):
        out += [user("a"), reply("b", id=f"m{number}"), system("compact_boundary", "Compacted", compactMetadata={})]
        out += [user("summary", isCompactSummary=True)]
    return out


def todos(n: int) -> list[Object]:
    out = [user("a")]
    for number in range(20):
        items = [{"content": f"item {k}", "status": "completed" if k < number else "pending"} for k in range(n // 20)]
        out += [reply(use(f"t{number}", "TodoWrite", todos=items), id=f"m{number}"), answer(result(f"t{number}"))]
    return out


def sidechains(n: int) -> list[Object]:
    """Agents started by agents, in one file."""
    out = [user("a")]
    for number in range(n):
        out.append(reply(use(f"t{number}", "Task", prompt="p"), id=f"m{number}", isSidechain=number > 0))
        out.append(progress("agent_progress", {"agentId": f"a{number}"}, parentToolUseID=f"t{number}"))
    return out


def printed_agents(n: int) -> list[Object]:
    """A chain of agents, as a stream prints it."""
    out = [user("a", session_id="s"), {**reply(use("t0", "Task")), "session_id": "s", "parent_tool_use_id": None}]
    for number in range(n):
        message = reply(use(f"t{number + 1}", "Task"), id=f"m{number}")
        out.append({**message, "session_id": "s", "parent_tool_use_id": f"t{number}"})
    return out


def wide_agents(n: int) -> list[Object]:
    out = [user("a")]
    for number in range(n):
        out.append(reply(use(f"t{number}", "Task"), id=f"m{number}"))
        out.append({**user("p"), "session_id": "s", "parent_tool_use_id": f"t{number}"})
    return out


def deltas(n: int) -> list[Object]:
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "word "}}
    events = [{"type": "message_start", "message": reply()["message"]}, start, *([delta] * n)]
    return [user("a"), *({"type": "stream_event", "event": event, "session_id": "s"} for event in events)]


STRUCTURES: dict[str, Callable[[int], list[Object]]] = {
    function.__name__: function
    for function in (
        *(results, result_turns, streamed, growing, far_parents, nested_branches, backwards, compactions, todos),
        *(sidechains, printed_agents, wide_agents, deltas),
    )
}


def nested(n: int) -> bytes:
    return b'{"type":"user","a":' + b'{"a":["b",' * (n // 10)


def not_json(n: int) -> bytes:
    return b"{a:" * (n // 6) + b"}" * (n // 6) + b"\n"


def never_closed(n: int) -> bytes:
    return b'[{"a":' * (n // 6)


def deep_value(n: int) -> bytes:
    value = b'[{"a":' * (n // 8) + b"1" + b"}]" * (n // 8)
    return b'{"type":"user","sessionId":"s","uuid":"u","message":{"role":"user","content":' + value + b"}}\n"


def array(n: int) -> bytes:
    return json.dumps(told(*([user("a"), reply("b")] * (n // 400)))).encode()


def torn(n: int) -> bytes:
    return b'{"type":"user","message":{"content":"' * (n // 36)


def spliced(n: int) -> bytes:
    line = jsonl(*told(user("a"))).strip()
    return (line[:40] + line) * (n // (len(line) + 40)) + b"\n"


def codex(n: int) -> bytes:
    """A rollout of the Codex CLI, told again and again."""
    (path,) = (Path(__file__).parent / "real-codex/0.166.0/compacted").glob("*.jsonl")
    first, *rest = path.read_bytes().splitlines(keepends=True)
    return first + b"".join(rest) * (n // 4_000)


SHAPES = (nested, not_json, never_closed, deep_value, array, torn, spliced, codex)
BYTES: dict[str, Callable[[int], bytes]] = {function.__name__: function for function in SHAPES}


def check_growth(name: str, view: Callable[[reread.Session], object], make: Callable[[int], bytes], size: int) -> None:
    def prepare(size: int) -> Callable[[], object]:
        source = make(size)
        return lambda: view(reread.open(source))

    assert_linear(prepare, size, enough=ENOUGH, what=name)


def in_place(place: str, words: str) -> Callable[[int], bytes]:
    return lambda size: jsonl(*told(*PLACES[place](TEXTS[words](size))))


@one_in(4)
@pytest.mark.parametrize(
    ("view", "place"),
    [*(("markdown", place) for place in PLACES), *(("terminal", place) for place in ("prompt", "answer", "Bash"))],
)
def test_texts(view: str, place: str) -> None:
    first = list(PLACES).index(place) % 3  # a sample is another third of the texts in each place
    for words in list(TEXTS)[first::3] if SAMPLE else TEXTS:
        check_growth(words, VIEWS[view], in_place(place, words), SIZE)


def spread(cases: Iterable[str]) -> list[tuple[str, str]]:
    """Each case in each view; in a sample each case in one view, and each view with some cases."""
    views = list(VIEWS)
    return [
        (view, case)
        for number, case in enumerate(cases)
        for view in (views[number % len(views) :][:1] if SAMPLE else views)
    ]


@one_in(4)
@pytest.mark.parametrize(("view", "structure"), spread(STRUCTURES))
def test_structures(view: str, structure: str) -> None:
    def make(size: int) -> bytes:
        return jsonl(*told(*STRUCTURES[structure](size)))

    check_growth(structure, VIEWS[view], make, RECORDS.get(view, 150) * SCALE)


@sampled
@pytest.mark.parametrize(("view", "content"), spread(BYTES))
def test_bytes(view: str, content: str) -> None:
    check_growth(content, VIEWS[view], BYTES[content], 40_000)


@one_in(3)
@pytest.mark.parametrize("view", VIEWS)
def test_broken_nesting_is_read_once(view: str) -> None:
    for make in (never_closed, nested, torn):
        check_growth(make.__name__, VIEWS[view], make, 100_000)
