"""Records to a conversation, one push at a time; loading a file is pushing all of it."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

import msgspec
from msgspec import Raw

from reread.accounting.billing import Usage, UsageRow, total
from reread.base import jsontext
from reread.base.coerce import as_dict, as_str
from reread.model.content import content_blocks
from reread.model.ledger import (
    ABANDONED,
    AGENT,
    ATTACHED,
    DUPLICATE,
    EXPLAIN,
    FATES,
    MALFORMED,
    MERGED,
    ORPHAN,
    PAIRED,
    REAPPENDED,
    SHOWN,
    STATE,
    UNKNOWN,
    Fate,
    Ledger,
)
from reread.model.messages import TURN_STARTERS, Branch, Call, Compaction, Message, PartialResponse, Turn, cut_turns
from reread.model.metadata import Metadata
from reread.model.prompt_text import parse_prompt, prompt_kind
from reread.records import blocks as b
from reread.records.decode import Record, Records
from reread.records.envelope import (
    AttachmentEnvelope,
    BlockEnvelope,
    EventEnvelope,
    MessageEnvelope,
    ProgressEnvelope,
    RecordEnvelope,
    decode_payload,
    to_envelope,
)
from reread.records.lines import Line, Lines, ReadAt
from reread.records.types import RECORDS, TreeRecord
from reread.tools.tool_call import ToolCall

Fold = Callable[["Conversation", int, RecordEnvelope], None]

STATE_TYPES = frozenset(name for name, kind in RECORDS.items() if not issubclass(kind, TreeRecord)) - {"stream_event"}
"""Types that tell of the session and never speak."""

SILENT = frozenset(
    {
        "attribution_snapshot",
        "background_tasks_changed",
        "commands_changed",
        "control_request_progress",
        "elicitation_complete",
        "file_snapshot",
        "files_persisted",
        "hook_progress",
        "hook_started",
        "init",
        "mirror_error",
        "plugin_install",
        "session_state_changed",
        "session_writes_lost",
        "status",
        "task_progress",
        "task_started",
        "task_updated",
        "thinking_tokens",
        "turn_duration",
        "vcs_state_changed",
        "worker_shutting_down",
    }
)
"""System subtypes that tell of the session and never speak."""

FACTS = {
    "init": "inits",
    "result": "results",
    "run": "runs",
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
FATE, SPEAKS = 0b1111, 4
"""Which half of a record's mark holds its fate, and where the other half begins."""
SILENCE, PROMPT, SPOKEN, RESULT = (adds << SPEAKS for adds in range(4))
"""What a record adds to the talk; a lone call adds nothing until it is answered."""
OTHER_BIT, MANY_BIT = 4, 8
BITS = {"text": 1, "thinking": 2, "redacted_thinking": 2}
MOST_WITHIN = 32
"""How many agents are taken in that are retold one within the other; real ones are retold by the main thread."""
FAR = 64
"""How many records back a parent is looked for in what has been looked through, and not among those between."""
TWICE = -2
"""In place of a parent: this record came before."""
ROOT_BRANCH = 0
NATIVES_KEPT = 16
NO_MESSAGE = MessageEnvelope()


class Change(msgspec.Struct, frozen=True):
    """What one record changed; or, of kind `rewritten`, from which line on the file is another."""

    kind: str
    line: int
    fate: Fate | None = None
    record: Record | None = None
    message: Message | None = None
    call: Call | None = None
    agent: Agent | None = None
    """The agent whose record it is."""


class Conversation:
    """Messages, calls, branches and agents, folded from records in file order.

    `push` takes one record. It does no I/O: bodies come through `read`, only when asked for.
    """

    def __init__(self, read: ReadAt) -> None:
        self.records = Records(read)
        """Its records, in file order."""
        self.messages: list[Message] = []
        """Everything that speaks in it, all branches, file order."""
        self.calls: list[Call] = []
        """Its calls, all branches."""
        self.compactions: list[Compaction] = []
        """Where it was summed up."""
        self.metadata = Metadata()
        """What its records say of it as a whole."""
        self.inline_agents: dict[str, Agent] = {}
        """The agents whose records stand in this very file."""
        self.within = 0
        """How many conversations of the same file it is retold in, one within the other."""
        self.agents: dict[str, Agent] = self.inline_agents
        """Every agent below this conversation by id, once they have been linked."""
        self.link_agents: Callable[[], object] = lambda: None
        """Links the agents; a session sets it, for it knows where their files are."""
        self.superseded: set[str] = set()
        """The uuids of records that the stream took back."""
        self._marks = bytearray()
        """The fate of each record in the low half, what it adds to the talk in the high one."""
        self._targets = array("i")
        self._parents = array("i")
        self._runs = [0]
        """The records at which the branch changes, with the branch from there on beside them."""
        self._run_branches = [ROOT_BRANCH]
        self._uuids: dict[str, int] = {}
        self._waiting: dict[str, list[int]] = {}
        self._by_id: dict[str, Message] = {}
        self._by_call: dict[str, Call] = {}
        self._open: list[Call] = []
        """Calls that may still be unanswered, the last one last."""
        self.placed: set[int] = set()
        """The records whose results were placed by where they stand."""
        self._unclaimed: dict[str, tuple[int, bool]] = {}
        """Results that came before their call."""
        self._branches = [Branch(self, ROOT_BRANCH)]
        self._here = ROOT_BRANCH
        self._limits_of: tuple[tuple[int, int], dict[int, int]] = ((-1, -1), {})
        self._leads = bytearray()
        """Of the records that have been looked through, which lead to something."""
        self._active = ROOT_BRANCH
        self._pinned: int | None = None
        self._last = -1
        self._last_said = -1
        self._last_boundary = -1
        self._owners: dict[str, Agent] = {}
        self._latest_agent: Agent | None = None
        self._agent_of_call: dict[str, Agent] = {}
        self._numbers: dict[str, int] = {}
        self._sidechain = False
        """Whether sidechain records are this conversation's own: an agent's file."""
        self.last_tool_call: tuple[object, ToolCall] | None = None
        self.rows_kept: dict[int, tuple[int, list[UsageRow]]] = {}
        """The usage rows of messages asked about lately, each with how many records they came from."""
        self._natives: dict[int, dict[str, Any]] = {}
        self._contents: dict[int, list[b.Block]] = {}
        self._ends: set[int] = set()
        self._streaming: Message | None = None
        self._model: str | None = None
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
    def forks(self) -> dict[int, list[Branch]]:
        """The branches that leave the conversation, by the index of the message after which they do."""
        found: dict[int, list[Branch]] = {}
        for branch in self._branches:
            message = self.message_at(branch.fork) if branch.parent is not None else None
            if message is not None:
                found.setdefault(message.index, []).append(branch)
        return found

    @property
    def active_branch(self) -> int:
        """The id of the branch that the session went on from."""
        return self._active if self._pinned is None else self._pinned

    @property
    def turn_ends(self) -> frozenset[int]:
        """The messages after which the file says that a turn ended."""
        return frozenset(self._ends)

    def ends_turn(self, message: int) -> bool:
        """Whether the file says that a turn ended after the message of that index."""
        return message in self._ends

    @property
    def usage(self) -> Usage:
        """The tokens of all its messages, abandoned branches included: they were spent."""
        return total(message.usage for message in self.messages)

    @property
    def ledger(self) -> Ledger:
        """What became of every record."""
        return Ledger(self)

    def branch_messages(self, branch: int, start: int = 0) -> list[Message]:
        """The messages from the first, or one of all messages, to the leaf of a branch."""
        limits = self._limits(branch)
        messages = self.messages[start:]
        if len(self._branches) == 1:
            return messages
        return [m for m in messages if m.branch in limits and m.records[0] <= limits[m.branch]]

    def fork_of(self, branch: int) -> int:
        """The record after which a branch leaves another; -1 for the first."""
        return self._branches[branch].fork

    def on_branch(self, message: Message, branch: int) -> bool:
        """Whether a message is on the way to the leaf of a branch."""
        limits = self._limits(branch)
        return message.branch in limits and message.records[0] <= limits[message.branch]

    def _limits(self, branch: int) -> dict[int, int]:
        """For each branch on the way to this one, the last record that both share."""
        if self._limits_of[0] == (branch, len(self.records)):
            return self._limits_of[1]
        limits = {branch: len(self.records)}
        at = self._branches[branch]
        while at.parent is not None:
            limits[at.parent] = min(at.fork, limits.get(at.parent, at.fork))
            at = self._branches[at.parent]
        self._limits_of = ((branch, len(self.records)), limits)
        return limits

    def has_call(self, tool_use_id: str | None) -> bool:
        """Whether a call of that id was made here."""
        return isinstance(tool_use_id, str) and tool_use_id in self._by_call

    def find_call(self, tool_use_id: str) -> Call | None:
        """The call of that id."""
        return self._by_call.get(tool_use_id)

    def message_at(self, index: int) -> Message | None:
        """The last message shown at or before a record, by its parents."""
        seen: set[int] = set()
        while index >= 0 and index not in seen:
            code, target = self.fate_code(index), self._targets[index]
            if code in (SHOWN, MERGED):
                return self.messages[target]
            if code == PAIRED:
                return self.calls[target].message
            seen.add(index)
            index = self._parents[index]
        return None

    def find_message(self, id: str) -> Message | None:
        """The message of that id, or that holds the record of that uuid."""
        found = self._by_id.get(id)
        if found is not None:
            return found
        index = self._uuids.get(id)
        if index is None or self.fate_code(index) not in (SHOWN, MERGED):
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

    def chain(self, envelope: str | None, tail: str | None) -> list[str]:
        """The uuids from one record down to another, by their parents."""
        first = self._uuids.get(envelope or "")
        at = self._uuids.get(tail or "")
        if first is None or at is None:
            return []
        out: dict[int, None] = {}
        while at >= first and at not in out:
            out[at] = None
            if at != first:
                at = self._parents[at]
        uuids = (self.records[index].envelope.uuid for index in reversed(out))
        return [uuid for uuid in uuids if uuid]

    def native(self, index: int) -> dict[str, Any]:
        """A record's object in the native tongue; the last few are kept, for a call asks for each several times."""
        found = self._natives.get(index)
        if found is None:
            found = self.records[index].native
            if len(self._natives) >= NATIVES_KEPT:
                del self._natives[next(iter(self._natives))]
            self._natives[index] = found
        return found

    def content(self, index: int) -> list[b.Block]:
        """The content blocks that a record holds; kept as `native` is."""
        found = self._contents.get(index)
        if found is None:
            found = content_blocks(self.native(index))
            if len(self._contents) >= NATIVES_KEPT:
                del self._contents[next(iter(self._contents))]
            self._contents[index] = found
        return list(found)

    def fate_codes(self) -> Iterator[int]:
        """The fate of each record, as a place in FATES."""
        shared = self._limits(self.active_branch)
        several = len(self._branches) > 1
        for index, mark in enumerate(self._marks):
            code = mark & FATE
            lost = several and code <= ATTACHED and not self._is_shared(index, shared)
            yield ABANDONED if lost else code

    def _is_shared(self, index: int, limits: dict[int, int]) -> bool:
        branch = self._branch_at(index)
        return branch in limits and index <= limits[branch]

    def fate(self, index: int) -> Fate:
        """What became of one record, and why."""
        code, target = self.fate_code(index), self._targets[index]
        fate = EXPLAIN[code](self, index, target)
        if code <= ATTACHED and not self._is_shared(index, self._limits(self.active_branch)):
            branch = self._branch_at(index)
            return msgspec.structs.replace(
                fate, fate=FATES[ABANDONED], reason=f"on abandoned branch {branch}: {fate.reason}"
            )
        return fate

    def fate_code(self, index: int) -> int:
        """The fate of a record as a place in FATES, branches aside."""
        return self._marks[index] & FATE

    def count_fate(self, code: int) -> int:
        """How many records met a fate that keeps them out of the tree."""
        return self._marks.count(code)

    def touched(self, index: int) -> Iterator[Message]:
        """The messages that the record at `index` is part of, answers calls of, takes back or hangs on."""
        code, target = self.fate_code(index), self._targets[index]
        if code in (DUPLICATE, REAPPENDED):
            code, target = self.fate_code(target), self._targets[target]
        if code in (SHOWN, MERGED) or (code == ATTACHED and target >= 0):
            message = self.messages[target]
            summed = self.compaction_of(message) if message.kind == "summary" else None
            yield from (m for m in (message, summed and summed.boundary) if m is not None)
        elif code == PAIRED or (code == ATTACHED and target < -1):
            yield self.calls[target if code == PAIRED else -2 - target].message
        envelope = self.records[index].envelope
        content = envelope.message.content if envelope.message is not None else None
        for block in content if type(content) is list else ():
            call = self._by_call.get(block.tool_use_id or "")
            if call is not None:
                yield call.message
            made = self._by_call.get(block.id or "")
            if made is not None and 0 <= made.answer < index:
                yield self.messages[0]  # its results stood before it, in any message
        if index in self.placed:
            yield from (call.message for call in self.calls if call.answer == index)
        for uuid in envelope.supersedes or ():
            message = self.find_message(uuid)
            if message is not None:
                yield message

    def compaction_of(self, message: Message) -> Compaction | None:
        """The compaction that a message is the boundary or the summary of."""
        return next((c for c in reversed(self.compactions) if message in (c.boundary, c.summary)), None)

    def change(self, index: int) -> Change:
        """What the record at `index` changed."""
        code, target = self.fate_code(index), self._targets[index]
        record = self.records[index]
        message, call, agent = None, None, self if isinstance(self, Agent) else None
        if code in (SHOWN, MERGED):
            message = self.messages[target]
        elif code == PAIRED:
            call = self.calls[target]
            message = call.message
        elif code == AGENT:
            agent = self.inline_agents[list(self.inline_agents)[target]]
            message = agent.find_message(record.envelope.uuid or "")
        return Change("record", record.line, self.fate(index), record, message, call, agent)

    # Taking records in

    def push(self, record: Record) -> int:
        """Take in one record; gives its index. What it changed: `change(index)`."""
        index = len(self._marks)
        self.records.add(record.line, record.offset, len(record.body))
        self._fold((record.envelope,))
        return index

    def push_lines(
        self, number: int, starts: array[int], lines: Sequence[bytes], envelopes: Iterable[RecordEnvelope]
    ) -> None:
        """Take in whole lines, each of them one record, with their heads."""
        self.records.add_lines(number, starts, lines)
        self._fold(envelopes)

    def _fold(self, envelopes: Iterable[RecordEnvelope]) -> None:
        """Take in the heads of records whose places are known."""
        for index, envelope in enumerate(envelopes, len(self._marks)):
            fold = _FOLDS.get(envelope.type)
            if fold is None:
                self._fold_apart(index, envelope)
            elif (
                not self._sidechain
                and (envelope.isSidechain or (envelope.parentToolUseID and envelope.type in SPEAKERS))
                and (agent := self._agent_for(envelope)) is not None
            ):
                agent.records.add(*self.records.place(index))
                agent._fold((envelope,))
                self._settle_apart(AGENT, self._numbers[agent.id])
            else:
                fold(self, index, envelope)

    def _fold_apart(self, index: int, envelope: RecordEnvelope) -> None:
        """Take in a record that stands outside the tree."""
        self.metadata.note(envelope, index)
        if envelope.type not in STATE_TYPES:
            self._settle_apart(MALFORMED if self.records[index].fault else UNKNOWN)
            return
        self._settle_apart(STATE)
        self.metadata.note_state(envelope)
        if envelope.type in FACTS:
            self.metadata.of(FACTS[envelope.type]).append(index)
        if envelope.type == "last-prompt":
            self._go_on_from(envelope.leafUuid)
        elif envelope.type == "result":
            self._end_turn()

    def _settle(self, fate: int, target: int, speaks: int = SILENCE) -> None:
        """Write down the fate of a record that has its place in the tree: exactly once for each."""
        if self._here != self._run_branches[-1]:
            self._runs.append(len(self._marks))
            self._run_branches.append(self._here)
        self._marks.append(fate | speaks)
        self._targets.append(target)

    def _settle_apart(self, fate: int, target: int = -1) -> None:
        """Write down the fate of a record that stands outside the tree."""
        self._parents.append(-1)
        self._settle(fate, target)

    def _branch_at(self, index: int) -> int:
        """The branch that a record is on."""
        return self._run_branches[bisect_right(self._runs, index) - 1]

    def _place(self, index: int, envelope: RecordEnvelope) -> int:
        """Find a record's parent and with it the branch; TWICE where the record came before."""
        self.metadata.note(envelope, index)
        uuid = envelope.uuid
        if uuid is not None:
            first = self._uuids.setdefault(uuid, index)
            if first != index:
                if self.records[first].envelope.type == envelope.type:
                    self._settle_apart(REAPPENDED if self._compacted_since(first) else DUPLICATE, first)
                    return TWICE
            elif self._waiting:
                self._claim(uuid, index)
        name = envelope.parentUuid or envelope.logicalParentUuid
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
        elif parent < self._runs[-1]:
            self._here = self._branch_at(parent)
        else:
            self._here = self._run_branches[-1]
        self._parents.append(parent)
        self._last = index
        return parent

    def _claim(self, uuid: str, index: int) -> None:
        """A parent that was named before it came."""
        for child in self._waiting.pop(uuid, ()):
            self._parents[child] = index
            self._leads.clear()

    def _compacted_since(self, index: int) -> bool:
        return self._last_boundary > index

    def fold_user(self, index: int, envelope: RecordEnvelope) -> None:
        """Take in a user record."""
        parent = self._place(index, envelope)
        if parent == TWICE:
            return
        content = envelope.message.content if envelope.message is not None else None
        if type(content) is list and content and self._answer(index, content):
            return
        text = _first_text(content)
        kind = self._user_kind(envelope, text)
        if kind in TURN_STARTERS and parent >= 0 and self._leads_somewhere(parent, index):
            self._branches.append(Branch(self, len(self._branches), self._branch_at(parent), parent))
            self._here = len(self._branches) - 1
        message = self._add_message(index, envelope, "user", kind)
        self._settle(SHOWN, message.index, PROMPT if kind in TURN_STARTERS else SILENCE)
        self._speak(envelope)
        if kind == "summary":
            self._sum_up(message)
        elif kind == "notification":
            self._notify(message, parse_prompt(text).fields.get("tool-use-id"))

    def _user_kind(self, envelope: RecordEnvelope, text: str) -> str:
        if envelope.isCompactSummary:
            return "summary"
        kind = prompt_kind(text)
        if self._sidechain and not self.messages:
            return kind
        if envelope.isMeta and kind in TURN_STARTERS:
            return "meta"
        if kind != "prompt":
            return kind
        return "prompt" if _origin(envelope.origin) in HUMAN_ORIGINS else "notification"

    def _leads_somewhere(self, parent: int, index: int) -> bool:
        """Whether an earlier child of `parent` leads to anything but an unanswered call.

        A new prompt under such a parent leaves a branch behind; siblings that only record parallel calls,
        hooks and attachments, or a call that an interrupt cut short, leave nothing.
        """
        if index - parent > FAR:
            return bool(self._looked_through(index)[parent])
        below = {parent}
        for at in range(parent + 1, index):
            if self._parents[at] in below:
                if self._marks[at] >> SPEAKS:
                    return True
                below.add(at)
        return False

    def _looked_through(self, end: int) -> bytearray:
        """Which of the records before `end` lead to something, each of them looked at once."""
        leads, parents, marks = self._leads, self._parents, self._marks
        start = len(leads)
        leads += bytes(max(0, end - start))
        for at in range(start, end):
            if marks[at] >> SPEAKS:
                below, above = at, parents[at]
                while 0 <= above < below and not leads[above]:
                    leads[above] = 1
                    below, above = above, parents[above]
        return leads

    def _answer(self, index: int, content: list[BlockEnvelope]) -> bool:
        """Pair the results of a record with their calls; True where it holds nothing else."""
        first: Call | None = None
        results = 0
        for place, block in enumerate(content):
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
                if not block.tool_use_id:
                    call.unnamed = place
                    self.placed.add(index)
        if results < len(content):
            return False
        self._settle(PAIRED if first else ORPHAN, first.index if first else -1, RESULT)
        return True

    def _unanswered(self) -> Call | None:
        """The call that a result without a name answers: the first unanswered one of the last response."""
        while self._open and self._open[-1].answer >= 0:
            self._open.pop()
        if not self._open:
            return None
        last = self._open[-1]
        return next((call for call in last.message.calls if call.answer < 0), last)

    def fold_assistant(self, index: int, envelope: RecordEnvelope) -> None:
        """Take in an assistant record."""
        parent = self._place(index, envelope)
        if parent == TWICE:
            return
        api = envelope.message or NO_MESSAGE
        content = api.content
        message = self._by_id.get(api.id) if api.id else None
        if message is None:
            message = self._add_message(index, envelope, "assistant", _response_kind(envelope, api))
            fate, target = SHOWN, message.index
            if api.id:
                message.id = api.id
                self._by_id[api.id] = message
        else:
            fate, target = MERGED, message.index
            repeated = self._repeated(index, message, content) if content else -1
            if repeated >= 0:
                self._know(message, api)
                message.told = _grown(message.told, index)
                self._settle(DUPLICATE, repeated)
                return
            message.records.append(index)
            message.stamp = message.stamp or envelope.timestamp
        speaks = SILENCE
        if type(content) is list:
            for place, block in enumerate(content):
                kind = block.type
                if kind in CALLS:
                    self._add_call(index, envelope, message, block, place)
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
        self._know(message, api)
        self._settle(fate, target, speaks)
        if envelope.supersedes:
            self.superseded.update(envelope.supersedes)
        self._speak(envelope)

    def _speak(self, envelope: RecordEnvelope) -> None:
        """The session goes on from where someone last spoke, unless the records say from where."""
        self._active = self._here
        if envelope.is_active:
            self._pinned = self._here

    def _repeated(self, index: int, message: Message, content: list[BlockEnvelope] | str) -> int:
        """The record of the same message that holds all these blocks already, or -1."""
        if type(content) is list and len(content) == 1 and not message.seen & MANY_BIT:
            block = content[0]
            if block.type in CALLS:
                call = self._by_call.get(block.id or "")
                return call.use if call is not None and call.message is message else -1
            if not message.seen & BITS.get(block.type, OTHER_BIT):
                return -1
        if message.prints is None:
            message.prints = {}
            for earlier in message.records:
                self._print(message.prints, self.records[earlier].native, earlier)
        native = self.records[index].native
        prints = [jsontext.dumps(block) for block in _raw_blocks(native)]
        if prints and all(block in message.prints for block in prints):
            return message.prints[prints[0]]
        self._print(message.prints, native, index)
        return -1

    def _print(self, prints: dict[bytes, int], native: dict[str, Any], index: int) -> None:
        for block in _raw_blocks(native):
            prints.setdefault(jsontext.dumps(block), index)

    def _add_message(self, index: int, envelope: RecordEnvelope, role: str, kind: str) -> Message:
        id = envelope.uuid or f"line {self.records.line(index)}"
        message = Message(self, len(self.messages), id, role, kind, envelope.timestamp, self._here, [index])
        self.messages.append(message)
        if kind == "compaction":
            self._last_boundary = index
        else:
            self._last_said = message.index
        return message

    def _add_call(
        self, index: int, envelope: RecordEnvelope, message: Message, block: BlockEnvelope, place: int
    ) -> None:
        id = block.id or f"{envelope.uuid or index}#{len(self.calls)}"
        if id in self._by_call:
            return
        call = Call(self, len(self.calls), id, block.name or block.type, message, index, place=place)
        self._by_call[id] = call
        self.calls.append(call)
        self._open.append(call)
        if message.calls:
            cast(list[Call], message.calls).append(call)
        else:
            message.calls = [call]
        if self._unclaimed and id in self._unclaimed:
            call.answer, call.is_error = self._unclaimed.pop(id)
            if self.fate_code(call.answer) == ORPHAN:
                self._marks[call.answer] = PAIRED | RESULT
                self._targets[call.answer] = call.index

    def _answer_inline(self, index: int, block: BlockEnvelope) -> None:
        """The result of a tool that the API ran itself stands in the response."""
        call = self._by_call.get(block.tool_use_id or "")
        if call is not None and call.answer < 0:
            call.answer, call.is_error = index, bool(block.is_error)

    def _know(self, message: Message, api: MessageEnvelope) -> None:
        """Take in who made a response and how it ended."""
        if message.model is None and api.model:
            message.model = api.model
            if api.model != self._model and api.model != SYNTHETIC:
                self._model = api.model
                self.metadata.models.add(api.model)
        if api.stop_reason:
            message.stop_reason = api.stop_reason

    def fold_system(self, index: int, envelope: RecordEnvelope) -> None:
        """Take in a system record."""
        if self._place(index, envelope) == TWICE:
            return
        subtype = envelope.subtype or ""
        if subtype in SILENT:
            self._settle(STATE, -1)
            if subtype in FACTS:
                self.metadata.of(FACTS[subtype]).append(index)
            return
        message = self._add_message(index, envelope, "system", SYSTEM_KINDS.get(subtype, "notice"))
        self._settle(SHOWN, message.index)
        if message.kind == "compaction":
            self._compact(message, micro=subtype.startswith("micro"))
        elif subtype == "task_notification":
            self._notify(message, as_str(self.records[index].native.get("tool_use_id")))

    def _compact(self, boundary: Message, *, micro: bool) -> None:
        last = self.compactions[-1] if self.compactions else None
        if last is not None and last.summary is None and not (last.micro or micro) and self._follows(last):
            return
        self.compactions.append(Compaction(self, boundary, micro=micro))

    def _follows(self, compaction: Compaction) -> bool:
        """Whether nothing was said since a boundary."""
        return compaction.boundary is not None and self._last_said < compaction.boundary.index

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
            call.notices = _grown(call.notices, message.index)

    def fold_attachment(self, index: int, envelope: RecordEnvelope) -> None:
        """Take in an attachment record."""
        if self._place(index, envelope) == TWICE:
            return None
        payload = decode_payload(envelope.attachment, AttachmentEnvelope)
        if payload.type == "queued_command":
            return self._queued(index, envelope, payload)
        if payload.type.startswith(HOOKS):
            message = self._add_message(index, envelope, "system", "hook")
            self._settle(SHOWN, message.index)
            return None
        return self._attach(index, payload.toolUseID)

    def _queued(self, index: int, envelope: RecordEnvelope, payload: AttachmentEnvelope) -> None:
        """What a person typed while a turn ran, or what a task reported meanwhile."""
        text = _first_text(_value(payload.prompt))
        kind = prompt_kind(text)
        machine = payload.isMeta or payload.commandMode == "task-notification"
        if kind == "prompt" and (machine or _origin(payload.origin) not in HUMAN_ORIGINS):
            kind = "notification"
        message = self._add_message(index, envelope, "user", kind)
        self._settle(SHOWN, message.index, PROMPT if kind in TURN_STARTERS else SILENCE)
        if kind == "notification":
            self._notify(message, parse_prompt(text).fields.get("tool-use-id"))

    def _attach(self, index: int, *tool_use_ids: str | None) -> None:
        """Hang a record on its call, else on the last message."""
        for id in tool_use_ids:
            call = self._by_call.get(id or "")
            if call is not None:
                call.attached = _grown(call.attached, index)
                self._settle(ATTACHED, -2 - call.index)
                return
        if self.messages:
            message = self.messages[-1]
            message.attached = _grown(message.attached, index)
        self._settle(ATTACHED, len(self.messages) - 1)

    def fold_progress(self, index: int, envelope: RecordEnvelope) -> None:
        """Take in a progress record."""
        if self._place(index, envelope) == TWICE:
            return
        payload = decode_payload(envelope.data, ProgressEnvelope)
        if payload.type == "agent_progress" and payload.agentId:
            agent = self._agent(payload.agentId)
            agent.call_id = agent.call_id or envelope.parentToolUseID
            agent.progress_only = True
            if payload.message and agent.within < MOST_WITHIN:
                agent.push(_retold(self.records[index], bytes(payload.message)))
            self._settle(AGENT, self._numbers[agent.id])
            return
        self._attach(index, envelope.toolUseID, envelope.parentToolUseID)

    def fold_stream_event(self, index: int, envelope: RecordEnvelope) -> None:
        """Take in a stream event record."""
        self.metadata.note(envelope, index)
        event = decode_payload(envelope.event, EventEnvelope)
        if event.type == "message_start" and event.message is not None:
            id = event.message.id
            self._streaming = self._by_id.get(id) if id else None
            if self._streaming is None:
                message = self._streaming = self._add_message(index, envelope, "assistant", "response")
                message.partial = PartialResponse()
                if id:
                    message.id = id
                    self._by_id[id] = message
                self._know(message, event.message)
                self._settle_apart(SHOWN, message.index)
                return
        message = self._streaming
        if message is None:
            self._settle_apart(STATE)
            return
        self._settle_apart(MERGED, message.index)
        if message.partial is not None:
            message.partial.apply(as_dict(_value(envelope.event)))
        if event.usage:
            message.stop_reason = event.stop_reason or message.stop_reason
            message.told = _grown(message.told, index)

    # Agents whose records stand here

    def _agent_for(self, envelope: RecordEnvelope) -> Agent | None:
        """The agent a sidechain record belongs to; None where the file is the agent's own."""
        if envelope.parentToolUseID:
            agent = self._agent_of_call.get(envelope.parentToolUseID)
            if agent is None:
                agent = self._agent(envelope.agentId or envelope.parentToolUseID)
                agent.call_id = envelope.parentToolUseID
                self._agent_of_call[envelope.parentToolUseID] = agent
            return agent
        if envelope.agentId:
            if not self.messages and not self.inline_agents:
                self._sidechain = True
                return None
            agent = self._agent(envelope.agentId)
        else:
            agent = self._owners.get(envelope.parentUuid or "")
            if agent is None and envelope.parentUuid and not self._is_here(envelope.parentUuid):
                agent = self._latest_agent
            if agent is None:
                agent = self._agent(envelope.uuid or f"sidechain {len(self.inline_agents) + 1}")
                agent.parent_uuid = envelope.parentUuid
            self._latest_agent = agent
        if envelope.uuid:
            self._owners[envelope.uuid] = agent
        return agent

    def _is_here(self, id: str) -> bool:
        """Whether a record or a call of the main thread has that id."""
        return id in self._uuids or id in self._by_call

    def _agent(self, id: str) -> Agent:
        agent = self.inline_agents.get(id)
        if agent is None:
            agent = self.inline_agents[id] = Agent(id, self.records.read)
            agent.within = self.within + 1
            self._numbers[id] = len(self._numbers)
        return agent

    def _go_on_from(self, leaf: str | None) -> None:
        index = self._uuids.get(leaf or "")
        if index is not None:
            self._here = self._active = self._branch_at(index)

    def _end_turn(self) -> None:
        if self.messages:
            self._ends.add(len(self.messages) - 1)
        self._streaming = None


class Agent(Conversation):
    """A conversation that a call started."""

    def __init__(self, id: str, read: ReadAt) -> None:
        super().__init__(read)
        self.id = id
        """The agent's id."""
        self.call: Call | None = None
        """The call that started it, where the files say which."""
        self.parent: Agent | None = None
        """The agent that made that call; None where the main thread did."""
        self.meta: dict[str, Any] = {}
        """The client's note beside the agent's file."""
        self.call_id: str | None = None
        """The call that the records themselves name."""
        self.parent_uuid: str | None = None
        """The record of the main thread that its first record hangs under."""
        self.progress_only = False
        """Whether it is known only from progress records."""
        self.path: str | None = None
        """Its own file, where it has one."""
        self.own_lines: Lines | None = None
        self._sidechain = True

    @property
    def lines(self) -> Sequence[Line]:
        """The lines of its own file; of an agent without one, those of its records."""
        if self.own_lines is not None:
            return self.own_lines
        return [Line(record.line, record.offset, record.body) for record in self.records]

    @property
    def type(self) -> str | None:
        """The kind of agent: general-purpose, Explore …"""
        given = as_str(self.meta.get("agentType"))
        if given is None and self.call is not None:
            given = as_str(as_dict(self.call.input).get("subagent_type"))
        return given

    @property
    def prompt(self) -> str | None:
        """What it was asked to do."""
        first = next((m for m in self.messages[:8] if m.kind in TURN_STARTERS), None)
        if first is not None:
            return first.text
        return as_str(as_dict(self.call.input).get("prompt")) if self.call is not None else None

    @property
    def warmup(self) -> bool:
        """Whether it is one of the one-line agents that 2.0 starts with each session."""
        if self.call is not None or self.calls or len(self.messages) > 2:
            return False
        return all(message.role == "assistant" or message.text == "Warmup" for message in self.messages)

    def __repr__(self) -> str:
        return f"<Agent {self.id} {self.type or ''}>"


def _retold(record: Record, message: bytes) -> Record:
    """The message inside a progress record as a record of its own; where it stands only inside, the whole."""
    envelope = to_envelope(as_dict(jsontext.loads_clean(message)))
    at = record.body.find(message)
    if at < 0:
        return Record(record.line, record.offset, record.body, envelope.type, envelope)
    return Record(record.line, record.offset + at, message, envelope.type, envelope)


def _grown(indexes: Sequence[int], index: int) -> Sequence[int]:
    """One more index; most records have none, so that a list is made only for the first."""
    if isinstance(indexes, list):
        indexes.append(index)
        return indexes
    return [index]


def _raw_blocks(native: dict[str, Any]) -> list[Any]:
    """The content blocks of a spoken record, as written."""
    content = as_dict(native.get("message")).get("content")
    return cast(list[Any], content) if isinstance(content, list) else [content]


def _response_kind(envelope: RecordEnvelope, api: MessageEnvelope) -> str:
    if envelope.isApiErrorMessage:
        return "error"
    return "notice" if api.model == SYNTHETIC else "response"


def _first_text(content: Any) -> str:
    """The first text of a user's content that is not the client's own addition; else the first at all."""
    if isinstance(content, str):
        return content
    blocks = cast(list[Any], content) if isinstance(content, list) else []
    texts = [text for text in map(_text_of, blocks) if text]
    return next((text for text in texts if prompt_kind(text) != "meta"), texts[0] if texts else "")


def _text_of(block: Any) -> str:
    raw = block.text if isinstance(block, BlockEnvelope) else as_dict(block).get("text")
    text = _value(raw) if isinstance(raw, Raw) else raw
    return text if isinstance(text, str) else ""


def _origin(raw: Raw) -> str | None:
    return as_str(as_dict(_value(raw)).get("kind")) if raw else None


def _value(raw: Raw) -> Any:
    return jsontext.loads_clean(bytes(raw)) if raw else None


_FOLDS: dict[str, Fold] = {
    "user": Conversation.fold_user,
    "assistant": Conversation.fold_assistant,
    "system": Conversation.fold_system,
    "attachment": Conversation.fold_attachment,
    "progress": Conversation.fold_progress,
    "stream_event": Conversation.fold_stream_event,
}
"""How each type of record that hangs in the tree is taken in."""
