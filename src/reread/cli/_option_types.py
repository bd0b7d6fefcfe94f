"""The types of options and arguments, and what the shell completes for each."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any

import click

from reread.base.address import LATEST
from reread.errors import RereadError

if TYPE_CHECKING:
    from pathlib import Path

    from click.shell_completion import CompletionItem

    from reread.catalog.header import Header

DEMO_KEY = "reread.demo"
"""The key in a context's `meta` that is set by --demo."""
MAX_COMPLETIONS = 50
"""How many session ids shell completion offers."""
_OF_THE_SHELL = re.compile(r"[$`\\;&|<>(){}\[\]*?!#'\"\n]")
"""What means something to a shell: bash puts words into the line as they are, and runs that when it is entered."""


def samples(ctx: click.Context) -> list[Path]:
    """Return the folder of the samples, if --demo was given."""
    if not ctx.meta.get(DEMO_KEY):
        return []
    from reread.base.paths import SAMPLES

    return [SAMPLES]


def _item(value: str, **about: Any) -> CompletionItem:
    """Return what completion offers."""
    from click.shell_completion import CompletionItem  # loaded late: only completion needs it

    return CompletionItem(value, **about)


def offered(texts: Mapping[str, str]) -> list[CompletionItem]:
    """Return what completion offers of words that may be anyone's, each with the beginning of a text about it.

    Words with which somebody could have the shell run something are left out.
    """
    from reread.base.sanitize import safe

    plain = ((word, text) for word, text in texts.items() if not _OF_THE_SHELL.search(word))
    return [_item(safe(word), help=safe(" ".join(text.split()))[:60] or None) for word, text in plain]


class Name(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]  # generic from click 8.3 on
    """The type of what names something, and so is not empty."""

    name = "name"

    def __init__(self, name: str | None = None) -> None:
        """With `name`, say in errors what is named."""
        self.name = name or self.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value == "":
            self.fail(f"Empty {self.name} name; is a variable not set?", param, ctx)
        return str(value)


class FileName(Name):
    """The type of the --file option, which may also be the end of a path, or a pattern."""

    name = "file"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [_item(incomplete, type="file")]


FILE = FileName()


class SessionName(Name):
    """The type of a SESSION argument; the shell completes ids."""

    name = "session"

    def __init__(self, *, prompts_only: bool = True) -> None:
        """Without `prompts_only`, complete only sessions of which more than the prompts is left."""
        super().__init__()
        self._prompts_only = prompts_only

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        known = (header for header in _known_sessions(ctx) if self._prompts_only or not header.prompts_only)
        matching = (header for header in known if header.id.startswith(incomplete))
        ids = offered({header.id: header.title for header in islice(matching, MAX_COMPLETIONS)})
        latest = [_item(LATEST, help="the newest session")] if LATEST.startswith(incomplete) else []
        return [_item(incomplete, type="file"), *latest, *ids]  # bash forgets what comes before a file


SESSION = SessionName()


def _known_sessions(ctx: click.Context) -> Iterator[Header]:
    """Yield the sessions below the folders that the words before the completed one name; none if they are wrong.

    An error would be printed into the line that is being typed; the finished command reports it.
    """
    from reread.catalog.headers import sessions

    with suppress(RereadError, OSError):
        yield from sessions(root=_typed_roots(ctx))


def _typed_roots(ctx: click.Context) -> list[Path] | None:
    """Return the folders that a line names which is being typed."""
    group_params = ctx.parent.params if ctx.parent is not None else {}
    return [*samples(ctx), *group_params.get("root", ()), *ctx.params.get("root", ())] or None


class ProjectName(Name):
    """The type of the --project option; the shell completes names of projects."""

    name = "project"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from reread.base.paths import path_name

        projects = dict.fromkeys(header.project for header in _known_sessions(ctx))
        found = offered({name: "" for name in map(path_name, projects) if name.startswith(incomplete)})
        return [_item(incomplete, type="dir"), *found[:MAX_COMPLETIONS]]


PROJECT = ProjectName()


class ToolName(Name):
    """The type of the --tool option; the shell completes the tools that reread knows."""

    name = "tool"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from reread.tools import tool_names

        return [_item(name) for name in tool_names() if name.lower().startswith(incomplete.lower())]


TOOL = ToolName()


class ModelPattern(Name):
    """The type of the --model option; the shell completes models that have a price."""

    name = "model"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from reread.accounting.prices import current_prices

        models = list(current_prices(None).table.models)
        families = dict.fromkeys(word for model in models for word in model.split("-")[1:] if word.isalpha())
        return [_item(name) for name in (*families, *models) if name.startswith(incomplete)]


MODEL = ModelPattern()


class When(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]  # generic from click 8.3 on
    """The type of a time; the shell completes single words that mean one."""

    name = "time"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from reread.base.times import SINGLE_WORDS

        return [_item(word) for word in SINGLE_WORDS if word.startswith(incomplete.lower())]


class TimeZone(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]  # generic from click 8.3 on
    """The type of the --tz option; the shell completes names of zones."""

    name = "zone"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from zoneinfo import available_timezones

        zones = ("local", *sorted(available_timezones()))
        return [_item(name) for name in zones if name.lower().startswith(incomplete.lower())]


class Dollars(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]  # generic from click 8.3 on
    """The type of an amount of money."""

    name = "dollars"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            amount = float(value)
        except ValueError:
            amount = -1.0
        if not 0 <= amount < inf:
            self.fail(f"Invalid cost {value}; use a number of dollars, such as 0.50.", param, ctx)
        return amount


DOLLARS = Dollars()


class CommaList(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]  # generic from click 8.3 on
    """The type of words with commas between them; the shell completes the last one."""

    name = "words"

    def __init__(self, *known: str) -> None:
        self._known = known

    def known(self) -> Iterable[str]:
        """Return the words to offer."""
        return self._known

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, last = incomplete.rpartition(",")
        return [_item(f"{before}{comma}{name}") for name in self.known() if name.startswith(last)]


class GroupNames(CommaList):
    """The type of the --by option."""

    name = "groups"

    def __init__(self, module: str, *more: str) -> None:
        """Complete the groups that a module lists in `GROUPS`, and some more."""
        super().__init__(*more)
        self._module = module

    def known(self) -> Iterable[str]:
        return (*importlib.import_module(self._module).GROUPS, *self._known)


USAGE_GROUPS = GroupNames("reread.reports.usage_report", "cache")
STATS_GROUPS = GroupNames("reread.reports.stats_report")
