"""The documents say what the program does: their code runs, their verbs exist, their links lead somewhere."""

import re
import runpy
from pathlib import Path

import click
import pytest

import reread
from reread.cli import HEADINGS, SAMPLES, VERBS
from reread.cli import reread as group
from reread.ledger import FATES

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
COMMANDS = {verb: group.get_command(click.Context(group), verb) for verb in VERBS}
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "bench" / "README.md"]


def test_the_code_in_the_readme_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(SAMPLES))
    for code in re.findall(r"```python\n(.*?)```", README, re.DOTALL):
        exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "Bash" in printed and "shown" in printed


def test_every_verb_is_in_the_readme_and_every_verb_there_exists() -> None:
    named = set(re.findall(r"\| `reread (\w+)", README))
    assert named == set(COMMANDS)


def test_the_help_lists_every_verb_once() -> None:
    assert sorted(verb for verbs in HEADINGS.values() for verb in verbs) == sorted(VERBS)


@pytest.mark.parametrize("verb", sorted(COMMANDS))
def test_every_verb_says_what_it_does_and_shows_an_example(verb: str) -> None:
    text = COMMANDS[verb].help or ""
    assert text.strip().split("\n")[0].endswith(".")
    assert f"reread {verb}" in text


@pytest.mark.parametrize("name", ["reference.md", "commands.md"])
def test_the_reference_is_what_the_program_says(name: str) -> None:
    made = runpy.run_path(str(ROOT / "scripts" / "make_docs.py"))["PAGES"][name]()
    assert (ROOT / "docs" / name).read_text() == made, "run `python scripts/make_docs.py`"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_option_and_link_that_a_document_names_exists(path: Path) -> None:
    text = path.read_text()
    known = {word for verb in COMMANDS.values() for param in verb.params for word in param.opts}
    known |= {word for param in group.params for word in param.opts} | {"--help", "--version", "--quick"}
    for line in re.findall(r"`reread [^`]*`", text):
        assert set(re.findall(r"(?<!\w)--[a-z-]+", line)) <= known, line
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", text):
        assert (path.parent / target).exists(), target


def test_every_fate_is_documented() -> None:
    reading = (ROOT / "docs" / "reading.md").read_text()
    assert all(f"`{fate}`" in reading for fate in FATES)


def test_every_kind_of_message_is_documented() -> None:
    reading = (ROOT / "docs" / "reading.md").read_text()
    kinds = {m.kind for h in reread.sessions(root=SAMPLES) for m in reread.open(Path(h.path)).messages}
    assert all(f"`{kind}`" in reading for kind in kinds)


def test_the_code_about_capturing_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REREAD_HOME", str(tmp_path))
    for code in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "capturing.md").read_text(), re.DOTALL):
        exec(compile(code, "capturing.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "result {'type': 'result'}" in printed and "my-notes None [] [None]" in printed


def test_every_room_that_the_design_notes_name_is_in_the_house() -> None:
    design = (ROOT / "docs" / "design.md").read_text()
    house = ROOT / "src" / "reread"
    rooms = re.findall(r"`((?:\w+/)*\w+(?:\.py|/))`", design)
    assert len(rooms) > 30
    assert [room for room in rooms if not (house / room).exists() and not (ROOT / room).exists()] == []


def test_the_design_notes_stay_short() -> None:
    assert len((ROOT / "docs" / "design.md").read_text().splitlines()) < 150
