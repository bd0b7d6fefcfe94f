"""The real client: the one on PATH, at a path, or a version that is install_client from npm."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import msgspec

from reread.base import jsontext
from reread.base.coerce import as_dict, as_str
from reread.errors import Misuse, NotFound, RereadError
from reread.storage.kept_file import read_whole
from reread.storage.user_paths import cache_folder

PACKAGE = "@anthropic-ai/claude-code"
VERSION = re.compile(r"\d{1,6}\.\d{1,6}\.\d{1,9}(?:-[a-z0-9.]{1,40})?|latest|stable")
FOLDER = "clients"
START_SECONDS = 60


class NotPlayed(RereadError):
    """A session could not be played."""


class Client(msgspec.Struct, frozen=True):
    """A client that can be started."""

    folder: Path
    """What has to be in the box: the folder with the program and what it needs."""
    program: str
    """The program, from that folder on."""
    version: str

    @property
    def is_script(self) -> bool:
        """True if Node runs it, as clients were until 2.1."""
        return self.program.endswith((".js", ".mjs", ".cjs"))

    def words(self, top: str) -> list[str]:
        """Return how it is started where its folder is at `top`."""
        path = f"{top}/{self.program}"
        return ["node", path] if self.is_script else [path]


def find_client(wanted: str | os.PathLike[str] | None = None) -> Client:
    """Return a client: by default the one on PATH, else a path or a version, which npm installs into the cache."""
    if wanted is None:
        found = shutil.which("claude")
        if found is None:
            raise NotFound("No `claude` on PATH; name one with --client, as a path or a version such as 2.1.327.")
        return _at(Path(found))
    name = os.fspath(wanted)
    if VERSION.fullmatch(name):
        return install_client(name)
    path = Path(name).expanduser()
    if not path.exists():
        raise NotFound(f"No client at {path}; name a program, or a version such as 2.1.327.", path=str(path))
    return _at(path)


def install_client(version: str) -> Client:
    """Return a version of the client, which is install_client from npm unless it is there."""
    folder = cache_folder() / FOLDER / version
    modules = folder / "node_modules"
    if version in ("latest", "stable") or not (modules / PACKAGE / "package.json").is_file():
        npm = shutil.which("npm")
        if npm is None:
            raise NotFound(
                "The client is install_client with npm, and there is none; name a client on this machine instead."
            )
        folder.mkdir(parents=True, exist_ok=True)
        words = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), f"{PACKAGE}@{version}"]
        done = subprocess.run(words, capture_output=True, check=False, timeout=600, stdin=subprocess.DEVNULL)
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip()[-300:]
            raise Misuse(f"Cannot install version {version} of the client: {said}")
    return _in_modules(modules)


def _in_modules(modules: Path) -> Client:
    package = as_dict(jsontext.loads_clean(read_whole(modules / PACKAGE / "package.json")))
    script = modules / PACKAGE / "cli.js"
    if script.is_file():
        return Client(modules, f"{PACKAGE}/cli.js", as_str(package.get("version")) or "")
    natives = sorted((modules / "@anthropic-ai").glob("claude-code-*/claude"))
    native = next((path for path in natives if "musl" not in path.parent.name), None)
    if native is None:
        raise NotFound(f"No program of the client in {modules}.", path=str(modules))
    return Client(modules, str(native.relative_to(modules)), as_str(package.get("version")) or "")


def _at(path: Path) -> Client:
    real = path.resolve()
    for above in real.parents:
        if above.name == "node_modules" and (above / PACKAGE / "package.json").is_file():
            return _in_modules(above)
    return Client(real.parent, real.name, _version(real))


def _version(path: Path) -> str:
    words = [str(path), "--version"]
    try:
        done = subprocess.run(words, capture_output=True, check=False, timeout=START_SECONDS, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise NotPlayed(f"The client at {path} does not start: {error.strerror or error}.") from error
    except subprocess.TimeoutExpired:
        raise NotPlayed(f"The client at {path} does not say its version within {START_SECONDS} seconds.") from None
    return done.stdout.decode("utf-8", "replace").split(" ")[0].strip()
