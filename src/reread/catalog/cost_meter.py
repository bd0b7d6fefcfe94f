"""Compute what each result of a captured conversation adds to the cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reread.accounting.billing import to_dollars
from reread.accounting.cost_counters import CounterReading, counter_delta, read_result
from reread.accounting.counter_deltas import is_per_process
from reread.base import jsontext
from reread.base.coerce import as_dict, as_str
from reread.catalog.stored_line import OUT, LineType, StoredLine, decode_line
from reread.disk.reverse_lines import lines_backwards
from reread.records import dialects


class CostMeter:
    """Turn the client's running totals into costs per result.

    The totals grow for as long as a process runs, and in newer versions for as long as a session lives.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last: CounterReading | None = None
        self._run_is_new = True
        """True until the first result of the run."""
        self._client_version: str | None = None

    def start_run(self) -> None:
        """Begin to read the output of another process."""
        self._run_is_new = True

    def measure(self, raw: bytes, line_type: LineType) -> tuple[float | None, float | None]:
        """Return the cost and the duration of the turn that a line ends, None for each that it does not give."""
        if line_type.type == "system":
            self._client_version = as_str(_native(raw).get("version")) or self._client_version
            return None, None
        result = _native(raw)
        duration = result.get("duration_ms")
        return self._cost(result), duration if isinstance(duration, int | float) else None

    def _cost(self, result: dict[str, Any]) -> float | None:
        reading = read_result(result, 0)
        if reading is None or reading.cost_nanos is None:
            return None
        base = self._base(reading)
        self._last, self._run_is_new = reading, False
        return to_dollars(counter_delta(reading, base).cost_nanos or 0)

    def _base(self, reading: CounterReading) -> CounterReading | None:
        """Return the earlier reading that includes what this one includes; None if this one starts from zero."""
        if self._run_is_new and is_per_process(self._client_version):
            return None
        last = self._last
        if last is None and self._run_is_new:
            last = _last_reading(self._path)
        if last is None or last.session != reading.session:
            return None
        return last if reading.follows(last) else None


def _last_reading(path: Path) -> CounterReading | None:
    """Read the last result in a conversation's file."""
    for line in lines_backwards(path):
        if b'"result"' in line:
            stored = decode_line(line)
            if isinstance(stored, StoredLine) and stored.stream == OUT and _native(stored.raw).get("type") == "result":
                return read_result(_native(stored.raw), 0)
    return None


def _native(raw: bytes) -> dict[str, Any]:
    """Return a line's object in the native format; empty if it is not an object."""
    value: Any = jsontext.loads_clean(raw)
    return dialects.translate(as_dict(value))[1] if isinstance(value, dict) else {}
