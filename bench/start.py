"""What it takes to start and to install: CPU of `import reread` and of small verbs, wall time of the status line
with 2,000 sessions on disk, size of the wheel, time to install."""

import json
import os
import resource
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from pathlib import Path

import measure
from measure import Row

measure.data()
ROOT = Path(__file__).parent.parent
ROUNDS = 7
STATUS_ROUNDS = 20
SESSIONS = 2000


def children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu_of(*command: str) -> float:
    """The least CPU of a command over several runs."""
    spent: list[float] = []
    for _ in range(ROUNDS):
        before = children_cpu()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        spent.append(children_cpu() - before)
    return min(spent)


def start_rows() -> list[Row]:
    python = sys.executable
    bare = cpu_of(python, "-c", "pass")
    works = {
        "`import reread`": ((python, "-c", "import reread"), ""),
        "`reread --help`": ((python, "-m", "reread", "--help"), "≤ 90 ms"),
        "`reread ls` of the samples": ((python, "-m", "reread", "--demo", "ls"), "≤ 120 ms"),
        "`reread search` in them": ((python, "-m", "reread", "--demo", "search", "error"), "≤ 170 ms"),
        "`reread show` of one": ((python, "-m", "reread", "--demo", "show", "latest"), "≤ 180 ms"),
    }
    rows: list[Row] = []
    for work, (command, goal) in works.items():
        own = cpu_of(*command)
        rows.append(
            Row(work, f"{own * 1000:.0f} ms CPU", f"bare Python {bare * 1000:.0f} ms", f"{own / bare:.1f} ×", goal)
        )
    return rows


def status_rows() -> list[Row]:
    """The status line, warm, with 2,000 sessions on disk: what today costs has been counted."""
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(SESSIONS):
            file = Path(scratch) / f"claude/projects/-p{number % 100}/{number:08}-0000-4000-8000-000000000000.jsonl"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps({"type": "user", "message": {"role": "user", "content": "Hello"}}) + "\n")
        given = Path(scratch) / "input.json"
        given.write_text(json.dumps({"cost": {"total_cost_usd": 1.5}, "context_window": {"used_percentage": 40}}))
        home = {"CLAUDE_CONFIG_DIR": f"{scratch}/claude", "REREAD_CACHE": f"{scratch}/cache", "REREAD_HOME": scratch}
        environment = {**os.environ, **home}
        count = "from reread.reports.spending import write_spending; write_spending()"
        subprocess.run([sys.executable, "-c", count], env=environment, check=True)
        program = str(Path(sys.executable).with_name("reread"))

        def wall(*command: str) -> float:
            took: list[float] = []
            for _ in range(STATUS_ROUNDS):
                with given.open() as file:
                    before = time.perf_counter()
                    subprocess.run(command, stdin=file, stdout=subprocess.DEVNULL, env=environment, check=True)
                    took.append(time.perf_counter() - before)
            return min(took)

        bare, own = wall(sys.executable, "-c", "pass"), wall(program, "statusline")
        return [
            Row(
                "`reread statusline`",
                f"{own * 1000:.0f} ms wall",
                f"bare Python {bare * 1000:.0f} ms",
                f"+{(own - bare) * 1000:.0f} ms",
                "≤ 50 ms more",
            )
        ]


def install_rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as scratch:
        wheels, home = Path(scratch) / "wheels", Path(scratch) / "environment"
        quiet = ("--quiet", "--disable-pip-version-check")
        subprocess.run(
            [sys.executable, "-m", "pip", "wheel", *quiet, "--no-deps", "--wheel-dir", str(wheels), str(ROOT)],
            check=True,
        )
        wheel = next(wheels.glob("*.whl"))
        venv.create(home, with_pip=True)
        python = home / Path(sysconfig.get_path("scripts")).name / "python"
        before = time.perf_counter()
        subprocess.run([str(python), "-m", "pip", "install", *quiet, str(wheel)], check=True)
        took = time.perf_counter() - before
        return [Row("the wheel", f"{wheel.stat().st_size / 1e6:.2f} MB"), Row("`pip install` of it", f"{took:.0f} s")]


if __name__ == "__main__":
    measure.report([*start_rows(), *status_rows(), *install_rows()])
