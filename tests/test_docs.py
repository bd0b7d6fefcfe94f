"""The documents say what the program does: their code runs, their verbs exist, their links lead somewhere."""

import itertools
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import click
import pytest
from batches import part, table
from command import forked
from effort import one_in
from limits import run_apart

import reread
from reread.base.addons import named_parts
from reread.base.paths import SAMPLES
from reread.catalog import annotations
from reread.cli import DROPPED, RENAMED, all_verbs
from reread.cli import reread as group
from reread.dataset import schema
from reread.git import notes
from reread.handover import trash
from reread.index import store
from reread.model.ledger import FATES
from reread.reader.export_formats import format_names
from reread.render import json_values
from reread.server.routes import SESSION_ROUTES
from reread.storage import frames, kept_manifest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
ABOVE = click.Context(group, **group.context_settings)
COMMANDS = {verb: group.get_command(ABOVE, verb) for verb in all_verbs()}
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")), ROOT / "bench" / "README.md"]
ELSEWHERE = {"extending.md", "fake-claude.md", "reference.md", "rerun.md"}
"""Documents whose code is a plug-in, a signature, or a test: no script to run here."""
SCRIPTS = [path for path in DOCUMENTS if "```python" in path.read_text() and path.name not in ELSEWHERE]


def blocks(path: Path, language: str) -> list[str]:
    """What stands between a document's fences of one kind."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", path.read_text(), re.DOTALL | re.MULTILINE)
    return [text for name, text in fenced if name == language]


SCRIPT = re.compile(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
"""A script in a document, and what it prints, if the next block shows that."""


def missing_lines(shown: str, printed: str) -> list[str]:
    """Return the lines of a screen that were not printed, in this order; an ellipsis stands for any number of lines."""
    lines = iter(printed.splitlines())
    return [line for line in shown.splitlines() if line != "…" and line not in lines]


def test_screens_of_the_page_about_cost_are_what_is_printed() -> None:
    screens = [block for block in blocks(ROOT / "docs" / "cost.md", "") if block.startswith("$ reread")]
    assert len(screens) == 5
    for screen in screens:
        command, _, shown = screen.partition("\n")
        env = {**os.environ, "COLUMNS": "130", "TZ": "UTC"}
        printed = forked(shlex.split(command)[2:], env=env, cwd=ROOT).stdout.decode()
        pieces = [re.escape(piece) for piece in re.split(r"^…\n", shown, flags=re.MULTILINE)]
        assert re.fullmatch("(?:.*\n)+".join(pieces), printed.strip("\n") + "\n"), screen


def heading_links(path: Path) -> set[str]:
    """What a forge makes of a document's headings, to link to them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.fixture
def samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The samples are all the sessions there are, and what a script writes is not left in the repository."""
    shutil.copyfile(ROOT / "README.md", tmp_path / "README.md")
    commit = ["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "One"]
    for words in (["init", "-q"], *[commit] * 4):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(SAMPLES))
    monkeypatch.setenv("REREAD_HOME", str(tmp_path))


@one_in(3)
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_the_code_in_the_documents_runs(path: Path, samples: None, capsys: pytest.CaptureFixture[str]) -> None:
    printed = ""
    for code, shown in SCRIPT.findall(path.read_text()):
        run_apart(partial(exec, compile(code, path.name, "exec"), {}))
        out = capsys.readouterr().out
        assert missing_lines(shown, out) == [], code
        printed += out
    said = {
        "README.md": ["Bash"],
        "capturing.md": ["result {'type': 'result'}", "my-notes None [] [None]"],
    }
    assert all(words in printed for words in said.get(path.name, []))


REPEATED = ("$ reread --demo", "$ reread --root examples/")
"""The beginnings of screens that anyone can repeat."""
SCREENS = [path for path in DOCUMENTS if any(text.startswith(REPEATED) for text in blocks(path, ""))]


@one_in(3)
@pytest.mark.parametrize("path", SCREENS, ids=lambda path: path.name)
def test_the_screens_in_a_document_are_what_the_program_prints(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TZ", "UTC")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    screens = [block for block in blocks(path, "") if block.startswith(REPEATED)]
    for screen in screens:
        command, *lines = screen.splitlines()
        done = forked(shlex.split(command)[2:], env=os.environ)
        assert done.returncode == (1 if "--check" in command else 0), done.stderr.decode()
        assert missing_lines("\n".join(lines), (done.stdout + done.stderr).decode()) == [], command


COMMAND = re.compile(r"^ *(?:.*\| )?reread (?:--demo )?(\w+)(.*?)(?: {2,}.*)?$", re.MULTILINE)
CALLED = [(path.name, *call) for path in DOCUMENTS for text in blocks(path, "") for call in COMMAND.findall(text)]


@table(("name", "verb", "rest"), [call for call in CALLED if call[1] in COMMANDS])
def test_every_command_in_a_document_can_be_called(name: str, verb: str, rest: str) -> None:
    words = shlex.split(rest, comments=True)
    own = itertools.takewhile(lambda word: word not in ("|", ">", "&&"), words)
    COMMANDS[verb].make_context(verb, list(own), parent=ABOVE)


def test_what_a_peer_takes_is_told_alike_in_the_readme() -> None:
    compared = README[README.index("## Compared") :]
    measured = (ROOT / "docs" / "comparison.md").read_text()
    figures = re.findall(r"\d+\.\d+ s|(?<=, )\d+ MB", compared)
    assert len(figures) > 8
    assert [figure for figure in figures if f"| {figure} |" not in measured] == []


def test_the_readme_is_short_and_every_page_has_its_place() -> None:
    assert len(README.splitlines()) < 110
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert set(re.findall(r"\]\((\w[\w-]*\.md)\)", (ROOT / "docs" / "README.md").read_text())) == pages


def test_every_promise_of_security_names_the_tests_that_hold_it() -> None:
    text = (ROOT / "SECURITY.md").read_text().partition("## What reread promises")[2].partition("\n## ")[0]
    promises = [promise.rstrip(".:") for promise in re.findall(r"^- \*\*(.+?)\*\*", text, re.MULTILINE)]
    held = dict(re.findall(r"^\| (.+) \| (`.+) \|$", text.replace("`tests` |", ""), re.MULTILINE))
    assert list(held) == promises
    named = {name for names in held.values() for name in re.findall(r"`(.+?)`", names)}
    assert [name for name in sorted(named) if not (ROOT / "tests" / name).is_file()] == []


def test_the_help_fits_a_screen_and_names_every_verb_once() -> None:
    lines = group.get_help(ABOVE).splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    named = [verb for line in lines[1:] if re.match(r"\w[\w ]*: ", line) for verb in line.split(":")[1].split()]
    assert sorted(named) == sorted(all_verbs())


@table("verb", sorted(COMMANDS))
def test_every_verb_says_what_it_does_and_shows_an_example(verb: str) -> None:
    text = COMMANDS[verb].help or ""
    assert text.strip().split("\n")[0].endswith(".")
    assert f"reread {verb}" in text


EXAMPLE = re.compile(r"^ *((?:.*\| )?reread (\w+).*?)(?: {2,}.*)?$", re.MULTILINE)
EXAMPLES = [
    line for verb, command in COMMANDS.items() for line, named in EXAMPLE.findall(command.help) if named == verb
]
ENDLESS = ("reread serve", "reread tail", "reread now --notify", "reread now --exec")
FOR_A_SHELL = re.compile(r"[|<>;&$~*`#]")
"""What makes an example more than the words of one call."""
CLAUDE = """#!/bin/sh
echo '{"type":"system","subtype":"init","cwd":"'$PWD'","session_id":"5e551017-0000-4000-8000-000000000001"}'
"""


SHARE = ["share", "latest", "-o", "session.html"]
TRAJECTORY = ["export", "latest", "-f", "atif", "-o", "trajectory.json"]


@pytest.fixture(scope="module")
def household(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with sessions, kept ones too, a source file, a `claude`, a `jq` and fish, and a captured conversation."""
    home = tmp_path_factory.mktemp("home")
    (home / "bin").mkdir()
    (home / ".config" / "fish" / "completions").mkdir(parents=True)
    for name, script in {"claude": CLAUDE, "jq": "#!/bin/sh\ncat\n"}.items():
        (home / "bin" / name).write_text(script)
        (home / "bin" / name).chmod(0o755)
    shutil.copytree(SAMPLES, home / ".claude", ignore=shutil.ignore_patterns("conversations"))
    shutil.copyfile(next(SAMPLES.glob("projects/*/8c1f*.jsonl")), home / "run.jsonl")
    shutil.copytree(ROOT / "tests" / "real-codex", home / ".codex")
    (home / "src").mkdir()
    (home / "src" / "app.py").write_text("pass\n" * 60)
    commit = ["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "One"]
    branch = [["checkout", "-q", "-b", "feature/login"], *[commit] * 4, ["update-ref", "refs/pull/42/head", "HEAD"]]
    for words in (["init", "-q", "-b", "main"], commit, *branch):
        subprocess.run(["git", *words], cwd=home, check=True)
    for words in (["capture", "-q", "--", "claude", "-p", "a recorded prompt"], ["keep", "-q"], SHARE, TRAJECTORY):
        subprocess.run(["reread", *words], env=at_home(home), cwd=home, check=True)
    return home


def at_home(home: Path) -> dict[str, str]:
    """The environment of someone who lives there."""
    path = os.pathsep.join([str(home / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
    own = {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude"), "REREAD_HOME": str(home / "kept")}
    return {**os.environ, **own, "REREAD_CACHE": str(home / "cache"), "PATH": path}


@pytest.fixture
def newcomer(household: Path, tmp_path: Path) -> dict[str, str]:
    """Someone whose home no example has changed yet."""
    home = tmp_path / "home"
    shutil.copytree(household, home, symlinks=True)
    return at_home(home)


WORKING = [line for line in EXAMPLES if not line.startswith((*ENDLESS, "reread rerun")) and "s3://" not in line]


@one_in(4)
@pytest.mark.skipif(os.name != "posix", reason="the examples are for a shell")
@pytest.mark.parametrize("example", part(WORKING, 2))
def test_every_example_of_the_help_works_as_it_stands(example: str, newcomer: dict[str, str]) -> None:
    home = newcomer["HOME"]
    if "--forget" in example:  # what is forgotten was known
        forked(["keep", "-q", "--to", f"{home}/backup"], env=newcomer, cwd=home)
    if FOR_A_SHELL.search(example):
        script = ["bash", "-c", f"set -o pipefail; {example}"]
        done = subprocess.run(script, env=newcomer, cwd=home, capture_output=True, timeout=150)
    else:
        done = forked(shlex.split(example)[1:], env=newcomer, cwd=home)
    # The samples have secrets, are not of yesterday, and do not run; nor is everything there that an example looks for.
    telling = (
        "reread share --check",
        "reread --demo share --check",
        "reread now",
        "reread digest",
        "reread statusline --uninstall",
    )
    may_fail = example.startswith(telling) or b"reread: No " in done.stderr
    is_asked = b"[y/N]" in done.stderr  # and nobody is there to answer
    assert done.returncode in ((0, 1, 2) if is_asked else (0, int(may_fail))), done.stderr.decode()


@pytest.mark.parametrize("name", ["reference.md", "commands.md", "format.md", "tables.md"])
def test_the_reference_is_what_the_program_says(name: str) -> None:
    made = runpy.run_path(str(ROOT / "scripts" / "make_docs.py"))["PAGES"][name]()
    assert (ROOT / "docs" / name).read_text() == made, "run `python scripts/make_docs.py`"


@table("path", DOCUMENTS)
def test_every_option_and_link_that_a_document_names_exists(path: Path) -> None:
    text = path.read_text()
    known = {word for verb in COMMANDS.values() for param in verb.params for word in param.opts}
    known |= {word for param in group.params for word in param.opts} | {"--help", "--all", "--quick"}
    if path.name == "CHANGELOG.md":  # what earlier releases brought
        known |= {name.split()[-1] for name in (*RENAMED, *DROPPED)}
    for line in re.findall(r"`reread [^`]*`", text):
        assert set(re.findall(r"(?<!\w)--[a-z-]+", line)) <= known, line
    for target, anchor in re.findall(r"\]\((?!http)([^)#]*)#?([^)]*)\)", text):
        linked = path.parent / target if target else path
        assert linked.exists(), target
        assert not anchor or anchor in heading_links(linked), f"{target}#{anchor}"


def test_every_address_of_the_server_is_documented() -> None:
    text = (ROOT / "docs" / "reader.md").read_text()
    assert all(f"…{path.partition('{')[0]}" in text for path in SESSION_ROUTES if path)


def test_every_key_of_the_reader_is_documented_in_its_own_words() -> None:
    listed = re.findall(r'keys: "(.*?)",\s+help: "(.*?)"', (ROOT / "web/src/shell/shortcuts.ts").read_text())
    table = re.findall(r"^\| (`.*) \| (.*) \|$", (ROOT / "docs" / "reader.md").read_text(), re.MULTILINE)
    documented = {(keys.replace("`", ""), action.replace("`", "")) for keys, action in table}
    assert len(listed) > 8 and set(listed) <= documented


def test_every_document_is_on_the_site() -> None:
    listed = (ROOT / "mkdocs.yml").read_text()
    assert [name for path in DOCUMENTS if f": {(name := path.relative_to(ROOT).as_posix())}\n" not in listed] == []


def test_every_picture_is_shown_and_can_be_taken_again() -> None:
    pictures = {path.stem for path in (ROOT / "docs" / "pictures").iterdir()}
    shown = re.findall(r"pictures/(\w[\w-]*)\.png", "".join(path.read_text() for path in DOCUMENTS))
    taken = re.findall(r'^    "([\w-]+)": Picture\(', (ROOT / "scripts" / "make_pictures.py").read_text(), re.MULTILINE)
    assert pictures == set(shown) == set(taken)


def test_every_public_name_is_in_the_reference_once() -> None:
    headings = re.findall(r"^### (\w+)$", (ROOT / "docs" / "reference.md").read_text(), re.MULTILINE)
    assert sorted(headings) == sorted([*reread.__all__, "open", *(named_parts("names").keys() - {"spark"})])


def test_the_versions_of_the_formats_are_those_of_the_code() -> None:
    rows = re.findall(r"^\| (.+?) \| (\d+) \|", (ROOT / "docs" / "stability.md").read_text(), re.M)
    assert {re.sub(r"\[(.+?)\]\(.+?\)", r"\1", what): int(version) for what, version in rows} == {
        "the JSON of a session": json_values.VERSION,
        "tables": schema.VERSION,
        "the archive: frames and maps": int(frames.MAP_HEADING.split()[1]),
        "the archive in a bucket: manifests and stubs": kept_manifest.FORMAT,
        "stars, notes, tags and the list of workspaces": annotations.VERSION,
        "the trash of `delete`": trash.FORMAT,
        "git notes": notes.VERSION,
        "the search index": store.FORMAT,
    }


def test_every_fate_is_documented() -> None:
    reading = (ROOT / "docs" / "reading.md").read_text()
    assert all(f"`{fate}`" in reading for fate in FATES)


def test_every_kind_of_message_is_documented() -> None:
    reading = (ROOT / "docs" / "reading.md").read_text()
    kinds = {m.kind for h in reread.sessions(root=SAMPLES) for m in reread.open(Path(h.path)).messages}
    assert all(f"`{kind}`" in reading for kind in kinds)


def test_every_format_can_be_asked_for() -> None:
    (option,) = (param for param in COMMANDS["export"].params if param.name == "form")
    assert set(option.type.choices) == set(format_names())


def test_every_room_that_the_design_notes_name_is_in_the_house() -> None:
    design = (ROOT / "docs" / "design.md").read_text()
    house = ROOT / "src" / "reread"
    rooms = re.findall(r"`((?:\w+/)*\w+(?:\.py|/))`", design)
    assert len(rooms) > 30
    assert [room for room in rooms if not (house / room).exists() and not (ROOT / room).exists()] == []


def test_the_design_notes_stay_short() -> None:
    assert len((ROOT / "docs" / "design.md").read_text().splitlines()) < 200
