"""Apache Iceberg: what changed in tables is committed to a catalogue."""

from reread.base.addons import Addon

ADDON = Addon(
    options={"tables": f"{__name__}.options:extend_tables"}, sinks={"iceberg": f"{__name__}.catalog:committer"}
)
