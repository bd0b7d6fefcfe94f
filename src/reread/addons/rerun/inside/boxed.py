"""Run a program in a root folder of its own, where nothing can be reached but an API behind a socket in a folder.

`unshare --net --mount --pid --fork --kill-child python -I -S boxed.py PLAN`. The plan is JSON: `root`, an empty folder;
`shown`, what can be read there, each with its place; `own`, folders that can be written to; `socket`, the path of the
API's socket inside, and its `port`; `words`, `folder` and `environment` of the program; `pages`, the command that
answers as pages of the web did, and its `ports`; `alive`, a pipe that ends with whoever started this.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

BIND, RECURSIVE, READ_ONLY, REMOUNT, PRIVATE, DETACH = 4096, 16384, 1, 32, 1 << 18, 2
HELD = 2 | 4 | 8
"""What a mount may have been restricted to before, and must stay: no set-user programs, devices or programs at all."""
SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "opt")
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
SIZE = "size=4g,mode=755"
NO_NEW_PRIVILEGES, DROP_CAPABILITY = 38, 24
LAST_CAPABILITY = 63
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
SET_FLAGS, UP = 0x8914, 0x1
libc = ctypes.CDLL(None, use_errno=True)


def require_success(failed: int, what: str) -> None:
    """Raise OSError if a call of the system failed."""
    if failed:
        code = ctypes.get_errno()
        raise OSError(code, f"cannot {what}: {os.strerror(code)}")


def mount(source: object, target: Path, kind: str | None, flags: int, data: str | None = None) -> None:
    """Call the system's mount."""
    words = [None if text is None else os.fsencode(str(text)) for text in (source, target, kind, data)]
    require_success(libc.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3]), f"mount {target}")


def put_in(source: Path, target: Path, *, writable: bool = False) -> None:
    """Bind a folder or file into the new root."""
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            target.touch()
    mount(source, target, None, BIND | RECURSIVE)
    if not writable:
        held = os.statvfs(target).f_flag & HELD
        mount(None, target, None, BIND | REMOUNT | READ_ONLY | held)


def build(plan: dict[str, Any]) -> None:
    """Make the new root and enter it."""
    root = Path(plan["root"])

    def inside(path: str) -> Path:
        return root / path.lstrip("/")

    mount(None, Path("/"), None, PRIVATE | RECURSIVE)
    mount("tmpfs", root, "tmpfs", 0, SIZE)
    for name in SYSTEM:
        folder = Path("/", name)
        if folder.is_symlink():
            inside(name).symlink_to(folder.readlink())
        elif folder.is_dir():
            put_in(folder, inside(name))
    inside("tmp").mkdir()
    inside("tmp").chmod(0o1777)
    for at, source in plan["shown"]:
        put_in(Path(source), inside(at))
    for name in DEVICES:
        put_in(Path("/dev", name), inside(f"dev/{name}"), writable=True)
    inside("dev/shm").mkdir()
    inside("dev/shm").chmod(0o1777)
    inside("proc").mkdir()
    mount("proc", inside("proc"), "proc", 0)
    for at, source in plan["own"]:
        put_in(Path(source), inside(at), writable=True)
    old = inside("old")
    old.mkdir()
    number = PIVOT_ROOT[os.uname().machine]
    require_success(libc.syscall(number, os.fsencode(root), os.fsencode(old)), "change the root folder")
    os.chdir("/")
    require_success(libc.umount2(b"/old", DETACH), "leave the old root folder")
    Path("/old").rmdir()


def start_loopback() -> None:
    """Bring the loopback interface up."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sh14x", b"lo", UP))


def give_up_powers() -> None:
    """Let nothing that is started here do more than its user may: no mounts, no devices, no other namespaces."""
    for capability in range(LAST_CAPABILITY + 1):
        libc.prctl(DROP_CAPABILITY, capability, 0, 0, 0)  # fails for those that this system does not know
    require_success(libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0), "give up privileges")


def copy(source: socket.socket, target: socket.socket) -> None:
    """Pass on what one end says to the other."""
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def listen(port: int) -> socket.socket:
    """Return a socket that listens on a port."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", port))
    listening.listen(64)
    return listening


def relay(listening: socket.socket, path: str) -> None:
    """Connect whoever calls the port to the socket."""
    while True:
        caller, _ = listening.accept()
        wire = socket.socket(socket.AF_UNIX)
        wire.connect(path)
        for ends in ((caller, wire), (wire, caller)):
            threading.Thread(target=copy, args=ends, daemon=True).start()


def end_with(pipe: int) -> None:
    """End the box, and with it all that runs in it, when the other end of a pipe is closed."""
    os.read(pipe, 1)
    os._exit(1)


def main(path: Path) -> None:
    """Build the box, and run the program in it."""
    plan: dict[str, Any] = json.loads(path.read_bytes())
    start_loopback()
    build(plan)
    listening, *web = [listen(port) for port in (plan["port"], *plan["ports"])]
    threading.Thread(target=relay, args=(listening, plan["socket"]), daemon=True).start()
    threading.Thread(target=end_with, args=(plan["alive"],), daemon=True).start()
    env: dict[str, str] = plan["environment"]
    os.environ["PATH"] = env["PATH"]  # where the program is looked for
    give_up_powers()
    if web:
        descriptors = [one.fileno() for one in web]
        words = [*plan["pages"], *map(str, descriptors)]
        quiet = subprocess.DEVNULL
        subprocess.Popen(words, pass_fds=descriptors, env={}, stdin=quiet, stdout=quiet, stderr=quiet)
    done = subprocess.run(plan["words"], env=env, cwd=plan["folder"], check=False)
    os._exit(done.returncode & 0xFF)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
