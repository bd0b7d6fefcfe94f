"""The rows of the tables: every column has its value, and they say what the library says.

`fixtures/table_rows.json` has all columns of a session with something for each. Run with REREAD_GOLDEN=update to
rewrite it, and review the difference before you commit it.
"""

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from making import answer, jsonl, reply, result, system, thinking, told, use, user
from used import FIGURES, figures

import reread
from reread.base.paths import SAMPLES
from reread.base.times import month_of
from reread.dataset.arrow import BATCH_BYTES, arrow_schema, batches
from reread.dataset.freshness import transcript_states
from reread.dataset.schema import PARTITIONS, PER_FILE, TABLES
from reread.dataset.transcripts import TranscriptFile
from reread.dataset.usage_rows import settled_rows
from reread.disk.file_set import find_files
from reread.disk.machine import machine_id
from reread.errors import Misuse
from reread.session.session import threads_of

REAL = Path(__file__).parent / "real"
Rows = dict[str, list[dict[str, Any]]]


def rows_of(*paths: str | Path, text: bool = True) -> Rows:
    """Return the rows of files by table, as Arrow gives them back."""
    out: Rows = {name: [] for name in PER_FILE}
    for path in paths:
        made: dict[str, list[tuple[Any, ...]]] = {name: [] for name in PER_FILE}
        for name, row in TranscriptFile(path, "here").rows(text=text):
            made[name].append(row)
        for name, rows in made.items():
            out[name] += [row for batch in batches(TABLES[name], rows, text=text) for row in batch.to_pylist()]
    return out


@pytest.fixture(scope="module", params=["samples", "2.1.325"])
def folder(request: pytest.FixtureRequest) -> Path:
    return SAMPLES if request.param == "samples" else REAL / request.param


def sessions_below(folder: Path) -> Iterator[reread.Session]:
    yield from (reread.open(header) for header in reread.sessions(root=folder))


def test_columns_are_documented_and_text_comes_last() -> None:
    for table in TABLES.values():
        assert table.columns[: len(PARTITIONS)] == PARTITIONS
        assert len(set(table.names(text=True))) == len(table.columns)
        assert all(column.doc.endswith((".", "…")) for column in table.columns)
        assert [column.text for column in table.columns] == sorted(column.text for column in table.columns)
        assert arrow_schema(table, text=True).names == table.names(text=True)


def write_a_session_with_everything(folder: Path) -> tuple[Path, Path]:
    """Write a session that was forked, branched, compacted, changed and deleted a file; its agent switches models."""
    client = {"cwd": "/work", "gitBranch": "topic", "version": "2.1.0", "entrypoint": "cli"}
    counts = {
        "input_tokens": 1,
        "output_tokens": 20,
        "cache_read_input_tokens": 300,
        "cache_creation_input_tokens": 9000,
    }
    split = {"ephemeral_5m_input_tokens": 4000, "ephemeral_1h_input_tokens": 5000}
    usage = {**counts, "cache_creation": split, "server_tool_use": {"web_search_requests": 6}}
    change = {"file_path": "/work/a.txt", "old_string": "two", "new_string": "2"}
    hunk = {"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": [" one", "-two", "+2"]}
    edited = {"filePath": "/work/a.txt", "originalFile": "one\ntwo\n", "structuredPatch": [hunk]}
    wrote = {"type": "create", "filePath": "/work/a.txt", "content": "one\ntwo\n", "structuredPatch": []}
    write = use("toolu_1", "Write", file_path="/work/a.txt", content="one\ntwo\n")
    main = told(
        user("first", **client, forkedFrom={"sessionId": "origin", "messageUuid": "x"}),
        reply(
            thinking("hm"), "so", write, requestId="req_1", costUSD=0.5, stop_reason="tool_use", usage=usage, **client
        ),
        answer(result("toolu_1"), data=wrote),
        reply(use("toolu_2", command="false"), id="msg_2", requestId="req_2", version="2.1.1", cwd="/work/below"),
        answer(result("toolu_2", "Exit code 3\nno", is_error=True), data="Error: Exit code 3\nno"),
        reply(use("toolu_3", "Agent", description="d", prompt="look", subagent_type="Explore"), id="msg_3"),
        answer(result("toolu_3", "found"), data={"agentId": "a1", "status": "completed", "content": []}),
        system("compact_boundary", "Conversation compacted", compactMetadata={"trigger": "manual", "preTokens": 9}),
        user("summary", isCompactSummary=True),
        user("second, left", uuid="left"),
        user("second", parentUuid="u9"),
        reply(use("toolu_4", "Edit", **change), id="msg_4", timestamp="2025-01-29T14:00:11.500Z"),
        answer(result("toolu_4"), data={**edited, "oldString": "two", "newString": "2"}),
        reply(use("toolu_5", command="rm a.txt"), id="msg_5", cwd="/work"),
        answer(result("toolu_5", ""), data={"stdout": "", "stderr": "", "interrupted": False}, cwd="/work"),
        reply(use("toolu_6", command="git commit -am done; gh pr create"), id="msg_6"),
        answer(result("toolu_6", "[topic 1a2b3c4] done\nhttps://github.com/o/r/pull/7")),
    )
    found = reply("found", id="msg_9", requestId="req_9", stop_reason="end_turn", usage={**counts, "output_tokens": 7})
    found["message"]["model"] = "claude-opus-4-6"
    path = folder / "projects" / "-work" / "s.jsonl"
    agent = path.with_suffix("") / "subagents" / "agent-a1.jsonl"
    agent.parent.mkdir(parents=True)
    path.write_bytes(jsonl(*({**line, "sessionId": "s"} for line in main)) + b"nope")
    own = {"sessionId": "s", "agentId": "a1", "isSidechain": True}
    looked = reply("looking", id="msg_8", requestId="req_8", usage=counts)
    agent.write_bytes(jsonl(*({**line, **own} for line in told(user("look"), looked, user("more"), found))))
    return path, agent


def test_every_column_has_its_value(tmp_path: Path) -> None:
    found = rows_of(*write_a_session_with_everything(tmp_path))
    usage = settled_rows(find_files([tmp_path]), "here", cache=False)
    found["usage"] = [row for batch in batches(TABLES["usage"], usage) for row in batch.to_pylist()]
    made = {
        table: {name: [json.loads(_plain(row[name], tmp_path)) for row in rows] for name in rows[0]}
        for table, rows in found.items()
    }
    lines = [
        f'"{table}": {{\n' + ",\n".join(f'"{name}": {json.dumps(values)}' for name, values in columns.items()) + "}"
        for table, columns in made.items()
    ]
    expected = Path(__file__).parent / "fixtures" / "table_rows.json"
    if os.environ.get("REREAD_GOLDEN") == "update":
        expected.write_text("{" + ",\n".join(lines) + "}\n")
    assert made == json.loads(expected.read_text())


def _plain(value: Any, folder: Path) -> str:
    return json.dumps(value, default=str).replace(str(folder), "")


def test_a_session_that_goes_back_to_a_model_and_a_client_has_these(tmp_path: Path) -> None:
    def answered(model: str, **client: str) -> dict[str, Any]:
        record = reply("ok", id=f"msg_{len(said)}", **client)
        return {**record, "message": {**record["message"], "model": model}}

    said: list[dict[str, Any]] = [user("go", version="2.1.9", entrypoint="cli")]
    for model, version, start in (("a", "2.1.9", "cli"), ("b", "2.2.0", "sdk-py"), ("a", "2.1.9", "cli")):
        said.append(answered(model, version=version, entrypoint=start))
    said += [answered("<synthetic>"), user("more")]
    (tmp_path / "s.jsonl").write_bytes(jsonl(*told(*said)))
    [row] = rows_of(tmp_path / "s.jsonl")["sessions"]
    assert (row["model"], row["version"], row["entrypoint"]) == ("a", "2.1.9", "cli")


def test_rows_say_what_the_library_says(folder: Path) -> None:
    found = rows_of(*find_files([folder]).states)
    by_path: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for name, rows in found.items():
        for row in rows:
            by_path.setdefault((name, row["path"]), []).append(row)
    for session in sessions_below(folder):
        threads_of(session).stop_merging()
        path = str(session.path)
        own = {path, *(agent.path for agent in session.agents.values() if agent.path)}
        rows = {name: [row for file in own for row in by_path.get((name, file), [])] for name in PER_FILE}
        [header] = by_path["sessions", path]
        assert (header["session"], header["title"], header["project"]) == (session.id, session.title, session.project)
        assert (header["started"], header["ended"]) == (session.started, session.ended)
        assert len(by_path.get(("records", path), [])) == header["records"] == len(session.records)
        raw = [row["raw"] for row in by_path.get(("records", path), [])]
        assert raw == [record.raw.decode("utf-8", "replace") for record in session.records]
        calls = {(row["agent"], row["id"]): row for row in rows["calls"]}
        made = [*session.calls, *(call for agent in session.agents.values() for call in agent.calls)]
        assert Counter(row["id"] for row in rows["calls"]) == Counter(call.id for call in made)
        for call in made:
            row = calls[getattr(call.conversation, "id", None), call.id]
            for name in ("state", "line", "exit_code", "title", "error", "ended"):
                assert row[name] == getattr(call, name), name
            assert (row["tool"], row["time"], row["seconds"]) == (call.name, call.started, call.duration)
            assert (row["active"], row["path_number"]) == (call.message.active, call.message.branch)
        threads = [session.conversation, *session.agents.values()]
        assert len(rows["messages"]) == sum(len(thread.messages) for thread in threads)
        said = Counter((row["id"], row["line"], row["text"], row["author"], row["active"]) for row in rows["messages"])
        assert said == Counter(
            (m.id, m.line, m.text, m.author, m.active) for thread in threads for m in thread.messages
        )
        for row in by_path.get(("files", path), []):
            history = session.files[row["file"]]
            assert (row["lines_added"], row["lines_removed"], row["edits"]) == (
                history.added,
                history.removed,
                len(history.own),
            )
            times = sorted(version.time for version in history.own if version.time is not None)
            assert (row["first"], row["last"]) == ((times[0], times[-1]) if times else (None, None))
        changed = [row for row in rows["edits"] if row["session"] == session.id]
        assert len(changed) == sum(len(history.versions) for history in session.files.values())


def test_usage_has_each_response_once_and_the_figures_of_the_report(folder: Path) -> None:
    table = TABLES["usage"]
    rows = [dict(zip(table.names(text=True), row, strict=True)) for row in settled_rows(find_files([folder]), "here")]
    report = figures(reread.usage(root=folder, cache=False).totals)
    for name in FIGURES:
        given = [row[name] for row in rows if row[name] is not None]
        assert (sum(given) if given else None) == (pytest.approx(report[name]) if given else report[name]), name
    ids = Counter((row["message"], row["request"]) for row in rows if row["responses"] and row["message"])
    assert set(ids.values()) <= {1}


def test_usage_of_an_agent_without_metadata_has_the_type_of_its_call(tmp_path: Path) -> None:
    path = tmp_path / "projects" / "p" / "s.jsonl"
    call = use("toolu_1", "Task", description="look", prompt="look around", subagent_type="Explore")
    done = answer(result("toolu_1", "found"), data={"agentId": "a1", "status": "completed", "content": []})
    agent = path.with_suffix("") / "subagents" / "agent-a1.jsonl"
    agent.parent.mkdir(parents=True)
    path.write_bytes(jsonl(user("go", sessionId="s"), reply(call, id="msg_1"), done))
    lines = [user("look around"), reply("found", id="msg_2", requestId="req_2")]
    agent.write_bytes(jsonl(*({**line, "sessionId": "s", "agentId": "a1", "isSidechain": True} for line in lines)))
    names = TABLES["usage"].names(text=True)
    rows = [dict(zip(names, row, strict=True)) for row in settled_rows(find_files([tmp_path]), "here", cache=False)]
    assert {row["message"]: row["agent_type"] for row in rows} == {"msg_1": None, "msg_2": "Explore"}


def test_calls_that_were_abandoned_and_files_that_were_changed_at_odd_times(tmp_path: Path) -> None:
    """Times run backwards in real files, and what came first is not what stands first."""

    def wrote(n: int, second: int, parent: str | None) -> list[Any]:
        more = {"timestamp": f"2026-03-02T10:00:{second:02}.000Z"}
        data = {"type": "create" if n == 1 else "update", "filePath": "/a.txt", "content": f"{n}\n"}
        call = use(f"toolu_{n}", "Write", file_path="/a.txt", content=f"{n}\n")
        return [
            {**user(f"prompt {n}", **more), "uuid": f"p{n}", "parentUuid": parent},
            {**reply(call, id=f"msg_{n}", **more), "uuid": f"r{n}", "parentUuid": f"p{n}"},
            {**answer(result(f"toolu_{n}"), data=data, **more), "uuid": f"a{n}", "parentUuid": f"r{n}"},
        ]

    path = tmp_path / "projects" / "p" / "s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(jsonl(*wrote(1, 20, None), *wrote(2, 30, "a1"), *wrote(3, 10, "a1")))
    found = rows_of(str(path))
    assert [(row["id"], row["active"], row["turn"]) for row in found["calls"]] == [
        ("toolu_1", True, 1),
        ("toolu_2", False, None),
        ("toolu_3", True, 2),
    ]
    [changed] = found["files"]
    assert (changed["first"].second, changed["last"].second) == (10, 30)


def test_text_is_left_out_unless_asked_for() -> None:
    for name, rows in rows_of(*find_files([SAMPLES]).states, text=False).items():
        assert rows and set(rows[0]) == {column.name for column in TABLES[name].columns if not column.text}


def test_any_bytes_become_rows(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    lone, nul = (
        '{"type":"user","sessionId":"s\\ud800","uuid":"u","message":{"role":"user","content":"a\\ud83dz"}}',
        "\0" * 9,
    )
    early = (
        '{"type":"user","sessionId":"s","uuid":"v","timestamp":"0001-01-01T00:00:00+05:00","message":{"content":"x"}}'
    )
    path.write_bytes(f"{lone}\n{nul}\n{early}\n".encode() + b"\xff\xfe{not json\n" + b'{"a":' * 3000 + b"\n\n[]")
    found = rows_of(path)
    assert len(found["records"]) == len(reread.open(path).records)
    assert found["messages"][0]["text"] == "a\ufffdz"
    assert [row["time"] for row in found["messages"]] == [None, None]


def test_long_lines_end_a_batch() -> None:
    table = TABLES["records"]
    row = tuple("x" * (12 << 20) if column.text else None for column in table.columns)
    sizes = [batch.num_rows for batch in batches(table, [row] * 5, text=True)]
    assert sizes == [2, 2, 1] and BATCH_BYTES < 24 << 20


def test_numbers_beyond_64_bits_are_the_largest() -> None:
    table = TABLES["usage"]
    row = tuple(1 << 70 if column.name == "input_tokens" else None for column in table.columns)
    [batch] = batches(table, [row])
    assert batch.column("input_tokens").to_pylist() == [(1 << 63) - 1]
    assert batch.schema.field("time").type == pyarrow.timestamp("us", "UTC")


def test_months() -> None:
    assert [month_of(ms) for ms in (None, 0, 1_794_000_000_000, -62_135_596_800_001)] == [
        None,
        "1970-01",
        "2026-11",
        None,
    ]


def test_a_file_has_a_new_state_if_its_agents_change(tmp_path: Path) -> None:
    shutil.copytree(next(REAL.glob("2.1.325/agent/**/projects")), tmp_path / "projects")
    before = transcript_states(find_files([tmp_path]).states)
    agent = next(path for path in before if Path(path).name.startswith("agent-"))
    with Path(agent).open("ab") as file:
        file.write(b"\n")
    after = transcript_states(find_files([tmp_path]).states)
    assert {path for path in before if before[path] != after[path]} == {agent, f"{Path(agent).parent.parent}.jsonl"}


def test_a_machine_keeps_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REREAD_MACHINE", raising=False)
    assert machine_id() == machine_id()
    monkeypatch.setenv("REREAD_MACHINE", "build-7")
    assert machine_id() == "build-7"
    monkeypatch.setenv("REREAD_MACHINE", "../up")
    with pytest.raises(Misuse, match="Invalid REREAD_MACHINE"):
        machine_id()
