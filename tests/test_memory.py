"""Whatever 1 MB of transcript claims, no verb and no route takes more than 300 MB for it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from amplifiers import AMPLIFIERS
from effort import THOROUGH, one_in

MOST = 300
"""Megabytes that a process may take, with the 30 to 60 that Python and this program take for nothing."""
ALWAYS = {
    "one_blob_many_times": "a request|context|of requests|requests/",
    "a_file_that_doubles": "file|^diff --|tables",
    "many_turns": "show --full|-f markdown|context|GET $|items|waterfall",
}
"""What is tried each time, with the verbs and routes that are about it."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads the most memory that a process had from /proc")


@pytest.mark.parametrize(("name", "chosen"), ALWAYS.items())
def test_what_repeats_itself_takes_little_memory(name: str, chosen: str, tmp_path: Path) -> None:
    assert_bounded(name, tmp_path, chosen)


@one_in(0)
@pytest.mark.parametrize("name", AMPLIFIERS if THOROUGH else list(AMPLIFIERS)[::12])
def test_what_claims_much_takes_little_memory(name: str, tmp_path: Path) -> None:
    assert_bounded(name, tmp_path, "")


def assert_bounded(name: str, folder: Path, chosen: str) -> None:
    made = AMPLIFIERS[name]()
    assert len(made) < 2_000_000
    for variable in ("HOME", "CLAUDE_CONFIG_DIR", "REREAD_HOME", "REREAD_CACHE"):
        (folder / variable).mkdir()
    own = {
        variable: str(folder / variable) for variable in ("HOME", "CLAUDE_CONFIG_DIR", "REREAD_HOME", "REREAD_CACHE")
    }
    command = [sys.executable, str(Path(__file__).with_name("amplifiers.py")), name, str(folder), chosen]
    done = subprocess.run(command, env=os.environ | own, capture_output=True, check=True)
    found: dict[str, int | str] = json.loads(done.stdout)
    assert {what: peak for what, peak in found.items() if not isinstance(peak, int) or peak > MOST} == {}
