"""Readings: what the client's own counters say, in `result` and `cost-state` records."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from reread.accounting.billing import Charge, charges_of, nano_dollars
from reread.base.coerce import as_str
from reread.records.envelope import to_usage


class ModelCounters(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What a counter says of one model."""

    input: int = 0
    output: int = 0
    read: int = 0
    write: int = 0
    """All cache writes."""
    write_5m: int | None = None
    write_1h: int | None = None
    """The split, where the client gives one."""
    searches: int = 0
    cost: int | None = None
    """Nano-dollars."""

    @property
    def figures(self) -> tuple[int, ...]:
        """What can only grow while a counter runs."""
        return (self.input, self.output, self.read, self.write, self.searches, self.cost or 0)

    @property
    def prompt(self) -> int:
        """The tokens that went in."""
        return self.input + self.read + self.write

    def minus(self, other: ModelCounters) -> ModelCounters:
        """What was counted since an earlier reading."""
        return self._with(other, -1)

    def plus(self, other: ModelCounters) -> ModelCounters:
        """Two stretches of counting together."""
        return self._with(other, 1)

    def _with(self, other: ModelCounters, sign: int) -> ModelCounters:
        return ModelCounters(
            self.input + sign * other.input,
            self.output + sign * other.output,
            self.read + sign * other.read,
            self.write + sign * other.write,
            _known(self.write_5m, other.write_5m, sign),
            _known(self.write_1h, other.write_1h, sign),
            self.searches + sign * other.searches,
            _known(self.cost, other.cost, sign),
        )


def _known(mine: int | None, other: int | None, sign: int) -> int | None:
    return None if mine is None and other is None else (mine or 0) + sign * (other or 0)


Models = dict[str, ModelCounters]
NOTHING = ModelCounters()


class CounterReading(msgspec.Struct, gc=False, array_like=True):
    """One state of a counter that runs through a process, and in newer versions through a session's life."""

    session: str | None
    cost: int | None
    """All that was spent so far, in nano-dollars."""
    models: Models
    """The same by model, with tokens."""
    after: int
    """How many responses the file had told of before."""
    since: Models | None = None
    """What the client says was spent since its last reading."""
    turn: Charge | None = None
    """The usage of the main thread in the turn that ended."""
    by_model: bool = True
    """Whether the client says what it spent on each model."""
    start: float | None = None
    """When the counter was started: another start is another counter."""
    uuid: str | None = None
    printed: bool = False
    place: int | None = None
    """Where the last response of the main thread before it belongs: what was paid is noted there."""
    when: int | None = None
    """When that was."""

    @property
    def prompt(self) -> int | None:
        """All tokens that went in; None where the client did not say."""
        return sum(model.prompt for model in self.models.values()) if self.models else None

    def follows(self, earlier: CounterReading) -> bool:
        """Whether a counter that stood there can stand here now: nothing is smaller than it was."""
        if self.cost is not None and earlier.cost is not None and self.cost < earlier.cost:
            return False
        if not self.models or not earlier.models:
            return True
        return all(
            all(a >= b for a, b in zip(self.models.get(name, NOTHING).figures, then.figures, strict=True))
            for name, then in earlier.models.items()
        )


class CounterDelta(msgspec.Struct, frozen=True):
    """What a counter counted between two readings."""

    reading: CounterReading
    """The reading at its end."""
    cost: int | None
    models: Models


def counter_delta(reading: CounterReading, base: CounterReading | None) -> CounterDelta:
    """What was counted from `base` (or from nothing) to a reading."""
    if base is None:
        return CounterDelta(reading, reading.cost, reading.models)
    models = {name: now.minus(base.models.get(name, NOTHING)) for name, now in reading.models.items()}
    spent = None if reading.cost is None else reading.cost - (base.cost or 0)
    return CounterDelta(reading, spent, {name: m for name, m in models.items() if any(m.figures)})


def stated_delta(reading: CounterReading) -> CounterDelta | None:
    """What the client itself says was counted since its last reading, where it does."""
    if reading.since is None:
        return None
    costs = [model.cost for model in reading.since.values() if model.cost is not None]
    return CounterDelta(reading, sum(costs), {name: m for name, m in reading.since.items() if any(m.figures)})


def read_result(value: dict[str, Any], after: int) -> CounterReading | None:
    """The reading in a `result` record (native tongue), if it has one."""
    models = _models(value.get("modelUsage"))
    cost = _all_cost(value.get("total_cost_usd"), models)
    usage = value.get("usage")
    if cost is None and models is None and not isinstance(usage, dict):
        return None
    return CounterReading(
        session=as_str(value.get("sessionId")),
        cost=cost,
        models=models or {},
        after=after,
        since=_models(value.get("model_usage_since_last_result")),
        turn=_turn(usage),
        by_model=models is not None,
        uuid=as_str(value.get("uuid")),
        printed=True,
    )


def read_cost_state(value: dict[str, Any], after: int) -> CounterReading | None:
    """The reading in a `cost-state` record."""
    models = _models(value.get("modelUsage"))
    cost = _all_cost(value.get("totalCostUSD"), models)
    if cost is None and models is None:
        return None
    start = value.get("startTime")
    return CounterReading(
        session=as_str(value.get("sessionId")),
        cost=cost,
        models=models or {},
        after=after,
        start=float(start) if isinstance(start, int | float) else None,
    )


def _models(value: Any) -> Models | None:
    if not isinstance(value, dict):
        return None
    models = cast(dict[str, Any], value)
    return {name: _model(cast(dict[str, Any], it)) for name, it in models.items() if isinstance(it, dict)}


def _model(value: dict[str, Any]) -> ModelCounters:
    five, hour = (_split(value.get(f"cacheCreationEphemeral{life}InputTokens")) for life in ("5m", "1h"))
    return ModelCounters(
        _int(value.get("inputTokens")),
        _int(value.get("outputTokens")),
        _int(value.get("cacheReadInputTokens")),
        max(_int(value.get("cacheCreationInputTokens")), (five or 0) + (hour or 0)),
        five,
        hour,
        _int(value.get("webSearchRequests")),
        _cost(value.get("costUSD")),
    )


def _turn(usage: Any) -> Charge | None:
    return charges_of(to_usage(cast(dict[str, Any], usage)), None)[0] if isinstance(usage, dict) else None


def _split(value: Any) -> int | None:
    return _int(value) if isinstance(value, int) else None


def _int(value: Any) -> int:
    return max(0, int(value)) if _is_number(value) else 0


def _cost(value: Any) -> int | None:
    return nano_dollars(value) if _is_number(value) else None


def _all_cost(value: Any, models: Models | None) -> int | None:
    """What was paid in all; where that is not said, what was paid for the models."""
    paid = [model.cost for model in (models or {}).values() if model.cost is not None]
    return _cost(value) if _is_number(value) or not paid else sum(paid)


def _is_number(value: Any) -> bool:
    """Whether this is a number that can be one of tokens or dollars."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15
