"""Texts planted in every place where a session can have one, to see which of them a search finds."""

import json
import shutil
from pathlib import Path
from typing import Any

ENVELOPE = {
    "isSidechain": False,
    "userType": "external",
    "cwd": "/home/dev/needles",
    "version": "2.1.9",
    "gitBranch": "main",
}
ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-4-5-20251101",
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
}
"""What the real client writes besides; some programs skip records without it."""


def needles() -> dict[str, list[dict[str, Any]]]:
    """Places where a text can be, each with the records that have it there; `NEEDLE` stands for the text."""

    def user(content: Any, **more: Any) -> dict[str, Any]:
        return {"type": "user", "message": {"role": "user", "content": content}, **more}

    def reply(*blocks: dict[str, Any]) -> dict[str, Any]:
        return {"type": "assistant", "requestId": "req_1", "message": {**ANSWER, "content": blocks}}

    def call(name: str, **given: Any) -> dict[str, Any]:
        return reply({"type": "tool_use", "id": "toolu_1", "name": name, "input": given})

    def result(content: Any, data: Any = None) -> dict[str, Any]:
        block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": content}
        return user([block], toolUseResult=data)

    bash = call("Bash", command="ls")
    rewound = [reply({"type": "text", "text": "answer"}), user("another way", parentUuid="0")]
    return {
        "prompt": [user("say NEEDLE")],
        "answer": [user("x"), reply({"type": "text", "text": "it is NEEDLE"})],
        "thinking": [user("x"), reply({"type": "thinking", "thinking": "hm NEEDLE", "signature": "s"})],
        "command": [user("x"), call("Bash", command="grep NEEDLE .")],
        "its description": [user("x"), call("Bash", command="ls", description="look for NEEDLE")],
        "output of a command": [user("x"), bash, result("found NEEDLE", {"stdout": "found NEEDLE", "stderr": ""})],
        "error of a command": [user("x"), bash, result("Error: NEEDLE", "Error: NEEDLE")],
        "file that was read": [user("x"), call("Read", file_path="/a.py"), result("1\tNEEDLE", None)],
        "path of a file": [user("x"), call("Read", file_path="/src/NEEDLE.py"), result("1\tx", None)],
        "edit": [user("x"), call("Edit", file_path="/a.py", old_string="a", new_string="NEEDLE")],
        "file that was written": [user("x"), call("Write", file_path="/a.py", content="NEEDLE")],
        "input of an MCP tool": [user("x"), call("mcp__s__t", query="NEEDLE")],
        "result of an MCP tool": [user("x"), call("mcp__s__t", q=1), result([{"type": "text", "text": "NEEDLE"}])],
        "fetched page": [
            user("x"),
            call("WebFetch", url="https://x"),
            result("page with NEEDLE", {"result": "NEEDLE"}),
        ],
        "todo": [user("x"), call("TodoWrite", todos=[{"content": "do NEEDLE", "status": "pending"}])],
        "abandoned branch": [user("start"), user("lost NEEDLE"), *rewound],
        "system notice": [
            user("x"),
            {"type": "system", "subtype": "informational", "level": "info", "isMeta": False, "content": "NEEDLE"},
        ],
        "attachment": [user("x"), {"type": "attachment", "attachment": {"type": "file", "content": "NEEDLE"}}],
        "title": [user("x"), {"type": "custom-title", "customTitle": "About NEEDLE"}],
        "queued prompt": [
            user("x"),
            {"type": "attachment", "attachment": {"type": "queued_command", "prompt": "also NEEDLE"}},
        ],
    }


def plant(root: Path) -> dict[str, str]:
    """Write a session for each place, and one with an agent's file; return the text that is there by place."""
    planted: dict[str, str] = {}
    shutil.rmtree(root, ignore_errors=True)
    folder = root / "projects" / "-home-dev-needles"
    places = {**needles(), "agent": [{"type": "user", "message": {"role": "user", "content": "go"}}]}
    for number, (place, records) in enumerate(places.items()):
        word, session = f"zyx{number:02}needle", f"00000000-0000-4000-8000-{number:012}"
        planted[place] = word
        envelope = {**ENVELOPE, "sessionId": session}
        write_records(folder / f"{session}.jsonl", records, word, envelope)
        if place == "agent":
            path = folder / session / "subagents" / "agent-a1.jsonl"
            said = {**ANSWER, "content": [{"type": "text", "text": "NEEDLE"}]}
            own = {**envelope, "isSidechain": True, "agentId": "a1"}
            write_records(path, [*records, {"type": "assistant", "requestId": "req_1", "message": said}], word, own)
    return planted


def write_records(path: Path, records: list[dict[str, Any]], word: str, envelope: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []
    for n, record in enumerate(records):
        tree = {"uuid": f"{path.stem}-{n}", "parentUuid": f"{path.stem}-{n - 1}" if n else None}
        if "parentUuid" in record:
            tree["parentUuid"] = f"{path.stem}-{record['parentUuid']}"
        whole = {**envelope, **record, **tree, "timestamp": f"2026-11-15T10:00:{n:02}.000Z"}
        lines.append(json.dumps(whole).replace("NEEDLE", word))
    path.write_text("\n".join(lines) + "\n")
