"""A desk: one open session as the values that the reader asks for, kept up as the session grows."""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast
from urllib.parse import quote

from reread.accounts import usage
from reread.context import Fill, Gauge
from reread.conversation import Agent, Conversation
from reread.deeds import DENIED, INTERRUPTED
from reread.errors import Misuse, NotFound
from reread.headers import Header
from reread.ledger import MALFORMED
from reread.messages import TURN_STARTERS, Branch, Call, Message, Turn
from reread.money.charges import Usage, total
from reread.money.prices import in_force
from reread.nodes import Picture
from reread.session import Session
from reread.sources import FileSource
from reread.views import pages
from reread.views.markdown import talk_markdown
from reread.views.parts import EVERYTHING, message_parts, turn_parts
from reread.views.passages import Address, Pen, run_title
from reread.views.scroll import RECORD, Scroll, sort_of
from reread.views.words import heading
from reread.when import moment

LIVE_SECONDS = 30.0
"""A file written to within so long counts as being written."""
MARKS = 120
"""How many calls of a turn have a mark in the outline."""
TITLE = 120
RAW_CHARS = 100_000
LAST_FEW = 8
"""Messages at the end whose figures may still change."""
EDGE = 50
"""How many records at each end are asked for their dialect."""
MOST_PROBLEMS = 500
MOST_FILLS = 160
"""How many turns the chart of the context tells apart."""

T = TypeVar("T")
Steps: TypeAlias = Generator[None, None, T]
"""Long work in small steps, between which the session may grow."""


def at_once(steps: Steps[T]) -> T:
    """The result of work in steps, without a pause."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def no_address(owner: str, number: int, picture: Picture) -> str | None:
    """Pictures as words only."""
    return None


class Desk:
    """Everything the reader asks of one session. Not for two threads at once."""

    def __init__(self, session: Session, key: str, *, address: str = "") -> None:
        self.session = session
        self.key = key
        self.gone = False
        """Whether the file vanished."""
        self._address = address
        """What the addresses of pictures begin with; empty where there are none."""
        self._checked: tuple[int, pages.Problems] | None = None
        """What was odd when the session was last checked, and its stamp then."""
        self._talks: dict[int, Talk] = {}
        """What is kept of each conversation, by its identity; a rewritten file makes new ones."""
        self._agents: dict[Agent, tuple[int, Call | None]] = {
            agent: _standing(agent) for agent in session.agents.values()
        }

    # Finding things

    def talk(self, agent: str | None = None) -> Talk:
        """The main thread, or an agent's."""
        found: Conversation | None = self.session.conversation
        if agent is not None:
            found = self.session.agents.get(agent)
        if found is None:
            raise NotFound(f"this session has no agent {agent!r}")
        return self.talk_of(found)

    def scroll(self, agent: str | None = None, branch: int | None = None) -> Scroll:
        """A branch of a conversation; without a number, the active one."""
        return self.talk(agent).scroll(branch)

    @property
    def stamp(self) -> int:
        """A number that is another one whenever the session is."""
        agents = self.session.agents.values()
        return len(self.session.records) + sum(len(agent.records) for agent in agents)

    @property
    def live(self) -> bool:
        """Whether one of its files is being written."""
        paths = [self.session.path, *(folding.source.path for folding in self.session.agent_foldings.values())]
        return any(is_fresh(path) for path in paths if path is not None)

    def grow(self) -> None:
        """Take in what the session has since it was last looked at."""
        agents = self.session.agents
        here = [self.session.conversation, *agents.values()]
        self._talks = {id(talk): kept for talk in here if (kept := self._talks.get(id(talk))) is not None}
        before, self._agents = self._agents, {agent: _standing(agent) for agent in agents.values()}
        for agent, standing in self._agents.items():
            if before.get(agent) != standing:
                for _, call in (standing, before.get(agent, standing)):
                    self._touch(call)
        for kept in self._talks.values():
            kept.grow()

    def _touch(self, call: Call | None) -> None:
        """The agent of a call went on: so did the call, which shows it."""
        if call is not None and id(call.conversation) in self._talks:
            self._talks[id(call.conversation)].touch(call.message)

    # The head of the page

    def overview(self, agent: str | None = None, branch: int | None = None, *, lists: bool = True) -> pages.Overview:
        """The head of a page, with or without its lists of branches and agents."""
        session, talk = self.session, self.talk(agent)
        scroll = talk.scroll(branch)
        facts = talk.conversation.facts
        mark = self.agent_mark(talk.conversation) if isinstance(talk.conversation, Agent) else None
        return pages.Overview(
            key=self.key,
            id=session.id,
            title=heading(mark.title if mark is not None else session.title, TITLE),
            project=session.project,
            project_guessed=session.project_guessed,
            path=str(session.path) if session.path is not None else None,
            git_branches=list(dict.fromkeys(facts.git_branches)),
            versions=list(facts.versions),
            models=list(facts.models),
            dialects=talk.dialects(),
            started=moment(facts.first_stamp),
            ended=moment(facts.last_stamp),
            live=self.live,
            turns=scroll.turns,
            passages=len(scroll),
            branch=scroll.branch,
            branches=talk.branch_marks() if lists else [],
            agents=[self.agent_mark(found) for found in session.agents.values()] if lists else [],
            agent=mark,
            tools=dict(talk.tools.most_common()),
            errors=talk.errors,
            malformed=talk.conversation.count_fate(MALFORMED),
            replaced=self.gone,
        )

    def agent_mark(self, agent: Agent) -> pages.AgentMark:
        """An agent, where it is named."""
        kept = self.talk_of(agent)
        first, last = moment(agent.facts.first_stamp), moment(agent.facts.last_stamp)
        return pages.AgentMark(
            id=agent.id,
            type=agent.type,
            title=kept.agent_title(),
            calls=len(agent.calls),
            errors=kept.errors,
            figures=figures(kept.usage()),
            seconds=_between(first, last),
            running=agent.path is not None and is_fresh(Path(agent.path)),
            parent=agent.parent.id if agent.parent is not None else None,
            call=agent.call.id if agent.call is not None else None,
        )

    def talk_of(self, conversation: Conversation) -> Talk:
        """What is kept of a conversation."""
        kept = self._talks.get(id(conversation))
        if kept is None or kept.conversation is not conversation:
            kept = self._talks[id(conversation)] = Talk(conversation)
        return kept

    def agent_marks(self, call: Call) -> list[pages.AgentMark]:
        """The agents that a call started."""
        return [self.agent_mark(agent) for agent in call.agents]

    def spent(self, agent: str | None = None) -> Steps[Callable[[], pages.Spent]]:
        """What was spent, and how full the context was: a function, for counting needs no desk and takes a while."""
        context, source = (yield from self.talk(agent).context()), self.session.path or self.session
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
        talk = self.talk(agent)
        scroll = talk.scroll(branch)
        if message is not None:
            found = _find_message(talk.conversation, message)
            if found is None:
                raise NotFound(f"there is no message {message!r} here")
            drawn = message_parts(found, EVERYTHING)
        elif turn is not None:
            if not 0 < turn <= scroll.turns:
                raise NotFound(f"there is no turn {turn}: this branch has {scroll.turns}")
            start, end = scroll.turn_messages(turn)
            drawn = turn_parts(talk.conversation, [Turn(turn, None, scroll.messages[start:end])])
        else:
            raise Misuse("say which message or which turn")
        return "\n".join(talk_markdown(drawn, EVERYTHING)).strip() + "\n"

    def problems(self) -> Callable[[], pages.Problems]:
        """What is odd about the main file: a function, for checking reads all of it, and needs no desk."""
        stamp, session = self.stamp, self.session

        def checked() -> pages.Problems:
            if self._checked is None or self._checked[0] != stamp:
                self._checked = (stamp, _problems(session))
            return self._checked[1]

        return checked

    # The document

    def page(
        self, start: int, count: int, *, agent: str | None = None, branch: int | None = None, whole: bool = False
    ) -> pages.Page:
        """A slice of the document."""
        talk = self.talk(agent)
        scroll = talk.scroll(branch)
        pen = self.pen(agent, whole=whole)
        indices = range(len(scroll))[max(0, start) : max(0, start) + count]
        passages = [self.passage(talk, scroll, index, pen) for index in indices]
        return pages.Page(start=max(0, start), total=len(scroll), stamp=self.stamp, passages=passages)

    def pen(self, agent: str | None, *, whole: bool = False, address: Address | None = None) -> Pen:
        """What draws the messages of a conversation."""
        return Pen(address or self._addresses(agent), self.agent_marks, whole=whole)

    def _addresses(self, agent: str | None) -> Address:
        if not self._address:
            return no_address
        query = f"?agent={quote(agent, safe='')}" if agent is not None else ""
        return lambda owner, number, picture: f"{self._address}/pictures/{owner}/{number}{query}"

    def passage(self, talk: Talk, scroll: Scroll, index: int, pen: Pen) -> pages.Passage:
        """One passage."""
        members = scroll.passage(index)
        first = members[0]
        run = scroll.is_run(index)
        parts = [part for message in members for part in pen.parts(message)]
        for message in members:
            if message.index in scroll.forks:
                parts.append(talk.fork(scroll, scroll.forks[message.index]))
        turn = scroll.turn_of(index)
        ends = scroll.ends_turn(index)
        return pages.Passage(
            index=index,
            key=scroll.key(index),
            kind="run" if run else _kind(first),
            turn=turn,
            line=first.line,
            time=first.timestamp,
            parts=parts,
            title=run_title(members) if run else "",
            model=first.model,
            flags=sorted({flag for message in members for flag in _flags(message)}),
            figures=figures(talk.turn_usage(scroll, turn)) if ends else None,
            seconds=talk.turn_seconds(scroll, turn) if ends else None,
        )

    def outline(self, start: int, count: int, *, agent: str | None = None, branch: int | None = None) -> pages.Outline:
        """A slice of the turns."""
        talk = self.talk(agent)
        scroll = talk.scroll(branch)
        numbers = range(1, scroll.turns + 1)[max(0, start) : max(0, start) + count]
        turns = [talk.turn_mark(scroll, number) for number in numbers]
        return pages.Outline(start=max(0, start), total=scroll.turns, stamp=self.stamp, turns=turns)

    def call(self, index: int, *, agent: str | None = None, whole: bool = False) -> pages.CallBody:
        """A call, opened."""
        return self.pen(agent, whole=whole).body(self._call(agent, index))

    def _call(self, agent: str | None, index: int) -> Call:
        calls = self.talk(agent).conversation.calls
        if not 0 <= index < len(calls):
            raise NotFound(f"there is no call {index}")
        return calls[index]

    def picture(self, owner: str, index: int, number: int, *, agent: str | None = None) -> Picture:
        """A picture of a message or a call."""
        found: dict[int, Picture] = {}

        def note(_: str, at: int, picture: Picture) -> str | None:
            found[at] = picture
            return None

        pen = self.pen(agent, address=note)
        if owner == "call":
            pen.body(self._call(agent, index))
        else:
            messages = self.talk(agent).conversation.messages
            if not 0 <= index < len(messages):
                raise NotFound(f"there is no message {index}")
            list(pen.parts(messages[index]))
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
    ) -> pages.RawLines:
        """The lines that a message or a call was made of, or one by its number."""
        conversation = self.talk(agent).conversation
        if line is not None:
            indices = _records_at(conversation, line)
        elif call is not None:
            made = conversation.find_call(call)
            indices = [] if made is None else sorted({made.use, *made.attached, *([made.answer] * (made.answer >= 0))})
        else:
            said = _find_message(conversation, message or "")
            indices = [] if said is None else sorted({*said.records, *said.attached})
        if not indices:
            raise NotFound("no line is known of that")
        path = conversation.path if isinstance(conversation, Agent) and conversation.path else self.session.path
        return pages.RawLines(
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
    ) -> pages.Place:
        """Where something stands: in the conversation that is asked about, else in an agent's."""
        talk = self.talk(agent)
        if turn is not None:
            scroll = talk.scroll(branch)
            if not 0 < turn <= scroll.turns:
                raise NotFound(f"there is no turn {turn}: this branch has {scroll.turns}")
            return self._placed(agent, scroll, scroll.turn_passage(turn))
        others = [None, *self.session.agents] if line is None else []
        for name in [agent, *(other for other in others if other != agent)]:
            conversation = self.talk(name).conversation
            found, made = _look_up(conversation, message, call, line)
            if found is not None:
                return self._place_of(name, found, made, branch if name == agent else None)
        raise NotFound("there is nothing of that name here")

    def _place_of(self, agent: str | None, message: Message, call: Call | None, branch: int | None) -> pages.Place:
        talk = self.talk(agent)
        scroll = talk.scroll(branch)
        at = scroll.passage_of(message)
        if at is None:
            scroll = talk.scroll(message.branch)
            at = scroll.passage_of(message)
        if at is None:
            raise NotFound("that message is on no branch")
        return self._placed(agent, scroll, at, call)

    def _placed(self, agent: str | None, scroll: Scroll, passage: int, call: Call | None = None) -> pages.Place:
        index = call.index if call is not None else None
        return pages.Place(passage=passage, key=scroll.key(passage), branch=scroll.branch, agent=agent, call=index)


class Talk:
    """What is kept of one conversation: its scrolls, and what it counts."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.tools: Counter[str] = Counter()
        self.errors = 0
        """Calls whose result is marked as an error, and errors of the API."""
        self.scrolls: dict[int, Scroll] = {}
        self._own: dict[int, array[int]] = {}
        """The messages of each branch alone, by index."""
        self._own_turns: Counter[int] = Counter()
        self._records = len(conversation.records)
        self._messages = 0
        self._calls = 0
        self._open: list[Call] = []
        self._spent: dict[object, tuple[int, Usage]] = {}
        """What was spent from some message on, up to another that can change no more."""
        self._touched: dict[int, Message] = {}
        self._marks: dict[tuple[int, int], pages.TurnMark] = {}
        """The turns of the outlines, by branch and number."""
        self._gauge = Gauge(conversation)
        self.grow()

    def touch(self, message: Message) -> None:
        """A message looks another way, though none of its records changed."""
        self._touched[message.index] = message

    def grow(self) -> None:
        """Take in what has come since."""
        conversation = self.conversation
        touched, self._touched = self._touched, {}
        for index in range(self._records, len(conversation.records)):
            touched |= {m.index: m for m in conversation.touched(index) if m.index < self._messages}
        self._records = len(conversation.records)
        self._gauge.remeasure(touched.values())
        self._count()
        if touched:
            earliest = min(touched)
            self._spent = {name: kept for name, kept in self._spent.items() if kept[0] <= earliest}
        for scroll in self.scrolls.values():
            first = scroll.grow(touched.values())
            if first < len(scroll):
                self._forget_marks(scroll.branch, scroll.turn_of(first))

    def _forget_marks(self, branch: int, turn: int) -> None:
        """Turns from this one on look another way."""
        stale = [name for name in self._marks if name[0] == branch and name[1] >= turn]
        for name in stale:
            del self._marks[name]

    def _count(self) -> None:
        conversation = self.conversation
        for message in conversation.messages[self._messages :]:
            self._own.setdefault(message.branch, array("I")).append(message.index)
            self._own_turns[message.branch] += message.kind in TURN_STARTERS
            self.errors += message.kind == "error"
        self._messages = len(conversation.messages)
        fresh = conversation.calls[self._calls :]
        self._calls += len(fresh)
        self.tools.update([call.name for call in fresh])
        self.errors += sum([call.is_error for call in (*self._open, *fresh) if call.answer >= 0])
        self._open = [call for call in (*self._open, *fresh) if call.answer < 0]

    def scroll(self, branch: int | None = None) -> Scroll:
        """A branch; without a number, the active one."""
        number = self.conversation.active_branch if branch is None else branch
        if number not in self.scrolls:
            if not 0 <= number < len(self.conversation.branches):
                known = ", ".join(str(b.id) for b in sorted(self.conversation.branches, key=lambda b: b.id))
                raise NotFound(f"there is no branch {branch}: this conversation has {known}")
            parent = next(b.parent for b in self.conversation.branches if b.id == number)
            self.scrolls[number] = Scroll(self.conversation, number, self.scrolls.get(-1 if parent is None else parent))
        return self.scrolls[number]

    def shared(self, one: int, other: int) -> int:
        """How many passages two branches begin with alike."""
        return max(0, self.scroll(one).shared(self.scroll(other)) - 1)

    def dialects(self) -> list[str]:
        """The dialects that the first and the last records are written in."""
        records = self.conversation.records
        edges = [*range(min(EDGE, len(records))), *range(max(EDGE, len(records) - EDGE), len(records))]
        return list(dict.fromkeys(records[index].dialect for index in edges))

    def agent_title(self) -> str:
        """What an agent was asked to do, in a few words."""
        agent = cast(Agent, self.conversation)
        given = agent.call.input if agent.call is not None else None
        said = cast(dict[str, Any], given).get("description") if isinstance(given, dict) else None
        return heading(said if isinstance(said, str) and said.strip() else agent.prompt or "", TITLE)

    def context(self) -> Steps[list[Fill]]:
        """How full the context was at the end of turns of the active branch."""
        yield from self._gauge.measure()
        scroll = self.scroll()
        stretches = ((turn, scroll.turn_messages(turn)) for turn in range(1, scroll.turns + 1))
        turns = (Turn(turn, None, scroll.messages[start:end]) for turn, (start, end) in stretches)
        return _fullest(self._gauge.fills(turns, in_force()))

    # Branches

    def branch_marks(self) -> list[pages.BranchMark]:
        """All branches, the active one first."""
        return list(map(self.branch_mark, self.conversation.branches))

    def branch_mark(self, branch: Branch) -> pages.BranchMark:
        """A branch, where one can be chosen."""
        return pages.BranchMark(
            id=branch.id,
            active=branch.active,
            title=self._beginning(branch),
            turns=self._own_turns[branch.id],
            parent=branch.parent,
        )

    def fork(self, scroll: Scroll, leaving: Sequence[Branch]) -> pages.ForkPart:
        """The branches that part here, the one that the others leave first."""
        by_id = {branch.id: branch for branch in self.conversation.branches}
        stays = by_id[leaving[0].parent or 0]
        ways = [pages.Way(id=stays.id, title=self._beginning(stays, leaving[0].fork))]
        ways += [pages.Way(id=branch.id, title=self._beginning(branch)) for branch in leaving]
        above = _above(by_id, scroll.branch)
        shown = next((branch.id for branch in leaving if branch.id in above), stays.id)
        return pages.ForkPart(branches=ways, shown=shown)

    def _beginning(self, branch: Branch, after: int = -1) -> str:
        """The first words of a branch, or those after a record where others leave it."""
        own = self._own.get(branch.id, array("I"))
        messages = self.conversation.messages
        start = bisect_right(own, after, key=lambda index: messages[index].records[0])
        return heading(messages[own[start]].text, TITLE) if start < len(own) else ""

    # Turns

    def usage(self) -> Usage:
        """What all messages spent."""
        messages = self.conversation.messages
        return self._sum("all", messages, 0, len(messages))

    def turn_usage(self, scroll: Scroll, turn: int) -> Usage:
        """What the messages of a turn spent."""
        return self._sum((scroll.branch, turn), scroll.messages, *scroll.turn_messages(turn))

    def _sum(self, name: object, messages: Sequence[Message], start: int, end: int) -> Usage:
        """The sum over a stretch of messages; all but its last few are counted once."""
        settled = max(start, end - LAST_FEW)
        upto, usage = self._kept(name, messages, start)
        if upto < settled:
            usage = total((usage, *(message.usage for message in messages[upto:settled])))
            self._spent[name] = (messages[settled].index if settled < len(messages) else 1 << 62, usage)
        return total((usage, *(message.usage for message in messages[settled:end])))

    def _kept(self, name: object, messages: Sequence[Message], start: int) -> tuple[int, Usage]:
        kept = self._spent.get(name)
        if kept is None:
            return start, Usage()
        return bisect_left(messages, kept[0], key=lambda message: message.index), kept[1]

    def turn_seconds(self, scroll: Scroll, turn: int) -> float | None:
        """From the first message of a turn to the last record of its last one."""
        start, end = scroll.turn_messages(turn)
        messages = scroll.messages
        prompt = next((m for m in messages[start : start + LAST_FEW] if m.kind in TURN_STARTERS), messages[start])
        last = messages[end - 1]
        ends = [last.records[-1], *(call.answer for call in last.calls[-1:] if call.answer >= 0)]
        stamps = [moment(self.conversation.records[index].head.timestamp) for index in ends]
        return _between(prompt.timestamp, max((stamp for stamp in stamps if stamp is not None), default=None))

    def turn_mark(self, scroll: Scroll, turn: int) -> pages.TurnMark:
        """A turn in the outline; of one that can change no more, what was made before."""
        name = (scroll.branch, turn)
        if name not in self._marks or turn == scroll.turns:
            self._marks[name] = self._turn_mark(scroll, turn)
        return self._marks[name]

    def _turn_mark(self, scroll: Scroll, turn: int) -> pages.TurnMark:
        start, end = scroll.turn_messages(turn)
        messages = scroll.messages[start:end]
        prompt = next((m for m in messages if m.kind in TURN_STARTERS), messages[0])
        calls = [call for message in messages for call in message.calls]
        sorts = Counter(sort_of(call.name) for call in calls)
        failed = sum(call.is_error for call in calls) + sum(m.kind == "error" for m in messages)
        leaving = sum(len(scroll.forks.get(message.index, ())) for message in messages) if scroll.forks else 0
        return pages.TurnMark(
            index=turn,
            passage=scroll.turn_passage(turn),
            title=heading(prompt.text, TITLE),
            time=prompt.timestamp,
            marks="".join(map(_mark, calls[:MARKS])),
            more=max(0, len(calls) - MARKS),
            errors=failed,
            edits=sorts["edit"],
            agents=sorts["agent"],
            branches=leaving,
            compacted=any(message.kind == "compaction" for message in messages),
        )


def listed(key: str, header: Header) -> pages.Listed:
    """A session as a row of the library, as far as its header tells."""
    return pages.Listed(
        key=key,
        id=header.id,
        title=heading(header.title, TITLE),
        project=header.project,
        project_guessed=header.project_guessed,
        git_branch=header.git_branch,
        version=header.version,
        started=header.started,
        updated=header.updated,
        size=header.size,
        captured=header.captured,
        models=[header.model] if header.model else [],
    )


def figures(usage: Usage) -> pages.Figures:
    """What was spent, as the reader shows it."""
    return pages.Figures(
        tokens=usage.tokens,
        output_tokens=usage.output_tokens,
        cost_usd=usage.cost_usd,
        unconfirmed_responses=usage.unconfirmed_responses,
        unpriced_models=list(usage.unpriced_models),
    )


def _spent(source: Path | Session, agent: str | None, context: list[Fill]) -> pages.Spent:
    report = usage(source, by=["agent", "model"])
    rows = [row for row in report.rows if agent is None or row["agent"] == agent]
    models = dict.fromkeys(str(row["model"]) for row in rows)
    return pages.Spent(
        figures=figures(report.totals if agent is None else total(row.usage for row in rows)),
        by_model={model: figures(total(r.usage for r in rows if str(r["model"]) == model)) for model in models},
        context=context,
    )


def _problems(session: Session) -> pages.Problems:
    """What is odd about a session's file, which is opened once more: this one may grow meanwhile."""
    path = session.path
    apart = Session(FileSource(path), roots=session.roots) if path is not None and path.exists() else session
    found = apart.problems
    shown = [pages.Problem(code=f.code, level=f.level, line=f.line, text=f.text) for f in found[:MOST_PROBLEMS]]
    return pages.Problems(problems=shown, more=len(found) - len(shown))


def _fullest(fills: list[Fill]) -> list[Fill]:
    """No more than can be told apart: of each stretch of turns, the one in which the context was fullest."""
    known = [fill for fill in fills if fill.tokens is not None]
    size = max(1, -(-len(known) // MOST_FILLS))
    stretches = (known[at : at + size] for at in range(0, len(known), size))
    return [max(stretch, key=lambda fill: fill.peak or 0) for stretch in stretches]


def state_of(path: Path) -> tuple[int, ...] | None:
    """What changes when a file does; None where there is none."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


def is_fresh(path: Path) -> bool:
    """Whether a file was written to just now."""
    try:
        return time.time() - path.stat().st_mtime < LIVE_SECONDS
    except OSError:
        return False


def _standing(agent: Agent) -> tuple[int, Call | None]:
    """What of an agent shows where it is named."""
    return len(agent.records), agent.call


def _kind(message: Message) -> str:
    return "compaction" if message.kind == "summary" else message.kind


def _flags(message: Message) -> Iterable[str]:
    queued = message.role == "user" and message.conversation.records[message.records[0]].type == "attachment"
    return {*message.flags, "queued"} if queued else message.flags


def _mark(call: Call) -> str:
    """How a call looks in the outline; only of one that failed is the result read."""
    if call.answer < 0:
        return "r"
    if call.is_error:
        return "?" if call.deed.outcome.state in (DENIED, INTERRUPTED) else "x"
    return {"edit": "e", "agent": "a"}.get(sort_of(call.name), ".")


def _above(by_id: dict[int, Branch], branch: int) -> set[int]:
    """A branch and those it leaves."""
    found: set[int] = set()
    at: int | None = branch
    while at is not None and at not in found:
        found.add(at)
        at = by_id[at].parent
    return found


def _between(first: datetime | None, last: datetime | None) -> float | None:
    return None if first is None or last is None else max(0.0, (last - first).total_seconds())


def _records_at(conversation: Conversation, line: int) -> list[int]:
    """The records that begin on a line, else the last before it."""
    records = conversation.records
    start = bisect_left(range(len(records)), line, key=records.line)
    end = bisect_right(range(len(records)), line, key=records.line)
    return list(range(start, end)) or ([start - 1] if 0 < start <= len(records) else [])


def _find_message(conversation: Conversation, name: str) -> Message | None:
    """A message by its key, its id, or the uuid of one of its records."""
    word, _, number = name.partition(" ")
    if word == RECORD and number.isdecimal() and int(number) < len(conversation.records):
        return next((m for m in conversation.touched(int(number)) if int(number) in m.records), None)
    return conversation.find_message(name)


def _look_up(
    conversation: Conversation, message: str | None, call: str | None, line: int | None
) -> tuple[Message | None, Call | None]:
    """The message that something is in, and the call that it is."""
    if call is not None:
        made = conversation.find_call(call)
        return (made.message, made) if made is not None else (None, None)
    if message is not None:
        return _find_message(conversation, message), None
    for index in _records_at(conversation, line or 0):
        fate = conversation.fate(index)
        made = conversation.find_call(fate.call) if fate.call is not None else None
        if made is not None:
            return made.message, made
        for at in range(index, max(-1, index - EDGE), -1):
            for found in conversation.touched(at):
                return found, None
    return None, None


def _raw_line(conversation: Conversation, index: int, whole: bool) -> pages.RawLine:
    record = conversation.records[index]
    fate = conversation.fate(index)
    raw = record.raw
    text = (raw if whole else raw[: RAW_CHARS * 4]).decode("utf-8", "replace")
    cut = not whole and (len(text) > RAW_CHARS or len(raw) > RAW_CHARS * 4)
    return pages.RawLine(
        line=record.line,
        offset=record.offset,
        text=text[:RAW_CHARS] if cut else text,
        chars=len(raw.decode("utf-8", "replace")) if cut else None,
        fate=fate.fate,
        reason=fate.reason,
    )
