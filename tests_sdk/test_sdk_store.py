"""The session store for the official Agent SDK: its conformance suite, and how the sessions read back."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import get_session_messages_from_store, list_sessions_from_store
from claude_agent_sdk.testing import run_session_store_conformance

import reread
from reread.addons.sdk.store import RereadSessionStore

REAL = Path(__file__).parent.parent / "tests" / "real"
AGENT = REAL / "2.1.220" / "agent" / "projects"


def key(session: str, **more: str) -> Any:
    return {"project_key": "-home-dev-proj", "session_id": session, **more}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_it_conforms(tmp_path: Path) -> None:
    numbers = iter(range(100))
    asyncio.run(run_session_store_conformance(lambda: RereadSessionStore(tmp_path / str(next(numbers)))))


def test_it_conforms_under_trio_too(tmp_path: Path) -> None:
    trio = pytest.importorskip("trio")
    numbers = iter(range(100))
    trio.run(run_session_store_conformance, lambda: RereadSessionStore(tmp_path / str(next(numbers))))


@pytest.fixture
def session(tmp_path: Path) -> tuple[RereadSessionStore, Path]:
    """A session with agents as the SDK mirrors it, and its transcript."""
    store = RereadSessionStore(tmp_path / "store")
    (transcript,) = AGENT.glob("*/*.jsonl")
    asyncio.run(store.append(key(transcript.stem), lines(transcript)))
    for agent in transcript.with_suffix("").rglob("agent-*.jsonl"):
        subpath = agent.relative_to(transcript.with_suffix("")).with_suffix("").as_posix()
        asyncio.run(store.append(key(transcript.stem, subpath=subpath), lines(agent)))
    return store, transcript


def test_a_session_reads_like_any_other(session: tuple[RereadSessionStore, Path]) -> None:
    store, transcript = session
    was = reread.open(transcript)
    now = reread.open(store.store.path_of(transcript.stem, workspace="-home-dev-proj", agent="sdk"))
    assert [turn.prompt.text for turn in now.turns] == [turn.prompt.text for turn in was.turns]
    assert [message.text for message in now.messages] == [message.text for message in was.messages]
    assert now.agents.keys() == was.agents.keys() and now.agents
    assert [call.agent is not None for call in now.calls] == [call.agent is not None for call in was.calls]


def test_lines_are_stored_byte_for_byte(session: tuple[RereadSessionStore, Path]) -> None:
    store, transcript = session
    stored = store.store.open(store.store.path_of(transcript.stem, workspace="-home-dev-proj", agent="sdk"))
    assert [line.raw for line in stored.lines()] == transcript.read_bytes().splitlines()


def test_the_sdk_reads_it_back(session: tuple[RereadSessionStore, Path]) -> None:
    store, transcript = session
    (found,) = asyncio.run(list_sessions_from_store(store, directory="/home/dev/proj"))
    assert found.session_id == transcript.stem
    messages = asyncio.run(get_session_messages_from_store(store, transcript.stem, directory="/home/dev/proj"))
    assert messages[0].message["content"] == reread.open(transcript).turns[0].prompt.text


def test_an_entry_with_a_known_uuid_is_stored_once(tmp_path: Path) -> None:
    message, state = {"type": "user", "uuid": "u1"}, {"type": "mode"}
    for _ in range(2):  # a new store, as in another process
        asyncio.run(RereadSessionStore(tmp_path).append(key("s"), [message, state, message]))
    assert asyncio.run(RereadSessionStore(tmp_path).load(key("s"))) == [message, state, state]


@pytest.mark.parametrize("name", ["../../up", "a/b", "Ä", "CON", "x" * 500, " "])
def test_any_name_is_a_unique_key(tmp_path: Path, name: str) -> None:
    store = RereadSessionStore(tmp_path / "store")

    main: Any = {"project_key": name, "session_id": name}
    below: Any = {**main, "subpath": f"{name}/a"}

    async def append_and_load() -> None:
        await store.append(main, [{"type": "main"}])
        await store.append(below, [{"type": "below"}])
        assert (await store.load(main), await store.load(below)) == ([{"type": "main"}], [{"type": "below"}])
        assert [found["session_id"] for found in await store.list_sessions(name)] == [name]
        assert await store.list_subkeys(main) == [f"{name}/a"]

    asyncio.run(append_and_load())
    assert {path.parts[len(tmp_path.parts)] for path in tmp_path.rglob("*")} == {"store"}


def test_a_lone_surrogate_is_stored(tmp_path: Path) -> None:
    odd = {"type": "x", "text": "half \ud83d of a pair", "n": 1.5, "big": 2**70}
    store = RereadSessionStore(tmp_path)
    asyncio.run(store.append(key("s"), [odd]))
    assert asyncio.run(store.load(key("s"))) == [odd]


def test_agent_metadata_is_a_file_beside_the_transcript(tmp_path: Path) -> None:
    store, metadata = RereadSessionStore(tmp_path), {"type": "agent_metadata", "agentType": "Explore"}
    below = key("s", subpath="subagents/agent-1")
    asyncio.run(store.append(below, [metadata, {"type": "user", "uuid": "u"}]))
    (meta,) = tmp_path.rglob("agent-1.meta.json")
    assert json.loads(meta.read_text()) == {"agentType": "Explore"}
    asyncio.run(store.delete(below))
    assert not meta.exists()
