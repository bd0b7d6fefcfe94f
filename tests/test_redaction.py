"""What must not be shared is found wherever it hides, and nothing else is taken for it."""

from __future__ import annotations

import json
import random
import re
import sysconfig
from collections.abc import Callable
from pathlib import Path

import planted
import pytest
from batches import part, table
from command import run
from effort import sampled
from limits import assert_linear
from planting import HIDING_PLACES, WRAPPINGS, example, secrets

from reread.redaction.literals import Literals
from reread.redaction.normalized_text import unescape
from reread.redaction.personal import EMAIL, HOST, PERSON, REMOTE, USER, Personal
from reread.redaction.record_text import RecordText
from reread.redaction.scan import SecretScanner
from reread.redaction.spans import CERTAIN, LIKELY, PERSONAL, Span, leaves, replace_spans
from reread.redaction.vendors import VENDORS, compile_vendor


def cut(text: str, scanner: SecretScanner | None = None) -> str:
    return replace_spans(text, (scanner or SecretScanner()).find(text), lambda _: "[cut]")


def likely(text: str) -> list[str]:
    return [span.value for span in SecretScanner().find(text) if span.level == LIKELY]


def test_every_vendor_has_a_source_and_keywords_that_lead_to_its_tokens():
    assert len(VENDORS) >= 100
    assert len({vendor.name for vendor in VENDORS}) == len(VENDORS)
    assert all(re.fullmatch(r"[a-z0-9-]+", vendor.name) for vendor in VENDORS)
    for vendor in VENDORS:
        assert vendor.source.startswith("https://"), vendor.name
        for seed in range(5):
            text, _ = example(vendor, random.Random(seed))
            assert any(keyword in text for keyword in vendor.keywords.split()), (vendor.name, text[:12])
            assert compile_vendor(vendor).regex.search(text), vendor.name


def test_planted_secrets_of_all_vendors_are_found_in_every_hiding_place():
    scanner, planted_count, left = SecretScanner(), 0, list[str]()
    for name, text, secret in secrets(7):
        for place, hide in HIDING_PLACES.items():
            planted_count += 1
            hidden = hide(text)
            found = scanner.find(hidden)
            rest = replace_spans(hidden, found, lambda _: "[cut]")
            if secret in rest or not any(span.level == CERTAIN for span in leaves(found)):
                left.append(f"{name}: {place}")
    assert planted_count >= 1500
    assert len(left) <= planted_count * 0.01, left


def test_tokens_that_were_broken_over_lines_are_found():
    scanner, count, left = SecretScanner(), 0, list[str]()
    for name, text, secret in [one for seed in range(4) for one in secrets(seed)]:
        if "\n" in text or secret != text:
            continue
        for place, wrap in WRAPPINGS.items():
            hidden = wrap(text)
            rest, count = cut(hidden, scanner), count + 1
            pieces = [line.split("→")[-1].lstrip("+ ") for line in hidden.split("\n")]
            if any(len(piece) >= 12 and piece in text and piece in rest for piece in pieces):
                left.append(f"{name}: {place}")
    assert count >= 1000
    assert len(left) <= count * 0.02, left


def test_real_code_is_not_taken_for_secrets():
    folder, size, found = Path(sysconfig.get_paths()["stdlib"]), 0, list[str]()
    for path in sorted(folder.glob("*.py"))[:120:2] + sorted(folder.glob("email/*.py")):
        text = path.read_text("utf-8")
        size += len(text)
        found += [f"{path.name}: {span.kind}" for span in leaves(SecretScanner().find(text)) if span.level == CERTAIN]
    assert size > 1_000_000
    assert len(found) <= size / 1_000_000, found


def test_a_decoded_view_knows_where_its_characters_came_from():
    text = r"a\u0041b%41\x42&#67;"
    view = unescape(text)
    assert view is not None and view.text == "aAbABC"
    assert [text[slice(*view.span(n, n + 1))] for n in range(6)] == ["a", r"\u0041", "b", "%41", r"\x42", "&#67;"]
    assert text[slice(*view.span(1, 4))] == r"\u0041b%41"


@table(
    ("text", "value"),
    [
        ('password = "hunter2!"', "hunter2!"),
        ("PGPASSWORD=s3cr3t-x psql", "s3cr3t-x"),
        ("mysql --password s3cr3tword", "s3cr3tword"),
        (r"{\"db_password\": \"tr0ub4dor&3\"}", "tr0ub4dor&3"),
        ("postgres://app:p4ssw0rd9@db:5432/x", "p4ssw0rd9"),
        ("Authorization: Bearer abcdefghij0123456789", "abcdefghij0123456789"),
        ("curl -u alice:wonder7land https://x", "wonder7land"),
        ("mysqldump -u app -phunter22x shop > shop.sql", "hunter22x"),
        ("mariadb -h db -p'Tr0ub&dor!' shop", "Tr0ub&dor!"),
        ("Cookie: theme=dark; session=8f3a9c1be77d4410a2cd", "8f3a9c1be77d4410a2cd"),
        ("Set-Cookie: connect.sid=s%3AabcDEF12345.aa9; Path=/; HttpOnly", "s%3AabcDEF12345.aa9"),
        ("curl --cookie 'PHPSESSID=q1w2e3r4t5y6u7i8'", "q1w2e3r4t5y6u7i8"),
        ('api_key: "a8f7e6d5c4b3a291"', "a8f7e6d5c4b3a291"),
        ("my password is Tr0ub4dor&3.", "Tr0ub4dor&3"),
    ],
)
def test_values_that_are_called_secrets_are_to_be_decided(text: str, value: str):
    assert value in likely(text)


@table(
    "text",
    [
        "token = self.next_token()",
        "max_tokens: 4096",
        'password = os.environ["DB_PASSWORD"]',
        "password: string",
        'token_type = "Bearer"',
        'password = "********"',
        "api_key=${API_KEY}",
        "const secret = process.env.SECRET_2",
        "postgres://user:${PASSWORD}@host/db",
        "if password is not None:",
        'input type="password" name="x"',
        "secrets.token_hex(16)",
        "docker run --name mysql -p3306:3306/tcp -p127.0.0.1:33060:33060 image9",
        "mysql -u root -p shop2024",
        "mysql -p$MYSQL_PWD1 -h db",
        "mkdir -p mysql/v8.0.31-data",
        "Set-Cookie: session=<id>; Max-Age=3600",
        "cookie: _ga=GA1.2.1234567890.1700000000",
        "cookies = session.cookies_for_host2",
    ],
)
def test_code_about_secrets_is_none(text: str):
    assert likely(text) == []


def test_keys_of_objects_lead_to_their_values():
    record = RecordText({"clientSecret": "abc12345def", "usage": {"input_tokens": 123456}, "pin": {"password": 998877}})
    assert [span.value for span in SecretScanner().find(record.text)] == ["abc12345def", "998877"]
    record.replace(SecretScanner().find(record.text), lambda _: "[cut]")
    assert record.value == {"clientSecret": "[cut]", "usage": {"input_tokens": 123456}, "pin": {"password": "[cut]"}}


def test_a_key_over_the_lines_of_a_list_is_replaced_as_one():
    lines = [
        "+-----BEGIN RSA PRIVATE KEY-----",
        *(f"+{'Ab3/' * 16}" for _ in range(9)),
        "+-----END RSA PRIVATE KEY-----",
    ]
    record = RecordText({"lines": [*lines, " rest"]})
    record.replace(SecretScanner().find(record.text), lambda _: "[cut]")
    assert len(record.value["lines"]) == 12
    assert "".join(record.value["lines"]) == "+[cut] rest"


def test_known_values_are_found_in_all_their_forms_and_cut_off():
    value = 'p"ss/w\\rd-0123456789-abcdefgh'
    scanner = SecretScanner(None, Literals([Span(0, 0, value, "password", LIKELY)]))
    import base64
    from urllib.parse import quote

    for form in (value, json.dumps(value), json.dumps(json.dumps(value)), quote(value, safe=""), value.encode().hex()):
        assert "0123456789" not in cut(f"a {form} b", scanner), form
    for before in ("", "x", "xy"):
        encoded = base64.b64encode(b"\xff\xfe" + before.encode() + value.encode() + b"\x00\x01").decode()
        assert base64.b64encode(value.encode()).decode()[8:16] not in cut(encoded, scanner)
    assert cut(f"it began {value[:20]}", scanner) == "it began [cut]"


def personal(text: str, *users: str) -> list[tuple[str, str]]:
    names = Personal(b"key", users=users)
    return [
        (span.kind, span.value)
        for span in SecretScanner(names, Literals(names.known())).find(text)
        if span.level == PERSONAL
    ]


def test_personal_details_are_found_by_their_form():
    assert personal("/home/brigitte/x and /Users/jan.k/y") == [(USER, "brigitte"), (USER, "jan.k")]
    assert personal(r'"C:\\Users\\Jan Karl\\x"') == [(USER, "Jan Karl")]
    assert personal("~/.claude/projects/-home-brigitte-shop/") == [(USER, "brigitte")]
    assert personal("mail b.k@harbor-post.org now") == [(EMAIL, "b.k@harbor-post.org")]
    assert personal("git@github.com:harbor-ltd/shop.git") == [(REMOTE, "harbor-ltd/shop")]
    assert personal("origin\thttps://github.com/harbor-ltd/shop.git (fetch)") == [(REMOTE, "harbor-ltd/shop")]
    assert personal("Author: Jan Karl <jan@harbor-post.org>") == [(PERSON, "Jan Karl"), (EMAIL, "jan@harbor-post.org")]
    assert personal("Linux quay-7 5.15.0 #1") == [(HOST, "quay-7")]
    assert personal("brigitte@quay-7:~$ ls; Brigitte", "brigitte") == [
        (USER, "brigitte"),
        (HOST, "quay-7"),
        (USER, "Brigitte"),
    ]


def test_names_that_say_nothing_are_left():
    assert (
        personal("/home/user/x /home/node/y /Users/runner/z git@github.com noreply@anthropic.com a@example.com") == []
    )
    assert personal("@pytest.mark.x and foo@bar and image@2x.png") == []
    assert personal("the max of it; /home/max/x", "max") == [(USER, "max")]


def test_pseudonyms_are_stable_in_one_export_and_differ_in_another():
    one, same, other = Personal(b"1"), Personal(b"1"), Personal(b"2")
    assert one.pseudonym(EMAIL, "A@b.org") == same.pseudonym(EMAIL, "a@b.org") != other.pseudonym(EMAIL, "a@b.org")
    assert re.fullmatch(r"person-[0-9a-f]{6}@example\.com", one.pseudonym(EMAIL, "a@b.org"))
    assert personal(f"/home/{one.pseudonym(USER, 'jan')}/x") == []


HARD_PIECES = ["sk-", "eyJ-", "%25", "\\u0041", "gh\n", "a@", "AAAA", "://a:", "password=", "pat" + "a" * 14, "\n\n+"]
HARD_PIECES += ["ABCD" * 20 + "\n", " \t" * 30, "/home/", "PuTTY-User-Key-File-2:", "-----BEGIN PRIVATE KEY-----"]
HARD_PIECES += ["-----BEGIN PRIVATE KEY-----\n-----END X"]


@sampled
@pytest.mark.parametrize("piece", part(HARD_PIECES, 3))
def test_time_is_linear_on_any_text(piece: str):
    def prepare(size: int) -> Callable[[], object]:
        text = piece * (size // len(piece))
        return lambda: SecretScanner(Personal(b"", users=["brigitte"])).find(text)

    prepare(1000)()
    assert_linear(prepare, 40_000, enough=0.2)


def test_secrets_lists_them_masked_and_says_so_by_its_exit(tmp_path: Path):
    path, needles = planted.plant(tmp_path)
    done = run("share", "--check", str(tmp_path))
    assert done.returncode == 1
    assert f"{path}:" in done.stdout and "certain: github-token" in done.stdout
    assert not [place for place, needle in needles.items() if needle in done.stdout]
    report = json.loads(run("share", "--check", str(path), "--json", "--full").stdout)
    assert report["totals"]["certain"] >= len(needles) - 6 and report["totals"]["personal"] > 0
    assert not [place for place, needle in needles.items() if needle in json.dumps(report)]
    clean = tmp_path / "clean.jsonl"
    clean.write_text(json.dumps({"type": "summary", "summary": "all well", "leafUuid": "x"}) + "\n")
    assert run("share", "--check", str(clean)).returncode == 0
