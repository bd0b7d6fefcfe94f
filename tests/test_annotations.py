"""Stars, notes and budgets: a file of reread's own that several processes change, the command line, the server."""

import json
import os
import subprocess
import sys
import threading
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from making import SESSION, jsonl, reply, text, told, user

from reread.catalog.annotations import LONGEST_NOTE, Annotation, Annotations
from reread.errors import Misuse, Unreadable


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """The data folder of reread, which does not exist yet."""
    return tmp_path / "data" / "reread"


class TestStore:
    def test_what_is_changed_is_there_for_everyone_and_private(self, store: Path) -> None:
        one, other = Annotations(store), Annotations(store)
        assert other.of("a") == Annotation()
        one.change("a", starred=True)
        one.change("a", note="  look at the retry  ", was="")
        assert other.of("a") == Annotation(starred=True, note="look at the retry")
        if os.name == "posix":
            assert {path.stat().st_mode & 0o777 for path in store.iterdir()} == {0o600}
            assert store.stat().st_mode & 0o777 == 0o700
        other.change("a", starred=False, note="")
        assert one.all() == {}

    def test_what_lies_in_a_root_is_shown_and_can_be_taken_away(self, store: Path, tmp_path: Path) -> None:
        root = tmp_path / "root"
        Annotations(root).change("a", starred=True, note="brought")
        own = Annotations(store, roots=[root, tmp_path / "none"])
        assert own.all() == {"a": Annotation(starred=True, note="brought")} and not store.exists()
        own.change("a", note="", was="brought")
        assert own.of("a") == Annotations(store, roots=[root]).of("a") == Annotation(starred=True)
        own.change("a", starred=False)
        assert Annotations(store, roots=[root]).of("a") == Annotation()
        assert Annotations(root).of("a") == Annotation(starred=True, note="brought")

    def test_no_change_of_two_writers_is_lost(self, store: Path) -> None:
        def star(names: list[str]) -> None:
            own = Annotations(store)
            for name in names:
                own.change(name, starred=True)

        threads = [threading.Thread(target=star, args=([f"{who}{n}" for n in range(8)],)) for who in "xyz"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(Annotations(store).all()) == 24

    def test_a_note_that_changed_meanwhile_is_not_replaced(self, store: Path) -> None:
        one, other = Annotations(store), Annotations(store)
        assert one.change("a", note="first", was="")
        assert not other.change("a", note="second", was="")
        assert other.of("a").note == "first"
        assert other.change("a", note="both", was="first")
        assert one.change("a", note="both", was="")  # the same text: nothing would be lost

    @pytest.mark.parametrize("content", ["[1]", "{torn", '{"version": 2, "sessions": {}}'])
    def test_a_file_that_reread_does_not_understand_stays(self, store: Path, content: str) -> None:
        store.mkdir(parents=True)
        (store / "annotations.json").write_text(content)
        assert Annotations(store).all() == {}
        with pytest.raises((Unreadable, Misuse), match=r"annotations\.json"):
            Annotations(store).change("a", starred=True)
        assert (store / "annotations.json").read_text() == content

    def test_unknown_fields_are_kept_and_odd_values_are_nothing(self, store: Path) -> None:
        store.mkdir(parents=True)
        odd = {"sessions": {"a": {"colour": "red", "note": 7, "starred": "yes"}, "b": []}, "more": 1}
        (store / "annotations.json").write_text(json.dumps(odd))
        assert Annotations(store).of("a") == Annotation()
        Annotations(store).change("a", starred=True)
        stored = json.loads((store / "annotations.json").read_text())
        assert (stored["more"], stored["sessions"]["a"]) == (1, {"colour": "red", "starred": True})

    def test_a_note_has_a_length(self, store: Path) -> None:
        with pytest.raises(Misuse, match=str(LONGEST_NOTE)):
            Annotations(store).change("a", note="x" * (LONGEST_NOTE + 1))
        assert not store.exists()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder with two sessions."""
    folder = tmp_path / ".claude" / "projects" / "-home-sam-api"
    folder.mkdir(parents=True)
    for name in ("one", "two"):
        lines = jsonl(*told(user(f"Prompt {name}"), reply(text("Done."), id=name)))
        (folder / f"{name}.jsonl").write_bytes(lines.replace(SESSION.encode(), name.encode()))
    return tmp_path


def environment(home: Path) -> dict[str, str]:
    own = {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude"), "REREAD_HOME": str(home / "reread")}
    return {**os.environ, **own, "REREAD_CACHE": str(home / "cache"), "PYTHONUNBUFFERED": "1"}


def test_the_command_line_lists_stars_and_finds_notes(home: Path) -> None:
    def ls(*words: str) -> str:
        command = [sys.executable, "-m", "reread", "ls", *words]
        return subprocess.run(command, env=environment(home), capture_output=True, text=True, check=True).stdout

    Annotations(home / "reread").change("one", starred=True, note="the one with the ceiling")
    rows: list[Any] = json.loads(ls("--only", "starred", "--json"))
    assert [(row["id"], row["starred"], row["note"]) for row in rows] == [("one", True, "the one with the ceiling")]
    listed = ls("--grep", "CEILING")
    assert "★ Prompt one" in listed and "Prompt two" not in listed


def test_the_server_changes_nothing_but_its_own_files(home: Path) -> None:
    before = {path: path.read_bytes() for path in (home / ".claude").rglob("*.jsonl")}
    command = [sys.executable, "-m", "reread", "serve", "--no-open", "--no-token", "--port", "0"]
    with subprocess.Popen(command, env=environment(home), stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline().rsplit(":", 1)[1].split("/")[0])

        def ask(method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
            own = {"origin": f"http://127.0.0.1:{port}", "content-type": "application/json"} if body is not None else {}
            with closing(HTTPConnection("127.0.0.1", port, timeout=150)) as connection:
                sent = None if body is None else json.dumps(body)
                connection.request(method, path, sent, {**own, **headers})
                answer = connection.getresponse()
                data = answer.read()
                return answer.status, json.loads(data) if data.startswith((b"{", b"[")) else data

        try:
            sessions = ask("GET", "/api/library")[1]["sessions"]
            path = f"/api/sessions/{next(row['key'] for row in sessions if row['id'] == 'one')}/annotation"
            assert ask("GET", path) == (200, {"starred": False, "note": "", "tags": []})
            assert ask("POST", path, {"starred": True, "note": "n", "was": ""})[1] == {
                "starred": True,
                "note": "n",
                "tags": [],
                "saved": True,
            }
            refused = ask("POST", path, {"note": "mine", "was": ""})[1]
            assert refused == {"starred": True, "note": "n", "tags": [], "saved": False}
            for wrong in ({"starred": 1}, {"note": None}, {"path": "x"}, {"was": 3}):
                assert ask("POST", path, wrong)[0] == 400, wrong
            assert ask("POST", path, {"starred": False}, origin="http://evil.example")[0] == 403
            assert ask("POST", path.replace("annotation", "items"), {})[0] == 405
            assert ask("POST", "/api/sessions/none/annotation", {"starred": True})[0] == 404
            row = next(row for row in ask("GET", "/api/library")[1]["sessions"] if row["id"] == "one")
            assert (row["starred"], row["note"]) == (True, "n")

            assert ask("GET", "/api/settings") == (200, {"day": None, "week": None, "month": None})
            budgets = {"day": 20, "week": None, "month": 99.5}
            assert ask("POST", "/api/settings", {"day": 20, "month": 99.5})[1] == budgets
            assert ask("POST", "/api/settings", {"day": None})[1] == {**budgets, "day": None}
            for wrong in ({"day": 0}, {"day": True}, {"year": 1}, {"week": "7"}, {"day": 10**400}):
                assert ask("POST", "/api/settings", wrong)[0] == 400, wrong
        finally:
            server.terminate()
    assert {path: path.read_bytes() for path in (home / ".claude").rglob("*.jsonl")} == before
    assert sorted(path.name for path in (home / "reread").iterdir() if path.suffix == ".json") == [
        "annotations.json",
        "config.json",
    ]
