"""Sessions that the client rewrote after they were kept: every view of them has what was dropped, once."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from making import answer, jsonl, reply, result, told, use, user

import reread
from reread import cli
from reread.addons.mcp.answers import turns_answer
from reread.server.library import SessionLibrary

ID = "11111111-0000-4000-8000-000000000001"
USAGE = {"input_tokens": 100, "output_tokens": 10}


def turn(number: int, path: str) -> list[dict[str, Any]]:
    """A prompt, a file that is written, and an answer."""
    created = {"type": "create", "filePath": path, "content": f"line {number}\n", "structuredPatch": []}
    call = use(f"toolu_{number}", "Write", file_path=path, content=f"line {number}\n")
    return [
        user(f"ask okapi{number}"),
        reply(call, id=f"msg_{number}a", model="claude-sonnet-4-5", usage=USAGE),
        answer(result(f"toolu_{number}", "done"), toolUseResult=created),
        reply(f"say zebra{number}", id=f"msg_{number}b", model="claude-sonnet-4-5", usage=USAGE),
    ]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session of two turns that was kept, of which the file has only the second."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("REREAD_HOME", str(tmp_path / "store"))
    path = tmp_path / "claude" / "projects" / "-w" / f"{ID}.jsonl"
    path.parent.mkdir(parents=True)
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for number, file in enumerate(files, 1):
        file.write_text(f"line {number}\n")
    turns = (line for number, file in enumerate(files, 1) for line in turn(number, str(file)))
    lines = [line | {"sessionId": ID, "cwd": str(tmp_path)} for line in told(*turns)]
    path.write_bytes(jsonl(*lines))
    reread.keep()
    lines[4]["parentUuid"] = None
    path.write_bytes(jsonl(*lines[4:]))
    reread.keep()
    return path


def output(*words: str) -> str:
    done = CliRunner().invoke(cli.reread, words)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_an_exported_file_has_all_records_once(path: Path) -> None:
    data = reread.export(ID, "jsonl")
    said = [json.loads(line) for line in data.splitlines()]
    assert len({line["uuid"] for line in said}) == len(said) == 8
    assert path.read_bytes() in data
    assert reread.open(data).messages[0].text == "ask okapi1"


def test_its_files_and_lines_are_known(path: Path, tmp_path: Path) -> None:
    files = [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
    assert [file.path for file in reread.files(ID)] == files
    for number, name in enumerate(files, 1):
        (line,) = reread.blame(name)
        assert (line.text, line.turn) == (f"line {number}", number)


def test_its_sums_have_each_response_once(path: Path) -> None:
    assert reread.usage().totals.responses == 4
    (row,) = json.loads(output("stats", "--by", "session", "--json"))["rows"]
    assert (row["turns"], row["calls"]) == (2, 2)


def test_it_is_answered_whole(path: Path) -> None:
    assert all(word in turns_answer(ID) for word in ("okapi1", "zebra2"))


def test_the_reader_lists_it_once_and_opens_it_whole(path: Path) -> None:
    library = SessionLibrary(count=False)
    (row,) = library.listing().sessions
    session = reread.open(library.find(row.key))
    assert [turn.prompt.text for turn in session.turns if turn.prompt] == ["ask okapi1", "ask okapi2"]
    assert [message.dropped for message in session.messages] == [True] * 3 + [False] * 3
    library.close()
