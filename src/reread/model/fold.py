"""Fold records into a conversation, one push at a time; loading a file is pushing all of it."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

from reread.base.coerce import as_dict, as_list, as_str
from reread.model import hooks
from reread.model.authors import HUMAN, origin_kind, user_kind
from reread.model.between_messages import PromptQueue
from reread.model.compaction_linker import add_boundary, add_summary
from reread.model.content import first_text, raw_value
from reread.model.conversation import Agent, Conversation, Message
from reread.model.ledger import (
    AGENT,
    ATTACHED,
    DUPLICATE,
    MALFORMED,
    MERGED,
    NO_TARGET,
    ORPHAN,
    PAIRED,
    REAPPENDED,
    SHOWN,
    STATE,
    UNKNOWN,
)
from reread.model.metadata import METADATA_LISTS
from reread.model.pairing import AttachmentLinker, CallPairing, appended
from reread.model.partial import PartialResponse
from reread.model.prompt_text import LOCAL_COMMANDS, first_tag, is_caveat, parse_prompt, prompt_kind
from reread.model.record_kinds import (
    BOOKKEEPING,
    CALL_BLOCKS,
    FILE_ATTACHMENTS,
    FILE_BACKUPS,
    HOOK_ATTACHMENTS,
    NOTICE,
    STATE_TYPES,
    SYNTHETIC,
    SYSTEM_KINDS,
    TREE_TYPES,
    TURN_STARTERS,
    own_fields,
    response_kind,
)
from reread.model.repeats import BLOCK_BITS, MANY_BIT, OTHER_BIT, find_holder, retold_records, says_again
from reread.records.decode import Record
from reread.records.envelope import (
    AttachmentEnvelope,
    BlockEnvelope,
    EventEnvelope,
    MessageEnvelope,
    ProgressEnvelope,
    RecordEnvelope,
    decode_payload,
)

DEEPEST = 32
"""How many agents retold in progress records may be nested; real ones are retold by the main thread."""
REPEATED = -2
"""Returned instead of a parent: this record came before."""
NO_MESSAGE = MessageEnvelope()


class Fold:
    """Fills a conversation from its records. Does no I/O: bodies are read through the conversation."""

    def __init__(self, conversation: Conversation, *, number: int = 0) -> None:
        """Fill a conversation; `number` is its position among the agents of its file."""
        self.conversation = conversation
        self._number = number
        self._tree = conversation.tree
        self._ledger = conversation.ledger
        self._metadata = conversation.metadata
        self._messages = conversation.messages
        self._attaching = AttachmentLinker(conversation)
        self._pairing = CallPairing(conversation, self._attaching)
        self._queue = PromptQueue(conversation.marks)
        self._calls_by_id = conversation.calls_by_id
        self._messages_by_id = conversation.messages_by_id
        self._agents: dict[str, Fold] = {}
        """The agents whose records are in this file."""
        self._agent_of_uuid: dict[str, Fold] = {}
        self._agent_of_call: dict[str, Fold] = {}
        self._latest_agent: Fold | None = None
        self._is_agent_file = isinstance(conversation, Agent)
        """True if sidechain records are this conversation's own."""
        self._depth = conversation.depth if isinstance(conversation, Agent) else 0
        self._streaming: Message | None = None
        self._last_message = -1
        """The last message that is no compaction boundary."""
        self._last_boundary = -1
        self._model: str | None = None
        self._caveats: set[int] = set()
        """The records that introduce local commands; commands of several times may hang below one."""
        self._hook_failures: set[str] = set()
        """The failures of hooks that are shown; the same again are attached to what they belong to."""
        self._typed_command: str | None = None
        """The last command that was recorded as typed: the client records it again, with tags, once it has run."""

    @property
    def agents(self) -> Mapping[str, Fold]:
        """The folds of the agents whose records are in this file."""
        return self._agents

    def push(self, record: Record) -> int:
        """Add one record and return its index; `change_of` tells what it changed."""
        index = len(self._ledger)
        self.conversation.records.add(record.line, record.offset, len(record.body))
        self._push((record.envelope,))
        return index

    def push_lines(
        self, number: int, starts: array[int], lines: Sequence[bytes], envelopes: Iterable[RecordEnvelope]
    ) -> None:
        """Add whole lines, each of them one record, with their envelopes."""
        self.conversation.records.add_lines(number, starts, lines)
        self._push(envelopes)

    def _push(self, envelopes: Iterable[RecordEnvelope]) -> None:
        """Add the envelopes of records whose positions are known."""
        for index, envelope in enumerate(envelopes, len(self._ledger)):
            type = envelope.type
            fold = _FOLDS.get(type)
            if fold is None:
                self._fold_state(index, envelope)
            elif (
                not self._is_agent_file
                and (envelope.isSidechain or (envelope.parentToolUseID and type != "progress"))
                and (agent := self._agent_for(envelope)) is not None
            ):
                agent.conversation.records.add(*self.conversation.records.position(index))
                agent._push((envelope,))
                self._add_outside(AGENT, agent._number)
            else:
                fold(self, index, envelope)

    def _fold_state(self, index: int, envelope: RecordEnvelope) -> None:
        """Add a record that is not in the tree."""
        self._metadata.note(envelope, index)
        if envelope.type != "result":
            self.conversation.marks.add_state(index, envelope.type)
        if envelope.type not in STATE_TYPES:
            self._add_outside(MALFORMED if self.conversation.records[index].fault else UNKNOWN)
            return
        self._add_outside(STATE)
        if envelope.type in FILE_BACKUPS:
            self.conversation.marks.files.append(index)
        self._metadata.note_state(envelope)
        if envelope.type in METADATA_LISTS:
            self._metadata.of(METADATA_LISTS[envelope.type]).append(index)
        if envelope.type == "queue-operation":
            self._queue.add(index, self.conversation.records[index].native)
        elif envelope.type == "last-prompt":
            self._tree.continue_from(envelope.leafUuid)
        elif envelope.type == "result":
            self._pairing.deny_calls(as_list(self.conversation.records[index].native.get("permission_denials")))
            self._end_turn(index)

    def _add(self, fate: int, target: int, *, speaks: bool = False) -> None:
        """Enter the fate of a record that has its place in the tree: exactly once for each."""
        self._tree.close(speaks)
        self._ledger.add(fate, target)

    def _add_outside(self, fate: int, target: int = NO_TARGET) -> None:
        """Enter the fate of a record that is not in the tree."""
        self._tree.hang_nowhere()
        self._add(fate, target)

    def _place(self, index: int, envelope: RecordEnvelope) -> int:
        """Put a record below its parent and return that; REPEATED if the record came before."""
        self._metadata.note(envelope, index)
        if envelope.uuid is not None:
            first = self._tree.claim(envelope.uuid, index)
            if first != index and says_again(self.conversation.records[index], self.conversation.records[first]):
                self._add_outside(REAPPENDED if self._last_boundary > first else DUPLICATE, first)
                return REPEATED
        return self._tree.hang(index, envelope.parentUuid or envelope.logicalParentUuid, self._agent_of_uuid)

    def fold_user(self, index: int, envelope: RecordEnvelope) -> None:
        """Add a user record: a prompt, results, or what the client says in the user's name."""
        parent = self._place(index, envelope)
        if parent == REPEATED:
            return
        content = envelope.message.content if envelope.message is not None else None
        if type(content) is list and content and self._pair_results(index, content):
            return
        text = first_text(content)
        if self._queue:
            self._queue.send(index, text)
        kind = self._user_kind(index, envelope, text)
        speaks = kind == "prompt" or (kind == "command" and first_tag(text) not in LOCAL_COMMANDS)
        if speaks and parent >= 0 and parent not in self._caveats and self._tree.leads_somewhere(parent, index):
            self._tree.fork(parent)
        message = self._add_message(index, envelope, "user", kind)
        self._add(SHOWN, message.index, speaks=speaks)
        if speaks or kind not in BOOKKEEPING or envelope.is_active:
            self._tree.continue_here(pin=bool(envelope.is_active))
        if kind == "meta" and is_caveat(text):
            self._caveats.add(index)
        elif kind == "summary":
            add_summary(message)
        elif kind == "notification":
            self._notify_call(message, parse_prompt(text).fields.get("tool-use-id"))

    def _user_kind(self, index: int, envelope: RecordEnvelope, text: str) -> str:
        """Return the kind of a user record; an agent's first one is its prompt, whatever its fields say."""
        if self._is_agent_file and not self._messages and not envelope.isCompactSummary:
            return prompt_kind(text)
        kind = user_kind(envelope, text)
        return self._command_kind(index, text) if kind == "command" else kind

    def _command_kind(self, index: int, text: str) -> str:
        """Return `command`, or `meta` if it is the client's record of the command that was just typed."""
        command = str(parse_prompt(text).command)
        if self._queue:
            self._queue.send(index, command)
        repeats = command == self._typed_command and bool(first_tag(text))
        self._typed_command = command if not first_tag(text) else None
        return "meta" if repeats else "command"

    def _pair_results(self, index: int, content: list[BlockEnvelope]) -> bool:
        """Pair the results of a record with their calls; True if it holds nothing else."""
        results, call = self._pairing.pair_results(index, content)
        if results < len(content):
            return False
        target = call.index if call else self._attaching.orphan(index)
        self._add(PAIRED if call else ORPHAN, target, speaks=True)
        return True

    def fold_assistant(self, index: int, envelope: RecordEnvelope) -> None:
        """Add an assistant record: a response, or more of one."""
        if self._place(index, envelope) == REPEATED:
            return
        api = envelope.message or NO_MESSAGE
        content = api.content
        self._typed_command = None
        message = self._messages_by_id.get(api.id) if api.id else None
        if message is None:
            message = self._add_message(index, envelope, "assistant", response_kind(envelope, api))
            fate = SHOWN
            if api.id:
                self._name_response(message, api.id)
        else:
            fate = MERGED
            repeated = find_holder(message, index, content) if content else -1
            if repeated >= 0:
                self._describe(message, api)
                message.usage_records = appended(message.usage_records, index)
                self._add(DUPLICATE, repeated)
                return
            message.records.append(index)
            message.stamp = message.stamp or envelope.timestamp
        speaks = self._add_blocks(index, envelope, message, content) if type(content) is list else bool(content)
        speaks = speaks and api.model != SYNTHETIC
        self._describe(message, api)
        self._add(fate, message.index, speaks=speaks)
        if envelope.supersedes:
            self.conversation.bodies.superseded.update(envelope.supersedes)
        self._tree.continue_here(pin=bool(envelope.is_active))

    def _name_response(self, message: Message, id: str) -> None:
        message.id = id
        self._messages_by_id[id] = message

    def _add_blocks(self, index: int, envelope: RecordEnvelope, message: Message, content: list[BlockEnvelope]) -> bool:
        """Add the blocks of a response; False if they are nothing but calls."""
        speaks = False
        for place, block in enumerate(content):
            kind = block.type
            if kind in CALL_BLOCKS:
                self._pairing.add_call(index, envelope.uuid, message, block, place)
            else:
                speaks = True
                message.seen |= BLOCK_BITS.get(kind, OTHER_BIT)
                if block.tool_use_id:
                    self._pairing.pair_inline(index, block)
            if message.partial is not None:
                message.partial.complete(kind)
        if len(content) > 1:
            message.seen |= MANY_BIT
        return speaks

    def _add_message(self, index: int, envelope: RecordEnvelope, role: str, kind: str) -> Message:
        conversation = self.conversation
        is_first = envelope.uuid is not None and self._tree.uuids.get(envelope.uuid, index) == index
        message = Message(
            conversation.bodies,
            len(self._messages),
            envelope.uuid if is_first and envelope.uuid else conversation.records.name(index),
            role,
            kind,
            envelope.timestamp,
            self._tree.branch,
            [index],
            conversation=conversation,
        )
        self._messages.append(message)
        conversation.marks.add_message(message.index, envelope.sessionId)
        if not message.index:
            self._attaching.adopt(message)
        if kind == "compaction":
            self._last_boundary = index
        else:
            self._last_message = message.index
        return message

    def _describe(self, message: Message, api: MessageEnvelope) -> None:
        """Set the model of a response and how it ended."""
        if message.model is None and api.model:
            message.model = api.model
            if api.model != self._model and api.model != SYNTHETIC:
                self._model = api.model
                self._metadata.models.add(api.model)
        if api.stop_reason:
            message.stop_reason = api.stop_reason

    def fold_system(self, index: int, envelope: RecordEnvelope) -> None:
        """Add a system record."""
        if self._place(index, envelope) == REPEATED:
            return
        subtype = envelope.subtype or ""
        kind = SYSTEM_KINDS.get(subtype, NOTICE)
        if kind is None:
            self._add(STATE, NO_TARGET)
            if subtype in METADATA_LISTS:
                self._metadata.of(METADATA_LISTS[subtype]).append(index)
            if subtype != "init" or not self._fold_setup(index, envelope):
                self.conversation.marks.add_state(index, f"system {subtype}")
            return
        if subtype in hooks.QUIET_TESTS and self._is_quiet(index, subtype):
            self._add(ATTACHED, self._attaching.to_call(index, envelope.toolUseID))
            return
        if subtype == "permission_denied" and self._denied_call(index) is not None:
            self._add(ATTACHED, self._attaching.to_call(index, self._denied_call(index)))
            return
        role = "system"
        if subtype == "local_command":
            text = as_str(self.conversation.records[index].native.get("content")) or ""
            if prompt_kind(text) == "command":
                role, kind = "user", self._command_kind(index, text)
        message = self._add_message(index, envelope, role, kind)
        self._add(SHOWN, message.index)
        if kind == "compaction":
            add_boundary(message, micro=subtype.startswith("micro"), after=self._last_message)
        elif subtype == "task_notification":
            self._notify_call(message, as_str(self.conversation.records[index].native.get("tool_use_id")))

    def _denied_call(self, index: int) -> str | None:
        """Return the id of the call that a record says was denied, if it is known; its result says it, too."""
        id = as_str(self.conversation.records[index].native.get("tool_use_id"))
        return id if id in self.conversation.calls_by_id else None

    def _fold_setup(self, index: int, envelope: RecordEnvelope) -> bool:
        """Note how the client was set up; False if it was set up so before: a stream says it at each turn."""
        marks, native = self.conversation.marks, self.conversation.bodies.native
        known = marks.setup >= 0 and self.conversation.records[marks.setup].envelope.sessionId == envelope.sessionId
        changed = not known or own_fields(native(index)) != own_fields(native(marks.setup))
        if changed:
            marks.add_setup(index, of_session=known)
        marks.setup = index
        return changed

    def _is_quiet(self, index: int, subtype: str) -> bool:
        """True if a record says only that hooks have run, or repeats the feedback before it."""
        last = self._messages[-1] if self._messages else None
        if subtype == "stop_hook_summary" and last is not None and (last.role, last.kind) == ("user", "hook"):
            return True
        native = self.conversation.records[index].native
        return hooks.QUIET_TESTS[subtype](native) or hooks.is_repeated_failure(native, self._hook_failures)

    def fold_notice(self, index: int, envelope: RecordEnvelope) -> None:
        """Add a record of the tree that has no fold of its own."""
        if self._place(index, envelope) != REPEATED:
            self._add(SHOWN, self._add_message(index, envelope, "system", NOTICE).index)

    def _notify_call(self, message: Message, tool_use_id: str | None) -> None:
        call = self._calls_by_id.get(tool_use_id or "")
        if call is not None:
            call.notices = appended(call.notices, message.index)

    def fold_attachment(self, index: int, envelope: RecordEnvelope) -> None:
        """Add an attachment record: a queued prompt, what a hook left, or context."""
        if self._place(index, envelope) == REPEATED:
            return
        payload = decode_payload(envelope.attachment, AttachmentEnvelope)
        if payload.type in FILE_ATTACHMENTS:
            self.conversation.marks.files.append(index)
        if payload.type == "queued_command":
            self._add_queued(index, envelope, payload)
        elif payload.type.startswith(HOOK_ATTACHMENTS) and not self._hook_is_quiet(envelope):
            self._add(SHOWN, self._add_message(index, envelope, "system", "hook").index)
        else:
            self._add(ATTACHED, self._attaching.to_call(index, payload.toolUseID))

    def _hook_is_quiet(self, envelope: RecordEnvelope) -> bool:
        """True if what a hook left says nothing, or only what the hook before it said, or how it failed before."""
        payload = as_dict(raw_value(envelope.attachment))
        last = self._messages[-1] if self._messages else None
        if last is not None and last.kind == "hook" and (said := payload.get("content")) and said == last.text:
            return True
        return hooks.is_quiet(payload) or hooks.is_repeated_failure(payload, self._hook_failures)

    def _add_queued(self, index: int, envelope: RecordEnvelope, payload: AttachmentEnvelope) -> None:
        """Add what a person typed while a turn ran, or what a task reported meanwhile."""
        text = first_text(raw_value(payload.prompt))
        if self._queue:
            self._queue.send(index, text)
        kind = prompt_kind(text)
        automatic = payload.isMeta or payload.commandMode == "task-notification"
        if kind == "prompt" and (automatic or origin_kind(payload.origin) not in (None, HUMAN)):
            kind = "notification"
        message = self._add_message(index, envelope, "user", kind)
        self._add(SHOWN, message.index, speaks=kind in TURN_STARTERS)
        if kind == "notification":
            self._notify_call(message, parse_prompt(text).fields.get("tool-use-id"))

    def fold_progress(self, index: int, envelope: RecordEnvelope) -> None:
        """Add a progress record: an agent's message, or a note of a running call."""
        if self._place(index, envelope) == REPEATED:
            return
        payload = decode_payload(envelope.data, ProgressEnvelope)
        if payload.type != "agent_progress" or not payload.agentId:
            self._add(ATTACHED, self._attaching.to_call(index, envelope.toolUseID, envelope.parentToolUseID))
            return
        agent = self._agent(payload.agentId, call=envelope.parentToolUseID, from_progress=True)
        for record in retold_records(self.conversation.records[index], payload) if agent._depth < DEEPEST else ():
            first = agent._tree.uuids.get(record.envelope.uuid or "")
            if first is None or not says_again(record, agent.conversation.records[first]):
                agent.push(record)
        self._add(AGENT, agent._number)

    def fold_stream_event(self, index: int, envelope: RecordEnvelope) -> None:
        """Add an event of the API's stream: a piece of a response."""
        self._metadata.note(envelope, index)
        event = decode_payload(envelope.event, EventEnvelope)
        if event.type == "message_start" and event.message is not None:
            id = event.message.id
            self._streaming = self._messages_by_id.get(id) if id else None
            if self._streaming is None:
                message = self._streaming = self._add_message(index, envelope, "assistant", "response")
                message.partial = PartialResponse()
                if id:
                    self._name_response(message, id)
                self._describe(message, event.message)
                self._add_outside(SHOWN, message.index)
                return
        message = self._streaming
        if message is None:
            self._add_outside(STATE)
            return
        self._add_outside(MERGED, message.index)
        if message.partial is not None:
            message.partial.apply(as_dict(raw_value(envelope.event)))
        if event.usage:
            message.stop_reason = event.stop_reason or message.stop_reason
            message.usage_records = appended(message.usage_records, index)

    def _agent_for(self, envelope: RecordEnvelope) -> Fold | None:
        """Return the agent that a sidechain record belongs to; None if the file is the agent's own."""
        if envelope.parentToolUseID:
            agent = self._agent_of_call.get(envelope.parentToolUseID)
            if agent is None:
                agent = self._agent(envelope.agentId or envelope.parentToolUseID, call=envelope.parentToolUseID)
                self._agent_of_call[envelope.parentToolUseID] = agent
            return agent
        if envelope.agentId:
            if not self._messages and not self._agents:
                self._is_agent_file = True
                return None
            agent = self._agent(envelope.agentId)
        else:
            agent = self._agent_of_uuid.get(envelope.parentUuid or "")
            if agent is None and envelope.parentUuid and not self._is_here(envelope.parentUuid):
                agent = self._latest_agent
            if agent is None:
                id = envelope.uuid or f"sidechain {len(self._agents) + 1}"
                agent = self._agent(id, parent_uuid=envelope.parentUuid)
            self._latest_agent = agent
        if envelope.uuid:
            self._agent_of_uuid[envelope.uuid] = agent
        return agent

    def _is_here(self, id: str) -> bool:
        """True if a record or a call of the main thread has this id."""
        return id in self._tree.uuids or id in self._calls_by_id

    def _agent(
        self, id: str, *, call: str | None = None, parent_uuid: str | None = None, from_progress: bool = False
    ) -> Fold:
        """Return the fold of an agent whose records are in this file."""
        fold = self._agents.get(id) or self.add_agent(id, parent_uuid=parent_uuid)
        cast(Agent, fold.conversation).name_call(call, from_progress=from_progress)
        return fold

    def add_agent(self, id: str, *, parent_uuid: str | None = None) -> Fold:
        """Add an agent whose records are in this file, and return its fold."""
        agent = Agent(id, self.conversation.records.read, depth=self._depth + 1, parent_uuid=parent_uuid)
        fold = self._agents[id] = Fold(agent, number=len(self._ledger.agents))
        self.conversation.inline_agents[id], agent.records.origin = agent, self.conversation.records.origin
        self._ledger.agents.append(id)
        return fold

    def _end_turn(self, index: int) -> None:
        if self._messages:
            self.conversation.marks.end_turn(len(self._messages) - 1, index)
        self._streaming = None


_FOLDS: dict[str, Callable[[Fold, int, RecordEnvelope], None]] = {
    **dict.fromkeys(TREE_TYPES, Fold.fold_notice),
    "user": Fold.fold_user,
    "assistant": Fold.fold_assistant,
    "system": Fold.fold_system,
    "attachment": Fold.fold_attachment,
    "progress": Fold.fold_progress,
    "stream_event": Fold.fold_stream_event,
}
"""How each type of record that is part of the conversation is added; a new type of the tree is a notice."""
