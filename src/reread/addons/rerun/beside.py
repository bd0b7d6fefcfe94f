"""Requests beside the conversation, which clients send for their own use: titles, topics, summaries, web pages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from reread.addons.rerun.cassette import MAIN, Object, request_texts
from reread.base import jsontext
from reread.base.coerce import as_dict, as_list, as_str

if TYPE_CHECKING:
    from reread.addons.rerun.cassette import Cassette
    from reread.model.conversation import Call

SUMMARISES = re.compile(r"create a detailed summary|detailed summary of the conversation", re.IGNORECASE)
PAGE = "Web page content:"
SEARCH = "web_search"
FETCH_RESULT = "result"


def answer_beside(body: Object, messages: Sequence[Object], cassette: Cassette) -> str | list[Object] | None:
    """Return the text or the blocks that answer a request beside the conversation; None if it is part of it."""
    users = [one for one in messages if one.get("role") == "user"]
    last = "\n".join(request_texts(users[-1])) if users else ""
    tools = [as_dict(tool) for tool in as_list(body.get("tools"))]
    if body.get("max_tokens") == 1:
        return "#"
    if any((as_str(tool.get("type")) or "").startswith(SEARCH) for tool in tools):
        return _searched(last, cassette)
    if SUMMARISES.search(last):
        return _summary(messages, cassette)
    if tools:
        return None
    system = "\n".join([*request_texts({"content": body.get("system")}), last])
    if PAGE in last:
        return _page(last, cassette)
    if "isNewTopic" in system:
        return jsontext.dumps({"isNewTopic": False, "title": None}).decode()
    if re.search(r"command_injection_detected|policy_spec|command prefix", system):
        return "none"
    if cassette.find(messages) is not None and "title" not in system[:6000].lower():
        return None
    title = cassette.threads[MAIN].conversation.metadata.ai_title or "A recorded session"
    return jsontext.dumps({"title": title}).decode()


def _calls(cassette: Cassette, name: str) -> Iterator[Call]:
    for thread in cassette.threads.values():
        yield from (call for call in thread.conversation.calls if call.name == name)


def _summary(messages: Sequence[Object], cassette: Cassette) -> str:
    """Return the summary that was recorded for what these messages say."""
    found = cassette.find(messages[:-1])
    thread = cassette.threads[found[0] if found is not None else MAIN]
    place = found[1] if found is not None else 0
    summaries = [one for one in thread.summaries if one.before >= place] or thread.summaries[-1:]
    if not summaries:
        return "<summary>\nThe recorded session was not summarised here.\n</summary>"
    return f"<summary>\n{summaries[0].text}\n</summary>"


def _page(asked: str, cassette: Cassette) -> str:
    """Return what was recorded of a page, by the question about it."""
    for call in _calls(cassette, "WebFetch"):
        prompt = as_str(as_dict(call.input).get("prompt"))
        if prompt and prompt in asked:
            return as_str(as_dict(call.data).get(FETCH_RESULT)) or "Nothing was recorded of this page."
    return "Nothing was recorded of this page."


def _searched(asked: str, cassette: Cassette) -> list[Object]:
    """Return the blocks of a search by the API's own tool, from the result that the client made of them."""
    for number, call in enumerate(_calls(cassette, "WebSearch")):
        query = as_str(as_dict(call.input).get("query"))
        if query and query in asked:
            return list(_blocks(query, as_list(as_dict(call.data).get("results")), f"srvtoolu_reread{number:08}"))
    return [{"type": "text", "text": "This search was not recorded."}]


def _blocks(query: str, results: list[object], id: str) -> Iterator[Object]:
    yield {"type": "server_tool_use", "id": id, "name": SEARCH, "input": {"query": query}}
    for one in results:
        if isinstance(one, str):
            yield {"type": "text", "text": one}
            continue
        hits = [as_dict(hit) for hit in as_list(as_dict(one).get("content"))]
        content = [
            {"type": "web_search_result", "title": hit.get("title"), "url": hit.get("url"), "encrypted_content": ""}
            for hit in hits
        ]
        yield {"type": "web_search_tool_result", "tool_use_id": id, "content": content}
