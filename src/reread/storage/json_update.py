"""Change a small JSON file that other processes may change at the same time."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from reread.errors import Unreadable, Unwritable
from reread.storage.atomic import write_atomic
from reread.storage.lock import lock
from reread.storage.safe_open import make_private_folder, open_descriptor, read_settings

LOCK_SECONDS = 10
_SPACE = re.compile(r"[ \t\n\r]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_decoder = json.JSONDecoder()


@contextmanager
def locked(path: Path) -> Generator[bool]:
    """Lock a file by a file beside it during the block; False if another process has held the lock for too long."""
    fd = open_descriptor(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT)
    try:
        yield lock(fd, wait=LOCK_SECONDS)
    finally:
        os.close(fd)


def read_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; empty if there is no file. Raise Unreadable if it contains anything else."""
    return _read(path)[1]


def _read(path: Path) -> tuple[bytes, dict[str, Any]]:
    content = b""
    try:
        content = read_settings(path)
        value = json.loads(content)
    except FileNotFoundError:
        return b"{}", {}
    except OSError as error:
        raise Unreadable.at(path, error) from error
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Unreadable(f"Cannot read {path}: it is not a JSON object; repair it, or move it away.", path=str(path))
    return content, cast(dict[str, Any], value)


def change_object(path: Path, change: Callable[[dict[str, Any]], None], *, guard: Path | None = None) -> None:
    """Change the JSON object in a file, with nobody else changing it; the file and its folder are private.

    The text of the fields that are not changed stays as it is. `guard` names the lock, by default that of the file.
    """
    try:
        make_private_folder(path.parent)
        make_private_folder((guard or path).parent)
        with locked(guard or path) as held:
            if not held:
                raise Unwritable(f"Cannot write {path}: another process is writing it; try again.", path=str(path))
            content, value = _read(path)
            before = {name: json.dumps(field) for name, field in value.items()}
            change(value)
            changed = [name for name, field in value.items() if json.dumps(field) != before.get(name)]
            if changed or value.keys() != before.keys():
                write_atomic(path, [_changed(content, value, changed)], sync=True)
    except OSError as error:
        raise Unwritable.at(path, error) from error


def _changed(content: bytes, value: dict[str, Any], changed: Sequence[str]) -> bytes:
    """Return the text of an object with some of its fields changed or added; the rest stays as it was written."""
    encoding = json.detect_encoding(content)
    text = content.decode(encoding, "surrogatepass")
    text = _without(text, value)
    spans = {name: span for name, _, span in _fields(text)}  # of two with the same name, the last one counts
    if not spans and value:
        return f"{_dumped(value, '  ')}\n".encode()
    opened = text.index("{") + 1
    space = text[opened : _after_space(text, opened)]
    indent = space.rpartition("\n")[2] if "\n" in space else None
    line = "" if indent is None else ("\r\n" if "\r" in space else "\n") + indent
    texts = {name: _dumped(value[name], indent).replace("\n", line) for name in changed}
    last = max((end for _, end in spans.values()), default=opened)
    added = (f",{line or ' '}{_dumped(name)}: {texts[name]}" for name in changed if name not in spans)
    text = text[:last] + "".join(added) + text[last:]
    for name in sorted(spans.keys() & texts.keys(), key=lambda name: spans[name], reverse=True):
        start, end = spans[name]
        text = text[:start] + texts[name] + text[end:]
    return text.encode(encoding, "surrogatepass")


def _without(text: str, value: Mapping[str, Any]) -> str:
    """Return the text of an object without the fields that it no longer has, each with a comma and the space before."""
    fields = list(_fields(text))
    for at in reversed(range(len(fields))):
        name, begins, (_, ends) = fields[at]
        if name not in value:
            is_last = at == len(fields) - 1 or all(later not in value for later, *_ in fields[at + 1 :])
            start = fields[at - 1][2][1] if is_last and at else begins
            text = text[:start] + text[ends if is_last else fields[at + 1][1] :]
    return text


def _fields(text: str) -> Iterator[tuple[str, int, tuple[int, int]]]:
    """Yield the fields of a JSON object, where each begins, and where its value begins and ends."""
    at = _after_space(text, text.index("{") + 1)
    while text[at] == '"':
        begins = at
        name, end = _decoder.raw_decode(text, at)
        start = _after_space(text, _after_space(text, end) + 1)  # past the colon
        end = _decoder.raw_decode(text, start)[1]
        yield name, begins, (start, end)
        at = _after_space(text, end)
        at = _after_space(text, at + 1) if text[at] == "," else at


def _after_space(text: str, at: int) -> int:
    return cast("re.Match[str]", _SPACE.match(text, at)).end()


def _dumped(value: Any, indent: str | None = None) -> str:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return json.dumps(value, indent=indent) if _SURROGATE.search(text) else text  # only an escape can be written
