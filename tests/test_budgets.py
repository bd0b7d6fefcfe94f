"""Budgets: how they are set, what is counted for them in which time zone, and who shows them."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from batches import table
from command import run

import reread
from reread.catalog.config import change_config_value, config_value
from reread.disk.layout import default_store
from reread.errors import Misuse
from reread.reports.budget_report import SETTING, parse_budget, remove_budgets, set_budget, stored_budgets
from reread.storage import json_update

MIDNIGHT = datetime(2026, 11, 16, 0, 0, tzinfo=UTC)  # a Monday


@pytest.fixture(name="root")
def _root(tmp_path: Path) -> Path:
    """Sessions of two projects and models: one response in each of 72 hours around the start of a week."""
    for project, model in (("shop", "claude-opus-5-5"), ("harbor", "claude-sonnet-5")):
        folder = tmp_path / "projects" / f"-work-{project}"
        folder.mkdir(parents=True)
        rows = (_row(n, project, model) for n in range(-36, 36))
        (folder / f"{project}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return tmp_path


def _row(n: int, project: str, model: str) -> dict[str, Any]:
    return {
        "type": "assistant",
        "uuid": f"{project}{n}",
        "sessionId": project,
        "cwd": f"/work/{project}",
        "timestamp": (MIDNIGHT + timedelta(hours=n, minutes=30)).isoformat(),
        "requestId": f"{project}-{n}",
        "message": {
            "id": f"{project}-{n}",
            "role": "assistant",
            "model": model,
            "content": [{"type": "text", "text": "Done."}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 1_000_000, "output_tokens": 0},
        },
    }


@pytest.mark.parametrize(
    ("typed", "amount", "per"),
    [("20/day", 20, "day"), ("$7.50 per week", 7.5, "week"), ("200 usd/month", 200, "month"), ("5/d", 5, "day")],
)
def test_a_budget_is_dollars_for_a_period(typed: str, amount: float, per: str) -> None:
    budget = parse_budget(typed)
    assert (budget.amount_usd, budget.per) == (amount, per)


@table("typed", ["", "20", "20/year", "-5/day", "0/day", "many/day", "1e9/day", "9" * 40 + "/day"])
def test_anything_else_is_refused(typed: str) -> None:
    with pytest.raises(Misuse, match="20/day"):
        parse_budget(typed)


def test_days_weeks_and_months_are_those_of_the_time_zone(root: Path) -> None:
    for typed in ("1000/day", "1000/week", "1000/month"):
        set_budget(parse_budget(typed))
    hour = float(reread.usage(root=root).totals.cost_usd or 0) / 72
    assert hour > 0
    noon = MIDNIGHT + timedelta(hours=12)
    for zone, early in (("UTC", 0), ("+02:00", 2), ("-05:00", -5)):
        states = {one.per: one for one in reread.budgets(root=root, tz=zone, now=noon)}
        spent = {per: round(one.spent_usd / hour) for per, one in states.items()}
        assert spent == {"day": 24, "week": 36 + early, "month": 72}, zone
        assert states["day"].left_usd == pytest.approx(1000 - 24 * hour)
        share = (noon - states["day"].start) / timedelta(days=1)
        assert states["day"].forecast_usd == pytest.approx(24 * hour / share)
        assert states["week"].forecast_usd is None, "less than a tenth of the week is over"
        assert states["week"].start.isoweekday() == 1


def test_a_budget_can_be_for_a_project_and_a_model(root: Path) -> None:
    budgets = [parse_budget("9/month", project=project, model=model) for project, model in SCOPES]
    for budget in budgets:
        set_budget(budget)
    states = reread.budgets(root=root, tz="UTC", now=MIDNIGHT)
    spent = {(one.project, one.model): one.spent_usd for one in states}
    assert spent[None, None] == pytest.approx(spent["shop", None] + spent[None, "sonnet"])
    assert spent["shop", "sonnet"] == 0 < spent["shop", None]


SCOPES = [(None, None), ("shop", None), (None, "sonnet"), ("shop", "sonnet")]


def test_budgets_are_set_shown_replaced_and_removed() -> None:
    assert "No budgets are set" in run("budget").stderr
    assert run("budget", "set", "20/day").stdout == "Set: $20.00 per day.\n"
    run("budget", "set", "30/day")
    run("budget", "set", "5/week", "--project", "shop", "--model", "opus")
    shown = run("budget").stdout
    assert "$0.00 of $30.00" in shown and "week, shop, opus" in shown and "20.00" not in shown
    listed = json.loads(run("budget", "--json").stdout)
    assert [(one["amount_usd"], one["per"], one["project"]) for one in listed] == [
        (30, "day", None),
        (5, "week", "shop"),
    ]
    assert "$30.00 left" in run("usage").stdout
    assert run("budget", "remove", "--project", "shop").stdout == "Removed: $5.00 per week, shop, opus.\n"
    assert run("budget", "remove", "month").returncode == 1
    assert run("budget", "remove").returncode == 2 and len(stored_budgets()) == 1
    assert "single ones" in run("budget", "remove", "all", "--project", "x").stderr
    assert run("budget", "remove", "all").stdout == "Removed: $30.00 per day.\n"
    assert stored_budgets() == []
    assert run("budget", "set").returncode == run("budget", "remove", "year").returncode == 2


def test_a_budget_of_the_reader_is_the_same_and_nothing_else_is_lost() -> None:
    junk = {"day": 20, "week": "x", "later": {"a": 1}, "scoped": [7, {"per": "year", "amount_usd": 1}, {"per": "day"}]}
    change_config_value(default_store(), SETTING, lambda _: junk)
    assert [(one.amount_usd, one.per) for one in stored_budgets()] == [(20, "day")]
    set_budget(parse_budget("3/month"))
    assert config_value(default_store(), SETTING) == {"day": 20, "month": 3.0, "later": {"a": 1}}


def test_processes_that_set_budgets_at_once_lose_none() -> None:
    code = (
        "import sys; from reread.reports.budget_report import *;"
        "[set_budget(parse_budget(f'5/{per}', project=sys.argv[1])) for per in UNITS]"
    )
    started = [subprocess.Popen([sys.executable, "-c", code, f"p{n}"]) for n in range(6)]
    assert [process.wait() for process in started] == [0] * 6
    assert len(stored_budgets()) == 18


def test_a_budget_that_was_set_meanwhile_is_neither_lost_nor_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    set_budget(parse_budget("1/day"))
    lock = json_update.lock

    def lock_after_another(fd: int, *, wait: float) -> bool:
        monkeypatch.setattr(json_update, "lock", lock)
        set_budget(parse_budget("2/week"))
        return True

    for change in (lambda: set_budget(parse_budget("3/month")), lambda: remove_budgets(per="day")):
        remove_budgets(per="week")
        monkeypatch.setattr(json_update, "lock", lock_after_another)
        change()
        assert "week" in {one.per for one in stored_budgets()}


def test_usage_fails_over_a_limit(root: Path) -> None:
    cost = float(reread.usage(root=root).totals.cost_usd or 0)
    assert run("usage", "--root", str(root), "--fail-over", str(cost + 1)).returncode == 0
    unused = run("usage", "--root", str(root), "--since", "2031-01-01", "--fail-over", "1")
    assert unused.returncode == 0 and "No response fits" in unused.stderr
    assert run("usage", "--root", str(root), "--model", "opsu", "--fail-over", "1").returncode == 1
    done = run("usage", "--root", str(root), "--fail-over", str(cost - 1), "--json")
    assert done.returncode == 1
    assert "costs more than" in done.stderr and json.loads(done.stdout)["totals"]["cost_usd"] == cost
