"""Tokens and cost of every session that the real client wrote, held against what the API answered and was paid.

The selection in `tests/real` is always read; with `REREAD_REAL_CLIENT` set, so is all of its `data/` folder.
"""

import os
from functools import cache
from pathlib import Path
from typing import Any

import plain
import pytest

import reread
from reread.accounting.digest import file_digest
from reread.accounting.prices import bundled_prices
from reread.accounting.responses import ResolvedResponse, resolved_responses
from reread.accounting.workers import ScanJob, read

HERE = Path(__file__).parent / "real"
LARGER = os.environ.get("REREAD_REAL_CLIENT")
ROOTS = [HERE, *([Path(LARGER) / "data"] if LARGER else [])]
SCENARIOS = sorted(path.parent for root in ROOTS for path in root.glob("*/*/meta.json"))
FINAL = ("2.1.220", "2.1.325")
"""Versions that hold a response's lines back until it has ended, and so write its final figures."""
CUT_SHORT = ("interrupt", "stream_cut", "stream_error", "deny_sdk")
"""Scenarios in which a response never ended as the API meant it to."""


def name(scenario: Path) -> str:
    origin = "" if HERE in scenario.parents else "data:"
    return f"{origin}{scenario.parent.name}/{scenario.name}"


every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=name)


@pytest.fixture(autouse=True)
def sealed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/nonexistent")
    monkeypatch.delenv("REREAD_PRICES", raising=False)


def written(scenario: Path) -> list[Path]:
    return [path for path in sorted(scenario.glob("projects/**/*.jsonl")) if path.name != "journal.jsonl"]


@cache
def counted(scenario: Path) -> dict[str, ResolvedResponse]:
    """The responses of a scenario's transcripts, by message id."""
    found = resolved_responses(
        [file_digest(str(path), read(ScanJob(str(path), 0))[1]) for path in written(scenario)], bundled_prices()
    )
    by_id = {settled.best.id: settled for settled in found}
    assert len(by_id) == len(found), "something counted twice"
    return by_id


@cache
def totals(scenario: Path, *, streams: bool = False, transcripts: bool = True) -> reread.Usage:
    files = [*(written(scenario) if transcripts else []), *(plain.streams(scenario) if streams else [])]
    return reread.usage(*files, cache=False).totals if files else reread.Usage()


def sent(scenario: Path) -> dict[str, dict[str, Any]]:
    """What the API says it used for each response that has rows."""
    rows = {
        row["message"]["id"]
        for path in written(scenario)
        for row in plain.objects(path)
        if row.get("type") == "assistant" and row["message"]["model"] != "<synthetic>"
    }
    return {id: response["usage"] for id, response in plain.truth(scenario).items() if id in rows}


@every_scenario
def test_every_response_is_counted_once_with_the_tokens_of_the_api(scenario: Path) -> None:
    found, truth = counted(scenario), sent(scenario)
    assert set(truth) <= set(found)
    for id, usage in truth.items():
        charge = found[id].best.charge
        split = usage.get("cache_creation") or {}
        assert charge.input == usage["input_tokens"]
        assert charge.read == usage["cache_read_input_tokens"]
        assert charge.write_1h == split.get("ephemeral_1h_input_tokens", 0)
        assert charge.write_5m + charge.write_1h == usage["cache_creation_input_tokens"]
        assert charge.output <= usage["output_tokens"]
        if found[id].ended and not scenario.name.startswith(CUT_SHORT):
            assert charge.output == usage["output_tokens"]


@every_scenario
def test_what_may_be_less_is_flagged(scenario: Path) -> None:
    found, truth = counted(scenario), sent(scenario)
    short = {id for id, usage in truth.items() if found[id].best.charge.output < usage["output_tokens"]}
    unconfirmed = {id for id, settled in found.items() if not settled.ended}
    if not scenario.name.startswith(("stream_cut",)):
        assert short <= unconfirmed
    if scenario.parent.name in FINAL and not scenario.name.startswith(CUT_SHORT) and scenario.name != "tui_interrupt":
        assert not unconfirmed
    assert totals(scenario).unconfirmed_responses == len(unconfirmed)


@every_scenario
def test_a_stream_beside_the_transcript_adds_no_tokens(scenario: Path) -> None:
    alone, both = totals(scenario), totals(scenario, streams=True)
    shown = {
        row["message"]["id"]
        for path in plain.streams(scenario)
        for row in plain.objects(path)
        if row.get("type") == "assistant" and row["message"]["model"] != "<synthetic>"
    }
    if shown <= set(counted(scenario)) and alone.responses:
        assert (both.responses, both.tokens, both.cost_usd) == (alone.responses, alone.tokens, alone.cost_usd)


def has_side_calls(scenario: Path) -> bool:
    """Whether the API answered something that no transcript shows, or a response never ended."""
    whole = {id for id, settled in counted(scenario).items() if settled.ended}
    return set(plain.truth(scenario)) != whole or scenario.name.startswith(CUT_SHORT)


@every_scenario
def test_the_cost_is_what_the_client_reports(scenario: Path) -> None:
    if scenario.parent.name != "2.1.325" or has_side_calls(scenario) or not counted(scenario):
        return
    for usage in (totals(scenario), totals(scenario, streams=True)):
        assert usage.reported_cost_usd == pytest.approx(usage.cost_usd, abs=1e-9)
    if plain.streams(scenario):
        stream = totals(scenario, streams=True, transcripts=False)
        assert stream.cost_usd == pytest.approx(totals(scenario).cost_usd, abs=1e-9)
        assert stream.reported_cost_usd == pytest.approx(stream.cost_usd, abs=1e-9)
        assert stream.output_tokens == totals(scenario).output_tokens


@pytest.mark.skipif(LARGER is None, reason="needs REREAD_REAL_CLIENT")
def test_most_scenarios_have_no_side_calls() -> None:
    newest = [s for s in SCENARIOS if s.parent.name == "2.1.325" and HERE not in s.parents]
    compared = [s for s in newest if counted(s) and not has_side_calls(s)]
    assert len(compared) > 80


@pytest.mark.parametrize("scenario", [s for s in SCENARIOS if s.name in ("resume", "fork", "resume_at")], ids=name)
def test_resumes_and_forks_count_nothing_twice(scenario: Path) -> None:
    truth = {id: usage["output_tokens"] for id, usage in sent(scenario).items()}
    usage = totals(scenario, streams=True)
    known = {id: settled for id, settled in counted(scenario).items() if id in truth}
    assert usage.responses == len(counted(scenario))
    if all(settled.ended for settled in known.values()) and len(known) == usage.responses:
        assert usage.output_tokens == sum(truth.values())
    if scenario.parent.name in FINAL and plain.streams(scenario):
        assert usage.reported_cost_usd == pytest.approx(usage.cost_usd, abs=1e-9)


@every_scenario
def test_the_model_says_what_the_report_says(scenario: Path) -> None:
    for path in plain.transcripts(scenario):
        session = reread.open(path)
        report = reread.usage(path, cache=False).totals
        assert session.usage == report
        speakers = [session.conversation, *session.agents.values()]
        parts = sum((speaker.usage for speaker in speakers), reread.Usage())
        if scenario.name != "tui_basic":
            assert (parts.responses, parts.tokens) == (report.responses, report.tokens)
            assert parts.cost_usd == report.cost_usd
