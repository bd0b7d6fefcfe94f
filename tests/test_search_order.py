"""Which sessions a search puts first: each rule on small sessions; and the same order wherever one asks."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from click.testing import CliRunner
from making import answer, reply, result, user
from test_search_forgiving import how, keys, root, search, write
from test_server import running

import reread
from reread.addons.mcp import answers
from reread.base.paths import SAMPLES
from reread.cli import reread as main
from reread.errors import Misuse
from reread.index.language import question_words
from reread.server.library import SessionLibrary

__all__ = ("how", "root")
FILLER = [user(f"filler {n}") for n in range(40)]


def test_a_short_prompt_with_most_words_comes_before_a_long_session_with_all(root: Path) -> None:
    scattered = ["lighthouse", "keeper", "salary", "review"]
    texts = (f"{word} among many words of something else " * 3 for word in scattered * 3)
    write(root, "long", *(record for text in texts for record in (reply(text), *FILLER)))
    write(root, "meant", user("the lighthouse keeper salary"))
    for n in range(6):
        write(root, f"other{n}", user(f"something else {n}"))
    assert keys(search(root, "lighthouse keeper salary review")) == ["meant", "long"]


def test_what_is_near_counts_the_more_the_nearer(root: Path, how: str) -> None:
    for name, between in (("far", 11), ("next", 0), ("between", 4)):
        write(root, name, user("the lighthouse"), *FILLER[:between], user("the keeper"), *FILLER[between:])
    assert keys(search(root, "lighthouse keeper")) == ["next", "between", "far"]


def test_a_prompt_comes_before_an_answer_and_that_before_a_result(root: Path, how: str) -> None:
    said: dict[str, Any] = {
        "result": answer(result("t", "the lighthouse keeper")),
        "answer": reply("the lighthouse keeper"),
        "prompt": user("the lighthouse keeper"),
    }
    for name, record in said.items():
        write(root, name, record)
    assert keys(search(root, "lighthouse keeper")) == ["prompt", "answer", "result"]


def test_a_short_text_comes_before_a_long_one(root: Path) -> None:
    write(root, "long", user("the lighthouse keeper " + "and so on " * 60))
    write(root, "short", user("the lighthouse keeper"))
    assert keys(search(root, "lighthouse keeper")) == ["short", "long"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("added paging", "add a paging link"),
        ("backups stopped", "the backup stops"),
        ("rotation of cookies", "rotate the cookie"),
        ("retries of the query", "retry queries"),
        ("wo hatten wir die Rechnungen mit dem Stempel", "Rechnung ohne Stempel"),
    ],
)
def test_other_forms_of_a_word_are_found_and_marked(root: Path, query: str, text: str) -> None:
    write(root, "a", user(text))
    write(root, "b", user("something else"))
    found = search(root, query)
    [hit] = found
    assert (hit.key, hit.stage, len(hit.marks)) == ("a", "all", 2)


@pytest.mark.parametrize(("query", "options"), [("added", {}), ('"added"', {}), ("added link", {"strict": True})])
def test_one_word_a_quote_and_a_strict_search_find_it_as_it_stands(
    root: Path, how: str, query: str, options: dict[str, Any]
) -> None:
    write(root, "add", user("add the link"))
    write(root, "added", user("added the link"))
    assert keys(search(root, query, **options)) == ["added"]


def test_a_word_as_typed_comes_before_its_other_forms(root: Path, how: str) -> None:
    write(root, "forms", user("adding links"))
    write(root, "typed", user("added link"))
    for n in range(4):
        write(root, f"other{n}", user(f"adding {n}"))
    assert keys(search(root, "added link"))[0] == "typed"


@pytest.mark.parametrize(
    ("question", "language", "left"),
    [
        ("which session was it where I fixed the login", "english", "fixed login"),
        ("the one with the red button", "english", "red button"),
        ("Wo hatten wir das mit der Rechnung?", "german", "rechnung"),
        ("où est-ce que nous avons changé la facture", "french", "change facture"),
        ("die war", "english", "die war"),
        ("数据库 -> 连接", "english", ""),
    ],
)
def test_words_of_a_question_are_those_of_its_language(question: str, language: str, left: str) -> None:
    known, function_words = question_words(question)
    assert known == language
    assert not function_words & set(left.split())


def test_words_of_a_question_in_another_language_do_not_count(root: Path, how: str) -> None:
    write(root, "asking", user("wo hatten wir das mit der"))
    write(root, "meant", user("die Rechnung"))
    assert keys(search(root, "Wo hatten wir das mit der Rechnung?"))[0] == "meant"


def test_of_the_words_that_are_near_the_most_common_is_meant(root: Path, how: str) -> None:
    for n in range(12):
        write(root, f"common{n}", user(f"the parallel command {n}"))
    write(root, "rare", user("run com and then paralel"))
    assert search(root, "comand").corrected == {"comand": "command"}, "not taken apart"
    assert search(root, "parralel").corrected == {"parralel": "parallel"}, "far more common, though less near"


def test_a_rare_word_is_searched_as_typed_and_its_common_neighbour_offered(root: Path) -> None:
    for n in range(25):
        write(root, f"common{n}", user(f"the parallel task {n}"))
    write(root, "rare", user("one paralel task"))
    found = search(root, "paralel")
    assert (keys(found), found.corrected) == (["rare"], {})
    assert found.note == "Few texts have “paralel”; many have “parallel”."
    assert search(root, "parallel").note == ""


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("画像を送ると止まる問題", "画像の送信が止まる"),
        ("결제가중복되는문제", "결제 중복 문제"),
        ("首页为什么这么慢", "打开首页很慢"),
    ],
)
def test_a_sentence_without_spaces_is_searched_by_pairs(root: Path, how: str, query: str, text: str) -> None:
    write(root, "meant", user(text))
    write(root, "other", user("何か別のこと, 다른 일, 别的事情"))
    assert keys(search(root, query))[0] == "meant"


@pytest.mark.parametrize("query", ["a", "the", "?!", "\0", "x" * 1900, "的", " ".join(["word"] * 390), "café\0cafe"])
def test_odd_queries_are_answered_or_refused_in_words(root: Path, how: str, query: str) -> None:
    write(root, "a", user("the café has a word"))
    try:
        list(search(root, query))
    except Misuse as error:
        assert "No words" in str(error)


ASKED = [
    "dead letter",
    "where did i fix the flaky test",
    "retires panel stagging",
    "getHours()",
    "added labels to charts",
    "ceil",
    "highlight grammars bundle retries december",
    "jitter OR december",
]


@pytest.mark.parametrize("query", ASKED)
def test_the_order_is_the_same_wherever_one_asks(query: str) -> None:
    library = [(hit.session, hit.line, hit.kind, hit.match) for hit in reread.search(query, root=SAMPLES, limit=30)]
    printed = CliRunner().invoke(main, ["search", "--root", str(SAMPLES), "-n", "30", "--json", "--", query])
    terminal = [
        tuple(hit[name] for name in ("session", "line", "kind", "match")) for hit in json.loads(printed.stdout)["hits"]
    ]
    with running(SessionLibrary([SAMPLES], count=False)) as site:
        found = site.get(f"/api/search?q={quote(query)}&count=30")["sessions"]
    agents = answers.search_answer(query, roots=[SAMPLES], limit=30, max_tokens=20_000)
    told = [
        line.removeprefix("reread://session/") for line in agents.splitlines() if line.startswith("reread://session/")
    ]
    assert terminal == library
    assert [one["id"] for one in found] == list(dict.fromkeys(one[0] for one in library))
    for session in found:
        assert [hit["match"] for hit in session["hits"]] == [one[3] for one in library if one[0] == session["id"]]
    assert [line.split("/")[0].split(" ")[0] for line in told] == [one[0] for one in library]
