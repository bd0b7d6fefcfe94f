"""Sessions held, closed, dropped, copied and pickled."""

import copy
import gc
import os
import pickle
import resource
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
from making import SESSION, answer, jsonl, reply, result, told, use, user

import reread
from reread.session.follower import Follower
from reread.storage import pooled_file

AGENT = "a0f8cb94d9ab9e97c"


def transcript(words: str = "First") -> bytes:
    records = told(
        user(f"{words} question"),
        reply("Let me see", use("t1", "Bash", command="ls")),
        answer(result("t1", f"{words} listing")),
        reply(f"{words} answer", id="msg_2"),
    )
    return jsonl(*records)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "one.jsonl"
    target.write_bytes(transcript())
    return target


@pytest.fixture
def few_files() -> Iterator[None]:
    """Let the process have only 256 descriptors."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def descriptors() -> int:
    gc.collect()  # sessions of other tests
    return len([*Path("/dev/fd").iterdir()])


def release_all(folder: Path) -> None:
    """Read so many other files that none of those before keeps its descriptor."""
    others: list[reread.Session] = []
    for n in range(pooled_file.MOST_OPEN + 1):
        other = folder / f"other-{n}.jsonl"
        other.write_bytes(b"{}\n")
        others.append(reread.open(other))
        assert others[-1].records[0].body == b"{}\n"


def test_a_session_is_a_context_manager(path: Path) -> None:
    before = descriptors()
    with reread.open(path) as session:
        assert not session.closed
        assert session.messages[0].text == "First question"
    assert session.closed
    assert descriptors() <= before
    session.close()


def test_a_closed_session_has_what_was_read_and_says_why_it_cannot_read_more(path: Path) -> None:
    with reread.open(path) as session:
        usage = session.usage
        assert session.messages
    assert [message.kind for message in session.messages] == ["prompt", "response", "response"]
    assert session.id and session.calls[0].name == "Bash" and session.usage == usage
    for read in (lambda: session.messages[0].text, lambda: session.agents, lambda: list(session.records)):
        with pytest.raises(reread.Misuse, match=r"one\.jsonl is closed; open"):
            read()
    unread = reread.open(path)
    unread.close()
    with pytest.raises(reread.Misuse, match="closed"):
        _ = unread.messages


def test_a_closed_session_of_bytes_stays_whole() -> None:
    with reread.open(transcript()) as session:
        pass
    assert session.messages[0].text == "First question"


def test_thousands_of_sessions_are_held_read_and_followed(tmp_path: Path, few_files: None) -> None:
    count = 10_000 if os.environ.get("REREAD_HYPOTHESIS") == "thorough" else 300
    paths = [tmp_path / f"{n // 50}" / f"{n}.jsonl" for n in range(count)]
    for n, path in enumerate(paths):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(transcript(str(n)))
    sessions = [reread.open(path) for path in paths]
    assert all(session.calls[0].ok for session in sessions)
    for n in (0, 1, count // 2, count - 1):
        follower = Follower(sessions[n])
        with paths[n].open("ab") as file:
            file.write(jsonl(user(f"{n} again", uuid="u9", parentUuid="u4", sessionId=SESSION)))
        assert [change.kind for change in follower.changes(set())] == ["record"]
        assert [m.text for m in sessions[n].messages][::3] == [f"{n} question", f"{n} again"]
        assert follower.changes(set()) is not None and not list(follower.changes(set()))
    assert descriptors() < 100


def test_another_file_under_the_same_name_is_never_read(path: Path, tmp_path: Path) -> None:
    for replace in (_put_in_place, _delete_and_write):
        path.write_bytes(transcript())
        session = reread.open(path)
        assert session.messages
        release_all(tmp_path)
        replace(path, transcript("Other"))
        with pytest.raises(reread.Unreadable, match="replaced or rewritten after it was opened; open it again"):
            _ = session.messages[0].text


def _put_in_place(path: Path, data: bytes) -> None:
    path.with_suffix(".new").write_bytes(data)
    path.with_suffix(".new").replace(path)


def _delete_and_write(path: Path, data: bytes) -> None:
    path.unlink()
    path.write_bytes(data)  # often with the inode that has just become free


def test_a_file_that_grew_is_opened_again(path: Path, tmp_path: Path) -> None:
    session = reread.open(path)
    assert session.messages
    release_all(tmp_path)
    with path.open("ab") as file:
        file.write(b"x" * 100_000)
    assert session.messages[0].text == "First question"


def test_a_file_that_was_replaced_while_it_had_no_descriptor_is_followed(path: Path, tmp_path: Path) -> None:
    session = reread.open(path)
    follower = Follower(session)
    release_all(tmp_path)
    _delete_and_write(path, transcript("Quite another"))
    assert next(follower.changes(set())).kind == "rewritten"
    assert list(follower.changes(set())) == []
    assert session.messages[0].text == "Quite another question"


def test_threads_read_many_files_at_once(tmp_path: Path) -> None:
    sessions = []
    for n in range(pooled_file.MOST_OPEN * 2):
        (tmp_path / f"{n}.jsonl").write_bytes(transcript(str(n)))
        sessions.append(reread.open(tmp_path / f"{n}.jsonl"))
    wrong: list[object] = []

    def read(start: int) -> None:
        for n in range(start, start + 2 * len(sessions)):
            session = sessions[n % len(sessions)]
            if session.records[0].native["message"]["content"] != f"{n % len(sessions)} question":
                wrong.append(n)

    assert all(session.messages for session in sessions)
    workers = [threading.Thread(target=read, args=(7 * n,)) for n in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_headers_hold_no_descriptor(path: Path) -> None:
    before = descriptors()
    headers = list(reread.sessions(root=path.parent))
    assert descriptors() <= before, headers


def test_a_dropped_session_is_freed_without_the_garbage_collector(path: Path) -> None:
    gc.collect()
    gc.disable()
    try:
        session = reread.open(path)
        assert session.messages[0].turn and session.calls[0].agent is None and session.usage and not session.problems
        assert not session.files and session.title and session.agents == {}
        freed = weakref.ref(session)
        messages = session.messages
        del session
        assert freed() is None
        assert messages[0].turn.messages[0] is messages[0]
    finally:
        gc.enable()


def test_what_is_read_of_a_dropped_session_still_finds_its_agents(path: Path) -> None:
    agents = path.with_suffix("") / "subagents"
    agents.mkdir(parents=True)
    (agents / f"agent-{AGENT}.jsonl").write_bytes(transcript("Agent"))
    calls = reread.open(path).calls
    assert calls[0].agent is None
    assert calls[0].conversation.agents.keys() == {AGENT}


@pytest.mark.parametrize("dump", [lambda it: pickle.loads(pickle.dumps(it)), copy.deepcopy])
def test_everything_of_a_session_can_be_copied_with_its_bytes(path: Path, dump: object) -> None:
    agents = path.with_suffix("") / "subagents"
    agents.mkdir(parents=True)
    (agents / f"agent-{AGENT}.jsonl").write_bytes(transcript("Agent"))
    session = reread.open(path)
    parts = (
        session,
        session.records[1],
        session.lines[1],
        session.messages[1],
        session.calls[0],
        session.turns[0],
        session.branches[0],
        session.agents[AGENT],
        session.agents[AGENT].messages[0],
    )
    copied = dump(parts)  # type: ignore[operator]
    path.unlink()
    again, record, line, message, call, turn, branch, agent, said = copied
    assert again.path == path and [m.text for m in again.messages] == ["First question", "Let me see", "First answer"]
    assert record.body == line.raw == transcript().splitlines(keepends=True)[1]
    assert again.messages[1] is message and message.text == "Let me see" and message.line == 2
    assert message.calls[0] is call and call.result.content == "First listing" and call.message is message
    assert turn.prompt is again.messages[0] and branch.messages == again.messages
    assert again.agents[AGENT] is agent and agent.messages[0] is said and said.text == "Agent question"
    assert message is not session.messages[1]


def test_a_shallow_copy_shares_what_was_read(path: Path) -> None:
    session = reread.open(path)
    assert copy.copy(session).messages is session.messages
    assert copy.copy(session.messages[0]).text == "First question"


def test_what_was_there_before_a_rewrite_cannot_be_copied(path: Path) -> None:
    session = reread.open(path)
    follower, old = Follower(session), session.messages[0]
    path.write_bytes(transcript("Shorter")[:200])
    list(follower.changes(set()))
    with pytest.raises(TypeError, match="Its session was read again"):
        pickle.dumps(old)
