"""Names that a client makes up in each run, such as those of tasks and agents: which one stands for which."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

WORD = re.compile(r"[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*")
MADE_UP = re.compile(r"(?=[a-z_-]*[0-9])[A-Za-z0-9_-]{6,}|[a-z]+(?:-[a-z]+){2,}")
"""A word that a client may have made up: with a digit, or several words in a row."""
MOST_WORDS = 4000
FEW = 50
"""So many names are looked for in a text one after the other; of more, the words of the text are looked for."""


def learn(recorded: str, now: str, known: dict[str, str]) -> None:
    """Note which made-up names of a text stand where the recorded one had others; both say the same otherwise."""
    recorded, now = (TIMES.sub("\u2026", text) for text in (recorded, now))
    if recorded == now:
        return
    old, new = (WORD.findall(text[: MOST_WORDS * 20])[:MOST_WORDS] for text in (recorded, now))
    if len(old) != len(new):
        return
    pairs = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    if all(MADE_UP.fullmatch(a) and MADE_UP.fullmatch(b) for a, b in pairs):
        known.update(pairs)


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Return a text with other names."""
    few = len(names) <= FEW
    if not any(name in text for name in names) if few else names.keys().isdisjoint(WORD.findall(text)):
        return text
    return WORD.sub(lambda word: names.get(word[0], word[0]), text)


def settled(text: str, own: Iterable[str] = ()) -> str:
    """Return a text without what differs in every run; `own` are the names of that run's session and agents."""
    for name in own:
        text = text.replace(name, "\u2026")
    return VOLATILE.sub("\u2026", TIMES.sub("\u2026", text))


TIMES = re.compile(
    r"(?<=[Nn]ext run: )\w{3} \d+ [\d:]+[ap]m|(?<=[Nn]ext run )\w{3} \d+ [\d:]+[ap]m"
    r"|(?<=scheduled for )[\d:]{8} \(in \d+s\)"
)
"""When something that was put off is to happen."""
VOLATILE = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # ids of sessions, prompts …
    r"|\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z?\b|\breq_\w+"
    r"|(?<=agentId: )\w+|(?<=<task-id>)\w+|\bagent-[0-9a-f]{8,}\b|\b[a-z]?[0-9a-f]{16}\b"
    r"|(?<=duration_ms)\W+[\d.]+|-blob-\d+-\w+|\b[bt][0-9a-z]{8}(?=\.(?:output|txt)\b|\. |<)"
    r"|^[0-9a-f]{7} (?=start$)",  # the first commit of a repository made anew
    re.MULTILINE,
)
"""What differs in every run, whatever is played."""
