"""Tokens and cost of sessions that the real client wrote, compared with the answers of the API.

The selection in `tests/real` is always read; if `REREAD_REAL_CLIENT` is set, so is its `data/` folder.
"""

import os
from functools import cache
from pathlib import Path
from typing import Any

import plain
import pytest
from batches import each, table
from effort import one_in

import reread
from reread.accounting.billing import UsageEntry
from reread.accounting.digest import file_digest
from reread.accounting.prices import bundled_prices
from reread.accounting.responses import resolve
from reread.accounting.workers import ScanJob, read
from reread.reports.usage_report import usage_of

HERE = Path(__file__).parent / "real"
LARGER = os.environ.get("REREAD_REAL_CLIENT")
ROOTS = [HERE, *([Path(LARGER) / "data"] if LARGER else [])]
SCENARIOS = sorted(path.parent for root in ROOTS for path in root.glob("*/*/meta.json"))
FINAL = ("2.1.220", "2.1.325")
"""Versions that write the rows of a response only after it has ended, with its final usage."""
CUT_SHORT = ("interrupt", "stream_cut", "stream_error", "deny_sdk")
"""Scenarios in which a response was cut off."""


def name(scenario: Path) -> str:
    origin = "" if HERE in scenario.parents else "data:"
    return f"{origin}{scenario.parent.name}/{scenario.name}"


every_scenario = each("scenario", SCENARIOS, ids=name)


@pytest.fixture(autouse=True)
def isolated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/nonexistent")
    monkeypatch.delenv("REREAD_PRICES", raising=False)


def transcripts(scenario: Path) -> list[Path]:
    return [path for path in sorted(scenario.glob("projects/**/*.jsonl")) if path.name != "journal.jsonl"]


@cache
def counted(scenario: Path) -> dict[str, UsageEntry]:
    """Return the responses in the transcripts of a scenario, by message id."""
    digests = [file_digest(str(path), read(ScanJob(str(path), 0))[1]) for path in transcripts(scenario)]
    found = [entry for entry in resolve(digests, bundled_prices()) if entry.responses]
    by_id = {str(entry.message): entry for entry in found}
    assert len(by_id) == len(found), "a response was counted twice"
    return by_id


@cache
def totals(scenario: Path, *, with_streams: bool = False, with_transcripts: bool = True) -> reread.value_types.Usage:
    files = transcripts(scenario) if with_transcripts else []
    files += plain.streams(scenario) if with_streams else []
    return reread.usage(*files, cache=False).totals if files else reread.value_types.Usage()


def api_usage(scenario: Path) -> dict[str, dict[str, Any]]:
    """Return the usage that the API stated for each response that has rows."""
    rows = {
        row["message"]["id"]
        for path in transcripts(scenario)
        for row in plain.objects(path)
        if row.get("type") == "assistant" and row["message"]["model"] != "<synthetic>"
    }
    return {id: response["usage"] for id, response in plain.truth(scenario).items() if id in rows}


@every_scenario
def test_every_response_is_counted_once_with_the_tokens_of_the_api(scenario: Path) -> None:
    found, truth = counted(scenario), api_usage(scenario)
    assert set(truth) <= set(found)
    for id, usage in truth.items():
        charge = found[id]
        split = usage.get("cache_creation") or {}
        assert charge.input == usage["input_tokens"]
        assert charge.read == usage["cache_read_input_tokens"]
        assert charge.write_1h == split.get("ephemeral_1h_input_tokens", 0)
        assert charge.write_5m + charge.write_1h == usage["cache_creation_input_tokens"]
        assert charge.output <= usage["output_tokens"]
        if not found[id].unconfirmed and not scenario.name.startswith(CUT_SHORT):
            assert charge.output == usage["output_tokens"]


@every_scenario
def test_responses_with_too_little_output_are_unconfirmed(scenario: Path) -> None:
    found, truth = counted(scenario), api_usage(scenario)
    short = {id for id, usage in truth.items() if found[id].output < usage["output_tokens"]}
    unconfirmed = {id for id, entry in found.items() if entry.unconfirmed}
    if not scenario.name.startswith(("stream_cut",)):
        assert short <= unconfirmed
    if scenario.parent.name in FINAL and not scenario.name.startswith(CUT_SHORT) and scenario.name != "tui_interrupt":
        assert not unconfirmed
    assert totals(scenario).unconfirmed_responses == len(unconfirmed)


@one_in(3)
@every_scenario
def test_a_stream_beside_the_transcript_adds_no_tokens(scenario: Path) -> None:
    alone, both = totals(scenario), totals(scenario, with_streams=True)
    shown = {
        row["message"]["id"]
        for path in plain.streams(scenario)
        for row in plain.objects(path)
        if row.get("type") == "assistant" and row["message"]["model"] != "<synthetic>"
    }
    if shown <= set(counted(scenario)) and alone.responses:
        assert (both.responses, both.tokens, both.cost_usd) == (alone.responses, alone.tokens, alone.cost_usd)


def has_side_calls(scenario: Path) -> bool:
    """True if the API answered something that is in no transcript, or a response was cut off."""
    ended = {id for id, entry in counted(scenario).items() if not entry.unconfirmed}
    return set(plain.truth(scenario)) != ended or scenario.name.startswith(CUT_SHORT)


@every_scenario
def test_the_cost_is_what_the_client_reports(scenario: Path) -> None:
    if scenario.parent.name != "2.1.325" or has_side_calls(scenario) or not counted(scenario):
        return
    for usage in (totals(scenario), totals(scenario, with_streams=True)):
        assert usage.reported_cost_usd == pytest.approx(usage.cost_usd, abs=1e-9)
    if plain.streams(scenario):
        stream = totals(scenario, with_streams=True, with_transcripts=False)
        assert stream.cost_usd == pytest.approx(totals(scenario).cost_usd, abs=1e-9)
        assert stream.reported_cost_usd == pytest.approx(stream.cost_usd, abs=1e-9)
        assert stream.output_tokens == totals(scenario).output_tokens


@pytest.mark.skipif(LARGER is None, reason="needs REREAD_REAL_CLIENT")
def test_most_scenarios_have_no_side_calls() -> None:
    newest = [s for s in SCENARIOS if s.parent.name == "2.1.325" and HERE not in s.parents]
    compared = [s for s in newest if counted(s) and not has_side_calls(s)]
    assert len(compared) > 80


@table("scenario", [s for s in SCENARIOS if s.name in ("resume", "fork", "resume_at")])
def test_resumes_and_forks_count_nothing_twice(scenario: Path) -> None:
    truth = {id: usage["output_tokens"] for id, usage in api_usage(scenario).items()}
    usage = totals(scenario, with_streams=True)
    known = {id: entry for id, entry in counted(scenario).items() if id in truth}
    assert usage.responses == len(counted(scenario))
    if not any(entry.unconfirmed for entry in known.values()) and len(known) == usage.responses:
        assert usage.output_tokens == sum(truth.values())
    if scenario.parent.name in FINAL and plain.streams(scenario):
        assert usage.reported_cost_usd == pytest.approx(usage.cost_usd, abs=1e-9)


@one_in(3)
@every_scenario
def test_a_session_has_the_usage_of_the_report(scenario: Path) -> None:
    for path in plain.transcripts(scenario):
        session = reread.open(path)
        report = usage_of(reread.usage(path, cache=False).totals)
        assert session.usage == report
        threads = [session.conversation, *session.agents.values()]
        parts = sum((thread.usage for thread in threads), reread.value_types.Usage())
        if scenario.name != "tui_basic":
            assert (parts.responses, parts.tokens) == (report.responses, report.tokens)
            assert parts.cost_usd == report.cost_usd
