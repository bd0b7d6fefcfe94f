"""The routes of the server: each returns a value as JSON, a file or a stream of events."""

from __future__ import annotations

import asyncio
import binascii
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import msgspec
from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from reread.base import jsontext
from reread.base.addons import AddonPart, named_parts
from reread.errors import Misuse, NotFound, RereadError, Undecided
from reread.index.find import NEWEST
from reread.reader.file_view import file_blame, file_diff, list_changed_files, version_body
from reread.reader.html_export import session_html
from reread.reader.library_schema import Library, LibraryRow, LibrarySearch, ReaderSettings
from reread.reader.page_assets import STATIC
from reread.reader.request_view import list_requests, request_body, request_context
from reread.reader.schema import Overview, RawLines
from reread.reader.session_search import ItemFilter, filter_items, search_session
from reread.reader.session_view import SessionView
from reread.reader.thread_view import Steps, ThreadView
from reread.render.selection import Selection
from reread.server.answer_cache import AnswerCache
from reread.server.event_bus import Listener, encode_event
from reread.server.guard import GUEST
from reread.server.library import SessionLibrary
from reread.server.library_search import SearchService
from reread.server.open_sessions import OpenSession, OpenSessions, ThreadKey, ThreadLimit
from reread.server.reader_settings import change_reader_settings, read_reader_settings, read_setup
from reread.server.reports import library_comparison, library_review, report_filters, report_of
from reread.server.sharing import MEDIA_TYPES, ShareReviews
from reread.server.static_files import Compression, static_routes
from reread.session.session import open  # noqa: A004
from reread.storage.kept_file import file_exists

NOT_FOUND = (
    '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Not found · reread</title>'
    "{styles}</head>\n"
    "<body><main><h1>Not found</h1><p>There is no page at this address.</p>"
    '<p><a href="/">All sessions</a></p></main></body>\n</html>\n'
)
PREVIEW_HEADERS = {
    "content-security-policy": "sandbox allow-scripts allow-downloads; connect-src 'none'; frame-ancestors 'self'",
    "x-frame-options": "SAMEORIGIN",
}
"""For an exported page, which brings a policy of its own: it gets an origin of its own, too, also inside the reader."""
MAX_ITEMS, MAX_TURNS, MAX_MATCHES, MAX_REQUESTS = 200, 2000, 10_000, 500
LARGEST_BODY = 1 << 20
PROGRESS_SECONDS = 0.1
"""How often progress is sent while a file is being read."""
IMAGE_SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
"""Image types by their first bytes; the type that the transcript declares is not trusted."""


class NumberConvertor(Convertor[int]):
    """A number in an address; an index never has more digits."""

    regex = "[0-9]{1,12}"

    def convert(self, value: str) -> int:
        """Return the number."""
        return int(value)

    def to_string(self, value: int) -> str:
        """Return the digits."""
        return str(value)


register_url_convertor("number", NumberConvertor())


class Parameters:
    """The path and query parameters of a request."""

    def __init__(self, request: Request) -> None:
        self.query: dict[str, str] = dict(request.query_params)
        self.path: dict[str, Any] = request.path_params
        self.is_guest: bool = bool(request.scope.get(GUEST))

    @property
    def thread(self) -> ThreadKey:
        """The thread and the branch of a session that it is about."""
        return ThreadKey(self.text("agent"), self.number("branch"))

    @property
    def place(self) -> dict[str, Any]:
        """The message, the call or the line of a thread that it is about, and the thread."""
        return {"message": self.text("message"), "call": self.text("call"), "line": self.number("line"), **self.agent}

    @property
    def agent(self) -> dict[str, Any]:
        """The thread alone."""
        return {"agent": self.text("agent")}

    @property
    def whole(self) -> dict[str, Any]:
        """Whether nothing is to be cut."""
        return {"whole": self.flag("whole")}

    def text(self, name: str) -> str | None:
        """Return a query parameter; None if it is missing or empty."""
        return self.query.get(name) or None

    def words(self, name: str) -> frozenset[str]:
        """Return the values of a comma-separated query parameter."""
        return frozenset(word for word in (self.text(name) or "").split(",") if word)

    def number(self, name: str) -> int | None:
        """Return a numeric query parameter; None if it is missing or empty."""
        text = self.text(name)
        if text is None:
            return None
        if not text.isdecimal() or len(text) > 12:
            raise Misuse(f"Invalid {name} {text!r}; use a whole number.")
        return int(text)

    def flag(self, name: str) -> bool:
        """True if a query parameter is 1 or true."""
        return self.text(name) in ("1", "true")

    def slice(self, count: int, most: int) -> tuple[int, int]:
        """Return where to start, and how many to return: by default so many, and at most so many."""
        return self.number("start") or 0, min(self.number("count") or count, most)


Handler = Callable[[SessionView, Parameters], Any]
"""Returns a value to encode, a response, steps to run in slices, or a function to call once the lock is released."""


def _overview(view: SessionView, params: Parameters) -> Any:
    if params.flag("brief") and view.takes_a_while_to_count:
        return view.overview(*params.thread)
    return view.counted_overview(*params.thread)


def _search(view: SessionView, params: Parameters) -> Any:
    query = params.text("q")
    if query is None:
        raise Misuse("Missing query parameter q; set it to the text to find.")
    start = params.number("start") or 0
    return search_session(view, query, _item_filter(params), start=start, **params.thread._asdict())


def _filter(view: SessionView, params: Parameters) -> Any:
    start, count = params.slice(MAX_MATCHES, MAX_MATCHES)
    return filter_items(view, _item_filter(params), start=start, count=count, **params.thread._asdict())


def _item_filter(params: Parameters) -> ItemFilter:
    return ItemFilter(params.words("kinds"), params.words("tools"), params.flag("errors"), params.flag("stopped"))


def _markdown(view: SessionView, params: Parameters) -> Response:
    thread = params.thread._asdict()
    text = view.markdown(message=params.text("message"), turn=params.number("turn"), **thread)
    return Response(text, media_type="text/markdown")


def _context(view: SessionView, params: Parameters) -> Any:
    turn, request = params.number("turn"), params.number("request")
    return request_context(_thread(view, params), turn=turn, request=request, **params.agent)


def _request(view: SessionView, params: Parameters) -> Any:
    return request_body(_thread(view, params), params.path["number"], changes=params.flag("changes"), **params.whole)


def _thread(view: SessionView, params: Parameters) -> ThreadView:
    return view.thread(params.text("agent"))


def _export(view: SessionView, params: Parameters) -> Callable[[], Response]:
    path = view.session.path
    source = path if path is not None and file_exists(path) else view.session
    selection = Selection(thinking=not params.flag("no_thinking"), images=not params.flag("no_images"))
    headers = {"content-disposition": f'attachment; filename="{params.path["key"]}.html"'}
    return lambda: StreamingResponse(session_html(open(source), selection), media_type="text/html", headers=headers)


def _picture(view: SessionView, params: Parameters) -> Response:
    owner = "call" if params.path["owner"] == "call" else "message"
    found = view.picture(owner, params.path["index"], params.path["number"], **params.agent)
    try:
        data = b64decode(found.data or "", validate=True)
    except (binascii.Error, ValueError):
        raise NotFound("This image is not valid base64.") from None
    media_type = next((kind for signature, kind in IMAGE_SIGNATURES.items() if data.startswith(signature)), None)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        media_type = "image/webp"
    if media_type is None:
        raise NotFound("This image is not a PNG, JPEG, GIF or WebP.")
    return Response(data, media_type=media_type, headers={"cache-control": "private, max-age=3600"})


SESSION_ROUTES: dict[str, Handler] = {
    "": _overview,
    "/items": lambda view, p: view.page(*p.slice(50, MAX_ITEMS), **p.thread._asdict(), **p.whole),
    "/outline": lambda view, p: view.outline(*p.slice(500, MAX_TURNS), **p.thread._asdict()),
    "/calls/{index:number}": lambda view, p: view.call(p.path["index"], **p.agent, **p.whole),
    "/lines": lambda view, p: view.lines(**p.place, **p.whole),
    "/place": lambda view, p: view.place(**p.place, turn=p.number("turn"), branch=p.thread.branch),
    "/search": _search,
    "/filter": _filter,
    "/markdown": _markdown,
    "/usage": lambda view, p: view.usage(*p.thread),
    "/context": _context,
    "/requests": lambda view, p: list_requests(_thread(view, p), *p.slice(MAX_REQUESTS, MAX_REQUESTS)),
    "/requests/{number:number}": _request,
    "/waterfall": lambda view, p: view.waterfall(*p.thread),
    "/problems": lambda view, p: view.problems(),
    "/files": lambda view, p: list_changed_files(view.session),
    "/files/{file:number}/{version:number}": lambda view, p: version_body(
        view.session, p.path["file"], p.path["version"], **p.whole
    ),
    "/files/{file:number}/diff": lambda view, p: file_diff(view.session, p.path["file"]),
    "/files/{file:number}/blame": lambda view, p: file_blame(view.session, p.path["file"]),
    "/export": _export,
    "/pictures/{owner}/{index:number}/{number:number}": _picture,
}
"""The handlers below a session's address."""


@dataclass(frozen=True, slots=True)
class LibraryRoute:
    """What an address that is not about one open session answers."""

    threads: ThreadLimit
    answer: Callable[[Parameters], Any]
    """Returns a value to encode, or a response."""
    change: Callable[[Parameters, Any], Any] | None = None
    """The same after a POST, from the JSON that was sent; None if there is none."""


def make_app(library: SessionLibrary, given: Mapping[str, Any] | None = None) -> Starlette:
    """Return the server's application, without the guard; `given` is what options of add-ons say to their routes."""
    reviews = ShareReviews(library.find)
    open_sessions = OpenSessions(library.find, library.roots, library.pause_counting)
    library_search = SearchService(library)
    answers = AnswerCache(library)
    library_threads, search_threads, usage_threads = ThreadLimit(8), ThreadLimit(4), ThreadLimit(4)

    def session_endpoint(handler: Handler) -> Callable[[Request], Any]:
        def handle(session: OpenSession, params: Parameters) -> Any:
            with session.locked_view() as view:
                value = handler(view, params)
            if isinstance(value, Generator):
                value = session.run_in_slices(cast(Steps[Any], value))
            return value() if callable(value) and not isinstance(value, Response) else value

        async def endpoint(request: Request) -> Response:
            params = Parameters(request)
            session = await library_threads.run(open_sessions.get, params.path["key"])
            await session.loaded()
            return _answer(params, await session.threads.run(handle, session, params))

        return endpoint

    def library_endpoint(route: LibraryRoute) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            params = Parameters(request)
            if route.change is not None and request.method == "POST":
                return _answer(params, await route.threads.run(route.change, params, await _body(request)))
            return _answer(params, await route.threads.run(route.answer, params))

        return endpoint

    def listing(params: Parameters) -> Library:
        return msgspec.structs.replace(library.listing(), filters=report_filters())

    def count_first(params: Parameters) -> Any:
        library.count_first(params.words("keys"))
        return {}

    def search(params: Parameters) -> LibrarySearch:
        newest = params.text("order") == NEWEST
        count, start = params.number("count"), params.number("start") or 0
        return library_search.search(params.text("q") or "", start=start, count=count, newest=newest)

    def report(params: Parameters) -> Response:
        query = {**params.query, **({GUEST: "1"} if params.is_guest else {})}
        found = report_of(params.path["name"])
        content = answers.answer(found.answer, query) if found.lasts else jsontext.dumps(found.answer(library, query))
        return Response(content, media_type="application/json")

    def share_document(params: Parameters) -> Response:
        key = params.path["key"]
        if params.flag("preview"):  # as the other will open it: a page of its own, which cannot ask this server
            return Response(reviews.preview(key), media_type=MEDIA_TYPES["html"], headers=PREVIEW_HEADERS)
        document, media_type, name = reviews.document(key, params.text("form") or "html")
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(document, media_type=media_type, headers=headers)

    def added_route(part: AddonPart) -> LibraryRoute:
        return LibraryRoute(usage_threads, lambda p: part.load()(given or {}, p.query))

    library_routes: dict[str, LibraryRoute] = {
        **{path: added_route(part) for path, part in (named_parts("guest_routes") | named_parts("routes")).items()},
        "/api/library": LibraryRoute(library_threads, listing),
        "/api/library/shown": LibraryRoute(library_threads, count_first),
        "/api/now": LibraryRoute(library_threads, lambda p: library.running.now()),
        "/api/reports/{name}": LibraryRoute(usage_threads, report),
        "/api/search": LibraryRoute(search_threads, search),
        "/api/setup": LibraryRoute(library_threads, lambda p: read_setup(library)),
        "/api/settings": LibraryRoute(
            library_threads, lambda p: read_reader_settings(), lambda p, body: change_reader_settings(body)
        ),
        "/api/sessions/{key}/annotation": LibraryRoute(
            library_threads,
            lambda p: library.annotation(p.path["key"]),
            lambda p, body: library.annotate(p.path["key"], body),
        ),
        "/api/sessions/{key}/review": LibraryRoute(
            usage_threads, lambda p: library_review(library, p.path["key"], p.query)
        ),
        "/api/sessions/{key}/compare/{other}": LibraryRoute(
            usage_threads, lambda p: library_comparison(library, p.path["key"], p.path["other"])
        ),
        "/api/sessions/{key}/share": LibraryRoute(
            usage_threads,
            lambda p: reviews.review(p.path["key"]),
            lambda p, body: reviews.change(p.path["key"], body),
        ),
        "/api/sessions/{key}/share/document": LibraryRoute(usage_threads, share_document),
    }

    async def library_events(request: Request) -> Response:
        await search_threads.run(library_search.prepare)  # a browser is here, and may search
        listener: Listener[None] = Listener(None)
        if request.scope.get(GUEST):
            return event_stream(without_rows(library.bus.stream(listener)))
        return event_stream(with_now(library.bus.stream(listener), listener))

    async def without_rows(events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Yield that something has changed, but no rows: they have the notes of whoever serves them."""
        async for event in events:
            if not event.startswith(b"event: row"):
                yield event

    async def with_now(events: AsyncIterator[bytes], listener: Listener[Any]) -> AsyncIterator[bytes]:
        """Yield events of a stream, and which sessions run: at once, and whenever that changes."""
        with library.running.bus.heard_by(listener):
            now = await library_threads.run(library.running.now)
            if now.sessions:
                yield encode_event("now", now)
            async for event in events:
                yield event

    async def session_events(request: Request) -> Response:
        params = Parameters(request)
        listener = Listener(params.thread)
        session = await library_threads.run(open_sessions.get, params.path["key"])
        events = _session_events(session, listener)
        return event_stream(events if params.is_guest else with_now(events, listener))

    routes = [
        *(
            Route(path, library_endpoint(route), methods=["GET", "POST"] if route.change is not None else None)
            for path, route in library_routes.items()
        ),
        Route("/api/events", library_events),
        Route("/api/sessions/{key}/events", session_events),
        *(Route(f"/api/sessions/{{key}}{path}", session_endpoint(handler)) for path, handler in SESSION_ROUTES.items()),
        *static_routes(given or ()),
    ]
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Compression)],
        exception_handlers={RereadError: _error_response, 404: _unknown_path},
    )
    app.state.open_sessions = open_sessions
    app.state.library = library
    app.state.library_search = library_search
    return app


async def _body(request: Request) -> Any:
    """Return the JSON that a request sends; raise Misuse as soon as it is too large."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST_BODY:
            raise Misuse(f"Invalid request; send at most {LARGEST_BODY >> 20} MB.")
    try:
        return jsontext.loads(body)
    except ValueError:
        raise Misuse("Invalid request; send JSON.") from None


async def _session_events(session: OpenSession, listener: Listener[ThreadKey]) -> AsyncIterator[bytes]:
    """Yield progress while the file is read, then the state of the session, then its changes."""
    while not session.is_loaded:
        yield encode_event("opening", session.progress)
        await asyncio.sleep(PROGRESS_SECONDS)
    try:
        await session.threads.run(session.listen, listener)
    except RereadError:  # any other request for this session returns the error
        return
    async for event in session.bus.stream(listener):
        yield event


def json_response(value: Any, status: int = 200) -> Response:
    """Return a value as JSON."""
    return Response(jsontext.dumps(value), status, media_type="application/json")


def _answer(params: Parameters, value: Any) -> Response:
    """Return a value as JSON, for people whom a proxy has signed in without what is the server's own."""
    if isinstance(value, Response):
        return value
    if params.is_guest:
        if isinstance(value, Library):
            value = msgspec.structs.replace(value, roots=[], sessions=[_without_note(row) for row in value.sessions])
        elif isinstance(value, LibrarySearch):
            value = msgspec.structs.replace(value, titles=[_without_note(row) for row in value.titles])
        elif isinstance(value, Overview | RawLines):
            value = msgspec.structs.replace(value, path=None)
        elif isinstance(value, ReaderSettings):
            value = ReaderSettings()
    return json_response(value)


def _without_note(row: LibraryRow) -> LibraryRow:
    return msgspec.structs.replace(row, starred=False, note="", tags=[])


def event_stream(events: AsyncIterator[bytes]) -> Response:
    """Return encoded events as a stream of server-sent events."""
    return StreamingResponse(events, media_type="text/event-stream")


async def _error_response(request: Request, error: Exception) -> Response:
    status = 400 if isinstance(error, Misuse) else 409 if isinstance(error, Undecided) else 404
    return json_response({"error": str(error)}, status)


async def _unknown_path(request: Request, error: Exception) -> Response:
    if request.url.path.startswith("/api/"):
        return json_response({"error": "There is nothing at this address."}, 404)
    sheets = [f'<link rel="stylesheet" href="/assets/{path.name}">' for path in STATIC.glob("assets/*.css")]
    return HTMLResponse(NOT_FOUND.format(styles="".join(sheets)), 404)
