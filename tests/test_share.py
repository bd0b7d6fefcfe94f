"""A shared session has nothing in any of its bytes that was to be removed, and nothing is shared undecided."""

from __future__ import annotations

import base64
import json
import os
import threading
from pathlib import Path

import command
import planted
import pytest
from command import run

import reread
from reread.reader.redacted_export import Redaction
from reread.redaction import decisions
from reread.redaction.decisions import DecisionStore, read_review
from reread.redaction.removal_manifest import finished_texts, undo
from reread.server.sharing import ShareReviews

FORMATS = ("html", "markdown", "json", "jsonl")


@pytest.fixture
def store(tmp_path: Path) -> DecisionStore:
    return DecisionStore(tmp_path / "store")


def everything(document: bytes) -> str:
    """Return all bytes of a document, and all that is packed into it."""
    return document.decode("utf-8", "replace") + "".join(finished_texts(document))


def in_terminal(home: Path, words: list[str], keys: list[str]) -> tuple[str, int]:
    folders = {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude"), "XDG_DATA_HOME": str(home / "data")}
    return command.in_terminal(words, keys, env=os.environ | folders)


def likely_session(folder: Path) -> Path:
    """Write a session with two likely secrets, one of them in two places."""
    made = planted.Planting()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{planted.ID}.jsonl"
    records = [
        made.prompt('use password = "hunter2!x" and db_password: "s3cr3t-99z"'),
        made.answer(planted.text("I used hunter2!x as you said.")),
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_no_needle_is_in_any_byte_of_any_format(tmp_path: Path, store: DecisionStore):
    native, needles = planted.plant(tmp_path / "a")
    printed, streamed = planted.stream(tmp_path)
    for path, hidden in ((native, needles), (printed, streamed)):
        redaction = Redaction(reread.open(path), store=store)
        again = Redaction(reread.open(path), store=store)
        for form in FORMATS:
            document = redaction.export(form)
            text = everything(document)
            assert [place for place, needle in hidden.items() if needle in text] == [], form
            assert "wilhelmina" not in text.lower() and "harbor-post" not in text, form
            assert str(tmp_path) not in text, form
            assert again.export(form) == document, f"{form}: the same export twice has the same bytes"


def test_agents_and_their_answers_are_in_the_export_and_clean(tmp_path: Path, store: DecisionStore):
    path, needles = planted.plant(tmp_path)
    document = json.loads(Redaction(reread.open(path), store=store).export("json"))
    assert list(document["agents"]) == ["a1b2c3"]
    assert "[redacted-github-token-" in json.dumps(document["agents"]["a1b2c3"])
    without = json.loads(Redaction(reread.open(path), store=store, agents=False).export("json"))
    assert without["agents"] == {}
    assert not [place for place, needle in needles.items() if needle in json.dumps([document, without])]


def test_jsonl_keeps_lines_and_shape_and_its_companions_are_clean(tmp_path: Path, store: DecisionStore):
    path, needles = planted.plant(tmp_path / "a")
    target = tmp_path / "out" / "shared.jsonl"
    target.parent.mkdir()
    Redaction(reread.open(path), store=store).export("jsonl", to=target)
    before, after = path.read_bytes().splitlines(), target.read_bytes().splitlines()
    assert len(before) == len(after)
    whole = [n for n, line in enumerate(before) if line.startswith(b"{") and line.endswith(b"}")]
    for n in whole:
        assert json.loads(after[n]).keys() == json.loads(before[n]).keys()
    files = [file for file in target.parent.rglob("*") if file.is_file()]
    assert {file.name for file in files} >= {"agent-a1b2c3.jsonl", "agent-a1b2c3.meta.json", "toolu_7.txt"}
    for file in files:
        text = everything(file.read_bytes())
        assert [place for place, needle in needles.items() if needle in text] == [], file
    assert len(reread.open(target).agents) == 1


def test_a_plain_jsonl_export_is_the_file_itself(tmp_path: Path):
    path, _ = planted.plant(tmp_path / "a")
    assert reread.export(path, "jsonl") == path.read_bytes()
    done = run("export", str(path), "-o", str(tmp_path / "copy.jsonl"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "copy.jsonl").read_bytes() == path.read_bytes()
    assert (tmp_path / "copy" / "tool-results" / "toolu_7.txt").exists()
    assert run("export", str(path), "-f", "jsonl", "--turns", "1").returncode == 2


def test_a_session_that_is_only_kept_is_shared_with_its_agents(tmp_path: Path, store: DecisionStore):
    path, needles = planted.plant(tmp_path / "claude")
    kept = tmp_path / "kept"
    done = run("keep", "--to", str(kept), home=tmp_path / "claude")
    assert done.returncode == 0, done.stderr
    found = next(header.path for header in reread.sessions(root=kept))
    redaction = Redaction(reread.open(found), store=store)
    target = tmp_path / "out" / "shared.jsonl"
    target.parent.mkdir()
    text = everything(redaction.export("jsonl", to=target))
    assert len(text.splitlines()) >= len(path.read_text().splitlines())
    assert len(reread.open(target).agents) == 1
    files = [file for file in target.parent.rglob("*") if file.is_file()]
    whole = "".join(everything(file.read_bytes()) for file in files)
    assert not [place for place, needle in needles.items() if needle in whole]


def test_one_value_is_one_finding_and_one_replacement(tmp_path: Path, store: DecisionStore):
    redaction = Redaction(reread.open(likely_session(tmp_path)), store=store)
    assert [(finding.level, finding.decision) for finding in redaction.undecided] == [("likely", None)] * 2
    first = redaction.undecided[0]
    redaction.decide(first, "replace")
    redaction.decide(redaction.undecided[0].id, "keep")
    text = redaction.export("markdown").decode()
    assert "hunter2" not in text and text.count(first.replacement) == 2
    assert "s3cr3t-99z" in text


def test_nothing_is_written_as_long_as_something_is_undecided(tmp_path: Path, store: DecisionStore):
    redaction = Redaction(reread.open(likely_session(tmp_path)), store=store)
    target = tmp_path / "out.html"
    with pytest.raises(reread.Undecided) as caught:
        redaction.export("html", to=target)
    assert len(caught.value.findings) == 2
    assert not target.exists() and not list(tmp_path.glob("out*"))


def test_a_preview_hides_and_marks_what_nobody_decided_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(decisions, "default_store", lambda: tmp_path / "store")
    path = likely_session(tmp_path)
    made = planted.Planting()
    encoded = base64.b64encode(b'password = "hunter2!x"').decode()
    more = [made.prompt(f"with {made('token')}"), made.answer(planted.text(f"hunter2%21x, hunter2!x, {encoded}"))]
    path.write_text(path.read_text() + "".join(json.dumps(record) + "\n" for record in more))
    reviews = ShareReviews(lambda key: path)
    first, second = (finding for finding in reviews.review("k").findings if finding.level == "likely")

    def shown() -> str:
        return everything(reviews.preview("k"))

    def answers() -> list[str | None]:
        return [finding.decision for finding in reviews.review("k").findings if finding.level == "likely"]

    text = shown()
    assert "hunter2" not in text and "s3cr3t-99z" not in text and made.needles["token"] not in text
    assert encoded not in text and encoded.rstrip("=") not in text
    assert "[undecided-password-1]" in text and "[undecided-password-2]" in text
    assert "[redacted-github-token-1]" in text and "[redacted-password-" not in text
    assert answers() == [None, None], "looking decides nothing"
    reviews.change("k", {"action": "decide", "ids": [first.id], "decision": "keep"})
    text = shown()
    assert "hunter2!x" in text and "s3cr3t-99z" not in text and "[undecided-password-2]" in text
    reviews.change("k", {"action": "choose", "choices": {"turns": "1"}})
    assert answers() == ["keep", None]
    with pytest.raises(reread.Undecided):
        reviews.document("k", "html")
    reviews.change("k", {"action": "decide", "ids": [second.id], "decision": "replace"})
    assert "undecided-password" not in shown()
    assert reviews.preview("k") == reviews.document("k", "html")[0]


def test_only_what_is_chosen_has_to_be_decided(tmp_path: Path, store: DecisionStore):
    made = planted.Planting()
    records = [made.prompt('password = "hunter2!x"'), made.prompt("nothing"), made.answer(planted.text("well"))]
    path = tmp_path / "chosen.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    redaction = Redaction(reread.open(path), store=store)
    kinds = [{finding.kind for finding in redaction.included("markdown", turns=(n, n))} for n in (1, 2)]
    assert kinds == [{"password", "user"}, {"user"}]
    assert b"well" in redaction.export("markdown", turns=(2, 2))
    with pytest.raises(reread.Undecided):
        redaction.export("markdown")
    done = run("share", str(path), "--turns", "2", "-o", str(tmp_path / "x.md"), home=tmp_path / "home")
    assert done.returncode == 0, done.stderr


def test_a_session_for_others_is_put_where_they_look_only_when_all_is_decided(tmp_path: Path):
    path, needles = planted.plant(tmp_path / "a")
    out, home = tmp_path / "team", tmp_path / "home"
    likely = likely_session(tmp_path / "b")
    assert run("share", str(likely), "--to", str(out), home=home).returncode == 3 and not out.exists()
    for words in (["-o", "x.html"], ["-f", "jsonl"], ["--turns", "2"], ["--undo", "x.html"]):
        done = run("share", str(path), "--to", str(out), *words, home=home)
        assert done.returncode == 2 and "--to" in done.stderr and not out.exists(), done.stderr
    for number, session in enumerate((path, likely)):  # the later one takes the place of the one with its id
        done = run("share", str(session), "--to", str(out), "--replace-likely", home=home)
        assert done.returncode == 0 and done.stderr.startswith(f"{out}: found "), done.stderr
        restored = [Path(file.path) for file in reread.Archive(out).restore(to=tmp_path / f"restored-{number}")]
        text = "".join(everything(file.read_bytes()) + str(file) for file in restored)
        assert [needle for needle in (*needles.values(), "hunter2", "s3cr3t-99z") if needle in text] == []
        assert "redacted-" in text and (len(restored) > 3) == (session == path)
    [found] = reread.sessions(root=out)
    assert len(reread.open(found.path).turns) == 1
    assert [version.name for version in reread.Archive(out).versions()] == [f"projects/shared/{planted.ID}.jsonl"]


def test_keep_everywhere_holds_in_other_sessions_and_stores_no_secret(tmp_path: Path, store: DecisionStore):
    redaction = Redaction(reread.open(likely_session(tmp_path / "a")), store=store)
    for finding in redaction.undecided:
        redaction.decide(finding, "keep", everywhere=True)
    other = Redaction(reread.open(likely_session(tmp_path / "b")), store=DecisionStore(store.folder))
    assert other.undecided == []
    for file in store.folder.rglob("*"):
        assert not file.is_file() or (b"hunter2" not in file.read_bytes() and file.stat().st_mode & 0o077 == 0)


def test_a_text_of_ones_own_is_replaced_everywhere(tmp_path: Path, store: DecisionStore):
    path, _ = planted.plant(tmp_path)
    redaction = Redaction(reread.open(path), store=store)
    redaction.replace_text("Deploy with")
    assert "Deploy with" not in everything(redaction.export("html"))


def test_the_manifest_says_what_was_removed_and_the_private_map_puts_it_back(tmp_path: Path, store: DecisionStore):
    path, needles = planted.plant(tmp_path / "a")
    for form in FORMATS:
        target = tmp_path / f"x.{form}"
        document = Redaction(reread.open(path), store=store).export(form, to=target)
        text = (tmp_path / f"x.{form}.manifest.json").read_text()
        manifest = json.loads(text)
        assert manifest["omitted"]["images"] == 1 and manifest["dropped"]["lines"] == 2
        assert {entry["kind"] for entry in manifest["removed"]} >= {"github-token", "email", "user"}
        assert not [place for place, needle in needles.items() if needle in text]
        assert needles["prompt"] in everything(undo(document, store)), form
    with pytest.raises(reread.NotFound):
        undo(document + b"x", store)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such pipes")
@pytest.mark.parametrize("form", ["markdown", "jsonl"])
def test_nothing_is_written_beside_a_device_or_a_pipe(tmp_path: Path, store: DecisionStore, form: str):
    path, _ = planted.plant(tmp_path / "a")
    pipe = tmp_path / "out" / "pipe"
    pipe.parent.mkdir()
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    document = Redaction(reread.open(path), store=store).export(form, to=pipe)
    reader.join(60)
    assert read == [document] and undo(document, store)
    assert list(pipe.parent.iterdir()) == [pipe]


def test_what_only_the_finished_document_shows_is_replaced_too(tmp_path: Path, store: DecisionStore):
    """A page that writes two fields side by side can make a secret of what neither of them is."""
    redaction = Redaction(reread.open(likely_session(tmp_path)), store=store)
    redaction.replace_undecided()
    assert redaction.left_in([b"nothing here"]) == []
    assert redaction.left_in([planted.needle("late").encode()]) == ["github-token"]
    packed = redaction.export("html").replace(b"</body>", planted.needle("late").encode() + b"</body>")
    assert redaction.left_in([packed]) == ["github-token"]


def test_a_site_is_redacted_as_a_whole(tmp_path: Path):
    _, needles = planted.plant(tmp_path / "a")
    out = tmp_path / "site"
    home = {"XDG_DATA_HOME": str(tmp_path / "data")}
    done = run(
        "export", str(tmp_path / "a"), "--redact", "-f", "html", "-o", str(out), home=tmp_path / "home", env=home
    )
    assert done.returncode == 0, done.stderr
    files = [file for file in out.rglob("*") if file.is_file()]
    assert {"index.html", "site.json"} <= {file.name for file in files}
    for file in files:
        text = everything(file.read_bytes())
        assert [place for place, needle in needles.items() if needle in text] == [], file
        assert "wilhelmina" not in text and (str(tmp_path) not in text), file


def test_the_verb_exits_with_3_and_takes_decisions_from_a_review(tmp_path: Path):
    path, out, review = likely_session(tmp_path / "a"), tmp_path / "x.md", tmp_path / "review.json"
    words = ("export", str(path), "--redact", "--review", str(review), "-o", str(out))
    env = {"XDG_DATA_HOME": str(tmp_path / "data")}
    done = run(*words, home=tmp_path / "home", env=env)
    assert done.returncode == 3 and not out.exists(), done.stderr
    assert "hunter2" not in review.read_text() and "hunter2" not in done.stderr
    content = json.loads(review.read_text())
    content["findings"][0]["decision"], content["findings"][1]["decision"] = "replace", "keep"
    review.write_text(json.dumps(content))
    assert len(read_review(review)) == 2
    done = run(*words, home=tmp_path / "home", env=env)
    assert done.returncode == 0, done.stderr
    assert "hunter2" not in out.read_text() and "s3cr3t-99z" in out.read_text()
    done = run("export", str(path), "--redact", "--replace-likely", "-f", "json", home=tmp_path / "home", env=env)
    assert done.returncode == 0 and "hunter2" not in done.stdout and "s3cr3t-99z" not in done.stdout
    assert run("export", str(path), "--review", "x").returncode == 2


def test_share_asks_for_one_key_a_finding(tmp_path: Path):
    path, out = likely_session(tmp_path / "a"), tmp_path / "x.md"
    text, code = in_terminal(tmp_path, ["share", str(path), "-o", str(out)], ["r", "k"])
    assert code == 0, text
    assert "1/2" in text and "2/2" in text and "hunter2" not in text
    assert "hunter2" not in out.read_text() and "s3cr3t-99z" in out.read_text()
    out.unlink()
    text, code = in_terminal(tmp_path, ["share", str(path), "-o", str(out)], ["r", "q"])
    assert code == 3 and not out.exists(), text


def test_share_says_what_it_waits_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program, path = tmp_path / "kingfisher", likely_session(tmp_path / "a")
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    monkeypatch.setenv("REREAD_KINGFISHER", str(program))
    words = ["share", str(path), "--replace-likely", "-o", str(tmp_path / "x.md")]
    text, code = in_terminal(tmp_path, words, [])
    assert code == 0 and "also with Kingfisher" in text, text
    assert "Kingfisher" not in run(*words, home=tmp_path / "home").stderr  # no terminal


def many_tokens(folder: Path) -> Path:
    made = planted.Planting()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{planted.ID}.jsonl"
    texts = [f"confirm_token: Qx7mP2kLw9ZtR4v{letter}" for letter in "abcde"] + ['db_password: "s3cr3t-99z"']
    path.write_text("".join(json.dumps(made.prompt(text)) + "\n" for text in texts))
    return path


def test_values_of_one_name_are_one_question(tmp_path: Path):
    path, out = many_tokens(tmp_path / "a"), tmp_path / "x.md"
    text, code = in_terminal(tmp_path, ["share", str(path), "-o", str(out)], ["r", "k"])
    assert code == 0 and "1/2" in text and "and 4 other values of this name" in text, text
    assert "Qx7mP2" not in out.read_text() and "s3cr3t-99z" in out.read_text()
    out.unlink()
    text, code = in_terminal(tmp_path, ["share", str(path), "-o", str(out)], ["o", *"rkrrr", "k"])
    assert code == 0 and out.read_text().count("Qx7mP2") == 1, text


def test_stores_of_several_processes_lose_no_decision_and_have_one_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made: list[DecisionStore] = []

    def make_one_meanwhile(size: int) -> bytes:
        monkeypatch.setattr(decisions.secrets, "token_bytes", os.urandom)
        made.append(DecisionStore(tmp_path))
        return os.urandom(size)

    monkeypatch.setattr(decisions.secrets, "token_bytes", make_one_meanwhile)
    first, (second,) = DecisionStore(tmp_path), made
    assert first.key == second.key
    first.decide_everywhere(["a"], "keep")
    second.decide_everywhere(["b"], "replace")
    third = DecisionStore(tmp_path)
    assert [third.decision(id) for id in "ab"] == ["keep", "replace"]


def test_a_review_decides_about_a_group_at_once(tmp_path: Path):
    path, out, review = many_tokens(tmp_path / "a"), tmp_path / "x.md", tmp_path / "review.json"
    words = ("share", str(path), "--review", str(review), "-o", str(out))
    done = run(*words, home=tmp_path / "home")
    assert done.returncode == 3 and "and 4 other values of confirm_token" in done.stderr
    content = json.loads(review.read_text())
    assert [(group["name"], group["count"]) for group in content["groups"]] == [
        ("confirm_token", 5),
        ("db_password", 1),
    ]
    for group, decision in zip(content["groups"], ("replace", "keep"), strict=True):
        group["decision"] = decision
    content["findings"][2]["decision"] = "keep"  # its own decision holds
    review.write_text(json.dumps(content))
    done = run(*words, home=tmp_path / "home")
    assert done.returncode == 0 and out.read_text().count("Qx7mP2") == 1 and "s3cr3t-99z" in out.read_text()


def test_the_reader_decides_about_several_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("REREAD_HOME", str(tmp_path / "own"))
    path = many_tokens(tmp_path / "a")
    reviews = ShareReviews(lambda _: path)
    found = [finding for finding in reviews.review("x").findings if finding.name == "confirm_token"]
    after = reviews.change("x", {"action": "decide", "ids": [each.id for each in found], "decision": "replace"})
    assert len(found) == 5 and after.undecided == 1


def test_python_decides_about_a_group_at_once(tmp_path: Path):
    store = DecisionStore(tmp_path / "store")
    redaction = Redaction(reread.open(many_tokens(tmp_path / "a")), store=store)
    tokens, passwords = redaction.undecided_groups
    redaction.decide(tokens, "keep", everywhere=True)
    assert redaction.undecided == passwords and [each.name for each in passwords] == ["db_password"]
    again = Redaction(reread.open(many_tokens(tmp_path / "b")), store=DecisionStore(tmp_path / "store"))
    assert [each.name for each in again.undecided] == ["db_password"]  # as kept, about all five


def test_what_is_left_is_not_shown_once_all_are_replaced(tmp_path: Path):
    path, out = many_tokens(tmp_path / "a"), tmp_path / "x.md"
    text, code = in_terminal(tmp_path, ["share", str(path), "-o", str(out)], ["a"])
    assert code == 0 and "1/2" in text and "2/2" not in text, text
