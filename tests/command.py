"""Run the command line as a process, away from this machine's own sessions."""

import os
import subprocess
import sys
from pathlib import Path

REREAD = [str(Path(sys.executable).with_name("reread"))]
LIMIT_SECONDS = 60


def run(
    *words: str, stdin: bytes | None = None, home: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    environment = {
        **{name: value for name, value in os.environ.items() if name != "COLUMNS"},
        "HOME": str(home or "/nonexistent"),
        "CLAUDE_CONFIG_DIR": str(home or "/nonexistent"),
        **(env or {}),
    }
    done = subprocess.run(
        [*REREAD, *words], input=stdin, capture_output=True, env=environment, check=False, timeout=LIMIT_SECONDS
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())
