"""`reread.stats` and `reread stats`: figures that add up, and lead to their records."""

import csv
import io
import json
import math
import shutil
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command import run
from making import SESSION, answer, jsonl, read, reply, result, state, system, told, use, user
from making import write as write_session

import reread
from reread.base.paths import SAMPLES
from reread.errors import Misuse
from reread.facts.derive import failure_kind
from reread.reader.session_view import SessionView
from reread.render.markdown import session_markdown
from reread.render.report_table import report_lines, report_value
from reread.render.selection import EVERYTHING
from reread.render.terminal import TerminalView, make_console
from reread.server.answer_cache import AnswerCache
from reread.server.library import SessionLibrary
from reread.server.reports import REPORTS
from reread.session.commits import GitOperationsByTurn

HARBOR = "/home/sam/code/harbor"


def stats(*sources: Any, **options: Any) -> Any:
    return reread.stats(*sources, cache=False, **options)


def test_each_figure_leads_to_its_records() -> None:
    report = stats(root=SAMPLES, state="failed", tool="bash")
    assert report.totals.calls == report.totals.failed == len(report.items) > 0
    for place in report.items:
        session = reread.open(place["path"])
        owner: Any = session.agents[place["agent"]] if place["agent"] else session
        call = next(call for call in owner.calls if call.line == place["line"] and call.id == place["id"])
        assert (call.name, call.state) == ("Bash", "failed")


def stamped(*records: tuple[int, Any]) -> bytes:
    """Records with a time: so many seconds after noon."""
    rows = told(*(record for _, record in records))
    for (second, _), row in zip(records, rows, strict=True):
        row["timestamp"] = f"2026-11-09T{12 + second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.000Z"
    return jsonl(*rows)


def write(folder: Path, data: bytes) -> Path:
    path = folder / "11111111-1111-4111-8111-111111111111.jsonl"
    path.write_bytes(data)
    return path


def test_time_is_the_models_the_tools_or_waiting(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        stamped(
            (0, user("Do it.")),
            (4, reply(use("a", command="sleep 10"), use("b", command="sleep 8"), id="m1")),
            (12, answer(result("a"))),
            (14, answer(result("b"))),
            (17, reply("Done.", id="m2")),
            (100, user("Again.")),
            (105, reply("Yes.", id="m3")),
        ),
    )
    totals = stats(path, by="session").totals
    assert (totals.model_seconds, totals.tool_seconds, totals.waiting_seconds) == (4 + 3 + 5, 10, 83)
    assert totals.call_seconds == 8 + 10
    assert totals.turns == 2


def test_a_break_within_a_turn_is_waiting(tmp_path: Path) -> None:
    notice = user("<task-notification><status>completed</status></task-notification>")
    path = write(
        tmp_path,
        stamped((0, user("Go.")), (2, reply("Started.", id="m1")), (3000, notice), (3003, reply("Done.", id="m2"))),
    )
    totals = stats(path, by="session").totals
    assert (totals.model_seconds, totals.waiting_seconds) == (5, 2998)


def test_a_call_after_a_failed_one_of_its_tool_is_a_retry(tmp_path: Path) -> None:
    failed = {"is_error": True}
    path = write(
        tmp_path,
        jsonl(
            *told(
                user("Do it."),
                reply(use("a", command="make"), id="m1"),
                answer(result("a", "Exit code 2\nno rule", **failed)),
                reply(use("b", "Read", file_path="/x"), id="m2"),
                answer(result("b", "File does not exist.", **failed)),
                reply(use("c", command="make"), id="m3"),
                answer(result("c")),
                reply(use("d", command="make"), id="m4"),
                answer(result("d")),
                user("More."),
                reply(use("e", "Read", file_path="/x"), id="m5"),
                answer(result("e")),
            )
        ),
    )
    report = stats(path, by="failure")
    assert [place["id"] for place in report.items if place["is_retry"]] == ["c"]
    assert {row["failure"]: row["calls"] for row in report.rows} == {"exit 2": 1, "no such file": 1, None: 3}


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Found 3 matches of the string to replace, but replace_all is false.", "text not unique"),
        ("Found 3 problems.", "other"),
        ("File content (30000 tokens) exceeds maximum allowed tokens (25000).", "too large"),
        ("MCP error -32001: Request timed out", "MCP error"),
        ("The request timed out", "timeout"),
        ("EISDIR: illegal operation on a directory, read", "is a folder"),
        ("Exit code 3\nno", "exit 3"),
        ("Exit code 1\nError: ENOENT: no such file or directory, open 'x'", "exit 1"),
        ("Exit code 143\nCommand timed out after 1s", "timeout"),
    ],
)
def test_failures_have_kinds(message: str, kind: str) -> None:
    records = told(user("Go."), reply(use("a"), id="m1"), answer(result("a", message, is_error=True)))
    assert failure_kind(reread.open(jsonl(*records)).calls[0]) == kind


def test_calls_are_counted_by_their_state(tmp_path: Path) -> None:
    denied = "The user doesn't want to proceed with this tool use. The tool use was rejected"
    said = {"a": ("ok", False), "b": ("Exit code 1", True), "c": (denied, True), "d": (denied, True), "e": ("no", True)}
    uses = [reply(*(use(id, command=id) for id in said), id="m1")]
    ended = [answer(result(id, text, is_error=bad)) for id, (text, bad) in said.items()]
    totals = stats(write(tmp_path, jsonl(*told(user("Go."), *uses, *ended)))).totals
    assert (totals.calls, totals.failed, totals.denied, totals.interrupted) == (5, 2, 2, 0)


def test_turns_add_to_the_context_and_compactions_take_away(tmp_path: Path) -> None:
    figures = {"trigger": "auto", "preTokens": 80_000, "postTokens": 12_000}
    sizes = [30_000, 50_000, 80_000]
    rows: list[Any] = []
    for n, size in enumerate(sizes):
        rows += [(10 * n, user(f"{n}")), (10 * n + 5, reply("Yes.", id=f"m{n}", usage={"input_tokens": size}))]
    rows += [(40, system("compact_boundary", compactMetadata=figures)), (41, user("Now", isCompactSummary=True))]
    rows += [(50, user("On")), (55, reply("Yes.", id="m9", usage={"input_tokens": 12_000}))]
    totals = stats(write(tmp_path, stamped(*rows)), by="session").totals
    assert (totals.context_peak, totals.context_growth, totals.compactions) == (80_000, 80_000, 1)
    assert totals.tokens_removed == 68_000


def test_what_a_fork_copied_is_counted_once(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "-shop"
    folder.mkdir(parents=True)
    sample = next(header for header in reread.sessions(root=SAMPLES) if not header.captured)
    data = Path(sample.path).read_bytes()
    once = stats(sample.path)
    for name in ("11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"):
        (folder / f"{name}.jsonl").write_bytes(data)
    twice = stats(root=tmp_path / "projects")
    main_calls = [place for place in once.items if place["agent"] is None]
    assert len([place for place in twice.items if place["agent"] is None]) == len(main_calls)


def test_the_cache_gives_the_same_and_sees_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "projects"
    shutil.copytree(SAMPLES / "projects", root)
    fresh = reread.stats(root=root, cache=False)
    assert report_value(reread.stats(root=root)) == report_value(fresh)
    assert report_value(reread.stats(root=root)) == report_value(fresh)
    agent = next(root.glob("*/*/subagents/agent-*.jsonl"))
    agent.unlink()
    assert report_value(reread.stats(root=root)) == report_value(reread.stats(root=root, cache=False))
    assert report_value(reread.stats(root=root)) != report_value(fresh)


def test_an_unknown_group_is_refused() -> None:
    with pytest.raises(Misuse, match="Cannot group by 'colour'; use tool, failure"):
        stats(root=SAMPLES, by="colour")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "-shop"
    folder.mkdir()
    (folder / "a.jsonl").symlink_to("/dev/zero")
    write(folder, jsonl(*told(user("Hi."), reply("Hello."))))
    report = stats(root=tmp_path)
    assert report.sessions == 1


def test_only_sessions_with_something_in_the_period_are_counted() -> None:
    report = stats(root=SAMPLES, by="day", since="2026-11-11")
    assert 0 < report.sessions < stats(root=SAMPLES, by="day").sessions
    assert {place["path"] for place in report.items} and len(
        {place["path"] for place in report.items}
    ) <= report.sessions


class TestCommandLine:
    def test_json(self, tmp_path: Path) -> None:
        done = run("stats", "--root", str(SAMPLES), "--by", "tool", "--json", home=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout) == json.loads(json.dumps(report_value(stats(root=SAMPLES))))

    def test_csv(self, tmp_path: Path) -> None:
        done = run("stats", "--root", str(SAMPLES), "--by", "week", "--tz", "UTC", "--csv", home=tmp_path)
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        assert [row["week"] for row in rows] == ["2026-09-28", "2026-11-02", "2026-11-09"]
        assert sum(int(row["calls"]) for row in rows) == stats(root=SAMPLES).totals.calls

    def test_the_list_has_the_lines(self, tmp_path: Path) -> None:
        done = run("--demo", "stats", "--state", "failed", "--list", "--json", home=tmp_path)
        listed = json.loads(done.stdout)
        assert listed
        assert all(row["state"] == "failed" and row["line"] > 0 and row["path"] for row in listed)
        shown = run("--demo", "stats", "--state", "failed", "--list", home=tmp_path).stdout
        assert all(row["what"][:20] in shown and row["error"] for row in listed) and "x1b" not in shown
        for row in listed:
            [call] = json.loads(reread.export(row["address"], "json", root=SAMPLES))["calls"][:1]
            assert row["address"].partition(":")[0] == row["session"] and call["name"] == row["tool"]

    def test_the_list_names_what_failed_first_and_no_more_than_asked_for(self, tmp_path: Path) -> None:
        every = json.loads(run("--demo", "stats", "--list", "--json", home=tmp_path).stdout)
        states = [row["state"] for row in every]
        assert states == sorted(states, key=("failed", "denied", "interrupted", "done", "running").index)
        assert len(every) == stats(root=SAMPLES).totals.calls
        assert json.loads(run("--demo", "stats", "--list", "--json", "-n", "3", home=tmp_path).stdout) == every[:3]
        by_kind = json.loads(run("--demo", "stats", "--by", "failure", "--list", "--json", home=tmp_path).stdout)
        assert {row["id"] for row in by_kind} == {row["id"] for row in every if row["failure"]}
        for width in (60, 80):
            done = run("--demo", "stats", "--by", "failure", "--list", home=tmp_path, env={"COLUMNS": str(width)})
            lines = done.stdout.splitlines()
            assert max(map(len, lines)) <= width and lines[0].startswith("exit 1")
            assert any("8c1f0b52:1." in line and "pytest -q" in line for line in lines)

    def test_an_address_in_the_list_is_as_long_as_it_must_be(self, tmp_path: Path) -> None:
        for last in "12":
            called = reply(use(f"c{last}", command="make"), id=f"m{last}")
            lines = told(user("Build."), called, answer(result(f"c{last}", is_error=True)))
            name = f"{SESSION[:-1]}{last}"
            write_session(tmp_path, *({**line, "sessionId": name} for line in lines), name=name)
        shown = run("--root", str(tmp_path), "stats", "--list", home=tmp_path).stdout
        addresses = [line.split()[0] for line in shown.splitlines() if line.startswith(f"  {SESSION[:8]}")]
        assert sorted(reread.open(address, root=tmp_path).id[-1] for address in addresses) == ["1", "2"]

    def test_a_session_without_a_call_has_its_title_too(self, tmp_path: Path) -> None:
        write_session(tmp_path, *told(user("Blue?"), reply("It scatters light.")), name=SESSION)
        shown = run("--root", str(tmp_path), "stats", "--by", "session", home=tmp_path).stdout
        assert f"{SESSION[:8]} Blue?" in shown

    @pytest.mark.parametrize("by", ["tool", "session", "project,week", "file", "failure"])
    def test_the_table_fits_eighty_columns(self, by: str, tmp_path: Path) -> None:
        lines = run("--demo", "stats", "--by", by, home=tmp_path, env={"COLUMNS": "80"}).stdout.splitlines()
        assert max(map(len, lines)) <= 80
        assert any(line.startswith("Total") for line in lines)
        assert "Lower bound: 1 of 150 responses has no final token count." in lines


class TestGit:
    def test_commits_and_pull_requests_of_a_sample(self) -> None:
        session = reread.open("8c1f0b52", root=SAMPLES)
        assert [(pull.number, pull.repository, pull.action) for pull in session.pull_requests] == [
            (118, "example/harbor", "created")
        ]
        subjects = [(commit.sha, commit.subject) for commit in session.commits]
        assert subjects == [("c7d20fe", "Keep retry delays under the ceiling, and apart")]

    @pytest.mark.parametrize(
        ("printed", "expected"),
        [
            ("[main 1a2b3c4] Add a test\n 1 file changed", [("1a2b3c4", "main", "Add a test")]),
            ("[main (root-commit) 1a2b3c4d] First", [("1a2b3c4d", "main", "First")]),
            ("[detached HEAD 1a2b3c4] x", []),
            ("see [main 1a2b3c4] Add", []),
            ("nothing to commit, working tree clean", []),
        ],
    )
    def test_what_git_prints(self, printed: str, expected: list[Any]) -> None:
        data = jsonl(*told(user("Go."), reply(use("a", command="git commit -qm x")), answer(result("a", printed))))
        commits = reread.open(data).commits
        assert [(commit.sha, commit.branch, commit.subject) for commit in commits] == expected

    def test_what_the_client_noted(self) -> None:
        noted = {"stdout": "", "gitOperation": {"commit": {"sha": "1a2b3c4d5e", "kind": "committed"}}}
        row = answer(result("a", ""))
        row["toolUseResult"] = noted
        data = jsonl(*told(user("Go."), reply(use("a", command="git commit -qm x")), row))
        assert [commit.sha for commit in reread.open(data).commits] == ["1a2b3c4d5e"]

    def test_a_text_that_only_looks_like_a_commit_is_none(self) -> None:
        data = jsonl(
            *told(user("Go."), reply(use("a", command="cat git.log")), answer(result("a", "[main 1a2b3c4] Add")))
        )
        assert reread.open(data).commits == []

    def test_they_belong_to_the_turn_in_which_they_were_made(self) -> None:
        link = {"prNumber": 7, "prRepository": "a/b", "prUrl": "https://github.com/a/b/pull/7"}
        made = {"prNumber": 8, "prRepository": "a/b", "prUrl": "https://github.com/a/b/pull/8"}
        session = reread.open(
            jsonl(
                *told(
                    user("One."),
                    reply(use("a", command="git commit -qm x"), id="m1"),
                    answer(result("a", "[main 1a2b3c4] Add")),
                    state("pr-link", **link),
                    user("Two."),
                    state("pr-link", **link),
                    state("pr-link", **made),
                    reply("Nothing done.", id="m2"),
                    user("Three."),
                    reply(use("b", command="gh pr create --fill"), id="m3"),
                    answer(result("b", "https://github.com/a/b/pull/8\n")),
                )
            )
        )
        git = GitOperationsByTurn(session.conversation)
        found = [git.of_turn(turn.messages) for turn in session.turns]
        assert [[commit.sha for commit in one.commits] for one in found] == [["1a2b3c4"], [], []]
        assert [[(pull.number, pull.action) for pull in one.pull_requests] for one in found] == [
            [(7, None)],
            [],
            [(8, "created")],
        ]
        view = SessionView(session, "s")
        items = view.page(0, 50).items
        assert [item.turn for item in items if item.commits or item.pull_requests] == [1, 3]
        terminal = io.StringIO()
        console = make_console(file=terminal, width=200)
        console.print(*TerminalView(EVERYTHING).session(session))
        escaped = "\n".join(session_markdown(session, EVERYTHING))
        for text in (terminal.getvalue(), escaped.replace("\\#", "#")):
            assert "committed 1a2b3c4 Add" in text
            assert "pull request a/b#7 linked" in text
            assert text.index("a/b#7") < text.index("Two.")
        turns = json.loads(reread.export(session, "json"))["turns"]
        assert [turn["commits"] for turn in turns] == [
            [{"sha": "1a2b3c4", "subject": "Add", "branch": "main", "call": "a", "agent": None}],
            [],
            [],
        ]
        assert [
            [(pull["number"], pull["action"], pull["call"]) for pull in turn["pull_requests"]] for turn in turns
        ] == [
            [(7, None, None)],
            [],
            [(8, "created", "b")],
        ]

    def test_the_commit_of_an_agent_belongs_to_the_turn_that_started_it(self) -> None:
        inner = {"isSidechain": True, "agentId": "ag1"}
        session = read(
            user("Go."),
            reply(use("t", "Task", prompt="Commit it."), id="m1"),
            user("Commit it.", **inner),
            reply(use("a", command="git commit -qm x"), id="m2", **inner),
            answer(result("a", "[main 1a2b3c4] Add"), **inner),
            answer(result("t", "Done."), data={"agentId": "ag1", "status": "completed"}),
        )
        item = SessionView(session, "s").page(0, 50).items[-1]
        assert [(commit.sha, commit.agent) for commit in item.commits] == [("1a2b3c4", "ag1")]

    def test_ls_finds_the_session_of_a_commit_and_of_a_pull_request(self, tmp_path: Path) -> None:
        sha = reread.open("8c1f0b52", root=SAMPLES).commits[0].sha
        for words in (["--commit", sha], ["--commit", sha[:7].upper()], ["--commit", sha + "0" * 8], ["--pr", "118"]):
            done = run("--demo", "ls", *words, "--json", home=tmp_path)
            assert [row["id"][:8] for row in json.loads(done.stdout)] == ["8c1f0b52"], words
        assert run("--demo", "ls", "--pr", "1", home=tmp_path).stdout == ""
        assert "Invalid commit 'x'" in run("--demo", "ls", "--commit", "x", home=tmp_path).stderr


class TestServer:
    def test_the_report_and_the_calls_behind_a_figure(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("REREAD_CACHE", str(tmp_path))
        library = SessionLibrary([SAMPLES], count=False)
        library.refresh()
        assert REPORTS["stats"].answer(library, {"by": "tool"}) == report_value(stats(root=SAMPLES))
        failed = REPORTS["calls"].answer(library, {"by": "tool", "group": "Bash", "state": "failed"})
        assert failed["total"] == len(failed["calls"]) == 5
        found = {library.find(one["key"]).stem for one in failed["calls"]}
        assert found == {one["session"] for one in failed["calls"]}
        totals = stats(root=SAMPLES).totals
        assert REPORTS["calls"].answer(library, {"by": "failure"})["total"] == totals.calls - totals.failed
        with pytest.raises(Misuse, match="one of them"):
            REPORTS["calls"].answer(library, {"by": "tool,week"})


def test_an_agent_without_metadata_has_the_type_of_its_call(tmp_path: Path) -> None:
    inline = {"isSidechain": True, "parentUuid": None}
    usage = {"input_tokens": 5, "output_tokens": 100}
    records = told(
        user("go"),
        reply(use("toolu_1", "Task", description="look", prompt="look around", subagent_type="Explore")),
        {**user("look around"), **inline},
        {**reply("found", id="msg_2", usage=usage), "isSidechain": True, "parentUuid": "u3"},
        answer(result("toolu_1", "found")),
    )
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl(*records))
    assert {row["agent_type"] for row in stats(path, by="agent_type").rows} == {"main", "Explore"}
    used = {row["agent_type"]: row["output_tokens"] for row in reread.usage(path, by="agent_type").rows}
    assert used["Explore"] == 100


def test_a_model_without_a_price_has_no_cost_of_zero(tmp_path: Path) -> None:
    priced = {"input_tokens": 1000, "output_tokens": 10}

    def said(id: str, model: str) -> dict[str, Any]:
        made = reply(use(f"c{id}", command="ls"), id=id, usage=priced)
        return {**made, "message": {**made["message"], "model": model}}

    known, unknown = said("m1", "claude-opus-4-5-20251101"), said("m2", "claude-of-tomorrow")
    path = write(tmp_path, jsonl(*told(user("Go."), unknown, known, unknown | {"uuid": "x"})))
    for by in ("model", ("model", "tool")):
        report = stats(path, by=by)
        used = {row["model"]: row["cost_usd"] for row in reread.usage(path, by="model").rows}
        assert {row["model"]: row["cost_usd"] for row in report.rows if row["calls"]} == pytest.approx(used)
        assert used["claude-of-tomorrow"] is None and report.totals.cost_usd == used["claude-opus-4-5-20251101"]
    assert any("of-tomorrow" in line and "?" in line.split() for _, line in report_lines(report))
    alone = stats(write(tmp_path, jsonl(*told(user("Go."), unknown))), by="session")
    assert alone.totals.cost_usd is None and report_value(alone)["rows"][0]["cost_usd"] is None


@pytest.mark.parametrize(
    "figures, removed, unmeasured, words",
    [
        ([(80, 12)], 68, 0, "1 compaction, which removed 68 tokens."),
        (
            [(80, 12), (90, None)],
            68,
            1,
            "2 compactions, of which 1 says how much was removed: at least 68 tokens in all.",
        ),
        ([(80, None)], None, 1, "1 compaction; how much was removed is not recorded."),
        ([(80, 12), (90, None), (90, 10)], 148, 1, "3 compactions, of which 2 say how much was removed: at least 148"),
    ],
)
def test_what_a_compaction_does_not_say_is_no_zero(
    tmp_path: Path, figures: list[Any], removed: int | None, unmeasured: int, words: str
) -> None:
    rows: list[Any] = []
    for n, (before, after) in enumerate(figures):
        stated = {"trigger": "auto", "preTokens": before} | ({} if after is None else {"postTokens": after})
        rows += [(60 * n, user(f"{n}")), (60 * n + 5, reply("Yes.", id=f"m{n}", usage={"input_tokens": before}))]
        rows += [(60 * n + 9, system("compact_boundary", compactMetadata=stated))]
        rows += [(60 * n + 10, user("Now", isCompactSummary=True))]
    report = stats(write(tmp_path, stamped(*rows)), by="session")
    totals = report.totals
    assert (totals.compactions, totals.tokens_removed, totals.unmeasured_compactions) == (
        len(figures),
        removed,
        unmeasured,
    )
    assert words in " ".join(line for _, line in report_lines(report))


def test_sessions_are_counted_alike_by_every_group(tmp_path: Path) -> None:
    """One has a call, one only a response, one only a prompt, one nothing, and one has two files."""
    talked = told(user("Go."), reply(use("c1", command="ls"), id="m1"), answer(result("c1")))
    kinds = {"1": talked, "2": told(user("Hi"), reply("Yes.", id="m2")), "3": told(user("Well")), "4": []}
    for n, records in kinds.items():
        id = n * 8 + "-1111-4111-8111-111111111111"
        own = [{**record, "sessionId": id, "uuid": f"{n}{record['uuid']}"} for record in records]
        for project in ("p", "q") if n == "1" else ("p",):
            file = tmp_path / "projects" / project / f"{id}.jsonl"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(jsonl(*own) if own else b'{"type":"summary","summary":"x","leafUuid":"y"}\n')
    for by in ("session", "tool", "model", "day", ()):
        report = stats(root=tmp_path, by=by)
        assert (report.sessions, report.empty_sessions) == (3, 1), by
    assert len(stats(root=tmp_path, by="session").rows) == 3
    assert stats(root=tmp_path, state="done").sessions == 1 and stats(root=tmp_path, state="done").empty_sessions == 0
    assert "Sessions without a turn of their own, not counted: 1." in [line for _, line in report_lines(report)]
    shown = run("usage", "--by", "session", "--root", str(tmp_path)).stdout
    assert "Sessions without usage of their own: 2." in shown
    assert "without usage" not in run("usage", "--by", "session", "--since", "2020", "--root", str(tmp_path)).stdout
    assert reread.advise(root=tmp_path).sessions == 4


def test_failures_say_where_and_since_when_and_answers_hold_until_a_file_changes(tmp_path: Path) -> None:
    root = shutil.copytree(SAMPLES, tmp_path / "samples")
    library = SessionLibrary([root], count=False)
    with closing(library):
        library.refresh()
        cache = AnswerCache(library, patience=math.inf)
        made = []

        def counted(library: SessionLibrary, query: Mapping[str, str]) -> dict[str, Any]:
            made.append(dict(query))
            return REPORTS["failures"].answer(library, query)

        first = cache.answer(counted, {})
        assert cache.answer(counted, {}) == first and len(made) == 1
        value = json.loads(first)
        totals = stats(root=root).totals
        assert value["totals"] == {"failed": totals.failed, "calls": totals.calls}
        row = value["rows"][0]
        assert (row["tool"], row["failure"], row["failed"], row["project"]) == (
            "Bash",
            "exit 1",
            4,
            "/home/sam/code/harbor",
        )
        assert row["first_ms"] < row["last"]["time_ms"] and row["last"]["key"] in library.keys().values()
        path = max(root.glob("projects/*/*.jsonl"), key=lambda path: path.stat().st_size)
        path.write_bytes(path.read_bytes() + b"{}\n")
        library.refresh()
        facts = set(cache._known)
        cache._forget_changes()
        assert facts - set(cache._known) == {str(path)} and len(facts) > 1, "the others are not read again"
        cache.answer(counted, {})
        assert len(made) == 2, "a file changed"
        assert REPORTS["advice"].answer(library, {})["sessions"] == stats(root=root).sessions


def test_an_answer_that_cannot_wait_says_how_many_sessions_are_left_and_the_next_has_more(tmp_path: Path) -> None:
    root = shutil.copytree(SAMPLES, tmp_path / "samples")
    library = SessionLibrary([root], count=False)
    with closing(library):
        library.refresh()
        cache = AnswerCache(library, patience=0)
        answers: list[dict[str, Any]] = []
        while not answers or answers[-1].get("pending"):
            answers.append(json.loads(cache.answer(REPORTS["stats"].answer, {"by": "tool"})))
        left = [answer.get("pending", 0) for answer in answers]
        calls = [answer["totals"]["calls"] for answer in answers]
        assert len(answers) > 2 and left == sorted(left, reverse=True) and calls == sorted(calls)
        assert answers[-1] == json.loads(
            AnswerCache(library, patience=math.inf).answer(REPORTS["stats"].answer, {"by": "tool"})
        )
        assert answers[-1] == report_value(stats(root=root, by="tool"))
