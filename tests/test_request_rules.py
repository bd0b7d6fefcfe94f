"""The rules of API requests and of reports on cache breaks, by small tables: names, marks, hashes, changes, sums."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from batches import table
from making import SESSION, jsonl, read, reply, user
from prompt_cache import Client
from requested import PARAMS, RequestedSession, conversation, hash_of
from test_cache_breaks import two_sessions

import reread
from reread.model import request, request_index
from reread.model.request_index import RequestIndex
from reread.records.types.api import CacheMark
from reread.render.report_table import report_value
from reread.reports import cache_report
from reread.reports.tally import Figures, Money, order
from reread.session.places import NoSuchRequest, request_at


def test_requests_are_found_by_number() -> None:
    session = reread.open(conversation(2).data)
    assert [request_at(session.conversation, number).number for number in (1, 4, -1)] == [1, 4, 4]
    for number in (0, 5):
        with pytest.raises(NoSuchRequest, match=f"No request {number}; this session has 4 requests"):
            request_at(session.conversation, number)
    with pytest.raises(NoSuchRequest, match=r"from 2\.1\.325 on"):
        request_at(read(user("go")).conversation, -1)
    requests = session.requests
    assert [one.number for one in requests[1:3]] == [2, 3] and requests[-1].number == 4 and len(requests) == 4
    assert [one.id for one in requests] == [f"request-{n}" for n in range(1, 5)] and repr(requests) == "<4 requests>"
    first = requests[0]
    assert (first.model, first.query_source, first.params) == (PARAMS["model"], "sdk", PARAMS)
    assert first.timestamp == datetime(2026, 11, 15, 11, tzinfo=UTC)
    assert first.shape_hash == requests[3].shape_hash and len(first.tools) == len(first.system) == 2
    with pytest.raises(IndexError):
        requests[4]


def test_a_message_tells_its_rows() -> None:
    made = conversation(1)
    session = reread.open(made.data)
    second = session.requests[1]
    types = [[made.lines[row]["type"] for row in second.rows(number)] for number in range(4)]
    assert types == [[], ["user"], ["assistant", "assistant"], ["user"]]


@table(
    ("path", "start", "place"),
    [
        (["system", 0], 0, ("system", 0)),
        (["system", 1], 0, ("system", 1)),
        (["system", 2], 0, None),
        (["system", -1], 0, None),
        (["system", "0"], 0, None),
        (["system"], 0, None),
        (["tools", 0], 0, None),
        ([0], 0, None),
        (["x", "y", "system", 0], 2, ("system", 0)),
        (None, 0, "top"),
    ],
)
def test_a_cache_mark_is_put_where_its_path_leads(path: Any, start: int, place: Any) -> None:
    body: dict[str, Any] = {"system": [{"a": 1}, {"b": 2}], "tools": "none"}
    mark = CacheMark(path=path, value={"type": "ephemeral"})
    expected: dict[str, Any] = {"system": [{"a": 1}, {"b": 2}], "tools": "none"}
    if place is not None:
        node = expected if place == "top" else expected[place[0]][place[1]]
        node["cache_control"] = mark.value
    marked = request._marked(body, [mark], start=start)
    assert marked == expected and "cache_control" not in str(body)


def test_a_mark_in_one_of_two_equal_messages_is_not_in_the_other() -> None:
    made = RequestedSession()
    made.add("api-request-blob", hash="h", message={"role": "user", "content": [{"type": "text", "text": "a"}]})
    mark = {"path": ["messages", 1, "content", 0], "value": {"type": "ephemeral"}}
    made.add("api-request", id="1", shapeHash="s", tail=["h", "h"], cacheControl=[mark])
    found = reread.open(made.data).requests[0]
    first, second = found.body["messages"]
    assert "cache_control" not in first["content"][0] and second["content"][0]["cache_control"] == mark["value"]
    assert "cache_control" not in str(found.messages)


@pytest.mark.parametrize(("times", "known"), [(3, True), (4, False)])
def test_a_request_that_repeats_megabytes_is_not_rebuilt(times: int, known: bool) -> None:
    made = RequestedSession()
    made.add("api-request-blob", hash="h", message={"role": "user", "content": "a" * 800_000})
    made.add("api-request-shape", shapeHash="s", shape={"system": "b", "tools": []})
    made.add("api-request", id="1", shapeHash="s", tail=["h"] * times, requestDigest="0" * 64)
    found = reread.open(made.data).requests[0]
    assert [message is not None for message in found.messages] == [known] * times
    assert found.proof == ("different" if known else "incomplete")
    size = times * (len(made.data.split(b"\n")[0]) + 1)
    assert found.missing == ([] if known else [f"all messages, too large to rebuild ({size:,} bytes)"])
    assert found.system and found.body["messages"] == found.messages


def test_marks_that_have_no_path_are_left_out() -> None:
    marks = [{"path": ["system", 0], "value": {"a": 1}}, {"path": "x"}, {"path": [1.5]}, {"path": [], "value": 3}, 7]
    made = conversation(1)
    next(line for line in made.lines if line["type"] == "api-request")["cacheControl"] = marks
    found = reread.open(made.data).requests[0].cache_marks
    assert [(mark.path, mark.value) for mark in found] == [(["system", 0], {"a": 1}), ([], {})]


HELLO = {"role": "user", "content": "Hello"}


@table(
    ("fields", "digest", "proof"),
    [
        ({}, None, "verified"),
        ({"requestDigest": None}, "", "no_digest"),
        ({"requestDigest": "x"}, "x", "different"),
        ({"requestDigest": "x", "cutRequestDigest": "y"}, "x", "different"),
        ({"requestDigest": None, "cutRequestDigest": "y"}, "y", "different"),
        ({"tail": ["0" * 64]}, None, "incomplete"),
        ({"shapeHash": "0" * 64}, None, "incomplete"),
        ({"shapeHash": None}, None, "incomplete"),
        ({"shapeHash": "0" * 64, "cacheControl": [{"path": ["system", 0], "value": {}}]}, None, "incomplete"),
    ],
)
def test_a_digest_proves_a_request_or_not(fields: dict[str, Any], digest: str | None, proof: str) -> None:
    made = RequestedSession()
    made.row("user", "Hello")
    made.send([HELLO], **fields)
    (found,) = reread.open(made.data).requests
    assert (found.proof, found.verified) == (proof, proof == "verified")
    assert digest is None or found.digest == (digest or None)


def test_what_the_client_does_not_digest_changes_nothing() -> None:
    made = RequestedSession()
    made.row("user", "Hello")
    made.send([HELLO], params={**PARAMS, "metadata": {"a": 1}, "stream": True, "zeta": 1, "alpha": 2})
    made.send([HELLO], params={})
    assert [one.verified for one in reread.open(made.data).requests] == [True, True]


def test_marks_of_a_system_prompt_and_tools_are_digested_with_each_request() -> None:
    made = RequestedSession()
    made.row("user", "Hello")
    mark = {"cache_control": {"type": "ephemeral"}}
    for system, tool in ((mark, {}), ({}, {}), ({}, mark), (mark, mark), (mark, mark)):
        made.send([HELLO], system=[{"type": "text", "text": "s", **system}], tools=[{"name": "t", **tool}])
    assert [one.verified for one in reread.open(made.data).requests] == [True] * 5


def test_messages_that_are_missing_are_compared_by_their_hashes() -> None:
    made = RequestedSession()
    for tail in (["g1", "g2"], ["g1", "g3"]):
        made.send([], tail=tail)
    found = request.request_changes(*reread.open(made.data).requests)
    assert [(one.part, one.change, one.name, one.before, one.after) for one in found] == [
        ("message", "edited", "2", None, None)
    ]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("p1m2", "p9m87", ["edited 2", "edited 4", "added 5"]),
        ("p1m23", "p9m8", ["edited 2", "edited 4", "dropped 5"]),
        ("p1m2n3", "p1n4", ["dropped 3", "dropped 4", "edited 4"]),
    ],
)
def test_each_difference_has_its_place(old: str, new: str, found: list[str]) -> None:
    given = ([(one.encode(), one) for one in text] for text in (old, new))
    changes = list(request._by_position("system", *given))
    assert [f"{change.change} {change.name}" for change in changes] == found
    for change in changes:
        assert (change.before in [*old, None]) and (change.after in [*new, None])
        assert change.change == "dropped" or new[int(change.name) - 1] == change.after


def changes_of(before: list[Any], after: list[Any], **options: Any) -> list[tuple[Any, ...]]:
    made = RequestedSession()
    for words in (before, after):
        made.send([{"role": "user", "content": word} for word in words], **options)
    found = request.request_changes(*reread.open(made.data).requests)
    return [(one.part, one.change, one.name, bool(one.before), bool(one.after)) for one in found]


@pytest.mark.parametrize(
    ("after", "found"),
    [
        ("abc", []),
        ("abcd", [("added", "4")]),
        ("ab", [("dropped", "3")]),
        ("xabc", [("added", "1")]),
        ("axyc", [("edited", "2"), ("added", "3")]),
        ("xc", [("edited", "1"), ("dropped", "2")]),
        ("", [("dropped", "1"), ("dropped", "2"), ("dropped", "3")]),
    ],
)
def test_messages_are_added_dropped_and_edited(after: str, found: list[tuple[str, str]]) -> None:
    has = {"added": (False, True), "dropped": (True, False), "edited": (True, True)}
    assert changes_of([*"abc"], [*after]) == [("message", kind, name, *has[kind]) for kind, name in found]


@pytest.mark.parametrize(("count", "found"), [(2_000, {"added": 1, "dropped": 1}), (2_001, {"edited": 2_001})])
def test_many_differences_are_not_compared_with_each_other(count: int, found: dict[str, int]) -> None:
    old = [(b"%d" % n, n) for n in range(count)]
    changes = list(request._by_position("system", old, [(b"new", "new"), *old[:-1]]))
    assert Counter(change.change for change in changes) == found
    assert changes[0].name == "1" and changes[-1].name == str(count)


def test_items_that_are_alike_many_times_are_compared_too() -> None:
    old = [(b"a", "a")] * 250
    changes = list(request._by_position("message", old, [(b"new", "new"), *old]))
    assert [(change.change, change.name) for change in changes] == [("added", "1")]


def test_parameters_and_tools_are_compared_by_name() -> None:
    made = RequestedSession()
    old, new = {"a": 1, "b": 2, "c": [1]}, {"b": 3, "c": [1], "d": 4}
    made.send([HELLO], params=old, tools=[{"name": "x"}, {"y": 1}, {"name": "z", "v": 1}])
    made.send([HELLO], params=new, tools=[{"name": "x"}, {"name": "z", "v": 2}, {"y": 2}, 5])
    found = request.request_changes(*reread.open(made.data).requests)
    assert [(one.part, one.change, one.name, one.before, one.after) for one in found] == [
        ("param", "dropped", "a", 1, None),
        ("param", "edited", "b", 2, 3),
        ("param", "added", "d", None, 4),
        ("tool", "dropped", "2", {"y": 1}, None),
        ("tool", "edited", "z", {"name": "z", "v": 1}, {"name": "z", "v": 2}),
        ("tool", "added", "3", None, {"y": 2}),
        ("tool", "added", "4", None, 5),
    ]


# Where the parts are


def row(role: str | None, id: str | None = None, content: Any = "x") -> Any:
    return SimpleNamespace(role=role, id=id, content=content)


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        (row("user"), row("user"), True),
        (row("user", "1"), row("user", "2"), True),
        (row("user"), row("assistant", "1"), False),
        (row("assistant", "1"), row("assistant", "1"), True),
        (row("assistant", "1"), row("assistant", "2"), False),
        (row("assistant"), row("assistant"), False),
        (row(None, "1"), row(None, "1"), True),
    ],
)
def test_a_row_continues_the_message_before_it(before: Any, after: Any, same: bool) -> None:
    assert request_index._continues(before, after) is same


def test_a_run_is_hashed_after_each_row() -> None:
    blocks = [{"type": "text", "text": word} for word in "abc"]
    found = request_index._hashed([(4, row("user", content="a")), (6, row("user", content=blocks[1:]))])
    assert {hash: run.rows[: run.size] for hash, run in found.items()} == {
        hash_of({"role": "user", "content": blocks[:1]}): [4],
        hash_of({"role": "user", "content": blocks}): [4, 6],
    }
    for broken in (row(None), row("user", content=None)):
        assert len(request_index._hashed([(1, row("user")), (2, broken), (3, row("user"))])) == 1
    assert request_index._blocks("a") == blocks[:1] and request_index._blocks(blocks) is blocks
    assert request_index._blocks(7) == [7]


@table(
    ("notes", "hashes"),
    [
        ([(None, 0, "ab")], ("ab", True)),
        ([(None, 2, "ab")], ("??ab", False)),
        ([(None, 0, "ab"), (0, 2, "c")], ("abc", True)),
        ([(None, 0, "ab"), (0, 1, "c")], ("ac", True)),
        ([(None, 0, "ab"), (0, 3, "c")], ("ab?c", False)),
        ([(None, 0, "ab"), (0, 2, "cd"), (1, 3, "e")], ("abce", True)),
        ([(None, 0, "ab"), (0, 2, "cd"), (1, 1, "e")], ("ae", True)),
        ([(None, 0, "ab"), (0, 2, "cd"), (1, 0, "e")], ("e", True)),
        ([(None, 1, "b"), (0, 2, "c")], ("?bc", False)),
        ([(None, 0, "ab"), (7, 1, "c")], ("?c", False)),
        ([(None, -3, "ab")], ("ab", True)),
    ],
)
@table("in_order", [True, False])
def test_a_request_continues_others(notes: list[Any], hashes: tuple[str, bool], in_order: bool) -> None:
    made = RequestedSession()
    for n, (base, keep, tail) in enumerate(notes):
        based = {} if base is None else {"base": f"n{base}"}
        made.add("api-request", id=f"n{n}", keep=keep, tail=[*tail], **based)
    index = reread.open(made.data).requests.parts
    if in_order:
        for number in range(len(notes)):
            index.hashes(number)
    found, complete = index.hashes(len(notes) - 1)
    assert ("".join(found), complete) == hashes
    assert [note.base for note in index.notes] == [
        base if base in range(n) else -1 for n, (base, _, _) in enumerate(notes)
    ]


def test_as_many_messages_are_kept_as_a_request_can_have() -> None:
    made = RequestedSession()
    for keep in (10_000, 10_001):
        made.add("api-request", id=f"n{keep}", keep=keep, tail=[])
    index = reread.open(made.data).requests.parts
    assert [note.keep for note in index.notes] == [10_000] * 2 and len(index.hashes(1)[0]) == 10_000


def test_of_two_parts_with_one_hash_the_first_counts() -> None:
    made = RequestedSession()
    for word in ("first", "second"):
        made.add("api-request-blob", hash="h", message={"role": "user", "content": word})
        made.add("api-request-shape", shapeHash="s", shape={"system": word})
    made.add("api-request-shape", shapeHash="n", shape=[1])
    made.add("api-request-blob", hash="?", message={"role": "user", "content": "claims to be what is not noted"})
    made.add("api-request-blob", hash="e", message={})
    made.add("api-request", id="1", shapeHash="s", tail=["h", "e", "?"])
    made.add("api-request", id="2", shapeHash="n", tail=["h"])
    one, two = reread.open(made.data).requests
    assert [message and message["content"][0]["text"] for message in one.messages] == ["first", None, None]
    assert one.system == [{"type": "text", "text": "first"}] and two.system == two.tools == []
    assert one.missing == ["message 2 of 3"] and two.missing == ["system prompt and tools"]
    index: RequestIndex = one._index
    assert index.home("?") is None and index.home("gone") is None and index.home("h") is index
    assert index.digest_messages(b"{", ["h"], {}, lambda message, _: message) is not None
    assert index.digest_messages(b"{", ["h", "gone"], {}, lambda message, _: message) is None
    assert (
        index.rows("h") == () == index.rows("gone")
        and index.message("gone", {}) is None
        and index.shape("gone") is None
    )


def test_rows_are_hashed_backwards_until_all_are_found() -> None:
    session = reread.open(conversation(20).data)
    last, index = session.requests[-1], session.requests.parts
    index.find(last.message_hashes[-1:], last.record)
    assert index.rows(last.message_hashes[-1]) and index._whole == 0 and 0 < index._scanned < 10
    scanned = index._scanned
    index.find(last.message_hashes[-1:], last.record)
    assert index._scanned == scanned, "what is found is not looked for again"
    index.find(["gone"], last.record)
    assert index._whole == len(session.records) and all(map(index._has, last.message_hashes))


# Reports on cache breaks


def test_breaks_are_counted_within_a_period(tmp_path: Path) -> None:
    root = two_sessions(tmp_path)
    breaks = reread.cache_breaks(root=root).items
    times = [datetime.fromtimestamp(one["time_ms"] / 1000, UTC) for one in breaks]
    step = timedelta(milliseconds=1)
    for since, until, count in (
        (times[0], None, 3),
        (times[0] + step, None, 2),
        (None, times[0], 0),
        (None, times[0] + step, 1),
        (times[1], times[2], 1),
        (times[1], times[2] + step, 2),
    ):
        report = reread.cache_breaks(root=root, since=since, until=until)
        assert len(report.items) == report.totals.breaks == count, (since, until)
        assert [one["id"] for one in report.items] == [
            one["id"]
            for one, time in zip(breaks, times, strict=True)
            if (since or time) <= time < (until or time + step)
        ]


def test_breaks_without_a_time_are_in_no_period(tmp_path: Path) -> None:
    usages = [{"cache_creation_input_tokens": 9_000}, {"cache_creation_input_tokens": 8_000}]
    path = tmp_path / "projects/p/s.jsonl"
    path.parent.mkdir(parents=True)
    records = [
        user("go", uuid="1", parentUuid=None),
        *(reply("a", id=f"m{n}", usage=one) for n, one in enumerate(usages)),
    ]
    for n, record in enumerate(records[1:], 2):
        record |= {"uuid": str(n), "parentUuid": str(n - 1)}
    path.write_bytes(jsonl(*({"sessionId": "s", **record} for record in records)))
    assert [reread.cache_breaks(root=tmp_path, **more).totals.breaks for more in ({}, {"since": "2020-01-01"})] == [
        1,
        0,
    ]
    assert reread.cache_breaks(root=tmp_path, until="2099-01-01").totals.breaks == 0


def test_rows_are_ordered_limited_and_grouped(tmp_path: Path) -> None:
    root = two_sessions(tmp_path)
    report = reread.cache_breaks(root=root, tz="UTC")
    tokens = [row["tokens"] for row in report.rows]
    assert tokens == sorted(tokens, reverse=True) and len(set(tokens)) > 1 and report["by"] == ("cause",)
    few = reread.cache_breaks(root=root, limit=1)
    assert (few.rows, list(few.hidden), few.totals) == (report.rows[:1], report.rows[1:], report.totals)
    assert report.hidden == [] and report.unread == ()
    assert reread.cache_breaks(root=root, by=()).rows == []
    groups = {
        by: [tuple(row.group.values()) for row in reread.cache_breaks(root=root, by=by, tz="UTC").rows]
        for by in ("project", "agent", "thread", "model", "hour", ("day", "day"))
    }
    assert groups == {
        "project": [("/work/shop",)],
        "agent": [("main",)],
        "thread": [("main",)],
        "model": [("claude-opus-4-5",), ("claude-sonnet-4-5",)],
        "hour": [("09:00",), ("10:00",)],
        ("day", "day"): [("2026-11-10",)],
    }
    sessions = reread.cache_breaks(root=root, by="session").rows
    assert sorted(row["breaks"] for row in sessions) == [1, 2]
    assert len(reread.cache_breaks(root=root, project="/work/shop").items) == 3
    assert reread.cache_breaks(root=root, project="/work/other").items == []
    assert [len(reread.cache_breaks(root=root, model=name).items) for name in ("opus", "sonnet", "opus,sonnet")] == [
        2,
        1,
        3,
    ]


def test_a_report_as_json_has_all_of_it(tmp_path: Path) -> None:
    root = two_sessions(tmp_path)
    report = reread.cache_breaks(root=root)
    value = report_value(report)
    assert value["rows"] == [dict(row) for row in report.rows] and value["totals"] == dict(report.totals)
    assert value["cache_write_tokens"] == report.cache_write_tokens and value["totals"]["breaks"] == 3
    place = report.items[0]
    assert (place["session"], place["title"].partition(" ")[0]) == (SESSION, "prompt")
    assert (place["project"], place["cause"]) == ("/work/shop", "idle_over_5m")
    assert reread.open(place["path"]).id == SESSION
    assert [one for row in report for one in report.items_of(row)] == sorted(
        report.items, key=lambda one: [row["cause"] for row in report].index(one["cause"])
    )


def test_rows_are_ordered_by_time_or_else_by_the_largest_and_name() -> None:
    tokens = {("b",): 5, ("a",): 5, (None,): 5, ("c",): 9}
    for by, expected in (("cause", ["c", None, "a", "b"]), ("day", [None, "a", "b", "c"])):
        found = sorted(tokens, key=lambda key, by=by: order((by,), key, [tokens[key]]))
        assert [group[0] for group in found] == expected
    assert sorted(tokens, key=lambda key: order(("cause",), key, None)) == [(None,), ("a",), ("b",), ("c",)]


def money(dollars: float | None) -> Money:
    made = Money()
    if dollars is None:
        made.unpriced.add("llama")
    else:
        made.picos, made.is_priced = dollars * 1e12, True
    return made


@pytest.mark.parametrize(
    ("found", "written", "figures"),
    [
        ({}, 0, (0, 0, 0.0, 0.0, [])),
        ({}, 10, (0, 0, 0.0, 0.0, [])),
        ({"breaks": 2, "tokens": 8, "cost": money(0.75)}, 16, (2, 8, 0.75, 0.5, [])),
        ({"breaks": 1, "tokens": 5, "cost": money(None)}, 10, (1, 5, None, 0.5, ["llama"])),
        ({"breaks": 1, "tokens": 5, "cost": money(0.5)}, 0, (1, 5, 0.5, 0.0, [])),
    ],
)
def test_figures_of_breaks(found: Figures, written: int, figures: Any) -> None:
    made = cache_report.break_figures(found, written)
    assert tuple(made[name] for name in ("breaks", "tokens", "cost_usd", "share", "unpriced_models")) == figures


def test_each_break_and_response_counts_once_however_many_files_have_it(tmp_path: Path) -> None:
    root = two_sessions(tmp_path)
    once = reread.cache_breaks(root=root)
    for path in list((root / "projects").rglob("*.jsonl")):
        (path.parent / f"copy-of-{path.name}").write_bytes(path.read_bytes())
    twice = reread.cache_breaks(root=root)
    assert (twice.rows, twice.totals, twice.cache_write_tokens) == (once.rows, once.totals, once.cache_write_tokens)
    assert [one["id"] for one in twice.items] == [one["id"] for one in once.items]


def test_a_client_that_never_forgets_has_no_report(tmp_path: Path) -> None:
    client = Client()
    client.prompt()
    client.respond()
    path = tmp_path / "projects/p/s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(line.raw for line in client.opened().lines))
    report = reread.cache_breaks(root=tmp_path)
    assert (report.rows, report.totals.breaks, report.totals.share) == ([], 0, 0.0) and report.cache_write_tokens > 0
