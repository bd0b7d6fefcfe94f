"""Add-ons: packages, and the rooms of `reread.addons`, that bring verbs, formats, dialects and more.

Each has one declaration, an `Addon`, which an entry point of the group `reread.addons` names. The core knows none of
them: it asks here when a record, a word or an option is not its own, or for the list of all. Nothing that an add-on
brings is imported before it is used, and `importlib.metadata` never is, because that takes longer than reading a small
session.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

from reread.errors import Misuse, RereadError

T = TypeVar("T")
GROUP = "reread.addons"
ENTRY_POINTS = "entry_points.txt"
OWN = "reread."
"""How the modules of add-ons begin that come with reread."""


class Addon(NamedTuple):
    """What an add-on brings: of each kind, names and where they are defined, as `module` or `module:name`."""

    verbs: Mapping[str, str] = {}
    """Commands of click, by verb."""
    heading: str = "Add-ons"
    """Where the help lists these verbs."""
    synonyms: Mapping[str, str] = {}
    """Words of other programs, and what to type instead."""
    options: Mapping[str, str] = {}
    """Functions that are called with the command of a verb of the core, and add options to it, by verb."""
    formats: Mapping[str, str] = {}
    """`ExportFormat`s of `reread export`."""
    dialects: Mapping[str, str] = {}
    """`Dialect`s."""
    importers: Mapping[str, str] = {}
    """`Importer`s of `reread capture --from`: what runs of other agents look like."""
    tools: Mapping[str, str] = {}
    """`Tool`s, or lists of them; these names are for messages only."""
    routes: Mapping[str, str] = {}
    """Functions that answer the reader's page, by path (`/api/weather`): they are called with what options of `serve`
    have put into its `given`, and the query, and return a value for JSON."""
    guest_routes: Mapping[str, str] = {}
    """Such functions, which also answer people whom a proxy has signed in (`serve --sign-in`)."""
    scanners: Mapping[str, str] = {}
    """Functions that return another scanner for secrets, or None if this machine does not have it."""
    sinks: Mapping[str, str] = {}
    """Functions that open where tables are taken once they are written, and return what takes them there."""
    names: Mapping[str, str] = {}
    """Public names: `reread.NAME`."""


class AddonPart(NamedTuple):
    """One thing that an add-on brings."""

    name: str
    place: str
    """Where it is defined."""
    addon: str
    heading: str

    def load(self) -> Any:
        """Import it; raise Misuse, with what to do, if that fails."""
        try:
            return _at(self.place)
        except RereadError:
            raise
        except Exception as error:
            raise Misuse(f"{_failure(self.addon, error)}.") from error


@cache
def addons() -> dict[str, Addon]:
    """Return the installed add-ons by name, those that come with reread last.

    One of reread's that is not there was taken away, and is left out; any other that cannot be loaded is named.
    """
    found: dict[str, Addon] = {}
    for name, place in sorted(_entries(), key=lambda entry: (entry[1].startswith(OWN), entry)):
        try:
            declared = _at(place)
            if not isinstance(declared, Addon):
                raise TypeError("expected an Addon")
            found.setdefault(name, declared)
        except Exception as error:
            if not (place.startswith(OWN) and _is_gone(place, error)):
                warnings.warn(_failure(name, error), RuntimeWarning, stacklevel=2)
    return found


def parts(kind: str) -> Iterator[AddonPart]:
    """Yield everything of one kind that add-ons bring."""
    for addon, declared in addons().items():
        for name, place in getattr(declared, kind).items():
            yield AddonPart(name, place, addon, declared.heading)


def named_parts(kind: str) -> dict[str, AddonPart]:
    """Return what add-ons bring of one kind by name; those of other packages replace reread's own."""
    found: dict[str, AddonPart] = {}
    for part in parts(kind):
        found.setdefault(part.name, part)
    return found


def load_parts(kind: str, convert: Callable[[object], T]) -> dict[str, T]:
    """Load and convert everything of one kind; what fails is skipped with a warning."""
    loaded: dict[str, T] = {}
    for part in parts(kind):
        try:
            loaded.setdefault(part.name, convert(_at(part.place)))
        except Exception as error:
            warnings.warn(_failure(f"{part.addon}: {part.name}", error), RuntimeWarning, stacklevel=2)
    return loaded


def _at(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name) if name else import_module(module)


def _is_gone(place: str, error: Exception) -> bool:
    """True if a declaration could not be loaded because its module, or the folder of it, is not there."""
    module = f"{place.partition(':')[0]}."
    return isinstance(error, ModuleNotFoundError) and module.startswith(f"{error.name}.")


def _failure(addon: str, error: Exception) -> str:
    return f"Cannot load the add-on {addon!r} ({error!r}); update its package, or uninstall it"


def _entries() -> Iterator[tuple[str, str]]:
    """Yield the entry points of the group: their names, and where declarations are."""
    known: set[str] = set()
    for text in _files():
        inside = False
        for line in text.splitlines():
            name, equals, place = map(str.strip, line.partition("="))
            if name.startswith("["):
                inside = name == f"[{GROUP}]"
            elif inside and equals and not name.startswith(("#", ";")) and place not in known:
                known.add(place)
                yield name, place


def _files() -> Iterator[str]:
    """Yield the lists of entry points of installed packages."""
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")  # noqa: PTH208
        except NotADirectoryError:  # packages in an archive
            from importlib.metadata import distributions

            yield from (text for package in distributions(path=[folder]) if (text := package.read_text(ENTRY_POINTS)))
            continue
        except OSError:
            continue
        for name in names:
            if name.endswith((".dist-info", ".egg-info")):
                try:
                    with open(os.path.join(folder, name, ENTRY_POINTS), encoding="utf-8") as file:  # noqa: PTH123
                        yield file.read()
                except (OSError, ValueError):
                    continue
