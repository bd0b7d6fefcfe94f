"""What a format of `reread export` imports, besides the session that it is given."""

from __future__ import annotations

from reread.reader.export_formats import ExportFormat
from reread.render.selection import Selection, selected_turns
from reread.session.session import Session

__all__ = ["ExportFormat", "Selection", "Session", "selected_turns"]
