"""How `claude` was called: its arguments, read by the rules of the real program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

PROGRAMS = ("claude", "reread-claude")
SHORT = {
    "-p": "--print",
    "-c": "--continue",
    "-r": "--resume",
    "-v": "--version",
    "-h": "--help",
    "-d": "--debug",
    "-n": "--name",
    "-w": "--worktree",
}
ONE = frozenset(
    "--agent --agents --append-system-prompt --append-system-prompt-file --autocompact --debug-file --effort "
    "--environment --fallback-model --input-format --json-schema --max-budget-usd --max-thinking-tokens --max-turns "
    "--model --name --output-format --permission-mode --permission-prompt-tool --permission-prompts --plugin-dir "
    "--plugin-url --remote-control-session-name-prefix --resume-drops-turn --resume-session-at --session-id "
    "--setting-sources --settings --system-prompt --system-prompt-file --system-prompt-snapshot --task-budget "
    "--thinking --thinking-display".split()
)
"""The options that take one value."""
MANY = frozenset(
    "--add-dir --allowedTools --allowed-tools --betas --disallowedTools --disallowed-tools --file --mcp-config "
    "--tools".split()
)
"""The options that take every argument up to the next option."""
MAYBE = frozenset(
    "--cloud --debug --from-pr --prompt-suggestions --remote-control --resume --teleport --worktree".split()
)
"""The options whose value may be left out."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call of the program."""

    prompt: str | None = None
    options: dict[str, str] = field(default_factory=dict[str, str])
    """Each long option with its value, or its last one; an option without a value has an empty one."""

    @property
    def output(self) -> str:
        """How it is to answer: text, json or stream-json."""
        return self.options.get("--output-format", "text")

    @property
    def converses(self) -> bool:
        """Whether prompts come as messages on standard input."""
        return self.options.get("--input-format") == "stream-json"

    @property
    def resumes(self) -> str | None:
        """The session that is to go on, by id or title."""
        return self.options.get("--resume") or None

    def has(self, option: str) -> bool:
        """Whether an option was given."""
        return option in self.options


def parse_invocation(arguments: Sequence[str]) -> Invocation:
    """The call that these arguments make; the program's own name is not among them."""
    words, options, spoken = list(arguments), dict[str, str](), list[str]()
    while words:
        word = words.pop(0)
        if word == "--":
            spoken += words
            break
        if not word.startswith("-") or word == "-":
            spoken.append(word)
            continue
        name, given, value = word.partition("=")
        *flags, name = _spelled_out(name)
        options |= dict.fromkeys(flags, "")
        options[name] = value if given else _value(name, words)
    return Invocation(prompt=spoken[0] if spoken else None, options=options)


def call_of(argv: Sequence[str]) -> Invocation | None:
    """How the client was called in a recorded command, which may begin with other programs' names."""
    if not argv:
        return None
    at = next((n for n, word in enumerate(argv) if PurePath(word).stem in PROGRAMS), 0)
    return parse_invocation(argv[at + 1 :])


def asked_in(argv: Sequence[str]) -> str | None:
    """What a command asks the client; None where it asks nothing, or runs another program."""
    call = call_of(argv) if any(PurePath(word).stem in PROGRAMS for word in argv) else None
    return call.prompt if call is not None else None


def _spelled_out(name: str) -> list[str]:
    """The long names of what may be several short options in one word."""
    if name.startswith("--"):
        return [name]
    return [SHORT.get(f"-{letter}", f"-{letter}") for letter in name[1:]]


def _value(name: str, words: list[str]) -> str:
    if name in ONE:
        return words.pop(0) if words else ""
    taken: list[str] = []
    while name in MANY | MAYBE and words and not words[0].startswith("-"):
        taken.append(words.pop(0))
        if name in MAYBE:
            break
    return " ".join(taken)
