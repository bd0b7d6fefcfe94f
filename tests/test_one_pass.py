"""One pass over new bytes: what is derived at once equals what is derived alone, and nothing is read for one alone."""

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import command
import pytest
from effort import examples, one_in
from hypothesis import given, settings
from hypothesis import strategies as st
from indexes import index_folder
from killing import end_of
from making import SESSION, answer, jsonl, reply, result, told, use, user, write
from used import facts_of

import reread
from reread.accounting import workers
from reread.dataset import whole_pass
from reread.dataset.local_tables import own_place, own_tables
from reread.dataset.manifest import newest_manifest
from reread.dataset.tables import WrittenTables
from reread.dataset.whole_pass import derive_all
from reread.disk.cache import cache_folder
from reread.disk.derived_cache import PROOF
from reread.disk.file_set import find_files
from reread.disk.machine import machine_id
from reread.disk.sources import FileSource
from reread.facts.sessions import open_sessions
from reread.facts.store import FactStore
from reread.index.hit_locator import OpenedSession
from reread.index.store import open_reader
from reread.index.update import LEAST, refresh
from reread.records.decode import Decoder
from reread.reports.file_index import FileIndex
from reread.session import loader
from reread.session.pass_process import PassJob, begin_pass, only_pass, pass_is_due
from reread.session.saved_fold import fold_path
from reread.session.session_pass import SessionPass

KILLS = int(os.environ.get("REREAD_KILLS", "4"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "projects/p").mkdir(parents=True)
    return tmp_path


def usage_row(number: int) -> bytes:
    message = {"id": f"m{number}", "model": "claude-opus-5-5", "content": [], "stop_reason": "end_turn"}
    usage = {"usage": {"input_tokens": 1, "output_tokens": number}}
    row = {"type": "assistant", "sessionId": "s", "requestId": f"r{number}", "timestamp": "2026-11-10T10:00:00Z"}
    return jsonl({**row, "uuid": f"u{number}", "message": message | usage})


def test_what_a_search_reads_is_counted_at_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(root, user("needle"))
    with path.open("ab") as file:
        file.write(usage_row(3))
    refresh(find_files([root]))
    with path.open("ab") as file:
        file.write(usage_row(4) + usage_row(5)[:-9])  # the last line is still being written
    refresh(find_files([root]))
    with path.open("ab") as file:
        file.write(usage_row(5)[-9:])
    refresh(find_files([root]))
    expected = reread.usage(root=root, cache=False).rows

    def fail(*_: object) -> Any:
        raise AssertionError("read again")

    monkeypatch.setattr(workers, "read", fail)
    assert reread.usage(root=root).rows == expected
    assert sum(row.output_tokens for row in expected) == 12


def test_a_search_reads_nothing_for_usage_alone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(root, user("needle " * 100))
    refresh(find_files([root]))
    (cache_folder() / "cache.sqlite").unlink()
    size, read = path.stat().st_size, list[int]()
    with path.open("ab") as file:
        file.write(usage_row(3))
    original = FileSource.read

    def spy(source: FileSource, offset: int, length: int) -> bytes:
        read.append(offset)
        return original(source, offset, length)

    with monkeypatch.context() as patch:
        patch.setattr(FileSource, "read", spy)
        patch.setattr(SessionPass, "fill", lambda *_: None)  # folds the session, and so reads it
        refresh(find_files([root]))
    assert min(read) >= size - PROOF
    assert reread.usage(root=root).totals.output_tokens == 3


def lines_found(root: Path, query: str, **options: Any) -> list[int]:
    return [hit.line for hit in reread.search(query, root=root, **options)]


def test_a_few_new_lines_are_found_without_a_commit(root: Path) -> None:
    path = write(root, user("needle one"), user("hay"))
    with path.open("ab") as file:
        file.write(jsonl(*told(user("needle torn")))[:-1])
    assert sorted(lines_found(root, "needle", order="newest")) == [1, 3]
    before = (index_folder() / "meta.json").read_bytes()
    with path.open("ab") as file:
        file.write(b"\n" + jsonl(*told(user("needle two"), user("needleThree"))))
    assert sorted(lines_found(root, "needle")) == [1, 3, 4, 5]
    assert sorted(lines_found(root, "need.e", regex=True)) == [1, 3, 4, 5]
    assert sorted(lines_found(root, "needle -torn in:prompts session:a", order="newest")) == [1, 4, 5]
    write(root, user("hay"), user("needle anew"))
    assert lines_found(root, "needle") == [2]
    assert (index_folder() / "meta.json").read_bytes() == before
    refresh(find_files([root]))
    assert (index_folder() / "meta.json").read_bytes() != before
    assert lines_found(root, "needle") == [2]


def test_much_that_is_new_is_indexed(root: Path) -> None:
    path = write(root, user("needle"))
    assert lines_found(root, "needle") == [1]
    before = (index_folder() / "meta.json").read_bytes()
    with path.open("ab") as file:
        file.write(jsonl(*told(user("needle " + "hay " * (LEAST // 4)))))
    assert sorted(lines_found(root, "needle")) == [1, 2]
    assert (index_folder() / "meta.json").read_bytes() != before


def sessions_in(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*.jsonl") if not path.name.startswith("agent-"))


def files_of(root: Path) -> Any:
    with closing(FactStore()) as store:
        files = FileIndex(store, open_sessions(store, sessions_in(root)))
        return files.paths, {name: files.traces_of(name) for paths in files.paths.values() for name in paths}


def rows_of(root: Path) -> Any:
    with own_tables([root]) as place:
        written = WrittenTables(place)
        return {name: sorted(map(repr, written[name].read_all().to_pylist())) for name in written}


VERBS: dict[str, Callable[[Path], Any]] = {
    "usage": lambda root: reread.usage(root=root).rows,
    "facts": lambda root: facts_of(sessions_in(root)),
    "files": files_of,
    "hits": lambda root: sorted(map(repr, reread.search("needle", root=root, limit=None, order="newest"))),
}
if find_spec("pyarrow") is not None:
    VERBS["rows"] = rows_of
"""What the verbs derive, and give."""


def everything(root: Path) -> dict[str, Any]:
    """All that is derived of the sessions, as the verbs give it."""
    return {name: verb(root) for name, verb in VERBS.items()}


def alone(root: Path) -> dict[str, Any]:
    """The same, each derived by itself, with nothing kept of what was there before."""
    before = os.environ["REREAD_CACHE"]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["REREAD_CACHE"] = folder
        try:
            return everything(root)
        finally:
            os.environ["REREAD_CACHE"] = before


def exchange(number: int, *, parent: str | None = None) -> bytes:
    """A prompt, an edit and its result."""
    prompt = user(f"needle {number}", **({"parentUuid": parent} if parent else {}))
    edit = use(f"t{number}", "Write", file_path=f"/f{number % 3}.py", content=f"needle\n{number}\n")
    data = {"type": "create", "filePath": f"/f{number % 3}.py", "content": f"needle\n{number}\n", "structuredPatch": []}
    done = answer(result(f"t{number}", "needle written"), data=data)
    return jsonl(
        *(
            {**record, "uuid": f"{number}-{n}"}
            for n, record in enumerate(told(prompt, reply(edit, id=f"m{number}"), done))
        )
    )


def append(root: Path, number: int) -> None:
    with (root / f"projects/p/{SESSION}.jsonl").open("ab") as file:
        file.write(exchange(number))


def rewind(root: Path, number: int) -> None:
    with (root / f"projects/p/{SESSION}.jsonl").open("ab") as file:
        file.write(exchange(number, parent="0-2"))


def rewrite(root: Path, number: int) -> None:
    (root / f"projects/p/{SESSION}.jsonl").write_bytes(exchange(0) + exchange(number))


def tear(root: Path, number: int) -> None:
    with (root / f"projects/p/{SESSION}.jsonl").open("ab") as file:
        file.write(exchange(number)[:-40])


def add_agent(root: Path, number: int) -> None:
    path = root / f"projects/p/{SESSION}/subagents/agent-x{number % 2}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    records = told(user("go"), reply(f"needle of an agent {number}"), user("more"))
    with path.open("ab") as file:
        file.write(jsonl(*({**record, "isSidechain": True, "agentId": f"x{number % 2}"} for record in records)))


def add_session(root: Path, number: int) -> None:
    (root / f"projects/p/s{number}.jsonl").write_bytes(exchange(number))


CHANGES = (append, rewind, rewrite, tear, add_agent, add_session)
PASSES: tuple[Callable[[Path], object], ...] = (
    lambda root: refresh(find_files([root])),
    lambda root: derive_all(find_files([root])),
    *VERBS.values(),
    everything,
)


@pytest.mark.timeout(900)
@settings(max_examples=examples(8))
@given(st.lists(st.tuples(st.sampled_from(CHANGES), st.sampled_from((*PASSES, None))), min_size=1, max_size=6))
def test_what_is_derived_in_one_pass_equals_what_is_derived_alone(steps: list[Any]) -> None:
    before = os.environ["REREAD_CACHE"]
    with tempfile.TemporaryDirectory() as folder:
        root, os.environ["REREAD_CACHE"] = Path(folder) / "root", f"{folder}/cache"
        try:
            (root / "projects/p").mkdir(parents=True)
            rewrite(root, 1)
            for number, (change, derive) in enumerate(steps, 2):
                change(root, number)
                if derive is not None:
                    derive(root)
            assert everything(root) == alone(root)
        finally:
            os.environ["REREAD_CACHE"] = before


def refuse(_: object, path: object, *__: object) -> Any:
    raise AssertionError(f"{path} was opened")


@pytest.mark.parametrize("first", sorted(VERBS.keys() - {"usage", "hits"}))
def test_sessions_that_one_verb_opened_are_not_opened_by_others(
    root: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    rewrite(root, 1)
    add_session(root, 2)
    add_agent(root, 3)
    expected = alone(root)
    assert VERBS[first](root) == expected[first]
    with monkeypatch.context() as patch:
        patch.setattr(SessionPass, "_open", refuse)
        patch.setattr(OpenedSession, "__init__", refuse)
        refresh(find_files([root]))
        others = VERBS.keys() - {"rows"}
        assert {name: VERBS[name](root) for name in others} == {name: expected[name] for name in others}


READERS: tuple[Callable[[Path], object], ...] = (
    lambda root: list(facts_of(sessions_in(root))),
    lambda root: reread.stats(root=root),
    lambda root: reread.blame(root / "none", text="", root=root),
)


@pytest.mark.parametrize("read", READERS)
def test_the_newest_sessions_are_read_first_and_those_that_are_known_not_at_all(
    root: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], object]
) -> None:
    times = {"s2": 30, "s3": 10, "s4": 40, "s5": 20}
    for name, time_s in times.items():
        add_session(root, int(name[1:]))
        os.utime(root / f"projects/p/{name}.jsonl", (time_s, time_s))
    read_before = root / "projects/p/s5.jsonl"
    assert list(facts_of([read_before]))
    opened, original = list[str](), SessionPass._open
    monkeypatch.setattr(
        SessionPass, "_open", lambda self, path, wanted: opened.append(path.stem) or original(self, path, wanted)
    )
    read(root)
    assert opened == ["s4", "s2", "s3"]


def test_a_large_session_opens_at_once_after_a_pass(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(root, user("needle"), reply("found"))
    monkeypatch.setattr(loader, "SMALLEST", 1)
    messages = [message.text for message in reread.open(path).messages]
    assert not fold_path(path).exists()
    assert list(facts_of([path])) and fold_path(path).exists()
    monkeypatch.setattr(Decoder, "feed", refuse)
    session = reread.open(path)
    assert [message.text for message in session.messages] == messages


COUNTER = """
import sys
import reread
from reread.facts.opening import FactsPart
from reread.session import session_pass
session_pass.SAVED_BYTES = 1
save = FactsPart.save
def tell(self):
    paths = [path for path, *_ in self._unsaved]
    save(self)
    print(*paths, flush=True)
FactsPart.save = tell
reread.stats(root=sys.argv[1])
"""


def test_stats_that_is_killed_goes_on_where_it_was(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(2, 40):
        add_session(root, number)
    child = subprocess.Popen([sys.executable, "-c", COUNTER, str(root)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    done = {child.stdout.readline().strip() for _ in range(3)}
    child.send_signal(signal.SIGKILL)
    child.communicate()
    opened, original = set[str](), SessionPass._open
    monkeypatch.setattr(
        SessionPass, "_open", lambda self, path, wanted: opened.add(str(path)) or original(self, path, wanted)
    )
    assert len(list(facts_of(sessions_in(root)))) == 38
    assert len(done) == 3 and done.isdisjoint(opened)


def end_after(seconds: float) -> None:
    """Let this process be killed after a while, whatever it does then."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def test_a_pass_that_is_killed_leaves_nothing_half(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = Random(1)
    rewrite(root, 1)
    for number in range(2, 20):
        (root / f"projects/p/s{number}.jsonl").write_bytes(b"".join(map(exchange, range(number))))
    kills = 0
    for number in range(60, 60 + KILLS):
        chance.choice(CHANGES)(root, number)
        derive = PASSES[1] if number == 60 else chance.choice(PASSES)
        seconds = 0.03 if number == 60 else chance.uniform(0, 0.5)
        kills += end_of(partial(derive, root), partial(end_after, seconds))
    assert kills
    expected = alone(root)
    derive_all(find_files([root]))
    if "rows" in VERBS:
        rows_of(root)
    with monkeypatch.context() as patch:
        patch.setattr(SessionPass, "_open", refuse)
        patch.setattr(OpenedSession, "__init__", refuse)
        assert everything(root) == expected  # and no verb opens a session again


def in_terminal(*words: str) -> str:
    """Run a verb in a terminal, and return what it printed there."""
    printed, _ = command.in_terminal(words, env=os.environ)
    return printed


@pytest.fixture
def at_home(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with some sessions, on which nothing is derived yet."""
    rewrite(root, 1)
    add_session(root, 2)
    add_agent(root, 3)
    for name, value in {"CLAUDE_CONFIG_DIR": str(root), "HOME": str(root), "REREAD_BACKGROUND": "on"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PAGER", "cat")
    return root


@one_in(3)
@pytest.mark.parametrize("verb", ["ls", "search needle", "usage", "stats", f"blame {__file__}", "sql 'select 1'"])
def test_the_first_verb_in_a_terminal_begins_a_pass_over_everything(
    at_home: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    pytest.importorskip("pyarrow")
    expected = alone(at_home)
    assert "in the background" in in_terminal(*shlex.split(verb))
    begun = cache_folder() / "pass"
    first = begun.stat().st_mtime_ns
    place = own_place(find_files(None), text=False)
    while newest_manifest(place, machine_id()) is None:  # rows are derived last
        time.sleep(0.05)
    assert "in the background" not in in_terminal("ls")
    assert begun.stat().st_mtime_ns == first
    with monkeypatch.context() as patch:
        for opens in ((SessionPass, "_open"), (OpenedSession, "__init__"), (workers, "read")):
            patch.setattr(*opens, refuse)
        refresh(find_files([at_home]))
        assert everything(at_home) == expected


@pytest.mark.parametrize("words", ["--demo ls", "--root . ls", "show latest", "ls --no-such-option"])
def test_no_other_verb_begins_one(at_home: Path, words: str) -> None:
    in_terminal(*shlex.split(words))
    assert not (cache_folder() / "pass").exists()


@pytest.mark.parametrize("asked", [True, False])
def test_nobody_begins_one_who_forbids_it_or_is_no_terminal(
    at_home: Path, monkeypatch: pytest.MonkeyPatch, asked: bool
) -> None:
    if asked:
        monkeypatch.setenv("REREAD_BACKGROUND", "off")
        in_terminal("ls")
    else:
        assert command.forked(["ls"], env=os.environ).returncode == 0
    assert not (cache_folder() / "pass").exists()


@pytest.mark.parametrize(("age", "due"), [(None, True), (5, False), (3500, False), (3700, True), (-900, True)])
def test_a_pass_is_due_after_an_hour(monkeypatch: pytest.MonkeyPatch, age: int | None, due: bool) -> None:
    monkeypatch.setenv("REREAD_BACKGROUND", "on")
    if age is not None:
        begun = cache_folder() / "pass"
        begun.parent.mkdir(parents=True)
        begun.touch()
        then = time.time() - age
        os.utime(begun, (then, then))
    assert pass_is_due() == due


def test_a_pass_that_takes_long_is_not_begun_again(at_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_pass, "WAIT_SECONDS", 0.0)
    with only_pass(0.0) as is_only:
        assert is_only
        whole_pass.make_pass(iter([PassJob()]))
        assert open_reader() is None
    whole_pass.make_pass(iter([PassJob()]))
    reader = open_reader()
    assert reader is not None and len(reader.cursors) == 3


def test_a_link_in_place_of_the_time_of_a_pass_is_not_followed(at_home: Path, tmp_path: Path) -> None:
    begun, other = cache_folder() / "pass", tmp_path / "other"
    begun.parent.mkdir(parents=True)
    begun.symlink_to(other)
    with pytest.raises(OSError):
        begin_pass()
    assert "in the background" not in in_terminal("ls") and not other.exists()
