"""Glob, Grep and LS find files, and text in files; LSP asks a language server about a position in one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from math import factorial
from typing import Any, NamedTuple

from msgspec import field

from reread.base.choices import DONE
from reread.base.coerce import as_list
from reread.base.format import as_number, duration_ms_text, number_text
from reread.base.late_pattern import late_pattern
from reread.base.structs import FrozenStruct
from reread.base.text import as_text, one_line, path_line, plural
from reread.tools import generic
from reread.tools._show import Fields, declared, recorded, show_outcome
from reread.tools._values import first_nonblank, join_parts
from reread.tools.nodes import Code, Data, FileEntry, Files, Node, Note, Prose, facts
from reread.tools.spilled import unwrap
from reread.tools.tool import Tool, ToolCall

FILES, CONTENT, COUNT = "files_with_matches", "content", "count"
_NOTHING = late_pattern(r"\ANo (?:files|matches) found\b[^\n]*")
_FILES_HEADING = late_pattern(r"\AFound [\d,]+ files?\b[^\n]*\n?")
_TOTAL = late_pattern(r"^Found [\d,]+ total occurrences? across [\d,]+ files?\.[^\n]*\Z", re.MULTILINE)
_PAGED = late_pattern(r"^\[Showing results with pagination = ([^\n]*)\]\Z", re.MULTILINE)
_LIMITED = late_pattern(r"\b(?:limit|offset): \d+(?:, offset: \d+)?")
_TRUNCATED = late_pattern(r"^\((Results are truncated[^\n]*)\)\Z", re.MULTILINE)
_COUNTED = late_pattern(r"(?:(.*):)?(\d+)")
_LISTED = late_pattern(r"^ +- ", re.MULTILINE)
"""An entry in the tree of a folder, below its root."""
MAX_TEXTS = 50
"""Different texts that are highlighted."""
MAX_STEPS = 20_000_000
"""Steps that a pattern may take in the worst case."""
MAX_PATTERN = 1000
"""Characters of a pattern above which nothing is marked."""
MAX_REPEATS = 4
"""Unbounded repetitions that a pattern may have."""

_CASELESS = "(?i)"
_ESCAPE_OR_SET = late_pattern(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_RIPGREP_ONLY = late_pattern(r"\[\[|\[[^\[\]]*(?:--|&&|\|\||~~)|\\[1-9pPxukgK]")
"""Syntax that means something else in ripgrep than in Python."""
_COSTLY = late_pattern(r"\(\?|\)[*+?{]|[*+?}][*+{]")
"""Repeated groups and the like, whose cost multiplies."""
_PREFIX = late_pattern(r"^(?:[^\n:]*[:-])?\d+[:-]")
_LITERAL = late_pattern(r"\\([^\w\s])|([^\\.^$|()\[\]{}*+?])")
_OTHER = late_pattern(r"\{[^}]*\}|\(\?[a-z:]*|.", re.DOTALL)


class GlobInput(FrozenStruct):
    """The input of Glob."""

    pattern: str = ""
    path: str | None = None


class GlobResult(FrozenStruct):
    """The result of Glob."""

    filenames: list[str] | None = None
    durationMs: float | None = None
    numFiles: int | None = None
    truncated: bool | None = None
    totalMatches: int | None = None
    countIsComplete: bool | None = None
    timedOut: bool | None = None


class GrepInput(FrozenStruct):
    """The input of Grep."""

    pattern: str = ""
    path: str | None = None
    glob: str | None = None
    include: str | None = None
    """The name of `glob` in version 0.2."""
    type: str | None = None
    output_mode: str | None = None
    after: int | None = field(default=None, name="-A")
    before: int | None = field(default=None, name="-B")
    around: int | None = field(default=None, name="-C")
    context: int | None = None
    numbers: bool | None = field(default=None, name="-n")
    ignore_case: bool | None = field(default=None, name="-i")
    only: bool | None = field(default=None, name="-o")
    head_limit: int | None = None
    offset: int | None = None
    multiline: bool | None = None


class GrepResult(FrozenStruct):
    """The result of Grep, in one of three modes."""

    mode: str | None = None
    filenames: list[str] | None = None
    numFiles: int | None = None
    content: str | None = None
    numLines: int | None = None
    numMatches: int | None = None
    totalFiles: int | None = None
    totalLines: int | None = None
    appliedLimit: int | None = None
    appliedOffset: int | None = None
    durationMs: float | None = None


class LsInput(FrozenStruct):
    """The input of LS."""

    path: str = ""
    ignore: list[str] | None = None


class SearchMatches(NamedTuple):
    """The matches of a search, from the structured result or from its text."""

    mode: str
    files: list[str]
    content: str
    total: int
    """The number of files, lines or matches."""
    warning: str = ""
    """Why the result may be incomplete."""


def glob_title(call: ToolCall) -> str:
    """Return the pattern, the folder, and the number of files."""
    args = call.input(GlobInput)
    where = f"in {path_line(args.path)}" if first_nonblank(args.path) else ""
    return _title(call, one_line(args.pattern), where, _count_text(_glob_result(call)))


def draw_glob(call: ToolCall) -> Iterator[Node]:
    """Draw the files."""
    yield from generic.outcome_note(call)
    found = _glob_result(call)
    if found:
        yield from _file_list(found)
        yield from unwrap(call.text).warning()
        output = call.output(GlobResult)
        if output and output.timedOut is True:
            yield Note(text=f"the search timed out after {duration_ms_text(output.durationMs)}", level="warning")


def _glob_result(call: ToolCall) -> SearchMatches | None:
    """Return the files that were found; None unless the call succeeded."""
    if call.outcome.state != DONE:
        return None
    output = call.output(GlobResult)
    if output is None or not isinstance(output.filenames, list):
        text = unwrap(call.text).text.strip()
        truncated = _TRUNCATED.search(text)
        lines = [] if _NOTHING.match(text) else text[: truncated.start() if truncated else None].split("\n")
        files = [line for line in lines if line.strip()]
        return SearchMatches(FILES, files, "", len(files), truncated[1] if truncated else "")
    files = [as_text(file) for file in output.filenames]
    return SearchMatches(FILES, files, "", _int_or(output.numFiles, len(files)), _truncation(output, len(files)))


def _truncation(output: GlobResult, shown: int) -> str:
    total = _int_or(output.totalMatches, shown)
    least = "at least " if output.countIsComplete is False else ""
    if output.truncated is True or total > shown:
        return f"truncated: {shown:,} of {least}{total:,} files" if total > shown else "truncated"
    return ""


def grep_title(call: ToolCall) -> str:
    """Return the pattern, where it was searched, and how much was found."""
    args = call.input(GrepInput)
    where = f"in {path_line(args.path)}" if first_nonblank(args.path) else ""
    only = ", ".join(one_line(part, 60) for part in (args.glob, args.include, args.type) if first_nonblank(part))
    scope = f"{where} ({only})" if only else where
    return _title(call, f'"{one_line(args.pattern)}"', scope.strip(), _count_text(_grep_result(call)))


def draw_grep(call: ToolCall) -> Iterator[Node]:
    """Draw what was found: files, lines, or the number of matches in each file."""
    args = call.input(GrepInput)
    yield from generic.outcome_note(call)
    yield from facts(
        case="ignored" if args.ignore_case is True else "",
        multiline="yes" if args.multiline is True else "",
        context_lines=number_text(args.around) or number_text(args.context),
        lines_before=number_text(args.before),
        lines_after=number_text(args.after),
    )
    found = _grep_result(call)
    if found:
        has_lines = found.mode == CONTENT and found.content
        yield from _matching_lines(found, args) if has_lines else _file_list(found, args)
        yield from unwrap(call.text).warning()


def _grep_result(call: ToolCall) -> SearchMatches | None:
    """Return what was found; None unless the call succeeded."""
    if call.outcome.state != DONE:
        return None
    output = call.output(GrepResult)
    if output is None or not (isinstance(output.filenames, list) or isinstance(output.content, str)):
        return _parse_grep_text(unwrap(call.text).text, as_text(call.input(GrepInput).output_mode) or FILES)
    files, content = [as_text(file) for file in as_list(output.filenames)], as_text(output.content)
    mode = as_text(output.mode) or (CONTENT if content else FILES)
    counts = {
        CONTENT: _int_or(output.numLines, len(content.splitlines())),
        COUNT: _int_or(output.numMatches, sum(_matches_by_file(content).values())),
    }
    count = counts.get(mode, _int_or(output.numFiles, len(files)))
    return SearchMatches(mode, files, content, count, _limit_text(output, mode, count))


def _parse_grep_text(text: str, mode: str) -> SearchMatches:
    """Return what was found if the result has only text."""
    text = text.strip()
    if not text or _NOTHING.match(text):
        return SearchMatches(mode, [], "", 0)
    total, paged, heading = _TOTAL.search(text), _PAGED.search(text), _FILES_HEADING.match(text)
    limits = [_LIMITED.search(part[0]) for part in (total, paged, heading) if part]
    warning = next((f"limited: {limit[0]}" for limit in limits if limit), "")
    ends = [part.start() for part in (total, paged) if part]
    body = text[heading.end() if heading and mode == FILES else 0 : min(ends, default=len(text))].strip("\n")
    if mode == CONTENT:
        return SearchMatches(mode, [], body, len(body.split("\n")), warning)
    if mode == COUNT:
        return SearchMatches(mode, [], body, sum(_matches_by_file(body).values()), warning)
    files = [file for file in body.split("\n") if file.strip()]
    return SearchMatches(FILES, files, "", len(files), warning)


def _limit_text(output: GrepResult, mode: str, shown: int) -> str:
    """Return the note on a limit or an offset; empty if the result is complete."""
    total = _int_or(output.totalLines if mode == CONTENT else output.totalFiles, shown)
    skipped = f", skipping the first {number_text(output.appliedOffset)}" if as_number(output.appliedOffset) else ""
    if total > shown:
        return f"limited to {shown:,} of {total:,}{skipped}"
    if as_number(output.appliedLimit):
        return f"limited to {number_text(output.appliedLimit)}{skipped}"
    return skipped.removeprefix(", ")


def _matching_lines(found: SearchMatches, args: GrepInput) -> Iterator[Node]:
    """Draw the lines that were found, with the matches highlighted."""
    ignore = args.ignore_case is True
    yield Code(text=found.content, marks=matched_texts(as_text(args.pattern), found.content, ignore_case=ignore))
    if found.warning:
        yield Note(text=found.warning, level="warning")


def _file_list(found: SearchMatches, args: GrepInput | None = None) -> Iterator[Node]:
    """Draw the files that were found, with the number of matches if that was requested."""
    if found.mode == COUNT:
        searched = first_nonblank(args.path) if args else ""
        counts = _matches_by_file(found.content)
        entries = [FileEntry(path=path or searched, note=f"{count:,}") for path, count in counts.items()]
    else:
        entries = [FileEntry(path=file) for file in found.files]
    if entries:
        yield Files(entries=entries)
    else:
        yield Note(text="nothing found")
    if found.warning:
        yield Note(text=found.warning, level="warning")


def _matches_by_file(content: str) -> dict[str, int]:
    """Return the number of matches by file; a number alone belongs to the only file that was searched."""
    rows = (_COUNTED.fullmatch(row.strip()) for row in content.split("\n"))
    return {row[1] or "": int(row[2][:15]) for row in rows if row}


def ls_title(call: ToolCall) -> str:
    """Return the folder and the number of entries."""
    entries = _LISTED.findall(_tree(call))
    return _title(call, path_line(call.input(LsInput).path), "", plural(entries, "entry") if entries else "")


def draw_ls(call: ToolCall) -> Iterator[Node]:
    """Draw the tree of the folder."""
    yield from generic.outcome_note(call)
    yield from facts(ignoring=", ".join(map(as_text, as_list(call.input(LsInput).ignore))))
    if _tree(call).strip():
        yield Code(text=_tree(call), path=first_nonblank(call.input(LsInput).path) or None)
    yield from unwrap(call.text).warning()


def _tree(call: ToolCall) -> str:
    if call.outcome.state != DONE:
        return ""
    return call.data if isinstance(call.data, str) else unwrap(call.text).text


def _title(call: ToolCall, pattern: str, where: str, found: str) -> str:
    return join_parts(call.name, pattern, where, f"→ {found}" if found else "")


def _count_text(found: SearchMatches | None) -> str:
    """Return how much was found."""
    if found is None:
        return ""
    if not found.total:
        return "no files" if found.mode == FILES else "no matches"
    if found.mode == COUNT:
        return f"{plural(found.total, 'match')} in {plural(len(_matches_by_file(found.content)), 'file')}"
    return plural(found.total, "line" if found.mode == CONTENT else "file")


def _int_or(value: object, default: int) -> int:
    number = as_number(value)
    return number if isinstance(number, int) and number >= 0 else default


class LspInput(FrozenStruct):
    """The operation and the position."""

    operation: str = ""
    filePath: str = ""
    line: int | None = None
    character: int | None = None
    query: str | None = None


class LspResult(FrozenStruct):
    """The answer of the server, as text."""

    operation: str | None = None
    result: Any = None
    filePath: str | None = None
    resultCount: int | None = None
    fileCount: int | None = None


def _answer(fields: Fields) -> Iterator[Node]:
    """Draw the answer of a language server: documentation as Markdown, positions as text."""
    answer = fields.value("result.result")
    answer = fields.call.text if answer is None else answer
    if fields.call.outcome.state != DONE and fields.result is None:
        return
    if not isinstance(answer, str):
        yield Data(value=answer)
    elif answer.strip():
        yield Prose(text=answer) if fields.value("operation") == "hover" else Code(text=answer)


def matched_texts(pattern: str, content: str, *, ignore_case: bool = False) -> list[str]:
    """Return the texts in `content` that a pattern matches, each once.

    A pattern from a transcript could run forever. Only one with a bounded cost is run; any other has its literal parts
    highlighted.
    """
    flags = re.IGNORECASE if ignore_case or pattern.startswith(_CASELESS) else 0
    pattern = pattern.removeprefix(_CASELESS)
    if len(pattern) > MAX_PATTERN:
        return []
    lines = [_PREFIX.sub("", line) for line in content.split("\n")]
    found = _matches(pattern, lines, flags) or _literal_matches(pattern, content, flags)
    return list(islice(dict.fromkeys(text for text in found if text.strip()), MAX_TEXTS))


def _matches(pattern: str, lines: list[str], flags: int) -> list[str]:
    """Return what a pattern matches in lines; empty if running it is not safe."""
    bare = _ESCAPE_OR_SET.sub("x", pattern)
    if not pattern or _RIPGREP_ONLY.search(pattern) or _COSTLY.search(bare) or _cost(bare, lines) > MAX_STEPS:
        return []
    try:
        compiled = re.compile(pattern, flags)
    except (re.error, OverflowError, RecursionError):
        return []
    return [found[0] for line in lines for found in compiled.finditer(line)]


def _cost(bare: str, lines: Iterable[str]) -> float:
    """Return the steps that a pattern without repeated groups takes in the worst case."""
    repeats = 1 + sum(map(bare.count, "*+{"))
    choices = bare.count("?") + (bare.count("(") if "|" in bare else 0)
    if repeats > MAX_REPEATS or choices > MAX_REPEATS:
        return float("inf")
    return 2**choices * sum(len(line) ** repeats for line in lines) / factorial(repeats)


def _literal_matches(pattern: str, content: str, flags: int) -> Iterator[str]:
    """Yield the matches of the literal parts of a pattern, longest part first."""
    for literal in sorted(_literals(pattern), key=lambda part: (-len(part), part)):
        yield from islice((found[0] for found in re.finditer(re.escape(literal), content, flags)), 1000)


def _literals(pattern: str) -> set[str]:
    parts = [""]
    at = 0
    while at < len(pattern):
        literal = _LITERAL.match(pattern, at)
        if literal:
            parts[-1] += literal[1] or literal[2]
            at = literal.end()
            continue
        if pattern[at] in "*?{":  # the character before it is optional
            parts[-1] = parts[-1][:-1]
        other = _ESCAPE_OR_SET.match(pattern, at) or _OTHER.match(pattern, at)
        at = other.end() if other else at + 1
        parts.append("")
    return {part for part in parts if len(part.strip()) > 1 or part == pattern} - {""}


TOOLS = [
    Tool(("Glob", "GlobTool"), glob_title, draw_glob, category="search", input=GlobInput, result=GlobResult),
    Tool(("Grep", "GrepTool"), grep_title, draw_grep, category="search", input=GrepInput, result=GrepResult),
    Tool(("LS", "LSTool"), ls_title, draw_ls, category="search", input=LsInput),
    declared(
        ("LSP",),
        "{operation|result.operation} {filePath:path|result.filePath:path}[:{line}][:{character}] "
        "[→ {result.resultCount:number}][ in {result.fileCount:# file}]",
        show_outcome(),
        _answer,
        category="search",
        input=LspInput,
        result=LspResult,
        read=recorded,
    ),
]
