"""Places in which a secret stands without being named: addresses, headers, cookies, calls, SQL, manifests, commands.

A place is a row: keywords, and what leads from one of them to the secret. The few that need more are functions.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import NamedTuple

from reread.redaction.likely_commands import COMMAND_FINDERS, VALUE, Finder, Match, word_of
from reread.redaction.secret_names import PASSWORD, SecretName, read_name
from reread.redaction.secret_values import is_chosen, is_literal_secret, is_reference, is_word_secret, looks_secret

CREDENTIALS, HEADER, COOKIE, SIGNATURE, MANIFEST = "url-password", "authorization", "cookie", "signature", "secret"
AHEAD = 4_200
"""How much of a text behind a keyword is read."""
MOST_TABLE_ROWS = 200
_LONGEST_ROW = 1_000
_HEAD_CELL = re.compile(r"[ \t\"'`*]{0,40}[\w .#-]{0,40}[ \t\"'`*]{0,40}")
_RULE = re.compile(r"[ \t|+:=-]{3,}")
"""The line between the head of a table and its rows, or at its end."""
_END_OF_STRING = re.compile(r"[\x1e\x1f]")
_QUOTES = " \t\r\"'`*"


def is_bare_password(value: str) -> bool:
    """True for a password of letters and signs where only a password, or a word of code, can stand."""
    return is_literal_secret(value, is_password=True, is_strong=True) and not value.isidentifier() and " " not in value


def _is_argument(value: str) -> bool:
    return looks_secret(value) or is_bare_password(value)


def _is_line(value: str) -> bool:
    return is_word_secret(value) and not value.isdigit()


def _is_address(value: str) -> bool:
    return not is_reference(value)


def _is_account(value: str) -> bool:
    is_mixed = any(map(str.isupper, value)) and any(map(str.islower, value))
    return (is_mixed or any(map(str.isdigit, value))) and "/" not in value and looks_secret(value)


_ANY_STRING = r"\\{0,8}[\"'][^\"'\n]{0,120}[\"']"
_STRING = r"(?:b|\[\]byte\()?\\{0,8}[\"'`](?P<value>[^\"'`\n\\\x1e\x1f]{4,200})\\{0,8}[\"'`]"
_TWO_MORE = rf"(?:,[ \t]{{0,2}}\d{{1,5}})?,[ \t]{{0,2}}{_ANY_STRING},[ \t]{{0,2}}{_STRING}"
"""A name and a password, after an address and perhaps a port."""
_AFTER_NAME = r"\w{0,24}(?:\\{0,8}[\"'])?[ \t]{0,4}[=:(][ \t]{0,4}(?:[\w.]{1,40})?[(\[]?[ \t]{0,4}"
_SECOND = r"[ \t]{0,4},[ \t]{0,4}\\{0,8}[\"'](?P<value>[^\"'\n]{3,200}?)\\{0,8}[\"'](?=[ \t]{0,4}[)\],.])"
_BY = (
    r"\s{1,8}(?:with\s{1,8}[\"'`]?\w{1,40}[\"'`]?\s{1,8})?(?:by|as|using)\s{1,8}(?:password\s{1,8})?(?:values?\s{1,8})?"
)
_NAME = r"\s{1,20}\S{1,120}\s{1,20}"


class SecretPlace(NamedTuple):
    """What leads from a keyword to a secret."""

    keywords: str
    """In lower case, separated by bars."""
    pattern: str
    """A regular expression for what follows a keyword."""
    accept: Callable[[str], bool] = is_word_secret
    kind: str = PASSWORD
    label: str = ""
    """The name of the secret; the keyword if there is none."""
    before: int = 0
    """How much before the keyword the pattern begins to be looked for; 0 if it has to follow it."""


# fmt: off
PLACES: tuple[SecretPlace, ...] = (
    SecretPlace("bearer", r"[ \t]{1,3}(?P<value>[\w.~+/=%:|-]{11,4000}[\w~+/=%-])", looks_secret, HEADER, "authorization"),
    SecretPlace("sig=|signature=", r"(?i)[?&;](?:amp;)?[\w-]{0,16}sig(?:nature)?=(?P<value>[\w%+/=.~-]{16,1000})", looks_secret, SIGNATURE, before=24),
    SecretPlace("password|assword", r"[^\n]{0,80}[\s;})]{1,40}(?:\w{1,24}\.)?(?:send|sendline|send_keys|write)[ \t(]{1,3}(?:--[ \t])?[\"'](?P<value>[^\"'\n\\]{3,80})(?:\\[rn])?[\"']", label="password"),
    SecretPlace("identified", rf"(?i){_BY}\\{{0,8}}[\"'](?P<value>[^\"'\n]{{1,200}}?)\\{{0,8}}[\"']", label="identified_by"),
    SecretPlace("identified", rf"(?<=IDENTIFIED)(?i:{_BY})(?P<value>[\w$#!-]{{3,60}})", label="identified_by"),
    SecretPlace("machine", rf"{_NAME}(?:login{_NAME})?(?:account{_NAME})?password\s{{1,20}}(?P<value>[^\s=:]\S{{1,199}}?)(?=[\"'`,;)\\]{{0,4}}(?:\s|\Z))", label="netrc"),
    SecretPlace("login", rf"{_NAME}(?:account{_NAME})?password\s{{1,20}}(?P<value>[^\s=:]\S{{1,199}}?)(?=[\"'`,;)\\]{{0,4}}(?:\s|\Z))", label="netrc"),
    SecretPlace("auth|cred", _AFTER_NAME + r"\\{0,8}[\"'][^\"'\n]{1,80}\\{0,8}[\"'](?:\.\w{1,12}\(\))?" + _SECOND, _is_argument),
    SecretPlace("login|andpassword", _AFTER_NAME + r"\\{0,8}[\"'][^\"'\n]{1,40}@[^\"'\n]{1,40}\\{0,8}[\"']" + _SECOND, _is_argument),
    SecretPlace("login", _AFTER_NAME + r"\\{0,8}[\"'][^\"'\n]{1,80}\\{0,8}[\"']" + _SECOND, looks_secret),
    SecretPlace("auth", r"(?:basic_|(?P<bearer>bearer_))auth\([ \t]{0,2}(?(bearer)|[^\n,()]{1,80},[ \t]{0,2}(?:Some\()?)" + _STRING, _is_argument, before=7),
    SecretPlace("basic_auth ", _ANY_STRING + r",[ \t]{0,2}" + _STRING, _is_argument, label="basic_auth"),
    SecretPlace(".auth(", _STRING + r"[ \t]{0,2}\)", _is_argument, label="auth"),
    SecretPlace("plainauth(", rf"[ \t]{{0,2}}{_ANY_STRING},[ \t]{{0,2}}[^\n,]{{1,80}},[ \t]{{0,2}}" + _STRING, _is_argument, label="plainauth"),
    SecretPlace("setsecret(|pgp_sym_encrypt(|pgp_sym_decrypt(|aes_encrypt(|aes_decrypt(", r"[^\n(),]{1,80},[ \t]{0,2}" + _STRING, _is_argument, label="secret"),
    SecretPlace(".tochararray", r"[\"](?P<value>[^\"\n\\\x1e\x1f]{4,200})\"\.toCharArray", _is_argument, label="characters", before=202),
    SecretPlace("bcrypt.", r"\w{1,20}\([ \t]{0,2}" + _STRING, _is_argument, label="bcrypt"),
    SecretPlace("btoa(|b64encode(", r"b?[\"'][\w.@+-]{1,60}:(?P<value>[^\"'\n\x1e\x1f]{4,100})[\"']", _is_argument, label="basic_auth"),
    SecretPlace("snmp-server|tacacs-server|radius-server|isakmp", r"[^\n\x1e\x1f]{0,60}[ \t](?:community|key)[ \t]{1,4}(?:[0-9][ \t])?" + VALUE, _is_account, label="key"),
    SecretPlace("option key", r"[ \t]{1,4}" + VALUE, _is_account, label="key"),
    SecretPlace("vault login|cargo login|operator unseal|bw unlock", r"[ \t]{1,4}" + VALUE, label="login"),
    SecretPlace("alias set", r" \S{1,40} \S{1,120} \S{1,80}[ \t]{1,4}" + VALUE, label="alias"),
    SecretPlace("]:25|]:465|]:587", r"[ \t]{1,20}[\w.@+-]{1,80}:(?P<value>[^\s\x1e\x1f]{4,100})", _is_line, label="sasl_password"),
    SecretPlace("connect", r"(?:ion)?\([ \t]{0,2}(?:[^\n\"'(),]{1,80}|" + _ANY_STRING + r")" + _TWO_MORE, _is_argument),
    SecretPlace("mysqli", r"\([ \t]{0,2}" + _ANY_STRING + _TWO_MORE, _is_argument),
    SecretPlace("pdo(", r"(?:[^\n\"'(),]{1,80}|" + _ANY_STRING + r")" + _TWO_MORE, _is_argument, label="pdo"),
    SecretPlace("jwt.", r"(?:encode|decode|sign|verify)\([^\n\"'`()]{1,80},[ \t]{0,2}" + _STRING, _is_argument, label="jwt"),
    SecretPlace("hmac", r"(?:\.new\(|\([ \t]{0,2}" + _ANY_STRING + r",[ \t]{0,2})" + _STRING, _is_argument),
    SecretPlace("create_user|addlogin|userpassword", rf"\(?[ \t]{{0,2}}(?:{_ANY_STRING},[ \t]{{0,2}}){{1,2}}" + _STRING, _is_argument),
    SecretPlace("fernet(", _STRING, _is_argument, label="fernet"),
    SecretPlace("wifi.begin", r"\([ \t]{0,2}(?:\w{1,40}|" + _ANY_STRING + r"),[ \t]{0,2}" + _STRING, _is_argument),
    SecretPlace(" crypt(", r"[ \t]{0,2}" + _STRING, _is_argument, label="crypt"),
    SecretPlace(":5432:|:*:", r"[\w*-]{1,63}:[\w.*-]{1,63}:(?P<value>[^\s:\"'\x1e\x1f]{4,100})(?=[ \t\r]{0,4}(?:[\n\x1e\x1f\"'\\]|\Z))", _is_line, label="pgpass"),
    SecretPlace("@tcp(", r"(?:\A|(?<=[\s\"'=(]))[\w.-]{1,60}:(?P<value>[^\s\"'/\x1e\x1f]{3,100})@tcp\(", _is_address, CREDENTIALS, "url", before=170),
    SecretPlace(":thin:", r"[\w.-]{1,60}/(?P<value>[^\s\"'/@\x1e\x1f]{3,100})@", _is_address, CREDENTIALS, "url"),
    SecretPlace("cred|log in with|sign in with|zugangsdaten", r"(?:entials?|s)?[^\n\x1e\x1f]{0,24}[ \t(:][\w.@+-]{1,60}[ \t]{0,2}(?:[/:]|and[ \t]{1,2})[ \t]{0,2}(?P<value>[^\s\"'`,;)\x1e\x1f]{7,79}[^\s\"'`,;.!?)\x1e\x1f]!?)", _is_account, label="login"),
    SecretPlace("admin/|admin:|administrator/|administrator:|root/|root:", r"(?<![\w/.@-])(?:admin|administrator|root)[/:](?P<value>[^\s\"'`,;)/@:\x1e\x1f]{7,79}?)(?=[\"'`,;).:!?]{0,3}(?:\s|\Z))", is_chosen, label="login", before=15),
    SecretPlace("pass:", r"-pass(?:in|out|word)?[ \t=]{1,4}[\"']?pass:" + VALUE, label="pass", before=16),
)
# fmt: on


class _PlaceFinder:
    """The search for the secret of one place."""

    def __init__(self, place: SecretPlace) -> None:
        self._place = place
        self._pattern = re.compile(place.pattern)

    def __call__(self, text: str, lowered: bytes, at: int, keyword: bytes) -> Iterator[Match]:
        place, end = self._place, at + len(keyword)
        if place.before:
            found = self._pattern.search(text, max(0, at - place.before), end + AHEAD)
        else:
            found = self._pattern.match(text, end)
        if found is not None:
            name = place.label or keyword.decode().rstrip("=")
            yield from word_of(found, name, accept=place.accept, kind=place.kind)


_QUOTED_URL = {'"': r"[^\s\"<>\x1e\x1f]", "'": r"[^\s'<>\x1e\x1f]", "": r"[^\s\"'<>`\x1e\x1f]"}
_USERINFO = {
    quote: re.compile(
        rf"(?P<user>[^\s/:@\"'<>\x1e\x1f]{{0,80}}):(?P<password>{inside}{{1,200}})@(?=[A-Za-z0-9\[_$%{{/-])"
    )
    for quote, inside in _QUOTED_URL.items()
}
"""A name and a password before a host; the last @ ends them, as passwords have some too."""
_PORT = re.compile(r"\d{1,5}(?:[/?#]|\Z)")
_TOKEN_USER = re.compile(r"([\w.~%!+-]{11,200})@(?=[A-Za-z0-9\[])", re.ASCII)
_TOKEN_MARKS = ("x-oauth-basic", "x-oauth-token", "x")
"""The word for a password where the name is the secret."""
_SCHEME_QUOTE = re.compile(r"([\"'])[A-Za-z][\w+.-]{1,24}\Z")


def _address(text: str, lowered: bytes, at: int, keyword: bytes) -> Iterator[Match]:
    """Yield the password in an address."""
    quote = _SCHEME_QUOTE.search(text[max(0, at - 26) : at])
    found = _USERINFO[quote[1] if quote is not None else ""].match(text, at + 3)
    if found is None:
        token = _TOKEN_USER.match(text, at + 3)
        if token is not None and looks_secret(token[1]) and "sentry" not in text[token.end() : token.end() + 60]:
            yield *token.span(1), CREDENTIALS, "url"
        return
    value = found["password"]
    if _PORT.match(value) is not None or "://" in value:
        return
    if len(value) >= 3 and not is_reference(value):
        yield *found.span("password"), CREDENTIALS, "url"
    if len(found["user"]) >= 12 and (looks_secret(found["user"]) or value in _TOKEN_MARKS):
        yield *found.span("user"), CREDENTIALS, "url"


_AFTER_HEADER = (
    r"(?:\\{0,8}[\"'`\])]){0,4}(?:[ \t]{0,4}(?::|=>|[=,\x1e])|(?=[ \t]{1,3}[\"']))[ \t]{0,4}"
    r"(?:[rbfuF]?\\{0,8}[\"'`]{1,3})?[ \t]{0,2}"
)
_AUTHORIZATION = re.compile(
    _AFTER_HEADER + r"(?:(?P<scheme>[A-Za-z][\w-]{1,24})[ \t:]{1,3})?(?P<value>[^\s\"'`\\\x1e\x1f<>,;)]{4,4000})"
)
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


_COLUMNS = re.compile(r"\(([^()]{1,400})\)\s{0,8}\Z")
_ITEM = re.compile(
    r"\s{0,8}(?:\\{0,8}(?P<quote>['\"])(?P<string>[^'\"\n]{0,400}?)\\{0,8}['\"]|"
    r"(?P<other>[^,'\"()]{0,80}))\s{0,8}(?P<end>[,)])"
)
_NEXT_ROW = re.compile(r"\s{0,8},\s{0,8}\(")
MOST_ROWS = 100


def _inserted(text: str, lowered: bytes, at: int, keyword: bytes) -> Iterator[Match]:
    """Yield the secrets in the rows that are inserted into a table."""
    columns = _COLUMNS.search(text[max(0, at - 410) : at])
    names = [read_name(name.strip(" \t\r\n\"'`[]\\")) for name in columns[1].split(",")] if columns is not None else []
    start = text.find("(", at, at + 20) + 1 if any(names) else 0
    for _ in range(MOST_ROWS):
        for name in names if start else ():
            found = _ITEM.match(text, start)
            if found is None:
                return
            if name is not None and found["string"] is not None and _is_item(found["string"], name):
                yield *found.span("string"), name.kind, name.label
            start = found.end()
            if found["end"] == ")":
                break
        more = _NEXT_ROW.match(text, start) if start else None
        if more is None:
            return
        start = more.end()


def _is_item(value: str, name: SecretName) -> bool:
    return is_literal_secret(value, is_password=name.kind == PASSWORD, is_strong=name.is_strong)


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
    before = max(text.rfind(key, max(0, at - MANIFEST_SIZE), at) for key in _DATA_KEYS)
    after = min((start for key in _DATA_KEYS if (start := text.find(key, at, at + MANIFEST_SIZE)) >= 0), default=-1)
    for start in (before, after):
        data = _JSON_DATA.match(text, start) if start >= 0 else None
        entry = _JSON_ENTRY.match(text, data.end()) if data is not None else None
        while entry is not None and abs(entry.start() - at) < MANIFEST_SIZE:
            if is_word_secret(entry["value"]):
                yield *entry.span("value"), MANIFEST, "kubernetes_secret"
            entry = _JSON_ENTRY.match(text, entry.end())


FINDERS: dict[bytes, list[Finder]] = {
    b"://": [_address],
    b"cookie": [_cookies],
    b"values": [_inserted],
    b"kind": [_manifest],
    b"auth": [_authorization],
    **{keyword: list(finders) for keyword, finders in COMMAND_FINDERS.items()},
}
"""The searches at each keyword."""
for _place in PLACES:
    for _keyword in _place.keywords.split("|"):
        FINDERS.setdefault(_keyword.encode(), []).append(_PlaceFinder(_place))


class TableColumn(NamedTuple):
    """A column of a table."""

    values: list[tuple[int, int]]
    """Where its values begin and end."""
    head_end: int
    end: int
    """Where the table ends."""


def read_column(text: str, start: int, end: int) -> TableColumn | None:
    """Return the column that a name heads; None if it does not stand in the head of a table."""
    first = max(text.rfind(sign, max(0, start - _LONGEST_ROW), start) for sign in "\n\x1e\x1f") + 1
    last = text.find("\n", end, end + _LONGEST_ROW)
    head = text[first:last].rstrip("\r")
    if last < 0 or len(head) > _LONGEST_ROW:
        return None
    separator = next((sign for sign in "|\t,;" if sign in head), "")
    cells = head.split(separator) if separator else []
    names = [cell for cell in cells if cell.strip(_QUOTES)]
    is_list = separator in ",;" and (len(names) < len(cells) or ", " in head)  # of strings, or of names in code
    if len(names) < 2 or is_list or any(_HEAD_CELL.fullmatch(cell) is None for cell in cells):
        return None
    found = TableColumn([], last, last)
    for _ in range(MOST_TABLE_ROWS):
        at = found.end + 1
        stop = text.find("\n", at, at + _LONGEST_ROW)
        row = _END_OF_STRING.split(text[at : stop if stop >= 0 else at + _LONGEST_ROW], maxsplit=1)[0]
        values = row.split(separator)
        if _RULE.fullmatch(row.rstrip("\r")) is None:
            if len(values) != len(cells):
                break
            column = text.count(separator, first, start)
            cell = values[column]
            place = at + sum(len(value) + 1 for value in values[:column]) + len(cell) - len(cell.lstrip(_QUOTES))
            found.values.append((place, place + len(cell.strip(_QUOTES))))
        found = found._replace(end=at + len(row))
        if stop != found.end:
            break
    return found
