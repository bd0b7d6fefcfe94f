"""codex: lines of the rollouts that the Codex CLI writes, as they are or as `reread capture --from` writes them.

A line has a `type`, a `timestamp` and a `payload`. The client states the session, its folder and the model once, so an
adopted line has them in `codex`, with the id of the response that it belongs to. What the model said, and what was
answered, are `response_item`s; most events repeat them. Tokens are stated apart from what they were spent on.
"""

from __future__ import annotations

import re
from typing import Any

from reread.base import jsontext
from reread.base.coerce import as_dict, as_int, as_list, as_str

NAME = "codex"
STATE = "codex_state"
"""The subtype of what is no message."""
NOTICE = "codex_notice"
"""The subtype of what the client says itself."""
ENVELOPES = frozenset(
    "session_meta response_item event_msg turn_context compacted world_state token_usage_record".split()
)
SHELLS = frozenset({"exec_command", "shell", "shell_command", "container.exec", "local_shell"})
PATCH = "apply_patch"
SPEAKING = frozenset({"error", "stream_error", "warning", "turn_aborted", "task_complete"})
"""The events that may say what nothing else says."""
CONTEXT = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<turn_aborted>",
    "<skill",
    "# AGENTS.md instructions",
)
"""How a text in the user's name begins that the client wrote, in versions that do not say so."""
FAILURES = (
    "unsupported call",
    "unsupported custom tool call",
    "apply_patch verification failed",
    "exec_command failed",
)
"""How an answer begins that has no exit code, because nothing was run."""
SEARCH, FOUND = "tool_search_call", "tool_search_output"
ANSWERS = frozenset({"function_call_output", "custom_tool_call_output", "local_shell_call_output", FOUND})
CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", SEARCH})
MAX_HEAD = 500
"""Characters before what a command printed."""
_EXIT = re.compile(r"(?:Exit code:|Process exited with code) (-?\d{1,9})\n")
_PRINTED = "Output:\n"
_TIMED, _CODE = "Wall time: ", "Exit code: "


def looks_like(value: dict[str, Any]) -> bool:
    """True if a record is a line of a rollout."""
    return _kind(value) in ENVELOPES and isinstance(value.get("payload"), dict)


def about(value: dict[str, Any]) -> dict[str, str]:
    """Return what a line says of the lines after it: session, version, project, branch and model."""
    payload = as_dict(value.get("payload"))
    said: dict[str, Any] = {}
    if value.get("type") == "session_meta":
        said = {"session": payload.get("id"), "version": payload.get("cli_version"), "project": payload.get("cwd")}
        said["branch"] = as_dict(payload.get("git")).get("branch")
    elif value.get("type") == "turn_context":
        said = {"project": payload.get("cwd"), "model": payload.get("model")}
    return {name: item for name, item in said.items() if isinstance(item, str)}


def root_session(value: dict[str, Any]) -> str | None:
    """Return the session that an agent's first line says it belongs to; None if it is a session of its own."""
    payload = as_dict(value.get("payload"))
    source = as_dict(as_dict(as_dict(payload.get("source")).get("subagent")).get("thread_spawn"))
    parent = as_str(payload.get("parent_thread_id")) or as_str(source.get("parent_thread_id"))
    return None if parent is None else as_str(payload.get("session_id")) or parent


def is_said(item: dict[str, Any]) -> bool:
    """True if the model said an item of a conversation."""
    kind = _kind(item)
    return kind in CALLS or kind in ("reasoning", "web_search_call") or item.get("role") == "assistant"


def is_answer(item: dict[str, Any]) -> bool:
    """True if an item answers a call."""
    return _kind(item) in ANSWERS


def translate(value: dict[str, Any]) -> dict[str, Any]:
    """Return the record in the native format."""
    known = about(value) | as_dict(value.get(NAME))
    names = {"session": "sessionId", "version": "version", "project": "cwd", "branch": "gitBranch"}
    native = {new: known[old] for old, new in names.items() if old in known}
    native["timestamp"] = value.get("timestamp")
    if "agent" in known:
        native |= {"agentId": known["agent"], "isSidechain": True}
    payload = as_dict(value.get("payload"))
    match value.get("type"):
        case "response_item":
            return native | _item(payload, known)
        case "event_msg" | "token_usage_record":
            usage, total = tokens(payload)
            response = known.get("response") if NAME in value else total
            if usage and response:
                return native | _response([], {**known, "response": response}, usage)
            return native | _event(payload)
        case "session_meta" if prompt := _text(payload.get("base_instructions")):
            return native | {"type": "attachment", "attachment": {"type": "prompt_snapshot", "systemPrompt": prompt}}
        case "compacted":
            text = as_str(payload.get("message"))
            return native | {
                "type": "system",
                "subtype": "compact_boundary",
                "content": text or "Conversation compacted",
            }
        case _:
            return native | _state()


def _item(item: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    kind, call = _kind(item), item.get("call_id") or item.get("id")
    if kind == "message":
        return _message(item, known)
    if kind == "reasoning":
        parts = [*as_list(item.get("summary")), *as_list(item.get("content"))]
        text = "\n\n".join(filter(None, map(_text, parts)))
        return _response([{"type": "thinking", "thinking": text, "signature": item.get("encrypted_content")}], known)
    if kind in CALLS:
        name, given = _call(item)
        return _response([{"type": "tool_use", "id": call, "name": name, "input": given}], known)
    if kind == "web_search_call":
        return _response([{"type": "text", "text": f"[web search: {_query(as_dict(item.get('action')))}]"}], known)
    if kind == FOUND:
        return _answer({"type": "tool_result", "tool_use_id": call, "content": _found_tools(item)})
    if is_answer(item):
        return _result(call, item.get("output"))
    return _state()


def _message(item: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    content = [_block(part) for part in as_list(item.get("content"))]
    if item.get("role") == "assistant":
        return _response(content, known)
    native = {"type": "user", "message": {"role": "user", "content": content}}
    if item.get("role") == "user" and not _is_context(item):
        return native
    if "agent" in known:  # the first message of an agent is its task
        text = "\n\n".join(map(_text, as_list(item.get("content"))))
        return {"type": "attachment", "attachment": {"type": "critical_system_reminder", "content": text}}
    return {**native, "isMeta": True}


def _is_context(item: dict[str, Any]) -> bool:
    """True if the client wrote a message in the user's name."""
    noted = as_dict(item.get("internal_chat_message_metadata_passthrough")).get("content_item_kinds")
    if isinstance(noted, list):
        return not any(str(kind).startswith("user.") for kind in as_list(noted))
    texts = [_text(part) for part in as_list(item.get("content"))]
    return bool(texts) and all(text.lstrip().startswith(CONTEXT) for text in texts)


def _block(part: Any) -> dict[str, Any]:
    """Return a part of a message or result as a block."""
    url = as_str(as_dict(part).get("image_url")) or ""
    head, _, data = url.partition(";base64,")
    if data and head.startswith("data:"):
        source = {"type": "base64", "media_type": head.removeprefix("data:"), "data": data}
        return {"type": "image", "source": source}
    if url:
        return {"type": "image", "source": {"type": "url", "url": url}}
    return {"type": "text", "text": _text(part)}


def _call(item: dict[str, Any]) -> tuple[str, Any]:
    """Return the name and the input of a call, under the names of Claude Code's tools if one does the same."""
    name = as_str(item.get("name")) or "local_shell"
    given: Any = item.get("input", item.get("arguments"))
    if item.get("type") == "local_shell_call":
        given = item.get("action")
    elif item.get("type") == "function_call":
        given = _parsed(given)
    elif item.get("type") == SEARCH:
        name = "ToolSearch"
    fields = as_dict(given)
    if name in SHELLS and fields:
        rest = {key: value for key, value in fields.items() if key not in ("cmd", "command")}
        return "Bash", {"command": _command(fields.get("cmd", fields.get("command"))), **rest}
    if name == "update_plan" and fields:
        rest = {key: value for key, value in fields.items() if key != "plan"}
        return "TodoWrite", {"todos": [_todo(as_dict(step)) for step in as_list(fields.get("plan"))], **rest}
    if name == "spawn_agent" and fields:
        return "Agent", {"prompt": fields.get("message"), **{k: v for k, v in fields.items() if k != "message"}}
    if name == PATCH:
        return PATCH, {"patch": as_str(given) or as_str(fields.get("input")) or ""}
    return name, fields if isinstance(given, dict) else {"input": given}


def _command(given: Any) -> Any:
    """Return a command as a person types it; a list of words may only wrap it in a shell."""
    words = [str(word) for word in as_list(given)]
    if len(words) == 3 and words[1] in ("-c", "-lc"):
        return words[2]
    return " ".join(words) if words else given


def _todo(step: dict[str, Any]) -> dict[str, Any]:
    return {"content": step.get("step"), "status": step.get("status")}


def _query(action: dict[str, Any]) -> str:
    return as_str(action.get("query")) or as_str(action.get("url")) or as_str(action.get("type")) or ""


def _result(call: Any, output: Any) -> dict[str, Any]:
    """Return the answer to a call; a command's exit code stands before what it printed."""
    fields = as_dict(_parsed(output))
    stated = fields.get("metadata")
    text = as_str(fields.get("output")) if isinstance(stated, dict) else None
    code = as_int(as_dict(stated).get("exit_code"))
    if text is None and isinstance(output, str):
        text, code = _split_output(output)
    if text is None:
        content = [_block(part) for part in as_list(as_dict(output).get("content", output))]
    else:
        content = f"Exit code {code}\n{text}" if code else text
    block = {"type": "tool_result", "tool_use_id": call, "content": content}
    failed = bool(code) or as_dict(output).get("success") is False or (text or "").startswith(FAILURES)
    return {**_answer({**block, "is_error": True} if failed else block), **_started_agent(fields)}


def _answer(block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": [block]}}


def _found_tools(item: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the tools that a search found, those of a namespace behind its name."""
    names: list[str] = []
    for tool in map(as_dict, as_list(item.get("tools"))):
        inner = [as_str(as_dict(one).get("name")) or "" for one in as_list(tool.get("tools"))]
        outer = as_str(tool.get("name")) or ""
        names += [f"{outer}.{name}" for name in inner] or [outer]
    return [{"type": "tool_reference", "tool_name": name} for name in names]


def _started_agent(fields: dict[str, Any]) -> dict[str, Any]:
    """Return what links a call to the agent that it started, as Claude Code states it; empty if it started none."""
    agent = as_str(fields.get("agent_id"))
    return {"toolUseResult": {"agentId": agent}} if agent and fields.keys() <= {"agent_id", "nickname"} else {}


def _split_output(output: str) -> tuple[str, int | None]:
    """Return what a command printed, without the lines that the client put before it, and its exit code."""
    at = output.find(_PRINTED, 0, MAX_HEAD)
    head = output[: max(at, 0)]
    found = _EXIT.search(head)
    if found is None and head.startswith(_TIMED) and output.startswith(_CODE, at + len(_PRINTED)):
        return _split_output(output[at + len(_PRINTED) :])  # a patch that was found in a command has both heads
    if found is None or (at > 0 and output[at - 1] != "\n"):
        return output, None
    return output[at + len(_PRINTED) :], int(found[1])


def tokens(payload: dict[str, Any]) -> tuple[dict[str, int] | None, str]:
    """Return the tokens of a response, None if a line counts none, and what is the same if they are stated again.

    The client may state them several times, as an event and as a record; the running total tells which are the same.
    """
    info = as_dict(payload.get("info"))
    last = as_dict(info.get("last_token_usage") or payload.get("usage"))
    total = as_dict(info.get("total_token_usage") or payload.get("thread_token_usage"))
    prompt, output = _count(last.get("input_tokens")), _count(last.get("output_tokens"))
    if not prompt and not output:
        return None, ""
    read, written = _count(last.get("cached_input_tokens")), _count(last.get("cache_write_input_tokens"))
    usage = {
        "input_tokens": max(0, prompt - read - written),
        "output_tokens": output,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
    }
    names = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")
    return usage, "-".join([NAME, *(str(_count(total.get(name))) for name in names)])


def _event(payload: dict[str, Any]) -> dict[str, Any]:
    if _kind(payload) not in SPEAKING:
        return _state()
    error = as_dict(payload.get("error")).get("message")
    text = as_str(error) or as_str(payload.get("message")) or as_str(payload.get("reason"))
    return {"type": "system", "subtype": NOTICE, "content": text} if text else _state()


def _response(
    content: list[dict[str, Any]], known: dict[str, Any], usage: dict[str, int] | None = None
) -> dict[str, Any]:
    message = {"id": known.get("response"), "type": "message", "role": "assistant", "model": known.get("model")}
    message |= {"content": content, **({"stop_reason": "end_turn", "usage": usage} if usage else {})}
    return {"type": "assistant", "message": message}


def _state() -> dict[str, Any]:
    return {"type": "system", "subtype": STATE}


def _parsed(text: Any) -> Any:
    """Return the value of JSON in a string; the string itself if it is none."""
    if not isinstance(text, str) or not text.startswith("{"):
        return text
    try:
        return jsontext.loads_clean(text.encode("utf-8", "surrogatepass"))
    except ValueError:
        return text


def _kind(value: dict[str, Any]) -> str:
    return as_str(value.get("type")) or ""


def _text(part: Any) -> str:
    return part if isinstance(part, str) else as_str(as_dict(part).get("text")) or ""


def _count(value: Any) -> int:
    return max(0, as_int(value) or 0)
