"""The stand-in for the API: every recorded answer at its place, as the API sends it, and nobody else is answered."""

import asyncio
import json
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from batches import each
from making import answer, read, reply, result, system, told, use, user
from test_real_client import TRANSCRIPTS, name, session_of

import reread
from reread.addons.rerun.cassette import RecordedThread, summary_in
from reread.addons.rerun.events import DELTA, stream_events
from reread.addons.rerun.fake_api import FakeApi

Object = dict[str, Any]
TOOLS = [{"name": "Bash"}]


def asked(messages: list[Object], **more: Any) -> Object:
    return {"model": "claude-x", "max_tokens": 100, "messages": messages, "tools": TOOLS, **more}


def as_told(thread: RecordedThread, message: Object) -> list[Object]:
    """What a client says after a message: the results of its calls."""
    said = {call.id: call.tool_call.text for call in thread.conversation.calls}
    return [
        {"type": "tool_result", "tool_use_id": block["id"], "content": [{"type": "text", "text": said[block["id"]]}]}
        for block in message["content"]
        if block.get("type") == "tool_use"
    ]


def play(api: FakeApi, thread: RecordedThread) -> Iterator[tuple[Any, Any]]:
    """Speak to the stand-in as a client that plays a thread; yield each answer with the recorded one."""
    messages: list[Object] = []
    prompts = {turn.index: turn.prompt.full_text for turn in thread.conversation.turns if turn.prompt is not None}
    for turn, answers in groupby(thread.answers, key=lambda one: one.turn):
        first = thread.first_prompts[0] if not messages else "Go on"
        messages.append({"role": "user", "content": prompts.get(turn) or first})
        for recorded in answers:
            for fault in recorded.faults:
                yield api.answer(asked(messages)).fault, fault
            if recorded.message is None:
                continue
            given = api.answer(asked(messages)).answer
            yield given, recorded.message
            messages.append({"role": "assistant", "content": recorded.message["content"]})
            results = as_told(thread, recorded.message)
            messages += [{"role": "user", "content": results}] if results else []


@each("path", TRANSCRIPTS, ids=name)
def test_every_recorded_answer_is_given_at_its_place(path: Path) -> None:
    api = FakeApi(session_of(path))
    for thread in api.cassette.threads.values():
        if thread.begins([{"role": "user", "content": prompt} for prompt in thread.first_prompts]):
            for given, recorded in play(api, thread):
                assert given == recorded, thread.name
    assert not any(one.thread is None for one in api.requests)


def events_of(message: Object) -> list[Object]:
    chunks = b"".join(stream_events(message)).decode("utf-8", "replace").strip().split("\n\n")
    events = [json.loads(chunk.partition("\ndata: ")[2]) for chunk in chunks]
    assert [event["type"] for event in events] == [chunk.split("\n")[0].removeprefix("event: ") for chunk in chunks]
    return events


def joined(events: list[Object]) -> Object:
    """Put a streamed message together as a client of the API does, with nothing but the rules of its protocol."""
    message: Object = {}
    texts: list[str] = []
    for event in events:
        match event["type"]:
            case "message_start":
                message = event["message"]
            case "content_block_start":
                message["content"].append(event["content_block"])
                texts = []
            case "content_block_delta":
                block, delta = message["content"][event["index"]], event["delta"]
                match delta["type"]:
                    case "text_delta":
                        block["text"] += delta["text"]
                    case "thinking_delta":
                        block["thinking"] += delta["thinking"]
                    case "signature_delta":
                        block["signature"] += delta["signature"]
                    case "input_json_delta":
                        texts.append(delta["partial_json"])
                    case "citations_delta":
                        block.setdefault("citations", []).append(delta["citation"])
            case "content_block_stop" if texts:
                message["content"][event["index"]]["input"] = json.loads("".join(texts))
            case "message_delta":
                message |= event["delta"]
                message["usage"] |= event["usage"]
    assert events[-1]["type"] == "message_stop"
    return message


@each("path", TRANSCRIPTS, ids=name)
def test_a_streamed_answer_is_the_answer(path: Path) -> None:
    api = FakeApi(session_of(path))
    for recorded in (one.message for thread in api.cassette.threads.values() for one in thread.answers):
        if recorded is not None:
            assert joined(events_of(recorded)) == recorded


def test_a_stream_has_the_events_of_the_api_in_their_order() -> None:
    message = {"id": "m", "content": [{"type": "text", "text": "a" * 450}], "stop_reason": "end_turn", "usage": {}}
    kinds = [event["type"] for event in events_of(message)]
    deltas = ["content_block_delta"] * 3
    assert kinds == [
        *("message_start", "content_block_start", "ping", *deltas, "content_block_stop", "message_delta"),
        "message_stop",
    ]


def small() -> reread.Session:
    """A session with a call, an error that was tried again, and a second turn."""
    failed = {"message": '529 {"type":"error","error":{"type":"overloaded_error","message":"Busy"}}', "status": 529}
    return read(
        *told(
            user("Run it"),
            reply("I run it.", use("toolu_1", command="ls"), id="msg_1"),
            answer(result("toolu_1", "a.py")),
            system("api_error", level="error", error=failed, retryAttempt=1, maxRetries=10),
            reply("Done.", id="msg_2"),
            user("And now?"),
            reply("Done.", id="msg_3"),
        )
    )


def post(url: str, body: bytes, path: str = "/v1/messages") -> tuple[int, Any, Any]:
    request = urllib.request.Request(url + path, body, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            data = response.read()
            kind = response.headers["content-type"]
            return response.status, response.headers, json.loads(data) if "json" in kind else data.decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, json.loads(error.read() or b"{}")


FIRST: Object = {"role": "user", "content": [{"type": "text", "text": "<system-reminder>x</system-reminder>\nRun it"}]}
CALLED: Object = {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}]}
ANSWERED: Object = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.py"}]}
SAID: Object = {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}
NEXT: Object = {"role": "user", "content": "And now?"}


def test_it_answers_over_http_what_was_recorded() -> None:
    with reread.fake_api(small()) as api:
        status, headers, message = post(api.url, json.dumps(asked([FIRST])).encode())
        assert (status, message["id"], message["stop_reason"]) == (200, "msg_1", "tool_use")
        assert headers["request-id"]
        status, headers, error = post(api.url, json.dumps(asked([FIRST, CALLED, ANSWERED])).encode())
        assert (status, error["error"]) == (529, {"type": "overloaded_error", "message": "Busy"})
        assert headers["retry-after"] == "0"
        status, _, events = post(api.url, json.dumps(asked([FIRST, CALLED, ANSWERED], stream=True)).encode())
        assert status == 200 and '"id":"msg_2"' in events and events.rstrip().endswith('{"type":"message_stop"}')
        url = api.url
    assert [(one.thread, one.place, one.recorded) for one in api.requests] == [
        ("", 0, True),
        ("", 1, True),
        ("", 1, True),
    ]
    assert not api.cassette.left[1:] and api.cassette.left[0].number == 2
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url, timeout=5)


def test_an_answer_that_was_given_twice_is_told_apart_by_its_place() -> None:
    api = FakeApi(small())
    seen: list[Any] = []
    for messages in (
        [FIRST],
        [FIRST, CALLED, ANSWERED],
        [FIRST, CALLED, ANSWERED],
        [FIRST, CALLED, ANSWERED, SAID, NEXT],
    ):
        given = api.answer(asked(messages))
        seen.append(given.fault.status if given.fault else given.answer["id"] if given.answer else None)
    assert seen == ["msg_1", 529, "msg_2", "msg_3"]


def test_what_was_not_recorded_is_said_and_ends_the_turn() -> None:
    api = FakeApi(small())
    other = api.answer(asked([{"role": "user", "content": "Something else"}]))
    for messages in (
        [FIRST],
        [FIRST, CALLED, ANSWERED],
        [FIRST, CALLED, ANSWERED],
        [FIRST, CALLED, ANSWERED, SAID, NEXT],
    ):
        api.answer(asked(messages))
    after = api.answer(asked([FIRST, CALLED, ANSWERED, SAID, NEXT, SAID, {"role": "user", "content": "More"}]))
    for one in (other, after):
        assert one.answer is not None and not one.recorded
        assert one.answer["stop_reason"] == "end_turn" and "not recorded" not in json.dumps(one.answer["usage"])
        assert "has no answer for this request" in one.answer["content"][0]["text"]
    assert api.unrecorded == [other, after]


def test_an_error_that_ended_a_turn_is_told_in_the_words_of_the_api() -> None:
    more = {"isApiErrorMessage": True, "apiErrorStatus": 400, "error": "invalid_request"}
    failed = reply("API Error: 400 No such model", id="m1", **more)
    failed["message"]["model"] = "<synthetic>"
    fault = FakeApi(read(*told(user("Run it"), failed))).answer(asked([FIRST])).fault
    assert fault is not None and (fault.status, fault.message) == (400, "No such model")


def test_an_error_that_an_old_client_told_of_is_the_one_of_the_api() -> None:
    said = '{"type":"error","error":{"type":"invalid_request_error","message":"No such model"},"request_id":"r"}'
    failed = reply(f"API Error: 400 {said}", id="m1", isApiErrorMessage=True)
    failed["message"]["model"] = "<synthetic>"
    fault = FakeApi(read(*told(user("Run it"), failed))).answer(asked([FIRST])).fault
    assert fault is not None and (fault.status, fault.type) == (400, "invalid_request_error")
    assert fault.message == "No such model"


def test_a_thread_is_found_whose_answer_is_recorded_before_its_prompt() -> None:
    api = FakeApi(read(*told(reply("Yes.", id="msg_1"), user("Run it"), user("And now?"))))
    given = api.answer(asked([FIRST]))
    assert given.recorded and given.answer is not None and given.answer["id"] == "msg_1"


def test_only_who_knows_the_address_is_answered() -> None:
    with reread.fake_api(small()) as api:
        body = json.dumps(asked([FIRST])).encode()
        top = api.url.rpartition("/")[0]
        for address in (top, f"{top}/{'0' * 32}"):
            assert post(address, body)[0] == 404
        assert api.url.startswith("http://127.0.0.1:")
        assert not api.requests
        assert post(api.url, b"[1]")[0] == post(api.url, b"{")[0] == 400
        assert post(api.url, b"{}", "/v1/complete")[0] == 404
        assert post(api.url, body, "/v1/messages/count_tokens")[2]["input_tokens"] > 0
        assert api.others[-1] == "POST /v1/complete"


def test_it_can_be_used_where_everything_is_asynchronous() -> None:
    async def ask() -> str:
        async with reread.fake_api(small()) as api:
            body = json.dumps(asked([FIRST])).encode()
            return (await asyncio.to_thread(post, api.url, body))[2]["id"]

    with ThreadPoolExecutor(1) as thread:  # where no other loop runs, as that of a browser
        assert thread.submit(lambda: asyncio.run(ask())).result() == "msg_1"


@pytest.mark.skipif(sys.platform != "linux", reason="sockets in folders are for the box, which needs Linux")
def test_it_answers_on_a_socket_in_a_folder_with_a_long_name(tmp_path: Path) -> None:
    folder = tmp_path / ("long-" * 30)
    folder.mkdir()
    api = FakeApi(small()).start(folder / "api")
    try:
        assert (folder / "api").is_socket()
        with socket.socket(socket.AF_UNIX) as wire:
            with pytest.MonkeyPatch.context() as moved:
                moved.chdir(folder)
                wire.connect("api")
            wire.sendall(b"GET / HTTP/1.0\r\n\r\n")
            assert b"404" in wire.recv(100)
    finally:
        api.stop()


BESIDE = (
    ("a title", {"system": "Write a title as JSON", "tools": []}, "A recorded session"),
    ("the quota", {"max_tokens": 1}, "#"),
    ("a topic", {"system": "Say isNewTopic as JSON", "tools": []}, "isNewTopic"),
    ("a prefix", {"system": "Return the command prefix", "tools": []}, "none"),
)


@pytest.mark.parametrize(("what", "fields", "said"), BESIDE, ids=[row[0] for row in BESIDE])
def test_requests_beside_the_conversation_are_answered_and_counted_apart(what: str, fields: Object, said: str) -> None:
    api = FakeApi(small())
    given = api.answer({**asked([{"role": "user", "content": "Fix the retry"}]), **fields})
    assert given.answer is not None and said in given.answer["content"][0]["text"], what
    assert given.thread is None and not api.unrecorded and len(api.cassette.left) == 3


def test_a_summary_stands_for_what_it_sums_up() -> None:
    summary = "Summary:\n1. The user wants it run.\n\nIf you need specific details from before compaction, read it"
    session = read(
        *told(
            user("Run it"),
            reply("Yes.", id="msg_1"),
            system("compact_boundary", "Conversation compacted", compactMetadata={"trigger": "manual", "preTokens": 9}),
            user(f"This session is being continued.\n{summary}", isCompactSummary=True),
            user("Go on"),
            reply("Going on.", id="msg_2"),
        )
    )
    api = FakeApi(session)
    api.answer(asked([FIRST]))
    wanted = {"role": "user", "content": "Your task is to create a detailed summary of the conversation so far"}
    given = api.answer(asked([FIRST, {"role": "assistant", "content": "Yes."}, wanted])).answer
    assert given is not None and "1. The user wants it run." in given["content"][0]["text"]
    told_now = {"role": "user", "content": "Continued. Summary:\n1. The user wants it run.\n\nmore"}
    after = api.answer(asked([told_now, {"role": "user", "content": "Go on"}])).answer
    assert after is not None and after["id"] == "msg_2"
    assert summary_in(summary) == "1. The user wants it run."


def test_a_search_and_a_page_are_answered_from_their_results() -> None:
    hits = {"tool_use_id": "s", "content": [{"title": "One", "url": "https://one.example/"}]}
    session = read(
        *told(
            user("Look"),
            reply(use("t1", "WebSearch", query="retry backoff"), id="msg_1"),
            answer(result("t1", "found"), data={"query": "retry backoff", "results": ["Here:", hits]}),
            reply(use("t2", "WebFetch", url="https://one.example/", prompt="What is new?"), id="msg_2"),
            answer(result("t2", "A page"), data={"result": "Nothing is new.", "code": 200}),
            reply("Done.", id="msg_3"),
        )
    )
    api = FakeApi(session)
    search = asked([{"role": "user", "content": "Perform a web search for the query: retry backoff"}])
    given = api.answer({**search, "tools": [{"type": "web_search_20250305", "name": "web_search"}]}).answer
    assert given is not None
    assert [block["type"] for block in given["content"]] == ["server_tool_use", "text", "web_search_tool_result"]
    assert given["content"][2]["content"][0]["url"] == "https://one.example/"
    page = api.answer(
        {**asked([{"role": "user", "content": "Web page content:\n…\nWhat is new?"}]), "tools": []}
    ).answer
    assert page is not None and page["content"][0]["text"] == "Nothing is new."


def test_names_that_the_client_makes_up_are_told_as_it_made_them_up() -> None:
    session = read(
        *told(
            user("Start it"),
            reply(use("t1", command="sleep 9"), id="msg_1"),
            answer(result("t1", "Command running in background with ID: b05m25hd2. Wait.")),
            reply(use("t2", "TaskStop", task_id="b05m25hd2"), id="msg_2"),
        )
    )
    api = FakeApi(session)
    first: Object = {"role": "user", "content": "Start it"}
    api.answer(asked([first]))
    said = "Command running in background with ID: bhga55i1m. Wait."
    results = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": said}]}
    called = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]}
    given = api.answer(asked([first, called, results])).answer
    assert given is not None and given["content"][0]["input"] == {"task_id": "bhga55i1m"}


class Person:
    """Who interrupts a client, and says something while an answer comes."""

    def __init__(self) -> None:
        self.answers: list[int] = []
        self.interruptions: Queue[int] = Queue()

    def at_answer(self, number: int) -> None:
        self.answers.append(number)

    def interrupt(self, pieces: int) -> None:
        self.interruptions.put(pieces)


def interrupted() -> reread.Session:
    """A session with an answer that was interrupted, one that never came, and one that was waited for."""
    stop = "[Request interrupted by user]"
    return read(
        *told(
            user("Tell me"),
            reply("It was a dark", id="msg_1", stop_reason=None),
            user([{"type": "text", "text": stop}]),
            user("Shorter"),
            user([{"type": "text", "text": stop}]),
            user("One word"),
            reply("Night.", id="msg_2", stop_reason="end_turn"),
        )
    )


def begun(url: str, messages: list[Object], person: Person) -> tuple[bytes, int]:
    """What came of a streamed answer until it was interrupted, and how many pieces that were."""
    request = urllib.request.Request(f"{url}/v1/messages", json.dumps(asked(messages, stream=True)).encode())
    with urllib.request.urlopen(request, timeout=20) as response:
        pieces, data = person.interruptions.get(timeout=20), b""
        while data.count(DELTA) < pieces:
            data += response.read1()
        return data, pieces


def test_an_answer_is_held_where_a_person_interrupted_it() -> None:
    tell, stop = {"role": "user", "content": "Tell me"}, {"role": "user", "content": "[Request interrupted by user]"}
    dark = {"role": "assistant", "content": "It was a dark"}
    shorter, word = {"role": "user", "content": "Shorter"}, {"role": "user", "content": "One word"}
    person = Person()
    with reread.fake_api(interrupted()) as api:
        api.player = person
        events, pieces = begun(api.url, [tell], person)
        assert pieces == 1 and b"It was a dark" in events and b"content_block_stop" not in events
        assert begun(api.url, [tell, dark, stop, shorter], person) == (b"", 0)
        assert post(api.url, json.dumps(asked([tell, dark, stop, shorter, stop, word])).encode())[2]["id"] == "msg_2"
    assert [one.is_cut for one in api.requests] == [True, True, False]
    assert person.answers == [0, 1] and not api.unrecorded


def test_an_app_gets_an_interrupted_answer_to_its_end() -> None:
    given = FakeApi(interrupted()).answer(asked([{"role": "user", "content": "Tell me"}]))
    assert given.answer is not None and given.answer["stop_reason"] == "end_turn" and not given.is_cut
