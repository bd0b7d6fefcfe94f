"""What shell commands do, as far as their words tell: the program, runs of tests, and what is undone."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from itertools import dropwhile

from reread.base.choices import DONE, FAILED
from reread.base.coerce import as_dict, as_str
from reread.base.text import cut_words, one_line
from reread.history.line_trace import line_numbers
from reread.model.conversation import Call
from reread.tools.bash import is_left_running

LONGEST_SHOWN = 100
"""Characters of a command that are shown."""
LONGEST_SCANNED = 2000
"""Of a longer command, the rest cannot be part of what is shown."""
_UNDOES = re.compile(r"\bgit (?:checkout|restore|reset|revert|stash|clean)\b")
_RUNNERS = frozenset("pytest unittest tox nox jest vitest mocha rspec phpunit ctest".split())
"""Programs that run tests."""
_TASK_RUNNERS = frozenset(
    "npm pnpm yarn bun cargo go deno dotnet mix swift gradle gradlew mvn make just task rake rails zig"
    " playwright".split()
)
"""Programs that run tests if that is what they are told."""
_LAUNCHERS = frozenset("-m run exec sudo time npx uv poetry pdm hatch bundle".split())
"""Words after which the name of another program follows."""
_UNJOINED = re.compile(r"""\\.|'[^']*'|"(?:[^"\\]|\\.)*"|(?:(?<!\d)\d+)?[<>]&\d*|&>""", re.DOTALL)
"""What joins no commands, although it may have the signs that do: escaped signs, texts in quotes, and redirections.

An escaped quote begins no text: otherwise each of many would be searched for an end that may not come."""
_JOINT = re.compile(r"(&&|[;&|()\n])")


def shell_command(call: Call) -> str:
    """Return the command of a call of a shell; an empty text for any other call."""
    return (as_str(as_dict(call.input).get("command")) or "") if call.name in SHELLS else ""


def undoing_command(command: str) -> str | None:
    """Return the beginning of a command if it puts files back to what git has."""
    return short_command(command) if _UNDOES.search(command[:LONGEST_SCANNED]) else None


def testing_command(call: Call) -> str | None:
    """Return the beginning of the command of a call if it ran tests."""
    command = as_str(as_dict(call.input).get("command"))
    if command is None or call.state not in (DONE, FAILED) or not runs_tests(command):
        return None
    return short_command(command)


def tests_passed(call: Call) -> bool | None:
    """Return whether the tests that a call ran passed; None if how its command ended does not tell.

    It does not if they run in the background, if something comes after them that runs either way, such as `| tail`, or
    if an error has no exit code: they may not have been run.
    """
    pieces = _pieces(as_str(as_dict(call.input).get("command")) or "")
    last = next((at for at in reversed(range(0, len(pieces), 2)) if _starts_tests(pieces[at])), None)
    if last is None or any(piece.endswith("$") for piece in pieces[:last]) or is_left_running(call.tool_call):
        return None
    if call.state == FAILED and call.outcome.exit_code is None:
        return None
    after = set(pieces[last + 1 :: 2]) - {")"}
    return call.state == DONE if not after or (after == {"&&"} and call.state == DONE) else None


def _pieces(command: str) -> list[str]:
    """Return the commands that a command has, and between each two what joins them; input in the text is left out."""
    joined = _UNJOINED.sub(" _ ", command.replace("\\\n", " "))
    return _JOINT.split(joined.partition("<<")[0].rstrip("; \n"))


def written_lines(call: Call) -> array[int]:
    """Return the numbers of the lines of a command of several lines, which may write them to a file."""
    command = shell_command(call)
    return line_numbers(command) if "\n" in command and call.ok is not False else array("Q")


def short_command(command: str) -> str:
    """Return the beginning of a command on one line."""
    return cut_words(one_line(command, LONGEST_SCANNED), LONGEST_SHOWN)


def runs_tests(command: str) -> bool:
    """True if one of the programs that a command starts runs tests."""
    return any(map(_starts_tests, _pieces(command)[::2]))


def _starts_tests(command: str) -> bool:
    words = [word.rpartition("/")[2] for word in command.split()]
    while words and "=" in words[0]:  # a variable that is set for the program
        del words[0]
    for number, word in enumerate(words):
        if number and words[number - 1] not in _LAUNCHERS:
            continue
        told = [after for after in words[number + 1 : number + 3] if after not in ("run", "build")]
        if word in _RUNNERS or (word in _TASK_RUNNERS and told and told[0].startswith("test")):
            return True
    return False


SHELLS = ("Bash", "PowerShell")
_WORD = re.compile(r"[a-z][\w:.-]*", re.IGNORECASE)


def signature(command: object) -> str | None:
    """Return the program that a shell command runs and what it is told to do: `npm test`, `uv run ruff check`."""
    if not isinstance(command, str):
        return None
    joined = command[:LONGEST_COMMAND].replace("\\\n", " ")
    parts = (part.split() for part in re.split(r"&&|\|\||[;|()\n]", joined))
    parts = (list(dropwhile(GRAMMAR.__contains__, part)) for part in parts if not part or not part[0].startswith("#"))
    runs = [[word for word in part if not ("=" in word and word.split("=")[0].isidentifier())] for part in parts]
    for words in (*(run for run in runs if run and run[0] not in BEFORE_COMMANDS), *runs):
        if words:
            return " ".join(_naming_words(words[:MOST_WORDS]))[:LONGEST_SIGNATURE]
    return None


def _naming_words(words: Sequence[str]) -> list[str]:
    """Return the program of a command and what it is told to do; if that is to run another command, that one's, too."""
    program, rest = words[0].rpartition("/")[2] or words[0], list(words[1:])
    if program in PREFIXES and (inner := _without_options(rest, also=_AMOUNT)):
        return _naming_words(inner)
    if program.startswith("python") and "-m" in rest and all(word.startswith("-") for word in rest[: rest.index("-m")]):
        return [program, *rest[rest.index("-m") :][:2]]
    if program in DRIVERS or program in LAUNCHERS:
        rest = _without_options(rest)
    if program in LAUNCHERS:
        return [program, *(_naming_words(rest) if rest else [])]
    told = rest[:1] if rest and _WORD.fullmatch(rest[0]) and "." not in rest[0] else []
    if program in DRIVERS and told and told[0] in RUNS and (inner := _without_options(rest[1:])):
        return [program, *told, *_naming_words(inner)]
    return [program, *told]


def _without_options(words: Sequence[str], also: re.Pattern[str] | None = None) -> list[str]:
    """Return words from the first on that is no option, nor the value of one."""
    start = 0
    while start < len(words) and (words[start].startswith("-") or (also is not None and also.fullmatch(words[start]))):
        start += 2 if words[start] in VALUED else 1
    return list(words[start:])


LONGEST_COMMAND, LONGEST_SIGNATURE, MOST_WORDS = 2000, 60, 24
PREFIXES = frozenset({"command", "env", "nice", "nohup", "sudo", "time", "timeout"})
"""Programs that run the command that follows, and say nothing about it."""
_AMOUNT = re.compile(r"[\d.]+[smhd]?")
LAUNCHERS = frozenset({"bunx", "npx", "pnpx", "uvx"})
DRIVERS = frozenset(
    "bun cargo deno docker gh git go hatch just make npm pdm pipenv pixi pnpm podman poetry rye task uv yarn".split()
)
"""Programs that are told by a word what to do, after options of their own."""
RUNS = frozenset({"compose", "dlx", "exec", "issue", "pr", "run", "run-script", "task", "tool", "workspace", "x"})
"""Words after which it is the next one that tells."""
VALUED = frozenset(
    "-C -F -c -f -p -u -w --cwd --dir --directory --env-file --extra --file --filter --git-dir --group --manifest-path"
    " --package --prefix --project --python --with --workspace".split()
)
"""Options of all these that have a value as the next word."""
GRAMMAR = frozenset("! do elif else if then until while {".split())
"""Words of the shell after which a command follows."""
BEFORE_COMMANDS = frozenset(". case cd done echo esac exit export fi for mkdir set sleep source true }".split())
"""What is run before the command that matters."""
