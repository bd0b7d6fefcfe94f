"""Only regular files are opened, and what reread writes is as private as what it came from."""

import ast
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import forked
from making import jsonl, reply, told, user

import reread
from reread.catalog.config import add_workspace, read_config
from reread.catalog.store import Store
from reread.disk.agent_files import agent_meta
from reread.reader.site_export import MANIFEST, write_site
from reread.storage import safe_open
from reread.storage.atomic import write_atomic
from reread.storage.kept_file import open_regular
from reread.storage.safe_open import NotRegular, make_private_folder, read_settings

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="pipes and modes of POSIX"), pytest.mark.timeout(60)]

SOURCE = Path(reread.__file__).parent
SESSION = "0f3b0c1e-0000-4000-8000-000000000001"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration folder with one good session, and pipes and devices wherever a file can be."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("REREAD_HOME", str(tmp_path / "store"))
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "cache"))
    project = tmp_path / "claude" / "projects" / "-p"
    (project / SESSION / "subagents").mkdir(parents=True)
    records = told(user("hello", sessionId=SESSION, cwd="/p"), reply("hi", sessionId=SESSION))
    (project / f"{SESSION}.jsonl").write_bytes(jsonl(*records))
    (project / SESSION / "subagents" / "agent-b.jsonl").write_bytes(jsonl(*told(user("go", agentId="b"))))
    store = tmp_path / "store" / "conversations" / "default" / "default"
    store.mkdir(parents=True)
    pipes = [
        project / "11111111-0000-4000-8000-000000000001.jsonl",
        project / "agent-a.jsonl",
        project / SESSION / "subagents" / "agent-c.jsonl",
        project / SESSION / "subagents" / "agent-b.meta.json",
        project / SESSION / "tool-results",
        store / "held.jsonl",
        tmp_path / "store" / "config.json",
        tmp_path / "store" / "config.lock",
    ]
    for pipe in pipes:
        os.mkfifo(pipe)
    (project / "22222222-0000-4000-8000-000000000002.jsonl").symlink_to("/dev/zero")
    (project / "33333333-0000-4000-8000-000000000003.jsonl").mkdir()
    (project / "44444444-0000-4000-8000-000000000004.jsonl").symlink_to(store / "held.jsonl")
    return tmp_path


def run(*words: Any) -> subprocess.CompletedProcess[str]:
    """Run a verb; one that waits for a pipe is killed after some seconds."""
    done = forked([str(word) for word in words], env=os.environ)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


VERBS = [
    ["ls"],
    ["ls", "--json"],
    ["show", "--no-pager", SESSION],
    ["show", "--no-pager", "latest"],
    ["usage"],
    ["usage", "--by", "session"],
    ["check"],
    ["export", "claude/projects", "-o", "site"],
    ["ls", "--lines", "1-5"],
    ["ls", "--only", "captured"],
]


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_verbs_skip_what_is_no_regular_file(folder: Path, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    done = run(*words)
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr


def test_a_listing_has_only_regular_files(folder: Path) -> None:
    assert [header.id for header in reread.sessions()] == [SESSION]
    assert reread.usage().totals.responses == 1
    assert list(reread.open(SESSION).agents) == ["b"]


@pytest.mark.parametrize("name", ["11111111-0000-4000-8000-000000000001", "22222222-0000-4000-8000-000000000002"])
@pytest.mark.parametrize("verb", ["show", "check", "usage", "export", "tail", "serve"])
def test_a_pipe_or_device_that_is_named_gets_an_answer(folder: Path, verb: str, name: str) -> None:
    path = folder / "claude" / "projects" / "-p" / f"{name}.jsonl"
    done = run(verb, path, *(["--no-open"] if verb == "serve" else []))
    assert done.returncode != 0
    assert "it is a pipe" in done.stderr or "it is a device" in done.stderr


def test_capturing_into_a_pipe_is_refused(folder: Path) -> None:
    done = run("capture", "--conversation", "held", "--", "echo", "hello")
    assert "it is a pipe" in done.stderr
    assert done.returncode == 74
    with pytest.raises(reread.Unwritable, match="it is a pipe"):
        Store().writer("held")


def test_settings_that_are_pipes_are_as_good_as_none(folder: Path) -> None:
    assert read_config(folder / "store") == {}
    with pytest.raises(NotRegular):
        add_workspace(folder / "store", "new")
    with pytest.raises(NotRegular, match="not a regular file; move it away"):
        read_settings(folder / "store" / "config.json")
    assert agent_meta(folder / "claude" / "projects" / "-p" / SESSION / "subagents" / "agent-b.jsonl") == {}


def test_a_file_that_is_replaced_by_a_pipe_is_noticed_when_it_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(safe_open.os.path, "exists", lambda path: False)
    with pytest.raises(NotRegular, match="it is a pipe"):
        open_regular(tmp_path / "pipe")


def test_a_pipe_is_not_even_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(safe_open.os, "open", lambda *_: pytest.fail("opened"))
    with pytest.raises(NotRegular, match="it is a pipe"):
        open_regular(tmp_path / "pipe")


def test_settings_of_any_size_are_not_read(tmp_path: Path) -> None:
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(safe_open.LARGEST_SETTINGS + 1)
    with pytest.raises(OSError, match="File too large"):
        read_settings(tmp_path / "huge.json")


READERS = {"read_bytes", "read_text", "FileIO"}
OWN = {
    "reread.storage.safe_open": "the one place",
    "reread.storage.kept_file": "kept files, which are never links",
    "reread.storage.read_at_file": "files that must not be links",
    "reread.storage.prompt_history": "a history, which is never a link",
    "reread.base.stdio": "the process's own streams",
    "reread.storage.atomic": "writes",
    "reread.recording.child": "the terminal",
    "reread.reports.status_line": "starts without the modules of others",
    "reread.disk.processes": "the kernel's files",
    "reread.base.addons": "files of installed packages",
    "reread.reader.page_assets": "files of the package",
    "reread.reader.site_export": "files of the package",
    "reread.server.static_files": "files of the package",
    "reread.accounting.prices": "files of the package",
    "reread.records.types.declared": "files of the package",
    "reread.fake_claude.matcher": "what it wrote itself",
    "reread.addons.rerun.inside.boxed": "its own file, with the standard library alone",
    "reread.addons.rerun.inside.dry_shell": "its own files, in the box",
    "reread.addons.rerun.inside.mcp_server": "its own file, in the box",
    "reread.addons.rerun.inside.page_server": "its own file, in the box",
    "reread.git.command": "looks for files that are not regular",
}


def file_calls(tree: ast.AST) -> Iterator[str]:
    """Yield the calls that open a file by its name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            opens = name == "open" and any(isinstance(a, ast.Constant) and a.value in ("r", "rb") for a in node.args)
            if name in READERS or opens or ast.unparse(node.func) == "os.open":
                yield name


def test_files_are_opened_in_one_place() -> None:
    for path in SOURCE.rglob("*.py"):
        module = ".".join(("reread", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
        if module not in OWN:
            assert list(file_calls(ast.parse(path.read_text()))) == [], f"{path}: use storage/safe_open.py"


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_what_reread_keeps_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_HOME", str(tmp_path / "store"))
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "deep" / "cache"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(SOURCE / "samples"))
    old = os.umask(0o022)
    try:
        assert run("capture", "-q", "--", "echo", "hello").returncode == 0
        assert run("usage").returncode == 0
        assert run("ls").returncode == 0
    finally:
        os.umask(old)
    made = [path for root in ("store", "deep") for path in (tmp_path / root, *(tmp_path / root).rglob("*"))]
    assert len(made) > 6
    assert {path: oct(mode(path)) for path in made if mode(path) & 0o077} == {}


def test_what_is_derived_forgets_what_was_deleted(folder: Path) -> None:
    projects = folder / "claude" / "projects"
    (projects / "-p" / f"{SESSION}.jsonl").write_bytes(
        next((SOURCE / "samples").rglob("d2a94e17-*.jsonl")).read_bytes()
    )
    assert run("usage").returncode == run("ls").returncode == 0
    secrets = (SESSION.encode(), b"d2a94e17", b"/home/sam/code/harbor", b"Dead-letter")
    cached = b"".join(path.read_bytes() for path in (folder / "cache").rglob("*") if path.is_file())
    assert [secret for secret in secrets if secret in cached]
    shutil.rmtree(projects / "-p")
    assert run("usage").returncode == 0
    run("ls")
    cached = b"".join(path.read_bytes() for path in (folder / "cache").rglob("*") if path.is_file())
    assert [secret for secret in secrets if secret in cached] == []


def test_every_missing_folder_is_private(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "a" / "b" / "c")
    assert [mode(tmp_path / name) for name in ("a", "a/b", "a/b/c")] == [0o700] * 3


@pytest.mark.parametrize(("own", "copied"), [(0o600, 0o600), (0o640, 0o640), (0o644, 0o644), (0o666, 0o644)])
def test_a_copy_is_as_private_as_its_session(tmp_path: Path, own: int, copied: int) -> None:
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_bytes(jsonl(*told(user("hello"), reply("hi"))))
    path.chmod(own)
    old = os.umask(0o022)
    try:
        reread.export(path, to=tmp_path / "out.md")
        assert run("export", path, "-o", tmp_path / "out.html").returncode == 0
        write_site([path], tmp_path / "site")
    finally:
        os.umask(old)
    written = [tmp_path / "out.md", tmp_path / "out.html", tmp_path / "site" / f"{SESSION}.html"]
    written += [tmp_path / "site" / "index.html", tmp_path / "site" / MANIFEST]
    assert {oct(mode(path)) for path in written} == {oct(copied)}


def test_a_file_that_exists_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"")
    (tmp_path / "out").chmod(0o644)
    write_atomic(tmp_path / "out", [b"new"])
    assert (mode(tmp_path / "out"), (tmp_path / "out").read_bytes()) == (0o644, b"new")


@pytest.fixture
def site(tmp_path: Path) -> tuple[Path, Path]:
    """A session, and the folder of a site with it."""
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_bytes(jsonl(*told(user("hello"), reply("hi"))))
    write_site([path], tmp_path / "site")
    return path, tmp_path / "site"


@pytest.mark.parametrize("key", ["../outside", "/tmp/outside", "a/b", "..", "a\\b", ""])
def test_a_site_that_someone_gave_you_writes_no_page_elsewhere(site: tuple[Path, Path], key: str) -> None:
    path, folder = site
    manifest = json.loads((folder / MANIFEST).read_bytes())
    (page,) = manifest["pages"].values()
    (folder / MANIFEST).write_text(json.dumps({**manifest, "pages": {key: {**page, "state": ""}}}))
    before = sorted(path.parent.rglob("*"))
    with pytest.raises(reread.Unreadable, match="cannot be the name of a page"):
        write_site([path], folder)
    assert sorted(path.parent.rglob("*")) == before


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_site_that_someone_gave_you_may_have_any_times(site: tuple[Path, Path], time: str) -> None:
    path, folder = site
    manifest = json.loads((folder / MANIFEST).read_bytes())
    (page,) = manifest["pages"].values()
    foreign = {**page, "path": "/nowhere", "row": {**page["row"], "updated": time, "title": "<b>kept</b>"}}
    (folder / MANIFEST).write_text(json.dumps({**manifest, "pages": {**manifest["pages"], "other": foreign}}))
    write_site([path], folder)
    assert "&lt;b&gt;kept&lt;/b&gt;" in (folder / "index.html").read_text()


@pytest.mark.parametrize("name", [f"{SESSION}.html", "index.html", MANIFEST, "assets/reader.js", "assets"])
def test_a_link_in_a_site_does_not_lead_out_of_it(site: tuple[Path, Path], tmp_path: Path, name: str) -> None:
    path, folder = site
    victim = tmp_path / "victim"
    if name == "assets":
        shutil.rmtree(folder / name)
        victim.mkdir()
    else:
        content = (folder / name).read_bytes()
        (folder / name).unlink()
        victim.write_bytes(content if name == MANIFEST else b"mine")
    (folder / name).symlink_to(victim)
    path.write_bytes(path.read_bytes() * 2)
    before = victim.read_bytes() if victim.is_file() else []
    try:
        (fault,) = write_site([path], folder).faults
    except reread.Unwritable as error:
        fault = str(error)
    assert "it leads out of the folder" in fault
    assert (victim.read_bytes() if victim.is_file() else list(victim.iterdir())) == before
