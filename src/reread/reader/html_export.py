"""A session as one HTML file: the reader with its data packed inside, and no network."""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from reread import __version__
from reread.base import jsontext
from reread.base.text import plural
from reread.errors import Unreadable
from reread.model.conversation import Agent
from reread.model.messages import TURN_STARTERS, Branch, Call
from reread.reader import schema
from reread.reader.drawing import PartBuilder
from reread.reader.session_view import SessionView
from reread.reader.steps import at_once
from reread.reader.thread_view import ThreadView
from reread.reader.timeline import Timeline
from reread.render.parts import EVERYTHING, Selection, agents_below
from reread.render.sanitize import safe
from reread.session.session import Session
from reread.tools.nodes import Picture

STATIC = Path(__file__).with_name("static")
PAGE = 40
"""Passages in a chunk: what is unpacked at once."""
LEVEL = 1
"""How hard chunks are packed: more costs the whole time again for a tenth of the size."""
PLAIN_PASSAGES, PLAIN_CHARS = 2000, 2_000_000
"""How much is there as plain text for a browser without JavaScript."""
MOST_BRANCHES, MOST_WRITTEN = 50, 200
"""How many branches are written besides the active one and those that they leave, and how many with these."""
MAGIC = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"RIFF")
"""How the pictures begin that a page may hold."""
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")


class Assets(msgspec.Struct, frozen=True):
    """The reader itself, and how a page comes by it."""

    envelope: str
    """What a page has in its head."""
    script: str
    """What it ends with."""
    policy: str
    """What its browser may do with it."""


@cache
def inline_assets() -> Assets:
    """The reader, inside the page; nothing but just this script and style may run."""
    script, style = reader_file("export.js"), reader_file("export.css")
    return Assets(
        envelope=f"<style>{style}</style>",
        script=f"<script>{script}</script>",
        policy=_policy(f"'{_digest(script)}'", f"'{_digest(style)}'"),
    )


def shared_assets(folder: str) -> Assets:
    """The reader in files beside the page: those of a site."""
    return Assets(
        envelope=f'<link rel="stylesheet" href="{folder}/reader.css">',
        script=f'<script src="{folder}/reader.js"></script>',
        policy=_policy("'self' file:", "'self' file:"),
    )


def _policy(script: str, style: str) -> str:
    rules = [f"script-src {script}", f"style-src {style}", "img-src blob:", "base-uri 'none'", "form-action 'none'"]
    return "; ".join(["default-src 'none'", *rules])


def reader_file(name: str) -> str:
    """A built file of the reader."""
    try:
        text = (STATIC / name).read_text("utf-8")
    except OSError as error:
        raise Unreadable(f"the built reader is missing: {STATIC / name}; install reread again") from error
    return text.replace("</script", "<\\/script").replace("</style", "<\\/style")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def session_html(
    session: Session,
    selection: Selection = EVERYTHING,
    *,
    assets: Assets | None = None,
    home: str | None = None,
) -> Iterator[bytes]:
    """A session as a page, in pieces: no more than one chunk is in memory."""
    return _PageWriter(session, selection, assets=assets or inline_assets(), home=home).pieces()


class _PageWriter:
    """Writes one page."""

    def __init__(self, session: Session, selection: Selection, *, assets: Assets, home: str | None) -> None:
        self.view = SessionView(session, session.id or "session")
        self.selection = selection
        self.assets = assets
        self.home = home
        self.plain = _Plain()
        self.chunks = 0
        """How many have been written."""
        self._threads: list[dict[str, Any]] = []
        self._pictures: dict[bytes, int] = {}
        """The chunk of each picture."""
        self._waiting: list[bytes] = []
        """Chunks with pictures, to be written before the page that shows them."""

    def pieces(self) -> Iterator[bytes]:
        """The page from its head to its end."""
        self.selected_items(None, self.view.timeline(branch=self.selection.branch))  # before a word is written
        yield self._head().encode()
        yield from self._main_thread()
        agents = self._agents() if self.selection.shows("tools") else []
        for agent in agents:
            kept = self.view.talk_of(agent)
            yield from self._thread(_ThreadWriter(self, agent, kept, kept.timeline()))
        yield from self.plain.pieces()
        index = {
            "threads": self._threads,
            "branches": self.view.thread().branch_marks(),
            "agents": list(map(self.view.agent_mark, agents)),
            "usage": at_once(self.view.spent())(),
            "problems": schema.Problems(problems=[], more=0),
            "home": self.home,
        }
        yield b'<script type="application/json" id="reread-index">' + _quiet(jsontext.dumps(index)) + b"</script>\n"
        yield self.assets.script.encode() + b"\n</body>\n</html>\n"

    def _head(self) -> str:
        title = escape(safe(self.view.session.title or "Session"))
        return (
            "<!doctype html>\n"
            '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{self.assets.policy}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n'
            '<meta name="referrer" content="no-referrer">\n'
            '<meta name="robots" content="noindex">\n'
            f'<meta name="generator" content="reread {__version__}">\n'
            f"<title>{title}</title>\n"
            f'{self.assets.envelope}\n</head>\n<body>\n<div id="root"></div>\n'
        )

    # Threads

    def _main_thread(self) -> Iterator[bytes]:
        """The main thread on each branch, which begins with the pages of the one it leaves; or as it was chosen."""
        thread = self.view.thread()
        if self.selection.narrows:
            yield from self._thread(_ThreadWriter(self, None, thread, thread.timeline(self.selection.branch)))
            return
        known: dict[int | None, _ThreadWriter] = {}
        for branch in self._branches(thread):
            written = known[branch.id] = _ThreadWriter(self, None, thread, thread.timeline(branch.id))
            above = known.get(branch.parent)
            if above is not None and self.selection.shows_all:
                written.share(above, thread.shared(above.timeline.branch, branch.id))
            yield from self._thread(written)
        active = thread.conversation.active_branch
        self._threads.sort(key=lambda thread: thread["branch"] != active)

    def _branches(self, thread: ThreadView) -> list[Branch]:
        """The branches that are written, parents first: the active one, the newest others and those that they leave."""
        branches = sorted(thread.conversation.branches, key=lambda branch: branch.id)
        by_id = {branch.id: branch for branch in branches}
        wanted = {b.id for b in branches[-MOST_BRANCHES:]} | {thread.conversation.active_branch}
        for id in list(wanted):
            at = by_id[id].parent
            while at is not None and at not in wanted and len(wanted) < MOST_WRITTEN:
                wanted.add(at)
                at = by_id[at].parent
        return [branch for branch in branches if branch.id in wanted]

    def _thread(self, thread: _ThreadWriter) -> Iterator[bytes]:
        yield from thread.pieces()
        self._threads.append(thread.value(self.chunks))
        yield thread.map()

    def _agents(self) -> list[Agent]:
        """All agents; of chosen turns, those that they started."""
        if not self.selection.narrows:
            return agents_below(self.view.session)
        timeline = self.view.timeline(branch=self.selection.branch)
        items = self.selected_items(None, timeline)
        calls = (call for n in items for message in timeline.item(n) for call in message.calls)
        return agents_below(self.view.session, calls)

    def selected_items(self, agent: Agent | None, timeline: Timeline) -> range:
        """The passages that are written: of an agent, all."""
        wanted = (self.selection if agent is None else self.selection.of_agents).among(timeline.turns)
        if not wanted:
            return range(0)
        end = timeline.turn_item(wanted[-1] + 1) if wanted[-1] < timeline.turns else len(timeline)
        return range(timeline.turn_item(wanted[0]), end)

    # Chunks

    def chunk(self, value: Any) -> bytes:
        """A value as the next chunk."""
        packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        packed = packer.compress(jsontext.dumps(value)) + packer.flush()
        return self._chunk(base64.b64encode(packed))

    def _chunk(self, data: bytes) -> bytes:
        number = self.chunks
        self.chunks += 1
        return b'<script type="text/plain" data-chunk="%d">%b</script>\n' % (number, data)

    def address(self, owner: str, number: int, picture: Picture) -> str | None:
        """A picture as a chunk of its own, each once."""
        data = picture.data or ""
        if not self.selection.images or not _BASE64.fullmatch(data) or len(data) % 4:
            return None
        if not base64.b64decode(data[:16]).startswith(MAGIC):
            return None
        name = hashlib.blake2b(data.encode(), digest_size=16).digest()
        if name not in self._pictures:
            self._pictures[name] = self.chunks
            self._waiting.append(self._chunk(data.encode()))
        return f"chunk:{self._pictures[name]}"

    def taken_pictures(self) -> Iterator[bytes]:
        """The pictures of what was just drawn."""
        yield from self._waiting
        self._waiting.clear()


WHO = {"prompt": "You", "command": "Command", "response": "Claude"}


class _PagePartBuilder(PartBuilder):
    """Draws each call together with its body, for what was read for the one is at hand for the other."""

    def __init__(self, page: _PageWriter) -> None:
        super().__init__(page.address, page.view.agent_marks, whole=True)
        self.bodies: dict[str, schema.CallBody] = {}
        self._page = page

    def call(self, call: Call) -> schema.CallPart:
        part = super().call(call)
        if self._page.selection.shows("tools"):
            self.bodies[str(call.index)] = self.body(call, full=self._page.selection.full)
        return part


class _ThreadWriter:
    """Writes the pages of one conversation on one branch."""

    def __init__(self, page: _PageWriter, agent: Agent | None, thread: ThreadView, timeline: Timeline) -> None:
        self.page = page
        self.agent = agent
        self.thread = thread
        self.timeline = timeline
        self.keys: list[str] = []
        self.calls: list[tuple[str, int, int]] = []
        """The id of each call, with its passage and its number."""
        self.turns: list[tuple[int, int]] = []
        """Each turn that is written, with the passage at which it begins."""
        self.marks: dict[int, schema.TurnMark] = {}
        """Each turn as the outline has it."""
        self.pages: list[int] = []
        self.builder = _PagePartBuilder(page)

    def share(self, other: _ThreadWriter, items: int) -> None:
        """Begin as another does, with whole pages of it."""
        whole = items // PAGE
        self.pages = other.pages[:whole]
        self.keys = other.keys[: whole * PAGE]
        self.calls = [named for named in other.calls if named[1] < whole * PAGE]
        self.turns = [named for named in other.turns if named[1] < whole * PAGE]
        self.marks = {turn: other.marks[turn] for turn, _ in self.turns[:-1]}  # the last one goes on elsewhere

    def pieces(self) -> Iterator[bytes]:
        """The chunks of the thread that no other has."""
        batch: list[schema.TimelineItem] = []
        for index in self.page.selected_items(self.agent, self.timeline)[len(self.keys) :]:
            item = self._drawn(index)
            if item is not None:
                batch.append(item)
            if len(batch) == PAGE:
                yield from self._written(batch)
                batch = []
        if batch:
            yield from self._written(batch)

    def _drawn(self, index: int) -> schema.TimelineItem | None:
        """A passage with the parts that are wanted; None where none is."""
        item = self.page.view.item(self.thread, self.timeline, index, self.builder)
        wanted = [part for part in item.parts if self._shows(item, part)]
        if item.parts and not wanted:
            return None
        at = len(self.keys)
        self.keys.append(item.key)
        self.calls += [(part.id, at, part.index) for part in wanted if isinstance(part, schema.CallPart)]
        if not self.turns or self.turns[-1][0] != item.turn:
            self.turns.append((item.turn, at))
        item = replace(item, index=at, parts=wanted)
        if self.agent is None and self.timeline.branch == self.thread.conversation.active_branch:
            self.page.plain.add(item)
        return item

    def _shows(self, item: schema.TimelineItem, part: schema.Part) -> bool:
        selection = self.page.selection
        if isinstance(part, schema.ThinkingPart):
            return selection.shows("thinking")
        if isinstance(part, schema.CallPart):
            return selection.shows("tools")
        if isinstance(part, schema.TextPart):
            return selection.shows("prompts" if item.kind in TURN_STARTERS else "text")
        return selection.only is None

    def _written(self, batch: Sequence[schema.TimelineItem]) -> Iterator[bytes]:
        bodies, self.builder.bodies = self.builder.bodies, {}
        yield from self.page.taken_pictures()
        self.pages.append(self.page.chunks)
        yield self.page.chunk({"items": batch, "bodies": bodies})

    def map(self) -> bytes:
        """The chunk with the outline, and with where each passage and call is."""
        for turn, at in self.turns:
            if turn not in self.marks:
                self.marks[turn] = replace(self.thread.turn_mark(self.timeline, turn), item=at)
        outline = schema.Outline(start=0, total=len(self.turns), stamp=0, turns=[self.marks[n] for n, _ in self.turns])
        calls = {id: (item, number) for id, item, number in self.calls}
        return self.page.chunk({"outline": outline, "keys": self.keys, "calls": calls})

    def value(self, map: int) -> dict[str, Any]:
        """What the page's index says of the thread."""
        id = self.agent.id if self.agent is not None else None
        overview = self.page.view.overview(id, lists=False)
        counts = {"branch": self.timeline.branch, "turns": len(self.turns), "items": len(self.keys), "live": False}
        return {
            "agent": id,
            "branch": self.timeline.branch,
            "overview": replace(overview, **counts),
            "usage": self._spent() if self.agent is not None else None,
            "page": PAGE,
            "pages": self.pages,
            "map": map,
        }

    def _spent(self) -> schema.UsageSummary:
        spent, context = schema.Figures.of(self.thread.usage()), at_once(self.thread.context())
        return schema.UsageSummary(figures=spent, by_model={}, context=context)


class _Plain:
    """What was said, for a browser without JavaScript, as far as there is room."""

    def __init__(self) -> None:
        self._said: list[str] = []
        self._room = PLAIN_CHARS
        self._left_out = 0

    def add(self, item: schema.TimelineItem) -> None:
        """Keep the texts of a passage."""
        text = "\n\n".join(part.text for part in item.parts if isinstance(part, schema.TextPart))
        if not text:
            return
        if len(self._said) >= PLAIN_PASSAGES or len(text) > self._room:
            self._left_out += 1
            return
        self._room -= len(text)
        who = WHO.get(item.kind, item.kind)
        self._said.append(f"<h2>{escape(who)}</h2>\n<pre>{escape(safe(text))}</pre>\n")

    def pieces(self) -> Iterator[bytes]:
        """The element that only such a browser shows."""
        more = f"<p>… and {plural(self._left_out, 'more passage')}.</p>\n" if self._left_out else ""
        yield b"<noscript>\n<p>This page needs JavaScript to show the whole session. Here is what was said.</p>\n"
        yield from (said.encode() for said in self._said)
        yield f"{more}</noscript>\n".encode()


def _quiet(data: bytes) -> bytes:
    """JSON that can stand in a script element: nothing in it ends the element or begins a comment."""
    return data.replace(b"<", b"\\u003c").replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
