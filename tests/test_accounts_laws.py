"""Law 6: tokens and cost do not depend on chunks, file order or copies, nor on how often a growing file is read."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reread
from reread.accounting.billing import UsageEntry, sum_entries
from reread.accounting.digest import FileDigest, UsageDigest
from reread.accounting.prices import bundled_prices
from reread.accounting.responses import resolve
from reread.accounting.rows import replaces, row_rank
from reread.accounting.scan import Scanner
from reread.reports.usage_report import usage_of

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
    """A usage row; the ids are few, so that some are the same."""
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
def progress(draw: st.DrawFn) -> dict[str, Any]:
    """A row of an agent inside a progress record."""
    inner = draw(rows())
    data = {"type": "agent_progress", "agentId": draw(st.sampled_from(AGENTS)), "message": inner}
    return {"type": "progress", "sessionId": inner["sessionId"], "data": data}


@st.composite
def readings(draw: st.DrawFn) -> dict[str, Any]:
    """A counter reading, of a transcript or a stream."""
    models = {"claude-opus-5-5": {"inputTokens": draw(counts), "outputTokens": draw(counts), "costUSD": 0.5}}
    total, session = draw(st.sampled_from([0, 0.25, 0.5, 1])), draw(st.sampled_from(SESSIONS))
    if draw(st.booleans()):
        return {"type": "cost-state", "sessionId": session, "totalCostUSD": total, "modelUsage": models}
    uuid = draw(st.sampled_from("ABCDEF"))
    return {"type": "result", "session_id": session, "uuid": uuid, "total_cost_usd": total, "modelUsage": models}


@st.composite
def streamed(draw: st.DrawFn) -> dict[str, Any]:
    """A row as it is in a stream."""
    row = draw(rows())
    names = {"sessionId": "session_id", "requestId": "request_id"}
    return {
        names.get(key, key): value for key, value in row.items() if key not in ("isSidechain", "agentId", "timestamp")
    }


row_lines = st.one_of(rows(), rows(), rows(), progress(), streamed()).map(json.dumps)
lines = st.one_of(row_lines, row_lines, readings().map(json.dumps))
odd = st.sampled_from(["", "{", "not json", '{"type":"user","usage":1}', '"usage"'])
files = st.lists(st.one_of(lines, lines, lines, odd), max_size=8).map("\n".join)
trees = st.lists(st.tuples(files, st.sampled_from(["", "\n"])).map("".join), min_size=1, max_size=4)
without_counters = st.lists(st.lists(st.one_of(row_lines, odd), max_size=8).map("\n".join), min_size=1, max_size=4)
"""Streams have no times, so only the names of their files tell which counter reading came first."""


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
"""Values for the parts of a line, the usual one first."""


def client_line(type: str, values: dict[str, Any]) -> str:
    """Return a line with its fields in the order in which the client writes them."""
    head = {"parentUuid": values["parent"], "isSidechain": False, "sessionId": "a"}
    tail = {"uuid": values["uuid"], "timestamp": values["timestamp"]}
    content: dict[str, Any] = {"content": [values["content"]]}
    if type == "user":
        result = values["result"] | ({"usage": values["usage"]} if "agentId" in values["result"] else {})
        line = {**head, "type": "user", "message": {"role": "user", **content}, **tail, "toolUseResult": result}
    else:
        message = {
            "model": values["model"],
            "id": values["id"],
            **content,
            "stop_reason": values["stop"],
            "usage": values["usage"],
        }
        line = {
            **head,
            "message": message,
            "requestId": values["request"],
            "type": "assistant",
            **tail,
            **values["more"],
        }
    return json.dumps(line, separators=values["separators"])


@st.composite
def similar_lines(draw: st.DrawFn) -> list[bytes]:
    """Lines that differ from the first in at most one value; one may be cut, joined to the next or contain zeros."""
    type = draw(st.sampled_from(["assistant", "user"]))
    usual = {name: values[0] for name, values in CHANGES.items()}
    first = usual | {name: draw(st.sampled_from(CHANGES[name])) for name in draw(st.sets(st.sampled_from([*CHANGES])))}
    lines = [client_line(type, first).encode()] * 2
    for name in draw(st.lists(st.sampled_from([*CHANGES]), max_size=4)):
        lines.append(client_line(type, first | {name: draw(st.sampled_from(CHANGES[name]))}).encode())
    number = draw(st.integers(0, len(lines) - 1))
    at = draw(st.integers(0, len(lines[number])))
    front, back = lines[number][:at], lines[number][at:]
    damage = {"cut": front, "spliced": front + lines[-1], "zeros": b"\0" + front + b"\0\0" + back}
    lines[number] = damage.get(draw(st.sampled_from(["", "", *damage])), lines[number])
    return lines


class SlowScanner(Scanner):
    """Parses every line with the slow parser."""

    def _scan_lines(self, stop: int) -> None:
        self._index.changed = True
        view = memoryview(self._data)
        if self._index.partial.start_ms is None:
            self._peek(view, stop)
        for line in bytes(view[:stop]).splitlines():
            self._add_slow_line(line)


def slow_digest(text: bytes) -> UsageDigest:
    scanner = SlowScanner(session="s")
    scanner.feed(text)
    scanner.flush()
    return scanner.digest


@given(parts=st.lists(similar_lines(), max_size=3))
def test_fast_and_slow_scans_are_equal(parts: list[list[bytes]]) -> None:
    scans_are_equal(b"\n".join(line for lines in parts for line in lines))


def scans_are_equal(text: bytes) -> None:
    fast, slow = digest(text), slow_digest(text)
    assert fast.responses() == slow.responses()
    assert (fast.origins, fast.ids) == (slow.origins, slow.ids)


@pytest.mark.parametrize("name", ["id", "model", "usage", "content", "uuid"])
def test_a_row_that_was_torn_and_continued_by_another_hides_nothing(name: str) -> None:
    """Wherever it was torn: the beginning is one row's, the end another's, and the other one counts."""
    usual = {name: values[0] for name, values in CHANGES.items()}
    row, other = (client_line("assistant", values).encode() for values in (usual, usual | {name: CHANGES[name][1]}))
    for at in range(len(row)):
        scans_are_equal(b"\n".join([row, row, row[:at] + other, row]))


def digest(text: bytes, cuts: list[int] | None = None) -> UsageDigest:
    scanner = Scanner(session="s")
    at = 0
    for cut in [*sorted(cuts or []), len(text)]:
        scanner.feed(text[at:cut])
        at = max(at, cut)
    scanner.flush()
    return scanner.digest


def digests(tree: list[str]) -> list[FileDigest]:
    return [FileDigest(digest(text.encode()), f"/{n}.jsonl", session="s") for n, text in enumerate(tree)]


def report(files: list[FileDigest], *by: str) -> dict[tuple[str | None, ...], reread.value_types.Usage]:
    prices, groups = bundled_prices(), dict[Any, list[UsageEntry]]()
    for entry in resolve(files, prices):
        groups.setdefault(tuple(getattr(entry, name) for name in by), []).append(entry)
    return {group: sum_entries(entries, prices).to_usage() for group, entries in groups.items()}


def totals(tree: list[str]) -> reread.value_types.Usage:
    return report(digests(tree)).get((), reread.value_types.Usage())


@given(text=files, data=st.data())
def test_chunks_do_not_matter(text: str, data: st.DataObject) -> None:
    raw = text.encode()
    cuts = data.draw(st.lists(st.integers(0, len(raw)), max_size=6))
    assert msgspec.msgpack.encode(digest(raw, cuts)) == msgspec.msgpack.encode(digest(raw))


@given(text=files, data=st.data())
def test_reading_the_rest_equals_reading_all(text: str, data: st.DataObject) -> None:
    raw = text.encode()
    first = Scanner(session="s")
    first.feed(raw[: data.draw(st.integers(0, len(raw)))])
    cached = msgspec.msgpack.decode(msgspec.msgpack.encode(first.digest), type=UsageDigest)
    second = Scanner(cached, session="s")
    second.offset = first.offset
    second.feed(raw[first.offset :])
    second.flush()
    if cached.resumable:
        assert msgspec.msgpack.encode(second.digest) == msgspec.msgpack.encode(digest(raw))


def test_a_reading_gets_the_time_of_a_row_that_comes_later() -> None:
    row = {"type": "assistant", "message": {"id": "m1", "stop_reason": "end_turn", "usage": {"output_tokens": 1}}}
    in_transcript = row | {"sessionId": "a", "requestId": "r1", "timestamp": HOURS[0]}
    reading = {"type": "cost-state", "sessionId": "a", "totalCostUSD": 1}
    in_stream = row | {"session_id": "a", "request_id": "r1"}
    text = "".join(json.dumps(line) + "\n" for line in (in_stream, reading, in_transcript)).encode()
    first = Scanner(session="s")
    first.feed(text[: text.rindex(b'{"type": "assistant"')])
    second = Scanner(first.digest, session="s")
    second.feed(text[first.offset :])
    assert [reading.time_ms for reading in second.digest.readings] == [digest(text).readings[0].time_ms] != [None]


@given(tree=trees, data=st.data())
def test_order_does_not_matter(tree: list[str], data: st.DataObject) -> None:
    files = digests(tree)
    by = ("session", "agent", "model")
    expected = report(files, *by)
    assert report(data.draw(st.permutations(files)), *by) == expected


@given(tree=without_counters, data=st.data())
def test_names_do_not_matter(tree: list[str], data: st.DataObject) -> None:
    assert totals(data.draw(st.permutations(tree))) == totals(tree)


@given(tree=trees, data=st.data())
def test_copies_do_not_matter(tree: list[str], data: st.DataObject) -> None:
    copies = data.draw(st.lists(st.sampled_from(tree), max_size=3))
    assert totals([*tree, *copies]) == totals(tree)


outputs = st.sampled_from([None, -7, -1, 0, 1, 5, 9])
row_values = st.tuples(st.sampled_from(["end_turn", "tool_use", "", None]), outputs)


@given(new=row_values, best=row_values)
def test_a_row_replaces_another_if_its_rank_is_not_lower(new: Any, best: Any) -> None:
    assert replaces(*new, *best) == (row_rank(*new) >= row_rank(*best))


def response_row(n: int, stop_reason: str | None, output: int | None, *, session: str = "a") -> str:
    """Return row `n` of one response; its input tokens, fewer in later rows, tell which row was counted."""
    usage = {"input_tokens": 100 - n, "output_tokens": output}
    content = [{"type": "text", "text": str(n)}]
    message = {"id": "m", "role": "assistant", "model": MODELS[0], "stop_reason": stop_reason, "content": content}
    row = {"type": "assistant", "sessionId": session, "requestId": "r", "uuid": f"{session}{n}"}
    time = {"timestamp": f"2026-11-10T10:00:{n:02}Z"}
    return json.dumps({**row, **time, "message": {**message, "usage": usage}}) + "\n"


@given(rows=st.lists(row_values, min_size=1, max_size=6), data=st.data())
def test_one_rule_decides_which_row_counts(rows: list[Any], data: st.DataObject) -> None:
    """The row with a stop reason, then the one with more output, then the later one: wherever rows are compared."""
    best = max(range(len(rows)), key=lambda n: (bool(rows[n][0]), max(0, rows[n][1] or 0), n))
    expected = [100 - best]
    lines = [response_row(n, *values) for n, values in enumerate(rows)]
    text = "".join(lines).encode()

    def counted(digest: UsageDigest) -> list[int]:
        return [response.charge.input for response in digest.responses()]

    assert counted(digest(text)) == expected, "the scan of one file"
    assert counted(slow_digest(text)) == expected, "the slow parser"
    first = Scanner(session="s")
    split = data.draw(st.integers(0, len(lines)))
    first.feed("".join(lines[:split]).encode())
    second = Scanner(first.digest, session="s")
    second.feed("".join(lines[split:]).encode())
    assert counted(second.digest) == expected, "the scan of a file that grew"
    fold = reread.open(text)
    assert [message.usage.input_tokens for message in fold.messages] == expected, "the fold"
    copies = [response_row(n, *values, session=f"s{n}") for n, values in enumerate(rows)]
    assert totals(data.draw(st.permutations(copies))).input_tokens == expected[0], "copies in several files"


def test_a_session_has_the_usage_of_the_report(tmp_path: Path) -> None:
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
    counted = usage_of(reread.usage(path, cache=False).totals)
    assert session.usage == counted
    assert session.conversation.usage == counted
    assert sum((turn.usage for turn in session.turns), reread.value_types.Usage()) == counted
    assert counted.cost_usd == (40 * 4 + (1 + 3 + 5 + 7) * 20) / 1e6
