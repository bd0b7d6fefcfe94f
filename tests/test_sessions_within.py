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
    assert reread.usage(id, root=tmp_path).totals.responses == 3
    library = SessionLibrary([tmp_path], count=False)
    assert library.find(id) == path
    with pytest.raises(NotFound):
        library.find("dddddddd-1111-4111-8111-111111111111")
    library.close()


@pytest.mark.parametrize("verb", ["show", "export", "usage", "files", "check", "stats", "secrets"])
def test_every_verb_takes_it(path: Path, tmp_path: Path, verb: str) -> None:
    for id in (SECOND, THIRD[:8]):
        done = run("--root", str(tmp_path), *verb.split(), id)
        assert done.exit_code == 0, done.output


def test_it_is_said_where_it_begins(path: Path, tmp_path: Path) -> None:
    for turn, id in ((2, SECOND), (3, THIRD[:8])):
        assert (
            f"begins at turn {turn}: its file has several sessions" in run("--root", str(tmp_path), "show", id).stderr
        )
    assert "begins" not in run("--root", str(tmp_path), "show", FIRST[:8]).stderr
    assert "begins" not in run("--root", str(tmp_path), "show", str(path)).stderr
