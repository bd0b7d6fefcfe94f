"""Tables of Markdown with all their cells.

By the rules of GFM, cells of a row that are more than its header has are dropped. What was said must not be, so the
header is made as wide as the widest row. `web/src/markdown/markdownTree.ts` does the same.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, table

_BAR = re.compile(r"(?<!\\)\|")


def table_parser() -> MarkdownIt:
    """A parser like that of `rich.markdown`, which drops no cell of a table."""
    parser = MarkdownIt().enable("strikethrough").enable("table")
    parser.block.ruler.at("table", _whole_table, {"alt": ["paragraph", "reference"]})
    return parser


def _whole_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    before = len(state.tokens)
    if not table(state, start, end, silent):
        return False
    if not silent:
        _add_dropped_cells(state, before)
    return True


def _add_dropped_cells(state: StateBlock, start: int) -> None:
    """Write the tokens of a table, from `start` on, anew with the cells that were dropped."""
    tokens = state.tokens[start:]
    shown = sum(token.type == "th_open" for token in tokens)
    rows = [token.map[0] for token in tokens if token.type == "tr_open" and token.map]
    dropped = {line: _cells(state, line)[shown:] for line in rows[1:]}
    dropped[rows[0]] = [""] * max((len(cells) for cells in dropped.values()), default=0)
    if not dropped[rows[0]]:
        return
    del state.tokens[start:]
    lines = iter(rows)
    for token in tokens:
        if token.type == "tr_close":
            line = next(lines)
            for content in dropped[line]:
                _push_cell(state, "th" if line == rows[0] else "td", content, line)
        state.tokens.append(token)


def _push_cell(state: StateBlock, tag: str, content: str, line: int) -> None:
    state.push(f"{tag}_open", tag, 1)
    inline = state.push("inline", "", 0)
    inline.content, inline.children, inline.map = content, [], [line, line + 1]
    state.push(f"{tag}_close", tag, -1)


def _cells(state: StateBlock, line: int) -> list[str]:
    """Return the cells of a row, as the rule for tables splits it: at each bar that no backslash is before."""
    text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].strip()
    cells = _BAR.split(text)
    inner = cells[not cells[0] : len(cells) - (len(cells) > 1 and not cells[-1])]
    return [cell.replace("\\|", "|").strip() for cell in inner]
