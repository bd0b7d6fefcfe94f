"""The request guard, called directly: the HTTP parser rejects some of these requests before the guard sees them."""

from typing import Any

import pytest
from batches import table
from limits import run_async
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from reread.errors import Misuse
from reread.server.guard import HEADERS, Guard, SignIn, new_token
from reread.server.run import serve

HOST, OTHER_HOST = ("host", "127.0.0.1:7373"), ("host", "evil.example")


async def page(scope: Scope, receive: Receive, send: Send) -> None:
    """A page that sets a caching policy only for pictures."""
    headers = {"cache-control": "max-age=60"} if scope["path"] == "/picture" else {}
    await PlainTextResponse("page", headers=headers)(scope, receive, send)


def request(
    *headers: tuple[str, str],
    path: str = "/",
    query_string: bytes = b"",
    page: Any = page,
    method: str = "GET",
    peer: str | None = "127.0.0.1",
    **options: Any,
) -> tuple[int, Headers]:
    """Send a request to a guarded page; return the status and the headers of the response."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    async def send(message: Message) -> None:
        sent.append(message)

    raw = [(name.encode(), value.encode()) for name, value in headers]
    scope = {"type": "http", "method": method, "path": path, "query_string": query_string, "headers": raw}
    scope["client"] = None if peer is None else (peer, 999)
    run_async(Guard(page, **{"port": 7373, **options})(scope, receive, send))
    return sent[0]["status"], Headers(raw=sent[0]["headers"])


def test_one_known_host_is_answered() -> None:
    assert request(HOST)[0] == 200


@pytest.mark.parametrize("hosts", [[], [HOST, HOST], [HOST, OTHER_HOST], [OTHER_HOST, HOST]])
def test_no_host_or_several_are_rejected(hosts: list[tuple[str, str]]) -> None:
    assert request(*hosts)[0] == 403


def test_every_origin_must_be_the_own_one() -> None:
    own, other = ("origin", "http://127.0.0.1:7373"), ("origin", "http://evil.example")
    assert request(HOST, own)[0] == 200
    assert request(HOST, own, other)[0] == request(HOST, other, own)[0] == 403


def test_the_default_port_of_http_is_not_in_the_host() -> None:
    assert request(("host", "localhost"), port=80)[0] == 200
    assert request(("host", "localhost:80"), port=80)[0] == 403


def test_responses_are_not_stored_unless_a_route_says_so() -> None:
    assert request(HOST)[1]["cache-control"] == "no-store"
    assert request(HOST, path="/picture")[1]["cache-control"] == "max-age=60"


def test_the_cookie_of_another_server_on_this_host_is_not_used() -> None:
    assert request(HOST, ("cookie", "reread_7373=sesame"), path="/api/library", token="sesame")[0] == 200
    assert request(HOST, ("cookie", "reread_7374=sesame"), path="/api/library", token="sesame")[0] == 401


def test_a_malformed_cookie_is_rejected() -> None:
    assert request(HOST, ("cookie", "a,b=1; reread_7373=sesame"), path="/api/library", token="sesame")[0] == 401


def test_only_the_page_itself_needs_no_token() -> None:
    paths = ("/", "/assets/index.js", "/api/library", "/api/", "/assets", "//", "/x", "/?")
    answered = [path for path in paths if request(HOST, path=path, token="sesame")[0] == 200]
    assert answered == ["/", "/assets/index.js"]


def test_a_wrong_token_is_told_even_if_the_page_needs_none() -> None:
    for query in (b"token=guess", b"token="):
        assert request(HOST, token="sesame", query_string=query)[0] == 401
    assert request(HOST, token="sesame", query_string=b"token=sesame&a=")[1]["location"] == "/?a="


def test_the_token_becomes_a_cookie_that_no_script_and_no_other_site_can_use() -> None:
    status, headers = request(HOST, token="sesame", path="//evil.example/x", query_string=b"token=sesame&a=b")
    assert (status, headers["location"]) == (303, "/evil.example/x?a=b")
    assert headers["set-cookie"] == "reread_7373=sesame; HttpOnly; Path=/; SameSite=strict"


async def broken(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["path"] == "/late":
        await send({"type": "http.response.start", "status": 200, "headers": []})
    raise ValueError("a\x1b[2Jb")


@pytest.mark.parametrize(("path", "status"), [("/soon", 500), ("/late", 200)])
def test_a_failure_is_one_line_on_the_console(path: str, status: int, caplog: pytest.LogCaptureFixture) -> None:
    assert request(HOST, path=path, page=broken)[0] == status
    (record,) = caplog.records
    assert record.exc_info is None
    assert record.getMessage() == f"GET '{path}' failed: ValueError('a\\x1b[2Jb')"


def test_an_answer_that_has_begun_is_not_begun_again() -> None:
    sent: list[str] = []

    async def send(message: Message) -> None:
        sent.append(message["type"])

    async def receive() -> Message:
        return {"type": "http.request"}

    headers = [(b"host", b"127.0.0.1:7373")]
    scope = {"type": "http", "method": "GET", "path": "/late", "query_string": b"", "headers": headers}
    run_async(Guard(broken, port=7373)(scope, receive, send))
    assert sent == ["http.response.start"]


def test_only_the_own_page_may_send_decisions_and_only_about_sharing() -> None:
    own, other = ("origin", "http://127.0.0.1:7373"), ("origin", "http://evil.example")
    json, form = ("content-type", "application/json"), ("content-type", "text/plain")
    address = "/api/sessions/abc/share"
    assert request(HOST, own, json, path=address, method="POST")[0] == 200
    assert request(HOST, own, json, path=address, method="POST", token="t")[0] == 401
    assert request(HOST, other, json, path=address, method="POST")[0] == 403
    assert request(HOST, json, path=address, method="POST")[0] == 405
    assert request(HOST, own, form, path=address, method="POST")[0] == 405
    assert request(HOST, own, json, path="/api/sessions/abc", method="POST")[0] == 405
    assert request(HOST, own, json, path=address, method="DELETE")[0] == 405


def test_a_proxy_signs_people_in() -> None:
    def ask(peer: str, *headers: tuple[str, str], sign_in: SignIn | None, method: str = "GET") -> int:
        address = "/api/settings"
        return request(HOST, *headers, path=address, token="sesame", peer=peer, sign_in=sign_in, method=method)[0]

    own, far = SignIn("X-Forwarded-User"), SignIn("X-Forwarded-User", ("10.0.0.7",))
    ann, ben = ("x-forwarded-user", "ann"), ("x-forwarded-user", "ben")
    for peer, sign_in in (("127.0.0.1", own), ("::1", own), ("10.0.0.7", far)):
        assert ask(peer, ann, sign_in=sign_in) == 200
    posted = (("origin", "http://127.0.0.1:7373"), ("content-type", "application/json"))
    assert ask("127.0.0.1", ann, *posted, sign_in=own, method="POST") == 403, "only who has the token changes anything"
    for peer, headers, sign_in in (
        ("10.0.0.8", [ann], own),
        ("10.0.0.8", [ann], far),
        ("127.0.0.1", [ann], far),
        ("127.0.0.1", [ann], None),
        ("127.0.0.1", [ann, ben], own),
        ("127.0.0.1", [("x-forwarded-user", " ")], own),
        ("127.0.0.1", [("x-forwarded-user", "a" * 201)], own),
        ("127.0.0.1", [("x-user", "ann")], own),
        ("proxy", [ann], own),
        ("", [ann], own),
    ):
        assert ask(peer, *headers, sign_in=sign_in) == 401, (peer, headers)
    for name in ("a", "a" * 200, f" {'a' * 200} "):
        assert ask("127.0.0.1", ("x-forwarded-user", name), sign_in=own) == 200, name
    signed = {"path": "/api/settings", "token": "sesame", "sign_in": own}
    assert request(HOST, ann, query_string=b"token=guess", **signed)[0] == 401, "a wrong token is told"
    assert request(HOST, ann, query_string=b"token=sesame", **signed)[0] == 303
    assert request(HOST, ann, peer=None, **signed)[0] == 401
    with pytest.raises(Misuse, match="--sign-in HEADER@ADDRESS"):
        serve(host="0.0.0.0", sign_in=own)


def test_what_is_no_request_is_passed_on_unchecked() -> None:
    passed: list[Any] = []

    async def app(*given: Any) -> None:
        passed.append(given)

    run_async(Guard(app, port=7373, token="sesame")({"type": "lifespan"}, 1, 2))  # type: ignore[arg-type]
    assert passed == [({"type": "lifespan"}, 1, 2)]


def test_a_token_cannot_be_guessed() -> None:
    assert len({new_token() for _ in range(50)}) == 50 and {len(new_token()) for _ in range(9)} == {32}


VISIT = (("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document"))


@table(
    ("site", "more", "path", "status"),
    [
        (None, (), "/api/library", 200),
        ("none", (), "/api/library", 200),
        ("same-origin", (), "/api/library", 200),
        ("cross-site", (), "/api/library", 403),
        ("same-site", (), "/", 403),
        ("cross-site", VISIT, "/", 200),
        ("cross-site", VISIT, "/api/library", 403),
        ("cross-site", VISIT[:1], "/", 403),
        ("cross-site", VISIT[1:], "/", 403),
    ],
)
def test_another_site_may_only_lead_to_the_page(
    site: str | None, more: tuple[tuple[str, str], ...], path: str, status: int
) -> None:
    sent = () if site is None else (("sec-fetch-site", site),)
    assert request(HOST, *sent, *more, path=path)[0] == status


@table(
    ("headers", "query", "path", "status"),
    [
        ([], b"", "/api/library", 401),
        ([("authorization", "Bearer sesame")], b"", "/api/library", 200),
        ([("authorization", "sesame")], b"", "/api/library", 200),
        ([("authorization", "Bearer guess")], b"", "/api/library", 401),
        ([("authorization", "Bearer \xe9")], b"", "/api/library", 401),
        ([("authorization", "")], b"", "/api/library", 401),
        ([("cookie", "reread_7373=sesame; a=b")], b"", "/api/library", 200),
        ([("cookie", "a=b")], b"", "/api/library", 401),
        ([("cookie", "reread_7373=sesame")], b"token=guess", "/api/library", 401),
        ([("authorization", "Bearer sesame")], b"token=guess", "/api/library", 401),
        ([("authorization", "Bearer guess"), ("cookie", "reread_7373=sesame")], b"", "/api/library", 200),
        ([], b"token=guess", "/", 401),
        ([], b"token=guess", "/assets/x.js", 401),
        ([], b"a=token", "/assets/x.js", 200),
        ([], b"token=guess&token=sesame", "/", 401),
    ],
)
def test_the_token_is_a_bearer_a_cookie_or_in_the_address(
    headers: list[tuple[str, str]], query: bytes, path: str, status: int
) -> None:
    assert request(HOST, *headers, path=path, query_string=query, token="sesame")[0] == status


def test_without_a_token_none_is_looked_at() -> None:
    assert request(HOST, path="/api/library", query_string=b"token=old")[0] == 200


def test_a_token_alone_leaves_no_query_behind() -> None:
    status, headers = request(HOST, token="sesame", path="/x", query_string=b"token=sesame")
    assert (status, headers["location"]) == (303, "/x")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "POST"])
def test_other_methods_are_refused_with_those_that_are_allowed(method: str) -> None:
    status, headers = request(HOST, method=method)
    assert (status, headers["allow"]) == (405, "GET, HEAD")
    assert request(HOST, method="HEAD")[0] == 200


def test_hosts_are_compared_without_case_and_each_answer_has_the_headers() -> None:
    for host in ("LOCALHOST:7373", "[::1]:7373", "Reader.Example:7373"):
        status, headers = request(("host", host), ("origin", f"http://{host.lower()}"), hosts=["reader.EXAMPLE"])
        assert status == 200 and {name: headers[name] for name in HEADERS} == HEADERS
    assert request(("host", "LOCALHOST"), port=80)[0] == 200
    assert request(("host", "localhost:81"), port=81)[0] == 200 and request(("host", "localhost"), port=81)[0] == 403
    status, headers = request(OTHER_HOST)
    assert status == 403 and {name: headers[name] for name in HEADERS} == HEADERS


def test_a_long_address_is_not_printed_whole(caplog: pytest.LogCaptureFixture) -> None:
    assert request(HOST, path=f"/{'a' * 300}", page=broken)[0] == 500
    assert f"GET '/{'a' * 199}' failed" in caplog.records[0].getMessage()
