"""A prompt cache as the API has one, and a client that writes what it reports, so that causes can be forced."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from making import SESSION, answer, jsonl, reply, result, thinking, use, user

import reread

Object = dict[str, Any]
Segment = tuple[str, int]
"""A part of a prompt by its content, with its tokens."""
START = datetime(2026, 11, 10, 9, tzinfo=UTC)


class PromptCache:
    """What the server holds: prefixes of prompts by model, with the time at which each expires."""

    def __init__(self) -> None:
        self.expires: dict[int, datetime] = {}

    def request(self, model: str, prompt: list[Segment], now: datetime, life: timedelta) -> tuple[int, int]:
        """Return how many tokens of a prompt are read and written; every boundary of a message can be read."""
        read = total = 0
        prefix = hash(model)
        for segment in prompt:
            prefix = hash((prefix, segment))
            total += segment[1]
            if self.expires.get(prefix, START) > now:
                read = total
            self.expires[prefix] = now + life
        return read, total - read


class Client:
    """One thread of a session: it sends prompts to a cache, and writes what the client would write."""

    def __init__(self, cache: PromptCache | None = None, *, hour: bool = False, seed: int = 0, **fields: Any) -> None:
        self.cache = cache or PromptCache()
        self.random = Random(seed)
        self.hour = hour
        self.model = "claude-opus-4-5"
        self.shape: list[Segment] = [("tools", 9_000), ("system", 6_000)]
        self.messages: list[tuple[str, int, bool]] = []
        """What the prompt holds: content, tokens, and whether it is a thought."""
        self.now = START
        self.records: list[Object] = []
        self.fields = {"sessionId": SESSION, "version": "2.1.300", **fields}
        self.last: str | None = None

    def write(self, record: Object, **more: Any) -> str:
        """Write a record below the last one, or below `parentUuid`."""
        uuid = f"{self.fields.get('agentId', 'u')}{len(self.records) + 1}"
        stamp = self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        placed = {"uuid": uuid, "parentUuid": self.last, "timestamp": stamp, **self.fields}
        self.records.append({**placed, **record, **more})
        self.last = uuid
        return uuid

    def prompt(self, tokens: int = 300, *, thinks: bool = False) -> None:
        """Write a prompt; the API then leaves the thoughts before it out."""
        self.write(user(f"prompt {len(self.records)}"))
        if thinks:
            self.messages = [message for message in self.messages if not message[2]]
        self.messages.append((f"prompt {len(self.records)}", tokens, False))

    def note_request(self) -> None:
        """Write the request that is about to be sent, as newer clients do."""
        (tools, size), (system, length) = self.shape
        padding = "." * (size // len(tools.split()))
        shape = {
            "tools": [{"name": name, "description": padding} for name in tools.split()],
            "system": [{"type": "text", "text": system.ljust(length)}],
        }
        name = f"{tools} {size} {system}"
        self.records.append({"type": "api-request-shape", "shapeHash": name, "shape": shape})
        for content, size, _ in self.messages:
            message = {"role": "user", "content": [{"type": "text", "text": content.ljust(size)}]}
            self.records.append({"type": "api-request-blob", "hash": content, "message": message})
        hashes = [content for content, _, _ in self.messages]
        params = {"model": self.model}
        request = {"id": f"r{len(self.records)}", "shapeHash": name, "params": params, "keep": 0, "tail": hashes}
        request["cacheControl"] = [{"path": ["system", 0], "value": {"type": "ephemeral"}}]
        self.records.append({"type": "api-request", **request})

    def respond(self, *calls: int, thought: int = 0, wait: float = 5, tools: float = 0, **message: Any) -> str:
        """Send a request, and write the response; then the results of its calls, given by their tokens."""
        sent = [*self.shape, *((content, size) for content, size, _ in self.messages)]
        read, written = self.cache.request(self.model, sent, self.now, timedelta(minutes=60 if self.hour else 5))
        self.now += timedelta(seconds=wait)
        split = {"ephemeral_1h_input_tokens" if self.hour else "ephemeral_5m_input_tokens": written}
        usage = {"input_tokens": 4, "output_tokens": 200 + thought, "cache_read_input_tokens": read}
        usage |= {"cache_creation_input_tokens": written, "cache_creation": split}
        id = f"msg-{self.fields.get('agentId') or self.fields['sessionId'][-2:]}-{len(self.records)}"
        uses = [use(f"{id}-{n}") for n in range(len(calls))]
        blocks = [thinking("so")] * bool(thought) + (uses or ["done"])
        for block in blocks:  # a record for each block, as the client writes them
            record = reply(block, id=id, usage=usage, stop_reason="end_turn", requestId=f"req{id}")
            record["message"] |= {"model": self.model, **message}
            self.write(record)
        if thought:
            self.messages.append((f"thought {id}", thought, True))
        self.messages.append((f"answer {id}", 200, False))
        self.now += timedelta(seconds=tools)
        for n, size in enumerate(calls):  # parallel results: a record for each
            self.write(answer(result(f"{id}-{n}", "x")))
            self.messages.append((f"result {id} {n}", size, False))
        return id

    def work(self, responses: int) -> None:
        """Work on: some calls at once, some thoughts, now and then a new prompt, never idle."""
        for _ in range(responses):
            calls = [self.random.choice([40, 200, 2_500]) for _ in range(self.random.choice([0, 1, 1, 2, 9]))]
            wait, tools = self.random.uniform(1, 60), self.random.uniform(0, 200)
            self.respond(*calls, thought=self.random.choice([0, 0, 400, 5_000]), wait=wait, tools=tools)
            if not calls:
                self.prompt(thinks=True)

    def opened(self) -> reread.Session:
        """Read the session from its bytes."""
        return reread.open(jsonl(*self.records))
