"""What a release says about itself is said alike everywhere: version, Pythons, systems, licences, actions."""

import json
import re
import runpy
import tomllib
from pathlib import Path

import pytest

import reread

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SYSTEMS = {
    "Linux": ("POSIX :: Linux", "ubuntu"),
    "macOS": ("MacOS", "macos"),
    "Windows": ("Microsoft :: Windows", "windows"),
}
"""Each system by its name, with its name among the classifiers and that of its machines."""


def classified(topic: str) -> list[str]:
    """What the classifiers say about a topic."""
    return [line.removeprefix(f"{topic} :: ") for line in PROJECT["classifiers"] if line.startswith(f"{topic} :: ")]


def test_the_version_is_the_same_everywhere() -> None:
    plugin = json.loads((ROOT / "plugin" / ".claude-plugin" / "plugin.json").read_text())
    changes = re.findall(r"^## (\d+\.\d+\.\d+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    compared = re.search(r"^\| reread \| (\S+) \|", (ROOT / "docs" / "comparison.md").read_text(), re.MULTILINE)
    assert {plugin["version"], changes[0], compared and compared[1]} == {reread.__version__}


@pytest.mark.skipif(not WORKFLOWS, reason="the source of a release has no workflows")
def test_supported_pythons_and_systems_are_said_once_and_tested() -> None:
    readme = (ROOT / "README.md").read_text()
    tested = (ROOT / ".github" / "workflows" / "test.yml").read_text()
    [said] = re.findall(r"Python (3\.\d+) to (3\.\d+) on (\w+), (\w+) or (\w+)", readme)
    minors = [line for line in classified("Programming Language") if re.fullmatch(r"Python :: 3\.\d+", line)]
    versions = [line.rpartition(" ")[2] for line in minors]
    assert said[:2] == (versions[0], versions[-1]) and PROJECT["requires-python"] == f">={versions[0]}"
    assert f"python: {json.dumps(versions)}" in tested
    assert set(said[2:]) == set(SYSTEMS)
    assert set(classified("Operating System")) == {classifier for classifier, _ in SYSTEMS.values()}
    assert f"os: [{', '.join(f'{machine}-latest' for _, machine in SYSTEMS.values())}]" in tested


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_by_its_whole_hash(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text())
    assert used
    assert [action for action in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)] == []


@pytest.mark.parametrize("name", ["sbom.cdx.json", "docs/licences.md"])
def test_the_lists_of_licences_are_up_to_date(name: str) -> None:
    made = runpy.run_path(str(ROOT / "scripts" / "make_sbom.py"))["FILES"][name]()
    assert (ROOT / name).read_text() == made, "run `python scripts/make_sbom.py`"


def test_the_notices_in_the_reader_name_every_library_of_the_bill() -> None:
    notices = (ROOT / "src" / "reread" / "reader" / "static" / "NOTICES.txt").read_text()
    components = json.loads((ROOT / "sbom.cdx.json").read_text())["components"]
    libraries = {
        f"{part['name']} {part['version']} ({part['licenses'][0]['license']['id']})"
        for part in components
        if part["type"] == "library"
    }
    assert libraries == set(re.findall(r"^(\S+ \S+ \(\S+\))$", notices, re.MULTILINE))
