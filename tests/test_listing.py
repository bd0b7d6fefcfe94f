"""`reread ls`: filters, order, ids that can be used, and the width of the terminal."""

import json
import shutil
from pathlib import Path

import pytest
from batches import table
from command import run

from reread.base.paths import SAMPLES
from reread.base.times import parse_time
from reread.catalog.header import Header
from reread.catalog.headers import read_header, sessions
from reread.catalog.resolve import resolve_session
from reread.catalog.store import Store
from reread.render.listings import header_lines, short_ids


def listed(*words: str, root: Path = SAMPLES) -> list[str]:
    """Return the ids of the sessions that a listing has, in order."""
    done = run("ls", "--root", str(root), "--json", *words)
    assert done.returncode == 0, done.stderr
    return [header["id"][:8] for header in json.loads(done.stdout)]


def write(root: Path, name: str, *lines: object) -> Path:
    path = root / "projects" / "-w-app" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def prompt(session: str, text: str, cwd: str = "/w/app") -> dict[str, object]:
    return {
        "type": "user",
        "uuid": text,
        "sessionId": session,
        "cwd": cwd,
        "message": {"role": "user", "content": text},
    }


@table(
    ("words", "expected"),
    [
        ("--grep QUEUE", "d2a94e17"),
        ("--project harbor", "7a3d0c16 d2a94e17 8c1f0b52"),
        ("--project HARBOR --grep ceiling", "8c1f0b52"),
        ("--project code", "b90c6f28 7a3d0c16 d2a94e17 c3e81f6d 8c1f0b52 4e7d31aa 6a0f8d43 f27b5c90 1d9c4e83"),
        ("--until 2026-11-03", "6a0f8d43 f27b5c90 1d9c4e83"),
        ("--since 2026-11-04 --until 2026-11-09", "8c1f0b52 4e7d31aa"),
        ("--size -30k", "f27b5c90 1d9c4e83"),
        ("--size 30k-50k", "7a3d0c16 4e7d31aa 6a0f8d43"),
        ("--tool notebookedit", "6a0f8d43"),
        ("--tool n*edit --tool lsp", "b90c6f28 6a0f8d43"),
        ("--sort size -n 2", "d2a94e17 b90c6f28"),
        ("--sort title -n 2", "c3e81f6d d2a94e17"),
        ("--sort started -n 1", "b90c6f28"),
    ],
)
def test_filters_and_order(words: str, expected: str) -> None:
    assert listed(*words.split()) == expected.split()


def test_any_tool_leaves_out_sessions_without_calls(tmp_path: Path) -> None:
    write(tmp_path, "a", prompt("a", "hi"))
    shutil.copytree(SAMPLES / "projects", tmp_path / "projects", dirs_exist_ok=True)
    assert len(listed("--tool", "*", root=tmp_path)) == len(listed(root=tmp_path)) - 1


@pytest.mark.parametrize(
    ("lines", "expected"),
    [("1-5", "one three"), ("3", "three"), ("2-", "three six"), ("-1", "none one"), ("0", "none")],
)
def test_lines(lines: str, expected: str, tmp_path: Path) -> None:
    for name, count in (("none", 0), ("one", 1), ("three", 3), ("six", 6)):
        write(tmp_path, name, *[prompt(name, f"{name} {n}") for n in range(count)])
    assert set(listed("--lines", lines, root=tmp_path)) == set(expected.split())


@pytest.mark.parametrize("words", ["--lines five", "--lines 5-1", "--lines -", "--size 2M-1M", "-n 0"])
def test_an_impossible_filter_is_refused(words: str) -> None:
    done = run("--demo", "ls", *words.split())
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith("reread: ")


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("--tool bsh", "did you mean Bash?"),
        ("--project harbr", "No sessions of harbr; did you mean harbor?"),
        ("--grep zebra", "No matching sessions"),
    ],
)
def test_an_empty_list_says_what_may_be_meant(words: str, advice: str) -> None:
    done = run("--demo", "ls", *words.split())
    assert (done.returncode, done.stdout) == (1, "") and advice in done.stderr


def test_every_id_that_is_shown_opens_its_session(tmp_path: Path) -> None:
    for id in ("session_01AbCdEfGhJkMnPqRs", "session_01AbCdEfGhJkMnPqRt", "nightly-run", "nightly-run-2"):
        write(tmp_path, id, prompt(id, f"Title of {id}"))
    write(tmp_path, "renamed", prompt("5f0c1d2e-0000-4000-8000-000000000001", "Title of renamed"))
    second = "5f0c1d2e-0000-4000-8000-00000000000f"
    write(tmp_path, second, prompt("5f0c1d2e-0000-4000-8000-000000000002", "Title of fork"), prompt(second, "more"))
    done = run("ls", "--root", str(tmp_path), "--sort=updated")
    lines = done.stdout.splitlines()
    assert len(lines) == 6
    for line in lines:
        shown = run("show", line.split()[0], "--root", str(tmp_path))
        assert shown.stdout.splitlines()[0] == line[line.index("Title of") :], line


def test_ids_are_short_unless_another_begins_the_same() -> None:
    header = read_header(next(SAMPLES.glob("projects/*/d2a94e17*.jsonl")))
    others = ["d2a94e17-0000", "d2a94e17-00", "named", "a" * 40]
    made = [Header(id, f"/{id}.jsonl", "t", "/p", False, None, None, None, None, None, 0) for id in others]
    ids = short_ids([header, *made])
    assert ids[header.path] == header.id[:11]
    assert [ids[other.path] for other in made] == ["d2a94e17-0000", "d2a94e17-00", "named", "a" * 8]


@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize("width", [40, 60, 80])
@pytest.mark.parametrize("same", ["12345678-1234-4234-8234-1234567890", "a" * 50, "a" * 100], ids=len)
def test_ids_that_differ_late_are_whole_if_they_fit_and_never_break_the_lines(
    tmp_path: Path, same: str, width: int, flat: bool
) -> None:
    names = [f"{same}{n}{n}" for n in range(2)]
    for name in names:
        write(tmp_path, name, prompt(name, "A title that is longer than there is room for it beside such an id"))
    done = run("ls", "--root", str(tmp_path), *(["--sort=updated"] if flat else []), env={"COLUMNS": str(width)})
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= width
    shown = {line.split()[0] for line in lines[not flat :]}
    assert shown == {name[:-1] for name in names} or len(same) + 2 > width
    for id in shown if len(same) + 2 <= width else ():
        assert run("show", id, "--root", str(tmp_path)).returncode == 0


@table("width", [60, 80, 120, 200])
@table("flat", [True, False])
def test_a_listing_fits_the_terminal(width: int, flat: bool) -> None:
    words = ["--sort=updated"] if flat else []
    lines = run("--demo", "ls", *words, env={"COLUMNS": str(width)}).stdout.splitlines()
    assert lines and max(map(len, lines)) <= width
    assert ("sonnet-5" in "\n".join(lines)) == (width > 80)
    assert all("harbor" in line for line in lines if "d2a94e17" in line) == flat


def test_nothing_is_cut_in_a_pipe() -> None:
    assert "Write the changelog entry for 0.5.0 from the commits since v0.4.2." in run("--demo", "ls").stdout


def test_a_hostile_title_cannot_send_escape_codes() -> None:
    header = Header("\x1b[2J", "/x.jsonl", "\x1b]0;t\x07", "/\x1b[31m", False, "\x1b[1m", None, "\x1b", None, None, 0)
    for flat in (True, False):
        spans = [text for line in header_lines([header], ids=short_ids([header]), flat=flat) for _, text in line]
        assert not any(ord(character) < 32 for text in spans for character in text)


@pytest.mark.parametrize(
    ("word", "day"),
    [("tuesday", "2026-11-10"), ("tue", "2026-11-10"), ("Monday", "2026-11-09"), ("sunday", "2026-11-15")],
)
def test_a_weekday_is_the_last_one_before_today(word: str, day: str) -> None:
    monday = parse_time("2026-11-16T09:30")
    assert f"{parse_time(word, now=monday):%Y-%m-%d %H:%M}" == f"{day} 00:00"


def test_a_chorus_folder_above_the_working_directory_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(tmp_path / ".chorus").append("talk", b'{"type":"system","subtype":"init","session_id":"s"}')
    below = tmp_path / "src" / "app"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert [header["id"] for header in json.loads(run("ls", "--json").stdout)] == ["talk"]
    monkeypatch.chdir(tmp_path.parent)
    assert json.loads(run("ls", "--json").stdout) == []


def test_a_session_that_continues_another_does_not_lengthen_its_id(tmp_path: Path) -> None:
    """The file of the one names the other as well, and the file that is called so is the one that is found."""
    ids = [f"{letter * 8}-0000-4000-8000-00000000000{n}" for n, letter in enumerate("abc", 1)]
    folder = tmp_path / "projects" / "-w"
    folder.mkdir(parents=True)
    for id in ids:
        named = ids[1:] if id == ids[2] else [id]
        lines = [{"type": "user", "sessionId": one, "message": {"role": "user", "content": "go"}} for one in named]
        (folder / f"{id}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    other = folder.with_name("-x")
    other.mkdir()
    shutil.copy(folder / f"{ids[0]}.jsonl", other)  # the same session in two folders
    headers = list(sessions(root=tmp_path))
    short = short_ids(headers)
    assert {header.id: short[header.path] for header in headers} == {id: id[:8] for id in ids}
    assert [resolve_session(id[:8], root=tmp_path).stem for id in ids[1:]] == ids[1:]
