"""Run a program in a root folder of its own, where nothing is reachable but an API behind a socket in a folder.

`unshare --net --mount --pid --fork --kill-child python -I -S boxed.py PLAN`. The plan is JSON: `root`, an empty folder;
`shown`, folders that can be read there, with the places that they have; `own`, folders that can be written to; `socket`,
the path of the API's socket inside, and its `port`; `words`, `folder` and `environment` of the program.
"""

import ctypes
import fcntl
import json
import os
import shutil
import socket
import struct
import sys
import threading

BIND, RECURSIVE, READ_ONLY, REMOUNT, PRIVATE, NO_SUID, NO_DEVICES = 4096, 16384, 1, 32, 1 << 18, 2, 4
DETACH = 2
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt")
SIZE = "size=4g,mode=755"
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
UP = 0x1
libc = ctypes.CDLL(None, use_errno=True)


def mount(source, target, kind, flags, data=None):
    """Call the system's mount."""
    words = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    if libc.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3]):
        code = ctypes.get_errno()
        raise OSError(code, f"cannot mount {target}: {os.strerror(code)}")


def place(root, at):
    """Return where a path of the new root is now."""
    return root + "/" + at.lstrip("/")


def show(source, root, at, writable=False):
    """Bind a folder or file into the new root."""
    target = place(root, at)
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "a"):
            pass
    mount(source, target, None, BIND | RECURSIVE)
    if not writable:
        held = os.statvfs(target).f_flag & (NO_SUID | NO_DEVICES | 8)
        mount(None, target, None, BIND | REMOUNT | READ_ONLY | held)


def build(plan):
    """Make the new root and enter it."""
    root = plan["root"]
    mount(None, "/", None, PRIVATE | RECURSIVE)
    mount("tmpfs", root, "tmpfs", 0, SIZE)
    for folder in SYSTEM:
        if os.path.islink(folder):
            os.symlink(os.readlink(folder), place(root, folder))
        elif os.path.isdir(folder):
            show(folder, root, folder)
    os.makedirs(place(root, "/tmp"))
    os.chmod(place(root, "/tmp"), 0o1777)
    for at, source in plan["shown"]:
        show(source, root, at)
    show("/dev", root, "/dev", writable=True)
    os.makedirs(place(root, "/proc"))
    mount("proc", place(root, "/proc"), "proc", 0)
    for at, source in plan["own"]:
        show(source, root, at, writable=True)
    old = place(root, "/old")
    os.mkdir(old)
    number = PIVOT_ROOT.get(os.uname().machine)
    if number is None or libc.syscall(number, os.fsencode(root), os.fsencode(old)):
        raise OSError(ctypes.get_errno(), "cannot change the root folder")
    os.chdir("/")
    if libc.umount2(b"/old", DETACH):
        raise OSError(ctypes.get_errno(), "cannot leave the old root folder")
    os.rmdir("/old")


def start_loopback():
    """Bring the loopback interface up."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", UP))


def copy(source, target):
    """Pass on what one end says to the other."""
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
    except OSError:
        pass
    try:
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def relay(listening, path):
    """Connect whoever calls the port to the socket."""
    while True:
        caller, _ = listening.accept()
        wire = socket.socket(socket.AF_UNIX)
        wire.connect(path)
        for ends in ((caller, wire), (wire, caller)):
            threading.Thread(target=copy, args=ends, daemon=True).start()


def main(path):
    """Build the box, and run the program in it."""
    with open(path) as file:
        plan = json.load(file)
    start_loopback()
    build(plan)
    listening = socket.socket()
    listening.bind(("127.0.0.1", plan["port"]))
    listening.listen(64)
    threading.Thread(target=relay, args=(listening, plan["socket"]), daemon=True).start()
    words, env = plan["words"], plan["environment"]
    os.chdir(plan["folder"])
    program = shutil.which(words[0], path=env["PATH"]) or words[0]
    child = os.spawnve(os.P_NOWAIT, program, words, env)
    sys.stdin.close()
    _, status = os.waitpid(child, 0)
    sys.stdout.flush()
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


if __name__ == "__main__":
    main(sys.argv[1])
