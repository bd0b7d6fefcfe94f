"""Changes to files: from the patch that the client wrote, or computed where it wrote none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct

from reread.base.coerce import as_list
from reread.tools._values import each, number, words
from reread.tools.nodes import Code, Diff, Hunk, Node, Note

CONTEXT = 3
"""How many unchanged lines stand around a change."""
LARGE = 250_000
"""How many pairs of lines are worth comparing; beyond that all old lines go and all new ones come."""
LONGEST = 10**7
"""How many characters replacements may add; no file that a person edits grows by more."""
NO_NEWLINE = "\\"
"""How the patch line begins that says that a file has no line end at its end."""

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
"""What highlighters call a language, and how its files' names end."""
_ENDINGS = {ending: name for name, endings in LANGUAGES.items() for ending in endings.split()}


class Patch(Struct, kw_only=True):
    """A hunk as the client writes it."""

    oldStart: int = 1
    oldLines: int | None = None
    newStart: int = 1
    newLines: int | None = None
    lines: list[str] = []


class Edit(Struct, kw_only=True):
    """A text and what replaces it."""

    old_string: str = ""
    new_string: str = ""
    replace_all: bool | None = None


def line_number(value: object) -> int | None:
    """A number that a line may have; None for anything else."""
    known = number(value)
    return known if isinstance(known, int) and known >= 0 else None


def language(path: str) -> str | None:
    """What a file is written in, by its name."""
    name = PurePosixPath(path.replace("\\", "/").lower()).name
    return _ENDINGS.get(name.rpartition(".")[2])


def patched(patch: Any) -> list[Hunk]:
    """The hunks of the client's own patch."""
    return [
        Hunk(
            old_start=line_number(part.oldStart) or 0,
            new_start=line_number(part.newStart) or 0,
            lines=[_marked(line) for line in _strings(part) if not line.startswith(NO_NEWLINE)],
        )
        for part in each(patch, Patch)
        if _strings(part)
    ]


def remarks(patch: Any) -> Iterator[Node]:
    """What a patch says besides its lines."""
    lines = (line for part in each(patch, Patch) for line in _strings(part))
    yield from (Note(text=line) for line in sorted({line for line in lines if line.startswith(NO_NEWLINE)}))


def between(old: str, new: str, *, start: int = 1) -> list[Hunk]:
    """The hunks that lead from one text to another; the first line of both has the number `start`."""
    a, b = _lines(old), _lines(new)
    head = _alike(zip(a, b, strict=False))
    shorter = min(len(a), len(b)) - head
    tail = min(_alike(zip(reversed(a), reversed(b), strict=False)), shorter)
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


def applied(original: str, edits: Iterable[Edit]) -> str | None:
    """A file after edits; None where one of them does not fit it."""
    for edit in edits:
        old, new = words(edit.old_string), words(edit.new_string)
        times = original.count(old) if old else 0
        if not times or times * len(new) > LONGEST:
            return None
        original = original.replace(old, new, times if edit.replace_all is True else 1)
    return original


def tally(hunks: Iterable[Hunk]) -> str:
    """How many lines came and went: `+4 −2`."""
    lines = [line for hunk in hunks for line in hunk.lines]
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    return f"+{added} −{removed}" if lines else ""


def changed(path: str, hunks: list[Hunk]) -> Iterator[Node]:
    """The change as a node, where there is one."""
    if hunks:
        yield Diff(path=path or None, hunks=hunks)


def source(content: str, path: str, *, start: int | None = 1) -> Code:
    """The text of a file."""
    return Code(text=content, language=language(path), path=path or None, start=start)


def _strings(part: Patch) -> list[str]:
    return [line for line in as_list(part.lines) if isinstance(line, str)]


def _marked(line: str) -> str:
    return line if line.startswith((" ", "-", "+")) else f" {line}"


def _lines(content: str) -> list[str]:
    lines = content.split("\n")
    return lines[:-1] if not lines[-1] else lines


def _alike(pairs: Iterable[tuple[str, str]]) -> int:
    """How many pairs from the first on are of equals."""
    n = 0
    for one, other in pairs:
        if one != other:
            break
        n += 1
    return n


def _groups(a: list[str], b: list[str]) -> Iterable[Sequence[tuple[str, int, int, int, int]]]:
    if len(a) * len(b) > LARGE:
        return [[("replace", 0, len(a), 0, len(b))]]
    return SequenceMatcher(None, a, b, autojunk=False).get_grouped_opcodes(CONTEXT)
