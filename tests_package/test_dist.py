"""What a release publishes, as `make package` built it: contents, metadata, and types of the whole public surface."""

import json
import os
import re
import subprocess
import sys
import tarfile
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parent.parent
WHEEL = next(ROOT.glob("dist/reread-*.whl"))
SOURCE = next(ROOT.glob("dist/reread-*.tar.gz"))
TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split("\n")
NOT_PUBLISHED = (".ci/", ".github/", ".gitignore")
"""Tracked files that the source of a release does not need."""
LARGEST = {WHEEL: 2_500_000, SOURCE: 6_000_000}


def test_the_metadata_can_be_shown_on_pypi() -> None:
    done = subprocess.run([sys.executable, "-m", "twine", "check", "--strict", str(WHEEL), str(SOURCE)])
    assert done.returncode == 0


def test_the_wheel_has_the_package_and_nothing_else() -> None:
    with ZipFile(WHEEL) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        [bill] = [name for name in wheel.namelist() if ".dist-info/sboms/" in name]
        assert json.loads(wheel.read(bill)) == json.loads((ROOT / "sbom.cdx.json").read_text())
        assert any(name.endswith(".dist-info/licenses/LICENSE") for name in wheel.namelist())
    own = {name.removeprefix("src/") for name in TRACKED if name.startswith("src/")}
    assert own, "needs a checkout"
    assert names == own


def test_the_source_has_every_tracked_file_and_nothing_else() -> None:
    with tarfile.open(SOURCE) as source:
        names = {name.partition("/")[2] for name in source.getnames()}
    tracked = {name for name in TRACKED if name and not name.startswith(NOT_PUBLISHED)}
    made = {"PKG-INFO", "pyproject.toml", ".gitignore"}
    assert tracked, "needs a checkout"
    assert (tracked - names, names - tracked - made) == (set(), set())


@pytest.mark.parametrize("path", [WHEEL, SOURCE], ids=lambda path: path.suffix)
def test_it_stays_small(path: Path) -> None:
    assert path.stat().st_size < LARGEST[path]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with only the wheel and its dependencies, installed without a compiler."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=True)
    programs = home / ("Scripts" if os.name == "nt" else "bin")
    quiet = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    subprocess.run([programs / "python", "-m", "pip", "install", *quiet, str(WHEEL)], check=True)
    return programs


@pytest.mark.parametrize(
    ("words", "said"), [("ls", "Dead-letter queue"), ("show d2a9", "Dead-letter queue"), ("usage", "Total")]
)
def test_the_installed_program_works_with_no_other_on_its_path(installed: Path, words: str, said: str) -> None:
    environment = {"PATH": str(installed), "HOME": str(installed), "CLAUDE_CONFIG_DIR": str(installed)}
    environment |= {name: os.environ[name] for name in ("SYSTEMROOT", "TEMP") if name in os.environ}
    command = [str(installed / "reread"), "--demo", *words.split()]
    done = subprocess.run(command, env=environment, capture_output=True, check=True, encoding="utf-8")
    assert said in done.stdout


def test_at_least_99_percent_of_the_public_types_are_known(installed: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [Path(sys.executable).parent / "pyright", "--verifytypes", "reread", "--ignoreexternal"],
        env={**os.environ, "PYTHONPATH": "", "PATH": os.pathsep.join([str(installed), os.environ["PATH"]])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    found = re.search(r"Type completeness score: ([\d.]+)%", done.stdout)
    assert found, done.stdout + done.stderr
    assert float(found[1]) >= 99, "\n".join(line for line in done.stdout.splitlines() if "error:" in line)


PROGRAM = """
import reread
from reread.value_types import UsageGrouping

def page(path: str, format: str = "markdown") -> bytes:
    with reread.open(path) as session:
        done = [call for call in session.calls if call.state == "done"]
        print(session.title, len(done), session.messages[0].turn.index)
    return reread.export(path, format, turns=(1, 3), only="answers", full=True)

groups: list[UsageGrouping] = ["day", "model"]
print(reread.usage(by=groups, sort="cost").totals.cost_usd, list(reread.search("x", kinds=["prompts"], order="newest")))
"""
WRONG = (
    'reread.export("x", turns="all")',
    'reread.usage(by="dya")',
    'reread.search("x", order="old")',
)


def test_a_type_checker_accepts_a_users_program_and_finds_wrong_choices(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(PROGRAM)
    (tmp_path / "wrong.py").write_text("\n".join(["import reread", *WRONG]))
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict", "include": ["."]}')
    checker = [Path(sys.executable).parent / "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", tmp_path]
    found = json.loads(subprocess.run(checker, capture_output=True, text=True).stdout)["generalDiagnostics"]
    errors = {(Path(one["file"]).name, one["range"]["start"]["line"]) for one in found if one["severity"] == "error"}
    assert errors == {("wrong.py", n) for n in range(1, len(WRONG) + 1)}, found
