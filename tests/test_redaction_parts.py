"""The parts of redaction, each by itself: masks, places, decisions, reviews and pictures."""

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from batches import table

from reread.errors import Misuse, Unreadable
from reread.redaction import findings as findings_module
from reread.redaction.decisions import DecisionStore, PrivateMap, read_review, write_review
from reread.redaction.encodings import decode_text, encoded_runs
from reread.redaction.findings import Findings, Occurrence, SensitiveText, alike, mask, masked_context
from reread.redaction.literals import Literals, forms_of
from reread.redaction.personal import HOST, PHONE, USER, Personal, home_users, is_host, is_name
from reread.redaction.pictures import without_metadata
from reread.redaction.removal_manifest import clean_document
from reread.redaction.scan import BINARY, SecretScanner, text_cleaner
from reread.redaction.secret_values import is_word_secret
from reread.redaction.spans import CERTAIN, LIKELY, PERSONAL, Span, SpanSet

HERE, THERE = Occurrence("a", 1), Occurrence("b", 2)


@pytest.mark.parametrize(
    ("value", "shown"),
    [("", ""), ("seven77", "s"), ("eight888", "ei"), ("x" * 15, "xx"), ("x" * 16, "xxxx"), (" a \n b ", "a")],
)
def test_of_a_value_at_most_four_characters_are_shown(value: str, shown: str) -> None:
    assert mask(value) == f"{shown}… ({len(value)} characters)"


def span(start: int, end: int, level: str = CERTAIN, value: str = "", kind: str = "k", **more: Any) -> Span:
    return Span(start, end, value or "x" * (end - start), kind, level, **more)


@pytest.mark.parametrize(
    ("before", "after", "context"),
    [
        ("a" * 60, "b" * 60, "{}".join(("a" * 48, "b" * 48))),
        ("a", "b", "a{}b"),
        ("other\x1fname\x1ea ", " b\x1frest", "name: a {} b"),
        ("\x1f", "\x1f", "{}"),
    ],
)
def test_the_text_around_a_finding_ends_at_its_field(before: str, after: str, context: str) -> None:
    found = span(len(before), len(before) + 6, value="SECRET")
    assert masked_context(f"{before}SECRET{after}", found, [found]) == context.format("⟦S… (6 characters)⟧")


def test_other_findings_around_one_are_masked() -> None:
    text = "first SECRET-last " + "c" * 60
    first, found, last, far = span(0, 5), span(6, 12, value="SECRET"), span(11, 17), span(70, 75)
    assert masked_context(text, found, [first, found, last, far]) == "••• ⟦S… (6 characters)⟧••• " + "c" * 42
    found = span(100, 104)
    context = masked_context("ab" * 60, found, [span(0, 52), found])
    assert context == "ab" * 24 + "⟦x… (4 characters)⟧" + "ab" * 8


def test_a_value_is_one_finding_of_the_most_certain_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings_module, "MAX_PLACES", 2)
    found = Findings()
    added = [
        found.add(span(0, 1, LIKELY, "v", "password"), HERE),
        found.add(span(0, 1, CERTAIN, "v", "token"), THERE),
        found.add(span(0, 1, LIKELY, "v", "password"), HERE),
        found.add(span(0, 1, PERSONAL, "v", USER), HERE),
        found.add(span(0, 1, PERSONAL, "v", HOST), HERE),
        found.add(span(0, 1, CERTAIN, "w", BINARY), HERE),
    ]
    assert added == [True, False, False, True, True, False] and len(found) == 3
    assert [(one.kind, one.level, places, count) for one, places, count in found] == [
        ("token", CERTAIN, [HERE, THERE], 3),
        (USER, PERSONAL, [HERE], 1),
        (HOST, PERSONAL, [HERE], 1),
    ]


TOKEN = "ghp_" + "Qx7mP2kLw9ZtR4vAQx7mP2kLw9ZtR4vAQx7m"


@pytest.mark.parametrize(
    ("document", "clean"),
    [
        (f"say {TOKEN}\n", "say X\n"),
        (f'{{"a": "{TOKEN}"}}', '{"a":"X"}'),
        (f'{{\n  "a": "{TOKEN}"\n}}', '{"a":"X"}'),
        (f'{{"a": "{TOKEN}"}}\nno JSON: {TOKEN}\n"{TOKEN}"\n', '{"a":"X"}\nno JSON: X\n"X"\n'),
        (f"known {TOKEN} known {TOKEN}", f"known {TOKEN} known X"),
    ],
)
def test_a_finished_document_is_cleaned_line_by_line(document: str, clean: str) -> None:
    known = [f"known {TOKEN} k"] if document.startswith("known") else []
    assert clean_document(document.encode(), SecretScanner(), lambda _: "X", known=known).decode() == clean


@pytest.mark.parametrize(("length", "encoded"), [(11, False), (12, True)])
def test_a_value_of_twelve_characters_is_known_in_other_encodings(length: int, encoded: bool) -> None:
    value = "Zk3mP7qX2wTb"[:length]
    assert (value.encode().hex() in set(forms_of(value))) is encoded


@pytest.mark.parametrize(("value", "is_secret"), [("abc", False), ("abcd", True), ("$HOME", False), ("f(x)", False)])
def test_a_word_where_only_values_stand_is_a_secret(value: str, is_secret: bool) -> None:
    assert is_word_secret(value) is is_secret


def finding(id: str, name: str = "", kind: str = "password", decision: str | None = None) -> SensitiveText:
    return SensitiveText(id, LIKELY, kind, "m", "r", name=name, decision=decision)


PART = "Kq83mZpLw0XtR5vB2nHs"
WHOLES = [f"{before}{PART}" for before in ("mcp:", "id.", "12|", "v1%3A", "s%253A", "id_", "id-", "a/", "a=")]
WHOLES += [f"{PART}:x", f"id:{PART}.sig", base64.b64encode(f"bob:{PART}".encode()).decode()]


@table("whole", WHOLES)
def test_a_part_of_a_secret_is_one_wherever_it_stands(whole: str) -> None:
    known = Literals([Span(0, 0, whole, "authorization", LIKELY)])
    for text in (f"AFTER='{PART}'", f"x{PART}x", base64.b64encode(f"~~{PART}".encode()).decode(), PART[:12]):
        assert [span.value for span in known.find(text)] == [whole], text
    assert PART not in text_cleaner(personal=False)(f"Authorization: Bearer {whole}\nx\nAFTER='{PART}'")


def test_a_part_that_others_have_too_is_no_secret() -> None:
    token = f"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxIn0.{PART}"
    assert not list(Literals([Span(0, 0, token, "x", CERTAIN)]).find("payload eyJzdWIiOiIxIn0"))
    words = Literals([Span(0, 0, "mcp:https://example.com/a", "x", LIKELY)])
    assert not list(words.find("see //example.com/a"))
    uuid = Literals([Span(0, 0, "id:0f8fad5b-d9cb-469f-a165-70867728950e", "x", LIKELY)])
    assert list(uuid.find("x=0f8fad5b-d9cb-469f-a165-70867728950e")) and not list(uuid.find("commit 0f8fad5b"))


def test_a_word_is_replaced_only_where_it_stands_alone() -> None:
    known = Literals([Span(0, 0, value, "password", LIKELY) for value in ("swordfish", "blue-harbor", "x9-y8")])
    for text in ("/Users/a/Developer-swordfish/x", "swordfishing", "/srv/blue-harbor/x", "a_blue-harbor", "x9-y8-z"):
        assert not list(known.find(text)), text
    for text in ("'swordfish'", "a=swordfish&b", "say blue-harbor.", "bob:x9-y8@host"):
        assert list(known.find(text)), text


KEY_ID = "AKIA" + "QX7MP2KLW9ZTR4VA"
KEY = "q8Zt3LmKx7RwPd2/vB5nHs+Yc4JfGe6UaWi1Oo9T"


@table(
    "text",
    [
        "the staging key {} and secret {}",
        "the staging key {} and {}",
        "{} / {}",
        "{}:{}",
        "| {} | {} |",
        "use {}, the other one is `{}`.",
        '("{}", "{}")',
        "the id is {}\nthe key {}",
        "new pair:\n\n{}\n{}\n",
        "`{1}` is the secret that belongs to {0}",
        "{1} / {0}",
        "| {1} | {0} |",
        "old pair\n{1}\n{0}",
    ],
)
def test_the_partner_of_a_secret_is_likely(text: str) -> None:
    spans = SecretScanner().find(text.format(KEY_ID, KEY))
    assert {(span.value, span.level) for span in spans} == {(KEY_ID, CERTAIN), (KEY, LIKELY)}


def test_what_stands_beside_a_secret_and_looks_like_none_is_left() -> None:
    for beside in (" is in eu-central-1 now", "\nHOSTNAME=ip-10-0-0-1.ec2.internal", ' of "internal-administrators"'):
        assert len(SecretScanner().find(KEY_ID + beside)) == 1
        assert len(SecretScanner().find(beside + " " + KEY_ID)) == 1


@pytest.mark.parametrize(
    "number", ["+49 170 5551234", "+1 (415) 555-0100", "+44 20 7946 0958", "+33.1.23.45.67.89", "0049 30 9018200"]
)
def test_a_phone_number_is_personal(number: str) -> None:
    personal = Personal(b"")
    for text in (f"call {number}", f"tel:{number}.", f'"{number}"', "at " + number.replace(" ", "\u00a0")):
        (span,) = SecretScanner(personal).find(text)
        assert (span.kind, span.level) == (PHONE, PERSONAL)
        assert SecretScanner(personal).find(f"call {personal.pseudonym(PHONE, span.value)}") == []


@table(
    "text",
    [
        "+1234567890",
        "10:00:00+02:00",
        "x = 5 +12",
        "+1,234,567,890.55",
        "1e+100",
        "a+4917055512345",
        "+0 170 5551234",
        "10:0049 30 9018200",
        "0049309018200",
    ],
)
def test_other_numbers_are_no_phone_numbers(text: str) -> None:
    assert SecretScanner(Personal(b"")).find(text) == []


@pytest.mark.parametrize(
    "before, number",
    [
        ("ruf mich an unter ", "0171 5551234"),
        ("Tel.: ", "030/5552368"),
        ("call me at ", "(415) 555-2671"),
        ("my number is ", "415-555-2671"),
        ("téléphone : ", "06 12 34 56 78"),
        ("電話番号は", "090-1234-5678"),
        ("전화번호: ", "010-1234-5678"),
    ],
)
def test_a_national_phone_number_is_personal_after_a_word_for_it(before: str, number: str) -> None:
    for after in ("", " tomorrow", ", please"):
        assert [span.value for span in SecretScanner(Personal(b"")).find(before + number + after)] == [number]
    for text in (f"id {number}", f"{before}\n{number}", f"{before}x{number}", f"{before}{number}.5"):
        assert SecretScanner(Personal(b"")).find(text) == []
    assert SecretScanner(Personal(b"")).find(f"{before}05-06 2024") == []


def test_findings_of_one_kind_and_name_are_alike() -> None:
    given = [finding("1", "a"), finding("2"), finding("3", "a"), finding("4", "a", "token"), finding("5")]
    assert [[one.id for one in group] for group in alike(given)] == [["1", "3"], ["2"], ["4"], ["5"]]


def test_decisions_are_kept_by_a_key_of_this_machine(tmp_path: Path) -> None:
    store, other = DecisionStore(tmp_path / "store"), DecisionStore(tmp_path / "other")
    assert len(store.id_of("secret")) == 24 and store.id_of("secret") == DecisionStore(store.folder).id_of("secret")
    assert len({store.id_of("secret"), store.id_of("Secret"), other.id_of("secret")}) == 3
    assert len({store.key_for("a"), store.key_for("b"), other.key_for("a"), store.key}) == 4
    assert store.decision("i") is None and store.read_map("m") is None
    store.decide_everywhere(["i", "j"], "keep")
    store.decide_everywhere(["j"], "replace")
    again = DecisionStore(store.folder)
    assert [again.decision(id) for id in "ijk"] == ["keep", "replace", None]
    path = store.keep_map("m", PrivateMap({"[one]": "1"}, "s", "/s.jsonl"))
    assert again.read_map("m") == PrivateMap({"[one]": "1"}, "s", "/s.jsonl")
    assert {one.stat().st_mode & 0o777 for one in store.folder.rglob("*") if one.is_file()} == {0o600}
    path.write_bytes(b'{"[one]": "1"}')  # as 0.3 has written it
    assert again.read_map("m") == PrivateMap({"[one]": "1"}) and path == store.folder / "maps" / "m.json"
    (store.folder / "key").write_bytes(b"x" * 31)
    with pytest.raises(Unreadable, match="not a key"):
        DecisionStore(store.folder)
    (other.folder / "decisions.json").write_text("[]")
    with pytest.raises(Unreadable, match="delete it to decide anew"):
        DecisionStore(other.folder)


def test_a_review_decides_by_finding_and_else_by_group(tmp_path: Path) -> None:
    path = tmp_path / "review.json"
    assert read_review(path) == {}
    write_review(path, "s", [finding("1", "a"), finding("2", "a", decision="keep"), finding("3"), finding("4", "b")])
    assert read_review(path) == {"2": "keep"} and path.stat().st_mode & 0o777 == 0o600
    review = json.loads(path.read_bytes())
    assert review["session"] == "s"
    assert [(one["name"], one["count"]) for one in review["groups"]] == [("a", 2), ("", 1), ("b", 1)]
    review["groups"][0]["decision"] = "replace"
    path.write_text(json.dumps(review))
    assert read_review(path) == {"1": "replace", "2": "keep"}
    review["groups"][2]["decision"] = "burn"
    path.write_text(json.dumps(review))
    with pytest.raises(Misuse, match="Unknown decision 'burn'"):
        read_review(path)
    path.write_text("{")
    with pytest.raises(Unreadable, match="delete it to begin anew"):
        read_review(path)


def test_names_that_say_nothing_of_anyone() -> None:
    assert [is_host(name) for name in ("abc", "abcd", "localhost", "host-12ab34", "Workshop")] == [
        False,
        True,
        False,
        False,
        True,
    ]
    assert [is_name(name) for name in ("maria", "root", "user-12ab34", "")] == [True, False, False, False]
    folders = ["/home/maria/x", "/srv/home/none", r"C:\Users\Tom\x", "/Users/kim"]
    assert set(home_users(folders)) == {"maria", "Tom", "kim"}


@table(
    ("added", "left"),
    [
        ([(5, 9, CERTAIN), (0, 5, CERTAIN)], [(0, 5), (5, 9)]),
        ([(2, 6, CERTAIN), (4, 9, CERTAIN)], [(2, 6), (6, 9)]),
        ([(4, 9, CERTAIN), (2, 6, CERTAIN)], [(2, 4), (4, 9)]),
        ([(4, 6, CERTAIN), (2, 9, CERTAIN)], [(2, 4), (4, 6), (6, 9)]),
        ([(4, 6, LIKELY), (2, 9, CERTAIN)], [(2, 9)]),
        ([(4, 6, LIKELY), (5, 9, CERTAIN)], [(4, 6), (6, 9)]),
        ([(4, 6, CERTAIN), (2, 9, LIKELY)], [(4, 6)]),
        ([(4, 6, PERSONAL), (5, 9, PERSONAL)], [(4, 6)]),
        ([(4, 6, LIKELY), (6, 9, LIKELY), (2, 4, PERSONAL)], [(2, 4), (4, 6), (6, 9)]),
        ([(4, 4, CERTAIN), (5, 3, CERTAIN)], []),
    ],
)
def test_spans_do_not_overlap_and_what_is_certain_is_covered(added: list[Any], left: list[tuple[int, int]]) -> None:
    spans = SpanSet()
    for one in added:
        spans.add(span(*one))
    assert [(one.start, one.end) for one in spans.ordered()] == left


def chunk(name: bytes, body: bytes) -> bytes:
    return len(body).to_bytes(4) + name + body + zlib.crc32(name + body).to_bytes(4)


def riff(name: bytes, body: bytes) -> bytes:
    return name + len(body).to_bytes(4, "little") + body + b"\0" * (len(body) % 2)


def webp(*parts: bytes) -> bytes:
    body = b"WEBP" + b"".join(parts)
    return b"RIFF" + len(body).to_bytes(4, "little") + body


PNG, END = b"\x89PNG\r\n\x1a\n", chunk(b"IEND", b"")
PIXELS = [chunk(name, name * 2) for name in (b"IHDR", b"PLTE", b"tRNS", b"acTL", b"fcTL", b"IDAT", b"fdAT")]
GIF, LOOP, DELAY = b"GIF89a\1\0\1\0\x80\0\0" + b"rgbRGB", b"\x21\xff\x0bNETSCAPE2.0\3\1\0\0\0", b"\x21\xf9\4\0\0\0\0\0"
FRAME = b"\x2c" + bytes(8) + b"\x81" + b"c" * 12 + b"\2\3abc\0"


@table(
    ("noted", "plain"),
    [
        (PNG + b"".join([PIXELS[0], chunk(b"tEXt", b"secret"), *PIXELS[1:], END]), PNG + b"".join([*PIXELS, END])),
        (PNG + PIXELS[0] + END + b"secret", PNG + PIXELS[0] + END),
        (PNG + PIXELS[0] + END[:4] + b"IDAT", None),
        (
            b"\xff\xd8\xff\xe0\0\4ab\xff\xe1\0\4ab\xff\xee\0\4ab\xff\xef\0\4ab\xff\xfe\0\4ab\xff\xda\0\2z\xff\xd9secret",
            b"\xff\xd8\xff\xe0\0\4ab\xff\xee\0\4ab\xff\xda\0\2z\xff\xd9",
        ),
        (b"\xff\xd8\xff\xda\0\2z", None),
        (GIF + LOOP + b"\x21\xfe\6secret\0" + DELAY + FRAME + b";secret", GIF + LOOP + DELAY + FRAME + b";"),
        (GIF + b"\x21\xff\x0bXMP DataXMP\3abc\0" + FRAME + b";", GIF + FRAME + b";"),
        (GIF + b"\x77", None),
        (
            webp(
                riff(b"VP8X", b"\x3e" + bytes(9)), riff(b"ICCP", b"odd"), riff(b"VP8 ", b"pixel"), riff(b"EXIF", b"x")
            ),
            webp(riff(b"VP8X", b"\x12" + bytes(9)), riff(b"VP8 ", b"pixel")),
        ),
        (webp(riff(b"VP8 ", b"pixels")) + b"VP8 ", webp(riff(b"VP8 ", b"pixels"))),
        (webp(riff(b"VP8 ", b"")), webp(riff(b"VP8 ", b""))),
        (b"RIFF\4\0\0\0WAVE", None),
        (b"BM", None),
    ],
)
def test_a_picture_keeps_its_pixels_and_nothing_else(noted: bytes, plain: bytes | None) -> None:
    assert without_metadata(noted) == plain
    assert plain is None or without_metadata(plain) == plain


SAID = "what a person said: é, and ???>>>???>>>???>>> more"
STANDARD, URL = base64.b64encode(SAID.encode()).decode(), base64.urlsafe_b64encode(SAID.encode()).decode()


def packed(bits: int) -> str:
    packer = zlib.compressobj(wbits=bits)
    return base64.b64encode(packer.compress(SAID.encode()) + packer.flush()).decode()


@table(
    "encoded",
    [
        STANDARD,
        STANDARD.rstrip("="),
        URL,
        URL.rstrip("="),
        SAID.encode().hex(),
        base64.b64encode(SAID.encode("utf-16-le")).decode(),
        packed(zlib.MAX_WBITS + 16),
        packed(zlib.MAX_WBITS),
        packed(-zlib.MAX_WBITS),
    ],
)
def test_a_text_is_decoded_and_encoded_in_the_same_way(encoded: str) -> None:
    found = decode_text(encoded)
    assert found is not None and found.text == SAID and found.encode(SAID) == encoded


def test_what_says_nothing_is_not_decoded() -> None:
    twenty = base64.b64encode(b"fifteen letters").decode()
    assert len(twenty) == 20 and decode_text(twenty) is not None and decode_text(twenty[:-1]) is None
    assert decode_text(base64.b64encode(bytes(range(128, 188))).decode()) is None
    assert decode_text("QUJD=REVGQUJDREVGQUJDREVGQUJDREVG") is None
    assert decode_text(b"\0\1\2words that are long enough".hex()) is None


@pytest.mark.parametrize("before", ["", "  12→", "> "])
def test_an_encoded_text_over_several_lines_is_one(before: str) -> None:
    encoded = base64.b64encode(SAID.encode() * 4).decode()
    lines = [before + encoded[at : at + 60] for at in range(0, len(encoded), 60)]
    runs = list(encoded_runs("words\n" + "\n".join(lines) + "\nmore words"))
    assert encoded in {characters for _, _, characters in runs}
    start, end = next((start, end) for start, end, characters in runs if characters == encoded)
    assert (start, end) == (6 + len(before), 6 + len("\n".join(lines)))


def test_a_run_is_found_where_it_stands() -> None:
    assert list(encoded_runs("id 12345678-1234-1234-1234-123456789012")) == []
    assert list(encoded_runs(f"x {'A' * 19} y")) == [] and list(encoded_runs(f"x {'A' * 20} y")) == [(2, 22, "A" * 20)]
    assert (5, 45, "A" * 40) in list(encoded_runs(f"path/{'A' * 40}"))
    assert (0, 20, "A" * 20) in list(encoded_runs(f"{'A' * 20}-{'B' * 20}+"))
