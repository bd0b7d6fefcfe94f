"""A conversation as one reads it: messages, calls, turns, branches, compactions and agents.

These types refer to each other, so they share a module. `fold` fills them, one record at a time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import msgspec

from reread import tools
from reread.accounting.billing import Usage, UsageRow, row_usage, total
from reread.accounting.prices import current_prices
from reread.base.coerce import as_dict, as_str
from reread.base.times import timestamp_ms
from reread.model.between_messages import BetweenMessages
from reread.model.bodies import Bodies
from reread.model.call import CallContent
from reread.model.compaction import CompactionContent
from reread.model.ledger import MERGED, PAIRED, SHOWN, Ledger
from reread.model.message import MessageContent, RowCache, split_turns
from reread.model.metadata import Metadata
from reread.model.record_kinds import TURN_STARTERS
from reread.model.request import RequestContent, Requests
from reread.model.request_index import RequestIndex
from reread.model.tree import NO_PARENT, RecordTree
from reread.records.decode import Records
from reread.records.lines import Line, Lines, ReadAt
from reread.tools.nodes import Node
from reread.tools.tool import AgentStats, ToolCall


class ThreadOwner(Protocol):
    """The owner of conversations: the main thread and the agents of one session."""

    @property
    def conversation(self) -> Conversation: ...
    @property
    def agents(self) -> Mapping[str, Agent]: ...


class Message(MessageContent, eq=False, kw_only=True):
    """One prompt, one model response or one notice: every record of it, joined."""

    conversation: Conversation
    calls: Sequence[Call] = ()

    @property
    def usage(self) -> Usage:
        """The tokens of its requests; zero for anything but a response."""
        if self.kind != "response":
            return Usage()
        usages = [row_usage(row, timestamp_ms(self.stamp), current_prices()) for row in self.rows]
        return usages[0] if len(usages) == 1 else total(usages)

    @property
    def rows(self) -> list[UsageRow]:
        """The winning usage row of each of its requests; recent answers are cached."""
        return self.conversation.usage_rows(self)

    @property
    def active(self) -> bool:
        """True if it is on the active branch."""
        return self.conversation.is_on(self, self.conversation.active_branch)

    @property
    def turn(self) -> Turn:
        """The turn it belongs to, on the active branch or on its own."""
        turns = self.conversation.turns if self.active else self.conversation.branch(self.branch).turns
        return turns[bisect_right(turns, self.index, key=lambda turn: turn.messages[0].index) - 1]

    def __repr__(self) -> str:
        return f"<Message {self.role}/{self.kind} {self.id} line {self.line}>"


class Call(CallContent, eq=False, kw_only=True):
    """A tool use and its result together."""

    conversation: Conversation
    message: Message
    """The response that made the call."""
    linked_agents: Sequence[Agent] = ()
    """The agents it started or resumed, as far as they have been linked, the one it is known for first."""
    absent_agent: str | None = None
    """The agent that its result names and whose transcript is not there; set when agents are linked."""

    @property
    def agent(self) -> Agent | None:
        """The agent it started or resumed; the session's agents are read when this is first asked for."""
        self.conversation.link_agents()
        return self.linked_agents[0] if self.linked_agents else None

    @property
    def agents(self) -> list[Agent]:
        """The agents that it started: one, or those of a workflow."""
        self.conversation.link_agents()
        return [agent for agent in self.linked_agents if agent.call is self]

    @property
    def tool_call(self) -> ToolCall:
        """The call as a tool sees it; the last answer is cached."""
        return self.conversation.tool_call(self)

    @property
    def title(self) -> str:
        """The call in one line, in the tool's own words."""
        return tools.title(self.tool_call)

    @property
    def nodes(self) -> list[Node]:
        """The call and its result, as nodes to draw."""
        return self.draw()

    def draw(self, *, full: bool = False) -> list[Node]:
        """Return the nodes; with `full`, also everything recorded that no node shows."""
        return tools.draw(self.tool_call, full=full, recorded=self.recorded if full else None)

    def __repr__(self) -> str:
        return f"<Call {self.name} {self.id} line {self.line}>"


class Turn(msgspec.Struct, eq=False):
    """A prompt and everything up to the next prompt."""

    index: int
    """Its number on its branch, from 1."""
    prompt: Message | None
    """The prompt that a person typed; None if the file does not say (a stream leaves it out)."""
    messages: list[Message]

    @property
    def calls(self) -> list[Call]:
        """The calls of its messages, in order."""
        return [call for message in self.messages for call in message.calls]

    @property
    def usage(self) -> Usage:
        """The tokens of its messages."""
        return total(message.usage for message in self.messages)


class Request(RequestContent):
    """An API request of a thread, with the response that it got."""

    def __init__(self, conversation: Conversation, index: RequestIndex, number: int) -> None:
        super().__init__(index, number)
        self.conversation: Conversation = conversation
        """The thread that sent it."""

    @property
    def response(self) -> Message | None:
        """The response to it; None if there is none, or another request was sent before it came."""
        messages, requests = self.conversation.messages, self.conversation.metadata.requests
        end = requests[self.number] if self.number < len(requests) else len(self.conversation.records)
        for message in messages[self._place :]:
            if message.records[0] > end:
                break
            if message.kind == "response":
                return message
        return None

    @property
    def turn(self) -> Turn | None:
        """The turn in which it was sent; None if the thread says nothing before it."""
        messages = self.conversation.messages
        before = messages[self._place - 1] if self._place else None
        message = self.response or before
        return message.turn if message is not None else None

    @property
    def agent(self) -> Agent | None:
        """The agent that sent it; None if the main thread did."""
        return self.conversation if isinstance(self.conversation, Agent) else None

    @property
    def line(self) -> int:
        """The line that notes it."""
        return self.conversation.records.line(self.record)

    @property
    def _place(self) -> int:
        """The number of messages before it."""
        return bisect_right(self.conversation.messages, self.record, key=lambda message: message.records[0])

    def __repr__(self) -> str:
        return f"<Request {self.number} {self.id}>"


class Branch(msgspec.Struct, eq=False):
    """The messages from the first to one leaf of the tree."""

    conversation: Conversation
    id: int
    parent: int | None = None
    """The branch it leaves."""
    fork: int = NO_PARENT
    """The last record that it shares with its parent."""

    @property
    def active(self) -> bool:
        """True if the session continued here."""
        return self.conversation.active_branch == self.id

    @property
    def messages(self) -> list[Message]:
        """Its messages, those it shares with its parents first."""
        return self.conversation.branch_messages(self.id)

    @property
    def own(self) -> list[Message]:
        """The messages that no parent shares."""
        return [message for message in self.conversation.messages if message.branch == self.id]

    @property
    def turns(self) -> list[Turn]:
        """Its turns."""
        return self.conversation.branch_turns(self.id)

    @property
    def leaf(self) -> str | None:
        """The uuid of its last record."""
        messages = self.messages
        return messages[-1].uuids[-1] if messages and messages[-1].uuids else None

    def __contains__(self, message: object) -> bool:
        return isinstance(message, Message) and self.conversation.is_on(message, self.id)


class Compaction(CompactionContent["Conversation", "Message"], eq=False):
    """A place where the conversation was summarised to free context."""


class Conversation:
    """Messages, calls, branches and agents of one file or stream, folded from its records in file order."""

    def __init__(self, read: ReadAt) -> None:
        self.calls_by_id: dict[str, Call] = {}
        self.bodies: Bodies = Bodies(read, self.calls_by_id)
        """The bodies of its records, read when asked for."""
        self.tree: RecordTree = RecordTree()
        """Parents and branches of its records."""
        self.messages: list[Message] = []
        """Every message, all branches, in file order."""
        self.calls: list[Call] = []
        """Its calls, all branches."""
        self.compactions: list[Compaction] = []
        """Where it was summarised."""
        self.metadata: Metadata = Metadata()
        """The fields of its records that are about the session as a whole."""
        self.ledger: Ledger = Ledger(self.records, self.tree, self.messages, self.calls)
        """The fate of every record."""
        self.inline_agents: dict[str, Agent] = {}
        """The agents whose records are in this very file."""
        self.marks: BetweenMessages = BetweenMessages()
        """The records between messages."""
        self.messages_by_id: dict[str, Message] = {}
        """Responses by the API's id."""
        self._linked: Mapping[str, Agent] | None = None
        self.owner: ThreadOwner | None = None
        """The session's threads: they know where the agents' files are."""
        self._branches: list[Branch] = []
        self._turns: dict[int, tuple[int, list[Turn]]] = {}
        self._rows = RowCache()
        self._requests: Requests[Request] | None = None
        self._tool_call: tuple[object, ToolCall] | None = None

    @property
    def records(self) -> Records:
        """Its records, in file order."""
        return self.bodies.records

    @property
    def turns(self) -> list[Turn]:
        """The turns of the active branch."""
        return self.branch_turns(self.active_branch)

    def branch_turns(self, branch: int) -> list[Turn]:
        """Return the turns of a branch; those of the active one and of the one asked for last are kept."""
        now, known = len(self.records), self._turns.get(branch)
        if known is None or known[0] != now:
            known = (now, list(cut_turns(self.branch_messages(branch), self.marks.ends)))
            active = self.active_branch
            self._turns = {id: turns for id, turns in self._turns.items() if id == active} | {branch: known}
        return known[1]

    @property
    def requests(self) -> Requests[Request]:
        """Its API requests, all branches, in file order; none if the client did not note them."""
        if self._requests is None:
            parts = RequestIndex(self.records, self.metadata, self.request_parts)
            self._requests = Requests(partial(Request, self), parts, self.metadata)
        return self._requests

    def request_parts(self) -> Iterator[RequestIndex]:
        """Yield where the parts of requests are, in each thread of the session."""
        threads = (self,) if self.owner is None else (self.owner.conversation, *self.owner.agents.values())
        return (thread.requests.parts for thread in threads)

    @property
    def active_branch(self) -> int:
        """The id of the branch that the session continued on."""
        return self.tree.active_branch

    @property
    def branches(self) -> list[Branch]:
        """All branches, the active one first."""
        active, branches = self.active_branch, self._all_branches()
        return [branches[active], *branches[:active], *branches[active + 1 :]]

    @property
    def forks(self) -> dict[int, list[Branch]]:
        """The branches that leave the conversation, by the index of the message after which they do."""
        found: dict[int, list[Branch]] = {}
        for branch in self._all_branches():
            message = self.message_at(branch.fork) if branch.parent is not None else None
            if message is not None:
                found.setdefault(message.index, []).append(branch)
        return found

    def branch(self, id: int) -> Branch:
        """Return the branch with this id."""
        return self._all_branches()[id]

    def _all_branches(self) -> list[Branch]:
        for id in range(len(self._branches), len(self.tree.forks)):
            fork = self.tree.forks[id]
            self._branches.append(Branch(self, id, fork.parent, fork.record))
        return self._branches

    @property
    def usage(self) -> Usage:
        """The tokens of all its messages, abandoned branches included: they were billed."""
        return total(message.usage for message in self.messages)

    @property
    def agents(self) -> Mapping[str, Agent]:
        """Every agent below this conversation by id, once they have been linked."""
        return self.inline_agents if self._linked is None else self._linked

    def branch_messages(self, branch: int, start: int = 0) -> list[Message]:
        """Return the messages from the root, or from the message with index `start`, to the leaf of a branch."""
        messages = self.messages[start:]
        if len(self.tree.forks) == 1:
            return messages
        limits = self.tree.limits(branch)
        return [m for m in messages if m.branch in limits and m.records[0] <= limits[m.branch]]

    def is_on(self, message: Message, branch: int) -> bool:
        """True if a message is on the way to the leaf of a branch."""
        limits = self.tree.limits(branch)
        return message.branch in limits and message.records[0] <= limits[message.branch]

    def find_call(self, tool_use_id: str | None) -> Call | None:
        """Return the call with this id."""
        return self.calls_by_id.get(tool_use_id) if isinstance(tool_use_id, str) else None

    def find_message(self, id: str) -> Message | None:
        """Return the message with this id, or the one that holds the record with this uuid: whichever came first."""
        found = self.messages_by_id.get(id)
        index = self.tree.uuids.get(id)
        if index is None or self.ledger.code(index) not in (SHOWN, MERGED):
            return found
        if found is not None and found.records[0] < index:
            return found
        return self.messages[self.ledger.targets[index]]

    def message_at(self, index: int) -> Message | None:
        """Return the last message at or before a record, following parents."""
        seen: set[int] = set()
        while index >= 0 and index not in seen:
            code, target = self.ledger.code(index), self.ledger.targets[index]
            if code in (SHOWN, MERGED):
                return self.messages[target]
            if code == PAIRED:
                return self.calls[target].message
            seen.add(index)
            index = self.tree.parent(index)
        return None

    def link_agents(self) -> None:
        """Have the session link its agents to their calls, if it has not yet."""
        _ = self.owner.agents if self.owner is not None else None

    def set_agents(self, agents: Mapping[str, Agent]) -> None:
        """Set the agents below this conversation."""
        self._linked = agents

    def usage_rows(self, message: Message) -> list[UsageRow]:
        """Return the winning usage row of each request of a message; recent answers are cached."""
        return self._rows.get(message.index, len(message.records) + len(message.usage_records), message.usage_rows)

    def tool_call(self, call: Call) -> ToolCall:
        """Return a call as a tool sees it; the last answer is cached."""
        agent = call.agent
        key = (call.index, call.answer, call.denied, agent, len(agent.records) if agent is not None else 0)
        if self._tool_call is None or self._tool_call[0] != key:
            self._tool_call = (key, call.for_tool(agent.stats if agent is not None else None))
        return self._tool_call[1]


class Agent(Conversation):
    """A conversation that a call started."""

    def __init__(
        self,
        id: str,
        read: ReadAt,
        *,
        path: str | None = None,
        meta: dict[str, Any] | None = None,
        depth: int = 0,
        parent_uuid: str | None = None,
    ) -> None:
        super().__init__(read)
        self.bodies.of_agent = True
        self.id = id
        """The agent's id."""
        self.call: Call | None = None
        """The call that started it, if the files say which."""
        self.parent: Agent | None = None
        """The agent that made that call; None if the main thread did. No agent is its own ancestor."""
        self.path = path
        """Its own file, if it has one."""
        self.meta: dict[str, Any] = meta or {}
        """The client's notes beside the agent's file, which may be written after its first lines."""
        self.depth = depth
        """How many conversations of the same file it is nested in."""
        self.call_id: str | None = None
        """The id of its call, if its own records name it."""
        self.parent_uuid = parent_uuid
        """The record of the main thread that its first record hangs below."""
        self.from_progress: bool = False
        """True if it is known from progress records of the main thread."""
        self._lines: Lines | None = None

    @property
    def lines(self) -> Sequence[Line]:
        """The lines of its own file; of an agent without one, those of its records."""
        if self._lines is not None:
            return self._lines
        return [Line(record.line, record.offset, record.body) for record in self.records]

    @property
    def type(self) -> str | None:
        """The type of agent: general-purpose, Explore …"""
        given = as_str(self.meta.get("agentType"))
        if given is None and self.call is not None:
            given = as_str(as_dict(self.call.input).get("subagent_type"))
        return given

    @property
    def prompt(self) -> str | None:
        """The task it was given."""
        first = next((m for m in self.messages[:8] if m.kind in TURN_STARTERS), None)
        if first is not None:
            return first.text
        return as_str(as_dict(self.call.input).get("prompt")) if self.call is not None else None

    @property
    def warmup(self) -> bool:
        """True for the one-line agents that 2.0 starts with each session."""
        if self.call is not None or self.calls or len(self.messages) > 2:
            return False
        return all(message.role == "assistant" or message.text == "Warmup" for message in self.messages)

    @property
    def stats(self) -> AgentStats:
        """The figures that a tool gets of the agent that its call started."""
        return AgentStats(id=self.id, type=self.type, calls=len(self.calls), tokens=self.usage.tokens)

    @property
    def agents(self) -> Mapping[str, Agent]:
        """Every agent below this one by id, once they have been linked."""
        if self._linked is None:
            return self.inline_agents
        below: dict[Agent | None, bool] = {None: False, self: True}
        for agent in self._linked.values():
            path: list[Agent] = []
            above: Agent | None = agent
            while above is not None and above not in below:
                path.append(above)
                above = above.parent
            below.update(dict.fromkeys(path, below[above]))
        return {id: agent for id, agent in self._linked.items() if agent is not self and below[agent]}

    @property
    def ancestors(self) -> list[Agent]:
        """The agents above it, its parent first."""
        out: list[Agent] = []
        above = self.parent
        while above is not None:
            out.append(above)
            above = above.parent
        return out

    def name_call(self, id: str | None, *, from_progress: bool) -> None:
        """Note the id of the call that a record of it names: the first one counts."""
        self.call_id = self.call_id or id
        self.from_progress = self.from_progress or from_progress

    def set_lines(self, lines: Lines) -> None:
        """Set the lines of its own file."""
        self._lines = lines

    def __repr__(self) -> str:
        return f"<Agent {self.id} {self.type or ''}>"


def cut_turns(messages: Sequence[Message], ends: Container[int]) -> Iterator[Turn]:
    """Cut messages into turns."""
    return (Turn(number, prompt, turn) for number, (prompt, turn) in enumerate(split_turns(messages, ends), 1))
