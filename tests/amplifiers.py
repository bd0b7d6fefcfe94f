"""Transcripts of 1 MB that something much larger can be made of: each names, repeats or claims what it does not hold.

As a program, it gives one of them to every verb and route in turn, each in a process of its own, and prints as JSON the
most memory that each took. It is started afresh, because a child of the tests begins with all that they hold.
"""

import base64
import hashlib
import importlib
import json
import os
import re
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

from making import SESSION, Object, answer, attachment, event, image, jsonl, progress, reply, result, told, use, user

SIZE = 1_000_000
"""How large a transcript is, about."""
FILE = "/w/a.py"


def hash_of(message: Object) -> str:
    return hashlib.sha256(json.dumps(message, separators=(",", ":"), sort_keys=True).encode()).hexdigest()


def blob(text: str) -> tuple[str, Object]:
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    name = hash_of(message)
    return name, {"type": "api-request-blob", "hash": name, "message": message, "sessionId": SESSION}


def shape(text: str = "") -> Object:
    value = {"system": [{"type": "text", "text": text}], "tools": [{"name": "T", "description": text}]}
    return {"type": "api-request-shape", "shapeHash": "s", "shape": value, "sessionId": SESSION}


def request(id: str, tail: list[str], **more: Any) -> Object:
    params = {"model": "claude-opus-4-6"}
    note = {"type": "api-request", "id": id, "shapeHash": "s", "params": params, "keep": 0, "tail": tail}
    return {**note, "timestamp": "2026-11-01T10:00:01.000Z", "sessionId": SESSION, **more}


def one_blob_many_times() -> bytes:
    name, note = blob("A" * 300_000)
    return jsonl(*told(user("hi")), shape(), note, request("r", [name] * 10_000))


def one_blob_of_many_blocks() -> bytes:
    message: Object = {"role": "user", "content": [{}] * 100_000}
    note = {"type": "api-request-blob", "hash": "h", "message": message, "sessionId": SESSION}
    return jsonl(*told(user("hi")), shape(), note, request("r", ["h"] * 10_000))


def a_request_that_is_almost_too_large() -> bytes:
    name, note = blob("A\u00e9" * 25_000)
    return jsonl(*told(user("hi")), shape(), note, request("q", [name]), request("r", [name] * 10))


def many_blocks_that_are_almost_too_large() -> bytes:
    message: Object = {"role": "user", "content": [{}] * 300_000}
    note = {"type": "api-request-blob", "hash": "h", "message": message, "sessionId": SESSION}
    rows = jsonl(*told(user("hi")), shape(), note, request("q", ["h"]), request("r", ["h"] * 3))
    return rows.replace(b"{}, ", b"{},")


def growing_runs_that_are_almost_too_large() -> bytes:
    rows = [user([{}] * 2000) for _ in range(26)]
    names = [hash_of({"role": "user", "content": [{}] * (2000 * (n + 1))}) for n in range(len(rows))]
    return jsonl(*told(*rows), shape(), request("r", names)).replace(b"{}, ", b"{},")


def one_blob_in_many_requests() -> bytes:
    name, note = blob("A" * 300_000)
    rows = [request(f"r{n}", [name] * 80, requestDigest="0" * 64) for n in range(100)]
    return jsonl(*told(user("hi"), reply("a")), shape("b" * 100_000), note, *rows)


def requests_that_continue() -> bytes:
    """Each continues the one before, and adds a message."""
    rows, names = list[Object](), list[str]()
    for n in range(1200):
        name, note = blob(f"{n} " + "A" * 250)
        rows += [note, request(f"r{n}", [name], keep=n, base=f"r{n - 1}" if n else None, requestDigest="0" * 64)]
        names.append(name)
    return jsonl(*told(user("hi")), shape(), *rows)


def requests_of_growing_runs() -> bytes:
    """A message is the first rows of a run, so that all of them are quadratic in the run."""
    rows = [user("A" * 600) for _ in range(1000)]
    names = [
        hash_of({"role": "user", "content": [{"type": "text", "text": "A" * 600}] * (n + 1)}) for n in range(len(rows))
    ]
    return jsonl(*told(*rows), shape(), request("r", names))


def one_row_many_times() -> bytes:
    name, _ = blob("A" * 300_000)
    return jsonl(*told(user("A" * 300_000)), shape(), request("r", [name] * 10_000))


def many_cache_marks() -> bytes:
    name, note = blob("A" * 100_000)
    marks = [{"path": ["messages", n % 1000, "content", 0], "value": {"type": "ephemeral"}} for n in range(9_000)]
    return jsonl(*told(user("hi")), shape(), note, request("r", [name] * 1000, cacheControl=marks))


def a_request_that_keeps_very_many() -> bytes:
    rows = [request(f"r{n}", [], keep=10**9, base=f"r{n - 1}", requestDigest="0" * 64) for n in range(3000)]
    return jsonl(*told(user("hi")), shape(), *rows)


def wrote(id: str, content: str) -> list[Object]:
    data = {"type": "create", "filePath": FILE, "content": content, "structuredPatch": [], "originalFile": None}
    return [reply(use(id, "Write", file_path=FILE, content=content), id=f"m{id}"), answer(result(id), data=data)]


def edited(id: str, old: str, new: str, *, every: bool = False, **more: Any) -> list[Object]:
    given = {"file_path": FILE, "old_string": old, "new_string": new, "replace_all": every}
    data = {"filePath": FILE, "oldString": old, "newString": new, "originalFile": None, "replaceAll": every}
    return [
        reply(use(id, "Edit", **given), id=f"m{id}"),
        answer(result(id), data={**data, "structuredPatch": [], **more}),
    ]


def a_file_that_doubles() -> bytes:
    edits = [edited(f"e{n}", "a", "aa", every=True) for n in range(1000)]
    return jsonl(*told(user("hi"), *wrote("w", "a"), *(record for pair in edits for record in pair)))


def a_file_of_lines_that_doubles() -> bytes:
    edits = [edited(f"e{n}", "a\n", "a\na\n", every=True) for n in range(1000)]
    return jsonl(*told(user("hi"), *wrote("w", "a\n"), *(record for pair in edits for record in pair)))


def one_edit_that_squares() -> bytes:
    return jsonl(*told(user("hi"), *wrote("w", "a" * 100_000), *edited("e", "a", "b" * 100_000, every=True)))


def many_edits_that_double() -> bytes:
    edits = [{"old_string": "a", "new_string": "aa", "replace_all": True}] * 6000
    call = reply(use("e", "MultiEdit", file_path=FILE, edits=edits), id="me")
    data = {"filePath": FILE, "edits": edits, "originalFileContents": "a", "structuredPatch": []}
    return jsonl(*told(user("hi"), *wrote("w", "a"), call, answer(result("e"), data=data)))


def many_versions_of_a_large_file() -> bytes:
    edits = [edited(f"e{n}", f"#{n}#", f"#{n + 1}#") for n in range(700)]
    content = "".join(f"line {n}\n" for n in range(15_000)) + "#0#\n"
    return jsonl(*told(user("hi"), *wrote("w", content), *(record for pair in edits for record in pair)))


def hunks_that_claim_many_lines() -> bytes:
    hunk = {"oldStart": 10**9, "oldLines": 10**9, "newStart": 10**9, "newLines": 10**9, "lines": ["+a"]}
    edits = [edited(f"e{n}", "a", "b", structuredPatch=[hunk] * 8) for n in range(600)]
    return jsonl(*told(user("hi"), *wrote("w", "a"), *(record for pair in edits for record in pair)))


def reads_that_claim_many_lines() -> bytes:
    rows = list[Object]()
    for n in range(1000):
        file = {"filePath": FILE, "content": "a\nb", "numLines": 10**12, "startLine": 10**9, "totalLines": 10**12}
        rows += [reply(use(f"t{n}", "Read", file_path=FILE, offset=10**9, limit=10**9), id=f"m{n}")]
        rows += [answer(result(f"t{n}", "1000000000→a"), data={"type": "text", "file": file})]
    return jsonl(*told(user("hi"), *rows))


def empty_hunks() -> bytes:
    return jsonl(*told(user("hi"), *wrote("w", "a"), *edited("e", "a", "b", structuredPatch=[{}] * 250_000)))


def one_call_with_many_results() -> bytes:
    return jsonl(*told(user("hi"), reply(use("t", command="x")), *(answer(result("t", "x" * 40)) for _ in range(3500))))


def many_calls_with_one_id() -> bytes:
    calls = [reply(use("t", command="x"), id=f"m{n}") for n in range(2500)]
    return jsonl(*told(user("hi"), *calls, answer(result("t", "x" * 200_000))))


def progress_of_one_call() -> bytes:
    rows = [
        progress(
            "bash_progress", {"output": "x\n" * 20, "fullOutput": "x\n" * 60, "elapsedTimeSeconds": n}, toolUseID="t"
        )
        for n in range(2200)
    ]
    return jsonl(*told(user("hi"), reply(use("t", command="x")), *rows))


def progress_of_an_agent() -> bytes:
    rows = [
        progress("agent_progress", {"message": reply("x" * 100, id=f"a{n}"), "agentId": "a1", "prompt": "p" * 50},
                 toolUseID="t", parentToolUseID="t") for n in range(1500)
    ]  # fmt: skip
    return jsonl(*told(user("hi"), reply(use("t", "Task", prompt="x")), *rows))


def deep(opening: str, closing: str, place: str) -> bytes:
    count = SIZE // (len(opening) + len(closing))
    line = jsonl(*told(user("hi"), reply(use("t", "Odd", value="HERE")), answer(result("t", "THERE"), data="DATA")))
    return line.replace(b'"%s"' % place.encode(), (opening * count + closing * count).encode())


def wide(item: str, place: str) -> bytes:
    line = jsonl(*told(user("hi"), reply(use("t", "Odd", value="HERE")), answer(result("t", "THERE"), data="DATA")))
    return line.replace(b'"%s"' % place.encode(), f"[{','.join([item] * (SIZE // (len(item) + 1)))}]".encode())


def wide_object(place: str) -> bytes:
    line = jsonl(*told(user("hi"), reply(use("t", "Odd", value="HERE")), answer(result("t", "THERE"), data="DATA")))
    fields = ",".join(f'"{n}":0' for n in range(SIZE // 10))
    return line.replace(b'"%s"' % place.encode(), f"{{{fields}}}".encode())


def blocks(item: str, role: str) -> bytes:
    content = f"[{','.join([item] * (SIZE // (len(item) + 1)))}]"
    record = reply("HERE") if role == "assistant" else user([{"type": "text", "text": "HERE"}])
    line = jsonl(*told(user("hi"), record))
    return line.replace(json.dumps(record["message"]["content"]).encode(), content.encode())


def lists(tool: str, field: str, item: str, *, given: bool = False) -> bytes:
    content = f"[{','.join([item] * (SIZE // (len(item) + 1)))}]"
    data: Object = {"filePath": FILE, "content": "x"} if given else {field: "HERE"}
    call = reply(use("t", tool, **{field: "HERE"} if given else {"file_path": FILE, "pattern": "x"}))
    return jsonl(*told(user("hi"), call, answer(result("t", "done"), data=data))).replace(b'"HERE"', content.encode())


def many_branches() -> bytes:
    """A long conversation, and as many others that leave it at its end."""
    chain = told(*(user("x", isMeta=False) for _ in range(2500)))
    leaves = [
        {**user("y"), "uuid": f"l{n}", "parentUuid": "u2500", "sessionId": SESSION, "timestamp": "2026-01-01T00:00:00Z"}
        for n in range(2500)
    ]
    return jsonl(*chain, *leaves)


def many_turns() -> bytes:
    return jsonl(*told(*(record for n in range(1500) for record in (user("x" * 80), reply("y" * 80, id=f"m{n}")))))


def many_compactions() -> bytes:
    rows = list[Object]()
    for n in range(800):
        meta = {"trigger": "auto", "preTokens": 10**9}
        rows += [
            {
                "type": "system",
                "subtype": "compact_boundary",
                "content": "Conversation compacted",
                "compactMetadata": meta,
            }
        ]
        rows += [
            user("This session is being continued from a previous conversation " + "s" * 200, isCompactSummary=True)
        ]
        rows += [reply("a", id=f"m{n}")]
    return jsonl(*told(user("hi"), *rows))


def many_attachments() -> bytes:
    rows = [
        attachment("file", {"filename": f"f{n}", "content": {"type": "text", "file": {"content": "x"}}})
        for n in range(3000)
    ]
    return jsonl(*told(user("hi"), *rows))


def a_picture() -> bytes:
    return jsonl(*told(user([image("iVBORw0KGgo" + "A" * 900_000)])))


def a_picture_many_times() -> bytes:
    """A picture whose header claims more pixels than memory has."""
    header = "iVBORw0KGgoAAAANSUhEUgAAgAAAAIAACAYAAAD"
    return jsonl(*told(*(user([image(header + "A" * 400)]) for _ in range(1200))))


def partial_messages() -> bytes:
    delta = event("content_block_delta", index=0, delta={"type": "text_delta", "text": "x"})
    start = event("message_start", message={"id": "m", "role": "assistant", "content": []})
    begin = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    return jsonl(*(row | {"session_id": SESSION} for row in (start, begin, *[delta] * 6000)))


def rows_of_one_message() -> bytes:
    return jsonl(*told(user("hi"), *(reply("x" * 40, id="m", usage={"output_tokens": 1}) for _ in range(2500))))


def a_table_with_one_wide_cell() -> bytes:
    rows = "| a | b |\n|---|---|\n| " + "x" * 300_000 + " | y |\n" + "| a | b |\n" * 60_000
    return jsonl(*told(user("hi"), reply(rows)))


def a_table_of_many_columns() -> bytes:
    """Rows that are shorter than the head are filled up."""
    head = "|a" * 100_000 + "|\n" + "|-" * 100_000 + "|\n"
    return jsonl(*told(user("hi"), reply(head + "|x|\n" * 100_000)))


def quotes_that_go_on() -> bytes:
    return jsonl(*told(user("hi"), reply("> " * 5000 + "a\n" + "a\n" * 300_000)))


def lists_that_go_on() -> bytes:
    return jsonl(*told(user("hi"), reply("- " * 5000 + "a\n" + "a\n" * 300_000)))


def deep_list() -> bytes:
    return jsonl(*told(user("hi"), reply("".join("  " * n + "- a\n" for n in range(900)))))


def wide_text(character: str) -> bytes:
    return jsonl(*told(user("hi"), reply(character * 300_000)))


def many_lines() -> bytes:
    return jsonl(*told(user("hi"), reply("a\n" * 300_000), *wrote("w", "b\n" * 30_000)))


def other_lines() -> bytes:
    """A file all of whose lines change."""
    old = "".join(f"{n}\n" for n in range(20_000))
    new = "".join(f"{n} \n" for n in range(20_000, 0, -1))
    return jsonl(*told(user("hi"), *wrote("w", old), *edited("e", old, new, originalFile=old)))


def named(field: str) -> bytes:
    """A long value of the first record that every other one shares."""
    first, *rest = told(user("hi"), *(reply(use(f"t{n}", "Read", file_path=f"f{n}"), id=f"m{n}") for n in range(1500)))
    return jsonl({**first, field: "/" + "x" * 400_000}, *rest)


def a_long_title() -> bytes:
    rows = told(user("x" * 300_000), *(reply(use(f"t{n}", command="a"), id=f"m{n}") for n in range(1200)))
    titles = [{"type": name, "sessionId": SESSION, key: "t" * 100_000} for name, key in
              (("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("summary", "summary"))]  # fmt: skip
    return jsonl(*rows, *titles)


def years_apart() -> bytes:
    stamps = ("0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "9999-12-31T23:59:59Z")
    usage = {"input_tokens": 5, "output_tokens": 7}
    rows = [
        {**row, "timestamp": stamp, "uuid": f"{row['type']}{stamp}", "sessionId": SESSION, "parentUuid": None}
        for stamp in stamps
        for row in (user("hi"), reply("a", use(stamp, "Read", file_path=FILE), id=f"m{stamp}", usage=usage))
    ]
    return jsonl(*rows)


def huge_numbers() -> bytes:
    usage = {"input_tokens": 10**300, "output_tokens": 2**63, "cache_read_input_tokens": 10**18}
    rows = [reply("a", use(f"t{n}", command="x", timeout=10**400), id=f"m{n}", usage=usage) for n in range(700)]
    return jsonl(*told(user("hi"), *rows, {"type": "system", "subtype": "turn_duration", "durationMs": 10**300}))


def lines_of(line: str) -> bytes:
    return jsonl(*told(user("hi"))) + f"{line}\n".encode() * (SIZE // (len(line) + 1))


def many_agents() -> bytes:
    rows = list[Object]()
    for n in range(700):
        rows += [reply(use(f"t{n}", "Task", prompt="p", description="d"), id=f"m{n}")]
        rows += [user("p", isSidechain=True, parentUuid=None, agentId=f"a{n}")]
        rows += [answer(result(f"t{n}", "x" * 100), data={"agentId": f"a{n}", "status": "completed"})]
    return jsonl(*told(user("hi"), *rows))


def secrets_everywhere() -> bytes:
    keys = [f"password={hashlib.sha256(str(n).encode()).hexdigest()[:20]}" for n in range(20_000)]
    return jsonl(*told(user("\n".join(keys)), reply(" ".join(key[9:] for key in keys[:10_000]))))


def a_short_secret() -> bytes:
    return jsonl(*told(user("password: hunter2x"), reply("hunter2x" * 100_000)))


def base64_in_base64() -> bytes:
    data = b"password=hunter2xQ9!" * 100
    while len(data) < 700_000:
        data = base64.b64encode(data)
    return jsonl(*told(user(data.decode())))


def unknown_records() -> bytes:
    rows = [{"type": f"odd{n}", f"field{n}": n, "sessionId": SESSION} for n in range(10_000)]
    return jsonl(*told(user("hi")), *rows)


def many_todos() -> bytes:
    rows = list[Object]()
    todos = [{"content": f"t{n}", "status": "pending", "activeForm": "x"} for n in range(120)]
    for n in range(60):
        rows += [reply(use(f"t{n}", "TodoWrite", todos=todos), id=f"m{n}")]
        rows += [answer(result(f"t{n}"), data={"oldTodos": todos, "newTodos": todos})]
    return jsonl(*told(user("hi"), *rows))


AMPLIFIERS: dict[str, Callable[[], bytes]] = {
    made.__name__: made
    for made in (
        one_blob_many_times, one_blob_of_many_blocks, a_request_that_is_almost_too_large, one_blob_in_many_requests,
        many_blocks_that_are_almost_too_large, growing_runs_that_are_almost_too_large, requests_that_continue,
        requests_of_growing_runs, one_row_many_times, many_cache_marks, a_request_that_keeps_very_many,
        a_file_that_doubles, a_file_of_lines_that_doubles, one_edit_that_squares, many_edits_that_double,
        many_versions_of_a_large_file, hunks_that_claim_many_lines, reads_that_claim_many_lines, empty_hunks,
        one_call_with_many_results, many_calls_with_one_id, progress_of_one_call, progress_of_an_agent, many_branches,
        many_turns, many_compactions, many_attachments, a_picture, a_picture_many_times, partial_messages,
        rows_of_one_message, a_table_with_one_wide_cell, a_table_of_many_columns, quotes_that_go_on, lists_that_go_on,
        deep_list, many_lines, other_lines, a_long_title, years_apart, huge_numbers, many_agents, secrets_everywhere,
        a_short_secret, base64_in_base64, unknown_records, many_todos,
    )
} | {
    "deep arrays": lambda: deep("[", "]", "HERE"),
    "deep objects": lambda: deep('{"a":', "}", "HERE").replace(b":}", b":1}"),
    "deep result": lambda: deep("[", "]", "THERE"),
    "deep data": lambda: deep("[", "]", "DATA"),
    "wide objects": lambda: wide("{}", "HERE"),
    "wide numbers": lambda: wide("1.5", "DATA"),
    "wide fields": lambda: wide_object("HERE"),
    "wide fields of data": lambda: wide_object("DATA"),
    "wide result": lambda: wide('""', "THERE"),
    "empty blocks": lambda: blocks("{}", "user"),
    "string blocks": lambda: blocks('""', "assistant"),
    "text blocks": lambda: blocks('{"type":"text","text":"a"}', "assistant"),
    "call blocks": lambda: blocks('{"type":"tool_use","name":"Read"}', "assistant"),
    "result blocks": lambda: blocks('{"type":"tool_result"}', "user"),
    "image blocks": lambda: blocks('{"type":"image"}', "user"),
    "edits": lambda: lists("MultiEdit", "edits", "{}", given=True),
    "todos": lambda: lists("TodoWrite", "todos", "{}", given=True),
    "questions": lambda: lists("AskUserQuestion", "questions", "{}", given=True),
    "filenames": lambda: lists("Glob", "filenames", '"a"'),
    "patch lines": lambda: lists("Edit", "structuredPatch", '{"lines":["+a","-b"]}'),
    "web results": lambda: lists("WebSearch", "results", '{"content":[{}]}'),
    "tabs": lambda: wide_text("\t"),
    "controls": lambda: wide_text("\x1b"),
    "wide characters": lambda: wide_text("字"),
    "marks": lambda: wide_text("*"),
    "brackets": lambda: wide_text("["),
    "long cwd": lambda: named("cwd"),
    "long session id": lambda: named("sessionId"),
    "long branch": lambda: named("gitBranch"),
    "long version": lambda: named("version"),
    "lines {}": lambda: lines_of("{}"),
    "lines 1": lambda: lines_of("1"),
    "lines x": lambda: lines_of("x"),
    "lines user": lambda: lines_of('{"type":"user"}'),
    "lines assistant": lambda: lines_of('{"type":"assistant","message":{}}'),
    "lines system": lambda: lines_of('{"type":"system","subtype":"x"}'),
}  # fmt: skip

VERBS: dict[str, str] = {
    **{f"show {more}": f"show PATH {more}" for more in ("--full", "--json")},
    **{
        more: f"{more} PATH"
        for more in ("context --json", "check --json", "files", "diff --json", "stats --by=tool,day")
    },
    **{f"export -f {form}": f"export PATH -f {form} -o OUT" for form in ("html", "markdown", "otlp")},
    "show a request --full": "show PATH:reqlatest --full",
    "show a request --json": "show PATH:reqlatest --json",
    "diff of requests": "diff PATH:req1 PATH:req2",
    "file": f"file {FILE} PATH",
    "usage": "usage PATH --by=day",
    "tables": "--root ROOT tables -o TABLES --text",
    "search": "--root ROOT search hi",
}
ROUTES = (
    *("", "/items?count=200&whole=1", "/outline", "/lines?line=2&whole=1", "/context", "/requests/1?whole=1"),
    *("/requests/2?changes=1", "/waterfall", "/files/0/1?whole=1", "/files/0/diff", "/files/0/blame", "/export"),
)


def main(name: str, folder: Path, chosen: str) -> None:
    """Measure the verbs and routes whose titles match a pattern."""
    path = folder / f"claude/projects/-w/{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(AMPLIFIERS[name]())
    names = {"PATH": str(path), "ROOT": str(folder / "claude"), "OUT": str(folder / "out"), "TABLES": str(folder / "t")}
    for verb in ("show", "context", "export", "diff", "check", "files", "stats", "usage"):
        importlib.import_module(f"reread.cli.{verb}")
    found: dict[str, int | str] = {}
    for title, given in VERBS.items():
        if not re.search(chosen, title):
            continue
        for placeholder, value in names.items():
            given = given.replace(placeholder, value)
        found[title] = peak(lambda given=given: run_verb(given.split()))
    for route in (route for route in ROUTES if re.search(chosen, f"GET {route}")):
        found[f"GET {route}"] = peak(lambda route=route: ask(folder / "claude", route))
    print(json.dumps(found))


def run_verb(words: list[str]) -> None:
    from reread.cli import main as reread

    sys.argv = ["reread", *words]
    try:
        reread()
    except SystemExit as end:
        assert end.code in (0, 1, 2), end.code


def ask(root: Path, route: str) -> None:
    from starlette.testclient import TestClient

    from reread.server.library import SessionLibrary
    from reread.server.routes import make_app

    app = make_app(SessionLibrary([root], count=False))
    with closing(app.state.library), closing(app.state.open_sessions), TestClient(app) as client:
        answer = client.get(f"/api/sessions/{SESSION}{route}")
        assert answer.status_code < 500, answer.status_code


def peak(work: Callable[[], None]) -> int | str:
    """The most megabytes that a process took for it, or how it failed."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        measure(work, write)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return int(said) if said.isdigit() else said or "killed"


def measure(work: Callable[[], None], result: int) -> NoReturn:
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    said = ""
    try:
        work()
        sys.stdout.flush()
        status = Path("/proc/self/status").read_text()
        said = str(int(status.partition("VmHWM:")[2].split()[0]) >> 10)
    except BaseException as error:
        said = repr(error)
    finally:
        os.write(result, said.encode())
        os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
