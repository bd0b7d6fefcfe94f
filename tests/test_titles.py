"""The title of a session, in the list and once it is open."""

from pathlib import Path
from typing import Any

import pytest
from batches import table
from making import jsonl, read, reply, state, user

import reread
from reread.catalog.header import NO_TITLE
from reread.catalog.headers import read_header
from reread.model.titles import REACH

HERE = Path(__file__).parent
SESSIONS = [
    *sorted((HERE / "fixtures" / "findings").glob("*.jsonl")),
    *(p for p in sorted((HERE / "real").glob("*/*/projects/*/*.jsonl")) if not p.name.startswith("agent-")),
    *sorted((HERE / "real").glob("*/*/stream*.jsonl")),
]
CLEAR = "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>"
CUSTOM = (
    "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>7</command-args>"
)
SUMMARY = "This session is being continued from a previous one.\n1. Primary Request and Intent:\n   Port the parser.\n"


@table("path", SESSIONS)
def test_the_list_and_the_open_session_agree(path: Path) -> None:
    assert read_header(path).title == (reread.open(path).title or NO_TITLE[path.stat().st_size > 0])


def test_a_session_that_begins_with_clear_is_named_by_its_prompt() -> None:
    path = HERE / "fixtures" / "findings" / "7-title.jsonl"
    assert reread.open(path).title == "Persist the timer state in the browser"


@pytest.mark.parametrize(
    ("records", "title"),
    [
        ([user(CLEAR), user("The prompt"), reply("b")], "The prompt"),
        ([user(CLEAR), user(CUSTOM), reply("An answer")], "/review 7"),
        ([user(CLEAR), reply("An answer")], "/clear"),
        ([reply("An answer\n\nwith more")], "An answer with more"),
        ([user("typed by nobody", isMeta=True), reply(""), reply("Later", id="msg_2")], "Later"),
        ([user(SUMMARY, isCompactSummary=True)], "Port the parser."),
        ([user(SUMMARY, isCompactSummary=True), reply("Going on")], "Going on"),
        ([user("Stop hook feedback:\n- no"), reply("Going on")], "Going on"),
        ([user("Implement the following plan:\n\n# Dark mode\n\nMore")], "Dark mode"),
        ([user("Implement the following plan:\n\n\n## Plan: **Dark** mode")], "Plan: **Dark** mode"),
        ([user("Implement the following plan:\n\nDo it\nNow")], "Do it"),
        ([user("Implement the following plan:")], "Implement the following plan:"),
        ([user("first"), state("ai-title", aiTitle="Named"), user("second")], "Named"),
        ([user("first"), state("ai-title", aiTitle="Named"), state("custom-title", customTitle="Mine")], "Mine"),
        ([user("a task", isSidechain=True, agentId="x"), reply("b", isSidechain=True, agentId="x")], "a task"),
        ([reply("A report", isSidechain=True, agentId="x")], "A report"),
        ([user("word " * 60)], ("word " * 60)[:119].rstrip() + "…"),
        ([user(""), user("the second")], "the second"),
        ([state("queue-operation", operation="enqueue", content="Never sent")], "Never sent"),
        ([state("queue-operation", operation="enqueue", content="Sent later"), user("Sent")], "Sent"),
        ([state("queue-operation", operation="enqueue", content="<task-notification>x"), reply("Hi")], "Hi"),
        ([state("queue-operation", operation="enqueue", content=["odd"]), reply("Hi")], "Hi"),
    ],
)
def test_what_names_a_session(records: list[dict[str, Any]], title: str, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl(*records))
    assert read(*records).title == title
    assert read_header(path).title == title


@pytest.mark.parametrize("before", [REACH - 2000, REACH + 2000])
def test_the_list_and_the_open_session_look_equally_far(before: int, tmp_path: Path) -> None:
    filler = {"type": "file-history-snapshot", "x": "y" * before}
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl(user(CLEAR), filler, user("late " + "z" * 100_000)))
    assert read_header(path).title == reread.open(path).title
    assert read_header(path).title.startswith("late" if before < REACH else "/clear")


def test_a_first_prompt_with_a_large_picture_is_found(tmp_path: Path) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 1_500_000}}
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl(user([picture, {"type": "text", "text": "What is this?"}])))
    assert read_header(path).title == "What is this?"


@pytest.mark.parametrize("path", sorted((HERE / "real").glob("*/hook_block_prompt/projects/*/*.jsonl")))
def test_a_prompt_that_a_hook_blocked_names_the_session(path: Path) -> None:
    assert reread.open(path).title == "Please do the hook_block_prompt scenario. [[SCN:hook_block_prompt]]"
