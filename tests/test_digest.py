"""The digest: what it says of the samples, that its sums are those of usage, that it is safe to read and to send."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from batches import table
from command import cli, run
from limits import within
from making import SESSION, answer, jsonl, reply, result, told, use, user, write

import reread
from reread.base.times import parse_timestamp
from reread.facts.commands import runs_tests
from reread.render.digest_text import digest_html, digest_lines, digest_markdown
from reread.reports.digest_report import Digest

DENIED = "The user doesn't want to proceed with this tool use. The tool use was rejected"
SAMPLES = Path(reread.__file__).parent / "samples"
PERIOD: dict[str, Any] = {"since": "2026-11-09", "until": "2026-11-12", "tz": "UTC", "root": SAMPLES}


@pytest.fixture(name="made", scope="module")
def _made() -> Digest:
    return reread.digest(**PERIOD, redact=False)


def test_a_session_is_told_by_what_it_did(made: Digest) -> None:
    harbor = next(project for project in made.projects if project.project.endswith("harbor"))
    one = next(session for session in harbor.sessions if session.session.startswith("8c1f0b52"))
    assert one.title == "Fix the flaky ceiling test"
    assert one.prompts[-1] == "Yes, that's better. Commit it and open a PR."
    assert [(Path(file.path).name, file.added, file.removed) for file in one.files] == [
        ("backoff.py", 4, 3),
        ("test_backoff.py", 12, 4),
    ]
    assert [(commit.sha, commit.subject) for commit in one.commits] == [
        ("c7d20fe", "Keep retry delays under the ceiling, and apart")
    ]
    assert [(pull.number, pull.action) for pull in one.pull_requests] == [(118, "created")]
    assert [(test.passed, test.failed) for test in one.tests] == [(0, 1), (1, 0)]
    assert (one.calls, one.failed_calls) == (16, 1)
    assert [(failure.name, failure.times) for failure in one.failures] == [("pytest", 1)]
    assert (one.open_failure, one.automated) == (None, False)
    in_full = digest_markdown(made, full=True)
    assert [f": 1 run {how}\n" in in_full for how in ("passed", "failed")] == [True, True]
    outcome = (
        "committed “Keep retry delays under the ceiling, and apart” · \\#118 created · 2 files +16 −7 · tests passed"
    )
    assert f"- Fix the flaky ceiling test · {outcome} · $0.15 · 8c1f0b52\n" in digest_markdown(made)


def test_a_week_of_many_sessions_is_half_a_page(tmp_path: Path) -> None:
    for number in range(100):
        prompt = "Summarise the news" if number % 5 == 0 else f"Do {number}"
        bad = number % 10 == 1
        ended = answer(result(f"c{number}", "Exit code 1" * bad, is_error=bad))
        said = told(user(prompt), _reply(f"c{number}", "cd x && npm test"), ended)
        name = SESSION.replace("5e55", f"{number:04x}")
        own = {"sessionId": name, "cwd": f"/work/p{number % 20}", "parentUuid": None}
        records = ({**record, **own, "uuid": f"{number}-{record['uuid']}"} for record in said)
        write(tmp_path, *records, name=name, project=f"-work-p{number % 20}")
    made = reread.digest(since="2000", root=tmp_path)
    text = digest_markdown(made)
    assert len(text.splitlines()) <= 60
    assert "\n100 sessions · 20 projects · " in text
    assert "Automated: 20 runs of “Summarise the news”, $" in text
    assert "Failed: 10 of 100 calls: npm test 10.\n" in text
    assert len(re.findall(r"^- Do \d*1: npm test · ", text, re.MULTILINE)) == 5
    assert "\n- and 5 more: reread ls --failed\n" in text
    named = text.count(" · tests passed · ") + text.count(" · tests failed · ")
    assert named == 18 and "more: " in text
    assert digest_markdown(made, full=True).count("### ") == 100


def test_a_command_that_was_not_run_did_not_fail(tmp_path: Path) -> None:
    """Up to 2.1.76 the client records the no of whoever uses the SDK as an error, which has no exit code."""
    said = {"a": ("ok", False), "b": ("Exit code 1", True), "c": (DENIED, True), "d": ("Exit code 2", True)}
    said |= {"e": ("ok", False), "f": ("The tester says no.", True)}
    records = [record for id, (text, bad) in said.items() for record in _called(id, text, bad)]
    write(tmp_path, *told(*records), name=SESSION)
    ((session,),) = (project.sessions for project in reread.digest(since="2000", root=tmp_path).projects)
    (one,) = session.tests
    assert (one.command, one.passed, one.failed, one.unknown, one.last_passed) == ("pytest -q", 2, 2, 1, None)
    assert {one.name: one.times for one in session.failures} == {"pytest": 2, "Bash": 1}
    assert (session.failed_calls, session.open_failure) == (3, None)
    assert cli("ls", "--root", tmp_path, "--failed").exit_code == 1  # nor does any list say that it failed


def _called(id: str, text: str, bad: bool) -> list[dict[str, Any]]:
    made = [reply(use(id, command="pytest -q"), id=id), answer(result(id, text, is_error=bad))]
    return [{**record, "uuid": f"{id}{n}"} for n, record in enumerate(made)]


def test_its_cost_is_that_of_usage(made: Digest) -> None:
    counted = reread.usage(by="project", **PERIOD)
    assert made.cost_usd == pytest.approx(float(counted.totals.cost_usd or 0))
    costs = {row["project"]: float(row.cost_usd or 0) for row in counted.rows}
    assert {one.project: pytest.approx(one.cost_usd) for one in made.projects} == costs


@pytest.mark.parametrize("kind", ["moved", "other root", "fork", "continued"])
def test_what_several_files_have_counts_once(tmp_path: Path, kind: str) -> None:
    said = told(user("Do it"), _reply("c1", "pytest -q"), answer(result("c1")), user("More"))
    more = [*said, *told(*said, _reply("c2", "ls"))[len(said) :]]
    write(tmp_path / "a", *said, name=SESSION)
    own = more if kind in ("fork", "continued") else said
    other = SESSION.replace("5e55", "f02c") if kind == "fork" else SESSION
    root, project = ("b", "p") if kind == "other root" else ("a", "q")
    write(tmp_path / root, *({**record, "sessionId": other} for record in own), name=other, project=project)
    roots = [tmp_path / "a", *([tmp_path / "b"] if root == "b" else [])]
    made = reread.digest(since="2000", root=roots)
    told_of = [one for project in made.projects for one in project.sessions]
    counted, stats = reread.usage(by="session", root=roots), reread.stats(by="session", root=roots)
    assert {one.session: one.cost_usd for one in told_of} == {row["session"]: row["cost_usd"] for row in counted.rows}
    assert made.cost_usd == pytest.approx(float(counted.totals.cost_usd or 0)) and made.cost_usd > 0
    assert {one.session: one.calls for one in told_of} == {row["session"]: row["calls"] for row in stats.rows}
    assert [one.prompts for one in told_of if one.session == SESSION] == [["Do it", "More"]]
    assert sum(test.passed for one in told_of for test in one.tests) == 1


def test_what_a_session_did_in_several_folders_is_told_as_one(tmp_path: Path) -> None:
    """Its file was moved and went on elsewhere, each time with new records only."""
    said = told(
        *(user("Begin"), _reply("c1", "pytest -q"), answer(result("c1")), user("Commit it")),
        *(_reply("c2", "git commit -m x"), answer(result("c2", "[main 1a2b3c4] Half")), user("Go on")),
        *(_reply("c3", "pytest -q tests"), answer(result("c3")), user("And that")),
        *(_reply("c4", "git commit -m y"), answer(result("c4", "[main 5d6e7f8] All")), user("Thanks")),
    )
    for project, records in (("p", said[:4]), ("q", said[4:7]), ("r", said[7:])):
        write(tmp_path, *records, name=SESSION, project=project)
    (project,) = reread.digest(since="2000", root=tmp_path).projects
    (one,) = project.sessions
    assert one.prompts == ["Begin", "Commit it", "Go on", "And that", "Thanks"]
    assert [commit.sha for commit in one.commits] == ["1a2b3c4", "5d6e7f8"]
    assert [(test.command, test.passed) for test in one.tests] == [("pytest -q", 1), ("pytest -q tests", 1)]
    assert (one.calls, one.failed_calls) == (4, 0)
    assert (one.started, one.ended) == (parse_timestamp(said[0]["timestamp"]), parse_timestamp(said[-1]["timestamp"]))


def _reply(id: str, command: str) -> dict[str, Any]:
    made = reply(use(id, command=command), id=f"msg_{id}")
    used = {"input_tokens": 1000, "output_tokens": 50}
    return {**made, "message": {**made["message"], "model": "claude-opus-4-5-20251101", "usage": used}}


def test_only_what_a_person_asked_is_a_prompt(tmp_path: Path) -> None:
    said = ["Do it", "<command-name>/clear</command-name>", "<local-command-stdout>ok</local-command-stdout>", "More"]
    file = tmp_path / "projects" / "-work" / "5e551017-0000-4000-8000-000000000001.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(jsonl(*told(*map(user, said), reply("Done."))))
    (project,) = reread.digest(since="2000", root=tmp_path).projects
    assert project.sessions[0].prompts == ["Do it", "More"]


def test_only_what_was_done_in_the_period_counts(made: Digest) -> None:
    day = reread.digest(**{**PERIOD, "since": "2026-11-11", "until": "2026-11-11"})
    prompts = [prompt for project in day.projects for one in project.sessions for prompt in one.prompts]
    assert prompts == [
        "Morning. Write the release note for 0.5.0: what is new, what to do when upgrading. Half a page."
    ]
    assert 0 < day.cost_usd < made.cost_usd


def test_what_only_agents_did_counts() -> None:
    period = {**PERIOD, "since": datetime(2026, 11, 10, 15, 21, 10, tzinfo=UTC)}
    period["until"] = period["since"] + timedelta(seconds=20)
    (project,) = reread.digest(**period).projects
    assert [(one.session[:8], one.prompts) for one in project.sessions] == [("c3e81f6d", [])]
    assert project.cost_usd > 0
    assert project.cost_usd == pytest.approx(float(reread.usage(**period).totals.cost_usd or 0))


def test_texts_are_escaped(made: Digest) -> None:
    import msgspec

    bad = "<script>alert(1)</script> [x](javascript:y) ![p](http://e/x.png)\x1b]0;t\x07\n# head"
    session = msgspec.structs.replace(made.projects[0].sessions[0], title=bad, prompts=[bad], git_branch=bad)
    project = msgspec.structs.replace(made.projects[0], sessions=[session], project=bad)
    hostile = msgspec.structs.replace(made, projects=[project])
    page = digest_html(hostile) + digest_html(hostile, full=True)
    text = digest_markdown(hostile) + digest_markdown(hostile, full=True)
    assert "<script" not in page and "\x1b" not in page + text
    assert "<script" not in text.replace("\\<", "") and "\n# head" not in text and "![" not in text.replace("\\!", "")


def test_a_terminal_gets_it_without_marks_and_a_pipe_as_markdown(made: Digest, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["--demo", "digest", "--since", "2026-11-09", "--until", "2026-11-12", "--full", "--no-redact"]
    piped = cli(*words).stdout
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda stream: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    shown = cli(*words).stdout
    assert "\\_" in piped and "\n## " in piped and cli(*words, "-f", "markdown").stdout == piped
    assert (
        "\\" not in shown
        and "#" not in re.sub(r"#\d", "", shown)
        and "test_never_waits_longer_than_the_ceiling" in shown
    )
    drawn = ["".join(text for _, text in line) for line in digest_lines(made, full=True, width=60)]
    assert max(map(len, drawn)) < 70  # a word that is longer than a line is not broken


def test_redacted_texts_have_no_names_and_no_secrets(tmp_path: Path) -> None:
    text = "\n".join(file.read_text() for file in (SAMPLES / "projects").rglob("*.jsonl"))
    secret = "ghp_" + "Zk3" * 12
    root = tmp_path / "projects" / "-home-sam-code-harbor"
    root.mkdir(parents=True)
    row = next(
        line for line in text.splitlines() if '"type":"user"' in line and "ceiling" in line and '"text' not in line
    )
    record = json.loads(row)
    record["message"] = {"role": "user", "content": f"Use {secret} and mail kim@fabrikam.io"}
    (root / f"{record['sessionId']}.jsonl").write_text(json.dumps(record) + "\n")
    words = ("digest", "--since", "2020", "--root", str(tmp_path), "--full")
    plain, clean = run(*words, "--no-redact").stdout, run(*words).stdout
    assert secret.replace("_", "\\_") in plain and "kim@fabrikam" in plain and "/home/sam" in plain
    assert secret.replace("_", "\\_") not in clean and "kim@fabrikam" not in clean and "/home/sam" not in clean


def test_a_redacted_digest_says_so_and_has_the_same_figures(made: Digest) -> None:
    clean = reread.digest(**PERIOD)
    assert clean.redacted and not made.redacted and clean.cost_usd == made.cost_usd
    assert "/home/sam" not in msgspec.json.encode(clean).decode()
    figures = [
        [(one.calls, one.cost_usd) for project in of.projects for one in project.sessions] for of in (clean, made)
    ]
    assert figures[0] == figures[1]


def test_calls_without_an_id_count_each(tmp_path: Path) -> None:
    made = told(user("Go"), reply(use("", command="ls"), use("", command="pwd"), id="m1"))
    write(tmp_path, *made, name=SESSION)
    (project,) = reread.digest(since="2000", root=tmp_path).projects
    assert project.sessions[0].calls == reread.stats(root=tmp_path).totals.calls == 2


def test_it_is_written_in_three_formats_and_says_if_there_is_nothing(tmp_path: Path) -> None:
    words = ("--demo", "digest", "--since", "2026-11")
    assert run(*words).stdout.startswith("# Sessions from 2026-11-01")
    value = json.loads(run(*words, "-f", "json").stdout)
    assert value["projects"][0]["sessions"][0]["prompts"]
    page = tmp_path / "week.html"
    assert run(*words, "-f", "html", "-o", str(page)).stdout == ""
    assert page.read_text().startswith("<!doctype html>")
    nothing = run("--demo", "digest", "--since", "2019", "--until", "2019")
    assert (nothing.returncode, "No session did anything." in nothing.stdout) == (1, True)


@table(
    ("command", "is_test"),
    [
        ("pytest -q", True),
        ("cd x && python -m pytest tests", True),
        ("npm test", True),
        ("npm run test:unit", True),
        ("cargo test --all", True),
        ("uv run pytest", True),
        ("./gradlew test", True),
        ("pip install pytest", False),
        ("cat pytest.ini", False),
        ("echo test", False),
        ("FOO=1 zig build test", True),
        ("make", False),
        ("python -m \\\n  pytest", True),
        ('echo \\"; pytest', True),
        (r"echo a\; pytest", False),
    ],
)
def test_commands_that_run_tests_are_known(command: str, is_test: bool) -> None:
    assert runs_tests(command) is is_test


def test_escaped_quotes_in_a_command_take_linear_time() -> None:
    """They are searched for no end: with a quote that is never closed, that was a minute for 20 KB."""
    with within(0.2):
        assert runs_tests("pytest <<E\nit's " + r"\"a" * 20_000)
