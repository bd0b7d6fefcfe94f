"""atif: steps of trajectories in the Agent Trajectory Interchange Format, one a line, as `capture --from` writes them.

A line has what the format says of the whole trajectory (`atif`), and a `step` with its `usage`, the `observation` that
belongs to a step, or, in the first line, the rest of the `trajectory`.
"""

from __future__ import annotations

from typing import Any, cast

NAME = "atif"


def looks_like(value: dict[str, Any]) -> bool:
    """True if a record is a line of an adopted trajectory."""
    return "type" not in value and isinstance(value.get("atif"), dict)


def translate(value: dict[str, Any]) -> dict[str, Any]:
    """Return the record in the native format."""
    about, step = _object(value.get("atif")), _object(value.get("step"))
    native: dict[str, Any] = {
        "sessionId": about.get("session"),
        "version": about.get("version"),
        "cwd": about.get("project"),
        "timestamp": step.get("timestamp") or value.get("timestamp"),
    }
    if about.get("trajectory"):
        native |= {"agentId": about["trajectory"], "isSidechain": True}
    if "observation" in value:
        return native | _results(value)
    if "trajectory" in value:
        defined = _list(_object(_object(value["trajectory"]).get("agent")).get("tool_definitions"))
        return native | _snapshot(tools=[_tool(_object(tool)) for tool in defined])
    match step.get("source"):
        case "agent":
            return native | _response(step, value, about)
        case "user":
            message = {"role": "user", "content": _content(step.get("message"))}
            return native | {"type": "user", "message": message}
        case _ if step.get("step_id") == 1 and not _object(step.get("extra")).get("kind"):
            return native | _snapshot(systemPrompt=_text(step.get("message")))
        case _:
            return native | {"type": "system", "subtype": NAME, "content": _text(step.get("message"))}


def _snapshot(**fields: Any) -> dict[str, Any]:
    """Return what the model was set up with, as Claude Code records it."""
    return {"type": "attachment", "attachment": {"type": "prompt_snapshot", **fields}}


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    """Return the definition of a tool, which is a function in the schema of OpenAI."""
    function = _object(tool.get("function")) or tool
    names = {"name": "name", "description": "description", "parameters": "input_schema"}
    return {new: function[old] for old, new in names.items() if old in function}


def _response(step: dict[str, Any], value: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    calls = [_object(call) for call in _list(step.get("tool_calls"))]
    content: list[dict[str, Any]] = []
    if step.get("reasoning_content"):
        content.append({"type": "thinking", "thinking": step["reasoning_content"], "signature": ""})
    content += [block for block in _content(step.get("message")) if block.get("text") != ""]
    for call in calls:
        name, given = call.get("function_name"), call.get("arguments")
        content.append({"type": "tool_use", "id": call.get("tool_call_id"), "name": name, "input": given})
    message: dict[str, Any] = {
        "id": f"{about.get('trajectory') or about.get('session')}-{step.get('step_id')}",
        "type": "message",
        "role": "assistant",
        "model": step.get("model_name") or about.get("model"),
        "content": content,
        "stop_reason": "tool_use" if calls else "end_turn",
        "usage": _usage(_object(value.get("usage"))),
    }
    cost = _object(value.get("usage")).get("cost_usd")
    return {"type": "assistant", "message": message, **({"costUSD": cost} if cost is not None else {})}


def _usage(metrics: dict[str, Any]) -> dict[str, Any]:
    """Return the tokens of a step: its prompt includes what was read from and written to a cache."""
    extra = _object(metrics.get("extra"))
    prompt, read = _count(metrics.get("prompt_tokens")), _count(metrics.get("cached_tokens"))
    short, long = (_count(extra.get(f"cache_write_{name}_tokens")) for name in ("5m", "1h"))
    return {
        "input_tokens": max(0, prompt - read - short - long),
        "output_tokens": _count(metrics.get("completion_tokens")),
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": short + long,
        "cache_creation": {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long},
    }


def _results(value: dict[str, Any]) -> dict[str, Any]:
    """Return what the environment answered: results of calls, and text that belongs to none."""
    results = [_object(item) for item in _list(_object(value["observation"]).get("results"))]
    blocks: list[dict[str, Any]] = []
    for result in results:
        content = _content(result.get("content"))
        if isinstance(result.get("source_call_id"), str):
            failed = _object(result.get("extra")).get("state") is not None
            block = {"type": "tool_result", "tool_use_id": result["source_call_id"], "content": content}
            blocks.append({**block, "is_error": True} if failed else block)
        else:
            blocks += content
    refs = [_object(ref) for result in results for ref in _list(result.get("subagent_trajectory_ref"))]
    started = next((ref["trajectory_id"] for ref in refs if isinstance(ref.get("trajectory_id"), str)), None)
    linked = {"toolUseResult": {"agentId": started}} if started is not None else {}
    is_text = bool(blocks) and all(block["type"] != "tool_result" for block in blocks)
    if is_text:
        return {"type": "system", "subtype": NAME, "content": "\n\n".join(_text(block) for block in blocks)}
    return {"type": "user", "message": {"role": "user", "content": blocks}, **linked}


def _content(content: Any) -> list[dict[str, Any]]:
    """Return the parts of a message or result as blocks; pictures are files that are not here."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [{"type": "text", "text": _text(part)} for part in _list(content)]


def _text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, list):
        return "\n\n".join(map(_text, cast(list[Any], part)))
    given = _object(part)
    path = _object(given.get("source")).get("path")
    text = given.get("text")
    return text if isinstance(text, str) else f"[{given.get('type')}: {path}]" if path else ""


def _object(value: Any) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else []


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
