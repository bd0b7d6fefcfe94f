"""What a verb prints has no token that `share` would have replaced, or a line on standard error says that it has."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import planting
import pytest
from command import REREAD, cli, forked, run
from hypothesis import given
from hypothesis import strategies as st
from limits import assert_linear
from planted_home import ID, WORD, plant
from session_home import Machine

from reread.cli import VERBS
from reread.cli import _glance as glance
from reread.cli._glance import Glance
from reread.redaction import vendors
from reread.redaction.certain import find_certain
from reread.redaction.suspects import first_kind

TOKEN = "ghp_" + "a8Kd03LmQ92xZbYt7RvW5cNf1HsJ4gPq6uEo"
TOLD = "has what looks like a secret (github-token)"
FORMS = ([], ["--json"], [ID], [ID, "--json"])
"""How each verb is tried; a way that it does not have is refused."""
OWN: dict[str, list[list[str]]] = {
    "serve": [["--help"]],
    "tail": [["--help"]],
    "capture": [["-q", "--", sys.executable, "-c", "print(1)"]],
    "search": [["say"], ["say", "--json"], [TOKEN], [r"say \w+", "--match=regex"]],
    "show": [*FORMS, [ID, "--format=raw"], [ID, "--full"], [ID, "--format", "markdown"]],
    "file": [["app.py", ID]],
    "diff": [[f"{ID}:1", f"{ID}:2"], [f"{ID}:1", f"{ID}:2", "--json"]],
    "blame": [["app.py"], ["app.py", "--json"]],
    "usage": [*FORMS, ["--by", "session"], ["--list"]],
    "stats": [*FORMS, ["--list"], ["--by", "command"]],
    "sql": [["select * from sessions"], ["--text", "select * from messages"], ["--json", "select * from calls"]],
    "resume": [[ID, "--dry-run"]],
    "replay": [[ID, "--speed=instant"]],
    "delete": [[ID, "--dry-run"], [ID, "--dry-run", "--json"]],
    "export": [[ID], [ID, "-f", "jsonl"], [ID, "-f", "html"], [ID, "-o", "it.html"]],
}
SHOWING = {"ls", "search", "show", "file", "sql", "tag", "delete", "export", "replay"}
"""Verbs that show it, so that the test cannot pass because nothing was printed."""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    machine = Machine(tmp_path / "home", monkeypatch)
    plant(machine)
    for path in [path for path in machine.folder.rglob("*") if path.is_file()]:
        path.write_bytes(path.read_bytes().replace(WORD.encode(), TOKEN.encode()))
    yield machine


def test_no_verb_prints_a_token_without_saying_so(machine: Machine) -> None:
    shown: set[str] = set()
    for verb in VERBS:
        for words in OWN.get(verb, FORMS):
            done = forked([verb, *words], env=dict(os.environ), cwd=machine.project)
            said = done.stderr.decode()
            assert "Traceback" not in said, (verb, words, said)
            if TOKEN.encode() in done.stdout:
                shown.add(verb)
                assert said.count(TOLD) == 1, (verb, words, said)
            else:
                assert TOLD not in said or verb == "export", (verb, words, done.stdout)
    assert shown >= SHOWING, SHOWING - shown


def test_a_page_of_a_session_with_a_token_is_told(machine: Machine) -> None:
    for words in (["-o", "it.html"], ["-f", "html"]):
        assert run("export", ID, *words, home=machine.config).stderr.count("The session " + TOLD) == 1


def test_a_token_in_a_session_that_is_followed_is_told(machine: Machine) -> None:
    with subprocess.Popen(
        [*REREAD, "tail", ID, "--limit", "9"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as tail:
        assert tail.stdout is not None and tail.stderr is not None
        while TOKEN.encode() not in tail.stdout.readline():
            pass
        tail.send_signal(signal.SIGINT)
        assert TOLD.encode() in tail.stderr.read()


def test_the_pager_is_looked_at(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Glance()
    monkeypatch.setattr("reread.cli._output.SHOWN", seen)
    monkeypatch.setattr("click.echo_via_pager", lambda text, color: [*text])
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda stream: True, raising=False)
    assert cli("ls").stdout == "" and seen.kind() == "github-token"


def test_json_is_not_touched(machine: Machine) -> None:
    done = run("ls", "--json", home=machine.config)
    assert TOKEN in json.dumps(json.loads(done.stdout)) and "reread:" not in done.stdout


@pytest.mark.parametrize("words", [["ls"], ["ls", "--json"], ["search", "fix"], ["search", "fix", "--json"], ["usage"]])
def test_where_nothing_is_secret_no_rule_is_loaded(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def load(text: str) -> None:
        raise AssertionError(text)

    monkeypatch.setattr(vendors, "suspected_keywords", load)
    shown = cli("--demo", *words).stdout
    assert shown and first_kind(shown) == ""


def test_tokens_of_every_vendor_are_seen() -> None:
    missed: list[str] = []
    for vendor in vendors.VENDORS:
        texts = [f"It is {planting.example(vendor, random.Random(seed))[0]} for now." for seed in range(20)]
        kinds = [first_kind(text) for text in texts if any(find_certain(text))]
        assert kinds.count("") * 2 < len(kinds), vendor.name
        missed += [vendor.name for kind in kinds if not kind]
    assert len(missed) <= 0.01 * 20 * len(vendors.VENDORS), missed  # of the shortest that a format allows


@pytest.mark.parametrize(
    "text",
    [
        f"a {TOKEN}",
        f"x={TOKEN}",
        rf'"a\n{TOKEN}"',
        f"https://u:{TOKEN}@example.org",
        f"%3D{TOKEN}",
        f"\x1b[33m{TOKEN}\x1b[0m",
        f"\x1b[33m{TOKEN[:9]}\x1b[0m{TOKEN[9:]}",
    ],
)
def test_a_token_is_seen_wherever_it_stands(text: str) -> None:
    seen = Glance()
    seen.see(text)
    assert seen.kind() == "github-token"


@given(st.integers(0, 9_000), st.lists(st.integers(1, 3_000), min_size=1, max_size=20))
def test_a_token_is_seen_however_the_output_is_cut(at: int, sizes: list[int]) -> None:
    whole, seen = f"{'word ' * (at // 5)} {TOKEN} {'word ' * 900}", Glance()
    while whole:
        for size in sizes:
            seen.see(whole[:size])
            whole = whole[size:]
    assert seen.kind() == "github-token"


def test_what_is_very_long_is_looked_at_from_its_beginning() -> None:
    seen = Glance()
    seen.see("word " * (glance.LOOKED_AT // 5))
    assert not seen.is_looking
    seen.see(TOKEN)
    assert seen.kind() == ""


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("DB_PASSWORD=hunter2Blue!9", "password"),
        ('{"host": "db", "password": "Tr0ub4dor&3"}', "password"),
        (r'"text":"{\"pwd\": \"Zk82mQp1x\"}"', "password"),
        ("the password is Sommer2024!", "password"),
        ("İİİİ İstanbul, PASSWORD: Tr0ub4dor&3", "password"),
        ("postgres://app:s3cr3tPa55@db.internal/x", "url-password"),
        ("password: changeme1", ""),
        ("PASSWORD=$DB_PASSWORD2", ""),
        ("passwordField2 = form.getPassword1()", ""),
        ("http://localhost:8080/@x", ""),
        ("password: Sommer", ""),
        ('{"password": "sommer12"}', ""),
    ],
)
def test_a_password_is_seen_if_its_name_and_look_leave_no_doubt(text: str, kind: str) -> None:
    assert first_kind(f"{'word ' * 90}{text} {'word ' * 90}") == kind


@pytest.mark.parametrize("piece", ["passw=", "pwd: x", "passphrase is ", "://a:", "A3-", "a1b2c3d4e5f6-", "deadbeef-"])
def test_a_glance_takes_linear_time_on_any_text(piece: str) -> None:
    assert_linear(lambda size: partial(first_kind, piece * (size // len(piece))), 30_000, enough=0.5)
