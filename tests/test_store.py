"""The store of captured conversations: names, lines, locks, repairs and configuration."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from uuid import RFC_4122, UUID

import making  # noqa: F401  (the hypothesis profile)
import pytest
from batches import table
from hypothesis import given
from hypothesis import strategies as st

import reread
from reread.catalog import config
from reread.catalog.headers import read_header
from reread.catalog.store import Store, companions
from reread.catalog.stored_conversation import StoredConversation
from reread.catalog.stored_line import LineType, RunMarker, StoredLine, decode_line, line_type
from reread.disk.filenames import MAX_LENGTH, filename_for, id_from_filename
from reread.errors import Unwritable
from reread.recording.player import find_recording
from reread.records.dialects.stored import STAND_IN

ODD_IDS = [
    "",
    ".",
    "..",
    "a/b",
    "a\\b",
    "CON",
    "con",
    "nul.txt",
    "com1",
    "Ünï",
    "e\u0301",
    "\u00e9",
    "A",
    "a",
    "a.",
    "-x",
]
ODD_IDS += [
    "%41",
    "%",
    "a%=b",
    "agent-1",
    "history",
    "subagents",
    "x" * 500,
    "x" * 499 + "y",
    "a b",
    "\x00",
    "\ud800",
    "日本",
]


class TestNames:
    @table("id", ODD_IDS)
    def test_are_safe_on_every_system(self, id: str) -> None:
        name = filename_for(id)
        assert 0 < len(name) <= MAX_LENGTH + 2
        assert name == name.lower()
        assert not set(name) - set("abcdefghijklmnopqrstuvwxyz0123456789_-.%=")
        assert not name.startswith(("-", ".", "agent-")) and not name.endswith(".")
        assert name.split(".")[0] not in ("con", "nul", "com1")

    def test_are_one_to_one(self) -> None:
        assert len({filename_for(id) for id in ODD_IDS}) == len(ODD_IDS)

    @given(st.text(max_size=30))
    def test_map_back_to_the_id(self, id: str) -> None:
        name = filename_for(id)
        assert id_from_filename(name) == (id if "%=" not in name else None)

    @given(st.text(max_size=200), st.text(max_size=200))
    def test_of_different_ids_differ(self, one: str, other: str) -> None:
        assert (filename_for(one) == filename_for(other)) == (one == other)

    @pytest.mark.parametrize("id", ODD_IDS, ids=ascii)
    def test_any_id_is_stored_and_found(self, id: str, tmp_path: Path) -> None:
        store = Store(tmp_path)
        store.append(id, b'{"type":"x"}', workspace=id, agent=id)
        (stored,) = store.conversations()
        assert (stored.id, stored.agent) == (id, id)
        assert stored.path.resolve().is_relative_to(tmp_path.resolve() / "conversations")
        assert [line.conversation_id for line in stored.lines()] == [id]

    def test_a_hash_without_the_id_in_its_file_is_the_id(self, tmp_path: Path) -> None:
        hashed = filename_for("x" * 500)
        path = tmp_path / "conversations" / hashed / hashed / f"{hashed}.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"{}\n")
        (stored,) = Store(tmp_path).conversations()
        assert (stored.workspace, stored.agent, stored.id) == (hashed, hashed, hashed)

    def test_a_file_named_by_another_program_is_read_and_appended_to(self, tmp_path: Path) -> None:
        path = tmp_path / "conversations" / "My Work" / "Agent" / "Conv1.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(chorus_line("Conv1"))
        store = Store(tmp_path)
        stored = store.open("Conv1")
        assert (stored.workspace, stored.agent, stored.id) == ("My Work", "Agent", "Conv1")
        store.append("Conv1", b"{}", workspace="default")
        assert len(list(store.conversations())) == 2

    def test_a_bare_name_given_by_another_program_is_used(self, tmp_path: Path) -> None:
        path = tmp_path / "conversations" / "default" / "default" / "Conv1.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(chorus_line("Conv1"))
        Store(tmp_path).append("Conv1", b"{}")
        assert list(path.parent.iterdir()) == [path]
        assert len(list(Store(tmp_path).open("Conv1").lines())) == 2


def chorus_line(conversation: str) -> bytes:
    """Return a line as another program writes it: with spaces, and its keys in another order."""
    message = '{"type": "assistant", "session_id": "s-1", "message": {"id": "m", "role": "assistant", "content": []}}'
    return (
        f'{{"claudeMessage": {message} , "id": "1", "conversationId": "{conversation}", "agentId": "a", '
        '"timestamp": "2026-11-15T10:00:00Z"}\n'
    ).encode()


class TestLines:
    @pytest.mark.parametrize(
        "raw",
        [
            b'{"a":1}',
            b'{"a":"\\ud800"}',
            b'{"a":1e999}',
            b'{"a":123456789012345678901234567890}',
            b'{"a":1,"a":2}',
            b'{"claudeMessage":{"b":2}}',
            '{"a":"ü\u2028"}'.encode(),
            b'{"a":\r1}',
        ],
    )
    def test_a_valid_object_is_embedded_byte_for_byte(self, raw: bytes, tmp_path: Path) -> None:
        line, data = store_line(tmp_path, raw + b"\n")
        assert raw in data and line.raw == raw and line.end == b"\n"
        assert json.loads(data)["claudeMessage"] is not None

    @pytest.mark.parametrize(
        "raw",
        [
            *(b"", b"plain", b"[1]", b"1", b' {"a":1}', b'{"a":1} ', b'{"a":NaN}', b'{"a":1}{"b":2}', b'{"a":"\xff"}'),
            *(b'\xef\xbb\xbf{"a":1}', b'{"a":"\x01"}', b'{"a":1,}', b"\x00" * 20, b'{"a":"\xed\xa0\x80"}', b"{" * 5000),
        ],
    )
    def test_anything_else_is_stored_as_base64(self, raw: bytes, tmp_path: Path) -> None:
        line, data = store_line(tmp_path, raw + b"\n")
        assert line.raw == raw
        assert json.loads(data)["claudeMessage"]["type"] == "system" and json.loads(data)["raw"] is not None
        older = re.sub(rb'"claudeMessage":{[^}]*}', b'"claudeMessage":null', data)
        assert decode_line(older) == decode_line(data) and b":null" in older

    def test_every_line_has_a_message_that_a_strict_reader_accepts(self, tmp_path: Path) -> None:
        with Store(tmp_path).writer("c") as writer:
            writer.start_run(["claude", "-p", "hi"], cwd="/w")
            writer.extend([b"plain\n", STAND_IN + b"\n", b'{"type":"user","message":{"content":"hi"}}\n'])
            writer.end_run(0)
        (path,) = tmp_path.rglob("c.jsonl")
        lines = path.read_bytes().splitlines()
        for line in map(json.loads, lines):
            assert all(isinstance(line[name], str) for name in ("id", "conversationId", "agentId", "timestamp"))
            assert line["claudeMessage"]["type"] in ("system", "assistant", "user", "result")
        stored = [line for line in map(decode_line, lines) if isinstance(line, StoredLine)]
        assert [line.raw for line in stored[:2]] == [b"plain", STAND_IN]
        older = tmp_path / "older.jsonl"
        older.write_bytes(b"".join(re.sub(rb'%b,"r' % re.escape(STAND_IN), b'null,"r', line) + b"\n" for line in lines))
        for written in (path, older):
            session = reread.open(written)
            assert [record.type for record in session.records] == ["run", "output", "system", "user", "run"]
            assert session.project == "/w"

    def test_have_their_fields_in_order(self, tmp_path: Path) -> None:
        _, data = store_line(tmp_path, b"{}\n")
        assert list(json.loads(data)) == ["id", "conversationId", "agentId", "timestamp", "claudeMessage"]

    def test_line_end_and_stream_are_stored_only_if_unusual(self, tmp_path: Path) -> None:
        with Store(tmp_path).writer("c") as writer:
            writer.extend([b"{}\r\n", b"{}"])
            writer.extend([b"{}\n"], stream="in")
        lines = [json.loads(line) for line in writer.path.read_bytes().splitlines()]
        assert [line.get("end") for line in lines] == ["\r\n", "", None]
        assert [line.get("stream") for line in lines] == [None, None, "in"]

    def test_with_a_newline_inside_stay_one_line(self, tmp_path: Path) -> None:
        Store(tmp_path).append("c", b'{"a":\n1}')
        assert [line.raw for line in Store(tmp_path).open("c").lines()] == [b'{"a":\n1}']

    def test_have_a_random_uuid_each(self, tmp_path: Path) -> None:
        with Store(tmp_path).writer("c") as writer:
            writer.extend([b"{}\n"] * 200)
        ids = [UUID(line.id) for line in StoredConversation(writer.path).lines()]
        assert len(set(ids)) == 200
        assert {(id.version, id.variant) for id in ids} == {(4, RFC_4122)}

    @pytest.mark.parametrize(
        "line",
        [
            b'{"claudeMessage":null,"raw":"e!A=="}',
            b'{"claudeMessage":null,"raw":7}',
            b'{"claudeMessage":null,"run":{"event":"pause"}}',
            b'{"claudeMessage":null,"run":{},"raw":"eA=="}',
            b'{"raw":"eA=="}',
        ],
    )
    def test_of_another_form_are_damaged(self, line: bytes) -> None:
        assert decode_line(line) is None

    def test_unexpected_values_have_defaults(self) -> None:
        line = decode_line(b'{"claudeMessage":{},"id":1,"stream":"side","end":2,"costUSD":true}')
        assert line == StoredLine("", "", "", None, b"{}", end=b"\n", stream="out")
        assert decode_line(b'{"claudeMessage":null,"run":{"event":"end","exitCode":"1"}}') == RunMarker("end")

    @given(st.binary(max_size=300))
    def test_damaged_lines_never_raise(self, data: bytes) -> None:
        assert decode_line(data) is None or isinstance(decode_line(data), StoredLine | RunMarker)
        assert line_type(data) is None or json.loads(data) is not None

    @pytest.mark.parametrize("value", [b'"x"', b'"\\ud800"', b"1" + b"0" * 400, b"1e999"])
    def test_have_a_type_whatever_msgspec_thinks_of_their_values(self, value: bytes) -> None:
        assert line_type(b'{"type":"system","subtype":"init","a":%b}' % value) == LineType("system")

    @pytest.mark.parametrize("conversation", [b"c", b"\\ud800"], ids=["fast", "lenient"])
    def test_that_are_not_utf8_are_damaged(self, conversation: bytes) -> None:
        line = b'{"conversationId":"%b","claudeMessage":{"a":"%b"}}\n'
        assert decode_line(line % (conversation, "ä".encode())) is not None
        assert decode_line(line % (conversation, b"\xe4")) is None


def store_line(root: Path, line: bytes) -> tuple[StoredLine, bytes]:
    with Store(root).writer("c") as writer:
        writer.extend([line])
    (stored,) = StoredConversation(writer.path).lines()
    return stored, writer.path.read_bytes()


class TestConversations:
    def test_are_found_by_id_prefix_path_and_latest(self, tmp_path: Path) -> None:
        store = Store(tmp_path)
        for n, name in enumerate(("first", "second", "secret")):
            store.append(name, b"{}")
            os.utime(store.path_of(name), (n, n))
        assert [stored.id for stored in store.conversations()] == ["secret", "second", "first"]
        assert store.open("latest").id == "secret"
        assert store.open("f").id == store.open(store.path_of("first")).id == "first"
        assert store.open("second").id == "second"
        with pytest.raises(reread.Ambiguous, match="matches 2 conversations"):
            store.open("sec")
        with pytest.raises(reread.NotFound, match="ls --only captured"):
            store.open("nowhere")

    def test_an_exact_id_is_preferred_to_a_prefix(self, tmp_path: Path) -> None:
        for name in ("a", "ab"):
            Store(tmp_path).append(name, b"{}")
        assert Store(tmp_path).open("a").id == "a"

    def test_know_the_folder_of_their_store(self, tmp_path: Path) -> None:
        Store(tmp_path).append("c", b"{}")
        assert Store(tmp_path).open("c").root == tmp_path
        assert StoredConversation(tmp_path / "some" / "other" / "place" / "c.jsonl").root is None

    def test_see_lines_that_are_added_later(self, tmp_path: Path) -> None:
        store = Store(tmp_path)
        store.append("c", b'{"session_id":"s-1"}')
        stored = store.open("c")
        assert stored.session_ids == ["s-1"]
        store.append("c", b'{"sessionId":"s-2"}')
        store.append("c", b'{"session_id":"s-3"}', stream="in")
        store.append("c", b'{"session_id":"s-4"}', stream="err")
        assert stored.session_ids == ["s-1", "s-2"]

    def test_a_run_that_names_its_session_is_found(self, tmp_path: Path) -> None:
        for argv in (["claude", "-p", "Hi"], ["claude", "--resume", "s-1"]):
            with Store(tmp_path).writer("c") as writer:
                writer.start_run(argv)
                writer.append(b'{"session_id":"s-1"}')
                writer.end_run(0)
        assert [run.argv[-1] for run in Store(tmp_path).open("c").runs] == ["Hi", "s-1"]

    @pytest.mark.parametrize(("sessions", "found"), [(["s-1"], True), (["s-1", "s-2"], False)])
    def test_of_other_sessions_too_are_not_joined_with_a_transcript(
        self, sessions: list[str], found: bool, tmp_path: Path
    ) -> None:
        for session in sessions:
            Store(tmp_path).append("c", json.dumps({"type": "result", "session_id": session}).encode())
        transcript = tmp_path / "projects" / "p" / "s-1.jsonl"
        transcript.parent.mkdir(parents=True)
        transcript.write_text('{"type":"user","sessionId":"s-1"}\n')
        capture = Store(tmp_path).path_of("c")
        assert companions(transcript, [tmp_path]) == ([capture] if found else [])
        assert companions(capture, [tmp_path]) == [transcript]

    def test_are_filtered_by_workspace_and_agent(self, tmp_path: Path) -> None:
        store = Store(tmp_path)
        store.append("a", b"{}", workspace="W")
        store.append("b", b"{}", agent="helper")
        assert [stored.id for stored in store.conversations(workspace="W")] == ["a"]
        assert [stored.id for stored in store.conversations(agent="helper")] == ["b"]

    def test_runs_have_their_start_and_end(self, tmp_path: Path) -> None:
        store = Store(tmp_path)
        for code, title in ((0, None), (3, "Second try")):
            with store.writer("c") as writer:
                writer.start_run(["claude", "-p", "ä\udcff"], cwd="/work", title=title)
                writer.extend([b'{"session_id":"s-%d"}\n' % code])
                writer.end_run(code)
        stored = store.open("c")
        assert [(run.argv, run.cwd, run.exit_code) for run in stored.runs] == [
            (["claude", "-p", "ä\udcff"], "/work", 0),
            (["claude", "-p", "ä\udcff"], "/work", 3),
        ]
        assert all(run.started is not None and run.ended is not None for run in stored.runs)
        assert stored.title == "Second try" and stored.session_ids == ["s-0", "s-3"]
        assert [line.run for line in stored.lines()] == [1, 2]

    def test_written_by_another_program_have_one_run(self, tmp_path: Path) -> None:
        path = tmp_path / "c.jsonl"
        path.write_bytes(chorus_line("c") * 2)
        stored = StoredConversation(path)
        assert [run.started for run in stored.runs] == [datetime(2026, 11, 15, 10, tzinfo=UTC)]
        assert [line.raw[:9] for line in stored.lines()] == [b'{"type": '] * 2

    def test_lines_of_another_program_before_the_first_run_are_a_run(self, tmp_path: Path) -> None:
        store = Store(tmp_path)
        with store.writer("c") as writer:
            writer.start_run(["claude"])
            writer.extend([b"{}\n"])
        path = store.open("c").path
        path.write_bytes(chorus_line("c") + path.read_bytes())
        stored = store.open("c")
        assert [line.run for line in stored.lines()] == [1, 2]
        assert [run.argv for run in stored.runs] == [[], ["claude"]]

    def test_a_folder_of_another_program_is_found_in_the_working_directory(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("REREAD_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "none"))
        path = tmp_path / ".chorus" / "conversations" / "w" / "a" / "talk.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(chorus_line("talk"))
        monkeypatch.chdir(tmp_path)
        assert [stored.id for stored in Store().conversations()] == ["talk"]
        assert [(header.id, header.captured) for header in reread.sessions()] == [("talk", True)]
        assert reread.open("talk").path == reread.open("talk", root=tmp_path / ".chorus").path == path
        assert reread.open("s-1").path == path and Store().open("s-1").id == "talk"

    def test_its_header_has_the_prompt_of_its_command_and_the_model(self, tmp_path: Path) -> None:
        with Store(tmp_path).writer("c") as writer:
            writer.start_run(["claude", "-p", "Tidy the harbor"])
            writer.append(b'{"type":"system","subtype":"init","session_id":"s","model":"claude-x","cwd":"/w"}')
            writer.end_run(0)
        header = read_header(Store(tmp_path).open("c").path)
        assert (header.title, header.title_guessed, header.model) == ("Tidy the harbor", True, "claude-x")


class TestCost:
    def test_is_the_difference_to_the_previous_result(self, tmp_path: Path) -> None:
        assert costs(tmp_path, "2.1.325", [[1.0, 1.5], [1.75]]) == [1.0, 0.5, 0.25]

    def test_of_an_older_client_restarts_with_each_process(self, tmp_path: Path) -> None:
        assert costs(tmp_path, "2.1.220", [[1.0, 1.5], [1.75]]) == [1.0, 0.5, 1.75]

    def test_a_smaller_total_is_a_restart(self, tmp_path: Path) -> None:
        assert costs(tmp_path, "2.1.325", [[1.0], [0.25]]) == [1.0, 0.25]

    def test_continues_with_the_next_writer(self, tmp_path: Path) -> None:
        store = Store(tmp_path)
        for total in (1.0, 1.5):
            store.append("c", b'{"type":"result","session_id":"s","total_cost_usd":%f,"duration_ms":7}' % total)
        assert [(line.cost_usd, line.duration_ms) for line in store.open("c").lines()] == [(1.0, 7), (0.5, 7)]

    def test_of_another_session_starts_from_zero(self, tmp_path: Path) -> None:
        for session, total in (("a", 1.0), ("b", 1.5)):
            Store(tmp_path).append("c", result_line(session, total))
        assert [line.cost_usd for line in Store(tmp_path).open("c").lines()] == [1.0, 1.5]

    def test_counts_printed_results_only(self, tmp_path: Path) -> None:
        for stream, total in (("out", 1.0), ("err", 1.2), ("in", 1.3), ("out", 1.5)):
            Store(tmp_path).append("c", result_line("a", total), stream=stream)
        assert [line.cost_usd for line in Store(tmp_path).open("c").lines()] == [1.0, None, None, 0.5]
        with Store(tmp_path).writer("d") as writer:
            for stream, total in (("out", 1.0), ("err", 1.2), ("out", 1.5)):
                writer.append(result_line("a", total), stream=stream)
        assert [line.cost_usd for line in Store(tmp_path).open("d").lines()] == [1.0, None, 0.5]

    def test_a_result_without_a_total_costs_the_sum_of_its_models(self, tmp_path: Path) -> None:
        store = Store(tmp_path)
        for amounts in ((0.25, 0.5), (0.25, 1.0)):
            models = {f"m{n}": {"inputTokens": n, "costUSD": cost} for n, cost in enumerate(amounts)}
            store.append("c", json.dumps({"type": "result", "session_id": "s", "modelUsage": models}).encode())
        assert [line.cost_usd for line in store.open("c").lines()] == [0.75, 0.5]


def result_line(session: str, total: float) -> bytes:
    return json.dumps({"type": "result", "session_id": session, "total_cost_usd": total}).encode()


def costs(root: Path, version: str, runs: list[list[float]]) -> list[float | None]:
    init = {"type": "system", "subtype": "init", "session_id": "s", "claude_code_version": version}
    for totals in runs:
        with Store(root).writer("c") as writer:
            writer.start_run(["claude"])
            results = [{"type": "result", "session_id": "s", "total_cost_usd": total} for total in totals]
            writer.extend([json.dumps(value).encode() + b"\n" for value in (init, *results)])
            writer.end_run(0)
    return [line.cost_usd for line in Store(root).open("c").lines() if b'"result"' in line.raw]


class TestWriters:
    def test_a_conversation_has_one_at_a_time(self, tmp_path: Path) -> None:
        store = Store(tmp_path)
        with store.writer("c"), pytest.raises(reread.Misuse, match="is being captured right now"):
            store.writer("c")
        store.writer("c").close()

    def test_append_waits_for_another_writer(self, tmp_path: Path) -> None:
        writer = Store(tmp_path).writer("c")
        threading.Timer(0.3, writer.close).start()
        Store(tmp_path).append("c", b"{}")
        assert len(list(Store(tmp_path).open("c").lines())) == 1

    def test_a_torn_line_gets_a_newline_and_stays(self, tmp_path: Path) -> None:
        store = Store(tmp_path)
        store.append("c", b'{"n":1}')
        path = store.path_of("c")
        before = path.read_bytes() + b'{"id":"x","conversa'
        path.write_bytes(before)
        with store.writer("c") as writer:
            assert writer.repair is not None and "19 bytes" in writer.repair
            writer.extend([b'{"n":2}\n'])
        assert path.read_bytes().startswith(before + b"\n")
        assert [line.raw for line in store.open("c").lines()] == [b'{"n":1}', b'{"n":2}']
        assert [finding.code for finding in reread.check(path) if finding.level == "error"] == ["not-json"]

    def test_a_complete_line_without_newline_is_kept(self, tmp_path: Path) -> None:
        store = Store(tmp_path)
        store.append("c", b'{"n":1}')
        path = store.path_of("c")
        path.write_bytes(path.read_bytes()[:-1])
        with store.writer("c") as writer:
            assert writer.repair is not None and "the missing newline was added" in writer.repair
        assert [line.raw for line in store.open("c").lines()] == [b'{"n":1}']
        assert not [finding for finding in reread.check(path) if finding.level == "error"]

    def test_threads_write_whole_lines(self, tmp_path: Path) -> None:
        with Store(tmp_path).writer("c") as writer:
            threads = [
                threading.Thread(target=lambda n=n: [writer.extend([b'{"n":%d}\n' % n]) for _ in range(50)])
                for n in range(8)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert len(list(StoredConversation(writer.path).lines())) == 400

    @pytest.mark.usefixtures("no_bytecode")
    @pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
    def test_a_full_disk_is_an_error_and_the_lines_that_fit_are_counted(self, tmp_path: Path) -> None:
        program = "import resource, sys; from reread.catalog.store import Store; from reread.errors import Unwritable\n"
        program += "resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))\n"
        program += "writer = Store(sys.argv[1]).writer('c')\n"
        program += "try: writer.extend([b'{}\\n'] * 200)\nexcept Unwritable as error: print(writer.line_count, error)"
        done = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True)
        count, _, reason = done.stdout.partition(" ")
        assert "File too large" in reason
        assert int(count) == len(list(Store(tmp_path).open("c").lines())) > 5

    @pytest.mark.parametrize(("mode", "count"), [("never", 0), ("result", 3), ("line", 5)])
    def test_force_lines_onto_the_disk_as_chosen(
        self, mode: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        synced: list[int] = []
        monkeypatch.setattr(os, "fsync", synced.append)
        with Store(tmp_path).writer("c", fsync=mode) as writer:
            synced.clear()  # the configuration
            writer.start_run(["claude"])
            writer.append(b"{}")
            writer.append(b'{"type":"result"}')
            writer.extend([b"{}\n"])
            writer.extend([b'{"type":"result"}\n', b"{}\n"])
            writer.end_run(0)
        assert len(synced) == count

    def test_reject_an_unknown_fsync_mode(self, tmp_path: Path) -> None:
        with pytest.raises(reread.Misuse, match="Invalid fsync mode 'often'; use never, result or line"):
            Store(tmp_path).writer("c", fsync="often")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(("number", "raises"), [(errno.EINVAL, False), (errno.EIO, True)])
    def test_an_fsync_error_is_raised_unless_the_file_does_not_support_it(
        self, number: int, raises: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(fd: int) -> None:
            raise OSError(number, os.strerror(number))

        with Store(tmp_path).writer("c", fsync="line") as writer:
            monkeypatch.setattr(os, "fsync", fail)
            with pytest.raises(Unwritable) if raises else nullcontext():
                writer.append(b"{}")

    def test_continue_after_a_short_write(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write = os.write
        with Store(tmp_path).writer("c") as writer:
            monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:7]))
            writer.append(b'{"n":1}')
        assert [line.raw for line in StoredConversation(writer.path).lines()] == [b'{"n":1}']

    @pytest.mark.skipif(os.name != "posix", reason="SIGKILL is a POSIX signal")
    def test_a_killed_writer_loses_at_most_the_line_in_flight(self, tmp_path: Path) -> None:
        """The writer prints each number once its line is written; after each kill, what it printed must be there."""
        program = (
            "import sys; from reread.catalog.store import Store\n"
            "start = int(sys.argv[2])\n"
            "with Store(sys.argv[1]).writer('c') as writer:\n"
            "    for n in range(start, start + 1_000_000):\n"
            '        writer.extend([b\'{"n":%d,"pad":"%s"}\\n\' % (n, b\'x\' * (n % 3000))])\n'
            "        print(n, flush=True)\n"
        )
        printed = -1
        for turn in range(8):
            child = subprocess.Popen(
                [sys.executable, "-c", program, tmp_path, str(printed + 1)], stdout=subprocess.PIPE
            )
            assert child.stdout is not None
            for _ in range(20 + 37 * turn):
                printed = int(child.stdout.readline())
            child.send_signal(signal.SIGKILL)
            rest = child.stdout.read().splitlines()
            child.wait()
            printed = int(rest[-1]) if rest and rest[-1].isdigit() else printed
            child.stdout.close()
            numbers = [json.loads(line.raw)["n"] for line in Store(tmp_path).open("c").lines()]
            assert numbers[-1] in (printed, printed + 1)
            assert numbers == list(range(numbers[-1] + 1))
            printed = numbers[-1]


class TestConfiguration:
    def test_lists_the_workspaces_and_keeps_unknown_fields(self, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text('{"theme": "dark", "workspaces": ["old"], "settings": {"x": 1}}')
        Store(tmp_path).append("c", b"{}", workspace="new")
        Store(tmp_path).append("c", b"{}", workspace="new")
        assert json.loads((tmp_path / "config.json").read_text()) == {
            "version": 1,
            "theme": "dark",
            "workspaces": ["old", "new"],
            "settings": {"x": 1},
        }

    @pytest.mark.parametrize("written", ["not JSON", '{"version": 99}', '{"workspaces": {"a": 1}}', "[]"])
    def test_an_unknown_form_is_left_alone(self, written: str, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text(written)
        Store(tmp_path).append("c", b"{}", workspace="new")
        assert (tmp_path / "config.json").read_text() == written

    def test_a_workspace_listed_as_an_object_is_found(self, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text('{"workspaces": [{"id": "w"}]}')
        Store(tmp_path).append("c", b"{}", workspace="w")
        assert json.loads((tmp_path / "config.json").read_text()) == {"workspaces": [{"id": "w"}]}

    def test_that_cannot_be_written_does_not_stop_a_writer(self, tmp_path: Path) -> None:
        (tmp_path / "config.lock").mkdir()
        Store(tmp_path).append("c", b"{}", workspace="w")
        assert [stored.workspace for stored in Store(tmp_path).conversations()] == ["w"]

    def test_is_read_again_under_the_lock(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def lock_after_another_process(fd: int, *, wait: float) -> bool:
            (tmp_path / "config.json").write_text('{"workspaces": ["w"]}')
            return True

        monkeypatch.setattr("reread.storage.json_update.lock", lock_after_another_process)
        config.add_workspace(tmp_path, "w")
        assert json.loads((tmp_path / "config.json").read_text()) == {"workspaces": ["w"]}

    def test_concurrent_writers_add_all_workspaces(self, tmp_path: Path) -> None:
        threads = [
            threading.Thread(target=lambda n=n: Store(tmp_path).append("c", b"{}", workspace=f"w{n}"))
            for n in range(12)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        listed = json.loads((tmp_path / "config.json").read_text())["workspaces"]
        assert sorted(listed) == sorted(f"w{n}" for n in range(12))


@pytest.mark.parametrize("id", ["talk/../x", "a\\b", "notes.jsonl", "CON"])
def test_a_conversation_with_any_id_is_found(id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "none"))
    raw = b'{"type":"system","subtype":"init","session_id":"s"}'
    Store().append(id, raw)
    assert Store().open(id).id == id
    assert [line.raw for line in Store().open(id).lines()] == [raw]
    assert reread.open(id).path == Store().open(id).path == find_recording(id).path
