"""Make sessions whose API requests are noted as Claude Code notes them, hashed by an implementation of its own."""

import hashlib
import json
from itertools import count
from typing import Any

NOT_DIGESTED = ("metadata", "stream", "thread", "diagnostics", "safeguards", "data_flow")
PARAMS = {"model": "claude-sonnet-4-5", "max_tokens": 32000, "betas": ["b"], "stop_sequences": ["x"]}
SYSTEM = [{"type": "text", "text": "You are a helper."}, {"type": "text", "text": "Be short."}]
TOOLS = [
    {"name": "Read", "description": "Reads a file", "input_schema": {"type": "object"}},
    {"name": "mcp__tiny__echo", "description": "Echo", "input_schema": {"type": "object"}},
]


def unmarked(value: Any) -> Any:
    """Return a value without cache marks."""
    if isinstance(value, list):
        return [unmarked(item) for item in value]
    return {k: unmarked(v) for k, v in value.items() if k != "cache_control"} if isinstance(value, dict) else value


def in_blocks(message: dict[str, Any]) -> dict[str, Any]:
    content = message["content"]
    return {**message, "content": [{"type": "text", "text": content}]} if isinstance(content, str) else message


def text_of(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def hash_of(value: Any) -> str:
    return hashlib.sha256(text_of(unmarked(value)).encode()).hexdigest()


def digest_of(body: dict[str, Any]) -> str:
    kept = {k: v for k, v in body.items() if k not in NOT_DIGESTED}
    return hashlib.sha256(text_of({**kept, "messages": [in_blocks(m) for m in body["messages"]]}).encode()).hexdigest()


def marks_of(value: Any, path: tuple[Any, ...] = ()) -> list[dict[str, Any]]:
    """Return the cache marks in a value, with their paths."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found: list[dict[str, Any]] = []
    for name, item in items:
        if name == "cache_control":
            found.append({"path": list(path), "value": item})
        else:
            found += marks_of(item, (*path, name))
    return found


class RequestedSession:
    """Lines of a session, written as it goes on."""

    def __init__(self, id: str = "11111111-2222-4333-8444-555555555555", **common: Any) -> None:
        self.id = id
        self.lines: list[dict[str, Any]] = []
        self.sent: list[dict[str, Any]] = []
        self._common = common
        self._numbers = count(1)
        self._parent: str | None = None
        self._written: set[str] = set()
        self._last: tuple[str, list[str]] | None = None
        self._run: list[Any] = []
        self._key: tuple[str, str | None] = ("", None)

    def add(self, type: str, **fields: Any) -> None:
        """Write any record."""
        self.lines.append({"type": type, "sessionId": self.id, **self._common, **fields})

    def row(self, role: str, content: Any, id: str | None = None, **fields: Any) -> None:
        """Write a row of a message."""
        number = next(self._numbers)
        uuid = f"00000000-0000-4000-8000-{number:012d}"
        message = {"role": role, "content": content}
        if role == "assistant":
            usage = fields.pop("usage", {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 90})
            message |= {"id": id, "type": "message", "model": PARAMS["model"], "usage": usage}
        stamp = f"2026-11-15T10:{number // 60 % 60:02d}:{number % 60:02d}.000Z"
        self.add(role, uuid=uuid, parentUuid=self._parent, timestamp=stamp, message=message, cwd="/p", **fields)
        self._parent = uuid
        key = (role, None if role == "user" else id)
        self._run = [*self._run, *in_blocks(message)["content"]] if key == self._key else in_blocks(message)["content"]
        self._key = key
        self._written.add(hash_of({"role": role, "content": self._run}))

    def send(self, messages: list[Any], *, system: Any = None, tools: Any = None, **fields: Any) -> dict[str, Any]:
        """Note a request, with its parts that no row has; `fields` replace those of the note."""
        shape = {"system": SYSTEM if system is None else system, "tools": TOOLS if tools is None else tools}
        params = fields.pop("params", PARAMS)
        body = {**shape, **(params if isinstance(params, dict) else {}), "messages": messages}
        if hash_of(shape) not in self._written:
            self._written.add(hash_of(shape))
            self.add("api-request-shape", shapeHash=hash_of(shape), shape=unmarked(shape))
        hashes = [hash_of(in_blocks(message)) for message in messages]
        for message, hash in zip(messages, hashes, strict=True):
            if hash not in self._written:
                self._written.add(hash)
                self.add("api-request-blob", hash=hash, message=unmarked(message))
        last = self._last[1] if self._last else []
        keep = next(
            (n for n, (a, b) in enumerate(zip(last, hashes, strict=False)) if a != b), min(len(last), len(hashes))
        )
        note = {
            "id": f"request-{len(self.sent) + 1}",
            "timestamp": f"2026-11-15T11:00:{len(self.sent) % 60:02d}.000Z",
            "querySource": "sdk",
            "shapeHash": hash_of(shape),
            "params": params,
            **({"base": self._last[0]} if keep and self._last else {}),
            "keep": keep,
            "tail": hashes[keep:],
            "cacheControl": marks_of({**shape, "messages": messages}),
            "requestDigest": digest_of(body),
            **fields,
        }
        self.add("api-request", **note)
        self._last = (note["id"], hashes)
        self.sent.append(body)
        return body

    @property
    def data(self) -> bytes:
        """The session's bytes."""
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in self.lines).encode()


def marked(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message with a cache mark at its last block."""
    *first, last = in_blocks(message)["content"]
    return {**message, "content": [*first, {**last, "cache_control": {"type": "ephemeral"}}]}


def conversation(turns: int = 3) -> RequestedSession:
    """Return a session of some turns, each with a call and its result: two requests for each."""
    made = RequestedSession()
    reminder = {
        "role": "user",
        "content": [{"type": "text", "text": "<system-reminder>\nKeep it short.\n</system-reminder>"}],
    }
    messages: list[Any] = [reminder]
    for n in range(1, turns + 1):
        made.row("user", f"Question {n}: où est «é» 😀?")
        messages.append({"role": "user", "content": f"Question {n}: où est «é» 😀?"})
        made.send([*messages[:-1], marked(messages[-1])])
        blocks = [
            {"type": "text", "text": f"I look {n}."},
            {
                "type": "tool_use",
                "id": f"toolu_{n}",
                "name": "Read",
                "input": {"file_path": f"/p/{n}.py", "limit": 0.5},
            },
        ]
        for block in blocks:
            made.row("assistant", [block], id=f"msg_{n}a")
        result = [{"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": f"line {n}\n" * 20}]
        made.row("user", result)
        messages += [{"role": "assistant", "content": blocks}, {"role": "user", "content": result}]
        made.send([*messages[:-1], marked(messages[-1])])
        made.row("assistant", [{"type": "text", "text": f"Answer {n}."}], id=f"msg_{n}b")
        messages.append({"role": "assistant", "content": [{"type": "text", "text": f"Answer {n}."}]})
    return made
