"""Patches of the Codex CLI: what becomes of a text, and the files of sessions that the real client recorded."""

from pathlib import Path

import pytest
from batches import table

import reread
from reread.history.patches import call_patch, only_reads, patched_text
from reread.recording.adoption import adopt
from reread.tools.patch import patched_files

REAL = Path(__file__).parent / "real-codex"
PROJECT = "/home/user/project"


def after(lines: str, before: str) -> str | None:
    (file,) = patched_files(f"*** Begin Patch\n*** Update File: a\n{lines}\n*** End Patch")
    return patched_text(file, before)


@table(
    ("lines", "before", "expected"),
    [
        ("@@\n-x\n+y", "x\n", "y\n"),
        ("@@\n-x\n+y", "x", "y\n"),
        ("@@\n-a", "a\n", ""),
        ("@@\n+y", "x\n", "x\ny\n"),
        ("@@\n+y", "", "y\n"),
        ("@@ two\n-x\n+y", "x\ntwo\nx\n", "x\ntwo\ny\n"),
        ("@@ none\n-x\n+y", "x\n", None),
        ("@@\n a\n-b\n+c\n@@\n d\n+e", "a\nb\nd\n", "a\nc\nd\ne\n"),
        ("@@\n-b\n+c\n@@\n-a\n+z", "a\nb\n", None),
        ("@@\n-a\n+z\n*** End of File", "a\nb\na\n", "a\nb\nz\n"),
        ("@@\n a\n\n-b\n+c", "a\n\nb\n", "a\n\nc\n"),
        ("@@\n-a\n", "a\nb\n", "b\n"),
        ("@@\n-a\n+b", "  a\n", None),
        ("-x\n+y", "x\n", "y\n"),
    ],
)
def test_a_patch_is_applied_as_the_client_does_or_not_at_all(lines: str, before: str, expected: str | None) -> None:
    assert after(lines, before) == expected


def test_a_large_patch_takes_linear_time() -> None:
    before = "a\n" * 200_000
    assert after("@@\n" + "-a\n" * 100_000 + "-b", before) is None


def test_a_patch_in_a_command() -> None:
    text = "*** Begin Patch\n*** Delete File: a\n*** End Patch"
    commands = {
        f"apply_patch <<'EOF'\n{text}\nEOF": ("/p", True),
        f"cd sub && apply_patch <<'EOF'\n{text}\nEOF\n": ("/p/sub", True),
        f"cd '/my place'; apply_patch << EOF\n{text}\nEOF\ngit status": ("/my place", True),
        f"apply_patch <<'EOF'\n{text}\nEOF\nmake": ("/p", False),
        f"make && apply_patch <<'EOF'\n{text}\nEOF": ("/p", False),
        f'apply_patch "{text}"': ("/p", True),
    }
    for command, (folder, alone) in commands.items():
        assert call_patch("Bash", {"command": command}, "/p") == (text, folder, alone), command
    assert call_patch("Bash", {"command": "man apply_patch"}) is None
    assert call_patch("Bash", {}) is None


def test_commands_that_only_read() -> None:
    for command in ("cat a | head -3 && git status", "sed -n '1,20p' a", "", "cd x; ls -la"):
        assert only_reads(command), command
    for command in ("sed -i s/a/b/ x", "sed -n '1w b' a", "cat a > b", "pytest", "ls $(make)", "git checkout a"):
        assert not only_reads(command), command


@pytest.mark.parametrize("adopted", [False, True], ids=["by path", "adopted"])
def test_the_files_of_a_recorded_session(tmp_path: Path, adopted: bool) -> None:
    (path,) = (REAL / "0.166.0" / "patches").glob("*.jsonl")
    session = reread.open(adopt([path], to=tmp_path)[0].path if adopted else path)
    found = {
        name.removeprefix(f"{PROJECT}/"): [
            (version.action, version.turn, version.added, version.removed, version.whole)
            for version in history.versions
        ]
        for name, history in session.files.items()
    }
    assert found == {
        "notes.txt": [("create", 1, 2, 0, True), ("edit", 1, 2, 1, True)],
        "hello.py": [("edit", 1, 1, 1, False), ("rename", 1, 0, 0, True)],
        "old.txt": [("delete", 1, 0, 0, True)],
        "src/greeting.py": [("rename", 1, 1, 1, False), ("edit", 1, 1, 0, False)],
        "src/new.txt": [("create", 1, 1, 0, True), ("edit", 2, 1, 1, False)],
    }
    text = session.files[f"{PROJECT}/notes.txt"].versions[-1].after
    (printed,) = (call.tool_call.text for call in session.calls if "cat src" in str(call.input))
    assert text is not None and text.text in printed
    added = [
        line for version in session.files[f"{PROJECT}/src/greeting.py"].versions for line in version.hunks[0].lines
    ]
    assert added == ["-print('hello, world')", "+print('hello, quay')", " print('hello, quay')", "+print('bye')"]
    assert all(not version.hunks for version in session.files[f"{PROJECT}/old.txt"].versions)


def test_what_failed_changed_nothing() -> None:
    (path,) = (REAL / "0.60.1" / "patches").glob("*.jsonl")
    session = reread.open(path)
    assert [call.state for call in session.calls] == ["done", *["failed"] * 6]
    assert session.files == {}


def test_blame_names_the_prompt_and_the_tables_have_the_edits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "cache"))
    (path,) = (REAL / "0.166.0" / "patches").glob("*.jsonl")
    (adopted,) = adopt([path], to=tmp_path / "store")
    notes = tmp_path / "notes.txt"
    notes.write_text("one\nthree\nfour\n")
    lines = reread.blame(notes, recorded_as="project/notes.txt", root=tmp_path / "store")
    wrote = [(line.text, line.session, line.call, line.prompt) for line in lines]
    calls = {"one": "call_1", "three": "call_2", "four": "call_2"}
    assert wrote == [(text, adopted.id, call, "Change files.") for text, call in calls.items()]
    edits = reread.tables(root=tmp_path / "store")["edits"].read_all().to_pylist()
    assert [(edit["call"], edit["action"]) for edit in edits if edit["file"].endswith("greeting.py")] == [
        ("call_2", "rename"),
        ("call_3", "edit"),
    ]
