"""The values that `show -f json` and `tail --format json` print, and their JSON Schema.

The types are the contract: the JSON is encoded from them, and the schema and docs/json.md are generated from them. A
new field keeps VERSION; a field that is removed, or means something else, needs a new one.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import textwrap
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from reread.accounting.billing import Usage
from reread.model.ledger import Fate
from reread.session.cache_breaks import CacheBreak
from reread.session.finding import Finding
from reread.session.results import TurnResult
from reread.tools import nodes
from reread.tools.nodes import Node

VERSION = 1

Time: TypeAlias = Annotated[datetime, Meta(tz=True)]
JsonObject: TypeAlias = dict[str, Any]
ContentBlock: TypeAlias = Annotated[dict[str, Any], Meta(extra_json_schema={"$ref": "#/$defs/ContentBlock"})]
CONTENT_BLOCK = {
    "title": "ContentBlock",
    "description": "A content block with the fields of its type, as recorded and without empty ones: see the format.",
    "type": "object",
    "properties": {"type": {"description": "text, thinking, tool_use, tool_result, image …", "type": "string"}},
    "required": ["type"],
}


class MessageValue(Struct, frozen=True, kw_only=True):
    """One prompt, one response or one notice: every record of it, joined."""

    id: str
    """The id of a response; else the uuid of the first record, or its line."""
    role: str
    """user, assistant or system."""
    kind: str
    """user: prompt, command, output, hook, notification, interrupt, summary, meta; assistant: response, error, notice;
    system: compaction, hook, output, notification, error, notice."""
    author: str
    """Who said it: person, model, command, hook, peer, task or client."""
    timestamp: Time | None
    """When its first record was written."""
    model: str | None
    """The model of a response."""
    stop_reason: str | None
    """Why a response ended; null if it did not."""
    text: str
    """Its text; of a person's message, without the client's additions."""
    blocks: list[ContentBlock]
    """Its selected blocks, without results that have a call."""
    calls: list[str]
    """The ids of its calls."""
    usage: Usage
    """The tokens of its requests."""
    uuids: list[str]
    """The uuids of its records."""
    line: int
    """The line of its first record."""
    branch: int
    """The id of the branch it is on."""
    flags: list[str]
    """error, deleted, superseded, aborted or dropped: only an earlier state of the file has it, and `line` is there."""
    request_id: str | None
    """The id of the API's request."""
    stop_sequence: str | None
    """The text that ended the response, if it was a stop sequence."""
    service_tier: str | None
    """The API's service tier."""
    attached: list[JsonObject]
    """The records that belong to it, as recorded: files mentioned, context added, hooks."""
    fields: JsonObject
    """Its other recorded fields, by path."""
    setups: list[JsonObject]
    """The `init` records before it that changed something, as recorded: tools, MCP servers, permission mode."""
    queued: list[QueuedValue]
    """The prompts queued after it and, as far as the file says, never sent."""
    session: str | None
    """The id of the session that begins with it, if another one came before in the same file."""


class CallValue(Struct, frozen=True, kw_only=True):
    """A tool use and its result together."""

    id: str
    """The id of the tool use."""
    name: str
    """The name of the tool."""
    title: str
    """Its title, in one line."""
    state: str
    """running, done, failed, denied or interrupted."""
    exit_code: int | None
    """The exit code of the program it ran; null if the result does not say."""
    error: str | None
    """The message of a call that failed, was denied or interrupted."""
    input: Any
    """The input as written."""
    result: ContentBlock | None
    """The result block; null while unanswered."""
    data: Any
    """The structured result, `toolUseResult`, as written."""
    duration: float | None
    """Seconds from the call to its result."""
    nodes: list[Node]
    """How reread draws it; with --full, everything that is recorded of it."""
    attached: list[JsonObject]
    """The records that belong to it, as recorded: progress, hooks, notices."""
    fields: JsonObject
    """Its other recorded fields, by where they stand."""
    agent: str | None
    """The id of the agent that it started or resumed."""
    absent_agent: str | None
    """The id of the agent that its result names, if the agent's transcript is not there."""
    message: str
    """The id of its message."""
    line: int
    """The line of the tool use."""


class CommitValue(Struct, frozen=True, kw_only=True):
    """A commit that a turn made."""

    sha: str
    """As far as the transcript states it: often the first seven digits."""
    subject: str | None
    """The first line of its message."""
    branch: str | None
    """The git branch."""
    call: str
    """The id of the call that made it."""
    agent: str | None
    """The id of the agent whose call it is; null in the main conversation."""


class PullRequestValue(Struct, frozen=True, kw_only=True):
    """A pull request that a turn created, changed or was linked to."""

    number: int
    """Its number in the repository."""
    url: str | None
    """Its address."""
    repository: str | None
    """Owner and name."""
    action: str | None
    """created, merged, commented …; null if the client only linked the session to it."""
    call: str | None
    """The id of the call that did it; null if it was only linked."""
    agent: str | None
    """The id of the agent whose call it is; null in the main conversation."""


class TurnValue(Struct, frozen=True, kw_only=True):
    """A prompt and everything up to the next prompt."""

    index: int
    """Its number, from 1."""
    prompt: MessageValue | None
    """The prompt that a person typed; null if the file does not say."""
    messages: list[str]
    """The ids of its messages, the prompt included."""
    calls: list[str]
    """The ids of its calls."""
    usage: Usage
    """The tokens of its messages."""
    results: list[TurnResult]
    """How it ended, if a stream says so."""
    commits: list[CommitValue]
    """The commits that it made; in the main conversation, also those of its agents."""
    pull_requests: list[PullRequestValue]
    """The pull requests that it created, changed or was linked to, likewise."""


class BranchValue(Struct, frozen=True, kw_only=True):
    """One way through a conversation that was rewound."""

    id: int
    """Its number, from 0."""
    active: bool
    """Whether the session continued here."""
    parent: int | None
    """The branch it leaves."""
    fork: str | None
    """The id of the message after which it leaves its parent."""
    leaf: str | None
    """The uuid of its last record."""
    messages: list[str]
    """The ids of the messages that no parent shares."""
    turns: int
    """How many turns start on it."""


class CompactionValue(Struct, frozen=True, kw_only=True):
    """A place where the conversation was summarised to free context."""

    line: int
    """The line of the boundary, or of the summary if there is no boundary."""
    trigger: str | None
    """auto or manual."""
    micro: bool
    """Whether only old tool results were cleared."""
    pre_tokens: int | None
    """Tokens in the context before."""
    post_tokens: int | None
    """Tokens in the context after."""
    preserved: list[str]
    """The uuids of records that stayed in the context unchanged."""
    boundary: str | None
    """The id of the message that marks the place."""
    summary: str | None
    """The id of the message with the summary."""


class QueuedValue(Struct, frozen=True, kw_only=True):
    """A prompt that was queued while a turn ran and, as far as the file says, never sent."""

    text: str
    """Its text."""
    author: str
    """Who wrote it: person, command, peer, task or client."""
    taken: str
    """How it left the queue: removed, or taken back; empty if it did not."""
    blocks: list[ContentBlock]
    """Pictures and other blocks that were queued with it."""


class StateValue(Struct, frozen=True, kw_only=True):
    """A record of session state, of an unknown type, that cannot be read, or that no message is there for."""

    line: int
    """Its line."""
    type: str
    """Its type; `malformed` if it cannot be read."""
    fields: JsonObject
    """Its content, as recorded; of a record that cannot be read, its text."""


class ConversationValue(Struct, frozen=True, kw_only=True):
    """The fields that a session and an agent have in common."""

    messages: list[MessageValue]
    """Every message, all branches, in file order; or those of the selected turns."""
    calls: list[CallValue]
    """The calls of these messages."""
    turns: list[TurnValue]
    """The turns of the active branch, or the selected ones."""
    branches: list[BranchValue] | UnsetType = UNSET
    """All branches, the active one first; absent if only some turns are selected."""
    compactions: list[CompactionValue] | UnsetType = UNSET
    """Where it was summarised; absent if only some turns are selected."""
    cache_breaks: list[CacheBreak] | UnsetType = UNSET
    """The requests that had to write again what was cached; absent if only some turns are selected."""
    state: list[StateValue] | UnsetType = UNSET
    """The records that are no messages and belong to none, in file order; absent if only some turns are selected."""
    ledger: list[Fate] | UnsetType = UNSET
    """The fate of every record; absent if only some turns are selected."""


class AgentValue(ConversationValue, frozen=True, kw_only=True):
    """A conversation that a call started."""

    id: str
    """The agent's id."""
    type: str | None
    """general-purpose, Explore …"""
    prompt: str | None
    """The task it was given."""
    call: str | None
    """The id of the call that started it, if the files say which."""
    parent: str | None
    """The id of the agent that made that call; null if the main thread did."""
    path: str | None
    """Its own file, if it has one."""
    warmup: bool
    """Whether it is one of the one-line agents that Claude Code 2.0 starts with each session."""
    usage: Usage
    """The tokens of its messages."""


class SessionValue(ConversationValue, frozen=True, kw_only=True):
    """A session, or the selected turns of it."""

    version: Literal[1] = VERSION
    """The version of this format."""
    id: str
    """The session's id."""
    ids: list[str]
    """Every session id that the file holds, in order."""
    title: str
    """Its title; empty if it has none."""
    project: str
    """The folder the session worked in."""
    project_guessed: bool
    """Whether `project` is only a guess by the file's folder."""
    path: str | None
    """Its file; null if it came from standard input."""
    started: Time | None
    """When its first record was written."""
    ended: Time | None
    """When its last record was written."""
    dialects: list[str]
    """The ways of writing records that it uses."""
    versions: list[str]
    """The versions of the client."""
    models: list[str]
    """The models that answered."""
    git_branches: list[str]
    """The git branches it was on, in order; one may appear again."""
    entrypoints: list[str]
    """How the client was started."""
    slugs: list[str]
    """The names that the client gave it."""
    permission_modes: list[str]
    """The permission modes, in order."""
    pr_links: list[JsonObject]
    """The records that link it to pull requests."""
    results: list[TurnResult]
    """How its turns ended, if a stream says so."""
    usage: Usage | None
    """Its usage, its agents included; null if only its prompts are left."""
    problems: list[Finding]
    """The findings of `reread check` in its file."""
    agents: dict[str, AgentValue]
    """The agents by id: all, or those that the selected turns started."""


class ChangeValue(Struct, frozen=True, kw_only=True):
    """The change of one record, with the current state of the message or call: a line of `tail --format json`."""

    kind: str
    """record, or rewritten if the file was."""
    line: int
    """The line of the record, or the first one that was rewritten."""
    fate: Fate | None
    """The fate of the record."""
    type: str | None
    """The type of the record."""
    message: MessageValue | None
    """The message it changed."""
    call: CallValue | None
    """The call it changed."""
    agent: str | None
    """The id of the agent it belongs to."""


STRUCTS: tuple[type[Struct], ...] = (
    SessionValue,
    AgentValue,
    TurnValue,
    CommitValue,
    PullRequestValue,
    MessageValue,
    QueuedValue,
    StateValue,
    CallValue,
    BranchValue,
    CompactionValue,
    CacheBreak,
    TurnResult,
    Usage,
    Fate,
    Finding,
    ChangeValue,
)
"""The types of the document, those of nodes aside."""


def session_schema() -> dict[str, Any]:
    """Return the JSON Schema of a session; the lines of `tail --format json` are its `ChangeValue`."""
    known = filter(inspect.isclass, vars(nodes).values())
    drawn = [one for one in known if issubclass(one, Struct) and one.__module__ == nodes.__name__]
    whole = described_schema("A session as `reread show --json` prints it", *STRUCTS, *drawn)
    definitions = whole["$defs"]
    kinds = [struct.__name__ for struct in drawn if issubclass(struct, Node) and struct is not Node]
    members = [{"$ref": f"#/$defs/{kind}"} for kind in kinds]
    definitions["Node"] = {"title": "Node", "description": Node.__doc__, "anyOf": members}
    return {**whole, "$defs": dict(sorted({**definitions, "ContentBlock": CONTENT_BLOCK}.items()))}


def described_schema(title: str, *structs: type[Struct]) -> dict[str, Any]:
    """Return the JSON Schema of the first of some structs, with the meaning of each field."""
    references, definitions = msgspec.json.schema_components(structs, ref_template="#/$defs/{name}")
    for struct in structs:
        _describe(definitions[struct.__name__], struct)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"{title}, version {VERSION}"}
    return {**head, **references[0], "$defs": definitions}


def _describe(definition: dict[str, Any], struct: type[Struct]) -> None:
    """Say what each field means and which ones are always there; inherited fields come last."""
    own, properties = struct.__annotations__, definition["properties"]
    for name, text in field_docs(struct).items():
        properties[name] = {"description": re.sub(r"\bNone\b", "null", text), **properties[name]}
    definition["properties"] = dict(sorted(properties.items(), key=lambda item: item[0] not in own))
    optional = {field.name for field in msgspec.structs.fields(struct) if field.default is UNSET}
    definition["required"] = [name for name in properties if name not in optional]


def field_docs(struct: type) -> dict[str, str]:
    """Return what the source of a class and of its bases says of each field, as one line."""
    found: dict[str, str] = {}
    for base in reversed(struct.__mro__):
        if base.__module__.startswith("reread."):
            found |= _own_docs(base)
    return found


def _own_docs(struct: type) -> dict[str, str]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(struct))).body[0]
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    return {
        node.target.id: " ".join(after.value.value.split())
        for node, after in itertools.pairwise(body)
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and isinstance(after, ast.Expr)
        and isinstance(after.value, ast.Constant)
        and isinstance(after.value.value, str)
    }
