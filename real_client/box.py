"""Run commands of the real client in a sandbox, against the stub of the API.

`in_box` starts this file with `unshare`: the network has only loopback, the home folder and the folder for temporary
files contain only what is needed, the environment is clean, and the key is a dummy.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

HERE = Path(__file__).parent
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PORT = 8787
STASH = Path("/mnt")
ISOLATED = ["unshare", "-n", "-m", "-p", "--fork", "--mount-proc", "--kill-child"]
KEY = "dummy-key-for-the-stub-0000000000"


def reason_not_to() -> str:
    """Return why the sandbox cannot be used here; empty if it can."""
    if sys.platform != "linux" or os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("ip"):
        return "The sandbox needs root on Linux, `unshare` and `ip`."
    return "" if shutil.which("npm") else "The client is installed with npm, and there is none."


def in_box(
    client: Path,
    scratch: Path,
    runs: Sequence[dict[str, Any]],
    keep: Sequence[Path] = (),
    scripts: Mapping[str, Any] = MappingProxyType({}),
) -> list[Any]:
    """Run commands of the client one after the other, and return the exit code, output and errors of each.

    A run has `words`, and may have `environment`, `timeout` and `wait`, the seconds before it, and `clock`, the seconds
    by which its clock and that of the API are ahead; with `until` it runs on a terminal until that text is there. The
    answer that is given to `--resume-session-at` is named by its text. `scripts` are answered beside those of
    `scenarios.py`. Its project is `scratch/proj`, its home `scratch/home`.
    What the client asks the API is in `scratch/requests.jsonl`.
    """
    clock = clock_library() if any("clock" in run for run in runs) else None
    kept = [*keep, *([clock.parent] if clock is not None else [])]
    shifted = [
        {
            **run,
            "environment": {**run.get("environment", {}), "LD_PRELOAD": str(clock), "FAKETIME": f"+{run['clock']}s"},
        }
        if "clock" in run
        else run
        for run in runs
    ]
    plan = {"client": str(client), "scratch": str(scratch), "runs": shifted, "keep": [str(path) for path in kept]}
    plan["scripts"] = dict(scripts)
    (scratch / "plan.json").write_text(json.dumps(plan))
    command = [*ISOLATED, sys.executable, str(HERE / "box.py"), str(scratch / "plan.json")]
    limit = 60 + sum(run.get("timeout", 60) + run.get("wait", 0) for run in runs)
    env = {"PATH": PATH, "HOME": str(Path("~root").expanduser())}
    done = subprocess.run(command, env=env, capture_output=True, timeout=limit, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace")[-2000:])
    return json.loads((scratch / "done.json").read_text())


def clock_library() -> Path | None:
    """Return the library that shifts a program's clock, if it is installed: Debian's package faketime has it."""
    given = os.environ.get("LIBFAKETIME")
    found = [Path(given)] if given else sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    return found[0] if found else None


def install(version: str, folder: Path) -> Path:
    """Install a version of the client from npm into a folder, unless it is there, and return its program."""
    if not list(folder.glob("node_modules/@anthropic-ai/claude-code/package.json")):
        npm_install(f"@anthropic-ai/claude-code@{version}", folder)
    packages = folder / "node_modules" / "@anthropic-ai"
    scripts, programs = list(packages.glob("claude-code/cli.js")), sorted(packages.glob("claude-code-linux-*/claude"))
    return (scripts or [path for path in programs if "musl" not in path.parent.name])[0]


def npm_install(wanted: str, folder: Path) -> None:
    """Install a package from npm into a folder, in a clean environment."""
    folder.mkdir(parents=True, exist_ok=True)
    env = {"PATH": PATH, "HOME": str(folder), "NODE_EXTRA_CA_CERTS": "/etc/ssl/certs/ca-certificates.crt"}
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), wanted]
    done = subprocess.run(command, env=env, capture_output=True, timeout=300, check=False)
    if done.returncode:
        raise RuntimeError(f"Cannot install {wanted}: {done.stderr.decode(errors='replace')[-500:]}")


def installed_version(client: Path) -> str:
    """Return the version of an installed client."""
    package = next(above for above in client.parents if above.name == "@anthropic-ai") / "claude-code" / "package.json"
    return json.loads(package.read_text())["version"]


def _sh(*words: Any) -> None:
    subprocess.run([*map(str, words)], check=True, stdout=subprocess.DEVNULL)


def _hide(folder: Path, keep: Sequence[Path]) -> None:
    """Mount an empty folder over one, and keep only some folders in it."""
    inside = [path for path in dict.fromkeys(keep) if path.is_relative_to(folder) and path.is_dir()]
    inside = [path for path in inside if not any(path != top and path.is_relative_to(top) for top in inside)]
    _sh("mount", "-t", "tmpfs", "tmpfs", STASH)
    for n, path in enumerate(inside):
        (STASH / str(n)).mkdir()
        _sh("mount", "--bind", path, STASH / str(n))
    _sh("mount", "-t", "tmpfs", "tmpfs", folder)
    for n, path in enumerate(inside):
        path.mkdir(parents=True)
        _sh("mount", "--bind", STASH / str(n), path)


def isolate(needed: Sequence[Path]) -> None:
    """Leave nothing but some folders of the home folder and of the folder for temporary files, and start loopback."""
    for folder in (Path.home(), Path("/tmp")):
        _hide(folder, needed)
    _sh("ip", "link", "set", "lo", "up")


def environment(scratch: Path) -> dict[str, str]:
    """Return the environment of the client."""
    return {
        "PATH": f"{scratch}/bin:{PATH}",
        "HOME": f"{scratch}/home",
        "CLAUDE_CONFIG_DIR": f"{scratch}/home/.claude",
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{PORT}",
        "ANTHROPIC_API_KEY": KEY,
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
    }


def _run(scratch: Path, command: list[str], run: dict[str, Any]) -> dict[str, Any]:
    env = {**environment(scratch), **run.get("environment", {})}
    time.sleep(run.get("wait", 0))
    try:
        done = subprocess.run(
            [*command, *_words(scratch, run["words"])],
            cwd=scratch / "proj",
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=run.get("timeout", 60),
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        return {"code": None, "out": (late.stdout or b"").decode(errors="replace"), "err": "timed out"}
    return {"code": done.returncode, "out": done.stdout.decode(), "err": done.stderr.decode(errors="replace")}


def _words(scratch: Path, words: Sequence[str]) -> list[str]:
    """Return the words of a command, with the id of an answer after `--resume-session-at`, which has its text."""
    words = list(words)
    if "--resume-session-at" in words:
        at, id = words.index("--resume-session-at") + 1, words[words.index("--resume") + 1]
        (path,) = (scratch / "home" / ".claude" / "projects").glob(f"*/{id}.jsonl")
        records = map(json.loads, path.read_text().splitlines())
        (words[at],) = {one["uuid"] for one in records if one["type"] == "assistant" and words[at] in json.dumps(one)}
    return words


def _show(scratch: Path, command: list[str], run: dict[str, Any]) -> dict[str, Any]:
    """Run the client on a terminal until it shows a text, or until the time is up, and return all that it wrote.

    `keys` are typed once it shows something: pairs of a text and what to type then. `under` is a program that runs it.
    """
    env = {**environment(scratch), "TERM": "xterm-256color", **run.get("environment", {})}
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
    process = subprocess.Popen(
        [*run.get("under", ()), *command, *run["words"]],
        cwd=scratch / "proj",
        env=env,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    out, end = b"", time.monotonic() + run.get("timeout", 60)
    keys = list(run.get("keys", ()))
    while (keys or run["until"].encode() not in out) and time.monotonic() < end:
        if select.select([ours], [], [], 0.2)[0]:
            out += os.read(ours, 1 << 16)
        elif keys and keys[0][0].encode() in out:  # it has finished drawing
            os.write(ours, keys.pop(0)[1].encode())
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    os.close(ours)
    os.close(theirs)
    return {"code": 0 if run["until"].encode() in out else None, "out": out.decode(errors="replace"), "err": ""}


def _main(plan_file: Path) -> None:
    from scenarios import FILES, scripts
    from stub_api import StubApi

    plan = json.loads(plan_file.read_text())
    client, scratch = Path(plan["client"]), Path(plan["scratch"])
    package = next(above for above in client.parents if above.name == "node_modules")
    needed = [package, scratch, HERE, Path(sys.prefix), Path(sys.base_prefix), *map(Path, plan["keep"])]
    isolate(needed)
    for name, content in FILES.items():
        path = scratch / "proj" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    config = scratch / "home" / ".claude"
    config.mkdir(parents=True, exist_ok=True)
    trusted = {str(scratch / "proj"): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}}
    approved = {"approved": [KEY[-20:]], "rejected": []}
    state = {"hasCompletedOnboarding": True, "projects": trusted, "customApiKeyResponses": approved}
    (config / ".claude.json").write_text(json.dumps(state))
    answers = {**scripts(str(scratch / "proj")), **plan["scripts"]}
    api = StubApi(answers, scratch / "truth.jsonl", scratch / "requests.jsonl")
    api.serve(PORT)
    command = ["node", str(client)] if client.suffix == ".js" else [str(client)]
    done: list[Any] = []
    for run in plan["runs"]:
        api.cache.ahead = run.get("clock", 0)
        done.append((_show if "until" in run else _run)(scratch, command, run))
    (scratch / "done.json").write_text(json.dumps(done))


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    _main(Path(sys.argv[1]))
