"""Make records as Claude Code writes them, and whole transcripts from a seed."""

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import reread

Object = dict[str, Any]

SESSION = "5e551017-0000-4000-8000-000000000001"
ZEROS = "00000000-0000-0000-0000-000000000000"
IN_THE_TREE = ("user", "assistant", "system", "attachment", "progress")


def text(words: str) -> Object:
    """A text block."""
    return {"type": "text", "text": words}


def thinking(words: str) -> Object:
    """A thinking block."""
    return {"type": "thinking", "thinking": words, "signature": "c2ln"}


def use(id: str, name: str = "Bash", **input: Any) -> Object:
    """A tool use block."""
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def result(id: str | None, content: Any = "done", **more: Any) -> Object:
    """A tool result block; without an id it refers to no call."""
    named = {} if id is None else {"tool_use_id": id}
    return {"type": "tool_result", **named, "content": content, **more}


def image(data: str) -> Object:
    """An image block."""
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def user(content: Any, **more: Any) -> Object:
    """A user record whose content is a string or a list of blocks."""
    return {"type": "user", "message": {"role": "user", "content": content}, **more}


def answer(*results: Object, **more: Any) -> Object:
    """A user record with tool results; `data` is its structured result."""
    data = {"toolUseResult": more.pop("data")} if "data" in more else {}
    return user(list(results), **data, **more)


def reply(*content: Object | str, id: str | None = "msg_1", **more: Any) -> Object:
    """An assistant record with these blocks; strings become text blocks."""
    blocks = [text(block) if isinstance(block, str) else block for block in content]
    message: Object = {"role": "assistant", "type": "message", "model": "claude-x", "content": blocks}
    message |= {} if id is None else {"id": id}
    message |= {"stop_reason": more.pop("stop_reason", None), "usage": more.pop("usage", {})}
    return {"type": "assistant", "message": message, **more}


def system(subtype: str, content: str = "", **more: Any) -> Object:
    """A system record."""
    return {"type": "system", "subtype": subtype, "content": content, **more}


def attachment(type: str, payload: Object | None = None, **more: Any) -> Object:
    """An attachment record."""
    return {"type": "attachment", "attachment": {"type": type, **(payload or {})}, **more}


def progress(type: str, payload: Object | None = None, **more: Any) -> Object:
    """A progress record."""
    return {"type": "progress", "data": {"type": type, **(payload or {})}, **more}


def state(type: str, **fields: Any) -> Object:
    """A record outside the tree."""
    return {"type": type, "sessionId": SESSION, **fields}


def printed(record: Object, parent: str | None = None, **more: Any) -> Object:
    """A record as printed in a stream; `parent` is the call whose agent it belongs to."""
    return {**record, "session_id": SESSION, "parent_tool_use_id": parent, **more}


def event(type: str, **fields: Any) -> Object:
    """A partial message as printed in a stream."""
    return {"type": "stream_event", "event": {"type": type, **fields}}


def told(*records: Object) -> list[Object]:
    """Add the fields that a session gives its records.

    By default, the uuid of each is `u` and the number of its line, and its parent is the record before.
    """
    out: list[Object] = []
    last = None
    for line, record in enumerate(records, 1):
        if record["type"] in IN_THE_TREE and "session_id" not in record:
            stamp = f"2025-01-29T14:{line // 60:02d}:{line % 60:02d}.000Z"
            envelope = {"uuid": f"u{line}", "parentUuid": last, "sessionId": SESSION, "timestamp": stamp}
            record = {**envelope, **record}
            last = last if record.get("isSidechain") else record["uuid"]
        out.append(record)
    return out


def jsonl(*records: Any) -> bytes:
    """Values as JSON lines."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def write(root: Path, *records: Object, name: str = "a", project: str = "p") -> Path:
    """Write records as the transcript of a project below a folder for sessions."""
    path = root / f"projects/{project}/{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(jsonl(*told(*records)))
    return path


def read(*records: Object) -> reread.Session:
    """Open a session with these records."""
    return reread.open(jsonl(*told(*records)))


class GrowingSource:
    """A source of which only the first `size` bytes can be read so far."""

    def __init__(self, data: bytes) -> None:
        self.path: Path | None = None
        self.data = data
        self.size = 0

    def read(self, offset: int, length: int) -> bytes:
        """Return the bytes at an offset."""
        return self.data[: self.size][offset : offset + length]

    def identity(self) -> object:
        """Return a constant."""
        return None

    def close(self) -> None:
        """Do nothing."""


DEPTH = 1100
DEEP = "nested deeper than any stack"
"""Placeholder for a value too deep for `json` to write."""

WORDS = (
    "go",
    "look",
    "Warmup",
    "",
    " ",
    "a\u2028b\x00c",
    "\ud83d",
    "Größe",
    "Error: Exit code 1",
    "agentId: ag1",
    "[Request interrupted by user]",
    "<command-name>/x</command-name><command-args>y</command-args>",
    "<bash-input>ls</bash-input>",
    "<bash-input>",
    "<task-notification><tool-use-id>t1</tool-use-id><summary>done</summary></task-notification>",
    "<system-reminder>r</system-reminder>",
    "<ide_selection>i</ide_selection>typed<system-reminder>r</system-reminder>",
    "<local-command-stdout>o</local-command-stdout>",
    "<tool_use_error>no</tool_use_error>",
)
NUMBERS = (0, 1, -1, 1.5, 2**63, 2**64, 10**30, 10**400, 1e308, float("nan"), float("inf"), 1738160130123)
STAMPS = ("2025-01-29T14:15:30.123Z", "2025-01-29T14:15:31Z", "0001-01-01T00:00:00+14:00", "soon", 5)
ENDS = (b"", b"\r\n", b"\n\n \t\n", b"\x00\x00\n", b"\n\x00\x00", b" junk\n", b"\n\xff\xfe\n", b"}\n")
BOM = b"\xef\xbb\xbf"
STATE_TYPES = (
    "last-prompt",
    "last-prompt",
    "summary",
    "ai-title",
    "custom-title",
    "mode",
    "pr-link",
    "never-seen",
)
SUBTYPES = ("local_command", "turn_duration", "init", "task_notification", "api_error", "new")
EARLY_TYPES = (
    "human",
    "assistant",
    "tool_result",
    "tool",
    "tool_use",
    "message",
    "compact_prelude",
    "compact_recap",
)


class TranscriptGenerator:
    """Generates a plausible transcript, or a damaged one.

    The same seed always gives the same records: a shorter transcript is a prefix of a longer one.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.line_random = Random(seed)
        self.damage = self.random.choice([0.0, 0.0, 0.03, 0.3])
        self.written: list[Object] = []
        self.uuids = ["never"]
        self.count = 0
        self.open: list[str] = []
        self.asked: dict[str, str] = {}
        self.sides: list[str] = []

    def records(self, count: int) -> list[Object]:
        """Return the first `count` records."""
        while len(self.written) < count:
            for record in self.pick(self.ACTIONS)(self):
                self.written.append(self.damaged(record))
                if isinstance(record.get("uuid"), str) and not record.get("isSidechain"):
                    self.uuids.append(record["uuid"])
        return self.written[:count]

    def lines(self, count: int) -> bytes:
        """Return the first `count` records as a file of lines."""
        start = self.pick([b"", b"", b"", BOM, b"\n", b"\x00"])
        return start + b"".join(map(self.line, self.records(count)))

    def document(self, count: int) -> bytes:
        """Return the first `count` records as one array, some replaced by other values if damaged."""
        items = [self.value() if self.damages() else record for record in self.records(count)]
        between = self.pick([b",", b",\n", b",\r\n  ", b" , \n"])
        whole = b"[" + self.pick([b"", b"\n  "]) + between.join(map(encode, items)) + b"\n]\n"
        end = self.random.randrange(len(whole)) if self.damages() else len(whole)
        return self.pick([b"", BOM, b" \n"]) + whole[:end]

    def line(self, record: Any) -> bytes:
        """Return a record on a line; torn, padded or spliced with the next if damaged."""
        chance = self.line_random.random
        written = encode(record, ascii_only=chance() < 0.5, spaced=chance() < 0.2)
        if chance() < self.damage:
            written = written[: self.line_random.randrange(len(written) + 1)]
        return written + (self.line_random.choice(ENDS) if chance() < self.damage else b"\n")

    def damages(self) -> bool:
        """True if something should be damaged here."""
        return self.random.random() < self.damage

    def pick(self, options: Any) -> Any:
        """Return one of the options."""
        return self.random.choice(options)

    def chance(self, probability: float = 0.5) -> bool:
        """True with a probability."""
        return self.random.random() < probability

    def value(self, depth: int = 2) -> Any:
        """Return any JSON value."""
        options: list[Callable[[], Any]] = [
            lambda: self.pick([None, True, False, [], {}, "u1", "t1", DEEP]),
            lambda: self.pick(WORDS),
            lambda: self.pick(NUMBERS),
        ]
        if depth:
            options += [
                lambda: [self.value(depth - 1) for _ in range(self.random.randrange(3))],
                lambda: {self.pick(["type", "text", "id", "\ud800"]): self.value(depth - 1)},
            ]
        return self.pick(options)()

    def damaged(self, record: Object) -> Object:
        """Return the record, or a copy with a part missing or replaced."""
        if not self.damages():
            return record
        copied = copy.deepcopy(record)
        part, key = self.pick(list(_places(copied)))
        if self.chance(0.3):
            del part[key]
        else:
            part[key] = self.value()
        return copied

    def envelope(self, **more: Any) -> Object:
        """Return the envelope of a record; its parent is mostly the record before."""
        self.count += 1
        uuid = f"u{self.count}" if self.chance(0.97) else self.pick(self.uuids)
        later = f"u{self.count + 2}"
        parent = self.uuids[-1] if self.chance(0.8) else self.pick([None, *self.uuids, later, uuid])
        envelope = {"uuid": uuid, "parentUuid": parent, "sessionId": self.pick(["s1"] * 9 + ["s2"])}
        for name, options in (
            ("timestamp", STAMPS[:2] if self.chance(0.9) else STAMPS),
            ("cwd", ["/p", "/q"]),
            ("version", ["1.0.60", "2.1.325"]),
            ("gitBranch", ["main", "fix"]),
            ("requestId", ["r1", "r2"]),
            *((name, [True]) for name in ("isMeta", "is_active", "isError", "isDeleted") if self.chance(0.05)),
        ):
            if self.chance(0.7):
                envelope[name] = self.pick(options)
        return envelope | more

    def block(self) -> Object:
        """Return a block of a response; a call is remembered until it is answered."""
        made = self.pick([text, thinking, use, use, image])
        if made is not use:
            return made(self.pick(WORDS))
        id = f"t{len(self.asked) + 1}" if self.chance(0.95) else f"t{self.random.randrange(9)}"
        self.asked[id] = self.pick(["look", "watch", "wait"])
        self.open.append(id)
        block = use(id, self.pick(["Bash", "Task", "Agent", "Skill"]), prompt=self.asked[id])
        kind = "tool_use" if self.chance(0.9) else self.pick(["server_tool_use", "mcp_tool_use", "new"])
        return {**block, "type": kind}

    def say(self) -> Iterator[Object]:
        """A prompt."""
        words = self.pick(WORDS)
        content = words if self.chance() else [text(words), image("AAAA")]
        rewound = {"parentUuid": self.pick(self.uuids)} if self.chance(0.2) else {}
        odd = self.pick([{}, {}, {"imagePasteIds": [3]}, {"origin": {"kind": "peer"}}])
        yield user(content, **self.envelope(**rewound), **odd)

    def respond(self) -> Iterator[Object]:
        """A response on one or several lines, sometimes one that continues or repeats an earlier one."""
        id = self.pick([f"m{self.count}", f"m{self.count}", "m1", None])
        sofar: list[Object] = []
        for _ in range(self.pick([1, 1, 2, 3])):
            new = [self.block() for _ in range(self.pick([1, 1, 1, 2]))]
            sofar += new
            end = {
                "usage": {"output_tokens": self.random.randrange(9)},
                "stop_reason": self.pick([None, "end_turn"]),
            }
            yield reply(*(sofar if self.chance(0.1) else new), id=id, **end, **self.envelope())
            if self.chance(0.3):
                yield from self.pick([self.attach, self.answer, self.state])()

    def answer(self) -> Iterator[Object]:
        """Results of calls, sometimes of unknown or later ones."""
        asked = [self.open.pop() if self.open else "t1" for _ in range(self.pick([1, 1, 1, 2]))]
        ids = [id if self.chance(0.9) else self.pick(["t1", "t99", None]) for id in asked]
        agent = {"agentId": self.pick(["ag1", "ag2", "s0"])}
        data = self.pick([{"stdout": "x"}, "Error: no", None, ["a", "b"], agent])
        words = [text(self.pick(WORDS))] if self.chance(0.1) else []
        results = [result(id, self.pick(WORDS), is_error=self.pick([True, False, None])) for id in ids]
        yield user(results + words, toolUseResult=data, **self.envelope())

    def delegate(self) -> Iterator[Object]:
        """A record of a new or running agent inside the file."""
        uuid = f"s{len(self.sides)}"
        parent = self.pick([None, *self.sides[-3:], "t1", self.uuids[-1]])
        task = self.pick([*self.asked.values(), "look"])
        record = user(task) if parent is None or self.chance(0.3) else self.pick(list(self.respond()))
        self.sides.append(uuid)
        named = {"agentId": self.pick(["ag1", "ag2"])} if self.chance(0.2) else {}
        yield {**self.envelope(), **record, "uuid": uuid, "parentUuid": parent, "isSidechain": True, **named}

    def report(self) -> Iterator[Object]:
        """Progress of a call or an agent."""
        inner = self.pick([self.say, self.say, self.respond, self.answer, self.report])
        payload = {"agentId": self.pick(["ag1", "ag2"]), "message": self.pick(list(inner()))}
        calls = {"parentToolUseID": self.pick([*self.asked, "t1"]), "toolUseID": "x"}
        kind = self.pick(["agent_progress", "agent_progress", "bash_progress"])
        yield progress(kind, payload, **self.envelope(), **calls)

    def attach(self) -> Iterator[Object]:
        """An attachment."""
        kind = self.pick(["queued_command", "hook_success", "date", "file", "new"])
        content = self.pick([self.pick(WORDS), [text(self.pick(WORDS))], self.value()])
        payload = {"prompt": content, "content": content, "toolUseID": self.pick([*self.asked, "t1"])}
        yield attachment(kind, payload | self.pick([{}, {"commandMode": "task-notification"}]), **self.envelope())

    def notify(self) -> Iterator[Object]:
        """A system record."""
        yield system(self.pick(SUBTYPES), self.pick(WORDS), tool_use_id="t1", **self.envelope())

    def compact(self) -> Iterator[Object]:
        """A compaction, after which earlier records may be written again."""
        ends = {"headUuid": self.pick(self.uuids), "tailUuid": self.pick(self.uuids)}
        figures = {"trigger": "auto", "preTokens": self.pick(NUMBERS), "preservedSegment": ends}
        kind = self.pick(["compact_boundary", "compact_boundary", "microcompact_boundary"])
        if self.chance(0.9):
            head = self.envelope(logicalParentUuid=self.uuids[-1], parentUuid=None)
            yield system(kind, compactMetadata=figures, **head)
        if self.chance(0.9):
            yield user("In short", isCompactSummary=True, **self.envelope())
        if self.chance(0.3):
            yield from self.written[-6:-2]

    def state(self) -> Iterator[Object]:
        """A record outside the tree."""
        leaf = self.pick([ZEROS, *self.uuids])
        fields = {"aiTitle": "x", "customTitle": "", "leafUuid": leaf, "summary": self.pick(WORDS)}
        yield state(self.pick(STATE_TYPES), **{name: value for name, value in fields.items() if self.chance()})

    def stream(self) -> Iterator[Object]:
        """Records of a stream: whole messages, parts of one, or information about the run."""
        parent = self.pick([None, None, *self.asked])
        about = self.pick([{"type": "result"}, {"type": "keep_alive"}, system("init"), system("status")])
        block = self.block()
        pieces = [
            event("message_start", message={"id": self.pick(["m1", f"p{self.count}"]), "content": []}),
            event("content_block_start", index=0, content_block=block),
            event("content_block_delta", index=0, delta={"text": "x", "thinking": "y", "partial_json": "{"}),
            event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 7}),
        ]
        whole = [*self.respond(), *self.say(), *self.answer()]
        kept = ("type", "message", "uuid", "toolUseResult")
        bare = [{name: item for name, item in record.items() if name in kept} for record in whole]
        for record in self.pick([pieces, pieces[: self.random.randrange(4)], bare, [about]]):
            yield printed(record, parent, **self.pick([{}, {"supersedes": ["u1"]}, {"agent_id": "ag1"}]))

    def early(self) -> Iterator[Object]:
        """A record of the early format."""
        record = self.pick([*self.say(), *self.respond(), *self.answer()])
        bare = {"content": self.pick(WORDS), "role": self.pick(["user", "assistant"]), **self.envelope()}
        shape = record if self.chance(0.7) else bare
        yield {**shape, "type": self.pick(EARLY_TYPES), "timestamp": self.pick(NUMBERS)}

    def store(self) -> Iterator[Object]:
        """A captured record."""
        for record in self.pick([self.say, self.respond, self.stream, self.early])():
            inner = self.pick([record] * 8 + [None, {"claudeMessage": record}])
            yield {"id": "k", "timestamp": self.pick(STAMPS), "claudeMessage": inner, "raw": "eA=="}

    def repeat(self) -> Iterator[Object]:
        """A record that was written before."""
        yield from [self.pick(self.written)] if self.written else []

    ACTIONS = (
        *([say] * 4 + [respond] * 6 + [answer] * 5 + [delegate] * 3 + [stream] * 2),
        *(report, attach, notify, compact, state, early, store, repeat),
    )


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container in a value with each of its keys."""
    todo = [value]
    while todo:
        part = todo.pop()
        for key in list(part) if isinstance(part, dict) else range(len(part)):
            yield part, key
            if isinstance(part[key], dict | list):
                todo.append(part[key])


def encode(value: Any, *, ascii_only: bool = True, spaced: bool = False) -> bytes:
    """Encode a value as JSON, with `DEEP` replaced by a deep array."""
    written = json.dumps(value, ensure_ascii=ascii_only, separators=(" , ", " : ") if spaced else (",", ":"))
    return written.replace(f'"{DEEP}"', "[" * DEPTH + "]" * DEPTH).encode(errors="surrogatepass")
