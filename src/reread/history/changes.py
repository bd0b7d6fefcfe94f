"""The change that a call made to a file, as its input and its result state it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from reread.base.choices import DONE
from reread.base.coerce import as_dict, as_list, as_str
from reread.base.paths import path_name
from reread.base.text import short_cache
from reread.history.file_text import BOM, CRLF, UTF8, UTF16, FileText, normalized_text
from reread.history.patches import PatchHunk, fits, hunks_of, line_counts
from reread.model.bodies import written_blocks
from reread.model.conversation import Call
from reread.tools._diff import MAX_REPEATED

EDIT, MULTI_EDIT, WRITE = "Edit", "MultiEdit", "Write"
NOTEBOOKS = ("NotebookEdit", "NotebookEditCell")
CHANGING = frozenset({EDIT, MULTI_EDIT, WRITE, *NOTEBOOKS})
"""The tools that change a file."""
CREATE, CHANGE, REWRITE = "create", "edit", "write"
PATHS = ("filePath", "notebook_path", "file_path", "path")
KEEPS_ENDINGS = (2, 1, 220)
"""Before this version, Write gave a file the line ends that it or other files of the project had."""
MODIFIED = "modified your proposed"
"""The text of a result if the user changed the proposal."""
_TRAILING = re.compile(r"[^\S\n](?=\n|$)")
DOUBLE = ("\u201c", "\u201d")
SINGLE = ("\u2018", "\u2019")
OPENERS = " \t\n\r([{\u2014\u2013"
"""A quote after one of these, or at the beginning, is an opening one."""
UNPLAIN = re.compile(r"[*?\[\]{}$;|<>()~!#`\n\\]|(?<!&)&(?!&)|&&&")
"""Characters that make a command more than words: patterns, variables, pipes, other commands."""
RENAME, DELETE = "rename", "delete"
LONGEST = 4000
_WORDS = re.compile(r"[\w.-]+")


class TextEdit(NamedTuple):
    """A text, and what replaces it."""

    old: str
    new: str
    every: bool = False
    quoted: str | None = None
    """The same with typographic quotes, which newer clients write if they found such quotes."""


class FileChange(NamedTuple):
    """The change that a call made to a file."""

    path: str
    action: str
    """create, edit or write."""
    original: str | None
    """The text before, if the result states it."""
    content: str | None
    """The text after, if the call states it."""
    edits: tuple[TextEdit, ...] | None
    """The replacements, if these are what was done; None if they may not be what was done."""
    hunks: list[PatchHunk]
    counts: tuple[int, int]
    stale: bool
    """True if the file had changed since the model saw it."""
    digest: str | None
    keeps_endings: bool
    """True if line ends are written as they are in `content`."""

    def apply(self, before: FileText | None) -> FileText | None:
        """Return the file after the change; None if it is not known for certain."""
        if self.content is not None:
            return self._written(before)
        if before is None or self.edits is None:
            return None
        after = self._edited(before.text)
        if after is None or (self.digest is not None and _sha256(after) != self.digest):
            return None
        if not self.edits[0].old and not before.text:  # a new file
            return FileText(after, after)
        return before.edited(after)

    def repeated(self, before: FileText | None, after: FileText | None) -> int:
        """Return how many characters the file has more than before and than the replacements state."""
        if before is None or after is None or self.edits is None:
            return 0
        return max(0, len(after.text) - len(before.text) - sum(len(edit.new) for edit in self.edits))

    def _edited(self, before: str) -> str | None:
        """Return the text after the replacements; None if the recorded patch says otherwise, or there is doubt."""
        edits = self.edits or ()
        quoted = tuple(edit if edit.quoted is None else edit._replace(new=edit.quoted) for edit in edits)
        if quoted != edits and not self.hunks:
            return None
        for choice in dict.fromkeys((quoted, edits)):
            after = _replaced(before, choice)
            if after is not None and (not self.hunks or fits(self.hunks, before, after)):
                return after
        return None

    def _written(self, before: FileText | None) -> FileText | None:
        """Return the file after its whole content was written."""
        content = self.content or ""
        if self.action == CHANGE:  # a notebook keeps its encoding and line ends
            return before.edited(content.removeprefix(BOM)) if before is not None else FileText.stated(content)
        if not self.keeps_endings and "\n" in content:
            if CRLF in content:
                return None
            known = before is not None and before.written is not None and self.original is not None
            return before.edited(content) if before is not None and known else FileText(content)
        text = normalized_text(content)
        if self.action == REWRITE and (before is None or before.written is None):
            marked = self.original is None or self.original.startswith(BOM)
            return FileText(text) if marked else FileText(text, content)
        return FileText(text, content, before.encoding if before is not None and before.encoding == UTF16 else UTF8)


def _replaced(text: str, edits: tuple[TextEdit, ...]) -> str | None:
    """Return a text with the replacements made as the client makes them; None if one does not apply."""
    repeated = 0
    for edit in edits:
        if not edit.old:
            if text.strip():
                return None
            text = edit.new
            continue
        old = edit.old
        if not edit.new and not old.endswith("\n") and f"{old}\n" in text:
            old += "\n"  # a deleted line takes its line end along
        times = text.count(old)
        repeated += (times - 1) * max(0, len(edit.new) - len(old)) if edit.every else 0
        if not times or repeated > MAX_REPEATED:
            return None
        text = text.replace(old, edit.new, -1 if edit.every else 1)
    return text


def _sha256(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def use_of(call: Call) -> dict[str, Any]:
    """Return a call's input as written."""
    blocks = written_blocks(call.bodies.native(call.use))
    return as_dict(as_dict(blocks[call.place]).get("input")) if call.place < len(blocks) else {}


def result_of(call: Call) -> dict[str, Any]:
    """Return a call's structured result as written, empty if it has none."""
    native = call.bodies.native(call.answer)
    if len(written_blocks(native)) == 1 and not call.by_position and call.answer != call.use:
        return as_dict(native.get("toolUseResult"))
    return as_dict(call.data)


def given_paths(given: dict[str, Any]) -> list[str]:
    """Return the paths that an input names."""
    return [path for name in PATHS if (path := as_str(given.get(name)))]


def call_change(call: Call, given: dict[str, Any] | None = None) -> FileChange | None:
    """Return what a call did to a file; None if it failed or changed none."""
    if call.answer < 0 or call.is_error or call.denied:
        return None
    data = result_of(call)
    if not data and call.state != DONE:
        return None
    given = use_of(call) if given is None else given
    path = next((text for name in PATHS if (text := as_str(data.get(name)) or as_str(given.get(name)))), None)
    if path is None or data.get("staged") is True or data.get("error"):
        return None
    if call.name in NOTEBOOKS:
        return _notebook(path, data)
    native = call.bodies.native(call.answer)
    doubtful = not data and MODIFIED in call.tool_call.text
    if call.name == WRITE:
        return _write(path, given, data, doubtful, keeps_endings(as_str(native.get("version"))))
    return _edit(path, call.name == MULTI_EDIT, given, data, doubtful)


def keeps_endings(version: str | None) -> bool:
    """True if a version of the client writes line ends as they are given."""
    numbers = [int(part) for part in (version or "").split(".")[:3] if part.isascii() and part.isdigit()]
    return tuple(numbers) >= KEEPS_ENDINGS


def _notebook(path: str, data: dict[str, Any]) -> FileChange:
    original, updated = as_str(data.get("original_file")) or None, as_str(data.get("updated_file")) or None
    old, new = as_str(data.get("old_source")) or "", as_str(data.get("new_source")) or ""
    counts = (new.count("\n") + bool(new), old.count("\n") + bool(old))
    return FileChange(path, CHANGE, original, updated, None, [], counts, False, None, True)


def _write(path: str, given: dict[str, Any], data: dict[str, Any], doubtful: bool, keeps: bool) -> FileChange:
    content, asked, patch = as_str(data.get("content")), as_str(given.get("content")), data.get("structuredPatch")
    if not content and asked:  # what a result repeats may have been left out
        content = None if data.get("userModified") is True or doubtful else asked
    created = data.get("type") == "create"
    original = as_str(data.get("originalFile"))
    hunks = hunks_of(patch)
    counts = line_counts(patch) if hunks else (_line_count(content), 0)
    action = CREATE if created else REWRITE
    return FileChange(path, action, original, content, None, hunks, counts, False, None, keeps)


def _edit(path: str, multi: bool, given: dict[str, Any], data: dict[str, Any], doubtful: bool) -> FileChange:
    edits = _replacements(path, multi, given, data)
    hunks = hunks_of(data.get("structuredPatch"))
    original = as_str(data.get("originalFile"))
    if original is None:
        original = as_str(data.get("originalFileContents"))
    starts_empty = bool(edits) and not edits[0].old
    if not original and not starts_empty:
        original = None  # an empty text is what is left of one that was too long to keep
    counts = line_counts(data.get("structuredPatch")) if hunks else _edit_counts(edits)
    stale = data.get("staleRecovered") is True or data.get("contentNotInModelContext") is True
    certain = edits if edits and not doubtful and not (data.get("userModified") is True and not hunks) else None
    digest = as_str(data.get("updatedFileSha256"))
    action = CREATE if starts_empty else CHANGE
    return FileChange(path, action, original, None, certain, hunks, counts, stale, digest, True)


def _replacements(path: str, multi: bool, given: dict[str, Any], data: dict[str, Any]) -> tuple[TextEdit, ...]:
    """Return the replacements as made; if the result does not say, as requested, unless the client alters those."""
    if multi:
        asked = [as_dict(edit) for edit in as_list(data.get("edits")) or as_list(given.get("edits"))]
        wanted = [as_dict(edit) for edit in as_list(given.get("edits"))]
        every = [edit.get("replace_all") is True for edit in (wanted if len(wanted) == len(asked) else asked)]
        texts = [(as_str(edit.get("old_string")), as_str(edit.get("new_string"))) for edit in asked]
        return tuple(TextEdit(old or "", new or "", all) for (old, new), all in zip(texts, every, strict=True))
    old, new = as_str(data.get("oldString")), as_str(data.get("appliedNewString")) or as_str(data.get("newString"))
    every = data.get("replaceAll") is True or given.get("replace_all") is True
    if old is None or new is None:
        old, new = as_str(given.get("old_string")), as_str(given.get("new_string"))
        if old is None or new is None or (_TRAILING.search(new) and not path.lower().endswith((".md", ".mdx"))):
            return ()
    quoted = with_quotes_of(as_str(given.get("old_string")) or old, old, new)
    return (TextEdit(old, new, every, quoted if quoted != new else None),)


def _edit_counts(edits: tuple[TextEdit, ...]) -> tuple[int, int]:
    return sum(_line_count(edit.new) for edit in edits), sum(_line_count(edit.old) for edit in edits)


def _line_count(text: str | None) -> int:
    return (text or "").count("\n") + (not (text or "\n").endswith("\n"))


def with_quotes_of(asked: str, found: str, new: str) -> str:
    """Return a replacement with typographic quotes, if the found text has them and the one asked for has not."""
    if asked == found:
        return new
    if any(quote in found for quote in DOUBLE):
        new = "".join(_double(new, place) if char == '"' else char for place, char in enumerate(new))
    if any(quote in found for quote in SINGLE):
        new = "".join(_single(new, place) if char == "'" else char for place, char in enumerate(new))
    return new


def _opens(text: str, place: int) -> bool:
    return place == 0 or text[place - 1] in OPENERS


def _double(text: str, place: int) -> str:
    return DOUBLE[0] if _opens(text, place) else DOUBLE[1]


def _single(text: str, place: int) -> str:
    inside = 0 < place < len(text) - 1 and text[place - 1].isalpha() and text[place + 1].isalpha()
    return SINGLE[0] if not inside and _opens(text, place) else SINGLE[1]


class ShellAction(NamedTuple):
    """A path that a command renamed or deleted, as it is written."""

    kind: str
    path: str
    target: str | None = None


@short_cache(4096)
def shell_actions(command: str) -> Sequence[ShellAction]:
    """Return what a command that succeeded did to paths; empty unless every part of it is plain."""
    if len(command) > LONGEST or not command.lstrip().startswith(("mv ", "rm ", "git ")) or UNPLAIN.search(command):
        return []
    found: list[ShellAction] = []
    for part in command.split("&&"):
        try:
            words = shlex.split(part)
        except ValueError:  # a quote without an end, or && inside quotes
            return []
        actions = _actions(words)
        if not actions:
            return []
        found += actions
    return found


def _actions(words: list[str]) -> list[ShellAction]:
    if words[:1] == ["git"]:
        words = words[1:]
    name, *rest = words or [""]
    options = [word for word in rest if word.startswith("-")]
    paths = [word for word in rest if not word.startswith("-")]
    if name == "rm" and all(set(word) <= set("-rfRv") for word in options):
        return [ShellAction(DELETE, path) for path in paths]
    if name == "mv" and len(paths) == 2 and all(set(word) <= set("-fv") for word in options):
        source, target = paths
        inside = target.endswith("/")
        return [ShellAction(RENAME, source, f"{target}{path_name(source)}" if inside else target)]
    return []


def named_words(text: str) -> set[str]:
    """Return the words of a command that can be names of files."""
    return set(_WORDS.findall(text))


def name_word(path: str) -> str:
    """Return the longest word in the name of a file: what a command that names the file has among its words."""
    return max(_WORDS.findall(path_name(path)), key=len, default="")
