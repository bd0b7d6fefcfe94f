"""The order of what a search finds: kind, age and fit; each place once; and what the index does not have yet."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from making import answer, jsonl, reply, result, thinking, told, user
from test_index import locked_index

import reread
from reread.index import update
from reread.index.find import find

NOW = datetime.now(UTC)


def ago(days: float) -> str:
    return (NOW - timedelta(days=days)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def write(root: Path, name: str, *records: Any) -> Path:
    path = root / "projects" / "p" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(jsonl(*told(*records)))
    return path


def found(root: Path, query: str = "zebra", **options: Any) -> list[tuple[str, str]]:
    return [(Path(hit.path).stem, hit.kind) for hit in reread.search(query, root=root, **options)]


def test_of_equal_texts_a_prompt_counts_most_and_a_result_least(tmp_path: Path) -> None:
    at = ago(0)
    said = [
        answer(result("t", "the zebra"), timestamp=at),
        reply(thinking("the zebra"), id="m2", timestamp=at),
        reply("the zebra", id="m3", timestamp=at),
        user("the zebra", timestamp=at),
    ]
    for number, record in enumerate(said):
        write(tmp_path, f"s{number}", record)
    assert [kind for _, kind in found(tmp_path)] == ["prompt", "text", "thinking", "result"]


def test_of_equal_texts_a_newer_one_comes_first_but_age_halves_it_at_most(tmp_path: Path) -> None:
    """A prompt counts 1.6, an answer 1.2; in 60 days half of what age can take is gone, and never more than half."""
    write(tmp_path, "prompt-400-days", user("the zebra", timestamp=ago(400)))
    write(tmp_path, "answer-today", reply("the zebra", timestamp=ago(0)))
    write(tmp_path, "prompt-30-days", user("the zebra", timestamp=ago(30)))
    write(tmp_path, "prompt-90-days", user("the zebra", timestamp=ago(90)))
    write(tmp_path, "answer-2000-days", reply("the zebra", timestamp=ago(2000)))
    write(tmp_path, "prompt-tomorrow", user("the zebra", timestamp=ago(-1)))
    write(tmp_path, "result-today", answer(result("t", "the zebra"), timestamp=ago(0)))
    assert [name for name, _ in found(tmp_path)] == [
        "prompt-tomorrow",
        "prompt-30-days",
        "answer-today",
        "prompt-90-days",
        "prompt-400-days",
        "result-today",
        "answer-2000-days",
    ]


def test_the_newest_come_first_if_that_is_asked_for(tmp_path: Path) -> None:
    write(tmp_path, "old", user("zebra zebra zebra", timestamp=ago(50)))
    write(tmp_path, "new", answer(result("t", "of a zebra and much else"), timestamp=ago(1)))
    write(tmp_path, "middle", reply("a zebra", timestamp=ago(20)))
    assert [name for name, _ in found(tmp_path, order="newest")] == ["new", "middle", "old"]
    assert [name for name, _ in found(tmp_path, order="newest", limit=2)] == ["new", "middle"]
    assert [name for name, _ in found(tmp_path, "zebra", regex=True)] == ["new", "middle", "old"]


def test_a_record_that_was_written_twice_is_found_once_and_takes_no_place_of_the_limit(tmp_path: Path) -> None:
    again = {**told(user("the zebra"))[0]}
    path = tmp_path / "projects" / "p" / "s.jsonl"
    path.parent.mkdir(parents=True)
    other = {**told(user("x"), user("another zebra, and more words"))[1]}
    path.write_bytes(jsonl(again, again, again, other))
    assert [hit.line for hit in reread.search("zebra", root=tmp_path, limit=2)] == [1, 4]
    assert len(found(tmp_path, limit=1)) == 1


def test_the_same_words_in_two_records_are_two_hits(tmp_path: Path) -> None:
    write(tmp_path, "s", user("the zebra"), user("the zebra"))
    assert len(found(tmp_path)) == 2


@pytest.fixture
def behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session of which the index has the first record, while another process holds the index."""
    monkeypatch.setattr(update, "BRIEFLY", 0.05)
    monkeypatch.setattr("reread.index.find.WAIT_SECONDS", 0.05)
    monkeypatch.setattr(update, "LEAST", 0)
    path = write(tmp_path, "s", user("the first zebra", timestamp=ago(3)))
    assert len(found(tmp_path)) == 1
    with path.open("ab") as file:
        more = [user("x"), user("the second zebra", timestamp=ago(2)), user("a third zebra", timestamp=ago(1))]
        file.write(jsonl(*told(*more)[1:]))
    return tmp_path


def test_the_tail_that_the_index_does_not_have_is_searched_and_found_once(behind: Path) -> None:
    with locked_index():
        hits = find("zebra", roots=[behind])
        assert (hits.total, hits.unsearched, hits.note) == (3, 0, "")
        assert sorted(hit.line for hit in hits) == [1, 2, 3]
        assert [hit.line for hit in find("zebra", roots=[behind], order="newest")] == [3, 2, 1]
        assert [hit.line for hit in find("zebra", roots=[behind], order="newest", start=1, limit=1)] == [2]
        assert [hit.line for hit in find("first", roots=[behind])] == [1]
        assert [hit.line for hit in find("(second|third) zebra", roots=[behind], regex=True)] == [3, 2]
    assert sorted(hit.line for hit in find("zebra", roots=[behind])) == [1, 2, 3]


def test_a_torn_tail_is_found_while_the_index_is_behind(behind: Path) -> None:
    path = behind / "projects" / "p" / "s.jsonl"
    with path.open("ab") as file:
        file.write(json.dumps(told(user("y"), user("a torn zebra"))[1]).encode()[:-2])
    with locked_index():
        assert {hit.line for hit in find("zebra", roots=[behind])} >= {1, 2, 3}
