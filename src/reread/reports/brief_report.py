"""What the next session, or a colleague, needs to know of one: from what is recorded, in a bounded text.

The goal, the prompts since, decisions, changed files, open tasks, commands that ran tests, the last error, the last
answer, and where to read on. Files, tasks, decisions and the last error come first: if there is little room, texts are
cut before any of these is left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO

import msgspec

from reread.base.choices import DENIED, DONE, FAILED, INTERRUPTED
from reread.base.format import date_text
from reread.base.sanitize import plain_output
from reread.base.text import cut_words, one_line, plural
from reread.errors import Misuse
from reread.facts.commands import shell_command, short_command, testing_command, tests_passed
from reread.history.versions import CREATE
from reread.model.conversation import Call, Turn
from reread.session.places import turns_at
from reread.session.session import Session
from reread.session.session import open as open_session
from reread.tools.plan import ExitPlanModeInput, ExitPlanModeResult
from reread.tools.tasks import open_tasks
from reread.tools.user_messages import chosen_answers

TOKENS, LEAST_TOKENS, MOST_TOKENS = 2000, 300, 20_000
BYTES_PER_TOKEN = 3
"""Text has three to five bytes a token, so a text of so many bytes a token has at most as many tokens."""
SCALES = (1.0, 0.6, 0.35, 0.2, 0.12, 0.07)
"""How much of the longest texts is left, in the steps in which a brief is made to fit."""
GOAL, ANSWER, ERROR, PROMPT, DECISION, TASK = 1200, 1200, 600, 400, 400, 300
"""Characters of each text, if there is room."""
REASON, REFUSALS = "the user said:", ("The user doesn't want to", "[Request interrupted by user")
"""What the client writes before a person's reason, and if there is none."""
LONGEST = 4000
"""Of a longer text, the rest is never shown."""


class BriefFile(msgspec.Struct, frozen=True):
    """A file that the session changed."""

    path: str
    """From the project's folder on, if it is in there."""
    action: str
    """What became of it: created, edited, deleted, also by a rewind, or `renamed to` another path."""
    added: int
    removed: int
    turn: int | None
    """The last turn that changed it."""


class Brief(msgspec.Struct, frozen=True, kw_only=True):
    """What the next session needs to know of one."""

    session: str
    title: str
    project: str
    git_branch: str | None
    started: datetime | None
    ended: datetime | None
    turns: int
    goal: str
    """The first prompt."""
    prompts: list[str]
    """The prompts after it, each with its turn."""
    decisions: list[str]
    """Questions that were answered, plans that were accepted or not, and calls that were denied, each with its turn."""
    files: list[BriefFile]
    tasks: list[str]
    """What is left to do."""
    commands: list[str]
    """The commands that ran tests, and how each ended last, if that is known."""
    commits: list[str]
    last_error: str | None
    """The last call that failed, and whether the same passed since."""
    answer: str
    """The last answer."""
    redacted: bool = False
    """Whether secrets and personal details are replaced."""
    text: str = ""
    """All of it as Markdown, within the tokens that were asked for."""


def brief(
    source: str | os.PathLike[str] | bytes | IO[bytes] | Session = "latest",
    *,
    tokens: int = TOKENS,
    redact: bool = True,
    root: str | Path | Sequence[str | Path] | None = None,
) -> Brief:
    """Return what the next session, or a colleague, needs to know of a session, or of one up to a turn (`8c1f:14`).

    `text` has at most so many `tokens`, counted as a third of its bytes in UTF-8, which is more than any model counts.
    Every changed file, open task and decision is in it, and the last error; what does not fit is counted and named.
    Secrets and personal details are replaced, unless `redact` is false.
    """
    if not LEAST_TOKENS <= tokens <= MOST_TOKENS:
        raise Misuse(f"Cannot write a brief of {tokens:,} tokens; use {LEAST_TOKENS} to {MOST_TOKENS:,}.")
    made = _of_session(open_session(source, root=root))
    if redact:
        from reread.redaction.scan import clean_struct  # loaded late: it knows all rules

        made = clean_struct(made, session=made.session, redacted=True)
    return msgspec.structs.replace(made, text=_fitting(made, tokens * BYTES_PER_TOKEN))


def _of_session(session: Session) -> Brief:
    at = session.at
    turns = turns_at(session.conversation, at._replace(turn=None))
    later = turns[at.turn :] if at.turn is not None else []
    turns = turns[: len(turns) - len(later)]
    times = [message.timestamp for turn in turns for message in turn.messages if message.timestamp is not None]
    calls = [(turn.index, call) for turn in turns for call in turn.calls]
    typed = [(turn.index, turn.prompt.text.strip()) for turn in turns if turn.prompt is not None and _is_asked(turn)]
    typed = [(number, text) for number, text in typed if text]
    return Brief(
        session=session.id,
        title=session.title,
        project=session.project,
        git_branch=session.git_branches[-1] if session.git_branches else None,
        started=session.started,
        ended=max(times, default=None) if later else session.ended,
        turns=len(turns),
        goal=_cut(typed[0][1]) if typed else "",
        prompts=[f"turn {number}: {_cut(text)}" for number, text in typed[1:]],
        decisions=list(_decisions(calls)),
        files=list(_files(session, later)),
        tasks=[one_line(task, LONGEST) for task in open_tasks(call.tool_call for _, call in calls)],
        commands=list(_commands(calls)),
        commits=[
            f"{one.sha[:9]} {one.subject or ''}".strip()
            for one in session.commits
            if at.turn is None or _is_of(one.call, calls)
        ],
        last_error=_last_error(calls, turns),
        answer=_cut(_last_answer(turns)),
    )


def _is_asked(turn: Turn) -> bool:
    """True unless a turn is a command that the client ran itself, such as /exit."""
    asked = turn.prompt is not None and turn.prompt.kind != "command"
    return asked or any(message.role == "assistant" for message in turn.messages)


def _is_of(wanted: Call, calls: Iterable[tuple[int, Call]]) -> bool:
    return any(call is wanted for _, call in calls)


def _cut(text: str) -> str:
    return cut_words(text.strip(), LONGEST)


def _ends(text: str, length: int) -> str:
    """Return the beginning and the end of a text: some programs say first what failed, and others last.

    Words are not cut: half of a secret would no longer be known as one.
    """
    if len(text) <= length:
        return text
    _, *rest = text[-length * 2 // 3 :].split(None, 1) or [""]
    return f"{cut_words(text, length // 3)}\n…{rest[0] if rest else ''}"


def _decisions(calls: Iterable[tuple[int, Call]]) -> Iterator[str]:
    for number, call in calls:
        said = [f"{one_line(asked, LONGEST)} → {one_line(answer, LONGEST)}" for asked, answer in _answers(call)]
        if call.name == "ExitPlanMode" and call.state in (DONE, DENIED):
            result, asked = call.tool_call.output(ExitPlanModeResult), call.tool_call.input(ExitPlanModeInput)
            plan = one_line((result.plan if result else None) or asked.plan or "", LONGEST)
            accepted = "plan accepted" if call.state == DONE else f"plan not accepted ({_said(call)})"
            said.append(f"{accepted}: {plan}")
        elif call.state in (DENIED, INTERRUPTED):
            said.append(f"{call.state}: {_what(call)} ({_said(call)})")
        yield from (f"turn {number}: {one}" for one in said)


def _answers(call: Call) -> Iterable[tuple[str, str]]:
    return chosen_answers(call.tool_call).items() if call.name == "AskUserQuestion" else ()


def _said(call: Call) -> str:
    """Return why a call was not done: what a person said, not what the client tells the model about it."""
    message = call.error or ""
    _, told, reason = message.partition(REASON)
    return one_line(reason if told else "no reason given" if message.startswith(REFUSALS) else message, LONGEST)


def _what(call: Call) -> str:
    command = shell_command(call)
    return f"{call.name} `{short_command(command)}`" if command else one_line(call.title)


def _files(session: Session, later: Sequence[Turn]) -> Iterator[BriefFile]:
    """Yield the files that were changed before some turns, with what became of them by then."""
    for history in session.files.values():
        known, own = history.versions, history.own
        if later:
            known = [one for one in known if one.record < later[0].messages[0].records[0]]
            own = [one for one in known if one.own and (one.turn is None or one.turn < later[0].index)]
        if not own:
            continue
        path = history.path.removeprefix(session.project.rstrip("/\\") + "/")
        action = "created" if CREATE in {one.action for one in own} else "edited"
        if known[-1].gone:
            action = f"renamed to {known[-1].other}" if known[-1].other else "deleted"
        added, removed = sum(one.added for one in own), sum(one.removed for one in own)
        yield BriefFile(path, action, added, removed, own[-1].turn)


def _commands(calls: Iterable[tuple[int, Call]]) -> Iterator[str]:
    """Yield each command that ran tests, as it ended last."""
    ended: dict[str, str] = {}
    for number, call in calls:
        command = testing_command(call)
        if command is not None:
            ended.pop(command, None)
            passed = tests_passed(call)
            said = "ran, with unknown outcome," if passed is None else "passed" if passed else "failed"
            ended[command] = f"`{command}` {said} in turn {number}"
    yield from ended.values()


def _last_error(calls: Sequence[tuple[int, Call]], turns: Sequence[Turn]) -> str | None:
    found = next(((at, *one) for at, one in reversed([*enumerate(calls)]) if one[1].state == FAILED), None)
    messages = ((turn.index, message) for turn in reversed(turns) for message in reversed(turn.messages))
    said = next((one for one in messages if one[1].kind in ("error", "response")), None)
    said = said if said is not None and said[1].kind == "error" else None  # an answer came after any other
    if said is not None and (found is None or said[1].index > found[2].message.index):
        return f"turn {said[0]}: {_cut(said[1].text)}"
    if found is None:
        return None
    at, number, call = found
    same = next((n for n, after in calls[at + 1 :] if after.state == DONE and _is_same(after, call)), None)
    since = f" (the same passed in turn {same})" if same is not None else ""
    return f"turn {number}: {_what(call)}{since}: {_ends(plain_output(call.error or '').strip(), LONGEST)}"


def _is_same(call: Call, other: Call) -> bool:
    return call.name == other.name and call.input == other.input


def _last_answer(turns: Sequence[Turn]) -> str:
    messages = (message for turn in reversed(turns) for message in reversed(turn.messages))
    return next((one.text for one in messages if one.kind == "response" and one.text.strip()), "")


def _fitting(made: Brief, room: int) -> str:
    """Return the text of a brief: the longest that has room."""
    text = ""
    for most in (None, 40, 20, 10, 5, 2):
        for scale in SCALES:
            text = "\n".join(_lines(made, scale, most))
            if len(text.encode("utf-8", "replace")) <= room:
                return text
    return text.encode("utf-8", "replace")[: room - 3].decode("utf-8", "ignore") + "…"


def _lines(made: Brief, scale: float, most: int | None) -> Iterator[str]:
    """Yield the lines of a brief; texts are cut to a part of their length, and lists to their last items."""

    def cut(text: str, length: int) -> str:
        return cut_words(text.strip(), max(40, int(length * scale)))

    name = made.session[:8]
    about = [f"session {name}", made.project, made.git_branch or "", date_text(made.ended), plural(made.turns, "turn")]
    yield from (f"# {one_line(made.title)}", " · ".join(one for one in about if one))
    yield from _section("Goal", [cut(made.goal, GOAL)] if made.goal else [])
    tests = _listed(made.commands, 5 if scale < 1 or most else 12, f"reread show {name} --tool bash")
    full = scale >= SCALES[2] and most is None
    files = [_file(one) for one in made.files] if full else list(_by_folder(made.files))
    lists = (
        ("Decisions", [one_line(one, max(60, int(DECISION * scale))) for one in made.decisions], f"reread show {name}"),
        (f"Files changed ({len(made.files)})", files, f"reread files {name}"),
        ("Open tasks", [one_line(one, max(60, int(TASK * scale))) for one in made.tasks], f"reread show {name}"),
    )
    for title, items, rest in lists:
        yield from _section(title, _listed(items, most, rest))
    error = _ends(made.last_error or "", max(60, int(ERROR * scale)))
    yield from _section("Last error", [error] if error else [])
    yield from _section("Tests", tests)
    yield from _section("Commits", _listed([one_line(one) for one in made.commits], most or 10, f"reread show {name}"))
    asked = [one_line(one, max(60, int(PROMPT * scale))) for one in made.prompts]
    yield from _section("Asked since", _listed(asked, max(3, int(20 * scale)), f"reread show {name} --only prompts"))
    yield from _section("Last answer", [cut(made.answer, ANSWER)] if made.answer else [])
    yield from ("", f"Read on: `reread show {name}:TURN`, `reread files {name}`, `reread search WORDS session:{name}`")


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from ("", f"## {title}", *lines)


def _listed(items: Sequence[str], most: int | None, rest: str) -> list[str]:
    """Return items as a list; of too many the last ones, with how many there are before and what lists them."""
    shown = items if most is None else items[-most:]
    left = len(items) - len(shown)
    return [*([f"- {left} more before: `{rest}`"] if left else []), *(f"- {one}" for one in shown)]


def _file(one: BriefFile) -> str:
    turn = f", turn {one.turn}" if one.turn is not None else ""
    return f"{one.path} {one.action} +{one.added} −{one.removed}{turn}"


def _by_folder(files: Sequence[BriefFile]) -> Iterator[str]:
    """Yield the names of files, those of one folder on a line."""
    folders: dict[str, list[str]] = {}
    for one in files:
        folder, slash, name = one.path.rpartition("/")
        folders.setdefault(folder + slash, []).append(
            name if one.action in ("created", "edited") else f"{name} ({one.action})"
        )
    yield from (f"{folder}: {', '.join(names)}" if folder else ", ".join(names) for folder, names in folders.items())
