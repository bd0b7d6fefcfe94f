"""Texts that are encoded in a text: base64 and hexadecimal, also over several lines, and compressed data in these."""

from __future__ import annotations

import base64
import re
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from reread.redaction.certain import find_certain
from reread.redaction.spans import CERTAIN, LIKELY, Span
from reread.redaction.vendors import VENDORS, keyword_regex
from reread.redaction.words import words_regex

SHORTEST = 20
SHORTEST_BYTES = 36
"""Fewer characters are too few for compressed data, and for bytes in which a secret stands between others."""
UUID_LENGTH = 36
WRAPPED = 40
"""A line with so many encoded characters may be one of several."""
LARGEST = 1 << 22
"""How much of compressed data is read."""
_RAW_DEFLATE, _ZLIB, _GZIP = -zlib.MAX_WBITS, zlib.MAX_WBITS, zlib.MAX_WBITS + 16

_RUN = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_STANDARD_RUN = re.compile(r"[A-Za-z0-9+/]{20,}={0,2}")
_HEX = re.compile(r"(?:[0-9a-f]{2}){20,}|(?:[0-9A-F]{2}){20,}")
_LINE = re.compile(
    r"(?:[ \t]{0,12}\d{1,7}[→:|\t])?[ \t+>|-]{0,12}([A-Za-z0-9+/]+={0,2})"
    r"(?:([ \t]*(?:\r?\n|$))|(?=[<\"'`)\]}\\\x1e\x1f]))"
)
"""A line that is nothing but encoded; the last may be followed by a bracket or a quote."""
_CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\r\x1b")


class DecodedText(NamedTuple):
    """The content of an encoded text."""

    text: str
    encode: Callable[[str], str]
    """Encodes another text in the same way."""


def encoded_runs(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield what may be encoded in a text: its place and its characters, without line ends."""
    done = 0
    for run in _RUN.finditer(text):
        start, end = run.span()
        if end - start == UUID_LENGTH and text[start + 8] == "-" == text[start + 13]:
            continue
        if start >= done and end - start >= WRAPPED and text[end : end + 2].lstrip("\r")[:1] == "\n":
            for before in "_/+":
                first, done, encoded = _wrapped_run(text, max(start, text.rfind(before, start, end) + 1))
                yield first, done, encoded
        behind = text.rfind("/", start, end) + 1
        if behind > start and end - behind >= SHORTEST_BYTES:  # a name in a folder
            yield behind, end, text[behind:end]
        for start, end in _alphabets(text, run):
            yield start, end, text[start:end]
            digits = _HEX.search(text, start, end) if end - start > WRAPPED else None
            if digits is not None and digits.span() != (start, end):
                yield *digits.span(), digits[0]


def _wrapped_run(text: str, start: int) -> tuple[int, int, str]:
    """Return where an encoded text of several lines begins and ends, and its characters.

    All its lines have the same length, but for the last, which may be shorter; a path may stand before the first.
    """
    lines: list[str] = []
    at = end = start
    while at < len(text):
        line = _LINE.match(text, at)
        if line is None or (lines and len(line[1]) > len(lines[-1])):
            break
        is_last = line[2] is None or line[1].endswith("=") or (len(lines) > 1 and len(line[1]) < len(lines[-1]))
        lines.append(line[1])
        at, end = line.end(), line.end(1)
        if is_last:
            break
    before = len(lines[0]) - len(lines[1]) if len(lines) > 2 else 0
    return start + before, max(end, start + 1), "".join(lines)[before:]


def _alphabets(text: str, run: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the parts of a run that one of the two alphabets of base64 covers."""
    start, end = run.span()
    has_url = text.find("-", start, end) >= 0 or text.find("_", start, end) >= 0
    if not has_url or (text.find("+", start, end) < 0 and text.find("/", start, end) < 0):
        yield start, end
    if has_url:
        for part in _STANDARD_RUN.finditer(text, start, end):
            yield part.span()


def decode_text(encoded: str) -> DecodedText | None:
    """Return what an encoded text says; None if it says nothing that can be read."""
    if _HEX.fullmatch(encoded) is not None:
        data = bytes.fromhex(encoded)
        if _is_text(data, whole=True):
            return DecodedText(data.decode(), _encode_hex)
    url = "-" in encoded or "_" in encoded
    body = encoded.rstrip("=")
    if len(body) < SHORTEST or "=" in body:
        return None
    altchars = b"-_" if url else None
    encode = partial(_encode_base64, url=url, padded=len(body) != len(encoded) or len(body) % 4 == 0)
    if len(body) % 4 != 1:
        head = base64.b64decode(body[:24] if len(body) >= 24 else body[:20], altchars)
        wide = head[1::2].strip(b"\0") == b""
        if wide or len(body) >= SHORTEST_BYTES or _is_text(head, whole=False):
            data = base64.b64decode(body + "=" * (-len(body) % 4), altchars)
            if wide:
                return _decoded(data, "utf-16-le", encode)
            if _is_text(data, whole=True):
                return _decoded(data, "utf-8", encode)
            if unpacked := _unpacked(data, encode):
                return unpacked
    return _bytes_with_secret(body, altchars, encode) if len(body) >= SHORTEST_BYTES else None


def _decoded(data: bytes, charset: str, encode: Callable[[bytes], str]) -> DecodedText | None:
    try:
        return DecodedText(data.decode(charset), partial(_encode_text, charset=charset, encode=encode))
    except UnicodeDecodeError:
        return None


def _unpacked(data: bytes, encode: Callable[[bytes], str]) -> DecodedText | None:
    """Return the text in compressed data."""
    for bits in (_GZIP, _ZLIB, _RAW_DEFLATE):
        try:
            unpacked = zlib.decompressobj(bits).decompress(data, LARGEST)
        except zlib.error:
            continue
        if len(unpacked) >= SHORTEST and _is_text(unpacked[:24], whole=False):
            text = unpacked.decode("utf-8", "replace")
            return DecodedText(text, partial(_encode_packed, bits=bits, encode=encode))
    return None


def _encode_packed(text: str, *, bits: int, encode: Callable[[bytes], str]) -> str:
    packer = zlib.compressobj(wbits=bits)
    return encode(packer.compress(text.encode("utf-8", "replace")) + packer.flush())


def _bytes_with_secret(body: str, altchars: bytes | None, encode: Callable[[bytes], str]) -> DecodedText | None:
    """Return bytes that are no text, if a secret may stand between others in them; a path may stand before it."""
    for shift in range(4):
        aligned = body[shift : len(body) - ((len(body) - shift) % 4 == 1)]
        text = base64.b64decode(aligned + "=" * (-len(aligned) % 4), altchars).decode("latin-1")
        if keyword_regex().search(text) is not None and any(find_certain(text)):
            return DecodedText(text, partial(_encode_text, charset="latin-1", encode=encode, before=body[:shift]))
    return None


def _is_text(data: bytes, *, whole: bool) -> bool:
    if data.translate(None, _CONTROLS) != data:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return not whole and error.start >= len(data) - 3
    return True


def _encode_hex(text: str) -> str:
    return text.encode("utf-8", "replace").hex()


def _encode_text(text: str, *, charset: str, encode: Callable[[bytes], str], before: str = "") -> str:
    return before + encode(text.encode(charset, "replace"))


def _encode_base64(data: bytes, *, url: bool, padded: bool) -> str:
    out = (base64.urlsafe_b64encode(data) if url else base64.b64encode(data)).decode()
    return out if padded else out.rstrip("=")


OTHER = "secret"
"""The kind in the replacement of what another scanner found."""
KINDS = frozenset(
    (
        *(vendor.name for vendor in VENDORS),
        *("password", "key-or-token", "url-password", "authorization", "cookie", "signature", "text", OTHER),
    )
)
REDACTED, UNDECIDED = "redacted-", "undecided-"
"""How a replacement begins, and what stands in its place in a preview as long as nobody decided."""
_BEGINNINGS = sorted(f"{word}{kind}-" for word in (REDACTED, UNDECIDED) for kind in KINDS)
DEEPEST = 3
"""How many texts may be encoded in one another."""

_OPEN, _CLOSE = r"(?:\\{0,8}\[|%(?:25)?5[Bb]|&#(?:91|x5[Bb]);)", r"(?:\\{0,8}\]|%(?:25)?5[Dd]|&#(?:93|x5[Dd]);)"
_WORD = f"(?:{REDACTED}|{UNDECIDED})"
_REPLACEMENT = re.compile(rf"{_OPEN}{_WORD}{words_regex(KINDS).pattern}-[0-9]{{1,6}}(?:{_CLOSE}|(?![A-Za-z0-9-]))")
_CUT_OFF = re.compile(rf"{_OPEN}({_WORD}[a-z0-9-]{{0,90}})(?![\w\]%&\\-])")
_PSEUDONYM = re.compile(
    r"(?<![A-Za-z0-9])(?:person-[0-9a-f]{6}@example\.com|owner-[0-9a-f]{6}(?:/repo-[0-9a-f]{6})?"
    r"|(?:user|host|person|phone)-[0-9a-f]{6})(?![A-Za-z0-9])"
)

_SIGNS = " \t\r\n\"'`\\,.;:!?()[]{}<>|=&/*_-+@#$%~^"
"""Text between two replacements that says nothing."""


def find_written(text: str) -> list[tuple[int, int]]:
    """Return where a text is of our own writing, in order."""
    found = [match.span() for match in _PSEUDONYM.finditer(text)]
    if REDACTED in text or UNDECIDED in text:
        found += (match.span() for match in _REPLACEMENT.finditer(text))
        found += (match.span() for match in _CUT_OFF.finditer(text) if _is_beginning(match[1]))
    return sorted(found)


def _is_beginning(name: str) -> bool:
    """True for the beginning of a replacement that a title or a preview cut off."""
    at = bisect_left(_BEGINNINGS, name)
    return at < len(_BEGINNINGS) and _BEGINNINGS[at].startswith(name)


def foreign_parts(span: Span, text: str, own: list[tuple[int, int]]) -> Iterator[Span]:
    """Yield what a span has besides our own writing; all of what is certain, unless it is ours as a whole."""
    within = [(start, end) for start, end in own if start < span.end and span.start < end]
    if span.level == LIKELY:
        within += (
            (span.start + start, span.start + end)
            for start, end, encoded in encoded_runs(span.value)
            if _is_written_again(encoded)
        )
    if not within:
        yield span
        return
    if span.level == CERTAIN:
        if not any(start <= span.start and span.end <= end for start, end in within):
            yield span
        return
    at = span.start
    for start, end in (*sorted(within), (span.end, span.end)):
        part = text[at : max(at, start)]
        value = part.strip(_SIGNS)
        if value:
            first = at + part.index(value)
            yield Span(first, first + len(value), value, span.kind, span.level, name=span.name)
        at = max(at, end)


def _is_written_again(encoded: str, depth: int = DEEPEST) -> bool:
    """True for an encoded text in which something was replaced; what else is in it is found there."""
    decoded = decode_text(encoded) if depth else None
    if decoded is None:
        return False
    return bool(find_written(decoded.text)) or any(
        _is_written_again(inner, depth - 1) for _, _, inner in encoded_runs(decoded.text)
    )
