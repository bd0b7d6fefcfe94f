"""Search that forgives: half-remembered words, typos and beginnings; and exact characters when they are asked for."""

import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from batches import table
from hypothesis import given
from hypothesis import strategies as st
from making import answer, jsonl, reply, result, told, use, user

import reread
from reread.disk.file_set import find_files
from reread.index import answer as index_answer
from reread.index import update
from reread.index.find import NOTES, find
from reread.index.hits import Hit
from reread.index.matching import pattern_of, snippet
from reread.index.query import Words
from reread.index.spelling import is_spelled_like, one_off
from reread.index.store import open_update
from reread.render.search_results import result_count
from reread.value_types import Hits


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture(params=["indexed", "scanned"])
def how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Everything is in the index, or nothing is and the files are read."""
    monkeypatch.setattr(update, "LEAST", 0)
    if request.param == "scanned":
        monkeypatch.setattr(update, "refresh", lambda files, **_: update.RefreshResult(None, update.UNWRITABLE))
    return request.param


NOTED = {"indexed": "", "scanned": f" {NOTES[update.UNWRITABLE]}"}


def write(root: Path, name: str, *records: Any, project: str = "p") -> Path:
    path = root / f"projects/{project}/{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(jsonl(*told(*records)))
    return path


def search(root: Path, query: str, **options: Any) -> Hits:
    return reread.search(query, root=root, **options)


def keys(found: Hits | list[Hit]) -> list[str]:
    """The sessions in order, each once."""
    return list(dict.fromkeys(hit.key for hit in found))


def test_what_has_all_words_comes_before_what_has_some(root: Path, how: str) -> None:
    write(root, "half", user("alpha alpha alpha"), user("alpha"))
    write(root, "whole", user("alpha in one prompt with beta"))
    write(root, "other", user("gamma"))
    found = search(root, "alpha beta")
    hits = list(found)
    assert keys(hits) == ["whole", "half"]
    assert {hit.key: hit.stage for hit in hits} == {"whole": "all", "half": "any"}
    assert (found.total, found.with_all, found.with_some) == (1, 1, 1)


def test_words_near_each_other_count_as_found_together(root: Path, how: str) -> None:
    filler = [user(f"filler {n}") for n in range(40)]
    write(root, "near", user("the telescope"), reply("a mirror"), *filler)
    write(root, "far", user("a telescope"), *filler, user("the mirror"))
    write(root, "edge", user("a telescope"), *filler[:11], user("the mirror"))  # twelve lines below
    write(root, "beyond", user("a telescope"), *filler[:12], user("the mirror"))
    write(root, "one", user("telescope telescope telescope"))
    found = search(root, "telescope mirror")
    stages = {hit.key: hit.stage for hit in found}
    assert stages == {"near": "all", "edge": "all", "far": "most", "beyond": "most", "one": "any"}
    assert (found.with_all, found.with_some) == (2, 3)


def test_rare_words_weigh_more_than_common_ones(root: Path, how: str) -> None:
    for n in range(8):
        write(root, f"common{n}", user("build build build failed"))
    write(root, "rare", user("the zeppelin"))
    assert keys(search(root, "build zeppelin missingword"))[0] == "rare"


def test_words_of_a_question_do_not_count(root: Path, how: str) -> None:
    write(root, "asking", user("where did I put the thing that was in there"))
    write(root, "meant", user("fix the retry"))
    found = search(root, "where did I fix the retry")
    assert (keys(found), found.with_all, found.with_some) == (["meant"], 1, 0)


def test_a_question_of_such_words_alone_finds_them(root: Path, how: str) -> None:
    write(root, "a", user("where was that"))
    write(root, "b", user("nothing of the kind"))
    assert keys(search(root, "where was that"))[0] == "a"


@pytest.mark.parametrize(
    "query, used",
    [
        ("telemtry", "telemetry"),
        ("telemetyr", "telemetry"),
        ("teelemtry", "telemetry"),
        ("telem", "telem"),
        ("bakcoff", "backoff"),
        ("pairng", "pairing"),
        ("jiter", "jitter"),  # not "iter", which is more common: the first letter is rarely wrong
        ("rbackoff", "backoff"),
    ],
)
def test_a_word_that_no_text_has_is_taken_for_the_nearest(root: Path, query: str, used: str, how: str) -> None:
    write(root, "a", user("the telemetry of pairingBackoff, with jitter"))
    write(root, "b", user("iter"), user("iter again"))
    found = search(root, f"the {query}")
    assert keys(found) == ["a"]
    assert found.corrected == {query: used}
    assert f"No “{query}”; showing “{used}" in found.note


def test_a_typo_is_taken_for_the_word_that_stands_with_the_others(root: Path, how: str) -> None:
    for n in range(5):
        write(root, f"cable{n}", user("the cable is long"))
    write(root, "table", user("a table in postgres"))
    assert search(root, "fable").corrected == {"fable": "cable"}
    found = search(root, "fable postgres")
    assert (found.corrected, keys(found)[0]) == ({"fable": "table"}, "table")


@pytest.mark.parametrize(
    "common, slip, query", [("cart", "coat", "caot"), ("beer", "been", "beem"), ("sped", "spell", "spel")]
)
def test_what_fingers_do_is_likelier_than_another_word(
    root: Path, how: str, common: str, slip: str, query: str
) -> None:
    write(root, "common", user(f"a {common}"), user(f"{common} again"))
    write(root, "slip", user(f"one {slip}"))
    assert search(root, query).corrected == {query: slip}


@pytest.mark.parametrize(
    "query, text",
    [
        ("upload photo", "a picture to upload"),
        ("deploying the gateway", "the gateway is released"),
        ("Kennwort vom Router, wo war das", "das Passwort für den Router"),
        ("画像を送ると止まる問題はどこで直した", "大きな画像 が 送 れない"),
        ("上次怎么解决报表超时的问题的", "报表导出超时"),
    ],
)
def test_a_sentence_finds_other_words_for_the_same_thing(root: Path, how: str, query: str, text: str) -> None:
    write(root, "meant", user(text))
    write(root, "other", user("その問題はどこで 怎么解决的 nothing of that kind"))
    found = search(root, query)
    assert keys(found)[0] == "meant"
    assert keys(search(root, query, strict=True)) == []


def test_the_word_itself_comes_before_another_for_the_same_thing(root: Path, how: str) -> None:
    write(root, "picture", user("upload of a picture"))
    write(root, "photo", user("upload of a photo"))
    write(root, "more", user("a photo and more"))  # so that the other word is the rarer one
    for n in range(9):
        write(root, f"other{n}", user("nothing of that kind"))
    assert keys(search(root, "upload photo"))[0] == "photo"
    assert "picture" not in keys(search(root, "photo"))


def test_a_short_session_comes_before_a_long_one_that_has_the_words_somewhere(root: Path) -> None:
    write(root, "short", user("the boiler in the cellar does not start on cold mornings"), reply("The fuse was loose."))
    long = [user(("boiler", "cellar", "cold", "mornings")[n % 4] + f" and item {n} of the list") for n in range(200)]
    write(root, "long", *long)
    assert keys(search(root, "cold mornings boiler cellar")) == ["short", "long"]


def test_a_word_that_nothing_resembles_is_left_out_and_named(root: Path, how: str) -> None:
    write(root, "a", user("the telemetry"))
    found = search(root, "telemetry xylophone")
    assert (keys(found), found.corrected, found.note) == (["a"], {"xylophone": ""}, f"No “xylophone”.{NOTED[how]}")
    nothing = search(root, "xylophone")
    assert (list(nothing), nothing.total) == ([], 0)


@pytest.mark.parametrize(
    "query, corrected",
    [
        ("parseConfig", {"parseConfig": "parse config"}),
        ("app.ParseConfig()", {"ParseConfig": "parse config"}),
        ("parseconfig", {"parseconfig": "parse config"}),
        ("HTTPRetryLimit", {"HTTPRetryLimit": "http retry limit"}),
        ("retryConfigZebra", {"retryConfigZebra": "retry config"}),  # not next to each other, and one is missing
        ("configretry", {"configretry": ""}),
        ("parse_config", {}),
        ("load_file", {}),
        ("load file", {}),
        ("LoadFile", {}),
    ],
)
def test_an_identifier_may_be_remembered_in_another_style(
    root: Path, how: str, query: str, corrected: dict[str, str]
) -> None:
    write(root, "a", user("def parse_config(app): loadFile(); http-retry limit"))
    write(root, "b", user("something else"))
    found = search(root, query)
    assert (keys(found), found.corrected) == (["a"] * any([*corrected.values(), not corrected]), corrected)
    assert all(f"No “{word}”; showing “{used}”." in found.note for word, used in corrected.items() if used)


def test_a_word_that_was_just_written_is_no_typo(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(root, "a", user("telemetry"), *(user(f"filler {n} " + "x " * 400) for n in range(200)))
    monkeypatch.setattr(update, "LEAST", 0)
    assert keys(search(root, "telemetry")) == ["a"]
    monkeypatch.setattr(update, "LEAST", 1 << 20)
    path.write_bytes(path.read_bytes() + jsonl(*told(user("telemetri"))))
    found = search(root, "telemetri")
    assert (found.corrected, next(found).match) == ({}, "telemetri")


@pytest.mark.parametrize(
    "query, corrected",
    [
        ("telemtry", {"telemtry": "telemetry"}),  # a typo
        ("telem", {"telem": "telem"}),  # a beginning
        ("known telemetry", {}),  # words that are only near each other
        ("telemetry of xylophone", {"xylophone": ""}),
    ],
)
@pytest.mark.parametrize("is_locked", [False, True], ids=["free", "locked"])
def test_lines_that_the_index_lacks_are_found_by_typos_beginnings_and_nearness(
    root: Path, monkeypatch: pytest.MonkeyPatch, query: str, corrected: dict[str, str], is_locked: bool
) -> None:
    path = write(root, "a", *(user(f"filler {n}") for n in range(20)), user("the known"))
    write(root, "b", user("known"), *(user(f"filler {n}") for n in range(20)))
    monkeypatch.setattr(update, "LEAST", 0)
    assert keys(search(root, "known"))
    monkeypatch.setattr(update, "LEAST", 1 << 20)
    path.write_bytes(path.read_bytes() + jsonl(*told(user("the telemetry"))))
    monkeypatch.setattr(update, "BRIEFLY", 0.01)
    files = find_files([root], prompts=True)
    with open_update(files.name) if is_locked else nullcontext():
        found = search(root, query)
    assert (found.corrected, next(found).key) == (corrected, "a")
    assert found.with_all == 1


def test_a_question_that_the_index_answers_costs_no_commit(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(root, "a", user("telemetry and jitter"))
    monkeypatch.setattr(update, "LEAST", 0)
    assert keys(search(root, "telemetry")) == ["a"]
    monkeypatch.setattr(update, "LEAST", 1 << 20)
    path.write_bytes(path.read_bytes() + jsonl(*told(user("more"))))
    monkeypatch.setattr("reread.index.index_files.index_changes", lambda *_: pytest.fail("committed"))
    assert keys(search(root, "telemetry jitter")) == keys(search(root, "more")) == ["a"]


@pytest.mark.parametrize(
    "query, text, other",
    [
        ("foo->bar()", "it calls foo->bar() there", "foo bar, foo bar and foo bar"),
        ("C++", "in C++ and C", "c, c, c, C and c"),
        ("--no-verify", "commit --no-verify", "no verify no verify"),
        ("src/app.py", "it is in src/app.py.", "src app py"),
        ("fix $this->name?", "did not fix $this->name", "fix this name, fix this name"),
    ],
)
def test_texts_with_the_very_signs_come_first(root: Path, how: str, query: str, text: str, other: str) -> None:
    filler = "and so on and so forth " * 20
    write(root, "a", user(f"{filler} {other}"), user(f"{filler} {text} {filler}"), user(other))
    write(root, "b", user(other), user(f"{other}!"))
    write(root, "c", user(text))
    hits = list(search(root, query))
    assert sorted(keys(hits)[:2]) == ["a", "c"] and keys(hits)[2] == "b"
    assert text in next(hit.before + hit.match + hit.after for hit in hits if hit.key == "a")


def test_a_stage_says_how_many_of_the_words_a_session_has_near_each_other(root: Path, how: str) -> None:
    filler = [user(f"filler {n}") for n in range(40)]
    write(root, "all", user("zeppelin mooring retry"), *(user(f"zeppelin {n}") for n in range(9)))
    write(root, "most", user("zeppelin"), *filler, user("mooring"))
    for n in range(4):
        write(root, f"any{n}", user(f"retry retry retry {n}"), user("retry"))
    found = search(root, "zeppelin mooring retry", limit=20)
    hits = list(found)
    assert {hit.key.rstrip("0123"): hit.stage for hit in hits} == {"all": "all", "most": "most", "any": "any"}
    assert keys(hits)[0] == "all"
    assert (found.with_all, found.with_some) == (1, 5)
    assert result_count(found, 20) == "1 session with all words, 5 with some; 20 matches shown"


@pytest.mark.parametrize(
    "query",
    [
        "what's the retry limit",
        "where's the retry we didn’t limit?",
        "I'm on a retry limit",
        "wheres the retry we havent limit",
    ],
)
def test_shortened_words_of_a_question_count_little(root: Path, how: str, query: str) -> None:
    write(root, "asking", user("what's that, where's it, I'm sure we didn't"))
    write(root, "meant", user("the retry limit"))
    found = search(root, query)
    assert (keys(found)[0], found.with_all, found.corrected) == ("meant", 1, {})


def test_a_phrase_that_no_text_has_becomes_its_words(root: Path, how: str) -> None:
    write(root, "a", user("the parser of the config"))
    assert keys(search(root, "parser_config parser->config()")) == ["a"]


@pytest.mark.parametrize(
    "exact, text, other",
    [
        ("foo->bar()", "call $foo->bar() now", "call foo bar now"),
        ("C++", "in C++ and C", "in C only, c, c#"),
        ("--no-verify", "git commit --no-verify", "no verify, no-verify"),
        ("$this->", "use $this-> here", "use this here"),
        ("connection refused", "error: Connection\n  refused", "connection_refused"),
        ("naïve", "a naïve one", "a naive one"),
        ("->", "a -> b", "a - > b"),
        ("日本", "東京は日本の首都", "日の本"),
    ],
)
def test_quotes_find_characters_as_they_stand(root: Path, how: str, exact: str, text: str, other: str) -> None:
    write(root, "a", user(text))
    write(root, "b", user(other))
    found = search(root, f'"{exact}"')
    assert [(hit.key, hit.stage) for hit in found] == [("a", "all")]
    assert found.total == 1
    assert keys(search(root, f'"{exact}"', order="newest")) == ["a"]
    assert keys(search(root, f'-"{exact}"')) == ["b"]


def test_fixed_finds_parts_of_words_and_heeds_capitals(root: Path, how: str) -> None:
    write(root, "a", user("mask = os.umask(0o077)"))
    write(root, "b", user("MASK( os"))
    assert keys(search(root, "mask(", fixed=True)) == ["a"]
    assert keys(search(root, "MASK(", fixed=True)) == ["b"]


LONG = "xy" * 900


@pytest.mark.parametrize(
    "query, options, found",
    [
        (LONG, {"fixed": True}, ["a"]),
        (f"{LONG} end", {"regex": True}, ["a"]),
        (f"{LONG[:-1]}*", {}, []),
        (f"*{LONG[1:]}", {}, []),
        (f"{LONG} needle", {}, ["a", "b"]),
        (f'"{LONG}"', {}, ["a"]),
    ],
)
def test_words_that_are_too_long_for_the_index_are_no_error(
    root: Path, how: str, query: str, options: dict[str, Any], found: list[str]
) -> None:
    write(root, "a", user(f"{LONG} end needle"))
    write(root, "b", user("needle"))
    assert set(found) <= set(keys(search(root, query, **options)))


def test_words_beside_quotes_may_be_missing(root: Path, how: str) -> None:
    write(root, "a", user("run a->b twice"))
    write(root, "b", user("run a-b twice"))
    write(root, "c", user("a->b"))
    assert keys(search(root, '"a->b" run')) == ["a", "c"]


@pytest.mark.parametrize("query, strict", [("alpha AND beta", False), ("(alpha beta)", False), ("alpha beta", True)])
def test_whoever_writes_an_operator_gets_exactly_that(root: Path, how: str, query: str, strict: bool) -> None:
    write(root, "half", user("alpha"))
    write(root, "whole", user("alpha beta"))
    found = search(root, query, strict=strict)
    assert (keys(found), found.total) == (["whole"], 1)


def test_every_word_is_marked_and_the_text_begins_and_ends_at_words(root: Path, how: str) -> None:
    words = "unrelated words before the place " * 5
    write(root, "a", user(f"{words}alpha and then some other things until beta comes{words}"))
    [hit] = search(root, "alpha beta")
    text = hit.before + hit.match + hit.after
    assert [text[start:end] for start, end in hit.marks] == ["alpha", "beta"]
    shown = text.split()
    assert shown[0] in words.split() and shown[-1] in {*words.split(), "comesunrelated"}


def test_copies_in_forks_are_one_hit(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update, "LEAST", 0)
    first = write(root, "first", user("the needle"), reply("an answer"))
    (root / "projects/p/fork.jsonl").write_bytes(first.read_bytes() + jsonl(*told(user("more"))[:1]))
    write(root, "other", user("the needle here"))
    found = list(search(root, "needle"))
    assert sorted((hit.key, hit.copies) for hit in found if hit.key != "other") in ([("first", 1)], [("fork", 1)])
    assert [hit.copies for hit in found if hit.key == "other"] == [0]
    counted = search(root, "needle")
    assert result_count(counted, len(found)) == "2 matches in 2 sessions", "what a fork repeats counts once"


def test_filters_alone_list_sessions_the_newest_first(root: Path, how: str) -> None:
    for name, day in (("old", "01"), ("new", "03"), ("mid", "02")):
        stamp = f"2026-11-{day}T10:00:00.000Z"
        write(
            root,
            name,
            user(f"first of {name}", cwd="/home/me/shop", timestamp=stamp),
            reply("done", use("t1", "Bash", command="ls"), timestamp=stamp),
            answer(result("t1", "no such file", is_error=True), timestamp=stamp),
        )
    found = search(root, "project:/home/me/shop")
    hits = list(found)
    assert [hit.key for hit in hits] == ["new", "mid", "old"] and found.total == 3
    if how == "indexed":
        assert [hit.before + hit.match + hit.after for hit in hits] == ["first of new", "first of mid", "first of old"]
    failed = list(search(root, "tool:bash is:error"))
    assert [(hit.key, hit.kind) for hit in failed] == [("new", "result"), ("mid", "result"), ("old", "result")]


@pytest.mark.parametrize("order", ["relevance", "newest"])
def test_everything_that_a_filter_selects_is_listed_a_few_texts_of_each_session_first(
    root: Path, how: str, order: str
) -> None:
    for name in ("a", "b"):
        calls = [use(f"{name}{n}", "Bash", command=f"{name} {n}") for n in range(5)]
        write(root, name, user("go"), reply(*calls), *(reply(use(f"{name}r{n}", "Read")) for n in range(2)))
    found = search(root, "tool:bash", order=order, limit=None)
    hits = list(found)
    assert (found.total, len({hit.link for hit in hits}), len(hits)) == (10, 10, 10)
    assert [len({hit.key for hit in part}) for part in (hits[:3], hits[3:6], hits[6:])] == [1, 1, 2]
    pages = [hit for start in range(0, 10, 4) for hit in find("tool:bash", roots=[root], start=start, limit=4)]
    assert [hit.link for hit in pages] == [hit.link for hit in hits]


def test_months_are_counted_from_the_first_to_the_last_year() -> None:
    assert [index_answer._year(time_ms) for time_ms in (-5, 1 << 60)] == [
        index_answer.FIRST_YEAR,
        index_answer.LAST_YEAR,
    ]


@table(
    ("word", "text", "inside", "is_found"),
    [
        ("日 abc", "日abc", False, True),
        ("abc 日", "abc日", False, True),
        ("abc de", "abcde", False, False),
        ("日", "日abc", False, True),
        ("日", "abc日abc", False, True),
        ("abc", "abcd", False, False),
        ("abc", "abcd", True, True),
        ("abc1234", "abc1234def", False, True),
    ],
)
def test_a_word_ends_where_another_begins_unless_it_is_a_character_or_a_hash(
    word: str, text: str, inside: bool, is_found: bool
) -> None:
    assert (pattern_of(Words(tuple(word.split())), inside).search(text) is not None) == is_found


def test_facets_count_what_matches(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update, "LEAST", 0)
    write(
        root,
        "a",
        user("needle", cwd="/a", timestamp="2026-10-05T10:00:00.000Z"),
        reply(use("t", "Bash", command="needle")),
    )
    write(root, "b", user("needle", cwd="/b", timestamp="2026-11-05T10:00:00.000Z"), project="q")
    counts = search(root, "needle").facets
    assert counts["project"] == {"/a": 2, "/b": 1}
    assert counts["kind"] == {"prompt": 2, "input": 1}
    assert counts["tool"] == {"bash": 1}
    assert counts["month"]["2026-11"] == 1 and counts["month"]["2026-10"] >= 1


def test_months_are_those_of_the_local_clock_whatever_time_a_text_claims(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update, "LEAST", 0)
    monkeypatch.setenv("TZ", "UTC+7")  # west of UTC
    time.tzset()
    claimed = [f"{year:04}-07-0{day}T10:00:00.000Z" for year in range(1, 10_000, 111) for day in (1, 2)]
    late = ["2026-11-01T06:30:00.000Z", "2026-11-01T07:00:00.000Z", "1970-01-01T00:00:00.001Z"]
    write(root, "a", *(user(f"needle {n}", timestamp=stamp) for n, stamp in enumerate([*claimed, *late])))
    try:
        found = search(root, "needle")
        months = {"2887-07": 2, "2776-07": 2, "2026-11": 1, "2026-10": 1, "1999-07": 2, "1970-01": 1}
        assert {month: count for month, count in found.facets["month"].items() if month in months} == months
        assert not found.note and list(found.facets["month"]) == sorted(found.facets["month"], reverse=True)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_nothing_that_has_a_word_is_left_out(root: Path, how: str) -> None:
    for n in range(5):
        write(root, f"s{n}", *(user(f"alpha {n} {k}") for k in range(60)))
    hits = list(search(root, "alpha beta", limit=None))
    assert len({hit.link for hit in hits}) == 300
    assert len({hit.key for hit in hits[:15]}) == 5, "a few texts of each session come first"


@given(st.text("abc", max_size=6), st.text("abc", max_size=6), st.integers(1, 2))
def test_the_distance_of_words_is_the_same_both_ways(left: str, right: str, distance: int) -> None:
    assert is_spelled_like(left, right, distance) == is_spelled_like(right, left, distance)
    assert is_spelled_like(left, left, distance)
    assert not (is_spelled_like(left, right, 1) and not is_spelled_like(left, right, 2))
    assert (right in one_off(left)) == (left != right and is_spelled_like(left, right, 1))


@given(st.text(max_size=300), st.lists(st.text("aé日 ß", min_size=1, max_size=3), min_size=1, max_size=3))
def test_marks_are_in_order_and_in_the_text(text: str, asked: list[str]) -> None:
    leaves = [Words((word.strip(),)) for word in asked if word.strip() and " " not in word.strip()]
    if not leaves:
        return
    found = snippet(text, leaves)
    last = 0
    for start, end in found.marks:
        assert last <= start < end <= len(found.text)
        last = end


def test_only_words_that_count_are_marked(root: Path, how: str) -> None:
    write(root, "a", user("I applied it in the office: the retry is in there"))
    [hit] = search(root, "where is the retry")
    text = hit.before + hit.match + hit.after
    assert [text[start:end] for start, end in hit.marks] == ["retry"]
