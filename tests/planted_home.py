"""A home in which one session says a word in every kind of record and file that it can have, and another does not."""

import io
import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from making import jsonl
from session_home import ID, Machine, line, write

from reread.storage.zstd import ZstdDecompressor, ZstdError

OTHER = "07be2017-0000-4000-8000-000000000002"
WORD = "quixotically"
SAID = "the harbour"
"""What only the other session says."""
ZSTD, PARQUET, SQLITE = b"\x28\xb5\x2f\xfd", b"PAR1", b"SQLite format 3"


def transcript(project: Path, count: int = 2) -> bytes:
    """Return a session that says the word in prompts, titles, thinking, inputs, results, summaries and attachments."""
    file = {"file_path": str(project / "app.py"), "content": f"print('{WORD}')\n"}
    written = {"type": "create", "filePath": file["file_path"], "content": file["content"], "structuredPatch": []}
    agent = {"description": WORD, "prompt": WORD, "subagent_type": "Explore"}
    spilled = f"<persisted-output>\nSaved to: /x/{ID}/tool-results/toolu_1.txt\n{WORD}\n</persisted-output>"
    rows: list[dict[str, Any]] = []
    for turn in range(count):
        calls = [("Write", file), ("Bash", {"command": f"echo {WORD}"}), ("Task", agent)]
        blocks = [
            {"type": "tool_use", "id": f"toolu_{turn}{n}", "name": name, "input": value}
            for n, (name, value) in enumerate(calls)
        ]
        results = [
            written,
            {"stdout": WORD, "stderr": ""},
            {"agentId": "a1", "content": [{"type": "text", "text": WORD}]},
        ]
        rows.append({"type": "user", "message": {"role": "user", "content": f"say {WORD} {turn}"}})
        usage = {"input_tokens": 9, "output_tokens": 9}
        said = [{"type": "thinking", "thinking": WORD, "signature": "x"}, {"type": "text", "text": WORD}, *blocks]
        message = {
            "id": f"msg_{turn}",
            "role": "assistant",
            "model": "claude-opus-4-6",
            "usage": usage,
            "content": said,
        }
        rows.append({"type": "assistant", "requestId": f"req_{turn}", "message": message})
        for n, value in enumerate(results):
            content = [
                {"type": "tool_result", "tool_use_id": f"toolu_{turn}{n}", "content": spilled if n == 1 else WORD}
            ]
            rows.append({"type": "user", "message": {"role": "user", "content": content}, "toolUseResult": value})
        rows.append({"type": "attachment", "attachment": {"type": "file", "filename": "a", "content": WORD}})
    for number, row in enumerate(rows):
        row |= {"uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None, "slug": "old-blue-fox"}
        row |= {"timestamp": f"2026-11-15T10:00:{number:02}.000Z", "cwd": str(project), "gitBranch": WORD}
        row |= {"version": "2.1.300", "sessionId": ID}
    more = [{"type": "custom-title", "customTitle": WORD, "sessionId": ID}]
    more += [
        {"type": "summary", "summary": WORD, "leafUuid": "u1"},
        {"type": "ai-title", "aiTitle": WORD, "sessionId": ID},
    ]
    return jsonl(*rows, *more)


def prompt(session: str, words: str, **more: object) -> bytes:
    value = {"display": words, "pastedContents": {}, "timestamp": 1, "project": "/p", "sessionId": session}
    return json.dumps(value | more).encode() + b"\n"


def plant(machine: Machine) -> None:
    """Write both sessions."""
    config = machine.config
    write(config)
    for path in [
        *config.rglob(f"*{ID}*/**/*"),
        *config.rglob(f"*{ID}*"),
        *config.rglob("*old-blue*"),
        *config.rglob("agent-b2*"),
    ]:
        if path.is_file():
            path.write_bytes(path.read_bytes() + line(9, message={"role": "user", "content": f"{WORD} {path.name}"}))
    (machine.project / "app.py").write_text(f"print('{WORD}')\n")
    listed = [{"sessionId": ID, "firstPrompt": WORD}, {"sessionId": OTHER}]
    pasted = {"1": {"id": 1, "type": "text", "contentHash": "abc"}}
    other = line(1, sessionId=OTHER, slug="another-one", message={"role": "user", "content": SAID})
    files = {
        f"projects/-first/{ID}.jsonl": transcript(machine.project),
        f"projects/-first/{OTHER}.jsonl": other,
        "projects/-first/sessions-index.json": json.dumps({"version": 1, "entries": listed}).encode(),
        f"debug/{ID}.txt": WORD.encode(),
        f"session-env/{ID}/env.sh": f"export A={WORD}".encode(),
        "paste-cache/abc.txt": WORD.encode(),
        "sessions/1073741823.json": json.dumps({"pid": 1 << 30, "sessionId": ID, "name": WORD}).encode(),
        "history.jsonl": prompt(OTHER, SAID) + prompt(ID, WORD, pastedContents=pasted),
    }
    for name, data in files.items():
        path = config / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    settle(machine.folder)


def settle(folder: Path) -> None:
    """Let everything be written some time ago."""
    old = time.time() - 3600
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            os.utime(path, (old, old))


def saying(folder: Path, *needles: str) -> list[str]:
    """Return the files below a folder that have one of some texts in their names or bytes, however they are packed."""
    wanted = [form for text in needles or (WORD,) for form in (text.encode(), text.encode("utf-16-le"))]
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if any(form in os.fsencode(path.relative_to(folder)) for form in wanted)
        or (path.is_file() and any(form in data for data in unpacked(path) for form in wanted))
    )


def unpacked(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file, and what is compressed in them."""
    data = path.read_bytes()
    yield data
    yield from frames(data)
    if data.startswith(PARQUET) and data.endswith(PARQUET):
        from pyarrow import parquet

        yield repr(parquet.read_table(io.BytesIO(data)).to_pylist()).encode()
    if data.startswith(SQLITE):
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                for row in database.execute(f"SELECT * FROM {name}"):
                    yield repr(row).encode()
                    for value in row:
                        yield from frames(value) if isinstance(value, bytes) else ()


def frames(data: bytes) -> Iterator[bytes]:
    """Yield what each frame of Zstandard has, also one that is torn."""
    at = data.find(ZSTD)
    while at >= 0:
        with suppress(ZstdError):
            yield ZstdDecompressor().decompress(data[at:])
        at = data.find(ZSTD, at + 1)
