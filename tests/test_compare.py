"""Two sessions beside each other: which turns, prompts, answers and calls belong together, and what differs."""

import json
from pathlib import Path
from typing import Any

from asking import ask
from batches import table
from click.testing import CliRunner
from making import Object, answer, jsonl, read, reply, result, told, use, user
from requested import conversation

import reread
from reread.cli import reread as command
from reread.reports import turn_comparison
from reread.reports.turn_comparison import TurnComparison, aligned
from reread.server.library import SessionLibrary
from reread.server.routes import make_app

HOSTILE = "\x1b[2J<script>alert(1)</script>\u202e"


def session(*turns: list[Object]) -> reread.Session:
    return read(*(record for turn in turns for record in turn))


def turn(prompt: str, said: str = "Done.", calls: Any = (), start: int = 0) -> list[Object]:
    """A turn: each call has its name, its input, what it told, and whether that was an error."""
    records = [user(prompt)]
    for number, (name, given, outcome, failed) in enumerate(calls, start):
        call = f"{prompt}-{number}"
        records.append(reply(use(call, name, **given), id=f"{call}-m"))
        records.append(answer(result(call, outcome, is_error=failed)))
    return [*records, reply(said, id=f"{prompt}-{said}")]


def beside(one: reread.Session, other: reread.Session) -> TurnComparison:
    found = reread.diff(one, other).beside
    assert found is not None
    return found


LIST = ("Bash", {"command": "ls"}, "a b", False)
TEST = ("Bash", {"command": "pytest -q"}, "Exit code 1", True)


def test_a_session_beside_its_copy_has_no_difference() -> None:
    turns = turn("one", calls=[LIST, TEST]), turn("two")
    found = beside(session(*turns), session(*turns))
    assert (found.first, found.differences) == ("", 0)
    assert [(one.one, one.other, one.calls, one.items) for one in found.turns] == [(1, 1, 2, []), (2, 2, 0, [])]


CHANGED = (
    ((LIST[0], LIST[1], "a", False), "Bash ls: other result"),
    ((LIST[0], LIST[1], "Exit code 2\nno", True), "Bash ls: done → exit 2"),
    ((LIST[0], {"command": "ls -l"}, "a b", False), "Bash ls: other input"),
    (("Read", {"file_path": "/a"}, "a b", False), "Bash ls: only in the first"),
)


@table(("call", "said"), CHANGED)
def test_the_first_difference_is_said_and_the_rest_stays_beside_each_other(call: Any, said: str) -> None:
    one, other = (session(turn("zero"), turn("one", calls=[LIST, TEST])) for _ in range(2))
    other = session(turn("zero"), turn("one", calls=[call, TEST], start=9))  # with ids of its own
    found = beside(one, other)
    assert found.first == f"turn 2: {said}"
    assert [bool(one.differences) for one in found.turns] == [False, True]
    assert [item.difference for item in found.turns[1].items][-2:] == ["", ""]


def test_a_turn_that_one_side_does_not_have_is_alone() -> None:
    one, other = session(turn("one"), turn("two"), turn("three")), session(turn("one"), turn("three", said="Other."))
    found = beside(one, other)
    assert [(turn.one, turn.other) for turn in found.turns] == [(1, 1), (2, None), (3, 2)]
    assert found.first == "turn 2: the prompt: only in the first"
    assert [item.difference for item in found.turns[2].items] == ["", "other words"]
    texts = found.turns[2].items[1]
    assert texts.one and texts.other and (texts.one.text, texts.other.text) == ("Done.", "Other.")


def test_what_every_run_makes_up_is_no_difference() -> None:
    runs = [
        session(turn("one", calls=[("Agent", {"prompt": "Look"}, f"Seen.\nagentId: {id} (to go on)", False)]))
        for id in ("a1b2c3d4e5f60718", "b9b9c3d4e5f60718")
    ]
    assert beside(*runs).differences == 0


def test_only_requests_may_differ(tmp_path: Path) -> None:
    data = conversation(3).data
    path, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    path.write_bytes(data)
    other.write_bytes(data)
    found = reread.diff(path, other).beside
    assert found and (found.first, found.different_requests) == ("", 0) and found.requests > 0


def test_what_is_too_much_is_counted_and_not_listed(monkeypatch: Any) -> None:
    monkeypatch.setattr(turn_comparison, "MOST_ITEMS", 3)
    one, other = session(turn("a", "1"), turn("b", "1")), session(turn("a", "2"), turn("b", "2"))
    found = beside(one, other)
    assert [(one.differences, len(one.items)) for one in found.turns] == [(1, 2), (1, 1)]


def test_lists_are_aligned_in_order() -> None:
    pairs = list(aligned("abcde", "axcye", lambda i, j: i == 3))
    assert pairs == [(0, 0), (1, None), (None, 1), (2, 2), (3, 3), (4, 4)]
    long = [str(n % 7) for n in range(20_000)], [str(n % 5) for n in range(20_000)]
    assert len(list(aligned(*long, lambda i, j: True))) == 20_000


def test_the_verb_says_where_two_sessions_part_on_a_plain_terminal(tmp_path: Path) -> None:
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path, said in zip(paths, ("Done.", HOSTILE), strict=True):
        path.write_bytes(jsonl(*told(*turn("one"), *turn(HOSTILE, said=said, calls=[TEST]))))
    shown = CliRunner().invoke(command, ["diff", *map(str, paths), "--stat"])
    assert "differs first in turn 2: the answer: other words\n" in shown.output
    assert "1 difference in 1 of 2 turns" in shown.output and "\x1b[2J" not in shown.output
    value = json.loads(CliRunner().invoke(command, ["diff", *map(str, paths), "--json"]).output)
    assert value["beside"]["turns"][1]["items"][-1]["other"]["text"] == HOSTILE.strip()


def test_the_server_answers_with_the_same_comparison(tmp_path: Path) -> None:
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path, calls in zip(paths, ([LIST], [TEST]), strict=True):
        path.write_bytes(jsonl(*told(*turn("one", calls=calls))))
    app = make_app(SessionLibrary(paths=paths, count=False))
    found = ask(app, "/api/sessions/a/compare/b").value
    wanted = reread.diff(*paths).beside
    assert wanted and found["beside"]["first"] == wanted.first == "turn 1: Bash ls: other input"
    assert str(tmp_path) not in json.dumps(found), "where files lie is the server's own"
    assert ask(app, "/api/sessions/a/compare/a").status == 400
    assert ask(app, "/api/sessions/a/compare/c").status == 404


def test_serve_opens_one_session_beside_another(tmp_path: Path, monkeypatch: Any) -> None:
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path in paths:
        path.write_bytes(jsonl(*told(*turn("one"))))
    given: list[Any] = []
    monkeypatch.setattr("reread.server.run.serve", lambda *paths, **options: given.append((paths, options["beside"])))
    words = ["serve", str(paths[0]), "--beside"]
    assert CliRunner().invoke(command, [*words, str(paths[1])]).exit_code == 0
    assert given == [(tuple(paths), True)]
    for wrong in (str(paths[0]), str(tmp_path)):
        assert "--beside needs one session" in str(CliRunner().invoke(command, [*words, wrong]).exception)
