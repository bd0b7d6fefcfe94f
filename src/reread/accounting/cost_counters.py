"""Readings of the client's own cost counters, from `result` and `cost-state` records."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from reread.accounting.billing import Charge, charge_of, to_nanos
from reread.base.coerce import as_str
from reread.records.envelope import to_usage


class ModelCounters(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The counters of one model."""

    input: int = 0
    output: int = 0
    read: int = 0
    write: int = 0
    """All cache writes."""
    write_5m: int | None = None
    write_1h: int | None = None
    """The two parts of the cache writes, if the client states them."""
    searches: int = 0
    cost_nanos: int | None = None

    @property
    def counts(self) -> tuple[int, ...]:
        """The numbers that never decrease while a counter runs."""
        return (self.input, self.output, self.read, self.write, self.searches, self.cost_nanos or 0)

    @property
    def prompt(self) -> int:
        """All prompt tokens."""
        return self.input + self.read + self.write

    def minus(self, earlier: ModelCounters) -> ModelCounters:
        """Return what was counted since an earlier reading."""
        return ModelCounters(
            self.input - earlier.input,
            self.output - earlier.output,
            self.read - earlier.read,
            self.write - earlier.write,
            _minus(self.write_5m, earlier.write_5m),
            _minus(self.write_1h, earlier.write_1h),
            self.searches - earlier.searches,
            _minus(self.cost_nanos, earlier.cost_nanos),
        )


def _minus(now: int | None, earlier: int | None) -> int | None:
    return None if now is None and earlier is None else (now or 0) - (earlier or 0)


Models = dict[str, ModelCounters]
NO_COUNTERS = ModelCounters()


class CounterReading(msgspec.Struct, gc=False, array_like=True):
    """A reading of a counter that runs for one process, or in newer versions through resumes and forks."""

    session: str | None
    cost_nanos: int | None
    """The total cost so far."""
    models: Models
    """The totals of each model so far."""
    after: int
    """Number of responses in the file before this reading."""
    since_last: Models | None = None
    """The amounts that the client counted since its last reading."""
    turn: Charge | None = None
    """The usage of the main thread in the turn that ended."""
    by_model: bool = True
    """True if the client states totals for each model."""
    start: float | None = None
    """When the counter started: a reading with another start is of another counter."""
    uuid: str | None = None
    streamed: bool = False
    """True if the reading comes from a stream."""
    origin_index: int | None = None
    """Index into `UsageDigest.origins` of the main thread's last response before this: the cost belongs there."""
    time_ms: int | None = None
    """The time of that response."""

    @property
    def prompt(self) -> int | None:
        """All prompt tokens; None if the client does not state them."""
        return sum(model.prompt for model in self.models.values()) if self.models else None

    def follows(self, earlier: CounterReading) -> bool:
        """True if one counter can have gone from an earlier reading to this one: no number has decreased."""
        if self.cost_nanos is not None and earlier.cost_nanos is not None and self.cost_nanos < earlier.cost_nanos:
            return False
        if not self.models or not earlier.models:
            return True
        return all(
            all(a >= b for a, b in zip(self.models.get(name, NO_COUNTERS).counts, before.counts, strict=True))
            for name, before in earlier.models.items()
        )


class CounterDelta(msgspec.Struct, frozen=True):
    """The difference between two readings of a counter."""

    reading: CounterReading
    """The later reading."""
    cost_nanos: int | None
    models: Models


def counter_delta(reading: CounterReading, base: CounterReading | None) -> CounterDelta:
    """Return what was counted from `base`, or from zero, to a reading."""
    if base is None:
        return CounterDelta(reading, reading.cost_nanos, reading.models)
    models = {name: now.minus(base.models.get(name, NO_COUNTERS)) for name, now in reading.models.items()}
    cost = None if reading.cost_nanos is None else reading.cost_nanos - (base.cost_nanos or 0)
    return CounterDelta(reading, cost, _nonzero(models))


def stated_delta(reading: CounterReading) -> CounterDelta | None:
    """Return what the client itself states was counted since its last reading; None if it states nothing."""
    if reading.since_last is None:
        return None
    costs = [model.cost_nanos for model in reading.since_last.values() if model.cost_nanos is not None]
    return CounterDelta(reading, sum(costs), _nonzero(reading.since_last))


def _nonzero(models: Models) -> Models:
    return {name: model for name, model in models.items() if any(model.counts)}


def read_result(value: dict[str, Any], after: int) -> CounterReading | None:
    """Return the reading in a `result` record in the native format; None if it has none."""
    models = _models(value.get("modelUsage"))
    cost = _total_cost(value.get("total_cost_usd"), models)
    usage = value.get("usage")
    if cost is None and models is None and not isinstance(usage, dict):
        return None
    return CounterReading(
        session=as_str(value.get("sessionId")),
        cost_nanos=cost,
        models=models or {},
        after=after,
        since_last=_models(value.get("model_usage_since_last_result")),
        turn=charge_of(to_usage(cast(dict[str, Any], usage)), None) if isinstance(usage, dict) else None,
        by_model=models is not None,
        uuid=as_str(value.get("uuid")),
        streamed=True,
    )


def read_cost_state(value: dict[str, Any], after: int) -> CounterReading | None:
    """Return the reading in a `cost-state` record; None if it has none."""
    models = _models(value.get("modelUsage"))
    cost = _total_cost(value.get("totalCostUSD"), models)
    if cost is None and models is None:
        return None
    start: Any = value.get("startTime")
    return CounterReading(
        session=as_str(value.get("sessionId")),
        cost_nanos=cost,
        models=models or {},
        after=after,
        start=float(start) if _is_number(start) else None,
    )


def _models(value: Any) -> Models | None:
    if not isinstance(value, dict):
        return None
    models = cast(dict[str, Any], value)
    return {name: _model(cast(dict[str, Any], model)) for name, model in models.items() if isinstance(model, dict)}


def _model(value: dict[str, Any]) -> ModelCounters:
    numbers = {name: number for name, number in value.items() if _is_number(number)}

    def count(name: str) -> int:
        return max(0, int(numbers.get(name, 0)))

    lives = (f"cacheCreationEphemeral{life}InputTokens" for life in ("5m", "1h"))
    write_5m, write_1h = (count(life) if isinstance(value.get(life), int) else None for life in lives)
    return ModelCounters(
        count("inputTokens"),
        count("outputTokens"),
        count("cacheReadInputTokens"),
        max(count("cacheCreationInputTokens"), (write_5m or 0) + (write_1h or 0)),
        write_5m,
        write_1h,
        count("webSearchRequests"),
        to_nanos(numbers["costUSD"]) if "costUSD" in numbers else None,
    )


def _total_cost(value: Any, models: Models | None) -> int | None:
    """Return the stated total cost; if it is missing, the sum over the models."""
    costs = [model.cost_nanos for model in (models or {}).values() if model.cost_nanos is not None]
    if _is_number(value):
        return to_nanos(value)
    return sum(costs) if costs else None


def _is_number(value: Any) -> bool:
    """True if a value can be a number of tokens or dollars."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15
