"""Add-ons: the package in examples/addon, really installed; what is broken; and the core without any."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from command import cli as run_verb
from command import offered
from installing import installer
from making import jsonl, printed, reply
from starlette.testclient import TestClient

import reread
from reread import plugins, tools
from reread.addons.atif import dialect as atif
from reread.base import addons
from reread.base.addons import Addon, named_parts, parts
from reread.base.paths import SAMPLES
from reread.cli import VERBS
from reread.plugins import Data, Node, Note, Tool, ToolCall, formats, verbs
from reread.reader.export_formats import FORMATS, format_names
from reread.records import dialects
from reread.server.library import SessionLibrary
from reread.server.routes import make_app

add_ons = pytest.fixture(installer)
HOME = Path(__file__).parent.parent
EXAMPLE = HOME / "examples" / "addon"
DOCUMENT = (HOME / "docs" / "extending.md").read_text()
FILES = dict(re.findall(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```$", DOCUMENT, re.DOTALL | re.MULTILINE))
"""The files of the package that the document shows, by path."""
SCREENS = re.findall(r"^```\n\$ (.*?)^```$", DOCUMENT, re.DOTALL | re.MULTILINE)
INFO = "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"


def install(folder: Path, source: Path = EXAMPLE) -> Path:
    """Install a package as installers do: its modules, and a dist-info folder with its entry points.

    An installer would unpack a wheel with these files; to build one takes a backend, which may not be there offline.
    """
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    site = folder / "site"
    name = project["name"].replace("-", "_")
    shutil.copytree(source / name, site / name)
    info = site / f"{name}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(INFO.format(**project))
    groups = [
        "\n".join([f"[{group}]", *(f"{name} = {target}" for name, target in points.items())])
        for group, points in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n\n".join(groups) + "\n")
    return site


def run(folder: Path, *arguments: str, site: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the program in a process of its own, which finds the packages in `site`."""
    paths = [str(site)] if site else []
    paths.append(str(Path(reread.__file__).parent.parent))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TZ": "UTC", "COLUMNS": "100", "HOME": str(folder)}
    command = [sys.executable, *(arguments if arguments[0] == "-c" else ("-m", *arguments))]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, encoding="utf-8", check=True)


class TestExample:
    """The package in examples/addon."""

    def test_the_document_shows_its_files(self) -> None:
        assert len(FILES) == 6
        assert {path: (EXAMPLE / path).read_text() for path in FILES} == FILES
        assert f"```json\n{(EXAMPLE / 'bot.jsonl').read_text()}```" in DOCUMENT

    @pytest.mark.parametrize("screen", SCREENS)
    def test_it_prints_what_the_document_shows(self, screen: str, tmp_path: Path) -> None:
        shutil.copy(EXAMPLE / "bot.jsonl", tmp_path)
        command, *lines = screen.splitlines()
        done = run(tmp_path, *command.split(), site=install(tmp_path))
        shown = iter(done.stdout.splitlines())
        assert [line for line in lines if line != "…" and line not in shown] == []
        assert done.stderr == ""

    def test_the_help_and_the_formats_have_it(self, tmp_path: Path) -> None:
        site = install(tmp_path)
        assert re.search(r"^Deploy: +deploys$", run(tmp_path, "reread", "--help", site=site).stdout, re.MULTILINE)
        shown = run(tmp_path, "reread", "export", "--help", site=site).stdout
        assert "deployments, one per line" in shown and "|deploys|" in "".join(shown.split())

    def test_its_dialect_is_found_in_every_record(self, tmp_path: Path) -> None:
        shutil.copy(EXAMPLE / "bot.jsonl", tmp_path)
        done = run(tmp_path, "reread", "check", "bot.jsonl", "--json", site=install(tmp_path))
        assert '"dialects": ["bot"]' in re.sub(r"\s+", " ", done.stdout).replace("[ ", "[").replace(" ]", "]")

    def test_without_it_the_log_is_read_as_native(self, tmp_path: Path) -> None:
        shutil.copy(EXAMPLE / "bot.jsonl", tmp_path)
        done = run(tmp_path, "reread", "show", "bot.jsonl")
        assert "Deploy" not in done.stdout

    def test_a_native_file_loads_no_add_on(self, tmp_path: Path) -> None:
        (tmp_path / "native.jsonl").write_bytes(jsonl(native("hello")))
        site = install(tmp_path)
        (site / "reread_deploy" / "dialect.py").write_text("raise RuntimeError('loaded')")
        probe = (
            "import reread, sys; s = reread.open('native.jsonl'); assert len(s.messages) == 1; s.usage; "
            "from reread.base.addons import addons; assert not addons.cache_info().misses"
        )
        paths = os.pathsep.join([str(site), str(Path(reread.__file__).parent.parent)])
        env = {**os.environ, "PYTHONPATH": paths}
        subprocess.run([sys.executable, "-c", probe], cwd=tmp_path, env=env, check=True)


class TestOwn:
    """The add-ons that come with reread."""

    def test_they_are_declared_and_installed(self) -> None:
        declared = tomllib.loads((HOME / "pyproject.toml").read_text())["project"]["entry-points"][addons.GROUP]
        assert declared.keys() <= addons.addons().keys(), "Install reread again: python -m pip install --editable ."
        rooms = {path.stem for path in (HOME / "src" / "reread" / "addons").glob("[!_]*")}
        assert declared == {room: f"reread.addons.{room}:ADDON" for room in rooms}

    def test_everything_that_they_bring_is_there(self) -> None:
        for kind in Addon._fields:
            if kind not in ("heading", "synonyms"):
                assert all(part.load() is not None for part in parts(kind))

    def test_they_are_not_loaded_for_native_records(self, tmp_path: Path) -> None:
        (tmp_path / "native.jsonl").write_bytes(jsonl(native("hello")))
        probe = (
            "import reread, sys; s = reread.open('native.jsonl'); assert len(s.messages) == 1; s.usage; "
            "print([name for name in sys.modules if name.startswith('reread.addons')])"
        )
        done = subprocess.run([sys.executable, "-c", probe], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"

    def test_other_add_ons_are_asked_first(self, add_ons: Callable[..., None]) -> None:
        mine = dialect(name="z", looks_like=lambda value: "step" in value, translate=lambda value: {"type": "z"})
        add_ons({"dialects": {"atif": atif}}, {"dialects": {"z": mine}}, own=1)
        assert dialects.translate({"atif": {}, "step": {}}) == ("z", {"type": "z"})
        assert dialects.translate({"atif": {}, "observation": {}})[0] == "atif"


def test_every_public_name_is_documented() -> None:
    for module in (plugins, formats, verbs):
        for name in module.__all__:
            value = getattr(module, name)
            assert isinstance(value, str) or value.__doc__, name


def native(text: str) -> dict[str, Any]:
    """A prompt as Claude Code writes it on disk."""
    message = {"role": "user", "content": text}
    return {"type": "user", "uuid": f"u-{text}", "parentUuid": None, "sessionId": "s", "message": message}


def dialect(name: Any = "mine", looks_like: Any = lambda value: "mine" in value, translate: Any = None) -> Any:
    """A dialect that recognises records with a field `mine`."""
    made = translate or (lambda value: {"type": "user", "message": {"role": "user", "content": value["mine"]}})
    return SimpleNamespace(NAME=name, looks_like=looks_like, translate=made)


def fail(*_: Any) -> Any:
    raise RuntimeError("boom")


class TestTools:
    """Tools of add-ons."""

    def test_an_add_on_replaces_a_built_in_tool(self, add_ons: Callable[..., None]) -> None:
        mine = Tool(("Bash",), lambda call: "mine", lambda call: [Data(value=call.raw_input)])
        add_ons({"tools": {"mine": mine}})
        assert tools.title(ToolCall("Bash", {"command": "ls"})) == "mine"
        assert tools.draw(ToolCall("Bash", {"command": "ls"})) == [Data(value={"command": "ls"})]

    @pytest.mark.parametrize("broken", ["a text", [], ["a text"]], ids=repr)
    def test_one_that_cannot_be_loaded_is_skipped(self, add_ons: Callable[..., None], broken: Any) -> None:
        other = Tool(("Other",), lambda call: "other", lambda call: [])
        add_ons({"tools": {"broken": broken, "other": [other]}})
        with pytest.warns(RuntimeWarning, match="Cannot load the add-on 'a0: broken'.*; update its package"):
            assert tools.tool_for("Other") is other
        assert tools.title(ToolCall("Bash", {"command": "ls"})) == "Bash ls"

    @pytest.mark.parametrize("draw", [fail, lambda call: ["a text"], lambda call: None], ids=["raises", "text", "None"])
    def test_one_that_fails_hides_no_call(self, add_ons: Callable[..., None], draw: Any) -> None:
        add_ons({"tools": {"it": Tool(("Broken",), fail, draw)}})
        call = ToolCall("Broken", {"command": "some words"})
        nodes = tools.draw(call)
        assert tools.title(call) == "Broken some words"
        assert isinstance(nodes[0], Note) and nodes[0].level == "warning"
        assert all(isinstance(node, Node) for node in nodes) and "some words" in repr(nodes)

    def test_a_title_that_is_not_text(self, add_ons: Callable[..., None]) -> None:
        add_ons({"tools": {"it": Tool(("Broken",), lambda call: 5, lambda call: [])}})  # pyright: ignore
        assert tools.title(ToolCall("Broken", {"command": "ls"})) == "Broken ls"


class TestDialects:
    """Dialects of add-ons."""

    def test_it_is_asked_after_stored_and_before_the_others(self, add_ons: Callable[..., None]) -> None:
        greedy = dialect(looks_like=lambda value: True, translate=lambda value: {**value, "type": "mine"})
        add_ons({"dialects": {"greedy": greedy}})
        assert dialects.translate(printed(reply("x")))[0] == "mine"
        assert dialects.translate({"type": "human"}) == ("mine", {"type": "mine"})
        name, native = dialects.translate({"claudeMessage": {"type": "human"}})
        assert (name, native["type"]) == ("stored", "mine")
        assert not dialects.was_printed({"claudeMessage": printed(reply("x"))})

    def test_native_records_and_others_in_one_file(self, add_ons: Callable[..., None]) -> None:
        add_ons({"dialects": {"mine": dialect()}})
        session = reread.open(jsonl(native("a"), {"mine": "b"}, printed(reply("c"))))
        assert [record.dialect for record in session.records] == ["native", "mine", "stream-json"]
        assert [message.text for message in session.messages] == ["a", "b", "c"]

    @pytest.mark.parametrize(
        "broken",
        [
            dialect(looks_like=fail),
            dialect(translate=fail),
            dialect(translate=lambda value: None),
            dialect(translate=lambda value: [value]),
        ],
        ids=["looks_like raises", "translate raises", "None", "a list"],
    )
    def test_one_that_fails_loses_no_record(self, add_ons: Callable[..., None], broken: Any) -> None:
        add_ons({"dialects": {"broken": broken}})
        record = {"mine": "b", "type": "odd"}
        assert dialects.translate(record) == ("native", record)
        session = reread.open(jsonl(native("a"), record, printed({**reply("c"), "mine": "x"})))
        assert [record.dialect for record in session.records] == ["native", "native", "stream-json"]
        assert [message.text for message in session.messages] == ["a", "c"]
        assert session.records[1].value == record

    @pytest.mark.parametrize(
        "broken",
        ["a text", SimpleNamespace(NAME="x"), dialect(name=5), dialect(name="early")],
        ids=["text", "no functions", "no name", "a name that is taken"],
    )
    def test_one_that_cannot_be_loaded_is_skipped(self, add_ons: Callable[..., None], broken: Any) -> None:
        add_ons({"dialects": {"broken": broken, "mine": dialect()}})
        with pytest.warns(RuntimeWarning, match="Cannot load the add-on 'a0: broken'"):
            assert dialects.translate({"mine": "b"})[0] == "mine"
        assert dialects.translate({"type": "human"})[0] == "early"

    def test_its_usage_is_counted(self, add_ons: Callable[..., None], tmp_path: Path) -> None:
        message = {
            "id": "m",
            "role": "assistant",
            "stop_reason": "end_turn",
            "content": [{"type": "text", "text": "b"}],
        }
        message["usage"] = {"input_tokens": 1, "output_tokens": 7}
        mine = dialect(translate=lambda value: {"type": "assistant", "message": value["mine"]})
        add_ons({"dialects": {"mine": mine}})
        path = tmp_path / "a.jsonl"
        path.write_bytes(jsonl(native("a"), {"mine": message}))
        assert reread.usage(path, cache=False).totals.output_tokens == 7
        assert reread.open(path).usage.output_tokens == 7


class TestDeclarations:
    """What else an add-on declares, and declarations that cannot be loaded."""

    def test_one_that_cannot_be_loaded_is_named(self, tmp_path: Path) -> None:
        site = install(tmp_path)
        shutil.copy(EXAMPLE / "bot.jsonl", tmp_path)
        (site / "reread_deploy" / "__init__.py").write_text("raise RuntimeError('boom')")
        done = run(tmp_path, "reread", "show", "bot.jsonl", site=site)
        assert (
            "Cannot load the add-on 'deploy' (RuntimeError('boom')); update its package, or uninstall it" in done.stderr
        )
        assert "Traceback" not in done.stderr

    def test_one_that_is_no_declaration_is_named(self, add_ons: Callable[..., None]) -> None:
        add_ons({})
        sys.modules["addon_0"].ADDON = "a text"  # pyright: ignore[reportAttributeAccessIssue]
        with pytest.warns(RuntimeWarning, match="'a0' \\(TypeError\\('expected an Addon'\\)\\)"):
            assert addons.addons() == {}

    def test_of_rereads_own_one_that_is_not_there_was_taken_away(
        self, add_ons: Callable[..., None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        add_ons({}, {}, own=1)
        for name in ("reread.addon_0", "addon_1"):
            monkeypatch.delitem(sys.modules, name)
        with pytest.warns(RuntimeWarning, match="'a1' .*ModuleNotFoundError") as said:
            assert addons.addons() == {}
        assert len(said) == 1

    def test_one_of_rereads_own_that_lacks_something_is_named(
        self, add_ons: Callable[..., None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        add_ons({}, own=1)
        monkeypatch.setattr(addons, "import_module", lambda name: __import__("no_such_module"))
        with pytest.warns(RuntimeWarning, match="'a0' .*no_such_module"):
            assert addons.addons() == {}

    def test_what_it_brings_and_cannot_be_loaded_is_an_error_when_it_is_asked_for(
        self, add_ons: Callable[..., None]
    ) -> None:
        add_ons({"formats": {"shout": None}})
        del vars(sys.modules["addon_0"])["formats_0"]
        assert "shout" in format_names()
        with pytest.raises(
            reread.Misuse, match=r"Cannot load the add-on 'a0' .*; update its package, or uninstall it\."
        ):
            reread.export("8c1f", "shout", root=SAMPLES)

    def test_a_format_of_the_core_cannot_be_replaced(self, add_ons: Callable[..., None]) -> None:
        shout = formats.ExportFormat(lambda session, selection: iter([b"!"]), about="", readers="")
        add_ons({"formats": {"shout": shout, "markdown": shout}})
        assert format_names() == (*FORMATS, "shout")
        assert [reread.export("8c1f", form, root=SAMPLES) == b"!" for form in ("shout", "markdown")] == [True, False]

    def test_a_package_in_an_archive_is_found(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        archive = shutil.make_archive(str(tmp_path / "packages"), "zip", install(tmp_path))
        monkeypatch.setattr(sys, "path", [archive, *sys.path])
        addons.addons.cache_clear()
        try:
            assert named_parts("verbs")["deploys"].addon == "deploy"
        finally:
            addons.addons.cache_clear()
            for name in [name for name in sys.modules if name.startswith("reread_deploy")]:
                del sys.modules[name]

    def test_its_options_are_those_of_a_verb(self, add_ons: Callable[..., None]) -> None:
        def extend(command: click.Command) -> None:
            command.params.append(click.Option(["--shout"], is_flag=True, help="Be loud."))
            inner = command.callback
            assert inner is not None
            command.callback = lambda shout, **options: click.echo("!") if shout else inner(**options)

        add_ons({"options": {"completion": extend}})
        assert run_verb("completion", "bash", "--shout").stdout == "!\n"
        assert "complete" in run_verb("completion", "bash").stdout
        assert "Be loud." in run_verb("completion", "--help").stdout
        assert offered("reread", "completion", "--sh") == ["plain,--shout"]
        assert "No such option '--whisper'" in run_verb("completion", "bash", "--whisper").stderr

    def test_its_words_are_known(self, add_ons: Callable[..., None]) -> None:
        add_ons({"verbs": {"cheer": click.Command("cheer", callback=lambda: click.echo("!"))}})
        sys.modules["addon_0"].ADDON = sys.modules["addon_0"].ADDON._replace(synonyms={"hail": "cheer --loud"})
        addons.addons.cache_clear()
        assert run_verb("cheer").stdout == "!\n"
        assert "did you mean `reread cheer`?" in run_verb("chear").stderr
        assert "did you mean `reread cheer --loud`?" in run_verb("hail").stderr
        assert re.search(r"^Add-ons: +cheer$", run_verb("--help").stdout, re.MULTILINE)

    def test_its_routes_answer_the_page(self, add_ons: Callable[..., None], tmp_path: Path) -> None:
        add_ons({"routes": {"/api/weather": lambda given, query: {**given, **query}}})
        with TestClient(make_app(SessionLibrary([tmp_path]), given={"team": "x"})) as client:
            assert client.get("/api/weather?at=noon").json() == {"team": "x", "at": "noon"}


PROBE = """
import json, warnings
from reread.base.addons import Addon, parts
warnings.simplefilter("error")
kinds = [kind for kind in Addon._fields if kind not in ("heading", "synonyms")]
print(json.dumps({kind: sorted([part.addon, part.name] for part in parts(kind) if part.load()) for kind in kinds}))
"""
OF_THE_CORE = ("test_decode.py", "test_records.py", "test_address.py", "test_guard.py")
"""Tests that are run without any add-on."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package."""
    site = tmp_path_factory.mktemp("core")
    shutil.copytree(HOME / "src" / "reread", site / "reread", ignore=shutil.ignore_patterns("__pycache__"))
    return site


class TestCore:
    """The core, without the add-ons that come with reread: they are declared as ever, but their folders are gone."""

    @staticmethod
    def brought(site: Path) -> dict[str, list[list[str]]]:
        return json.loads(run(site, "-c", PROBE, site=site).stdout)

    def test_without_one_room_only_what_it_brings_is_gone(self, site: Path) -> None:
        own = {path.name for path in (site / "reread" / "addons").glob("[!_]*")}
        whole = self.brought(site)
        for room in sorted(own):
            folder = site / "reread" / "addons" / room
            shutil.move(folder, site / "away")
            left = self.brought(site)
            shutil.move(site / "away", folder)
            assert left == {kind: [one for one in found if one[0] != room] for kind, found in whole.items()}, room

    def test_without_any_its_verbs_and_formats_are_unknown(self, site: Path) -> None:
        shutil.move(site / "reread" / "addons", site / "away")
        try:
            assert not any(self.brought(site).values())
            help = run(site, "reread", "--help", site=site).stdout
            assert {word for row in re.findall(r"^[A-Z][a-z ]+: +(.*)$", help, re.M) for word in row.split()} >= {
                *VERBS
            }
            for verb in named_parts("verbs"):
                assert f"No command '{verb}'" in self.refused(site, verb)
            for form in named_parts("formats"):
                assert f"'{form}' is not one of" in self.refused(site, "--demo", "export", "8c1f", "-f", form)
            shutil.copy(EXAMPLE / "bot.jsonl", site / "run.jsonl")
            assert "is not a run that an installed add-on can read" in self.refused(
                site, "capture", "--from", "run.jsonl"
            )
            run(site, "reread", "--demo", "export", "8c1f", "--redact", "-o", "it.json", site=site)
            tests = [str(Path(__file__).parent / name) for name in OF_THE_CORE]
            run(site, "pytest", "-q", "-p", "no:cacheprovider", "-c", str(HOME / "pyproject.toml"), *tests, site=site)
        finally:
            shutil.move(site / "away", site / "reread" / "addons")

    @staticmethod
    def refused(site: Path, *words: str) -> str:
        with pytest.raises(subprocess.CalledProcessError) as done:
            run(site, "reread", *words, site=site)
        assert done.value.returncode == 2 and "Traceback" not in done.value.stderr, done.value.stderr
        return done.value.stderr
