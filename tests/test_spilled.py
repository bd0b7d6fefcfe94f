"""Results that are too large for a transcript: every view has the whole text, from the session's own folder only."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from indexes import open_reader
from making import jsonl, reply, result, use, user

import reread
from reread.disk import spilled
from reread.disk.file_set import find_files
from reread.disk.spilled import spilled_files
from reread.index import index_files, update
from reread.index.document_reader import DocumentReader
from reread.index.documents import spilled_place
from reread.index.find import find
from reread.index.hits import Hit
from reread.index.store import DocumentLocation, file_id
from reread.render.json import call_value
from reread.tools.spilled import spilled_names

ID = "44444444-1111-4111-8111-111111111111"
WRITTEN = f"/home/sam/.claude/projects/-p/{ID}/tool-results/b1.txt"
SAVED = f"Output too large (39 kB). Full output saved to: {WRITTEN}\n\nPreview (first 2KB):\nabc"
FRAME = f"<persisted-output>\n{SAVED}\n</persisted-output>"
DATA = {"stdout": "abc", "stderr": "", "interrupted": False, "persistedOutputPath": WRITTEN, "persistedOutputSize": 9}
WHOLE = "abc\n" * 3000 + "linker zebra failed\n"


def make(folder: Path, content: Any = FRAME, data: Any = DATA, text: str | bytes = WHOLE, name: str = "b1.txt") -> Path:
    path = folder / "projects" / "-p" / f"{ID}.jsonl"
    beside = path.with_suffix("") / "tool-results"
    beside.mkdir(parents=True)
    answer = user([result("toolu_1", content)], **({"toolUseResult": data} if data is not None else {}))
    path.write_bytes(jsonl(user("run it"), reply(use("toolu_1", "Bash", command="make")), answer))
    (beside / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def search(path: Path, query: str, **options: Any) -> list[Hit]:
    return list(find(query, files=find_files(None, [path]), **options))


@pytest.mark.parametrize("data", [DATA, None, "text"])
def test_every_view_has_the_whole_text(tmp_path: Path, data: Any) -> None:
    path = make(tmp_path, data=data)
    session = reread.open(path)
    (call,) = session.calls
    assert call.spilled == WHOLE
    assert call.result is not None and call.result.content == FRAME, "the record stays as written"
    assert "linker zebra" in reread.export(session, "markdown", full=True).decode()
    assert "linker zebra" in str(call_value(call).nodes)
    (hit,) = search(path, "linker zebra")
    assert (hit.kind, hit.call, hit.line, hit.match) == ("result", "toolu_1", 3, "linker")
    assert [found.line for found in search(path, "ze[b]ra", regex=True)] == [3]


def test_a_kept_session_has_it_too(tmp_path: Path) -> None:
    path = make(tmp_path / "claude")
    reread.keep(tmp_path / "claude", to=tmp_path / "kept")
    shutil.rmtree(path.parent.parent)
    kept = tmp_path / "kept" / "projects" / "-p" / path.name
    assert reread.open(kept).calls[0].spilled == WHOLE
    assert len(search(kept, "zebra")) == 1
    assert [file.name for file in spilled_files(kept)] == ["b1.txt"]


@pytest.mark.parametrize(
    "text",
    [
        "[Output has been saved to {}.]",
        "Error: result (99,999 characters) exceeds the limit. Output has been saved to {}.\nFormat: Plain text",
        "[Content (text/plain) also saved to C:\\Users\\sam\\.claude\\projects\\-p\\x\\tool-results\\b1.txt]",
    ],
)
def test_the_name_is_read_from_any_text_that_says_where_it_was_saved(tmp_path: Path, text: str) -> None:
    path = make(tmp_path, text.replace("{}", WRITTEN), None)
    assert reread.open(path).calls[0].spilled == WHOLE


def test_answers_of_servers_are_shown_as_their_texts(tmp_path: Path) -> None:
    blocks = json.dumps([{"type": "text", "text": "one\ntwo"}, {"type": "text", "text": "three"}])
    path = make(tmp_path, f"Output has been saved to {WRITTEN}", None, blocks)
    assert reread.open(path).calls[0].spilled == "one\ntwo\nthree"
    assert len(search(path, "two")) == 1


def test_a_listing_of_such_files_is_no_such_result() -> None:
    assert spilled_names("tool-results/b1.txt\ntool-results/b2.txt", None) == []
    assert spilled_names("", {"filenames": [WRITTEN]}) == []


@pytest.mark.parametrize("name", ["/etc/passwd", "../../secret.txt", "tool-results/../../secret.txt", "..", "", "."])
def test_no_path_of_a_transcript_leads_out_of_the_session(tmp_path: Path, name: str) -> None:
    path = make(tmp_path, f"Full output saved to: {name}", {"stdout": "", "persistedOutputPath": name})
    (path.parent / "secret.txt").write_text("secret")
    (path.parent.parent / "secret.txt").write_text("secret")
    assert "secret" not in (reread.open(path).calls[0].spilled or "")
    assert spilled.spilled_text(path, name) is None


def test_a_link_out_of_the_session_is_not_followed(tmp_path: Path) -> None:
    path = make(tmp_path)
    outside = tmp_path / "secret.txt"
    outside.write_text("secret zebra")
    file = path.with_suffix("") / "tool-results" / "b1.txt"
    file.unlink()
    file.symlink_to(outside)
    assert reread.open(path).calls[0].spilled is None
    assert search(path, "zebra") == []


def test_bytes_are_no_text(tmp_path: Path) -> None:
    path = make(tmp_path, text=b"%PDF\0zebra")
    assert reread.open(path).calls[0].spilled is None
    assert search(path, "zebra") == []


def test_a_file_that_is_gone_leaves_the_preview(tmp_path: Path) -> None:
    path = make(tmp_path)
    shutil.rmtree(path.with_suffix(""))
    assert reread.open(path).calls[0].spilled is None
    assert "abc" in reread.export(path, "markdown", full=True).decode()


@pytest.mark.parametrize("least", [0, 1 << 30])
def test_a_file_that_arrives_later_is_found(tmp_path: Path, least: int) -> None:
    path = make(tmp_path)
    later = path.with_suffix("") / "tool-results" / "b1.txt"
    later.rename(tmp_path / "b1.txt")

    def found(query: str) -> int:
        most = least if indexed else 0
        return len(search(path, query, refresh=lambda files, least=most: update.refresh(files, least=least)))

    indexed = False
    assert found("zebra") == 0
    indexed = True
    assert found("zebra") == 0
    (tmp_path / "b1.txt").rename(later)
    assert (found("zebra"), found("make")) == (1, 1)
    assert found("zebra") == 1
    with path.open("ab") as file:
        file.write(jsonl(user("and a giraffe")))
    assert (found("giraffe"), found("zebra"), found("make")) == (1, 1, 1)


def test_a_file_that_is_missing_costs_no_new_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make(tmp_path)
    shutil.rmtree(path.with_suffix(""))
    assert not search(path, "zebra", refresh=update.refresh)
    monkeypatch.setattr(index_files, "index_file", lambda *_: pytest.fail("indexed again"))
    assert not search(path, "zebra", refresh=update.refresh)


def test_large_files_are_searched_in_pieces_and_shown_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spilled, "PIECE", 1000)
    monkeypatch.setattr(spilled, "MOST_SHOWN", 5000)
    monkeypatch.setattr(spilled, "MOST_SEARCHED", 9000)
    text = "".join(f"line {n} of many, word{n}\n" for n in range(1000))
    path = make(tmp_path, text=text)
    shown = reread.open(path).calls[0].spilled or ""
    assert len(shown) < 6000 and shown.endswith("more in b1.txt")
    for n in (0, 1, 50, 123, 300):
        (hit,) = search(path, f"word{n}")
        assert hit.match == f"word{n}"
    assert search(path, "word999", strict=True) == []


def test_a_shared_session_has_it_without_secrets(tmp_path: Path) -> None:
    secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    path = make(tmp_path, text=f"{WHOLE}token {secret}\n")
    shared = reread.redact(path).export("markdown", full=True).decode()
    assert "linker zebra" in shared and secret not in shared


def test_an_agent_has_it_in_the_folder_of_its_session(tmp_path: Path) -> None:
    path = make(tmp_path)
    agent = path.with_suffix("") / "subagents" / "workflows" / "w1" / "agent-a1.jsonl"
    agent.parent.mkdir(parents=True)
    shutil.copy(path, agent)
    assert reread.open(agent).calls[0].spilled == WHOLE
    assert len(search(agent, "zebra")) == 1


@pytest.mark.parametrize(("number", "file", "found"), [(0, 0, 1), (1, 0, 0), (0, 1, 0)])
def test_a_piece_that_its_record_no_longer_names_is_left_out(
    tmp_path: Path, number: int, file: int, found: int
) -> None:
    path = make(tmp_path)
    search(path, "linker")
    reader = open_reader()
    assert reader is not None
    lines = path.read_bytes().splitlines(keepends=True)
    offset, place = len(lines[0] + lines[1]), spilled_place(number, file, 0)
    where = DocumentLocation(file_id(str(path)), offset, len(lines[2]), 3, place, 0, 0)
    assert len(list(DocumentReader(reader).documents([where]))) == found
