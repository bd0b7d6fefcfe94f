"""Tables of several machines that have the same sessions: each row counts once, whoever reads them."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from effort import one_in
from making import answer, jsonl, printed, reply, result, told, use, user

import reread
from reread.dataset.copies import COPIES
from reread.dataset.schema import TABLES

duckdb = pytest.importorskip("duckdb")

COUNTS = ("responses", "input_tokens", "output_tokens", "cost_usd", "reported_cost_usd")


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "cache"))


def records(id: str, turns: int, *, start: int = 0, fork: bool = False) -> list[dict[str, Any]]:
    """The records of a session; a fork has the ids of what it copied."""
    out: list[dict[str, Any]] = []
    for n in range(start, start + turns):
        made = "a" if fork and n < 2 else id
        more = {"sessionId": id, "timestamp": f"2026-03-02T10:00:{n:02}.000Z", "cwd": "/shop"}
        call = use(f"toolu_{made}_{n}", "Write", file_path=f"/shop/{n}.txt", content="x\n")
        usage = {"input_tokens": 10, "output_tokens": 100 + n}
        out += [
            {**user(f"do {n}", **more), "uuid": f"{made}-{n}-p"},
            {
                **reply(call, id=f"msg_{made}_{n}", requestId=f"req_{made}_{n}", usage=usage, **more),
                "uuid": f"{made}-{n}-r",
            },
            {
                **answer(
                    result(f"toolu_{made}_{n}"),
                    toolUseResult={"type": "create", "filePath": f"/shop/{n}.txt", "content": "x\n"},
                    **more,
                ),
                "uuid": f"{made}-{n}-a",
            },
        ]
    for record in out[1::3]:
        record["message"]["model"] = "claude-opus-5-5"
    return told(*out)


def machine(tmp_path: Path, name: str, sessions: dict[str, Sequence[Any]]) -> Path:
    root = tmp_path / name / "home"
    for id, lines in sessions.items():
        path = root / "projects" / f"-{name}-shop" / f"{id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jsonl(*lines))
    return root


def write(folder: Path, roots: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, root in roots.items():
        monkeypatch.setenv("REREAD_MACHINE", name)
        reread.tables(root=root, text=True).write(folder)


def sums(folder: Path) -> dict[str, Any]:
    query = f"select {', '.join(f'sum({name}) as {name}' for name in COUNTS)} from usage"
    return reread.tables(folder).sql(query).read_all().to_pylist()[0]


def expected(roots: dict[str, Path]) -> dict[str, Any]:
    """What `reread usage` counts for all files together."""
    totals = reread.usage(*roots.values()).totals
    return {name: totals[name] for name in COUNTS}


CASES = {
    "the same session": {"m1": {"a": (2,)}, "m2": {"a": (2,)}},
    "three machines": {"m1": {"a": (2,)}, "m2": {"a": (2,)}, "m3": {"a": (2,)}},
    "one has more of it": {"m1": {"a": (1,)}, "m2": {"a": (3,)}, "m3": {"a": (2,)}},
    "more of it comes first": {"m1": {"a": (3,)}, "m2": {"a": (1,)}},
    "other sessions": {"m1": {"a": (2,), "x": (1,)}, "m2": {"a": (2,), "y": (4,)}},
    "nothing in common": {"m1": {"x": (2,)}, "m2": {"y": (2,)}},
}


@one_in(3)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_every_table_has_each_row_once(case: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    roots = {
        name: machine(tmp_path, name, {id: records(id, *turns) for id, turns in sessions.items()})
        for name, sessions in case.items()
    }
    largest = {id: max(sessions.get(id, (0,))[0] for sessions in case.values()) for ids in case.values() for id in ids}
    whole = machine(tmp_path, "whole", {id: records(id, turns) for id, turns in largest.items()})
    together, alone = tmp_path / "together", tmp_path / "alone"
    write(together, roots, monkeypatch)
    write(alone, {"one": whole}, monkeypatch)
    for name, table in TABLES.items():
        columns = [c for c in table.names(text=True) if c not in ("machine", "path", "size")]
        read = _rows(together, name, columns)
        assert read == _rows(alone, name, columns), name
        asked = reread.tables(together, text=True).sql(f'select {", ".join(map(_quoted, columns))} from "{name}"')
        assert sorted(_text(row, columns) for row in asked.read_all().to_pylist()) == read, name
    assert sums(together) == pytest.approx(expected(roots))


def _quoted(name: str) -> str:
    return f'"{name}"'


def _rows(folder: Path, table: str, columns: list[str]) -> list[str]:
    return sorted(_text(row, columns) for row in reread.tables(folder, text=True)[table].read_all().to_pylist())


def _text(row: dict[str, Any], columns: list[str]) -> str:
    values = (row[name] for name in columns)
    return str([value.timestamp() if isinstance(value, datetime) else value for value in values])


def test_what_two_machines_continued_differently_is_there_of_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = records("a", 2)
    mine = [{**record, "uuid": f"mine-{n}"} for n, record in enumerate(records("a", 1, start=5))]
    theirs = records("a", 2, start=7)
    roots = {
        "m1": machine(tmp_path, "m1", {"a": [*shared, *mine]}),
        "m2": machine(tmp_path, "m2", {"a": [*shared, *theirs]}),
    }
    write(tmp_path / "t", roots, monkeypatch)
    tables = reread.tables(tmp_path / "t")
    assert tables["records"].read_all().num_rows == 15
    assert tables["calls"].read_all().num_rows == 5
    assert tables["sessions"].read_all().num_rows == 1
    assert sums(tmp_path / "t") == pytest.approx(expected(roots))


def test_a_fork_on_another_machine_shares_its_responses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fork = records("b", 4, fork=True)
    roots = {
        "m1": machine(tmp_path, "m1", {"a": records("a", 3)}),
        "m2": machine(tmp_path, "m2", {"b": fork}),
        "m3": machine(tmp_path, "m3", {"a": records("a", 1), "b": fork}),
    }
    write(tmp_path / "t", roots, monkeypatch)
    assert sums(tmp_path / "t") == pytest.approx(expected(roots))
    assert sums(tmp_path / "t")["responses"] == 5


def test_a_response_that_ended_counts_before_one_that_did_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = records("a", 1)
    torn = [dict(record) for record in whole]
    torn[1] = {**torn[1], "message": {**torn[1]["message"], "stop_reason": None, "usage": {"output_tokens": 1}}}
    whole[1] = {**whole[1], "message": {**whole[1]["message"], "stop_reason": "end_turn"}}
    roots = {"m1": machine(tmp_path, "m1", {"a": torn}), "m2": machine(tmp_path, "m2", {"a": whole})}
    write(tmp_path / "t", roots, monkeypatch)
    assert sums(tmp_path / "t") == pytest.approx(expected(roots))
    assert sums(tmp_path / "t")["output_tokens"] == 100


def test_reported_costs_and_streams_count_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [*records("a", 2), {"type": "cost-state", "sessionId": "a", "totalCostUSD": 0.5, "modelUsage": {}}]
    stream = [printed(record) for record in records("a", 2) if record["type"] != "user"]
    for record in stream:
        record.pop("requestId", None)
        record["session_id"] = "a"
    roots = {
        "m1": machine(tmp_path, "m1", {"a": lines}),
        "m2": machine(tmp_path, "m2", {"a": lines}),
        "m3": machine(tmp_path, "m3", {"stream": stream}),
    }
    write(tmp_path / "t", roots, monkeypatch)
    assert sums(tmp_path / "t") == pytest.approx(expected(roots))
    assert sums(tmp_path / "t")["reported_cost_usd"] == pytest.approx(0.5)


def test_rows_stay_when_a_machine_forgets_its_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    roots = {name: machine(tmp_path, name, {"a": records("a", 2)}) for name in ("m1", "m2")}
    write(tmp_path / "t", roots, monkeypatch)
    before = sums(tmp_path / "t")
    for forgetful in roots:
        for path in roots[forgetful].rglob("*.jsonl"):
            path.rename(path.with_suffix(".away"))
        write(tmp_path / "t", {forgetful: roots[forgetful]}, monkeypatch)
        assert sums(tmp_path / "t") == before
        for path in roots[forgetful].rglob("*.away"):
            path.rename(path.with_suffix(".jsonl"))
        write(tmp_path / "t", {forgetful: roots[forgetful]}, monkeypatch)


def test_the_query_for_other_engines_counts_once_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    roots = {
        "m1": machine(tmp_path, "m1", {"a": records("a", 3)}),
        "m2": machine(tmp_path, "m2", {"a": records("a", 2), "b": records("b", 4, fork=True)}),
    }
    write(tmp_path / "t", roots, monkeypatch)
    docs = (Path(__file__).parent.parent / "docs" / "tables.md").read_text("utf-8")
    [query] = [block.partition("```")[0] for block in docs.split("```sql\n") if "first_value(machine)" in block]
    with duckdb.connect() as connection:
        files = str(tmp_path / "t" / "usage" / "**" / "*.parquet")
        connection.execute(f"create view usage as from read_parquet('{files}', hive_partitioning = true)")
        [[_, responses, output, cost]] = connection.sql(query).fetchall()
    totals = expected(roots)
    assert (responses, output) == (totals["responses"], totals["output_tokens"])
    assert cost == pytest.approx(totals["cost_usd"])


def test_every_table_says_which_rows_are_copies() -> None:
    assert COPIES.keys() == TABLES.keys()
