"""Adopt runs of other agents: each becomes a session whose lines are its steps, as they were written.

Add-ons know what such runs look like.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, cast

from reread.base.addons import load_parts
from reread.disk.filenames import AGENT_PREFIX, filename_for
from reread.disk.layout import PROJECTS, SUBAGENTS, default_store
from reread.errors import Misuse, NotFound, Unreadable, Unwritable
from reread.storage.atomic import write_atomic
from reread.storage.kept_file import open_regular, read_whole
from reread.storage.safe_open import PRIVATE_FILE, make_private_folder


class AdoptedSession(NamedTuple):
    """A run of another agent that is a session now."""

    id: str
    """The session's id."""
    path: Path
    """The session's file."""
    agents: int
    """How many agents it has."""
    steps: int
    """Steps of the trajectory, or lines of the rollout."""


class Run(NamedTuple):
    """A run of another agent, as the lines of a session."""

    program: str
    """The agent, after which the folder of its sessions is called."""
    id: str
    lines: Sequence[bytes]
    """Empty if it is that of an agent of a session that was adopted before."""
    steps: int
    agents: Mapping[str, Sequence[bytes]] = {}
    """The lines of each agent that it started."""


IsAdopted = Callable[[str, str], bool]
"""Tells whether there is a session of this program with this id already."""


class Importer(Protocol):
    """Reads the runs of one kind: a module, or an object with these members."""

    @property
    def ABOUT(self) -> str:
        """What it reads, such as `a trajectory in the ATIF format`."""
        ...

    def files(self, folder: Path) -> list[Path]:
        """Return the files below a folder that have such runs."""
        ...

    def recognises(self, data: bytes) -> bool:
        """True if a file with this content has such runs, and nothing else."""
        ...

    def runs(self, paths: Sequence[Path], is_adopted: IsAdopted) -> Iterator[Run]:
        """Yield the runs of some files; those of agents after the sessions that they belong to."""
        ...


def importers() -> dict[str, Importer]:
    """Return what add-ons read, by name."""
    return load_parts("importers", lambda found: cast(Importer, found))


def adopt(
    paths: str | Path | Sequence[str | Path], *, to: str | Path | None = None, unread: list[str] | None = None
) -> list[AdoptedSession]:
    """Write trajectories, and rollouts of the Codex CLI, as sessions below a folder, by default reread's own.

    A file has one trajectory, a list of them, one per line, or a rollout; a folder has rollouts. Add-ons may read more.
    Raises Misuse, and writes nothing, if one of the files has none of these. Files in a folder that cannot be read are
    added to `unread`. What was adopted before is written again.
    """
    unread = unread if unread is not None else []
    named = [paths] if isinstance(paths, str | Path) else paths
    found = [one for path in map(Path, named) for one in _find(path, unread)]
    folder = Path(to) if to is not None else default_store()

    def is_adopted(program: str, id: str) -> bool:
        return _file(folder, program, id).is_file()

    written: dict[Path, AdoptedSession] = {}
    for importer in importers().values():
        files = dict.fromkeys(path for of, path in found if of is importer)
        for run in importer.runs(list(files), is_adopted):
            one = _write(run, folder)
            if not run.lines and (known := written.get(one.path)) is not None:
                one = one._replace(agents=known.agents + one.agents, steps=known.steps + one.steps)
            written[one.path] = one
    return list(written.values())


def _find(path: Path, unread: list[str]) -> Iterator[tuple[Importer, Path]]:
    """Yield the files with runs that a path names, each with what reads it."""
    known = importers().values()
    if not path.is_dir():
        data = read_run(path)
        importer = next((importer for importer in known if importer.recognises(data)), None)
        if importer is None:
            raise Misuse(f"{path} is not {_listed(known)}.")
        yield importer, path
        return
    files = [(importer, file) for importer in known for file in importer.files(path)]
    if not files:
        raise Misuse(f"No runs of other agents below {path}; name {_listed(known)}, or a folder that has some.")
    for importer, file in files:
        if _is_readable(file):
            yield importer, file
        else:
            unread.append(str(file))


def _listed(known: Iterable[Importer]) -> str:
    return " or ".join(importer.ABOUT for importer in known) or "a run that an installed add-on can read"


def read_run(path: Path) -> bytes:
    """Return the content of a file with runs."""
    try:
        return read_whole(path)
    except FileNotFoundError as error:
        raise NotFound(f"No file {path}.", path=str(path)) from error
    except OSError as error:
        raise Unreadable.at(path, error) from error


def _is_readable(path: Path) -> bool:
    try:
        open_regular(path).close()
    except OSError:
        return False
    return True


def _file(folder: Path, program: str, id: str) -> Path:
    return folder / PROJECTS / filename_for(program) / f"{filename_for(id)}.jsonl"


def _write(run: Run, folder: Path) -> AdoptedSession:
    path = _file(folder, run.program, run.id)
    if run.lines:
        _save(path, run.lines)
    for name, lines in run.agents.items():
        _save(path.with_suffix("") / SUBAGENTS / f"{AGENT_PREFIX}{filename_for(name)}.jsonl", lines)
    return AdoptedSession(run.id, path, len(run.agents), run.steps)


def _save(path: Path, lines: Iterable[bytes]) -> None:
    make_private_folder(path.parent)
    try:
        write_atomic(path, lines, mode=PRIVATE_FILE)
    except OSError as error:
        raise Unwritable.at(path, error) from error
