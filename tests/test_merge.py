"""A captured conversation and the transcripts of its sessions: each fills what the other lacks."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import making
import pytest
from effort import one_in
from making import SESSION, reply, told, user

import reread
from reread.catalog.store import Store
from reread.session.merge import RULES

DATA = Path(os.environ.get("REREAD_REAL_CLIENT", "/nowhere")) / "data"
CODES = {rule.code for rule in RULES}


def transcript(root: Path, *records: making.Object, session: str = SESSION) -> list[making.Object]:
    """Records in the place where the client would have written them."""
    path = root / "projects" / "-home-dev" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    chained = [record | {"sessionId": session} for record in told(*records)]
    path.write_bytes(making.jsonl(*chained))
    return chained


def capture(root: Path, *lines: making.Object, code: int | None = 0, **options: Any) -> None:
    """Lines as a run of the conversation `c`."""
    with Store(root).writer("c") as writer:
        writer.start_run(["claude", "-p"], **options)
        writer.extend([json.dumps(line).encode() + b"\n" for line in lines])
        if code is not None:
            writer.end_run(code)


def printed(record: making.Object) -> making.Object:
    """A record of the transcript as it was printed."""
    kept = {key: record[key] for key in ("type", "message", "uuid")}
    return {**kept, "session_id": record["sessionId"], "parent_tool_use_id": None}


def result(**more: Any) -> making.Object:
    return {"type": "result", "subtype": "success", "is_error": False, "session_id": SESSION, **more}


def codes(root: Path) -> list[str]:
    return [finding.code for finding in reread.open("c", root=root).problems if finding.code in CODES]


class TestJoined:
    def test_words_that_only_the_capture_has_are_shown(self, tmp_path: Path) -> None:
        _, said, more = transcript(tmp_path, user("Hi"), reply("Hello."), user("On"))
        other = said | {"message": said["message"] | {"content": [{"type": "text", "text": "WOMBAT"}]}}
        capture(tmp_path, printed(said), printed(other), printed(more))
        session = reread.open("c", root=tmp_path)
        assert [message.text for message in session.messages] == ["Hi", "Hello.\n\nWOMBAT", "On"]

    def test_the_transcript_has_the_prompt_and_the_capture_the_result(self, tmp_path: Path) -> None:
        asked, said = transcript(tmp_path, user("Hi"), reply("Hello."))
        capture(tmp_path, printed(said), result(result="Hello.", total_cost_usd=0.5))
        session = reread.open("c", root=tmp_path)
        assert [turn.prompt.text for turn in session.turns if turn.prompt] == ["Hi"]
        assert [message.text for message in session.messages] == ["Hi", "Hello."]
        assert [outcome.cost_usd for outcome in session.results] == [0.5]
        assert session.id == SESSION and session.title == "Hi"
        assert b"".join(line.raw for line in session.lines) == Store(tmp_path).path_of("c").read_bytes()
        assert sum(session.ledger.fates.values()) == len(session.records) == 4
        there = reread.open(SESSION, root=tmp_path)
        assert [outcome.text for outcome in there.results] == ["Hello."]
        assert codes(tmp_path) == []
        assert asked["uuid"] != said["uuid"]

    def test_pull_requests_that_the_transcript_names_are_there(self, tmp_path: Path) -> None:
        link = {"type": "pr-link", "prNumber": 7, "prUrl": "https://github.com/a/b/pull/7", "prRepository": "a/b"}
        said = transcript(tmp_path, user("Hi"), reply("Hello."), *[user("More")] * 5, link)[1]
        capture(tmp_path, printed(said), result())
        session = reread.open("c", root=tmp_path)
        assert [pull.number for pull in session.pull_requests] == [one["prNumber"] for one in session.pr_links] == [7]

    def test_what_only_the_stream_has_stands_where_it_came(self, tmp_path: Path) -> None:
        _, one, _, two = transcript(tmp_path, user("Hi"), reply("One."), user("More"), reply("Two.", id="msg_2"))
        lost = {**printed(two), "uuid": "lost", "message": {**two["message"], "id": "msg_l", "content": "Lost."}}
        capture(tmp_path, printed(one), lost, result())
        capture(tmp_path, printed(two), result())
        texts = [message.text for message in reread.open("c", root=tmp_path).messages]
        assert texts == ["Hi", "One.", "Lost.", "More", "Two."]
        assert codes(tmp_path) == ["not-in-transcript"]

    def test_differences_are_said(self, tmp_path: Path) -> None:
        _, one, _, _ = transcript(tmp_path, user("Hi"), reply("One."), user("More"), reply("Two.", id="msg_2"))
        other = {**printed(one), "message": {**one["message"], "content": [making.text("Another.")]}}
        capture(tmp_path, other, result())
        assert sorted(codes(tmp_path)) == ["capture-differs", "not-captured"]

    def test_prompts_that_were_sent_are_not_told_twice(self, tmp_path: Path) -> None:
        _, said = transcript(tmp_path, user("Hi"), reply("Hello."))
        with Store(tmp_path).writer("c") as writer:
            writer.start_run(["claude"])
            writer.extend([json.dumps(user("Hi", session_id=SESSION)).encode() + b"\n"], stream="in")
            writer.extend([json.dumps(printed(said)).encode() + b"\n"])
        session = reread.open("c", root=tmp_path)
        assert [message.text for message in session.messages] == ["Hi", "Hello."]

    def test_without_a_transcript_what_was_sent_is_the_prompt(self, tmp_path: Path) -> None:
        Store(tmp_path).append("c", json.dumps(user("Hi", session_id="")).encode(), stream="in")
        Store(tmp_path).append("c", b'{"type":"user","not":"said"}', stream="err")
        session = reread.open("c", root=tmp_path)
        assert [turn.prompt.text for turn in session.turns if turn.prompt] == ["Hi"]

    def test_the_list_has_both_and_the_better_title(self, tmp_path: Path) -> None:
        _, said = transcript(tmp_path, user("Hi"), reply("Hello."))
        capture(tmp_path, printed(said), result())
        titles = {header.id: (header.title, header.captured) for header in reread.sessions(root=tmp_path)}
        assert titles == {"c": ("Hi", True), SESSION: ("Hi", False)}
        capture(tmp_path, result(), title="Mine")
        assert {header.title for header in reread.sessions(root=tmp_path)} == {"Hi", "Mine"}


class TestOutcomes:
    def results(self, root: Path) -> list[tuple[str, bool]]:
        return [(outcome.subtype, outcome.is_error) for outcome in reread.open("c", root=root).results]

    def test_each_is_shown_as_what_it_is(self, tmp_path: Path) -> None:
        init = {"type": "system", "subtype": "init", "session_id": SESSION}
        capture(tmp_path, init, result())
        capture(tmp_path, init, result(is_error=True, result="API Error: 401"))
        capture(tmp_path, init, result(subtype="error_max_turns", permission_denials=[{"tool_name": "Bash"}]))
        capture(tmp_path, init, code=137)
        capture(tmp_path, init, code=None)
        assert self.results(tmp_path) == [
            ("success", False),
            ("success", True),
            ("error_max_turns", True),
            ("no_result", True),
            ("no_result", True),
        ]
        found = reread.open("c", root=tmp_path).results
        assert found[2].denials == ("Bash",) and found[3].exit_code == 137

    def test_a_program_that_is_not_claude_owes_no_result(self, tmp_path: Path) -> None:
        capture(tmp_path, {"hello": "world"})
        assert self.results(tmp_path) == []


class TestUsage:
    @pytest.mark.parametrize(("version", "cost"), [("2.1.220", 2.5), ("2.1.325", 1.5)])
    def test_a_process_of_an_older_client_counts_anew(self, version: str, cost: float, tmp_path: Path) -> None:
        init = {"type": "system", "subtype": "init", "session_id": SESSION, "claude_code_version": version}
        for total in (1.0, 1.5):
            capture(tmp_path, init, result(total_cost_usd=total, uuid=f"u{total}"))
        assert reread.usage(root=tmp_path, cache=False).totals.reported_cost_usd == cost
        assert reread.open("c", root=tmp_path).usage.reported_cost_usd == cost

    @one_in(3)
    @pytest.mark.skipif(not DATA.is_dir(), reason="REREAD_REAL_CLIENT names no folder with the real client's data")
    @pytest.mark.parametrize("version", ["1.0.128", "2.0.55", "2.1.76", "2.1.220", "2.1.325"])
    @pytest.mark.parametrize(
        "name", ["agent", "agent_parallel", "compact", "parallel", "plain", "resume", "stream_input"]
    )
    def test_a_capture_and_its_transcript_are_counted_once(self, version: str, name: str, tmp_path: Path) -> None:
        scenario = DATA / version / name
        streams = sorted(scenario.glob("stream*.jsonl"))
        if not streams:
            pytest.skip("printed nothing")
        shutil.copytree(scenario / "projects", tmp_path / "projects")
        alone = reread.usage(root=tmp_path, cache=False).totals
        for stream in streams:
            with stream.open("rb") as lines, Store(tmp_path).writer("c") as writer:
                writer.start_run(["claude"])
                writer.extend(list(lines))
                writer.end_run(0)
        both = reread.usage(root=tmp_path, cache=False).totals
        names = ("responses", "input_tokens", "output_tokens", "cache_read_tokens", "cost_usd")
        assert [getattr(both, name) for name in names] == [getattr(alone, name) for name in names]
        session = reread.open("c", root=tmp_path)
        own = [m.text for t in session.transcripts for m in t.messages if m.kind == "response"]
        assert [message.text for message in session.messages if message.kind == "response"] == own
