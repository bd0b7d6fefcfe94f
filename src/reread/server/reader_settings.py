"""Settings of the reader that outlive a browser; they are in the `config.json` of reread's own folder."""

from __future__ import annotations

import os
from typing import Any

from reread.accounting.prices import VARIABLE, current_prices
from reread.base.coerce import as_dict
from reread.base.version import __version__
from reread.catalog.config import change_config_value, config_value
from reread.disk.layout import archive_folders, default_store
from reread.errors import Misuse
from reread.reader.library_schema import Installation, ReaderSettings
from reread.reports.budget_report import SETTING, is_amount
from reread.server.library import SessionLibrary
from reread.storage.user_paths import cache_folder

UNITS = tuple(ReaderSettings.__struct_fields__)


def read_reader_settings() -> ReaderSettings:
    """Return the settings; what is invalid is taken as not set."""
    stored = as_dict(config_value(default_store(), SETTING))
    return ReaderSettings(**{unit: stored[unit] for unit in UNITS if is_amount(stored.get(unit))})


def read_setup(library: SessionLibrary) -> Installation:
    """Return what this installation reads and where it writes."""
    listing = library.listing()
    table = current_prices().table
    return Installation(
        version=__version__,
        prices=table.as_of,
        price_file=os.environ.get(VARIABLE) or None,
        roots=listing.roots,
        store=str(default_store()),
        cache=str(cache_folder()),
        archives=[str(path) for path in archive_folders() if path.exists()],
        kept=sum(row.kept for row in listing.sessions),
        only_kept=sum(row.gone for row in listing.sessions),
    )


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
