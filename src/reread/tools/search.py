"""Glob, Grep and LS: which files there are, and what stands in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct, field

from reread.base.coerce import as_list
from reread.tools import generic
from reread.tools._highlight import marks
from reread.tools._result_text import unwrap
from reread.tools._values import count, first, grouped, line, number, span_ms, words
from reread.tools.nodes import Code, FileEntry, Files, Node, Note, facts
from reread.tools.tool import Tool
from reread.tools.tool_call import DONE, ToolCall

FILES, CONTENT, COUNT = "files_with_matches", "content", "count"
_NOTHING = re.compile(r"\ANo (?:files|matches) found\b[^\n]*")
_FOUND = re.compile(r"\AFound [\d,]+ files?\b[^\n]*\n?")
_TOTAL = re.compile(r"^Found [\d,]+ total occurrences? across [\d,]+ files?\.[^\n]*\Z", re.MULTILINE)
_PAGED = re.compile(r"^\[Showing results with pagination = ([^\n]*)\]\Z", re.MULTILINE)
_LIMITED = re.compile(r"\b(?:limit|offset): \d+(?:, offset: \d+)?")
_TRUNCATED = re.compile(r"^\((Results are truncated[^\n]*)\)\Z", re.MULTILINE)
_COUNTED = re.compile(r"(?:(.*):)?(\d+)")
_LISTED = re.compile(r"^ +- ", re.MULTILINE)
"""What stands in a folder's tree below its root."""


class GlobInput(Struct, kw_only=True):
    """Which files are looked for."""

    pattern: str = ""
    path: str | None = None


class GlobOutput(Struct, kw_only=True):
    """The files, and whether these are all."""

    filenames: list[str] | None = None
    durationMs: float | None = None
    numFiles: int | None = None
    truncated: bool | None = None
    totalMatches: int | None = None
    countIsComplete: bool | None = None
    timedOut: bool | None = None


class GrepInput(Struct, kw_only=True):
    """What is looked for, and where."""

    pattern: str = ""
    path: str | None = None
    glob: str | None = None
    include: str | None = None
    """What `glob` was called in 0.2."""
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


class GrepOutput(Struct, kw_only=True):
    """What was found, in one of three modes."""

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


class LsInput(Struct, kw_only=True):
    """Which folder is as_list."""

    path: str = ""
    ignore: list[str] | None = None


class Found(NamedTuple):
    """What a search found, from the structured result or from its text."""

    mode: str
    files: list[str]
    content: str
    number: int
    """How many files, lines or matches."""
    warning: str = ""
    """Why this may not be all."""


def glob_title(call: ToolCall) -> str:
    """The pattern, where it was looked for, and how many files it has."""
    given = call.input(GlobInput)
    where = f"in {line(given.path)}" if first(given.path) else ""
    return _title(call, line(given.pattern), where, _size(_globbed(call)))


def draw_glob(call: ToolCall) -> Iterator[Node]:
    """The files."""
    yield from generic.ending(call)
    found = _globbed(call)
    if found:
        yield from _listing(found)
        yield from unwrap(call.text).warning()
        output = call.output(GlobOutput)
        if output and output.timedOut is True:
            yield Note(text=f"the search ran out of time after {span_ms(output.durationMs)}", level="warning")


def _globbed(call: ToolCall) -> Found | None:
    """The files of a search that has ended well."""
    if call.ending.state != DONE:
        return None
    output = call.output(GlobOutput)
    if output is None or not isinstance(output.filenames, list):
        told = unwrap(call.text).text.strip()
        cut = _TRUNCATED.search(told)
        files = [] if _NOTHING.match(told) else told[: cut.start() if cut else None].split("\n")
        files = [file for file in files if file.strip()]
        return Found(FILES, files, "", len(files), cut[1] if cut else "")
    files = [words(file) for file in output.filenames]
    return Found(FILES, files, "", _whole(output.numFiles, len(files)), _truncated(output, len(files)))


def _truncated(output: GlobOutput, shown: int) -> str:
    total = _whole(output.totalMatches, shown)
    least = "at least " if output.countIsComplete is False else ""
    if output.truncated is True or total > shown:
        return f"truncated: {shown:,} of {least}{total:,} files" if total > shown else "truncated"
    return ""


def grep_title(call: ToolCall) -> str:
    """The pattern, where it was looked for, and how much was found."""
    given = call.input(GrepInput)
    where = f"in {line(given.path)}" if first(given.path) else ""
    only = ", ".join(line(part, 60) for part in (given.glob, given.include, given.type) if first(part))
    scope = f"{where} ({only})" if only else where
    return _title(call, f'"{line(given.pattern)}"', scope.strip(), _size(_grepped(call)))


def draw_grep(call: ToolCall) -> Iterator[Node]:
    """What was found: the files, the lines, or how often in each file."""
    given = call.input(GrepInput)
    yield from generic.ending(call)
    yield from facts(
        case="ignored" if given.ignore_case is True else "",
        across_lines="yes" if given.multiline is True else "",
        lines_around=grouped(given.around) or grouped(given.context),
        lines_before=grouped(given.before),
        lines_after=grouped(given.after),
    )
    found = _grepped(call)
    if found:
        passages = found.mode == CONTENT and found.content
        yield from _passages(found, given) if passages else _listing(found, given)
        yield from unwrap(call.text).warning()


def _grepped(call: ToolCall) -> Found | None:
    """What a search that has ended well found."""
    if call.ending.state != DONE:
        return None
    output = call.output(GrepOutput)
    if output is None or not (isinstance(output.filenames, list) or isinstance(output.content, str)):
        return _told(unwrap(call.text).text, words(call.input(GrepInput).output_mode) or FILES)
    files, content = [words(file) for file in as_list(output.filenames)], words(output.content)
    mode = words(output.mode) or (CONTENT if content else FILES)
    sizes = {
        CONTENT: _whole(output.numLines, len(content.splitlines())),
        COUNT: _whole(output.numMatches, sum(_counts(content).values())),
    }
    size = sizes.get(mode, _whole(output.numFiles, len(files)))
    return Found(mode, files, content, size, _limited(output, mode, size))


def _told(text: str, mode: str) -> Found:
    """What a search found where that is only told as text."""
    told = text.strip()
    if not told.strip() or _NOTHING.match(told):
        return Found(mode, [], "", 0)
    total, paged, heading = _TOTAL.search(told), _PAGED.search(told), _FOUND.match(told)
    limits = [_LIMITED.search(part[0]) for part in (total, paged, heading) if part]
    warning = next((f"limited: {limit[0]}" for limit in limits if limit), "")
    ends = [part.start() for part in (total, paged) if part]
    body = told[heading.end() if heading and mode == FILES else 0 : min(ends, default=len(told))].strip("\n")
    if mode == CONTENT:
        return Found(mode, [], body, len(body.split("\n")), warning)
    if mode == COUNT:
        return Found(mode, [], body, sum(_counts(body).values()), warning)
    files = [file for file in body.split("\n") if file.strip()]
    return Found(FILES, files, "", len(files), warning)


def _limited(output: GrepOutput, mode: str, shown: int) -> str:
    """Whether a limit cut the result off, in words."""
    total = _whole(output.totalLines if mode == CONTENT else output.totalFiles, shown)
    skipped = f", the first {grouped(output.appliedOffset)} skipped" if number(output.appliedOffset) else ""
    if number(output.appliedLimit) or total > shown:
        return f"limited to {shown:,} of {total:,}{skipped}" if total > shown else f"limited to {shown:,}{skipped}"
    return skipped.removeprefix(", ")


def _passages(found: Found, given: GrepInput) -> Iterator[Node]:
    """The lines that were found, with what was looked for marked in them."""
    ignore = given.ignore_case is True
    yield Code(text=found.content, marks=marks(words(given.pattern), found.content, ignore_case=ignore))
    if found.warning:
        yield Note(text=found.warning, level="warning")


def _listing(found: Found, given: GrepInput | None = None) -> Iterator[Node]:
    """The files that were found, with counts where they were counted."""
    if found.mode == COUNT:
        alone = first(given.path) if given else ""
        entries = [FileEntry(path=path or alone, note=f"{n:,}") for path, n in _counts(found.content).items()]
    else:
        entries = [FileEntry(path=file) for file in found.files]
    if entries:
        yield Files(entries=entries)
    else:
        yield Note(text="nothing found")
    if found.warning:
        yield Note(text=found.warning, level="warning")


def _counts(content: str) -> dict[str, int]:
    """File → count; a count alone belongs to the one file that was searched."""
    rows = (_COUNTED.fullmatch(row.strip()) for row in content.split("\n"))
    return {row[1] or "": int(row[2][:15]) for row in rows if row}


def ls_title(call: ToolCall) -> str:
    """The folder, and how much is in it."""
    within = len(_LISTED.findall(_tree(call)))
    found = f"{within:,} {'entry' if within == 1 else 'entries'}" if within else ""
    return _title(call, line(call.input(LsInput).path), "", found)


def draw_ls(call: ToolCall) -> Iterator[Node]:
    """The folder as the tree that the result is."""
    yield from generic.ending(call)
    yield from facts(leaving_out=", ".join(map(words, as_list(call.input(LsInput).ignore))))
    if _tree(call).strip():
        yield Code(text=_tree(call), path=first(call.input(LsInput).path) or None)
    yield from unwrap(call.text).warning()


def _tree(call: ToolCall) -> str:
    if call.ending.state != DONE:
        return ""
    return call.data if isinstance(call.data, str) else unwrap(call.text).text


def _title(call: ToolCall, what: str, where: str, found: str) -> str:
    arrow = f"→ {found}" if found else ""
    return " ".join(part for part in (call.name, what, where, arrow) if part)


def _size(found: Found | None) -> str:
    """How much was found."""
    if found is None:
        return ""
    if not found.number:
        return "no files" if found.mode == FILES else "no matches"
    if found.mode == COUNT:
        matches = "1 match" if found.number == 1 else f"{found.number:,} matches"
        return f"{matches} in {count(len(_counts(found.content)), 'file')}"
    return count(found.number, "line" if found.mode == CONTENT else "file")


def _whole(value: object, otherwise: int) -> int:
    known = number(value)
    return known if isinstance(known, int) and known >= 0 else otherwise


TOOLS = [
    Tool(("Glob", "GlobTool"), glob_title, draw_glob, category="search"),
    Tool(("Grep", "GrepTool"), grep_title, draw_grep, category="search"),
    Tool(("LS", "LSTool"), ls_title, draw_ls, category="search"),
]
