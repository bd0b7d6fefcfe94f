"""What a tool shows, as a row: the fields of its input and its result by name, instead of a function that draws.

A field of the input has its own name, one of the result has `result.` before it. `a|result.b` is the first of them that
is not blank, and `a:size` is a value in one of `FORMATS`. A template is text with fields in braces; it is empty if all
of them are blank, and so is a part of it in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, TypeAlias

from msgspec import Struct

from reread.base.choices import DONE
from reread.base.coerce import LIST, OBJECT, as_list
from reread.base.format import duration_ms_text, duration_text, number_text, size_text, utc_text
from reread.base.text import as_text, one_line, path_line, plural
from reread.tools import _draw, generic
from reread.tools._values import comma_separated, parse_json, yes_no
from reread.tools.nodes import Code, Data, Fact, Facts, Node, Table
from reread.tools.tool import Tool, ToolCall

FORMATS: dict[str, Callable[[Any], str]] = {
    "text": as_text,
    "number": number_text,
    "size": size_text,
    "seconds": duration_text,
    "ms": duration_ms_text,
    "utc": utc_text,
    "words": lambda value: as_text(value).replace("_", " "),
    "list": comma_separated,
    "yes_no": yes_no,
    "if_yes": lambda value: "yes" if value is True else "",
    "path": path_line,
    "first_line": lambda value: as_text(value).strip().partition("\n")[0],
    "heading": lambda value: as_text(value).strip().partition("\n")[0].lstrip("# "),
}
"""How a value is written: as empty text if it is none of that kind. `# file` counts files: `1 file`, `20 files`."""
ReadResult: TypeAlias = "Callable[[ToolCall], dict[str, Any] | None]"
_PART = re.compile(r"\[([^\[\]]*)\]|\{([^{}]*)\}")
_FIELD = re.compile(r"\{([^{}]*)\}")


def recorded(call: ToolCall) -> dict[str, Any] | None:
    """Return the structured result, if it is an object."""
    return call.data if isinstance(call.data, OBJECT) else None


def structured(call: ToolCall) -> dict[str, Any] | None:
    """Return the structured result, or the text of the result if that is an object in JSON."""
    found: Any = call.data if isinstance(call.data, OBJECT) else parse_json(call.text)
    return found if isinstance(found, OBJECT) else None


class Fields:
    """The fields that a row can name: those of the input or of an item in a list, of the result, of the agent."""

    def __init__(self, call: ToolCall, own: dict[str, Any], read: ReadResult = structured) -> None:
        self.call = call
        self.own = own
        self._read = read

    @cached_property
    def result(self) -> dict[str, Any] | None:
        """The result as fields; None if it has none."""
        return self._read(self.call)

    def value(self, path: str) -> Any:
        """Return the value at a path, or the text in quotes; None if there is none."""
        return self._at(*_path(path))

    def _at(self, root: str, names: Sequence[str]) -> Any:
        if root == "agent":
            return getattr(self.call.agent, names[0], None)
        found: Any = self.result if root == "result" else root[1:-1] if root[0] == "'" else self.own.get(root)
        for name in names:
            if not isinstance(found, OBJECT):
                return None
            found = found.get(name)
        return found

    def objects(self, path: str) -> list[Fields]:
        """Return the fields of each object in a list."""
        return [Fields(self.call, item, self._read) for item in as_list(self.value(path)) if isinstance(item, OBJECT)]

    def text(self, field: str) -> str:
        """Return the first alternative that is not blank, in its format."""
        for root, names, write in _alternatives(field):
            value = self._at(root, names)
            if value is not None and (text := write(value)) and not text.isspace():
                return text
        return ""

    def line(self, field: str) -> str:
        """Return the text on one line, a path uncut."""
        text = self.text(field)
        return text if field.endswith(":path") else one_line(text)

    def filled(self, template: str) -> str:
        """Return a template with its fields."""
        return _filled(template, self.text)


Step: TypeAlias = Callable[[Fields], Iterable[Node]]
"""Yields some of the nodes of a call."""


@cache
def _alternatives(field: str) -> list[tuple[str, Sequence[str], Callable[[Any], str]]]:
    parts = (part.partition(":") for part in field.split("|"))
    return [(*_path(path), _format(name or "text")) for path, _, name in parts]


def _format(name: str) -> Callable[[Any], str]:
    return FORMATS[name] if name[0] != "#" else lambda value: plural(value, name[1:].strip())


@cache
def _path(path: str) -> tuple[str, Sequence[str]]:
    root, *names = [path] if path[0] == "'" else path.split(".")
    return root, names


@cache
def _pieces(template: str) -> list[tuple[str, str | None, str]]:
    """Return a template as texts, parts in brackets and fields, of which each piece has one of each."""
    split = [*_PART.split(template), None, ""]
    return [(split[at] or "", split[at + 1], split[at + 2] or "") for at in range(0, len(split), 3)]


def _filled(template: str, text: Callable[[str], str]) -> str:
    said, is_blank, has_fields = "", True, False
    for literal, part, field in _pieces(template):
        value = text(field) if field else ""
        said += f"{literal}{_filled(part, text) if part is not None else value}"
        has_fields, is_blank = has_fields or bool(field), is_blank and not value
    return "" if has_fields and is_blank else said


def titled(template: str) -> Callable[[Fields], str]:
    """Return a title by a template; what is between two parts stands there if neither is blank."""
    parts = [(literal, part or f"{{{field}}}") for literal, part, field in _pieces(template) if part or field]

    def title(fields: Fields) -> str:
        line = ""
        for separator, part in parts:
            text = _filled(part, fields.line)
            line += f"{separator if line else ''}{text}" if text else ""
        return line

    return title


def declared(
    names: tuple[str, ...],
    title: str | Callable[[Fields], str],
    *steps: Step,
    category: str = "other",
    input: type[Struct] | None = None,
    result: Any = None,
    read: ReadResult = structured,
) -> Tool:
    """Return a tool that is drawn by steps; its title is its name, then a template or what a function returns.

    `read` returns the fields of a result that is written in another way than as an object.
    """
    rest = titled(title) if isinstance(title, str) else title

    def draw(call: ToolCall) -> Iterator[Node]:
        return _nodes(Fields(call, call.arguments, read), steps)

    def named(call: ToolCall) -> str:
        return f"{call.name} {rest(Fields(call, call.arguments, read))}".strip()

    return Tool(names, named, draw, category, input, result)


def _nodes(fields: Fields, steps: Iterable[Step]) -> Iterator[Node]:
    for step in steps:
        yield from step(fields)


def show_input(fields: Fields) -> Iterator[Node]:
    """Draw the input as JSON, unless it is empty."""
    if fields.call.arguments:
        yield Data(value=fields.call.raw_input)


def show_prose(field: str) -> Step:
    """Draw a text as Markdown."""
    return lambda fields: _draw.prose(fields.text(field))


def show_prose_or_code(field: str) -> Step:
    """Draw a text as Markdown if it looks like Markdown, else as plain lines."""
    return lambda fields: _draw.prose_or_code(fields.text(field))


def show_code(field: str, language: str | None = None) -> Step:
    """Draw a text as code."""
    return lambda fields: [Code(text=source, language=language)] if (source := fields.text(field)) else []


def show_terminal(field: str, stream: str = "out") -> Step:
    """Draw a command (`in`) or what a program printed (`out`, `err`)."""
    return lambda fields: _draw.terminal(fields.text(field), stream)


def show_note(template: str, level: str = "info", *, when: str = "", words: Mapping[str, str] | None = None) -> Step:
    """Draw a remark, with `when` if that field is true; `words` are other words for what the template yields."""

    def draw(fields: Fields) -> Iterator[Node]:
        if not when or fields.value(when) is True:
            text = fields.filled(template)
            yield from _draw.note((words or {}).get(text, text), level)

    return draw


def show_facts(**named: str | Callable[[Fields], str]) -> Step:
    """Draw short values by name, each a field or what a function makes of all; underscores in names become spaces."""
    values = [(name.replace("_", " "), value) for name, value in named.items()]

    def draw(fields: Fields) -> Iterator[Node]:
        texts = [(name, fields.text(value) if isinstance(value, str) else value(fields)) for name, value in values]
        known = [Fact(name=name, value=text) for name, text in texts if text]
        if known:
            yield Facts(items=known)

    return draw


def show_files(*entries: tuple[str, str]) -> Step:
    """Draw files, each as a field with its path, or with a list of paths, and a template of its note."""

    def draw(fields: Fields) -> Iterator[Node]:
        known: list[tuple[object, object]] = []
        for field, remark in entries:
            value = fields.value(field.partition("|")[0])
            listed = value if isinstance(value, LIST) else [fields.text(field)]
            known += [(path, fields.filled(remark)) for path in listed]
        yield from _draw.file_list(*known)

    return draw


def show_links(*entries: tuple[str, str]) -> Step:
    """Draw links, each as a field with its URL and a template of its title."""
    return lambda fields: _draw.links(*((fields.text(url), fields.filled(title)) for url, title in entries))


def show_data(title: str, path: str, *, open: bool = False) -> Step:
    """Draw a value under a heading as JSON, unless it is empty."""

    def draw(fields: Fields) -> Iterator[Node]:
        value = fields.value(path)
        yield from _draw.section(title, [Data(value=value)] if value else [], open=open)

    return draw


def show_section(title: str, *steps: Step, open: bool = False) -> Step:
    """Draw what steps yield under a heading, if they yield anything."""
    return lambda fields: _draw.section(_filled(title, fields.line), _nodes(fields, steps), open=open)


def show_each(path: str, *steps: Step) -> Step:
    """Draw each object in a list by steps that name its fields."""
    return lambda fields: (node for item in fields.objects(path) for node in _nodes(item, steps))


def show_table(path: str, **columns: str) -> Step:
    """Draw the objects in a list as the rows of a table, with these fields of each."""

    def draw(fields: Fields) -> Iterator[Node]:
        rows = [[item.text(field) for field in columns.values()] for item in fields.objects(path)]
        if rows:
            yield Table(columns=list(columns), rows=rows)

    return draw


def show_result(message: str = "") -> Step:
    """Draw how the call ended: in the words of a template if it yields any, else with the content of the result."""
    return lambda fields: _draw.plain_result(fields.call, fields.filled(message))


def show_outcome(message: str = "") -> Step:
    """Draw how the call ended, in the words of a template if it yields any."""
    return lambda fields: _draw.outcome_message(fields.call, fields.filled(message))


def show_outcome_or_result(path: str = "result") -> Step:
    """Draw how the call ended, with the content of the result if nothing is at a path, else without it."""
    return lambda fields: generic.outcome_note(fields.call) if fields.value(path) else _draw.plain_result(fields.call)


def show_unfinished(fields: Fields) -> Iterator[Node]:
    """Draw how the call ended if it did not run to its end."""
    return _draw.unfinished_note(fields.call)


def if_answered(*steps: Step, done: bool = True, other: Sequence[Step] = ()) -> Step:
    """Draw a result with fields by steps, with `done` if the call succeeded; else by `other` steps and its content."""

    def draw(fields: Fields) -> Iterator[Node]:
        is_shown = fields.result is not None and (not done or fields.call.outcome.state == DONE)
        return _nodes(fields, steps if is_shown else (*other, show_result()))

    return draw
