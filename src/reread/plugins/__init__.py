"""Everything that an add-on imports: its declaration, tools, dialects and the nodes that tools draw.

These names stay where they are; other modules of reread may move between versions. `plugins.formats` and
`plugins.verbs` have what only formats and verbs need; a complete example is in `docs/extending.md`.
"""

from __future__ import annotations

from reread.base.addons import Addon
from reread.records.dialects import Dialect
from reread.tools.nodes import (
    Checklist,
    ChecklistItem,
    Choice,
    Code,
    Data,
    Diff,
    Fact,
    Facts,
    FileEntry,
    Files,
    Hunk,
    Links,
    Node,
    Note,
    Option,
    Picture,
    Prose,
    Section,
    Table,
    Target,
    Terminal,
    facts,
)
from reread.tools.outcome import Outcome
from reread.tools.tool import Tool, ToolCall

__all__ = [
    "Addon",
    "Checklist",
    "ChecklistItem",
    "Choice",
    "Code",
    "Data",
    "Dialect",
    "Diff",
    "Fact",
    "Facts",
    "FileEntry",
    "Files",
    "Hunk",
    "Links",
    "Node",
    "Note",
    "Option",
    "Outcome",
    "Picture",
    "Prose",
    "Section",
    "Table",
    "Target",
    "Terminal",
    "Tool",
    "ToolCall",
    "facts",
]
