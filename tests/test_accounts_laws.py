"""Law 6: tokens and cost do not depend on chunking, file order or copies; nor on how often a growing file is read."""

import json
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

import reread
from reread.accounting.digest import Digest, FileDigest
from reread.accounting.group_by import group_entries
from reread.accounting.prices import bundled
from reread.accounting.responses import resolve
from reread.accounting.scan import Scanner
from reread.accounting.slow_lines import take_line

SESSIONS = ("a", "b", "c")
MODELS = ("claude-opus-5-5", "claude-haiku-5-5", "claude-unknown", "<synthetic>", None)
REQUESTS = ("r1", "r2", "r3", "", None)
AGENTS = ("x", "y")
HOURS = [f"2026-11-{day:02}T{hour:02}:00:00Z" for day in (10, 11) for hour in (1, 9, 23)]

counts = st.sampled_from([0, 1, 3, 50_000, 120_000, None])
usages = st.fixed_dictionaries(
    {"input_tokens": counts, "output_tokens": counts},
    optional={
        "cache_read_input_tokens": counts,
        "cache_creation_input_tokens": counts,
        "cache_creation": st.fixed_dictionaries({"ephemeral_1h_input_tokens": counts}),
        "iterations": st.just([{"type": "compaction", "input_tokens": 5, "output_tokens": 5}]),
        "speed": st.sampled_from(["fast", "standard", None]),
    },
)


@st.composite
def rows(draw: st.DrawFn) -> dict[str, Any]:
    """A row of a response; few ids, so that they meet."""
    agent = draw(st.sampled_from([None, None, *AGENTS]))
    row: dict[str, Any] = {
        "type": "assistant",
        "sessionId": draw(st.sampled_from(SESSIONS)),
        "uuid": draw(st.sampled_from("123456789")),
        "timestamp": draw(st.sampled_from([*HOURS, None])),
        "requestId": draw(st.sampled_from(REQUESTS)),
        "message": {
            "id": draw(st.sampled_from(["m1", "m2", "m3", None])),
            "model": draw(st.sampled_from(MODELS)),
            "stop_reason": draw(st.sampled_from(["end_turn", None])),
            "usage": draw(usages),
        },
    }
    if agent:
        row |= {"isSidechain": True, "agentId": agent}
    return row


@st.composite
def told(draw: st.DrawFn) -> dict[str, Any]:
    """An agent's row inside a progress record."""
    inner = draw(rows())
    data = {"type": "agent_progress", "agentId": draw(st.sampled_from(AGENTS)), "message": inner}
    return {"type": "progress", "sessionId": inner["sessionId"], "data": data}


@st.composite
def readings(draw: st.DrawFn) -> dict[str, Any]:
    """A counter's state, on disk or printed."""
    models = {"claude-opus-5-5": {"inputTokens": draw(counts), "outputTokens": draw(counts), "costUSD": 0.5}}
    total, session = draw(st.sampled_from([0, 0.25, 0.5, 1])), draw(st.sampled_from(SESSIONS))
    if draw(st.booleans()):
        return {"type": "cost-state", "sessionId": session, "totalCostUSD": total, "modelUsage": models}
    uuid = draw(st.sampled_from("ABCDEF"))
    return {"type": "result", "session_id": session, "uuid": uuid, "total_cost_usd": total, "modelUsage": models}


@st.composite
def printed(draw: st.DrawFn) -> dict[str, Any]:
    """A row as a stream has it."""
    row = draw(rows())
    names = {"sessionId": "session_id", "requestId": "request_id"}
    return {
        names.get(key, key): value for key, value in row.items() if key not in ("isSidechain", "agentId", "timestamp")
    }


written = st.one_of(rows(), rows(), rows(), told(), printed()).map(json.dumps)
lines = st.one_of(written, written, readings().map(json.dumps))
odd = st.sampled_from(["", "{", "not json", '{"type":"user","usage":1}', '"usage"'])
files = st.lists(st.one_of(lines, lines, lines, odd), max_size=8).map("\n".join)
trees = st.lists(st.tuples(files, st.sampled_from(["", "\n"])).map("".join), min_size=1, max_size=4)
unmetered = st.lists(st.lists(st.one_of(written, odd), max_size=8).map("\n".join), min_size=1, max_size=4)
"""Without counters: of runs that print no time, only their files' names tell which came first."""


CHANGES: dict[str, list[Any]] = {
    "parent": [None, "p" * 36],
    "model": ["claude-opus-5-5", "claude-haiku-5-5", "<synthetic>"],
    "id": ["m1", "m2"],
    "content": ["", "y" * 1600, '"usage":{"input_tokens":7}', '\\"usage"', {"input": {"usage": {"output_tokens": 9}}}],
    "stop": ["end_turn", "tool_use", None],
    "usage": [
        {"input_tokens": 1, "output_tokens": 2},
        {"input_tokens": 3, "output_tokens": 2},
        {"input_tokens": 1, "output_tokens": 4, "iterations": []},
        {"output_tokens": 2, "iterations": [{"type": "compaction", "output_tokens": 5}]},
        {"output_tokens": 2, "iterations": [{"type": "message", "output_tokens": 2}]},
    ],
    "request": ["r1", "r2"],
    "uuid": ["1" * 36, "2" * 36],
    "timestamp": [HOURS[0], None],
    "more": [{}, {"costUSD": 0.5}, {"costUSD": 0.7}, {"isApiErrorMessage": True}],
    "result": [{}, {"stdout": "z" * 1600}, {"agentId": "x"}],
    "separators": [(",", ":"), (", ", ": ")],
}
"""What may be said in a line, the usual first."""


def client_line(type: str, said: dict[str, Any]) -> str:
    """A line as the client writes it, in its order."""
    head = {"parentUuid": said["parent"], "isSidechain": False, "sessionId": "a"}
    tail = {"uuid": said["uuid"], "timestamp": said["timestamp"]}
    content: dict[str, Any] = {"content": [said["content"]]}
    if type == "user":
        result = said["result"] | ({"usage": said["usage"]} if "agentId" in said["result"] else {})
        line = {**head, "type": "user", "message": {"role": "user", **content}, **tail, "toolUseResult": result}
    else:
        message = {
            "model": said["model"],
            "id": said["id"],
            **content,
            "stop_reason": said["stop"],
            "usage": said["usage"],
        }
        line = {**head, "message": message, "requestId": said["request"], "type": "assistant", **tail, **said["more"]}
    return json.dumps(line, separators=said["separators"])


@st.composite
def families(draw: st.DrawFn) -> list[bytes]:
    """Lines that differ from a first one in nothing or in one thing; one may be cut, run together or hold zeros."""
    type = draw(st.sampled_from(["assistant", "user"]))
    usual = {name: values[0] for name, values in CHANGES.items()}
    first = usual | {name: draw(st.sampled_from(CHANGES[name])) for name in draw(st.sets(st.sampled_from([*CHANGES])))}
    lines = [client_line(type, first).encode()] * 2
    for name in draw(st.lists(st.sampled_from([*CHANGES]), max_size=4)):
        lines.append(client_line(type, first | {name: draw(st.sampled_from(CHANGES[name]))}).encode())
    number = draw(st.integers(0, len(lines) - 1))
    at = draw(st.integers(0, len(lines[number])))
    front, back = lines[number][:at], lines[number][at:]
    hurt = {"cut": front, "spliced": front + lines[-1], "zeros": b"\0" + front + b"\0\0" + back}
    lines[number] = hurt.get(draw(st.sampled_from(["", "", *hurt])), lines[number])
    return lines


class Plodder(Scanner):
    """Takes every line by the road that loses nothing."""

    def _lines(self, stop: int) -> None:
        self._changed = True
        view = memoryview(self._buffer)
        if self.known.began is None:
            self._peek(view, stop)
        for line in bytes(view[:stop]).splitlines():
            take_line(self, line)


@given(parts=st.lists(families(), max_size=3))
@settings(max_examples=600, deadline=None)
def test_the_fast_road_leads_where_the_slow_one_does(parts: list[list[bytes]]) -> None:
    text = b"\n".join(line for lines in parts for line in lines)
    slow = Plodder(session="s")
    slow.feed(text)
    slow.flush()
    fast = digest(text)
    assert fast.responses() == slow.digest.responses()
    assert (fast.places, fast.cells, fast.ids) == (slow.digest.places, slow.digest.cells, slow.digest.ids)


def digest(text: bytes, cuts: list[int] | None = None) -> Digest:
    scanner = Scanner(session="s")
    at = 0
    for cut in [*sorted(cuts or []), len(text)]:
        scanner.feed(text[at:cut])
        at = max(at, cut)
    scanner.flush()
    return scanner.digest


def filed(tree: list[str]) -> list[FileDigest]:
    return [FileDigest(digest(text.encode()), f"/{n}.jsonl", session="s") for n, text in enumerate(tree)]


def spent(files: list[FileDigest]) -> reread.Usage:
    return group_entries(resolve(files, bundled()), [], zone=None, prices=bundled()).totals


@given(text=files, data=st.data())
@settings(max_examples=300, deadline=None)
def test_chunks_do_not_matter(text: str, data: st.DataObject) -> None:
    raw = text.encode()
    cuts = data.draw(st.lists(st.integers(0, len(raw)), max_size=6))
    assert msgspec.msgpack.encode(digest(raw, cuts)) == msgspec.msgpack.encode(digest(raw))


@given(text=files, data=st.data())
@settings(max_examples=300, deadline=None)
def test_reading_on_is_reading_all(text: str, data: st.DataObject) -> None:
    raw = text.encode()
    first = Scanner(session="s")
    first.feed(raw[: data.draw(st.integers(0, len(raw)))])
    kept = msgspec.msgpack.decode(msgspec.msgpack.encode(first.digest), type=Digest)
    second = Scanner(kept, session="s")
    second.offset = first.offset
    second.feed(raw[first.offset :])
    second.flush()
    if kept.resumable:
        assert msgspec.msgpack.encode(second.digest) == msgspec.msgpack.encode(digest(raw))


def test_a_reading_is_dated_by_a_row_that_comes_later() -> None:
    row = {"type": "assistant", "message": {"id": "m1", "stop_reason": "end_turn", "usage": {"output_tokens": 1}}}
    written = row | {"sessionId": "a", "requestId": "r1", "timestamp": HOURS[0]}
    reading = {"type": "cost-state", "sessionId": "a", "totalCostUSD": 1}
    printed = row | {"session_id": "a", "request_id": "r1"}
    text = "".join(json.dumps(line) + "\n" for line in (printed, reading, written)).encode()
    first = Scanner(session="s")
    first.feed(text[: text.rindex(b'{"type": "assistant"')])
    second = Scanner(first.digest, session="s")
    second.feed(text[first.offset :])
    assert [reading.when for reading in second.digest.readings] == [digest(text).readings[0].when] != [None]


@given(tree=trees, data=st.data())
@settings(max_examples=400, deadline=None)
def test_order_does_not_matter(tree: list[str], data: st.DataObject) -> None:
    expected = filed(tree)
    report = group_entries(resolve(expected, bundled()), ["session", "agent", "model"], zone=None, prices=bundled())
    shuffled = data.draw(st.permutations(expected))
    again = group_entries(resolve(shuffled, bundled()), ["session", "agent", "model"], zone=None, prices=bundled())
    assert again == report


@given(tree=unmetered, data=st.data())
@settings(max_examples=400, deadline=None)
def test_names_do_not_matter(tree: list[str], data: st.DataObject) -> None:
    renamed = data.draw(st.permutations(tree))
    assert spent(filed(renamed)) == spent(filed(tree))


@given(tree=trees, data=st.data())
@settings(max_examples=400, deadline=None)
def test_copies_do_not_matter(tree: list[str], data: st.DataObject) -> None:
    copies = data.draw(st.lists(st.sampled_from(tree), max_size=3))
    assert spent(filed([*tree, *copies])) == spent(filed(tree))


@given(tree=trees)
@settings(max_examples=400, deadline=None)
def test_sums_are_those_of_each_response(tree: list[str]) -> None:
    by = ["week", "session", "agent", "model", "branch"]
    one_by_one = group_entries(resolve(filed(tree), bundled(), exact=True), by, zone=None, prices=bundled())
    assert group_entries(resolve(filed(tree), bundled(), exact=False), by, zone=None, prices=bundled()) == one_by_one


@given(tree=trees)
@settings(max_examples=100, deadline=None)
def test_groups_add_up(tree: list[str]) -> None:
    entries = resolve(filed(tree), bundled())
    for by in (["day"], ["model", "agent"], ["block"], ["week", "session", "thread"]):
        report = group_entries(entries, by, zone=None, prices=bundled())
        for name in ("responses", "input_tokens", "output_tokens", "cache_read_tokens", "unconfirmed_responses"):
            assert sum(row[name] for row in report.rows) == report.totals[name]


def test_a_session_says_what_the_report_says(tmp_path: Path) -> None:
    lines = [
        {
            "type": "assistant",
            "sessionId": "a",
            "requestId": f"r{n // 2}",
            "uuid": str(n),
            "timestamp": "2026-11-10T10:00:00Z",
            "message": {
                "id": f"m{n // 2}",
                "model": "claude-opus-5-5",
                "stop_reason": "end_turn" if n % 2 else None,
                "content": [{"type": "text", "text": str(n)}],
                "usage": {"input_tokens": 10, "output_tokens": n},
            },
        }
        for n in range(8)
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    session = reread.open(path)
    report = reread.usage(path, cache=False).totals
    assert session.usage == report
    assert session.conversation.usage == report
    assert sum((turn.usage for turn in session.turns), reread.Usage()) == report
    assert report.cost_usd == (40 * 4 + (1 + 3 + 5 + 7) * 20) / 1e6
