"""What one row is billed as, and totals of several usages."""

from itertools import product
from typing import Any

import msgspec
import pytest
from batches import table

from reread.accounting.billing import (
    MOST_DOLLARS,
    Charge,
    Usage,
    UsageRow,
    UsageSum,
    charge_of,
    charges_of,
    join_row,
    overlay,
    row_usage,
    to_dollars,
    to_nanos,
    total,
)
from reread.accounting.prices import BATCH, FAST, US, bundled_prices
from reread.accounting.rows import replaces, row_rank
from reread.records.envelope import CacheCreationFields, ServerToolFields, UsageFields

MODEL, ADVISOR = "claude-sonnet-4-5", "claude-opus-4-6"


def fields(**more: Any) -> UsageFields:
    iterations = msgspec.Raw(msgspec.json.encode(more.pop("iterations"))) if "iterations" in more else msgspec.Raw()
    return UsageFields(input_tokens=10, output_tokens=1000, iterations=iterations, **more)


def test_an_advisor_is_not_fast_because_the_response_is() -> None:
    iterations = [
        {"type": "advisor_message", "model": ADVISOR, "output_tokens": 100},
        {"type": "compaction", "output_tokens": 100},
    ]
    usage = fields(speed="fast", inference_geo="us", service_tier="batch", iterations=iterations)
    response, advisor, compaction = charges_of(usage, MODEL)
    assert response.mode == FAST | US | BATCH
    assert (advisor.model, advisor.mode) == (ADVISOR, US | BATCH)
    assert (compaction.model, compaction.mode) == (MODEL, FAST | US | BATCH)


def test_the_cost_of_a_fast_response_with_an_advisor() -> None:
    prices = bundled_prices()
    iterations = [{"type": "advisor_message", "model": ADVISOR, "output_tokens": 1000}]

    def cost(**more: Any) -> float:
        found = row_usage(UsageRow("r", fields(**more), "end_turn", MODEL), None, prices).cost_usd
        assert found is not None
        return found

    advice = cost(speed="fast", iterations=iterations) - cost(speed="fast")
    assert advice == pytest.approx(cost(iterations=iterations) - cost()) == pytest.approx(0.025)


PRICED, FREE, NAMELESS = Usage(1, cost_usd=0.5), Usage(1, cost_usd=0.0), Usage(1, cost_usd=None, unpriced_models=("x",))


@table(
    "parts, cost",
    [
        ((), 0.0),
        ((PRICED, PRICED), 1.0),
        ((PRICED, NAMELESS), 0.5),
        ((NAMELESS, FREE), 0.0),
        ((NAMELESS,), None),
        ((NAMELESS, NAMELESS), None),
        ((NAMELESS, Usage()), None),
        ((NAMELESS, Usage(reported_cost_usd=0.5)), None),
        ((NAMELESS, Usage(cost_usd=0.25)), 0.25),
    ],
)
def test_a_total_has_a_cost_if_any_part_of_it_has_a_price(parts: tuple[Usage, ...], cost: float | None) -> None:
    assert total(parts).cost_usd == cost
    assert total(reversed(parts)).cost_usd == cost


def test_a_sum_has_a_price_as_soon_as_one_of_its_parts_has() -> None:
    out = UsageSum()
    out.responses = 1
    out.add_cost("x", None)
    assert out.to_usage().cost_usd is None
    out.add_cost("y", 0)
    assert out.to_usage().cost_usd == 0.0


def test_nothing_is_counted_where_nothing_was_used() -> None:
    nothing = Usage()
    counts = [getattr(nothing, name) for name in Usage.__struct_fields__ if name != "unpriced_models"]
    assert not any(counts) and total([nothing, nothing]) == nothing


def test_a_total_adds_every_figure() -> None:
    one = Usage(1, 2, 3, 4, 5, 6, 7, cost_usd=0.25, reported_cost_usd=0.5, unconfirmed_responses=1)
    both = one + Usage(10, 20, 30, 40, 50, 60, 70, cost_usd=0.5, reported_cost_usd=1.0)
    assert both == Usage(11, 22, 33, 44, 55, 66, 77, cost_usd=0.75, reported_cost_usd=1.5, unconfirmed_responses=1)
    assert both.tokens == 22 + 33 + 44 + 55 + 66 and both["web_searches"] == 77
    assert both.lower_bound and not Usage(1).lower_bound


@pytest.mark.parametrize(
    "stated, split, writes",
    [
        (100, None, (100, 0)),
        (100, (20, 30), (70, 30)),  # what the split does not explain lives five minutes
        (100, (70, 30), (70, 30)),
        (0, (5, 7), (5, 7)),
        (100, (90, 30), (90, 30)),
        (None, (None, 7), (0, 7)),
    ],
)
def test_cache_writes_are_the_total_or_its_split(stated: int | None, split: Any, writes: tuple[int, int]) -> None:
    usage = fields(cache_creation_input_tokens=stated, cache_creation=CacheCreationFields(*split) if split else None)
    charge = charge_of(usage, MODEL)
    assert (charge.write_5m, charge.write_1h) == writes
    assert charge.prompt == 10 + sum(writes)


def test_counts_are_as_stated_and_never_negative() -> None:
    for name in ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"):
        counts: dict[str, Any] = {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 30, name: -5}
        charge = charge_of(UsageFields(**counts), MODEL)
        assert min(charge.counts) == 0 and sum(charge.counts) == sum(max(0, count) for count in counts.values())
    assert charge_of(fields(), MODEL) == Charge(MODEL, 10, 1000)
    assert charge_of(fields(server_tool_use=ServerToolFields(web_search_requests=3)), MODEL).searches == 3
    searched = UsageFields(server_tool_use=ServerToolFields(web_search_requests=-2), cache_read_input_tokens=3)
    assert charge_of(searched, None).counts == (0, 0, 0, 0, 3, 0)


def test_a_prompt_above_the_threshold_costs_more_as_a_whole() -> None:
    def cost(read: int) -> float:
        row = UsageRow("r", UsageFields(cache_read_input_tokens=read), "end_turn", MODEL)
        return row_usage(row, None, bundled_prices()).cost_usd or 0

    assert cost(200_000) == pytest.approx(0.06) and cost(200_001) == pytest.approx(0.12, abs=1e-5)


def test_money_that_nobody_could_pay_is_none() -> None:
    assert [to_nanos(usd) for usd in (None, -0.01, MOST_DOLLARS)] == [None, None, None]
    assert (to_nanos(0), to_nanos(1.5), to_dollars(1_500_000_000)) == (0, 1_500_000_000, 1.5)
    assert to_dollars(10**400) is None


def test_iterations_of_the_wrong_type_are_billed_as_far_as_they_can_be_read() -> None:
    iterations = [{"type": "advisor", "model": 7, "output_tokens": 5}, {"type": "message", "output_tokens": 9}, None, 3]
    _, advisor = charges_of(fields(iterations=iterations), MODEL)
    assert (advisor.model, advisor.output) == (MODEL, 5)
    assert len(charges_of(fields(iterations={"type": "advisor"}), MODEL)) == 1


def row(request: str | None, output: int, stop: str | None = None, cost: float | None = None) -> UsageRow:
    return UsageRow(request, UsageFields(output_tokens=output), stop, MODEL, cost)


def joined(*given: UsageRow) -> list[tuple[str | None, int | None, float | None]]:
    rows: dict[str | None, UsageRow] = {}
    for each in given:
        join_row(rows, each)
    assert list(rows) == [found.request for found in rows.values()]
    return [(found.request, found.usage.output_tokens, found.cost) for found in rows.values()]


def test_rows_of_one_request_are_one_and_the_last_word_counts() -> None:
    assert joined(row("a", 5), row("a", 9)) == [("a", 9, None)]
    assert joined(row("a", 9), row("a", 5)) == [("a", 9, None)]
    assert joined(row("a", 9), row("a", 5, "end_turn")) == [("a", 5, None)]
    assert joined(row("a", 5), row("b", 9)) == [("a", 5, None), ("b", 9, None)]
    assert joined(row("a", 5), row("b", 7), row(None, 9)) == [("a", 9, None), ("b", 7, None)]
    assert joined(row(None, 5), row("b", 9)) == [("b", 9, None)]
    assert joined(row("a", 5, cost=0.5), row("a", 9)) == joined(row("a", 9), row("a", 5, cost=0.5)) == [("a", 9, 0.5)]
    assert joined(row("a", 5, cost=0.5), row("a", 9, cost=0.0)) == [("a", 9, 0.0)]


def test_a_response_without_a_stop_reason_is_not_confirmed() -> None:
    prices = bundled_prices()
    assert row_usage(row("a", 5), None, prices).unconfirmed_responses == 1
    assert row_usage(row("a", 5, "end_turn", cost=0.5), None, prices).reported_cost_usd == 0.5
    assert row_usage(row("a", 5, "end_turn"), None, prices).unconfirmed_responses == 0


def test_a_later_event_of_a_stream_leaves_out_what_did_not_change() -> None:
    first = fields(speed="fast", iterations=[{"type": "advisor", "output_tokens": 5}])
    after = overlay(first, UsageFields(output_tokens=7))
    assert (after.input_tokens, after.output_tokens, after.speed) == (10, 7, "fast")
    assert len(charges_of(after, MODEL)) == 2
    last = overlay(after, UsageFields(iterations=msgspec.Raw(b"[]")))
    assert len(charges_of(last, MODEL)) == 1 and len(charges_of(overlay(fields(), fields()), MODEL)) == 1


def test_a_sum_adds_every_count() -> None:
    out = UsageSum()
    out.responses = 3
    for _ in range(3):
        out.add_charge(Charge(MODEL, 1, 2, 3, 4, 5, 6), 7_000)
    assert out.to_usage() == Usage(3, 3, 6, 9, 12, 15, 18, cost_usd=21e-9)
    assert Charge(MODEL).counts == (0, 0, 0, 0, 0, 0) and not Charge(MODEL).mode


def test_the_row_that_counts_is_the_one_of_the_highest_rank() -> None:
    rows = list(product((None, "end_turn"), (None, -3, 0, 1, 5)))
    for new, best in product(rows, rows):
        assert replaces(*new, *best) == (row_rank(*new) >= row_rank(*best)), (new, best)
    assert row_rank(None, -3) == row_rank(None, None) == (False, 0) < row_rank(None, 1) < row_rank("end_turn", 0)
