"""One pass over sessions: each is opened once, and all that the catalogue keeps of opened sessions is derived then.

A search needs the places of texts, `stats` facts, `blame` what files it changed. Whoever has to open a session for one
of them leaves the others in the catalogue, too. Each part is saved with the state of the files that it was made of, so
a pass that is killed leaves whole parts, and the next one goes on there. Parts are on higher floors, so they are named.
The fold of a large session is saved, too, so that it opens at once from then on.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, Self

from reread.base.gc_pause import gc_paused
from reread.disk.sources import FileSource, whole_files
from reread.errors import RereadError, naming_file
from reread.session.session import Session, threads_of
from reread.storage.kept_file import stat_file

PARTS = PLACES, FACTS = (
    "reread.index.hit_locator:PlacesPart",
    "reread.facts.opening:FactsPart",
)
"""The parts, in the order in which they are derived."""
SAVED_BYTES = 8 << 20
"""So many bytes are read before what was derived of them is saved, and the sessions leave the memory."""


def newest_first(paths: Iterable[Path]) -> list[Path]:
    """Return sessions in the order in which a pass reads them: what is new is asked for first."""
    return sorted(paths, key=lambda path: (-_modified(path), path))


def _modified(path: Path) -> int:
    try:
        return stat_file(path).st_mtime_ns
    except OSError:
        return 0


class SessionPart(Protocol):
    """A kind of value that the catalogue keeps of each session."""

    def state(self, path: Path) -> Any:
        """Return the state of all that the part of a session depends on."""
        ...

    def is_current(self, path: Path, state: Any) -> bool:
        """True if the catalogue has the part of a session in this state."""
        ...

    def derive(self, session: Session, state: Any) -> Any:
        """Return the part of a session that was opened after it was in a state; `save` stores it."""
        ...

    def save(self) -> None:
        """Store what was derived, in one transaction."""
        ...

    def close(self) -> None:
        """Close the catalogue."""
        ...


def _new_part(module: str, kind: str) -> SessionPart:
    return getattr(import_module(module), kind)()


class SessionPass:
    """Opens sessions, and derives what the catalogue lacks of them; what is left to be saved is when it is closed."""

    def __init__(self, parts: Sequence[str] = PARTS, *, given: Mapping[str, SessionPart] | None = None) -> None:
        """Derive some parts of each session; those that are `given` are closed by whoever gave them."""
        self._names = parts
        self._given = given or {}
        self._unsaved = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if "_parts" in self.__dict__:
            self.save()
            for name, part in self._parts.items():
                if name not in self._given:
                    part.close()

    @cached_property
    def _parts(self) -> dict[str, SessionPart]:
        return {name: self._given.get(name) or _new_part(*name.split(":")) for name in self._names}

    def derive(self, path: str | Path, wanted: str) -> Any:
        """Open a session and return the part that is wanted of it; its other parts are derived if they are missing."""
        return self._open(Path(path), wanted)[1]

    def fill(self, path: str | Path) -> None:
        """Derive the parts that are missing of a session, if any are; one that cannot be read is left out."""
        path = Path(path)
        with suppress(RereadError, OSError):
            if not all(part.is_current(path, part.state(path)) for part in self._parts.values()):
                self.open(path)

    def open(self, path: str | Path) -> Session:
        """Open a session, and derive the parts that are missing of it."""
        return self._open(Path(path), None)[0]

    def _open(self, path: Path, wanted: str | None) -> tuple[Session, Any]:
        """Open a session; if a part that is not wanted cannot be derived, whoever wants it says so."""
        found = None
        with naming_file(path), whole_files(), gc_paused():
            states = {name: part.state(path) for name, part in self._parts.items()}
            session = Session(FileSource(path))
            for name, part in self._parts.items():
                if name == wanted:
                    found = part.derive(session, states[name])
                elif not part.is_current(path, states[name]):
                    with suppress(RereadError, OSError), naming_file(path):
                        part.derive(session, states[name])
        threads = threads_of(session)
        threads.save_fold()
        self._unsaved += sum(loader.size for loader in (threads.loader, *threads.agent_loaders.values()))
        if self._unsaved >= SAVED_BYTES:
            self.save()
        return session, found

    def save(self) -> None:
        """Save what was derived so far."""
        for part in self._parts.values():
            part.save()
        self._unsaved = 0
        gc.collect()  # conversations and their session refer to each other, and collecting was paused
