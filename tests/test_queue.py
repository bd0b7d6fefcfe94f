"""Prompts that were queued: once where they were sent, else where they were queued, as what they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from batches import table
from limits import assert_linear
from making import jsonl, reply, text, user

import reread
from reread.model.parts import QueuedPrompt, message_parts
from reread.reader.session_view import SessionView
from reread.render.json import session_json
from reread.render.markdown import session_markdown
from reread.render.selection import EVERYTHING, Selection
from reread.session.session import threads_of

NOTIFICATION = "<task-notification>\n<task-id>b1</task-id>\n<summary>done</summary>\n</task-notification>"


def queue(operation: str, content: Any = None) -> dict[str, Any]:
    return {"type": "queue-operation", "operation": operation, **({"content": content} if content else {})}


def delivered(prompt: str) -> dict[str, Any]:
    return {"type": "attachment", "attachment": {"type": "queued_command", "prompt": prompt, "commandMode": "prompt"}}


def opened(*records: dict[str, Any]) -> Any:
    return reread.open(jsonl(user("go"), reply(text("working"), id="m1"), *records, reply(text("done"), id="m2")))


def unsent(session: Any) -> list[tuple[str, str, str]]:
    parts = (part for message in session.messages for part in message_parts(message))
    return [(part.text, part.taken, part.author) for part in parts if isinstance(part, QueuedPrompt)]


@table(
    ("records", "expected"),
    [
        ([queue("enqueue", "more")], [("more", "", "person")]),
        ([queue("enqueue", "more"), queue("remove")], [("more", "removed", "person")]),
        ([queue("enqueue", "more"), queue("remove", "more")], [("more", "removed", "person")]),
        ([queue("enqueue", "more"), queue("popAll", "more")], [("more", "taken back", "person")]),
        ([queue("remove", "lost")], [("lost", "removed", "person")]),
        ([queue("remove"), queue("popAll"), queue("enqueue")], []),
        ([queue("enqueue", "/review it"), queue("remove")], [("/review it", "removed", "person")]),
        ([queue("enqueue", NOTIFICATION), queue("remove")], [(NOTIFICATION, "removed", "task")]),
        ([queue("enqueue", [text("blocks")])], [("blocks", "", "person")]),
        ([queue("enqueue", "more"), queue("dequeue"), user("more")], []),
        ([queue("enqueue", "more "), queue("dequeue"), user([text("more")])], []),
        ([queue("enqueue", "more"), queue("remove"), delivered("more")], []),
        ([delivered("more")], []),
        (
            [
                queue("enqueue", "/compact keep the names"),
                queue("dequeue"),
                user("<command-name>/compact</command-name><command-args>keep the names</command-args>"),
            ],
            [],
        ),
        ([queue("enqueue", "a"), queue("enqueue", "b\nc"), queue("dequeue"), queue("dequeue"), user("a\nb\nc")], []),
        ([queue("enqueue", "a"), user("a and more")], [("a", "", "person")]),
        (
            [queue("enqueue", "a"), queue("enqueue", "b"), queue("remove"), queue("remove", "b"), delivered("b")],
            [("a", "removed", "person")],
        ),
        (
            [queue("enqueue", "a"), queue("enqueue", "b"), queue("popAll", "a\nb"), user("a\nb, changed")],
            [("b", "taken back", "person")],
        ),
    ],
)
def test_what_was_not_sent_is_known_by_text_and_order(records: list[Any], expected: list[Any]) -> None:
    assert unsent(opened(*records)) == expected


def test_it_is_shown_where_it_was_queued_in_every_view() -> None:
    session = opened(queue("enqueue", "also add tests"), queue("remove"), queue("enqueue", NOTIFICATION))
    short, full = ("\n".join(session_markdown(session, Selection(full=full))) for full in (False, True))
    assert "working" in short and short.index("working") < short.index("> also add tests") < short.index("done")
    assert "*queued, then removed*" in short and "<task-id>" not in short and "+ 1 queued notification" in short
    assert "&lt;task-id>b1" in full
    value = json.loads(b"".join(session_json(session, EVERYTHING)))
    assert [one["text"] for one in value["messages"][1]["queued"]] == ["also add tests", NOTIFICATION]
    assert [one["fields"].get("operation") for one in value["state"]] == ["enqueue", "remove", "enqueue"]
    item = SessionView(session, "key").page(0, 10).items[1]
    assert "also add tests" in str(item.parts) and "queued, then removed" in str(item.parts)


def test_state_is_in_full_views_where_it_stands() -> None:
    records = [{"type": "summary", "summary": f"Talk {n}", "leafUuid": "a"} for n in (1, 2)]
    records += [{"type": "worktree-state", "path": "/w", "branch": "b"}, {"type": "tag", "tag": "keep"}]
    for session in (opened(*records), reread.open(jsonl(*records)), reread.open(jsonl(*records, user("go")))):
        shown = "\n".join(session_markdown(session, Selection(full=True)))
        assert all(word in shown for word in ("Talk 1", "Talk 2", "/w", "keep"))
        assert "Talk 1" not in "\n".join(session_markdown(session, Selection())).split("\n", 1)[1]
    item = SessionView(opened(*records), "key").page(0, 10).items[1]
    assert "Talk 1" in str(item.fields) and "Talk 1" not in str(item.parts)


def test_of_state_that_grows_only_the_new_is_repeated() -> None:
    files = [{"trackedFileBackups": {f"/f{k}": {"backupFileName": f"copy{k}"} for k in range(n)}} for n in range(1, 30)]
    session = opened(*({"type": "file-history-snapshot", "messageId": "x", "snapshot": one} for one in files))
    shown = "\n".join(session_markdown(session, Selection(full=True)))
    assert all(shown.count(f": copy{k}\n") == 1 for k in range(29))


def test_following_shows_that_a_prompt_was_sent(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl(user("go"), reply(text("working"), id="m1"), queue("enqueue", "more")))
    session = reread.open(path)
    view = SessionView(session, "key")
    assert "more" in str(view.page(0, 10).items[1].parts)
    with path.open("ab") as file:
        file.write(jsonl(user("more")))
    threads_of(session).load_lines()
    view.update()
    assert view.timeline().first_changed <= 1 and "more" not in str(view.page(0, 10).items[1].parts)


def test_a_long_queue_takes_linear_time() -> None:
    def prepare(count: int) -> Callable[[], object]:
        records = [queue("enqueue", f"go {n % 7}\nnow") for n in range(count)]
        records += [queue("remove")] * (count // 2) + [user(f"go {n % 7}\nnow") for n in range(count // 2)]
        data = jsonl(*records)
        return lambda: len(reread.open(data).messages)

    assert_linear(prepare, 4000, enough=0.3)
