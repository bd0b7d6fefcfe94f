"""Twenty machines of a team write to one bucket at once: each response counts once, in five ways; no word leaves."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
from used import FIGURES, figures

import reread
from reread.addons.iceberg.catalog import commit_tables, open_catalog
from reread.dataset.manifest import newest_manifests
from reread.dataset.table_files import TableFiles, table_files
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


def write(machine: Machine, bucket: str) -> subprocess.Popen[bytes]:
    """Start `reread tables --to` on a machine."""
    return start("tables", "--root", str(machine.root), "--to", bucket, **machine.variables)


def wait_for(process: subprocess.Popen[bytes]) -> None:
    out, errors = process.communicate(timeout=900)
    assert process.returncode == 0, (out, errors)


def own_totals(machines: list[Machine], **period: str) -> dict[str, Any]:
    """What the machines' own files have, each response counted once."""
    return figures(reread.usage(root=[machine.root for machine in machines], cache=False, **period).totals)


@contextmanager
def served(*options: str) -> Iterator[Callable[..., Any]]:
    """Serve a team, and provide what asks the API in the name of a person."""
    with start("serve", "--no-open", "--port", "0", "--sign-in", "X-User", *options, TZ="UTC") as process:
        try:
            assert process.stdout is not None
            address = re.search(r"http://[^/]+/", process.stdout.readline().decode())
            assert address is not None

            def get(path: str, name: str = "ann") -> Any:
                return json.load(urlopen(Request(f"{address[0]}api/{path}", headers={"X-User": name}), timeout=300))

            yield get
        finally:
            os.killpg(process.pid, signal.SIGTERM)


@pytest.mark.timeout(1800)
def test_twenty_machines_at_once(bucket: Bucket, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """One has a wrong clock, one is killed and runs again, one has the tables of 0.2: no token and no word is wrong."""
    machines, out = [Machine(tmp_path, n, words=True) for n in range(MACHINES)], f"{bucket.url}/figures"
    sources = b"".join(path.read_bytes() for machine in machines for path in machine.root.rglob("*.json*"))
    assert [word for word in WORDS if word.encode() not in sources] == [], "all words are planted"
    put_tables_of_02(machines[OLDER], bucket, tmp_path / "older")
    running = {machine: write(machine, out) for machine in machines[:OLDER]}
    killed = running.pop(machines[KILLED])
    end = time.monotonic() + 600
    while not bucket.keys(f"figures/usage/machine={machines[KILLED].name}") and time.monotonic() < end:
        assert killed.poll() is None, killed.communicate()
        time.sleep(0.01)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert not bucket.keys(f"figures/_reread/{machines[KILLED].name}/"), "it was in the midst"
    for process in (*running.values(), write(machines[KILLED], out)):
        wait_for(process)

    wanted = own_totals(machines)
    assert wanted["responses"] > 300
    assert_by_usage(out, wanted)
    assert_by_the_page(out, machines)
    assert_totals(reread.sql(f"select {TOTALS} from usage", tables=out)[0], wanted, "sql over earlier tables")
    assert [finding.text for finding in reread.team(out).verify()] == ["an earlier version wrote it"]

    wait_for(write(machines[OLDER], out))
    assert_by_usage(out, wanted)
    assert reread.team(out).verify() == []
    assert_by_sql(out, bucket, wanted, tmp_path)
    assert_by_iceberg(out, machines, wanted, tmp_path)
    if shutil.which("java"):
        assert_by_spark(request.getfixturevalue("spark"), machines, wanted, tmp_path)
    for key, data in bucket.objects("figures/").items():
        text = readable(key, data)
        assert [word for word in (*WORDS, KEY) if word.encode() in text] == [], key


def put_tables_of_02(machine: Machine, bucket: Bucket, folder: Path) -> None:
    machine.write(folder, figures=False)
    as_written_by_02(machine, folder)
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and "lock" not in path.name):
        bucket.put(f"sessions/figures/{path.relative_to(folder)}", path.read_bytes())


def assert_by_usage(out: str, wanted: dict[str, Any]) -> None:
    opened = reread.team(out)
    for by in ("week", "person", "project,model"):
        report = opened.usage(by=by)
        assert report.refused == {} and all(row.people >= 3 for row in report.rows)
        assert report.totals["disputed"] == 0
        assert_totals(report.totals, wanted, by)
    said = json.loads(run("usage", "--team", out, "--json"))
    assert_totals(said["totals"], wanted, "usage --team")


def assert_by_the_page(out: str, machines: list[Machine]) -> None:
    with served("--team", out) as get:
        quarters = get("team")["quarters"]
        assert "2031-Q" in quarters[0], "of the wrong clock"
        counted = 0
        for quarter in quarters:
            page = get(f"team?quarter={quarter}")
            usage = page["usage"]
            if not usage["withheld"] and not usage["weeks_left_out"]:
                span = {"since": page["since"], "until": page["until"], "tz": "UTC"}
                assert_totals(usage["totals"], own_totals(machines, **span), quarter)
                counted += 1
        assert counted >= 4


def assert_by_sql(out: str, bucket: Bucket, wanted: dict[str, Any], tmp_path: Path) -> None:
    import duckdb

    assert_totals(reread.sql(f"select {TOTALS} from usage", tables=out)[0], wanted, "sql")
    raw = read_parquet(copy(bucket, tmp_path / "copied") / "usage")
    assert raw.num_rows > wanted["responses"], "machines have copies"
    assert_totals(duckdb.sql(totals_query("raw")).to_arrow_table().to_pylist()[0], wanted, "parquet")


def assert_by_iceberg(out: str, machines: list[Machine], wanted: dict[str, Any], tmp_path: Path) -> None:
    import duckdb

    catalog = open_catalog(f"sqlite:///{tmp_path}/catalog.db", None)
    for machine in machines:
        commit_tables(table_files(out), machine.name, catalog)
    lake = catalog.load_table("reread.usage").scan().to_arrow()
    assert lake.num_rows > wanted["responses"]
    assert_totals(duckdb.sql(totals_query("lake")).to_arrow_table().to_pylist()[0], wanted, "iceberg")


def assert_by_spark(spark: Any, machines: list[Machine], wanted: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "copied" / "usage"
    spark.read.option("mergeSchema", True).parquet(str(folder)).createOrReplaceTempView("usage")
    assert_totals(spark.sql(totals_query("usage")).collect()[0].asDict(), wanted, "spark over the tables")
    for machine in machines:
        shutil.copytree(machine.root / "projects", tmp_path / "together" / "projects" / machine.name)
    frame = reread.spark.count_usage(spark, str(tmp_path / "together"), task_bytes=100_000)
    assert frame.rdd.getNumPartitions() > 1
    frame.createOrReplaceTempView("counted")
    assert_totals(spark.sql(f"select {TOTALS} from counted").collect()[0].asDict(), wanted, "spark over transcripts")


def readable(key: str, data: bytes) -> bytes:
    """What can be read of an object: its name, its bytes, and all values of a table, unpacked."""
    if not key.endswith(".parquet"):
        return key.encode() + data
    table = pyarrow.parquet.read_table(io.BytesIO(data), partitioning=None)
    return b"".join((key.encode(), data, repr(table.schema).encode(), repr(table.to_pylist()).encode()))


def test_a_shared_session_opens_beside_the_figures(bucket: Bucket, tmp_path: Path) -> None:
    write_all([Machine(tmp_path, n) for n in range(6)], f"{bucket.url}/figures")
    sessions = f"{bucket.url}/shared"
    assert "nothing was written" in run("share", "c3e8", "--to", sessions, code=3) and bucket.keys("shared") == []
    run("share", "c3e8", "--to", sessions, "--replace-likely")
    packed = [data for key, data in bucket.objects("shared").items() if key.endswith(".zst")]
    text = b"".join(unpack(data) for data in packed)
    assert b"[redacted-" in text and b"/home/sam" not in text and b"wJal" not in text
    with served("--team", f"{bucket.url}/figures", "--root", sessions) as get:
        with pytest.raises(HTTPError, match="401"):
            get("team", name="")
        assert get("team?quarter=2026-Q1")["usage"]["totals"]["responses"] > 0
        [listed] = get("library")["sessions"]
        assert listed["id"].startswith("c3e8")
        opened = get(f"sessions/{listed['key']}")
        assert opened["title"] == "A panel for retries" and "user-" in opened["project"]


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
