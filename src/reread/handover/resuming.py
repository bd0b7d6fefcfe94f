"""Take a session up again: put it where this machine's Claude Code looks for it, and say the command for it."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from reread.base.address import Address
from reread.base.paths import program_name
from reread.catalog.config import moved_to
from reread.catalog.headers import read_header
from reread.catalog.resolve import resolve_address, resolve_session
from reread.catalog.stored_conversation import StoredConversation
from reread.disk import layout
from reread.disk.reverse_lines import lines_backwards
from reread.errors import Misuse, NotFound, RereadError
from reread.handover.cut import CutFile, cut_at_turn
from reread.handover.deletion import finish_deletions
from reread.handover.placement import WRITTEN, PlacedFile, encoded_folder, folder_of, place, project_folder, writing
from reread.handover.session_files import LocatedFile, config_of, files_of, original_name
from reread.handover.trash import choose_entry, trash, trash_folder
from reread.records import dialects
from reread.records.decode import Record
from reread.session.session import open as open_session
from reread.storage.kept_file import open_regular
from reread.storage.kept_names import SESSION_UUID, generations, parse_kept_name

CLAUDE = "claude"
CLAUDE_DIALECTS = (dialects.NATIVE, *(dialect.NAME for dialect in dialects.DIALECTS))
FIRST_LINE = 1 << 20
_PLAIN_ID = re.compile(r"\w[\w-]*", re.ASCII)


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
    path: int | None = None,
    into: str | Path | None = None,
    prompt: str = "",
    generation: int | None = None,
    root: str | Path | Sequence[str | Path] | None = None,
    dry_run: bool = False,
    on_error: Callable[[RereadError], None] | None = None,
) -> Continuation:
    """Put a session where Claude Code looks for it, and return the command that continues it there.

    A session of Claude Code's own folder stays where it is, and is continued in the folder where it ran. Any other, or
    one that is to be continued in another folder, is copied byte for byte into the project of `into`, by default
    the working directory. With `at`, or as `SESSION:TURN`, a new session is made that ends after that turn of the
    active path, or of `path`; the session itself stays as it is. What is newer there, or running, is never replaced.
    `generation` chooses an earlier state of a kept session. `prompt` goes into the command. With `dry_run`, nothing is
    written. A deletion of the session that was interrupted is given up; `on_error` is called if so, or if another
    cannot be finished.
    """
    try:
        file, address = resolve_address(session, root=root)
    except NotFound as error:
        entry = choose_entry(str(session), trash(on_error=lambda _: None))
        if entry is None:
            raise
        raise NotFound(f"{session} is in the trash; `reread delete --undo {entry.session}` restores it.") from error
    at, path = _turn_of(address, at, path)
    found = resumption(file)
    captured = str(file) if found.captured else ""
    transcript = file
    if found.captured and layout.find_transcript(found.session) is not None:
        transcript = resolve_session(found.session)  # the newest one
    if generation is not None:
        transcript = _kept_transcript(transcript, generation, root)
    config = own_config(transcript)
    if _is_there(transcript, config):
        found = msgspec.structs.replace(found, cwd=_last_cwd(transcript) or found.cwd)
    folder = _folder(transcript, found, into, config)
    chosen = found.cwd if into is None else os.path.realpath(layout.expand_path(into))
    own = {found.session, Path(original_name(transcript.name)).stem}
    if folder is None and at is None:
        with _taking_up(own, on_error, dry_run=dry_run or not trash_folder().is_dir()):  # nothing is written
            return _continuation(found, chosen, prompt, captured)
    files: Sequence[LocatedFile | CutFile] = files_of(transcript, generation)
    if at is not None:
        source = files_of(transcript, generation)[0].kept_as() if generation is not None else transcript
        with open_session(source) as opened:
            new_id = str(uuid.uuid4())
            files = cut_at_turn(opened, transcript, at, path, new_id)
        cut_from, found = found.session, msgspec.structs.replace(found, session=new_id)
    else:
        cut_from = ""
    folder = folder or chosen
    if folder is None or not os.path.isdir(folder):
        where = f"No such folder: {folder}, where the session ran" if folder else "The session names no folder"
        raise Misuse(f"{where}; name another with --in.")
    project = project_folder(folder, config)
    with _taking_up(own, on_error, dry_run=dry_run):
        placed = place(files, found.session, project, config, dry_run=dry_run)
    done = _continuation(msgspec.structs.replace(found, trusted=True), folder, prompt, captured, placed)
    return msgspec.structs.replace(done, cut_from=cut_from)


def _turn_of(address: Address, at: int | None, path: int | None) -> tuple[int | None, int | None]:
    """Return the turn to continue after, and the path that it is on, from an address or from options."""
    if address.agent is not None or address.call is not None or address.request is not None:
        raise Misuse(f"Cannot continue {address.place}; a session is continued after a turn: SESSION:TURN.")
    if address.is_place and (at is not None or path is not None):
        raise Misuse(f"Cannot use a turn or a path with {address.place}; name the session alone.")
    at, path = (address.turn, address.path) if address.is_place else (at, path)
    if path is not None and at is None:
        raise Misuse("Cannot use a path without a turn: name both, as in SESSION@2:4.")
    return at, path


@contextmanager
def _taking_up(
    sessions: Collection[str], on_error: Callable[[RereadError], None] | None, *, dry_run: bool
) -> Generator[None]:
    """Be the only process that hands over or deletes, and let no deletion that was begun before take these sessions."""
    if dry_run:
        yield
        return
    with writing():
        finish_deletions(on_error, sessions)
        yield


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


def _kept_transcript(transcript: Path, generation: int, root: str | Path | Sequence[str | Path] | None) -> Path:
    """Return where a generation of a session is kept; raise Misuse if it is not."""
    roots = [root] if isinstance(root, str | Path) else root
    archives = layout.archive_folders() if roots is None else map(layout.expand_path, roots)
    name = transcript.with_name(parsed[0]) if (parsed := parse_kept_name(transcript.name)) else transcript
    tops = [folder / layout.PROJECTS for folder in archives if layout.is_archive(folder)]
    places = [name, *(top / name.parent.name / name.name for top in tops)]
    if SESSION_UUID.fullmatch(name.stem):  # it was kept when it was in another project
        places += (folder / name.name for top in tops for folder in sorted(top.glob("*/")))
    known: dict[int, Path] = {}
    for path in places:
        for number in generations(path):
            known.setdefault(number, path)
    if generation not in known:
        there = ", ".join(map(str, sorted(known)))
        which = f"kept are {there}" if known else "nothing is kept of it in the folders that are read"
        raise Misuse(f"No generation {generation} of {name.stem}: {which}.", path=str(name))
    return known[generation]


def _last_cwd(transcript: Path) -> str | None:
    """Return the folder for which Claude Code finds a transcript where it is: the last one that it names, if any."""
    own, others = transcript.parent.name, set[str]()
    with suppress(OSError):
        for line in lines_backwards(transcript):
            cwd = Record(0, 0, line).envelope.cwd if b'"cwd"' in line else None
            if cwd is not None and cwd not in others:
                with suppress(ValueError):  # no path can have such a character
                    if Path(cwd).is_absolute() and encoded_folder(cwd) == own:
                        return cwd
                others.add(cwd)
    return folder_of(own)


def _folder(transcript: Path, found: Resumption, into: str | Path | None, config: Path) -> str | None:
    """Return the folder that a session has to be put in for; None if it is continued where it is."""
    if found.captured and transcript.suffix and config_of(transcript) is None:
        return None  # nothing but what was printed is left of it: Claude Code may have the rest
    is_there = _is_there(transcript, config)
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


def _is_there(transcript: Path, config: Path) -> bool:
    """True if Claude Code finds a transcript where it is."""
    is_own = os.path.lexists(transcript) and original_name(transcript.name) == transcript.name
    return is_own and _is_in(transcript, config)


def _is_in(transcript: Path, config: Path) -> bool:
    """True if a transcript lies in a project of Claude Code's folder."""
    own = config_of(Path(os.path.abspath(transcript)))  # noqa: PTH100
    return own is not None and os.path.realpath(own) == os.path.realpath(config)


class Resumption(msgspec.Struct, frozen=True):
    """How to continue a session: with its id, in the folder where it ran."""

    session: str
    cwd: str | None
    """The folder; None if the file names none."""
    program: str
    trusted: bool
    """True if the file is in Claude Code's folders or this machine's own store. Any other file can name any folder."""
    captured: bool
    """True if the file is a captured conversation."""

    def command(self, prompt: str = "") -> list[str]:
        """Return the command; with a prompt it prints the answer."""
        words = [self.program, "--resume", self.session]
        if not prompt:
            return words
        return [*words, "-p", *(["--"] if prompt.startswith("-") else []), prompt]


def resumption(path: Path) -> Resumption:
    """Return how to continue the session in a file, or the last session of a captured conversation.

    The program's path is taken only from files in this machine's own store, and a session id that looks like an option
    is ignored: a file from elsewhere must not choose what runs.
    """
    header = read_header(path)
    if header.prompts_only:
        raise Misuse(
            f"Cannot resume {header.id!r}: only its prompts are left; read them with `reread show {header.id}`."
        )
    if _is_of_another_agent(path):
        raise Misuse(f"Cannot resume {header.id!r}: Claude Code did not write it.")
    stored = StoredConversation(path)
    if header.captured:
        ids, runs = stored.session_ids, stored.runs
        cwd = next((run.cwd for run in reversed(runs) if run.cwd), None)
        id = stored.id
    else:
        ids, runs, id = sorted(header.sessions, key=lambda session: session == path.stem), [], header.id
        cwd = None
    session = next((id for id in reversed(ids) if _PLAIN_ID.fullmatch(id)), None)
    if session is None:
        raise Misuse(f"Cannot resume {id!r}: it contains no Claude Code session.")
    own = _is_below(path, [layout.default_store()])
    programs = [run.argv[0] for run in runs if own and run.argv and program_name(run.argv[0]) == CLAUDE]
    return Resumption(
        session=session,
        cwd=cwd or (header.project if not header.project_guessed or os.path.isdir(header.project) else None),
        program=programs[-1] if programs else CLAUDE,
        trusted=own or _is_below(path, layout.config_folders()),
        captured=header.captured,
    )


def _is_of_another_agent(path: Path) -> bool:
    """True if the first line of a file is of no dialect of Claude Code's."""
    with open_regular(path) as file:
        line = file.readline(FIRST_LINE)
    return Record(0, 0, line).dialect not in CLAUDE_DIALECTS


def _is_below(path: Path, folders: Sequence[Path]) -> bool:
    real = Path(os.path.realpath(path))
    return any(real.is_relative_to(os.path.realpath(folder)) for folder in folders)
