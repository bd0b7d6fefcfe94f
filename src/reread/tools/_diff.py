"""Diffs: from the patch that the client recorded, or computed from the old and the new text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import PurePosixPath
from typing import Any

from reread.base.alignment import equal_ends
from reread.base.coerce import as_list
from reread.base.format import as_number
from reread.base.structs import FrozenStruct
from reread.base.text import as_text
from reread.tools._values import list_of
from reread.tools.nodes import Code, Diff, Hunk, Node, Note

CONTEXT = 3
"""Unchanged lines shown around a change."""
MAX_PAIRS = 250_000
"""Pairs of lines that are still compared; a larger diff replaces all old lines with all new ones."""
MAX_REPEATED = 1 << 20
"""Characters that replacements everywhere in a text may add beyond those that they state: a file that doubles with each
edit would soon be larger than memory."""
NO_NEWLINE = "\\"
"""First character of the patch line `\\ No newline at end of file`."""

LANGUAGES = {
    "bash": "bash sh zsh bashrc zshrc profile",
    "c": "c h",
    "clojure": "clj cljs edn",
    "cpp": "cc cpp cxx hh hpp hxx",
    "csharp": "cs",
    "css": "css",
    "dart": "dart",
    "diff": "diff patch",
    "dockerfile": "dockerfile containerfile",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "fsharp": "fs fsx",
    "go": "go",
    "graphql": "graphql gql",
    "groovy": "gradle groovy",
    "haskell": "hs",
    "html": "html htm xhtml",
    "ini": "ini cfg conf editorconfig gitconfig",
    "java": "java",
    "javascript": "js cjs mjs",
    "json": "json jsonc jsonl ipynb webmanifest",
    "julia": "jl",
    "jsx": "jsx",
    "kotlin": "kt kts",
    "less": "less",
    "lua": "lua",
    "makefile": "makefile mk",
    "markdown": "md markdown mdx",
    "nix": "nix",
    "ocaml": "ml mli",
    "perl": "pl pm",
    "php": "php",
    "powershell": "ps1 psm1",
    "protobuf": "proto",
    "python": "py pyi pyw",
    "r": "r",
    "ruby": "rb gemfile rakefile",
    "rust": "rs",
    "scala": "scala sbt",
    "scss": "scss sass",
    "sql": "sql",
    "svelte": "svelte",
    "swift": "swift",
    "terraform": "tf tfvars hcl",
    "toml": "toml lock",
    "tsx": "tsx",
    "typescript": "ts cts mts",
    "vue": "vue",
    "xml": "xml svg xsd xsl plist",
    "yaml": "yaml yml",
    "zig": "zig",
}
"""The name that highlighters know a language by, and its file extensions."""
_LANGUAGE_OF = {extension: name for name, known in LANGUAGES.items() for extension in known.split()}


class Patch(FrozenStruct):
    """A hunk as the client records it."""

    oldStart: int = 1
    oldLines: int | None = None
    newStart: int = 1
    newLines: int | None = None
    lines: list[str] = []


class Edit(FrozenStruct):
    """A text and its replacement."""

    old_string: str = ""
    new_string: str = ""
    replace_all: bool | None = None


def line_number(value: object) -> int | None:
    """Return the value if it can be a line number, else None."""
    number = as_number(value)
    return number if isinstance(number, int) and number >= 0 else None


def language_of(path: str) -> str | None:
    """Return the language of a file by its name; None if unknown."""
    name = PurePosixPath(path.replace("\\", "/").lower()).name
    return _LANGUAGE_OF.get(name.rpartition(".")[2])


def patch_hunks(patch: Any) -> list[Hunk]:
    """Return the hunks of the client's own patch."""
    return [
        Hunk(
            old_start=line_number(part.oldStart) or 0,
            new_start=line_number(part.newStart) or 0,
            lines=[_with_prefix(line) for line in _strings(part) if not line.startswith(NO_NEWLINE)],
        )
        for part in list_of(patch, Patch)
        if _strings(part)
    ]


def patch_notes(patch: Any) -> Iterator[Node]:
    """Yield the remarks in a patch, such as a missing newline at the end of the file."""
    lines = (line for part in list_of(patch, Patch) for line in _strings(part))
    yield from (Note(text=line) for line in sorted({line for line in lines if line.startswith(NO_NEWLINE)}))


def compute_hunks(old: str, new: str, *, start: int = 1) -> list[Hunk]:
    """Compute the hunks between two texts whose first line has the number `start`."""
    a, b = _lines(old), _lines(new)
    head, tail = equal_ends(a, b)
    low, high = max(head - CONTEXT, 0), max(tail - CONTEXT, 0)
    a, b = a[low : len(a) - high], b[low : len(b) - high]
    hunks: list[Hunk] = []
    for group in _groups(a, b):
        rows: list[str] = []
        for tag, i1, i2, j1, j2 in group:
            rows += [f"{' ' if tag == 'equal' else '-'}{line}" for line in a[i1:i2]]
            rows += [f"+{line}" for line in b[j1:j2] if tag != "equal"]
        _, i, _, j, _ = group[0]
        hunks.append(Hunk(old_start=start + low + i, new_start=start + low + j, lines=rows))
    return hunks


def apply_edits(original: str, edits: Iterable[Edit]) -> str | None:
    """Apply edits to the text of a file; None if one of them does not match."""
    repeated = 0
    for edit in edits:
        old, new = as_text(edit.old_string), as_text(edit.new_string)
        times = original.count(old) if old else 0
        repeated += (times - 1) * max(0, len(new) - len(old)) if edit.replace_all is True else 0
        if not times or repeated > MAX_REPEATED:
            return None
        original = original.replace(old, new, times if edit.replace_all is True else 1)
    return original


def change_counts(hunks: Iterable[Hunk]) -> str:
    """Return the number of added and removed lines: `+4 −2`."""
    lines = [line for hunk in hunks for line in hunk.lines]
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    return f"+{added} −{removed}" if lines else ""


def diff_nodes(path: str, hunks: list[Hunk]) -> Iterator[Node]:
    """Yield a diff node, if there are hunks."""
    if hunks:
        yield Diff(path=path or None, hunks=hunks)


def code_node(content: str, path: str, *, start: int | None = 1) -> Code:
    """Return a node with the text of a file."""
    return Code(text=content, language=language_of(path), path=path or None, start=start)


def _strings(part: Patch) -> list[str]:
    return [line for line in as_list(part.lines) if isinstance(line, str)]


def _with_prefix(line: str) -> str:
    return line if line.startswith((" ", "-", "+")) else f" {line}"


def _lines(content: str) -> list[str]:
    lines = content.split("\n")
    return lines[:-1] if not lines[-1] else lines


def _groups(a: list[str], b: list[str]) -> Iterable[Sequence[tuple[str, int, int, int, int]]]:
    if len(a) * len(b) > MAX_PAIRS:
        return [[("replace", 0, len(a), 0, len(b))]]
    return SequenceMatcher(None, a, b, autojunk=False).get_grouped_opcodes(CONTEXT)
