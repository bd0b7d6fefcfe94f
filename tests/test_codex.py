"""Rollouts of the real Codex CLI: what it wrote is shown, counted and kept, opened as they are and adopted."""

import copy
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import reread
from reread.addons.codex import dialect as codex
from reread.base.choices import DONE, FAILED
from reread.cli import reread as command
from reread.errors import Misuse
from reread.recording.adoption import adopt
from reread.records import dialects
from reread.tools.outcome import content_text

REAL = Path(__file__).parent / "real-codex"
(AGENT,) = sorted((REAL / "0.166.0" / "agents").glob("rollout-*.jsonl"))[1:]
"""The rollout of an agent; the one beside it is that of its session."""
ROLLOUTS = sorted(path for path in REAL.rglob("rollout-*.jsonl") if path != AGENT)
VERSIONS = {"0.60.1": "gpt-5.1-codex", "0.166.0": "gpt-5.5"}
PLAIN = "plain-answer"
RESPONSES = {
    "patches": 9,
    "agents": 4,
    PLAIN: 1,
    "shell-command": 2,
    "failing-command": 3,
    "apply-patch": 4,
    "two-calls": 2,
    "two-turns": 2,
    "big-output": 2,
    "api-error": 0,
    "web-search": 1,
    "compacted": 3,
}
"""How often the client asked the stub. It states 1000 + 137 n tokens in, 600 cached but for n = 0, and 40 + n out."""


def rollout(version: str, scenario: str) -> Path:
    return min((REAL / version / scenario).glob("rollout-*.jsonl"))


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["as it is", "adopted"])
def opened(request: pytest.FixtureRequest, version: str, tmp_path: Path) -> Any:
    """Return what opens the rollout of a scenario."""

    def open_rollout(scenario: str) -> reread.Session:
        path = rollout(version, scenario)
        return reread.open(path if request.param == "as it is" else adopt([path], to=tmp_path)[0].path)

    return open_rollout


def result_text(call: reread.value_types.Call) -> str:
    return content_text(getattr(call.result, "content", None))


def changed(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    """Return a copy of a value with something else at a path."""
    out = copy.deepcopy(value)
    part = out
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = odd
    return out


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all values inside a value, but only the first items of a list."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for name, item in items:
        yield (*at, name)
        yield from places(item, (*at, name))


def test_every_line_of_every_rollout_is_accounted_for(tmp_path: Path) -> None:
    assert len(ROLLOUTS) == 22
    adopted = {one.id: one for one in adopt([REAL], to=tmp_path)}
    assert adopted.keys() == {path.stem[-36:] for path in ROLLOUTS}
    for path in ROLLOUTS:
        one = adopted[path.stem[-36:]]
        lines = path.read_bytes().splitlines(keepends=True)
        for source in (path, one.path):
            session = reread.open(source)
            assert (session.id, session.project) == (one.id, "/home/user/project"), path
            assert session.dialects == ["codex"] and len(session.records) == len(lines), path
            assert sum(session.ledger.fates.values()) == len(lines), path
            assert not {"malformed", "unknown"} & set(session.ledger.fates), path
            codes = {finding.code for finding in reread.check(source)}
            assert {"foreign-dialect"} <= codes <= {"foreign-dialect", "absent-agent"}, path  # an agent is a file apart
            for format in ("markdown", "json", "html", "atif", "otlp"):
                assert reread.export(session, format), path
        assert b"".join(record.body for record in reread.open(path).records) == path.read_bytes()
        for line, written in zip(lines, one.path.read_bytes().splitlines(keepends=True), strict=True):
            known, end = json.JSONDecoder().raw_decode(written.decode(), len('{"codex":'))
            assert b"{" + written.decode()[end + 1 :].encode() == line
            assert known["session"] == one.id


def test_a_session_knows_its_folder_branch_version_and_model(version: str, tmp_path: Path) -> None:
    (one,) = adopt([rollout(version, "shell-command")], to=tmp_path)
    session = reread.open(one.path)
    (header,) = reread.sessions(root=tmp_path)
    assert (header.title, header.project, header.git_branch) == ("List the files.", "/home/user/project", "main")
    assert session.models == [VERSIONS[version]]
    assert session.versions == [version]
    first, *_, last = [message for message in session.messages if message.kind == "response"]
    assert [block.type for block in first.blocks] == ["thinking", "text", "tool_use"]
    assert last.text == "There is one file, `hello.py`."


def test_prompts_are_what_a_person_typed(opened: Any) -> None:
    for scenario, prompts in ((PLAIN, ["Say hello."]), ("two-turns", ["Remember 7.", "Which number?"])):
        session = opened(scenario)
        assert [message.text for message in session.messages if message.kind == "prompt"] == prompts
        assert len(session.turns) == len(prompts)
        assert any("<environment_context>" in message.text for message in session.messages if message.kind == "meta")


def test_commands_are_paired_with_what_they_printed(opened: Any) -> None:
    (call,) = opened("shell-command").calls
    assert (call.name, call.input["command"], call.state) == ("Bash", "ls -a && cat hello.py", DONE)
    assert result_text(call) == ".\n..\n.git\nhello.py\nprint('hello')\n"
    failed, unknown = opened("failing-command").calls
    assert (failed.state, failed.outcome.exit_code, failed.outcome.message) == (FAILED, 3, "no such test")
    assert (unknown.name, unknown.input, unknown.state) == ("no_such_tool", {"a": 1}, FAILED)
    assert [call.state for call in opened("two-calls").calls] == [DONE, DONE]
    (big,) = opened("big-output").calls
    assert "truncated" in result_text(big) and "\n20000\n" in result_text(big)


def test_a_patch_is_drawn_as_an_edit_of_each_file(opened: Any) -> None:
    session = opened("apply-patch")
    patch, failed, plan = session.calls
    assert (patch.name, patch.state, failed.state) == ("apply_patch", DONE, FAILED)
    assert (plan.name, [todo["content"] for todo in plan.input["todos"]]) == ("TodoWrite", ["Greet", "Test"])
    text = reread.export(session, "markdown").decode()
    for words in ("2 files +3 −1", "adds notes.txt", "+two", "-print('hello')\n+print('hello, world')", "absent.py"):
        assert words in text, words


def test_an_agent_belongs_to_the_call_that_started_it(tmp_path: Path) -> None:
    (adopted,) = adopt([AGENT.parent], to=tmp_path)
    assert adopted.agents == 1
    session = reread.open(adopted.path)
    search, start, _ = session.calls
    assert (search.name, search.title) == ("ToolSearch", 'ToolSearch "spawn agent" → 5 tools')
    (agent,) = session.agents.values()
    assert agent.call is start and start.name == "Agent" and agent.id == AGENT.stem[-36:]
    assert agent.prompt == "Count the files here."
    assert [message.text for message in agent.messages if message.kind == "response"] == ["There is one file."]
    assert (session.usage.responses, agent.usage.output_tokens) == (5, 60)
    trajectory = json.loads(reread.export(session, "atif"))
    assert [one["trajectory_id"] for one in trajectory["subagent_trajectories"]] == [agent.id]
    assert trajectory["steps"][0]["message"] == "You are Codex, a coding agent based on GPT-5."


def test_an_agent_alone_is_a_session(tmp_path: Path) -> None:
    (adopted,) = adopt([AGENT], to=tmp_path)
    assert (adopted.id, adopted.agents) == (AGENT.stem[-36:], 0)
    assert reread.open(adopted.path).title == "Count the files here."


def test_each_response_is_counted_once(opened: Any, version: str) -> None:
    for scenario in {path.parts[-2] for path in ROLLOUTS if path.parts[-3] == version}:
        usage, asked = opened(scenario).usage, range(RESPONSES[scenario])
        assert usage.responses == len(asked), scenario
        assert usage.output_tokens == sum(40 + n for n in asked), scenario
        assert usage.cache_read_tokens == 600 * len(asked[1:]), scenario
        assert usage.input_tokens + usage.cache_read_tokens == sum(1000 + 137 * n for n in asked), scenario
        assert usage.cost_usd is None if asked else not usage.unpriced_models, scenario
        assert not usage.unconfirmed_responses, scenario


def test_errors_searches_and_compactions_are_shown(opened: Any, version: str) -> None:
    assert any("[web search: quay tides]" in message.text for message in opened("web-search").messages)
    if version == "0.166.0":
        notices = [message.text for message in opened("api-error").messages if message.kind == "notice"]
        assert notices == ["stream disconnected before completion: error sending request"]
        kinds = [message.kind for message in opened("compacted").messages if message.text]
        assert kinds[-3:] == ["response", "compaction", "response"]


def test_a_folder_of_rollouts_is_listed_searched_counted_and_kept(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    for path in [*ROLLOUTS, AGENT]:
        copied = home / "sessions" / "2026" / "11" / "16" / path.name
        copied.parent.mkdir(parents=True, exist_ok=True)
        copied.write_bytes(path.read_bytes())
    (home / "history.jsonl").write_text('{"session_id":"x","ts":1,"text":"hi"}\n')
    assert len(list(reread.sessions(root=home))) == len(ROLLOUTS) + 1
    assert {hit.session for hit in reread.search("quay tides", root=home, strict=True)} == {
        path.stem[-36:] for path in ROLLOUTS if path.parts[-2] == "web-search"
    }
    by_path = reread.usage(root=home).totals
    done = CliRunner().invoke(command, ["capture", "--from", str(home), "--to", str(tmp_path / "adopted"), "--json"])
    assert len(json.loads(done.stdout)) == len(ROLLOUTS)
    adopted = reread.usage(root=tmp_path / "adopted").totals
    assert (by_path.tokens, by_path.responses) == (adopted.tokens, adopted.responses) and adopted.responses == 60
    kept = tmp_path / "kept"
    assert not CliRunner().invoke(command, ["keep", "--root", str(home), "--to", str(kept)]).exception
    assert len(list(reread.sessions(root=kept))) == len(ROLLOUTS) + 1


def test_lines_that_are_damaged_stay_as_they_are(tmp_path: Path) -> None:
    lines = rollout("0.166.0", PLAIN).read_bytes().splitlines(keepends=True)
    file = tmp_path / "rollout-torn.jsonl"
    torn = [lines[0], b"\n", b"not json\n", b'[1]\n{"type":"response_item"}\n', *lines[1:-1], lines[-1][:40]]
    file.write_bytes(b"".join(torn))
    (one,) = adopt([file], to=tmp_path)
    written = one.path.read_bytes()
    assert b'\nnot json\n[1]\n{"type":"response_item"}\n' in written and written.endswith(lines[-1][:40])
    assert "Hello." in [message.text for message in reread.open(one.path).messages]


@pytest.mark.skipif(sys.platform == "win32", reason="makes pipes and links")
def test_a_rollout_that_cannot_be_read_does_not_stop_the_others(tmp_path: Path) -> None:
    home = tmp_path / "codex" / "sessions"
    home.mkdir(parents=True)
    shutil.copy(rollout("0.166.0", PLAIN), home / "rollout-b.jsonl")
    os.mkfifo(home / "rollout-a.jsonl")
    (home / "rollout-c.jsonl").mkdir()
    (home / "rollout-d.jsonl").symlink_to(tmp_path / "nowhere")
    unread: list[str] = []
    (one,) = adopt([home.parent], to=tmp_path / "out", unread=unread)
    assert reread.open(one.path).messages
    assert [path[-7] for path in unread] == ["a", "c", "d"]


def test_a_folder_without_rollouts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="No runs of other agents below"):
        adopt([tmp_path])


def test_no_shape_raises() -> None:
    seen: dict[Any, Any] = {}
    for path in ROLLOUTS:
        for line in path.read_text().splitlines():
            value = json.loads(line)
            seen[value["type"], value["payload"].get("type")] = value
    for value in seen.values():
        for place in places(value):
            for odd in (None, 5, "{", [], [{}], {"type": []}, "*** Begin Patch"):
                record = changed(value, place, odd)
                if codex.looks_like(record):
                    assert reread.open(json.dumps(record).encode()).records[0].dialect == "codex"


def test_what_resembles_a_rollout_is_native() -> None:
    for record in ({"type": "event_msg"}, {"type": "compacted", "payload": 5}, {"type": ["event_msg"], "payload": {}}):
        assert dialects.translate(record)[0] == "native"
