"""What it takes to start and to install: CPU of `import reread` and `--help`, size of the wheel, time to install."""

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
        "`reread --help`": ((python, "-m", "reread", "--help"), "≤ 120 ms"),
    }
    rows: list[Row] = []
    for work, (command, goal) in works.items():
        own = cpu_of(*command)
        rows.append(
            Row(work, f"{own * 1000:.0f} ms CPU", f"bare Python {bare * 1000:.0f} ms", f"{own / bare:.1f} ×", goal)
        )
    return rows


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
    measure.report([*start_rows(), *install_rows()])
