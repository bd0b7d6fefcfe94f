"""Commands to copy, quoted for a shell."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence

from reread.errors import Misuse

_CMD_SPECIAL = re.compile(r'[()%!^"<>&|]')
_PRINTABLE = re.compile(r"[ -~]|[^\W_]")
"""Characters that stand for themselves between quotes: ASCII, and the letters and digits of any script."""


def quote_command(argv: Sequence[str], cwd: str | None = None, *, windows: bool = os.name == "nt") -> str:
    """Quote a command, with a change to its folder, for a POSIX shell or for `cmd`; the text is safe to print."""
    quote = _quote_for_cmd if windows else _quote_for_shell
    command = quote(argv)
    if cwd is None:
        return command
    folder = f"./{cwd}" if cwd.startswith("-") else cwd  # `cd -` goes elsewhere
    return f"{'cd /d' if windows else 'cd'} {quote([folder])} && {command}"


def _quote_for_shell(words: Sequence[str]) -> str:
    """Quote words; characters that could act on a terminal are written as escapes."""
    return " ".join(shlex.quote(word) if _is_printable(word) else _escaped(word) for word in words)


def _escaped(word: str) -> str:
    """Quote a word as bash, zsh and ksh read it, with everything unusual as bytes."""
    pieces = (
        f"\\{character}"
        if character in "\\'"
        else character
        if _PRINTABLE.fullmatch(character)
        else "".join(f"\\x{byte:02x}" for byte in os.fsencode(character))
        for character in word
    )
    return f"$'{_apart(list(pieces))}'"


def _apart(pieces: Sequence[str]) -> str:
    """Join pieces; a byte before a hexadecimal digit ends its quotes, as ksh would read on."""
    out: list[str] = []
    for piece in pieces:
        if out and out[-1].startswith("\\x") and piece[0] in "0123456789abcdefABCDEF":
            out.append("'$'")
        out.append(piece)
    return "".join(out)


def _is_printable(word: str) -> bool:
    return all(_PRINTABLE.fullmatch(character) for character in word)


def _quote_for_cmd(words: Sequence[str]) -> str:
    """Quote for the program, then escape for `cmd`, which interprets its special characters even between quotes."""
    for word in words:
        if not word.isprintable():
            raise Misuse(f"Cannot write {word!r} as a command for cmd; it contains characters that cannot be quoted.")
    from subprocess import list2cmdline  # loaded late: only Windows has cmd

    return _CMD_SPECIAL.sub(r"^\g<0>", list2cmdline(words))
