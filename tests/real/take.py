"""Take this selection out of a folder of captures: `python take.py DATA`.

DATA holds `<version>/<scenario>/` with what the client wrote (`projects/`), what it printed (`stream*`), what
the API was asked and answered (`truth.jsonl`) and how it was run (`meta.json`). Long text of the client's own
is left out of the copies.
"""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

SELECTION = {
    "1.0.128": """agent autocompact bash_fail deny fork hooks interrupt_sdk json_output no_content partial
                  plain resume slash_builtin thinking tui_rewind""",
    "2.0.55": """agent compact deny interrupt_tool json_output partial plain resume_at skill slow_blocks
                 stream_cut tui_rewind""",
    "2.1.76": """agent agent_send compact deny_sdk hook_block_prompt interrupt_stream json_output mcp parallel
                 partial redacted_thinking slash_builtin tasks toolsearch tui_basic""",
    "2.1.220": """agent agent_nested api_529 autocompact deny fork hooks_events interrupt_sdk mention
                  no_content parallel partial plain stream_error tui_interrupt tui_rewind workflow""",
    "2.1.325": "agent deny hook_block_prompt interrupt_tool parallel plain",
}
FILES = ("projects/**/*", "stream*.jsonl", "stream*.out", "truth.jsonl", "meta.json")

OWN_RECORDS = {"api-request", "api-request-blob", "api-request-shape", "control_response"}
"""Records that hold what the client tells the model or the SDK: every sentence in them is its own."""
FOREIGN_ATTACHMENTS = {"edited_text_file", "file", "queued_command", "structured_output"}
"""Attachments that hold what came from outside; those of hooks do too."""
PASSAGES = [
    re.compile(r"(?<=<system-reminder>\n)[^<]{100,}(?=\n</system-reminder>)"),
    re.compile(r"(?<=<fork-boilerplate>\n)[\s\S]{100,}(?=\n</fork-boilerplate>)"),
    re.compile(r"(?<=<note>)[^<]{100,}(?=</note>)"),
    re.compile(r"(?<=Async agent launched successfully\.) \([^)]+\)"),
    re.compile(r"(?<=\. )?\(internal ID - do not mention[\s\S]+"),
]


def left_out(text: str) -> str:
    """The words that stand for a text of the client's own."""
    said = re.search(r"\[(\d+) characters of the client's own text left out\]", text)
    return f"[{said[1] if said else len(text)} characters of the client's own text left out]"


def is_own(record: dict[str, Any]) -> bool:
    """A record whose sentences are the client's own."""
    attachment = record.get("attachment")
    if isinstance(attachment, dict):
        kind = str(attachment.get("type"))
        return not kind.startswith("hook_") and kind not in FOREIGN_ATTACHMENTS
    return record.get("type") in OWN_RECORDS


def cut(value: Any, own: bool) -> Any:
    """The value without the client's own prose."""
    if isinstance(value, dict):
        return {
            name: {} if own and name == "input_schema" else cut(item, own) for name, item in value.items()
        }
    if isinstance(value, list):
        return [cut(item, own) for item in value]
    if not isinstance(value, str):
        return value
    if own and len(value) > 40 and value.count(" ") > 4:
        return left_out(value)
    for passage in PASSAGES:
        value = passage.sub(lambda found: left_out(found[0]), value)
    return value


def cut_line(line: bytes) -> bytes:
    """The line without the client's own prose, byte for byte the same where it has none."""
    try:
        record = json.loads(line)
    except ValueError:
        return line
    if not isinstance(record, dict):
        return line
    clean = cut(record, is_own(record))
    if clean == record:
        return line
    return json.dumps(clean, ensure_ascii=False, separators=(",", ":")).encode()


def take(data: Path) -> None:
    """Copy the selection from `data` to this folder, in place of what is there."""
    for version, names in SELECTION.items():
        shutil.rmtree(HERE / version, ignore_errors=True)
        for name in names.split():
            source = data / version / name
            for path in (path for pattern in FILES for path in source.glob(pattern) if path.is_file()):
                target = HERE / version / name / path.relative_to(source)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(b"\n".join(map(cut_line, path.read_bytes().split(b"\n"))))


if __name__ == "__main__":
    take(Path(sys.argv[1]))
