"""Record rollouts of the real Codex CLI: `codex exec`, in a network that has only loopback, asks a stub of the API.

`python real_client/codex.py VERSION MODEL FOLDER` installs that version from npm and writes a folder for each scenario.
The stub answers from a script, and states tokens that differ from one answer to the next. Paths of this machine are
replaced, and the client's instructions to the model are cut after their first sentence.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from box import ISOLATED, PATH, npm_install

PROJECT, HOME = "/home/user/project", "/home/user/.codex"
CLIENT = "REREAD_CODEX"
"""The variable that names the installed client, in the part without a network."""
INSTRUCTIONS = '"base_instructions":{"text":"'
UNIFIED = (0, 100)
"""The version from which on commands are run by `exec_command`."""
CONFIG = """model = "{model}"
model_provider = "stub"
approval_policy = "never"
sandbox_mode = "danger-full-access"
model_reasoning_summary = "auto"
{more}
[model_providers.stub]
name = "stub"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"""
COMPACT = "model_auto_compact_token_limit = 900"
CHANGE = """*** Begin Patch
*** Add File: notes.txt
+one
+two
*** Update File: hello.py
@@
-print('hello')
+print('hello, world')
*** End Patch"""
MORE = """*** Begin Patch
*** Update File: notes.txt
@@ one
-two
+three
+four
*** Delete File: old.txt
*** Update File: hello.py
*** Move to: src/greeting.py
@@
-print('hello, world')
+print('hello, quay')
*** End Patch"""
INSIDE = """*** Begin Patch
*** Update File: greeting.py
@@
 print('hello, quay')
+print('bye')
*** Add File: new.txt
+x
*** End Patch"""
BROKEN = "*** Begin Patch\n*** Update File: absent.py\n@@\n-x\n+y\n*** End Patch"
LAST = "*** Begin Patch\n*** Update File: src/new.txt\n@@\n-x\n+y\n*** End Patch"
ASK_AGENT, TASK = "Ask an agent.", "Count the files here."
"""What a person asks, and what the session asks its agent."""
PLAN = {"plan": [{"step": "Greet", "status": "completed"}, {"step": "Test", "status": "in_progress"}]}

Item = dict[str, Any]
Scenario = tuple[list[str], list[list[Item]]]
"""Prompts, and the items of each answer."""


def say(text: str) -> Item:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def call(name: str, arguments: Item, id: str = "call_1") -> Item:
    return {"type": "function_call", "name": name, "arguments": json.dumps(arguments), "call_id": id}


def patch(text: str, id: str) -> Item:
    return {"type": "custom_tool_call", "name": "apply_patch", "input": text, "call_id": id, "status": "completed"}


def think(text: str) -> Item:
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}], "encrypted_content": "ENC0"}


AGENTS_NUMBER, AGENTS_ANSWER = 20, [say("There is one file.")]


def scenarios(version: tuple[int, ...]) -> dict[str, Scenario]:
    """Return the scenarios for a version, by name."""

    def run(command: str, id: str = "call_1") -> Item:
        is_new = version >= UNIFIED
        return call("exec_command", {"cmd": command}, id) if is_new else call("shell_command", {"command": command}, id)

    thought = think("**Listing files**\n\nI will list the folder.")
    search = {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "quay tides"}}
    listing = [thought, say("I will look."), run("ls -a && cat hello.py")]
    failing, unknown = run("echo no such test >&2; exit 3"), call("no_such_tool", {"a": 1}, "call_2")
    edits = [[patch(CHANGE, "call_1")], [patch(BROKEN, "call_2")], [call("update_plan", PLAN, "call_3")]]
    heredoc = "apply_patch <<'EOF'\n{}\nEOF"
    patches = [
        [run("echo old > old.txt", "call_0")],
        [run(heredoc.format(CHANGE))],
        [patch(MORE, "call_2")],
        [run("cd src && " + heredoc.format(INSIDE), "call_3")],
        [run(heredoc.format(BROKEN), "call_4")],
        [run("cat src/greeting.py notes.txt && ls", "call_5")],
    ]
    find = {"type": "tool_search_call", "call_id": "call_0", "execution": "client", "status": "completed"}
    spawn = {**call("spawn_agent", {"message": TASK}), "namespace": "multi_agent_v1"}
    asked = [[{**find, "arguments": {"query": "spawn agent"}}], [spawn], [run("sleep 5", "call_2")], [say("One.")]]
    found = {
        "plain-answer": (["Say hello."], [[say("Hello.")]]),
        "shell-command": (["List the files."], [listing, [say("There is one file, `hello.py`.")]]),
        "failing-command": (["Run the tests."], [[failing], [unknown], [say("The tests fail.")]]),
        "apply-patch": (["Greet the world."], [*edits, [say("Done.")]]),
        "patches": (["Change files.", "Again."], [*patches, [say("Done.")], [patch(LAST, "call_6")], [say("Done.")]]),
        "agents": ([ASK_AGENT], asked),
        "two-calls": (["Read twice."], [[run("cat hello.py"), run("wc -c hello.py", "call_2")], [say("Read.")]]),
        "two-turns": (["Remember 7.", "Which number?"], [[say("Remembered.")], [say("Seven.")]]),
        "big-output": (["Count."], [[run("seq 1 20000")], [say("Counted.")]]),
        "api-error": (["Hello?"], []),
        "web-search": (["Look it up."], [[search, say("High at noon.")]]),
        "compacted": (["Work long."], [[run("echo one")], [say("Summary: one was printed.")], [say("Worked.")]]),
    }
    if version < UNIFIED:  # it has no agents, and compacts again and again, because the stub's tokens never fall
        del found["compacted"], found["agents"]
    return found


def events(items: Sequence[Item], number: int) -> Iterator[Item]:
    """Yield the events of one streamed answer."""
    id = f"resp_{number:04d}"
    yield {"type": "response.created", "response": {"id": id}}
    for index, item in enumerate(items):
        whole = {"id": f"item_{number}_{index}", **item}
        yield {"type": "response.output_item.added", "output_index": index, "item": whole}
        yield {"type": "response.output_item.done", "output_index": index, "item": whole}
    given, made = 1000 + 137 * number, 40 + number
    usage = {"input_tokens": given, "output_tokens": made, "total_tokens": given + made}
    usage |= {"input_tokens_details": {"cached_tokens": 600 if number else 0}}
    yield {"type": "response.completed", "response": {"id": id, "usage": usage}}


def start_stub(answers: Sequence[Sequence[Item]]) -> ThreadingHTTPServer:
    """Start a server that gives one answer after the other, and closes the connection if there is none left.

    An agent, which asks at the same time as its session, has an answer of its own.
    """
    left = iter(enumerate(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
            is_agents = TASK in body and ASK_AGENT not in body
            number, items = (AGENTS_NUMBER, AGENTS_ANSWER) if is_agents else next(left, (0, None))
            if items is None:
                return
            lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events(items, number)]
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            self.wfile.write("".join(lines).encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def record(client: Path, model: str, name: str, scenario: Scenario, scratch: Path) -> list[Path]:
    """Play a scenario, and return the rollouts that the client wrote: the session's first."""
    prompts, answers = scenario
    home, project = scratch / "home", scratch / "project"
    home.mkdir(parents=True)
    project.mkdir()
    (project / "hello.py").write_text("print('hello')\n")
    author = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for words in (["init", "-qb", "main"], ["add", "."], [*author, "commit", "-qm", "Start"]):
        subprocess.run(["git", *words], cwd=project, check=True)
    server = start_stub(answers)
    more = COMPACT if name == "compacted" else ""
    (home / "config.toml").write_text(CONFIG.format(model=model, port=server.server_port, more=more))
    env = {"PATH": PATH, "HOME": str(scratch), "CODEX_HOME": str(home)}
    for n, prompt in enumerate(prompts):
        words = ["resume", rollouts_in(home)[0].stem[-36:], prompt] if n else [prompt]
        command = [str(client), "exec", *words]
        subprocess.run(command, cwd=project, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    server.shutdown()
    server.server_close()
    return rollouts_in(home)


def rollouts_in(home: Path) -> list[Path]:
    return sorted(home.glob("sessions/**/rollout-*.jsonl"))


def scrubbed(text: str, scratch: Path) -> str:
    """Return a rollout without paths of this machine, and with short instructions."""
    for path, name in ((scratch / "project", PROJECT), (scratch / "home", HOME), (scratch, str(Path(HOME).parent))):
        text = text.replace(str(path), name)
    at = text.find(INSTRUCTIONS) + len(INSTRUCTIONS)
    if at >= len(INSTRUCTIONS):
        whole, length = json.JSONDecoder().raw_decode(text[at - 1 :])
        text = text[: at - 1] + json.dumps(whole.partition(".")[0] + ".") + text[at - 1 + length :]
    return text


def install(version: str, folder: Path) -> Path:
    """Install a version of the client from npm into a folder, and return its program."""
    npm_install(f"@openai/codex@{version}", folder)
    return folder / "node_modules" / ".bin" / "codex"


def main(version: str, model: str, folder: Path, *names: str) -> None:
    """Install the client, then record all scenarios, or some; the second part runs without a network."""
    client = os.environ.get(CLIENT)
    with tempfile.TemporaryDirectory() as made:
        scratch = Path(made).resolve()
        if not client:
            again = [sys.executable, __file__, version, model, str(folder.resolve()), *names]
            env = {**os.environ, CLIENT: str(install(version, scratch))}
            subprocess.run([*ISOLATED, *again], env=env, check=True)
            return
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        every = scenarios(tuple(map(int, version.split("."))))
        for name in names or every:
            for written in record(Path(client), model, name, every[name], scratch / name):
                target = folder / version / name / written.name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(scrubbed(written.read_text(), scratch / name))
                print(target)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), *sys.argv[4:])
