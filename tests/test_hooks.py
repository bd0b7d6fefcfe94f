"""Hooks: those that say nothing to the person are folded away and counted; failures and words are shown."""

import json
from pathlib import Path
from typing import Any

import pytest
from batches import table
from making import attachment, read, reply, result, system, use, user

import reread
from reread.render.markdown import session_markdown
from reread.render.selection import Selection
from reread.render.terminal import TerminalView, make_console
from reread.session.session import Session

FINDINGS = Path(__file__).parent / "fixtures" / "findings"
QUIET: list[dict[str, Any]] = [
    {"type": "hook_success", "stdout": '{"continue":true,"suppressOutput":true}\n', "exitCode": 0},
    {"type": "hook_success", "stdout": "{}", "exitCode": 0},
    {"type": "hook_success", "stdout": "formatted 3 files", "content": "formatted 3 files", "stderr": "warning"},
    {"type": "hook_success", "stdout": '{"hookSpecificOutput":{"additionalContext":"x","permissionDecision":"allow"}}'},
    {"type": "hook_success", "stdout": '{"decision":"approve","systemMessage":""}'},
    {"type": "hook_success", "stdout": '{"torn'},
    {"type": "hook_success", "stdout": "{" * 5000},
    {"type": "hook_additional_context", "content": ["context"]},
    {"type": "async_hook_response", "response": {"continue": True}, "exitCode": 0},
    {"type": "hook_permission_decision", "decision": "allow"},
]
LOUD: list[tuple[dict[str, Any], str]] = [
    ({"type": "hook_success", "stdout": '{"systemMessage":"Mind the gap"}'}, "Mind the gap"),
    ({"type": "hook_success", "stdout": '{"continue":false,"stopReason":"Budget spent"}'}, "Budget spent\nstopped"),
    ({"type": "hook_success", "stdout": '{"decision":"block","reason":"No"}'}, "No"),
    ({"type": "hook_success", "stdout": '{"hookSpecificOutput":{"permissionDecision":"deny"}}'}, "refused"),
    ({"type": "hook_success", "stdout": "x", "exitCode": 1}, "x"),
    ({"type": "async_hook_response", "response": {"systemMessage": "Later"}}, "Later"),
    ({"type": "hook_system_message", "content": "Note"}, "Note"),
    ({"type": "hook_blocking_error", "blockingError": {"blockingError": "Bad", "command": "x"}}, "Bad"),
    ({"type": "hook_non_blocking_error", "stderr": "boom", "exitCode": 1}, "boom"),
    ({"type": "hook_stopped_continuation", "message": "Enough"}, "Enough"),
    ({"type": "hook_cancelled"}, ""),
    ({"type": "hook_of_tomorrow", "content": "Who knows"}, "Who knows"),
]


def shown(session: Session, **selection: Any) -> str:
    console = make_console(width=100)
    with console.capture() as captured:
        for item in TerminalView(Selection(**selection)).session(session):
            console.print(item)
    return captured.get()


@table("payload", QUIET)
def test_a_hook_that_says_nothing_is_attached(payload: dict[str, Any]) -> None:
    session = read(user("go"), attachment(payload["type"], payload), reply("ok"))
    assert [m.kind for m in session.messages] == ["prompt", "response"]
    assert list(session.messages[0].attached) == [1]
    assert "  + 1 hook\n" in shown(session)
    assert "+ 1 hook" in "\n".join(session_markdown(session, Selection()))


@table(("payload", "words"), LOUD)
def test_a_hook_that_failed_blocked_or_spoke_is_shown(payload: dict[str, Any], words: str) -> None:
    session = read(user("go"), attachment(payload["type"], {"hookName": "Stop", **payload}), reply("ok"))
    (message,) = (m for m in session.messages if m.kind == "hook")
    assert (message.author, message.text) == ("hook", words)
    assert "· hook Stop" in shown(session) and words.split("\n")[0] in shown(session)


def test_words_that_a_hook_says_twice_are_shown_once() -> None:
    said = attachment("hook_success", {"stdout": '{"systemMessage":"Note"}', "toolUseID": "t"})
    again = attachment("hook_system_message", {"content": "Note", "toolUseID": "t"})
    assert [m.text for m in read(user("go"), said, again).messages] == ["go", "Note"]


@pytest.mark.parametrize(
    ("fields", "quiet"),
    [
        ({"hookCount": 1, "hookErrors": [], "stopReason": ""}, True),
        ({"hookErrors": ["boom"]}, False),
        ({"preventedContinuation": True}, False),
        ({"stopReason": "Enough"}, False),
    ],
)
def test_the_summary_of_stop_hooks(fields: dict[str, Any], quiet: bool) -> None:
    session = read(user("go"), reply("ok"), system("stop_hook_summary", **fields))
    assert [m.kind for m in session.messages][2:] == ([] if quiet else ["hook"])


def test_a_summary_does_not_repeat_the_feedback_before_it() -> None:
    feedback = user("Stop hook feedback:\n[x]: commit", isMeta=True)
    session = read(user("go"), reply("ok"), feedback, system("stop_hook_summary", hookErrors=["[x]: commit"]))
    assert [m.kind for m in session.messages] == ["prompt", "response", "hook"]


@pytest.mark.parametrize(
    ("fields", "quiet"),
    [
        ({"output": "text", "exit_code": 0, "outcome": "success"}, True),
        ({"output": "text"}, True),
        ({"output": "text", "exit_code": 2, "outcome": "error"}, False),
        ({"output": '{"systemMessage":"Note"}', "exit_code": 0}, False),
        ({"outcome": "cancelled"}, False),
    ],
)
def test_the_response_of_a_hook_in_a_stream(fields: dict[str, Any], quiet: bool) -> None:
    record = {"type": "system", "subtype": "hook_response", "session_id": "s", "hook_name": "Stop", **fields}
    assert [m.kind for m in read(user("go"), record).messages][1:] == ([] if quiet else ["hook"])


def test_a_hook_of_1_0_that_ran_is_attached_to_its_call() -> None:
    ran = "\x1b[1mPostToolUse:Bash\x1b[22m [lint.sh] completed successfully"
    records = [user("go"), reply(use("t")), user([result("t", "x")])]
    for text, level, quiet in (
        (ran, "info", True),
        (ran, "warning", False),
        ("Tests completed successfully", "info", False),
    ):
        session = read(*records, {"type": "system", "content": text, "level": level, "toolUseID": "t"})
        assert bool(session.calls[0].attached) is quiet
    assert "+ 1 hook" not in shown(session)


def test_what_comes_before_the_first_message_belongs_to_it() -> None:
    start = attachment("hook_success", {"hookName": "SessionStart", "stdout": "context"})
    session = read(start, user("go"), reply("ok"))
    assert list(session.messages[0].attached) == [0]
    assert session.ledger[0].reason.startswith("attached to prompt")
    alone = read(start)
    assert alone.messages == [] and alone.ledger[0].fate == "attached"


def test_the_hooks_of_a_call_are_counted_on_its_line() -> None:
    session = read(
        user("go"),
        reply(use("t", "Bash", command="ls")),
        attachment("hook_success", {"toolUseID": "t", "stdout": "{}"}),
        user([result("t", "x")], parentUuid="u2"),
        attachment("hook_success", {"toolUseID": "t", "stdout": ""}),
    )
    (line,) = (line for line in shown(session).split("\n") if "Bash" in line)
    assert line.rstrip().endswith("+ 2 hooks")


def test_a_line_of_json_is_cut() -> None:
    session = reread.open(FINDINGS / "6-hooks.jsonl")
    assert "  + 2 hooks\n" in shown(session)
    assert "word word" not in shown(session)
    long = read(user("go"), attachment("hook_non_blocking_error", {"stderr": '{"a":"' + "x" * 9000 + '"}'}))
    assert len(shown(long)) < 1500
    assert "x" * 50 in shown(long) and "<details>" in "\n".join(session_markdown(long, Selection()))


def test_context_of_a_new_client_is_one_mark() -> None:
    (path,) = (Path(__file__).parent / "real" / "2.1.325" / "plain" / "projects").glob("*/*.jsonl")
    marks = [line for line in shown(reread.open(path)).split("\n") if line.lstrip().startswith("+ ")]
    assert marks == ["  + 11 reminders", "  + 1 reminder"]


def test_context_is_titled_without_its_tags() -> None:
    running = '<command-message>The "demo" skill is running</command-message>\n<command-name>demo</command-name>'
    drawn = shown(read(user("go"), user(running, isMeta=True), reply("ok")), full=True)
    assert '  The "demo" skill is running demo:\n' in drawn
    assert "<command" not in drawn


FAILURES: list[dict[str, Any]] = [
    attachment("hook_non_blocking_error", {"hookEvent": "PostToolUse", "command": "lint", "exitCode": 1}),
    attachment("hook_cancelled", {"hookEvent": "PreToolUse", "command": "lint"}),
    {"type": "system", "subtype": "hook_response", "session_id": "s", "hook_event": "Stop", "outcome": "error"},
    {
        "type": "system",
        "level": "warning",
        "content": "PostToolUse:Bash [lint] failed with non-blocking status code 1: x",
    },
]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: json.dumps(failure)[:60])
def test_a_hook_that_fails_at_every_call_is_shown_once_and_counted_at_each(failure: dict[str, Any]) -> None:
    """The first failure is a row; what the others said is in the call that they belong to."""

    def failed(call: str, words: str) -> dict[str, Any]:
        if "attachment" not in failure:
            return {**failure, "toolUseID": call}
        return {**failure, "attachment": {**failure["attachment"], "toolUseID": call, "stderr": words}}

    records = [user("go")]
    for n in range(5):
        call = f"t{n}"
        records += [reply(use(call, "Bash", command="ls"), id=f"m{n}"), user([result(call)]), failed(call, f"boom {n}")]
    session = read(*records)
    assert [m.kind for m in session.messages if m.author != "model"][1:] == [session.messages[2].kind]
    assert [len(call.attached) for call in session.calls] == [0, 1, 1, 1, 1]
    assert shown(session).count("+ 1 failed hook") == 4
    assert "\n".join(session_markdown(session, Selection())).count("1 failed hook") == 4
    if "attachment" in failure:
        full = shown(session, full=True)
        assert all(f"boom {n}" in full for n in range(5))


def test_another_failure_of_a_hook_is_shown_and_so_is_each_that_blocks() -> None:
    def failed(kind: str, **fields: Any) -> dict[str, Any]:
        return attachment(kind, {"hookEvent": "PreToolUse", "command": "lint", **fields})

    again = [failed("hook_non_blocking_error", exitCode=code) for code in (1, 127, 1)]
    blocked = [failed("hook_blocking_error", blockingError={"blockingError": "No"}) for _ in range(2)]
    spoken = [failed("hook_non_blocking_error", exitCode=1, stdout='{"systemMessage":"Note"}') for _ in range(2)]
    assert [m.kind for m in read(user("go"), *again, *blocked, *spoken).messages] == ["prompt", *["hook"] * 6]
