"""Commits as the reader shows them, of repositories that may be anyone's."""

import json
from pathlib import Path

import pytest
from committing import Rig

import reread
from reread.errors import NotFound
from reread.git import repository
from reread.reader.review_view import CommitDiff, review_commits
from reread.tools.nodes import Diff, Note


def files_of(rig: Rig, sha: str) -> dict[str, CommitDiff]:
    path = rig.projects / "11111111-2222-4333-8444-555555555555.jsonl"
    record = {"type": "user", "cwd": str(rig.repository), "message": {"role": "user", "content": "hi"}}
    path.write_text(json.dumps(record) + "\n")
    found = review_commits(reread.open(path), [sha], [rig.claude])
    assert [commit.sha for commit in found.review.commits] == [sha]
    return {file.path: file for file in found.files}


def shown(file: CommitDiff) -> list[str]:
    return [line for node in file.nodes if isinstance(node, Diff) for hunk in node.hunks for line in hunk.lines]


def notes(file: CommitDiff) -> list[str]:
    return [node.text for node in file.nodes if isinstance(node, Note)]


def test_each_kind_of_change_is_shown_as_it_is(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.git("config", "diff.suppressBlankEmpty", "true")
    rig.git("config", "diff.noprefix", "true")
    folder = rig.repository
    lines = [f"line {n}" for n in range(40)]
    (folder / "old.txt").write_text("\n".join(lines))
    (folder / "blank.txt").write_text("a\n\nb\n\nc\n")
    (folder / "kind").symlink_to("old.txt")
    (folder / "run.sh").write_text("run\n")
    rig.git("add", "-A")
    rig.git("commit", "-qm", "before")
    (folder / "old.txt").rename(folder / "new.txt")
    (folder / "new.txt").write_text(
        "\n".join([*lines[:-1], "diff --git a/x b/x", "@@ -1,9 +1,9 @@", "-- a/x", "0" * 40])
    )
    (folder / "blank.txt").write_text("a\n\nB\n\nc\n")
    (folder / "kind").unlink()
    (folder / "kind").write_text("<script>alert(1)</script>\x1b[2J\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "picture.png").write_bytes(b"\x89PNG\0\xff")
    (folder / "tab\tand\nend").write_bytes(b"\xff\xfe\n")
    rig.git("add", "-A")
    rig.git("commit", "-qm", "after")
    files = files_of(rig, rig.git("rev-parse", "HEAD").strip())
    new = files["new.txt"]
    assert (new.old_path, new.added, new.removed) == ("old.txt", 4, 1)
    assert [line for line in shown(new) if line[0] != " "] == [
        "-line 39", "+diff --git a/x b/x", "+@@ -1,9 +1,9 @@", "+-- a/x", "+" + "0" * 40
    ]  # fmt: skip
    assert shown(files["blank.txt"]) == [" a", " ", "-b", "+B", " ", " c"]
    assert shown(files["kind"]) == ["+<script>alert(1)</script>\x1b[2J"]
    assert [(shown(files[path]), len(notes(files[path]))) for path in ("run.sh", "picture.png")] == [([], 1)] * 2
    assert shown(files["tab\tand\nend"]) == ["+\ufffd\ufffd"]


def test_of_a_large_commit_the_beginning_is_shown_and_all_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(tmp_path)
    (rig.repository / "a.txt").write_text("a\n" * 400)
    (rig.repository / "b.txt").write_text("b\n" * 400)
    (rig.repository / "c.txt").write_text("c\n" * 90)
    rig.git("add", "-A")
    rig.git("commit", "-qm", "many")
    for limit, value, first in (("MOST_LINES", 600, 400), ("LARGEST_FILE", 600, 200)):
        with monkeypatch.context() as change:
            change.setattr(repository, limit, value)
            files = files_of(rig, rig.git("rev-parse", "HEAD").strip())
        assert [(file.added, file.removed) for file in files.values()] == [(400, 0), (400, 0), (90, 0)]
        assert [len(shown(file)) for file in files.values()] == [first, 0, 0]
        assert notes(files["b.txt"]) == notes(files["c.txt"]) == ["The rest is not shown."]


def test_where_there_is_no_such_commit_one_is_told(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    with pytest.raises(NotFound, match="No commit deadbeef"):
        files_of(rig, "deadbeef")
    rig.repository.rename(tmp_path / "elsewhere")
    with pytest.raises(NotFound):
        files_of(rig, "deadbeef")
