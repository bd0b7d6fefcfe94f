"""A home with Claude Code's folder, and a session in it with everything that belongs to one."""

import json
import os
import time
from pathlib import Path

import pytest

ID = "5e551017-0000-4000-8000-000000000001"


def line(number: int, **more: object) -> bytes:
    parent = f"u{number - 1}" if number > 1 else None
    record = {"type": "user", "uuid": f"u{number}", "parentUuid": parent, "sessionId": ID, "slug": "old-blue-fox"}
    return json.dumps(record | {"message": {"role": "user", "content": f"say {number}"}} | more).encode() + b"\n"


class Machine:
    """A home with Claude Code's folder, and a project to stand in."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.config, self.project = folder / "claude", folder / "work"
        self.project.mkdir(parents=True)
        self._monkeypatch = monkeypatch
        self.enter()

    def enter(self) -> None:
        for name, below in (("CLAUDE_CONFIG_DIR", "claude"), ("REREAD_HOME", "reread"), ("REREAD_CACHE", "cache")):
            self._monkeypatch.setenv(name, str(self.folder / below))
        self._monkeypatch.delenv("REREAD_ARCHIVE", raising=False)
        self._monkeypatch.chdir(self.project)

    def target(self, name: str = f"{ID}.jsonl", project: Path | None = None) -> Path:
        slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in os.path.realpath(project or self.project))
        return self.config / "projects" / slug / name

    def files(self) -> dict[str, bytes]:
        found = {str(path.relative_to(self.config)): path for path in self.config.rglob("*") if path.is_file()}
        return {name: path.read_bytes() for name, path in found.items()}


def write(config: Path, project: str = "-first") -> dict[str, bytes]:
    """Write a session with everything that belongs to one, and others' files; return its own by name."""
    own = {
        f"projects/{project}/{ID}.jsonl": b"".join(map(line, range(1, 4))) + b"torn \xff line\r\n" + line(4),
        f"projects/{project}/{ID}/subagents/agent-a1.jsonl": line(1, isSidechain=True, agentId="a1"),
        f"projects/{project}/{ID}/subagents/agent-a1.meta.json": b'{"agentType": "Explore"}',
        f"projects/{project}/{ID}/tool-results/toolu_1.txt": b"much\x00\xff",
        f"projects/{project}/agent-b2.jsonl": line(1, isSidechain=True, agentId="b2"),
        f"file-history/{ID}/abc@v1": b"before",
        f"todos/{ID}-agent-{ID}.json": b"[]",
        f"tasks/{ID}/1.json": b"{}",
        "plans/old-blue-fox.md": b"# Plan",
        "plans/old-blue-fox-agent-a1.md": b"# Plan of an agent",
    }
    others = {"plans/another-one.md": b"x", "todos/other-agent-other.json": b"[]", "settings.json": b"{}"}
    for name, data in (own | others).items():
        path = config / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    old = time.time() - 3600
    for path in config.rglob("*"):
        os.utime(path, (old, old))
    return own
