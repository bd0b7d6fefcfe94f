"""What may be a secret: a value that is called a password, a token or a key, and credentials in URLs and headers.

Nothing is guessed from how random a text looks: that takes hashes and identifiers of code for secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

PASSWORD, TOKEN, CREDENTIALS, HEADER, COOKIE = "password", "key-or-token", "url-password", "authorization", "cookie"

_STEMS = (
    "passw",
    "passphrase",
    "passcode",
    "pwd",
    "pgpass",
    "db_pass",
    "secret",
    "token",
    "credential",
    "otp_seed",
    "_key",
    "-key",
    "apikey",
    "accesskey",
    "privatekey",
    "authkey",
    "signingkey",
    "connection_string",
)
"""What the name of nearly every secret contains, in lower case."""
_PASSWORDS = ("password", "passwd", "passphrase", "passcode", "passwort", "pwd", "pgpass", "db_pass")
_KEYS = "api access private auth signing encryption master account license client secret subscription service"
SENSITIVE = re.compile(
    rf"(?:{'|'.join(_PASSWORDS)}|secret|token|credential|otp_seed|connection_string|(?:{'|'.join(_KEYS.split())})[_-]?key)",
    re.IGNORECASE,
)
_PASSWORD_NAME = re.compile("|".join(_PASSWORDS), re.IGNORECASE)
_NAME_END = re.compile(r"[\w-]{0,24}", re.ASCII)
_HARMLESS_END = re.compile(
    r"(?i)(?:s|[a-z_-]{0,24}(?:type|name|count|limit|url|uri|path|file|length|size|format|field|label|hint|style|kind|"
    r"status|expiry|expires|ttl|id|ids|error|reset|policy|manager|input|usage|index|used|budget|version|hash|algorithm|"
    r"prompt|required|strength|placeholder|per[a-z_]{0,24}|at|in|estimate|ratio|cost|class|scope|provider|endpoint|env|var|"
    r"resolver|factory|store|validator|regex|pattern|rule|rules|iterator|kinds|list|set|map|stream|izer|ize|ized))$"
)
"""Ends of names that are about a secret and do not hold one."""
_ASSIGNED = re.compile(
    r"\\*[\"'`\])]{0,3}[ \t]{0,8}(?:(?P<key>\x1e)|:=|=>|==|[:=]|(?<=[\"'])[ \t]*,|(?:\bis|\bwas|ist)\b)[ \t]{0,8}"
    r"(?:(?P<quote>\\*[\"'`])(?P<quoted>[^\"'`\s\x1e\x1f]{4,400}?)\\{0,8}[\"'`]"
    r"|(?P<bare>[^\s\"'`,;&|<>(){}\[\]\\\x1e\x1f]{1,300}+"
    r"(?:&(?![\w.-]{1,40}=)[^\s\"'`,;&|<>(){}\[\]\\\x1e\x1f]{0,60}+){0,2}))",
    re.ASCII,
)
_KEYED = re.compile(r"\x1e(?P<bare>[^\x1e\x1f]{4,400})")
_OPTION = re.compile(r"[ \t]{1,4}[\"']?(?P<bare>[^\s\"'`;&|<>()\\\x1e\x1f-][^\s\"'`;&|<>()\\\x1e\x1f]{3,200})")
"""The value of an option such as --password."""
_PLACEHOLDER = re.compile(
    r"(?i)^(?:[x*•.#_-]+|\$.*|%\w+%?|<.*|\{.*|\[.*|null|none|nil|true|false|undefined|string|str|bytes|int|bool|boolean|"
    r"number|any|object|text|unknown|optional|required|todo|dummy|test|tests|testing|example|changeme|change-me|"
    r"placeholder|redacted|hidden|secret|password|passwd|token|bearer|basic|apikey|api_key|default|empty|missing|"
    r"invalid|expired|value|self|this|func|function|async|await|return|input|prompt|env|options?|admin|user|root|pass|"
    r".*(?:process\.env|os\.environ|getenv|environ|import\.meta|secrets\.|vault:|your[-_ ]|example|placeholder|dummy|"
    r"redacted|changeme|xxxx|\*\*\*|\.\.\.|…|\$\{|\{\{).*)$"
)
_CODE = re.compile(r"(?:[A-Za-z_$][\w$]*)(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)*[!?]?", re.ASCII)
"""A name in code, with what it belongs to."""
_DIGIT = re.compile(r"\d")
_DIGIT_WITHIN = re.compile(r"[A-Za-z]\d[a-z]+\d[a-z]|[A-Za-z]\d[a-z]{2,}\d")
"""Digits between letters, which names in code seldom have twice."""
_URL = re.compile(r"(?<=://)[^\s/:@\"'<>\x1e\x1f]{0,80}:([^\s/@\"'<>\x1e\x1f]{3,200})@[A-Za-z0-9\[]")
_BEARER = re.compile(r"(?i)(?:bearer|basic|token|sso-key|apikey)[ \t]{1,3}([A-Za-z0-9._~+/=-]{12,2000})")
_CURL = re.compile(r"(?:-u|--user)[ \t=]{1,3}[\"']?[\w.@+-]{1,80}:([^\s\"'\x1e\x1f]{3,200})")
_PRIVATE_PAIR = re.compile(r"(?<=-p)[^\s\"'`-][^\s\"'`]{3,80}")
_CLIENT_PASSWORD = re.compile(
    r"[ \t]-p(?:\\?[\"'](?P<quoted>[^\s\"'\\\x1e\x1f]{4,80})"
    r"|(?P<bare>[^\s\"'`;&|<>()\\\x1e\x1f-][^\s\"'`;&|<>()\\\x1e\x1f]{3,80}))"
)
"""The password of a database client, which follows -p without a space."""
_PORTS = re.compile(r"[\d.:/-]+(?:tcp|udp)?")
_COOKIE = re.compile(r"(?<=ook)ie\\*[\"'`]{0,2}[ \t]{0,4}(?:[:=,\x1e]|(?<=[ \t]))[ \t]{0,4}\\*[\"'`]?")
_COOKIE_PAIR = re.compile(r"[ \t]{0,4}([\w.$%~-]{1,80})=([^\s;,\"'`\\\x1e\x1f]{0,400});?", re.ASCII)
_COOKIE_NAME = re.compile(r"sess|sid|auth|login|remember|jwt|sso|identity", re.IGNORECASE)
_SHORTEST_COOKIE = 16


class LikelyMatch(NamedTuple):
    """A value that may be a secret."""

    start: int
    end: int
    kind: str


def find_likely(text: str) -> Iterator[LikelyMatch]:
    """Yield the values that are called secrets; the same place may come twice."""
    yield from _named(text)
    at = text.find("://")
    while at >= 0:
        found = _URL.match(text, at + 3)
        if found is not None and not _is_placeholder(found[1]):
            yield LikelyMatch(found.start(1), found.end(1), CREDENTIALS)
        at = text.find("://", at + 3)
    yield from _headers(text)
    yield from _cookies(text)
    yield from _clients(text)


def _named(text: str) -> Iterator[LikelyMatch]:
    """Yield the values with a name that says they are secret."""
    lower = text.lower()
    if len(lower) != len(text):  # a letter became two
        lower = "".join(character.lower() if character.isascii() else character for character in text)
    for stem in _STEMS:
        at = lower.find(stem)
        while at >= 0:
            end = at + len(stem)
            name = SENSITIVE.search(text, max(0, at - 12), at + 18)
            while name is not None and name.end() <= at:
                name = SENSITIVE.search(text, name.end(), at + 18)
            match = _assigned(text, name) if name is not None else None
            if match is not None:
                yield match
                end = max(end, match.end)
            at = lower.find(stem, end)


def _assigned(text: str, name: re.Match[str]) -> LikelyMatch | None:
    is_password = _PASSWORD_NAME.match(name[0]) is not None
    rest = _NAME_END.match(text, name.end())
    end = rest.end() if rest is not None else name.end()
    if end > name.end() and _HARMLESS_END.match(text[name.end() : end]):
        return None
    if text[end : end + 1] == "\x1e":
        found = _KEYED.match(text, end)
    elif text[name.start() - 2 : name.start()] == "--" or text[name.start() - 1 : name.start()] == "-":
        found = _ASSIGNED.match(text, end) or _OPTION.match(text, end)
    else:
        found = _ASSIGNED.match(text, end)
    if found is None:
        return None
    group = "quoted" if found.groupdict().get("quoted") else "bare"
    start, stop = found.span(group)
    value = found[group].rstrip(".:!?") if group == "bare" else found[group]
    if group == "bare":
        stop = start + len(value)
    is_value = _is_secret_value(value, is_password, is_text=group == "quoted" or text[end : end + 1] == "\x1e")
    if not is_value or (group == "bare" and text[stop : stop + 1] in ("(", "[")):
        return None
    return LikelyMatch(start, stop, PASSWORD if is_password else TOKEN)


def _is_secret_value(value: str, is_password: bool, *, is_text: bool) -> bool:
    """True if a value can be a secret; a name in code or a placeholder is none."""
    if len(value) < 4 or _is_placeholder(value) or " " in value.strip():
        return False
    has_digit = _DIGIT.search(value) is not None
    if not is_text:
        return has_digit and len(value) >= 6 and not value.isdigit() and not _is_name(value)
    if is_password:
        return not value.startswith(("/", "./")) and not _is_call(value)
    if len(value) < 8 or value.startswith(("/", "./", "http:", "https:")):
        return False
    return (has_digit or len(value) >= 24) and not _is_name(value)


def _is_name(value: str) -> bool:
    """True for a name in code or in a configuration, such as `config.api_key_2` or `AUTH_TOKEN`."""
    found = _CODE.fullmatch(value)
    if found is None:
        return False
    words = [word for word in re.split(r"[^A-Za-z]+|(?<=[a-z])(?=[A-Z])", value) if word]
    digits = sum(character.isdigit() for character in value)
    return digits <= 2 and not _DIGIT_WITHIN.search(value) and len(words) <= 8 and all(len(word) > 1 for word in words)


def _is_call(value: str) -> bool:
    return value.endswith((")", "(", "{")) or "(" in value


def _is_placeholder(value: str) -> bool:
    return _PLACEHOLDER.match(value) is not None or len(set(value)) <= 2


def _headers(text: str) -> Iterator[LikelyMatch]:
    for keyword in ("uthorization", "UTHORIZATION", "earer ", "BEARER "):
        at = text.find(keyword)
        while at >= 0:
            found = _BEARER.search(text, max(0, at - 1), at + 60)
            if found is not None:
                whole = _BEARER.match(text, found.start())
                if whole is not None and _is_header_value(whole[1]):
                    yield LikelyMatch(whole.start(1), whole.end(1), HEADER)
            at = text.find(keyword, at + len(keyword))
    at = text.find("curl ")
    while at >= 0:
        found = _CURL.search(text, at, at + 400)
        if found is not None and not _is_placeholder(found[1]):
            yield LikelyMatch(found.start(1), found.end(1), PASSWORD)
        at = text.find("curl ", at + 5)
    at = text.find("sshpass -p")
    while at >= 0:
        found = _OPTION.match(text, at + 10) or _PRIVATE_PAIR.match(text, at + 10)
        if found is not None:
            group = "bare" if found.re is _OPTION else 0
            yield LikelyMatch(found.start(group), found.end(group), PASSWORD)
        at = text.find("sshpass -p", at + 10)


def _is_header_value(value: str) -> bool:
    has_digit = _DIGIT.search(value) is not None
    return has_digit and not _is_placeholder(value) and not _is_name(value)


def _cookies(text: str) -> Iterator[LikelyMatch]:
    """Yield the values of cookies by which a server knows who asks."""
    at = text.find("ookie")
    while at >= 0:
        end = at + 5
        found = _COOKIE.match(text, at + 3)
        pair = _COOKIE_PAIR.match(text, found.end()) if found is not None else None
        while pair is not None:
            end = pair.end()
            if len(pair[2]) >= _SHORTEST_COOKIE and _COOKIE_NAME.search(pair[1]) and _is_header_value(pair[2]):
                yield LikelyMatch(pair.start(2), pair.end(2), COOKIE)
            pair = _COOKIE_PAIR.match(text, end)
        at = text.find("ookie", end)


def _clients(text: str) -> Iterator[LikelyMatch]:
    """Yield the passwords in commands of database clients."""
    for client in ("mysql", "mariadb"):
        at = text.find(client)
        while at >= 0:
            end = at + len(client)
            line = text.find("\n", end, end + 400)
            found = _CLIENT_PASSWORD.search(text, end, line if line >= 0 else end + 400)
            if found is not None:
                group = "quoted" if found["quoted"] else "bare"
                is_value = _is_secret_value(found[group], True, is_text=group == "quoted")
                if is_value and not _PORTS.fullmatch(found[group]):
                    yield LikelyMatch(*found.span(group), PASSWORD)
                end = found.end()
            at = text.find(client, end)
