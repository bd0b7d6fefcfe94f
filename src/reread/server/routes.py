"""Routes: what can be asked of the server. Each answers with a value, encoded."""

from __future__ import annotations

import asyncio
import binascii
import os
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Generator
from pathlib import Path
from typing import Any, cast

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from reread.base import jsontext
from reread.errors import Misuse, NotFound, RereadError
from reread.reader.html_export import STATIC, session_html
from reread.reader.search import ItemFilter, filtered, search_session
from reread.reader.session_view import SessionView
from reread.reader.steps import Steps
from reread.render.parts import Selection
from reread.server.event_bus import Listener, encoded
from reread.server.library import Library
from reread.server.open_sessions import OpenSession, OpenSessions, ThreadKey
from reread.session.session import open  # noqa: A004

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
}
NOT_BUILT = "The reader's page is not built: run `make web` in the source folder."
MOST_PASSAGES, MOST_TURNS, MOST_FITTING = 200, 2000, 10_000
STEP_SECONDS = 0.1
"""How often it is told how far a file has been read."""
MAGIC = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
"""What a picture's first bytes say it is, whatever else it is called."""


class ThreadQuery:
    """The parameters of a request."""

    def __init__(self, request: Request) -> None:
        self.query = request.query_params
        self.path = request.path_params
        self.view = ThreadKey(self.text("agent"), self.number("branch"))

    def text(self, name: str) -> str | None:
        """A parameter as it stands."""
        return self.query.get(name) or None

    def words(self, name: str) -> frozenset[str]:
        """A parameter as words with commas between them."""
        return frozenset(word for word in (self.text(name) or "").split(",") if word)

    def number(self, name: str) -> int | None:
        """A parameter that is a number."""
        text = self.text(name)
        if text is None:
            return None
        if not text.isdecimal() or len(text) > 12:
            raise Misuse(f"{name} must be a number")
        return int(text)

    def flag(self, name: str) -> bool:
        """A parameter that is there or not."""
        return self.text(name) in ("1", "true")


Answer = Callable[[SessionView, ThreadQuery], Any]


def _overview(view: SessionView, asked: ThreadQuery) -> Any:
    return view.overview(*asked.view)


def _items(view: SessionView, asked: ThreadQuery) -> Any:
    agent, branch = asked.view
    count = min(asked.number("count") or 50, MOST_PASSAGES)
    return view.page(asked.number("start") or 0, count, agent=agent, branch=branch, whole=asked.flag("whole"))


def _outline(view: SessionView, asked: ThreadQuery) -> Any:
    agent, branch = asked.view
    count = min(asked.number("count") or 500, MOST_TURNS)
    return view.outline(asked.number("start") or 0, count, agent=agent, branch=branch)


def _call(view: SessionView, asked: ThreadQuery) -> Any:
    return view.call(asked.path["index"], agent=asked.view.agent, whole=asked.flag("whole"))


def _lines(view: SessionView, asked: ThreadQuery) -> Any:
    return view.lines(
        message=asked.text("message"),
        call=asked.text("call"),
        line=asked.number("line"),
        agent=asked.view.agent,
        whole=asked.flag("whole"),
    )


def _place(view: SessionView, asked: ThreadQuery) -> Any:
    agent, branch = asked.view
    return view.place(
        message=asked.text("message"),
        call=asked.text("call"),
        line=asked.number("line"),
        turn=asked.number("turn"),
        agent=agent,
        branch=branch,
    )


def _find(view: SessionView, asked: ThreadQuery) -> Any:
    query = asked.text("q")
    if query is None:
        raise Misuse("say what to look for: q=")
    agent, branch = asked.view
    return search_session(view, query, _wanted(asked), start=asked.number("start") or 0, agent=agent, branch=branch)


def _filter(view: SessionView, asked: ThreadQuery) -> Any:
    agent, branch = asked.view
    count = min(asked.number("count") or MOST_FITTING, MOST_FITTING)
    return filtered(view, _wanted(asked), start=asked.number("start") or 0, count=count, agent=agent, branch=branch)


def _wanted(asked: ThreadQuery) -> ItemFilter:
    return ItemFilter(asked.words("kinds"), asked.words("tools"), asked.flag("errors"))


def _markdown(view: SessionView, asked: ThreadQuery) -> Response:
    agent, branch = asked.view
    text = view.markdown(message=asked.text("message"), turn=asked.number("turn"), agent=agent, branch=branch)
    return Response(text, media_type="text/markdown")


def _spent(view: SessionView, asked: ThreadQuery) -> Any:
    return view.spent(asked.view.agent)


def _export(view: SessionView, asked: ThreadQuery) -> Callable[[], Response]:
    path = view.session.path
    source = path if path is not None and os.path.exists(path) else view.session
    selection = Selection(thinking=not asked.flag("no_thinking"), images=not asked.flag("no_images"))
    name = f"{asked.path['key']}.html"
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return lambda: StreamingResponse(session_html(open(source), selection), media_type="text/html", headers=headers)


def _problems(view: SessionView, asked: ThreadQuery) -> Any:
    return view.problems()


def _picture(view: SessionView, asked: ThreadQuery) -> Response:
    owner = "call" if asked.path["owner"] == "call" else "message"
    found = view.picture(owner, asked.path["index"], asked.path["number"], agent=asked.view.agent)
    try:
        data = b64decode(found.data or "", validate=True)
    except (binascii.Error, ValueError):
        raise NotFound("that picture is not whole") from None
    kind = next((kind for magic, kind in MAGIC.items() if data.startswith(magic)), None)
    if kind is None and data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        kind = "image/webp"
    if kind is None:
        raise NotFound("that is no picture of a kind that is shown")
    return Response(data, media_type=kind, headers={"cache-control": "private, max-age=3600"})


ANSWERS: dict[str, Answer] = {
    "": _overview,
    "/items": _items,
    "/outline": _outline,
    "/calls/{index:int}": _call,
    "/lines": _lines,
    "/place": _place,
    "/search": _find,
    "/filter": _filter,
    "/markdown": _markdown,
    "/usage": _spent,
    "/problems": _problems,
    "/export": _export,
    "/pictures/{owner}/{index:int}/{number:int}": _picture,
}
"""What can be asked of a session, below its address."""


def make_app(library: Library) -> Starlette:
    """The server's application; the guard goes before it."""
    rooms = OpenSessions(library.find, library.roots, library.undisturbed)

    def answering(answer: Answer) -> Callable[[Request], Any]:
        def work(request: Request) -> Any:
            asked = ThreadQuery(request)
            room = rooms.room(request.path_params["key"])
            with room.viewing() as view:
                value = answer(view, asked)
            if isinstance(value, Generator):
                value = room.finish(cast(Steps[Any], value))
            return value() if callable(value) and not isinstance(value, Response) else value

        async def endpoint(request: Request) -> Response:
            value = await run_in_threadpool(work, request)
            return value if isinstance(value, Response) else json_response(value)

        return endpoint

    async def listing(request: Request) -> Response:
        return json_response(await run_in_threadpool(library.value))

    async def usage(request: Request) -> Response:
        return json_response(await run_in_threadpool(library.usage, dict(request.query_params)))

    async def library_events(request: Request) -> Response:
        return event_stream(library.bus.stream(Listener(None)))

    async def session_events(request: Request) -> Response:
        view = ThreadQuery(request).view
        room = await run_in_threadpool(rooms.room, request.path_params["key"])
        return event_stream(_watch(room, view))

    routes = [
        Route("/api/library", listing),
        Route("/api/events", library_events),
        Route("/api/usage", usage),
        Route("/api/sessions/{key}/events", session_events),
        *(Route(f"/api/sessions/{{key}}{path}", answering(answer)) for path, answer in ANSWERS.items()),
        *_static_routes(),
    ]
    app = Starlette(routes=routes, exception_handlers={RereadError: _fault})
    app.state.open_sessions = rooms
    app.state.library = library
    return app


async def _watch(room: OpenSession, view: ThreadKey) -> AsyncIterator[bytes]:
    """How far a session has been read, then how it stands, then how it grows."""
    while not room.is_open:
        yield encoded("opening", room.progress)
        await asyncio.sleep(STEP_SECONDS)
    listener = Listener(view)
    try:
        await run_in_threadpool(room.watch, listener)
    except RereadError:  # who asks for anything else of it is told why
        return
    async for piece in room.bus.stream(listener):
        yield piece


def json_response(value: Any, status: int = 200) -> Response:
    """A value, encoded."""
    return Response(jsontext.dumps(value), status, media_type="application/json")


def event_stream(events: AsyncIterator[bytes]) -> Response:
    """Server-sent events."""
    return StreamingResponse(events, media_type="text/event-stream")


async def _fault(request: Request, error: Exception) -> Response:
    return json_response({"error": str(error)}, 400 if isinstance(error, Misuse) else 404)


def _static_routes() -> list[Route]:
    """The built files, read once: no other file can be asked for."""
    built = {path.relative_to(STATIC).as_posix(): path for path in STATIC.rglob("*") if path.suffix in TYPES}
    index = built.pop("index.html", None)
    routes = [Route(f"/{name}", _file(path)) for name, path in built.items() if name.startswith("assets/")]
    return [*routes, Route("/", _file(index) if index is not None else _not_built)]


def _file(path: Path) -> Callable[[Request], Any]:
    kind = TYPES[path.suffix]

    async def endpoint(request: Request) -> Response:
        return Response(path.read_bytes(), media_type=kind, headers={"cache-control": "no-cache"})

    return endpoint


async def _not_built(request: Request) -> Response:
    return PlainTextResponse(NOT_BUILT, 503)
