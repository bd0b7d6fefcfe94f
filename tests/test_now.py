"""What runs now: the states that the real client went through, with and without its registry, and hostile registries.

`fixtures/now` has the transcript of an interactive session of two versions, and the last entry of their registries: a
prompt was answered, a shell command waited for a permission and ran, a file was written, a question was asked, and the
client was killed while a command waited.
"""

import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from command import run
from effort import one_in
from folder_bucket import use_folder
from limits import wait_until
from making import SESSION, jsonl
from prompt_cache import Client
from running import NEW, OLD, Machine

import reread
from reread.disk import layout, processes, registry
from reread.errors import NotFound
from reread.render.now_table import now_lines, summary_text
from reread.reports import now_report
from reread.reports.now_report import LiveSession, NowWatch
from reread.session.activity import STATES

needs_proc = pytest.mark.skipif(not processes.HAS_PROC, reason="the system does not tell of processes")


@pytest.fixture(name="machines")
def _machines(tmp_path: Path) -> Iterator[Any]:
    made: list[Machine] = []

    def make(version: str = NEW) -> Machine:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(Machine(folder, version))
        return made[-1]

    yield make
    for machine in made:
        for child in processes.children(machine.client.pid) if processes.HAS_PROC else ():
            os.kill(child.pid, 9)
        machine.kill()


def other_start(pid: int) -> str:
    """A time at which no process with this number was started: any may run here, and the first one from tick 0 on."""
    process = processes.process(pid)
    return str(int(process.start) + 1 if process is not None else 0)


SAID = [
    (0, "idle", None, ("idle", None, None)),
    (3, "busy", None, ("working", None, None)),
    (8, "idle", None, ("idle", None, None)),
    (12, "waiting", "permission prompt", ("waiting", "permission", None)),
    (14, "waiting", "permission prompt", ("waiting", "permission", "Bash")),
    (14, "busy", None, ("working", None, "Bash")),
    (15, "busy", None, ("working", None, None)),
    (20, "waiting", "permission prompt", ("waiting", "permission", "Write")),
    (25, "waiting", "input needed", ("waiting", "answer", "AskUserQuestion")),
    (25, "waiting", "a sandbox", ("waiting", "a sandbox", "AskUserQuestion")),
    (28, "idle", None, ("idle", None, None)),
]
"""Lines of the transcript, what the registry says then, and what the session does."""
INFERRED = [
    (NEW, 3, ("working", None, None)),
    (NEW, 8, ("idle", None, None)),
    (NEW, 15, ("working", None, None)),
    (NEW, 17, ("idle", None, None)),
    (NEW, 20, ("waiting", "permission", "Write")),
    (NEW, 25, ("waiting", "answer", "AskUserQuestion")),
    (NEW, 28, ("idle", None, None)),
    (OLD, 1, ("working", None, None)),
    (OLD, 2, ("idle", None, None)),
    (OLD, 10, ("waiting", "permission", "Write")),
    (OLD, 14, ("waiting", "answer", "AskUserQuestion")),
    (OLD, 16, ("idle", None, None)),
]
"""The same without what the registry says."""


def test_what_the_client_says_is_believed(machines: Any) -> None:
    machine = machines()
    for lines, status, waiting_for, expected in SAID:
        machine.write(lines)
        machine.register(status=status, waitingFor=waiting_for)
        assert machine.now() == (*expected, False), (lines, status)


@needs_proc
@pytest.mark.parametrize("registered", [True, False])
def test_without_a_status_the_transcript_tells(machines: Any, registered: bool) -> None:
    for version, steps in itertools.groupby(INFERRED, key=lambda step: step[0]):
        machine = machines(version)
        for _, lines, expected in steps:
            machine.write(lines)
            if registered:
                machine.register(status=None)
            assert machine.now() == (*expected, True), (version, lines)


@needs_proc
def test_a_command_that_was_allowed_is_a_process_of_the_client(machines: Any) -> None:
    machine = machines(OLD)
    machine.write(5)
    watch = NowWatch(machine.config)
    assert [(one.state, one.waiting_for) for one in watch.update()] == [("waiting", "permission")]
    for command, state in (("reread statusline", "waiting"), ("eval 'sleep 3; touch made.txt' < /dev/null", "working")):
        before = len([*processes.children(machine.client.pid)])
        machine.client.stdin.write(f"{command}\n")
        machine.client.stdin.flush()
        wait_until(lambda before=before: len([*processes.children(machine.client.pid)]) > before)
        wait_until(lambda state=state: [one.state for one in watch.update(set())] == [state])
    assert [(one.state, one.tool) for one in watch.update(set())] == [("working", "Bash")]
    for child in processes.children(machine.client.pid):
        os.kill(child.pid, 9)
    wait_until(lambda: not any(processes.children(machine.client.pid)))
    assert [one.state for one in watch.update(set())] == ["working"], "its result is not written yet"


@needs_proc
@pytest.mark.parametrize(
    ("registered", "lines", "state"), [(True, 31, "died"), (False, 31, "died"), (False, 28, "ended")]
)
def test_a_client_that_was_killed_is_seen(machines: Any, registered: bool, lines: int, state: str) -> None:
    machine = machines()
    machine.write(lines)
    if registered:
        machine.register()
    assert machine.now()[0] in ("waiting", "idle")
    machine.kill()
    assert machine.now()[0] == state


@needs_proc
def test_another_process_with_the_same_number_is_not_the_client(machines: Any) -> None:
    machine = machines()
    machine.write(31)
    another = other_start(machine.client.pid)
    machine.register(procStart=another)
    assert machine.now() == ("died", None, "Bash", False)
    machine.register(procStart=another, pidDomain="linux:another:pid:[1]")
    assert machine.now() == ("waiting", "permission", "Bash", True), "its number is that of another container"


@needs_proc
@pytest.mark.parametrize(("ago", "state"), [(0, "idle"), (20, "idle"), (3600, "died")])
def test_a_client_was_started_before_it_said_so(machines: Any, ago: int, state: str) -> None:
    machine = machines(OLD)
    machine.write(16)
    machine.register(startedAt=int((datetime.now(UTC).timestamp() - ago) * 1000))
    assert machine.now()[0] == state


def test_who_died_long_ago_without_a_transcript_is_not_shown(machines: Any) -> None:
    machine = machines(OLD)
    machine.register()
    machine.kill()
    assert machine.now()[0] == "died"
    machine.register(startedAt=int((datetime.now(UTC).timestamp() - 3 * 86_400) * 1000))
    assert reread.now(root=machine.config) == []


def test_each_client_is_asked_once_at_a_time(machines: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machines()
    machine.write(28)
    machine.register(status="idle")
    answers = iter([True])
    monkeypatch.setattr(registry, "is_running", lambda *_, **__: next(answers))
    assert machine.now()[0] == "idle"


def test_a_session_that_leaves_the_registry_has_ended(machines: Any) -> None:
    machine = machines()
    machine.write(28)
    machine.register(status="idle")
    watch = NowWatch(machine.config)
    assert [one.state for one in watch.update()] == ["idle"]
    (machine.config / "sessions" / f"{machine.client.pid}.json").unlink()
    machine.kill()
    assert [one.state for one in watch.update(set())] == ["ended"]


@needs_proc
@pytest.mark.parametrize("stale", ["1", "999999999"])  # its file comes before, and after, that of any client
def test_of_two_entries_of_a_session_the_live_one_counts(machines: Any, stale: str) -> None:
    machine = machines()
    machine.write(14)
    machine.register(status="waiting", waitingFor="permission prompt")
    entry = machine.config / "sessions" / f"{machine.client.pid}.json"
    other = {"procStart": other_start(int(stale)), "status": "busy", "updatedAt": 1 << 42}
    dead = {**json.loads(entry.read_text()), **other}
    (entry.with_name(f"{stale}.json")).write_text(json.dumps(dead))
    assert machine.now() == ("waiting", "permission", "Bash", False)


@needs_proc
def test_of_two_clients_in_one_session_neither_writes_another(machines: Any) -> None:
    machine = machines()
    second = subprocess.Popen(
        machine.client.args, executable=sys.executable, cwd=machine.project, stdin=subprocess.PIPE
    )
    wait_until(lambda: second.pid in machine.clients())
    other = machine.transcript.with_name("other.jsonl")
    machine.write(28)
    other.write_text(machine.transcript.read_text())
    machine.register(status="idle")
    entry = machine.config / "sessions" / f"{machine.client.pid}.json"
    both = {**json.loads(entry.read_text()), "procStart": processes.process(second.pid).start}
    (entry.with_name(f"{second.pid}.json")).write_text(json.dumps(both))
    states = {one.session: one.state for one in reread.now(root=machine.config)}
    second.kill()
    second.communicate()
    assert states == {machine.id: "idle", "other": "ended"}


@needs_proc
@pytest.mark.parametrize(("lines", "seen", "state"), [(31, True, "died"), (28, True, "died"), (31, False, "died")])
def test_a_session_that_died_stays_so_when_its_entry_is_removed(
    machines: Any, lines: int, seen: bool, state: str
) -> None:
    machine = machines()
    machine.write(lines)
    machine.register()
    watch = NowWatch(machine.config)
    watch.update()
    machine.kill()
    if seen:
        assert [one.state for one in watch.update(set())] == ["died"]
    (machine.config / "sessions" / f"{machine.client.pid}.json").unlink()
    (one,) = watch.update()
    assert (one.state, one.inferred) == (state, not seen)


@needs_proc
def test_a_session_that_came_back_ends_when_it_ends_again(machines: Any) -> None:
    machine = machines()
    machine.write(28)
    watch, ends = NowWatch(machine.config), list[Any]()
    for again in (False, True):
        if again:
            machine.client = subprocess.Popen(machine.client.args, executable=sys.executable, stdin=subprocess.PIPE)
        machine.register(status="idle")
        assert [one.state for one in watch.update()] == ["idle"]
        machine.kill()
        (machine.config / "sessions" / f"{machine.client.pid}.json").unlink()
        ends += [(one.state, one.since) for one in watch.update()]
    assert [state for state, _ in ends] == ["ended", "ended"] and ends[0] < ends[1]


@needs_proc
def test_a_client_has_not_written_what_was_there_before_it(machines: Any) -> None:
    machine = machines()
    machine.write(28)
    began = processes.process(machine.client.pid).started
    os.utime(machine.transcript, (began - 5, began - 5))
    (one,) = reread.now(root=machine.config)
    assert (one.pid, one.state) == (None, "ended")
    os.utime(machine.transcript)
    (one,) = reread.now(root=machine.config)
    assert (one.pid, one.state) == (machine.client.pid, "idle")


@needs_proc
def test_a_session_that_is_still_written_has_not_ended(machines: Any) -> None:
    machine = machines()
    machine.write(20)
    machine.register(status="busy")
    watch = NowWatch(machine.config)
    watch.update()
    (machine.config / "sessions" / f"{machine.client.pid}.json").unlink()
    assert [(one.state, one.inferred) for one in watch.update(set())] == [("waiting", True)]


def test_the_registry_is_beside_a_projects_folder(machines: Any) -> None:
    machine = machines()
    machine.write(14)
    machine.register(status="waiting", waitingFor="a sandbox")
    (one,) = reread.now(root=machine.config / "projects")
    assert (one.waiting_for, one.inferred) == ("a sandbox", False)
    assert str(machine.config / "sessions") in NowWatch(machine.config / "projects").folders()


@needs_proc
def test_what_is_not_shown_is_not_read_each_time(machines: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machines()
    machine.write(31)
    machine.register()
    waiting = machines()
    waiting.config, waiting.id = machine.config, "unwritten"
    waiting.registry["sessionId"] = waiting.id
    waiting.register(status="idle")
    machine.kill()
    old = datetime.now(UTC).timestamp() - 90_000
    os.utime(machine.transcript, (old, old))
    watch = NowWatch(machine.config)
    assert [(one.session, one.path) for one in watch.update()] == [("unwritten", None)]
    monkeypatch.setattr(now_report, "_OpenSession", None)
    monkeypatch.setattr(layout, "find_transcript", None)
    assert [one.session for one in watch.update(set())] == ["unwritten"]


def test_a_watch_follows_what_is_written(machines: Any) -> None:
    machine = machines()
    machine.write(3)
    machine.register(status="busy")
    watch = NowWatch(machine.config)
    (first,) = watch.update()
    machine.write(20)
    machine.register(status="waiting", waitingFor="permission prompt")
    (then,) = watch.update({str(machine.transcript)})
    assert (first.turn, first.state, then.turn, then.tool) == (1, "working", 3, "Write")
    assert (then.git_branch, then.project, then.title) == ("main", str(machine.project), "Slow [[SCN:now_slow]]")
    assert then.cost_usd is not None and then.cost_usd > 0 and then.cost_per_hour_usd
    assert then.context_tokens is not None and then.context_window
    assert then.cost_usd == float(reread.usage(machine.transcript).totals.cost_usd)
    kept = machine.transcript.read_bytes().splitlines(keepends=True)
    machine.transcript.write_bytes(b"".join(kept[:8]))  # written anew, and shorter
    (shorter,), fresh = watch.update({str(machine.transcript)}), reread.now(root=machine.config)
    assert [(shorter.turn, shorter.context_tokens)] == [(one.turn, one.context_tokens) for one in fresh]
    assert shorter.context_tokens != then.context_tokens


def test_all_folders_are_searched_unless_it_is_known_what_was_touched(machines: Any) -> None:
    machine = machines()
    machine.write(28)
    watch = NowWatch(machine.config)
    assert len(watch.update()) == 1
    machine.transcript.with_name("other.jsonl").write_text(machine.transcript.read_text())
    assert [len(watch.update(touched)) for touched in (set(), None, set())] == [1, 2, 2]
    others = [machine.transcript.parent / name for name in ("notes.txt", "memory/notes.md")]
    for path in others:
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    assert len(watch.update(set(map(str, others)))) == 2, "these are no transcripts"


def test_the_context_grows_with_a_response_that_is_still_written(tmp_path: Path) -> None:
    client = Client()
    client.now = datetime.now(UTC)
    client.respond()
    last = client.records[-1]
    usage = {**last["message"]["usage"], "cache_creation_input_tokens": 60_000}
    more = {**last, "uuid": "more", "parentUuid": last["uuid"], "message": {**last["message"], "usage": usage}}
    file = tmp_path / "projects" / "-work" / f"{SESSION}.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(jsonl(*client.records))
    watch = NowWatch(tmp_path)
    (first,) = watch.update()
    file.write_bytes(jsonl(*client.records, more))
    (then,), (fresh,) = watch.update({str(file)}), reread.now(root=tmp_path)
    assert then.context_tokens == fresh.context_tokens
    assert then.context_tokens is not None and first.context_tokens is not None
    assert then.context_tokens > first.context_tokens + 10_000


@pytest.mark.parametrize("ages", [(1,), (1, 30), (1, 58, 62), (1, 300)])
def test_an_hour_costs_what_the_last_one_did(tmp_path: Path, ages: tuple[int, ...]) -> None:
    """`ages` are those of responses in minutes; a session is not taken to go on as in its first five."""
    client = Client()
    for age in reversed(ages):
        client.now = datetime.now(UTC) - timedelta(minutes=age)
        client.respond(wait=0)
    file = tmp_path / "projects" / "-work" / f"{SESSION}.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(jsonl(*client.records))
    (one,) = reread.now(root=tmp_path)
    costs = [float(message.usage.cost_usd or 0) for message in reread.open(file).messages][::-1]
    hour = sum(cost for cost, age in zip(costs, ages, strict=True) if age < 60)
    assert one.cost_per_hour_usd == pytest.approx(hour * 60 / max(5, min(60, ages[-1])), rel=0.03, abs=0.006)


def test_what_has_no_price_has_none_for_an_hour(tmp_path: Path) -> None:
    client = Client()
    client.model = "nobody-knows"
    client.now = datetime.now(UTC) - timedelta(minutes=1)
    client.respond(wait=0)
    file = tmp_path / "projects" / "-work" / f"{SESSION}.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(jsonl(*client.records))
    (one,) = reread.now(root=tmp_path)
    assert (one.cost_usd, one.cost_per_hour_usd) == (None, None)


def test_of_kept_sessions_there_are_the_newest_states(
    machines: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = machines()
    machine.write(25)
    machine.register(status="idle")
    monkeypatch.setenv("REREAD_MACHINE", "quay")
    (tmp_path / "buckets" / "team").mkdir(parents=True)
    use_folder(monkeypatch, tmp_path / "buckets")
    for to, name in ((tmp_path / "archive", None), ("s3://team/sessions", "quay")):
        reread.keep(root=machine.config, to=to)
        (one,) = reread.now(root=to)
        assert (one.state, one.waiting_for, one.inferred, one.machine) == ("waiting", "answer", True, name)


def test_a_folder_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        reread.now(root=tmp_path / "absent")


@one_in(4)
@pytest.mark.parametrize("junk", [None, 7, -1, 1e400, 10**30, "", "\x1b]0;x\x07", [], {}, True, "\ud800"])
def test_no_field_of_the_registry_can_do_harm(machines: Any, junk: Any) -> None:
    machine = machines()
    machine.write(14)
    fields = [*machine.registry, "tempo", "needs", "pidDomain", "name"]
    for field in fields:
        machine.register(**{field: junk})
        for one in reread.now(root=machine.config):
            assert one.state in STATES
            for line in now_lines([one], width=80):
                assert "\x1b" not in "".join(text for _, text in line)
    for text in (b"", b"{", b"\xff", b"[]", b"[" * 100_000, b'{"sessionId": "../../x", "status": "busy"}'):
        (machine.config / "sessions" / f"{machine.client.pid}.json").write_bytes(text)
        reread.now(root=machine.config)


def test_the_exit_code_says_whether_somebody_is_waited_for(machines: Any) -> None:
    machine = machines()
    machine.write(14)
    machine.register(status="busy")
    assert run("now", "--root", str(machine.config)).returncode == 1
    machine.register(status="waiting", waitingFor="permission prompt")
    done = run("now", "--root", str(machine.config))
    assert done.returncode == 0
    assert "1 running, 1 waits for you" in done.stdout
    assert "waits for a permission: Bash Touch a file" in done.stdout
    (value,) = json.loads(run("now", "--json", "--root", str(machine.config)).stdout)
    assert (value["state"], value["waiting_for"], value["inferred"]) == ("waiting", "permission", False)
    nothing = run("now", home=machine.project)
    assert (nothing.returncode, nothing.stdout) == (1, "No session runs on this machine.\n")
    (machine.project / "projects").mkdir()
    nothing = run("now", "--root", str(machine.project))
    assert nothing.stdout == f"No session runs in {machine.project}.\n"


def test_budgets_below_are_those_of_the_folders_that_are_shown(machines: Any) -> None:
    machine = machines()
    machine.write(14)
    run("budget", "set", "20/day")
    cost = reread.usage(machine.transcript).totals.cost_usd
    assert f"day  ${cost:.2f} of $20.00" in run("now", "--root", str(machine.config)).stdout
    assert "day  $0.00 of $20.00" in run("now").stdout


def test_what_a_transcript_says_is_no_part_of_a_command(machines: Any, tmp_path: Path) -> None:
    machine = machines()
    machine.write(14)
    text = machine.transcript.read_text().replace(
        "Slow [[SCN:now_slow]]", "$(touch pwned); `touch pwned`\\u0000\\u001b[31m"
    )
    machine.transcript.write_text(text)
    machine.register(status="waiting", waitingFor="permission prompt")
    told = tmp_path / "told"
    command = f'printf "%s|" "$REREAD_STATE" "$REREAD_WAITING_FOR" "$REREAD_TITLE" > {told}.new; mv {told}.new {told}'
    words = [sys.executable, "-m", "reread", "now", "--root", str(machine.config), "--exec", command]
    watching = subprocess.Popen(words, stdout=subprocess.DEVNULL, cwd=tmp_path)
    try:
        wait_until(told.exists)
    finally:
        watching.kill()
        watching.wait()
    assert told.read_text() == "waiting|permission|$(touch pwned); `touch pwned`  [31m|"
    assert not (tmp_path / "pwned").exists()


def test_states_are_counted_in_words(machines: Any) -> None:
    machine = machines()
    machine.write(14)
    machine.register(status="busy")
    live = reread.now(root=machine.config)
    assert summary_text([]) == "0 running"
    assert summary_text(live) == "1 running"


@needs_proc
def test_a_process_is_dated_by_the_clock_as_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    own = processes.process(os.getpid())
    assert own is not None
    started, clock = own.started, time.time
    assert 0 <= clock() - started < 100_000
    monkeypatch.setattr(time, "time", lambda: clock() + 3600)  # as if it had been set
    assert started + 3590 < own.started < started + 3610


@pytest.mark.parametrize(
    ("since", "told"),
    [
        (5, "5 s"),
        (0.4, "just now"),
        (-0.4, "just now"),
        (-5, "5 s ahead"),
        (-750, "12 min ahead"),
        (-100_000, "27 h ahead"),
    ],
)
def test_a_time_that_is_still_to_come_is_said_to_be_ahead(since: float, told: str) -> None:
    clock = datetime(2026, 11, 19, 10, tzinfo=UTC)
    one = LiveSession(session="a", path=None, state="died", since=clock - timedelta(seconds=since))
    shown = ["".join(text for _, text in line) for line in now_lines([one], now=clock, width=80)]
    assert shown[2].startswith(f"{'died':9}{told:13}")
