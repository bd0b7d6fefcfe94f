"""The cost of today and the rest of budgets, written down for those who cannot wait for a count: status lines.

Run as a program, it counts and writes, unless another one does; `status_line` starts it when what is written is old.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from reread.base.times import parse_span
from reread.reports.budget_report import budgets
from reread.reports.status_line import MARK, RATE_LIMITS, SPENDING, cache_file, now_seconds
from reread.reports.usage_report import usage
from reread.storage.atomic import write_atomic
from reread.storage.lock import lock
from reread.storage.safe_open import make_own_folder, open_descriptor, read_own
from reread.storage.user_paths import cache_folder

LARGEST = 1 << 20


def write_spending() -> None:
    """Count what today costs, and write it down with what is left of each budget."""
    day = parse_span("today")
    today = usage(since="today").totals
    value = {
        "at": now_seconds(),
        "from": day.start.timestamp(),
        "until": (day.end or day.start).timestamp(),
        "today_usd": today.cost_usd,
        "budgets": [
            {"per": one.per, "project": one.project, "model": one.model, "left_usd": one.left_usd} for one in budgets()
        ],
    }
    make_own_folder(cache_folder())
    write_atomic(Path(cache_file(SPENDING)), [json.dumps(value).encode()], follow=False)


def forget_spending() -> None:
    """Forget what was written down, because budgets have changed; the next status lines have it counted."""
    for file in cache_folder().glob(SPENDING.format("*")):
        file.unlink(missing_ok=True)
    for mark in cache_folder().glob(MARK.format("*")):
        with suppress(FileNotFoundError):
            os.utime(mark, (0, 0))


def rate_limits() -> dict[str, Any]:
    """Return the rate limits that a client last gave a status line, by window; empty if there are none."""
    from reread.base.coerce import as_dict

    try:
        return as_dict(as_dict(json.loads(read_own(cache_file(RATE_LIMITS), LARGEST))).get("rate_limits"))
    except (OSError, ValueError, RecursionError):
        return {}


def main() -> None:
    """Write down what is spent, unless another process counts it now."""
    make_own_folder(cache_folder())
    mark = open_descriptor(Path(cache_file(MARK)), os.O_RDWR | os.O_CREAT)
    if lock(mark):  # the system releases it when this process ends
        write_spending()


if __name__ == "__main__":
    main()
