"""Replaying: the clock, the choice of a part, and sessions that were never captured."""

import json
import os
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import making
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import jsonl, reply, result, told, use, user

import reread
from reread.catalog.store import Store
from reread.recording.player import INSTANT, PlaybackStep, parse_bound, parse_span, playback_schedule

START = datetime(2026, 11, 15, 10, tzinfo=UTC)
DATA = Path(os.environ.get("REREAD_REAL_CLIENT", "/nowhere")) / "data"
REAL = pytest.mark.skipif(not DATA.is_dir(), reason="REREAD_REAL_CLIENT names no folder with the real client's data")


def at(*seconds: float | None, run: int = 0) -> list[tuple[datetime | None, int]]:
    return [(None if s is None else START + timedelta(seconds=s), run) for s in seconds]


class TestTheClock:
    def test_waits_as_long_as_it_took(self) -> None:
        assert list(playback_schedule(at(0, 1, 3.5))) == [
            PlaybackStep(0, 0),
            PlaybackStep(1, 1),
            PlaybackStep(2.5, 3.5),
        ]

    def test_runs_faster_when_asked(self) -> None:
        assert [beat.wait for beat in playback_schedule(at(0, 1, 3), speed=4)] == [0, 0.25, 0.5]
        assert [beat.wait for beat in playback_schedule(at(0, 1, 3), speed=INSTANT)] == [0, 0, 0]

    def test_cuts_long_gaps_before_it_runs_faster(self) -> None:
        assert [beat.wait for beat in playback_schedule(at(0, 100), speed=2, max_gap=4)] == [0, 2]

    def test_does_not_wait_between_runs(self) -> None:
        moments = [*at(0, 1), *at(90_000, 90_001, run=1)]
        assert list(playback_schedule(moments)) == [
            PlaybackStep(0, 0),
            PlaybackStep(1, 1),
            PlaybackStep(0, 1),
            PlaybackStep(1, 2),
        ]

    def test_takes_no_harm_from_a_clock_that_jumps_or_is_missing(self) -> None:
        assert [beat.wait for beat in playback_schedule(at(5, None, 2, 6))] == [0, 0, 0, 1]

    @given(st.lists(st.floats(-1e6, 1e6)), st.floats(0.01, 100), st.none() | st.floats(0, 100))
    def test_never_goes_backwards(self, seconds: list[float], speed: float, max_gap: float | None) -> None:
        played = list(playback_schedule(at(*seconds), speed=speed, max_gap=max_gap))
        assert len(played) == len(seconds) and all(beat.wait >= 0 for beat in played)
        assert all(a.at <= b.at for a, b in pairwise(played))


class TestAConversation:
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
        return [json.loads(entry.raw)["n"] for entry in played], [round(pause) for pause in pauses]

    def test_is_played_at_its_pace(self, store: Store) -> None:
        numbers, pauses = self.play(store)
        assert numbers == [0, 1, 2, 3, 4]
        assert pauses == [1, 2, 3, 4]  # the test's clock stands still, so what is due is further and further off

    def test_a_part_of_it_begins_at_once(self, store: Store) -> None:
        assert self.play(store, start=2.0, stop=4.0) == ([2, 3], [1])
        assert self.play(store, start=START + timedelta(seconds=3)) == ([3, 4], [1])

    def test_a_speed_of_nothing_makes_no_sense(self, store: Store) -> None:
        with pytest.raises(reread.Misuse, match="more than nothing"):
            list(reread.replay(store.open("c"), speed=0))

    def test_runs_count_from_1_and_one_that_is_not_there_is_said(self, store: Store) -> None:
        for n in (5, 6):
            with store.writer("c") as writer:
                writer.begin(["claude"])
                writer.extend([b'{"n":%d}\n' % n])
        assert [entry.run for entry in store.open("c").entries() if entry.stream == "out"] == [1, 1, 1, 1, 1, 2, 3]
        assert [self.play(store, run=run)[0] for run in (1, 2, 3)] == [[0, 1, 2, 3, 4], [5], [6]]
        for run in (0, 4):
            with pytest.raises(reread.Misuse, match=f"there is no run {run}: this conversation has 3 runs"):
                self.play(store, run=run)

    def test_is_found_by_name_before_a_session_is(self, store: Store) -> None:
        played = reread.replay("c", root=store.root, speed=INSTANT)
        assert len(list(played)) == 5


@pytest.mark.parametrize(
    ("text", "seconds"), [("2s", 2), ("500ms", 0.5), ("1m30s", 90), ("1h", 3600), ("7", 7), ("1.5s", 1.5)]
)
def test_spans_are_read(text: str, seconds: float) -> None:
    assert parse_span(text) == seconds == parse_bound(text)


def test_what_is_no_span_is_said() -> None:
    for text in ("", "soon", "2 parsecs"):
        with pytest.raises(reread.Misuse, match="no span"):
            parse_span(text)
    assert parse_bound("2026-11-15T10:00:00+00:00") == START


class TestATranscript:
    def printed(self, *records: making.Object) -> list[making.Object]:
        session = making.read(*told(*records))
        return [json.loads(entry.raw) for entry in reread.replay(session, speed=INSTANT)]

    def test_becomes_what_the_client_would_have_printed(self) -> None:
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

    def test_is_read_back_as_the_same_conversation(self) -> None:
        records = told(user("Hi"), reply("One."), user("More"), reply("Two.", id="msg_2"))
        data = b"".join(entry.raw + entry.end for entry in reread.replay(making.read(*records), speed=INSTANT))
        again = reread.open(data)
        assert [turn.prompt.text for turn in again.turns if turn.prompt] == ["Hi", "More"]
        assert [outcome.text for outcome in again.results] == ["One.", "Two."]

    def test_is_one_run(self, tmp_path: Path) -> None:
        path = tmp_path / "s.jsonl"
        path.write_bytes(jsonl(user("Hello.")))
        assert len(list(reread.replay(path, run=1))) == len(list(reread.replay(path))) > 0
        with pytest.raises(reread.Misuse, match="there is no run 2: this conversation has 1 run"):
            list(reread.replay(path, run=2))

    def test_a_stream_is_played_as_it_stands(self, tmp_path: Path) -> None:
        path = tmp_path / "s.jsonl"
        path.write_bytes(jsonl(making.printed(reply("Hi")), {"type": "result", "session_id": "s"}))
        played = reread.replay(path, speed=INSTANT)
        assert b"".join(entry.raw + entry.end for entry in played) == path.read_bytes()


@REAL
class TestTheRealClient:
    @pytest.mark.parametrize("version", sorted(p.name for p in DATA.iterdir()) if DATA.is_dir() else [])
    def test_all_it_printed_is_captured_through_a_pipe_and_replayed(self, version: str, tmp_path: Path) -> None:
        streams = sorted((DATA / version).glob("*/stream*.jsonl"))
        assert len(streams) > 50
        for n, stream in enumerate(streams):
            with stream.open("rb") as file:
                taken = reread.capture(file, root=tmp_path, conversation=f"c{n}")
                out = b"".join(taken.chunks())
            played = reread.replay(f"c{n}", root=tmp_path, speed=INSTANT)
            assert out == stream.read_bytes() == b"".join(entry.raw + entry.end for entry in played)
