"""Sessions of which only the prompts are left, in `history.jsonl`: listed, found and shown as what they are."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from command import cli as run
from indexes import open_reader
from making import jsonl, reply, user

import reread
from reread.dataset import whole_pass
from reread.disk import gone_sessions, layout
from reread.disk.file_set import find_files
from reread.errors import Misuse, NotFound, Unreadable
from reread.handover.resuming import resumption
from reread.records import dialects
from reread.server.library import SessionLibrary
from reread.session.pass_process import PassJob
from reread.storage import prompt_history

HERE, GONE = "44444444-1111-4111-8111-111111111111", "55555555-1111-4111-8111-111111111111"
HASH = "0123456789abcdef"


def prompt(text: str, session: str | None = GONE, **more: Any) -> dict[str, Any]:
    named = {"sessionId": session} if session is not None else {}
    return {"display": text, "pastedContents": {}, "timestamp": 1790812860000, "project": "/w/zoo", **named, **more}


LINES = [
    prompt("a prompt that is in its transcript", HERE),
    prompt("/model sonnet"),
    prompt("find the okapi", pastedContents={"1": {"id": 1, "type": "text", "content": "a pasted quagga"}}),
    prompt("an old prompt about tapirs", None),
    prompt("and again the okapi", timestamp=1790812960000),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "claude"
    (folder / "projects" / "-w").mkdir(parents=True)
    (folder / "projects" / "-w" / f"{HERE}.jsonl").write_bytes(jsonl(user("a prompt that is in its transcript")))
    lines = [json.dumps(line).encode() for line in LINES]
    (folder / "history.jsonl").write_bytes(b"\n".join([*lines[:3], b'{"display": "torn', *lines[3:]]) + b"\n")
    return folder


def gone_path(root: Path, name: str = GONE) -> Path:
    return root / "history.jsonl" / f"{name}.jsonl"


def append(root: Path, line: dict[str, Any]) -> None:
    with (root / "history.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


def names(root: Path) -> list[str]:
    return [Path(path).stem for path in gone_sessions.prompt_paths([root], ())]


def test_they_are_listed_when_asked_for(root: Path) -> None:
    assert [header.id for header in reread.sessions(root=root)] == [HERE]
    found = {header.id: header for header in reread.sessions(root=root, prompts=True)}
    assert found.keys() == {HERE, GONE, "prompts-w-zoo"}
    assert (found[GONE].title, found[GONE].project, found[GONE].prompts_only) == ("find the okapi", "/w/zoo", True)
    assert not found[HERE].prompts_only
    assert str(found[GONE].updated) == "2026-10-01 00:02:40+00:00"
    listed = run("ls", "--only", "prompts", "--root", str(root)).stdout
    assert "find the okapi" in listed
    assert "prompts only" in listed
    assert HERE[:8] not in listed
    assert GONE[:8] not in run("ls", "--root", str(root)).stdout


def test_a_folder_of_projects_has_the_history_beside_it(root: Path) -> None:
    listed = [
        {header.id for header in reread.sessions(root=folder, prompts=True)} for folder in (root, root / "projects")
    ]
    assert listed[0] == listed[1] >= {HERE, GONE}
    assert GONE in {Path(hit.path).stem for hit in reread.search("okapi", root=root / "projects")}
    assert len(list(reread.search('"that is in its transcript"', root=root / "projects"))) == 1


def test_the_bytes_are_the_lines_of_the_history(root: Path) -> None:
    session = reread.open(gone_path(root))
    whole = (root / "history.jsonl").read_bytes().splitlines(keepends=True)
    assert b"".join(line.raw for line in session.lines) == b"".join(line for line in whole if GONE.encode() in line)
    prompts = [turn.prompt.text for turn in session.turns if turn.prompt]
    assert prompts == ["/model sonnet", "find the okapi", "and again the okapi"]
    assert (session.dialects, session.project) == (["history"], "/w/zoo")
    assert reread.export(gone_path(root), "jsonl") == b"".join(line for line in whole if GONE.encode() in line)


def test_they_are_found_and_shown(root: Path) -> None:
    for query, kind in (("okapi", "prompt"), ("quagga", "notice")):
        hit = next(reread.search(query, root=root))
        assert (hit.session, hit.kind, hit.turn is not None) == (GONE, kind, True)
    assert reread.search("tapirs", root=root).total == 1
    assert reread.search('"in its transcript"', root=root).total == 1
    done = run("show", GONE[:8], "--root", str(root))
    assert "find the okapi" in done.stdout
    assert "these are its prompts" in done.stderr
    assert "quagga" in reread.export(GONE, "markdown", full=True, root=root).decode()
    assert reread.export(GONE, "html", root=root)


def test_a_pass_indexes_them(root: Path) -> None:
    whole_pass.make_pass(iter([PassJob(roots=[str(root)])]))
    reader = open_reader()
    assert reader is not None and str(gone_path(root)) in reader.cursors


def test_a_long_pasted_text_is_read_from_the_paste_cache(root: Path) -> None:
    (root / "paste-cache").mkdir()
    (root / "paste-cache" / f"{HASH}.txt").write_text("long words of a wombat\n" * 9)
    append(root, prompt("see", pastedContents={"2": {"id": 2, "type": "text", "contentHash": HASH}}))
    append(root, prompt("steal", pastedContents={"2": {"id": 2, "type": "text", "contentHash": "../../secret"}}))
    assert reread.export(gone_path(root), "markdown", full=True).decode().count("wombat") == 9
    (hit,) = reread.search("wombat", root=root)
    assert (hit.session, hit.turn) == (GONE, 4)


def test_what_else_was_pasted_is_shown(root: Path) -> None:
    dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    image = {"id": 3, "type": "image", "content": dot, "mediaType": "image/png", "filename": "gnu.png"}
    append(root, prompt("look", pastedContents={"3": image, "4": {"odd": "zebu"}}, strange="ibex"))
    append(root, prompt("no object", pastedContents=["a", "tuple", "of", "kudus"]))
    text = reread.export(gone_path(root), "markdown", full=True).decode()
    assert all(word in text for word in ("image/png, 1 × 1", "gnu.png", "zebu", "ibex", "kudus"))
    assert dot not in text
    assert all(reread.search(word, root=root).total == 1 for word in ("zebu", "ibex", "kudus"))


@pytest.mark.parametrize(
    ("typed", "is_command"),
    [("/compact keep the  plan\nand more", True), ("/usr/bin is full", False), ("/", False)],
)
def test_a_command_is_one(typed: str, is_command: bool) -> None:
    (message,) = reread.open(json.dumps(prompt(typed)).encode() + b"\n").messages
    assert (message.text, message.command is not None) == (typed, is_command)


def test_a_session_that_is_back_is_found_in_its_transcript(root: Path) -> None:
    assert reread.search("okapi", root=root).total == 2
    (root / "projects" / "-w" / f"{GONE}.jsonl").write_bytes(jsonl(user("find the okapi")))
    (hit,) = reread.search("okapi", root=root)
    assert hit.path.endswith(f"-w/{GONE}.jsonl")
    assert GONE not in [header.id for header in reread.sessions(root=root, prompts=True) if header.prompts_only]


def test_a_session_within_another_file_is_not_gone(root: Path) -> None:
    lines = [user("find the okapi", sessionId=GONE), reply("there", sessionId=GONE), user("on", sessionId=HERE)]
    path = root / "projects" / "-w" / f"{HERE}.jsonl"
    path.write_bytes(jsonl(*lines))
    assert [header.id for header in reread.sessions(root=root, prompts=True) if header.prompts_only] == [
        "prompts-w-zoo"
    ]
    assert reread.open(GONE, root=root).path == path


def test_a_kept_session_is_not_gone(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = root / "projects" / "-w" / f"{GONE}.jsonl"
    path.write_bytes(jsonl(user("find the okapi", sessionId=GONE)))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(root))
    monkeypatch.setenv("REREAD_ARCHIVE", str(tmp_path / "kept"))
    reread.keep()
    path.unlink()
    found = {header.id: header for header in reread.sessions(prompts=True)}
    assert (found[GONE].gone, found[GONE].prompts_only) == (True, False)
    assert [hit.path.endswith("history.jsonl") for hit in reread.search("okapi")] == [False]


def test_no_sum_counts_them(root: Path) -> None:
    assert [path.stem for path in layout.session_files([root])] == [HERE]
    assert all("history" not in path for path in find_files([root]).states)
    assert GONE not in run("stats", "--by", "session", "--json", "--root", str(root)).stdout
    assert GONE not in run("usage", "--by", "session", "--json", "--root", str(root)).stdout


def test_what_they_used_is_not_known(root: Path) -> None:
    with pytest.raises(NotFound, match="what it used is not known"):
        reread.usage(GONE, root=root)
    assert json.loads(reread.export(gone_path(root), "json"))["usage"] is None
    sides = reread.diff(gone_path(root), HERE, root=root).sides or ()
    assert [(side.tokens, side.cost_usd) for side in sides] == [(None, None), (0, 0)]
    assert re.search("tokens +not known", run("diff", str(gone_path(root)), HERE, "--root", str(root)).stdout)
    with pytest.raises(Misuse, match="only its prompts are left"):
        resumption(gone_path(root))


def test_the_reader_lists_and_opens_them(root: Path) -> None:
    library = SessionLibrary([root], count=False)
    rows = {row.id: row for row in library.listing().sessions}
    assert [(id, row.prompts_only, row.figures) for id, row in sorted(rows.items())] == [
        (HERE, False, None),
        (GONE, True, None),
        ("prompts-w-zoo", True, None),
    ]
    assert library.find(rows[GONE].key).stem == GONE
    library.close()


def test_a_state_changes_with_its_own_prompts_only(root: Path) -> None:
    path = gone_path(root)
    before = prompt_history.prompt_status(path)
    append(root, prompt("another", HERE))
    assert prompt_history.prompt_status(path) == before
    append(root, prompt("one more okapi"))
    assert prompt_history.prompt_status(path) != before
    assert reread.search("okapi", root=root).total == 3


def test_a_rewritten_history_is_read_again(root: Path) -> None:
    assert reread.search("okapi", root=root).total == 2
    history = root / "history.jsonl"
    history.write_bytes(history.read_bytes().replace(b"okapi", b"*****"))
    assert reread.search("okapi", root=root).total == 0
    history.unlink()
    assert reread.search("tapirs", root=root).total == 0
    assert not names(root)


def test_only_what_was_appended_is_read_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forget() -> None:
        monkeypatch.setattr(prompt_history, "_read", type(prompt_history._read)())

    whole = names(root)
    read: list[bytes] = []
    add = prompt_history._add_line
    monkeypatch.setattr(prompt_history, "_add_line", lambda found, at, line: (read.append(line), add(found, at, line)))
    forget()
    assert (names(root), read) == (whole, [])
    append(root, prompt("a new one", "66666666"))
    forget()
    assert (names(root), len(read)) == ([*whole, "66666666"], 1)
    torn = json.dumps(prompt("torn", "77777777")).encode()
    with (root / "history.jsonl").open("ab") as file:
        file.write(torn)
    assert names(root)[-1] == "77777777"
    assert reread.open(gone_path(root, "77777777")).lines[0].raw == torn


@pytest.mark.parametrize("id", ["../../secret", "a/b", "", ".", "x" * 999, "ünïcode"])
def test_a_name_that_is_no_name_is_grouped_by_project(tmp_path: Path, id: str) -> None:
    (tmp_path / "history.jsonl").write_text(json.dumps(prompt("hello", id)) + "\n")
    assert names(tmp_path) == ["prompts-w-zoo"]


@pytest.mark.parametrize("time", [-1, 0, 1e300, 1790812860000.5])
def test_any_time_is_read(tmp_path: Path, time: float) -> None:
    (tmp_path / "history.jsonl").write_text(json.dumps(prompt("hello", timestamp=time)) + "\n")
    (header,) = reread.sessions(root=tmp_path, prompts=True)
    assert header.title == "hello"
    assert reread.search("hello", root=tmp_path).total == 1


def test_a_link_is_no_history(root: Path, tmp_path: Path) -> None:
    (root / "history.jsonl").rename(tmp_path / "elsewhere.jsonl")
    (root / "history.jsonl").symlink_to(tmp_path / "elsewhere.jsonl")
    assert not names(root)
    with pytest.raises(Unreadable):
        reread.open(gone_path(root))


def test_only_prompts_are_of_this_dialect() -> None:
    assert dialects.translate(prompt("x"))[0] == "history"
    for other in ({"display": "x"}, {"display": "x", "timestamp": True}, {"display": 1, "timestamp": 1}):
        assert dialects.translate(other)[0] != "history"
    assert dialects.translate({**prompt("x"), "type": "user"})[0] != "history"
