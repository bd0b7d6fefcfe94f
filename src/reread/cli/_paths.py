"""The types of options and arguments that name a file, a folder or a bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from reread.errors import Misuse, Unwritable

if TYPE_CHECKING:
    from pathlib import Path

STDOUT = "-"


class PathName(click.Path):
    """A file or folder on this machine, also one that does not exist."""

    def __init__(
        self, *, written: bool = False, bucket: bool = False, stream: bool = False, path_type: type[Any] = str
    ) -> None:
        """With `written`, refuse what lies in Claude Code's folder.

        With `bucket`, also accept the address of one, and with `stream`, "-" for standard input or output.
        """
        super().__init__(readable=False, path_type=path_type)
        self._written = written
        self._bucket = bucket
        self._stream = stream

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from reread.storage.user_paths import expand_path, is_bucket_url

        if value == STDOUT:
            if not self._stream:
                raise Misuse("Cannot use - here; name a file or folder.")
            return super().convert(value, param, ctx)
        if value == "":
            self.fail("Empty path; is a variable not set?", param, ctx)
        if isinstance(value, str) and is_bucket_url(value):
            if not self._bucket:
                raise Misuse(f"Cannot use {value}: it is in a bucket; name a file or folder on this machine.")
            return super().convert(self.bucket(value), param, ctx)
        path = expand_path(value)
        if self._written:
            refuse_claude_folder(path)
        return super().convert(str(path), param, ctx)

    def bucket(self, address: str) -> Any:
        """Return the value for the address of a bucket."""
        return address


class FolderName(PathName):
    """A folder; the address of a bucket becomes the folder that mirrors it."""

    def __init__(self) -> None:
        super().__init__(bucket=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        from pathlib import Path  # loaded late: the help needs none

        return Path(super().convert(value, param, ctx))

    def bucket(self, address: str) -> Any:
        from reread.storage.user_paths import expand_path

        return str(expand_path(address))


def refuse_claude_folder(path: Path) -> None:
    """Raise Misuse if a path lies in a folder of Claude Code, which is never written to."""
    from reread.disk.layout import config_folders

    for folder in config_folders():
        if path.resolve().is_relative_to(folder.resolve()):
            raise Misuse(f"Cannot write {path}: it lies in {folder}, which is Claude Code's own; use another folder.")


def output_option(help: str = "Write to this file.", metavar: str = "FILE") -> Callable[..., Any]:
    """Return the option of verbs that write to standard output unless told otherwise."""
    type = PathName(written=True, stream=True)
    return click.option("-o", "--output", default=STDOUT, type=type, metavar=metavar, help=help)


def place_option(help: str, metavar: str = "FILE", *, bucket: bool = False) -> Callable[..., Any]:
    """Return the option of verbs that print something else unless they are told where to write."""
    return click.option("-o", "--output", type=PathName(written=True, bucket=bucket), metavar=metavar, help=help)


def write_file(path: str | Path, pieces: Iterable[bytes], *, mode: int = 0o600) -> None:
    """Write a file, whole or not at all; raise Unwritable if it cannot be written."""
    from pathlib import Path

    from reread.storage.atomic import write_atomic

    try:
        write_atomic(Path(path), pieces, mode=mode)
    except OSError as error:
        raise Unwritable.at(path, error) from error
