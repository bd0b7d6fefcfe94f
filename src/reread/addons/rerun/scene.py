"""What a session needs to be played again: its folder and files, what was said to it, and how it was started."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Container, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from reread.addons.rerun.aside import PATH, absolute, names_programs
from reread.addons.rerun.shown import shown_files
from reread.base.choices import DENIED, DONE, FAILED, RUNNING
from reread.base.coerce import as_dict, as_list, as_str
from reread.history.reads import read_of
from reread.history.versions import CREATE
from reread.model.conversation import Call, Message
from reread.model.record_kinds import SYNTHETIC

if TYPE_CHECKING:
    from reread.session.session import Session

Object = dict[str, Any]
MOST_FILES = 64 << 20
"""Bytes of files that are put into the box."""
SHELLS = ("Bash", "Monitor")
STOPS = ("TaskStop", "KillShell", "KillBash")
ASKS = "AskUserQuestion"
NO_END = "reread: nothing was run: the record ends before this command does\n"
TYPED_COMMAND = "<bash-input>"
FOR_TOOL_USE = "[Request interrupted by user for tool use]"
OWN_ERROR = "<tool_use_error>"
"""How the client's own words about a call begin that it did not make."""
REJECTED = "The user doesn't want to proceed with this tool use."
ASKED_FOR = frozenset({"Glob", "Grep"})
"""Tools that newer clients have only if they are asked for."""
ALWAYS = frozenset({"Bash", "Read"})
"""Tools that every client has unless they are forbidden."""
OWN_SYSTEM = "\nYou are "
"""How the client's own system prompt begins, after a line that names the program."""
STRUCTURED = "StructuredOutput"
TODOS, TASKS = "TodoWrite", ("TaskCreate", "TaskUpdate", "TaskGet", "TaskList")
"""Two lists of tasks, of which a client has one, or none if a program started it."""
LATE = "ToolSearch"
"""The tool that gives a model the definitions of others."""
DEFAULT_TOOLS = (
    *("Agent", "AskUserQuestion", "Bash", "Edit", "EnterPlanMode", "ExitPlanMode", "Glob", "Grep", "KillShell", "LSP"),
    *("ListMcpResourcesTool", "Monitor", "NotebookEdit", "Read", "ReadMcpResourceTool", "SendMessage", "Skill", "Task"),
    *("TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate", "TodoWrite", "ToolSearch"),
    *("WebFetch", "WebSearch", "Write"),
)
"""What is asked for with those, if no request tells what there was; a client takes the ones that it knows."""
ALL_TOOLS = "All tools"
CLIENTS_OWN = re.compile(r"\n\n(?:Messages from the agent that launched you\b|Notes:\n- Agent threads always\b)")
"""How the client's own words after the system prompt of an agent begin."""
OWN_AGENTS = ("claude", "Explore", "general-purpose", "Plan", "statusline-setup", "output-style-setup")


class SceneFile(msgspec.Struct, frozen=True):
    """A file as it was when the session began."""

    path: str
    data: bytes
    whole: bool
    """True if all of it is known; else it has what the session was shown."""


class ShellRecord(msgspec.Struct):
    """What was recorded of a command."""

    call: str
    """The id of its call."""
    command: str
    out: str
    err: str
    code: int
    stays: bool = False
    """True if it ran until it was stopped."""
    interrupted: bool = False
    """True if a person stopped it, and with it the turn."""


class TypedPrompt(msgspec.Struct, frozen=True):
    """Something that was said to the session."""

    turn: int
    content: str | list[Any]
    during: int | None = None
    """The number of the answer that was on its way when it was said; None if the client waited for it."""


class Scene(msgspec.Struct):
    """A session before it is played."""

    folder: str
    """The working directory, as recorded."""
    home: str
    prompts: list[TypedPrompt]
    files: list[SceneFile]
    commands: list[ShellRecord]
    refused: frozenset[str]
    """The ids of the commands to which the caller said no in words of its own, which the record has as an error."""
    model: str | None
    mode: str | None
    """The permission mode that it began in."""
    version: str | None
    """The client that recorded it."""
    is_repository: bool
    branch: str | None
    tools: list[str] | None
    """The client's own tools that it had, if they are not those that it has by default."""
    system: str | None
    """The system prompt that it had in place of the client's own."""
    agents: dict[str, Object]
    """The types of agents that are not the client's own, as it takes them with `--agents`."""
    schema: Object | None
    """What a structured answer had to be like, if one was asked for."""
    switches: dict[str, str]
    """The environment that lets the client have the tools that it had."""
    aside: frozenset[str]
    """The files, as they are named, that lie under another name because they could name programs."""
    notes: list[str]
    """What cannot be as it was, each in a sentence."""


def scene_of(session: Session, *, turns: int | None = None) -> Scene:
    """Return what is needed to play a session, or its first turns."""
    notes: list[str] = []
    stopped, interrupted = set(_stopped(session)), set(_interrupted(session))
    folder = _folder(session)
    prompts = list(_prompts(session, turns, notes))
    files = list(_files(session, folder, notes))
    branches = session.git_branches
    return Scene(
        folder,
        home_of(folder),
        prompts,
        files,
        [one for call in _all_calls(session) if (one := shell_record(call, stopped, interrupted)) is not None],
        frozenset(_refused(session, interrupted)),
        next((model for model in session.models if model != SYNTHETIC), None),
        next(iter(session.permission_modes), None),
        next(iter(session.versions), None),
        bool(branches and branches[0]),
        branches[0] if branches and branches[0] != "HEAD" else None,
        _tools(session),
        _system(session),
        _agents(session, notes),
        _schema(session, notes),
        _switches(session),
        _aside(session, folder, files, notes),
        _hooked(session, notes),
    )


def _tools(session: Session) -> list[str] | None:
    """Return the names of the client's own tools, if some were asked for or forbidden."""
    first = next(iter(session.requests), None)
    if first is None:
        names = _tool_names(session)
        own = sorted(name for name in {*DEFAULT_TOOLS, *names} if not name.startswith("mcp__"))
        return own if names & ASKED_FOR else None
    named = [as_str(as_dict(tool).get("name")) or "" for tool in first.tools]
    for record in session.records:
        if record.type == "attachment" and b'"deferred_tools_delta"' in record.body:
            names = as_list(as_dict(record.native.get("attachment")).get("addedNames"))
            named += [name for name in names if isinstance(name, str)]
    if ALWAYS.issubset(named) and not ASKED_FOR.intersection(named):
        return None
    return [name for name in dict.fromkeys(named) if name and not name.startswith("mcp__")]


def _system(session: Session) -> str | None:
    """Return the system prompt that was given; None if it is the client's own, or not known."""
    first = next(iter(session.requests), None)
    texts = [as_str(as_dict(block).get("text")) or "" for block in first.system] if first is not None else []
    return texts[1] if len(texts) > 1 and not texts[1].startswith(OWN_SYSTEM) else None


def _agents(session: Session, notes: list[str]) -> dict[str, Object]:
    """Return the types of agents that are not the client's own."""
    said = listed_agents(session)
    found: dict[str, Object] = {}
    for agent in session.agents.values():
        if agent.type in (None, *OWN_AGENTS) or agent.type in found:
            continue
        request = next(iter(agent.requests), None)
        texts = [as_str(as_dict(block).get("text")) or "" for block in request.system] if request is not None else []
        if not texts:
            notes.append(f"How the agents of type {agent.type} are defined is not recorded.")
        about, tools = said.get(agent.type) or (agent.type, None)
        prompt = CLIENTS_OWN.split("\n".join(texts[1:]), 1)[0]
        found[agent.type] = {"description": about, "prompt": prompt or f"You are {agent.type}."}
        if tools is not None:
            found[agent.type]["tools"] = tools
    return found


def listed_agents(session: Session) -> dict[str, tuple[str, list[str] | None]]:
    """Return what the model was told of each type of agent: its description, and its tools if it has not all."""
    found: dict[str, tuple[str, list[str] | None]] = {}
    for record in session.records:
        if record.type == "attachment" and b'"agent_listing_delta"' in record.body:
            for line in as_list(as_dict(record.native.get("attachment")).get("addedLines")):
                name, _, about = (as_str(line) or "").removeprefix("- ").partition(": ")
                text, _, tools = about.rpartition(" (Tools: ")
                all_of_them = not text or tools == f"{ALL_TOOLS})"
                found[name] = text or about, None if all_of_them else tools.removesuffix(")").split(", ")
    return found


def _tool_names(session: Session) -> set[str]:
    """Return the names of the tools that the model had, as far as requests were noted, or called."""
    tools = (as_dict(tool) for request in session.requests[:1] for tool in request.tools)
    return {*(as_str(tool.get("name")) or "" for tool in tools), *(call.name for call in _all_calls(session))}


def _switches(session: Session) -> dict[str, str]:
    names = _tool_names(session)
    found: dict[str, str] = {}
    if names.intersection((TODOS, *TASKS)):
        found["CLAUDE_CODE_ENABLE_TODO_TOOLS"] = "1"
        found["CLAUDE_CODE_ENABLE_TASKS"] = str(int(not names.isdisjoint(TASKS)))
    if session.requests or LATE in names:
        found["ENABLE_TOOL_SEARCH"] = "true" if LATE in names else "false"
    return found


def _schema(session: Session, notes: list[str]) -> Object | None:
    for request in session.requests[:1]:
        for tool in map(as_dict, request.tools):
            if tool.get("name") == STRUCTURED:
                return as_dict(tool.get("input_schema"))
    if STRUCTURED in _tool_names(session):
        notes.append("What its structured answer had to be like is not recorded, so that tool is not there.")
    return None


def _aside(session: Session, folder: str, files: Sequence[SceneFile], notes: list[str]) -> frozenset[str]:
    """Return the names of the files that could name programs for the client to start."""
    found = {file.path for file in files if names_programs(file.path, file.data.decode("utf-8", "replace"))}
    named: dict[str, str] = {}
    for call in _all_calls(session):
        path = as_str(as_dict(call.input).get(PATH))
        if path is not None:
            named[path] = absolute(path, folder)
            if names_programs(named[path], repr(call.input)):
                found.add(named[path])
    notes += [f"{path} lies beside its place: it could name programs, which would be run." for path in sorted(found)]
    return frozenset({*found, *(path for path, whole in named.items() if whole in found)})


def _hooked(session: Session, notes: list[str]) -> list[str]:
    """Return the notes, with one about the hooks that the session had."""
    if any(record.type == "attachment" and b'"hook_' in record.body for record in session.records):
        notes.append("It had hooks, which are not recorded: none runs unless you give some.")
    return notes


def _folder(session: Session) -> str:
    named = session.metadata.cwds[0] if session.metadata.cwds else ""
    return posixpath.normpath(named) if named.startswith("/") else "/home/user/project"


def home_of(folder: str) -> str:
    """Return the home folder that a project most likely lies in."""
    parts = folder.split("/")
    if len(parts) > 3 and parts[1] in ("home", "Users"):
        return "/".join(parts[:3])
    return "/root" if parts[1:2] == ["root"] and len(parts) > 2 else "/home/user"


def _all_calls(session: Session) -> Iterator[Call]:
    yield from session.calls
    for agent in session.agents.values():
        yield from agent.calls


def _prompts(session: Session, turns: int | None, notes: list[str]) -> Iterator[TypedPrompt]:
    answers = 0
    shown: list[Any] = []
    """Commands that were typed with `!`, and what they printed: the model got them with the next prompt."""
    for turn in session.turns[:turns]:
        message, before = turn.prompt, answers
        answered = sum(one.kind == "response" and one.model != SYNTHETIC for one in turn.messages)
        answers += answered
        if message is None or message.author not in ("person", "command"):
            continue
        if message.full_text.startswith(TYPED_COMMAND):
            own = (one for one in turn.messages if one.kind in ("command", "output"))
            shown += [block for one in own for block in _blocks(_content(one))]
            if answered:
                yield TypedPrompt(turn.index, shown)
                shown = []
        elif message.kind == "command":
            said = _command(message)
            if not answered and said.partition(" ")[0] != "/compact":
                notes.append(f"Turn {turn.index}: {said} changes only the client, and was left out.")
                continue
            yield TypedPrompt(turn.index, said)
        else:
            content = _content(message)
            content = [*shown, *_blocks(content)] if shown else content
            yield TypedPrompt(turn.index, content, before - 1 if before and _was_queued(message) else None)
            shown = []


def _blocks(content: str | list[Any]) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _was_queued(message: Message) -> bool:
    return any(message.bodies.native(index).get("type") == "attachment" for index in message.records)


def _command(message: Message) -> str:
    command = message.command
    if command is None:
        return message.full_text
    return f"/{command.name.lstrip('/')} {command.args or ''}".strip()


def _content(message: Message) -> str | list[Any]:
    found: list[Any] = []
    for index in message.records:
        native = message.bodies.native(index)
        content = as_dict(native.get("message")).get("content") or as_dict(native.get("attachment")).get("prompt")
        if isinstance(content, str):
            return content
        found += as_list(content)
    return found or message.full_text


def _stopped(session: Session) -> Iterator[str]:
    """Yield the names of the commands in the background that were stopped."""
    for call in _all_calls(session):
        if call.name in STOPS:
            given = as_dict(call.input)
            yield from (id for name in ("task_id", "shell_id") if (id := as_str(given.get(name))))


def _interrupted(session: Session) -> Iterator[str]:
    """Yield the ids of the calls within which a person interrupted the client."""
    for conversation in (session.conversation, *session.agents.values()):
        for turn in conversation.turns:
            for one, following in pairwise(turn.messages):
                if following.kind == "interrupt":
                    yield from (call.id for call in one.calls)


def _refused(session: Session, interrupted: Container[str]) -> Iterator[str]:
    """Yield the ids of the commands that the caller refused, with a text that says nothing of it.

    A command that ran tells its exit code, from 2.0 on; one that was interrupted while it ran tells that.
    """
    is_told = not next(iter(session.versions), "1.").startswith(("0.", "1."))
    for call in _all_calls(session):
        if call.name in SHELLS and call.state == FAILED and call.outcome.exit_code is None:
            text = call.tool_call.text
            stopped = call.id in interrupted and FOR_TOOL_USE not in text
            if text and (is_told or stopped) and not text.startswith(OWN_ERROR):
                yield call.id


def shell_record(
    call: Call, stopped: Container[str | None] = (), interrupted: Container[str] = ()
) -> ShellRecord | None:
    """Return what was recorded of a command; None if it did not run.

    `stopped` are the names of commands in the background that ran until they were stopped; `interrupted` are the ids
    of calls with which a person stopped the whole turn.
    """
    command = as_str(as_dict(call.input).get("command"))
    if call.name not in SHELLS or command is None:
        return None
    if call.id in interrupted and call.state != DONE:
        out = call.tool_call.text.partition(FOR_TOOL_USE)[2].lstrip("\n")
        return ShellRecord(call.id, command, out, "", 0, stays=True, interrupted=True)
    if call.state == DENIED:
        return None
    if call.state == RUNNING:
        return ShellRecord(call.id, command, "", NO_END, 0)
    data = as_dict(call.data)
    code = call.outcome.exit_code
    if data:
        out, err = call.spilled or as_str(data.get("stdout")) or "", as_str(data.get("stderr")) or ""
        stays = any(as_str(data.get(name)) in stopped for name in ("backgroundTaskId", "shellId"))
        out += "\n" if out and not out.endswith("\n") else ""
        return ShellRecord(call.id, command, out, err, code or 0, stays)
    text = call.tool_call.text
    first, _, rest = text.removeprefix("Error: ").partition("\n")
    said = rest if first.startswith("Exit code") else text
    return ShellRecord(call.id, command, said, "", code if code is not None else int(call.state == FAILED))


def _files(session: Session, folder: str, notes: list[str]) -> Iterator[SceneFile]:
    """Yield the files as they were before the session changed them, and those that it only read."""
    room = MOST_FILES
    seen: set[str] = set()
    created = set[str]()
    for history in session.files.values():
        first = history.versions[0]
        seen.add(history.path)
        before = history.before(first)
        if before is None or first.action == CREATE:
            if not first.before_known:
                notes.append(f"What {history.path} was at first is not known.")
            created.add(history.path)
            continue
        data = before.best_data
        if len(data) <= room:
            room -= len(data)
            yield SceneFile(history.path, data, True)
    for call in _all_calls(session):
        shown = read_of(call) if call.name == "Read" else None
        if shown is None or shown.path in seen or not shown.path.startswith("/"):
            continue
        seen.add(shown.path)
        text = "\n" * (shown.start - 1) + shown.text
        data = text.encode("utf-8", "surrogateescape")
        if len(data) <= room:
            room -= len(data)
            yield SceneFile(shown.path, data, shown.whole)
    for path, text in _memory(session):
        if path not in seen:
            seen.add(path)
            yield SceneFile(path, text.encode("utf-8", "replace"), True)
    for path, data in shown_files(session, folder):
        if path not in seen and len(data) <= room:
            seen.add(path)
            room -= len(data)
            yield SceneFile(path, data, False)


def _memory(session: Session) -> Iterator[tuple[str, str]]:
    """Yield the memory files that were in the requests."""
    for record in session.records:
        if record.type == "attachment" and (b'"instructions"' in record.body or b'"nested_memory"' in record.body):
            payload = as_dict(record.native.get("attachment"))
            for file in [*as_list(payload.get("files")), payload.get("content")]:
                path, text = as_str(as_dict(file).get("path")), as_str(as_dict(file).get("content"))
                if path and text is not None:
                    yield path, text


def recorded_decision(
    call: Call | None, asked: Object, *, ends_turn: bool = False, refused: Container[str] = ()
) -> Object:
    """Return what a person answered when the client asked whether it may make a call; a no may end the turn."""
    given = as_dict(asked.get("input"))
    if call is None:
        return {"behavior": "deny", "message": "[reread] This call is not in the record."}
    if call.state == DENIED or call.denied or call.id in refused:
        text = call.tool_call.text
        return {"behavior": "deny", "message": text or REJECTED, **({"interrupt": True} if ends_turn else {})}
    if call.name == ASKS:
        return {"behavior": "allow", "updatedInput": {**given, "answers": as_dict(call.data).get("answers", {})}}
    return {"behavior": "allow", "updatedInput": given}
