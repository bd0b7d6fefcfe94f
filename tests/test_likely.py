"""Whatever stands after a name for a secret is to be decided about, in every syntax; what only speaks of one is not.

`likely/secrets.txt` and, by family, `likely/everyday.txt` have a form a line, with [V] for the secret;
`likely/harmless.txt` has what people write about secrets.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from batches import some, table
from effort import sampled

from reread.disk.sources import MemorySource
from reread.redaction.likely_commands import LINE, _end_of_command
from reread.redaction.literals import Literals
from reread.redaction.record_text import RecordText
from reread.redaction.rewrite import FileRedaction
from reread.redaction.scan import SecretScanner
from reread.redaction.secret_names import read_name
from reread.redaction.secret_values import is_code_name, is_literal_secret
from reread.redaction.spans import LIKELY, Span, replace_spans

ROOT = Path(__file__).parent
SAMPLES = ROOT.parent / "src" / "reread" / "samples"
REAL = Path(os.environ.get("REREAD_REAL_CLIENT", "/nonexistent")) / "data"
LIKELY_IN_SAMPLES, LIKELY_IN_REAL_FILES = 5, 0
"""How many likely secrets were found before any value after such a name became one: these, and no more."""

NAMES = """password DB_PASSWORD dbPassword db-password passwd passphrase ADMIN_PWD smtp_pass client_secret clientSecret
CLIENT_SECRET api_key apiKey X-Api-Key API_KEY access_token accessToken GITHUB_TOKEN secret_key SECRET private_key
passwordForBackups aws_secret_access_key authToken rootpw_2""".split()
WEAK_NAMES = "token TOKEN credentials auth pass jwt".split()
"""Names that other things have too: a single word after them is none."""
VALUES = ["Qx7mP2kLw9ZtR4vA", "correct-horse-battery", "hunter2", "swordfish", "tr0ub4dor&3"]
WEAK_VALUES = ["Qx7mP2kLw9ZtR4vA", "q1-w2e3r4-t5y6u7"]
FORMS = [
    "{n}={v}",
    "export {n}={v}",
    "set {n}={v}",
    "setx {n} {v}",
    '$env:{n} = "{v}"',
    "{n}: {v}",
    "db:\n  host: x\n  {n}: {v}\n  port: 5432",
    "{n}: '{v}'",
    '{{"{n}": "{v}"}}',
    '{{\\"{n}\\": \\"{v}\\"}}',
    '{n} = "{v}"',
    "[db]\n{n} = {v}\nhost = x",
    "<{n}>{v}</{n}>",
    '<a {n}="{v}"/>',
    '<add key="{n}" value="{v}"/>',
    "tool --{n} {v} x",
    "tool --{n}={v}",
    "d = {{'{n}': '{v}', 'a': 1}}",
    ":{n} => '{v}'",
    "define('{n}', '{v}');",
    'props.put("{n}", "{v}");',
    "https://h/x?{n}={v}&a=1",
    "a=1&{n}={v}&b=2",
    "Server=x;{n}={v};Encrypt=true",
    "curl -H '{n}: {v}' https://h",
    "- name: {n}\n  value: {v}",
    "+{n}={v}",
    "     3→{n}: {v}",
    "docker run -e {n}={v} image",
    "**{n}:** {v}",
    "{n}: `{v}`",
    "spring.x.{n}={v}",
    '[Environment]::SetEnvironmentVariable("{n}","{v}")',
    'const {n}: string = "{v}";',
    "${{{n}:-{v}}}",
    'os.getenv("{n}", "{v}")',
    "{n}: |\n  {v}\n",
    "host1 ansible_user=bob {n}={v}",
    '["tool", "--{n}", "{v}"]',
]


def left(text: str) -> str:
    return replace_spans(text, SecretScanner().find(text), lambda _: "[cut]")


def lines_of(name: str) -> list[str]:
    return (ROOT / "likely" / name).read_text("utf-8").splitlines()


@table("form", FORMS)
def test_every_value_after_every_name_is_found(form: str) -> None:
    missed = [(name, value) for name in NAMES for value in VALUES if value in left(form.format(n=name, v=value))]
    missed += [
        (name, value)
        for name in WEAK_NAMES
        for value in WEAK_VALUES
        if form != FORMS[3] and value in left(form.format(n=name, v=value))
    ]
    assert missed == []


@table("line", lines_of("secrets.txt"))
def test_secrets_without_a_plain_name_are_found(line: str) -> None:
    for value in ("Qx7mP2kLw9ZtR4vA", "correct-horse-battery9"):
        text = line.replace("\\n", "\n").replace("[V]", value)
        rest = left(text)
        assert value not in rest and rest != text


EVERYDAY = "\n".join(lines_of("everyday.txt")).removeprefix("# ").split("\n# ")


@table("family", EVERYDAY)
def test_what_people_write_every_day_is_found(family: str) -> None:
    forms = [form.replace("\\\\n", "\\\n").replace("\\n", "\n").replace("\\t", "\t") for form in family.split("\n")[1:]]
    values = ("Qx7mP2kLw9ZtR4vA", "Tr0ub4dor+3x", "Sommer2026!", "kestrel-orbit-41", "hv3Kz9_pQ2!mW7")
    assert [(form, value) for form in forms for value in values if value in left(form.replace("[V]", value))] == []


@pytest.mark.parametrize(
    "form",
    [
        "Replace the admin password by [V] everywhere",
        "password of jane (root): [V]",
        "the secret that both of them have is still [V]",
        "ssh jane@10.0.0.4, pw [V]",
        "try admin/[V] on staging",
        "use root:[V] for it",
        "echo -n '[V]' | base64",
    ],
)
def test_what_looks_like_a_password_is_one_wherever_a_sentence_has_it(form: str) -> None:
    for value in ("Tr0ub4dor+3x", "hv3Kz9_pQ2!mW7", "Sommer-Haus26"):
        assert value not in left(form.replace("[V]", value))
    for word in ("UserServiceV2", "Argon2id", "test-session-1", "loginForm", "10.0.0.4"):
        assert word in left(form.replace("[V]", word))


def test_the_password_of_a_copy_to_another_machine_is_found() -> None:
    for value in ("Qx7mP2kLw9ZtR4vA", "Tr0ub4dor+3x", "kestrel-orbit-41"):
        assert value not in left(f"scp -r jane:{value}@10.0.0.4:/srv/app .")
    for harmless in (
        "scp jane@10.0.0.4:/srv/x2024y .",
        "echo -n 'Tr0ub4dor+3x' | base64 -d",
        "/admin/Qx7mP2kLw9ZtR4vA",
    ):
        assert left(harmless) == harmless


@pytest.mark.parametrize("form", ["our gitlab token ([V]) ends on monday", "the key of our weather station is [V]"])
def test_a_random_value_is_secret_after_a_name_that_much_has(form: str) -> None:
    assert "Zt9rWq4LmX2bVn7Ks3Jd" not in left(form.replace("[V]", "Zt9rWq4LmX2bVn7Ks3Jd"))
    for word in ("Ed25519PrivateKey", "kestrel-orbit-41", "user_profile_cache_key_2", "Sommer2026!"):
        assert word in left(form.replace("[V]", word))


@table("line", lines_of("harmless.txt"))
def test_what_only_speaks_of_secrets_is_none(line: str) -> None:
    text = line.replace("\\n", "\n")
    assert [span.value for span in SecretScanner().find(text) if span.level == LIKELY] == []


@pytest.mark.parametrize("letters", ["İ" * 60, "ẞ" * 60 + "İ", "ﬃ" * 9, "\ud800"], ids=range(4))
def test_letters_that_change_their_length_move_nothing(letters: str) -> None:
    assert left(f"{letters} password = correct-horse-battery") == f"{letters} password = [cut]"
    assert left(f"{letters}password={letters}x9-hunter") == f"{letters}password=[cut]"


@pytest.mark.parametrize(("count", "found"), [(11, False), (12, True), (24, True)])
def test_the_words_of_a_wallet_are_a_secret(count: int, found: bool) -> None:
    words = " ".join((["legal", "winner", "thank", "year", "wave", "sausage"] * 4)[:count])
    assert (words not in left(f'seed_phrase = "{words}"')) is found


def test_names_in_records_lead_to_values_in_other_fields() -> None:
    record = RecordText({"env": [{"name": "DB_PASSWORD", "value": "swordfish"}, {"name": "HOST", "value": "db-1"}]})
    assert [span.value for span in SecretScanner().find(record.text)] == ["swordfish"]
    command = RecordText({"argv": ["tool", "--password", "swordfish", "--verbose"]})
    assert [span.value for span in SecretScanner().find(command.text)] == ["swordfish"]


def values_in(text: str) -> list[str]:
    return [span.value for span in SecretScanner().find(text)]


def test_a_column_ends_with_its_table() -> None:
    table = "note\nuser,password,host\nann,Qx7mP2kLw9,h1\nbob,'correct-horse-battery',h2\n"
    assert values_in(table + "\nx,rgb2hsv9,y\n") == ["Qx7mP2kLw9", "correct-horse-battery"]
    assert values_in(table.replace("\n", "\r\n")) == ["Qx7mP2kLw9", "correct-horse-battery"]
    assert values_in("| user | password | client_secret |\n|---|---|---|\n| ann | h2Kq9s7 | zK4m8Wq2Lp |\n") == [
        "h2Kq9s7",
        "zK4m8Wq2Lp",
    ]
    assert values_in("bob|rgb2hsv9\nuser|password") == []
    assert values_in("one password and\nx,rgb2hsv9\n") == []
    record = RecordText({"stdout": "user|password\nann|Qx7mP2kLw9", "next": "x|rgb2hsv9"})
    assert values_in(record.text) == ["Qx7mP2kLw9"]


def test_a_value_of_several_strings_is_one() -> None:
    assert values_in('password = "Qx7mP2" + "kLw9Zt"; user = "bob"') == ['Qx7mP2" + "kLw9Zt']
    assert values_in('password = (\n  "Qx7mP2kLw9"\n)\nname = "rgb2hsv9"') == ["Qx7mP2kLw9"]
    assert values_in('HOST, PASSWORD, PORT = "db-1.example9", "Qx7mP2kLw9", 5432') == ["Qx7mP2kLw9"]


def test_letters_that_no_name_has_in_this_order_are_a_value() -> None:
    assert values_in("confirm_token: bKdQwLxTfZrMvHcJ") == ["bKdQwLxTfZrMvHcJ"]
    assert values_in("confirm_token: getUserFromRequest") == []
    assert values_in("see /tmp/token-Vq8Zt3LmKx7RwPd2/x and password_Vq8Zt3LmKx7RwPd3.txt") == [
        "Vq8Zt3LmKx7RwPd2",
        "Vq8Zt3LmKx7RwPd3",
    ]


@pytest.mark.parametrize("form", ["session_id={}", '"sessionId": "{}"', "JSESSIONID={}"])
def test_an_id_of_a_session_is_a_secret_only_if_nobody_can_guess_it(form: str) -> None:
    for value in ("Qx7mP2kLw9ZtR4vA", "8f3Ka91Lz04mQ7x2Vb6T"):
        assert values_in(form.format(value)) == [value]
    for value in ("test-session-1", "44444444-1111-4111-8111-111111111111", "session-2026-11-18", "agent-a1b2", "s1"):
        assert values_in(form.format(value)) == []


@pytest.mark.parametrize("value", ["test-token-1", "fake_api_key_12", "my-test-secret-2", "client_secret_1"])
def test_a_numbered_name_of_a_test_is_no_secret(value: str) -> None:
    assert values_in(f'token = "{value}"') == [] and values_in(f"password: {value}") == []
    assert values_in(f'password = "{value}-9x"')


def test_equal_names_have_equal_labels() -> None:
    names = [read_name(name) for name in ("confirm_token", "confirmToken", "CONFIRM-TOKEN")]
    assert len({name.label for name in names if name is not None}) == 1 and None not in names


def likely_in(folder: Path) -> int:
    found: list[Span] = []
    for path in some(sorted(folder.rglob("*.jsonl"))):
        FileRedaction(MemorySource(path.read_bytes()), SecretScanner()).find(lambda span, *_: found.append(span))
    return sum(span.level == LIKELY for span in found)


@sampled
def test_no_more_is_taken_for_a_secret_in_real_sessions() -> None:
    assert likely_in(SAMPLES) <= LIKELY_IN_SAMPLES
    assert likely_in(ROOT / "real") <= LIKELY_IN_REAL_FILES
    if REAL.exists():
        assert likely_in(REAL) <= LIKELY_IN_REAL_FILES


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("Cookie: theme=dark; sid=[V]", "cookie", "sid"),
        ("Set-Cookie: SESSION=[V]; Path=/", "cookie", "session"),
        ("Authorization: Basic [V]", "authorization", "authorization"),
        ("send Bearer [V].", "authorization", "authorization"),
        ('get(url, auth=("bob", "[V]"))', "password", "auth"),
    ],
)
def test_a_secret_of_a_request_says_what_it_is(text: str, kind: str, name: str) -> None:
    value = "Qx7mP2kLw9ZtR4vA"
    found = [span for span in SecretScanner().find(text.replace("[V]", value)) if span.level == LIKELY]
    assert [(span.value, span.name) for span in found] == [(value, name)] and kind in found[0].kind


def test_a_name_is_as_sure_as_it_is_long() -> None:
    names = {name: read_name(name) for name in ("pw", "db_pw", "pin", "card_pin", "pass", "pwd", "token", "api_token")}
    assert [name for name, read in names.items() if read is not None and read.is_strong] == [
        "db_pw",
        "pwd",
        "api_token",
    ]


def test_names_in_code_have_words_of_letters() -> None:
    names = ("config.api_key_2", "AUTH_TOKEN", "a_token", "key_123", "one.two.three.four.five.six.seven.eight.nine")
    assert [name for name in names if is_code_name(name)] == ["config.api_key_2", "AUTH_TOKEN"]


@pytest.mark.parametrize("value", ["a/../Qx7mP2k", "44444444-1111-4111-8111-111111111111", "Qx7mP2kLw9"])
def test_after_a_weak_name_paths_and_ids_are_no_secret(value: str) -> None:
    assert is_literal_secret(value, is_password=False, is_strong=True)
    assert is_literal_secret(value, is_password=False, is_strong=False) == value.isalnum()


def test_a_command_ends_with_its_line_unless_that_goes_on() -> None:
    texts = ("mysql -u a\nb", "mysql \\\n-u a\nb", "mysql\x1fb", "mysql", "x" * (LINE + 9))
    assert [_end_of_command(text, 0) for text in texts] == [10, 12, 5, 5, LINE]


def test_half_a_request_is_no_secret() -> None:
    for text in (
        "Bearer",
        "Bearer \n",
        "Cookie",
        "machine example.org login bob password =",
        'auth=("bob", "the words")',
        'auth=("bob", "correct horse battery")',
        'auth=("bob", "correct_horse_battery")',
        'auth=("bob", "<password>")',
        "Cookie: sid=ab-cd",
        "Cookie: sid=1234567890",
        "Cookie: sid=abcdefghijklmnopqrstuvw",
        "machine example.org login bob password :swordfish",
        "authorized by: Qx7mP2kLw9ZtR4vA",
    ):
        assert [span for span in SecretScanner().find(text) if span.level == LIKELY] == []
    for text, value, name in (
        ('get(url, auth=("bob", "correct-horse-battery9"))', "correct-horse-battery9", "auth"),
        ('get(url, auth=("bob", "sword-fish"))', "sword-fish", "auth"),
        ("machine example.org login bob password swordfish,", "swordfish", "netrc"),
        ("Cookie: sid=ab-cde", "ab-cde", "sid"),
        ("Cookie: sid=abcdefghijklmnopqrstuvwx", "abcdefghijklmnopqrstuvwx", "sid"),
    ):
        [found] = SecretScanner().find(text)
        assert (found.value, found.name) == (value, name)


def test_a_name_and_a_short_value_are_known_as_words_only() -> None:
    known = [Span(0, 0, "annika", "user", "personal"), Span(0, 0, "pw-1234", "text", "certain")]
    scanner = SecretScanner(None, Literals([*known, Span(0, 0, "longer-value", "text", "certain")]))
    texts = ("annika", "annikas", "pw-1234", "xpw-12345", "xlonger-valuex")
    assert [len(list(scanner.find(text))) for text in texts] == [1, 0, 1, 0, 1]
