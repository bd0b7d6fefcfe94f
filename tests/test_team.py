"""Figures of a team: no words leave a machine, each response counts once, few people are merged, junk hides nobody."""

import hashlib
import io
import itertools
import json
import os
import re
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, get_args
from unittest.mock import Mock

import msgspec
import pytest
from asking import ask
from command import cli as run_here
from command import run as run_reread
from making import jsonl, told
from team_machines import KEY, WORDS, Machine, as_written_by_02, session, uuid, write_all
from used import FIGURES as COUNTED
from used import figures

import reread
from reread.accounting.prices import bundled_prices
from reread.addons.team import page as team_page
from reread.addons.team import writers
from reread.addons.team.small_groups import LEAST
from reread.base.choices import CallState
from reread.dataset.figures import FIGURES, KEEP, LEAVE_OUT, LEFT_OUT, RULES, RowMask
from reread.dataset.manifest import newest_manifest
from reread.dataset.schema import PARTITIONS, TABLES
from reread.dataset.table_files import TableFiles
from reread.disk.fact_table import BOOLEAN, INTEGER, REAL, Column
from reread.errors import Misuse
from reread.reports.cost_parts import cost_parts
from reread.server import run as run_module
from reread.server.guard import Guard, SignIn
from reread.server.library import SessionLibrary
from reread.server.reports import REPORTS
from reread.server.routes import make_app
from reread.storage import bucket_mirror
from reread.storage.user_paths import cache_folder, expand_path
from reread.tools import built_in_tools

parquet = pytest.importorskip("pyarrow.parquet")
pyarrow = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")

SAMPLES = Path(reread.__file__).parent / "samples"


def own_figures(machines: list[Machine]) -> dict[str, Any]:
    """The figures of all machines' files, each response counted once."""
    return figures(reread.usage(root=[machine.root for machine in machines], cache=False).totals)


def assert_equal(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name in COUNTED:
        assert float(found[name] or 0) == pytest.approx(wanted[name] or 0, rel=1e-9), name
    assert wanted["responses"] > 0


def objects(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def readable(name: str, data: bytes) -> bytes:
    """What can be read of an object: its name, its bytes, and the values of a table."""
    if not name.endswith(".parquet"):
        return name.encode() + data
    table = parquet.read_table(io.BytesIO(data))
    return b"".join([name.encode(), data, repr(table.schema).encode(), repr(table.to_pylist()).encode()])


def test_a_column_leaves_the_machine_only_by_a_rule() -> None:
    assert RULES.keys() | LEFT_OUT == TABLES.keys()
    assert RULES.keys().isdisjoint(LEFT_OUT)
    assert Column("new", INTEGER).team == LEAVE_OUT
    for name, rules in RULES.items():
        columns = {column.name: column for column in TABLES[name].columns[len(PARTITIONS) :]}
        kept = {columns[column].type for column, rule in rules.items() if rule == KEEP}
        assert kept <= {INTEGER, REAL, BOOLEAN}, "a text is never kept as it is"
        assert not any(columns[column].text for column, rule in rules.items() if rule != LEAVE_OUT)


KNOWN = {
    *bundled_prices().table.models,
    *built_in_tools(),
    *(column.name for table in TABLES.values() for column in table.columns),
    *get_args(CallState),
    "general-purpose",
    "<synthetic>",
    "timestamp",
}
"""Texts of transcripts that may leave a machine, because they come with the client."""


def texts_of(machine: Machine) -> set[str]:
    """Every text of every record of a machine, and the names of its files."""

    def texts(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            yield from (text for pair in value.items() for part in pair for text in texts(part))
        elif isinstance(value, list):
            yield from (text for part in value for text in texts(part))
        elif isinstance(value, str):
            yield value

    paths = list(machine.root.rglob("*.json*"))
    lines = [json.loads(line) for path in paths for line in path.read_bytes().splitlines()]
    return {part for path in paths for part in path.parts[2:]} | {text for line in lines for text in texts(line)}


def test_no_word_leaves_the_machine(tmp_path: Path) -> None:
    machines = [Machine(tmp_path, n, words=True) for n in range(4)]
    bucket = tmp_path / "bucket"
    write_all(machines, bucket)
    sources = b"".join(data for machine in machines for data in objects(machine.root).values())
    planted = [word for word in WORDS if word.encode() in sources]
    assert len(planted) > 300
    for name, data in objects(bucket).items():
        text = readable(name, data)
        assert [word for word in planted if word.encode() in text] == [], name
        assert KEY.encode() not in text
    written = b"".join(readable(name, data) for name, data in objects(bucket).items())
    texts = {text for machine in machines for text in texts_of(machine) if len(text) >= 8}
    assert len(texts) > 1000 and {text for text in texts if text.encode() in written} <= KNOWN
    rows = reread.sql("select distinct tool from calls", tables=bucket)
    assert {row["tool"] for row in rows} & {"Bash", "Edit"}, "what comes with the client stays readable"


def test_hashes_need_the_key(tmp_path: Path) -> None:
    machine = Machine(tmp_path, 0)
    one, other = (RowMask(msgspec.structs.replace(machine.settings, key=key)) for key in (KEY, KEY[::-1]))
    assert one.project("/home/ann/shop") == one.project("C:\\work\\shop") == one.project("shop")
    assert one.project("shop") not in (one.project("shops"), other.project("shop"))
    path = one.path("/home/ann/.claude/projects/-shop/secret.jsonl")
    assert path.rpartition("/")[2] == one.path("/elsewhere/secret.jsonl").rpartition("/")[2]
    assert one.hide("tool", "mcp__github__issues").startswith("mcp__") and "github" not in one.hide(
        "tool", "mcp__github"
    )
    arn = "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.claude-opus-5-5"
    for model in (arn, "claude-opus-5-5[word]", "claude-opus-5-5@word", "word.anthropic.claude-opus-5-5-v1:0"):
        assert one.hide("model", model) == "claude-opus-5-5", "as the price table calls it"
    assert one.hide("model", "our-opus") == one.keyed("model", "our-opus")
    with pytest.raises(Misuse, match="No team is set"):
        RowMask(msgspec.structs.replace(machine.settings, person=None))


def test_each_response_counts_once_over_all_machines(tmp_path: Path) -> None:
    machines = [Machine(tmp_path, n) for n in range(7)]
    bucket = tmp_path / "bucket"
    machines[6].write(bucket, figures=False)
    as_written_by_02(machines[6], bucket)
    write_all(machines[:6], bucket)
    wanted = own_figures(machines)
    found = reread.team(bucket)
    for by in ("week", "person", "project,model", "team", "machine,week"):
        report = found.usage(by=by)
        assert not report.withheld and report.refused == {}
        assert_equal(report.totals, wanted)
        assert_equal({name: sum(row[name] or 0 for row in report.rows) for name in COUNTED}, wanted)
        assert all(row.people >= LEAST for row in report.rows)
    sums = ", ".join(f"sum({name}) as {name}" for name in COUNTED)
    assert_equal(reread.sql(f"select {sums} from usage", tables=bucket)[0], wanted)
    table = reread.tables(bucket)["usage"].read_all().to_pylist()
    assert_equal({name: sum(row[name] or 0 for row in table) for name in COUNTED}, wanted)
    calls = reread.stats(*(machine.root for machine in machines), by="tool", cache=False).totals
    assert found.stats(by="week").totals["calls"] == calls.calls
    assert found.stats(by="week").totals["failed"] == calls.failed
    assert [writer.words for writer in found.writers()] == [writer.machine == "gus-6" for writer in found.writers()]


@pytest.mark.parametrize("older", [False, True])
def test_calls_count_in_the_month_in_which_they_began(tmp_path: Path, older: bool) -> None:
    machines, bucket = [Machine(tmp_path, n) for n in range(4)], tmp_path / "bucket"
    for machine in machines:  # a session that was resumed three months later, and a copy that only one has to the end
        turns = 6 if machine is machines[3] else 2
        records = [*session(100, 5), *({**one, "sessionId": uuid("s", 100)} for one in session(103, turns))]
        next(machine.root.glob("projects/*")).joinpath(f"{uuid('s', 100)}.jsonl").write_bytes(jsonl(*told(*records)))
    if older:
        machines[3].write(bucket, figures=False)
        as_written_by_02(machines[3], bucket)
    write_all(machines[: 3 if older else 4], bucket)
    found = reread.team(bucket)
    wanted = reread.stats(*(machine.root for machine in machines), by="tool", cache=False)
    for by in ("tool", "project", "week"):
        report = found.stats(by=by)
        assert (report.totals["calls"], report.refused) == (wanted.totals.calls, {}), by
    for one in machines:
        one.settings = msgspec.structs.replace(one.settings, shown_alone=True)
    write_all(machines, bucket)
    resumed = {
        report(since="2026-08-03", until="2026-08-09").totals[name]
        for report, name in ((found.stats, "calls"), (found.usage, "responses"))
    }
    assert len(resumed) == 1 and min(resumed) >= 6, "a call for each response"


def test_tables_of_02_are_continued_without_their_words(tmp_path: Path) -> None:
    machine, bucket = Machine(tmp_path, 0, words=True), tmp_path / "bucket"
    machine.write(bucket, figures=False)
    as_written_by_02(machine, bucket)
    before = reread.sql("select count(*) as n from calls", tables=bucket)[0]["n"]
    min(machine.root.rglob("*.jsonl")).unlink()
    machine.update(bucket, keep_deleted=True).run()
    assert reread.sql("select count(*) as n from calls", tables=bucket)[0]["n"] == before, "what was deleted stays"
    everything = b"".join(readable(name, data) for name, data in objects(bucket).items())
    assert [word for word in WORDS if word.encode() in everything] == []
    with pytest.raises(Misuse, match="--to"):
        machine.write(bucket, figures=False)


def test_only_what_changed_is_written(tmp_path: Path) -> None:
    machine, bucket = Machine(tmp_path, 1), tmp_path / "bucket"
    machine.write(bucket)
    before = objects(bucket)
    machine.write(bucket)
    assert objects(bucket) == before
    with min(machine.root.rglob("*.jsonl")).open("ab") as file:
        file.write(b'{"type":"summary","summary":"more"}\n')
    report = machine.update(bucket).run()[1]
    assert (report.read, report.unchanged) == (1, 4)
    machine.settings = msgspec.structs.replace(machine.settings, person="zoe")
    machine.write(bucket)
    people = {row for name in FIGURES for row in _column(bucket, name, "person")}
    assert people == {"zoe"}


def _column(folder: Path, table: str, column: str) -> list[Any]:
    return [v for path in (folder / table).rglob("*.parquet") for v in parquet.read_table(path)[column].to_pylist()]


def test_the_chain_tells_who_wrote_what(tmp_path: Path) -> None:
    machines, bucket = [Machine(tmp_path, n) for n in range(3)], tmp_path / "bucket"
    write_all(machines, bucket)
    with min(machines[0].root.rglob("*.jsonl")).open("ab") as file:
        file.write(b'{"type":"summary","summary":"more"}\n')
    machines[0].write(bucket)
    read: list[int] = []
    assert reread.team(bucket).verify(progress=read.append) == [] and read == [1, 1, 1]
    entries = [json.loads(path.read_bytes()) for path in sorted((bucket / "_reread" / "ann-0").glob("*.entry"))]
    first = (bucket / "_reread" / "ann-0" / "000000001.entry").read_bytes()
    assert entries[1]["previous"] == hashlib.sha256(first).hexdigest()
    assert {entry["person"] for entry in entries} == {"ann"} and entries[1]["removed"]
    victim = next(bucket.glob("usage/machine=ben-1/*/*.parquet"))
    victim.write_bytes(victim.read_bytes() + b"x")
    (bucket / "_reread" / "cat-2" / "000000001.json").write_bytes(b"{}")
    first_entry = bucket / "_reread" / "ann-0" / "000000001.entry"
    first_entry.write_bytes(first.replace(b'"ann"', b'"eve"'))
    found = {finding.machine: finding.text for finding in reread.team(bucket).verify()}
    assert found.keys() == {"ann-0", "ben-1", "cat-2"}
    assert "does not follow" in found["ann-0"] and "changed" in found["ben-1"]


def test_a_hostile_machine_hides_nobody(tmp_path: Path) -> None:
    machines, bucket = [Machine(tmp_path, n, months=3) for n in range(5)], tmp_path / "bucket"
    write_all(machines, bucket)
    wanted = own_figures(machines[1:])
    place, hostile = TableFiles(bucket), machines[0].name
    manifest = newest_manifest(place, hostile)
    assert manifest is not None
    usage = [name for table, _, name in manifest.files() if table == "usage"]
    path = Path(place.path(usage[0]))
    good = parquet.read_table(path, partitioning=None)
    size = good.num_rows

    def column(name: str, values: Any) -> bytes:
        sink = io.BytesIO()
        parquet.write_table(good.set_column(good.column_names.index(name), name, values), sink)
        return sink.getvalue()

    texts = [f"<script>{n}\x1b[31m" * 9999 for n in range(size)]
    junk = {
        "no table": b"PAR1" + os.urandom(999) + b"PAR1",
        "other types": column("output_tokens", pyarrow.array(["many"] * size)),
        "absurd figures": column("output_tokens", pyarrow.array([10**18] * size)),
        "negative figures": column("input_tokens", pyarrow.array([-(10**15)] * size)),
        "long texts": column("project", pyarrow.array(texts)),
        "damaged inside": _damaged(path.read_bytes()),
    }
    own = {name: Path(place.path(name)).read_bytes() for name in usage}
    for kind, data in junk.items():
        for name in usage:
            Path(place.path(name)).write_bytes(own[name])
        path.write_bytes(data)
        _rehash(bucket, manifest, usage[0], data)
        report = reread.team(bucket).usage(by="person")
        assert report.totals["responses"] >= wanted["responses"], kind
        assert report.totals["output_tokens"] < 10**9, kind
        if kind != "long texts":
            assert hostile in report.refused, kind
        assert all(len(value or "") < 200 for row in report.rows for value in row.group.values())
    for data in (b"\0" * 99, b'{"machine": "ann-0", "person": "../../ben"}', b'{"machine": "ben-1"}'):
        (bucket / "_reread" / hostile / f"{manifest.sequence:09}.json").write_bytes(data)
        found = reread.team(bucket)
        assert_equal(found.usage().totals, wanted)
        assert [writer.machine for writer in found.writers() if writer.refused] == [hostile]


def test_a_forged_machine_changes_nothing_silently(tmp_path: Path) -> None:
    machines, bucket = [Machine(tmp_path, n, months=3) for n in range(5)], tmp_path / "bucket"
    write_all(machines, bucket)
    wanted = own_figures(machines)
    original = next((bucket / "usage" / "machine=ben-1").rglob("*.parquet"))
    copied, month = parquet.read_table(original, partitioning=None), original.parent.name
    size = 300_000
    equal = {name: pyarrow.array(["x"] * 3) for name in ("Session", "sEssion")}
    text = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * size, pyarrow.int32()), ["<b>" * 30_000])
    bomb = dict.fromkeys(("project", "model", "session", "message"), text) | {
        name: pyarrow.array([1] * size) for name in ("responses", "output_tokens")
    }
    more = copied.set_column(
        copied.column_names.index("output_tokens"), "output_tokens", pyarrow.array([7777] * copied.num_rows)
    )
    cases: dict[str, tuple[Any, str | None]] = {
        "names that differ in case": (pyarrow.table(equal), "column"),
        "another machine's name": (
            copied.append_column("machine", pyarrow.array(["ben-1"] * copied.num_rows)),
            "column",
        ),
        "a column that DuckDB adds": (
            copied.append_column("file_row_number", pyarrow.array([0] * copied.num_rows)),
            "column",
        ),
        "a short file with long texts": (pyarrow.table(bomb), "rows of usage of other months"),
        "fewer columns": (copied.select(["message", "responses", "output_tokens"]), "rows of usage of other months"),
        "copies with more tokens": (more, None),
    }
    for kind, (table, reason) in cases.items():
        _forge(bucket / "usage" / "machine=eve-9" / month, table)
        found = reread.team(bucket)
        report = found.usage(by="machine")
        reasons = report.refused.get("eve-9", [])
        assert (reason is None and not reasons) or (reason and reason in reasons[0]), (kind, reasons)
        if reason is not None:
            assert_equal(report.totals, wanted)
        assert (report.totals["disputed"] > 0) == (kind == "copies with more tokens"), kind
        labels = [
            value or ""
            for by in ("model", "project")
            for row in found.usage(by=by).rows
            for value in row.group.values()
        ]
        assert all(len(label) <= 100 for label in labels), kind
        [writer] = [writer for writer in found.writers() if writer.machine == "eve-9"]
        assert (writer.person, writer.named_for_person) == ("ben", False)
    manifest = bucket / "_reread" / "eve-9" / "000000001.json"
    good = json.loads(manifest.read_bytes())
    for change in (
        {"person": "<img src=x>"},
        {"team": "a\u202eb"},
        {"usage": [{**good["usage"][0], "id": "../../../../ben-1/x"}]},
        {"usage": [{**good["usage"][0], "month": "../2026-01"}]},
        {"usage": [{**good["usage"][0], "rows": {"usage": 10**400}}]},
        {"usage": [{**good["usage"][0], "rows": {"usage": -1}}]},
        {"machine": "ben-1"},
    ):
        manifest.write_bytes(json.dumps(good | change).encode())
        report = reread.team(bucket).usage(by="person")
        assert "eve-9" in report.refused, change
        assert_equal(report.totals, wanted)


def test_a_file_has_to_be_what_its_manifest_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machines, bucket = [Machine(tmp_path, n, months=3) for n in range(5)], tmp_path / "bucket"
    write_all(machines, bucket)
    wanted = own_figures(machines)
    path = min((bucket / "usage" / "machine=ann-0").rglob("*.parquet"))
    data, manifest = path.read_bytes(), bucket / "_reread" / "ann-0" / "000000001.json"
    said = json.loads(manifest.read_bytes())

    def reason() -> str:
        """Why a file is left out; everybody else is still counted."""
        report = reread.team(bucket).usage()
        assert report.totals["responses"] > 0 and report.totals.machines == 5 and report.refused.keys() <= {"ann-0"}
        return " ".join(report.refused.get("ann-0", []))

    path.write_bytes(data[:-8] + b"\0" + data[-7:])
    assert "was changed after it was written" in reason()
    path.write_bytes(data)
    rows = [{**part, "rows": {"usage": part["rows"]["usage"] + 1}} for part in said["usage"]]
    manifest.write_bytes(json.dumps(said | {"usage": rows}).encode())
    assert "has other rows than its manifest says" in reason()
    manifest.write_bytes(json.dumps(said).encode())
    for name in ("LARGEST_FILE", "LARGEST_RAW", "MOST_ROWS", "MOST_GROUPS"):
        with monkeypatch.context() as patch:
            patch.setattr(writers, name, 0)
            refused = reread.team(bucket).usage().refused
            assert "ann-0" in refused and all("is too large" in reasons[0] for reasons in refused.values())
    path.unlink()
    assert "is missing" in reason()
    machines[0].write(bucket)
    assert reason() == "", "the machine writes it again"
    assert_equal(reread.team(bucket).usage().totals, wanted)


def test_rows_that_do_not_count_are_said(tmp_path: Path) -> None:
    machines, bucket = [Machine(tmp_path, n, months=3) for n in range(5)], tmp_path / "bucket"
    write_all(machines, bucket)
    wanted, found = own_figures(machines), reread.team(bucket)
    original = next((bucket / "usage" / "machine=ben-1").rglob("*.parquet"))
    copied = parquet.read_table(original, partitioning=None)
    place, kind = copied.column_names.index("time"), copied.schema.field("time").type
    for moment in (0, 1 << 61, -(1 << 61), None):
        times = pyarrow.array([moment] * copied.num_rows, pyarrow.int64()).cast(kind)
        _forge(bucket / "usage" / "machine=eve-9" / original.parent.name, copied.set_column(place, "time", times))
        for opened in (reread.team(bucket), reread.team(bucket)):  # the second has sums in the cache
            report = opened.usage()
            assert_equal(report.totals, wanted)
            assert "of other months" in report.refused["eve-9"][0] or "cannot be read" in report.refused["eve-9"][0]
    absurd = pyarrow.array([10**12] * copied.num_rows)
    table = copied.set_column(copied.column_names.index("output_tokens"), "output_tokens", absurd)
    _forge(bucket / "usage" / "machine=eve-9" / original.parent.name, table, statistics=False)
    said = {"eve-9": [f"{copied.num_rows} rows of usage with figures that cannot be"]}
    assert found.usage().refused == said
    next(machines[0].root.rglob("*.jsonl")).unlink()
    machines[0].write(bucket)
    assert found.usage().refused == said, "also when another machine has written since"


def _forge(folder: Path, table: Any, *, statistics: bool = True) -> None:
    """Write a file of `usage` with a manifest that fits it, of a machine that claims to be another person's."""
    path, machine, month = folder / f"{9:016x}.parquet", folder.parent.name[8:], folder.name[6:]
    folder.mkdir(parents=True, exist_ok=True)
    parquet.write_table(table, path, store_schema=False, write_statistics=statistics)
    hashed = {"usage": hashlib.sha256(path.read_bytes()).hexdigest()}
    part = {"id": path.stem, "month": month, "rows": {"usage": table.num_rows}, "sha256": hashed}
    manifest = folder.parents[2] / "_reread" / machine / "000000001.json"
    manifest.parent.mkdir(parents=True, exist_ok=True)
    manifest.write_text(
        json.dumps({"machine": machine, "sequence": 1, "usage": [part], "person": "ben", "team": "shop"})
    )


def _damaged(data: bytes) -> bytes:
    """A file whose footer is whole, and whose first page is not."""
    return data[:40] + bytes(byte ^ 0x5A for byte in data[40:400]) + data[400:]


def _rehash(bucket: Path, manifest: Any, name: str, data: bytes) -> None:
    """Let the manifest say that this is the content of a file."""
    value = msgspec.to_builtins(manifest)
    for part, built in zip((*manifest.parts, *manifest.usage), (*value["parts"], *value["usage"]), strict=True):
        for table, own in part.files(manifest.machine).items():
            if own == name:
                built["sha256"][table] = hashlib.sha256(data).hexdigest()
    path = bucket / "_reread" / manifest.machine / f"{manifest.sequence:09}.json"
    path.write_bytes(msgspec.json.encode(value))


def test_two_periods_never_differ_by_one_person(tmp_path: Path) -> None:
    machines, bucket = [Machine(tmp_path, n) for n in range(9)], tmp_path / "bucket"
    write_all(machines, bucket)
    found, monday = reread.team(bucket), date(2025, 12, 29)
    whole = found.usage(by="machine,week")
    assert_equal(whole.totals, own_figures(machines))
    owners: dict[str, set[str]] = {}
    weekly = "SELECT date_trunc('week', time)::DATE::VARCHAR AS week, machine FROM usage GROUP BY ALL"
    for row in reread.sql(weekly, tables=bucket):
        owners.setdefault(row["week"], set()).add(row["machine"].partition("-")[0])
    assert min(map(len, owners.values())) < LEAST, "some weeks have few people"
    seen: dict[tuple[float, ...], set[str]] = {}
    for first, last in itertools.combinations_with_replacement(range(0, 53, 2), 2):
        since, until = (monday + timedelta(weeks=week) for week in (first, last))
        report = found.usage(by="week", since=str(since), until=str(until))
        weeks = {week for week in owners if report.since and report.until and report.since <= week <= report.until}
        seen[tuple(map(str, report.totals.values()))] = weeks
        assert report.weeks_left_out or not report.withheld
    for one, other in itertools.combinations(seen.values(), 2):
        people = [owners[week] for week in one ^ other]
        assert not people or len(set[str]().union(*people)) >= LEAST, (one ^ other, people)


def test_a_team_of_two_is_withheld(tmp_path: Path) -> None:
    machines, bucket = [Machine(tmp_path, n, months=3) for n in range(2)], tmp_path / "the team's [bucket]"
    write_all(machines, bucket)
    report = reread.team(bucket).usage()
    assert report.withheld and report.rows == [] and dict(report.totals) == {}
    for machine in machines:
        machine.settings = msgspec.structs.replace(machine.settings, shown_alone=True)
    write_all(machines, bucket)
    report = reread.team(bucket).usage(by="person")
    assert [row["person"] for row in report.rows] == ["ann", "ben"]
    assert_equal(report.totals, own_figures(machines))


def run(*words: str) -> tuple[int, str]:
    done = run_reread(*words)
    return done.returncode, done.stdout


def test_the_command_line_writes_checks_and_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = str(tmp_path / "bucket")
    assert run("--demo", "tables", "--to", bucket)[0] == 2
    with pytest.raises(Misuse, match="No team is set"):
        reread.tables(root=SAMPLES).write(bucket, figures=True)
    store = Path(os.environ["REREAD_HOME"])
    store.mkdir(parents=True)
    own = {"name": "shop", "person": "ann", "key": KEY, "projects": ["harbor"], "shown_alone": True}
    (store / "config.json").write_text(json.dumps({"settings": {"team": own}}))
    monkeypatch.setenv("REREAD_MACHINE", "ann-laptop")
    assert run("--demo", "tables", "--to", bucket)[0] == 0
    assert run("tables", "--to", bucket, "--text")[0] != 0
    assert run("tables", "--to", bucket, "--check")[0] == 0
    code, said = run("usage", "--team", bucket, "--by", "project", "--json")
    value = json.loads(said)
    wanted = reread.usage(root=SAMPLES).totals
    assert code == 0 and value["totals"]["output_tokens"] == wanted.output_tokens
    assert "harbor" in {row["project"] for row in value["rows"]} and "lantern" not in said
    assert "Bash" in run("stats", "--team", bucket)[1]
    assert run("usage", "--team", bucket, "--by", "cache")[0] == 0
    assert run("usage", "--team", bucket, "--by", "person", "--csv")[1].splitlines()[1].startswith("ann,1,")
    assert run("usage", "--team", bucket, "--fail-over", "0.01")[0] == 1
    for words in (("latest",), ("--project", "x"), ("--by", "hour")):
        assert run("usage", "--team", bucket, *words)[0] != 0
    assert run("budget", "set", "5/day", "--team", "shop")[0] == 2
    assert run("budget", "set", "5/month", "--team", "shop")[0] == 0
    [budget] = reread.team(bucket).budgets(now=datetime(2026, 11, 30, tzinfo=UTC))
    assert budget.left_usd == pytest.approx(5 - budget.spent_usd) and budget.spent_usd > 1 and reread.budgets() == []
    assert budget.forecast_usd == pytest.approx(budget.spent_usd * 35 / 28) and not budget.lower_bound
    [early] = reread.team(bucket).budgets(now=datetime(2026, 11, 2, 1, tzinfo=UTC))
    assert early.forecast_usd is None and (early.start.day, early.end.month, early.end.day) == (2, 12, 7)
    assert run("usage", "--team", bucket, "--tz", "Asia/Tokyo")[0] == 2
    digest = reread.team(bucket).digest(now=datetime(2026, 11, 18, tzinfo=UTC))
    spans = [(one.since, one.until) for one in (digest, digest.usage, digest.before)]
    assert spans == [("2026-11-09", "2026-11-15")] * 2 + [("2026-11-02", "2026-11-08")]
    code, said = run("digest", "--team", bucket, "--since", "2026-11-12", "--tz", "UTC")
    assert code == 0 and "from 2026-11-09 to 2026-11-15" in said and "| harbor |" in said
    with monkeypatch.context() as terminal:
        terminal.setattr("click.testing._NamedTextIOWrapper.isatty", lambda stream: True, raising=False)
        terminal.setenv("COLUMNS", "60")
        shown = run_here("digest", "--team", bucket, "--since", "2026-11-12", "--tz", "UTC").stdout
    assert re.search(r"^harbor +\S+", shown, re.MULTILINE) and "|" not in shown and "#" not in shown
    assert max(map(len, shown.splitlines())) <= 60
    assert said.splitlines()[2].removeprefix("- ") in " ".join(shown.split())
    kept = tmp_path / "kept.json"
    command = f"cat > {kept}; exit 7"
    assert run("digest", "--team", bucket, "--since", "2026-11-12", "-f", "json", "--exec", command)[0] == 7
    assert json.loads(kept.read_bytes())["usage"]["totals"]["responses"] > 0
    assert run("digest", "--team", bucket, "--since", "2020-01-01")[0] == 1
    victim = next(Path(bucket).glob("calls/*/*/*.parquet"))
    victim.write_bytes(b"x" + victim.read_bytes())
    assert run("tables", "--to", bucket, "--check") == (
        1,
        f"ann-laptop: {victim.relative_to(bucket)}: its content was changed\n1 machine, 1 finding\n",
    )


def test_one_machine_has_groups_of_people_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_MACHINE", "ann-laptop")
    monkeypatch.setenv("REREAD_PERSON", "ann")
    monkeypatch.setenv("REREAD_TEAM", "shop")
    for by in (reread.usage, reread.stats):
        [row] = by(root=SAMPLES, by=["person", "machine", "team"]).rows
        assert row.group == {"person": "ann", "machine": "ann-laptop", "team": "shop"}


@pytest.mark.parametrize(
    ("only", "found"),
    [
        ({"machine": "ben-*"}, {"ben-1"}),
        ({"person": "ben"}, {"ben-1"}),
        ({"person": ["ann", "ben"]}, {"ann-laptop", "ben-1"}),
        ({"person": "ann", "machine": "ben-1"}, set()),
        ({"person": "nobody"}, set()),
    ],
)
def test_reports_count_only_some_people_and_machines(
    only: dict[str, Any], found: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REREAD_MACHINE", "ann-laptop")
    monkeypatch.setenv("REREAD_PERSON", "ann")
    store = tmp_path / "store"
    monkeypatch.setenv("REREAD_HOME", str(store))
    store.mkdir()
    (store / "config.json").write_text(json.dumps({"settings": {"team": {"people": {"ben-*": "ben"}}}}))
    mirror = expand_path("s3://shop-sessions")
    monkeypatch.setitem(bucket_mirror._refreshed, mirror, time.monotonic() + 3600)  # it is as the bucket is
    other = mirror / "ben-1" / "projects" / "-shop" / f"{uuid('s', 3)}.jsonl"
    other.parent.mkdir(parents=True, exist_ok=True)
    other.write_bytes(jsonl(*session(3, 4)))
    roots = [SAMPLES, mirror / "ben-1"]
    assert {row.group["machine"] for row in reread.usage(root=roots, by="machine", **only).rows} == found
    assert {row.group["machine"] for row in reread.stats(root=roots, by="machine", **only).rows} == found
    whole = cost_parts(root=roots)
    parts = cost_parts(root=roots, **only)
    assert (parts.rows == whole.rows) == (len(found) == 2) and (parts.totals.cost_usd > 0) == bool(found)
    rows = SessionLibrary(roots, count=False).listing().sessions
    assert {(row.machine, row.person) for row in rows} == {("ann-laptop", "ann"), ("ben-1", "ben")}


FOR_GUESTS = """
/ /api/team /api/library /api/library/shown /api/events /api/search /api/reports/usage /api/reports/cost
/api/reports/responses /api/reports/files
/api/reports/stats /api/reports/cache /api/reports/calls /api/reports/failures /api/reports/budgets /api/settings
/api/sessions/{key} /api/sessions/{key}/items
/api/sessions/{key}/outline /api/sessions/{key}/calls/{index:number} /api/sessions/{key}/lines /api/sessions/{key}/place
/api/sessions/{key}/search /api/sessions/{key}/filter /api/sessions/{key}/markdown /api/sessions/{key}/usage
/api/sessions/{key}/context /api/sessions/{key}/requests /api/sessions/{key}/requests/{number:number}
/api/sessions/{key}/waterfall /api/sessions/{key}/problems /api/sessions/{key}/files
/api/sessions/{key}/files/{file:number}/{version:number} /api/sessions/{key}/files/{file:number}/diff
/api/sessions/{key}/files/{file:number}/blame /api/sessions/{key}/events
/api/sessions/{key}/pictures/{owner}/{index:number}/{number:number} /api/sessions/{key}/compare/{other}
""".split()
FOR_OWNERS = """
/api/now /api/reports/advice /api/setup /api/sessions/{key}/annotation /api/sessions/{key}/review
/api/sessions/{key}/share
/api/sessions/{key}/share/document /api/sessions/{key}/export
""".split()


def test_guests_see_the_figures_and_the_sessions_and_nothing_of_the_server(tmp_path: Path) -> None:
    machines, bucket = [Machine(tmp_path, n, months=3) for n in range(4)], tmp_path / "bucket"
    write_all(machines, bucket)
    shared = Machine(tmp_path / "shared", 0).root
    store = Path(os.environ["REREAD_HOME"])
    store.mkdir(parents=True)
    scoped = [{"amount_usd": 4711.5, "per": "month", "project": "/srv/ownproject"}]
    (store / "config.json").write_text(json.dumps({"settings": {"budgets": {"day": 4712.5, "scoped": scoped}}}))
    library = SessionLibrary([shared], count=False)
    key = library.listing().sessions[0].key
    library.annotate(key, {"starred": True, "note": "ownnote"})
    app = make_app(library, {"team": reread.team(bucket)})
    guarded = Guard(app, port=7373, token="sesame", sign_in=SignIn("X-User"))
    guest = {"headers": [(b"host", b"127.0.0.1:7373"), (b"x-user", b"ann")], "client": ("127.0.0.1", 9)}
    owner = {"headers": [(b"host", b"127.0.0.1:7373"), (b"authorization", b"Bearer sesame")]}
    routes = [route.path for route in app.routes if not route.path.startswith("/assets/")]
    named = [path.replace("reports/{name}", f"reports/{name}") for path in routes for name in REPORTS]
    paths = list(dict.fromkeys(named))
    assert sorted(paths) == sorted(FOR_GUESTS + FOR_OWNERS), "a new route is for whoever has the token"
    own = [b"4711.5", b"4712.5", b"ownproject", b"ownnote", str(store).encode(), str(cache_folder()).encode()]
    for path in paths:
        address = re.sub(
            r"{\w+:number}", "0", path.replace("{key}", key).replace("{other}", key).replace("{owner}", "message")
        )
        if path in FOR_OWNERS:
            assert ask(guarded, address, **guest).status == 403, path
        elif not path.endswith("/events"):
            answer = ask(guarded, address, "q=plain&tz=UTC&quarter=2026-Q1&part=output", **guest)
            assert answer.status != 403, path
            assert [one for one in (*own, str(tmp_path).encode()) if one in answer.body] == [], (path, answer.body)
    everything = b"".join(
        ask(guarded, path, **owner).body for path in ("/api/reports/budgets", "/api/library", "/api/setup")
    )
    assert all(one in everything for one in own)
    assert ask(guarded, "/api/settings", send={"day": 1}, **{**guest, "method": "POST"}).status in (403, 405)


def test_the_server_has_a_page_for_the_team(tmp_path: Path) -> None:
    machines, bucket = [Machine(tmp_path, n, months=3) for n in range(6)], tmp_path / "bucket"
    write_all(machines, bucket)
    library = SessionLibrary([bucket], count=False)
    served, plain = make_app(library, {"team": reread.team(bucket)}), make_app(library)
    value = ask(served, "/api/team", "quarter=2026-Q1&by=model").value
    assert value["quarters"][-1] == "2026-Q1" and (value["since"], value["until"]) == ("2026-01-05", "2026-04-05")
    for name in ("weeks", "usage", "tools", "failures"):
        assert value[name]["rows"] and all(row["people"] >= LEAST for row in value[name]["rows"])
    assert all(ask(served, "/api/team", query).status == 400 for query in ("by=session", "quarter=1066-Q4"))
    assert b"data-team" in ask(served, "/").body
    refused = ask(plain, "/api/team")
    assert refused.status == 404 and "serve --team" in refused.value["error"]
    assert b"data-team" not in ask(plain, "/").body


# The page


class AskedTeam:
    """A team that says what it was asked for."""

    def __init__(self, *quarters: str) -> None:
        self.asked: list[Any] = []
        self.quarters = lambda: [*quarters]
        self.budgets = lambda: ["budget"]

    def __getattr__(self, name: str) -> Any:
        return lambda **options: self.asked.append((name, options)) or f"{name} {options['by']}"


def page_of(team: AskedTeam, query: dict[str, str]) -> dict[str, Any]:
    return team_page.team_page({"team": team}, query)


@pytest.fixture
def today(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the middle of November 2026."""
    monkeypatch.setattr(team_page, "datetime", Mock(now=lambda zone: datetime(2026, 11, 18, tzinfo=zone)))
    monkeypatch.setattr(team_page, "_team_value", lambda report: {"report": report, "refused": {report: ["why"]}})


@pytest.mark.usefixtures("today")
def test_the_page_of_a_team_has_a_quarter_by_one_group() -> None:
    team = AskedTeam("2026-Q4", "2026-Q1")
    page = page_of(team, {"quarter": "2026-Q1", "by": "model"})
    span = {"since": "2026-01-05", "until": "2026-04-05"}
    parts = {
        "weeks": ("usage", "week"),
        "projects": ("usage", "project"),
        "usage": ("usage", "model"),
        "cache": ("cache_breaks", "cause"),
        "tools": ("stats", "tool"),
        "failures": ("stats", "failure"),
        "sessions": ("sessions", "week"),
    }
    assert team.asked == [(name, {"by": by, **span}) for name, by in parts.values()]
    assert page == {
        "by": "model",
        "groups": ["team", "person", "machine", "model"],
        "quarter": "2026-Q1",
        "quarters": ["2026-Q4", "2026-Q1"],
        **span,
        "refused": {f"{name} {by}": ["why"] for name, by in parts.values()},
        "budgets": ["budget"],
        **{key: {"report": f"{name} {by}"} for key, (name, by) in parts.items()},
    }


@pytest.mark.usefixtures("today")
@pytest.mark.parametrize(
    ("quarters", "shown"),
    [
        (["2027-Q1", "2026-Q4", "2026-Q1"], "2026-Q4"),
        (["2027-Q1", "2026-Q3"], "2026-Q3"),
        (["2028-Q1", "2027-Q1"], "2028-Q1"),
    ],
)
def test_the_newest_quarter_that_has_begun_is_shown(quarters: list[str], shown: str) -> None:
    for query in ({}, {"quarter": "", "by": ""}):
        page = page_of(AskedTeam(*quarters), query)
        assert (page["quarter"], page["by"]) == (shown, "team")


@pytest.mark.usefixtures("today")
def test_what_the_page_of_a_team_does_not_have() -> None:
    for quarters, query, error in (
        (["2026-Q4"], {"by": "session"}, "by 'session'; use team, person"),
        (["2026-Q4"], {"quarter": "2025-Q4"}, "No quarter '2025-Q4'; use 2026-Q4"),
        ([], {}, "No quarter ''"),
    ):
        with pytest.raises(Misuse, match=error):
            page_of(AskedTeam(*quarters), query)


def test_serving_a_team_opens_its_page_with_the_sessions_that_are_kept_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[tuple[Any, ...]] = []

    def serve(*paths: Path, roots: list[Path], given: dict[str, Any], at: str, **_: Any) -> None:
        served.append((len(paths), roots, [*given], at))

    monkeypatch.setattr(run_module, "serve", serve)
    bucket, other, path = tmp_path / "bucket", tmp_path / "other", next(SAMPLES.glob("projects/*/*.jsonl"))
    bucket.mkdir()
    other.mkdir()
    for words in ([], ["--root", str(other)], [str(path)]):
        assert run_here("serve", "--team", bucket, *words).exit_code == 0
    assert served == [
        (0, [bucket], ["team"], "#/team"),
        (0, [other], ["team"], "#/team"),
        (1, [], ["team"], ""),
    ]
    run_here("serve", path)
    assert served[-1] == (1, [], [], "")
