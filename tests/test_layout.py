"""Finding sessions and the files that belong to them; session arguments and times."""

import io
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import reread
from reread.base.times import parse_time
from reread.catalog.resolve import resolve_session
from reread.disk import layout
from reread.disk.agent_files import AgentFolders, agent_files, first_envelope
from reread.disk.projects import is_within
from reread.disk.sources import file_fingerprint
from reread.disk.spilled import tool_result_file

ID = "aaaaaaaa-0000-4000-8000-00000000000"


def record(**more: Any) -> dict[str, Any]:
    return {
        "type": "user",
        "uuid": "u1",
        "parentUuid": None,
        "sessionId": ID + "1",
        "cwd": "/home/sam/proj",
        "gitBranch": "main",
        "version": "2.1.325",
        "timestamp": "2026-11-14T10:00:00.000Z",
        "message": {"role": "user", "content": "First question"},
        **more,
    }


def write(path: Path, *records: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return tmp_path


def ids(**options: Any) -> list[str]:
    return [Path(header.path).stem for header in reread.sessions(**options)]


def test_every_folder_of_the_client_is_searched(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(home / ".claude/projects/-p/one.jsonl", record())
    write(home / ".claude/conversations/_home_p/2025-01-29.jsonl", record(type="human", timestamp=1738160130123))
    write(home / ".config/claude/projects/-p/two.jsonl", record())
    assert set(ids()) == {"one", "two", "2025-01-29"}
    write(home / "a/projects/-p/three.jsonl", record())
    write(home / "b/projects/-p/four.jsonl", record())
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", f"{home}/a, {home}/b")
    assert set(ids()) == {"three", "four"}


def test_a_root_is_a_configuration_folder_or_a_projects_folder_and_nothing_else_is_read(home: Path) -> None:
    write(home / "elsewhere/projects/-p/one.jsonl", record())
    write(home / "elsewhere/history.jsonl", {"display": "x"})
    write(home / "elsewhere/stray.jsonl", record())
    write(home / "elsewhere/projects/stray.jsonl", record())
    write(home / ".claude/projects/-p/mine.jsonl", record())
    assert ids(root=home / "elsewhere") == ["one"]
    assert ids(root=home / "elsewhere/projects") == ["one"]
    with pytest.raises(reread.NotFound, match="No folder"):
        ids(root=home / "nowhere")


def test_files_that_belong_to_a_session_are_not_sessions(home: Path) -> None:
    project = home / ".claude/projects/-p"
    write(project / "one.jsonl", record())
    write(project / "agent-12345678.jsonl", record(agentId="12345678", isSidechain=True))
    write(project / "one/subagents/agent-a1.jsonl", record(agentId="a1", isSidechain=True))
    write(project / "one/subagents/workflows/wf_1/journal.jsonl", {"type": "started"})
    write(project / "journal.jsonl", {"type": "started"})
    assert ids() == ["one"]


def test_a_header_is_read_from_both_ends_of_the_file(home: Path) -> None:
    filler = [record(uuid=f"f{n}", message={"role": "user", "content": "x" * 5000}) for n in range(60)]
    last = record(
        type="assistant",
        gitBranch="feat/x",
        timestamp="2026-11-14T11:00:00.000Z",
        message={"id": "m", "model": "claude-opus-5-5", "content": []},
    )
    title = {"type": "custom-title", "customTitle": "A good name", "sessionId": ID + "1"}
    path = write(home / ".claude/projects/-home-sam-proj/x.jsonl", record(), *filler, last, title)
    (header,) = reread.sessions()
    assert header.id == ID + "1"
    assert (header.title, header.project, header.project_guessed) == ("A good name", "/home/sam/proj", False)
    assert (header.git_branch, header.model, header.version) == ("feat/x", "claude-opus-5-5", "2.1.325")
    assert header.started == datetime(2026, 11, 14, 10, tzinfo=UTC)
    assert header.updated == datetime(2026, 11, 14, 11, tzinfo=UTC)
    assert header.size == path.stat().st_size


@pytest.mark.parametrize(
    ("records", "title"),
    [
        ([record()], "First question"),
        ([{"type": "summary", "summary": "Old title", "leafUuid": "x"}], "Old title"),
        ([record(isMeta=True), record(uuid="u2", message={"role": "user", "content": "Typed"})], "Typed"),
        ([record(message={"role": "user", "content": "<command-name>/cost</command-name>"})], "/cost"),
        ([record(), {"type": "ai-title", "aiTitle": "Named", "sessionId": "s"}], "Named"),
        ([], "(empty)"),
        ([{"type": "mode", "mode": "normal", "sessionId": "s"}], "(no prompt)"),
    ],
)
def test_the_best_available_title_is_used(home: Path, records: list[dict[str, Any]], title: str) -> None:
    write(home / ".claude/projects/-p/x.jsonl", *records)
    (header,) = reread.sessions()
    assert header.title == title


def test_a_project_without_cwd_is_marked_as_a_guess(home: Path) -> None:
    write(home / ".claude/projects/-home-sam-my-proj/x.jsonl", {"type": "summary", "summary": "s"})
    write(home / ".claude/conversations/_home_sam_api/2025.jsonl", {"type": "summary", "summary": "s"})
    guesses = {(header.project, header.project_guessed) for header in reread.sessions()}
    assert guesses == {("/home/sam/my/proj", True), ("/home/sam/api", True)}


def test_sessions_are_chosen_by_project_and_time(home: Path) -> None:
    write(home / ".claude/projects/-a/one.jsonl", record(cwd="/w/api"))
    write(home / ".claude/projects/-b/two.jsonl", record(cwd="/w/api/sub", timestamp="2026-11-01T00:00:00Z"))
    write(home / ".claude/projects/-c/three.jsonl", record(cwd="/w/apiary"))
    assert set(ids(project="/w/api")) == {"one", "two"}
    assert set(ids(since=datetime(2026, 11, 10, tzinfo=UTC))) == {"one", "three"}


def test_a_session_argument_is_a_path_an_id_a_prefix_or_latest(home: Path) -> None:
    one = write(home / f".claude/projects/-p/{ID}1.jsonl", record())
    two = write(home / f".claude/projects/-p/{ID}2.jsonl", record(timestamp="2026-11-15T00:00:00.000Z"))
    assert reread.open(one).path == one
    assert reread.open(str(one)).path == one
    assert reread.open(ID + "1").path == one
    assert reread.open("latest").path == two
    with pytest.raises(reread.Ambiguous) as caught:
        reread.open("aaaa")
    assert set(caught.value.candidates) == {str(one), str(two)} and ID + "2" in str(caught.value)
    with pytest.raises(reread.NotFound, match="reread ls"):
        reread.open("zzzz")


def test_bytes_and_binary_files_can_be_opened() -> None:
    data = json.dumps(record()).encode()
    assert reread.open(data).messages[0].text == "First question"
    assert reread.open(io.BytesIO(data)).messages[0].text == "First question"
    with pytest.raises(reread.Misuse, match="binary mode"):
        reread.open(io.StringIO("x"))
    with pytest.raises(reread.Misuse, match="pass a path"):
        reread.open(3)


def test_a_large_result_is_found_after_the_session_was_moved(home: Path) -> None:
    path = write(home / "moved/projects/-p/s.jsonl", record())
    spilled = path.with_suffix("") / "tool-results" / "b1.txt"
    spilled.parent.mkdir(parents=True)
    spilled.write_text("all of it")
    assert tool_result_file(path, "/somewhere/else/s/tool-results/b1.txt") == spilled
    assert tool_result_file(path, "C:\\Users\\x\\tool-results\\b1.txt") == spilled
    assert tool_result_file(path, "../../etc/passwd") is None
    assert tool_result_file(path, "..") is None


def test_only_the_sessions_own_agents_are_found_in_both_layouts(home: Path) -> None:
    project = home / ".claude/projects/-p"
    path = write(project / f"{ID}1.jsonl", record())
    side = {"isSidechain": True}
    write(project / "agent-aa.jsonl", record(agentId="aa", **side))
    write(project / "agent-bb.jsonl", record(agentId="bb", sessionId="other", **side))
    write(project / f"{ID}1/subagents/agent-cc.jsonl", record(agentId="cc", **side))
    write(project / f"{ID}1/subagents/workflows/wf_1/agent-dd.jsonl", record(agentId="dd", **side))
    assert set(reread.open(path).agents) == {"aa", "cc", "dd"}


def test_the_file_of_an_agent_is_read_again_only_when_it_has_changed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(home / ".claude/projects/-p/one.jsonl", record())
    agent = write(path.with_name("agent-aa.jsonl"), record(sessionId="one"))
    reads: list[Path] = []
    read = first_envelope
    monkeypatch.setattr("reread.disk.agent_files.first_envelope", lambda path: reads.append(path) or read(path))
    assert [*agent_files(path, ["one"])] == [*agent_files(path, ["one", "two"])] == ["aa"]
    assert reads == [agent]
    write(agent, record(sessionId="three"))
    assert agent_files(path, ["one"]) == {}


def test_for_many_sessions_a_folder_is_listed_once(home: Path) -> None:
    one, two = (write(home / f".claude/projects/-p/{name}.jsonl", record()) for name in ("one", "two"))
    for agent, session in (("aa", "one"), ("bb", "two"), ("cc", "one")):
        write(one.with_name(f"agent-{agent}.jsonl"), record(sessionId=session))
    folders = AgentFolders()
    assert set(agent_files(one, ["one"], folders)) == {"aa", "cc"}
    write(one.with_name("agent-dd.jsonl"), record(sessionId="two"))
    assert set(agent_files(two, ["two"], folders)) == {"bb"}
    assert set(agent_files(two, ["two"])) == {"bb", "dd"}


def test_an_agents_file_may_start_with_records_without_a_session(home: Path) -> None:
    path = write(home / ".claude/projects/-p/one.jsonl", record())
    summary = {"type": "summary", "summary": "s", "leafUuid": "x"}
    write(path.with_name("agent-aa.jsonl"), summary, summary, record(sessionId="one"))
    assert [*agent_files(path, ["one"])] == ["aa"]


def test_the_agents_of_an_agent_are_found_at_any_depth(home: Path) -> None:
    folder = home / ".claude/projects/-p/one/subagents"
    parents = {"aa": None, "bb": "aa", "cc": "bb", "dd": None}
    for agent, parent in parents.items():
        path = write(folder / f"agent-{agent}.jsonl", record(agentId=agent))
        path.with_suffix(".meta.json").write_text(json.dumps({"parentAgentId": parent}))
    assert set(agent_files(folder / "agent-aa.jsonl", [])) == {"bb", "cc"}


@pytest.mark.parametrize("id", ["*", "o*", "../-p/one", "", "[o]ne"])
def test_a_session_id_is_not_a_pattern(home: Path, id: str) -> None:
    path = write(home / ".claude/projects/-p/one.jsonl", record())
    assert layout.find_transcript("one") == path
    assert layout.find_transcript(id) is None


def test_a_session_in_the_middle_of_a_file_is_found_by_its_id(home: Path) -> None:
    ids = [f"{n}1111111-0000-4000-8000-000000000000" for n in range(4)]
    path = write(home / ".claude/projects/-p/all.jsonl", *(record(sessionId=id) for id in ids[:3]))
    quoting = record(sessionId="b", cwd=f'{{"sessionId":"{ids[1]}"}}')
    write(home / ".claude/projects/-p/quotes.jsonl", record(sessionId="q"), quoting, record(sessionId="r"))
    assert resolve_session(ids[1]) == path
    assert resolve_session(ids[1][:4]) == path
    ends = record(sessionId="b")
    back = write(home / ".claude/projects/-p/back.jsonl", ends, record(sessionId=ids[3]), ends)
    assert resolve_session(ids[3]) == back
    with pytest.raises(reread.NotFound):
        resolve_session(ids[3][:4])  # at its ends the file shows only one session


def test_a_fingerprint_changes_with_every_write(tmp_path: Path) -> None:
    path = tmp_path / "a"
    assert file_fingerprint(path) is None
    path.write_bytes(b"one")
    before = file_fingerprint(path)
    assert file_fingerprint(path) == before
    os.utime(path, ns=(1, 1))
    assert file_fingerprint(path) != before


def test_a_broken_link_is_skipped(home: Path) -> None:
    write(home / ".claude/projects/-p/one.jsonl", record())
    (home / ".claude/projects/-q").symlink_to(home / "nowhere")
    assert [path.stem for path in layout.session_files()] == ["one"]


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("7d", timedelta(days=7)),
        ("12h", timedelta(hours=12)),
        ("30m", timedelta(minutes=30)),
        ("2w", timedelta(14)),
    ],
)
def test_times_as_people_type_them(text: str, before: timedelta) -> None:
    now = datetime(2026, 11, 15, 9, 30, tzinfo=UTC).astimezone()
    assert parse_time(text, now=now) == now - before
    assert parse_time("today", now=now).hour == 0
    assert parse_time("yesterday", now=now) == parse_time("today", now=now) - timedelta(days=1)
    assert parse_time("2026-11-01", now=now).day == 1


@pytest.mark.parametrize("text", ["", "soon", "99999999999d", "2026-13-01"])
def test_an_invalid_time_is_refused_with_advice(text: str) -> None:
    with pytest.raises(reread.Misuse, match="Invalid time"):
        parse_time(text)


@pytest.mark.parametrize(
    ("project", "folders", "within"),
    [
        ("/home/sam/code", ["/home/sam/code"], True),
        ("/home/sam/code/", ["/home/sam"], True),
        ("/home/samantha", ["/home/sam"], False),
        ("C:\\code\\app", ["C:\\code"], True),
        ("/b", ["/a", "/b"], True),
        (None, ["/a"], False),
    ],
)
def test_is_within(project: str | None, folders: list[str], within: bool) -> None:
    assert is_within(project, folders) is within
