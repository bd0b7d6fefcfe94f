"""Measure Spark: its CPU beside the bare decoder's, one worker and two, and a large file by range."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import measure
from measure import Plan, Row, size_of

DATA = measure.data()
TABLES = ("records", "calls", "usage")
ROUNDS = 3
TASK_BYTES = 4 << 20
"""Enough tasks for two workers, also of a small tree."""


def bare(folder: Path, table: str) -> float:
    """Return the CPU seconds of the same batches in one process without Spark."""
    from reread.addons.spark.files import FilePart
    from reread.dataset.arrow import batches
    from reread.dataset.schema import TABLES as SCHEMAS
    from reread.dataset.usage_rows import settled_rows
    from reread.disk.file_set import find_files

    files = find_files([folder])
    start = sum(os.times()[:4])
    if table == "usage":
        rows = settled_rows(files, "m", cache=False)
    else:
        parts = (FilePart.of(path, 0, state.size) for path, state in sorted(files.states.items()))
        rows = (row for part in parts for row in part.rows(table, "m", text=False))
    for _ in batches(SCHEMAS[table], rows):
        pass
    return sum(os.times()[:4]) - start


Query = tuple[str, str, int]
"""A folder or file, a table, and the bytes of a task."""


def job(workers: int, queries: list[Query]) -> list[dict[str, float]]:
    """Run queries in a Spark of its own; return the tasks, CPU and wall seconds of each, the best of some rounds."""
    command = [sys.executable, __file__, "--job", json.dumps([workers, queries])]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def run_job(workers: int, queries: list[Query]) -> None:
    """Be the process with the Spark of `job`."""
    session = _session(workers)
    results = [_run(session, *query) for query in queries]
    session.stop()
    print(json.dumps(results))


def _run(session: Any, root: str, table: str, task_bytes: int) -> dict[str, float]:
    frame = session.read.format("reread").options(table=table, taskBytes=str(task_bytes)).load(root)
    best: dict[str, float] = {"tasks": frame.rdd.getNumPartitions()}
    for number in range(ROUNDS + 1):
        shutil.rmtree(Path(os.environ["REREAD_CACHE"]), ignore_errors=True)
        cpu, wall = _family_cpu(), time.perf_counter()
        frame.write.format("noop").mode("overwrite").save()
        found = {"cpu": _family_cpu() - cpu, "wall": time.perf_counter() - wall}
        if number:  # the first starts the workers
            best = {name: min(value, best.get(name, value)) for name, value in found.items()} | {"tasks": best["tasks"]}
    return best


def _session(workers: int) -> Any:
    import pyspark
    from pyspark.sql import SparkSession

    import reread

    folder = DATA.root / "spark"
    os.environ |= {
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "REREAD_CACHE": str(folder / "cache"),
    }
    builder = SparkSession.builder.master(f"local-cluster[{workers},1,1024]")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.executorEnv.PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "spark.executorEnv.REREAD_CACHE": str(folder / "cache"),
        "spark.executorEnv.HOME": os.environ["HOME"],
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    reread.spark.register(session)
    return session


def _family_cpu() -> float:
    """Return the CPU seconds of this process and all that it started, those that have ended included (Linux)."""
    ticks = 0
    for pid in measure.family(os.getpid()):
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def tables(plan: Plan) -> Iterator[Row]:
    """Read tables of a tree without Spark, with one worker and with two; and a folder with nothing to read."""
    tree, empty = DATA.tree(plan.files), DATA.root / "empty"
    empty.mkdir(exist_ok=True)
    raw = size_of(tree, "*.jsonl") / 1e6
    queries = [(str(empty), "records", TASK_BYTES), *((str(tree), table, TASK_BYTES) for table in TABLES)]
    one, two = job(1, queries), job(2, queries)
    yield Row("a query that reads nothing", f"{one[0]['cpu']:.2f} s CPU, {one[0]['wall']:.2f} s")
    for table, *found in zip(TABLES, one[1:], two[1:], strict=True):
        floor = min(bare(tree, table) for _ in range(ROUNDS))
        yield Row(f"{table} of {raw:.0f} MB, without Spark", f"{floor:.2f} s CPU, {raw / floor:.0f} MB/s")
        for workers, times in enumerate(found, 1):
            yield Row(
                f"with {workers} of Spark's workers, {times['tasks']} tasks",
                f"{times['cpu']:.2f} s CPU, {times['wall']:.2f} s",
                "without Spark",
                f"{times['cpu'] / floor:.2f} × CPU",
            )
        yield Row("growth from 1 worker to 2", f"{found[0]['wall'] / found[1]['wall']:.2f} ×")


def ranges(plan: Plan) -> Iterator[Row]:
    """Read the records of one large file whole and by range."""
    made = DATA.large(quick=plan.quick)
    named = DATA.root / "large" / "projects" / "-p" / f"{_session_id(made)}.jsonl"
    if not named.exists():
        named.parent.mkdir(parents=True, exist_ok=True)
        named.hardlink_to(made)
    size = named.stat().st_size
    queries = [(str(named), "records", task_bytes) for task_bytes in (2 * size, size // 8)]
    for name, found in zip(("whole", "by range"), job(2, queries), strict=True):
        yield Row(
            f"records of a file of {size / 1e6:.0f} MB, {name}, {found['tasks']} tasks, 2 workers",
            f"{found['cpu']:.2f} s CPU, {found['wall']:.2f} s",
        )


def _session_id(path: Path) -> str:
    with path.open("rb") as file:
        return next(found for line in file if (found := json.loads(line).get("sessionId")))


ROWS = {"tables": tables, "ranges": ranges}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--job"]:
        run_job(*json.loads(sys.argv[2]))
        sys.exit()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the data")
    measure.report_chosen(ROWS, parser, Plan())
