"""Several sessions in one file: each is found by its id, by every verb and by the reader."""

from pathlib import Path

import pytest
from command import cli as run
from making import jsonl, reply, told, user

import reread
from reread.errors import NotFound
from reread.server.library import SessionLibrary

FIRST, SECOND, THIRD = (f"{letter * 8}-1111-4111-8111-111111111111" for letter in "abc")
IDS = [id for whole in (FIRST, SECOND, THIRD) for id in (whole, whole[:8])]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "projects" / "-w" / f"{FIRST}.jsonl"
    path.parent.mkdir(parents=True)
    lines = [
        line | {"sessionId": id}
        for number, id in enumerate((FIRST, SECOND, THIRD))
        for line in (user(f"prompt {number}"), reply(f"answer {number}", id=f"msg_{number}"))
    ]
    path.write_bytes(jsonl(*told(*lines)))
    return path


@pytest.mark.parametrize("id", IDS)
def test_it_is_found(path: Path, tmp_path: Path, id: str) -> None:
    assert reread.open(id, root=tmp_path).path == path
    assert reread.usage(id, root=tmp_path).totals.responses == (3 if FIRST.startswith(id) else 1)
    library = SessionLibrary([tmp_path], count=False)
    assert library.find(id) == path
    with pytest.raises(NotFound):
        library.find("dddddddd-1111-4111-8111-111111111111")
    library.close()


@pytest.mark.parametrize("verb", ["show", "export", "usage", "files", "check", "stats", "share --check"])
def test_every_verb_takes_it(path: Path, tmp_path: Path, verb: str) -> None:
    for id in (SECOND, THIRD[:8]):
        done = run("--root", str(tmp_path), *verb.split(), id)
        assert done.exit_code == 0, done.output


def test_it_opens_what_is_its_own(path: Path, tmp_path: Path) -> None:
    """Its title, turns, cost and lines; the path, and the id that the file is called by, open the whole."""
    for number, id in ((1, SECOND), (2, THIRD[:8])):
        session = reread.open(id, root=tmp_path)
        assert (session.title, session.ids) == (f"prompt {number}", [(FIRST, SECOND, THIRD)[number]])
        assert [turn.prompt.text for turn in session.turns if turn.prompt] == [f"prompt {number}"]
        assert session.usage.responses == 1
        assert [record.line for record in session.records] == [2 * number + 1, 2 * number + 2]
        shown = run("--root", str(tmp_path), "show", id)
        assert "other sessions" in shown.stderr and "prompt 0" not in shown.stdout
    for whole in (FIRST[:8], str(path)):
        assert len(reread.open(whole, root=tmp_path).turns) == 3
        assert "other sessions" not in run("--root", str(tmp_path), "show", whole).stderr


def test_its_agents_are_its_own(path: Path, tmp_path: Path) -> None:
    folder = path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    for number, id in enumerate((FIRST, SECOND)):
        own = reply(f"agent {number}", id=f"agent_{number}", isSidechain=True, agentId=f"a{number}", sessionId=id)
        (folder / f"agent-a{number}.jsonl").write_bytes(jsonl(own))
    assert reread.open(path).usage.responses == 5
    session = reread.open(SECOND, root=tmp_path)
    assert (list(session.agents), session.usage.responses) == (["a1"], 2)
    assert reread.open(THIRD, root=tmp_path).usage.responses == 1
