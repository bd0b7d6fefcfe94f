"""A case for `claude plugin eval`, as Claude Code 2.1.328 reads it: a prompt, the tools it may use, and graders.

The case is JSON, which is YAML: it is read as `evals/NAME/case.yaml` of a plug-in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from reread.addons.formats._model_context import refuse_choice
from reread.base import jsontext
from reread.base.choices import DONE
from reread.base.coerce import as_dict, as_str
from reread.base.text import one_line
from reread.history.versions import CREATE, DELETE
from reread.model.conversation import Call, Turn
from reread.reader.export_formats import ExportFormat
from reread.render.selection import Selection, selected_turns
from reread.session.session import Session

VERSION = "1.1"
MOST_TURNS, LEAST_TURNS = 200, 10
"""The responses that a run may have: at most what the client allows, at least its default."""
MOST_SECONDS, LEAST_SECONDS = 3600, 300
LONGEST_NAME = 60
EXPECTED = "The answer does what the prompt asks for."
LIKE = "In substance, the answer says what this one does, which was given when the case was recorded:\n\n"
_NO_NAME = re.compile(r"[^a-z0-9]+")


def session_eval(session: Session, selection: Selection) -> Iterator[bytes]:
    """A case of the first prompt of what is chosen, with graders for what came of it."""
    refuse_choice(selection, "claude-eval", turns=True)
    turns = selected_turns(session.conversation, selection)
    turn = next((one for one in turns if one.prompt is not None and one.prompt.text.strip()), None)
    if turn is None or turn.prompt is None:
        return
    calls = turn.calls
    answers = [message for message in turn.messages if message.kind == "response"]
    said = next((_relative(one.text, session) for one in reversed(answers) if one.text.strip()), "")
    times = [message.timestamp for message in turn.messages if message.timestamp is not None]
    seconds = (max(times) - min(times)).total_seconds() if times else 0.0
    case = {
        "schema_version": VERSION,
        "name": _NO_NAME.sub("-", one_line(session.title, LONGEST_NAME).lower()).strip("-") or "case",
        "description": f"Turn {turn.index} of session {session.id}: {one_line(session.title)}",
        "execution": {
            "prompt": _relative(turn.prompt.text, session),
            "max_turns": min(MOST_TURNS, max(LEAST_TURNS, 2 * len(answers))),
            "timeout_seconds": min(MOST_SECONDS, max(LEAST_SECONDS, int(2 * seconds))),
            "allowed_tools": sorted({call.name for call in calls}),
        },
        "graders": [*_file_graders(session, turn), *_tool_graders(calls), _answer_grader(said)],
        **({"expected_outcome": said} if said else {}),
    }
    yield jsontext.dumps(case) + b"\n"


def _relative(text: str, session: Session) -> str:
    """Return a text without the project's folder: a case runs in another one."""
    folder = session.project.rstrip("/")
    return text.strip().replace(f"{folder}/", "").replace(folder, ".") if len(folder) > 1 else text.strip()


def _file_graders(session: Session, turn: Turn) -> Iterator[dict[str, Any]]:
    """Yield a grader for each file of the project that the turn created or deleted."""
    folder = session.project.rstrip("/") + "/"
    for path, history in session.files.items():
        made = [version.action for version in history.own if version.turn == turn.index]
        if path.startswith(folder) and made and (CREATE in made or made[-1] == DELETE):
            name, there = path.removeprefix(folder), made[-1] != DELETE
            said = f"{'has' if there else 'has no'} {name}"
            yield {"type": "file_exists", "name": said, "path": name, "exists": there}


def _tool_graders(calls: Sequence[Call]) -> Iterator[dict[str, Any]]:
    """Yield a grader for each skill and tool of an MCP server that was used: what plug-ins are made for."""
    used: dict[str, dict[str, Any]] = {}
    for call in calls:
        skill = as_str(as_dict(call.input).get("skill")) if call.name == "Skill" else None
        if call.state == DONE and (skill or call.name.startswith("mcp__")):
            name = f"uses {skill or call.name}"
            match = {"input_match": re.escape(skill)} if skill else {}
            used[name] = {"type": "tool_used", "name": name, "tool": call.name, "min": 1, **match}
    yield from used.values()


def _answer_grader(said: str) -> dict[str, Any]:
    return {"type": "llm", "name": "answers as then", "criteria": f"{LIKE}{said}" if said else EXPECTED}


FORMAT = ExportFormat(
    session_eval,
    about="a case for `claude plugin eval`: a prompt, its tools, and graders for what came of it",
    readers="Claude Code, as `evals/NAME/case.yaml` of a plug-in",
    empty="no prompt was typed in what is chosen, so there is no case",
)
