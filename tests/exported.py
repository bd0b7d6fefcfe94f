"""What every exported document has to satisfy, without the programs that read it."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema

import reread


def check_atif(session: reread.Session) -> dict[str, Any]:
    """Export a session as a trajectory, and check the rules of the format and the sums."""
    trajectory = json.loads(reread.export(session, "atif"))
    agents = trajectory.get("subagent_trajectories", [])
    ids = [agent["trajectory_id"] for agent in agents]
    assert len(ids) == len(set(ids))
    for one in (trajectory, *agents):
        assert [step["step_id"] for step in one["steps"]] == list(range(1, len(one["steps"]) + 1))
        for step in one["steps"]:
            calls = {call["tool_call_id"] for call in step.get("tool_calls", [])}
            assert step["source"] == "agent" or not calls
            for result in step.get("observation", {}).get("results", []):
                assert result.get("source_call_id") in {None, *calls}
                assert all(ref["trajectory_id"] in ids for ref in result.get("subagent_trajectory_ref", []))
    totals, usage = trajectory["final_metrics"], session.usage
    assert totals["total_completion_tokens"] == usage.output_tokens
    assert totals["total_prompt_tokens"] == usage.tokens - usage.output_tokens
    if len(session.branches) == 1 and counts_exactly(session):
        assert step_tokens(trajectory) == usage.tokens
    return trajectory


def counts_exactly(session: reread.Session) -> bool:
    """True if each response states its tokens: what the client prints has them only in sum, at the end."""
    return set(session.dialects) <= {"native"}


def step_tokens(trajectory: dict[str, Any]) -> int:
    """Return the tokens of all steps, of agents too."""
    every = [trajectory, *trajectory.get("subagent_trajectories", [])]
    metrics = [step["metrics"] for one in every for step in one["steps"] if "metrics" in step]
    return sum(one["prompt_tokens"] + one["completion_tokens"] for one in metrics)


def check_chat(session: reread.Session) -> list[dict[str, Any]]:
    """Export a session as conversations, and check that each call has its result."""
    lines = [json.loads(line) for line in reread.export(session, "chat").splitlines()]
    for line in lines:
        assert list(line) == ["messages", "tools", "session", "agent"]
        assert isinstance(json.loads(line["tools"]), list)
        check_messages(line["messages"])
    return lines


def check_pairs(session: reread.Session) -> list[dict[str, Any]]:
    """Export a session as preferences, and check that both answers are answers."""
    lines = [json.loads(line) for line in reread.export(session, "pairs").splitlines()]
    for line in lines:
        assert list(line) == ["prompt", "chosen", "rejected", "tools", "session", "rejected_prompt"]
        assert line["chosen"][0]["role"] == line["rejected"][0]["role"] == "assistant"
        assert line["chosen"][-1]["role"] != "user" != line["rejected"][-1]["role"]
        for answer in ("chosen", "rejected"):
            check_messages(line["prompt"] + line[answer])
    return lines


def check_messages(messages: list[dict[str, Any]]) -> None:
    """Results follow their calls, and roles are those of chat templates."""
    waiting: list[str] = []
    for n, message in enumerate(messages):
        assert isinstance(message["content"], str)
        assert message["role"] in ("user", "assistant", "tool") or (message["role"] == "system" and n == 0)
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
        else:
            assert not waiting
            waiting = [call["id"] for call in message.get("tool_calls", [])]
            assert all(isinstance(call["function"]["arguments"], dict) for call in message.get("tool_calls", []))


def check_otlp(session: reread.Session) -> list[dict[str, Any]]:
    """Export a session as a trace, and check that spans are nested in each other and in time."""
    (resource,) = json.loads(reread.export(session, "otlp"))["resourceSpans"]
    spans = resource["scopeSpans"][0]["spans"]
    by_id: dict[str, dict[str, Any]] = {}
    for span in spans:
        assert len(span["traceId"]) == 32
        assert len(span["spanId"]) == 16
        assert span["spanId"] not in by_id
        assert span["traceId"] == spans[0]["traceId"]
        start, end = times(span)
        assert start <= end
        assert ("parentSpanId" not in span) == (span is spans[0])
        if "parentSpanId" in span:
            above, below = times(by_id[span["parentSpanId"]])
            assert above <= start or not start
            assert end <= below
        by_id[span["spanId"]] = span
    counted = Counter(span["name"].partition(" ")[0] for span in spans)
    assert counted["invoke_agent"] == 1 + len(session.agents)
    assert set(counted) <= {"invoke_agent", "chat", "execute_tool"}
    return spans


def times(span: dict[str, Any]) -> tuple[int, int]:
    """Return the start and end of a span."""
    return int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])


def attributes(span: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a span by name."""
    return {item["key"]: next(iter(item["value"].values())) for item in span["attributes"]}


def check_agent_trace(session: reread.Session) -> dict[str, Any]:
    """Export a session as a record of Agent Trace, and check it against the published schema and the files."""
    record = json.loads(reread.export(session, "agent-trace"))
    jsonschema.validate(record, SCHEMA, format_checker=jsonschema.FormatChecker())
    texts = {path: history.versions[-1].after for path, history in session.files.items()}
    for file in record["files"]:
        text = texts[f"{session.project.rstrip('/')}/{file['path']}"]
        assert text is not None
        lines = text.text.split("\n")
        taken: set[int] = set()
        for place in (place for talk in file["conversations"] for place in talk["ranges"]):
            first, last = place["start_line"], place["end_line"]
            content = "\n".join(lines[first - 1 : last]).encode("utf-8", "surrogatepass")
            assert place["content_hash"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
            assert taken.isdisjoint(range(first, last + 1))
            taken.update(range(first, last + 1))
    return record


GRADERS = {
    "file_exists": {"type", "name", "path", "exists"},
    "tool_used": {"type", "name", "tool", "min", "input_match"},
    "llm": {"type", "name", "criteria"},
}
"""The graders that a case may have here, with their fields: the client refuses others."""


def check_claude_eval(session: reread.Session) -> dict[str, Any]:
    """Check the rules of the schema that Claude Code 2.1.328 has for cases."""
    document = reread.export(session, "claude-eval")
    if not document:
        return {}
    case = json.loads(document)
    assert set(case) <= {"schema_version", "name", "description", "execution", "graders", "expected_outcome"}
    assert case["schema_version"] == "1.1" and case["name"]
    execution = case["execution"]
    assert execution["prompt"].strip() and 0 < execution["max_turns"] <= 200 < execution["timeout_seconds"] <= 3600
    assert all(isinstance(tool, str) for tool in execution["allowed_tools"])
    names = [grader["name"] for grader in case["graders"]]
    assert names and len(names) == len(set(names))
    assert all(set(grader) <= GRADERS[grader["type"]] for grader in case["graders"])
    return case


SCHEMA = json.loads((Path(__file__).parent / "fixtures/agent-trace/trace-record.json").read_text())
"""The schema that Agent Trace publishes."""
CHECKS = {
    "atif": check_atif,
    "chat": check_chat,
    "pairs": check_pairs,
    "otlp": check_otlp,
    "agent-trace": check_agent_trace,
    "claude-eval": check_claude_eval,
}


def documents(session: reread.Session) -> Iterator[tuple[str, Any]]:
    """Yield the checked documents of a session by format."""
    for form, check in CHECKS.items():
        yield form, check(session)
