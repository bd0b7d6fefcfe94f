"""Notice that a text shows a secret, without loading any rule where it shows none.

It is less than `share` finds, and far faster: tokens in a vendor's format, and passwords that their name and their look
leave no doubt of. Most texts are passed over with a few searches for what all of these contain.
"""

from __future__ import annotations

import re

BEFORE, AFTER = 96, 160
"""How much around a part of a secret is read: the name before it, the first line of a key."""
_ID = 26
"""How much of a session's id stands before its last part."""
_LONGEST = 4_000
"""A longer word is a picture or an archive."""
_LONG_WORD = (
    r"[A-Za-z0-9]{11}"
    r"(?:(?<!-[0-9a-f]{4}-[0-9a-f]{11})(?<!-[0-9a-f]{4}-[0-9a-f]{12})"  # no id of a session, unless it follows a word
    r"|(?<=[a-z0-9]-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{11}))[\w+/=-]*+"
)
"""What all that is suspect contains; to look for this first takes a third of the time."""
_SUSPECT = (
    r"(?<![A-Za-z0-9])(?:"
    r"(?<!toolu_)(?<!msg_)(?<!req_)(?<!-[0-9a-f]{4}-)"  # ids of the API, and of sessions; those of agents
    r"(?=[A-Za-z]{0,80}[0-9])(?!a[0-9a-f]{16}(?![A-Za-z0-9]))(?=[0-9]{0,80}[A-Za-z])[A-Za-z0-9]{11}"
    r"|(?<=[a-z0-9]-)[0-9a-f]{8}-[0-9a-f]{4}-)"
)
"""Eleven letters and digits, mixed, or an id behind a word: few texts have one, and nearly every token does."""
_SHORT_GROUPS = ("sk-helicone-", "A3-")
"""How tokens begin that have none."""
_PASSWORD_WORDS = ("passw", "passphrase", "pwd", "://")
"""What names of passwords contain, or addresses that may have one."""
_MOST_NAMED = 200
"""How many places with such a word are looked at."""
_VALUE = re.compile(
    r"(?i)(?:passw|passphrase|pwd)[\w.-]{0,24}[\"'`*\\)\]]{0,6}[ \t]{0,3}(?:[:=]|is\b)[^\n]{0,12}?[^\s\"'`]{0,80}?[0-9]"
    r"|://[^\s/:@\"'<>]{1,60}:[^\s/@\"'<>]{0,60}[0-9][^\s/@\"'<>]{0,60}@"
)
"""A name and a value with a digit, or an address with a password."""


def first_kind(text: str) -> str:
    """Return the kind of the first secret that a text shows; empty if it shows none."""
    return _first_token(text) or _first_password(text)


def _first_password(text: str) -> str:
    """Return the kind of the first password that its name and its look leave no doubt of."""
    lowered = text.replace("İ", "i").lower()  # the only letter that lower() makes two of
    places: list[int] = []
    for word in _PASSWORD_WORDS:
        at = lowered.find(word)
        while at >= 0 and len(places) < _MOST_NAMED:
            if _VALUE.match(text, at) is not None:
                places.append(at)
            at = lowered.find(word, at + len(word))
    if not places:
        return ""
    from reread.redaction.likely import find_likely
    from reread.redaction.likely_places import CREDENTIALS
    from reread.redaction.secret_names import PASSWORD
    from reread.redaction.secret_values import is_mixed

    for at in places:
        window = text[max(0, at - BEFORE) : at + AFTER]
        for match in find_likely(window):
            if match.kind in (PASSWORD, CREDENTIALS) and is_mixed(window[match.start : match.end]):
                return match.kind
    return ""


def _first_token(text: str) -> str:
    """Return the kind of the first secret in a vendor's format; empty if a text has none."""
    suspect = re.compile(_SUSPECT, re.ASCII)
    windows = [
        text[max(0, word.start() - BEFORE) : word.end() + AFTER]
        for word in re.finditer(_LONG_WORD, text, re.ASCII)
        if word.end() - word.start() < _LONGEST and suspect.search(text, max(0, word.start() - _ID), word.end())
    ]
    windows += [text[max(0, at - 1) : at + AFTER] for head in _SHORT_GROUPS if (at := text.find(head)) >= 0]
    if not windows:
        return ""
    from reread.redaction.vendors import suspected_keywords  # loaded late: few outputs need them

    suspects = [(window, found) for window in windows if (found := list(suspected_keywords(window)))]
    if not suspects:
        return ""
    from reread.redaction.certain import find_at_keywords

    return next((span.kind for window, found in suspects for span in find_at_keywords(window, found)), "")
