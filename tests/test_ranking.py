"""The order of what a search finds: kind, age and fit; each place once; and what the index does not have yet."""

import json
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from making import answer, jsonl, reply, result, thinking, told, user
from test_index import locked_index

import reread
from reread.index import update
from reread.index.document import SearchDocument
from reread.index.document_reader import FoundDocument
from reread.index.find import find
from reread.index.query import as_words
from reread.index.ranking import Ranker, Ranking

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


def text(session: str, words: str, kind: str = "text", *, days: float = -1, line: int = 1, uuid: str = "") -> Any:
    document, time_ms = SearchDocument(kind, words), int((NOW - timedelta(days=days)).timestamp() * 1000)
    return FoundDocument(f"/projects/p/{session}.jsonl", 100 * line, 9, line, document, time_ms, uuid=uuid)


def ranked(query: str, *texts: FoundDocument, strict: bool = False) -> Ranking:
    leaves = [leaf for word in query.split() for leaf in as_words(word)]
    return Ranker(None, leaves, texts, strict=strict).rank()


def scores(ranking: Ranking) -> list[tuple[str, int, str, float]]:
    """Return session, line, stage and score of each text."""
    found = ((one, one.text) for one in ranking.texts)
    return [(Path(where.path).stem, where.line, one.stage, one.score) for one, where in found if hasattr(where, "path")]


def test_a_session_counts_as_one_long_text_and_by_its_best_text() -> None:
    """BM25: ln(1 + (sessions - having + 0.5) / (having + 0.5)) is the weight of a word, 1.2 its saturation."""
    said = [
        text("both", "alpha beta"),
        text("both", "alpha", line=2),
        text("one", "alpha", "prompt"),
        text("rare", "beta"),
        text("none", "gamma"),
    ]
    alpha = math.log(1 + (4 - 2 + 0.5) / (2 + 0.5))
    both, one = alpha * 2 * 2.2 / (2 + 1.2) + alpha, alpha  # beta weighs the same: two sessions of four have it
    best, prompt, answer = 1.2 * 2 * alpha, 1.6 * alpha, 1.2 * alpha
    half = 0.5  # of the weight of the words is near each other
    ranking = ranked("alpha beta", *said)
    assert (ranking.total, ranking.with_all, ranking.with_some) == (1, 1, 2)
    assert scores(ranking) == [
        ("both", 1, "all", 2.4),
        ("both", 2, "all", 2.4),
        ("one", 1, "any", round(prompt / best + 0.7 * (one / both + half), 4)),
        ("rare", 1, "any", round(answer / best + 0.7 * (one / both + half), 4)),
    ]
    strict = ranked("alpha beta", *said, strict=True)
    assert (strict.total, strict.with_all, strict.with_some) == (1, 1, 0)
    assert [row[:2] for row in scores(strict)] == [("both", 1)]


def test_a_session_with_the_heavier_half_of_the_words_has_most_of_them() -> None:
    said = [text("a", "alpha"), text("b", "alpha"), text("c", "alpha"), text("rare", "beta"), text("x", "gamma")]
    ranking = ranked("alpha beta", *said)
    assert (ranking.total, ranking.with_all, ranking.with_some) == (4, 0, 4), "none has all, so those with one count"
    assert {row[0]: row[2] for row in scores(ranking)} == {"rare": "most", "a": "any", "b": "any", "c": "any"}


def test_kind_and_age_weigh_as_documented() -> None:
    kinds = {"title": 2.0, "prompt": 1.6, "text": 1.2, "thinking": 1.0, "input": 1.0, "result": 0.8, "notice": 0.6}
    found = scores(ranked("alpha", *(text(kind, "alpha", kind) for kind in kinds)))
    assert {row[0]: row[3] for row in found} == {kind: round(1.4 + weight / 2, 4) for kind, weight in kinds.items()}
    ages = {"future": (-9, 1.0), "now": (0, 1.0), "sixty": (60, 0.75), "hundred-twenty": (120, 0.625)}
    found = scores(ranked("alpha", *(text(name, "alpha", days=days) for name, (days, _) in ages.items())))
    assert {row[0]: row[3] for row in found} == pytest.approx(
        {name: 1.4 + left for name, (_, left) in ages.items()}, abs=1e-3
    )


def test_three_texts_of_a_session_come_before_the_next_session_and_the_rest_last() -> None:
    many = [text("many", "alpha beta", line=line, days=line) for line in range(1, 6)]
    found = scores(ranked("alpha beta", *many, text("other", "alpha beta", days=500)))
    assert [row[:2] for row in found] == [("many", 1), ("many", 2), ("many", 3), ("other", 1), ("many", 4), ("many", 5)]


def test_a_text_that_other_sessions_repeat_is_one_with_its_copies() -> None:
    same = [text(name, "alpha", days=1, uuid="u") for name in ("a", "b", "c")]
    others = [text("d", "alpha", days=1, uuid="v"), text("e", "alpha", days=1), text("f", "alpha", days=2, uuid="u")]
    found = [(one.text.path, one.copies) for one in ranked("alpha", *same, *others).texts]  # type: ignore[union-attr]
    assert [(Path(path).stem, copies) for path, copies in found] == [("a", 2), ("d", 0), ("e", 0), ("f", 0)]


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
