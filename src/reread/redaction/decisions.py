"""Decisions about findings, kept by HMAC: never the secret, and of no use on another machine."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from reread.base import jsontext
from reread.disk.layout import default_store
from reread.errors import Misuse, Unreadable, Unwritable
from reread.redaction.findings import KEEP, REPLACE, SensitiveText, alike
from reread.storage.atomic import write_atomic, write_new
from reread.storage.json_update import change_object
from reread.storage.kept_file import read_whole
from reread.storage.kept_names import SESSION_UUID
from reread.storage.safe_open import PRIVATE_FILE, make_private_folder, read_settings

KEY, DECISIONS, MAPS = "key", "decisions.json", "maps"
KEY_BYTES = 32


def share_folder() -> Path:
    """Return the folder with the key, the decisions and the maps of this machine."""
    return default_store() / "share"


class PrivateMap(msgspec.Struct, frozen=True):
    """What undoes an export."""

    originals: dict[str, str]
    """The texts by what they were replaced with."""
    session: str = ""
    """Whose texts they are; 0.3 has not written it down."""
    path: str = ""
    """The session's file."""

    def is_of(self, session: str, paths: Collection[str]) -> bool:
        """True if it has texts of a session: by its id, if no other can have that, or by the paths of its file."""
        is_id = SESSION_UUID.fullmatch(session) is not None
        return self.path in paths or (is_id and session in (self.session, Path(self.path).stem))


def private_maps() -> Iterator[tuple[Path, PrivateMap]]:
    """Yield all maps of this machine; what cannot be read undoes nothing."""
    for path in sorted((share_folder() / MAPS).glob("*.json")):
        with suppress(OSError, *jsontext.DECODE_ERRORS):
            yield path, _decode_map(path)


def _decode_map(path: Path) -> PrivateMap:
    content = read_whole(path)
    try:
        return msgspec.json.decode(content, type=PrivateMap)
    except msgspec.ValidationError:
        return PrivateMap(msgspec.json.decode(content, type=dict[str, str]))


class DecisionStore:
    """The key of this machine, and the decisions that hold for all its sessions."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder: Path = folder if folder is not None else share_folder()
        self.key: bytes = self._read_key()
        self._everywhere: dict[str, str] = self._read_decisions()

    def id_of(self, value: str) -> str:
        """Return the id of a value: always the same on this machine."""
        return hmac.new(self.key, value.encode("utf-8", "replace"), hashlib.sha256).hexdigest()[:24]

    def key_for(self, name: str) -> bytes:
        """Return the key of one export, so that pseudonyms of different sessions cannot be compared."""
        return hmac.new(self.key, b"export\0" + name.encode("utf-8", "replace"), hashlib.sha256).digest()

    def decision(self, id: str) -> str | None:
        """Return what was decided for all sessions."""
        return self._everywhere.get(id)

    def decide_everywhere(self, ids: Iterable[str], decision: str) -> None:
        """Keep a decision about some findings for all sessions."""
        decided = dict.fromkeys(ids, decision)
        change_object(self.folder / DECISIONS, lambda stored: stored.update(decided))
        self._everywhere.update(decided)

    def keep_map(self, name: str, kept: PrivateMap) -> Path:
        """Keep what undoes an export, where only its owner can read it."""
        return self._write(f"{MAPS}/{name}.json", jsontext.dumps(kept))

    def read_map(self, name: str) -> PrivateMap | None:
        """Return what undoes an export; None if this machine did not make it."""
        path = self.folder / MAPS / f"{name}.json"
        try:
            return _decode_map(path)
        except FileNotFoundError:
            return None
        except (OSError, *jsontext.DECODE_ERRORS) as error:
            raise Unreadable(f"Cannot read the private map {path}: {error}.", path=str(path)) from error

    def _read_key(self) -> bytes:
        path = self.folder / KEY
        try:
            key = read_settings(path)
        except FileNotFoundError:
            self._write(KEY, secrets.token_bytes(KEY_BYTES), new=True)
            return self._read_key()
        except OSError as error:
            raise Unreadable.at(path, error) from error
        if len(key) != KEY_BYTES:
            raise Unreadable(f"Cannot use {path}: it is not a key; delete it, and a new one is made.", path=str(path))
        return key

    def _read_decisions(self) -> dict[str, str]:
        path = self.folder / DECISIONS
        try:
            return msgspec.json.decode(read_settings(path), type=dict[str, str])
        except FileNotFoundError:
            return {}
        except (OSError, *jsontext.DECODE_ERRORS) as error:
            raise Unreadable(f"Cannot read {path}: {error}; delete it to decide anew.", path=str(path)) from error

    def _write(self, name: str, content: bytes, *, new: bool = False) -> Path:
        path = self.folder / name
        try:
            make_private_folder(path.parent)
            write_new(path, [content]) if new else write_atomic(path, [content], follow=False)
        except OSError as error:
            raise Unwritable.at(path, error) from error
        return path


class ReviewGroup(msgspec.Struct):
    """Findings of one kind and name, for one decision about all of them."""

    kind: str
    name: str
    count: int
    """The number of these findings."""
    decision: str | None = None
    """The decision for each of them that has none of its own."""


class DecisionFile(msgspec.Struct):
    """The content of a review file: findings to decide about, by a person or a program."""

    session: str = ""
    how: str = (
        'Set "decision" of each group, or of single findings, to "replace" or "keep", and run the same command again.'
    )
    groups: list[ReviewGroup] = []
    findings: list[SensitiveText] = []


class _DecidedFinding(msgspec.Struct):
    """As much of a finding as a decision needs: version 0.2 names the rest differently."""

    id: str
    kind: str = ""
    name: str = ""
    decision: str | None = None


class _Decided(msgspec.Struct):
    """As much of a review file as is read."""

    groups: list[ReviewGroup] = []
    findings: list[_DecidedFinding] = []


def read_review(path: Path) -> dict[str, str]:
    """Return the decisions in a review file by id; nothing if there is no file."""
    if not os.path.exists(path):
        return {}
    try:
        review = msgspec.json.decode(read_settings(path), type=_Decided)
    except (OSError, *jsontext.DECODE_ERRORS) as error:
        raise Unreadable(f"Cannot read the review {path}: {error}; delete it to begin anew.", path=str(path)) from error
    for decided in (*review.groups, *review.findings):
        if decided.decision not in (None, REPLACE, KEEP):
            raise Misuse(f"Unknown decision {decided.decision!r} in {path}; use {REPLACE!r} or {KEEP!r}.")
    groups = {(group.kind, group.name): group.decision for group in review.groups}
    decisions = {each.id: each.decision or groups.get((each.kind, each.name)) for each in review.findings}
    return {id: decision for id, decision in decisions.items() if decision is not None}


def write_review(path: Path, session: str, findings: Sequence[SensitiveText]) -> None:
    """Write the findings for someone to decide about them."""
    groups = [ReviewGroup(group[0].kind, group[0].name, len(group)) for group in alike(findings)]
    review: Any = DecisionFile(session=session, groups=groups, findings=list(findings))
    try:
        write_atomic(path, [msgspec.json.format(msgspec.json.encode(review)), b"\n"], mode=PRIVATE_FILE)
    except OSError as error:
        raise Unwritable.at(path, error) from error
