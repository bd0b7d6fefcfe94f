"""API requests: one rebuilt and proven in a new process, all of a session, and what opening it costs because of them.

PYTHONPATH=tests python bench/requests.py   # 50 MB with 2,000 requests, and the same session without them
"""

from __future__ import annotations

import hashlib
import random
from pathlib import Path
from typing import Any

import measure
import orjson
from measure import Row
from requested import NOT_DIGESTED, PARAMS, SYSTEM, RequestedSession, hash_of, marked, text_of

DATA = measure.data()
import reread  # noqa: E402  (after the home folder is set)

MB, REQUESTS, WINDOW = 50, 2000, 800_000
"""The size of the session, its requests, and the bytes of messages at which it is compacted: about 200,000 tokens."""
TOOLS = [
    {"name": f"Tool{n}", "description": f"Does number {n}. " * 60, "input_schema": {"type": "object"}}
    for n in range(30)
]
NOTES = frozenset({"api-request", "api-request-blob", "api-request-shape"})


class LongSession(RequestedSession):
    """A session whose requests are noted in the time that they add, not in that of all that they send."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[tuple[bytes, str]] = []
        """The canonical text and the hash of each message of the context."""
        self.said: dict[str, Any] = {}
        self.size = self.count = 0
        self.last: list[str] = []
        shape: dict[str, Any] = {"system": SYSTEM, "tools": TOOLS}
        self.shape = hash_of(shape)
        self.add("api-request-shape", shapeHash=self.shape, shape=shape)
        fields = {**shape, **PARAMS}
        kept = sorted(name for name in fields if name not in NOT_DIGESTED)
        texts = {name: f'"{name}":{text_of(fields[name])}'.encode() for name in kept}
        self.head = b"{" + b"".join(texts[name] + b"," for name in kept if name < "messages") + b'"messages":['
        self.tail = b"]" + b"".join(b"," + texts[name] for name in kept if name > "messages") + b"}"

    def say(self, role: str, blocks: list[Any], id: str | None = None) -> None:
        """Write the rows of a message, and add it to the context."""
        for block in blocks:
            number = len(self.lines)
            message: dict[str, Any] = {"role": role, "content": [block]}
            if role == "assistant":
                message |= {"id": id, "model": PARAMS["model"], "usage": {"input_tokens": 9, "output_tokens": 5}}
            stamp = f"2026-11-15T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}.000Z"
            parent = f"u{number - 1}" if self.messages else None
            self.add(role, uuid=f"u{number}", parentUuid=parent, timestamp=stamp, message=message, cwd="/p")
        self.said = {"role": role, "content": blocks}
        text = text_of(self.said).encode()
        self.messages.append((text, hashlib.sha256(text).hexdigest()))
        self.size += len(text)

    def ask(self) -> None:
        """Note a request with all messages of the context, and a cache mark at the last."""
        texts = [*(text for text, _ in self.messages[:-1]), text_of(marked(self.said)).encode()]
        digest = hashlib.sha256(self.head + b",".join(texts) + self.tail).hexdigest()
        place = ["messages", len(texts) - 1, "content", len(self.said["content"]) - 1]
        marks = [{"path": place, "value": {"type": "ephemeral"}}]
        hashes = [hash for _, hash in self.messages]
        keep = len(self.last) if hashes[: len(self.last)] == self.last else 0
        base = {"base": f"r{self.count}"} if keep else {}
        self.count += 1
        self.last = hashes
        note = {"id": f"r{self.count}", "querySource": "sdk", "shapeHash": self.shape, "params": PARAMS, **base}
        self.add("api-request", **note, keep=keep, tail=hashes[keep:], cacheControl=marks, requestDigest=digest)


def make(path: Path) -> None:
    """Write a session of prompts, calls with results of all sizes, and compactions."""
    rng, made = random.Random(1), LongSession()
    source = "\n".join(file.read_text() for file in sorted(Path(hashlib.__file__).parent.glob("[a-l]*.py")))
    while made.count < REQUESTS:
        n = made.count
        if made.size > WINDOW:
            made.messages, made.size, made.last = [], 0, []
        made.say("user", [{"type": "text", "text": f"Question {n}: où est «é»?"}])
        made.ask()
        call = {"type": "tool_use", "id": f"toolu_{n}", "name": "Tool1", "input": {"path": f"/p/{n}.py"}}
        made.say("assistant", [{"type": "text", "text": f"I look {n}."}, call], id=f"msg_{n}a")
        size = int(min(400_000, rng.paretovariate(1.2) * MB * 1e6 / REQUESTS / 2))
        at = rng.randrange(len(source) - size)
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": source[at : at + size]}
        made.say("user", [result])
        made.ask()
        made.say("assistant", [{"type": "text", "text": f"Answer {n}."}], id=f"msg_{n}b")
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in made.lines))


def without_notes(path: Path, source: Path) -> None:
    """Write a session without the notes of its requests."""
    lines = source.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line for line in lines if orjson.loads(line)["type"] not in NOTES))


def opened(path: Path) -> reread.Session:
    """Open a session as its views do."""
    session = reread.open(path)
    _ = len(session.turns), len(session.calls), len(session.branches), session.ledger
    return session


def request_rows() -> list[Row]:
    path = DATA.made(f"requests-{MB}.jsonl", make)
    bare = DATA.made(f"requests-{MB}-bare.jsonl", lambda target: without_notes(target, path))
    megabytes = path.stat().st_size / 1e6
    sessions = [opened(path) for _ in range(4)]
    counted = [session.requests for session in sessions]
    first = [measure.rounds({"": lambda r=requests: r[REQUESTS * 3 // 4].verified}, 1)[""][0] for requests in counted]
    assert counted[0][REQUESTS * 3 // 4].verified
    whole = [opened(path) for _ in range(3)]
    all_times = [measure.rounds({"": lambda s=s: [r.verified for r in s.requests]}, 1)[""][0] for s in whole]
    assert all(request.verified for request in whole[0].requests)
    opens = measure.rounds({"with": lambda: opened(path), "without": lambda: opened(bare)}, 7)
    own, floor = measure.best_cpu(opens["with"]), measure.best_cpu(opens["without"])
    return [
        Row("one request, the first asked for", f"{measure.best_cpu(first) * 1000:.0f} ms CPU", goal="≤ 50 ms"),
        Row(
            f"all {REQUESTS:,} requests of {megabytes:.0f} MB, each proven",
            f"{measure.best_cpu(all_times):.2f} s CPU",
            goal="≤ 2 s",
        ),
        Row(
            f"opening a session with {REQUESTS:,} requests",
            f"{own:.2f} s CPU",
            f"without them {floor:.2f} s",
            f"{own / floor:.2f} ×",
            "as fast",
        ),
    ]


if __name__ == "__main__":
    measure.report(request_rows())
