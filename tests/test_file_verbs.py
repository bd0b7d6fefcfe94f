"""`files`, `file`, `diff`, `blame` and `ls --file`, on sessions of the real client."""

import json
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import reread
from reread import cli
from reread.errors import Ambiguous, Misuse, NotFound, Unreadable
from reread.facts import file_changes
from reread.facts.file_changes import trace_files
from reread.facts.store import FactStore
from reread.history.blame_lines import LineBlame
from reread.history.line_trace import differing_ranges, line_changes, line_numbers
from reread.render.file_listing import blame_lines
from reread.reports.blame_report import BlamedLine, parse_lines

RECORDED = Path(__file__).parent / "file_history" / "2.1.325"
LINES = "".join(f"line {n}\n" for n in range(1, 13))


def recorded(scenario: str) -> Path:
    return next(RECORDED.glob(f"{scenario}/projects/*/*.jsonl"))


def run(*words: str) -> Result:
    return CliRunner().invoke(cli.reread, words)


def output(*words: Any) -> Any:
    done = run(*map(str, words))
    assert done.exit_code == 0, done.output
    return done.stdout


def test_files_lists_paths_counts_and_turns() -> None:
    text = output("files", recorded("hand"))
    assert text.splitlines()[0].split() == "b.txt +3 −3 turns 1, 2 · changed from outside once".split()
    value = json.loads(output("files", recorded("agents"), "--json"))
    by_path = {file["path"].rpartition("/")[2]: file for file in value}
    assert len(by_path["b.txt"]["agents"]) == 1 and by_path["b.txt"]["added"] == 3


def test_files_lists_the_versions_of_a_file() -> None:
    text = output("files", recorded("rewind"), "--file", "crlf.txt")
    assert [line.split()[2] for line in text.splitlines()[1:]] == ["edit", "edit", "rewind", "edit"]
    [value] = json.loads(output("files", recorded("rewind"), "--file", "later.txt", "--json"))
    assert [(version["action"], version["gone"]) for version in value["versions"]] == [
        ("create", False),
        ("rewind", True),
    ]


def test_a_session_without_changes_says_so() -> None:
    plain = next((Path(__file__).parent / "real" / "2.1.325" / "plain").glob("projects/*/*.jsonl"))
    done = run("files", str(plain))
    assert done.exit_code == 0 and "changed no files" in done.stderr


def test_file_gives_a_version_back(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    output("file", "crlf.txt", f"{recorded('rewind')}:1", "-o", target)
    assert target.read_bytes() == LINES.replace("line 1\n", "line one\n").replace("\n", "\r\n").encode()
    done = run("file", "b.txt", f"{recorded('hand')}:0")
    assert done.stdout == LINES and "how lines end" in done.stderr
    done = run("file", "b.txt", f"{recorded('hand')}:1")
    assert "outside the session changed this file before turn 2" in done.stderr
    value = json.loads(output("file", "b.txt", f"{recorded('hand')}", "--json"))
    assert value["known"] and value["text"].startswith("line one\n") and not value["exact"]


def test_file_says_what_is_not_known_and_what_is_not_there() -> None:
    done = run("file", "later.txt", str(recorded("rewind")))
    assert "There is no file" in str(done.exception) and done.stdout == ""
    old = next((RECORDED.parent / "1.0.128" / "notebooks").glob("projects/*/*.jsonl"))
    done = run("file", "nb.ipynb", str(old))
    assert "not known" in str(done.exception) and done.stdout == ""
    with pytest.raises(NotFound, match="run `reread files`"):
        reread.file("nothing.txt", str(recorded("hand")))
    with pytest.raises(Misuse, match="No turn 9"):
        reread.file("b.txt", f"{recorded('hand')}:9")


def test_a_file_is_found_by_its_end_if_only_one_ends_so() -> None:
    session = reread.open(recorded("shell"))
    assert reread.file("old/name.txt", session).history.path == "/home/dev/proj/old/name.txt"
    assert reread.file("/home/dev/proj/b.txt", session).history.path.endswith("b.txt")
    session.files["/home/dev/proj/new/name.txt"] = session.files["/home/dev/proj/c.txt"]
    with pytest.raises(Ambiguous, match="2 files"):
        reread.file("name.txt", session)


def test_diff_of_a_turn_and_between_turns() -> None:
    turn = output("diff", f"{recorded('hand')}:1")
    assert "-line 1\n+line one\n" in turn and "by hand" not in turn
    later = output("diff", f"{recorded('hand')}:1", f"{recorded('hand')}:2", "--stat")
    assert later.splitlines()[0] == "b.txt  +3 −3  changed"
    new = output("diff", recorded("writes"))
    assert "--- /dev/null\n+++ b/new.txt\n" in new
    value = json.loads(output("diff", recorded("hand"), "--json"))
    assert value["sides"] is None and value["files"][0]["whole"]


def test_diff_of_branches_and_sessions_is_side_by_side() -> None:
    path = recorded("rewind")
    found = reread.diff(f"{path}@0", f"{path}@1")
    assert found.sides is not None
    assert [side.turns for side in found.sides] == [2, 2] and [side.calls for side in found.sides] == [7, 8]
    files = {file.path: file for file in found.files}
    assert files["later.txt"].left == [1, 0] and files["later.txt"].right == []
    assert [line for hunk in files["b.txt"].hunks for line in hunk.lines if line[0] != " "] == [
        "-line two",
        "-line 3",
        "+line 2",
        "+line three",
    ]
    other = reread.diff(str(recorded("edits")), str(path))
    assert other.sides is not None and other.sides[0].answer == "All done."
    assert "answer" in output("diff", recorded("edits"), path)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Two sessions on one file, and one with a rename, below a folder of this machine."""
    for scenario in ("two", "shell"):
        folder = tmp_path / "root" / "projects" / f"-{scenario}"
        folder.mkdir(parents=True)
        for path in RECORDED.glob(f"{scenario}/projects/*/*.jsonl"):
            text = path.read_text(encoding="utf-8").replace("/home/dev/proj", str(tmp_path / scenario))
            (folder / path.name).write_text(text, encoding="utf-8")
        (tmp_path / scenario).mkdir()
    return tmp_path


def test_blame_names_the_session_and_turn_of_each_line(project: Path) -> None:
    file = project / "two" / "b.txt"
    file.write_text(
        LINES.replace("line 1\n", "line one\n")
        .replace("line 2", "line two")
        .replace("line 3", "line three")
        .replace("line 7", "mine")
    )
    for _ in range(2):  # from the files, then from the catalogue
        lines = reread.blame(file, root=project / "root")
        assert [(line.session or "")[:1] == "1" for line in lines[:3]] == [True, False, True]
        assert [line.turn for line in lines[:3]] == [1, 1, 2]
        assert [line.prompt for line in lines[:3]] == [
            "First session. [[SCN:two]]",
            "Second session. [[SCN:two_b]]",
            "First again. [[SCN:two_c]]",
        ]
        assert all(line.session is None for line in lines[3:])
    done = output("blame", f"{file}:2-3", "--root", project / "root", "--json")
    assert [line["number"] for line in json.loads(done)] == [2, 3]
    assert "line two" in output("blame", file, "--root", project / "root")


def test_lines_are_traced_for_sessions_that_are_asked_about_and_then_known(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, opened = project / "root", list[str]()

    def counted(store: FactStore, file: int, path: str) -> dict[str, bytes]:
        opened.append(Path(path).parent.name)
        return trace_files(store, file, path)

    monkeypatch.setattr(file_changes, "trace_files", counted)
    output("stats", "--root", root)
    file = project / "two" / "b.txt"
    file.write_text(LINES.replace("line 1\n", "line one\n"))
    assert not opened
    for _ in range(2):
        assert reread.blame(file, root=root)[0].turn == 1
        assert opened == ["-two", "-two"]
    path = next((root / "projects" / "-two").glob("1*.jsonl"))
    with path.open("a", encoding="utf-8") as appended:
        appended.write('{"type": "mode", "mode": "plan"}\n')
    assert reread.blame(file, root=root)[0].turn == 1
    assert opened == ["-two"] * 3


def test_lines_of_a_session_that_was_read_again_meanwhile_are_not_kept(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, file = project / "root", project / "two" / "b.txt"
    file.write_text(LINES.replace("line 1\n", "line one\n"))
    writing = FactStore.writing

    def overtaken(store: FactStore) -> Any:
        store.run("UPDATE session SET state = randomblob(8)")
        return writing(store)

    output("stats", "--root", root)
    with monkeypatch.context() as patched:
        patched.setattr(FactStore, "writing", overtaken)
        assert reread.blame(file, root=root)[0].turn == 1
    with closing(FactStore()) as store:
        assert set(store.rows("SELECT versions FROM file_change")) == {(None,)}
    assert reread.blame(file, root=root)[0].turn == 1


def test_lines_that_cannot_be_kept_are_known_all_the_same(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, file = project / "root", project / "two" / "b.txt"
    file.write_text(LINES.replace("line 1\n", "line one\n"))
    output("stats", "--root", root)

    def full(store: FactStore) -> Any:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(FactStore, "writing", full)
        assert reread.blame(file, root=root)[0].turn == 1
    with closing(FactStore()) as store:
        assert set(store.rows("SELECT versions FROM file_change")) == {(None,)}


def test_a_bar_stands_for_the_session_of_the_line_above() -> None:
    written, unknown = BlamedLine(number=1, text="a", session="8c1f0b52", turn=1), BlamedLine(number=1, text="a")
    told = ["".join(text for _, text in spans) for spans in blame_lines([unknown, written, written, unknown])]
    assert [line[0] for line in told] == [" ", "8", "│", " "]
    assert len(set(map(len, told))) == 1


def test_blame_follows_renames_and_restored_files(project: Path) -> None:
    file = project / "shell" / "moved.py"
    file.write_text("def add(a, b):\n    return b + a\n\n\ndef sub(a, b):\n\t# tab\n    return b - a\n")
    lines = reread.blame(file, root=project / "root")
    assert [line.number for line in lines if line.session] == [2, 7]


def test_blame_of_a_file_that_is_now_somewhere_else(project: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.txt"
    copy.write_text(LINES.replace("line 2", "line two"))
    assert not any(line.session for line in reread.blame(copy, root=project / "root"))
    lines = reread.blame(copy, recorded_as="two/b.txt", root=project / "root")
    assert [line.number for line in lines if line.session] == [2]
    assert "line two" in output("blame", copy, "--as", project / "two" / "b.txt", "--root", project / "root")
    with pytest.raises(NotFound, match=r"No session changed a file 'x.txt'"):
        reread.blame(copy, recorded_as="x.txt", root=project / "root")
    with pytest.raises(Misuse, match=r"changed 2 files that end with 'b.txt'; name more of the path"):
        reread.blame(copy, recorded_as="b.txt", root=project / "root")


def test_blame_says_which_sessions_it_could_not_read(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object, path: str, __: object) -> None:
        raise Unreadable.at(path, PermissionError(13, "Permission denied"))

    monkeypatch.setattr("reread.session.session_pass.SessionPass.derive", fail)
    unread: list[str] = []
    file = project / "two" / "b.txt"
    file.write_text(LINES)
    lines = reread.blame(file, root=project / "root", unread=unread)
    assert not any(line.session for line in lines)
    assert unread and all(path.endswith(".jsonl") for path in unread)


def test_blame_of_a_file_that_no_session_changed(project: Path) -> None:
    file = project / "other.txt"
    file.write_text("a\n")
    done = run("blame", str(file), "--root", str(project / "root"))
    assert done.exit_code == 1 and "No session wrote" in done.stderr
    with pytest.raises(NotFound):
        reread.blame(project / "missing.txt", root=project / "root")


@pytest.mark.parametrize(("text", "lines"), [("3", (3, 3)), ("2-4", (2, 4)), ("4-", (4, 9)), ("8-99", (8, 9))])
def test_lines_to_blame(text: str, lines: tuple[int, int]) -> None:
    assert parse_lines(text, 9) == lines
    with pytest.raises(Misuse):
        parse_lines("0", 9)


def test_ls_lists_the_sessions_that_changed_a_file(project: Path) -> None:
    found = json.loads(output("ls", "--file", project / "two" / "b.txt", "--root", project / "root", "--json"))
    assert len(found) == 2
    assert len(json.loads(output("ls", "--file", "moved.py", "--root", project / "root", "--json"))) == 1
    assert run("ls", "--file", "nothing.py", "--root", str(project / "root")).stdout == ""


def test_a_changed_session_is_read_again(project: Path) -> None:
    path = next((project / "root" / "projects" / "-shell").glob("*.jsonl"))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:38]))
    none = run("ls", "--file", "moved.py", "--root", str(project / "root"), "--json")
    assert none.exit_code == 1 and json.loads(none.stdout) == []
    path.write_bytes(b"".join(lines))
    assert len(json.loads(output("ls", "--file", "moved.py", "--root", project / "root", "--json"))) == 1


@settings(max_examples=examples(60))
@given(st.text("ab\n", max_size=40), st.text("ab\n", max_size=40))
def test_line_changes_lead_from_one_text_to_the_other(before: str, after: str) -> None:
    lines, wanted = list(line_numbers(before)), list(line_numbers(after))
    for change in line_changes(lines, wanted):
        added = line_numbers("")
        added.frombytes(change.added)
        lines[change.start : change.start + change.removed] = added
    assert lines == wanted
    assert not differing_ranges(wanted, wanted)


def test_blame_of_generated_sessions_is_that_of_a_model(tmp_path: Path) -> None:
    """Edits and changes by hand at random: each line comes from the last edit that wrote it."""
    chance = random.Random(7)
    file = tmp_path / "f.txt"
    text: list[tuple[str, str | None]] = [(f"line {n}", None) for n in range(40)]
    folder = tmp_path / "root" / "projects" / "p"
    folder.mkdir(parents=True)
    for number in range(30):
        place = chance.randrange(len(text))
        if chance.random() < 0.3:
            text[place : place + 1] = [(f"by hand {number} {n}", None) for n in range(chance.randrange(3))]
            continue
        id = f"{number:08}-0000-4000-8000-000000000000"
        before = "".join(f"{line}\n" for line, _ in text)
        old = text[place][0]
        new = [f"edit {number} {n}" for n in range(chance.randrange(1, 4))]
        text[place : place + 1] = [(line, id) for line in new]
        data = {"filePath": str(file), "oldString": old, "newString": "\n".join(new), "originalFile": before}
        stamp = f"2026-11-01T10:{number:02}:00.000Z"
        common = {"sessionId": id, "timestamp": stamp, "cwd": str(tmp_path), "version": "2.1.300"}
        use = {"type": "tool_use", "id": f"t{number}", "name": "Edit", "input": {"file_path": str(file)}}
        records = [
            {"type": "user", "uuid": "a", "message": {"role": "user", "content": f"prompt {number}"}},
            {"type": "assistant", "uuid": "b", "parentUuid": "a", "message": {"role": "assistant", "content": [use]}},
            {
                "type": "user",
                "uuid": "c",
                "parentUuid": "b",
                "message": {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": f"t{number}", "content": "ok"}],
                },
                "toolUseResult": data,
            },
        ]
        (folder / f"{id}.jsonl").write_text("".join(json.dumps({**common, **record}) + "\n" for record in records))
    file.write_text("".join(f"{line}\n" for line, _ in text))
    lines = reread.blame(file, root=tmp_path / "root")
    assert [(line.text, line.session) for line in lines] == text
    assert all(line.prompt == f"prompt {int((line.session or '0')[:8])}" for line in lines if line.session)
    shutil.rmtree(folder)
    assert LineBlame(lambda _: [], "x").of(line_numbers("a\nb\n")) == [None, None]


def test_files_says_in_which_turns_others_changed(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in recorded("rewind").read_text().splitlines()]
    for row in [row for row in rows if row["type"] == "file-history-snapshot"][-1:]:
        row["snapshot"]["hasUntrackedChanges"] = True
    path = tmp_path / recorded("rewind").name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (turn,) = reread.open(path).unchecked_turns
    assert reread.open(path).turns[turn - 1].prompt and reread.open(recorded("rewind")).unchecked_turns == []
    said = f"in turn {turn}, some changed that Claude Code made no copies of"
    assert said in run("files", str(path)).stderr and said not in run("files", str(recorded("rewind"))).stderr
    assert said not in run("files", f"{path}:1").stderr
