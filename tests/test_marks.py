"""Tags, which are reread's own, and the archive, which is Claude Code's: said by one, read by the other."""

import json
import os
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from command import cli
from killing import CHANGES, at_once, killed
from making import SESSION, attachment, jsonl, reply, text, told, user

import reread
from reread.addons.mcp.answers import sessions_answer
from reread.catalog.annotations import MOST_TAGS, Annotations
from reread.errors import Misuse, Unreadable
from reread.server.library import SessionLibrary

OTHER = SESSION.replace("5e55", "f02c")
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


def at(hours: float) -> str:
    return (NOW + timedelta(hours=hours)).isoformat().replace("+00:00", "Z")


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Claude Code's folder with two sessions, each with a prompt of noon."""
    folder = tmp_path / ".claude"
    for name, value in (("CLAUDE_CONFIG_DIR", folder), ("REREAD_HOME", tmp_path / "store")):
        monkeypatch.setenv(name, str(value))
    for id in (SESSION, OTHER):
        write(folder, id, user(f"Prompt of {id[:4]}"), reply(text("Done.")))
    return folder


def write(config: Path, id: str, *records: dict[str, Any], hours: float = 0) -> Path:
    """Append records to a session."""
    path = config / "projects" / "-work-app" / f"{id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    told_then = [{**one, "sessionId": id, "cwd": "/work/app", "timestamp": at(hours)} for one in told(*records)]
    with path.open("ab") as file:
        file.write(jsonl(*told_then))
    return path


def mark(config: Path, value: Any, id: str = SESSION) -> Path:
    path = config / "projects" / "-work-app" / id / "archived.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def archived() -> set[str]:
    return {header.id for header in reread.sessions() if header.archived}


class TestTags:
    def test_they_are_given_taken_and_found_in_every_list(self, config: Path) -> None:
        assert cli("tag", "5e55", "Release", "#flaky").stdout.endswith("#flaky #release\n")
        assert cli("tag", SESSION, "--remove", "FLAKY").stdout.endswith("#release\n")
        (header,) = reread.sessions(tag=["release", "none"])
        assert (header.id, header.tags) == (SESSION, ("release",))
        assert "#release Prompt of 5e55" in cli("ls", "--tag", "release").stdout
        assert cli("ls", "--tag", "none").exit_code == cli("search", "prompt", "tag:none").exit_code == 1
        hits = json.loads(cli("search", "prompt", "tag:release", "--json").stdout)["hits"]
        assert {Path(hit["path"]).stem for hit in hits} == {SESSION}
        assert {hit.session for hit in reread.search("prompt -tag:release")} == {OTHER}
        assert cli("tag").stdout == "#release  1 session\n"
        assert "tag release" in sessions_answer(tag="release")
        rows = {row.id: row.tags for row in SessionLibrary().listing().sessions}
        assert rows == {SESSION: ["release"], OTHER: []}

    @pytest.mark.parametrize("word", ["two words", "", "a,b", "-x", 'a"', "x" * 41, "\x1b[31m"])
    def test_a_tag_is_one_word(self, config: Path, word: str) -> None:
        with pytest.raises(Misuse, match="tag"):
            reread.tag_sessions(SESSION, add=[word])
        assert Annotations().all() == {}

    def test_they_are_taken_away_from_a_session_that_is_named(self, config: Path) -> None:
        reread.tag_sessions(SESSION, add="release")
        with pytest.raises(Misuse, match="Name a session"):
            cli("tag", "--remove", "release")
        assert reread.tag_sessions(SESSION)[0].tags == ("release",)

    def test_there_are_not_too_many_and_star_and_note_stay(self, config: Path) -> None:
        Annotations().change(SESSION, starred=True, note="mine")
        reread.tag_sessions(SESSION, add=[f"t{n}" for n in range(MOST_TAGS)])
        with pytest.raises(Misuse, match=str(MOST_TAGS)):
            reread.tag_sessions(SESSION, add="one-more")
        (header,) = reread.tag_sessions(SESSION, remove=[f"t{n}" for n in range(MOST_TAGS)])
        assert (header.tags, header.starred, header.note) == ((), True, "mine")
        stored = json.loads((config.parent / "store" / "annotations.json").read_text())["sessions"]
        assert stored == {SESSION: {"starred": True, "note": "mine"}}

    def test_no_tag_of_two_processes_is_lost(self, config: Path) -> None:
        def add(who: str) -> None:
            for n in range(12):
                Annotations().change(SESSION, tag=[f"{who}{n}"])

        at_once(*(partial(add, who) for who in "xy"))
        assert set(Annotations().of(SESSION).tags) == {f"{who}{n}" for who in "xy" for n in range(12)}

    def test_they_are_forgotten_with_the_session(self, config: Path) -> None:
        reread.tag_sessions(SESSION, OTHER, add="secret-plan")
        os.utime(write(config, SESSION, user("more")), (1, 1))
        reread.delete(SESSION, now=True)
        assert set(Annotations().all()) == {OTHER}

    def test_they_are_kept_when_only_the_copy_is_left(self, config: Path) -> None:
        reread.tag_sessions(SESSION, add="release")
        reread.keep()
        (config / "projects" / "-work-app" / f"{SESSION}.jsonl").unlink()
        (header,) = reread.sessions(tag="release")
        assert header.gone and header.tags == ("release",)


class TestArchive:
    def test_a_session_is_left_out_until_it_is_taken_out_again(self, config: Path) -> None:
        done = cli("archive", "5e55")
        assert done.stdout.startswith(f"Archived {SESSION}") and archived() == {SESSION}
        listed = cli("ls")
        assert SESSION[:8] not in listed.stdout and OTHER[:8] in listed.stdout
        assert "1 archived session left out; --only archived lists them." in listed.output
        assert [one["id"] for one in json.loads(cli("ls", "--only", "archived", "--json").stdout)] == [SESSION]
        assert {hit.session for hit in reread.search("prompt")} == {SESSION, OTHER}
        assert "archived" in sessions_answer() and reread.open(SESSION).turns
        assert {row.id: row.archived for row in SessionLibrary().listing().sessions} == {SESSION: True, OTHER: False}
        cli("archive", "--undo", SESSION)
        assert not archived() and cli("ls", "--only", "archived").exit_code == 1

    def test_what_the_client_can_read_is_written_and_the_rest_is_kept(self, config: Path) -> None:
        path = mark(config, {"archived": False, "at": at(0), "by": "cli", "pinned": {"x": [1]}})
        reread.archive_sessions(SESSION)
        stored = json.loads(path.read_text())
        time = datetime.fromisoformat(stored.pop("at"))
        assert abs(datetime.now(UTC) - time) < timedelta(minutes=5)
        assert stored == {"archived": True, "by": "reread", "pinned": {"x": [1]}}
        assert [one.name for one in path.parent.iterdir()] == ["archived.json"]
        reread.archive_sessions(OTHER)
        other = path.parent.with_name(OTHER) / path.name
        if os.name == "posix":  # as the client makes them
            assert (other.stat().st_mode & 0o777, other.parent.stat().st_mode & 0o777) == (0o600, 0o700)

    @pytest.mark.parametrize(
        ("records", "is_archived"),
        [
            ([user("And now?")], False),
            ([user("<command-name>/cost</command-name>")], False),
            ([attachment("queued_command", {"prompt": "And now?", "commandMode": "prompt"})], False),
            ([reply(text("Still at it."))], True),
            ([user("In an agent", isSidechain=True)], True),
            ([user("From a task", origin={"kind": "task-notification"})], True),
            ([user([{"type": "tool_result", "tool_use_id": "c1", "content": "x"}])], True),
            ([user("And now?"), reply(text("Yes.")), reply(text("Done."), id="msg_2")], False),
        ],
    )
    def test_a_prompt_that_was_typed_since_takes_it_out(
        self, config: Path, records: list[dict[str, Any]], is_archived: bool
    ) -> None:
        mark(config, {"archived": True, "at": at(1)})
        assert archived() == {SESSION}
        write(config, SESSION, *records, hours=2)
        assert archived() == ({SESSION} if is_archived else set())

    @pytest.mark.parametrize(
        "value",
        [
            "",
            "{torn",
            "[1]",
            "x" * 5000,
            '{"archived": true}',
            *(
                json.dumps({"archived": said, "at": then})
                for said, then in ((1, at(1)), (True, "noon"), (False, at(1)))
            ),
        ],
    )
    def test_what_says_nothing_archives_nothing(self, config: Path, value: str) -> None:
        path = mark(config, value)
        assert not archived()
        try:
            reread.archive_sessions(SESSION)
        except Unreadable:
            assert path.read_text() == value  # it is not ours to repair
        else:
            assert archived() == {SESSION}

    def test_it_is_kept_and_restored_with_the_session(self, config: Path) -> None:
        reread.archive_sessions(SESSION)
        reread.keep()
        (config / "projects" / "-work-app" / f"{SESSION}.jsonl").unlink()
        (config / "projects" / "-work-app" / SESSION / "archived.json").unlink()
        assert archived() == {SESSION}
        with pytest.raises(Misuse, match="only kept"):
            reread.archive_sessions(SESSION, undo=True)
        reread.Archive().restore(SESSION, to=config)
        reread.archive_sessions(SESSION, undo=True)
        assert not archived()

    def test_it_is_deleted_with_the_session(self, config: Path) -> None:
        reread.archive_sessions(SESSION)
        os.utime(config / "projects" / "-work-app" / f"{SESSION}.jsonl", (1, 1))
        reread.delete(SESSION, now=True)
        assert not [path for path in config.rglob("*") if SESSION in str(path)]

    def test_what_claude_code_does_not_list_cannot_be_archived(self, config: Path, tmp_path: Path) -> None:
        reread.Store().append("talk", json.dumps({"type": "system", "session_id": "x"}).encode())
        with pytest.raises(Misuse, match="captured"):
            reread.archive_sessions("talk")
        loose = tmp_path / "loose" / "a.jsonl"
        loose.parent.mkdir()
        loose.write_bytes(jsonl(user("x")))
        with pytest.raises(Misuse, match="--root"):
            reread.archive_sessions(loose)
        with pytest.raises(Misuse, match="--demo"):
            cli("archive", "--demo", "latest")

    def test_a_session_with_a_later_prompt_is_not_said_to_be_archived(self, config: Path) -> None:
        write(config, OTHER, user("From a clock that is ahead"), hours=24 * 365 * 100)
        with pytest.raises(Misuse, match=f"{OTHER} is not archived"):
            reread.archive_sessions(OTHER)
        assert not archived()

    def test_what_the_app_has_archived_is_taken_out_there(self, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sys.platform", "linux")
        monkeypatch.setenv("XDG_CONFIG_HOME", str(config.parent))
        app = config.parent / "Claude" / "claude-code-sessions" / "account" / "local_1.json"
        app.parent.mkdir(parents=True)
        app.write_text(json.dumps({"cliSessionId": SESSION, "isArchived": True}))
        reread.archive_sessions(SESSION, OTHER)
        with pytest.raises(Misuse, match=f"desktop app has archived {SESSION}"):
            reread.archive_sessions(SESSION, OTHER, undo=True)
        assert archived() == {SESSION}
        app.write_text(json.dumps({"cliSessionId": SESSION, "isArchived": False}))
        assert not archived()

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
    def test_whoever_is_killed_leaves_it_archived_or_not(self, config: Path) -> None:
        path, was_killed = mark(config, ""), True
        for step in range(4000):
            mark(config, {"archived": False, "at": at(0), "by": "cli"})
            was_killed = killed(lambda: reread.archive_sessions(SESSION), step, events=(*CHANGES, "open"))
            assert json.loads(path.read_text())["archived"] in (True, False)
            reread.archive_sessions(SESSION)
            assert archived() == {SESSION}
            if not was_killed:
                break
        assert not was_killed
        assert sorted(one.name for one in path.parent.iterdir()) == ["archived.json"]

    def test_two_processes_agree(self, config: Path) -> None:
        path = mark(config, {"archived": False, "at": at(0), "more": 1})

        def change(undo: bool) -> None:
            for _ in range(25):
                reread.archive_sessions(SESSION, undo=undo)

        at_once(*(partial(change, undo) for undo in (True, False)))
        assert json.loads(path.read_text())["more"] == 1
