"""Following: what comes live equals what loading gives."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from limits import PATIENCE, run_apart

import reread
from reread.render.json import session_json
from reread.session.follow import AllFollower
from reread.session.follower import Follower, ticks
from reread.session.loader import Loader


class Watcher:
    """Follows in a thread and keeps what it heard."""

    def __init__(self, source: Any) -> None:
        self.changes: list[reread.value_types.Change] = []
        self._stop = threading.Event()
        stream = reread.follow(source, stop=self._stop, heartbeat=100)  # what is written from here on is told
        self._thread = threading.Thread(target=lambda: self.changes.extend(stream))
        self._thread.start()

    def wait(self, holds: Callable[[list[reread.value_types.Change]], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not holds(self.changes):
            assert time.monotonic() < end, [(c.kind, c.line) for c in self.changes]
            time.sleep(0.005)

    def heard(self, *lines: int) -> None:
        self.wait(lambda changes: {c.line for c in changes if c.kind == "record"} >= set(lines))

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


@pytest.fixture
def watch() -> Iterator[Callable[[Any], Watcher]]:
    watchers: list[Watcher] = []

    def start(source: Any) -> Watcher:
        watchers.append(Watcher(source))
        return watchers[-1]

    yield start
    for watcher in watchers:
        watcher.stop()


def line(number: int, **more: Any) -> bytes:
    record = {
        "type": "user" if number % 2 else "assistant",
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number > 1 else None,
        "sessionId": "s",
        "timestamp": f"2026-11-15T00:00:{number:02}.000Z",
        "message": {
            "role": "user",
            "content": f"word {number}",
            **({} if number % 2 else {"id": f"m{number}"}),
        },
        **more,
    }
    return json.dumps(record).encode() + b"\n"


def dump(session: reread.Session) -> bytes:
    return b"".join(session_json(session))


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_appended_records_come_one_by_one_and_the_session_keeps_up(tmp_path: Path, watch: Any) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(line(1))
    session = reread.open(path)
    assert len(session.messages) == 1
    watcher = watch(session)
    append(path, line(2))
    watcher.heard(2)
    append(path, line(3) + line(4))
    watcher.heard(2, 3, 4)
    watcher.stop()
    assert [c.line for c in watcher.changes] == [2, 3, 4]
    assert [c.message.text for c in watcher.changes] == ["word 2", "word 3", "word 4"]
    assert dump(session) == dump(reread.open(path))


def test_half_a_line_is_not_told_until_it_is_whole(tmp_path: Path, watch: Any) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(line(1))
    watcher = watch(path)
    append(path, line(2)[:30])
    time.sleep(0.3)
    assert watcher.changes == []
    append(path, line(2)[30:])
    watcher.heard(2)


def test_the_rest_of_a_torn_line_is_never_a_line_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(line(1) + line(2)[:30])
    session, can_continue = reread.open(path), Loader.can_continue
    assert session.records[-1].type == "malformed"
    follower = Follower(session)
    assert not list(follower.finish())

    def then_written(loader: Loader) -> bool:
        able = can_continue(loader)
        append(path, line(2)[30:])
        return able

    with monkeypatch.context() as patch:
        patch.setattr(Loader, "can_continue", then_written)
        assert not list(follower.changes(set()))
    told = [change.message for change in follower.changes(set())]
    assert [message.text for message in told if message is not None] == ["word 2"]


def test_a_tail_that_was_torn_when_the_session_was_opened_is_told_when_whole(tmp_path: Path, watch: Any) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(line(1) + line(2)[:30])
    session = reread.open(path)
    assert session.records[-1].type == "malformed"
    watcher = watch(session)
    append(path, line(2)[30:])
    watcher.wait(lambda changes: any(c.message and c.message.text == "word 2" for c in changes))
    watcher.stop()
    assert dump(session) == dump(reread.open(path))


def test_a_rewritten_tail_is_told_with_the_line_it_begins_at(tmp_path: Path, watch: Any) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(line(1) + line(2) + line(3))
    session = reread.open(path)
    watcher = watch(session)
    os.truncate(path, len(line(1)))
    append(path, line(2, extra="another") + line(3))
    watcher.wait(lambda changes: any(c.kind == "rewritten" for c in changes))
    watcher.heard(2, 3)
    watcher.stop()
    assert next(c.line for c in watcher.changes if c.kind == "rewritten") == 2
    assert dump(session) == dump(reread.open(path))


def test_a_tail_that_is_rewritten_while_it_is_read_is_noticed_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(line(1) + line(2) + line(3))
    session = reread.open(path)
    follower = Follower(session)
    can_continue = Loader.can_continue

    def rewrite_after_the_look(loader: Loader) -> bool:
        found = can_continue(loader)
        path.write_bytes(line(1) + line(2, extra="another") + line(3))
        return found

    with monkeypatch.context() as patch:
        patch.setattr(Loader, "can_continue", rewrite_after_the_look)
        _ = [*follower.changes(set())]
    told = [(change.kind, change.line) for change in follower.changes(set())]
    assert told[0] == ("rewritten", 2)
    assert dump(session) == dump(reread.open(path))


def test_a_replaced_file_is_read_anew(tmp_path: Path, watch: Any) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(line(1))
    session = reread.open(path)
    watcher = watch(session)
    (tmp_path / "new").write_bytes(line(1) + line(2) + line(3))
    (tmp_path / "new").replace(path)
    watcher.heard(2, 3)
    watcher.stop()
    assert dump(session) == dump(reread.open(path))


def test_a_file_that_appears_later_is_waited_for(tmp_path: Path, watch: Any) -> None:
    path = tmp_path / "later" / "s.jsonl"
    watcher = watch(path)
    path.parent.mkdir()
    path.write_bytes(line(1))
    watcher.heard(1)
    append(path, line(2))
    watcher.heard(1, 2)


def test_a_new_agent_file_is_found_and_followed(tmp_path: Path, watch: Any) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(line(1))
    session = reread.open(path)
    watcher = watch(session)
    agent = tmp_path / "s" / "subagents" / "agent-abc.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_bytes(line(1, isSidechain=True, agentId="abc"))
    watcher.wait(lambda changes: any(c.agent and c.agent.id == "abc" for c in changes))
    append(agent, line(2, isSidechain=True, agentId="abc"))
    watcher.wait(lambda changes: sum(bool(c.agent) for c in changes) == 2)
    watcher.stop()
    assert [m.text for m in session.agents["abc"].messages] == ["word 1", "word 2"]


def watches() -> int:
    """How many folders this process has the system watch."""
    infos = Path("/proc/self/fdinfo").iterdir()
    return sum(info.read_text().count("inotify wd:") for info in infos if info.exists())


@pytest.mark.skipif(not Path("/proc/self/fdinfo").exists(), reason="only Linux tells what is watched")
def test_only_the_folders_of_the_session_are_watched(tmp_path: Path, watch: Any) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(line(1))
    (tmp_path / "s" / "subagents").mkdir(parents=True)
    for number in range(200):
        (tmp_path / f"other {number}" / "below").mkdir(parents=True)
        (tmp_path / "s" / f"other {number}").mkdir()
    before = watches()
    watcher = watch(path)
    watcher.wait(lambda _: watches() > before)
    append(path, line(2))
    watcher.heard(2)
    assert watches() - before == 3


@pytest.mark.parametrize("name", ["s.jsonl", "./s.jsonl", "below/../s.jsonl"])
def test_what_happens_is_reported_at_once_however_the_file_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "below").mkdir()
    Path(name).write_bytes(line(1))
    stop = threading.Event()
    reported = ticks(Path(name), stop, int(PATIENCE * 1000))

    def after(change: Callable[[], object]) -> set[str]:
        threading.Timer(0.2, change).start()
        return {os.path.realpath(path) for path in next(reported)}

    assert next(reported) == set()
    assert after(lambda: append(Path(name), line(2))) == {str(tmp_path / "s.jsonl")}
    assert after((tmp_path / "s").mkdir) == {str(tmp_path / "s")}
    assert next(reported) == set(), "the new folder is watched from here on"
    assert after((tmp_path / "s" / "subagents").mkdir) == {str(tmp_path / "s" / "subagents")}
    stop.set()


def agents_heard(changes: Iterator[reread.value_types.Change]) -> list[str]:
    return [change.agent.id for change in changes if change.agent]


@pytest.fixture
def follower(tmp_path: Path) -> Follower:
    (tmp_path / "s.jsonl").write_bytes(line(1))
    return Follower(reread.open(tmp_path / "s.jsonl"))


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    """The file of an agent, in its new folder."""
    (tmp_path / "s" / "subagents").mkdir(parents=True)
    return tmp_path / "s" / "subagents" / "agent-abc.jsonl"


def test_an_agent_is_found_where_only_its_new_folder_was_reported(follower: Follower, agent: Path) -> None:
    agent.write_bytes(line(1, isSidechain=True, agentId="abc"))
    assert agents_heard(follower.changes({agent.parents[1]})) == ["abc"]


def test_an_agent_is_found_that_came_before_its_new_folder_was_watched(follower: Follower, agent: Path) -> None:
    assert agents_heard(follower.changes({agent.parents[1]})) == []
    agent.write_bytes(line(1, isSidechain=True, agentId="abc"))
    assert agents_heard(follower.changes(set())) == ["abc"]


def test_what_the_client_notes_of_an_agent_counts_also_where_it_comes_after_its_first_line(tmp_path: Path) -> None:
    use = {"type": "tool_use", "id": "toolu_a", "name": "Agent", "input": {"prompt": "Another prompt"}}
    path, agent = tmp_path / "s.jsonl", tmp_path / "s" / "subagents" / "agent-abc.jsonl"
    path.write_bytes(line(1) + line(2, message={"role": "assistant", "id": "m2", "content": [use]}))
    agent.parent.mkdir(parents=True)
    agent.write_bytes(line(1, isSidechain=True, agentId="abc"))
    session = reread.open(path)
    follower = Follower(session)
    assert session.agents["abc"].call is None
    noted = agent.with_suffix(".meta.json")
    noted.write_text(json.dumps({"toolUseId": "toolu_a"}))
    list(follower.changes({noted}))
    assert session.agents["abc"].call is session.calls[0]
    assert dump(session) == dump(reread.open(path))


def test_a_last_line_without_end_is_told_at_a_clean_stop(tmp_path: Path, watch: Any) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(line(1))
    session = reread.open(path)
    watcher = watch(session)
    append(path, line(2).rstrip(b"\n"))
    time.sleep(0.3)
    assert watcher.changes == []
    watcher.stop()
    assert [c.line for c in watcher.changes] == [2]
    assert dump(session) == dump(reread.open(path))


def test_every_split_of_a_real_session_follows_to_the_same_end(tmp_path: Path, watch: Any) -> None:
    sample = next((Path(reread.__file__).parent / "samples").glob("projects/*/8c1f0b52*.jsonl"))
    data = sample.read_bytes()
    path = tmp_path / sample.name
    path.write_bytes(b"")
    session = reread.open(path)
    watcher = watch(session)
    for start in range(0, len(data), 7001):
        append(path, data[start : start + 7001])
        time.sleep(0.002)
    watcher.heard(len(data.splitlines()) - 1)
    watcher.stop()
    assert dump(session) == dump(reread.open(path))


def test_bytes_cannot_be_followed() -> None:
    with pytest.raises(reread.Misuse, match="Only a session on disk"):
        next(iter(reread.follow(reread.open(b""))))


def test_a_header_can_be_followed(tmp_path: Path, watch: Any) -> None:
    path = tmp_path / "projects" / "-p" / "s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(line(1))
    (header,) = reread.sessions(root=tmp_path)
    watcher = watch(header)
    append(path, line(2))
    watcher.heard(2)


def test_a_line_that_is_only_completed_is_no_rewrite(tmp_path: Path, watch: Any) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(line(1) + line(2)[:-20])
    watcher = watch(path)
    append(path, line(2)[-20:])
    watcher.heard(2)
    assert [c.kind for c in watcher.changes] == ["record"]


def test_fresh_tells_what_is_there_already(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(line(1) + line(2))
    stop = threading.Event()
    with reread.follow(path, fresh=True, stop=stop) as changes:
        assert [next(changes).line, next(changes).line] == [1, 2]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a project, in which one session has a line and an agent."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    folder = tmp_path / "claude" / "projects" / "-p"
    (folder / "old" / "subagents").mkdir(parents=True)
    (folder / "old.jsonl").write_bytes(line(1))
    (folder / "old" / "subagents" / "agent-abc.jsonl").write_bytes(line(1, isSidechain=True, agentId="abc"))
    return folder


def heard_of(changes: list[reread.value_types.Change]) -> list[tuple[str, int, str | None]]:
    """The session, line and agent of each change."""
    return [(c.session.path.stem, c.line, c.agent and c.agent.id) for c in changes if c.session and c.session.path]


def test_without_a_name_all_sessions_are_followed_new_ones_too(project: Path, watch: Any) -> None:
    watcher = watch(None)
    append(project / "old.jsonl", line(2))
    watcher.wait(lambda changes: heard_of(changes) == [("old", 2, None)])
    other = project.parent / "-q" / "new.jsonl"
    other.parent.mkdir()
    other.write_bytes(line(1) + line(2)[:-9])
    watcher.wait(lambda changes: ("new", 1, None) in heard_of(changes))
    append(other, line(2)[-9:])
    append(project / "old" / "subagents" / "agent-abc.jsonl", line(2, isSidechain=True, agentId="abc"))
    expected = {("old", 2, None), ("new", 1, None), ("new", 2, None), ("old", 2, "abc")}
    watcher.wait(lambda changes: len(changes) == 4 and set(heard_of(changes)) == expected)
    (session,) = {c.session for c in watcher.changes if c.session.path == other}
    assert dump(session) == dump(reread.open(other))


def test_an_agent_that_writes_first_is_told_without_what_was_there(project: Path) -> None:
    everything = AllFollower()
    assert list(everything.changes(set())) == []
    agent = project / "old" / "subagents" / "agent-abc.jsonl"
    append(agent, line(2, isSidechain=True, agentId="abc"))
    assert heard_of(list(everything.changes({str(agent)}))) == [("old", 2, "abc")]


def test_an_agent_beside_the_session_belongs_to_it(project: Path) -> None:
    (project / "old.jsonl").write_bytes(line(1, sessionId="old"))
    everything = AllFollower()
    agent = project / "agent-x.jsonl"
    agent.write_bytes(line(1, isSidechain=True, agentId="x", sessionId="old"))
    assert heard_of(list(everything.changes({str(agent)}))) == [("old", 1, "x")]


def test_sessions_that_changed_longest_ago_are_closed_and_lose_nothing(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reread.session.follow.MOST_OPEN", 2)
    everything = AllFollower()
    heard: list[tuple[str, int, str | None]] = []
    for number in range(1, 4):
        for name in "abcd":
            append(project / f"{name}.jsonl", line(number))
        heard += heard_of(list(everything.changes({str(project / f"{name}.jsonl") for name in "abcd"})))
    assert sorted(heard) == [(name, number, None) for name in "abcd" for number in range(1, 4)]


def test_a_session_that_cannot_be_read_does_not_end_the_others(project: Path) -> None:
    everything = AllFollower()
    (project / "gone.jsonl").symlink_to(project / "nowhere")
    os.mkfifo(project / "pipe.jsonl")
    append(project / "old.jsonl", line(2))
    touched = {str(project / name) for name in ("gone.jsonl", "pipe.jsonl", "old.jsonl")}
    assert heard_of(list(everything.changes(touched))) == [("old", 2, None)]


def test_a_session_that_was_cut_is_told_from_its_start(project: Path) -> None:
    append(project / "old.jsonl", line(2) + line(3))
    everything = AllFollower()
    (project / "old.jsonl").write_bytes(line(7))
    assert heard_of(list(everything.changes({str(project / "old.jsonl")}))) == [("old", 1, None)]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_changes_can_be_awaited_and_cancelled(project: Path, backend: str) -> None:
    if backend == "trio":
        pytest.importorskip("trio")
    path = project / "old.jsonl"
    told: list[int] = []
    stream = reread.follow(path, heartbeat=100)

    async def listen() -> None:
        async for change in stream:
            told.append(change.line)

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(listen)
            append(path, line(2))
            with anyio.fail_after(PATIENCE):
                while told != [2]:
                    await anyio.sleep(0.01)
            group.cancel_scope.cancel()

    run_apart(lambda: anyio.run(main, backend=backend))
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            assert list(stream) == []  # and its thread is gone
            break
        except ValueError:
            time.sleep(0.01)
    assert stream.closed
