"""Highlighted code and rendered Markdown in the terminal, tables with all their cells, within a bounded time."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Markdown, MarkdownElement
from rich.syntax import Syntax
from rich.text import Text

from reread.render.long_text import LONG, LongText, plain
from reread.render.markdown_text import guarded

if TYPE_CHECKING:
    from pygments.lexer import Lexer
import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, table

LANGUAGES = frozenset(
    """bash c clojure console cpp css dart diff docker elixir go graphql haskell html ini javascript js json jsx kotlin
    lua make markdown md nix perl php powershell protobuf py python r ruby rust scala scss sh shell sql swift terraform
    toml ts tsx typescript vue xml yaml yml zig""".split()
)
"""Languages whose lexers take about linear time on any text; many of the others in pygments do not."""
MAX_CHARS = 20_000
"""Characters of code above which it is not highlighted."""
MAX_LINE = 400
"""Characters of a line above which its code is not highlighted: lexers are slowest within a line."""
MAX_COLUMNS = 60
"""Columns of a table above which it is shown as written: rich measures each with all the others."""
THEME = "ansi_dark"
_BAR = re.compile(r"(?<!\\)\|")


def highlighted(text: str, language: str | None, *, start: int | None = None, padding: int = 0) -> Syntax:
    """Code in a language, with line numbers from `start` if given."""
    language = (language or "").lower()
    is_safe = language in LANGUAGES and len(text) <= MAX_CHARS and max(map(len, text.split("\n"))) <= MAX_LINE
    return _Code(
        text,
        language if is_safe else "text",
        theme=THEME,
        background_color="default",
        line_numbers=start is not None,
        start_line=start or 1,
        word_wrap=True,
        padding=padding,
    )


class _Code(Syntax):
    """Code whose language is not looked at if the output has no colours."""

    _has_colours = True

    @property
    def lexer(self) -> Lexer | None:
        return super().lexer if self._has_colours else None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self._has_colours = console.color_system is not None
        return super().__rich_console__(console, options)


def rendered_markdown(text: str) -> Markdown | Text | LongText:
    """Markdown as the terminal shows it; a very long one, or a very wide table, as written.

    It is guarded first, since rich draws neither HTML nor comments, definitions and pictures.
    """
    is_long = len(text) > LONG or any(line.count("|") > MAX_COLUMNS for line in text.split("\n"))
    return plain(text) if is_long else _Markdown(guarded(text))


class _Fence(CodeBlock):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield highlighted(str(self.text).rstrip(), self.lexer_name, padding=1)


class _Markdown(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = Markdown.elements | {"fence": _Fence, "code_block": _Fence}

    def __init__(self, markup: str) -> None:
        super().__init__("", hyperlinks=False, code_theme=THEME)
        self.markup = markup
        self.parsed = _PARSER.parse(markup)
        for token in (inner for outer in self.parsed for inner in outer.children or ()):
            if title := token.attrs.get("title"):  # which rich leaves out
                token.attrs["href"] = f'{token.attrs.get("href", "")} "{title}"'


def table_parser() -> MarkdownIt:
    """A parser like that of `rich.markdown`, which drops no cell of a table.

    By the rules of GFM, cells of a row that are more than its header has are dropped. What was said must not be, so the
    header is made as wide as the widest row. `web/src/markdown/markdownTree.ts` does the same.
    """
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


_PARSER = table_parser()
