"""A stand-in for the Messages API, on loopback, that answers from a recorded session."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import threading
from collections.abc import AsyncIterator, Container, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from reread.addons.rerun.aside import set_aside
from reread.addons.rerun.beside import answer_beside
from reread.addons.rerun.cassette import MAIN, ApiFault, Cassette, Object, request_texts
from reread.addons.rerun.events import DELTA, cut_events, stream_events
from reread.base import jsontext
from reread.base.coerce import as_dict, as_list, as_str
from reread.reports.made_up_names import learn, renamed
from reread.session.session import Session
from reread.session.session import open as open_session
from reread.storage.safe_open import open_no_link

LARGEST_REQUEST = 256 << 20
NOT_RECORDED = (
    "[reread] The recorded session has no answer for this request: {why}. It was recorded without a further request "
    "here, so this turn ends."
)
RETRY_AT_ONCE = {"retry-after": "0", "retry-after-ms": "1"}
"""A client that is told so does not wait before it tries again."""


HELD_SECONDS = 0.05
"""How often it is looked whether an interrupted client has closed its connection."""


class SessionPlayer(Protocol):
    """Who plays a session, and does what a person did while an answer was on its way."""

    def at_answer(self, number: int) -> None:
        """Take note that an answer of the main thread is about to be given."""

    def interrupt(self, pieces: int) -> None:
        """Interrupt the client, once it has got so many pieces of the answer."""


class AskedRequest(msgspec.Struct, eq=False):
    """A request that a client sent."""

    number: int
    """Its position among those that were sent, from 1."""
    body: dict[str, Any]
    headers: dict[str, str]
    thread: str | None = None
    """The thread that it belongs to: an agent's id, empty for the main thread; None beside the conversation."""
    place: int | None = None
    """The number of the recorded answer in that thread, from 0."""
    answer: dict[str, Any] | None = None
    """The message that was answered; None if it was an error."""
    fault: ApiFault | None = None
    recorded: bool = False
    """True if the answer, or the error, is one of the record."""
    is_cut: bool = False
    """True if the client was interrupted while the answer came, or before it did."""


class FakeApi:
    """The stand-in, while it runs. Give its `url` to a client as `ANTHROPIC_BASE_URL`, with any key."""

    def __init__(self, session: Session) -> None:
        self.session: Session = session
        self.cassette: Cassette = Cassette(session)
        self.requests: list[AskedRequest] = []
        """What was asked, in order."""
        self.others: list[str] = []
        """Requests for anything but messages, each as `GET /path`."""
        self.token: str = secrets.token_hex(16)
        """The beginning of every path: who does not know it gets nothing."""
        self.player: SessionPlayer | None = None
        """Who is told of what happened while an answer came; without one, every answer is given to its end."""
        self.aside: Container[str] = ()
        """The files that lie under another name where the client runs."""
        self._failed: dict[tuple[str, int], int] = {}
        self._names: dict[str, str] = {}
        """What the client calls now what the record calls otherwise."""
        self._learned: set[str] = set()
        self._lock = threading.Lock()
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self._port = 0

    @property
    def url(self) -> str:
        """The address, for `ANTHROPIC_BASE_URL`."""
        return f"http://127.0.0.1:{self._port}/{self.token}"

    @property
    def unrecorded(self) -> list[AskedRequest]:
        """The requests of the conversation that the record has no answer for."""
        return [one for one in self.requests if one.thread is not None and not one.recorded]

    def start(self, path: Path | None = None) -> Self:
        """Begin to answer, on a port of loopback, or on a socket in a folder."""
        if path is None:
            listening = socket.socket()
            listening.bind(("127.0.0.1", 0))
            self._port = listening.getsockname()[1]
        else:
            listening = _listening_at(path)
        config = uvicorn.Config(
            self._app(), log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=1, ws="none"
        )
        server = self._server = uvicorn.Server(config)
        thread = self._thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            thread.join(0.005)
        return self

    def stop(self) -> None:
        """Answer no more, and end connections."""
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join()
            self._server = self._thread = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.start)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.stop)

    def answer(self, body: Object, headers: dict[str, str] | None = None) -> AskedRequest:
        """Return the answer to a request, and note both."""
        with self._lock:
            asked = AskedRequest(len(self.requests) + 1, body, headers or {})
            self.requests.append(asked)
        messages = [as_dict(one) for one in as_list(body.get("messages"))]
        beside = answer_beside(body, messages, self.cassette)
        if beside is not None:
            asked.answer = _message(body, [{"type": "text", "text": beside}] if isinstance(beside, str) else beside)
            return asked
        found = self.cassette.find(messages)
        if found is None:
            asked.answer = _missing(body, "it belongs to none of its threads")
            asked.thread = "" if body.get("tools") else None
            return asked
        asked.thread, asked.place = found
        thread = self.cassette.threads[asked.thread]
        if self.player is not None and thread.is_cut(asked.place, messages):
            asked.recorded = asked.is_cut = True
            return asked
        if self.player is not None and asked.thread == MAIN:
            self.player.at_answer(asked.place)
        recorded = self.cassette.take(*found)
        if recorded is None:
            asked.answer = _missing(body, "the record of this thread ends before it")
            return asked
        asked.recorded = True
        with self._lock:
            tried = self._failed.get(found, 0)
            if tried < len(recorded.faults):
                self._failed[found] = tried + 1
                asked.fault = recorded.faults[tried]
                return asked
        asked.is_cut = self.player is not None and thread.is_partial(asked.place)
        asked.answer = self._renamed(recorded.message, messages)
        if asked.answer is None:
            asked.fault = recorded.faults[-1]
        return asked

    def _renamed(self, message: Object | None, messages: list[Object]) -> Object | None:
        """Return a message with the names that the client has made up in this run, as the results of its calls say."""
        for block in (as_dict(block) for one in messages for block in as_list(one.get("content"))):
            id = as_str(block.get("tool_use_id"))
            if id is not None and id in self.cassette.told and id not in self._learned:
                self._learned.add(id)
                learn(self.cassette.told[id], "\n".join(request_texts(block)), self._names)
        message = set_aside(message, self.aside) if message is not None and self.aside else message
        if message is None or not self._names:
            return message
        said = jsontext.dumps(message).decode("utf-8", "surrogatepass")
        return as_dict(jsontext.loads_clean(renamed(said, self._names).encode("utf-8", "surrogatepass")))

    def _app(self) -> Starlette:
        top = f"/{self.token}"
        return Starlette(
            routes=[
                Route(f"{top}/v1/messages", self._messages, methods=["POST"]),
                Route(f"{top}/v1/messages/count_tokens", self._count, methods=["POST"]),
                Route("/{path:path}", self._other, methods=["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"]),
            ]
        )

    async def _messages(self, request: Request) -> Response:
        body = await _body(request)
        if body is None:
            return JSONResponse(ApiFault(400, "invalid_request_error", "The body is no JSON object.").body, 400)
        asked = self.answer(body, dict(request.headers))
        head = {"request-id": f"req_reread{asked.number:014}", "anthropic-organization-id": "reread"}
        if asked.fault is not None:
            again = RETRY_AT_ONCE if asked.fault.status in (408, 409, 429) or asked.fault.status >= 500 else {}
            return JSONResponse(asked.fault.body, asked.fault.status, head | again)
        if asked.is_cut and self.player is not None and body.get("stream"):
            events = cut_events(asked.answer) if asked.answer is not None else []
            pieces = sum(DELTA in one for one in events) if asked.thread == MAIN else 0
            cut = _held(request, events, self.player, pieces)
            return StreamingResponse(cut, media_type="text/event-stream", headers=head)
        message = asked.answer or {}
        if body.get("stream"):
            return StreamingResponse(stream_events(message), media_type="text/event-stream", headers=head)
        return Response(jsontext.dumps(message), media_type="application/json", headers=head)

    async def _count(self, request: Request) -> Response:
        return JSONResponse({"input_tokens": max(1, len(await request.body()) // 4)})

    async def _other(self, request: Request) -> Response:
        if request.method == "HEAD" and request.url.path in (f"/{self.token}", f"/{self.token}/"):
            return Response()
        self.others.append(f"{request.method} {request.url.path.removeprefix(f'/{self.token}')}")
        return JSONResponse(ApiFault(404, "not_found_error", "The stand-in answers messages only.").body, 404)


def fake_api(session: Session | str | Path) -> FakeApi:
    """Answer as the Messages API did in a recorded session, on an address of this machine.

    Use it with `with` or `async with`, and give its `url` to whatever talks to the API as `ANTHROPIC_BASE_URL`, with
    any key. A request is answered by its place in the conversation; what was not recorded gets an answer that says so.
    """
    return FakeApi(session if isinstance(session, Session) else open_session(session))


def _listening_at(path: Path) -> socket.socket:
    """Return a socket in a folder, however long its path is: the system takes 107 bytes."""
    folder = open_no_link(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    listening = socket.socket(socket.AF_UNIX)
    try:
        listening.bind(f"/proc/self/fd/{folder}/{path.name}")
    except OSError:
        listening.close()
        raise
    finally:
        os.close(folder)
    return listening


async def _held(request: Request, events: Sequence[bytes], player: SessionPlayer, pieces: int) -> AsyncIterator[bytes]:
    """Yield the events of an answer that was interrupted, and hold it until the client has closed the connection."""
    for one in events:
        yield one
    player.interrupt(pieces)
    while not await request.is_disconnected():
        await asyncio.sleep(HELD_SECONDS)


async def _body(request: Request) -> Object | None:
    pieces: list[bytes] = []
    size = 0
    async for piece in request.stream():
        pieces.append(piece)
        size += len(piece)
        if size > LARGEST_REQUEST:
            return None
    try:
        value: Any = jsontext.loads_clean(b"".join(pieces))
    except ValueError:
        return None
    return as_dict(value) or None


def _message(body: Object, content: list[Object]) -> Object:
    """Return a message that was not recorded."""
    return {
        "id": f"msg_reread{secrets.token_hex(7)}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": content,
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 1,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 1,
        },
    }


def _missing(body: Object, why: str) -> Object:
    return _message(body, [{"type": "text", "text": NOT_RECORDED.format(why=why)}])
