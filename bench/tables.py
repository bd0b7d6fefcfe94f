"""Measure tables: transcripts to Parquet and Iceberg beside DuckDB's own JSON reader, and `sql` when warm."""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import measure
from measure import Plan, Row, size_of

DATA = measure.data()
OUT = DATA.root / "tables"
LAKE = DATA.root / "lake"
OURS = [sys.executable, "-m", "reread", "tables", "-o", str(OUT)]
SQL = [sys.executable, "-m", "reread", "sql"]
READ_JSON = """
import duckdb, sys
tree, target, options = sys.argv[1:]
duckdb.sql("set memory_limit = '4GB'; set temp_directory = ''")
duckdb.sql(f"copy (select * from read_json('{tree}/**/*.jsonl', {options})) to '{target}' (format parquet)")
"""
OPTIONS = {
    "guessing": "auto_detect = true",
    "guessing for each file": "union_by_name = true",
    "guessing from all lines": "union_by_name = true, sample_size = -1, maximum_object_size = 134217728",
    "without a schema": "records = false, format = 'newline_delimited', columns = {'json': 'JSON'}",
}
"""Ways to read transcripts with DuckDB alone: by columns that it guesses, or each line as one value."""


def write(plan: Plan) -> Iterator[Row]:
    """Write a tree as tables, with and without text, and again; DuckDB reads the same files."""
    tree = DATA.tree(plan.files)
    raw = size_of(tree, "*.jsonl")
    for name, more in (("without text", []), ("with text", ["--text"])):
        shutil.rmtree(OUT, ignore_errors=True)
        cost = measure.run([*OURS, "--root", str(tree), *more], watch=True)
        size = size_of(OUT, "*.parquet")
        yield Row(
            f"{raw / 1e6:.0f} MB in {plan.files:,} files to Parquet, {name}",
            f"{cost.cpu:.2f} s CPU, {raw / cost.cpu / 1e6:.0f} MB/s, {cost.peak / 1e6:.0f} MB at most",
            f"size {size / raw:.1%}",
        )
        again = min(measure.run([*OURS, "--root", str(tree), *more]).cpu for _ in range(3))
        yield Row("again, unchanged", f"{again:.2f} s CPU")
    shutil.rmtree(LAKE, ignore_errors=True)
    LAKE.mkdir()
    commit = [*OURS, "--root", str(tree), "--text", "--iceberg", f"sqlite:///{LAKE}/catalog.db"]
    first = measure.run(commit, watch=True)
    yield Row("from there to Iceberg, with text", f"{first.cpu:.2f} s CPU, {first.peak / 1e6:.0f} MB at most")
    yield Row("again, unchanged", f"{measure.run(commit).cpu:.2f} s CPU")
    yield from _read_json_rows(tree)


def real(plan: Plan) -> Iterator[Row]:
    """Write transcripts of the real client, from the folder that `REREAD_REAL_CLIENT` names."""
    folder = Path(os.environ.get("REREAD_REAL_CLIENT", "")) / "data"
    if not os.environ.get("REREAD_REAL_CLIENT") or not folder.is_dir():
        return
    raw, count = size_of(folder, "*.jsonl"), sum(1 for _ in folder.rglob("*.jsonl"))
    roots = [word for version in sorted(folder.iterdir()) for word in ("--root", str(version))]
    shutil.rmtree(OUT, ignore_errors=True)
    cost = measure.run([*OURS, *roots, "--text"])
    speed = f"{cost.cpu:.2f} s CPU, {raw / cost.cpu / 1e6:.0f} MB/s"
    yield Row(f"{raw / 1e6:.0f} MB in {count:,} real files to Parquet, with text", speed)
    yield from _read_json_rows(folder)


def _read_json_rows(tree: Path) -> Iterator[Row]:
    for name, options in OPTIONS.items():
        yield Row(f"DuckDB's read_json, {name}", _read_json(tree, options))


def _read_json(tree: Path, options: str) -> str:
    command = [sys.executable, "-c", READ_JSON, str(tree), str(DATA.root / "json.parquet"), options]
    try:
        return f"{measure.run(command).cpu:.2f} s CPU"
    except subprocess.CalledProcessError:
        done = subprocess.run(command, capture_output=True, text=True)
        error = next((line for line in done.stderr.splitlines() if "Error:" in line), done.stderr.strip()[-200:])
        return f"fails: {error.partition('Exception: ')[2] or error}"[:240].replace("|", "\\|")


def sql(plan: Plan) -> Iterator[Row]:
    """Ask the tables in the cache: for the first time, again, and after one file changed."""
    tree = DATA.many(plan.files)
    shutil.rmtree(DATA.root / "home" / "reread" / "tables", ignore_errors=True)
    query = [*SQL, "--root", str(tree), "select tool, count(*) from calls group by all order by 2 desc"]
    first = measure.run(query)
    warm = [measure.run(query) for _ in range(5)]
    yield Row(f"sql over {plan.files:,} files, for the first time", f"{first.cpu:.2f} s CPU")
    best = min(run.cpu for run in warm)
    yield Row("warm", f"{best:.2f} s CPU", f"{min(run.wall for run in warm):.2f} s", goal="≤ 0.5 s")
    path = next(tree.rglob("*.jsonl"))
    with path.open("ab") as file:
        file.write(b"\n")
    yield Row("after one file changed", f"{measure.run(query).cpu:.2f} s CPU")


ROWS = {"write": write, "real": real, "sql": sql}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the data")
    measure.report_chosen(ROWS, parser, Plan())
