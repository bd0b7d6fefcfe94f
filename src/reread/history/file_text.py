"""The text of a file as the client sees it, and as it is on disk if that is known.

The client reads UTF-8, or UTF-16 behind its byte order mark, turns CRLF into LF, and turns it back when it writes.
Results have the text with LF; whether the file has CRLF is known only from a backup, or if the session wrote the file.
"""

from __future__ import annotations

import re
from typing import NamedTuple

BOM = "\ufeff"
CRLF = "\r\n"
UTF8, UTF16, BYTES = "utf-8", "utf-16-le", "latin-1"
SAMPLE = 4096
"""How many characters the client looks at to tell how lines end."""
_SURROGATES = re.compile("[\ud800-\udfff]")


class FileText(NamedTuple):
    """The text of a file at some time."""

    text: str
    """With LF at the end of lines, and without a byte order mark."""
    written: str | None = None
    """Exactly as on disk; None if line ends or encoding are unknown."""
    encoding: str = UTF8

    @property
    def data(self) -> bytes | None:
        """The bytes on disk; None if line ends or encoding are unknown."""
        if self.written is None:
            return None
        return _SURROGATES.sub("\ufffd", self.written).encode(self.encoding)

    @property
    def best_data(self) -> bytes:
        """The bytes on disk, or the text in UTF-8 with LF."""
        return self.data if self.written is not None else _SURROGATES.sub("\ufffd", self.text).encode()  # type: ignore[return-value]

    @classmethod
    def from_bytes(cls, data: bytes) -> FileText:
        """Return the text of a file with these bytes."""
        if data[:2] == b"\xff\xfe" and len(data) % 2 == 0:
            written, encoding = data.decode(UTF16, "surrogatepass"), UTF16
        else:
            try:
                written, encoding = data.decode(UTF8), UTF8
            except UnicodeDecodeError:
                return cls(normalized_text(data.decode(UTF8, "replace")), data.decode(BYTES), BYTES)
        return cls(normalized_text(written), written, encoding)

    @classmethod
    def stated(cls, text: str) -> FileText:
        """Return the text that a result states, which may have had CRLF and another encoding on disk."""
        plain = text.removeprefix(BOM)
        return cls(plain, plain if plain == text and "\n" not in text else None)

    def edited(self, text: str) -> FileText:
        """Return the file after the client changed its text: it keeps the encoding and the way lines end."""
        if self.written is None or self.encoding == BYTES:
            return FileText(text)
        mark = BOM if self.written.startswith(BOM) else ""
        return FileText(text, mark + (text.replace("\n", CRLF) if self.has_crlf else text), self.encoding)

    @property
    def has_crlf(self) -> bool:
        """True if most lines at the beginning of the file on disk end with CRLF."""
        head = (self.written or "")[:SAMPLE]
        pairs = head.count(CRLF)
        return pairs > head.count("\n") - pairs


def normalized_text(text: str) -> str:
    """Return a text without a byte order mark and with LF at the end of lines."""
    text = text.removeprefix(BOM)
    return text.replace(CRLF, "\n") if CRLF in text else text
