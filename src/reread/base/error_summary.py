"""The line of an error text that says most about what went wrong."""

from __future__ import annotations

import re

MAX_LINES, MAX_CHARS = 2000, 1000
"""How many lines are looked at, from either end, and how many characters of each."""
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
_ASSERTION = re.compile(r"E\s+\S")
"""How pytest marks what failed."""
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(?::|$)")
"""How the last line of a traceback begins."""
_ERROR = re.compile(r"(?:error|exception|\bfatal|\bpanic|\bpanicked|\berr!)(?:\W|$)", re.IGNORECASE)
_REFUSAL = re.compile(
    r"\b(?:failed|cannot|can't|could not|unable|no such|not found|denied|refused|undefined|missing|invalid)\b",
    re.IGNORECASE,
)


def telling_line(text: str) -> str:
    """Return the line that tells why something failed; the first one if none stands out, empty if there is none."""
    found = _COLOUR.sub("", text).split("\n")
    if len(found) > 2 * MAX_LINES:
        found = [*found[:MAX_LINES], *found[-MAX_LINES:]]
    lines = [line[:MAX_CHARS].strip() for line in found]
    lines = [line for line in lines if any(character.isalnum() for character in line)]
    if not lines:
        return text.strip()[:MAX_CHARS].partition("\n")[0]
    asserted = next((line for line in lines if _ASSERTION.match(line)), None)
    if asserted is not None:
        return asserted[1:].strip()
    if any(line.startswith("Traceback (most recent call last)") for line in lines):
        return next((line for line in reversed(lines) if _EXCEPTION.match(line)), lines[-1])
    for pattern in (_ERROR, _REFUSAL):
        telling = next((line for line in lines if pattern.search(line)), None)
        if telling is not None:
            return telling
    return lines[0]
