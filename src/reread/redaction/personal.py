"""Personal details: home folders, user and host names, e-mail addresses, phone numbers, authors, git remotes."""

from __future__ import annotations

import getpass
import hashlib
import hmac
import os
import re
import socket
from collections.abc import Callable, Iterable, Iterator

from reread.redaction.spans import PERSONAL, Span

USER, HOST, EMAIL, PERSON, REMOTE, PHONE = "user", "host", "email", "person", "git-remote", "phone"

GENERIC = frozenset(
    """root user users username me you name home admin administrator guest public shared default app apps node ubuntu
    debian vscode codespace runner runneradmin ec2-user centos vagrant docker jenkins git www-data nobody claude
    yourname your-name someone test tester dev developer alice-example work workspace project code src local system
    linuxbrew container sandbox agent build builder ci circleci travis nonroot jovyan pi coder gitpod""".split()
)
"""Names that say nothing about a person."""
ORDINARY = frozenset(
    """max will mark bill grant rob art dean drew faith frank grace hope iris ivy jack jade joy june kit lance miles
    page pat penny pierce ray reed rich rose ruby sandy sky sue ted theo tom victor wade main data site web index master
    demo temp team office server client desktop laptop computer macbook mac pc linux windows one two new old""".split()
)
"""User names that are words of code and prose as well: replaced only in paths and addresses."""
GENERIC_HOSTS = frozenset(
    "localhost localhost.localdomain host hostname docker buildkitsandbox runner container vm".split()
)
RESERVED_DOMAINS = ("example.com", "example.org", "example.net", ".example", ".test", ".invalid", ".local", "localhost")
SERVICE_MAILBOXES = frozenset(("noreply@anthropic.com", "git@github.com", "git@gitlab.com", "git@bitbucket.org"))
SHORTEST_NAME = 3

_POSIX_HOME = re.compile(r"/(?:home|Users)/+([A-Za-z0-9][\w.-]{0,63})", re.ASCII)
_WINDOWS_HOME = re.compile(r"(?i)\bUsers[\\/]+([^\\/:*?\"<>|\r\n\t\x1e\x1f]{1,40})(?=[\\/\"'\s\x1e\x1f]|$)")
_FOLDER_HOME = re.compile(r"-(?:home|Users)-([A-Za-z0-9][A-Za-z0-9]{0,63})", re.ASCII)
"""A home folder in the name of a folder of Claude Code."""
_MAILBOX_BACKWARDS = re.compile(r"[A-Za-z0-9_%+-][A-Za-z0-9._%+-]{0,63}", re.ASCII)
_DOMAIN = re.compile(
    r"@((?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24})(?![A-Za-z0-9])", re.ASCII
)
_AUTHOR = re.compile(
    r"(?:[Aa]uthor|Commit|[Cc]ommitter|From|To|Cc|-[Bb]y|Tagger):[ \t]{1,8}([^<>\r\n\x1e\x1f@:]{2,60}?)[ \t]{1,4}$"
)
"""The words before an address in a commit or a message."""
_UNAME = re.compile(r"Linux ([A-Za-z0-9][\w.-]{2,63}) \d+\.\d+\.\d", re.ASCII)
_SSH_REMOTE = re.compile(r"git@([A-Za-z0-9.-]{1,80})[:/]([\w.~/-]{1,160})", re.ASCII)
_BEFORE_REMOTE = re.compile(r"(?:(?:origin|upstream)\s{1,8}|(?:^|\n)(?:To|From) |url ?= ?)(?:https?|ssh)$")
_REMOTE_URL = re.compile(
    r"://(?:[^\s/@]{1,80}@)?([A-Za-z0-9.-]{1,80})(?::\d+)?/([\w.~-]{1,80}/[\w.~/-]{1,120})", re.ASCII
)
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{2,62}(?=[:\s])")
_PHONE = re.compile(
    r"[+0](?<![\w+/=.-].)(?:(?<=\+)|(?<=0)(?<![0-9]:0)0(?=[1-9][0-9]{0,2}[ \u00a0]))"
    r"(?:[1-9][0-9]{0,2}(?:[ \u00a0./-]?\(?[0-9]{1,6}\)?){1,6})(?![\w:]|[.,][0-9])",
    re.ASCII,
)
"""A phone number with the code of its country; people group the digits as they like."""
PHONE_DIGITS = range(9, 16)
_NATIONAL = re.compile(
    r"[(02-9](?<![\w+/=.:#@-].)(?:(?<=0)[1-9][0-9]{0,4}[ /-](?:[0-9]{2,8}[ -]?){1,5}"
    r"|(?<=\()[0-9]{2,5}\) ?[0-9]{3,4}[ -]?[0-9]{3,6}|(?<=[2-9])[0-9]{2}[-. ][0-9]{3}[-. ][0-9]{4})"
    r"(?<=[0-9])(?![\w:/-]|[.,][0-9])",
    re.ASCII,
)
"""A phone number as it is written within a country; a date or an id may look like one."""
_PHONE_WORD = re.compile(
    r"(?i)(?:phone|\btel|mobile?\b|\bhandy|\bcell\b|\bfax|whatsapp|call(?: \w+)?(?: (?:at|on))?[: ]*\Z|\bruf|number is"
    r"|nummer|t[ée]l[ée]f|电话|手机|電話|携帯|전화|휴대|телефон)"
)
"""What stands before one on its line."""
_PSEUDONYM = re.compile(r"(?:user|host|person|owner|repo)-[0-9a-f]{6}")
_BOTS = ("Claude", "claude", "GitHub", "dependabot[bot]", "github-actions[bot]")


class Personal:
    """The personal details of one export: what they are, and their pseudonyms."""

    def __init__(self, key: bytes, *, users: Iterable[str] = (), hosts: Iterable[str] = ()) -> None:
        self._key = key
        self.users: set[str] = {name for name in users if is_name(name)}
        """The names of the person whose session it is."""
        self.hosts: set[str] = {name for name in hosts if is_host(name)}

    def pseudonym(self, kind: str, value: str) -> str:
        """Return what a detail is replaced by: always the same in one export."""
        if kind == EMAIL:
            return f"person-{self._code(EMAIL, value.lower())}@example.com"
        if kind == REMOTE:
            owner, _, rest = value.partition("/")
            names = [f"owner-{self._code(REMOTE, owner)}", *([f"repo-{self._code(REMOTE, value)}"] if rest else [])]
            return "/".join(names)
        return f"{kind}-{self._code(kind, value.lower())}"

    def _code(self, kind: str, value: str) -> str:
        data = f"{kind}\0{value}".encode("utf-8", "replace")
        return hmac.new(self._key, data, hashlib.sha256).hexdigest()[:6]

    def known(self) -> Iterator[Span]:
        """Yield the names to look for everywhere."""
        for name in sorted(self.users):
            for form in dict.fromkeys((name, name.capitalize(), name.lower())):
                if form.lower() not in ORDINARY:
                    yield Span(0, 0, form, USER, PERSONAL)
        for name in sorted(self.hosts):
            yield Span(0, 0, name, HOST, PERSONAL)

    def find(self, text: str) -> Iterator[Span]:
        """Yield the personal details that their form gives away."""
        if "/home/" in text or "/Users/" in text:
            yield from _groups(_POSIX_HOME, text, USER, is_name)
        if "sers\\" in text or "sers/" in text:
            yield from _groups(_WINDOWS_HOME, text, USER, is_name)
        if "-home-" in text or "-Users-" in text:
            yield from _groups(_FOLDER_HOME, text, USER, is_name)
        if "git@" in text:
            yield from _remotes(_SSH_REMOTE.finditer(text))
        yield from _remotes(_remote_urls(text))
        if "@" in text:
            yield from _emails(text)
            yield from self._prompts(text)
            yield from _authors(text)
        if "+" in text or "00" in text:
            yield from _phones(text)
        yield from _national_phones(text)
        if "Linux " in text:
            yield from _groups(_UNAME, text, HOST, is_host)

    def _prompts(self, text: str) -> Iterator[Span]:
        """Yield the hosts in what a shell shows: name@host."""
        for name in self.users:
            at = text.find(f"{name}@")
            while at >= 0:
                start = at + len(name) + 1
                found = _HOST.match(text, start)
                if found is not None and is_host(found[0]):
                    yield Span(start, found.end(), found[0], HOST, PERSONAL)
                at = text.find(f"{name}@", start)


def own_names() -> tuple[list[str], list[str]]:
    """Return the names of this machine's user and of this machine."""
    users = [os.path.basename(os.path.expanduser("~").rstrip("\\/"))]
    try:
        users.append(getpass.getuser())
    except (OSError, KeyError):  # the user has no name here
        pass
    host = socket.gethostname()
    return users, [host, host.partition(".")[0]]


def home_users(folders: Iterable[str]) -> Iterator[str]:
    """Yield the users in whose home folders some folders lie."""
    for folder in folders:
        for pattern in (_POSIX_HOME, _WINDOWS_HOME):
            found = pattern.match(folder) if pattern is _POSIX_HOME else pattern.search(folder[:60])
            if found is not None:
                yield found[1]


def is_name(name: str) -> bool:
    """True if a user's name says something about a person."""
    return len(name) >= SHORTEST_NAME and name.lower() not in GENERIC and not _PSEUDONYM.fullmatch(name)


def is_host(name: str) -> bool:
    """True if a host's name says something about a machine."""
    return len(name) >= 4 and name.lower() not in GENERIC_HOSTS and not _PSEUDONYM.fullmatch(name)


def _is_person(name: str) -> bool:
    return name not in _BOTS and not name.startswith("Claude") and not _PSEUDONYM.fullmatch(name)


def _groups(pattern: re.Pattern[str], text: str, kind: str, accept: Callable[[str], bool]) -> Iterator[Span]:
    for found in pattern.finditer(text):
        if accept(found[1]):
            yield Span(found.start(1), found.end(1), found[1], kind, PERSONAL)


def _authors(text: str) -> Iterator[Span]:
    at = text.find("<")
    while at >= 0:
        first = max(0, at - 90)
        found = _AUTHOR.search(text[first:at]) if "@" in text[at : at + 80] else None
        if found is not None and _is_person(found[1]):
            yield Span(first + found.start(1), first + found.end(1), found[1], PERSON, PERSONAL)
        at = text.find("<", at + 1)


def _phones(text: str) -> Iterator[Span]:
    for found in _PHONE.finditer(text):
        number = found[0]
        is_added_line = number[1:].isdigit() and text[found.start() - 1 : found.start()] in ("", "\n")  # of a patch
        if sum(map(str.isdigit, number)) in PHONE_DIGITS and not is_added_line:
            yield Span(*found.span(), number, PHONE, PERSONAL)


def _national_phones(text: str) -> Iterator[Span]:
    for found in _NATIONAL.finditer(text):
        before = text[max(0, found.start() - 40) : found.start()].rpartition("\n")[2]
        if sum(map(str.isdigit, found[0])) in PHONE_DIGITS and _PHONE_WORD.search(before) is not None:
            yield Span(*found.span(), found[0], PHONE, PERSONAL)


def _remote_urls(text: str) -> Iterator[re.Match[str]]:
    """Yield the addresses that git names as those of a repository."""
    at = text.find("://")
    while at >= 0:
        found = _REMOTE_URL.match(text, at) if _BEFORE_REMOTE.search(text[max(0, at - 24) : at]) else None
        if found is not None:
            yield found
        at = text.find("://", at + 3)


def _remotes(matches: Iterable[re.Match[str]]) -> Iterator[Span]:
    for found in matches:
        path = found[2].rstrip("/.").removesuffix(".git")
        if "/" in path and not path.startswith("owner-"):
            yield Span(found.start(2), found.start(2) + len(path), path, REMOTE, PERSONAL)


def _emails(text: str) -> Iterator[Span]:
    at = text.find("@")
    while at >= 0:
        domain = _DOMAIN.match(text, at)
        mailbox = _MAILBOX_BACKWARDS.match(text[max(0, at - 64) : at][::-1]) if domain is not None else None
        if domain is not None and mailbox is not None:
            start, end = at - mailbox.end(), domain.end()
            while start < at and text[start] in ".%+-":
                start += 1
            address = text[start:end]
            if start < at and _is_personal(address, domain[1].lower()) and text[end : end + 1] != ":":
                yield Span(start, end, address, EMAIL, PERSONAL)
        at = text.find("@", at + 1)


def _is_personal(address: str, domain: str) -> bool:
    if address.lower() in SERVICE_MAILBOXES or domain.endswith(RESERVED_DOMAINS):
        return False
    return not domain.endswith((".py", ".js", ".ts", ".json", ".md", ".png", ".svg", ".css", ".html"))
