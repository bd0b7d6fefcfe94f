"""Sessions that run: a process that stands for the client, and the registry and transcript that the real one wrote."""

import json
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from limits import wait_until

import reread
from reread.disk import processes

FIXTURES = Path(__file__).parent / "fixtures" / "now"
NEW, OLD = "2.1.325", "2.1.76"
CLIENT = f"""
import subprocess, sys
for line in sys.stdin:
    subprocess.Popen([{sys.executable!r}, "-c", "import time; time.sleep(600)", line])
"""
"""A process that starts another one for each line that it is sent, with the line among its words."""


class Machine:
    """A configuration folder, and a process that stands for the client."""

    def __init__(self, folder: Path, version: str = NEW, name: str = "demo") -> None:
        self.config, self.version, self.project = folder / "config", version, folder / name
        self.project.mkdir()
        self.client = subprocess.Popen(
            ["claude", "-c", CLIENT], executable=sys.executable, cwd=self.project, stdin=subprocess.PIPE, text=True
        )
        wait_until(lambda: not processes.HAS_PROC or self.client.pid in self.clients())
        self.registry: dict[str, Any] = json.loads((FIXTURES / f"{version}.registry.json").read_text())
        self.id = f"{name}-{self.registry['sessionId']}"
        self.registry["sessionId"] = self.id
        slug = re.sub("[^A-Za-z0-9]", "-", str(self.project))
        self.transcript = self.config / "projects" / slug / f"{self.id}.jsonl"
        self.transcript.parent.mkdir(parents=True)
        (self.config / "sessions").mkdir(exist_ok=True)

    def clients(self) -> set[int]:
        found = processes.ClientProcesses().by_folder() or {}
        return {process.pid for process in found.get(str(self.project), [])}

    def write(self, lines: int) -> None:
        """Write the first lines of the transcript, as if it were now."""
        text = (FIXTURES / f"{self.version}.jsonl").read_text().replace("/work/demo", str(self.project))
        stamp = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
        text = re.sub(r'"sessionId":"[^"]*"', f'"sessionId":"{self.id}"', text)
        text = re.sub(r'"timestamp":"[^"]*"', f'"timestamp":"{stamp}"', text)
        self.transcript.write_text("".join(text.splitlines(keepends=True)[:lines]))

    def register(self, **changes: Any) -> None:
        process = processes.process(self.client.pid) if processes.HAS_PROC else None
        stamp = int(datetime.now(UTC).timestamp() * 1000)
        times = {name: stamp for name in ("startedAt", "updatedAt", "statusUpdatedAt") if name in self.registry}
        start = {"procStart": process.start} if process is not None and "procStart" in self.registry else {}
        value = {**self.registry, "pid": self.client.pid, **start, **times, "cwd": str(self.project), **changes}
        (self.config / "sessions" / f"{self.client.pid}.json").write_text(json.dumps(value))

    def now(self) -> tuple[str, str | None, str | None, bool]:
        (one,) = reread.now(root=self.config)
        assert one.session == self.id
        return one.state, one.waiting_for, one.tool, one.inferred

    def kill(self) -> None:
        self.client.kill()
        self.client.communicate()
