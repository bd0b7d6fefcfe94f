"""Places in which a secret stands without being named: addresses, headers, cookies, calls, SQL, manifests.

Each is a function that looks for its keyword first, and for the rest only around it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from reread.redaction.likely_commands import COMMAND_PLACES, Match, Place, find_in_commands
from reread.redaction.secret_names import PASSWORD, SecretName, read_name
from reread.redaction.secret_values import is_literal_secret, is_reference, is_word_secret, looks_secret

CREDENTIALS, HEADER, COOKIE, SIGNATURE, MANIFEST = "url-password", "authorization", "cookie", "signature", "secret"

_QUOTED_URL = {'"': r"[^\s\"<>\x1e\x1f]", "'": r"[^\s'<>\x1e\x1f]", "": r"[^\s\"'<>`\x1e\x1f]"}
_USERINFO = {
    quote: re.compile(
        rf"(?P<user>[^\s/:@\"'<>\x1e\x1f]{{0,80}}):(?P<password>{inside}{{1,200}})@(?=[A-Za-z0-9\[_$%{{-])"
    )
    for quote, inside in _QUOTED_URL.items()
}
"""A name and a password before a host; the last @ ends them, as passwords have some too."""
_PORT = re.compile(r"\d{1,5}(?:[/?#]|\Z)")
_TOKEN_USER = re.compile(r"([\w.~%-]{16,200})@(?=[A-Za-z0-9\[])", re.ASCII)
_TOKEN_MARKS = ("x-oauth-basic", "x-oauth-token", "x")
"""The word for a password where the name is the secret."""
_SCHEME_QUOTE = re.compile(r"([\"'])[A-Za-z][\w+.-]{1,24}\Z")


def find_in_urls(text: str) -> Iterator[Match]:
    """Yield the passwords in addresses."""
    at = text.find("://")
    while at >= 0:
        quote = _SCHEME_QUOTE.search(text[max(0, at - 26) : at])
        found = _USERINFO[quote[1] if quote is not None else ""].match(text, at + 3)
        if found is not None:
            value = found["password"]
            is_port = _PORT.match(value) is not None or "://" in value
            if not is_port and len(value) >= 3 and not is_reference(value):
                yield *found.span("password"), CREDENTIALS, "url"
            if not is_port and len(found["user"]) >= 12 and (looks_secret(found["user"]) or value in _TOKEN_MARKS):
                yield *found.span("user"), CREDENTIALS, "url"
        else:
            token = _TOKEN_USER.match(text, at + 3)
            if token is not None and looks_secret(token[1]) and "sentry" not in text[token.end() : token.end() + 60]:
                yield *token.span(1), CREDENTIALS, "url"
        at = text.find("://", at + 3)


_AFTER_HEADER = (
    r"(?:\\{0,8}[\"'`\])]){0,4}[ \t]{0,4}(?::|=>|[=,\x1e])[ \t]{0,4}(?:[rbfuF]?\\{0,8}[\"'`]{1,3})?[ \t]{0,2}"
)
_AUTHORIZATION = re.compile(
    _AFTER_HEADER + r"(?:(?P<scheme>[A-Za-z][\w-]{1,24})[ \t:]{1,3})?(?P<value>[^\s\"'`\\\x1e\x1f<>,;)]{4,4000})"
)
_BEARER = re.compile(r"[ \t]{1,3}([A-Za-z0-9._~+/=%-]{12,4000})")
_SCHEMES = frozenset(
    "basic bearer token ssws apikey api-key sso-key key jwt bot oauth negotiate hawk genie geniekey".split()
)


def _authorization(text: str, lowered: bytes, at: int, keyword: bytes) -> Iterator[Match]:
    """Yield what follows Authorization, with any scheme."""
    found = _AUTHORIZATION.match(text, at + 13) if lowered.startswith(b"authorization", at) else None
    if found is None or (text[at] == "A" and text[at - 1 : at].islower()):
        return
    value = found["value"].rstrip(".")
    scheme = (found["scheme"] or "").lower()
    is_known = scheme in _SCHEMES or scheme.endswith(("token", "key"))
    if is_word_secret(value) and len(value) >= 6 if is_known else looks_secret(value):
        yield found.start("value"), found.start("value") + len(value), HEADER, "authorization"


def _bearer(text: str, lowered: bytes, at: int, keyword: bytes) -> Iterator[Match]:
    """Yield what follows Bearer anywhere."""
    found = _BEARER.match(text, at + len(keyword))
    if found is not None and looks_secret(found[1].rstrip(".")):
        yield found.start(1), found.start(1) + len(found[1].rstrip(".")), HEADER, "authorization"


_COOKIES = re.compile(r"(?:s|_jar)?" + _AFTER_HEADER + r"|[ \t]{1,4}(?:\\{0,8}[\"'`])?")
_COOKIE_PAIR = re.compile(r"[ \t]{0,4}([\w.$%~-]{1,80})=([^\s;,\"'`\\\x1e\x1f]{0,4000});?", re.ASCII)
_COOKIE_NAME = re.compile(r"(?i)sess|sid\Z|\Asid|auth|login|remember|jwt|sso|identity|token|secret|credential|passw")


def _cookies(text: str, lowered: bytes, at: int, keyword: bytes) -> Iterator[Match]:
    """Yield the values of cookies by which a server knows who asks."""
    found = _COOKIES.match(text, at + len(keyword))
    pair = _COOKIE_PAIR.match(text, found.end()) if found is not None else None
    while pair is not None:
        if _COOKIE_NAME.search(pair[1]) and is_word_secret(pair[2]) and _is_cookie(pair[2]):
            yield *pair.span(2), COOKIE, pair[1].lower()
        pair = _COOKIE_PAIR.match(text, pair.end())


def _is_cookie(value: str) -> bool:
    return (
        len(value) >= 6
        and not value.isdigit()
        and (len(value) >= 24 or not value.isidentifier() or looks_secret(value))
    )


_SIGNATURE = re.compile(r"=([A-Za-z0-9%+/=_.~-]{16,1000})")


def _signature(text: str, lowered: bytes, at: int, keyword: bytes) -> Iterator[Match]:
    """Yield the signature of an address that gives access to a file."""
    found = _SIGNATURE.match(text, at + len(keyword) - 1)
    is_query = re.search(r"[?&;](?:amp;)?[\w-]{0,16}\Z", text[max(0, at - 24) : at]) is not None
    if found is not None and is_query and looks_secret(found[1]):
        yield *found.span(1), SIGNATURE, keyword.decode().rstrip("=")


_SENT = re.compile(
    r"[^\n]{0,80}[\s;})]{1,40}(?:\w{1,24}\.)?(?:send|sendline|send_keys|write)[ \t(]{1,3}(?:--[ \t])?[\"']"
    r"(?P<value>[^\"'\n\\]{3,80})(?:\\[rn])?[\"']"
)


def _typed(text: str, lowered: bytes, at: int, keyword: bytes) -> Iterator[Match]:
    """Yield what a script types after it was asked for a password."""
    found = _SENT.match(text, at + len(keyword))
    if found is not None and is_word_secret(found["value"]):
        yield *found.span("value"), PASSWORD, "password"


_IDENTIFIED = re.compile(
    r"(?i)\s{1,8}(?:with\s{1,8}[\"'`]?\w{1,40}[\"'`]?\s{1,8})?(?:by|as|using)\s{1,8}"
    r"(?:password\s{1,8})?(?:values?\s{1,8})?"
    r"\\{0,8}(?:(?P<quote>[\"'])(?P<quoted>[^\"'\n]{1,200}?)\\{0,8}[\"']|(?P<bare>[\w$#!-]{3,60}))"
)
_COLUMNS = re.compile(r"\(([^()]{1,400})\)\s{0,8}\Z")
_ITEM = re.compile(
    r"\s{0,8}(?:\\{0,8}(?P<quote>['\"])(?P<string>[^'\"\n]{0,400}?)\\{0,8}['\"]|"
    r"(?P<other>[^,'\"()]{0,80}))\s{0,8}(?P<end>[,)])"
)


def _identified(text: str, lowered: bytes, at: int, keyword: bytes) -> Iterator[Match]:
    """Yield the password of IDENTIFIED BY."""
    found = _IDENTIFIED.match(text, at + len(keyword))
    if found is None:
        return
    group = "quoted" if found["quoted"] is not None else "bare"
    is_sql = group == "quoted" or text.startswith("IDENTIFIED", at) or b"user" in lowered[max(0, at - 80) : at]
    if is_sql and is_word_secret(found[group]):
        yield *found.span(group), PASSWORD, "identified_by"


def _inserted(text: str, lowered: bytes, at: int, keyword: bytes) -> Iterator[Match]:
    """Yield the secrets in a row that is inserted into a table."""
    columns = _COLUMNS.search(text[max(0, at - 410) : at])
    names = [read_name(name.strip(" \t\r\n\"'`[]\\")) for name in columns[1].split(",")] if columns is not None else []
    if any(names):
        yield from _row(text, text.find("(", at, at + 20) + 1, names)


def _row(text: str, at: int, names: list[SecretName | None]) -> Iterator[Match]:
    """Yield the secrets of a row of values, by the names of its columns."""
    for name in names:
        found = _ITEM.match(text, at) if at else None
        if found is None:
            return
        if name is not None and found["string"] is not None:
            is_password = name.kind == PASSWORD
            if is_literal_secret(found["string"], is_password=is_password, is_strong=name.is_strong):
                yield *found.span("string"), name.kind, name.label
        if found["end"] == ")":
            return
        at = found.end()


_LOGIN = re.compile(
    r"\s{1,20}\S{1,120}\s{1,20}(?:login\s{1,20}\S{1,120}\s{1,20})?(?:account\s{1,20}\S{1,80}\s{1,20})?password\s{1,20}(\S{3,200})"
)


def _netrc(text: str, lowered: bytes, at: int, keyword: bytes) -> Iterator[Match]:
    """Yield the password of an entry of a .netrc file."""
    found = _LOGIN.match(text, at + len(keyword))
    if found is not None and not found[1].startswith(("=", ":")):
        value = found[1].rstrip("\"'`,;)\\")
        if is_word_secret(value):
            yield found.start(1), found.start(1) + len(value), PASSWORD, "netrc"


_KIND = re.compile(rb"\\{0,8}[\"']?\s{0,4}:\s{0,4}\\{0,8}[\"']?secret\\{0,8}[\"']?(?:[\s,}]|\Z)")
_DATA = re.compile(r"(?:^|\n)(?P<indent>[ \t\d→+|-]{0,24})[\"']?(?:data|stringData)[\"']?:[ \t{]{0,4}\r?\n")
_ENTRY = re.compile(
    r"(?P<indent>[ \t0-9→+|-]{0,32})[\"']?[A-Za-z_.][\w.-]{0,80}[\"']?:[ \t]{1,4}"
    r"(?:[|>]-?[ \t]{0,4}\r?\n[ \t]{1,32})?[\"']?"
    r"(?P<value>[^\s\"'#{}|>\x1e\x1f][^\r\n\"'\x1e\x1f]{0,2000})[^\n\x1e\x1f]{0,9}(?:\n|(?=[\x1e\x1f])|\Z)"
)
_DATA_KEYS = ('"data', '"stringData')
_JSON_DATA = re.compile(r"[\"'](?:data|stringData)\\{0,8}[\"'][ \t]{0,4}:[ \t]{0,4}\{")
_JSON_ENTRY = re.compile(
    r"[\s\\n]{0,60}[\"'][\w.-]{1,80}\\{0,8}[\"'][ \t]{0,4}:[ \t]{0,4}"
    r"\\{0,8}[\"'](?P<value>[^\"'\\\x1e\x1f]{1,2000})\\{0,8}[\"'],?"
)
MANIFEST_SIZE = 4_000
SECTIONS = 2
"""How many sections of values a manifest has before or after its kind: data and stringData."""


def _manifest(text: str, lowered: bytes, at: int, keyword: bytes) -> Iterator[Match]:
    """Yield all values of a Secret of Kubernetes."""
    if _KIND.match(lowered, at + len(keyword)) is None:
        return
    sections = list(_DATA.finditer(text, max(0, at - MANIFEST_SIZE), at + MANIFEST_SIZE))
    later = bisect_left(sections, at, key=lambda data: data.start())
    for data in sections[max(0, later - SECTIONS) : later + SECTIONS]:  # the nearest; a text may have thousands
        if "\n---" in text[slice(*sorted((data.end(), at)))]:
            continue
        entry = _ENTRY.match(text, data.end())
        while entry is not None and len(entry["indent"]) > len(data["indent"]):
            value = entry["value"].rstrip()
            if is_word_secret(value):
                yield entry.start("value"), entry.start("value") + len(value), MANIFEST, "kubernetes_secret"
            entry = _ENTRY.match(text, entry.end())
    for data in (_before(text, at), _after(text, at)):  # the nearest; a text may have thousands
        entry = _JSON_ENTRY.match(text, data.end()) if data is not None else None
        while entry is not None and abs(entry.start() - at) < MANIFEST_SIZE:
            if is_word_secret(entry["value"]):
                yield *entry.span("value"), MANIFEST, "kubernetes_secret"
            entry = _JSON_ENTRY.match(text, entry.end())


def _before(text: str, at: int) -> re.Match[str] | None:
    start = max(text.rfind(key, max(0, at - MANIFEST_SIZE), at) for key in _DATA_KEYS)
    return _JSON_DATA.match(text, start) if start >= 0 else None


def _after(text: str, at: int) -> re.Match[str] | None:
    starts = [start for key in _DATA_KEYS if (start := text.find(key, at, at + MANIFEST_SIZE)) >= 0]
    return _JSON_DATA.match(text, min(starts)) if starts else None


_LOGIN_PAIR = re.compile(
    r"\w{0,24}(?:\\{0,8}[\"'])?[ \t]{0,4}[=:(][ \t]{0,4}"
    r"(?:[\w.]{1,40})?[(\[]?[ \t]{0,4}\\{0,8}[\"'][^\"'\n]{1,80}\\{0,8}[\"'][ \t]{0,4},[ \t]{0,4}"
    r"\\{0,8}[\"'](?P<value>[^\"'\n]{3,200}?)\\{0,8}[\"'](?=[ \t]{0,4}[)\],.])"
)


def _pair(text: str, lowered: bytes, at: int, keyword: bytes) -> Iterator[Match]:
    """Yield the second of two strings that are a name and a password: auth=("bob", "…")."""
    found = _LOGIN_PAIR.match(text, at + len(keyword))
    is_account = keyword != b"login" or (found is not None and "@" in found[0])
    if found is not None and (looks_secret(found["value"]) or (is_account and _is_phrase(found["value"]))):
        yield *found.span("value"), PASSWORD, keyword.decode()


def _is_phrase(value: str) -> bool:
    return is_literal_secret(value, is_password=True, is_strong=True) and not value.isidentifier() and " " not in value


_ANY_STRING = r"\\{0,8}[\"'][^\"'\n]{0,120}[\"']"
_STRING = r"(?:b|\[\]byte\()?\\{0,8}[\"'`](?P<value>[^\"'`\n\\\x1e\x1f]{4,200})\\{0,8}[\"'`]"
_MORE_WORDS = rf"(?:,[ \t]{{0,2}}\d{{1,5}})?,[ \t]{{0,2}}{_ANY_STRING},[ \t]{{0,2}}{_STRING}"
"""A name and a password, after an address and perhaps a port."""
_BASIC = re.compile(
    r"(?:basic_|(?P<bearer>bearer_))auth\([ \t]{0,2}(?(bearer)|[^\n,()]{1,80},[ \t]{0,2}(?:Some\()?)" + _STRING
)


def _basic(text: str, lowered: bytes, at: int, keyword: bytes) -> Iterator[Match]:
    """Yield the secret of `.basic_auth("bob", Some("…"))` and `.bearer_auth("…")`."""
    found = _BASIC.match(text, max(0, at - 7)) or _BASIC.match(text, max(0, at - 6))
    yield from _string_of(found, "auth")


_CALLS: dict[bytes, re.Pattern[str]] = {
    b"connect": re.compile(r"(?:ion)?\([ \t]{0,2}(?:[^\n\"'(),]{1,80}|" + _ANY_STRING + r")" + _MORE_WORDS),
    b"mysqli": re.compile(r"\([ \t]{0,2}" + _ANY_STRING + _MORE_WORDS),
    b"pdo(": re.compile(r"(?:[^\n\"'(),]{1,80}|" + _ANY_STRING + r")" + _MORE_WORDS),
    b"jwt.": re.compile(r"(?:encode|decode|sign|verify)\([^\n\"'`()]{1,80},[ \t]{0,2}" + _STRING),
    b"hmac": re.compile(r"(?:\.new\(|\([ \t]{0,2}" + _ANY_STRING + r",[ \t]{0,2})" + _STRING),
    b"wifi.begin": re.compile(r"\([ \t]{0,2}(?:\w{1,40}|" + _ANY_STRING + r"),[ \t]{0,2}" + _STRING),
    b" crypt(": re.compile(r"[ \t]{0,2}" + _STRING),
}
"""Calls that get a secret by its place among their arguments, and what leads to it."""


def _call(text: str, lowered: bytes, at: int, keyword: bytes) -> Iterator[Match]:
    """Yield the secret among the arguments of a call."""
    yield from _string_of(_CALLS[keyword].match(text, at + len(keyword)), keyword.decode().strip(" .("))


def _string_of(found: re.Match[str] | None, name: str) -> Iterator[Match]:
    if found is not None and (looks_secret(found["value"]) or _is_phrase(found["value"])):
        yield *found.span("value"), PASSWORD, name


_PASS_FILE = re.compile(
    r"[\w*-]{1,63}:[\w.*-]{1,63}:(?P<value>[^\s:\"'\x1e\x1f]{4,100})(?=[ \t\r]{0,4}(?:[\n\x1e\x1f\"'\\]|\Z))"
)


def _pass_file(text: str, lowered: bytes, at: int, keyword: bytes) -> Iterator[Match]:
    """Yield the password of a line of a .pgpass file: host:port:database:user:password."""
    found = _PASS_FILE.match(text, at + len(keyword))
    if found is not None and is_word_secret(found["value"]) and not found["value"].isdigit():
        yield *found.span("value"), PASSWORD, "pgpass"


_BEFORE_HOST = re.compile(r"(?:\A|[\s\"'=(])[\w.-]{1,60}:(?P<value>[^\s\"'/\x1e\x1f]{3,100})\Z")
_AFTER_THIN = re.compile(r"[\w.-]{1,60}/(?P<value>[^\s\"'/@\x1e\x1f]{3,100})@")


def _source_name(text: str, lowered: bytes, at: int, keyword: bytes) -> Iterator[Match]:
    """Yield the password in the address of a database that is no URL: bob:…@tcp(host), jdbc:oracle:thin:bob/…@host."""
    first = max(0, at - 170)
    found = _BEFORE_HOST.search(text[first:at]) if keyword == b"@tcp(" else _AFTER_THIN.match(text, at + len(keyword))
    if found is not None and not is_reference(found["value"]):
        shift = first if keyword == b"@tcp(" else 0
        yield shift + found.start("value"), shift + found.end("value"), CREDENTIALS, "url"


_ACCOUNT = re.compile(
    r"(?:entials?|s)?[^\n\x1e\x1f]{0,24}[ \t(:][\w.@+-]{1,60}[ \t]{0,2}[/:][ \t]{0,2}"
    r"(?P<value>[^\s\"'`,;)\x1e\x1f]{8,80})"
)


def _account(text: str, lowered: bytes, at: int, keyword: bytes) -> Iterator[Match]:
    """Yield the second of a name and a password in a sentence: log in with bob / …"""
    found = _ACCOUNT.match(text, at + len(keyword))
    value = found["value"].rstrip(".!?") if found is not None else ""
    is_mixed = any(map(str.isupper, value)) and any(map(str.islower, value)) and "/" not in value
    if found is not None and is_mixed and looks_secret(value):
        yield found.start("value"), found.start("value") + len(value), PASSWORD, "login"


PLACES: dict[bytes, tuple[Place, ...]] = {
    b"bearer": (_bearer,),
    b"cookie": (_cookies,),
    b"sig=": (_signature,),
    b"signature=": (_signature,),
    b"assword": (_typed,),
    b"identified": (_identified,),
    b"values": (_inserted,),
    b"machine": (_netrc,),
    b"login": (_netrc, _pair),
    b"kind": (_manifest,),
    b"auth": (_authorization, _pair, _basic),
    b"cred": (_pair, _account),
    b":5432:": (_pass_file,),
    b":*:": (_pass_file,),
    b"@tcp(": (_source_name,),
    b":thin:": (_source_name,),
    b"log in with": (_account,),
    **dict.fromkeys(_CALLS, (_call,)),
}
"""The search at each keyword, besides that for commands."""


_BY_PART: dict[bytes, list[tuple[int, bytes, tuple[Place, ...]]]] = {}
"""Keywords by a part that several have in common, as each search of a text costs: how much stands before the part."""
for _keyword, _places in (*PLACES.items(), *COMMAND_PLACES.items()):
    _part = next(
        (part for part in (b"passwd", b"sudo -", b"passphrase", b"-stdin", b"mysql") if part in _keyword), _keyword
    )
    _BY_PART.setdefault(_part, []).append((_keyword.find(_part), _keyword, _places))


def find_in_places(text: str, lowered: bytes) -> Iterator[Match]:
    """Yield the secrets in all these places."""
    for part, keywords in _BY_PART.items():
        at = lowered.find(part)
        while at >= 0:
            for before, keyword, places in keywords:
                if lowered.startswith(keyword, at - before) and at >= before:
                    for place in places:
                        yield from place(text, lowered, at - before, keyword)
            at = lowered.find(part, at + len(part))
    yield from find_in_commands(text, lowered)
