"""Parse the command line of `claude` by the rules of the real program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from reread.base.paths import program_name

PROGRAMS = ("claude", "reread-claude")
STREAM_JSON = "stream-json"
SHORT_OPTIONS = {
    "-p": "--print",
    "-c": "--continue",
    "-r": "--resume",
    "-v": "--version",
    "-h": "--help",
    "-d": "--debug",
    "-n": "--name",
    "-w": "--worktree",
}
ONE_VALUE = frozenset(
    "--agent --agents --append-system-prompt --append-system-prompt-file --autocompact --debug-file --effort "
    "--environment --fallback-model --input-format --json-schema --max-budget-usd --max-thinking-tokens --max-turns "
    "--model --name --output-format --permission-mode --permission-prompt-tool --permission-prompts --plugin-dir "
    "--plugin-url --remote-control-session-name-prefix --resume-drops-turn --resume-session-at --session-id "
    "--setting-sources --settings --system-prompt --system-prompt-file --system-prompt-snapshot --task-budget "
    "--thinking --thinking-display".split()
)
"""Options that take one value."""
MANY_VALUES = frozenset(
    "--add-dir --allowedTools --allowed-tools --betas --disallowedTools --disallowed-tools --file --mcp-config "
    "--tools".split()
)
"""Options that take every argument up to the next option."""
OPTIONAL_VALUE = frozenset(
    "--cloud --debug --from-pr --prompt-suggestions --remote-control --resume --teleport --worktree".split()
)
"""Options whose value may be omitted."""

_PRINT = re.compile(r"--print|-[cv]*p[cv]*")


@dataclass(frozen=True, slots=True)
class Invocation:
    """The prompt and options of one call of `claude`."""

    prompt: str | None = None
    options: dict[str, str] = field(default_factory=dict[str, str])
    """Each long option with its last value; the value is empty for an option without one."""

    @property
    def output_format(self) -> str:
        """text, json or stream-json."""
        return self.options.get("--output-format", "text")

    @property
    def reads_messages(self) -> bool:
        """True if prompts come as JSON messages on standard input."""
        return self.options.get("--input-format") == STREAM_JSON

    @property
    def resumed_session(self) -> str | None:
        """The id or title of the session to resume."""
        return self.options.get("--resume") or None

    def has(self, option: str) -> bool:
        """True if the option was given."""
        return option in self.options


def parse_invocation(arguments: Sequence[str]) -> Invocation:
    """Parse the arguments of `claude`, without the program's own name."""
    words, options, positional = list(arguments), dict[str, str](), list[str]()
    while words:
        word = words.pop(0)
        if word == "--":
            positional += words
            break
        if not word.startswith("-") or word == "-":
            positional.append(word)
            continue
        name, has_value, value = word.partition("=")
        *flags, name = _long_names(name)
        options |= dict.fromkeys(flags, "")
        options[name] = value if has_value else _take_value(name, words)
    return Invocation(prompt=positional[0] if positional else None, options=options)


def find_invocation(argv: Sequence[str]) -> Invocation | None:
    """Parse the call of `claude` in a recorded command, which may start with other programs' names."""
    if not argv:
        return None
    at = next((n for n, word in enumerate(argv) if program_name(word) in PROGRAMS), 0)
    return parse_invocation(argv[at + 1 :])


def prompt_in_command(argv: Sequence[str]) -> str | None:
    """Return the prompt that a command gives to `claude`; None if there is none, or it runs another program."""
    invocation = find_invocation(argv) if any(program_name(word) in PROGRAMS for word in argv) else None
    return invocation.prompt if invocation is not None else None


def with_stream_json(argv: list[str]) -> list[str]:
    """Make `claude -p` print its messages, unless its arguments choose another output format."""
    if not argv or program_name(argv[0]) != "claude" or not any(_PRINT.fullmatch(word) for word in argv):
        return argv
    added: list[str] = []
    output_format = _option_value(argv, "--output-format")
    if output_format is None:
        added += ["--output-format", STREAM_JSON]
    if output_format in (None, STREAM_JSON) and "--verbose" not in argv:
        added.append("--verbose")
    return [argv[0], *added, *argv[1:]]


def takes_stream_json(argv: Sequence[str]) -> bool:
    """True if a command reads JSON messages on standard input."""
    return _option_value(argv, "--input-format") == STREAM_JSON


def wants_terminal(argv: Sequence[str]) -> bool:
    """True if a command is probably interactive: it does not print JSON messages."""
    return STREAM_JSON not in " ".join(with_stream_json(list(argv)))


def _option_value(argv: Sequence[str], name: str) -> str | None:
    """Return an option's value in the command line of any program."""
    for word, following in zip(argv, [*argv[1:], None], strict=True):
        if word == name:
            return following
        if word.startswith(f"{name}="):
            return word.removeprefix(f"{name}=")
    return None


def _long_names(name: str) -> list[str]:
    """Return the long names of an option; one word may combine several short ones."""
    if name.startswith("--"):
        return [name]
    return [SHORT_OPTIONS.get(f"-{letter}", f"-{letter}") for letter in name[1:]]


def _take_value(name: str, words: list[str]) -> str:
    """Remove the value of an option from the words that follow it."""
    if name in ONE_VALUE:
        return words.pop(0) if words else ""
    values: list[str] = []
    while name in MANY_VALUES | OPTIONAL_VALUE and words and not words[0].startswith("-"):
        values.append(words.pop(0))
        if name in OPTIONAL_VALUE:
            break
    return " ".join(values)
