"""A stub of the Messages API on loopback, which answers from scripts and writes down what it was asked and answered.

The last prompt with a mark `[[SCN:name]]` chooses the script, and the number of answers since then the turn. Requests
without tools, such as those for titles, get a short answer. Without a mark, the prompt itself can name its script.
Tokens are what a prompt cache that works like the API's reads and writes, at the time of the client.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import threading
import time
from collections.abc import Container
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

LOOK_BACK = 20
"""So many blocks before a cache mark are looked at for something that is cached."""
MARK = re.compile(r"\[\[SCN:(\w+)\]\]")
Object = dict[str, Any]


class StubApi:
    """The server, the scripts that it answers from, and the files with the truth and with what was asked."""

    def __init__(self, scripts: dict[str, list[Object]], truth: Path, requests: Path) -> None:
        self.scripts = scripts
        self.truth = truth
        self.requests = requests
        self.cache = PromptCache()
        self.failed: set[tuple[str, int]] = set()
        self._numbers = itertools.count(1 + (truth.stat().st_size if truth.exists() else 0))  # no id comes again
        self._lock = threading.Lock()

    def serve(self, port: int) -> None:
        """Answer requests in the background."""
        handler = type("Handler", (_Handler,), {"api": self})
        server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def new_id(self, prefix: str) -> str:
        """Return an id that looks like one of the API."""
        return prefix + "01" + hashlib.sha256(f"{prefix}{next(self._numbers)}".encode()).hexdigest()[:22]

    def note(self, answer: Object) -> None:
        """Write down an answer."""
        self._append(self.truth, answer)

    def note_request(self, name: str, body: Object) -> None:
        """Write down a request, and the script that it plays."""
        self._append(self.requests, {"script": name, "body": body})

    def _append(self, path: Path, value: Object) -> None:
        with self._lock, path.open("a") as file:
            file.write(json.dumps(value) + "\n")

    def turn(self, body: Object) -> tuple[str, int, Object]:
        """Return the script that a request plays, its turn, and the answer to give."""
        name, number = _place(body.get("messages", []), self.scripts)
        tools = {tool.get("name") for tool in body.get("tools") or ()}
        if not tools or name not in self.scripts:
            return "", 0, {"blocks": [{"type": "text", "text": '{"title": "A stub session"}'}]}
        turns = [turn for turn in self.scripts[name] if _offered(turn, tools)]
        return name, number, turns[number] if number < len(turns) else {"blocks": [{"type": "text", "text": "Over."}]}


class PromptCache:
    """What the API holds of prompts: the beginnings up to cache marks, each until it expires after its last use."""

    def __init__(self) -> None:
        self.ahead = 0
        """By how many seconds the clock of the client is ahead."""
        self._kept: dict[str, tuple[float, int]] = {}
        """When a beginning expires, and how many seconds it lives."""

    def usage(self, body: Object) -> Object:
        """Return the tokens of a prompt that are read, written and neither; four bytes are one token."""
        blocks = [*(body.get("tools") or ()), *_blocks(body.get("system")), *_message_blocks(body["messages"])]
        now, beginning = time.time() + self.ahead, hashlib.sha256(str(body.get("model")).encode())
        names, sizes, lives = [""], [0], dict[int, int]()
        for at, block in enumerate(blocks, 1):
            text = json.dumps({name: value for name, value in block.items() if name != "cache_control"}, sort_keys=True)
            beginning.update(text.encode())
            names.append(beginning.hexdigest())
            sizes.append(sizes[-1] + len(text.encode()))
            if "cache_control" in block:
                lives[at] = 3600 if block["cache_control"].get("ttl") == "1h" else 300
        looked_at = sorted({at for mark in lives for at in range(max(1, mark - LOOK_BACK + 1), mark + 1)})
        read = max((at for at in looked_at if self._kept.get(names[at], (0, 0))[0] > now), default=0)
        written = {300: 0, 3600: 0}
        end = read
        for mark, life in sorted(lives.items()):
            written[life] += max(0, sizes[mark] - sizes[end]) // 4
            end = max(end, mark)
            self._kept[names[mark]] = (now + life, life)
        if read:
            life = self._kept[names[read]][1]
            self._kept[names[read]] = (now + life, life)
        return {
            "input_tokens": 4 + (sizes[-1] - sizes[end]) // 4,
            "cache_creation_input_tokens": sum(written.values()),
            "cache_read_input_tokens": sizes[read] // 4,
            "cache_creation": {
                "ephemeral_5m_input_tokens": written[300],
                "ephemeral_1h_input_tokens": written[3600],
            },
        }


def _blocks(content: Any) -> list[Object]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())


def _message_blocks(messages: list[Object]) -> list[Object]:
    return [{**block, "role": message["role"]} for message in messages for block in _blocks(message.get("content"))]


def _place(messages: list[Object], scripts: Container[str]) -> tuple[str, int]:
    """Return the script that the last mark or prompt names, and how many answers came since."""
    for at in range(len(messages) - 1, -1, -1):
        texts = _texts(messages[at])
        found = MARK.findall("\n".join(texts)) or [text for text in texts if text in scripts]
        if messages[at]["role"] == "user" and found:
            roles = [message["role"] for message in messages[at:] if message["role"] in ("user", "assistant")]
            return found[-1], sum(role == "assistant" for role, _ in itertools.groupby(roles))
    return "", 0


def _texts(message: Object) -> list[str]:
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    return [block.get("text", "") for block in content or () if block.get("type") == "text"]


def _offered(turn: Object, tools: set[str]) -> bool:
    """True if the client has the tools that a turn calls; `unknown` turns call one that it must not have."""
    names = [block["name"] for block in turn["blocks"] if block["type"] == "tool_use"]
    return turn.get("unknown", False) or all(tools.intersection(_names(name)) for name in names)


def _names(name: str | list[str]) -> list[str]:
    return [name] if isinstance(name, str) else name


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api: StubApi

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._send(200, {})

    def do_GET(self) -> None:
        self._send(404, {"type": "error", "error": {"type": "not_found_error", "message": "not in the stub"}})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.partition("?")[0]
        if path == "/v1/messages/count_tokens":
            return self._send(200, {"input_tokens": max(1, len(raw) // 4)})
        if path != "/v1/messages":
            return self.do_GET()
        body = json.loads(raw)
        name, number, turn = self.api.turn(body)
        self.api.note_request(name, body)
        error = turn.get("error")
        if error and (name, number) not in self.api.failed:
            self.api.failed.add((name, number))
            return self._send(error, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
        message = self._message(body, turn)
        if name:
            self.api.note({"script": name, "turn": number, "request": body, "message": message})
        if body.get("stream"):
            return self._stream(message)
        return self._send(200, message)

    def _message(self, body: Object, turn: Object) -> Object:
        tools = {tool.get("name") for tool in body.get("tools") or ()}
        blocks = [dict(block) for block in turn["blocks"]]
        for block in blocks:
            if block["type"] == "tool_use":
                names = _names(block["name"])
                block |= {"id": self.api.new_id("toolu_"), "name": next((n for n in names if n in tools), names[0])}
        called = any(block["type"] == "tool_use" for block in blocks)
        return {
            "id": self.api.new_id("msg_"),
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": blocks,
            "stop_reason": turn.get("stop") or ("tool_use" if called else "end_turn"),
            "stop_sequence": None,
            "usage": {
                **self.api.cache.usage(body),
                "output_tokens": sum(len(json.dumps(block)) for block in blocks) // 4,
                "service_tier": "standard",
            },
        }

    def _send(self, code: int, value: Object) -> None:
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.send_header("request-id", self.api.new_id("req_"))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, message: Object) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("request-id", self.api.new_id("req_"))
        self.send_header("connection", "close")
        self.end_headers()
        started = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
        self._event("message_start", message=started)
        for index, block in enumerate(message["content"]):
            empty, deltas = _pieces(block)
            self._event("content_block_start", index=index, content_block=empty)
            for delta in deltas:
                self._event("content_block_delta", index=index, delta=delta)
            self._event("content_block_stop", index=index)
        ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        self._event("message_delta", delta=ended, usage=message["usage"])
        self._event("message_stop")
        self.close_connection = True

    def _event(self, type: str, **fields: Any) -> None:
        self.wfile.write(f"event: {type}\ndata: {json.dumps({'type': type, **fields})}\n\n".encode())
        self.wfile.flush()


def _pieces(block: Object) -> tuple[Object, list[Object]]:
    """Return a block as it starts, and what is streamed of it."""
    if block["type"] == "text":
        half = len(block["text"]) // 2
        pieces = (block["text"][:half], block["text"][half:])
        return {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]
    if block["type"] == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": block["thinking"]}]
        return {"type": "thinking", "thinking": ""}, [
            *deltas,
            {"type": "signature_delta", "signature": block["signature"]},
        ]
    if block["type"] == "tool_use":
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
    return block, []
