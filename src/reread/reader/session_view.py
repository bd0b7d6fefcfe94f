"""One open session as the values that the browser requests, updated as the session grows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from msgspec.structs import replace

from reread.accounting.billing import Usage, total
from reread.base.choices import FAILED
from reread.base.text import plural
from reread.base.times import parse_timestamp, seconds_between
from reread.disk.sources import FileSource, is_being_written
from reread.errors import Misuse, NotFound
from reread.model.conversation import Agent, Call, Conversation, Message, Turn
from reread.model.ledger import MALFORMED
from reread.model.record_kinds import TURN_STARTERS
from reread.model.remaining_fields import state_fields
from reread.reader import schema
from reread.reader.drawing import PartBuilder, PictureUrl, commit_info, pull_request_info, response_info, run_title
from reread.reader.lookup import find_message, find_place, find_records
from reread.reader.thread_view import UNKNOWN_MODEL, Steps, ThreadView, context_growth, run_steps
from reread.reader.timeline import Timeline
from reread.reader.trim import ITEMS, Trimmer
from reread.reader.waterfall import Spans, waterfall
from reread.render.format import cache_break_text, heading, notice_label, shown_path
from reread.render.markdown import sequence_markdown
from reread.render.selection import EVERYTHING
from reread.render.sequence import SESSION_STATE, message_sequence, turn_sequence
from reread.reports.usage_report import usage, usage_of
from reread.session.commits import GitOperations
from reread.session.context_window import ContextFill
from reread.session.session import Session, threads_of
from reread.session.session_inputs import is_usage_known
from reread.storage.kept_file import file_exists
from reread.tools.nodes import Node, Picture
from reread.tools.unshown_fields import leftover_nodes

RAW_CHARS = 100_000
"""Characters of a raw line that are sent at first."""
MAX_PROBLEMS = 500
COUNTED_AT_ONCE = 1000
"""How many calls are counted before the head of a page is sent: reading their results takes some 20 ms."""
NEAR_MESSAGES = 50
"""How many messages before a turn are searched for its end."""
SPOKEN = (*TURN_STARTERS, "response")
"""The messages of a person and of the model."""


def no_url(owner: str, number: int, picture: Picture) -> str | None:
    """No URL, so that pictures are shown as text."""
    return None


class SessionView:
    """Answers every request about one session; not thread-safe."""

    def __init__(self, session: Session, key: str, *, base_url: str = "") -> None:
        self.session = session
        self.key = key
        self.gone = False
        """Whether the file has vanished."""
        self._base_url = base_url
        """The session's URL, with which the URLs of its pictures begin; empty if they have none."""
        self._checked: tuple[int, schema.Problems] | None = None
        """The problems found by the last check, and the stamp at that time."""
        self._threads: dict[int, ThreadView] = {}
        """The view of each conversation, by its identity; a rewritten file makes new conversations."""
        self._agents: dict[Agent, tuple[int, Call | None]] = {
            agent: _agent_state(agent) for agent in session.agents.values()
        }

    # Conversations

    def thread(self, agent: str | None = None) -> ThreadView:
        """The main conversation, or that of an agent."""
        found: Conversation | None = self.session.conversation
        if agent is not None:
            found = self.session.agents.get(agent)
        if found is None:
            raise NotFound(f"No agent {agent!r} in this session.")
        return self.thread_of(found)

    def timeline(self, agent: str | None = None, branch: int | None = None) -> Timeline:
        """The timeline of a branch; of the active one if None."""
        return self.thread(agent).timeline(branch)

    @property
    def stamp(self) -> int:
        """A number that changes whenever the session does."""
        agents = self.session.agents.values()
        return len(self.session.records) + sum(len(agent.records) for agent in agents)

    @property
    def live(self) -> bool:
        """True if one of its files is being written."""
        paths = [self.session.path, *(loader.source.path for loader in threads_of(self.session).agent_loaders.values())]
        return any(is_being_written(path) for path in paths if path is not None)

    def update(self) -> None:
        """Read what was added to the session since the last update."""
        agents = self.session.agents
        current = [self.session.conversation, *agents.values()]
        self._threads = {id(one): view for one in current if (view := self._threads.get(id(one))) is not None}
        before, self._agents = self._agents, {agent: _agent_state(agent) for agent in agents.values()}
        for agent, state in self._agents.items():
            if before.get(agent) != state:
                for _, call in (state, before.get(agent, state)):
                    self._mark_changed(call)
        for view in self._threads.values():
            view.update()

    def _mark_changed(self, call: Call | None) -> None:
        """Mark the message of a call as changed, because the agent shown with it did."""
        if call is not None and id(call.conversation) in self._threads:
            self._threads[id(call.conversation)].mark_changed(call.message)

    # Overview

    def overview(self, agent: str | None = None, branch: int | None = None, *, lists: bool = True) -> schema.Overview:
        """The head of a page, without what takes a while to count; `lists` adds all branches."""
        session, thread = self.session, self.thread(agent)
        timeline = thread.timeline(branch)
        metadata = thread.conversation.metadata
        figures = thread.branch_figures(timeline)
        info = self.agent_info(thread.conversation) if isinstance(thread.conversation, Agent) else None
        return schema.Overview(
            key=self.key,
            id=session.id,
            title=heading(info.title if info is not None else session.title, schema.TITLE),
            project=session.project,
            project_guessed=session.project_guessed,
            path=shown_path(session),
            git_branches=list(dict.fromkeys(metadata.git_branches)),
            versions=list(metadata.versions),
            models=figures.models,
            dialects=thread.dialects(),
            started=figures.started,
            ended=figures.ended,
            live=self.live,
            turns=timeline.turns,
            items=len(timeline),
            branch=timeline.branch,
            branches=thread.branch_infos() if lists else [],
            agents=[],
            agent_turns=self._agent_turns(timeline),
            agent=info,
            tools=dict(figures.tools.most_common()),
            errors=None,
            malformed=thread.conversation.ledger.count(MALFORMED),
            replaced=self.gone,
            state=_state(thread.conversation) if not thread.conversation.messages else [],
        )

    @property
    def takes_a_while_to_count(self) -> bool:
        """True if a page should not wait for its counted overview."""
        conversations: list[Conversation] = [self.session.conversation, *self.session.agents.values()]
        return sum(len(one.calls) for one in conversations) > COUNTED_AT_ONCE

    def counted_overview(self, agent: str | None = None, branch: int | None = None) -> Steps[schema.Overview]:
        """The head of a page with its errors and all agents, for which every result and every agent is read."""
        errors = yield from self.thread(agent).count_errors(branch)
        agents = list[schema.AgentInfo]()
        for one in in_call_order(self.session.agents.values()):
            yield from self.thread_of(one).count_errors()
            agents.append(self.agent_info(one))
        return replace(self.overview(agent, branch), errors=errors, agents=agents)

    def _agent_turns(self, timeline: Timeline) -> dict[str, int]:
        """The turn that started each agent, for those whose call is on the branch."""
        calls = {agent.id: agent.call for agent in self.session.agents.values() if agent.call is not None}
        here = {id: call for id, call in calls.items() if call.conversation is timeline.conversation}
        items = {id: timeline.item_of(call.message) for id, call in here.items()}
        return {id: timeline.turn_of(item) for id, item in items.items() if item is not None}

    def agent_info(self, agent: Agent) -> schema.AgentInfo:
        """An agent in a list of agents or with its call."""
        view = self.thread_of(agent)
        first, last = parse_timestamp(agent.metadata.first_stamp), parse_timestamp(agent.metadata.last_stamp)
        return schema.AgentInfo(
            id=agent.id,
            type=agent.type,
            title=view.agent_title(),
            calls=len(agent.calls),
            errors=run_steps(view.count_errors()),
            figures=schema.Figures.of(view.usage()),
            seconds=seconds_between(first, last),
            running=agent.path is not None and is_being_written(Path(agent.path)),
            failed=agent.call is not None and agent.call.state == FAILED,
            parent=agent.parent.id if agent.parent is not None else None,
            call=agent.call.id if agent.call is not None else None,
        )

    def thread_of(self, conversation: Conversation) -> ThreadView:
        """The view of a conversation."""
        view = self._threads.get(id(conversation))
        if view is None or view.conversation is not conversation:
            view = self._threads[id(conversation)] = ThreadView(conversation)
        return view

    def agent_infos(self, call: Call) -> list[schema.AgentInfo]:
        """The agents that a call started."""
        return [self.agent_info(agent) for agent in call.agents]

    def usage(self, agent: str | None = None, branch: int | None = None) -> Steps[Callable[[], schema.UsageSummary]]:
        """The usage and how full the context was: a function that takes a while, and that any thread may call.

        On the active branch it is the usage of the whole session, on another that of the branch alone.
        """
        thread = self.thread(agent)
        context = yield from thread.context(branch)
        if thread.is_left(branch):
            summary = _summary(thread.usage_by_model(branch), context)
            return lambda: summary
        if not is_usage_known(self.session.records):
            return lambda: _summary({}, context)
        path = self.session.path
        source = path if path is not None and file_exists(path) else self.session  # it may be deleted while it is open
        return lambda: _usage_summary(source, agent, context)

    def markdown(
        self,
        *,
        message: str | None = None,
        turn: int | None = None,
        agent: str | None = None,
        branch: int | None = None,
    ) -> str:
        """A message or a turn as Markdown."""
        thread = self.thread(agent)
        timeline = thread.timeline(branch)
        if message is not None:
            found = find_message(thread.conversation, message)
            if found is None:
                raise NotFound(f"No message {message!r} in this conversation.")
            items = message_sequence(found)
        elif turn is not None:
            start, end = timeline.turn_messages(_known_turn(timeline, turn))
            items = turn_sequence(thread.conversation, [Turn(turn, None, timeline.messages[start:end])])
        else:
            raise Misuse("Nothing to copy; name a message or a turn.")
        return "\n".join(sequence_markdown(items, EVERYTHING)).strip() + "\n"

    def problems(self) -> Callable[[], schema.Problems]:
        """The problems of the main file: a function that reads all of it, and that any thread may call."""
        stamp, session = self.stamp, self.session

        def check() -> schema.Problems:
            if self._checked is None or self._checked[0] != stamp:
                self._checked = (stamp, _problems(session))
            return self._checked[1]

        return check

    # Items

    def page(
        self, start: int, count: int, *, agent: str | None = None, branch: int | None = None, whole: bool = False
    ) -> schema.ItemPage:
        """Some items of a timeline."""
        thread = self.thread(agent)
        timeline = thread.timeline(branch)
        builder = self.builder(agent, whole=whole)
        indices = range(len(timeline))[max(0, start) : max(0, start) + count]
        items = [self.item(thread, timeline, index, builder) for index in indices]
        return schema.ItemPage(start=max(0, start), total=len(timeline), stamp=self.stamp, items=items)

    def builder(self, agent: str | None, *, whole: bool = False, picture_url: PictureUrl | None = None) -> PartBuilder:
        """A builder for the parts of a conversation's messages."""
        return PartBuilder(picture_url or self._picture_urls(agent), self.agent_infos, whole=whole)

    def _picture_urls(self, agent: str | None) -> PictureUrl:
        if not self._base_url:
            return no_url
        query = f"?agent={quote(agent, safe='')}" if agent is not None else ""
        return lambda owner, number, picture: f"{self._base_url}/pictures/{owner}/{number}{query}"

    def item(self, thread: ThreadView, timeline: Timeline, index: int, builder: PartBuilder) -> schema.TimelineItem:
        """One item of a timeline."""
        members = timeline.item(index)
        first = members[0]
        run = timeline.is_run(index)
        parts = builder.parts(*members)
        for message in members:
            if message.index in timeline.forks:
                parts.append(thread.fork(timeline, timeline.forks[message.index]))
        turn = timeline.turn_of(index)
        ends = timeline.ends_turn(index)
        git = thread.turn_operations(timeline, turn) if ends else GitOperations()
        return schema.TimelineItem(
            index=index,
            key=timeline.key(index),
            kind="run" if run else _item_kind(first),
            author=first.author,
            label=notice_label(first) if first.kind in LABELLED else "",
            turn=turn,
            line=first.line,
            time=first.timestamp,
            parts=parts,
            after=_time_before(first) if first.kind in TURN_STARTERS else None,
            title=run_title(parts) if run else "",
            model=first.model or (thread.turn_model(timeline, turn) if ends else None),
            responses=[response_info(message) for message in members if message.kind == "response"],
            fields=builder.fields(members),
            **context_growth(members, thread.response_before(timeline, index)),
            flags=sorted({flag for message in members for flag in _flags(message)}),
            figures=schema.Figures.of(thread.turn_usage(timeline, turn)) if ends else None,
            seconds=thread.turn_seconds(timeline, turn) if ends else None,
            commits=list(map(commit_info, git.commits)),
            pull_requests=list(map(pull_request_info, git.pull_requests)),
            cache_breaks=[cache_break_text(found) for message in members if (found := thread.breaks.of(message))],
        )

    def outline(self, start: int, count: int, *, agent: str | None = None, branch: int | None = None) -> schema.Outline:
        """Some turns of the outline."""
        thread = self.thread(agent)
        timeline = thread.timeline(branch)
        numbers = range(1, timeline.turns + 1)[max(0, start) : max(0, start) + count]
        turns = [thread.outline_turn(timeline, number) for number in numbers]
        return schema.Outline(start=max(0, start), total=timeline.turns, stamp=self.stamp, turns=turns)

    def waterfall(self, agent: str | None = None, branch: int | None = None) -> Steps[schema.Waterfall]:
        """When the turns, the model, the tools and the agents of a conversation were at work."""
        return waterfall(self.timeline(agent, branch), self.spans())

    def spans(self) -> Spans:
        """The spans of a conversation, none of them made yet."""
        return Spans(lambda found: self.thread_of(found).agent_title())

    def call(self, index: int, *, agent: str | None = None, whole: bool = False) -> schema.CallBody:
        """The body of a call."""
        return self.builder(agent, whole=whole).body(self._call(agent, index))

    def _call(self, agent: str | None, index: int) -> Call:
        calls = self.thread(agent).conversation.calls
        if not 0 <= index < len(calls):
            raise NotFound(f"No call {index}; this conversation has {plural(len(calls), 'call')}.")
        return calls[index]

    def picture(self, owner: str, index: int, number: int, *, agent: str | None = None) -> Picture:
        """A picture of a message or a call, by its number."""
        found: dict[int, Picture] = {}

        def collect(_: str, at: int, picture: Picture) -> str | None:
            found[at] = picture
            return None

        builder = self.builder(agent, picture_url=collect)
        if owner == "call":
            builder.body(self._call(agent, index))
        else:
            messages = self.thread(agent).conversation.messages
            if not 0 <= index < len(messages):
                raise NotFound(f"No message {index}; this conversation has {plural(len(messages), 'message')}.")
            builder.parts(messages[index])
        if number not in found:
            raise NotFound(f"No picture {number} in this {owner}.")
        return found[number]

    # Raw lines and places

    def lines(
        self,
        *,
        message: str | None = None,
        call: str | None = None,
        line: int | None = None,
        agent: str | None = None,
        whole: bool = False,
    ) -> schema.RawLines:
        """The raw lines of a message or a call, or one line by its number."""
        conversation = self.thread(agent).conversation
        indices = find_records(conversation, message, call, line)
        if not indices:
            raise NotFound("No such message, call or line in this conversation.")
        path = conversation.path if isinstance(conversation, Agent) and conversation.path else self.session.path
        return schema.RawLines(
            path=str(path) if path is not None else None,
            lines=[_raw_line(conversation, index, whole) for index in indices],
        )

    def place(
        self,
        *,
        message: str | None = None,
        call: str | None = None,
        line: int | None = None,
        turn: int | None = None,
        agent: str | None = None,
        branch: int | None = None,
    ) -> schema.Place:
        """Where a message, call, line or turn is: in the given conversation, else in one of the others."""
        thread = self.thread(agent)
        if turn is not None:
            timeline = thread.timeline(branch)
            return self._place_at(agent, timeline, timeline.turn_item(_known_turn(timeline, turn)))
        others = [None, *self.session.agents] if line is None else []
        for name in [agent, *(other for other in others if other != agent)]:
            conversation = self.thread(name).conversation
            found, found_call = find_place(conversation, message, call, line)
            if found is not None:
                return self._place_of(name, found, found_call, branch if name == agent else None)
        raise NotFound("No such message, call or line in this session.")

    def _place_of(self, agent: str | None, message: Message, call: Call | None, branch: int | None) -> schema.Place:
        thread = self.thread(agent)
        timeline = thread.timeline(branch)
        at = timeline.item_of(message)
        if at is None:
            timeline = thread.timeline(message.branch)
            at = timeline.item_of(message)
        if at is None:
            raise NotFound("This message is on no branch.")
        return self._place_at(agent, timeline, at, call)

    def _place_at(self, agent: str | None, timeline: Timeline, item: int, call: Call | None = None) -> schema.Place:
        index = call.index if call is not None else None
        return schema.Place(item=item, key=timeline.key(item), branch=timeline.branch, agent=agent, call=index)


def in_call_order(agents: Iterable[Agent]) -> list[Agent]:
    """Agents in the order of the calls that started them; those without one come last."""
    return sorted(agents, key=lambda agent: (agent.call is None, agent.call.index if agent.call else 0))


def _state(conversation: Conversation) -> list[Node]:
    """Return the texts of the first records of a conversation without messages."""
    fields = state_fields(conversation, range(min(len(conversation.records), ITEMS)))
    return Trimmer(lambda _: None).nodes(leftover_nodes(fields, SESSION_STATE))


def _known_turn(timeline: Timeline, turn: int) -> int:
    """The number of a turn, if it exists."""
    if not 0 < turn <= timeline.turns:
        raise NotFound(f"No turn {turn}; this branch has {plural(timeline.turns, 'turn')}.")
    return turn


def _usage_summary(source: Path | Session, agent: str | None, context: list[ContextFill]) -> schema.UsageSummary:
    report = usage(source, by=["agent", "model"])
    by_model: dict[str, list[Usage]] = {}
    for row in report.rows:
        if agent is None or row["agent"] == agent:
            by_model.setdefault(str(row["model"] or UNKNOWN_MODEL), []).append(usage_of(row))
    return _summary({model: total(usages) for model, usages in by_model.items()}, context)


def _summary(by_model: dict[str, Usage], context: list[ContextFill]) -> schema.UsageSummary:
    return schema.UsageSummary(
        figures=schema.Figures.of(total(by_model.values())),
        by_model={model: schema.Figures.of(usage) for model, usage in by_model.items()},
        context=context,
    )


def _problems(session: Session) -> schema.Problems:
    """The problems of a session's file, which is opened again because this session may grow meanwhile."""
    path, roots = session.path, threads_of(session).roots
    copy = Session(FileSource(path), roots=roots) if path is not None and file_exists(path) else session
    found = copy.problems
    return schema.Problems(problems=found[:MAX_PROBLEMS], more=len(found[MAX_PROBLEMS:]))


def _agent_state(agent: Agent) -> tuple[int, Call | None]:
    """Return the values that an agent's entry depends on."""
    return len(agent.records), agent.call


LABELLED = ("hook", "notification")
"""The kinds of message that are named by what or who sent them."""


def _time_before(message: Message) -> datetime | None:
    """Return when the last prompt, response or result before a message was written; None if it has no time."""
    conversation, first = message.conversation, message.records[0]
    spoken = conversation.messages[max(0, message.index - NEAR_MESSAGES) : message.index]
    before = next((one for one in reversed(spoken) if one.kind in SPOKEN), None)
    if before is None:
        return None
    written = [*before.records, *(call.answer for call in before.calls)]
    last = max((index for index in written if 0 <= index < first), default=-1)
    return parse_timestamp(conversation.bodies.stamp(last)) if last >= 0 else None


def _item_kind(message: Message) -> str:
    return "compaction" if message.kind == "summary" else message.kind


def _flags(message: Message) -> Iterable[str]:
    queued = message.role == "user" and message.conversation.records[message.records[0]].type == "attachment"
    return {*message.flags, "queued"} if queued else message.flags


def _raw_line(conversation: Conversation, index: int, whole: bool) -> schema.RawLine:
    record = conversation.records[index]
    fate = conversation.ledger[index]
    raw = record.raw
    text = (raw if whole else raw[: RAW_CHARS * 4]).decode("utf-8", "replace")
    cut = not whole and (len(text) > RAW_CHARS or len(raw) > RAW_CHARS * 4)
    return schema.RawLine(
        line=record.line,
        offset=record.offset,
        text=text[:RAW_CHARS] if cut else text,
        chars=len(raw.decode("utf-8", "replace")) if cut else None,
        fate=fate.fate,
        reason=fate.reason,
    )
