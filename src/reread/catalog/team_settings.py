"""The team of this machine: its name, the person, and the key that the team's people share.

They are in the `config.json` of reread's own folder, under `team` of its settings, or in variables. The key makes
hashes that only the team can compare with a name: it is never written to a bucket.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec

from reread.base.coerce import as_dict, as_list, as_str
from reread.catalog.config import NAME, config_value
from reread.disk.layout import default_store
from reread.errors import Misuse

SETTING = "team"
VARIABLES = {"name": "REREAD_TEAM", "person": "REREAD_PERSON", "key": "REREAD_TEAM_KEY"}
LEAST_KEY = 32
"""Characters that a key has at least."""
_NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}")


class TeamSettings(msgspec.Struct, frozen=True):
    """What this machine says of itself to a team, and how it names the team's projects."""

    name: str | None = None
    """The team."""
    person: str | None = None
    key: str | None = None
    shown_alone: bool = False
    """True if this person agrees that figures of them alone are shown."""
    projects: tuple[str, ...] = ()
    """Names of projects, of which the hashes in a bucket are made readable here."""
    people: dict[str, str] = {}
    """The people of machines whose sessions are in a bucket, by the machine's name or a pattern (`ann-*`)."""

    @property
    def file(self) -> Path:
        """The file that has them."""
        return default_store() / NAME

    def require_person(self) -> TeamSettings:
        """Return the settings if they say who writes; raise Misuse with what to add if they do not."""
        if self.name and self.person and self.key:
            return self
        example = '{"settings": {"team": {"name": "shop", "person": "ann", "key": "…"}}}'
        variables = ", ".join(VARIABLES.values())
        raise Misuse(f"No team is set; add {example} to {self.file}, or set {variables}.")


def team_settings() -> TeamSettings:
    """Return the settings of this machine; raise Misuse if one of them cannot be what it is for."""
    stored = as_dict(config_value(default_store(), SETTING))
    given = {name: os.environ.get(variable) or as_str(stored.get(name)) for name, variable in VARIABLES.items()}
    for what in ("name", "person"):
        if given[what] and not is_team_name(given[what] or ""):
            raise Misuse(f"Invalid {VARIABLES[what]} {given[what]!r}; use up to 64 small letters, digits and .-_@+.")
    if given["key"] and len(given["key"]) < LEAST_KEY:
        raise Misuse(f"The key of the team is too short; make one with `openssl rand -hex {LEAST_KEY // 2}`.")
    return TeamSettings(
        **given,
        shown_alone=stored.get("shown_alone") is True,
        people={name: person for name, value in as_dict(stored.get("people")).items() if (person := as_str(value))},
        projects=tuple(name for value in as_list(stored.get("projects")) if (name := as_str(value))),
    )


def is_team_name(name: str) -> bool:
    """True if this can be the name of a person or a team."""
    return _NAME.fullmatch(name) is not None
