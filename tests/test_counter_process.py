"""The counter of library rows, without its child: what it counts, when, and what it keeps."""

import io
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import msgspec
import pytest
from limits import PATIENCE, wait_until

from reread.disk.cache import FileState
from reread.disk.derived_cache import DerivedValue, DerivedValues
from reread.reader.row_counts import RowCounts
from reread.server import counter_process as module
from reread.server.count_cache import FORMAT, TABLE, CountCache
from reread.server.counter_process import CounterProcess

STATES = (FileState(1, 2, 3, 4), FileState(1, 3, 5, 6))
ONE = RowCounts(turns=1)


class Counts:
    """The counts that are kept, and what was asked of them."""

    def __init__(self, *known: str) -> None:
        self.known = {Path(name): RowCounts(turns=9) for name in known}
        self.put: Any = Mock()
        self.forget: Any = Mock()
        self.close: Any = Mock()

    def get(self, path: Path, states: object) -> RowCounts | None:
        assert states == STATES
        return self.known.get(path)


@pytest.fixture
def counted() -> list[tuple[Path, RowCounts]]:
    return []


@pytest.fixture
def counter(counted: list[tuple[Path, RowCounts]]) -> Iterator[CounterProcess]:
    found = CounterProcess(lambda path, counts: counted.append((path, counts)))
    yield found
    found._child = None  # it is a mock
    found.close()


def child(*replies: object) -> Any:
    """A child that answers so."""
    answers = io.BytesIO(b"".join(msgspec.json.encode(one) + b"\n" for one in replies))
    return Mock(stdin=Mock(spec=io.BufferedWriter), stdout=answers, poll=Mock(return_value=None))


def test_a_file_is_counted_once_and_again_after_20_times_as_long_as_that_took(
    counter: CounterProcess, counted: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, kept, times = Path("a"), Counts("known"), iter([100.0, 103.0, 103.0])
    monkeypatch.setattr(module, "time", Mock(monotonic=lambda: next(times)))
    monkeypatch.setattr(counter, "_count_in_child", lambda _: ONE)
    counter._count(kept, path, STATES)  # type: ignore[arg-type]
    assert counted == [(path, ONE)] and counter._recount_times == {path: 163.0}
    kept.put.assert_called_once_with(path, STATES, ONE)
    counter._count(kept, Path("known"), STATES)  # type: ignore[arg-type]
    assert counted[1:] == [(Path("known"), RowCounts(turns=9))] and kept.put.call_count == 1
    assert counter._counted_states == {path: STATES, Path("known"): STATES}


def test_what_cannot_be_counted_is_not_tried_again_and_nothing_is_said_of_it(
    counter: CounterProcess, counted: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Counts("known")
    monkeypatch.setattr(counter, "_count_in_child", lambda _: None)
    counter._count(kept, Path("a"), STATES)  # type: ignore[arg-type]
    assert counted == [] and not kept.put.called and counter._counted_states == {Path("a"): STATES}
    counter._closed = True
    counter._count(kept, Path("known"), STATES)  # type: ignore[arg-type]
    assert counted == [], "nobody listens any more"


def test_the_child_is_asked_by_lines_and_started_when_there_is_none(
    counter: CounterProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []

    def start(command: list[str], **options: Any) -> Any:
        started.append((command, options))
        return child(ONE, None, "?")

    monkeypatch.setattr(module.subprocess, "Popen", start)
    path = Path("/a/b\udcff.jsonl")
    assert counter._count_in_child(path) == ONE
    first: Any = counter._child
    [[line]] = [call.args for call in first.stdin.write.call_args_list]
    assert msgspec.json.decode(line, type=bytes) == b"/a/b\xff.jsonl" and line.endswith(b"\n")
    assert first.stdin.flush.called
    assert [counter._count_in_child(path) for _ in range(3)] == [None] * 3, "it cannot, answers nonsense, is at its end"
    assert counter._child is first and len(started) == 1
    first.poll.return_value = 1
    assert counter._count_in_child(path) == ONE and counter._child is not first
    [(command, options), _] = started
    assert command == [sys.executable, "-P", "-m", "reread.server.counter_process"]
    assert options == {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.DEVNULL,
        "process_group": None if sys.platform == "win32" else 0,
    }
    again: Any = counter._child
    again.stdin.write.side_effect = BrokenPipeError
    assert counter._count_in_child(path) is None


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
def test_overlapping_pauses_stop_the_child_until_the_last_ends(counter: CounterProcess) -> None:
    with counter.paused():
        pass  # without a child
    counter._child = own = child(ONE)
    sent = own.send_signal

    def signals() -> list[int]:
        return [call.args[0] for call in sent.call_args_list]

    with counter.paused():
        with counter.paused():
            assert signals() == [signal.SIGSTOP] * 2
        assert signals() == [signal.SIGSTOP] * 2
        found: list[Any] = []
        asking = threading.Thread(target=lambda: found.append(counter._count_in_child(Path("a"))))
        asking.start()
        asking.join(0.05)
        assert found == [] and not own.stdin.write.called
    asking.join(PATIENCE)
    assert found == [ONE] and signals() == [signal.SIGSTOP, signal.SIGSTOP, signal.SIGCONT]
    counter._signal("SIGNONE")
    assert len(signals()) == 3


def test_closing_ends_a_pause_the_child_and_the_thread(
    counter: CounterProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Counts()
    monkeypatch.setattr(module, "CountCache", lambda: kept)
    own = CounterProcess(Mock())
    [thread] = [one for one in threading.enumerate() if one.name == "counter" and one._target.__self__ is own]  # type: ignore[attr-defined]
    assert thread.daemon
    own._child = killed = child()
    killed.__enter__, killed.__exit__ = Mock(), Mock(return_value=None)
    with own.paused():
        asking = threading.Thread(target=own._count_in_child, args=(Path("a"),))
        asking.start()
        own.close()
        asking.join(PATIENCE)
        assert not asking.is_alive()
    thread.join(PATIENCE)
    assert not thread.is_alive() and kept.close.called
    assert killed.kill.call_count == 2 and killed.__exit__.called


def test_the_newest_request_counts_and_what_is_gone_is_forgotten_first(
    counted: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, asked = Counts(), list[str]()
    counter = CounterProcess.__new__(CounterProcess)
    monkeypatch.setattr(module.threading, "Thread", Mock())
    counter.__init__(lambda path, counts: counted.append((path, counts)))  # type: ignore[misc]

    def count(_: Any, path: Path, states: Any) -> None:
        asked.append(path.name)
        counter._counted_states[path] = states
        if path.name == "b":
            counter.request([(Path("d"), STATES)])
        if path.name == "d":
            counter.close()

    monkeypatch.setattr(counter, "_count", count)
    monkeypatch.setattr(module, "CountCache", lambda: kept)
    counter._counted_states[Path("same")] = STATES
    counter._recount_times[Path("soon")] = float("inf")
    counter.forget([Path("x"), Path("y")])
    counter.request([(Path("old"), STATES)])
    counter.request([(Path(name), STATES) for name in ("same", "soon", "a", "b", "c")])
    counter._run()
    assert asked == ["a", "b", "d"]
    assert [call.args[0] for call in kept.forget.call_args_list] == [[Path("x"), Path("y")], []]
    assert kept.close.called and counter._closed
    counter.request([(Path("a"), STATES)])
    assert counter._latest() == [(Path("a"), STATES)]
    counter.request([(Path("a"), STATES)])
    counter.close()
    assert counter._latest() is None


def test_counts_are_those_of_the_same_states(tmp_path: Path) -> None:
    path, counts = tmp_path / "a.jsonl", CountCache()
    assert counts.get(path, STATES) is None
    counts.put(path, STATES, ONE)
    assert counts.get(path, STATES) == ONE
    for other in (STATES[:1], (STATES[0], STATES[0]), (FileState(1, 2, 3, 5), STATES[1])):
        assert counts.get(path, other) is None, other
    [value] = counts._values.derived().values()
    assert (value.path, value.state, value.offset, value.proof) == (str(path), STATES[0], 3, b"")
    damaged = DerivedValues(TABLE, format=FORMAT)
    damaged.save([DerivedValue(str(path), STATES[0], 3, b"", b"{")])
    assert counts.get(path, STATES) is None
    closed = Mock()
    counts._values.close, close = closed, counts._values.close  # type: ignore[method-assign]
    counts.close()
    assert closed.called
    close()
    damaged.close()


def test_the_thread_counts_what_it_is_asked(counted: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CountCache", lambda: Counts("known"))
    counter = CounterProcess(lambda path, counts: counted.append((path, counts)))
    counter.request([(Path("known"), STATES)])
    wait_until(lambda: bool(counted))
    counter.close()
    assert counted == [(Path("known"), RowCounts(turns=9))]
