"""Plug-ins: the package in docs/extending.md, really installed; and plug-ins that are broken."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from making import jsonl, printed, reply

import reread
from reread import plugins, tools
from reread.base.entry_points import may_offer
from reread.plugins import Data, Node, Note, Tool, ToolCall
from reread.records import dialects
from reread.records.dialects import atif

HOME = Path(__file__).parent.parent
DOCUMENT = (HOME / "docs" / "extending.md").read_text()
FILES = dict(re.findall(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```$", DOCUMENT, re.DOTALL | re.MULTILINE))
"""The files of the package, by path."""
(LOG,) = re.findall(r"^```json\n(.*?)^```$", DOCUMENT, re.DOTALL | re.MULTILINE)
(SCREEN,) = re.findall(r"^```\n\$ (.*?)^```$", DOCUMENT, re.DOTALL | re.MULTILINE)


def install(folder: Path) -> Path:
    """Install the package of the document as installers do: its modules, and a dist-info folder with its entry points.

    An installer would unpack a wheel with these files; to build one takes a backend, which may not be there offline.
    """
    project = tomllib.loads(FILES["pyproject.toml"])["project"]
    site = folder / "site"
    for path, text in FILES.items():
        if path.endswith(".py"):
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).write_text(text)
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
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
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, encoding="utf-8", check=True)


class TestDocument:
    """The package in docs/extending.md."""

    def test_it_prints_what_the_document_shows(self, tmp_path: Path) -> None:
        (tmp_path / "bot.jsonl").write_text(LOG)
        command, *screen = SCREEN.splitlines()
        done = run(tmp_path, *command.split(), site=install(tmp_path))
        shown = iter(done.stdout.splitlines())
        assert [line for line in screen if line != "…" and line not in shown] == []
        assert done.stderr == ""

    def test_its_dialect_is_found_in_every_record(self, tmp_path: Path) -> None:
        (tmp_path / "bot.jsonl").write_text(LOG)
        done = run(tmp_path, "reread", "check", "bot.jsonl", "--json", site=install(tmp_path))
        assert '"dialects": ["bot"]' in re.sub(r"\s+", " ", done.stdout).replace("[ ", "[").replace(" ]", "]")

    def test_without_it_the_log_is_read_as_native(self, tmp_path: Path) -> None:
        (tmp_path / "bot.jsonl").write_text(LOG)
        done = run(tmp_path, "reread", "show", "bot.jsonl")
        assert "Deploy" not in done.stdout

    def test_a_native_file_loads_no_plug_in(self, tmp_path: Path) -> None:
        (tmp_path / "native.jsonl").write_bytes(jsonl(native("hello")))
        site = install(tmp_path)
        (site / "reread_deploy" / "dialect.py").write_text("raise RuntimeError('loaded')")
        probe = (
            "import reread, sys; s = reread.open('native.jsonl'); assert len(s.messages) == 1; s.usage; "
            "assert 'importlib.metadata' not in sys.modules, 'entry points were scanned'"
        )
        paths = os.pathsep.join([str(site), str(Path(reread.__file__).parent.parent)])
        env = {**os.environ, "PYTHONPATH": paths}
        subprocess.run([sys.executable, "-c", probe], cwd=tmp_path, env=env, check=True)


class TestOwn:
    """The dialects that come with reread as plug-ins."""

    def test_they_are_declared_and_installed(self) -> None:
        declared = tomllib.loads((HOME / "pyproject.toml").read_text())["project"]["entry-points"]["reread.dialects"]
        installed = {point.name: point.value for point in entry_points(group="reread.dialects")}
        assert declared.items() <= installed.items(), "Install reread again: python -m pip install --editable ."
        assert declared.keys() <= {dialect.NAME for dialect in dialects.plugins()}

    def test_they_are_not_loaded_for_native_records(self, tmp_path: Path) -> None:
        (tmp_path / "native.jsonl").write_bytes(jsonl(native("hello")))
        probe = (
            "import reread, sys; s = reread.open('native.jsonl'); assert len(s.messages) == 1; s.usage; "
            "print([name for name in sys.modules if name.endswith(('dialects.atif', 'dialects.codex'))])"
        )
        done = subprocess.run([sys.executable, "-c", probe], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"

    def test_other_plug_ins_are_asked_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        points = [EntryPoint("atif", atif.__name__, "reread.dialects"), EntryPoint("z", "zebra", "reread.dialects")]
        mine = dialect(name="z", looks_like=lambda value: "step" in value, translate=lambda value: {"type": "z"})
        monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points)
        monkeypatch.setattr(EntryPoint, "load", lambda point: mine if point.name == "z" else atif)
        dialects.plugins.cache_clear()
        try:
            assert dialects.translate({"atif": {}, "step": {}}) == ("z", {"type": "z"})
            assert dialects.translate({"atif": {}, "observation": {}})[0] == "atif"
        finally:
            dialects.plugins.cache_clear()


def test_folders_without_plug_ins_are_told_from_others(tmp_path: Path) -> None:
    (tmp_path / "site/a-1.dist-info").mkdir(parents=True)
    (tmp_path / "site/b-1.dist-info").mkdir()
    (tmp_path / "site/a-1.dist-info/entry_points.txt").write_text("[reread.tools]\na = a\n")
    (tmp_path / "archive.zip").touch()
    offers = {name: may_offer(str(tmp_path / name), "reread.tools") for name in ("site", "archive.zip", "none")}
    assert offers == {"site": True, "archive.zip": True, "none": False}
    assert not may_offer(str(tmp_path / "site"), "reread.dialects")


def test_every_public_name_is_documented() -> None:
    for name in plugins.__all__:
        value = getattr(plugins, name)
        assert isinstance(value, str) or value.__doc__, name


@pytest.fixture
def plug_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Install objects, or functions that raise, under an entry point group."""

    def install(group: str, *objects: Any) -> None:
        def load(point: EntryPoint) -> Any:
            found = objects[int(point.value)]
            if isinstance(found, Exception):
                raise found
            return found

        points = [EntryPoint(f"p{number}", str(number), group) for number in range(len(objects))]
        monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [p for p in points if p.group == group])
        monkeypatch.setattr(EntryPoint, "load", load)
        tools.all_tools.cache_clear()
        dialects.plugins.cache_clear()

    yield install
    monkeypatch.undo()
    tools.all_tools.cache_clear()
    dialects.plugins.cache_clear()


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
    """Tools of plug-ins."""

    def test_a_plug_in_replaces_a_built_in_tool(self, plug_in: Callable[..., None]) -> None:
        mine = Tool(("Bash",), lambda call: "mine", lambda call: [Data(value=call.raw_input)])
        plug_in("reread.tools", mine)
        assert tools.title(ToolCall("Bash", {"command": "ls"})) == "mine"
        assert tools.draw(ToolCall("Bash", {"command": "ls"})) == [Data(value={"command": "ls"})]

    @pytest.mark.parametrize("broken", [RuntimeError("boom"), "a text", [], ["a text"]], ids=repr)
    def test_one_that_cannot_be_loaded_is_skipped(self, plug_in: Callable[..., None], broken: Any) -> None:
        other = Tool(("Other",), lambda call: "other", lambda call: [])
        plug_in("reread.tools", broken, [other])
        with pytest.warns(RuntimeWarning, match="Cannot load the plug-in 'p0' of reread.tools"):
            assert tools.tool_for("Other") is other
        assert tools.title(ToolCall("Bash", {"command": "ls"})) == "Bash ls"

    @pytest.mark.parametrize("draw", [fail, lambda call: ["a text"], lambda call: None], ids=["raises", "text", "None"])
    def test_one_that_fails_hides_no_call(self, plug_in: Callable[..., None], draw: Any) -> None:
        plug_in("reread.tools", Tool(("Broken",), fail, draw))
        call = ToolCall("Broken", {"command": "some words"})
        nodes = tools.draw(call)
        assert tools.title(call) == "Broken some words"
        assert isinstance(nodes[0], Note) and nodes[0].level == "warning"
        assert all(isinstance(node, Node) for node in nodes) and "some words" in repr(nodes)

    def test_a_title_that_is_not_text(self, plug_in: Callable[..., None]) -> None:
        plug_in("reread.tools", Tool(("Broken",), lambda call: 5, lambda call: []))  # pyright: ignore
        assert tools.title(ToolCall("Broken", {"command": "ls"})) == "Broken ls"


class TestDialects:
    """Dialects of plug-ins."""

    def test_it_is_asked_after_stored_and_before_the_others(self, plug_in: Callable[..., None]) -> None:
        greedy = dialect(looks_like=lambda value: True, translate=lambda value: {**value, "type": "mine"})
        plug_in("reread.dialects", greedy)
        assert dialects.translate(printed(reply("x")))[0] == "mine"
        assert dialects.translate({"type": "human"}) == ("mine", {"type": "mine"})
        name, native = dialects.translate({"claudeMessage": {"type": "human"}})
        assert (name, native["type"]) == ("stored", "mine")
        assert not dialects.was_printed({"claudeMessage": printed(reply("x"))})

    def test_native_records_and_others_in_one_file(self, plug_in: Callable[..., None]) -> None:
        plug_in("reread.dialects", dialect())
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
    def test_one_that_fails_loses_no_record(self, plug_in: Callable[..., None], broken: Any) -> None:
        plug_in("reread.dialects", broken)
        record = {"mine": "b", "type": "odd"}
        assert dialects.translate(record) == ("native", record)
        session = reread.open(jsonl(native("a"), record, printed({**reply("c"), "mine": "x"})))
        assert [record.dialect for record in session.records] == ["native", "native", "stream-json"]
        assert [message.text for message in session.messages] == ["a", "c"]
        assert session.records[1].value == record

    @pytest.mark.parametrize(
        "broken",
        [RuntimeError("boom"), "a text", SimpleNamespace(NAME="x"), dialect(name=5), dialect(name="early")],
        ids=["raises", "text", "no functions", "no name", "a name that is taken"],
    )
    def test_one_that_cannot_be_loaded_is_skipped(self, plug_in: Callable[..., None], broken: Any) -> None:
        plug_in("reread.dialects", broken, dialect())
        with pytest.warns(RuntimeWarning, match="Cannot load the plug-in 'p0' of reread.dialects"):
            assert dialects.translate({"mine": "b"})[0] == "mine"
        assert dialects.translate({"type": "human"})[0] == "early"

    def test_its_usage_is_counted(self, plug_in: Callable[..., None], tmp_path: Path) -> None:
        message = {
            "id": "m",
            "role": "assistant",
            "stop_reason": "end_turn",
            "content": [{"type": "text", "text": "b"}],
        }
        message["usage"] = {"input_tokens": 1, "output_tokens": 7}
        plug_in("reread.dialects", dialect(translate=lambda value: {"type": "assistant", "message": value["mine"]}))
        path = tmp_path / "a.jsonl"
        path.write_bytes(jsonl(native("a"), {"mine": message}))
        assert reread.usage(path, cache=False).totals.output_tokens == 7
        assert reread.open(path).usage.output_tokens == 7
