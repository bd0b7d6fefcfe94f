"""Replay: the schedule, parts of a recording, and sessions that were never captured."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import making
import pytest
from batches import some
from effort import SAMPLE, one_in, sampled
from hypothesis import given
from hypothesis import strategies as st
from making import jsonl, reply, result, told, use, user

import reread
from reread.base.times import LONGEST_WAIT, parse_duration, parse_position
from reread.catalog.store import Store
from reread.recording import player
from reread.recording.player import INSTANT, PlaybackStep, playback_schedule

pytestmark = one_in(3)

START = datetime(2026, 11, 15, 10, tzinfo=UTC)
DATA = Path(os.environ.get("REREAD_REAL_CLIENT", "/nowhere")) / "data"
REAL = pytest.mark.skipif(not DATA.is_dir(), reason="REREAD_REAL_CLIENT is not a folder with the real client's data")


def at(*seconds: float | None, run: int = 0) -> list[tuple[datetime | None, int]]:
    return [(None if s is None else START + timedelta(seconds=s), run) for s in seconds]


class TestSchedule:
    def test_waits_as_long_as_recorded(self) -> None:
        assert list(playback_schedule(at(0, 1, 3.5))) == [
            PlaybackStep(0, 0),
            PlaybackStep(1, 1),
            PlaybackStep(2.5, 3.5),
        ]

    def test_speed_divides_the_waits(self) -> None:
        assert [step.wait for step in playback_schedule(at(0, 1, 3), speed=4)] == [0, 0.25, 0.5]
        assert [step.wait for step in playback_schedule(at(0, 1, 3), speed=INSTANT)] == [0, 0, 0]

    def test_long_gaps_are_cut_before_speed_applies(self) -> None:
        assert [step.wait for step in playback_schedule(at(0, 100), speed=2, max_gap=4)] == [0, 2]

    def test_does_not_wait_between_runs(self) -> None:
        times = [*at(0, 1), *at(90_000, 90_001, run=1)]
        assert list(playback_schedule(times)) == [
            PlaybackStep(0, 0),
            PlaybackStep(1, 1),
            PlaybackStep(0, 1),
            PlaybackStep(1, 2),
        ]

    def test_ignores_a_clock_that_goes_backwards_or_is_missing(self) -> None:
        assert [step.wait for step in playback_schedule(at(5, None, 2, 6))] == [0, 0, 0, 1]

    @given(st.lists(st.floats(-1e6, 1e6)), st.floats(0.01, 100), st.none() | st.floats(0, 100))
    def test_never_goes_backwards(self, seconds: list[float], speed: float, max_gap: float | None) -> None:
        played = list(playback_schedule(at(*seconds), speed=speed, max_gap=max_gap))
        assert len(played) == len(seconds) and all(step.wait >= 0 for step in played)
        assert all(a.elapsed <= b.elapsed for a, b in pairwise(played))


class TestConversation:
    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        store = Store(tmp_path)
        for n in range(5):
            store.append("c", b'{"n":%d}' % n, timestamp=START + timedelta(seconds=n))
        store.append("c", b"aside", stream="err", timestamp=START)
        return store

    def play(self, store: Store, **options: object) -> tuple[list[int], list[float]]:
        pauses: list[float] = []
        played = reread.replay(store.open("c"), sleep=pauses.append, **options)  # type: ignore[arg-type]
        return [json.loads(line.raw)["n"] for line in played], [round(pause) for pause in pauses]

    def test_is_replayed_at_its_pace(self, store: Store) -> None:
        numbers, pauses = self.play(store)
        assert numbers == [0, 1, 2, 3, 4]
        assert pauses == [1, 2, 3, 4]  # the test does not sleep, so each line is due later

    def test_does_not_rush_after_a_long_stop(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        clock, pauses = [100.0], list[float]()
        monkeypatch.setattr(player.time, "monotonic", lambda: clock[0])

        def sleep(seconds: float) -> None:
            pauses.append(seconds)
            clock[0] += seconds

        played = reread.replay(store.open("c"), sleep=sleep)
        next(played)
        clock[0] += 10
        assert len(list(played)) == 4
        assert pauses == [1, 1]  # it catches up by a second, and then keeps the pace

    def test_a_part_starts_at_once(self, store: Store) -> None:
        assert self.play(store, start=2.0, stop=4.0) == ([2, 3], [1])
        assert self.play(store, start=START + timedelta(seconds=3)) == ([3, 4], [1])

    def test_waits_no_longer_than_the_system_can(self, tmp_path: Path) -> None:
        store = Store(tmp_path)
        for year in (1, 9999):
            store.append("c", b'{"n":%d}' % year, timestamp=datetime(year, 1, 2, tzinfo=UTC))
        assert self.play(store) == ([1, 9999], [LONGEST_WAIT])

    def test_speed_must_be_positive(self, store: Store) -> None:
        with pytest.raises(reread.Misuse, match="--speed must be greater than 0"):
            list(reread.replay(store.open("c"), speed=0))

    def test_runs_count_from_1_and_a_missing_one_is_an_error(self, store: Store) -> None:
        for n in (5, 6):
            with store.writer("c") as writer:
                writer.start_run(["claude"])
                writer.extend([b'{"n":%d}\n' % n])
        assert [line.run for line in store.open("c").lines() if line.stream == "out"] == [1, 1, 1, 1, 1, 2, 3]
        assert [self.play(store, run=run)[0] for run in (1, 2, 3)] == [[0, 1, 2, 3, 4], [5], [6]]
        for run in (0, 4):
            with pytest.raises(reread.Misuse, match=f"No run {run}; this conversation has 3 runs"):
                self.play(store, run=run)

    def test_a_name_matches_a_conversation_before_a_session(self, store: Store) -> None:
        played = reread.replay("c", root=store.root, speed=INSTANT)
        assert len(list(played)) == 5


@pytest.mark.parametrize(
    ("text", "seconds"), [("2s", 2), ("500ms", 0.5), ("1m30s", 90), ("1h", 3600), ("7", 7), ("1.5s", 1.5)]
)
def test_durations_are_parsed(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds == parse_position(text)


def test_an_invalid_duration_is_an_error() -> None:
    for text in ("", "soon", "2 parsecs"):
        with pytest.raises(reread.Misuse, match="Invalid duration"):
            parse_duration(text)
    assert parse_position("2026-11-15T10:00:00+00:00") == START


class TestTranscript:
    def printed(self, *records: making.Object) -> list[making.Object]:
        session = making.read(*told(*records))
        return [json.loads(line.raw) for line in reread.replay(session, speed=INSTANT)]

    def test_is_replayed_as_the_client_would_have_printed_it(self) -> None:
        lines = self.printed(
            user("Hi"),
            reply(use("t1", command="ls")),
            making.answer(result("t1", "a b"), data={"stdout": "a b"}),
            reply("Two files.", id="msg_2"),
        )
        assert [(line["type"], line.get("subtype")) for line in lines] == [
            ("system", "init"),
            ("user", None),
            ("assistant", None),
            ("user", None),
            ("assistant", None),
            ("result", "success"),
        ]
        assert lines[1]["isReplay"] is True and "isReplay" not in lines[3]
        assert lines[3]["tool_use_result"] == {"stdout": "a b"}
        assert lines[-1]["result"] == "Two files." and lines[-1]["is_error"] is False
        assert {line["session_id"] for line in lines} == {making.SESSION}
        assert not any("sessionId" in line or "parentUuid" in line for line in lines)

    def test_reads_back_as_the_same_conversation(self) -> None:
        records = told(user("Hi"), reply("One."), user("More"), reply("Two.", id="msg_2"))
        data = b"".join(line.raw + line.end for line in reread.replay(making.read(*records), speed=INSTANT))
        again = reread.open(data)
        assert [turn.prompt.text for turn in again.turns if turn.prompt] == ["Hi", "More"]
        assert [turn_result.text for turn_result in again.results] == ["One.", "Two."]

    def test_has_one_run(self, tmp_path: Path) -> None:
        path = tmp_path / "s.jsonl"
        path.write_bytes(jsonl(user("Hello.")))
        assert len(list(reread.replay(path, run=1))) == len(list(reread.replay(path))) > 0
        with pytest.raises(reread.Misuse, match="No run 2; this conversation has 1 run"):
            list(reread.replay(path, run=2))

    @pytest.mark.parametrize(
        ("option", "value", "message"),
        [
            ("--max-gap", "", "Invalid duration ''; use 2s, 500ms or 1m30s."),
            ("--speed", "0", "--speed must be greater than 0."),
        ],
    )
    def test_invalid_options_exit_with_2(self, option: str, value: str, message: str, tmp_path: Path) -> None:
        path = tmp_path / "s.jsonl"
        path.write_bytes(jsonl(user("Hello.")))
        done = subprocess.run([sys.executable, "-m", "reread", "replay", path, option, value], capture_output=True)
        assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", f"reread: {message}\n")

    def test_a_stream_is_replayed_unchanged(self, tmp_path: Path) -> None:
        path = tmp_path / "s.jsonl"
        path.write_bytes(jsonl(making.printed(reply("Hi")), {"type": "result", "session_id": "s"}))
        played = reread.replay(path, speed=INSTANT)
        assert b"".join(line.raw + line.end for line in played) == path.read_bytes()


@REAL
class TestRealClient:
    @sampled
    @pytest.mark.parametrize("version", sorted(p.name for p in DATA.iterdir()) if DATA.is_dir() else [])
    def test_its_output_is_captured_through_a_pipe_and_replayed(self, version: str, tmp_path: Path) -> None:
        streams = some(sorted((DATA / version).glob("*/stream*.jsonl")), 5 if SAMPLE else 1)
        assert len(streams) > (10 if SAMPLE else 50)
        for n, stream in enumerate(streams):
            with stream.open("rb") as file:
                run = reread.capture(file, root=tmp_path, conversation=f"c{n}")
                out = b"".join(run.chunks())
            played = reread.replay(f"c{n}", root=tmp_path, speed=INSTANT)
            assert out == stream.read_bytes() == b"".join(line.raw + line.end for line in played)
