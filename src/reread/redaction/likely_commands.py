"""Commands that get a secret: as an option, as one of their words, through a pipe, or to put it into a store."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from reread.redaction.secret_names import PASSWORD
from reread.redaction.secret_values import is_chosen, is_odd, is_word_secret
from reread.redaction.words import words_regex

LINE = 600
"""How much of a command is read."""

Match = tuple[int, int, str, str]
"""Where a value begins and ends, its kind, and what it is called."""
Finder = Callable[[str, bytes, int, bytes], Iterator[Match]]
"""Gets a text, the same in lower case, where a keyword stands, and the keyword."""

VALUE = (
    r"(?:\\{0,8}\"(?P<double>[^\"\n\x1e\x1f]{2,200}?)\\{0,8}\"|\\{0,8}'(?P<single>[^'\n\x1e\x1f]{2,200}?)\\{0,8}'"
    r"|(?P<bare>[^\s\"'`;&|<>()\\\x1e\x1f-][^\s\"'`;&|<>()\\\x1e\x1f]{2,200}))"
)
"""A word of a command."""
_USER = r"[\w.@+\\%-]{1,80}"
_OTHER_COOKIES = r"(?:[^\"'\n]{0,200};[ \t]{0,2})?"
_SESSION_COOKIE = r"[\w.-]{0,40}(?:sess|sid|auth|token|jwt|remember)[\w.-]{0,40}"


class ClientCommand(NamedTuple):
    """A command, and what leads to a secret in its words."""

    words: str
    """Names of programs, separated by spaces."""
    lead: str
    """A regular expression for what stands before the secret, on the same line."""
    inside: str = ""
    """A text without which the command has no secret there."""


# fmt: off
COMMANDS: tuple[ClientCommand, ...] = (
    ClientCommand("sshpass", r"[ \t]-p[ \t]{0,4}"),
    ClientCommand("mysql mariadb mysqldump mysqladmin mariadb-dump", r"[ \t]-p(?=[^\s])"),
    ClientCommand("7z 7za rar", r"[ \t]-h?p(?=[^\s])"),
    ClientCommand("docker podman helm skopeo buildah nerdctl az oc crane", r"[ \t]-p[ \t]{1,4}", "login"),
    ClientCommand("mongo mongosh mongodump mongorestore twine cqlsh cypher-shell", r"[ \t]-p[ \t]{1,4}"),
    ClientCommand("az", r"[ \t]-p[ \t]{1,4}", " -u "),
    ClientCommand("beeline psexec useradd usermod", r"[ \t]-p[ \t]{1,4}"),
    ClientCommand("redis-cli valkey-cli keydb-cli", r"[ \t]-a[ \t]{1,4}"),
    ClientCommand("curl wget", rf"[ \t](?:-\w{{0,6}}[uU]|--user|--proxy-user)[ \t=]{{0,3}}[\"']?{_USER}:(?=[^\s/])"),
    ClientCommand("curl wget", rf"[ \t](?:-b|--cookie)[ \t=]{{0,3}}[\"']?{_OTHER_COOKIES}{_SESSION_COOKIE}="),
    ClientCommand("http https xh", rf"[ \t](?:-a|--auth)[ \t=]{{1,3}}[\"']?{_USER}:"),
    ClientCommand("openssl", r"[ \t](?:-k|passwd[ \t](?:-\w{1,8}[ \t]){0,3})[ \t]{0,4}(?!-)"),
    ClientCommand("ansible-vault", r"[ \t]encrypt_string[ \t]{1,4}"),
    ClientCommand("security", r"[ \t]-w[ \t]{1,4}", "-password"),
    ClientCommand("networksetup", r"-setairportnetwork[ \t]\S{1,40}[ \t](?:\"[^\"\n]{1,60}\"|\S{1,60})[ \t]{1,4}"),
    ClientCommand("dscl", r"[ \t]-?passwd[ \t]\S{1,99}[ \t]{1,4}"),
    ClientCommand("ldapsearch ldapadd ldapmodify ldapwhoami ldappasswd ldapdelete", r"[ \t]-w[ \t]{0,4}"),
    ClientCommand("ldappasswd", r"[ \t]-[sa][ \t]{0,4}"),
    ClientCommand("smbclient", r"[ \t]//\S{1,99}[ \t]{1,4}"),
    ClientCommand("smbclient rpcclient smbmap", rf"[ \t]-U[ \t]{{0,4}}[\"']?{_USER}?%"),
    ClientCommand("htpasswd", r"[ \t]-\w{0,6}b\w{0,6}[ \t]{1,4}(?:[^\s-]\S{0,80}[ \t]{1,4}){1,2}(?=\S{1,99}\s*\Z)"),
    ClientCommand("zip unzip sqlcmd bcp isql ipmitool", r"[ \t]-P[ \t]{0,4}"),
    ClientCommand("sqlplus", r"[ \t][\w-]{1,40}/(?=[^\s/@]{3,100}@)"),
    ClientCommand("rabbitmqctl", r"(?:add_user|change_password|authenticate_user)[ \t]{1,4}\S{1,80}[ \t]{1,4}"),
    ClientCommand("net", rf"(?<=net)[ \t]user[ \t]{{1,4}}{_USER}[ \t]{{1,4}}(?!/)"),
    ClientCommand("net", r"(?<=net)[ \t]use[ \t][^\n]{1,80}/user:\S{1,80}[ \t]{1,4}(?!/)"),
    ClientCommand("net", r"(?<=net)[ \t]use[ \t](?:\w:[ \t]{1,4})?\\\\\S{1,80}[ \t]{1,4}(?![/*])(?=[^\n]{1,99}/user:)"),
    ClientCommand("xfreerdp rdesktop cmdkey", r"[ \t]/p(?:ass)?:"),
    ClientCommand("lftp", r"[ \t]-u[ \t]{1,4}[\"']?[\w.@+-]{1,80},"),
    ClientCommand("ssh-keygen", r"[ \t]-[NP][ \t]{1,4}"),
    ClientCommand("wpa_passphrase", r"[ \t]{1,4}\S{1,64}[ \t]{1,4}"),
    ClientCommand("snmpwalk snmpget snmpset", r"[ \t]-[AXc][ \t]{1,4}"),
    ClientCommand("mysqladmin", r"[ \t]password[ \t]{1,4}"),
    ClientCommand("poetry composer", r"http-basic\.\S{1,80}[ \t]{1,4}\S{1,80}[ \t]{1,4}"),
    ClientCommand("rclone", r"[ \t]obscure[ \t]{1,4}"),
    ClientCommand("expdp impdp", r"[ \t](?:userid=)?[\w-]{1,40}/(?=[^\s/@]{3,100}(?:@|\s|\Z))"),
    ClientCommand("mosquitto_passwd", r"[ \t]-b[ \t]{1,4}\S{1,80}[ \t]{1,4}\S{1,80}[ \t]{1,4}"),
    ClientCommand("kinit", r"[ \t]\S{1,80}[ \t]{0,4}<<<[ \t]{0,4}"),
    ClientCommand("scp sftp rsync", r"[ \t][\w.-]{1,60}:(?=[^\s/@:]{3,100}@)"),
    ClientCommand("convertto-securestring", r"[ \t]{1,4}(?:-\w{1,12}[ \t]{1,4})?"),
)
# fmt: on
_RARE = frozenset(
    b"rabbitmqctl sqlplus net wpa_passphrase mysqladmin xfreerdp rdesktop cmdkey convertto-securestring "
    b"curl htpasswd poetry composer rclone expdp impdp mosquitto_passwd kinit openssl smbclient "
    b"ansible-vault dscl networksetup scp sftp".split()
)
"""Commands that get a secret without an option, or after one that few others have."""
_COMMANDS: dict[bytes, list[tuple[re.Pattern[str], str]]] = {}
for _command in COMMANDS:
    for _word in _command.words.split():
        _COMMANDS.setdefault(_word.encode(), []).append((re.compile(_command.lead + VALUE), _command.inside))
_END_OF_COMMAND = re.compile(r"(?<!\\)\n|[\x1e\x1f]")
_PORTS = re.compile(r"[\d.:/-]+(?:tcp|udp)?")


def _words(text: str, lowered: bytes, at: int, keyword: bytes) -> Iterator[Match]:
    """Yield the secret among the words of a command."""
    end = at + len(keyword)
    if at and lowered[at - 1 : at].isalnum():
        return
    stop = _end_of_command(text, end)
    for pattern, inside in _COMMANDS[keyword]:
        found = pattern.search(text, end, stop) if inside in text[end:stop] else None
        if found is not None:
            yield from word_of(found, keyword.decode())


def _end_of_command(text: str, at: int) -> int:
    end = _END_OF_COMMAND.search(text, at, at + LINE)
    return end.start() if end is not None else min(len(text), at + LINE)


def word_of(
    found: re.Match[str], name: str, *, accept: Callable[[str], bool] = is_word_secret, kind: str = PASSWORD
) -> Iterator[Match]:
    """Yield the value that a pattern found, if it is one."""
    groups = found.groupdict()
    group = next(group for group in ("value", "double", "single", "bare") if groups.get(group) is not None)
    value = found[group]
    is_value = accept(value) and not _PORTS.fullmatch(value)
    if is_value and not (group == "bare" and (value.startswith("/") or value.endswith(("/", ":")))):
        yield *found.span(group), kind, name


_PIPED = re.compile(
    r"(?:echo|printf|Write-Output)(?:[ \t]{1,4}-\w{1,4})?(?:[ \t]{1,4}[\"']%s[^\"'\n]{0,8}[\"'])?[ \t]{1,4}"
    + VALUE.replace("bare>[^", "bare>[^:")
    + r"[ \t]{0,4}\|[^|\n]{0,80}\Z"
)
_HERE = re.compile(r"[^\n|;\x1e\x1f]{0,120}?<<<[ \t]{0,4}" + VALUE)
ENCODED = b"| base64"
"""What encodes any text; only what looks like a password is one."""
_DECODES = re.compile(r"[ \t]+(?:-d|-D|--decode)")
_READERS = (
    b"sudo -s",
    b"sudo -k",
    b"password-stdin",
    b"with-token",
    b"-stdin",
    b"chpasswd",
    b"passphrase-fd",
    b"cryptsetup",
    b"smbpasswd",
    b"secret-tool",
    b"vncpasswd",
    b"keepassxc-cli",
    b"pass insert",
    ENCODED,
)


def _piped(text: str, lowered: bytes, at: int, keyword: bytes) -> Iterator[Match]:
    """Yield what is given to a command that reads a password from its input."""
    first = max(0, at - 260, text.rfind("\n", 0, at) + 1)
    before = _PIPED.search(text[first : at + (keyword == ENCODED)])
    if keyword == ENCODED and (before is None or _DECODES.match(text, at + len(keyword)) is not None):
        return
    if before is not None:
        group = next(group for group in ("double", "single", "bare") if before[group] is not None)
        value = before[group].removesuffix("\\n")
        user = value.partition(":")[0] + ":" if keyword == b"chpasswd" and ":" in value else ""
        start, value = first + before.start(group) + len(user), value.removeprefix(user)
        if is_chosen(value) if keyword == ENCODED else is_word_secret(value):
            yield start, start + len(value), PASSWORD, keyword.decode().strip("| ")
    after = _HERE.match(text, at + len(keyword))
    if after is not None:
        yield from word_of(after, keyword.decode())


_STORED = re.compile(
    r"(?:--from-literal[= ][\"']?[\w.-]{1,80}=|[ \t]--?(?:body|b|value|secret-string)(?:[= ]|(?=[^\s-])))" + VALUE
)
_STORED_PAIR = re.compile(r"[ \t][\"']?[A-Za-z_][\w.-]{0,80}=" + VALUE)
_STORES = re.compile(
    rb"(?:kubectl|oc|gh|az|aws|glab|doppler|op)[ \t][^\n]{0,120}\Z"
    rb"|(?P<pairs>(?:fly|flyctl|vault|railway|supabase)[ \t][^\n]{0,80}\Z)"
)


def _stored(text: str, lowered: bytes, at: int, keyword: bytes) -> Iterator[Match]:
    """Yield what a command puts into a store of secrets, whatever it calls it there."""
    line = max(0, at - 140, lowered.rfind(b"\n", 0, at) + 1)
    store = _STORES.search(lowered, line, at)
    if store is not None:
        pattern, stop = _STORED_PAIR if store["pairs"] else _STORED, _end_of_command(text, at)
        for found in pattern.finditer(text, at, stop):
            yield from word_of(found, "secret")
    elif lowered.startswith((b" put", b" set", b" create", b"s create", b"s versions add"), at + len(keyword)):
        yield from _piped(text, lowered, at, keyword)


_OPTION = re.compile(rb"[puawknxbsch]|-user|-auth|-proxy-user|-cookie")
"""An option of one of the commands; these are looked for on its line only, as there are many."""
_COMMAND = re.compile(
    rb"(?<![a-z0-9])(" + words_regex(word.decode() for word in _COMMANDS).pattern.encode() + rb")[ \t.\w]"
)
_USER_OPTION = re.compile(
    r"[ \t]-(?:u|U|-user(?:name)?)[ \t=]?[\"']?[\w.@+-]{1,60}[\"']?[ \t](?:[^\n|;]{0,80}?[ \t])?-[pP][ \t]{0,2}" + VALUE
)
"""A name and a password, as many programs take them."""


def _options(text: str, lowered: bytes, at: int, keyword: bytes) -> Iterator[Match]:
    """Yield the secrets after the options of a command; it may have begun on a line before."""
    if _OPTION.match(lowered, at + len(keyword)) is None:
        return
    first = _start_of_command(text, at)
    known = list(_COMMAND.finditer(lowered, first, at + 1))
    for found in known:
        yield from _words(text, lowered, found.start(), found[1])
    pair = _USER_OPTION.match(text, at) if not known else None
    if pair is not None:
        yield from word_of(pair, "password", accept=is_odd)


def _start_of_command(text: str, at: int) -> int:
    first = text.rfind("\n", max(0, at - LINE), at)
    while first > 0 and text[first - 1] == "\\":
        first = text.rfind("\n", max(0, at - LINE), first)
    return max(0, at - LINE, first + 1)


COMMAND_FINDERS: dict[bytes, tuple[Finder, ...]] = {
    b"secret": (_stored,),
    b"put-parameter": (_stored,),
    **dict.fromkeys(_READERS, (_piped,)),
    **dict.fromkeys((word for word in _COMMANDS if word in _RARE), (_words,)),
    b" -": (_options,),
}
"""The searches at each keyword."""
