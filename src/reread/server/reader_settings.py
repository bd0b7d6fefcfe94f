"""Settings of the reader that outlive a browser; they are in the `config.json` of reread's own folder."""

from __future__ import annotations

from typing import Any

from reread.base.coerce import as_dict
from reread.catalog.config import change_config_value, config_value
from reread.disk.layout import default_store
from reread.errors import Misuse
from reread.reader.library_schema import ReaderSettings
from reread.reports.budget_report import SETTING, is_amount

UNITS = tuple(ReaderSettings.__struct_fields__)


def read_reader_settings() -> ReaderSettings:
    """Return the settings; what is invalid is taken as not set."""
    stored = as_dict(config_value(default_store(), SETTING))
    return ReaderSettings(**{unit: stored[unit] for unit in UNITS if is_amount(stored.get(unit))})


def change_reader_settings(body: Any) -> ReaderSettings:
    """Set or, with None, remove budgets, and return the settings as they are then."""
    changes = as_dict(body)
    for unit, budget in changes.items():
        if unit not in UNITS or not (budget is None or is_amount(budget)):
            raise Misuse(f"Invalid budget {budget!r} for a {unit!r}; send dollars for a {', '.join(UNITS)}.")
    change_config_value(
        default_store(),
        SETTING,
        lambda stored: {unit: amount for unit, amount in {**as_dict(stored), **changes}.items() if amount is not None},
    )
    return read_reader_settings()
