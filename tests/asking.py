"""Ask the server's application without a network."""

import asyncio
import json
from typing import Any, NamedTuple

from limits import run_async


class Answer(NamedTuple):
    """The response to a request."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def value(self) -> Any:
        """The JSON of it."""
        return json.loads(self.body)


def ask(app: Any, path: str, query: str = "", *, send: Any = None, **scope: Any) -> Answer:
    """Return the answer to a request for a path; what is sent is JSON."""
    sent: list[Any] = []

    requests = [{"type": "http.request", "body": b"" if send is None else json.dumps(send).encode()}]

    async def receive() -> Any:
        if not requests:  # the client stays
            await asyncio.Event().wait()
        return requests.pop()

    async def collect(message: Any) -> None:
        sent.append(message)

    method = "GET" if send is None else "POST"
    about = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": []}
    run_async(app({**about, "root_path": "", **scope}, receive, collect))
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], headers, b"".join(message.get("body", b"") for message in sent))
