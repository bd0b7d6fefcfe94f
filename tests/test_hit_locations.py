"""Places in the catalogue: what hits say of them equals what the opened session says."""

from contextlib import closing
from pathlib import Path

import pytest
from batches import each
from effort import one_in
from making import SESSION, answer, jsonl, progress, reply, result, told, use, user
from test_index_recall import FOLDERS, files_in

import reread
from reread.disk.file_set import find_files
from reread.index import hit_locations
from reread.index.file_pass import scan
from reread.index.hit_locations import LocationsTable, forget_places
from reread.index.hit_locator import OpenedSession
from reread.index.hits import Hit, HitBuilder
from reread.index.matching import Snippet
from reread.index.query import And
from reread.index.update import refresh, unindexed


def all_hits(paths: list[Path]) -> list[Hit | None]:
    """A hit for every text in some files."""
    units = list(scan(And(()), unindexed(None, find_files(None, paths)), []))
    with closing(HitBuilder()) as builder:
        return [builder.hit(found, Snippet("", "", "")) for found in units]


def opened_hits(paths: list[Path], monkeypatch: pytest.MonkeyPatch) -> list[Hit | None]:
    """The same, always from the opened session."""
    with monkeypatch.context() as patch:
        patch.setattr(LocationsTable, "read", lambda *_: None)
        patch.setattr(LocationsTable, "save", lambda *_: None)
        return all_hits(paths)


def refuse(_self: OpenedSession, path: str) -> None:
    raise AssertionError(f"{path} was opened")


@one_in(3)
@each("folder", FOLDERS, ids=lambda path: "/".join(path.parts[-2:]), every=6)
def test_saved_places_equal_those_of_the_opened_session(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = files_in(folder)
    opened = opened_hits(paths, monkeypatch)
    assert all_hits(paths) == opened
    assert all_hits(paths) == opened


def test_two_results_in_one_record_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"{SESSION}.jsonl"
    results = answer(result("t1", "cat"), result("t2", "dog"))
    path.write_bytes(jsonl(*told(user("go"), reply(use("t1"), use("t2", "Read")), results)))
    for found in (opened_hits([path], monkeypatch), all_hits([path]), all_hits([path])):
        assert [hit.call for hit in found if hit is not None and hit.kind == "result"] == ["t1", "t2"]


@pytest.fixture
def session(tmp_path: Path) -> list[Path]:
    """A session with an abandoned branch, an agent with a file of its own and one in the session's file."""
    main = tmp_path / "projects/p" / f"{SESSION}.jsonl"
    agent = main.with_suffix("") / "subagents/agent-x1.jsonl"
    agent.parent.mkdir(parents=True)
    main.write_bytes(
        jsonl(
            *told(
                user("first"),
                reply("an answer", id="m1"),
                user("abandoned"),
                reply("gone", use("t0", "Read", file_path="/a.py"), id="m2"),
                answer(result("t0", "text")),
                user("continued", parentUuid="u2"),
                reply(use("t1", "Task", prompt="go"), id="m3"),
                progress("agent_progress", {"message": told(reply("inside"))[0], "agentId": "z9"}),
                answer(result("t1", "done"), data={"agentId": "x1", "status": "completed"}),
            )
        )
    )
    inner = told(user("go"), reply("the agent's answer"))
    agent.write_bytes(jsonl(*({**record, "isSidechain": True, "agentId": "x1"} for record in inner)))
    return [main, agent]


def test_hits_in_a_known_session_do_not_open_it(session: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    opened = opened_hits(session, monkeypatch)
    assert all_hits(session) == opened
    assert {hit.agent for hit in opened if hit is not None} == {None, "x1", "z9"}
    assert any(hit.branch is not None for hit in opened if hit is not None)
    monkeypatch.setattr(OpenedSession, "__init__", refuse)
    assert all_hits(session) == opened


def test_the_hits_of_a_search_open_no_session(
    session: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refresh(find_files([tmp_path]))
    opened = {(hit.path, hit.line, hit.kind): hit for hit in opened_hits(session, monkeypatch) if hit is not None}
    monkeypatch.setattr(OpenedSession, "__init__", refuse)
    found = list(reread.search("first OR gone OR inside OR answer OR done OR text", root=tmp_path))
    assert {hit.turn for hit in found} == {1, 2, None} and {hit.agent for hit in found} == {None, "x1", "z9"}
    for hit in found:
        known = opened[hit.path, hit.line, hit.kind]
        assert (hit.turn, hit.branch, hit.call) == (known.turn, known.branch, known.call)


def test_turns_change_when_the_session_goes_on_elsewhere(session: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    before = all_hits(session)
    main, agent = session
    with main.open("ab") as file:
        file.write(jsonl(*told(user("from the beginning", uuid="v1", parentUuid="u2"), reply("anew", id="m9"))))
    after = all_hits(session)
    assert after == opened_hits(session, monkeypatch)
    assert {hit.branch for hit in after if hit is not None} != {hit.branch for hit in before if hit is not None}
    with agent.open("ab") as file:
        file.write(jsonl({**told(reply("and more"))[0], "isSidechain": True, "agentId": "x1"}))
    assert all_hits(session) == opened_hits(session, monkeypatch)
    agent.unlink()
    assert all_hits([main]) == opened_hits([main], monkeypatch)


def test_with_many_branches_only_the_active_one_is_saved(session: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hit_locations, "MOST_STEPS", 1)
    opened = opened_hits(session, monkeypatch)
    assert all_hits(session) == opened
    assert all_hits(session) == opened


def test_places_of_files_that_are_gone_are_forgotten(session: list[Path]) -> None:
    main = str(session[0])
    all_hits(session)
    with closing(LocationsTable()) as table:
        assert table.read(main, main) is not None
        forget_places([main])
        assert table.read(main, main) is None
