"""Measure the first day on a machine: every verb that derives something, one after another, with each of them first."""

import argparse
import os
import shutil
import socket
import sys

import measure
from measure import Row

DATA = measure.data()
VERBS = {
    "usage": ("usage", "--json"),
    "stats": ("stats", "--json"),
    "search": ("search", "return value", "--json"),
    "blame": ("blame", socket.__file__, "--as", "proj/socket.py", "--json"),
    "sql": ("sql", "SELECT count(*) FROM calls", "--json"),
}


def orders(only: list[str]) -> list[list[str]]:
    """Return the orders in which the verbs run: each of them first, then the others as they are listed."""
    return [[first, *(verb for verb in VERBS if verb != first)] for first in only or VERBS]


def day(verbs: list[str]) -> list[tuple[str, float]]:
    """Run the verbs with nothing derived before; return the CPU seconds of each."""
    own = DATA.root / "first-day"
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir()
    os.environ |= {"REREAD_CACHE": str(own / "cache"), "REREAD_HOME": str(own / "home")}
    program = [sys.executable, "-m", "reread"]
    return [(verb, measure.run([*program, *VERBS[verb]], accepted=(0, 1)).cpu) for verb in verbs]


def row(found: list[tuple[str, float]], goal: str) -> Row:
    """Return what each verb took, and all together."""
    each = ", ".join(f"`{verb}` {cpu:.2f}" for verb, cpu in found)
    return Row(each, f"{sum(cpu for _, cpu in found):.1f} s CPU", goal=goal)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="30 MB in 60 files instead of 92 MB in 200")
    parser.add_argument("only", nargs="*", metavar="VERB", choices=[[], *VERBS], help="the verbs that are first")
    plan = parser.parse_args(namespace=measure.Plan())
    tree = DATA.tree(60 if plan.quick else 200)
    os.environ["CLAUDE_CONFIG_DIR"] = str(tree)
    size = sum(path.stat().st_size for path in tree.rglob("*.jsonl"))
    goal = f"≤ {size / 476e6 * 30:.1f} s"
    measure.report(row(day(verbs), goal) for verbs in orders(plan.only))


if __name__ == "__main__":
    main()
