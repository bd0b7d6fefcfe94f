"""Replacing ends: nothing that the redactor wrote is found again, and deciding about each finding leads to a file."""

from __future__ import annotations

import base64
import errno
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import planted
import pytest
from batches import OWN_EVERY, part
from command import run
from effort import one_in, sampled

import reread
from reread.disk.sources import MemorySource
from reread.reader.redacted_export import Redaction
from reread.redaction.decisions import DecisionStore
from reread.redaction.removal_manifest import finished_texts
from reread.redaction.rewrite import DeltaJoiner, FileRedaction, clean_text
from reread.redaction.scan import SecretScanner
from reread.redaction.spans import CERTAIN, LIKELY, Span, SpanSet, leaves, replace_spans

TOKEN = planted.needle("fixed point")
SAMPLES = Path(__file__).parent.parent / "src" / "reread" / "samples"
FORMATS = ("markdown", "html", "json", "jsonl")


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


TEXTS: dict[str, str] = {
    "base64 behind a name": f"kind: Secret\ndata:\n  token: {encoded(TOKEN)}",
    "a header": "Authorization: Basic " + encoded(f"x-access-token:{TOKEN}"),
    "a command": "sshpass -p hunter2 ssh x",
    "in a URL": "https://h/?next=" + quote(f"https://u:hunter2x@h/?token={TOKEN}", safe=""),
    "twice encoded": "password = " + encoded(encoded(f"token: {TOKEN}")),
    "with another": "password: " + encoded(f"password: hunter22 and {TOKEN}\n"),
    "hexadecimal": f"api_key: {TOKEN.encode().hex()}",
    "a phrase": "password: correct horse battery staple",
    "a table": f"| password | hunter2 |\n| token | {encoded(TOKEN)} |",
    "Markdown": f"**password:** `{encoded('secret ' + TOKEN)}`",
    "underlined": f"password = _{encoded('secret_a: ' + TOKEN)}_",
    "long": f"password: {'x9-' * 90}{encoded(TOKEN)}",
}


def session_of(folder: Path, *texts: str) -> Path:
    made = planted.Planting()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{planted.ID}.jsonl"
    records = [made.prompt(text) for text in texts]
    records += [made.answer(planted.call("toolu_1", "Bash", command=text)) for text in texts]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@one_in(3)
@pytest.mark.parametrize("decision", ["replace", "keep"])
@pytest.mark.parametrize("name", TEXTS)
def test_a_decision_about_everything_leads_to_a_file(tmp_path: Path, name: str, decision: str) -> None:
    path = session_of(tmp_path / "a", TEXTS[name])
    redaction = Redaction(reread.open(path), store=DecisionStore(tmp_path / "store"))
    redaction.decide_all({finding.id: decision for finding in redaction.undecided})
    for form in FORMATS:
        document = redaction.export(form)
        text = "".join(finished_texts(document))
        assert not [each for each in (TOKEN, encoded(TOKEN)[:40], TOKEN.encode().hex()) if each in text], form
        assert redaction.left_in([document]) == []


def test_a_site_of_sessions_with_the_same_replacements_is_written(tmp_path: Path) -> None:
    for number, text in enumerate(("password = hunter2!x", f"password = other3!y {TEXTS['a header']}")):
        session_of(tmp_path / "a" / str(number), text).rename(tmp_path / "a" / f"{number}.jsonl")
    words = ("export", str(tmp_path / "a"), "--redact", "-f", "html", "-o", str(tmp_path / "site"))
    review = tmp_path / "review.json"
    done = run(*words, "--review", str(review), home=tmp_path / "home")
    assert done.returncode == 3 and len(json.loads(review.read_text())["findings"]) >= 2, done.stderr
    content = json.loads(review.read_text())
    for finding in content["findings"]:
        finding["decision"] = "replace"
    review.write_text(json.dumps(content))
    done = run(*words, "--review", str(review), home=tmp_path / "home")
    assert done.returncode == 0 and (tmp_path / "site" / "index.html").exists(), done.stderr


def test_decisions_of_an_earlier_review_stay_in_the_file(tmp_path: Path) -> None:
    path = session_of(tmp_path / "a", "password = hunter2!x and api_key = Qx7mP2kLw9ZtR4vA")
    review, out = tmp_path / "review.json", tmp_path / "x.md"
    for left in (2, 1, 0):
        done = run("share", str(path), "--review", str(review), "-o", str(out), home=tmp_path / "home")
        assert (done.returncode, out.exists()) == ((3, False) if left else (0, True)), done.stderr
        content = json.loads(review.read_text())
        undecided = [finding for finding in content["findings"] if finding["decision"] is None]
        assert len(content["findings"]) == 2 and (not left or len(undecided) == left)
        if undecided:
            undecided[0]["decision"] = "replace"
            review.write_text(json.dumps(content))


def test_only_what_a_redaction_can_write_is_taken_for_our_own() -> None:
    for own in (
        *("[redacted-password-1]", "[redacted-github-token-12]", "[redacted-passw", "%5Bredacted-cookie-3%5D"),
        *("[undecided-password-1]", "[undecided-key-or"),
    ):
        assert SecretScanner().find(f'password = "{own}"') == [], own
    forgeries = (
        "[redacted-x-Tr0ub4dor] [REDACTED-Tr0ub4dor3] redacted-Tr0ub4dor3 [redacted-kestrel-1] [redacted-kestrel9"
    )
    for forged in (*forgeries.split(), "[redacted-password-1234567]"):
        assert SecretScanner().find(f'password = "{forged}"'), forged
    beside = SecretScanner().find('password = "[redacted-password-1]Tr0ub4dor3"')
    assert [span.value for span in beside] == ["Tr0ub4dor3"]
    assert SecretScanner().find(f"[redacted-password-1]{TOKEN}[redacted-password-1]")


def test_replacing_ends_whatever_stands_beside() -> None:
    numbers: list[str] = []

    def replacement(_: Span) -> str:
        numbers.append(f"[redacted-password-{len(numbers)}]")
        return numbers[-1]

    text = "password: " + " password=".join(f"hunter{n}x{n}" for n in range(9)) + f" token={encoded(TOKEN)}"
    once = clean_text(text, SecretScanner(), replacement)
    assert clean_text(once, SecretScanner(), replacement) == once and "hunter" not in once


@one_in(3)
@pytest.mark.parametrize("name", TEXTS)
def test_a_shared_file_is_shared_again_as_it_is(tmp_path: Path, name: str) -> None:
    texts = (TEXTS[name], "/home/wilhelmina/x on wilhelmina@box, call +49 170 5551234 or jo@uni-x.de")
    again = shared(session_of(tmp_path / "a", *texts), tmp_path / "one")
    assert shared(again, tmp_path / "two").read_bytes() == again.read_bytes()


@sampled
def test_real_sessions_are_shared_again_as_they_are(tmp_path: Path) -> None:
    paths = sorted([*SAMPLES.rglob("*.jsonl"), *(Path(__file__).parent / "real").rglob("*.jsonl")])
    for path in part(paths, OWN_EVERY):
        again = shared(path, tmp_path / "one")
        assert shared(again, tmp_path / "two").read_bytes() == again.read_bytes(), path


def shared(path: Path, folder: Path) -> Path:
    """Share a file with all that is likely replaced; one that was shared before must have nothing to decide about."""
    folder.mkdir(exist_ok=True)
    redaction = Redaction(reread.open(path), store=DecisionStore(folder / "store"), engines=False)
    assert folder.name == "one" or redaction.findings == [], path
    redaction.replace_undecided()
    redaction.export("jsonl", to=folder / path.name)
    return folder / path.name


def test_a_secret_that_is_an_encoded_text_can_be_replaced_or_kept_as_a_whole() -> None:
    auth = encoded("/home/wilhelmina:hunter2x9q")
    from reread.redaction.personal import Personal

    (span,) = SecretScanner(Personal(b"")).find(f'"auth": "{auth}"')
    assert span.level == LIKELY and [leaf.level for leaf in leaves([span])] == [LIKELY, "personal"]
    assert replace_spans(f'"auth": "{auth}"', [span], lambda _: "[cut]") == '"auth": "[cut]"'
    kept = replace_spans(f'"auth": "{auth}"', [span], lambda one: None if one.level == LIKELY else "person")
    assert base64.b64decode(kept.split('"')[3]).decode() == "/home/person:hunter2x9q"


def test_an_encoded_text_takes_nothing_from_a_secret_that_is_written_out() -> None:
    spans = SpanSet()
    plain = Span(5, 25, "x" * 20, "github-token", CERTAIN)
    spans.add(plain)
    spans.add(Span(0, 40, "y" * 40, "binary", CERTAIN, "decoded", (Span(0, 7, "decoded", "password", LIKELY),)))
    assert spans.ordered() == [plain]
    spans.add(Span(30, 70, "y" * 40, "binary", CERTAIN, "decoded", (Span(0, 7, "decoded", "password", LIKELY),)))
    assert [(span.start, span.end) for span in spans.ordered()] == [(5, 25), (30, 70)]


def test_a_block_that_starts_anew_is_another_text() -> None:
    joiner = DeltaJoiner()
    for number, piece in enumerate(("one", "two", "three")):
        joiner.push(2 * number, {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}})
        joiner.push(2 * number + 1, {"type": "content_block_delta", "index": 0, "delta": {"text": piece}})
        joiner.push(2 * number + 1, {"type": "content_block_delta", "index": 0, "delta": {"text": "!"}})
    assert [streamed.text for streamed in joiner.texts] == ["one!", "two!", "three!"]


def test_the_pieces_of_a_stream_change_where_they_stand() -> None:
    def piece(index: int, field: str, text: str, stream: str | None = None) -> dict[str, Any]:
        event = {"type": "content_block_delta", "index": index, "delta": {field: text}}
        return {"type": "stream_event", "event": event, "parent_tool_use_id": stream}

    half = len(TOKEN) // 2
    sent = [
        piece(0, "text", f"use {TOKEN[:half]}"),
        piece(1, "thinking", "between"),
        piece(0, "text", TOKEN[:half], stream="toolu_1"),
        piece(0, "text", f"{TOKEN[half:]} and {TOKEN[:half]}"),
        piece(0, "text", f"{TOKEN[half:]}."),
    ]
    source = MemorySource("".join(json.dumps(record) + "\n" for record in sent).encode())
    found: list[tuple[str, int]] = []
    FileRedaction(source, SecretScanner()).find(lambda span, line, _: found.append((span.value, line)))
    assert found == [(TOKEN, 1), (TOKEN, 1)]
    rewritten = b"".join(FileRedaction(source, SecretScanner()).rewritten(lambda _: "[cut]")).splitlines()
    pieces = [next(iter(json.loads(line)["event"]["delta"].values())) for line in rewritten]
    assert pieces == ["use [cut]", "between", TOKEN[:half], " and [cut]", "."]


@pytest.mark.parametrize("size", range(100, 110))
def test_pictures_of_any_length_are_kept_or_left_out(tmp_path: Path, size: int) -> None:
    data = encoded("\x89PNG\r\n\x1a\n" * 30)[:size]
    path = session_of(tmp_path / "a", f"see data:image/png;base64,iVBORw0KGgo{data}")
    out = Redaction(reread.open(path), store=DecisionStore(tmp_path / "store"), images=True).export("markdown")
    assert b"see data:image/png;base64," in out


def test_a_full_folder_for_temporary_files_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = session_of(tmp_path / "a", "hello")
    redaction = Redaction(reread.open(path), store=DecisionStore(tmp_path / "store"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("reread.redaction.redactor.write_atomic", full)
    with pytest.raises(reread.Unwritable, match=f"{tmp_path}: No space left on device; .*TMPDIR"):
        redaction.export("markdown")
