"""Twenty machines of a team write to one bucket at once: each response counts once, in five ways; no word leaves."""

import io
import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pytest
from bucket import Bucket, run, start
from team_machines import KEY, WORDS, Machine, as_written_by_02, write_all

import reread
from reread.dataset.iceberg import commit_tables, open_catalog
from reread.dataset.manifest import newest_manifests
from reread.dataset.table_files import TableFiles, table_files
from reread.reports.usage_report import FIGURES, figures
from reread.storage.frames import unpack

MACHINES = 20
KILLED, OLDER = 7, 19
DOCUMENT = (Path(__file__).parents[1] / "docs" / "tables.md").read_text()
QUERY = next(found for found in re.findall(r"```sql\n(.*?)```", DOCUMENT, re.S) if "first_value" in found)
"""How other engines count each response once."""
TOTALS = ", ".join(f"sum({name}) as {name}" for name in FIGURES)


def totals_query(table: str) -> str:
    """Return the query of the document for the sums of all figures."""
    inner = QUERY[QUERY.index("from (") :].replace("from usage", f"from {table}")
    return f"select {TOTALS} {inner[: inner.index('group by')]}"


def assert_totals(found: dict[str, Any], wanted: dict[str, Any], way: str) -> None:
    for name in FIGURES:
        assert float(found[name] or 0) == pytest.approx(wanted[name] or 0, rel=1e-9), (way, name)


@pytest.fixture
def team(bucket: Bucket, tmp_path: Path) -> tuple[list[Machine], str]:
    """Twenty machines that have written at once: one has a wrong clock, one was killed, one has the tables of 0.2."""
    machines, out = [Machine(tmp_path, n, words=True) for n in range(MACHINES)], f"{bucket.url}/figures"
    older = tmp_path / "older"
    machines[OLDER].write(older, figures=False)
    as_written_by_02(machines[OLDER], older)
    for path in sorted(path for path in older.rglob("*") if path.is_file() and "lock" not in path.name):
        bucket.put(f"sessions/figures/{path.relative_to(older)}", path.read_bytes())
    killed = machines[KILLED]
    variables = {
        "REREAD_MACHINE": killed.name,
        "REREAD_PERSON": killed.settings.person or "",
        "REREAD_TEAM": killed.settings.name or "",
        "REREAD_TEAM_KEY": KEY,
        "REREAD_CACHE": str(tmp_path / "killed"),
    }
    process = start("tables", "--root", str(killed.root), "--to", out, **variables)
    end = time.monotonic() + 120
    while process.poll() is None and not bucket.keys(f"figures/usage/machine={killed.name}") and time.monotonic() < end:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    write_all(machines[:OLDER], out)
    return machines, out


def test_totals_are_the_same_in_every_way(team: tuple[list[Machine], str], bucket: Bucket, tmp_path: Path) -> None:
    import duckdb

    machines, out = team
    wanted = figures(reread.usage(root=[machine.root for machine in machines], cache=False).totals)
    assert wanted["responses"] > 200
    opened = reread.team(out)
    for by in ("week", "person", "project,model"):
        report = opened.usage(by=by, tz="UTC")
        assert report.refused == {} and all(row.people >= 3 for row in report.rows)
        assert_totals(report.totals, wanted, by)
    table = reread.tables(out)["usage"].read_all()
    assert_totals({name: sum(v or 0 for v in table[name].to_pylist()) for name in FIGURES}, wanted, "library")
    assert_totals(reread.sql(f"select {TOTALS} from usage", tables=out)[0], wanted, "sql")
    copied = copy(bucket, tmp_path / "copied")
    raw = read_parquet(copied / "usage")
    assert_totals(duckdb.sql(totals_query("raw")).to_arrow_table().to_pylist()[0], wanted, "parquet")
    assert raw.num_rows > wanted["responses"], "machines have copies"
    address = f"sqlite:///{tmp_path}/catalog.db"
    catalog = open_catalog(address, None)
    for machine in machines:
        commit_tables(table_files(out), machine.name, catalog)
    lake = catalog.load_table("reread.usage").scan().to_arrow()
    assert lake.num_rows == raw.num_rows
    assert_totals(duckdb.sql(totals_query("lake")).to_arrow_table().to_pylist()[0], wanted, "iceberg")
    assert [finding.text for finding in opened.verify()] == ["an earlier version wrote it"]


def test_spark_counts_the_same(spark: Any, team: tuple[list[Machine], str], bucket: Bucket, tmp_path: Path) -> None:
    machines, _ = team
    wanted = figures(reread.usage(root=[machine.root for machine in machines], cache=False).totals)
    folder = copy(bucket, tmp_path / "copied") / "usage"
    spark.read.option("mergeSchema", True).parquet(str(folder)).createOrReplaceTempView("usage")
    assert_totals(spark.sql(totals_query("usage")).collect()[0].asDict(), wanted, "spark")


def test_no_word_is_in_any_object(team: tuple[list[Machine], str], bucket: Bucket) -> None:
    machines, _ = team
    sources = b"".join(path.read_bytes() for machine in machines for path in machine.root.rglob("*.jsonl"))
    assert [word for word in WORDS if word.encode() not in sources] == [], "all words are planted"
    for key, data in bucket.objects("figures/").items():
        if f"{machines[OLDER].name}/" in key:
            continue  # it has not written since 0.2, which had words
        text = key.encode() + data
        if key.endswith(".parquet"):
            table = pyarrow.parquet.read_table(io.BytesIO(data), partitioning=None)
            text += repr(table.schema).encode() + repr(table.to_pylist()).encode()
        assert [word for word in WORDS if word.encode() in text] == [], key


def test_a_shared_session_opens_beside_the_figures(bucket: Bucket, tmp_path: Path) -> None:
    write_all([Machine(tmp_path, n) for n in range(6)], f"{bucket.url}/figures")
    sessions = f"{bucket.url}/shared"
    assert "nothing was written" in run("share", "c3e8", "--to", sessions, code=3) and bucket.keys("shared") == []
    run("share", "c3e8", "--to", sessions, "--replace-likely")
    packed = [data for key, data in bucket.objects("shared").items() if key.endswith(".zst")]
    text = b"".join(unpack(data) for data in packed)
    assert b"[redacted-" in text and b"/home/sam" not in text and b"wJal" not in text
    options = ("--no-open", "--port", "0", "--sign-in", "X-User")
    with start("serve", "--team", f"{bucket.url}/figures", "--root", sessions, *options) as process:
        try:
            assert process.stdout is not None
            address = re.search(r"http://[^/]+/", process.stdout.readline().decode())
            assert address is not None

            def get(path: str, name: str = "ann") -> Any:
                return json.load(urlopen(Request(f"{address[0]}api/{path}", headers={"X-User": name}), timeout=120))

            with pytest.raises(HTTPError, match="401"):
                get("team", name="")
            assert get("team?quarter=2026-Q1")["usage"]["totals"]["responses"] > 0
            [listed] = get("library")["sessions"]
            assert listed["id"].startswith("c3e8")
            opened = get(f"sessions/{listed['key']}")
            assert opened["title"] == "A panel for retries" and "user-" in opened["project"]
        finally:
            os.killpg(process.pid, signal.SIGTERM)


def copy(bucket: Bucket, folder: Path) -> Path:
    """Bring the files that count to a folder."""
    place = TableFiles(folder)
    files = {key: data for key, data in bucket.objects("figures/").items() if not key.endswith("/")}
    for key, data in files.items():
        path = folder / key.removeprefix("sessions/figures/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    named = {name for manifest in newest_manifests(place) for _, _, name in manifest.files()}
    for path in folder.rglob("*.parquet"):
        if str(path.relative_to(folder)) not in named:  # what a killed machine left
            path.unlink()
    return folder


def read_parquet(folder: Path) -> Any:
    """Read a folder as any program does that knows Parquet and nothing of reread."""
    partitions = pyarrow.schema([("machine", pyarrow.string()), ("month", pyarrow.string())])
    hive = pyarrow.dataset.partitioning(partitions, flavor="hive")
    first = pyarrow.dataset.dataset(folder, partitioning=hive)
    schemas = [pyarrow.parquet.read_schema(path) for path in first.files]
    return first.replace_schema(pyarrow.unify_schemas([first.schema, *schemas])).to_table()
