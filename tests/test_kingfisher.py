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
from reread.reader.redacted_export import Redaction
from reread.redaction.decisions import DecisionStore
from reread.redaction.kingfisher import OFFLINE, find_kingfisher, installed_engines, kingfisher_secrets
from reread.redaction.scan import SecretScanner

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
    assert find_kingfisher() is None and installed_engines() == []


def made_up(prefix: str, size: int, letters: str = string.ascii_letters + string.digits) -> str:
    return prefix + "".join(random.Random(prefix).choices(letters, k=size))


def test_nothing_leaves_the_machine():
    assert {"--no-validate", "--no-update-check"} <= set(OFFLINE)


def test_without_it_nothing_is_asked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("reread.redaction.kingfisher.find_kingfisher", lambda: None)
    assert installed_engines() == []


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
