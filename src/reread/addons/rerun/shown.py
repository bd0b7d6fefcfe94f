"""Files that a session shows without changing them: pictures, notebooks, skills, what a search found."""

from __future__ import annotations

import base64
import binascii
import posixpath
import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from reread.addons.rerun.aside import absolute
from reread.base import jsontext
from reread.base.coerce import as_dict, as_int, as_list, as_str

if TYPE_CHECKING:
    from reread.model.conversation import Call, Conversation
    from reread.session.session import Session

Object = dict[str, Any]
MOST_FOUND = 5000
"""Files that are there because a search found them."""
LAST_LINE = 100_000
FOUND = re.compile(r"^([^\n]{1,4096}?)([:-])(\d{1,6})\2([^\n]*)", re.MULTILINE)
SKILL = re.compile(r"Base directory for this skill: (/[^\n]+/\.claude/skills/[\w.-]{1,64})\n\n")
COMMAND = re.compile(r"<command-name>/?([\w.-]{1,64}(?::[\w.-]{1,64}){0,4})</command-name>")
GIVEN = re.compile(r"<command-args>((?:(?!<command-args>).)*?)</command-args>", re.DOTALL)
ADDED = re.compile(r"\n\nARGUMENTS: [^\n]*\Z")
"""What the client adds to a skill that does not say where its arguments belong."""
OWN_COMMANDS = (
    *("init", "review", "security-review", "pr-comments", "statusline", "insights", "loop", "simplify", "code-review"),
    *("debug", "batch", "claude-api", "run", "dataviz", "update-config", "keybindings-help", "schedule", "commit"),
    *("fewer-permission-prompts", "workflow-authoring", "plugin-authoring"),
)
"""Commands of the client itself that are texts for the model."""


def shown_files(session: Session, folder: str) -> Iterator[tuple[str, bytes]]:
    """Yield the path of each file and what is known of it."""
    calls = [call for conversation in _conversations(session) for call in conversation.calls]
    for call in calls:
        path = as_str(as_dict(call.input).get("file_path"))
        if call.name == "Read" and path is not None:
            data = _read(as_dict(call.data))
            if data is not None:
                yield absolute(path, folder), data
    for path, text in _skills(session, folder):
        yield path, text.encode("utf-8", "replace")
    yield from islice(_found(calls, folder), MOST_FOUND)


def _conversations(session: Session) -> Iterator[Conversation]:
    yield session.conversation
    yield from session.agents.values()


def _read(data: Object) -> bytes | None:
    """Return the bytes of a picture, a document or a notebook that was read."""
    file = as_dict(data.get("file"))
    if data.get("type") == "notebook":
        return _notebook([as_dict(cell) for cell in as_list(file.get("cells"))])
    coded = as_str(file.get("base64"))
    if not coded or data.get("type") not in ("image", "pdf"):
        return None
    try:
        return base64.b64decode(coded, validate=True)
    except (binascii.Error, ValueError):
        return None


def _notebook(cells: list[Object]) -> bytes:
    made: list[Object] = []
    for cell in cells:
        kind = as_str(cell.get("cellType")) or "code"
        one: Object = {"cell_type": kind, "id": cell.get("cell_id"), "metadata": {}, "source": cell.get("source")}
        if kind == "code":
            outputs = [{"name": "stdout", **as_dict(output)} for output in as_list(cell.get("outputs"))]
            one |= {"execution_count": as_int(cell.get("execution_count")), "outputs": outputs}
        made.append(one)
    language = next((name for cell in cells if (name := as_str(cell.get("language")))), "python")
    whole = {"cells": made, "metadata": {"language_info": {"name": language}}, "nbformat": 4, "nbformat_minor": 5}
    return jsontext.dumps(whole)


def _skills(session: Session, folder: str) -> Iterator[tuple[str, str]]:
    """Yield the skills and commands that were used, from what the client told the model of them."""
    about = _abouts(session)
    for conversation in _conversations(session):
        typed = ("", "")
        for record in conversation.records:
            if record.type != "user":
                continue
            native = record.native
            text = _first_text(as_dict(native.get("message")).get("content"))
            if not native.get("isMeta"):
                named, given = COMMAND.search(text), GIVEN.search(text)
                typed = (named[1] if named is not None else "", given[1] if given is not None else "")
                continue
            skill = SKILL.match(text)
            name, words = typed
            if skill is not None:
                name = posixpath.basename(skill[1])
                forked = conversation is not session.conversation and not native.get("sourceToolUseID")
                more = "context: fork\n" if forked else ""
                yield f"{skill[1]}/SKILL.md", _markdown(name, about, text[skill.end() :], words, more)
            elif name and name not in OWN_COMMANDS and not text.startswith("<"):
                path = f"{folder}/.claude/commands/{name.replace(':', '/')}.md"
                yield path, _markdown(name, about, text, words)
            typed = ("", "")


def _abouts(session: Session) -> dict[str, str]:
    """Return what the model was told of each skill."""
    found: dict[str, str] = {}
    for record in session.records:
        if record.type == "attachment" and b'"skill_listing"' in record.body:
            for line in (as_str(as_dict(record.native.get("attachment")).get("content")) or "").splitlines():
                name, colon, about = line.removeprefix("- ").partition(": ")
                if colon:
                    found.setdefault(name, about)
    return found


def _first_text(content: object) -> str:
    if isinstance(content, str):
        return content
    return next((text for block in as_list(content) if (text := as_str(as_dict(block).get("text")))), "")


def _markdown(name: str, about: dict[str, str], text: str, words: str, more: str = "") -> str:
    body = ADDED.sub("", text)
    body = body.replace(words, "$ARGUMENTS") if words and body == text else body
    said = jsontext.dumps(about.get(name, name)).decode()
    return f"---\ndescription: {said}\n{more}---\n\n{body.lstrip()}"


def _found(calls: list[Call], folder: str) -> Iterator[tuple[str, bytes]]:
    """Yield the files that searches named, with the lines that they showed."""
    lines: dict[str, dict[int, str]] = {}
    for call in calls:
        data = as_dict(call.data)
        if call.name == "Glob":
            for path in as_list(data.get("filenames")):
                if isinstance(path, str):
                    lines.setdefault(absolute(path, folder), {})
        elif call.name == "Grep" and data.get("mode") == "content":
            for match in FOUND.finditer(as_str(data.get("content")) or ""):
                if int(match[3]) <= LAST_LINE:
                    lines.setdefault(absolute(match[1], folder), {})[int(match[3])] = match[4]
    for path, known in lines.items():
        last = max(known, default=0)
        yield path, "".join(f"{known.get(number, '')}\n" for number in range(1, last + 1)).encode("utf-8", "replace")
