"""The query language: what each query means, and that none fails with anything but a plain message."""

import pytest
from batches import table
from hypothesis import given
from hypothesis import strategies as st

from reread.cli.search import KIND_WORDS as HELP_WORDS
from reread.errors import Misuse
from reread.index.document import SearchDocument
from reread.index.matching import (
    AROUND,
    DocumentFacts,
    Snippet,
    best_span,
    cut,
    is_confirmed,
    matches,
    pattern_of,
    snippet,
)
from reread.index.query import (
    KIND_WORDS,
    And,
    Errors,
    Exact,
    InProject,
    InSession,
    Kinds,
    NamedFilter,
    Node,
    Not,
    Or,
    Period,
    Words,
    parse_query,
)
from reread.index.regex import compile_pattern, required_words
from reread.index.terms import prepare, word_pieces, words


def word(*words: str, **more: bool) -> Words:
    return Words(words, **more)


def inside(text: str) -> Words:
    return Words((text,), prefix=True, suffix=True)


QUERIES: dict[str, Node] = {
    "login": word("login"),
    "login timeout": And((word("login"), word("timeout"))),
    "login AND timeout": And((word("login"), word("timeout"))),
    "login OR timeout": Or((word("login"), word("timeout"))),
    "a b OR c": Or((And((word("a"), word("b"))), word("c"))),
    "a (b OR c)": And((word("a"), Or((word("b"), word("c"))))),
    "(a OR b) -c": And((Or((word("a"), word("b"))), Not(word("c")))),
    "NOT a": Not(word("a")),
    '"connection  refused"': Exact("connection refused"),
    '"unclosed phrase': Exact("unclosed phrase"),
    "handl*": word("handl", prefix=True),
    "*handler": word("handler", suffix=True),
    "parse_config": word("parse", "config"),
    "src/app.py": word("src", "app", "py"),
    "--force": word("force"),
    "render(item)": word("render", "item"),
    "(render(item))": word("render", "item"),
    "std::vector": word("std", "vector"),
    "https://example.com": word("https", "example", "com"),
    "数据库": word("数", "据", "库"),
    "tool:bash": NamedFilter("tool", ("bash",)),
    "tool:Bash,Read": Or((NamedFilter("tool", ("bash",)), NamedFilter("tool", ("read",)))),
    'file:"src/my app.py"': NamedFilter("path", ("src", "my", "app", "py")),
    "model:opus": NamedFilter("model", ("opus",)),
    "in:thinking,prompts": Kinds(frozenset({"thinking", "prompt"})),
    "project:shop": InProject(("shop",)),
    "tool: bash": And((word("tool"), word("bash"))),
    "": And(()),
    "()": And(()),
    ") a": word("a"),
    "((a": word("a"),
    "OR": And(()),
    "a OR": word("a"),
    "-": And(()),
    "!!!": And(()),
}


@table("text", QUERIES)
def test_a_query_means(text: str) -> None:
    assert parse_query(text) == QUERIES[text]


@pytest.mark.parametrize(
    "text", ["in:nowhere", "is:odd", "before:whenever", "since:13-13", "tool:!!", "(" * 60, "x" * 3000]
)
def test_a_query_with_an_impossible_value_is_refused_in_words(text: str) -> None:
    with pytest.raises(Misuse):
        parse_query(text)


@given(st.text(alphabet='ab:"()-* ORANDNOTtool:is數\\/.\n', max_size=60))
def test_any_query_has_a_meaning_or_a_plain_message(text: str) -> None:
    try:
        node = parse_query(text)
    except Misuse:
        return
    matches(node, SearchDocument("text", "a b"), DocumentFacts())


FOUND: dict[str, list[str]] = {
    "parse_config": ["parse", "parse_config", "PARSE_CONFIG", '"parse_config"', "config", "pars*", "*onfig"],
    "getUserName()": ["getusername", "getUserName", "user", "name", "getuser*"],
    "HTTPServer": ["http", "server", "httpserver"],
    "src/app/main.py:12": ["app", "main.py", "app/main.py", "src/app/main.py", "src/app/main.py:12"],
    "--dry-run": ["--dry-run", "dry", "dry-run"],
    "commit 3ef2229f5444e913 done": ["3ef2229", "3ef2229f5444e913", "3ef*"],
    "查询数据库连接 failed": ["数据库", "数据", "failed", "查询", "连接"],
    "错误在parse_config函数": ["parse_config", "函数", "错误"],
    "naïve café": ["café", "naïve"],
    "cafe\u0301": ["café"],
}
NOT_FOUND = {
    "parse_config": ["par", "arse", '"config parse"'],
    "superuser": ["user"],
    "数据库": ["库数"],
}


@table(("text", "query"), [(text, query) for text, queries in FOUND.items() for query in queries])
def test_a_text_is_found_by(text: str, query: str) -> None:
    assert matches(parse_query(query), SearchDocument("text", text), DocumentFacts())


@pytest.mark.parametrize(("text", "query"), [(text, query) for text, queries in NOT_FOUND.items() for query in queries])
def test_a_text_is_not_found_by(text: str, query: str) -> None:
    assert not matches(parse_query(query), SearchDocument("text", text), DocumentFacts())


FACTS = DocumentFacts(1000, "claude-opus-5", "fix/retry-loop", "/w/one", "/h/ABCD-1.jsonl")
RESULT = SearchDocument("result", "alpha beta", tool="mcp__git__log", files=("/w/one/src/app.py", "b"), error=True)


@table(
    ("node", "found"),
    [
        (Kinds(frozenset({"result", "text"})), True),
        (Kinds(frozenset({"text"})), False),
        (Errors(), True),
        (NamedFilter("tool", ("git", "log")), True),
        (NamedFilter("tool", ("log", "git")), False),
        (NamedFilter("tool", ("mcp", "log")), False),
        (NamedFilter("path", ("app", "py")), True),
        (NamedFilter("path", ("b",)), True),
        (NamedFilter("path", ("app", "py", "b")), False),
        (NamedFilter("model", ("opus",)), True),
        (NamedFilter("model", ("sonnet",)), False),
        (NamedFilter("branch", ("retry", "loop")), True),
        (Period(), True),
        (Period(since=1000), True),
        (Period(since=1001), False),
        (Period(until=1001), True),
        (Period(until=1000), False),
        (Period(since=1000, until=1000), False),
        (InProject(("/w",)), True),
        (InProject(("/v", "/w/one")), True),
        (InProject(("/w/on",)), False),
        (InSession("abcd"), True),
        (InSession("bcd"), False),
        (And(()), True),
        (Or(()), False),
        (And((word("alpha"), Errors())), True),
        (And((word("gamma"), Errors())), False),
        (Or((word("gamma"), word("beta"))), True),
        (Not(word("gamma")), True),
        (Not(Errors()), False),
    ],
)
def test_a_filter_lets_a_text_pass(node: Node, found: bool) -> None:
    assert matches(node, RESULT, FACTS) is found


@pytest.mark.parametrize(
    ("node", "found"),
    [
        (Errors(), True),
        (Not(Errors()), True),
        (And((word("alpha"), Errors())), True),
        (And((word("gamma"), Errors())), False),
        (Or((word("gamma"), Not(word("alpha")))), False),
        (Not(And((word("alpha"), Errors()))), True),
        (Not(word("alpha")), False),
    ],
)
def test_of_what_the_index_has_found_only_the_words_are_confirmed(node: Node, found: bool) -> None:
    assert is_confirmed(node, SearchDocument("text", "alpha")) is found


def test_what_is_shown_around_a_match_ends_between_words() -> None:
    assert cut("abc def ghi", 4, 7) == Snippet("abc ", "def", " ghi")
    text = "word " * 200
    found = cut(text, 500, 504)
    assert (found.before, found.match, found.after) == (" " + "word " * 15, "word", " word" * 15 + " ")
    assert found.text in text and len(found.before) <= AROUND >= len(found.after)
    run = "x" * 1000
    assert [len(part) for part in (cut(run, 500, 510).before, cut(run, 500, 510).after)] == [AROUND, AROUND]
    assert len(cut(run, 500, 510, 700).after) == 190 + AROUND // 4, "up to the last word that was looked for"
    assert cut(text, 0, 4).before == "" and cut(text, 995, 999).after == " "


def test_words_are_letters_and_digits() -> None:
    assert words("Foo_bar-9 数据x") == ["foo", "bar", "9", "数", "据", "x"]
    assert prepare("数据x").split() == ["数", "据", "x"]


@given(st.text(alphabet="aB9_ .é", max_size=40))
def test_pieces_are_parts_of_the_text(text: str) -> None:
    assert all(piece in text for piece in word_pieces(text))


def test_pieces_of_a_long_run_take_linear_time() -> None:
    assert word_pieces("aB" * 1_000_000) == set()


def test_the_snippet_is_where_most_words_are() -> None:
    text = "alpha " + "x " * 300 + "beta alpha gamma" + " y" * 300
    found = snippet(text, [word("alpha"), word("beta")])
    assert (found.match, found.after[:6]) == ("beta", " alpha")
    assert snippet("getUserName", [word("user")]).match == "User"
    assert snippet("nothing here", [word("user")]).match == ""


def test_a_pattern_ends_at_words() -> None:
    assert best_span("scatter cat", [pattern_of(word("cat"))]) == (8, 11, 11)


PATTERNS: dict[str, Node] = {
    r"\w+Handler\(": word("handler", suffix=True),
    r"def \w+_test": And((word("def", suffix=True), word("test", prefix=True))),
    r"error: (foo|bar)": And(
        (word("error", suffix=True), Or((word("foo", prefix=True, suffix=True), word("bar", prefix=True, suffix=True))))
    ),
    r"(?:abc)?": And(()),
    r"(abc)+": inside("abc"),
    r"ab": And(()),
    r".*": And(()),
    r"foo|.": And(()),
}


@table("pattern", PATTERNS)
def test_a_pattern_requires(pattern: str) -> None:
    compile_pattern(pattern)
    assert required_words(pattern) == PATTERNS[pattern]


@pytest.mark.parametrize("pattern", ["(", "[a", "", "*", "(?P<x"])
def test_a_broken_pattern_is_refused_in_words(pattern: str) -> None:
    with pytest.raises(Misuse):
        compile_pattern(pattern)


def test_an_unknown_kind_is_answered_with_the_words_of_the_help() -> None:
    with pytest.raises(Misuse, match=f"Unknown kind 'thinkings'; use {', '.join(HELP_WORDS)}."):
        parse_query("in:thinkings word")
    assert HELP_WORDS == KIND_WORDS
    for word in KIND_WORDS:
        parse_query(f"in:{word} word")
