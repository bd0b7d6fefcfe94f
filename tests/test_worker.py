"""Processes that work for this one: what they are asked and say, how they are lost, and when they end."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from limits import PATIENCE, wait_until

from reread.base import worker as module
from reread.base.worker import Say, Worker, WorkerLost

ECHO, ONCE, LIMP = (f"{__name__}:{name}" for name in ("echo", "say_once", "write_junk"))


def echo(questions: Iterator[Any], say: Say) -> None:
    """Say of each question whether the process hears the terminal's keys, how nice it is, and the question."""
    for question in questions:
        say((os.getpgid(0) == os.getpid(), os.getsid(0) == os.getpid(), os.nice(0), question))


def say_once(questions: Iterator[Any], say: Say) -> None:
    for question in questions:
        say("before")
        Path(question).write_text("seen")
        sys.exit(1)


def write_junk(questions: Iterator[bytes], say: Say) -> None:
    for question in questions:
        sys.stdout.buffer.write(question)
        sys.stdout.buffer.flush()
        return


@pytest.fixture(autouse=True)
def tests_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


@pytest.mark.skipif(os.name != "posix", reason="groups and niceness of processes")
@pytest.mark.parametrize("nice", [False, True])
def test_each_question_is_answered_out_of_reach_of_the_keys(nice: bool) -> None:
    with closing(Worker(ECHO, nice=nice)) as worker:
        for question in ("a", {"path": "\udc80"}, None, b"x" * 300_000):
            assert worker.ask(question) == (True, False, min(19, os.nice(0) + 10 * nice), question)
        assert worker.is_running
    assert not worker.is_running


def test_a_process_that_is_lost_says_so_and_never_waits(tmp_path: Path) -> None:
    with closing(Worker(ONCE)) as worker:
        assert worker.ask(tmp_path / "file") == "before"
        with pytest.raises(WorkerLost):
            worker.receive()
        wait_until(lambda: not worker.is_running)
        with pytest.raises(WorkerLost):
            worker.ask(b"x" * 300_000)
    for junk in (b"", b"?", b"\x80\x05K", b"I am text\n", b"cnowhere\nx\n."):
        with closing(Worker(LIMP)) as worker, pytest.raises(WorkerLost):
            worker.ask(junk)
    with closing(Worker(ECHO)) as worker:
        threading.Timer(0.1, worker.kill).start()
        with pytest.raises(WorkerLost):
            worker.receive()


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no such signals")
def test_it_can_be_stopped_and_go_on() -> None:
    with closing(Worker(ECHO)) as worker:
        worker.ask("ready")
        worker.signal(signal.SIGSTOP)
        worker.send("later")
        heard: list[Any] = []
        thread = threading.Thread(target=lambda: heard.append(worker.receive()))
        thread.start()
        time.sleep(0.1)
        assert heard == []
        worker.signal(signal.SIGCONT)
        thread.join(PATIENCE)
        assert heard[0][-1] == "later"


@pytest.mark.parametrize("speaks", [True, False])
def test_it_ends_when_it_has_no_more_questions(tmp_path: Path, speaks: bool) -> None:
    worker = Worker(ONCE, speaks=speaks)
    worker.send(tmp_path / "file")
    if os.name == "posix":
        pid = worker._process.pid  # type: ignore[union-attr]
        assert (os.getsid(pid) == pid) == (not speaks)
    worker.finish()
    wait_until(lambda: not worker.is_running)
    assert (tmp_path / "file").read_text() == "seen"
    worker.finish()
    worker.close()


def test_it_reads_no_module_of_the_folder_that_one_is_in(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    monkeypatch.setattr(subprocess, "Popen", lambda words, **options: started.append((words, options)))
    Worker("module:work")
    Worker("module:work", nice=True, speaks=False)
    assert [words for words, _ in started] == [
        [sys.executable, "-P", "-m", "reread.base.worker", "module:work"],
        [sys.executable, "-P", "-m", "reread.base.worker", "module:work", "nice"],
    ]
    assert [options["stderr"] for _, options in started] == [subprocess.DEVNULL] * 2


@pytest.mark.parametrize("error", [OSError, AttributeError])
def test_work_is_done_where_no_priority_can_be_set(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    asked, niced = list[Any](), list[int]()

    def fail(by: int) -> int:
        niced.append(by)
        raise error

    monkeypatch.setattr(os, "nice", fail)
    monkeypatch.setitem(globals(), "note", lambda questions, say: asked.append(say))
    for more, times in (([], 0), ([module.NICE], 1)):
        monkeypatch.setattr(sys, "argv", ["worker", f"{__name__}:note", *more])
        module.main()
        assert niced == [10] * times
    assert asked == [module._say] * 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="starts processes by fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize(
    ("work", "said"),
    [
        (lambda _, say: (say([1]), say(2)), [[1], 2]),
        (lambda _, say: (say(1), sys.exit(3)), [1]),
        (lambda questions, say: say(list(questions)), [[]]),
        (lambda _, say: os._exit(1), []),
    ],
)
def test_a_copy_of_the_process_says_what_it_can(work: Callable[[Iterator[Any], Say], None], said: list[Any]) -> None:
    with closing(Worker.forked(work)) as worker:
        assert [worker.receive() for _ in said] == said
        with pytest.raises(WorkerLost):
            worker.receive()
    with pytest.raises(ChildProcessError):  # it was waited for
        os.waitpid(worker._process._pid, 0)  # type: ignore[union-attr]


BIG = 1 << 20
"""More bytes than a pipe holds."""


def fork_and_wait(questions: Iterator[None], say: Say) -> None:
    """Start copies that say more than a pipe holds, tell their numbers, and read nothing of them."""
    copies = [Worker.forked(lambda _, say: say(bytes(BIG))) for _ in range(2)]
    say([copy._process._pid for copy in copies])  # type: ignore[union-attr]
    list(questions)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks the kernel for the state of processes")
def test_copies_end_though_their_owner_was_killed() -> None:
    def is_over(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
        except OSError:
            return True

    owner = Worker(f"{__name__}:fork_and_wait")
    pids = owner.receive()
    assert not any(map(is_over, pids))
    owner.close()
    wait_until(lambda: all(map(is_over, pids)))
