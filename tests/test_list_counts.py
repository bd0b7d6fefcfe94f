"""The counts of the list: which sessions are read, when they are counted, and who says so when."""

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from limits import PATIENCE, wait_until
from making import SESSION, jsonl, told, user

from reread.base.paths import SAMPLES
from reread.base.worker import WorkerLost
from reread.facts import store as fact_store
from reread.reader.schema import Figures
from reread.server import list_counts as module
from reread.server.list_counts import CountJob, ListCounter, ListCounts, RowCounts, count_list

COUNTS = RowCounts(1, 2, ["a"], 3, 4, ["m"], True, Figures())
ONE = ListCounts({Path("a"): COUNTS}, 0)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "cache"))


def sessions(folder: Path, *names: str) -> list[Path]:
    """Write sessions, each newer than the one before."""
    paths = [folder / "projects" / "p" / f"{SESSION[:-1]}{name}.jsonl" for name in names]
    for number, path in enumerate(paths):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jsonl(*({**one, "sessionId": path.stem} for one in told(user(path.stem)))))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return paths


def test_what_is_wanted_is_read_first_then_the_newest_and_what_is_left_is_said(tmp_path: Path) -> None:
    paths = sessions(tmp_path, "0", "1", "2", "3")
    counted = count_list(CountJob([tmp_path], first=[paths[1], tmp_path / "none.jsonl"]), patience=0)
    assert (counted.counts.keys(), counted.left) == ({paths[1], paths[3]}, 2)
    counted = count_list(CountJob([tmp_path]), patience=0)
    assert (counted.counts.keys(), counted.left) == ({*paths[1:]}, 1)
    counted = count_list(CountJob([tmp_path]))
    assert (counted.counts.keys(), counted.left) == ({*paths}, 0)


def test_only_files_that_were_named_and_are_there_are_counted(tmp_path: Path) -> None:
    first, second = sessions(tmp_path, "0", "1")
    [other] = sessions(tmp_path / "other", "2")
    gone = tmp_path / "gone.jsonl"
    assert count_list(CountJob(None, [first, gone])).counts.keys() == {first}
    assert count_list(CountJob([tmp_path / "other"], [first])).counts.keys() == {first, other}
    assert count_list(CountJob(None, [gone])) == ({}, 0)
    assert count_list(CountJob([tmp_path / "other", tmp_path])).counts.keys() == {first, second, other}


def test_all_is_read_at_once_where_nothing_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = sessions(tmp_path, "0", "1", "2")
    monkeypatch.setattr(fact_store, "CacheFile", lambda *_: SimpleNamespace(database=None, close=Mock()))
    counted = count_list(CountJob([tmp_path]), patience=0)
    assert (counted.counts.keys(), counted.left) == ({*paths}, 0)


def test_the_child_counts_what_it_is_told_and_says_when_it_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, said = [CountJob([SAMPLES]), CountJob([Path("none")]), CountJob([SAMPLES])], list[Any]()
    monkeypatch.setattr(module.count_list, "__defaults__", (math.inf,))
    module.count_each(iter(jobs), said.append)
    first, none, again = said
    assert first == again == count_list(jobs[0]) and first.counts and none is None


# The thread


class Child:
    """A child that answers what a function says."""

    def __init__(self) -> None:
        self.answer: Callable[[CountJob], ListCounts | None] = lambda job: ONE
        self.jobs: list[CountJob] = []
        self.signal, self.kill, self.close, self.is_running = Mock(), Mock(), Mock(), True

    def ask(self, job: CountJob) -> ListCounts | None:
        self.jobs.append(job)
        return self.answer(job)


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> Child:
    child = Child()
    monkeypatch.setattr(module, "Worker", lambda *_, **__: child)
    return child


@pytest.fixture
def heard() -> list[Any]:
    return []


@pytest.fixture
def counter(child: Child, heard: list[Any]) -> Iterator[ListCounter]:
    counter = ListCounter(heard.append, roots=[Path("root")], paths=[Path("path")])
    yield counter
    counter.close()


def test_it_counts_when_asked_and_goes_on_while_something_is_left(
    counter: ListCounter, child: Child, heard: list[Any]
) -> None:
    answers = iter([ListCounts({}, 2), ListCounts({Path("a"): COUNTS}, 1), ONE])
    child.answer = lambda job: next(answers)
    counter.request()
    wait_until(lambda: len(heard) == 3)
    assert heard == [{}, ONE.counts, ONE.counts] and child.jobs == [CountJob([Path("root")], [Path("path")])] * 3


def test_it_pauses_twenty_times_as_long_as_counting_took_unless_something_is_on_the_screen(
    counter: ListCounter, child: Child, heard: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAUSE_FACTOR", 1e9)
    counter.request()
    wait_until(lambda: len(heard) == 1)
    wait_until(lambda: counter._earliest > 0)
    assert time.monotonic() < counter._earliest <= time.monotonic() + module.LONGEST_PAUSE
    counter.request()
    time.sleep(0.05)
    assert len(heard) == 1
    counter.request([Path("shown")])
    wait_until(lambda: len(heard) == 2)
    assert [list(job.first) for job in child.jobs] == [[], [Path("shown")]]


def test_a_child_that_cannot_count_is_not_asked_again(counter: ListCounter, child: Child, heard: list[Any]) -> None:
    child.answer = lambda job: None
    counter.request()
    wait_until(lambda: counter._earliest > 0)
    assert heard == [] and len(child.jobs) == 1 and not counter._is_due


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
def test_overlapping_pauses_stop_the_child_until_the_last_ends(
    counter: ListCounter, child: Child, heard: list[Any]
) -> None:
    with counter.paused(), counter.paused():
        counter.request()
        time.sleep(0.05)
        assert heard == [] and not child.signal.called, "there is none"
    wait_until(lambda: len(heard) == 1)
    with counter.paused():
        with counter.paused():
            pass
        sent = [call.args[0] for call in child.signal.call_args_list]
        assert sent == [signal.SIGSTOP] * 2
    assert child.signal.call_args.args == (signal.SIGCONT,)
    counter._signal("SIGNONE")
    assert child.signal.call_count == 3


def counting() -> set[threading.Thread]:
    """The threads of counters: servers of other tests may have some, too."""
    return {one for one in threading.enumerate() if one.name == "counter"}


def test_closing_ends_the_thread_even_in_a_pause_and_the_child(child: Child, heard: list[Any]) -> None:
    before = counting()
    counter = ListCounter(heard.append, roots=[Path("root")], paths=[Path("path")])
    [thread] = counting() - before
    assert thread.daemon
    child.answer = lambda job: counter.close() or ONE  # type: ignore[func-returns-value]
    counter.request()
    thread.join(PATIENCE)
    assert not thread.is_alive() and heard == [], "nobody listens any more"
    assert child.kill.call_count == 1 and child.close.called
    other = ListCounter(heard.append)
    with other.paused():
        other.request()
        other.close()
        wait_until(lambda: counting() <= before)


def test_a_child_is_started_when_there_is_none_or_it_ended(
    child: Child, heard: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []
    monkeypatch.setattr(module, "Worker", lambda *given, **options: started.append((given, options)) or child)
    monkeypatch.setattr(module, "PAUSE_FACTOR", 0.0)
    counter = ListCounter(heard.append)
    for number, (runs, starts) in enumerate([(True, 1), (True, 1), (False, 2)], 1):
        child.is_running = runs
        counter.request()
        wait_until(lambda number=number: len(heard) == number)
        assert started == [(("reread.server.list_counts:count_each",), {"nice": True})] * starts
    counter.close()


def test_a_lost_child_says_nothing() -> None:
    assert module._ask(Mock(ask=Mock(return_value=ONE)), CountJob(None)) == ONE
    assert module._ask(Mock(ask=Mock(side_effect=WorkerLost)), CountJob(None)) is None
