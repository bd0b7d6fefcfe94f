"""Text as Markdown that its content cannot break out of.

Every form written here means the same wherever it lands: in a list, a quote, a table or after a paragraph. So a wrong
guess about the structure of foreign Markdown costs looks, never safety.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from reread.base.late_pattern import late_pattern
from reread.base.sanitize import safe

_FENCE = late_pattern(r"([ \t]*)((?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}+|~{3,}+)(.*)")
_QUOTE = late_pattern(r" {0,3}>[ ]?")
_TICKS = late_pattern(r"`+")
LANGUAGES = frozenset(
    """ada apl asm assembly astro awk bash bat batch bicep bzl c c# c++ cc cjs clj clojure cmake cmd cobol coffee
    coffeescript conf console cpp crystal cs csharp csh css csv cts cu cuda cxx cypher cython d dart diff docker
    dockerfile dot dotenv edn elisp elixir elm env erb erl erlang ex exs f# fish fortran fs fsharp gcode
    gdscript gherkin git gitignore glsl go golang gql gradle graphql graphviz groovy h haml handlebars haskell
    hbs hcl heex hlsl hpp hs htm html http hxx ignore ini ipynb j2 jade java javascript jinja jinja2 jl jq js
    json json5 jsonc jsonl jsonnet jsx julia jupyter kotlin kt kts latex less liquid lisp llvm log lua m make
    makefile markdown math matlab md mdx mermaid meson mips mjs ml mts nasm ndjson nginx nim nix none objc
    objective-c objectivec ocaml output pascal patch perl pgsql php pl plain plaintext plantuml plist plsql
    postgres postgresql powershell prisma prolog promql properties proto protobuf ps1 pseudo pseudocode psql pug
    puml purescript pwsh py py3 pycon python python3 qml r rb re reason regex rego rest rkt robot rs rst ruby
    rust sass scala scheme scss sed sh shell shell-session shellscript smali sol solidity sparql sql sqlite
    starlark styl stylus sv svelte svg swift systemverilog tcl tcsh terminal terraform tex text tf tla toml ts
    tsql tsv tsx twig txt typescript vb vba vbnet verilog vhdl vim viml vimscript vue wasm wast wat wgsl wsdl
    xhtml xml xsd xslt yaml yml zig zsh""".split()
)
"""Words in the opening line of a fence besides code; any other word there is shown, since views may hide it."""
_LANGUAGE = late_pattern(r"[A-Za-z0-9_+.#-]{1,40}")
_AUTOLINK = late_pattern(r"<https?://[^\s<>`|]+>")
_OTHER_ENTITY = r"&(?!(?:lt|gt|amp|quot|nbsp);)(?:#\w{1,10}|\w{1,40});"
_ENTITY = late_pattern(_OTHER_ENTITY)
"""An entity that could stand for an invisible character."""
_LINK_TARGET = late_pattern(
    r"\]\((?:(?:https?://|mailto:)(?:[^\s`\\<>|()]|\([^\s`\\<>|()]*\))*+|[^\s`\\<>|()&:]*+)(?: \"[^\"`\\<>|\n]*\")?\)",
    re.IGNORECASE,
)
_URL = late_pattern(r"://|www\.|mailto:|xmpp:", re.IGNORECASE)
_SPECIAL = late_pattern(r"[\\`<&!\]]|\[(?=\^)")
_ACTIVE = late_pattern(r"[\\`*_\[\]<>#|~]")
_LIVE = late_pattern(rf"<|\]\(|!\[|\[\^|{_OTHER_ENTITY}")
"""Text that acts outside of code: HTML, links, pictures, footnotes, invisible characters."""
_IN_ELEMENT = late_pattern(r"[\\`*_\[\]<&|~]")
_ENTITIES = {"<": "&lt;", "&": "&amp;", "`": "&#96;", "\\": "&#92;"}
"""Signs that a backslash does not guard: in an address it is a letter, and `<` behind it is live."""
_LIST_START = late_pattern(r"^(\d{0,9})([-+.)=])(?=[-= ]*$| )")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_ITEM = late_pattern(r"(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$)")
_HEADING = late_pattern(r"#{1,6}(?=[ \t]|$)|(?:(?:=+|-+)[ \t]*|(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
"""A heading, its underline or a rule: code can begin right after it."""
_LINE_BREAK = late_pattern(r"(?<![ \t])[ \t]*\n[ \t]*")
_TAB = 4
"""Columns to the next stop of a tab, and those by which code is indented."""
_DEEPEST_QUOTE = 5
"""Quotes within quotes beyond this are shown as text."""
_DEEPEST_ITEM = 50
"""Lists within lists beyond this are taken for text."""


def folded(title: str, lines: Sequence[str]) -> Iterator[str]:
    """Lines that stay closed until the reader opens them."""
    yield f"<details><summary>{escape(safe(' '.join(title.split())))}</summary>"
    yield ""
    yield from lines
    yield ""
    yield "</details>"


def fenced(text: str, language: str = "") -> str:
    """Text in a fence longer than any in it."""
    fence = _fence_around(text)
    return f"{fence}{_known_language(language)}\n{safe(text)}\n{fence}"


def code(text: str) -> str:
    """A short text as a code span."""
    line = safe(" ".join(text.split()))
    ticks = "`" * (max(map(len, _TICKS.findall(line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}" if line else ""


def inline(text: str) -> str:
    """A short text within a line; nothing in it acts as Markdown or HTML."""
    line = _ACTIVE.sub(r"\\\g<0>", _ENTITY.sub(r"\\\g<0>", " ".join(safe(text).split())))
    return _LIST_START.sub(r"\1\\\2", line, count=1)


def guarded(text: str) -> str:
    """Markdown from a transcript: its HTML is shown as text, its pictures are links, its code is fenced anew."""
    return "\n".join(_guarded_lines(safe(text).split("\n"), _DEEPEST_QUOTE))


def _guarded_lines(lines: Sequence[str], quotes: int) -> Iterator[str]:
    items = _ListItems()
    at = 0
    while at < len(lines):
        line = lines[at]
        code_column = items.enter(line)
        if quotes and (quote := _QUOTE.match(line)):
            inner = [line[quote.end() :]]
            while (at := at + 1) < len(lines) and (quote := _QUOTE.match(lines[at])):
                inner.append(lines[at][quote.end() :])
            yield from (f"> {inside}" if inside else ">" for inside in _guarded_lines(inner, quotes - 1))
        elif fence := _opening_fence(line):
            before = fence[1].expandtabs(_TAB) + (f"{fence[2].strip()} " if fence[2] else "")
            end = _closing_fence(lines, at + 1, fence[3], len(before) + _TAB)
            if at and lines[at - 1].strip(" \t"):
                yield ""
            yield from _refenced(
                before, fence[4].strip(), [_outdented(each, len(before)) for each in lines[at + 1 : end]]
            )
            items.in_paragraph = False
            at = end + 1
        elif code_column is not None:
            end = _code_end(lines, at, code_column + _TAB)
            if at and lines[at - 1].strip(" \t"):
                yield ""
            yield from _refenced(
                " " * code_column, "", [_outdented(each, code_column + _TAB) for each in lines[at:end]]
            )
            at = end
        else:
            end = _paragraph_end(lines, at) if "`" in line else at + 1
            yield _guarded_paragraph("\n".join(lines[at:end]))
            at = end


def _opening_fence(line: str) -> re.Match[str] | None:
    fence = _FENCE.fullmatch(line)
    return fence if fence and not (fence[3][0] == "`" and "`" in fence[4]) else None


def _closing_fence(lines: Sequence[str], start: int, opening: str, column: int) -> int:
    """The line that closes a fence; one that begins at `column` or behind it is code."""
    for at in range(start, len(lines)):
        found = lines[at].strip(" \t")
        if len(found) >= len(opening) and not found.strip(opening[0]) and _indentation(lines[at]) < column:
            return at
    return len(lines)


def _code_end(lines: Sequence[str], start: int, column: int) -> int:
    """Where code ends that is indented up to this column; blank lines behind it are no part of it."""
    end = start
    for at in range(start, len(lines)):
        if lines[at].strip(" \t"):
            if _indentation(lines[at]) < column:
                break
            end = at + 1
    return end


def _paragraph_end(lines: Sequence[str], start: int) -> int:
    """Where the paragraph of a line ends, as far as code can reach; each row of a table is one of its own."""
    end = start + 1
    while end < len(lines) and "|" not in lines[end - 1] + lines[end]:
        inside = lines[end].lstrip(" \t")
        if (
            not inside
            or _QUOTE.match(inside)
            or _ITEM.match(inside)
            or _HEADING.match(inside)
            or _opening_fence(inside)
        ):
            break
        end += 1
    return end


def _refenced(before: str, info: str, body: Sequence[str]) -> Iterator[str]:
    """The code with each line as far in as its fence, so that no line can leave a list item and with it the fence."""
    indent = " " * len(before)
    language = info if info.lower() in LANGUAGES else ""
    # What is more than a language is code: "```TypeError: x is undefined" is how people paste an error.
    code_lines = [info, *body] if info and not language else body
    fence = _fence_around("\n".join(code_lines))
    yield f"{before}{fence}{language}"
    yield from (f"{indent}{line}" if line else "" for line in code_lines)
    yield f"{indent}{fence}"


def _indentation(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(_TAB))


def _outdented(line: str, columns: int) -> str:
    """A line without so many columns of its indentation; the rest of it is as written."""
    at = column = 0
    while column < columns and line[at : at + 1] in (" ", "\t"):
        column += 1 if line[at] == " " else _TAB - column % _TAB
        at += 1
    return " " * (column - columns) + line[at:]


def _fence_around(text: str) -> str:
    return "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))


def _known_language(language: str) -> str:
    return language if _LANGUAGE.fullmatch(language) else ""


def _guarded_paragraph(text: str) -> str:
    """Lines of a paragraph whose code spans end where they start: in one line."""
    pieces = [(_LINE_BREAK.sub(" ", piece) if is_code else piece, is_code) for piece, is_code in _pieces(text)]
    spans = [piece for piece, is_code in pieces if is_code]
    # A table splits its row at every bar, also in code; what is behind the bar would then be live.
    if any("|" in span for span in spans) and any(_LIVE.search(span) for span in spans):
        return "".join(_code_element(piece) if is_code and "|" in piece else piece for piece, is_code in pieces)
    return "".join(piece for piece, _ in pieces)


def _pieces(line: str) -> Iterator[tuple[str, bool]]:
    """The line's code spans as written, and what is between them, escaped."""
    runs = _TickRuns(line)
    out: list[str] = []
    at = 0
    while found := _SPECIAL.search(line, at):
        out.append(line[at : found.start()])
        at = found.start()
        if found[0] != "`":
            shown, at = _escaped(line, at)
            out.append(shown)
        elif (end := runs.partner(at)) is None:
            end = runs.end(at)
            out.append("\\`" * (end - at))
            at = end
        else:
            yield "".join(out), False
            yield line[at:end], True
            out.clear()
            at = end
    out.append(line[at:])
    yield "".join(out), False


def _escaped(line: str, at: int) -> tuple[str, int]:
    """The escaped form of what starts at a special character, and where it ends."""
    sign, following = line[at], line[at + 1 : at + 2]
    if sign == "\\":
        if following == "<":
            return "&lt;", at + 2
        return line[at : at + 2] if following in _PUNCTUATION else sign, at + (2 if following in _PUNCTUATION else 1)
    if sign == "<":
        if link := _AUTOLINK.match(line, at):
            return link[0], link.end()
        return ("&lt;" if not following or following.isalpha() or following in "/!?\n" else sign), at + 1
    if sign == "&":
        return ("&amp;" if _ENTITY.match(line, at) else sign), at + 1
    if sign == "[":
        return "\\[", at + 1
    if sign == "!":
        return ("\\!" if following == "[" else sign), at + 1
    if following == "(" and (target := _LINK_TARGET.match(line, at)):
        return target[0], target.end()
    return ("\\]" if following and following in "(:" else sign), at + 1


def _code_element(span: str) -> str:
    body = span.strip("`")
    if body.startswith(" ") and body.endswith(" ") and body.strip():
        body = body[1:-1]
    shown = _IN_ELEMENT.sub(lambda sign: _ENTITIES.get(sign[0], f"\\{sign[0]}"), body)
    return f"<code>{shown}</code>"


class _ListItems:
    """Where the text of the open list items begins: what is four columns further in, and continues nothing, is code."""

    def __init__(self) -> None:
        self._columns: list[int] = []
        self.in_paragraph = False

    def enter(self, line: str) -> int | None:
        """Take the next line that is not known to be code; return the column of its block if it turns out to be."""
        inside = line.lstrip(" \t")
        if not inside:
            self.in_paragraph = False
            return None
        column = _indentation(line)
        is_text = self.in_paragraph and not _ITEM.match(inside)
        while self._columns and column < self._columns[-1] and not is_text:
            self._columns.pop()
        start = self._columns[-1] if self._columns else 0
        if column >= start + _TAB:
            return None if self.in_paragraph else start
        self.in_paragraph = not _HEADING.match(inside)
        while self.in_paragraph and len(self._columns) < _DEEPEST_ITEM and (item := _ITEM.match(inside)):
            gap = _indentation(inside[item.end() :])
            inside = inside[item.end() :].lstrip(" \t")
            self.in_paragraph = bool(inside)
            column += item.end() + (gap if inside and gap <= _TAB else 1)
            self._columns.append(column)
        return None


class _TickRuns:
    """The runs of backticks in a line, and for each the next run of the same length.

    A run that touches a bare address opens nothing: forges take it for a part of the link.
    """

    def __init__(self, line: str) -> None:
        runs = [run.span() for run in _TICKS.finditer(line)]
        self._ends = dict(runs)
        self._partners: dict[int, int] = {}
        nearest: dict[int, int] = {}
        for start, end in reversed(runs):
            # An escaped backtick is no part of a run, which then begins at its second one.
            for begin in (start, start + 1):
                self._ends[begin] = end
                if partner := nearest.get(end - begin):
                    self._partners[begin] = partner
            nearest[end - start] = end
        self._close_addresses(line, runs)

    def _close_addresses(self, line: str, runs: Sequence[tuple[int, int]]) -> None:
        at, in_address = 0, False
        for start, end in runs:
            between = line[at:start]
            word = re.split(r"[ \t\n]", between)[-1]
            in_address = bool(_URL.search(word)) or (in_address and len(word) == len(between))
            if in_address:
                self._partners.pop(start, None)
                self._partners.pop(start + 1, None)
            at = end

    def end(self, start: int) -> int:
        """The end of the run that starts there."""
        return self._ends[start]

    def partner(self, start: int) -> int | None:
        """The end of the run that closes the one that starts there. None if it stays open."""
        return self._partners.get(start)
