"""Highlighted code and rendered Markdown in the terminal, within a bounded time."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Markdown, MarkdownElement
from rich.syntax import Syntax
from rich.text import Text

from reread.render.long_text import LONG, LongText, plain
from reread.render.markdown_tables import table_parser
from reread.render.markdown_text import guarded

if TYPE_CHECKING:
    from pygments.lexer import Lexer

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
_PARSER = table_parser()


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
