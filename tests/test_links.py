"""Links in the folders of sessions: those that stay inside are followed, those that lead out are named."""

import os
import sys
from pathlib import Path

import pytest
from command import run
from making import jsonl, told, user

import reread
from reread.archive.source_files import files_below
from reread.disk.file_set import find_files
from reread.reports.check_report import check_report

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
ID = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A configuration folder with a session, and links out of it to a folder and to a file with another one."""
    for folder, id in (("claude/projects/-p", ID), ("elsewhere/a/b/-q", OTHER)):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / f"{id}.jsonl").write_bytes(jsonl(*told(user(f"words of {id}", sessionId=id))))
    projects = tmp_path / "claude/projects"
    (projects / "out").symlink_to(tmp_path / "elsewhere")
    (projects / "all").symlink_to("/")
    (projects / "-p" / f"{OTHER}.jsonl").symlink_to(tmp_path / f"elsewhere/a/b/-q/{OTHER}.jsonl")
    (projects / "inside").symlink_to(projects / "-p")
    return tmp_path / "claude"


def outside(root: Path) -> set[str]:
    return {str(root / "projects" / name) for name in ("all", "out", f"-p/{OTHER}.jsonl")}


def test_what_lies_behind_a_link_out_of_a_root_is_not_listed(root: Path) -> None:
    said: list[reread.Unreadable] = []
    assert [header.id for header in reread.sessions(root=root, on_error=said.append)] == [ID]
    assert {error.path for error in said} == outside(root)
    assert all("is a link out of its folder and was not followed" in str(error) for error in said)


def test_every_verb_ends_and_names_the_links(root: Path) -> None:
    for verb, status in (("ls", 0), ("search", 0), ("check", 0)):
        words = ["words"] if verb == "search" else []
        done = run("--root", str(root), verb, *words)
        assert done.returncode == status
        assert "was not followed" in " ".join((done.stdout + done.stderr).split()), verb
    for verb in ("usage", "stats"):
        assert run("--root", str(root), verb).returncode == 0


def test_a_session_behind_a_link_is_not_found_by_its_id(root: Path) -> None:
    with pytest.raises(reread.NotFound):
        reread.open(OTHER, root=root)
    assert reread.open(ID, root=root).id == ID


def test_the_sweep_and_the_check_name_them_too(root: Path) -> None:
    files = find_files([root])
    assert [os.path.basename(path) for path in files.states] == [f"{ID}.jsonl"]
    assert len(files.failures) == 3
    found = [
        file.path for file in check_report([root]).files if file.findings and file.findings[0].code == "link-outside"
    ]
    assert set(found) == outside(root)


def test_nothing_behind_a_link_is_kept(root: Path) -> None:
    kept = {file.name for file in files_below(root) if not file.skipped}
    assert kept == {f"projects/-p/{ID}.jsonl"}
    skipped = {file.path: file.skipped for file in files_below(root) if file.skipped}
    assert skipped.keys() == outside(root) | {str(root / "projects" / "inside")}
    assert set(skipped.values()) == {"it is a link"}


def test_a_captured_conversation_behind_a_link_is_not_read(root: Path) -> None:
    folder = root / "conversations" / "default"
    folder.mkdir(parents=True)
    (folder / "agent").symlink_to(root.parent / "elsewhere/a/b/-q")
    assert list(reread.sessions(root=root)) and OTHER not in {header.id for header in reread.sessions(root=root)}
