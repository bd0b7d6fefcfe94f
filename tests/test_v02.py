"""Everything that version 0.2.0 wrote is read and continued: archives, buckets, tables, usage, and its own folder.

`fixtures/v0.2` was written by that version: two sessions, of which one grew, and one was rewritten and then deleted.
Its `cache.sqlite` has the usage of the first one, whose file is gone. `home` has stars, notes, a captured conversation
and decisions about the secrets of a third session; `review.json` and `shared.md` are of that session, too.
"""

import json
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest
from command import run
from folder_bucket import use_folder

import reread
from reread.archive.verify import KeptEntry, KeptProblem
from reread.catalog.annotations import Annotation, Annotations
from reread.redaction.decisions import DecisionStore

FIXTURES = Path(__file__).parent / "fixtures" / "v0.2"
GROWN, REWRITTEN = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
WITH_SECRETS = "33333333-3333-4333-8333-333333333333"
PROJECT = Path("projects") / "-home-sam-harbor"


@pytest.fixture(params=["folder", "bucket"])
def archive(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> reread.Archive:
    """An archive of version 0.2, in a folder or in a bucket."""
    shutil.copytree(FIXTURES, tmp_path / "v0.2")
    monkeypatch.setenv("REREAD_MACHINE", "laptop")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    if request.param == "folder":
        return reread.Archive(tmp_path / "v0.2" / "archive")
    use_folder(monkeypatch, tmp_path / "v0.2" / "bucket")
    return reread.Archive("s3://team/sessions")


def assert_whole(archive: reread.Archive, count: int) -> None:
    found = list(archive.verify())
    assert [one for one in found if isinstance(one, KeptProblem) and one.level == "error"] == []
    assert sum(isinstance(one, KeptEntry) for one in found) == count


def numbers(path: Path) -> list[int]:
    """Return the numbers of the lines in a file, by what they say."""
    return [int(line.partition("line ")[2].partition(" of")[0]) for line in path.read_text().splitlines()]


def test_what_was_kept_is_read_and_restored(archive: reread.Archive, tmp_path: Path) -> None:
    found = {header.id: header for header in reread.sessions(root=archive.name)}
    assert found.keys() == {GROWN, REWRITTEN}
    said = [message.text for message in reread.open(found[GROWN]).messages]
    assert said == [f"line {number} of 1111, said in 0.2" for number in range(10)]
    assert_whole(archive, 3)
    archive.restore(to=tmp_path / "newest")
    assert numbers(tmp_path / "newest" / PROJECT / f"{GROWN}.jsonl") == list(range(10))
    assert numbers(tmp_path / "newest" / PROJECT / f"{REWRITTEN}.jsonl") == list(range(2, 8))
    archive.restore(to=tmp_path / "first", generation=1)
    assert numbers(tmp_path / "first" / PROJECT / f"{REWRITTEN}.jsonl") == list(range(4))


def test_what_was_kept_is_continued_and_pruned(archive: reread.Archive, tmp_path: Path) -> None:
    archive.restore(to=tmp_path / "claude")
    source, other = (tmp_path / "claude" / PROJECT / f"{id}.jsonl" for id in (GROWN, REWRITTEN))
    line = source.read_text().splitlines()[-1].replace("line 9", "line 10").replace("0009", "0010")
    with source.open("a") as file:
        file.write(line + "\n")
    outcomes = {Path(file.path).stem: (file.outcome, file.generation) for file in archive.keep().files}
    assert outcomes == {GROWN: ("grown", 1), REWRITTEN: ("unchanged", 2)}
    other.write_text(other.read_text() + "".join(f'{{"type":"x","text":"line {number} of"}}\n' for number in (0, 1)))
    archive.keep()
    assert_whole(archive, 3)
    assert [one.generation for one in archive.prune()] == [], "lines of the first generation are in no other"
    archive.restore(GROWN, to=tmp_path / "again")
    assert (tmp_path / "again" / PROJECT / source.name).read_bytes() == source.read_bytes()
    assert len(archive.prune(REWRITTEN)) == 2
    assert_whole(archive, 1)


def test_tables_are_read_and_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_MACHINE", "laptop")
    out = tmp_path / "tables"
    shutil.copytree(FIXTURES / "tables", out)
    before = {name: reread.tables(out)[name].read_all() for name in ("sessions", "records", "messages", "usage")}
    assert [found.num_rows for found in before.values()] == [1, 10, 10, 5]
    assert before["records"]["dropped"].null_count == 10, "a column that 0.2 did not have"
    query = "select count(*) as n, count(dropped) as known from messages"
    assert reread.tables(out).sql(query).read_all().to_pylist() == [{"n": 10, "known": 0}]
    reread.Archive(_copied(tmp_path)).restore(REWRITTEN, to=tmp_path / "claude")
    monkeypatch.setenv("REREAD_MACHINE", "other")
    reread.tables(root=tmp_path / "claude").write(out)
    assert reread.tables(out).sql(query).read_all().to_pylist() == [{"n": 16, "known": 6}], "versions are read together"
    monkeypatch.setenv("REREAD_MACHINE", "laptop")
    report = reread.tables(root=tmp_path / "claude").write(out, keep_deleted=True)
    assert (report.read, report.rows["messages"]) == (1, 16), "rows that cannot be made again stay"
    assert reread.tables(out)["messages"].read_all().num_rows == 16
    assert reread.tables(root=tmp_path / "claude").write(out, keep_deleted=True).read == 0
    assert reread.tables(root=tmp_path / "claude").write(out).rows["messages"] == 6


def test_usage_of_sessions_that_are_gone_is_still_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, folder in {"REREAD_CACHE": "cache", "CLAUDE_CONFIG_DIR": "claude"}.items():
        (tmp_path / folder).mkdir()
        monkeypatch.setenv(name, str(tmp_path / folder))
    shutil.copyfile(FIXTURES / "cache.sqlite", tmp_path / "cache" / "cache.sqlite")
    (tmp_path / "cache" / "cache.sqlite").chmod(0o600)
    with sqlite3.connect(tmp_path / "cache" / "cache.sqlite") as database:
        database.execute(
            "UPDATE usage_digests SET path = replace(path, '/home/sam/.claude', ?)", [f"{tmp_path}/claude"]
        )
    database.close()
    (tmp_path / "claude" / PROJECT).mkdir(parents=True)
    for _ in range(2):
        assert reread.usage(keep_deleted=True).totals.output_tokens == 125
    archive = reread.Archive(_copied(tmp_path))
    archive.restore(GROWN, to=tmp_path / "claude")
    assert reread.usage(keep_deleted=True).totals.output_tokens == 125, "what is there is read anew, and counted once"
    (tmp_path / "claude" / PROJECT / f"{GROWN}.jsonl").unlink()
    assert reread.usage(keep_deleted=True).totals.output_tokens == 125
    assert reread.usage().totals.output_tokens == 0


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of version 0.2 with what people wrote, and the sessions that it is about."""
    for name, folder in {"REREAD_HOME": "home", "CLAUDE_CONFIG_DIR": "claude"}.items():
        shutil.copytree(FIXTURES / folder, tmp_path / folder)
        monkeypatch.setenv(name, str(tmp_path / folder))
    reread.Archive(_copied(tmp_path)).restore(to=tmp_path / "claude")
    return tmp_path / "home"


def test_stars_and_notes_are_shown_and_changed(home: Path) -> None:
    found = {header.id: (header.starred, header.note) for header in reread.sessions()}
    assert (found[GROWN], found[REWRITTEN]) == ((True, "said in 0.2"), (False, "only a note"))
    assert Annotations().change(GROWN, note="said in 0.3", was="said in 0.2")
    Annotations().change(REWRITTEN, starred=True)
    assert Annotations(home).all() == {
        GROWN: Annotation(starred=True, note="said in 0.3"),
        REWRITTEN: Annotation(starred=True, note="only a note"),
    }


def test_decisions_hold_and_change_and_what_was_shared_is_undone(home: Path, tmp_path: Path) -> None:
    def shared(*options: str) -> str:
        done = run("share", WITH_SECRETS, *options, "-o", str(tmp_path / "x.md"), home=tmp_path / "claude")
        assert done.returncode == 0, done.stderr
        return (tmp_path / "x.md").read_text()

    text = shared()
    assert ("hunter2" in text, "kQ8vT2" in text) == (False, True)
    store = DecisionStore()
    store.decide_everywhere([store.id_of("kQ8vT2mZx0bL9sRw4Yp1")], "replace")
    assert "kQ8vT2" not in shared()
    back = run("share", "--undo", str(FIXTURES / "shared.md"), "-o", str(tmp_path / "back.md"))
    assert back.returncode == 0 and "hunter2-blue-harbor-77" in (tmp_path / "back.md").read_text(), back.stderr
    (home / "share" / "decisions.json").unlink()
    review = json.loads((FIXTURES / "review.json").read_text())
    for finding, decision in zip(review["findings"], ("keep", "replace"), strict=True):
        finding["decision"] = decision
    (tmp_path / "review.json").write_text(json.dumps(review))
    text = shared("--review", str(tmp_path / "review.json"))
    assert ("hunter2" in text, "kQ8vT2" in text) == (True, False)


def test_a_captured_conversation_is_read_and_continued(home: Path) -> None:
    path = home / "conversations" / "default" / "default" / "talk.jsonl"
    written = path.read_bytes()
    line = '{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"two"}]}}'
    with reread.capture([sys.executable, "-c", f"print({line!r})"], conversation="talk") as capture:
        assert len(list(capture)) == 1
    assert path.read_bytes().startswith(written)
    talk = reread.open("talk")
    assert (talk.title, [message.text for message in talk.messages if message.role == "assistant"]) == (
        "Said in 0.2",
        ["answer 1", "two"],
    )
    assert run("replay", "talk", "--instant").stdout.splitlines()[-1] == line


def _copied(tmp_path: Path) -> Path:
    shutil.copytree(FIXTURES / "archive", tmp_path / "archive")
    return tmp_path / "archive"
