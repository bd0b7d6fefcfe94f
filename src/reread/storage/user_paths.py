"""Paths as a person types them: `~` and the addresses of buckets, and the folder for what can be made again."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from reread.base.late_pattern import late_pattern
from reread.base.own_folders import cache_path, data_path
from reread.base.paths import SAMPLES
from reread.errors import Misuse
from reread.storage.safe_open import make_private_folder

if TYPE_CHECKING:
    from reread.storage.services.service import Service

MACHINES = "machines"
"""The folder in a bucket with one for each machine."""
MIRRORS = "mirrors"
"""The folder with a mirror of each bucket."""
MIRROR_STATE = ".state"
"""The folder of a mirror with what was last seen of each machine."""

_BUCKET = late_pattern(r"[a-z0-9]+:/{1,2}([^/\0]+)((?:/[^/\0]+)*)/*")
_MACHINE = late_pattern(r"[a-z0-9][a-z0-9._-]{0,99}")
_ADDRESS = late_pattern(r"[A-Za-z][A-Za-z0-9+.\-]+:/")
_NOT_READABLE = late_pattern(r"[^a-z0-9]+")

_urls: dict[Path, str] = {}
"""The bucket of each mirror that was named in this process."""


def expand_path(path: str | Path) -> Path:
    """Return a path as typed by a person with `~` expanded; a `~name` that this machine does not know is kept.

    The address of a bucket, or of a machine in it, becomes the folder that mirrors it.
    """
    if path == "":
        raise Misuse("Empty path; is a variable not set?")
    if is_bucket_url(path):
        url = bucket_url(path)
        *above, folder, machine = url.split("/")
        if folder == MACHINES and is_machine_id(machine):
            return mirror_folder("/".join(above)) / machine
        return mirror_folder(url)
    try:
        is_valid = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        is_valid = False
    if not is_valid:
        raise Misuse(f"Invalid path {str(path)!r}; it contains characters that no file name can have.")
    if _ADDRESS.match(os.fspath(path)) and not os.path.exists(path):
        from reread.storage.services import SERVICES

        raise Misuse(
            f"Cannot use the address {os.fspath(path)!r}; name a file or folder, or a bucket: "
            f"{', '.join(f'{service.example}/FOLDER' for service in SERVICES)}."
        )
    return Path(os.path.expanduser(path))


def is_bucket_url(path: str | Path) -> bool:
    """True for what begins like the address of a bucket, also as a Path, which drops a slash."""
    scheme, mark, _ = os.fspath(path).partition(":/")
    if not mark:
        return False
    from reread.storage.services import BY_SCHEME  # loaded late: few people have buckets

    return scheme in BY_SCHEME


def service_of(url: str | Path) -> Service:
    """Return the service that has the bucket of an address."""
    from reread.storage.services import BY_SCHEME

    return BY_SCHEME[os.fspath(url).partition(":/")[0]]


def bucket_url(path: str | Path) -> str:
    """Return the address of a bucket or of a folder in it, in its usual form; raise Misuse if it names no bucket."""
    service, found = service_of(path), _BUCKET.fullmatch(os.fspath(path))
    if found is None or not service.bucket.fullmatch(found[1]) or {".", ".."} & set(found[2].split("/")):
        raise Misuse(f"Invalid address {os.fspath(path)!r}; use {service.example} or {service.example}/FOLDER.")
    return f"{service.schemes[0]}://{service.whole_name(found[1])}{found[2]}"


def is_machine_id(name: str) -> bool:
    """True if this can be the name of a machine, and so of a folder on any system."""
    return _MACHINE.fullmatch(name) is not None


def mirror_folder(url: str) -> Path:
    """Return the folder that mirrors a bucket; it is made, private, if it does not exist."""
    folder = mirrors_folder() / bucket_folder_name(url)
    _urls[folder] = url
    with suppress(OSError):  # whoever writes into it will say why
        make_private_folder(folder)
    return folder


def bucket_folder_name(url: str) -> str:
    """Return a name for a folder of what comes from an address, unlike that of any other address or server."""
    from hashlib import sha256  # loaded late: it loads OpenSSL

    server = os.environ.get(service_of(url).endpoint, "")
    digest = sha256(f"{server} {url}".encode("utf-8", "surrogatepass"))
    words = _NOT_READABLE.sub("-", url.lower().partition("://")[2])[:60].strip("-")
    return f"{words}-{digest.hexdigest()[:12]}"


def mirrors_folder() -> Path:
    """Return the folder with all mirrors."""
    return cache_folder() / MIRRORS


def is_mirror(folder: Path) -> bool:
    """True if a folder is the mirror of a bucket."""
    return folder.parent == mirrors_folder()


def named_url(folder: Path) -> str | None:
    """Return the bucket of a mirror; None if nobody has named it in this process."""
    return _urls.get(folder)


def typed_path(path: Path) -> str:
    """Return a path as a person names it: what mirrors something in a bucket by its address."""
    top = mirrors_folder()
    if not path.is_relative_to(top):
        return str(path)
    mirror, *below = path.relative_to(top).parts or ("",)
    url = _urls.get(top / mirror)
    return str(path) if url is None else "/".join((url, *((MACHINES, *below) if below else ())))


def reread_words(roots: Iterable[str | Path]) -> list[str]:
    """Return how reread is called to read the sessions in the same folders and buckets."""
    if (roots := list(roots)) == [SAMPLES]:
        return ["reread", "--demo"]
    typed = (typed_path(root) if isinstance(root, Path) else root for root in roots)
    return ["reread", *(word for root in typed for word in ("--root", root))]


def cache_folder() -> Path:
    """Return the folder for caches on this machine."""
    return Path(cache_path())


def data_folder() -> Path:
    """Return the folder for what this machine keeps."""
    return Path(data_path())
