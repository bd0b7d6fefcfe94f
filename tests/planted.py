"""A session with a needle in every hiding place."""

from __future__ import annotations

import base64
import json
import random
import string
from pathlib import Path
from typing import Any

ID = "0b5a6f6e-1111-4222-8333-944455556666"
ALPHANUMERIC = string.ascii_letters + string.digits


def needle(place: str) -> str:
    """Return a token of its own for a place, in a vendor's format."""
    return "ghp" + "_" + "".join(random.Random(place).choices(ALPHANUMERIC, k=36))


class Planting:
    """Makes records, and remembers every needle that is in them."""

    def __init__(self) -> None:
        self.needles: dict[str, str] = {}
        self._count = 0

    def __call__(self, place: str) -> str:
        self.needles[place] = needle(place)
        return self.needles[place]

    def record(self, type: str, **fields: Any) -> dict[str, Any]:
        self._count += 1
        own = f"00000000-0000-4000-8000-{self._count:012d}"
        parent = f"00000000-0000-4000-8000-{self._count - 1:012d}" if self._count > 1 else None
        base = {"parentUuid": parent, "isSidechain": False, "cwd": "/home/wilhelmina/shop", "sessionId": ID}
        stamp = f"2026-03-01T10:00:{self._count % 60:02d}.000Z"
        return {"type": type, **base, "version": "2.1.220", "uuid": own, "timestamp": stamp, **fields}

    def prompt(self, content: Any, **fields: Any) -> dict[str, Any]:
        return self.record("user", message={"role": "user", "content": content}, **fields)

    def answer(self, *blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
        usage = {"input_tokens": 10, "output_tokens": 5}
        message = {"id": f"msg_{self._count}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5"}
        return self.record("assistant", message={**message, "content": list(blocks), "usage": usage}, **fields)

    def result(self, id: str, content: Any, data: Any = None) -> dict[str, Any]:
        block = {"type": "tool_result", "tool_use_id": id, "content": content}
        return self.prompt([block], toolUseResult=data if data is not None else content)


def call(id: str, name: str, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def plant(folder: Path) -> tuple[Path, dict[str, str]]:
    """Write a native session with agents, spilled results and attachments; return its file and all needles."""
    secret = Planting()
    own = folder / "projects" / "-home-wilhelmina-shop" / f"{ID}.jsonl"
    lines: list[bytes] = []

    def add(value: Any) -> None:
        lines.append(json.dumps(value).encode() + b"\n")

    add({"type": "summary", "summary": f"About {secret('summary')}", "leafUuid": "x"})
    add({"type": "custom-title", "customTitle": f"Deploy with {secret('title')}", "sessionId": ID})
    add(secret.prompt(f"My key is {secret('prompt')}, mail me at wilhelmina.k@harbor-post.org"))
    add(secret.prompt([text(secret("block")), {"type": "image", "source": _picture(secret("in a picture"))}]))
    add(secret.answer({"type": "thinking", "thinking": f"hm {secret('thinking')}", "signature": "QUJD" * 30}))
    add(secret.answer(call("toolu_1", "Bash", command=f"curl -H 'X: {secret('input')}' x", description="call")))
    add(secret.result("toolu_1", f"out {secret('result')}", {"stdout": secret("stdout"), "stderr": secret("stderr")}))
    nested = json.dumps({"config": {"key": secret("json in json")}})
    add(secret.answer(call("toolu_2", "Write", file_path=f"/tmp/{secret('file name')}.txt", content=nested)))
    patch = {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 2, "lines": [f"+k={secret('diff')}", "-x"]}
    add(secret.result("toolu_2", "ok", {"filePath": "/tmp/x", "structuredPatch": [patch], "originalFile": None}))
    add(secret.answer(text(base64.b64encode(f"token {secret('base64')} end".encode()).decode())))
    add(secret.answer(text("see https://x.dev/?t=" + "".join(f"%{ord(c):02X}" for c in secret("percent")))))
    wrapped = secret("wrapped")
    add(secret.answer(text(f"$ echo\n{wrapped[:17]}\n{wrapped[17:]}\n$")))
    add(
        secret.answer(
            call(
                "toolu_3",
                "mcp__x__y",
                **{secret("key"): 1, "n": [secret("list")], "deep": {"a": [[{"b": secret("deep")}]]}},
            )
        )
    )
    add(
        secret.record(
            "attachment",
            attachment={
                "type": "file",
                "filename": f"{secret('attachment name')}.md",
                "content": {"type": "text", "file": {"filePath": "a", "content": secret("attachment")}},
            },
        )
    )
    add(
        secret.record(
            "system",
            subtype="stop_hook_summary",
            content=f"hook {secret('system')}",
            hookInfos=[{"command": secret("hook")}],
        )
    )
    add(
        secret.record(
            "progress",
            data={"type": "bash_progress", "output": secret("progress"), "fullOutput": secret("full output")},
        )
    )
    add(
        {
            "type": "queue-operation",
            "operation": "enqueue",
            "content": secret("queued"),
            "sessionId": ID,
            "timestamp": "2026-03-01T10:00:59.000Z",
        }
    )
    add(
        {
            "type": "file-history-snapshot",
            "messageId": "m",
            "snapshot": {"trackedFileBackups": {f"/x/{secret('tracked')}": {"version": 1}}},
            "isSnapshotUpdate": False,
        }
    )
    add(secret.prompt("done", gitBranch=f"fix/{secret('branch')}", slug=secret("slug")))
    escaped = json.dumps(secret.prompt("A" + secret("escaped") + "B"))
    token = secret.needles["escaped"]
    lines.append(
        escaped.replace(f"A{token}B", "x " + "".join(f"\\u{ord(c):04x}" for c in token) + " y").encode() + b"\n"
    )
    doubled = secret("doubled key")
    lines.append(
        json.dumps(secret.prompt("twice")).replace('"message"', f'"extra":"{doubled}","extra":"y","message"').encode()
        + b"\n"
    )
    lines.append(f'{{"type":"user","torn":"{secret("torn")}","message":{{"con'.encode() + b"\n")
    lines.append(b"not json at all " + secret("not json").encode() + b"\n")
    add(secret.answer(call("toolu_9", "Task", description="look", prompt="look", subagent_type="Explore")))
    add(
        secret.result(
            "toolu_9", "found", {"status": "completed", "agentId": "a1b2c3", "content": [text(secret("agent result"))]}
        )
    )
    own.parent.mkdir(parents=True)
    own.write_bytes(b"".join(lines))
    inner = own.with_suffix("")
    (inner / "subagents").mkdir(parents=True)
    (inner / "tool-results").mkdir()
    agent = [secret.prompt(f"look {secret('agent prompt')}", agentId="a1b2c3", isSidechain=True)]
    agent += [secret.answer(text(secret("agent answer")), agentId="a1b2c3", isSidechain=True)]
    path = inner / "subagents" / "agent-a1b2c3.jsonl"
    path.write_bytes(b"".join(json.dumps(value).encode() + b"\n" for value in agent))
    path.with_suffix(".meta.json").write_text(json.dumps({"agentType": "Explore", "note": secret("agent metadata")}))
    (inner / "tool-results" / "toolu_7.txt").write_text(f"line\n{secret('spilled')}\n")
    return own, secret.needles


def stream(folder: Path) -> tuple[Path, dict[str, str]]:
    """Write the output of a stream in which needles are split over deltas."""
    secret = Planting()
    base = {"session_id": ID, "parent_tool_use_id": None, "uuid": "u"}
    records: list[dict[str, Any]] = [
        {"type": "system", "subtype": "init", "cwd": "/home/wilhelmina/shop", "tools": [], "model": "m", **base}
    ]

    def event(**fields: Any) -> None:
        records.append({"type": "stream_event", "event": fields, **base})

    event(type="message_start", message={"id": "msg_1", "role": "assistant", "model": "m", "content": []})
    whole = {
        "text": f"the key {secret('text delta')} is",
        "partial_json": json.dumps({"command": f"use {secret('input delta')}"}),
    }
    whole["thinking"] = f"so {secret('thinking delta')}, then"
    for index, (field, value) in enumerate(whole.items()):
        kind = {"text": "text_delta", "partial_json": "input_json_delta", "thinking": "thinking_delta"}[field]
        event(type="content_block_start", index=index, content_block={"type": "text", "text": ""})
        for n in range(0, len(value), 7):
            event(type="content_block_delta", index=index, delta={"type": kind, field: value[n : n + 7]})
        event(type="content_block_stop", index=index)
    records.append(
        {
            "type": "assistant",
            "message": {"id": "msg_1", "role": "assistant", "model": "m", "content": [text(whole["text"])]},
            **base,
        }
    )
    records.append(
        {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "result": secret("result text"),
            "total_cost_usd": 0.1,
            **base,
        }
    )
    path = folder / "stream.jsonl"
    path.write_bytes(b"".join(json.dumps(record).encode() + b"\n" for record in records))
    return path, secret.needles


def _picture(hidden: str) -> dict[str, str]:
    data = b"\x89PNG\r\n\x1a\n" + hidden.encode() + bytes(range(256))
    return {"type": "base64", "media_type": "image/png", "data": base64.b64encode(data).decode()}
