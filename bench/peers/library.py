"""What the two libraries are asked, in a process of its own: `sdk|reread list|messages|dump ARGUMENT`.

`list` prints the ids of all sessions, `messages SESSION` reads one whole and prints how many messages it has, `dump`
prints every session's text by its id.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


def sdk_list(_: str) -> list[str]:
    import claude_agent_sdk as sdk

    return [session.session_id for session in sdk.list_sessions()]


def sdk_messages(session: str) -> int:
    import claude_agent_sdk as sdk

    return len(sdk.get_session_messages(Path(session).stem))


def sdk_dump(_: str) -> dict[str, str]:
    import claude_agent_sdk as sdk

    def said(session: str) -> Iterator[Any]:
        yield from sdk.get_session_messages(session)
        for agent in sdk.list_subagents(session):
            yield from sdk.get_subagent_messages(session, agent)

    return {id: "\n".join(text for message in said(id) for text in strings(message.message)) for id in sdk_list("")}


def reread_list(_: str) -> list[str]:
    import reread

    return [header.id for header in reread.sessions()]


def reread_messages(session: str) -> int:
    import reread

    opened = reread.open(session)
    read = [(message.blocks, [(call.input, call.result) for call in message.calls]) for message in opened.messages]
    return len(read)


def reread_dump(form: str) -> dict[str, str]:
    import reread

    return {header.id: text_of(reread.export(header.path, form, full=True)) for header in reread.sessions()}


def text_of(document: bytes) -> str:
    return document.decode("utf-8", "replace")


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)


QUESTIONS: dict[str, dict[str, Callable[[str], object]]] = {
    "sdk": {"list": sdk_list, "messages": sdk_messages, "dump": sdk_dump},
    "reread": {"list": reread_list, "messages": reread_messages, "dump": reread_dump},
}

if __name__ == "__main__":
    whose, question, *argument = sys.argv[1:]
    print(json.dumps(QUESTIONS[whose][question]("".join(argument))))
