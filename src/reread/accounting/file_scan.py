"""The scan of one file for usage, from where the digest that is known of it ends."""

from __future__ import annotations

import msgspec

from reread.accounting.digest import UsageCache, UsageDigest, decode_digest, file_owner
from reread.accounting.scan import ReadBuffer, Scanner
from reread.disk.cache import FileState
from reread.disk.derived_cache import DerivedValue, ReadAt, proof_at

ReadResult = tuple[DerivedValue, UsageDigest]
"""The digest of a file to be cached, and the digest with an incomplete last line."""


class FileScan:
    """Scans the new bytes of a file, whoever reads them."""

    def __init__(
        self, path: str, state: FileState, read_at: ReadAt, known: DerivedValue | None, buffer: ReadBuffer | None = None
    ) -> None:
        """Scan a file from the end of a known digest, or from the start if it is not of the same file."""
        continued = known if known is not None and known.is_continued(state, read_at) else None
        before = decode_digest(continued.value) if continued is not None else None
        agent, session = file_owner(path)
        self.scanner: Scanner = Scanner(before, session=session, agent=agent, buffer=buffer)
        if continued is not None and before is not None:
            self.scanner.offset = continued.offset
        self.position: int = self.scanner.offset
        """Where the next bytes are expected."""
        self._path, self._state, self._read_at = path, state, read_at

    def feed(self, offset: int, data: bytes) -> None:
        """Scan the bytes at an offset, without those that are known."""
        new = data[self.position - offset :] if offset < self.position else data
        self.scanner.feed(new)
        self.position += len(new)

    def finish(self) -> ReadResult:
        """Return the digest, once all bytes have been scanned."""
        scanner = self.scanner
        proof = proof_at(self._read_at, scanner.offset)
        if not scanner.digest.resumable:
            scanner.flush()
            scanner.offset, proof = self._state.size, b""
        encoded = scanner.digest.encode()
        scanner.flush()
        return DerivedValue(self._path, self._state, scanner.offset, proof, encoded), scanner.digest


class DigestUpdate:
    """A change of the digests in the catalogue: files are scanned while they are read for something else."""

    def __init__(self) -> None:
        self._cache = UsageCache()
        self._known = self._cache.files()
        self._buffer = ReadBuffer()
        self._fresh: list[DerivedValue] = []

    def scan(self, path: str, state: FileState, read_at: ReadAt, start: int) -> FileScan | None:
        """Return the scan of a file that is read from `start` on; None if its digest needs none of these bytes."""
        known = self._known.get(path)
        if known is not None and known.state == state:
            return None
        if known is not None:
            known = msgspec.structs.replace(known, value=self._cache.values([path]).get(path, b""))
        scan = FileScan(path, state, read_at, known, self._buffer)
        return scan if scan.position >= start else None

    def add(self, scan: FileScan) -> None:
        """Add the digest of a file that has been read to its end."""
        self._fresh.append(scan.finish()[0])

    def save(self) -> None:
        """Store the digests that were added."""
        self._cache.save(self._fresh)
        self._fresh = []

    def close(self) -> None:
        """Close the catalogue."""
        self._cache.close()
