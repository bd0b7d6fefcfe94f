"""Kingfisher as a second scanner; it runs only if REREAD_KINGFISHER_TESTS is set, as `make test-share` does."""

from __future__ import annotations

import json
import os
import random
import re
import string
import subprocess
from pathlib import Path

import planted
import pytest
from planting import made_from

import reread
from reread.addons.kingfisher.scanner import OFFLINE, find_kingfisher, kingfisher_secrets
from reread.errors import Unreadable
from reread.reader.redacted_export import Redaction
from reread.redaction.decisions import DecisionStore
from reread.redaction.redactor import installed_engines
from reread.redaction.scan import SecretScanner
from reread.redaction.spans import CERTAIN, LIKELY, Span

FLOOR = 0.38
"""The part of texts made from Kingfisher's rules in which our own table finds something."""

IS_ASKED = "REREAD_KINGFISHER_TESTS" in os.environ
needs_kingfisher = pytest.mark.skipif(not IS_ASKED, reason="REREAD_KINGFISHER_TESTS is not set")


@pytest.fixture(autouse=True)
def allowed(own_store: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let these tests find what all others must not."""
    monkeypatch.delenv("REREAD_KINGFISHER")


def test_it_can_be_named_or_switched_off(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("REREAD_KINGFISHER", "/opt/kingfisher")
    assert find_kingfisher() == "/opt/kingfisher"
    monkeypatch.setenv("REREAD_KINGFISHER", "off")
    assert find_kingfisher() is None and installed_engines() == {}


def made_up(prefix: str, size: int, letters: str = string.ascii_letters + string.digits) -> str:
    return prefix + "".join(random.Random(prefix).choices(letters, k=size))


def test_nothing_leaves_the_machine():
    assert {"--no-validate", "--no-update-check"} <= set(OFFLINE)


def test_without_it_nothing_is_asked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("reread.addons.kingfisher.scanner.find_kingfisher", lambda: None)
    assert installed_engines() == {}


REPORT = """
{"rule": {"name": "GitHub Token (v2)"}, "finding": {"snippet": "first-value", "confidence": "high"}}
{"rule": {"name": "Generic Secret"}, "finding": {"snippet": "other-value", "confidence": "high"}}
{"rule": {"name": "Some Key"}, "finding": {"snippet": "third-value", "confidence": "medium"}}
{"rule": {"name": "GitHub Token (v2)"}, "finding": {"snippet": "first-value", "confidence": "high"}}
{"rule": {"name": "Short"}, "finding": {"snippet": "seven77", "confidence": "high"}}
{"rule": {}, "finding": {"snippet": "eight888"}}
{"rule": {"name": "--"}, "finding": {"snippet": "nine-9999"}}
{"rule": {"name": "LONG"}, "finding": {"snippet": "ten-101010"}}
{"rule": {"name": "No Text"}, "finding": {"snippet": 12345678}}
not a report
""".replace("LONG", "L" + "o" * 60)


@pytest.mark.skipif(os.name == "nt", reason="needs a shell script")
@pytest.mark.parametrize("code", [0, 200, 205, 1])
def test_its_report_is_read(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program = tmp_path / "kingfisher"
    program.write_text(f"#!/bin/sh\ncp \"$2\"/*.txt '{tmp_path}'\ncat <<'END'\n{REPORT}\nEND\nexit {code}\n")
    program.chmod(0o755)
    monkeypatch.setenv("REREAD_KINGFISHER", str(program))
    if code == 1:
        with pytest.raises(Unreadable, match="failed with exit code 1"):
            list(kingfisher_secrets(["a text"]))
        return
    monkeypatch.setattr("reread.addons.kingfisher.scanner.FILE_CHARACTERS", 8)
    [engine] = installed_engines().values()
    assert list(engine(["name\x1e", "abc", "three", "four"])) == [
        Span(0, 0, "first-value", "github-token--v2", CERTAIN),
        Span(0, 0, "other-value", "generic-secret", LIKELY),
        Span(0, 0, "third-value", "some-key", LIKELY),
        Span(0, 0, "eight888", "kingfisher", LIKELY),
        Span(0, 0, "nine-9999", "kingfisher", LIKELY),
        Span(0, 0, "ten-101010", "l" + "o" * 59, LIKELY),
    ]
    given = {path.name: path.read_text() for path in tmp_path.glob("*.txt")}
    assert given == {"0.txt": "name = \nabc", "1.txt": "three\nfour", "2.txt": ""}


@needs_kingfisher
def test_it_finds_secrets_in_decoded_texts():
    token = made_up("ghp" + "_", 36)
    found = {span.value: span for span in kingfisher_secrets([f"key = {token}", "nothing here"])}
    assert token in found and found[token].level in ("certain", "likely")


@needs_kingfisher
def test_what_it_finds_is_replaced_or_to_be_decided(tmp_path: Path):
    token = made_up("dop" + "_v1_", 64, "0123456789abcdef")
    made = planted.Planting()
    path = tmp_path / f"{planted.ID}.jsonl"
    path.write_text(json.dumps(made.prompt(f"use {token}")) + "\n")
    redaction = Redaction(reread.open(path), store=DecisionStore(tmp_path / "store"))
    redaction.replace_undecided()
    assert token.encode() not in redaction.export("markdown")


@needs_kingfisher
def test_our_table_finds_much_of_what_its_rules_describe():
    program = str(find_kingfisher())
    listed = subprocess.run(
        [program, "rules", "list", "--format", "json", "--no-update-check"],
        capture_output=True,
        check=True,
        timeout=120,
    )
    scanner, made, found = SecretScanner(), 0, 0
    for rule in json.loads(listed.stdout):
        try:
            text = made_from(rule["pattern"].replace(r"\z", "$"), random.Random(rule["id"]))
        except (re.error, AssertionError, KeyError, FutureWarning):  # a pattern that Python does not know
            continue
        made += 1
        found += bool(scanner.find(f"x = {text}\n"))
    print(f"of {made} texts made from Kingfisher's rules, our table finds something in {found}")
    assert made >= 300 and found >= FLOOR * made
