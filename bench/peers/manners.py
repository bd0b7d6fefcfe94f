"""How a program treats what it reads: a session that tries to run in the reader's browser, and what its page does."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

MARK = "reread-bench"
ID = "00000000-0000-4000-8000-000000000bad"
SCRIPT = f"<script>alert('{MARK}')</script>"
HANDLER = f"<img src=x onerror=\"alert('{MARK}')\">"
LINK = f"[a link](javascript:{MARK})"
PAYLOADS = (SCRIPT, HANDLER, LINK)
_LOADED = re.compile(
    r"""(?:\bsrc=|<link\b[^>]{0,200}\bhref=|\burl\(|\b(?:from|import)\s*\(?)\s*["'`]?"""
    r"""https?://([\w.-]+)/[^\s"'`<>)]+\.(?:m?js|css|woff2?)\b"""
)


def write_hostile(tree: Path) -> None:
    """A configuration folder with one session that has the payloads wherever text can stand."""
    path = tree / "projects" / "-home-dev-proj" / f"{ID}.jsonl"
    path.parent.mkdir(parents=True)
    text = "Here: " + " and ".join(PAYLOADS)
    use = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": text, "description": text}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": text}
    contents: list[tuple[str, Any]] = [
        ("user", text),
        ("assistant", [{"type": "thinking", "thinking": text, "signature": "s"}]),
        ("assistant", [{"type": "text", "text": text}]),
        ("assistant", [use]),
        ("user", [result]),
        ("assistant", [{"type": "text", "text": f"```{SCRIPT}\n{text}\n```\n\n{text}"}]),
    ]
    rows = [row(number, role, content) for number, (role, content) in enumerate(contents, 1)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def row(number: int, role: str, content: Any) -> dict[str, Any]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    answer = {"id": f"msg_{number}", "type": "message", "model": "claude-opus-4-5", "usage": usage}
    return {
        "parentUuid": uuid(number - 1) if number > 1 else None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/dev/proj",
        "sessionId": ID,
        "version": "2.1.9",
        "gitBranch": "main",
        "type": role,
        "message": {"role": role, "content": content} | (answer if role == "assistant" else {}),
        "uuid": uuid(number),
        "timestamp": f"2026-11-01T10:00:{number:02d}.000Z",
    }


def uuid(number: int) -> str:
    return f"00000000-0000-4000-a000-{number:012d}"


class Page(HTMLParser):
    """What of the payloads came to life in a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.alive: set[str] = set()
        self.code = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        held = dict(attrs)
        self.code = tag == "script" and "json" not in (held.get("type") or "") and held.get("type") != "text/plain"
        for name, value in attrs:
            if MARK in (value or "") and name.startswith("on"):
                self.alive.add("a handler")
            if (value or "").strip().startswith("javascript:") and MARK in (value or ""):
                self.alive.add("a `javascript:` link")

    def handle_data(self, data: str) -> None:
        if self.code and data.strip() == f"alert('{MARK}')":
            self.alive.add("a script")


def alive(pages: list[str]) -> set[str]:
    return {payload for page in pages for payload in Page(page).alive}


def loaded(pages: list[str]) -> set[str]:
    """The hosts from which pages load code, styles or fonts."""
    return {host for page in pages for host in _LOADED.findall(page)}
