"""`reread budget`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reread.cli._exit_codes import NOTHING_FOUND
from reread.cli._option_types import MODEL, PROJECT, offered
from reread.cli._options import json_option, merged_roots, root_options, scope_options
from reread.cli._output import echo_lines, print_json, print_notice
from reread.errors import Misuse

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

NONE_SET = "No budgets are set. Set one with `reread budget set 20/day`."
UNITS = ("day", "week", "month")
ALL = "all"


class BudgetName(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]  # generic from click 8.3 on
    """The type of a budget: its period, and before it the amount if it is to be set."""

    name = "budget"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        amount, slash, period = incomplete.rpartition("/")
        if ctx.params.get("action") == "set" and not slash:
            amount, slash, period = incomplete, "/", ""
        words = (*UNITS, ALL) if ctx.params.get("action") == "remove" else UNITS
        units = [unit for unit in words if unit.startswith(period)]
        return offered({f"{amount}{slash}{unit}": "" for unit in units if slash != "/" or amount})


@click.command()
@click.argument("action", type=click.Choice(["show", "set", "remove"]), default="show", metavar="[set|remove]")
@click.argument("what", required=False, type=BudgetName(), metavar="[AMOUNT/PERIOD|PERIOD|all]")
@click.option("--project", type=PROJECT, metavar="DIR|NAME", help="Only for what this project costs.")
@click.option("--model", type=MODEL, metavar="MODEL", help="Only for what this model or family costs.")
@click.option("--team", metavar="NAME", help="For what this team costs, by the figures in its bucket.")
@scope_options("tz")
@json_option
@root_options
@click.pass_context
def budget(
    ctx: click.Context,
    action: str,
    what: str | None,
    project: str | None,
    model: str | None,
    team: str | None,
    tz: str | None,
    as_json: bool,
    root: tuple[Path, ...],
) -> None:
    """Set budgets, and show what is spent and left of them.

    A budget is an amount of dollars for a day, a week (from Monday) or a month, for everything or for a project or
    model. The forecast assumes the same rate until the end of the period. `usage`, `now`, `statusline` and the
    reader show budgets, too; one for a team is shown by `digest --team` and `serve --team`. Exits with 1 if a budget is
    overspent, or if there is none to remove.

    \b
    reread budget
    reread budget set 20/day
    reread budget set 200/month --project shop --model opus
    reread budget remove day
    reread budget remove --project shop
    reread budget remove all
    reread budget set 2000/month --team shop
    """
    from reread.render.report_table import budget_lines, budget_name
    from reread.reports import budget_report
    from reread.reports.spending import forget_spending

    scoped = not project is model is team is None
    all_of_them = what == ALL and action == "remove"
    if all_of_them and scoped:
        raise Misuse("Cannot remove all budgets and single ones; leave out `all`, or all that narrows it.")
    what = None if all_of_them else what
    if action == "show":
        if scoped or what is not None:
            raise Misuse(
                "Cannot show single budgets, only all; use set or remove with a period, project, model or team."
            )
        states = budget_report.budgets(root=merged_roots(ctx, root) or None, tz=tz)
        if as_json:
            print_json(states)
        elif states:
            echo_lines(budget_lines(states))
        else:
            print_notice(NONE_SET)
        ctx.exit(NOTHING_FOUND if any(one.left_usd < 0 for one in states) else 0)
    if action == "set":
        if what is None:
            raise Misuse("Set which budget? Name an amount and a period, such as `reread budget set 20/day`.")
        made = budget_report.parse_budget(what, project=project, model=model, team=team)
        budget_report.set_budget(made)
        changed = [made]
    else:
        if what is not None and what not in UNITS:
            raise Misuse(f"No period {what!r}; use {', '.join(UNITS)}, --project, --model or --team.")
        if what is None and not scoped and not all_of_them:
            raise Misuse(f"Remove which budget? Name {', '.join(UNITS)}, all, --project, --model or --team.")
        changed = budget_report.remove_budgets(per=what, project=project, model=model, team=team)
    forget_spending()
    if as_json:
        print_json(changed)
        return
    for one in changed:
        click.echo(f"{'Set' if action == 'set' else 'Removed'}: ${one.amount_usd:,.2f} per {budget_name(one)}.")
    if not changed:
        print_notice("No budget is set for that. Run `reread budget` to see all.")
        ctx.exit(NOTHING_FOUND)
