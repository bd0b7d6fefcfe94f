"""`reread usage` on the command line."""

import csv
import io
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command import forked, offered
from effort import one_in
from used import FIGURES

import reread
from reread.base.paths import SAMPLES
from reread.render.report_table import report_value


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all tests, so that the samples are read once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def run(tmp_path: Path, cache: Path) -> Any:
    """Run the command with an empty home folder."""

    def call(*words: str, stdin: bytes | None = None, **more: str) -> subprocess.CompletedProcess[str]:
        home = {
            "HOME": str(tmp_path),
            "CLAUDE_CONFIG_DIR": str(tmp_path / "none"),
            "REREAD_CACHE": str(cache),
        }
        own = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        environment = {**own, **home, "TZ": "UTC", **more}
        done = forked(words, stdin=stdin, env=environment)
        return subprocess.CompletedProcess(words, done.returncode, done.stdout.decode(), done.stderr.decode())

    return call


def test_json_is_the_report(run: Any) -> None:
    done = run("usage", "--root", str(SAMPLES), "--by", "day,model", "--tz", "UTC", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    report = reread.usage(root=SAMPLES, by="day,model", tz="UTC", cache=False)
    assert json.loads(done.stdout) == report_value(report)


def test_the_table_fits_eighty_columns(run: Any) -> None:
    for by in (
        "day",
        "session",
        "project",
        "model",
        "branch",
        "agent",
        "thread",
        "block",
        "project,session,model,branch",
    ):
        done = run("--demo", "usage", "--by", by, COLUMNS="80")
        assert done.returncode == 0
        lines = done.stdout.splitlines()
        table = lines[: next(n for n, line in enumerate(lines) if line.startswith("Total")) + 1]
        assert all(len(line) <= 80 for line in table), by
        assert len(table) >= 3
    assert any("█" in line for line in run("--demo", "usage").stdout.splitlines())


def test_the_table_has_notes(run: Any, tmp_path: Path) -> None:
    line = {
        "type": "assistant",
        "sessionId": "a",
        "requestId": "r",
        "costUSD": 1.5,
        "message": {"id": "m", "model": "mystery\x1b[31m", "usage": {"output_tokens": 5}},
    }
    nameless = {"type": "assistant", "message": {"id": "n", "usage": {"output_tokens": 5}}}
    (tmp_path / "a.jsonl").write_text(f"{json.dumps(line)}\n{json.dumps(nameless)}\n")
    shown = run("usage", str(tmp_path / "a.jsonl")).stdout
    assert "No price for mystery\\x1b[31m, an unknown model: tokens are counted, cost is not." in shown
    assert "Lower bound: 2 of 2 responses" in shown
    assert "The client reported $1.50" in shown
    assert "\x1b" not in shown


def test_csv_has_the_rows_with_their_groups_and_figures(run: Any) -> None:
    done = run("--demo", "usage", "--by", "session,model", "--csv")
    rows = list(csv.reader(io.StringIO(done.stdout)))
    assert rows[0] == ["session", "model", *FIGURES, "tokens"]
    assert len(rows) == len(reread.usage(root=SAMPLES, by="session,model", cache=False).rows) + 1


def test_prices_are_shown_with_their_date(run: Any) -> None:
    shown = run("usage", "--prices").stdout
    assert "Prices of 2026-11-15" in shown
    assert any(line.split()[:6] == ["claude-opus-5-5", "4", "20", "5", "8", "0.2"] for line in shown.splitlines())
    listed = json.loads(run("usage", "--prices", "--json").stdout)
    assert listed["models"]["claude-opus-5-5"]["prices"][0]["input"] == 4


def test_a_file_has_other_prices(run: Any, tmp_path: Path) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text('{"as_of": "2030-01-01", "models": {"claude-opus-5-5": {"input": 0, "output": 0}}}')
    done = run("--demo", "usage", "--by", "model", "--json", REREAD_PRICES=str(prices))
    rows = {row["model"]: row["cost_usd"] for row in json.loads(done.stdout)["rows"]}
    assert rows["claude-opus-5-5"] == 0
    assert "2030-01-01" in run("usage", "--prices", REREAD_PRICES=str(prices)).stdout
    assert "Cannot read price file" in run("usage", REREAD_PRICES="/nonexistent.json").stderr


def test_sessions_folders_and_streams_can_be_mixed(run: Any) -> None:
    sessions = sorted(SAMPLES.glob("projects/*/*.jsonl"))
    streams = sorted(SAMPLES.glob("conversations/*/*/*.jsonl"))
    words = [str(sessions[0]), str(sessions[1].parent), *map(str, streams)]
    done = run("usage", *words, "--json", "--by", "session")
    assert done.returncode == 0
    assert len(json.loads(done.stdout)["rows"]) >= 3


def test_a_stream_is_counted_from_standard_input_too(run: Any) -> None:
    path = next(SAMPLES.glob("conversations/*/*/*.jsonl"))
    piped = json.loads(run("usage", "-", "--json", stdin=path.read_bytes()).stdout)
    assert piped["totals"] == json.loads(run("usage", str(path), "--json").stdout)["totals"]
    assert piped["totals"]["reported_cost_usd"] is not None


def test_times_and_models_filter(run: Any) -> None:
    everything = json.loads(run("--demo", "usage", "--json").stdout)["totals"]["responses"]
    part = json.loads(run("--demo", "usage", "--json", "--since", "2026-11-10", "--model", "opus").stdout)["totals"]
    assert 0 < part["responses"] < everything
    none = json.loads(run("--demo", "usage", "--json", "--until", "2020-01-01").stdout)
    assert (none["rows"], none["comparison"], none["unread"]) == ([], None, [])
    assert (none["totals"]["responses"], none["totals"]["cost_usd"]) == (0, 0)


def test_the_cache_is_used(run: Any, tmp_path: Path) -> None:
    own = {"REREAD_CACHE": str(tmp_path / "cache")}
    first = run("--demo", "usage", "--json", **own).stdout
    assert (tmp_path / "cache" / "cache.sqlite").exists()
    assert run("--demo", "usage", "--json", **own).stdout == first


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--by", "colour"], "Cannot group by 'colour'; use day,"),
        (["--by", "colour"], ", team, cache, or several"),
        (["--by", "cache,colour"], "Cannot group cache breaks by 'colour'; use cache, session,"),
        (["--tz", "Mars/Base"], "Invalid time zone"),
        (["--since", "someday"], "Invalid time"),
        (["/nonexistent.jsonl"], "no such file"),
    ],
)
def test_misuse_is_reported_on_one_line(run: Any, words: list[str], expected: str) -> None:
    done = run("--demo", "usage", *words)
    assert done.returncode == 2
    assert expected in done.stderr and done.stderr.count("\n") == 1


def test_no_sessions_are_no_rows(run: Any) -> None:
    done = run("usage", "--json")
    assert json.loads(done.stdout)["rows"] == []


def test_no_response_has_more_tokens_than_anyone_could_send(run: Any, tmp_path: Path) -> None:
    message = {"id": "m", "model": "claude-opus-5-5", "stop_reason": "end_turn", "usage": {"output_tokens": 10**400}}
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"type": "assistant", "sessionId": "a", "requestId": "r", "message": message}))
    totals = json.loads(run("usage", str(path), "--json").stdout)["totals"]
    assert (totals["output_tokens"], totals["cost_usd"]) == (10**15, 20 * 10**9)
    assert str(10**15) in run("usage", str(path), "--csv").stdout
    assert "$20,000,000,000" in run("usage", str(path)).stdout


class TestReportedCost:
    """The client's own figure comes first, and is compared with what was computed for the same sessions."""

    def test_it_is_compared_with_the_same_sessions_only(self, run: Any) -> None:
        report = reread.usage(root=SAMPLES, by="session", cache=False)
        comparison = report.comparison
        assert comparison is not None and comparison.computed_usd is not None and comparison.other_usd is not None
        with_report = [row for row in report.rows if row["reported_cost_usd"] is not None]
        assert (comparison.sessions, comparison.other_sessions) == (
            len(with_report),
            len(report.rows) - len(with_report),
        )
        assert comparison.computed_usd == pytest.approx(sum(row["cost_usd"] for row in with_report))
        assert comparison.computed_usd + comparison.other_usd == pytest.approx(report.totals.cost_usd)
        assert comparison.best_usd == pytest.approx(comparison.reported_usd + comparison.other_usd)
        shown = run("--demo", "usage").stdout
        assert "The client reported $1.16 for 4 sessions, $0.0048 less than computed ($1.16)." in shown
        assert "Without a report: 5 sessions, $0.41 as computed" in shown
        value = json.loads(run("--demo", "usage", "--json").stdout)["comparison"]
        assert value["reported_usd"] == comparison.reported_usd

    def test_it_stands_before_the_computed_cost(self, run: Any) -> None:
        heading = run("--demo", "usage").stdout.splitlines()[0]
        assert heading.split()[-2:] == ["reported", "computed"]
        without = run("usage", str(next(SAMPLES.glob("projects/*/f27b*.jsonl")))).stdout
        assert without.splitlines()[0].split()[-1] == "cost" and "reported" not in without

    def test_a_report_of_one_session_says_nothing_of_others(self, run: Any) -> None:
        shown = run("usage", str(next(SAMPLES.glob("projects/*/d2a9*.jsonl")))).stdout
        assert "for 1 session" in shown and "Without a report" not in shown


class TestTable:
    """Order, threshold, titles, width and groups."""

    def test_rows_are_sorted_by_cost_and_the_last_left_out(self, run: Any) -> None:
        shown = run("--demo", "usage", "--by", "session", "--sort", "cost", "-n", "4").stdout.splitlines()
        assert [line.split()[0] for line in shown[1:5]] == ["d2a94e17", "8c1f0b52", "c3e81f6d", "b90c6f28"]
        assert shown[5].startswith("Total") and " 150 " in shown[5]
        assert "Not shown: 5 rows, $0.31 in all." in shown
        done = run("--demo", "usage", "--by", "session", "-n", "4", "--json")
        assert len(json.loads(done.stdout)["rows"]) == 4 and "Not shown: 5 rows" in done.stderr

    @pytest.mark.parametrize("verb", ["usage", "stats"])
    def test_a_limit_shows_the_newest_days_or_the_dearest_rows_and_counts_all(self, run: Any, verb: str) -> None:
        def rows(*words: str) -> list[str]:
            return [line.split()[0] for line in run("--demo", verb, *words).stdout.splitlines()[1:]]

        days = rows("--by", "day")
        some = rows("--by", "day", "-n", "2")
        assert some[:3] == [*days[days.index("Total") - 2 : days.index("Total")], "Total"]
        assert rows("--by", "session", "-n", "3")[:4] == ["d2a94e17", "8c1f0b52", "c3e81f6d", "Total"]
        shown, whole = (run("--demo", verb, "--by", "day", *n).stdout.splitlines() for n in (["-n", "2"], []))
        assert any(line.startswith("Not shown: ") for line in shown)
        shown, whole = ([line.split() for line in lines if "Total" in line] for lines in (shown, whole))
        assert shown == whole

    @one_in(3)
    @pytest.mark.parametrize("width", [40, 60, 80])
    @pytest.mark.parametrize("verb", ["usage", "stats"])
    def test_columns_give_way_before_a_time_or_an_id_is_cut(self, run: Any, verb: str, width: int) -> None:
        for by, length in (("day", 10), ("week", 10), ("month", 7), ("session", 8), ("project,day", 10)):
            shown = run("--demo", verb, "--by", by, COLUMNS=str(width)).stdout.splitlines()
            table = shown[: next(n for n, line in enumerate(shown) if line.startswith("Total"))]
            keys = {line.split()[by.count(",")] for line in table[1:]}
            assert keys and all(len(key) == length and "…" not in key for key in keys), (by, keys)
            if width > 40:
                assert max(map(len, table)) <= width
                named = [line for line in shown if line.startswith("Not shown in this width: ")]
                assert bool(named) == (
                    table[0].split() != run("--demo", verb, "--by", by).stdout.splitlines()[0].split()
                )

    def test_session_rows_have_titles(self, run: Any) -> None:
        assert "d2a94e17 Dead-letter queue" in run("--demo", "usage", "--by", "session").stdout
        path = next(SAMPLES.glob("projects/*/8c1f*.jsonl"))
        for source in (path, path.parent):
            assert "8c1f0b52 Fix the" in run("usage", "--by", "session", str(source)).stdout

    @pytest.mark.parametrize("width", [60, 80, 140])
    def test_the_table_is_as_wide_as_the_terminal(self, run: Any, width: int) -> None:
        shown = run("--demo", "usage", "--by", "project,session", COLUMNS=str(width)).stdout.splitlines()
        table = shown[: next(n for n, line in enumerate(shown) if line.startswith("Total")) + 1]
        assert max(map(len, table)) <= max(width, 72)
        assert ("Write the changelog entry" in shown[1] + shown[2] + shown[3] + shown[4] + shown[5]) == (width == 140)

    def test_worktrees_and_subfolders_belong_to_their_repository(self, run: Any, tmp_path: Path) -> None:
        main = tmp_path / "code" / "shop"
        (main / ".git" / "worktrees" / "fix").mkdir(parents=True)
        (main / "api").mkdir()
        tree = tmp_path / "shop-fix"
        tree.mkdir()
        (tree / ".git").write_text(f"gitdir: {main}/.git/worktrees/fix\n")
        gone = main / ".claude" / "worktrees" / "gone" / "api"
        (tmp_path / "sessions").mkdir()
        for n, cwd in enumerate((main, main / "api", tree, gone, tmp_path)):
            usage = {"input_tokens": 1, "output_tokens": 1}
            message = {"id": f"m{n}", "model": "claude-opus-5-5", "stop_reason": "end_turn", "usage": usage}
            line = {
                "type": "assistant",
                "sessionId": f"s{n}",
                "requestId": f"r{n}",
                "cwd": str(cwd),
                "message": message,
            }
            (tmp_path / "sessions" / f"s{n}.jsonl").write_text(json.dumps(line) + "\n")
        done = run("usage", str(tmp_path / "sessions"), "--by", "repository", "--json")
        rows = {row["repository"]: row["responses"] for row in json.loads(done.stdout)["rows"]}
        assert rows == {str(main): 4, str(tmp_path): 1}

    def test_agents_are_grouped_by_their_type(self, run: Any) -> None:
        rows = json.loads(run("--demo", "usage", "--by", "agent_type", "--json").stdout)["rows"]
        assert {"main", "Explore", "general-purpose", "reviewer"} <= {row["agent_type"] for row in rows}

    def test_what_belongs_to_no_group_is_named(self, run: Any, tmp_path: Path) -> None:
        message = {"id": "m", "model": "claude-opus-5-5", "usage": {"output_tokens": 5}}
        (tmp_path / "a.jsonl").write_text(
            json.dumps({"type": "assistant", "requestId": "r", "message": message}) + "\n"
        )
        assert "(no day)" in run("usage", str(tmp_path / "a.jsonl")).stdout

    def test_values_are_completed(self) -> None:
        assert "plain,day,model" in offered("reread", "usage", "--by", "day,mo")
        assert {"plain,opus", "plain,sonnet"} <= set(offered("reread", "usage", "--model", ""))
        assert offered("reread", "ls", "--tool", "webf") == ["plain,WebFetch"]
        assert "plain,harbor" in offered("reread", "--demo", "show", "--project", "ha")
        assert offered("reread", "digest", "--since", "t") == ["plain,today", "plain,tuesday", "plain,thursday"]
        assert offered("reread", "stats", "--tz", "europe/berl") == ["plain,Europe/Berlin"]
        assert offered("reread", "search", "--only", "text,no") == ["plain,text,notices"]
        assert offered("reread", "blame", "src") == offered("reread", "show", "--file", "src") == ["file,src"]
        assert offered("reread", "ls", "--only", "starred,cap") == ["plain,starred,captured"]
        assert offered("reread", "replay", "--speed", "i") == ["plain,instant"]
        assert offered("reread", "budget", "set", "20/w") == ["plain,20/week"]
        assert offered("reread", "budget", "set", "20") == [f"plain,20/{unit}" for unit in ("day", "week", "month")]
        assert offered("reread", "budget", "remove", "") == ["plain,day", "plain,week", "plain,month", "plain,all"]
        assert offered("reread", "budget", "set", "") == offered("reread", "review", "--repo", "/none", "") == []
        assert offered("reread", "delete", "--undo", "") == []
