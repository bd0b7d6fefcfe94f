"""Apache Iceberg: what changed in tables is committed to a catalogue."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from reread.base.addons import Addon

if TYPE_CHECKING:
    from reread.dataset.table_files import TableFiles

ADDON = Addon(
    options={"tables": f"{__name__}.options:extend_tables"},
    sinks={"iceberg": f"{__name__}:committer"},
)


def committer(name: str, warehouse: str | None) -> Callable[[TableFiles, str], int]:
    """Return what commits the tables of a machine to a catalogue, which is opened first."""
    from reread.addons.iceberg.catalog import commit_tables, open_catalog

    catalog = open_catalog(name, warehouse)
    return lambda place, machine: commit_tables(place, machine, catalog)
