"""The routes of the server: each returns a value as JSON, a file or a stream of events."""

from __future__ import annotations

import asyncio
import binascii
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from typing import Any, cast

import msgspec
from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.datastructures import QueryParams
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from reread.base import jsontext
from reread.base.addons import named_parts
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
from reread.reader.thread_view import Steps
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
    """The path and query parameters of a request about a session."""

    def __init__(self, request: Request) -> None:
        self.query: QueryParams = request.query_params
        self.path: dict[str, Any] = request.path_params
        self.thread: ThreadKey = ThreadKey(self.text("agent"), self.number("branch"))

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


Handler = Callable[[SessionView, Parameters], Any]
"""Returns a value to encode, a response, steps to run in slices, or a function to call once the lock is released."""


def _overview(view: SessionView, params: Parameters) -> Any:
    if params.flag("brief") and view.takes_a_while_to_count:
        return view.overview(*params.thread)
    return view.counted_overview(*params.thread)


def _items(view: SessionView, params: Parameters) -> Any:
    agent, branch = params.thread
    count = min(params.number("count") or 50, MAX_ITEMS)
    return view.page(params.number("start") or 0, count, agent=agent, branch=branch, whole=params.flag("whole"))


def _outline(view: SessionView, params: Parameters) -> Any:
    agent, branch = params.thread
    count = min(params.number("count") or 500, MAX_TURNS)
    return view.outline(params.number("start") or 0, count, agent=agent, branch=branch)


def _call(view: SessionView, params: Parameters) -> Any:
    return view.call(params.path["index"], agent=params.thread.agent, whole=params.flag("whole"))


def _lines(view: SessionView, params: Parameters) -> Any:
    return view.lines(
        message=params.text("message"),
        call=params.text("call"),
        line=params.number("line"),
        agent=params.thread.agent,
        whole=params.flag("whole"),
    )


def _place(view: SessionView, params: Parameters) -> Any:
    agent, branch = params.thread
    return view.place(
        message=params.text("message"),
        call=params.text("call"),
        line=params.number("line"),
        turn=params.number("turn"),
        agent=agent,
        branch=branch,
    )


def _search(view: SessionView, params: Parameters) -> Any:
    query = params.text("q")
    if query is None:
        raise Misuse("Missing query parameter q; set it to the text to find.")
    agent, branch = params.thread
    return search_session(
        view, query, _item_filter(params), start=params.number("start") or 0, agent=agent, branch=branch
    )


def _filter(view: SessionView, params: Parameters) -> Any:
    agent, branch = params.thread
    count = min(params.number("count") or MAX_MATCHES, MAX_MATCHES)
    return filter_items(
        view, _item_filter(params), start=params.number("start") or 0, count=count, agent=agent, branch=branch
    )


def _item_filter(params: Parameters) -> ItemFilter:
    return ItemFilter(params.words("kinds"), params.words("tools"), params.flag("errors"), params.flag("stopped"))


def _markdown(view: SessionView, params: Parameters) -> Response:
    agent, branch = params.thread
    text = view.markdown(message=params.text("message"), turn=params.number("turn"), agent=agent, branch=branch)
    return Response(text, media_type="text/markdown")


def _usage(view: SessionView, params: Parameters) -> Any:
    return view.usage(*params.thread)


def _context(view: SessionView, params: Parameters) -> Any:
    agent = params.thread.agent
    turn, request = params.number("turn"), params.number("request")
    return request_context(view.thread(agent), turn=turn, request=request, agent=agent)


def _requests(view: SessionView, params: Parameters) -> Any:
    count = min(params.number("count") or MAX_REQUESTS, MAX_REQUESTS)
    return list_requests(view.thread(params.thread.agent), params.number("start") or 0, count)


def _request(view: SessionView, params: Parameters) -> Any:
    thread = view.thread(params.thread.agent)
    return request_body(thread, params.path["number"], changes=params.flag("changes"), whole=params.flag("whole"))


def _waterfall(view: SessionView, params: Parameters) -> Any:
    return view.waterfall(*params.thread)


def _export(view: SessionView, params: Parameters) -> Callable[[], Response]:
    path = view.session.path
    source = path if path is not None and file_exists(path) else view.session
    selection = Selection(thinking=not params.flag("no_thinking"), images=not params.flag("no_images"))
    headers = {"content-disposition": f'attachment; filename="{params.path["key"]}.html"'}
    return lambda: StreamingResponse(session_html(open(source), selection), media_type="text/html", headers=headers)


def _problems(view: SessionView, params: Parameters) -> Any:
    return view.problems()


def _files(view: SessionView, params: Parameters) -> Any:
    return list_changed_files(view.session)


def _file_version(view: SessionView, params: Parameters) -> Any:
    whole = params.flag("whole")
    return version_body(view.session, params.path["file"], params.path["version"], whole=whole)


def _file_diff(view: SessionView, params: Parameters) -> Any:
    return file_diff(view.session, params.path["file"])


def _file_blame(view: SessionView, params: Parameters) -> Any:
    return file_blame(view.session, params.path["file"])


def _picture(view: SessionView, params: Parameters) -> Response:
    owner = "call" if params.path["owner"] == "call" else "message"
    found = view.picture(owner, params.path["index"], params.path["number"], agent=params.thread.agent)
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
    "/items": _items,
    "/outline": _outline,
    "/calls/{index:number}": _call,
    "/lines": _lines,
    "/place": _place,
    "/search": _search,
    "/filter": _filter,
    "/markdown": _markdown,
    "/usage": _usage,
    "/context": _context,
    "/requests": _requests,
    "/requests/{number:number}": _request,
    "/waterfall": _waterfall,
    "/problems": _problems,
    "/files": _files,
    "/files/{file:number}/{version:number}": _file_version,
    "/files/{file:number}/diff": _file_diff,
    "/files/{file:number}/blame": _file_blame,
    "/export": _export,
    "/pictures/{owner}/{index:number}/{number:number}": _picture,
}
"""The handlers below a session's address."""


def make_app(library: SessionLibrary, given: Mapping[str, Any] | None = None) -> Starlette:
    """Return the server's application, without the guard; `given` is what options of add-ons say to their routes."""
    reviews = ShareReviews(library.find)
    open_sessions = OpenSessions(library.find, library.roots, library.pause_counting)
    library_search = SearchService(library)
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
            session = await library_threads.run(open_sessions.get, request.path_params["key"])
            await session.loaded()
            value = await session.threads.run(handle, session, params)
            return value if isinstance(value, Response) else _answer(request, value)

        return endpoint

    async def listing(request: Request) -> Response:
        found = await library_threads.run(library.listing)
        return _answer(request, msgspec.structs.replace(found, filters=report_filters()))

    async def count_first(request: Request) -> Response:
        await library_threads.run(library.count_first, Parameters(request).words("keys"))
        return json_response({})

    async def running_now(request: Request) -> Response:
        return json_response(await library_threads.run(library.running.now))

    def search_all(request: Request) -> Any:
        params = Parameters(request)
        newest = params.text("order") == NEWEST
        count, start = params.number("count"), params.number("start") or 0
        return library_search.search(params.text("q") or "", start=start, count=count, newest=newest)

    async def search(request: Request) -> Response:
        return _answer(request, await search_threads.run(search_all, request))

    answers = AnswerCache(library)

    def report_json(name: str, query: dict[str, str]) -> bytes:
        report = report_of(name)
        return answers.answer(report.answer, query) if report.lasts else jsontext.dumps(report.answer(library, query))

    async def report(request: Request) -> Response:
        query = {**request.query_params, **({GUEST: "1"} if request.scope.get(GUEST) else {})}
        content = await usage_threads.run(report_json, request.path_params["name"], query)
        return Response(content, media_type="application/json")

    async def review(request: Request) -> Response:
        key = request.path_params["key"]
        return json_response(await usage_threads.run(library_review, library, key, dict(request.query_params)))

    async def comparison(request: Request) -> Response:
        keys = request.path_params["key"], request.path_params["other"]
        return _answer(request, await usage_threads.run(library_comparison, library, *keys))

    async def share(request: Request) -> Response:
        key = request.path_params["key"]
        if request.method != "POST":
            return json_response(await usage_threads.run(reviews.review, key))
        return json_response(await usage_threads.run(reviews.change, key, await _body(request)))

    async def annotation(request: Request) -> Response:
        key = request.path_params["key"]
        if request.method != "POST":
            return json_response(await library_threads.run(library.annotation, key))
        return json_response(await library_threads.run(library.annotate, key, await _body(request)))

    async def settings(request: Request) -> Response:
        if request.method != "POST":
            return _answer(request, await library_threads.run(read_reader_settings))
        return json_response(await library_threads.run(change_reader_settings, await _body(request)))

    async def setup(request: Request) -> Response:
        return json_response(await library_threads.run(read_setup, library))

    def make_document(request: Request) -> Response:
        params, key = Parameters(request), request.path_params["key"]
        if params.flag("preview"):  # as the other will open it: a page of its own, which cannot ask this server
            return Response(reviews.preview(key), media_type=MEDIA_TYPES["html"], headers=PREVIEW_HEADERS)
        document, media_type, name = reviews.document(key, params.text("form") or "html")
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(document, media_type=media_type, headers=headers)

    async def share_document(request: Request) -> Response:
        return await usage_threads.run(make_document, request)

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
        thread = Parameters(request).thread
        session = await library_threads.run(open_sessions.get, request.path_params["key"])
        listener = Listener(thread)
        events = _session_events(session, listener)
        return event_stream(events if request.scope.get(GUEST) else with_now(events, listener))

    added = named_parts("guest_routes") | named_parts("routes")

    async def added_route(request: Request) -> Response:
        answer = added[request.url.path].load()
        return json_response(await usage_threads.run(answer, given or {}, dict(request.query_params)))

    routes = [
        *(Route(path, added_route) for path in added),
        Route("/api/library", listing),
        Route("/api/library/shown", count_first),
        Route("/api/events", library_events),
        Route("/api/now", running_now),
        Route("/api/reports/{name}", report),
        Route("/api/search", search),
        Route("/api/sessions/{key}/events", session_events),
        Route("/api/setup", setup),
        Route("/api/settings", settings, methods=["GET", "POST"]),
        Route("/api/sessions/{key}/annotation", annotation, methods=["GET", "POST"]),
        Route("/api/sessions/{key}/review", review),
        Route("/api/sessions/{key}/compare/{other}", comparison),
        Route("/api/sessions/{key}/share", share, methods=["GET", "POST"]),
        Route("/api/sessions/{key}/share/document", share_document),
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


def _answer(request: Request, value: Any) -> Response:
    """Return a value as JSON, for people whom a proxy has signed in without what is the server's own."""
    if request.scope.get(GUEST):
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
