"""The store of facts: however it came to be, it says what counting anew says."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import jsonl, reply, told, user
from test_accounts_laws import trees

import reread
from reread.disk.cache import FileState
from reread.facts import responses, sessions
from reread.facts.responses import MOST_SCOPES, count_responses
from reread.facts.schema import LOADED
from reread.facts.scope import Scope
from reread.facts.store import FactStore, answered
from reread.facts.views import RESPONSES, show_responses

GROUPS = ("session", "agent", "model", "day", "thread", "project")


def said(root: Path, **options: Any) -> Iterator[Any]:
    """What the store says of sessions, in all ways that a law compares."""
    for by in ((), *GROUPS):
        used = reread.usage(root=root, by=by, **options)
        yield by, used.totals, used.rows
    done = reread.stats(root=root, by="session", **options)
    yield done.totals, done.rows, done.about


def write(folder: Path, tree: list[str]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for number, text in enumerate(tree):
        file = folder / "projects" / "-p" / f"{number:08}-0000-4000-8000-000000000000.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def change(folder: Path, number: int, text: str) -> None:
    """Append to a file, begin it, or delete it if there is no text."""
    file = folder / "projects" / "-p" / f"{number:08}-0000-4000-8000-000000000000.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    if text:
        with file.open("a") as opened:
            opened.write(text)
    else:
        file.unlink(missing_ok=True)


def response(number: int) -> str:
    """A transcript with one response."""
    made = {**reply("Hello", id=f"m{number}", stop_reason="end_turn"), "requestId": f"r{number}"}
    return jsonl(*told(made)).decode()


changes = st.lists(st.tuples(st.integers(0, 3), st.one_of(st.just(""), trees.map(lambda tree: tree[0]))), max_size=3)


@given(tree=trees, steps=changes)
def test_a_store_that_grew_says_what_one_says_that_was_made_at_once(
    tmp_path_factory: pytest.TempPathFactory, tree: list[str], steps: list[tuple[int, str]]
) -> None:
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REREAD_CACHE", str(home / "cache"))
        write(home, tree)
        for number, text in [(9, ""), *steps]:
            change(home, number, text)
            assert list(said(home)) == list(said(home, cache=False))
    shutil.rmtree(home)


def test_many_folders_asked_for_at_once_are_not_forgotten_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even while others, which make room for theirs, ask between the counting and the question."""
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "cache"))
    for number in range(8):
        write(tmp_path / str(number), [response(number)])

    def ask(store: FactStore) -> list[Any]:
        counted = count_responses(store, Scope(root=tmp_path / "0").inputs())
        store.run("UPDATE scope SET used = used - 60")
        for number in range(1, 8):
            assert reread.usage(root=tmp_path / str(number)).totals.responses == 1
        show_responses(store, counted, {})
        return store.rows(f"SELECT message FROM {RESPONSES}")

    assert answered(ask) == [("m0",)]


def test_no_number_of_folders_makes_the_store_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "cache"))
    for number in range(MOST_SCOPES + 3):
        write(tmp_path / str(number), [response(number)])
        assert reread.usage(root=tmp_path / str(number)).totals.responses == 1
    assert answered(lambda store: store.rows("SELECT count(*), count(DISTINCT scope) FROM settled, scope")) == [
        (MOST_SCOPES * MOST_SCOPES, MOST_SCOPES)
    ]


def test_what_a_table_cannot_hold_is_stored_as_far_as_it_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a character, and an integer beyond 64 bits; the rows around them are there once."""
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "cache"))
    with closing(FactStore()) as store:
        file = store.file_id("/s.jsonl")
        store.add(LOADED, [(file, "skill", "a", 1), (file, "skill", "b\ud83d", 2), (file, "skill", "c", 1 << 70)])
        assert store.rows("SELECT name, chars FROM loaded") == [("a", 1), ("b?", 2), ("c", (1 << 63) - 1)]


def test_a_state_of_more_than_64_bits_is_a_state_that_tables_hold() -> None:
    def state(inode: int) -> FileState:
        return FileState.of(cast(Any, SimpleNamespace(st_dev=1, st_ino=inode, st_size=2, st_mtime_ns=-3)))

    assert state(7) == (1, 7, 2, -3)
    large = {state((1 << 64) - 9), state((1 << 64) - 8), state(1 << 127)}
    assert len(large) == 3
    assert max(map(max, large)) < 1 << 63


def test_a_session_that_grows_while_it_is_read_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its facts are those of a later state than the one that was seen first."""
    change(tmp_path, 1, response(0))
    states = sessions.session_state

    def grown(*values: Any) -> bytes:
        seen = states(*values)
        change(tmp_path, 1, jsonl(*told(user("More"))).decode())
        return seen

    monkeypatch.setattr(sessions, "session_state", grown)
    assert reread.stats(root=tmp_path).about["sessions"] == 1


def test_what_did_not_change_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the files of agents, where old clients and new ones put them."""
    write(tmp_path, [response(0), response(1)])
    folder, id = tmp_path / "projects" / "-p", "00000001-0000-4000-8000-000000000000"
    (folder / id / "subagents").mkdir(parents=True)
    agent = {**reply("Hi", id="m9", stop_reason="end_turn"), "requestId": "r9", "isSidechain": True}
    for path in (folder / id / "subagents" / "agent-new.jsonl", folder / "agent-old.jsonl"):
        path.write_bytes(jsonl(*told({**agent, "sessionId": id, "agentId": path.stem.removeprefix("agent-")})))
    first = list(said(tmp_path))

    def looked_at_again(path: Path, *_: Any) -> bytes:
        raise AssertionError(path)

    monkeypatch.setattr(sessions, "session_state", looked_at_again)
    assert list(said(tmp_path)) == first
    with (folder / "agent-old.jsonl").open("a") as file:
        file.write("{}\n")
    with pytest.raises(AssertionError, match="00000001"):
        list(said(tmp_path))


def test_two_who_count_at_once_count_each_response_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sees a file, and the other, which is done first, a copy of it besides."""
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "cache"))
    change(tmp_path, 1, response(0))
    resolve = responses.resolve

    def overtaken(*values: Any) -> Any:
        monkeypatch.setattr(responses, "resolve", resolve)
        found = resolve(*values)
        change(tmp_path, 0, response(0))
        assert reread.usage(root=tmp_path).totals.responses == 1
        return found

    monkeypatch.setattr(responses, "resolve", overtaken)
    reread.usage(root=tmp_path)
    assert reread.usage(root=tmp_path).totals.responses == 1
