"""A brief has every changed file, open task, decision and the last error, within its tokens, and no secret."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from command import cli
from making import answer, jsonl, read, reply, result, text, told, use, user, write

import reread
from reread.addons.mcp.answers import brief_answer
from reread.errors import Misuse
from reread.reports.brief_report import BYTES_PER_TOKEN, LEAST_TOKENS, TOKENS

REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected."
FOLDER = os.environ.get("REREAD_REAL_CLIENT")


def asked(id: str, name: str, output: Any, *, data: Any = None, is_error: bool = False, **input: Any) -> list[Any]:
    more = {} if data is None else {"data": data}
    mark = {"is_error": True} if is_error else {}
    return [reply(use(id, name, **input), id=f"m{id}"), answer(result(id, output, **mark), **more)]


def todo(id: str, **items: str) -> list[Any]:
    return asked(id, "TodoWrite", "ok", todos=[{"content": name, "status": state} for name, state in items.items()])


def wrote(id: str, path: str) -> list[Any]:
    data = {"type": "create", "filePath": path, "content": "one\ntwo\n", "structuredPatch": []}
    return asked(id, "Write", f"File created successfully at: {path}", data=data, file_path=path, content="one\ntwo\n")


WORK = [
    user("Fix the flaky ceiling test"),
    *asked(
        "q",
        "AskUserQuestion",
        "answered",
        questions=[{"question": "Which clock?", "header": "Clock", "options": [{"label": "Fake"}, {"label": "Real"}]}],
        data={"answers": {"Which clock?": "Fake"}},
    ),
    *todo("t1", Look="in_progress", Mend="pending"),
    *asked("c1", "TaskCreate", "Task #1 created successfully: Release", subject="Release", description="x"),
    *asked("c2", "TaskCreate", "Task #2 created successfully: Announce", subject="Announce", description="x"),
    *asked("d", "Bash", f"{REFUSED} the user said:\nnever push", is_error=True, command="git push"),
    *wrote("w", "/work/app/src/clock.py"),
    user("And the docs"),
    *wrote("w2", "/work/app/docs/clock.md"),
    *todo("t2", Look="completed", Mend="in_progress"),
    *asked("u", "TaskUpdate", "Updated task #1 status", taskId="1", status="completed"),
    *asked("b", "Bash", "Exit code 1\n1 failed", is_error=True, command="pytest -q"),
    *asked("b2", "Bash", "2 passed", command="pytest -q"),
    *asked("e", "Bash", "Exit code 2\nno such rule: zebra", is_error=True, command="make zebra"),
    reply(text("All but the zebra is done."), id="last", stop_reason="end_turn"),
    user("<command-name>/exit</command-name>\n<command-message>exit</command-message>\n<command-args></command-args>"),
]
WORK = [{**one, "cwd": "/work/app"} for one in told(*WORK)]


def test_everything_that_the_next_session_needs_is_in_it() -> None:
    made = reread.brief(read(*WORK), redact=False)
    assert made.goal == "Fix the flaky ceiling test" and made.prompts == ["turn 2: And the docs"]
    assert made.tasks == ["Mend", "Announce"]
    assert made.decisions == ["turn 1: Which clock? → Fake", "turn 1: denied: Bash `git push` (never push)"]
    assert [(one.path, one.action, one.turn) for one in made.files] == [
        ("src/clock.py", "created", 1),
        ("docs/clock.md", "created", 2),
    ]
    assert made.commands == ["`pytest -q` passed in turn 2"]
    assert made.last_error is not None and "make zebra" in made.last_error and "no such rule" in made.last_error
    assert made.answer == "All but the zebra is done."
    for said in ("Mend", "Announce", "→ Fake", "never push", "src/clock.py", "make zebra", "And the docs", "passed"):
        assert said in made.text, said


def test_up_to_a_turn_what_came_later_is_not_known(tmp_path: Path) -> None:
    path = write(tmp_path, *WORK)
    made = reread.brief(f"{path}:1", redact=False)
    assert (made.turns, made.prompts, made.last_error) == (1, [], None)
    assert [one.path for one in made.files] == ["src/clock.py"] and made.tasks == [
        "Look",
        "Mend",
        "Release",
        "Announce",
    ]


def test_a_file_is_as_the_session_left_it() -> None:
    gone = asked(
        "r", "Bash", "", command="rm /work/app/old.py", data={"stdout": "", "stderr": "", "interrupted": False}
    )
    made = reread.brief(read(*told(user("x"), *wrote("w", "/work/app/old.py"), *gone)), redact=False)
    assert [(one.action, one.turn) for one in made.files] == [("deleted", 1)]


@pytest.mark.skipif(FOLDER is None, reason="REREAD_REAL_CLIENT names no folder")
def test_a_file_that_a_rewind_took_away_is_deleted() -> None:
    (path,) = Path(FOLDER or "").glob("data/2.1.325/tui_rewind/projects/*/*.jsonl")
    now = {one.path: one.action for one in reread.brief(path).files}
    assert now == {"new.txt": "deleted", "README.md": "edited"}
    early = reread.brief(f"{path}:1")
    assert not early.files and early.ended is not None and early.ended < (reread.brief(path).ended or early.ended)


@pytest.mark.parametrize(
    ("command", "data", "said"),
    [
        ("pytest -q 2>&1", None, "passed"),
        ("cd x && (pytest -q && ruff check .)", None, "passed"),
        ("pytest -q && git commit -m 'One; two | three'", None, "passed"),
        ("pytest -q \\\n  -x", None, "passed"),
        ("pytest -q 2>&1 | tail -3", None, "ran, with unknown outcome,"),
        ("pytest -q || true", None, "ran, with unknown outcome,"),
        ("pytest -q; echo done", None, "ran, with unknown outcome,"),
        ("echo $(pytest -q)", None, "ran, with unknown outcome,"),
        ("pytest -q", {"stdout": "", "stderr": "", "backgroundTaskId": "b1"}, "ran, with unknown outcome,"),
    ],
)
def test_tests_passed_only_if_their_command_says_so(command: str, data: Any, said: str, tmp_path: Path) -> None:
    records = told(user("x"), *asked("b", "Bash", "1 failed", command=command, data=data))
    made = reread.brief(read(*records), redact=False)
    assert made.commands == [f"`{' '.join(command.split())}` {said} in turn 1"]
    write(tmp_path, *records)
    ((session,),) = (project.sessions for project in reread.digest(since="2000", root=tmp_path).projects)
    passed = said == "passed"
    assert [(one.passed, one.unknown, one.last_passed) for one in session.tests] == [
        (passed, not passed, passed or None)
    ]


def test_what_failed_after_the_tests_is_no_failure_of_theirs() -> None:
    for command, said in (("pytest -q", "failed"), ("pytest -q && git push", "ran, with unknown outcome,")):
        call = asked("b", "Bash", "Exit code 1", is_error=True, command=command)
        assert reread.brief(read(*told(user("x"), *call))).commands == [f"`{command}` {said} in turn 1"]


def test_an_error_that_passed_since_is_said_to_have(tmp_path: Path) -> None:
    failed = asked("b", "Bash", "Exit code 1\n1 failed", is_error=True, command="pytest -q")
    made = reread.brief(read(*told(user("x"), *failed, *asked("b2", "Bash", "2 passed", command="pytest -q"))))
    assert made.last_error is not None and "the same passed in turn 1" in made.last_error


def test_of_a_long_error_both_ends_are_told_and_a_retry_is_no_error() -> None:
    dots = "\x1b[32m.\x1b[0m" * 900
    long = f"Exit code 1\nzebra first\n{dots}\n{'and more ' * 900}\ngiraffe last"
    failed = asked("b", "Bash", long, is_error=True, command="pytest -q")
    again = reply("API Error: Overloaded", id="e", isApiErrorMessage=True, error="overloaded")
    made = reread.brief(read(*told(user("x"), *failed, again, reply("Done.", id="z"))))
    for said in (made.last_error or "", made.text):
        assert "zebra first" in said and "giraffe last" in said and "\x1b" not in said and "Overloaded" not in said
    assert "Overloaded" in reread.brief(read(*told(user("x"), *failed, again))).text


@pytest.mark.parametrize("tokens", [LEAST_TOKENS, 700, TOKENS])
def test_it_fits_whatever_a_session_holds(tokens: int) -> None:
    long = "words and more words " * 400
    many = [one for n in range(60) for one in wrote(f"w{n}", f"/work/app/src/pkg{n % 3}/module_{n}.py")]
    work = [user(long), *many, *todo("t", **{f"{n} {long}": "pending" for n in range(12)})]
    work += [one for n in range(30) for one in (user(f"{n} {long}"), reply(long, id=f"r{n}"))]
    made = reread.brief(read(*({**one, "cwd": "/work/app"} for one in told(*work))), tokens=tokens, redact=False)
    assert len(made.text.encode()) <= tokens * BYTES_PER_TOKEN
    if tokens == TOKENS:
        assert all(f"module_{n}.py" in made.text and (n > 11 or f"- {n} words" in made.text) for n in range(60))
    assert "reread files" in made.text or tokens == LEAST_TOKENS
    with pytest.raises(Misuse, match="tokens"):
        reread.brief(read(user("x")), tokens=1)


def test_secrets_are_replaced_wherever_they_are(tmp_path: Path) -> None:
    key = "sk-ant-api03-" + "Zebra0Giraffe1" * 6 + "-AAAAAAAA"
    work = [user(f"Use {key}"), *todo("t", **{f"Drop {key}": "pending"}), reply(text(f"Used {key}."), id="z")]
    path = write(tmp_path, *told(*work))
    assert key not in json.dumps(reread.brief(path).text) and reread.brief(path).redacted
    assert key in reread.brief(path, redact=False).text
    assert key not in cli("brief", path).stdout and key not in cli("brief", path, "--json").stdout
    later = told(
        user("Try Giraffe7Zebra9Okapi at the gate"), reply(text("export GATE_PASSWORD='Giraffe7Zebra9Okapi'"), id="z")
    )
    assert "Giraffe7Zebra9" not in reread.brief(write(tmp_path, *later)).text


def test_verb_and_mcp_say_the_same(tmp_path: Path) -> None:
    path = write(tmp_path / "projects", *WORK, name="5e551017-0000-4000-8000-000000000001", project="-work-app")
    text = reread.brief(path).text
    assert cli("brief", path).stdout.strip() == text.strip()
    assert json.loads(cli("brief", path, "--json").stdout)["text"] == text
    said = brief_answer("5e551017", roots=[tmp_path])
    assert all(line in said for line in text.splitlines())


def test_a_session_without_anything_has_a_brief() -> None:
    for content in (b"", jsonl(user("")), b"{torn"):
        assert reread.brief(content).text.startswith("# ")


@pytest.mark.skipif(not FOLDER, reason="REREAD_REAL_CLIENT names no folder")
def test_of_real_sessions_no_file_task_or_error_is_missing() -> None:
    for path in sorted(Path(FOLDER or "").glob("data/*/*/projects/*/*.jsonl"))[::5]:
        session = reread.open(path)
        made = reread.brief(session, redact=False)
        assert len(made.text.encode()) <= TOKENS * BYTES_PER_TOKEN
        assert all(Path(one.path).name in made.text for one in session.files.values() if one.own)
        assert all(task[:40] in made.text for task in made.tasks)
        assert not any(call.state == "failed" for call in session.calls) or made.last_error


def test_of_many_runs_of_tests_the_last_are_named_and_the_others_counted() -> None:
    calls = [line for n in range(20) for line in asked(f"t{n}", "Bash", "ok", command=f"pytest tests/test_{n}.py")]
    shown = reread.brief(read(*told(user("Test it"), *calls))).text
    left = 20 - shown.count("- `pytest")
    assert left > 0 and f"- {left} more before: `reread show " in shown and "test_19.py" in shown
