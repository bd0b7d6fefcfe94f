"""A desk: one open session as the values that the reader asks for, kept up as the session grows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import quote

from reread.accounting.billing import Usage, total
from reread.base.text import plural
from reread.base.times import parse_timestamp, seconds_between
from reread.disk.sources import FileSource, is_being_written
from reread.errors import Misuse, NotFound
from reread.model.conversation import Agent, Conversation
from reread.model.ledger import MALFORMED
from reread.model.messages import Call, Message, Turn
from reread.reader import schema
from reread.reader.drawing import Address, PartBuilder, run_title
from reread.reader.lookup import find_message, look_up, records_of
from reread.reader.steps import Steps
from reread.reader.thread_view import ThreadView
from reread.reader.timeline import Timeline
from reread.render.format import heading
from reread.render.markdown import conversation_markdown
from reread.render.parts import EVERYTHING, message_parts, turn_parts
from reread.reports.usage_report import usage
from reread.session.context_window import ContextFill
from reread.session.session import Session
from reread.tools.nodes import Picture

RAW_CHARS = 100_000
MOST_PROBLEMS = 500


def no_address(owner: str, number: int, picture: Picture) -> str | None:
    """Pictures as words only."""
    return None


class SessionView:
    """Everything the reader asks of one session. Not for two threads at once."""

    def __init__(self, session: Session, key: str, *, address: str = "") -> None:
        self.session = session
        self.key = key
        self.gone = False
        """Whether the file vanished."""
        self._address = address
        """What the addresses of pictures begin with; empty where there are none."""
        self._checked: tuple[int, schema.Problems] | None = None
        """What was odd when the session was last checked, and its stamp then."""
        self._threads: dict[int, ThreadView] = {}
        """What is kept of each conversation, by its identity; a rewritten file makes new ones."""
        self._agents: dict[Agent, tuple[int, Call | None]] = {
            agent: _standing(agent) for agent in session.agents.values()
        }

    # Finding things

    def thread(self, agent: str | None = None) -> ThreadView:
        """The main thread, or an agent's."""
        found: Conversation | None = self.session.conversation
        if agent is not None:
            found = self.session.agents.get(agent)
        if found is None:
            raise NotFound(f"this session has no agent {agent!r}")
        return self.talk_of(found)

    def timeline(self, agent: str | None = None, branch: int | None = None) -> Timeline:
        """A branch of a conversation; without a number, the active one."""
        return self.thread(agent).timeline(branch)

    @property
    def stamp(self) -> int:
        """A number that is another one whenever the session is."""
        agents = self.session.agents.values()
        return len(self.session.records) + sum(len(agent.records) for agent in agents)

    @property
    def live(self) -> bool:
        """Whether one of its files is being written."""
        paths = [self.session.path, *(folding.source.path for folding in self.session.agent_loaders.values())]
        return any(is_being_written(path) for path in paths if path is not None)

    def grow(self) -> None:
        """Take in what the session has since it was last looked at."""
        agents = self.session.agents
        here = [self.session.conversation, *agents.values()]
        self._threads = {id(thread): kept for thread in here if (kept := self._threads.get(id(thread))) is not None}
        before, self._agents = self._agents, {agent: _standing(agent) for agent in agents.values()}
        for agent, standing in self._agents.items():
            if before.get(agent) != standing:
                for _, call in (standing, before.get(agent, standing)):
                    self._touch(call)
        for kept in self._threads.values():
            kept.grow()

    def _touch(self, call: Call | None) -> None:
        """The agent of a call went on: so did the call, which shows it."""
        if call is not None and id(call.conversation) in self._threads:
            self._threads[id(call.conversation)].touch(call.message)

    # The head of the page

    def overview(self, agent: str | None = None, branch: int | None = None, *, lists: bool = True) -> schema.Overview:
        """The head of a page, with or without its lists of branches and agents."""
        session, thread = self.session, self.thread(agent)
        timeline = thread.timeline(branch)
        facts = thread.conversation.metadata
        mark = self.agent_mark(thread.conversation) if isinstance(thread.conversation, Agent) else None
        return schema.Overview(
            key=self.key,
            id=session.id,
            title=heading(mark.title if mark is not None else session.title, schema.TITLE),
            project=session.project,
            project_guessed=session.project_guessed,
            path=str(session.path) if session.path is not None else None,
            git_branches=list(dict.fromkeys(facts.git_branches)),
            versions=list(facts.versions),
            models=list(facts.models),
            dialects=thread.dialects(),
            started=parse_timestamp(facts.first_stamp),
            ended=parse_timestamp(facts.last_stamp),
            live=self.live,
            turns=timeline.turns,
            items=len(timeline),
            branch=timeline.branch,
            branches=thread.branch_marks() if lists else [],
            agents=[self.agent_mark(found) for found in session.agents.values()] if lists else [],
            agent=mark,
            tools=dict(thread.tools.most_common()),
            errors=thread.errors,
            malformed=thread.conversation.count_fate(MALFORMED),
            replaced=self.gone,
        )

    def agent_mark(self, agent: Agent) -> schema.AgentMark:
        """An agent, where it is named."""
        kept = self.talk_of(agent)
        first, last = parse_timestamp(agent.metadata.first_stamp), parse_timestamp(agent.metadata.last_stamp)
        return schema.AgentMark(
            id=agent.id,
            type=agent.type,
            title=kept.agent_title(),
            calls=len(agent.calls),
            errors=kept.errors,
            figures=schema.Figures.of(kept.usage()),
            seconds=seconds_between(first, last),
            running=agent.path is not None and is_being_written(Path(agent.path)),
            parent=agent.parent.id if agent.parent is not None else None,
            call=agent.call.id if agent.call is not None else None,
        )

    def talk_of(self, conversation: Conversation) -> ThreadView:
        """What is kept of a conversation."""
        kept = self._threads.get(id(conversation))
        if kept is None or kept.conversation is not conversation:
            kept = self._threads[id(conversation)] = ThreadView(conversation)
        return kept

    def agent_marks(self, call: Call) -> list[schema.AgentMark]:
        """The agents that a call started."""
        return [self.agent_mark(agent) for agent in call.agents]

    def spent(self, agent: str | None = None) -> Steps[Callable[[], schema.UsageSummary]]:
        """What was spent, and how full the context was: a function, for counting needs no desk and takes a while."""
        context, source = (yield from self.thread(agent).context()), self.session.path or self.session
        return lambda: _spent(source, agent, context)

    def markdown(
        self,
        *,
        message: str | None = None,
        turn: int | None = None,
        agent: str | None = None,
        branch: int | None = None,
    ) -> str:
        """A message, a turn, or all of it as Markdown."""
        thread = self.thread(agent)
        timeline = thread.timeline(branch)
        if message is not None:
            found = find_message(thread.conversation, message)
            if found is None:
                raise NotFound(f"there is no message {message!r} here")
            drawn = message_parts(found, EVERYTHING)
        elif turn is not None:
            start, end = timeline.turn_messages(_turn(timeline, turn))
            drawn = turn_parts(thread.conversation, [Turn(turn, None, timeline.messages[start:end])])
        else:
            raise Misuse("say which message or which turn")
        return "\n".join(conversation_markdown(drawn, EVERYTHING)).strip() + "\n"

    def problems(self) -> Callable[[], schema.Problems]:
        """What is odd about the main file: a function, for checking reads all of it, and needs no desk."""
        stamp, session = self.stamp, self.session

        def checked() -> schema.Problems:
            if self._checked is None or self._checked[0] != stamp:
                self._checked = (stamp, _problems(session))
            return self._checked[1]

        return checked

    # The document

    def page(
        self, start: int, count: int, *, agent: str | None = None, branch: int | None = None, whole: bool = False
    ) -> schema.Page:
        """A slice of the document."""
        thread = self.thread(agent)
        timeline = thread.timeline(branch)
        builder = self.builder(agent, whole=whole)
        indices = range(len(timeline))[max(0, start) : max(0, start) + count]
        items = [self.item(thread, timeline, index, builder) for index in indices]
        return schema.Page(start=max(0, start), total=len(timeline), stamp=self.stamp, items=items)

    def builder(self, agent: str | None, *, whole: bool = False, address: Address | None = None) -> PartBuilder:
        """What draws the messages of a conversation."""
        return PartBuilder(address or self._addresses(agent), self.agent_marks, whole=whole)

    def _addresses(self, agent: str | None) -> Address:
        if not self._address:
            return no_address
        query = f"?agent={quote(agent, safe='')}" if agent is not None else ""
        return lambda owner, number, picture: f"{self._address}/pictures/{owner}/{number}{query}"

    def item(self, thread: ThreadView, timeline: Timeline, index: int, builder: PartBuilder) -> schema.TimelineItem:
        """One passage."""
        members = timeline.item(index)
        first = members[0]
        run = timeline.is_run(index)
        parts = [part for message in members for part in builder.parts(message)]
        for message in members:
            if message.index in timeline.forks:
                parts.append(thread.fork(timeline, timeline.forks[message.index]))
        turn = timeline.turn_of(index)
        ends = timeline.ends_turn(index)
        return schema.TimelineItem(
            index=index,
            key=timeline.key(index),
            kind="run" if run else _kind(first),
            turn=turn,
            line=first.line,
            time=first.timestamp,
            parts=parts,
            title=run_title(members) if run else "",
            model=first.model,
            flags=sorted({flag for message in members for flag in _flags(message)}),
            figures=schema.Figures.of(thread.turn_usage(timeline, turn)) if ends else None,
            seconds=thread.turn_seconds(timeline, turn) if ends else None,
        )

    def outline(self, start: int, count: int, *, agent: str | None = None, branch: int | None = None) -> schema.Outline:
        """A slice of the turns."""
        thread = self.thread(agent)
        timeline = thread.timeline(branch)
        numbers = range(1, timeline.turns + 1)[max(0, start) : max(0, start) + count]
        turns = [thread.turn_mark(timeline, number) for number in numbers]
        return schema.Outline(start=max(0, start), total=timeline.turns, stamp=self.stamp, turns=turns)

    def call(self, index: int, *, agent: str | None = None, whole: bool = False) -> schema.CallBody:
        """A call, opened."""
        return self.builder(agent, whole=whole).body(self._call(agent, index))

    def _call(self, agent: str | None, index: int) -> Call:
        calls = self.thread(agent).conversation.calls
        if not 0 <= index < len(calls):
            raise NotFound(f"there is no call {index}")
        return calls[index]

    def picture(self, owner: str, index: int, number: int, *, agent: str | None = None) -> Picture:
        """A picture of a message or a call."""
        found: dict[int, Picture] = {}

        def note(_: str, at: int, picture: Picture) -> str | None:
            found[at] = picture
            return None

        builder = self.builder(agent, address=note)
        if owner == "call":
            builder.body(self._call(agent, index))
        else:
            messages = self.thread(agent).conversation.messages
            if not 0 <= index < len(messages):
                raise NotFound(f"there is no message {index}")
            list(builder.parts(messages[index]))
        if number not in found:
            raise NotFound(f"there is no picture {number} in that {owner}")
        return found[number]

    # Lines and places

    def lines(
        self,
        *,
        message: str | None = None,
        call: str | None = None,
        line: int | None = None,
        agent: str | None = None,
        whole: bool = False,
    ) -> schema.RawLines:
        """The lines that a message or a call was made of, or one by its number."""
        conversation = self.thread(agent).conversation
        indices = records_of(conversation, message, call, line)
        if not indices:
            raise NotFound("no line is known of that")
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
        """Where something stands: in the conversation that is asked about, else in an agent's."""
        thread = self.thread(agent)
        if turn is not None:
            timeline = thread.timeline(branch)
            return self._placed(agent, timeline, timeline.turn_item(_turn(timeline, turn)))
        others = [None, *self.session.agents] if line is None else []
        for name in [agent, *(other for other in others if other != agent)]:
            conversation = self.thread(name).conversation
            found, made = look_up(conversation, message, call, line)
            if found is not None:
                return self._place_of(name, found, made, branch if name == agent else None)
        raise NotFound("there is nothing of that name here")

    def _place_of(self, agent: str | None, message: Message, call: Call | None, branch: int | None) -> schema.Place:
        thread = self.thread(agent)
        timeline = thread.timeline(branch)
        at = timeline.item_of(message)
        if at is None:
            timeline = thread.timeline(message.branch)
            at = timeline.item_of(message)
        if at is None:
            raise NotFound("that message is on no branch")
        return self._placed(agent, timeline, at, call)

    def _placed(self, agent: str | None, timeline: Timeline, item: int, call: Call | None = None) -> schema.Place:
        index = call.index if call is not None else None
        return schema.Place(item=item, key=timeline.key(item), branch=timeline.branch, agent=agent, call=index)


def _turn(timeline: Timeline, turn: int) -> int:
    """The number of a turn that there is."""
    if not 0 < turn <= timeline.turns:
        raise NotFound(f"there is no turn {turn}: this branch has {plural(timeline.turns, 'turn')}")
    return turn


def _spent(source: Path | Session, agent: str | None, context: list[ContextFill]) -> schema.UsageSummary:
    report = usage(source, by=["agent", "model"])
    rows = [row for row in report.rows if agent is None or row["agent"] == agent]
    by_model: dict[str, list[Usage]] = {}
    for row in rows:
        by_model.setdefault(str(row["model"]), []).append(row.usage)
    return schema.UsageSummary(
        figures=schema.Figures.of(report.totals if agent is None else total(row.usage for row in rows)),
        by_model={model: schema.Figures.of(total(spent)) for model, spent in by_model.items()},
        context=context,
    )


def _problems(session: Session) -> schema.Problems:
    """What is odd about a session's file, which is opened once more: this one may grow meanwhile."""
    path = session.path
    apart = Session(FileSource(path), roots=session.roots) if path is not None and path.exists() else session
    found = apart.problems
    shown = [schema.Problem(code=f.code, level=f.level, line=f.line, text=f.text) for f in found[:MOST_PROBLEMS]]
    return schema.Problems(problems=shown, more=len(found) - len(shown))


def _standing(agent: Agent) -> tuple[int, Call | None]:
    """What of an agent shows where it is named."""
    return len(agent.records), agent.call


def _kind(message: Message) -> str:
    return "compaction" if message.kind == "summary" else message.kind


def _flags(message: Message) -> Iterable[str]:
    queued = message.role == "user" and message.conversation.records[message.records[0]].type == "attachment"
    return {*message.flags, "queued"} if queued else message.flags


def _raw_line(conversation: Conversation, index: int, whole: bool) -> schema.RawLine:
    record = conversation.records[index]
    fate = conversation.fate(index)
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
