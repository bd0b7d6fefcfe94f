"""A session as one HTML file that contains the reader and its data, and needs no network."""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any, TypeVar, cast

import msgspec
from msgspec.structs import replace

from reread.base import jsontext
from reread.base.sanitize import safe
from reread.base.text import plural
from reread.model.conversation import Agent, Branch, Call
from reread.model.parts import TOOLS, MessagePart
from reread.reader import schema
from reread.reader.drawing import PartBuilder
from reread.reader.page_assets import Assets, inline_assets, page_head
from reread.reader.request_view import RequestContext, request_contexts
from reread.reader.session_search import ItemText, texts_of
from reread.reader.session_view import SessionView, in_call_order
from reread.reader.thread_view import MAX_MARKS, ThreadView, run_steps, state_mark
from reread.reader.timeline import Timeline
from reread.reader.waterfall import waterfall
from reread.render.selection import EVERYTHING, Selection, agents_below, selected_turns
from reread.session.session import Session
from reread.tools.nodes import Picture

PAGE = 40
"""Items in a chunk, which is unpacked as a whole."""
LEVEL = 1
"""The compression level of chunks: a higher one doubles the time and saves a tenth of the size."""
MAX_PLAIN_ITEMS, MAX_PLAIN_CHARS = 2000, 2_000_000
"""How much is included as plain text for a browser without JavaScript."""
NEWEST_BRANCHES, MAX_BRANCHES = 50, 200
"""How many of the newest branches are included, and how many together with their ancestors."""
MAX_CONTEXT_BYTES, MAX_CONTEXTS = 3_000_000, 40
"""How many bytes of contexts are looked at, and of how many turns."""
MAGIC = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"RIFF")
"""The first bytes of the picture formats that a page may contain."""
SPEAKERS = {"prompt": "You", "command": "Command", "response": "Claude"}
EVERY_ITEM = 1 << 62
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
Placed = TypeVar("Placed", schema.WaterfallTurn, schema.WaterfallSpan)


def session_html(
    session: Session,
    selection: Selection = EVERYTHING,
    *,
    assets: Assets | None = None,
    home: str | None = None,
) -> Iterator[bytes]:
    """A session as an HTML page, in pieces; at most one chunk is in memory. `home` is the link to the index."""
    return _PageWriter(session, selection, assets=assets or inline_assets(), home=home).pieces()


class _PageWriter:
    """Writes one page."""

    def __init__(self, session: Session, selection: Selection, *, assets: Assets, home: str | None) -> None:
        self.view = SessionView(session, session.id or "session")
        self.selection = selection
        self.assets = assets
        self.home = home
        self.plain = _PlainText()
        self.spans = self.view.spans()
        """The spans of the main conversation, whose branches share most of them."""
        self.chunks = 0
        """How many chunks have been written."""
        self._threads: list[dict[str, Any]] = []
        self._pictures: dict[bytes, int] = {}
        """The chunk of each picture, by a hash of its data."""
        self._picture_chunks: list[bytes] = []
        """Chunks of pictures, to be written before the items that show them."""

    def pieces(self) -> Iterator[bytes]:
        """The page from its head to its end."""
        self.selected_items(None, self.view.timeline(branch=self.selection.path))  # raises before anything is written
        yield self._head().encode()
        yield from self._main_thread()
        agents = self._agents() if self.selection.shows(TOOLS) else []
        for agent in agents:
            thread = self.view.thread_of(agent)
            yield from self._thread(_ThreadWriter(self, agent, thread, thread.timeline()))
        yield from self.plain.pieces()
        index = {
            "threads": self._threads,
            "branches": self.view.thread().branch_infos(),
            "agents": [self.view.agent_info(agent) for agent in in_call_order(agents)],
            "usage": run_steps(self.view.usage())(),
            "problems": schema.Problems(problems=[], more=0),
            "home": self.home,
        }
        yield b'<script type="application/json" id="reread-index">' + _script_json(index) + b"</script>\n"
        yield self.assets.script.encode() + b"\n</body>\n</html>\n"

    def _head(self) -> str:
        head = page_head(self.view.session.title or "Session", self.assets.policy)
        return f'{head}{self.assets.head}\n</head>\n<body>\n<div id="root"></div>\n'

    # Threads

    def _main_thread(self) -> Iterator[bytes]:
        """The main conversation: the selected turns, or every branch, each with the chunks shared with its parent."""
        thread = self.view.thread()
        if self.selection.is_excerpt:
            timeline = thread.timeline(self.selection.path)
            yield from self._thread(_ThreadWriter(self, None, thread, timeline, plain=len(timeline)))
            return
        writers: dict[int | None, _ThreadWriter] = {}
        branches = self._branches(thread)
        shared = self._shared_items(thread, branches)
        active = thread.conversation.active_branch
        plain = _plain_items(active, {branch.id: branch.parent for branch in branches}, shared)
        for branch in branches:
            timeline = thread.timeline(branch.id)
            writer = _ThreadWriter(self, None, thread, timeline, plain=plain.get(branch.id, 0))
            writers[branch.id] = writer
            writer.keep(shared[child.id] for child in branches if child.parent == branch.id and child.id in shared)
            if branch.id in shared:
                writer.share(writers[branch.parent], shared[branch.id])
            yield from self._thread(writer)
        self._threads.sort(key=lambda thread: thread["branch"] != active)

    def _shared_items(self, thread: ThreadView, branches: Sequence[Branch]) -> dict[int, int]:
        """How many items each branch has from its parent, if both are written; none if only some parts are."""
        if not self.selection.every_kind:
            return {}
        known = {branch.id for branch in branches}
        pairs = [(branch.parent, branch.id) for branch in branches if branch.parent is not None]
        return {id: thread.shared_items(parent, id) for parent, id in pairs if parent in known}

    def _branches(self, thread: ThreadView) -> list[Branch]:
        """The branches to write, parents first: the active one, the newest others, and their ancestors."""
        branches = sorted(thread.conversation.branches, key=lambda branch: branch.id)
        by_id = {branch.id: branch for branch in branches}
        chosen = {b.id for b in branches[-NEWEST_BRANCHES:]} | {thread.conversation.active_branch}
        for id in list(chosen):
            at = by_id[id].parent
            while at is not None and at not in chosen and len(chosen) < MAX_BRANCHES:
                chosen.add(at)
                at = by_id[at].parent
        return [branch for branch in branches if branch.id in chosen]

    def _thread(self, writer: _ThreadWriter) -> Iterator[bytes]:
        yield from writer.pieces()
        contexts = writer.contexts()
        self._threads.append(writer.index_entry(self.chunks, contexts=bool(contexts)))
        yield writer.map_chunk()
        yield self.chunk(writer.waterfall())
        if contexts:
            yield self.chunk(contexts)

    def _agents(self) -> list[Agent]:
        """All agents, or those that the selected turns started."""
        if not self.selection.is_excerpt:
            return agents_below(self.view.session)
        timeline = self.view.timeline(branch=self.selection.path)
        items = self.selected_items(None, timeline)
        chosen = self.chosen_messages(None)
        messages = (message for n in items for message in timeline.item(n) if chosen is None or message.index in chosen)
        calls = (call for message in messages for call in message.calls if self.selection.shows_call(call))
        return agents_below(self.view.session, calls)

    def chosen_messages(self, agent: Agent | None) -> set[int] | None:
        """The indices of the messages that the selection chooses; None if it chooses whole turns."""
        if not self.selection.chooses_messages:
            return None
        conversation = agent or self.view.session.conversation
        turns = selected_turns(conversation, self.selection if agent is None else self.selection.for_agents)
        return {message.index for turn in turns for message in turn.messages}

    def selected_items(self, agent: Agent | None, timeline: Timeline) -> range:
        """The items of the selected turns; all items of an agent."""
        selection = self.selection if agent is None else self.selection.for_agents
        turns = selection.turn_numbers(timeline.turns)
        if not turns:
            return range(0)
        end = timeline.turn_item(turns[-1] + 1) if turns[-1] < timeline.turns else len(timeline)
        return range(timeline.turn_item(turns[0]), end)

    # Chunks

    def chunk(self, value: Any) -> bytes:
        """A value as the next chunk."""
        return self.packed_chunk(jsontext.dumps(value))

    def packed_chunk(self, data: bytes) -> bytes:
        """The text of a JSON value as the next chunk."""
        packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        return self._chunk(base64.b64encode(packer.compress(data) + packer.flush()))

    def _chunk(self, data: bytes) -> bytes:
        number = self.chunks
        self.chunks += 1
        return b'<script type="text/plain" data-chunk="%d">%b</script>\n' % (number, data)

    def picture_url(self, owner: str, number: int, picture: Picture) -> str | None:
        """The URL of a picture, which becomes a chunk the first time; None if it is not really a picture."""
        data = picture.data or ""
        if not self.selection.images or not _BASE64.fullmatch(data) or len(data) % 4:
            return None
        if not base64.b64decode(data[:16]).startswith(MAGIC):
            return None
        name = hashlib.blake2b(data.encode(), digest_size=16).digest()
        if name not in self._pictures:
            self._pictures[name] = self.chunks
            self._picture_chunks.append(self._chunk(data.encode()))
        return f"chunk:{self._pictures[name]}"

    def take_picture_chunks(self) -> Iterator[bytes]:
        """The chunks of pictures that have not been written yet."""
        yield from self._picture_chunks
        self._picture_chunks.clear()


class PageEntry(msgspec.Struct):
    """An item of a page, with all that belongs to it side by side, because that packs best."""

    item: schema.TimelineItem
    bodies: dict[str, schema.CallBody]
    """The bodies of its calls, by call index."""
    texts: list[ItemText]
    """The texts that a search reads."""


class _PagePartBuilder(PartBuilder):
    """Builds each call's body along with its line, because both read the same records."""

    def __init__(self, page: _PageWriter, chosen: set[int] | None) -> None:
        super().__init__(
            page.picture_url, page.view.agent_infos, whole=True, full=page.selection.full, selection=page.selection
        )
        self._chosen = chosen
        self.bodies: dict[str, schema.CallBody] = {}

    def shows(self, part: MessagePart) -> bool:
        return (self._chosen is None or part.message.index in self._chosen) and super().shows(part)

    def call(self, call: Call) -> schema.CallPart:
        part = super().call(call)
        self.bodies[str(call.index)] = self.body(call)
        return part


class _ThreadWriter:
    """Writes the items of one conversation on one branch."""

    def __init__(
        self, page: _PageWriter, agent: Agent | None, thread: ThreadView, timeline: Timeline, *, plain: int = 0
    ) -> None:
        self.page = page
        self.plain = plain
        """How many of its items are included as plain text."""
        self.agent = agent
        self.thread = thread
        self.timeline = timeline
        self.keys: list[str] = []
        self.calls: list[tuple[str, int, int]] = []
        """The id, item and index of each call."""
        self.turns: list[tuple[int, int]] = []
        """Each turn written, with its first item."""
        self.places: dict[int, int] = {}
        """The items written, by their index on the branch."""
        self.outline: dict[int, schema.OutlineTurn] = {}
        """The outline, by turn."""
        self.pages: list[int] = []
        self.builder = _PagePartBuilder(page, page.chosen_messages(agent))
        self.spans = page.spans if agent is None else page.view.spans()
        self.marks: dict[int, str] = {}
        """The marks of each turn's calls in the outline."""
        self._batch: list[bytes] = []
        """The entries of the next chunk, as JSON."""
        self._kept: dict[int, bytes | None] = {}
        """Packed entries by item, for branches that start within their chunk; None until they are written."""

    def keep(self, shared: Iterable[int]) -> None:
        """Keep what other branches need that share so many items with this one: those after their last whole chunk."""
        for items in shared:
            self._kept |= dict.fromkeys(range(items // PAGE * PAGE, items))

    def share(self, other: _ThreadWriter, items: int) -> None:
        """Start with the items that another branch has alike: whole chunks, and then entries that it kept."""
        whole = items // PAGE
        self.pages = other.pages[:whole]
        self.keys = other.keys[:items]
        self.calls = [call for call in other.calls if call[1] < items]
        self.turns = [turn for turn in other.turns if turn[1] < items]
        self.places = {index: at for index, at in other.places.items() if at < items}
        for at in range(whole * PAGE, items):
            self._add_entry(at, zlib.decompress(other._kept[at] or b""))
        self.outline = {turn: other.outline[turn] for turn, _ in self.turns[:-1]}  # the last turn continues differently

    def pieces(self) -> Iterator[bytes]:
        """The chunks that are not shared with another branch."""
        for index in self.page.selected_items(self.agent, self.timeline)[len(self.keys) :]:
            item = self._item(index)
            bodies, self.builder.bodies = self.builder.bodies, {}
            if item is not None:
                self._add_entry(item.index, jsontext.dumps(PageEntry(item, bodies, self._texts(index))))
            if len(self._batch) == PAGE:
                yield from self._batch_chunks()
        if self._batch:
            yield from self._batch_chunks()

    def _add_entry(self, at: int, entry: bytes) -> None:
        self._batch.append(entry)
        if at in self._kept:
            self._kept[at] = zlib.compress(entry, LEVEL)

    def _item(self, index: int) -> schema.TimelineItem | None:
        """An item with its selected parts; None if none of its parts is selected."""
        selection = self.page.selection
        item = self.page.view.item(self.thread, self.timeline, index, self.builder)
        self.spans.note_times(self.timeline.item(index))
        parts = [part for part in item.parts if selection.only is None or not isinstance(part, schema.ForkPart)]
        if not parts and not selection.every_kind:
            return None
        at = len(self.keys)
        self.keys.append(item.key)
        self.places[index] = at
        self.calls += [(part.id, at, part.index) for part in parts if isinstance(part, schema.CallPart)]
        if not self.turns or self.turns[-1][0] != item.turn:
            self.turns.append((item.turn, at))
        self.marks[item.turn] = self.marks.get(item.turn, "") + "".join(map(_part_mark, parts))
        item = replace(item, index=at, parts=parts)
        if not selection.shows(TOOLS):
            item = replace(item, commits=[], pull_requests=[])
        if at < self.plain:
            self.page.plain.add(item)
        return item

    def _texts(self, index: int) -> list[ItemText]:
        parts = (part for message in self.timeline.item(index) for part in self.builder.selected(message))
        return [text for _, text in texts_of(parts)]

    def _batch_chunks(self) -> Iterator[bytes]:
        yield from self.page.take_picture_chunks()
        self.pages.append(self.page.chunks)
        yield self.page.packed_chunk(b"[" + b",".join(self._batch) + b"]")
        self._batch = []

    def map_chunk(self) -> bytes:
        """The chunk with the outline, the keys of all items, the item of each call, and the thread's usage."""
        for turn, at in self.turns:
            if turn not in self.outline:
                self.outline[turn] = self._outline_turn(turn, at)
        outline = schema.Outline(
            start=0, total=len(self.turns), stamp=0, turns=[self.outline[n] for n, _ in self.turns]
        )
        calls = {id: (item, number) for id, item, number in self.calls}
        return self.page.chunk({"outline": outline, "keys": self.keys, "calls": calls, "usage": self._usage()})

    def waterfall(self) -> schema.Waterfall:
        """When the turns that were written, and what is shown of them, were at work."""
        whole = run_steps(waterfall(self.timeline, self.spans))
        turns = dict(self.turns)
        calls = {number for _, _, number in self.calls}
        return schema.Waterfall(
            turns=[_placed(turn, turns[turn.index]) for turn in whole.turns if turn.index in turns],
            spans=[
                _placed(span, self.places[span.item])
                for span in whole.spans
                if span.item in self.places and (span.call is None or span.call in calls)
            ],
        )

    def _outline_turn(self, turn: int, at: int) -> schema.OutlineTurn:
        """A turn in the outline, which begins at this item; of chosen calls, only those have marks."""
        whole = replace(self.thread.outline_turn(self.timeline, turn), item=at)
        if not self.page.selection.chooses_messages:
            return whole
        marks = self.marks.get(turn, "")
        counts = {name: marks.count(mark) for name, mark in {"errors": "x", "edits": "e", "agents": "a"}.items()}
        return replace(whole, marks=marks[:MAX_MARKS], more=max(0, len(marks) - MAX_MARKS), branches=0, **counts)

    def contexts(self) -> dict[int, RequestContext]:
        """What filled the context at the end of each turn, the newest first, as far as that does not take long.

        Names of files are in it, so an excerpt has none: they may be those of other turns.
        """
        selection, active = self.page.selection, self.thread.conversation.active_branch
        is_whole = not selection.is_excerpt and selection.every_kind
        if self.agent is not None or self.timeline.branch != active or not is_whole:
            return {}
        found: dict[int, RequestContext] = {}
        left = MAX_CONTEXT_BYTES
        turns = [turn for turn, _ in self.turns[: -MAX_CONTEXTS - 1 : -1]]
        for turn, context in zip(turns, request_contexts(self.thread, turns), strict=True):
            found[turn] = context
            left -= max(context.context.bytes, MAX_CONTEXT_BYTES // MAX_CONTEXTS)
            if left <= 0:
                break
        return found

    def index_entry(self, map: int, *, contexts: bool) -> dict[str, Any]:
        """The thread's entry in the page's index; `map` is the number of its map chunk."""
        id = self.agent.id if self.agent is not None else None
        overview = self.page.view.overview(id, self.timeline.branch, lists=False)
        errors = run_steps(self.thread.count_errors(self.timeline.branch))
        counts = {"branch": self.timeline.branch, "turns": len(self.turns), "items": len(self.keys), "live": False}
        return {
            "agent": id,
            "branch": self.timeline.branch,
            "overview": replace(overview, errors=errors, **counts),
            "page": PAGE,
            "pages": self.pages,
            "map": map,
            "waterfall": map + 1,
            "contexts": map + 2 if contexts else None,
        }

    def _usage(self) -> schema.UsageSummary | None:
        """The usage of an agent or of a branch that was left; None if it is that of the whole session."""
        if self.agent is None:
            left = self.thread.is_left(self.timeline.branch)
            return run_steps(self.page.view.usage(branch=self.timeline.branch))() if left else None
        figures, context = schema.Figures.of(self.thread.usage()), run_steps(self.thread.context())
        return schema.UsageSummary(figures=figures, by_model={}, context=context)


def _plain_items(active: int, parents: Mapping[int, int | None], shared: Mapping[int, int]) -> dict[int, int]:
    """Return how many items of each branch are part of the active one's text, which begins in the branches above."""
    plain, items = {active: EVERY_ITEM}, EVERY_ITEM
    while active in shared:
        parent, items = parents[active], min(items, shared[active])
        active = cast(int, parent)
        plain[active] = items
    return plain


def _placed(value: Placed, item: int) -> Placed:
    """Return a turn or span at an item."""
    return value if value.item == item else replace(value, item=item)


def _part_mark(part: schema.Part) -> str:
    """The letter of a part in the outline; empty if it is no call."""
    return state_mark(part.state, part.category) if isinstance(part, schema.CallPart) else ""


class _PlainText:
    """Prompts and answers as plain text, up to a limit, for a browser without JavaScript."""

    def __init__(self) -> None:
        self._items: list[str] = []
        self._chars_left = MAX_PLAIN_CHARS
        self._left_out = 0

    def add(self, item: schema.TimelineItem) -> None:
        """Add the texts of an item."""
        text = "\n\n".join(part.text for part in item.parts if isinstance(part, schema.TextPart))
        if not text:
            return
        if len(self._items) >= MAX_PLAIN_ITEMS or len(text) > self._chars_left:
            self._left_out += 1
            return
        self._chars_left -= len(text)
        speaker = SPEAKERS.get(item.kind, item.kind)
        self._items.append(f"<h2>{escape(speaker)}</h2>\n<pre>{escape(safe(text))}</pre>\n")

    def pieces(self) -> Iterator[bytes]:
        """The `noscript` element."""
        more = f"<p>… and {plural(self._left_out, 'more message')}.</p>\n" if self._left_out else ""
        yield b"<noscript>\n<p>This page needs JavaScript. The prompts and answers follow as plain text.</p>\n"
        yield from (item.encode() for item in self._items)
        yield f"{more}</noscript>\n".encode()


def _script_json(value: Any) -> bytes:
    """JSON for a script element: nothing in it can end the element or start a comment."""
    data = jsontext.dumps(value)
    return data.replace(b"<", b"\\u003c").replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
