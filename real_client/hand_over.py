"""Hand sessions of the real client over, and cut them at a turn: the next request must hold the same messages.

The client plays sessions of all kinds on a first machine. Each is continued there with one more prompt: that request
is what must not change. Then it is resumed on a second machine from the state before that prompt, out of the first
one's folder, an archive and a bucket; and on the first machine it is cut at the turn before that prompt.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import reread

sys.path.insert(0, str(Path(__file__).parent))

from box import in_box, install, installed_version, reason_not_to

KINDS = {
    "plain": ["plain", "thinking"],
    "bash": ["bash", "bash_fail"],
    "read": ["read", "find"],
    "edit": ["read", "edit"],
    "write": ["write", "parallel"],
    "notebook": ["notebook"],
    "todo": ["todo", "plain"],
    "agent": ["agent", "plain"],
    "agents": ["agent", "agent", "bash"],
    "skill": ["skill"],
    "errors": ["unknown_tool", "wrong_input"],
    "overloaded": ["overloaded", "plain"],
    "cut off": ["cut", "plain"],
    "compaction": ["bash", "read", "/compact keep the names", "plain"],
    "two compactions": ["bash", "/compact", "agent", "/compact", "plain"],
    "image": ["image", "plain"],
    "spilled": ["big", "plain"],
    "plan mode": ["plan", "plain"],
    "worktree": ["plain", "worktree"],
    "windows line ends": ["bash", "agent"],
}
"""What is played in each session: scripts, or commands of the client."""
WORDS = ["--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"]
NEXT = "And now the next thing."
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415478da63f8cfc0000003010100c9fe92ef"
    "0000000049454e44ae426082"
)


class Machine:
    """A folder with a home and a project, in which the client runs."""

    def __init__(self, folder: Path, client: Path) -> None:
        self.folder, self.client = folder, client
        self.project, self.config = folder / "proj", folder / "home" / ".claude"
        self.project.mkdir(parents=True)
        (self.project / "pic.png").write_bytes(PNG)
        for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
            identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
            subprocess.run(["git", *identity, *words], cwd=self.project, check=True)

    def run(self, runs: list[dict[str, Any]]) -> list[Any]:
        """Run commands of the client."""
        return in_box(self.client, self.folder, runs)

    def go_on(self, ids: dict[str, str]) -> dict[str, list[Any]]:
        """Continue each session with one more prompt, and return the messages of the request, by kind."""
        (self.folder / "requests.jsonl").unlink(missing_ok=True)
        said = {kind: f"{NEXT} {kind} [[SCN:plain]]" for kind in ids}
        done = self.run([{"words": ["-p", said[kind], "--resume", id, *WORDS]} for kind, id in ids.items()])
        for kind, one in zip(ids, done, strict=True):
            if one["code"] != 0:
                print(f"{kind}: exit code {one['code']} {one['err'][-300:]} {one['out'][-300:]}")
        asked: dict[str, list[Any]] = {}
        for line in (self.folder / "requests.jsonl").read_text().splitlines():
            body = json.loads(line)["body"]
            for kind, prompt in said.items():
                if body.get("tools") and prompt in json.dumps(body["messages"], ensure_ascii=False):
                    asked.setdefault(kind, without_marks(body["messages"]))
        return asked

    def resume(self, *words: str | Path, root: str | Path | None = None) -> str:
        """Run `reread resume` for this machine, and return the id of the session to continue."""
        env = os.environ | {
            "HOME": str(self.folder / "home"),
            "CLAUDE_CONFIG_DIR": str(self.config),
            "REREAD_HOME": str(self.folder / "reread"),
            "REREAD_CACHE": str(self.folder / "cache"),
        }
        where = ["--root", str(root)] if root is not None else []
        command = [sys.executable, "-m", "reread", *where, "resume", *map(str, words), "--no-start", "--json"]
        done = subprocess.run(command, env=env, cwd=self.project, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return json.loads(done.stdout)["session"]


def without_marks(value: Any) -> Any:
    """Return what a request says, without the marks of its cache, which move along with its end."""
    if isinstance(value, list):
        return [without_marks(one) for one in value]
    if isinstance(value, dict):
        return {name: without_marks(one) for name, one in value.items() if name != "cache_control"}
    return value


def play(machine: Machine, kinds: list[str]) -> dict[str, str]:
    """Play the sessions, and return their ids by kind."""
    ids = {kind: str(uuid.uuid4()) for kind in kinds}
    runs: list[dict[str, Any]] = []
    for kind in kinds:
        for number, script in enumerate(KINDS[kind]):
            prompt = script if script.startswith("/") else f"Please do it. [[SCN:{script}]]"
            which = ["--resume", ids[kind]] if number else ["--session-id", ids[kind]]
            runs.append({"words": ["-p", prompt, *which, *WORDS], "timeout": 90})
    for run, done in zip(runs, machine.run(runs), strict=True):
        if done["code"] != 0:
            print(f"{run['words'][1]}: exit code {done['code']} {done['err'][-200:]} {done['out'][-300:]}")
    if "windows line ends" in ids:
        path = next((machine.config / "projects").glob(f"*/{ids['windows line ends']}.jsonl"))
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    return ids


def blocks_before(messages: list[Any], prompt: str) -> list[Any]:
    """Return what was said before a prompt: role and block, however the client joins blocks to messages."""
    out: list[Any] = []
    for message in messages:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if prompt in json.dumps(block, ensure_ascii=False):
                return out
            out.append([message["role"], block])
    return out


def differences(wanted: list[Any] | None, found: list[Any] | None) -> Iterator[str]:
    """Yield how two requests differ in what they say before the new prompt.

    In another folder the client adds a reminder of its own after all of it: the instructions there are other files.
    """
    if wanted is None or found is None:
        yield "no request was made" if found is None else "no request to compare with"
        return
    before, now = blocks_before(wanted, NEXT), blocks_before(found, NEXT)
    for number, (one, other) in enumerate(zip(before, now, strict=False)):
        if one != other:
            yield f"block {number}: {json.dumps(one)[:300]}\n      is {json.dumps(other)[:300]}"
    if len(now) < len(before):
        yield f"{len(now)} blocks instead of {len(before)}"
    for _, block in now[len(before) :]:
        if not str(block.get("text")).startswith("<system-reminder>"):
            yield f"one more block: {json.dumps(block)[:300]}"


def main() -> int:
    """Play, hand over, cut, compare; return 1 if a request differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version", nargs="?", default="latest")
    parser.add_argument("--only", metavar="KIND,...", help="only sessions of these kinds")
    parser.add_argument("--bucket", metavar="URL", help="hand over through this bucket, too")
    options = parser.parse_args()
    if reason := reason_not_to():
        print(reason)
        return 2
    client = install(options.version, Path(tempfile.gettempdir()) / f"reread-claude-{options.version}")
    scratch = Path(tempfile.mkdtemp(prefix="reread-handover-"))
    kinds = options.only.split(",") if options.only else list(KINDS)
    one = Machine(scratch / "one", client)
    ids = play(one, kinds)
    before = scratch / "before"
    shutil.copytree(one.config, before, symlinks=True)
    wanted = one.go_on(ids)
    failed = 0

    def report(way: str, found: dict[str, list[Any]]) -> None:
        nonlocal failed
        wrong = {kind: list(differences(wanted.get(kind), found.get(kind))) for kind in kinds}
        right = sum(not lines for lines in wrong.values())
        failed += len(kinds) - right
        print(f"{way}: {right} of {len(kinds)} requests hold the same messages")
        for kind, lines in wrong.items():
            print("".join(f"  {kind}: {line}\n" for line in lines), end="")

    sources: dict[str, str | Path] = {"another folder": before}
    sources["an archive"] = scratch / "kept"
    reread.keep(root=before, to=scratch / "kept")
    if options.bucket:
        sources["a bucket"] = options.bucket
        reread.keep(root=before, to=options.bucket)
    for number, (way, root) in enumerate(sources.items()):
        other = Machine(scratch / f"two{number}", client)
        for id in ids.values():
            other.resume(id, root=root)
        report(way, other.go_on(ids))
    cuts: dict[str, str] = {}
    for kind, id in ids.items():
        with reread.open(next((one.config / "projects").glob(f"*/{id}.jsonl"))) as session:
            turn = next(turn.index for turn in session.turns if turn.prompt and NEXT in turn.prompt.text) - 1
        cuts[kind] = one.resume(f"{id}:{turn}", "--in", one.project)
    report("cut at a turn", one.go_on(cuts))
    print(f"Claude Code {installed_version(client)}: {len(kinds)} sessions, in {scratch}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
