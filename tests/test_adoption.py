"""Trajectories of other agents as sessions: adopted, they say and count what they said before."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import reread
from reread.base.paths import SAMPLES
from reread.cli import reread as command
from reread.errors import Misuse, NotFound
from reread.handover.resuming import resumption
from reread.recording.adoption import adopt

SESSIONS = [header for header in reread.sessions(root=SAMPLES) if not header.captured]
FOREIGN: dict[str, Any] = {
    "schema_version": "ATIF-v1.4",
    "session_id": "Run/7",
    "agent": {"name": "mini-agent", "version": "2.0", "model_name": "gpt-5"},
    "steps": [
        {"step_id": 1, "source": "system", "message": "You are mini."},
        {"step_id": 2, "source": "user", "message": "Fix the harbour.", "timestamp": "2026-11-01T10:00:00Z"},
        {
            "step_id": 3,
            "source": "agent",
            "timestamp": "2026-11-01T10:00:05Z",
            "message": "Let me look.",
            "reasoning_content": "Hm.",
            "tool_calls": [{"tool_call_id": "c1", "function_name": "bash", "arguments": {"command": "ls"}}],
            "observation": {"results": [{"source_call_id": "c1", "content": [{"type": "text", "text": "quay.py"}]}]},
            "metrics": {"prompt_tokens": 100, "cached_tokens": 60, "completion_tokens": 7, "cost_usd": 0.5},
        },
        {
            "step_id": 4,
            "source": "agent",
            "message": "Done.",
            "metrics": {"prompt_tokens": 110, "completion_tokens": 3},
        },
    ],
}


@pytest.mark.parametrize("header", SESSIONS, ids=lambda header: header.id[:8])
def test_what_was_exported_comes_back(header: reread.value_types.Header, tmp_path: Path) -> None:
    session = reread.open(header)
    file = tmp_path / "trajectory.json"
    document = json.loads(reread.export(session, "atif"))
    file.write_text(json.dumps(document, indent=2))
    (adopted,) = adopt([file], to=tmp_path)
    again = reread.open(adopted.path)
    assert (again.id, again.title, again.project) == (session.id, session.title, session.project)
    assert again.dialects == ["atif", "native"]
    steps = [step for one in (document, *document.get("subagent_trajectories", [])) for step in one["steps"]]
    counted = [step["metrics"] for step in steps if "metrics" in step]
    assert again.usage.output_tokens == sum(metrics["completion_tokens"] for metrics in counted)
    assert again.usage.tokens - again.usage.output_tokens == sum(metrics["prompt_tokens"] for metrics in counted)
    main = session.branches[0].messages
    assert [(call.name, call.input) for message in main for call in message.calls] == [
        (call.name, call.input) for call in again.calls
    ]
    responses = [message.text for message in main if message.kind == "response"]
    assert [message.text for message in again.messages if message.kind == "response"] == responses
    assert {agent.id for agent in again.agents.values() if agent.call} <= set(session.agents)
    once_more = json.loads(reread.export(again, "atif"))
    assert len(once_more["steps"]) == len(document["steps"])
    assert not [finding for finding in again.problems if finding.level == "error"]
    assert not again.ledger.fates.get("malformed") and not again.ledger.fates.get("unknown")


def test_a_foreign_run_is_listed_shown_searched_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "runs.jsonl"
    file.write_text(json.dumps(FOREIGN) + "\n" + json.dumps({**FOREIGN, "session_id": "run8"}) + "\n")
    done = CliRunner().invoke(command, ["capture", "--from", str(file), "--json"])
    assert [row["id"] for row in json.loads(done.stdout)] == ["Run/7", "run8"]
    headers = {header.id: header for header in reread.sessions()}
    assert set(headers) >= {"Run/7", "run8"}
    session = reread.open("Run/7")
    assert session.title == "Fix the harbour."
    assert session.models == ["gpt-5"]
    assert [call.state for call in session.calls] == ["done"]
    assert "quay.py" in reread.export(session, "markdown").decode()
    usage = session.usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens, usage.responses) == (150, 60, 10, 2)
    assert usage.reported_cost_usd == 0.5
    assert reread.usage(by="session").totals.tokens == 2 * usage.tokens
    assert {hit.session for hit in reread.search("quay")} == {"Run/7", "run8"}
    adopt(file)
    assert len(list(reread.sessions())) == len(headers)


def test_claude_code_cannot_resume_the_run_of_another_agent(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps({**FOREIGN, "session_id": "7"}))
    (adopted,) = adopt([path], to=tmp_path / "runs")
    with pytest.raises(Misuse, match="Cannot resume '7': Claude Code did not write it"):
        resumption(adopted.path)


def test_agents_and_steps_of_any_form_are_read(tmp_path: Path) -> None:
    for number, odd in enumerate((5, "text", {"a": 1}, [1, None], [{"steps": 7}], [{"steps": "x", "agent": []}])):
        file = tmp_path / "run.json"
        file.write_text(json.dumps({**FOREIGN, "session_id": f"s{number}", "subagent_trajectories": odd}))
        (adopted,) = adopt([file], to=tmp_path / "out")
        assert reread.open(adopted.path).messages


def test_what_is_no_trajectory_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(FOREIGN))
    for content in ("", "[]", "{}", "not json", '{"schema_version": "ATIF-v1.7", "steps": 3}', "[1]"):
        bad.write_text(content)
        with pytest.raises(Misuse, match="is not a trajectory"):
            adopt([good, bad], to=tmp_path / "out")
    with pytest.raises(NotFound):
        adopt([tmp_path / "none.json"])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("step", [{}, {"source": 5, "message": 7}, {"source": "agent", "tool_calls": [3, {}]}])
def test_odd_steps_are_kept(step: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "odd.json"
    odd = {
        **step,
        "observation": {"results": [4, {"source_call_id": 5, "content": 3}]},
        "metrics": {"prompt_tokens": "x"},
    }
    file.write_text(json.dumps({**FOREIGN, "agent": 1, "extra": 2, "steps": [odd, 3]}))
    (adopted,) = adopt([file], to=tmp_path)
    session = reread.open(adopted.path)
    assert not session.ledger.fates.get("malformed")
    assert reread.export(session, "atif")


def test_any_call_may_start_an_agent(tmp_path: Path) -> None:
    """Other agents have other names for the tool, and may start several at once."""
    look = [{"step_id": 1, "source": "user", "message": "Look."}]
    inner = [{**FOREIGN, "trajectory_id": name, "steps": look} for name in ("t1", "t2")]
    steps = json.loads(json.dumps(FOREIGN["steps"]))
    call = steps[2]["tool_calls"][0]
    steps[2]["tool_calls"] = [{**call, "tool_call_id": id} for id in ("c1", "c2")]
    steps[2]["observation"]["results"] = [
        {"source_call_id": id, "content": "x", "subagent_trajectory_ref": [{"trajectory_id": name}]}
        for id, name in (("c1", "t1"), ("c2", "t2"))
    ]
    file = tmp_path / "trajectory.json"
    file.write_text(json.dumps({**FOREIGN, "steps": steps, "subagent_trajectories": inner}))
    session = reread.open(adopt([file], to=tmp_path)[0].path)
    assert {agent.id: agent.call and agent.call.id for agent in session.agents.values()} == {"t1": "c1", "t2": "c2"}
    assert [call.name for call in session.calls] == ["bash", "bash"]


def test_the_system_prompt_the_tools_and_the_rest_are_kept(tmp_path: Path) -> None:
    function = {"name": "bash", "description": "Run it.", "parameters": {"type": "object", "properties": {}}}
    tools = [{"type": "function", "function": function}]
    given = {**FOREIGN, "agent": {**FOREIGN["agent"], "tool_definitions": tools}, "notes": "A run."}
    file = tmp_path / "trajectory.json"
    file.write_text(json.dumps(given))
    (adopted,) = adopt([file], to=tmp_path)
    first = json.loads(adopted.path.read_bytes().splitlines()[0])
    assert first["trajectory"] == {key: value for key, value in given.items() if key != "steps"}
    again = json.loads(reread.export(reread.open(adopted.path), "atif"))
    assert again["agent"]["tool_definitions"] == tools
    assert [(step["source"], step["message"]) for step in again["steps"]] == [
        (step["source"], step["message"]) for step in FOREIGN["steps"]
    ]
    chat, *_ = map(json.loads, reread.export(reread.open(adopted.path), "chat").splitlines())
    assert chat["messages"][0] == {"role": "system", "content": "You are mini."}
