"""CI tries what failed once more, and says so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

AGAIN = Path(__file__).parents[1] / "scripts/again.sh"
TESTS = {
    "passes the second time": (
        "from pathlib import Path\ndef test_a():\n    marker = Path('marker')\n    seen = marker.exists()\n"
        "    marker.touch()\n    assert seen\ndef test_b(): assert not Path('b').exists(); Path('b').touch()",
        0,
        "UNSTEADY",
    ),
    "fails again": ("def test_a(): assert False", 1, "These failed"),
    "cannot be collected": ("import nothing_of_this_name", 2, "error during collection"),
}


@pytest.mark.skipif(os.name == "nt", reason="a shell script")
@pytest.mark.parametrize("case", TESTS)
def test_what_failed_runs_once_more(tmp_path: Path, case: str) -> None:
    source, code, said = TESTS[case]
    (tmp_path / "test_it.py").write_text(source)
    (tmp_path / "pytest.ini").touch()
    command, env = [AGAIN, sys.executable, "-m", "pytest"], os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=150)
    assert (done.returncode, said in done.stdout) == (code, True), done.stdout
    assert ("UNSTEADY" in done.stdout) == (code == 0)
