"""The box that a session is played in: a home, a configuration and a work folder of its own, and no network."""

from __future__ import annotations

import os
import posixpath
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from reread.addons.rerun.aside import ASIDE
from reread.addons.rerun.scene import Scene, SceneFile
from reread.base import jsontext
from reread.base.text import one_line
from reread.storage.kept_file import read_whole
from reread.storage.safe_open import open_own, read_own

INSIDE = Path(__file__).parent / "inside"
ISOLATED = ("unshare", "--net", "--mount", "--pid", "--ipc", "--fork", "--kill-child")
PORT = 8787
TOLD = ".told"
"""How the record of a command ends once that was answered."""
LARGEST_SAID = 64 << 20
TOP = "/reread"
"""The folder inside the box with what is needed to play."""
HOME = "/home/user"
"""The home folder, if that of the session cannot be one."""
LONGEST_PATH, LONGEST_NAME, DEEPEST = 2048, 255, 128
MANAGED = "/etc/claude-code"
"""Settings for all users of this machine: they are not the session's."""
PAGES, CERTIFICATE = "page_server.py", "cert.pem"
"""What answers as pages did, and what the client trusts them by."""
KEY = "reread-dummy-key-0000000000000000"
SYSTEM_FOLDERS = ("/", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/opt", "/dev", "/proc", "/sys", "/tmp", TOP)
"""Folders that cannot be the work folder of a box."""
GIT = ("git", "-c", "user.name=reread", "-c", "user.email=reread@localhost", "-c", "core.hooksPath=/dev/null")
NO_CONFIGURATION = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
START = "2020-01-01T00:00:00Z"
SAME_COMMIT = {"GIT_AUTHOR_DATE": START, "GIT_COMMITTER_DATE": START}
"""The client tells the model the name of the last commit, so each play of the same files has the same."""


DELETE = 'cat >/dev/null; for _ in 1 2 3 4 5 6 7 8 9; do rm -rf -- "$1"; [ -e "$1" ] || break; sleep 1; done'
"""What is written to while it is deleted is deleted again."""


class BoxPlan(msgspec.Struct):
    """What `inside/boxed.py` is told."""

    root: str
    shown: list[tuple[str, str]]
    own: list[tuple[str, str]]
    socket: str
    port: int
    words: list[str]
    folder: str
    environment: dict[str, str]
    pages: list[str]
    """The command that answers as pages did, without the sockets that it is handed; empty if none is needed."""
    ports: list[int]
    """On which it listens."""
    alive: int
    """A pipe that ends when the one who started the box does."""


class Liveline:
    """A pipe to a process that is to end with this one, however this one ends."""

    def __init__(self) -> None:
        self.theirs, self._mine = os.pipe()

    def handed_over(self) -> None:
        """Close the end that the process has now."""
        os.close(self.theirs)

    def end(self) -> None:
        """Let the process end."""
        os.close(self._mine)


def python() -> str:
    """Return the program of this Python, by a path that it has in the box, too."""
    path = Path(sys.executable)
    return str(path.parent.resolve() / path.name)


class PassingFolder:
    """A folder for temporary files that is deleted once this process has ended, however that happens."""

    def __init__(self) -> None:
        self.path: Path = Path(tempfile.gettempdir(), f"reread-rerun-{secrets.token_hex(8)}")
        words = ["sh", "-c", DELETE, "sh", str(self.path)]
        quiet = subprocess.DEVNULL
        # Who deletes it is there first: at no point is there a folder that nobody would delete.
        self._guard = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=quiet, start_new_session=True)
        self.path.mkdir(mode=0o700)

    def close(self) -> None:
        """Delete it."""
        self._guard.communicate()


@cache
def isolation() -> tuple[str, ...] | None:
    """Return the words that isolate a program on this system; None if it cannot be isolated."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return None
    for words in (ISOLATED, (*ISOLATED, "--user", "--map-root-user")):
        done = subprocess.run([*words, "true"], capture_output=True, check=False, timeout=20)
        if not done.returncode:
            return words
    return None


class Box:
    """Folders for one play, which are gone at the end."""

    def __init__(self, scene: Scene, *, dry: bool = True) -> None:
        self.scene: Scene = scene
        self._folder = PassingFolder()
        self.top: Path = self._folder.path
        self._alive: Liveline | None = None
        self._ports: list[int] = []
        for name in ("root", "home", "work", "wire", "dry", "bin", "empty"):
            (self.top / name).mkdir()
        self.home: Path = self.top / "home"
        self.work: Path = self.top / "work"
        self.socket: Path = self.top / "wire" / "api"
        self.folder: str = scene.folder if _can_be_work(scene.folder) else f"{HOME}/project"
        """The work folder, as the client sees it."""
        self.user_home: str = scene.home if can_be_made(scene.home) else HOME
        """The home folder, as the client sees it."""
        self.is_dry: bool = dry
        try:
            self._put_files()
            self._put_state()
            if dry:
                self._put_dry()
        except BaseException:
            self._folder.close()
            raise

    def close(self) -> None:
        """End what runs in it, and delete everything."""
        if self._alive is not None:
            self._alive.end()
        self._folder.close()

    @property
    def config(self) -> Path:
        """The client's folder."""
        return self.home / ".claude"

    def outside(self, path: str) -> Path | None:
        """Return where a path of the box is; None if it is not kept."""
        path += ASIDE if path in self.scene.aside else ""
        for inner, outer in ((self.folder, self.work), (self.user_home, self.home)):
            if path == inner or path.startswith(inner + "/"):
                found = Path(os.path.normpath(outer / path[len(inner) :].lstrip("/")))
                return found if found.is_relative_to(outer) else None
        return None

    def _put_files(self) -> None:
        for file in self.scene.files:
            target = self.outside(self._moved(file.path))
            if target is None:
                self.scene.notes.append(f"{file.path} lies outside the project and the home folder, and is not there.")
                continue
            if not _write(target, file):
                self.scene.notes.append(f"{one_line(file.path)} cannot be a file in the box, and is not there.")

    def commit(self) -> None:
        """Make the work folder a repository, if the session had one, and commit what is in it."""
        if self.scene.is_repository:
            branch = self.scene.branch or "main"
            for words in (
                ["init", "-q", "-b", branch],
                ["add", "-A"],
                ["commit", "-q", "-m", "start", "--allow-empty"],
            ):
                env = {"PATH": os.environ.get("PATH", ""), "HOME": str(self.home), **NO_CONFIGURATION, **SAME_COMMIT}
                subprocess.run([*GIT, "-C", str(self.work), *words], env=env, capture_output=True, check=False)

    def _moved(self, path: str) -> str:
        was = self.scene.folder
        return self.folder + path[len(was) :] if path == was or path.startswith(was.rstrip("/") + "/") else path

    def _put_state(self) -> None:
        project: dict[str, Any] = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        project["allowedTools"] = []  # clients before 2.0 do not start without it
        state: dict[str, Any] = {
            "hasCompletedOnboarding": True,
            "numStartups": 9,
            "bypassPermissionsModeAccepted": True,
            "autoUpdates": False,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {self.folder: project},
        }
        self.config.mkdir(parents=True, exist_ok=True)
        (self.home / ".claude.json").write_bytes(jsontext.dumps(state))

    def settings(self, value: Mapping[str, Any]) -> None:
        """Write the user's settings."""
        base = {"skipWebFetchPreflight": True, "skipDangerousModePermissionPrompt": True, "cleanupPeriodDays": 3650}
        (self.config / "settings.json").write_bytes(jsontext.dumps({**base, **value}))

    def _put_dry(self) -> None:
        shell = self.top / "bin" / "bash"
        program = read_whole(INSIDE / "dry_shell.py").decode()
        shell.write_text(f"#!{python()} -IS\n{program}", encoding="utf-8")
        shell.chmod(0o755)
        for number, said in enumerate(self.scene.commands):
            self._recorded(number).write_bytes(msgspec.json.encode(said))

    def serve_pages(self, ports: Sequence[int], hosts: Sequence[str]) -> None:
        """Let what lies in `bin` answer for hosts of the web; no other host is known in the box."""
        self._ports = list(ports)
        lines = [f"127.0.0.1 {host}\n" for host in ("localhost", *hosts)]
        (self.top / "hosts").write_text("".join(lines), encoding="utf-8")

    def environment(self) -> dict[str, str]:
        """Return the environment of the client."""
        shell = {"SHELL": f"{TOP}/bin/bash", "CLAUDE_CODE_SHELL": f"{TOP}/bin/bash"} if self.is_dry else {}
        return {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": self.user_home,
            "ANTHROPIC_API_KEY": KEY,
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "IS_SANDBOX": "1",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "USER": "user",
            **({"NODE_EXTRA_CA_CERTS": f"{TOP}/bin/{CERTIFICATE}"} if self._ports else {}),
            "SHELL": "/bin/bash",
            **shell,
        }

    def start(self, words: Sequence[str], program: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Start a program in the box."""
        words_of_box = isolation()
        assert words_of_box is not None, "where no box can be closed, nothing is played"
        inner = {**self.environment(), **env}
        prefixes = {Path(prefix).resolve() for prefix in (sys.base_prefix, sys.prefix)}
        shown = [(str(path), str(path)) for path in prefixes if not _is_shown(path)]
        shown += [(f"{TOP}/client", str(program)), (f"{TOP}/bin", str(self.top / "bin"))]
        shown += [("/etc/hosts", str(self.top / "hosts"))] if self._ports else []
        shown += [(MANAGED, str(self.top / "empty"))] if Path(MANAGED).is_dir() else []
        own = [(self.user_home, str(self.home)), (self.folder, str(self.work))]
        own += [(f"{TOP}/wire", str(self.top / "wire")), (f"{TOP}/dry", str(self.top / "dry"))]
        own.sort(key=lambda one: one[0].count("/"))
        self._alive = Liveline()
        plan = BoxPlan(
            root=str(self.top / "root"),
            shown=shown,
            own=own,
            socket=f"{TOP}/wire/api",
            port=PORT,
            words=list(words),
            folder=self.folder,
            environment=inner,
            pages=[python(), "-P", "-I", "-S", f"{TOP}/bin/{PAGES}", f"{TOP}/bin"] if self._ports else [],
            ports=self._ports,
            alive=self._alive.theirs,
        )
        (self.top / "plan.json").write_bytes(msgspec.json.encode(plan))
        program_of_box = [sys.executable, "-P", "-I", "-S", str(INSIDE / "boxed.py"), str(self.top / "plan.json")]
        descriptor = open_own(self.top / "errors", os.O_WRONLY | os.O_CREAT)
        with os.fdopen(descriptor, "wb") as errors:
            process = subprocess.Popen(
                [*words_of_box, *program_of_box],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                pass_fds=[self._alive.theirs],
                env={"PATH": os.environ.get("PATH", "")},
            )
        self._alive.handed_over()
        return process

    def forget(self, call: str) -> None:
        """Take the record of a command away that does not run, because a person said no to it."""
        for number, said in enumerate(self.scene.commands):
            if said.call == call:
                self._recorded(number).unlink(missing_ok=True)

    def is_interrupted(self) -> bool:
        """True once for each command that a person interrupted, when it runs."""
        for number, said in enumerate(self.scene.commands):
            told = self._recorded(number).with_suffix(TOLD)
            if said.interrupted and told.exists():
                told.unlink()
                return True
        return False

    def _recorded(self, number: int) -> Path:
        return self.top / "dry" / f"{number:06}.json"

    @property
    def errors(self) -> str:
        """What the client said on its standard error."""
        try:
            return read_own(self.top / "errors", LARGEST_SAID).decode("utf-8", "replace")
        except OSError:
            return ""

    @property
    def unrecorded_commands(self) -> list[str]:
        """The commands that the client wanted to run and that the record does not have."""
        try:
            lines = read_own(self.top / "dry" / "asked", LARGEST_SAID).splitlines()
        except OSError:
            return []
        return [one for line in lines if isinstance(one := jsontext.loads_clean(line), str)]


def _can_be_work(folder: str) -> bool:
    inside = any(folder.startswith(f"{one}/") for one in SYSTEM_FOLDERS if one not in ("/", "/tmp", "/opt"))
    return folder not in SYSTEM_FOLDERS and not inside and posixpath.isabs(folder) and can_be_made(folder)


def can_be_made(path: str) -> bool:
    """True if a file or folder of the box can have this path."""
    names = path.split("/")
    is_short = len(os.fsencode(path)) <= LONGEST_PATH and len(names) <= DEEPEST
    return is_short and "\0" not in path and all(len(os.fsencode(name)) <= LONGEST_NAME for name in names)


def _is_shown(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in ("/usr", "/opt"))


def _write(target: Path, file: SceneFile) -> bool:
    """Write a file, and return whether it could be."""
    if not can_be_made(str(target)):
        return False
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.data)
    except (FileExistsError, IsADirectoryError, NotADirectoryError):  # the record has a file where it has a folder
        return False
    return True
