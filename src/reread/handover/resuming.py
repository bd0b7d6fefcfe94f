"""Take a session up again: put it where this machine's Claude Code looks for it, and say how to continue it there."""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from pathlib import Path

import msgspec

from reread.catalog.moved_projects import moved_to
from reread.catalog.resolve import resolve_session
from reread.disk import layout
from reread.errors import Misuse
from reread.handover.cut import CutFile, cut_at_turn
from reread.handover.placement import WRITTEN, PlacedFile, place, project_folder
from reread.handover.session_files import LocatedFile, config_of, files_of
from reread.recording.resume_command import Resumption, resumption
from reread.session.session import open as open_session


class Continuation(msgspec.Struct, frozen=True):
    """How a session is continued, and what was written for that."""

    session: str
    """The id to resume; a new one if the session was cut at a turn."""
    cwd: str | None
    """The folder to start Claude Code in; None if nothing says which."""
    command: tuple[str, ...]
    files: tuple[PlacedFile, ...] = ()
    """The files of the session, if it is not where Claude Code looks for it already."""
    ran_in: str | None = None
    """The folder that it ran in, if that is another."""
    cut_from: str = ""
    """The session that it is the beginning of."""
    trusted: bool = True
    """False if a file from elsewhere names the folder."""
    captured: str = ""
    """The captured conversation that it was found in, if it was."""

    @property
    def written(self) -> list[PlacedFile]:
        """The files that were written, or with `dry_run` would be."""
        return [file for file in self.files if file.outcome in WRITTEN]


def resume(
    session: str | Path,
    *,
    at: int | None = None,
    branch: int | None = None,
    into: str | Path | None = None,
    prompt: str = "",
    generation: int | None = None,
    root: str | Path | Sequence[str | Path] | None = None,
    dry_run: bool = False,
) -> Continuation:
    """Put a session where Claude Code looks for it, and return the command that continues it there.

    A session of Claude Code's own folder stays where it is, and is continued in the folder where it ran. Any other, or
    one that is to be continued in another folder, is copied byte for byte into the project of `into`, by default
    the working directory. With `at`, a new session is made that ends after that turn of the active branch, or of
    `branch`; the session itself stays as it is. What is newer there, or running, is never replaced. `generation`
    chooses an earlier state of a kept session. With `dry_run`, nothing is written.
    """
    if branch is not None and at is None:
        raise Misuse("Cannot use a branch without a turn: name both, as in --at 4 --branch 2.")
    path = resolve_session(session, root=root)
    found = resumption(path)
    captured = str(path) if found.captured else ""
    transcript = (layout.find_transcript(found.session) or path) if found.captured else path
    config = own_config(transcript)
    folder = _folder(transcript, found, into, config, generation)
    chosen = found.cwd if into is None else os.path.realpath(layout.expand_path(into))
    if folder is None and at is None:
        return _continuation(found, chosen, prompt, captured)
    files: Sequence[LocatedFile | CutFile] = files_of(transcript, generation)
    if at is not None:
        source = files_of(transcript, generation)[0].kept_as() if generation is not None else transcript
        with open_session(source) as opened:
            new_id = str(uuid.uuid4())
            files = cut_at_turn(opened, transcript, at, branch, new_id)
        cut_from, found = found.session, msgspec.structs.replace(found, session=new_id)
    else:
        cut_from = ""
    folder = folder or chosen
    if folder is None or not os.path.isdir(folder):
        where = f"No such folder: {folder}, where the session ran" if folder else "The session names no folder"
        raise Misuse(f"{where}; name another with --in.")
    project = project_folder(folder, config)
    placed = place(files, found.session, project, config, dry_run=dry_run)
    done = _continuation(msgspec.structs.replace(found, trusted=True), folder, prompt, captured, placed)
    return msgspec.structs.replace(done, cut_from=cut_from)


def own_config(transcript: Path) -> Path:
    """Return the folder of Claude Code's that a transcript lies in, or the one that it would be put in."""
    folders = [Path(os.path.abspath(folder)) for folder in layout.config_folders()]  # noqa: PTH100
    return next((folder for folder in folders if _is_in(transcript, folder)), folders[0])


def _continuation(
    found: Resumption, cwd: str | None, prompt: str, captured: str, files: Sequence[PlacedFile] = ()
) -> Continuation:
    return Continuation(
        found.session,
        cwd,
        tuple(found.command(prompt)),
        tuple(files),
        ran_in=found.cwd if found.cwd != cwd else None,
        trusted=found.trusted,
        captured=captured,
    )


def _folder(
    transcript: Path, found: Resumption, into: str | Path | None, config: Path, generation: int | None
) -> str | None:
    """Return the folder that a session has to be put in for; None if it is continued where it is."""
    if found.captured and transcript.suffix and config_of(transcript) is None:
        return None  # nothing but what was printed is left of it: Claude Code may have the rest
    is_there = os.path.lexists(transcript) and generation is None and _is_in(transcript, config)
    if into is not None:
        folder = layout.expand_path(into)
        if not os.path.isdir(folder):
            raise Misuse(f"No folder {folder}; name an existing one with --in.", path=str(folder))
        folder = os.path.realpath(folder)
        return folder if not is_there or project_folder(folder, config) != transcript.parent else None
    if not is_there:
        return os.path.realpath(os.getcwd())  # noqa: PTH109
    if found.cwd is not None and not os.path.isdir(found.cwd):
        now = moved_to(found.cwd)
        return now if now is not None and os.path.isdir(now) else None
    return None


def _is_in(transcript: Path, config: Path) -> bool:
    """True if a transcript lies in a project of Claude Code's folder."""
    own = config_of(Path(os.path.abspath(transcript)))  # noqa: PTH100
    return own is not None and os.path.realpath(own) == os.path.realpath(config)
