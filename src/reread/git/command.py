"""Run git so that nothing in a repository, its configuration or the environment makes it run anything else.

A repository may come from anyone, and its own configuration is obeyed by git: it can name programs for the pager, the
difference of files, the state of the work tree, signatures, hooks, and for fetching objects that a partial clone lacks.
Each is switched off here, and no protocol is allowed. Only shas and full names of refs reach git behind its options.
Once the repository is found, git is told its folder and no work tree: a pipe there, in place of a `.mailmap` or a
`.gitattributes`, would keep it waiting. A pipe among its own files would, too, and is refused before.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import tempfile
import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from reread.errors import NotFound, Unreadable, Unwritable

SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.sshCommand": "false",
    "core.askPass": "",
    "core.attributesFile": os.devnull,
    "core.bigFileThreshold": "8m",  # larger files have no lines: they are said to be binary
    "core.filesRefLockTimeout": "5000",
    "core.quotePath": "true",
    "credential.helper": "",
    "diff.external": "",
    "diff.renameLimit": "1000",
    "diff.ignoreSubmodules": "all",
    "diff.suppressBlankEmpty": "false",
    "diff.orderFile": os.devnull,
    "diff.algorithm": "myers",
    "gpg.program": "false",
    "log.showSignature": "false",
    "log.mailmap": "false",
    "i18n.logOutputEncoding": "UTF-8",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
    "notes.displayRef": "",
}
"""What git is told before each command, above all configuration files."""
LONGEST_OUTPUT = 256 << 20
"""A command that prints more has failed."""
SECONDS, SECONDS_TO_FIND = 600, 30
"""A command that takes longer is ended; one that only finds the repository has less time."""
KEPT = frozenset({"GIT_CEILING_DIRECTORIES", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"})
"""Variables that only keep git from reading something."""

FORMATS = {64: "[extensions]\nobjectFormat=sha256\n"}
"""What a configuration says about shas of some length."""
ALONE = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
OWN = ".git"
LARGEST = 1 << 20
"""Bytes of a file that names others that are read."""
MOST_FILES = 500_000
"""So many files are looked at; a repository with more is given up when git takes too long."""
_INCLUDED = re.compile(rb'^[ \t]*path[ \t]*=[ \t]*"?([^" \t\r\n][^"\r\n]*)', re.MULTILINE | re.IGNORECASE)


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in KEPT}
    return kept | {
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "GIT_EDITOR": "false",
        "SSH_ASKPASS": "",
        "LC_ALL": "C",
    }


def _command(folder: Path, words: Iterable[str], finding: bool) -> list[str]:
    absolute = os.pathsep.join(filter(os.path.isabs, os.get_exec_path()))
    program = shutil.which("git", path=absolute)
    if program is None or not Path(program).is_absolute():  # Windows looks in the current folder first
        raise NotFound("No program git; install it to follow commits.")
    settings = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
    where = ["-C", str(folder)] if finding else ["-C", folder.anchor, f"--git-dir={folder}", "--bare"]
    return [program, *where, "--no-pager", "--no-replace-objects", "--literal-pathspecs", *settings, *words]


def repository_folders(folder: Path) -> tuple[Path, Path]:
    """Return the top of the work tree that a folder lies in, and git's own folder; raise Unreadable without any."""
    refuse_pipes(folder.absolute())
    words = ("--show-toplevel", "--absolute-git-dir")
    found = [git_output(folder, "rev-parse", "--path-format=absolute", word, finding=True) for word in words]
    top, own = (Path(os.fsdecode(path.removesuffix(b"\n"))) for path in found)
    return top, own


@contextmanager
def unconfigured(folder: Path, sha: str) -> Generator[Path]:
    """Provide a folder of git's that has the objects of another, and nothing else of it.

    Some settings are lists that nothing empties, `blame.ignoreRevsFile` is one: git reads each file that they name.
    """
    objects = os.fsdecode(git_output(folder, "rev-parse", "--path-format=absolute", "--git-path", "objects"))
    with tempfile.TemporaryDirectory(prefix="reread-") as name:
        copy = Path(name)
        for inner in ("refs", "objects/info"):
            (copy / inner).mkdir(parents=True)
        (copy / "HEAD").write_text(f"{sha}\n")
        (copy / "config").write_text("[core]\nrepositoryFormatVersion=1\nbare=true\n" + FORMATS.get(len(sha), ""))
        (copy / "objects/info/alternates").write_bytes(os.fsencode(objects))
        shallow = Path(objects.removesuffix("\n")).with_name("shallow")
        if shallow.is_file():  # a clone without older commits
            (copy / shallow.name).symlink_to(shallow)
        yield copy


def git_output(folder: Path, *words: str, given: bytes = b"", finding: bool = False, alone: bool = False) -> bytes:
    """Return what a git command prints about git's own folder; raise Unreadable with git's reason if it fails.

    With `finding`, git looks for the repository that the folder lies in. With `alone`, no other configuration is read.
    """
    with git_stream(folder, *words, given=given, finding=finding, alone=alone) as output:
        data = output.read(LONGEST_OUTPUT)
        if len(data) == LONGEST_OUTPUT:
            raise Unreadable(
                f"git {words[0]} prints more than {LONGEST_OUTPUT >> 20} MB in {folder}.", path=str(folder)
            )
        return data


@contextmanager
def git_stream(
    folder: Path, *words: str, given: bytes = b"", finding: bool = False, alone: bool = False
) -> Generator[IO[bytes]]:
    """Provide the output of a git command as it comes; raise Unreadable with git's reason if it fails."""
    try:
        process = subprocess.Popen(
            _command(folder, words, finding),
            env=_environment() | (ALONE if alone else {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        raise Unreadable.at(folder, error) from error
    limit, late = SECONDS_TO_FIND if finding else SECONDS, threading.Event()
    timer = threading.Timer(limit, lambda: (late.set(), process.kill()))
    errors: list[bytes] = []
    threads = [threading.Thread(target=_give, args=(process.stdin, given), daemon=True)]
    threads.append(threading.Thread(target=_collect, args=(process.stderr, errors), daemon=True))
    for thread in (timer, *threads):
        thread.start()
    ended = False
    try:
        assert process.stdout is not None
        yield process.stdout
        ended = not process.stdout.read(1)
    finally:
        if not ended:
            process.kill()
        process.wait()
        timer.cancel()
        for thread in threads:
            thread.join()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    if ended and process.returncode:
        said = b"".join(errors).decode("utf-8", "replace").strip()
        reason = f"it took longer than {limit} seconds" if late.is_set() else said or f"exit code {process.returncode}"
        raise Unreadable(f"git cannot read {folder}: {reason[:400]}", path=str(folder))


def git_change(folder: Path, *words: str, given: bytes) -> None:
    """Run a git command that writes to the repository; raise Unwritable with git's reason if it fails."""
    try:
        git_output(folder, *words, given=given)
    except Unreadable as error:
        raise Unwritable(str(error).replace("cannot read", "cannot write to", 1), path=str(folder)) from error


def _give(stream: IO[bytes] | None, data: bytes) -> None:
    with suppress(OSError):  # git ended before it read everything, and says why
        assert stream is not None
        stream.write(data)
    with suppress(OSError):
        assert stream is not None
        stream.close()


def _collect(stream: IO[bytes] | None, into: list[bytes]) -> None:
    assert stream is not None
    while piece := stream.read(4096):
        if len(into) < 16:
            into.append(piece)


def refuse_pipes(folder: Path) -> None:
    """Raise Unreadable if one of git's own files, of the repository that a folder lies in, is a pipe or a device.

    Looked at are git's folder, the one that a work tree shares with others, those that objects are borrowed from, and
    files that its configuration includes. A socket is passed over: git makes one, and to open it fails at once.
    """
    own = next((place / OWN for place in (folder, *folder.parents) if os.path.lexists(place / OWN)), folder)
    if own == folder and not (folder / "objects").is_dir():
        return  # no repository
    waiting, seen = [str(own)], set[str]()
    while waiting and len(seen) < MOST_FILES:
        path = os.path.realpath(waiting.pop())
        if path in seen:
            continue
        seen.add(path)
        try:
            mode = os.stat(path).st_mode  # noqa: PTH116
            if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
                raise Unreadable(f"git cannot read {path}: it is a pipe or a device, and git would wait.", path=path)
            if stat.S_ISDIR(mode):
                with os.scandir(path) as entries:
                    waiting += [
                        one.path for one in entries if not one.is_file(follow_symlinks=False) or _names(one.name)
                    ]
            elif stat.S_ISREG(mode) and _names(os.path.basename(path)):
                waiting += _named(path)
        except OSError:  # gone, or not to be read: git says so
            continue


def _names(name: str) -> bool:
    """True if git follows what a file with this name says."""
    return name in (OWN, "commondir", "alternates") or "config" in name


def _named(path: str) -> Iterator[str]:
    """Yield the paths that one of git's files names."""
    folder, name = os.path.split(path)
    with Path(path).open("rb") as opened:
        data = opened.read(LARGEST)
    if name == "alternates":
        found, folder = data.splitlines(), os.path.split(folder)[0]
    elif name in (OWN, "commondir"):
        found = [data.removeprefix(b"gitdir:").strip()]
    else:
        found = [path.rstrip() for path in _INCLUDED.findall(data)]
    for one in found:
        yield os.path.join(folder, os.path.expanduser(os.fsdecode(one.split(b"\0")[0])))
