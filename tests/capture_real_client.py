"""Run in a sandbox: capture the real client against the stub API, and print the results as JSON.

`test_capture_client.py` starts it with `unshare`: the network has only loopback, the home folder and the folder for
temporary files contain only what is needed, the environment is clean, and the API key is a dummy.
"""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

RIG, CLIENT, SCRATCH, SOURCE = (Path(word) for word in sys.argv[1:5])
sys.path.insert(0, str(SOURCE / "real_client"))
from box import PORT, environment, isolate  # noqa: E402

SLEEP = "Sleep please [[SCN:interrupt_tool]]"


def own_environment() -> dict[str, str]:
    return environment(SCRATCH) | {"REREAD_HOME": f"{SCRATCH}/store", "PYTHONPATH": str(SOURCE / "src")}


def reread(*words: Any, act: Any = None) -> dict[str, Any]:
    """Run a verb; `act` is called with each line as it comes."""
    child = subprocess.Popen(
        [sys.executable, "-m", "reread", *map(str, words)],
        cwd=SCRATCH / "proj",
        env=own_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdout is not None and child.stderr is not None
    out = b""
    for line in child.stdout:
        out += line
        if act is not None:
            act(child, line)
    return {"out": out.decode(), "err": child.stderr.read().decode(), "code": child.wait()}


def capture(name: str, prompt: str, act: Any = None) -> dict[str, Any]:
    words = ["claude", "-p", prompt, "--dangerously-skip-permissions"]
    return reread("capture", "--conversation", name, "--", *words, act=act)


def fake(*words: str, stdin: bytes = b"", record: bool = False) -> dict[str, Any]:
    """Run the fake client; with `record`, the real one answers what was not recorded."""
    settings = {"REREAD_REPLAY": "once", **({"REREAD_RECORD": "once"} if record else {})}
    command = [sys.executable, "-m", "reread.fake_claude", *words, "--dangerously-skip-permissions"]
    done = subprocess.run(
        command, cwd=SCRATCH / "proj", env=own_environment() | settings, input=stdin, capture_output=True, timeout=60
    )
    return {"out": done.stdout.decode(), "err": done.stderr.decode(), "code": done.returncode}


MESSAGES = ["-p", "--output-format", "stream-json", "--input-format", "stream-json", "--verbose"]


def messages(prompt: str) -> bytes:
    """What a program that talks to the client sends: a request and a prompt."""
    initialize = {"type": "control_request", "request_id": "i", "request": {"subtype": "initialize", "hooks": None}}
    said = {
        "type": "user",
        "message": {"role": "user", "content": prompt},
        "session_id": "",
        "parent_tool_use_id": None,
    }
    return b"".join(json.dumps(sent).encode() + b"\n" for sent in (initialize, said))


def wait_for_sleep() -> None:
    """Wait until the command of the tool runs: before that, the client ends without a result if it is interrupted."""
    for _ in range(600):
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (folder / "cmdline").read_bytes().startswith(b"sleep\0"):
                    return
        time.sleep(0.1)


def on_tool(do: Any) -> Any:
    """Do something once, shortly after the tool that the client has called began."""
    done: list[int] = []

    def act(child: subprocess.Popen[bytes], line: bytes) -> None:
        if b'"tool_use"' in line and not done:
            done.append(1)
            wait_for_sleep()
            time.sleep(1.2)
            do(child)

    return act


def kill_client(child: subprocess.Popen[bytes]) -> None:
    children = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGKILL)


def main() -> None:
    needed = [RIG, CLIENT.parent, SCRATCH, SOURCE, Path(sys.prefix), Path(sys.base_prefix)]
    isolate(needed)
    for folder in ("proj", "home/.claude", "bin"):
        (SCRATCH / folder).mkdir(parents=True)
    (SCRATCH / "bin" / "claude").symlink_to(CLIENT)
    sys.path.insert(0, str(RIG))
    import scenarios  # pyright: ignore[reportMissingImports]
    import stub_api  # pyright: ignore[reportMissingImports]

    stub_api.serve(PORT, scenarios.SCRIPTS, str(SCRATCH))
    report = {
        "plain": capture("talk", "One [[SCN:plain]]"),
        "resumed": reread("resume", "talk", "Two [[SCN:bash_ok]]"),
        "replayed": reread("replay", "talk", "--speed=instant"),
        "shown": reread("show", "talk", "--no-pager"),
        "values": reread("show", "talk", "--format", "json"),
        "usage": reread("usage", "--json"),
        "listed": reread("ls", "--only", "captured", "--json"),
        "checked": reread("check", "--json", "talk"),
        "error": capture("error", "Fail [[SCN:api_400]]"),
        "error_values": reread("show", "error", "--format", "json"),
        "interrupted": capture("interrupted", SLEEP, on_tool(lambda child: child.send_signal(signal.SIGINT))),
        "interrupted_replayed": reread("replay", "interrupted", "--speed=instant"),
        "killed": capture("killed", SLEEP, on_tool(kill_client)),
        "killed_values": reread("show", "killed", "--format", "json"),
        "once": [fake("-p", "Once [[SCN:plain]]", record=record) for record in (True, True, False)],
        "once_talk": [
            fake(*MESSAGES, stdin=messages("Talk [[SCN:bash_ok]]"), record=record) for record in (True, True, False)
        ],
        "once_stored": reread("replay", "once", "--speed=instant"),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
