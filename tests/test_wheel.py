"""The wheel: built, installed into an empty environment without Node or a compiler, and used."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parent.parent
OFFLINE = os.environ.get("REREAD_OFFLINE")
SCRIPTS = Path(sysconfig.get_path("scripts")).name

pytestmark = [
    pytest.mark.skipif(bool(OFFLINE), reason="REREAD_OFFLINE is set: packages cannot be installed"),
    pytest.mark.timeout(600),
]


def pip(*words: str, python: str = sys.executable) -> None:
    quiet = ["--quiet", "--disable-pip-version-check"]
    subprocess.run([python, "-m", "pip", *words[:1], *quiet, *words[1:]], check=True)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    return next(folder.glob("reread-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts folder of an environment with only the wheel and its dependencies."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=True)
    programs = home / SCRIPTS
    pip("install", "--only-binary", ":all:", str(wheel), python=str(programs / "python"))
    return programs


def run(programs: Path, *words: str) -> str:
    """Run reread with no other program on PATH."""
    environment = {"PATH": str(programs), "HOME": str(programs), "CLAUDE_CONFIG_DIR": str(programs)}
    environment |= {name: os.environ[name] for name in ("SYSTEMROOT", "TEMP") if name in os.environ}
    done = subprocess.run(
        [str(programs / "reread"), *words], env=environment, capture_output=True, check=True, encoding="utf-8"
    )
    return done.stdout


def test_it_contains_what_it_needs_and_no_more(wheel: Path) -> None:
    names = ZipFile(wheel).namelist()
    assert "reread/py.typed" in names
    assert any(name.startswith("reread/samples/projects/") for name in names)
    assert not [
        name for name in names if "tests/" in name or "node_modules" in name or name.endswith(("js.map", "css.map"))
    ]


def test_the_installed_program_works(installed: Path) -> None:
    assert "Dead-letter queue" in run(installed, "--demo", "ls")
    assert "Dead-letter queue" in run(installed, "--demo", "show", "d2a9")
    assert "Total" in run(installed, "--demo", "usage")
