"""Records to a conversation, one push at a time; loading a file is pushing all of it."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, cast, overload

import msgspec
from msgspec import Raw

from reread import blocks as b
from reread import jsontext
from reread.accounts import Usage, total
from reread.decode import Record, Records
from reread.heads import BlockHead, Head, MessageHead, UsageHead, decode_head
from reread.lines import Read
from reread.messages import TURN_STARTERS, Branch, Call, Compaction, Message, Partial, Turn, cut_turns
from reread.speech import kind_of, take_apart

_Peeked = TypeVar("_Peeked", "AttachmentHead", "ProgressHead", "EventHead")
Fold = Callable[["Conversation", int, Head, Record], None]

FATES = (
    "shown",
    "merged",
    "paired",
    "attached",
    "state",
    "agent",
    "duplicate",
    "reappended",
    "orphan",
    "unknown",
    "malformed",
    "abandoned",
)
(
    SHOWN,
    MERGED,
    PAIRED,
    ATTACHED,
    STATE,
    AGENT,
    DUPLICATE,
    REAPPENDED,
    ORPHAN,
    UNKNOWN,
    MALFORMED,
    ABANDONED,
) = range(len(FATES))

STATE_TYPES = frozenset(
    """agent-color agent-name agent-setting agent_metadata ai-title api-request api-request-blob api-request-shape
    artifact-autoreact-ledger artifact-comment-monitor atis-latch attribution-snapshot bridge-session
    content-replacement continued-in cost-state custom-title ended file-history-delta file-history-snapshot
    fork-context-ref frame-link goal goal-cleared history-suppression isolation-latch last-prompt
    marble-origami-commit marble-origami-snapshot mode permission-mode pr-link queue-operation relocated
    session-mode speculation-accept summary tag task-summary tools-used worktree-state
    active_goal auth_status control_cancel_request control_request control_response conversation_reset keep_alive
    prompt_suggestion rate_limit_event result tool_progress tool_use_summary output""".split()
)
"""Types that tell of the session and never speak."""

SILENT = frozenset(
    """turn_duration init status session_state_changed commands_changed files_persisted thinking_tokens
    background_tasks_changed task_started task_progress task_updated hook_started hook_progress
    control_request_progress elicitation_complete mirror_error plugin_install worker_shutting_down
    session_writes_lost file_snapshot attribution_snapshot vcs_state_changed""".split()
)
"""System subtypes that tell of the session and never speak."""

FACTS = {
    "init": "inits",
    "turn_duration": "turn_durations",
    "result": "results",
    "cost-state": "cost_states",
    "pr-link": "pr_links",
}
"""Where the facts keep the records of a type or subtype."""

SYSTEM_KINDS = {
    "compact_boundary": "compaction",
    "microcompact_boundary": "compaction",
    "stop_hook_summary": "hook",
    "hook_response": "hook",
    "local_command": "output",
    "local_command_output": "output",
    "task_notification": "notification",
    "scheduled_task_fire": "notification",
    "api_error": "error",
    "api_retry": "error",
    "permission_denied": "error",
}
HUMAN_ORIGINS = (None, "human")
SPEAKERS = frozenset({"user", "assistant", "system", "attachment", "stream_event"})
CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
HOOKS = ("hook_", "async_hook_response")
SYNTHETIC = "<synthetic>"
SILENCE, PROMPT, SPOKEN, RESULT = range(4)
"""What a record adds to the talk; a lone call adds nothing until it is answered."""
OTHER_BIT, MANY_BIT = 4, 8
BITS = {"text": 1, "thinking": 2}
TWICE = -2
"""In place of a parent: this record came before."""
ROOT_BRANCH = 0
NO_MESSAGE = MessageHead()


class AttachmentHead(msgspec.Struct):
    """An attachment without its content."""

    type: str = ""
    commandMode: str | None = None
    prompt: Raw = Raw()
    origin: Raw = Raw()
    isMeta: bool | None = None
    toolUseID: str | None = None


class ProgressHead(msgspec.Struct):
    """A progress payload without its content."""

    type: str = ""
    agentId: str | None = None
    message: Raw = Raw()
    prompt: str | None = None


class EventHead(msgspec.Struct):
    """An event of the API's stream without its content."""

    type: str = ""
    message: MessageHead | None = None
    usage: UsageHead | None = None
    delta: Raw = Raw()


class Fate(msgspec.Struct, frozen=True):
    """What became of one record, and why."""

    line: int
    fate: str
    reason: str
    message: str | None = None
    """The id of the message it belongs to."""
    call: str | None = None
    """The id of the call it belongs to."""
    agent: str | None = None
    """The id of the agent it belongs to."""
    of: int | None = None
    """The line of the record that it repeats."""


class Ledger(Sequence[Fate]):
    """What became of every record. Records in = records accounted for."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    def __len__(self) -> int:
        return len(self._conversation.records)

    @overload
    def __getitem__(self, index: int) -> Fate: ...
    @overload
    def __getitem__(self, index: slice) -> list[Fate]: ...
    def __getitem__(self, index: int | slice) -> Fate | list[Fate]:
        if isinstance(index, slice):
            return [self[n] for n in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        return self._conversation.fate(index)

    def __iter__(self) -> Iterator[Fate]:
        for n in range(len(self)):
            yield self[n]

    @property
    def fates(self) -> dict[str, int]:
        """How many records met each fate."""
        counts = Counter(self._conversation.fate_codes())
        return {name: counts[code] for code, name in enumerate(FATES) if counts[code]}


class Change(msgspec.Struct, frozen=True):
    """What one record changed."""

    fate: Fate
    record: Record
    message: Message | None = None
    call: Call | None = None
    agent: Agent | None = None


class Facts:
    """What the records say of the session as a whole."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.ids_at: list[int] = []
        """The record at which each id first stands."""
        self.cwds: list[str] = []
        self.git_branches: list[str] = []
        self.versions: list[str] = []
        self.slugs: list[str] = []
        self.entrypoints: list[str] = []
        self.permission_modes: list[str] = []
        self.models: list[str] = []
        self.first_stamp: str | None = None
        self.last_stamp: str | None = None
        self.custom_title: str | None = None
        self.ai_title: str | None = None
        self.summaries: list[tuple[str, str | None]] = []
        """Titles of the old kind, with the leaf each belongs to."""
        self.pr_links: list[int] = []
        self.results: list[int] = []
        """The records that end a run in a stream."""
        self.inits: list[int] = []
        self.cost_states: list[int] = []
        self.turn_durations: list[int] = []
        self.continued_in: list[str] = []
        self.forked_from: dict[str, Any] | None = None
        self._seen = Head()

    def of(self, name: str) -> list[int]:
        """One of the lists of record indexes, by name."""
        return cast(list[int], getattr(self, name))

    def note_state(self, index: int, head: Head) -> None:
        """Take in a record that tells of the session."""
        if head.customTitle is not None:
            self.custom_title = head.customTitle
        if head.aiTitle is not None:
            self.ai_title = head.aiTitle
        if head.summary:
            self.summaries.append((str(_value(head.summary)), head.leafUuid))
        if head.continuedInSessionId:
            _add(self.continued_in, head.continuedInSessionId)

    def note(self, head: Head, index: int) -> None:
        """Take in what the envelope of a record says."""
        seen = self._seen
        stamp = head.timestamp
        if stamp is not None:
            if self.first_stamp is None or stamp < self.first_stamp:
                self.first_stamp = stamp
            if self.last_stamp is None or stamp > self.last_stamp:
                self.last_stamp = stamp
        if (
            head.sessionId == seen.sessionId
            and head.gitBranch == seen.gitBranch
            and head.version == seen.version
            and head.cwd == seen.cwd
            and head.slug == seen.slug
            and head.entrypoint == seen.entrypoint
            and head.permissionMode == seen.permissionMode
        ):
            return
        self._seen = head
        if head.forkedFrom and self.forked_from is None:
            self.forked_from = _dict(_value(head.forkedFrom)) or None
        if head.sessionId and (not self.ids or head.sessionId != self.ids[-1]):
            self.ids.append(head.sessionId)
            self.ids_at.append(index)
        _add(self.cwds, head.cwd)
        _follow(self.git_branches, head.gitBranch)
        _add(self.versions, head.version)
        _add(self.slugs, head.slug)
        _add(self.entrypoints, head.entrypoint)
        _follow(self.permission_modes, head.permissionMode)


def _add(values: list[str], value: str | None) -> None:
    if value and value not in values:
        values.append(value)


def _follow(values: list[str], value: str | None) -> None:
    if value and (not values or values[-1] != value):
        values.append(value)


class Conversation:
    """Messages, calls, branches and agents, folded from records in file order.

    `push` takes one record. It does no I/O: bodies come through `read`, only when asked for.
    """

    def __init__(self, read: Read) -> None:
        self.records = Records(read)
        self.messages: list[Message] = []
        self.calls: list[Call] = []
        self.compactions: list[Compaction] = []
        self.facts = Facts()
        self.own_agents: dict[str, Agent] = {}
        """The agents whose records stand in this very file."""
        self.superseded: set[str] = set()
        """The uuids of records that the stream took back."""
        self._fates = bytearray()
        self._targets = array("i")
        self._parents = array("i")
        self._branch_of = array("I")
        self._childed = bytearray()
        self._speaks = bytearray()
        self._uuids: dict[str, int] = {}
        self._waiting: dict[str, list[int]] = {}
        self._by_id: dict[str, Message] = {}
        self._by_call: dict[str, Call] = {}
        self._unclaimed: dict[str, tuple[int, bool]] = {}
        """Results that came before their call."""
        self._branches = [Branch(self, ROOT_BRANCH)]
        self._here = ROOT_BRANCH
        self._pinned: int | None = None
        self._last = -1
        self._owners: dict[str, Agent] = {}
        self._agent_of_call: dict[str, Agent] = {}
        self._numbers: dict[str, int] = {}
        self._sidechain = False
        """Whether sidechain records are this conversation's own: an agent's file."""
        self._ends: set[int] = set()
        self._streaming: Message | None = None
        self._turns: tuple[int, list[Turn]] = (-1, [])

    # What came of it

    @property
    def turns(self) -> list[Turn]:
        """The turns of the active branch."""
        if self._turns[0] != len(self.records):
            self._turns = (
                len(self.records),
                list(cut_turns(self.branch_messages(self.active_branch), self.turn_ends)),
            )
        return self._turns[1]

    @property
    def branches(self) -> list[Branch]:
        """All branches, the active one first."""
        active = self.active_branch
        return sorted(self._branches, key=lambda branch: branch.id != active)

    @property
    def active_branch(self) -> int:
        """The id of the branch that the session went on from."""
        return self._here if self._pinned is None else self._pinned

    @property
    def turn_ends(self) -> frozenset[int]:
        """The messages after which the file says that a turn ended."""
        return frozenset(self._ends)

    @property
    def usage(self) -> Usage:
        """The tokens of all its messages, abandoned branches included: they were spent."""
        return total(message.usage for message in self.messages)

    @property
    def ledger(self) -> Ledger:
        """What became of every record."""
        return Ledger(self)

    def branch_messages(self, branch: int) -> list[Message]:
        """The messages from the first to the leaf of a branch."""
        limits = self._limits(branch)
        if len(self._branches) == 1:
            return list(self.messages)
        return [m for m in self.messages if m.branch in limits and m.records[0] <= limits[m.branch]]

    def on_branch(self, message: Message, branch: int) -> bool:
        """Whether a message is on the way to the leaf of a branch."""
        limits = self._limits(branch)
        return message.branch in limits and message.records[0] <= limits[message.branch]

    def _limits(self, branch: int) -> dict[int, int]:
        """For each branch on the way to this one, the last record that both share."""
        limits = {branch: len(self.records)}
        at = self._branches[branch]
        while at.parent is not None:
            limits[at.parent] = min(at.fork, limits.get(at.parent, at.fork))
            at = self._branches[at.parent]
        return limits

    def has_call(self, tool_use_id: str | None) -> bool:
        """Whether a call of that id was made here."""
        return isinstance(tool_use_id, str) and tool_use_id in self._by_call

    def call(self, tool_use_id: str) -> Call | None:
        """The call of that id."""
        return self._by_call.get(tool_use_id)

    def message(self, id: str) -> Message | None:
        """The message of that id, or that holds the record of that uuid."""
        found = self._by_id.get(id)
        if found is not None:
            return found
        index = self._uuids.get(id)
        if index is None or self._fates[index] not in (SHOWN, MERGED):
            return None
        return self.messages[self._targets[index]]

    def index_of(self, uuid: str) -> int | None:
        """The index of the record with that uuid."""
        return self._uuids.get(uuid)

    def parent_of(self, index: int) -> int:
        """The index of the record that one hangs under, or -1."""
        return self._parents[index]

    def waiting(self) -> dict[str, list[int]]:
        """Parents that were named and never came, with the records that named them."""
        return self._waiting

    def chain(self, head: str | None, tail: str | None) -> list[str]:
        """The uuids from one record down to another, by their parents."""
        first = self._uuids.get(head or "")
        at = self._uuids.get(tail or "")
        if first is None or at is None:
            return []
        out: dict[int, None] = {}
        while at >= first and at not in out:
            out[at] = None
            if at != first:
                at = self._parents[at]
        uuids = (self.records[index].head.uuid for index in reversed(out))
        return [uuid for uuid in uuids if uuid]

    def content(self, index: int) -> list[b.Block]:
        """The content blocks that a record holds."""
        return content_blocks(self.records[index].native)

    def fate_codes(self) -> Iterator[int]:
        """The fate of each record, as a place in FATES."""
        shared = self._limits(self.active_branch)
        for index, code in enumerate(self._fates):
            if code <= ATTACHED and len(self._branches) > 1 and not self._is_shared(index, shared):
                yield ABANDONED
            else:
                yield code

    def _is_shared(self, index: int, limits: dict[int, int]) -> bool:
        branch = self._branch_of[index]
        return branch in limits and index <= limits[branch]

    def fate(self, index: int) -> Fate:
        """What became of one record, and why."""
        code, target = self._fates[index], self._targets[index]
        fate = _EXPLAIN[code](self, index, target)
        if code <= ATTACHED and not self._is_shared(index, self._limits(self.active_branch)):
            branch = self._branch_of[index]
            return msgspec.structs.replace(
                fate, fate=FATES[ABANDONED], reason=f"on abandoned branch {branch}: {fate.reason}"
            )
        return fate

    def fate_code(self, index: int) -> int:
        """The fate of a record as a place in FATES, branches aside."""
        return self._fates[index]

    def change(self, index: int) -> Change:
        """What the record at `index` changed."""
        code, target = self._fates[index], self._targets[index]
        fate, record = self.fate(index), self.records[index]
        if code in (SHOWN, MERGED):
            return Change(fate, record, self.messages[target])
        if code == PAIRED:
            return Change(fate, record, self.calls[target].message, self.calls[target])
        if code == AGENT:
            return Change(fate, record, agent=self.own_agents.get(fate.agent or ""))
        return Change(fate, record)

    # Taking records in

    def push(self, record: Record) -> int:
        """Take in one record; gives its index. What it changed: `change(index)`."""
        head = record.head
        index = len(self._fates)
        self.records.add(record)
        fold = _FOLDS.get(head.type)
        if fold is not None:
            if (head.isSidechain and not self._sidechain) or (head.parentToolUseID and head.type in SPEAKERS):
                agent = self._agent_for(head)
                if agent is not None:
                    agent.push(record)
                    return self._settle(index, AGENT, self._numbers[agent.id])
            fold(self, index, head, record)
        elif head.type in STATE_TYPES:
            self.facts.note(head, index)
            self._settle(index, STATE, -1)
            self.facts.note_state(index, head)
            if head.type in FACTS:
                self.facts.of(FACTS[head.type]).append(index)
            if head.type == "last-prompt":
                self._go_on_from(head.leafUuid)
            elif head.type == "result":
                self._end_turn()
        else:
            self.facts.note(head, index)
            self._settle(index, MALFORMED if record.fault else UNKNOWN, -1)
        return index

    def _settle(self, index: int, fate: int, target: int, speaks: int = SILENCE) -> int:
        """Write a record's fate down: exactly once for each record."""
        self._fates.append(fate)
        self._targets.append(target)
        self._branch_of.append(self._here)
        self._childed.append(0)
        self._speaks.append(speaks)
        if len(self._parents) == index:
            self._parents.append(-1)
        return index

    def _place(self, index: int, head: Head) -> int:
        """Find a record's parent and with it the branch; TWICE where the record came before."""
        self.facts.note(head, index)
        uuid = head.uuid
        if uuid is not None:
            first = self._uuids.setdefault(uuid, index)
            if first != index:
                if self.records[first].head.type == head.type:
                    self._settle(index, REAPPENDED if self._compacted_since(first) else DUPLICATE, first)
                    return TWICE
            elif self._waiting:
                self._claim(uuid, index)
        name = head.parentUuid or head.logicalParentUuid
        if name is None:
            self._parents.append(-1)
            self._last = index
            return -1
        parent = self._uuids.get(name, -1)
        if parent == index:
            parent = -1
        elif parent < 0:
            if name not in self._owners:
                self._waiting.setdefault(name, []).append(index)
            parent = self._last
        else:
            self._here = self._branch_of[parent]
        self._parents.append(parent)
        if parent >= 0 and head.type != "user":
            self._childed[parent] = 1
        self._last = index
        return parent

    def _claim(self, uuid: str, index: int) -> None:
        """A parent that was named before it came."""
        for child in self._waiting.pop(uuid, ()):
            self._parents[child] = index

    def _compacted_since(self, index: int) -> bool:
        return any(c.boundary is not None and c.boundary.records[0] > index for c in self.compactions)

    def _user(self, index: int, head: Head, record: Record) -> None:
        parent = self._place(index, head)
        if parent == TWICE:
            return
        content = head.message.content if head.message is not None else None
        if type(content) is list and content and self._answer(index, content):
            if parent >= 0:
                self._childed[parent] = 1
            return
        text = _first_text(content)
        kind = self._user_kind(head, text)
        if (
            kind in TURN_STARTERS
            and parent >= 0
            and self._childed[parent]
            and self._leads_somewhere(parent, index)
        ):
            self._branches.append(Branch(self, len(self._branches), self._branch_of[parent], parent))
            self._here = len(self._branches) - 1
        message = self._add_message(index, head, "user", kind)
        self._settle(index, SHOWN, message.index, PROMPT if kind in TURN_STARTERS else SILENCE)
        if parent >= 0:
            self._childed[parent] = 1
        if head.is_active:
            self._pinned = self._here
        if kind == "summary":
            self._sum_up(message)
        elif kind == "notification":
            self._notify(message, take_apart(text).fields.get("tool-use-id"))

    def _user_kind(self, head: Head, text: str) -> str:
        if head.isCompactSummary:
            return "summary"
        kind = kind_of(text)
        if kind != "prompt" or (self._sidechain and not self.messages):
            return kind
        if head.isMeta:
            return "meta"
        return "prompt" if _origin(head.origin) in HUMAN_ORIGINS else "notification"

    def _leads_somewhere(self, parent: int, index: int) -> bool:
        """Whether an earlier child of `parent` leads to anything but an unanswered call.

        A new prompt under such a parent leaves a branch behind; siblings that only record parallel calls, hooks
        and attachments, or a call that an interrupt cut short, leave nothing.
        """
        below = {parent}
        parents, speaks = self._parents, self._speaks
        for at in range(parent + 1, index):
            if parents[at] in below:
                if speaks[at]:
                    return True
                below.add(at)
        return False

    def _answer(self, index: int, content: list[BlockHead]) -> bool:
        """Pair the results of a record with their calls; True where it holds nothing else."""
        first: Call | None = None
        results = 0
        for block in content:
            if block.type != "tool_result":
                continue
            results += 1
            call = self._by_call.get(block.tool_use_id) if block.tool_use_id else self._unanswered()
            if call is None:
                if block.tool_use_id:
                    self._unclaimed[block.tool_use_id] = (index, bool(block.is_error))
                continue
            first = first or call
            if call.answer < 0:
                call.answer, call.is_error = index, bool(block.is_error)
                call.by_position = not block.tool_use_id
        if results < len(content):
            return False
        self._settle(index, PAIRED if first else ORPHAN, first.index if first else -1, RESULT)
        return True

    def _unanswered(self) -> Call | None:
        """The call that a result without a name answers: the first unanswered one of the last response."""
        for call in reversed(self.calls):
            if call.answer < 0:
                siblings = (c for c in call.message.calls if c.answer < 0)
                return next(siblings, call)
        return None

    def _assistant(self, index: int, head: Head, record: Record) -> None:
        parent = self._place(index, head)
        if parent == TWICE:
            return
        api = head.message or NO_MESSAGE
        content = api.content
        message = self._by_id.get(api.id) if api.id else None
        if message is None:
            message = self._add_message(index, head, "assistant", _response_kind(head, api))
            fate, target = SHOWN, message.index
            if api.id:
                message.id = api.id
                self._by_id[api.id] = message
        else:
            fate, target = MERGED, message.index
            repeated = self._repeated(message, content, record) if content else -1
            if repeated >= 0:
                self._count(message, head, api)
                self._settle(index, DUPLICATE, repeated)
                return
            message.records.append(index)
        speaks = SILENCE
        if type(content) is list:
            for block in content:
                kind = block.type
                if kind in CALLS:
                    self._add_call(index, head, message, block)
                else:
                    speaks = SPOKEN
                    message.seen |= BITS.get(kind, OTHER_BIT)
                    if block.tool_use_id:
                        self._answer_inline(index, block)
                if message.partial is not None:
                    message.partial.settle(kind)
            if len(content) > 1:
                message.seen |= MANY_BIT
        elif content:
            speaks = SPOKEN
        self._count(message, head, api)
        self._settle(index, fate, target, speaks)
        if head.supersedes:
            self.superseded.update(head.supersedes)
        if head.is_active:
            self._pinned = self._here

    def _repeated(self, message: Message, content: list[BlockHead] | str, record: Record) -> int:
        """The record of the same message that holds all these blocks already, or -1."""
        if type(content) is list and len(content) == 1 and not message.seen & MANY_BIT:
            block = content[0]
            if block.type in CALLS:
                call = self._by_call.get(block.id or "")
                return call.use if call is not None and call.message is message else -1
            if not message.seen & BITS.get(block.type, OTHER_BIT):
                return -1
        blocks = content_blocks(record.native)
        for earlier in message.records:
            held = self.content(earlier)
            if all(block in held for block in blocks):
                return earlier
        return -1

    def _add_message(self, index: int, head: Head, role: str, kind: str) -> Message:
        message = Message(
            self, len(self.messages), head.uuid or f"line {self.records.line(index)}", role, kind, head.timestamp,
            self._here, [index],
        )  # fmt: skip
        self.messages.append(message)
        return message

    def _add_call(self, index: int, head: Head, message: Message, block: BlockHead) -> None:
        id = block.id or f"{head.uuid or index}#{len(self.calls)}"
        if id in self._by_call:
            return
        call = Call(self, len(self.calls), id, block.name or block.type, message, index)
        self._by_call[id] = call
        self.calls.append(call)
        if message.calls:
            cast(list[Call], message.calls).append(call)
        else:
            message.calls = [call]
        if self._unclaimed and id in self._unclaimed:
            call.answer, call.is_error = self._unclaimed.pop(id)
            if self._fates[call.answer] == ORPHAN:
                self._fates[call.answer], self._targets[call.answer] = PAIRED, call.index

    def _answer_inline(self, index: int, block: BlockHead) -> None:
        """The result of a tool that the API ran itself stands in the response."""
        call = self._by_call.get(block.tool_use_id or "")
        if call is not None and call.answer < 0:
            call.answer, call.is_error = index, bool(block.is_error)

    def _count(self, message: Message, head: Head, api: MessageHead) -> None:
        if api.model and api.model != message.model:
            message.model = message.model or api.model
            if api.model != SYNTHETIC:
                _add(self.facts.models, api.model)
        if api.stop_reason:
            message.stop_reason = api.stop_reason
        if api.usage is not None:
            message.spend(head.requestId, api.usage, api.stop_reason)

    def _system(self, index: int, head: Head, record: Record) -> None:
        if self._place(index, head) == TWICE:
            return
        subtype = head.subtype or ""
        if subtype in SILENT:
            self._settle(index, STATE, -1)
            if subtype in FACTS:
                self.facts.of(FACTS[subtype]).append(index)
            return
        message = self._add_message(index, head, "system", SYSTEM_KINDS.get(subtype, "notice"))
        self._settle(index, SHOWN, message.index)
        if message.kind == "compaction":
            self._compact(message, micro=subtype.startswith("micro"))
        elif subtype == "task_notification":
            self._notify(message, _str(record.native.get("tool_use_id")))

    def _compact(self, boundary: Message, *, micro: bool) -> None:
        last = self.compactions[-1] if self.compactions else None
        if (
            last is not None
            and last.summary is None
            and not (last.micro or micro)
            and self._follows(last, boundary)
        ):
            return
        self.compactions.append(Compaction(self, boundary, micro=micro))

    def _follows(self, compaction: Compaction, message: Message) -> bool:
        """Whether nothing was said between a boundary and this message."""
        return compaction.boundary is not None and all(
            between.kind == "compaction"
            for between in self.messages[compaction.boundary.index : message.index]
        )

    def _sum_up(self, summary: Message) -> None:
        open_ones = (c for c in reversed(self.compactions) if not c.micro)
        last = next(open_ones, None)
        if last is None or last.summary is not None:
            last = Compaction(self)
            self.compactions.append(last)
        last.summary = summary

    def _notify(self, message: Message, tool_use_id: str | None) -> None:
        call = self._by_call.get(tool_use_id or "")
        if call is not None:
            call.notices = [*call.notices, message.index]

    def _attachment(self, index: int, head: Head, record: Record) -> None:
        if self._place(index, head) == TWICE:
            return
        payload = _peek(head.attachment, AttachmentHead)
        if payload.type == "queued_command":
            return self._queued(index, head, payload)
        if payload.type.startswith(HOOKS):
            message = self._add_message(index, head, "system", "hook")
            self._settle(index, SHOWN, message.index)
            return None
        return self._attach(index, payload.toolUseID)

    def _queued(self, index: int, head: Head, payload: AttachmentHead) -> None:
        """What a person typed while a turn ran, or what a task reported meanwhile."""
        text = _first_text(_value(payload.prompt))
        kind = kind_of(text)
        machine = payload.isMeta or payload.commandMode == "task-notification"
        if kind == "prompt" and (machine or _origin(payload.origin) not in HUMAN_ORIGINS):
            kind = "notification"
        message = self._add_message(index, head, "user", kind)
        self._settle(index, SHOWN, message.index, PROMPT if kind in TURN_STARTERS else SILENCE)
        if kind == "notification":
            self._notify(message, take_apart(text).fields.get("tool-use-id"))

    def _attach(self, index: int, *tool_use_ids: str | None) -> None:
        """Hang a record on its call, else on the last message."""
        for id in tool_use_ids:
            call = self._by_call.get(id or "")
            if call is not None:
                call.attached = [*call.attached, index]
                self._settle(index, ATTACHED, -2 - call.index)
                return
        if self.messages:
            message = self.messages[-1]
            message.attached = [*message.attached, index]
        self._settle(index, ATTACHED, len(self.messages) - 1)

    def _progress(self, index: int, head: Head, record: Record) -> None:
        if self._place(index, head) == TWICE:
            return
        payload = _peek(head.data, ProgressHead)
        if payload.type == "agent_progress" and payload.agentId and payload.message:
            agent = self._agent(payload.agentId)
            agent.call_id = agent.call_id or head.parentToolUseID
            agent.retold = True
            inner = bytes(payload.message)
            try:
                told = decode_head(inner)
            except jsontext.FAST_FAULTS:
                told = Head(type="malformed")
            agent.push(Record(record.line, record.offset + record.raw.find(inner), inner, told))
            self._settle(index, AGENT, self._numbers[agent.id])
            return
        self._attach(index, head.toolUseID, head.parentToolUseID)

    def _stream_event(self, index: int, head: Head, record: Record) -> None:
        self.facts.note(head, index)
        event = _peek(head.event, EventHead)
        if event.type == "message_start" and event.message is not None:
            id = event.message.id
            self._streaming = self._by_id.get(id) if id else None
            if self._streaming is None:
                message = self._streaming = self._add_message(index, head, "assistant", "response")
                message.partial = Partial()
                if id:
                    message.id = id
                    self._by_id[id] = message
                self._count(message, head, event.message)
                self._settle(index, SHOWN, message.index)
                return
        message = self._streaming
        if message is None:
            self._settle(index, STATE, -1)
            return
        self._settle(index, MERGED, message.index)
        if message.partial is not None:
            message.partial.apply(_dict(_value(head.event)))
        if event.usage is not None:
            stop = _str(_dict(_value(event.delta)).get("stop_reason"))
            message.stop_reason = stop or message.stop_reason
            message.spend(head.requestId, event.usage, stop)

    # Agents whose records stand here

    def _agent_for(self, head: Head) -> Agent | None:
        """The agent a sidechain record belongs to; None where the file is the agent's own."""
        if head.parentToolUseID:
            agent = self._agent_of_call.get(head.parentToolUseID)
            if agent is None:
                agent = self._agent(head.agentId or head.parentToolUseID)
                agent.call_id = head.parentToolUseID
                self._agent_of_call[head.parentToolUseID] = agent
            return agent
        if head.agentId:
            if not self.messages and not self.own_agents:
                self._sidechain = True
                return None
            agent = self._agent(head.agentId)
        else:
            agent = self._owners.get(head.parentUuid or "")
            if agent is None:
                agent = self._agent(head.uuid or f"sidechain {len(self.own_agents) + 1}")
                agent.hangs_on = head.parentUuid
        if head.uuid:
            self._owners[head.uuid] = agent
        return agent

    def _agent(self, id: str) -> Agent:
        agent = self.own_agents.get(id)
        if agent is None:
            agent = self.own_agents[id] = Agent(id, self.records.read)
            self._numbers[id] = len(self._numbers)
        return agent

    def _go_on_from(self, leaf: str | None) -> None:
        index = self._uuids.get(leaf or "")
        if index is not None:
            self._here = self._branch_of[index]

    def _end_turn(self) -> None:
        if self.messages:
            self._ends.add(len(self.messages) - 1)
        self._streaming = None


class Agent(Conversation):
    """A conversation that a call started."""

    def __init__(self, id: str, read: Read) -> None:
        super().__init__(read)
        self.id = id
        self.call: Call | None = None
        """The call that started it, where the files say which."""
        self.parent: Agent | None = None
        """The agent that made that call; None where the main thread did."""
        self.meta: dict[str, Any] = {}
        """The client's note beside the agent's file."""
        self.call_id: str | None = None
        """The call that the records themselves name."""
        self.hangs_on: str | None = None
        """The record of the main thread that its first record hangs under."""
        self.retold = False
        """Whether it is known only from progress records."""
        self.path: str | None = None
        """Its own file, where it has one."""
        self._sidechain = True

    @property
    def type(self) -> str | None:
        """The kind of agent: general-purpose, Explore …"""
        given = _str(self.meta.get("agentType"))
        if given is None and self.call is not None:
            given = _str(_dict(self.call.input).get("subagent_type"))
        return given

    @property
    def prompt(self) -> str | None:
        """What it was asked to do."""
        first = next((m for m in self.messages[:8] if m.kind in TURN_STARTERS), None)
        if first is not None:
            return first.text
        return _str(_dict(self.call.input).get("prompt")) if self.call is not None else None

    @property
    def warmup(self) -> bool:
        """Whether it is one of the one-line agents that 2.0 starts with each session."""
        if self.call is not None or self.calls or len(self.messages) > 2:
            return False
        return all(message.role == "assistant" or message.text == "Warmup" for message in self.messages)

    def __repr__(self) -> str:
        return f"<Agent {self.id} {self.type or ''}>"


def content_blocks(native: dict[str, Any]) -> list[b.Block]:
    """The content blocks that a record in the native tongue holds."""
    kind = native.get("type")
    if kind == "attachment":
        payload = _dict(native.get("attachment"))
        for name in ("prompt", "content", "blockingError", "message", "stdout", "response"):
            if payload.get(name):
                return b.to_blocks(_spoken(payload[name]))
        return []
    if kind == "system":
        return b.to_blocks(_spoken(native.get("content") or native.get("summary") or native.get("output")))
    message = native.get("message")
    return b.to_blocks(cast(dict[str, Any], message).get("content") if isinstance(message, dict) else message)


def _spoken(value: Any) -> Any:
    """A payload as content: strings and lists of blocks as they are, the rest as JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and all(
        isinstance(item, dict) and "type" in item for item in cast(list[Any], value)
    ):
        return cast(list[Any], value)
    if isinstance(value, list):
        return "\n".join(str(item) for item in cast(list[Any], value))
    return jsontext.dumps(value).decode()


def _response_kind(head: Head, api: MessageHead) -> str:
    if head.isApiErrorMessage:
        return "error"
    return "notice" if api.model == SYNTHETIC else "response"


def _first_text(content: Any) -> str:
    """The first text of a user's content that is not empty."""
    if isinstance(content, str):
        return content
    for block in cast(list[Any], content) if isinstance(content, list) else ():
        raw = block.text if isinstance(block, BlockHead) else _dict(block).get("text")
        text = _value(raw) if isinstance(raw, Raw) else raw
        if isinstance(text, str) and text and kind_of(text) != "meta":
            return text
    texts = [
        block.text for block in cast(list[Any], content or ()) if isinstance(block, BlockHead) and block.text
    ]
    return str(_value(texts[0])) if texts else ""


def _origin(raw: Raw) -> str | None:
    return _str(_dict(_value(raw)).get("kind")) if raw else None


def _peek(raw: Raw, shape: type[_Peeked]) -> _Peeked:
    """A payload's head; an empty one where it has another shape."""
    try:
        return msgspec.json.decode(raw, type=shape)
    except jsontext.FAST_FAULTS:
        kind = _dict(_value(raw)).get("type")
        return shape(type=kind) if isinstance(kind, str) else shape()


def _value(raw: Raw) -> Any:
    return jsontext.readable(bytes(raw)) if raw else None


def _dict(value: Any) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _str(value: Any) -> str | None:
    return value if isinstance(value, str) else None


_FOLDS: dict[str, Fold] = {
    "user": Conversation._user,
    "assistant": Conversation._assistant,
    "system": Conversation._system,
    "attachment": Conversation._attachment,
    "progress": Conversation._progress,
    "stream_event": Conversation._stream_event,
}
"""How each type of record that hangs in the tree is taken in."""


def _on_message(word: str) -> Callable[[Conversation, int, int], Fate]:
    def explain(talk: Conversation, index: int, target: int) -> Fate:
        message = talk.messages[target]
        reason = f"{word} {message.kind} {message.id}"
        return Fate(talk.records.line(index), FATES[talk.fate_code(index)], reason, message=message.id)

    return explain


def _on_call(talk: Conversation, index: int, target: int) -> Fate:
    call = talk.calls[target]
    how = " by position" if call.by_position else ""
    return Fate(
        talk.records.line(index), "paired", f"result of call {call.id} ({call.name}){how}", call=call.id
    )


def _on_either(talk: Conversation, index: int, target: int) -> Fate:
    line = talk.records.line(index)
    if target <= -2:
        call = talk.calls[-2 - target]
        return Fate(line, "attached", f"goes with call {call.id} ({call.name})", call=call.id)
    if target < 0:
        return Fate(line, "attached", "goes with the session: nothing was said before it")
    message = talk.messages[target]
    return Fate(line, "attached", f"goes with {message.kind} {message.id}", message=message.id)


def _on_agent(talk: Conversation, index: int, target: int) -> Fate:
    id = list(talk.own_agents)[target]
    return Fate(talk.records.line(index), "agent", f"belongs to agent {id}", agent=id)


def _repeats(word: str) -> Callable[[Conversation, int, int], Fate]:
    def explain(talk: Conversation, index: int, target: int) -> Fate:
        line, of = talk.records.line(index), talk.records.line(target)
        return Fate(line, FATES[talk.fate_code(index)], word.format(of), of=of)

    return explain


def _plain(reason: str) -> Callable[[Conversation, int, int], Fate]:
    def explain(talk: Conversation, index: int, target: int) -> Fate:
        record = talk.records[index]
        fate = FATES[talk.fate_code(index)]
        return Fate(record.line, fate, reason.format(type=record.type, fault=record.fault))

    return explain


_EXPLAIN: tuple[Callable[[Conversation, int, int], Fate], ...] = (
    _on_message("begins"),
    _on_message("goes on with"),
    _on_call,
    _on_either,
    _plain("{type}: tells of the session; the last one wins"),
    _on_agent,
    _repeats("repeats line {}"),
    _repeats("repeats line {}, written again by a compaction"),
    _plain("a result whose call is not in this file"),
    _plain("type {type} is not known; kept as it is"),
    _plain("{fault}"),
)
"""The words for each fate, in the order of FATES."""
