"""The status line: what it prints, that it always does and in time, what it imports, and the setting that runs it."""

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from batches import table
from command import REREAD, run, started
from limits import wait_until

import reread
from reread.disk import client_settings
from reread.disk.client_settings import set_status_line
from reread.render.report_table import limit_lines
from reread.reports import spending, status_line
from reread.reports.spending import forget_spending, rate_limits, write_spending
from reread.reports.status_line import status_text
from reread.storage.lock import lock

SOON = time.time() + 6 * 3600
"""After all tests have run, and within a day."""
GIVEN: dict[str, Any] = {
    "session_id": "8c1f",
    "transcript_path": "/nonexistent/8c1f.jsonl",
    "cwd": "/work/shop",
    "model": {"id": "claude-opus-5-5", "display_name": "Opus 5.5"},
    "workspace": {"current_dir": "/work/shop", "project_dir": "/work/shop"},
    "cost": {"total_cost_usd": 1.2345},
    "context_window": {"used_percentage": 41, "context_window_size": 200000, "total_input_tokens": 82000},
    "prompt_cache": {"warm": True, "ttl": "5m", "expires_at": SOON},
    "rate_limits": {
        "five_hour": {"used_percentage": 23.5, "resets_at": SOON},
        "seven_day": {"used_percentage": 81, "resets_at": SOON},
    },
}
"""What 2.1.325 gives a status line, and the rate limits of a subscription."""
UNTIL = time.strftime("%H:%M", time.localtime(SOON))
START_COUNTING = vars(status_line)["_start_counting"]
SAMPLES = Path(reread.__file__).parent / "samples"


@pytest.fixture(autouse=True)
def _counts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start no process that counts, but in a program that is really started."""
    monkeypatch.setattr(status_line, "_start_counting", lambda _: None)


def text(template: str = status_line.DEFAULT, **changes: Any) -> str:
    return status_text(json.dumps({**GIVEN, **changes}).encode(), template)


def test_the_line_says_what_is_known() -> None:
    limits = f"5 h 24%, 7 d 81% until {UNTIL}"
    assert text() == f"$1.23 · context 41% · cache until {UNTIL} · {limits}"
    assert text(cost=None, rate_limits=None, prompt_cache={"expires_at": 1}) == "context 41%"
    assert text("{model} in {project} · {cost}") == "Opus 5.5 in shop · $1.23"
    assert (
        text(context_window={"context_window_size": 1000, "total_input_tokens": 500}, rate_limits=None).count("50%")
        == 1
    )
    assert rate_limits() == GIVEN["rate_limits"], "kept for `now`"


def test_today_and_budgets_are_what_was_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/nonexistent")
    assert run("budget", "set", "20/day").returncode == 0
    write_spending()
    assert text("{today} · {left}") == "$0.00 · $20.00"
    file = Path(status_line.cache_file(status_line.SPENDING))
    file.write_text(json.dumps({**json.loads(file.read_text()), "until": time.time() - 1}))
    assert text("{today} · {left} · {cost}") == "$1.23", "that was yesterday"


def test_each_configuration_folder_has_its_own_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = f"{tmp_path}/first"
    for config, today in ((first, "$7.00"), ("~/second", ""), (f" {first}/, ", "$7.00")):
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", config)
        if config == first:
            know_spending(today_usd=7)
            text(rate_limits={"five_hour": {"used_percentage": 5}})
        assert text("{today}", rate_limits=None) == today
        assert bool(rate_limits()) == bool(today)
    forget_spending()
    assert text("{today}", rate_limits=None) == "", "budgets are for all of them"


@table(
    ("budget", "counts"),
    [
        ({}, True),
        *(({"project": name}, True) for name in ("shop", "Shop", "/work", "/work/shop")),
        *(({"project": name}, False) for name in ("harbor", "/work/sho", "/work/shop/below", "7")),
        *(({"model": name}, True) for name in ("opus", "claude-opus-*", "claude-opus-5-5")),
        *(({"model": name}, False) for name in ("sonnet", "claude-opus", "op", "5", "*sonnet*")),
        ({"project": "shop", "model": "sonnet"}, False),
    ],
)
def test_of_budgets_only_those_count_that_the_session_adds_to(budget: dict[str, str], counts: bool) -> None:
    know_spending(budgets=[{"left_usd": 5, **budget}, {"left_usd": 9}])
    model = {"id": "claude-opus-5-5[1m]"}
    assert text("{left}", model=model) == ("$5.00" if counts else "$9.00")
    assert text("{left}", model=[7], workspace=7, cwd=None) == ("$9.00" if budget else "$5.00")


def know_spending(**fields: Any) -> None:
    """Write down what is spent today."""
    cache = Path(status_line.cache_file(status_line.SPENDING))
    cache.parent.mkdir(parents=True, exist_ok=True)
    cache.write_text(json.dumps({"at": time.time(), "from": 0, "until": SOON, "today_usd": 0, **fields}))


def test_the_end_of_a_transcript_says_how_long_the_cache_is_warm(tmp_path: Path) -> None:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    for field, seconds in (("ephemeral_5m_input_tokens", 300), ("ephemeral_1h_input_tokens", 3600)):
        usage = {"cache_creation_input_tokens": 9, "cache_creation": {field: 9}}
        record = {"type": "assistant", "timestamp": stamp, "message": {"usage": usage}}
        path = tmp_path / "8c1f.jsonl"
        path.write_text(json.dumps({"type": "user"}) + "\n" + json.dumps(record) + '\n{"type":"system"}\n{"torn')
        expected = time.strftime("%H:%M", time.localtime(time.time() + seconds))
        later = time.strftime("%H:%M", time.localtime(time.time() + seconds - 60))
        assert text("{cache}", prompt_cache=None, transcript_path=str(path)) in (expected, later)


@pytest.mark.parametrize(
    ("bought", "seconds"),
    [
        ({"ephemeral_5m_input_tokens": 9, "ephemeral_1h_input_tokens": 0}, 300),
        ({"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 9}, 3600),
        ({"ephemeral_5m_input_tokens": 9, "ephemeral_1h_input_tokens": 9}, 3600),
        ({"ephemeral_1h_input_tokens": 9, "ephemeral_5m_input_tokens": 9}, 3600),
        ({"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}, 300),
        ({"ephemeral_1h_input_tokens": "9"}, 300),
        ({}, 300),
    ],
)
def test_of_two_kinds_of_cache_the_longer_life_counts(tmp_path: Path, bought: dict[str, Any], seconds: int) -> None:
    usage = {"cache_creation_input_tokens": 9, "cache_creation": bought}
    record = {"type": "assistant", "timestamp": "2026-11-10T01:00:00Z", "message": {"usage": usage}}
    path = tmp_path / "8c1f.jsonl"
    path.write_text(json.dumps(record) + "\n")
    began = datetime(2026, 11, 10, 1, tzinfo=UTC).timestamp()
    assert status_line._cache_end(str(path)) == began + seconds  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize(
    "after",
    [
        '{"type":"assistant","timestamp":"2026-11-10T02:00:00Z","message":{"usage":{"cache_creation_input_tok',
        '{"type":"user","timestamp":"2026-11-10T02:00:00Z","message":{"content":"\\"cache_creation\\": 1"}}\n',
        '{"type":"assistant","timestamp":"2026-11-10T02:00:00Z","message":{"content":[{"text":"cache_creation"}]}}\n',
    ],
    ids=["being written", "a quote", "no figures"],
)
def test_only_a_whole_response_that_says_so_uses_the_cache(tmp_path: Path, after: str) -> None:
    usage = {"cache_creation": {"ephemeral_1h_input_tokens": 9}}
    record = {"type": "assistant", "timestamp": "2026-11-10T01:00:00Z", "message": {"usage": usage}}
    path = tmp_path / "8c1f.jsonl"
    path.write_text(json.dumps(record) + "\n" + after)
    ends = datetime(2026, 11, 10, 2, tzinfo=UTC).timestamp()
    assert status_line._cache_end(str(path)) == ends  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize(
    ("words", "template"),
    [
        (["--format", "{cost}"], "{cost}"),
        (["--format={cost}=x"], "{cost}=x"),
        (["--format"], status_line.DEFAULT),
        (["other", "{cost}"], status_line.DEFAULT),
        ([], status_line.DEFAULT),
    ],
)
def test_the_format_is_the_word_after_its_name(words: list[str], template: str) -> None:
    assert status_line.template_of(words) == template


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
@pytest.mark.parametrize(
    ("given", "folder"), [("/caches", "/caches"), (" ", "/home/sam/.cache"), (None, "/home/sam/.cache")]
)
def test_what_is_spent_is_in_the_folder_for_caches(
    monkeypatch: pytest.MonkeyPatch, given: str | None, folder: str
) -> None:
    monkeypatch.delenv("REREAD_CACHE", raising=False)
    monkeypatch.setenv("HOME", "/home/sam")
    if given is None:
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", given)
    assert os.path.split(status_line.cache_file("x-{}"))[0] == f"{folder}/reread"


JUNK = [None, 7, -1, 1e308, 10**40, "", "\x1b]0;x\x07\n", [], [[]], {}, {"used_percentage": "x"}, True, "\ud800"]


def test_no_value_does_harm() -> None:
    for field in GIVEN:
        for junk in JUNK:
            for changes in (
                {field: junk},
                {field: dict.fromkeys(("used_percentage", "total_cost_usd", *FIELDS), junk)},
            ):
                line = text(status_line.DEFAULT + " · {model} · {project}", **changes)
                assert line.isprintable() and len(line) <= status_line.LONGEST, changes


FIELDS = ("display_name", "project_dir", "expires_at", "five_hour", "total_input_tokens", "resets_at")
BAD = [
    *(b"", b"junk", b"[]", b"null", b"{", b"\xff\xfe", b"[" * 200_000, b'{"cost":' * 5000, b" " * (2 << 20), b"{}"),
    *(b"\0", b"7", b'"text"', b'{"a": 1}', b'{"cost": [], "model": 7, "cwd": {}, "rate_limits": {"x": {}}}'),
    json.dumps({**GIVEN, "cwd": "x" * (12 << 20)}).encode(),
]


@table("data", BAD)
def test_junk_is_an_empty_line_and_no_error(data: bytes) -> None:
    know_spending()
    assert text("today {today}") == "today $0.00"
    done = run("statusline", stdin=data)
    assert (done.stdout, done.stderr, done.returncode) == ("\n", "", 0)
    assert rate_limits() == GIVEN["rate_limits"], "junk takes the place of nothing"


def test_a_rate_limit_that_was_reset_is_not_shown() -> None:
    limits = {"five_hour": {"used_percentage": 97, "resets_at": time.time() - 1}, "seven_day": {"used_percentage": 3}}
    assert text("{limits}", rate_limits=limits) == "7 d 3%"
    kept = Path(status_line.cache_file(status_line.RATE_LIMITS))
    kept.write_text(json.dumps({"rate_limits": limits}))
    assert [span for line in limit_lines(rate_limits()) for _, span in line] == ["Rate limits  ", "7 d 3%"]


@pytest.mark.skipif(os.name != "posix", reason="users and links of POSIX")
@pytest.mark.parametrize("kind", ["a folder of another user", "a link", "a pipe", "a file in place of the folder"])
def test_a_cache_that_is_not_ones_own_is_done_without(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "cache"))
    know_spending(today_usd=7)
    kept, spent = (Path(status_line.cache_file(name)) for name in (status_line.RATE_LIMITS, status_line.SPENDING))
    victim = tmp_path / "victim"
    victim.write_bytes(spent.read_bytes())
    if kind == "a folder of another user":
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    else:
        spent.unlink()
    if kind == "a link":
        for path in (spent, kept.with_name(f"{kept.name}.{os.getpid()}")):
            path.symlink_to(victim)
    elif kind == "a pipe":
        os.mkfifo(spent)
    elif kind == "a file in place of the folder":
        kept.parent.rmdir()
        kept.parent.write_text("")
    before = victim.read_bytes()
    assert text("{cost} · today {today}", prompt_cache=None) == "$1.23"
    assert victim.read_bytes() == before and kept.exists() == (kind == "a pipe")


def test_it_does_not_wait_for_its_input() -> None:
    process = subprocess.Popen([*REREAD, "statusline"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.read() == b"\n"
    assert process.wait() == 0
    process.communicate()


def test_it_imports_almost_nothing() -> None:
    code = "import sys; from reread.reports import status_line; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    own = {name for name in done.stdout.split() if name.startswith("reread.")}
    light = ("base", "base.coerce", "base.own_folders", "base.version", "storage", "storage.safe_open", "reports")
    assert own == {*(f"reread.{name}" for name in light), "reread.reports.status_line"}
    assert {"click", "datetime", "msgspec", "pathlib", "threading", "typing"}.isdisjoint(done.stdout.split())


def test_what_today_costs_is_counted_beside(tmp_path: Path) -> None:
    nowhere = dict.fromkeys(("HOME", "CLAUDE_CONFIG_DIR"), "/nonexistent")
    environment = {**os.environ, **nowhere, "REREAD_CACHE": str(tmp_path / "cache")}
    (tmp_path / "json.py").write_text("raise SystemExit('a file of the project was run')")
    started(["statusline"], stdin=json.dumps(GIVEN).encode(), env=environment, cwd=tmp_path)
    wait_until(lambda: any((tmp_path / "cache").glob("spending-*.json")))
    (written,) = (tmp_path / "cache").glob("spending-*.json")
    assert json.loads(written.read_text())["today_usd"] == 0
    if os.name == "posix":
        assert written.stat().st_mode & 0o077 == 0


@pytest.mark.skipif(not hasattr(os, "posix_spawn"), reason="another function starts it there")
def test_one_process_counts_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/nonexistent")
    monkeypatch.setattr(status_line, "_start_counting", START_COUNTING)
    starts: list[Any] = []
    monkeypatch.setattr(os, "posix_spawn", lambda *words, **_: starts.append(words))
    mark, file = (Path(status_line.cache_file(name)) for name in (status_line.MARK, status_line.SPENDING))
    for _ in range(3):
        text()
    assert len(starts) == 1
    fd = os.open(mark, os.O_RDWR)
    assert lock(fd), "another one counts"
    spending.main()
    assert not file.exists()
    os.close(fd)
    spending.main()
    assert file.exists() and mark.exists()
    forget_spending()
    text()
    assert len(starts) == 2, "budgets have changed, so it is counted at once"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            b'{\n\t"a": [1,  2.50, 1E3],\n\n\t"b": "\\u00fc \xc3\xbc"\n}',
            b',\n\t"statusLine": {\n\t\t"x": "\xc3\xa4"\n\t}\n}',
        ),
        (b'{ "a": 1, "a": [2,3] }\n', b', "statusLine": {"x": "\xc3\xa4"} }\n'),
        (
            b'\xef\xbb\xbf{\r\n    "a": 1e99\r\n}\r\n',
            b',\r\n    "statusLine": {\r\n        "x": "\xc3\xa4"\r\n    }\r\n}\r\n',
        ),
    ],
)
def test_the_text_of_other_settings_stays_as_it_is(tmp_path: Path, before: bytes, after: bytes) -> None:
    file = tmp_path / "settings.json"
    file.write_bytes(before)
    set_status_line(file, {"x": "ä"})
    added = file.read_bytes()
    start = before.rstrip(b"}\r\n ")
    assert added == start + after
    set_status_line(file, {"x": "é"})
    assert file.read_bytes() == added.replace("ä".encode(), "é".encode())
    assert [path.name for path in tmp_path.iterdir()] == ["settings.json"], "nothing else is written there"


def test_installing_adds_one_setting_and_only_if_told_to(tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    before = {"model": "opus", "hooks": {"Stop": []}, "ünknown": [1, {"x": None}]}
    settings.write_text(json.dumps(before))
    nobody = run("statusline", "--install", home=tmp_path)
    assert nobody.returncode == 2 and "add it with --yes" in nobody.stderr
    assert run("statusline", "--install", stdin=b"n\n", home=tmp_path).returncode == 1
    assert json.loads(settings.read_text()) == before
    done = run("statusline", "--install", "--yes", "--format", "{cost} · it's", home=tmp_path)
    assert done.returncode == 0, done.stderr
    after = json.loads(settings.read_text())
    command = after.pop("statusLine")["command"]
    assert after == before
    assert command.endswith("""statusline --format '{cost} · it'"'"'s'""")
    assert "It is set already" in run("statusline", "--install", "--format", "{cost} · it's", home=tmp_path).stdout
    replaced = run("statusline", "--install", "--yes", home=tmp_path)
    assert f"It replaces the status line that is set now: {command}" in replaced.stdout
    assert "\nAdded. " in done.stdout and "\nReplaced. " in replaced.stdout
    assert json.loads(settings.read_text()).keys() == {*before, "statusLine"}


@pytest.mark.parametrize("broken", [b"{", b"[]", b'{"a": 1} // note', b"\xff"])
def test_settings_that_are_no_json_object_are_left_alone(tmp_path: Path, broken: bytes) -> None:
    (tmp_path / "settings.json").write_bytes(broken)
    done = run("statusline", "--install", "--yes", home=tmp_path)
    assert done.returncode == 2
    assert "is not a JSON object; repair it, or move it away" in done.stderr
    assert (tmp_path / "settings.json").read_bytes() == broken


SETTINGS = [
    '{\n  "model": "opus",\n  "a" : [1,2]\n}\n',
    '{"model":"opus"}',
    "{}",
    "{ }\n",
    '{\r\n\t"a": {"b": 1},\r\n\t"b": "é"\r\n}',
    '{"a": 1, "a": 2}',
]


@pytest.mark.parametrize("text", SETTINGS)
def test_uninstalling_leaves_the_settings_as_they_were(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REREAD_HOME", str(tmp_path / "store"))
    path = tmp_path / "settings.json"
    path.write_bytes(text.encode())
    for template in (None, "{cost}"):
        client_settings.set_status_line(path, client_settings.status_setting(template))
    assert client_settings.unset_status_line(path) and not client_settings.unset_status_line(path)
    left = path.read_bytes().decode()
    assert left == text or (json.loads(left) == {} and json.loads(text) == {})


def test_uninstalling_puts_back_what_was_replaced_and_leaves_what_is_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REREAD_HOME", str(tmp_path / "store"))
    path = tmp_path / "settings.json"
    assert not client_settings.unset_status_line(path) and not path.exists()
    before = {"a": 1, "statusLine": {"type": "command", "command": "mine", "padding": 0}, "z": 2}
    path.write_text(json.dumps(before))
    client_settings.set_status_line(path, client_settings.status_setting())
    ours = path.read_text()
    path.write_text(ours.replace('"z": 2', '"z": 3'))  # changed by somebody else meanwhile
    assert client_settings.unset_status_line(path) and json.loads(path.read_text()) == {**before, "z": 3}
    path.write_text('{"statusLine": {"type": "command", "command": "theirs"}}')
    assert not client_settings.unset_status_line(path) and "theirs" in path.read_text()
