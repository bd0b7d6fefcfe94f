"""Everything that earlier versions wrote is read and continued: archives, buckets, tables, usage, and their own folder.

`fixtures/v0.2` and `fixtures/v0.3` were written by 0.2.0 and 0.3.0 on a machine whose user is sam: two sessions, of
which one grew, and one was rewritten and then deleted; of 0.3, also one that was superseded. `cache.sqlite` has the
usage of sessions whose files are gone. `home` has stars, notes, a captured conversation and decisions about the secrets
of another session; `review.json` and `shared.md` are of that session, too.

Only 0.3 has budgets, a trash, a status line, git notes (`harbor.bundle`), and the figures of a team in its bucket, made
from the sessions in `team`; `usage.json` is what it said of the sessions that are gone.
"""

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from command import run
from folder_bucket import use_folder

import reread
from reread.archive.verify import KeptEntry, KeptProblem
from reread.catalog.annotations import Annotation, Annotations
from reread.disk.cache import GONE
from reread.redaction.decisions import DecisionStore
from reread.reports.budget_report import stored_budgets

FIXTURES = Path(__file__).parent / "fixtures"
GROWN, REWRITTEN = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
WITH_SECRETS, SUPERSEDED = "33333333-3333-4333-8333-333333333333", "55555555-5555-4555-8555-555555555555"
WRITER, TRASHED = "77777777-7777-4777-8777-777777777777", "66666666-6666-4666-8666-666666666666"
PROJECT = Path("projects") / "-home-sam-harbor"
SAM = "/home/sam/.claude"
V03 = FIXTURES / "v0.3"
only_03 = pytest.mark.parametrize("version", ["0.3"], indirect=True)


@pytest.fixture(params=["0.2", "0.3"])
def version(request: pytest.FixtureRequest) -> str:
    """The version that wrote something."""
    return request.param


@pytest.fixture(params=["folder", "bucket"])
def archive(
    request: pytest.FixtureRequest, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> reread.Archive:
    """An archive, in a folder or in a bucket."""
    for name in ("archive", "bucket"):
        shutil.copytree(FIXTURES / f"v{version}" / name, tmp_path / "kept" / name)
    monkeypatch.setenv("REREAD_MACHINE", "laptop")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    if request.param == "folder":
        return reread.Archive(tmp_path / "kept" / "archive")
    use_folder(monkeypatch, tmp_path / "kept" / "bucket")
    return reread.Archive("s3://team/sessions")


def assert_whole(archive: reread.Archive, count: int) -> None:
    found = list(archive.verify())
    assert [one for one in found if isinstance(one, KeptProblem) and one.level == "error"] == []
    assert sum(isinstance(one, KeptEntry) for one in found) == count


def numbers(path: Path) -> list[int]:
    """Return the numbers of the lines in a file, by what they say."""
    return [int(line.partition("line ")[2].partition(" of")[0]) for line in path.read_text().splitlines()]


def test_what_was_kept_is_read_and_restored(archive: reread.Archive, version: str, tmp_path: Path) -> None:
    found = {header.id: header for header in reread.sessions(root=archive.name)}
    assert found.keys() == {GROWN, REWRITTEN, *([SUPERSEDED] if version == "0.3" else [])}
    said = [message.text for message in reread.open(found[GROWN]).messages]
    assert said == [f"line {number} of 1111, said in {version}" for number in range(10)]
    assert_whole(archive, 3 if version == "0.2" else 6)
    archive.restore(to=tmp_path / "newest")
    assert numbers(tmp_path / "newest" / PROJECT / f"{GROWN}.jsonl") == list(range(10))
    assert numbers(tmp_path / "newest" / PROJECT / f"{REWRITTEN}.jsonl") == list(range(2, 8))
    archive.restore(to=tmp_path / "first", generation=1)
    assert numbers(tmp_path / "first" / PROJECT / f"{REWRITTEN}.jsonl") == list(range(4))


def test_what_was_kept_is_continued_and_pruned(archive: reread.Archive, version: str, tmp_path: Path) -> None:
    archive.restore(to=tmp_path / "claude")
    source, other = (tmp_path / "claude" / PROJECT / f"{id}.jsonl" for id in (GROWN, REWRITTEN))
    line = source.read_text().splitlines()[-1].replace("line 9", "line 10").replace("0009", "0010")
    with source.open("a") as file:
        file.write(line + "\n")
    outcomes = {Path(file.path).stem: (file.outcome, file.generation) for file in archive.keep().files}
    assert outcomes == {GROWN: ("grown", 1), REWRITTEN: ("unchanged", 2)} | (
        {SUPERSEDED: ("unchanged", 2), f"{SUPERSEDED}.jsonl": ("unchanged", 1)} if version == "0.3" else {}
    )
    other.write_text(other.read_text() + "".join(f'{{"type":"x","text":"line {number} of"}}\n' for number in (0, 1)))
    archive.keep()
    count = 3 if version == "0.2" else 6
    assert_whole(archive, count)
    assert [one.generation for one in archive.prune()] == [], "lines of the first generation are in no other"
    archive.restore(GROWN, to=tmp_path / "again")
    assert (tmp_path / "again" / PROJECT / source.name).read_bytes() == source.read_bytes()
    assert len(archive.prune(REWRITTEN)) == 2
    assert_whole(archive, count - 2)


def test_a_superseded_file_that_was_kept_is_read_as_a_state(tmp_path: Path) -> None:
    archive = reread.Archive(_copied(tmp_path, "0.3"))
    session = reread.open(SUPERSEDED, root=archive.name)
    said = [(message.text.partition(" of")[0], "dropped" in message.flags) for message in session.messages]
    assert said == [(f"line {number}", number < 4) for number in range(8)]


def test_tables_are_read_and_continued(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REREAD_MACHINE", "laptop")
    out = tmp_path / "tables"
    shutil.copytree(FIXTURES / f"v{version}" / "tables", out)
    before = {name: reread.tables(out)[name].read_all() for name in ("sessions", "records", "messages", "usage")}
    rows = {"0.2": [1, 10, 10, 5], "0.3": [2, 14, 13, 7]}[version]
    assert [found.num_rows for found in before.values()] == rows
    messages, known = rows[2], 0 if version == "0.2" else rows[2]
    assert before["records"]["dropped"].null_count == (10 if version == "0.2" else 0), "a column that 0.2 did not have"
    query = "select count(*) as n, count(dropped) as known from messages"

    def counted() -> list[int]:
        return list(reread.tables(out).sql(query).read_all().to_pylist()[0].values())

    assert counted() == [messages, known]
    reread.Archive(_copied(tmp_path, version)).restore(REWRITTEN, to=tmp_path / "claude")
    monkeypatch.setenv("REREAD_MACHINE", "other")
    reread.tables(root=tmp_path / "claude").write(out)
    assert counted() == [messages + 6, known + 6], "versions are read together"
    monkeypatch.setenv("REREAD_MACHINE", "laptop")
    report = reread.tables(root=tmp_path / "claude").write(out, keep_deleted=True)
    assert (report.read, report.rows["messages"]) == (1, messages + 6), "rows that cannot be made again stay"
    assert reread.tables(out)["messages"].read_all().num_rows == messages + 6
    assert reread.tables(root=tmp_path / "claude").write(out, keep_deleted=True).read == 0
    assert reread.tables(root=tmp_path / "claude").write(out).rows["messages"] == 6


def test_calls_and_edits_of_sessions_that_are_gone_stay_in_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REREAD_MACHINE", "laptop")
    shutil.copytree(V03 / "tables", tmp_path / "tables")
    (tmp_path / "claude" / "projects").mkdir(parents=True)
    names = ("calls", "edits", "files")
    before = [reread.tables(tmp_path / "tables")[name].read_all().to_pylist() for name in names]
    reread.tables(root=tmp_path / "claude").write(tmp_path / "tables", keep_deleted=True)
    assert [reread.tables(tmp_path / "tables")[name].read_all().to_pylist() for name in names] == before
    assert [len(rows) for rows in before] == [1, 1, 1]


@pytest.fixture
def counted_before(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of Claude Code whose sessions are gone, and the cache with what was counted of them."""
    for name, folder in {"REREAD_CACHE": "cache", "CLAUDE_CONFIG_DIR": "claude"}.items():
        (tmp_path / folder).mkdir()
        monkeypatch.setenv(name, str(tmp_path / folder))
    shutil.copyfile(FIXTURES / f"v{version}" / "cache.sqlite", tmp_path / "cache" / "cache.sqlite")
    (tmp_path / "cache" / "cache.sqlite").chmod(0o600)
    with sqlite3.connect(tmp_path / "cache" / "cache.sqlite") as database:
        database.execute("UPDATE usage_digests SET path = replace(path, ?, ?)", [SAM, f"{tmp_path}/claude"])
    database.close()
    (tmp_path / "claude" / PROJECT).mkdir(parents=True)
    return tmp_path / "claude"


def test_usage_of_sessions_that_are_gone_is_still_known(counted_before: Path, version: str, tmp_path: Path) -> None:
    tokens = {"0.2": 125, "0.3": 277}[version]
    for _ in range(2):
        assert reread.usage(keep_deleted=True).totals.output_tokens == tokens
    archive = reread.Archive(_copied(tmp_path, version))
    archive.restore(GROWN, to=counted_before)
    assert reread.usage(keep_deleted=True).totals.output_tokens == tokens, (
        "what is there is read anew, and counted once"
    )
    (counted_before / PROJECT / f"{GROWN}.jsonl").unlink()
    assert reread.usage(keep_deleted=True).totals.output_tokens == tokens
    assert reread.usage().totals.output_tokens == 0


@only_03
def test_tables_that_nobody_reads_any_more_are_dropped(counted_before: Path, tmp_path: Path) -> None:
    assert reread.usage(root=counted_before).totals.output_tokens == 0
    with closing(sqlite3.connect(tmp_path / "cache" / "cache.sqlite")) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert {"usage_digests", "file_change"} <= tables and tables.isdisjoint(GONE)


@only_03
@pytest.mark.usefixtures("counted_before")
def test_usage_of_sessions_that_are_gone_has_the_same_figures(tmp_path: Path) -> None:
    said = json.loads((V03 / "usage.json").read_text())
    done = run("usage", "--keep-deleted", "--by", "session,model,agent_type", "--json", home=tmp_path / "claude")
    now = json.loads(done.stdout)
    assert [{name: row.get(name) for name in was} for row, was in zip(now["rows"], said["rows"], strict=True)] == [
        {name: pytest.approx(value) if isinstance(value, float) else value for name, value in row.items()}
        for row in said["rows"]
    ]


@pytest.fixture
def home(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with what people wrote, and the sessions that it is about."""
    for name, folder in {"REREAD_HOME": "home", "CLAUDE_CONFIG_DIR": "claude"}.items():
        shutil.copytree(FIXTURES / f"v{version}" / folder, tmp_path / folder)
        monkeypatch.setenv(name, str(tmp_path / folder))
    for manifest in (tmp_path / "home").glob("trash/*/manifest.json"):
        manifest.write_text(manifest.read_text().replace(SAM, str(tmp_path / "claude")))
    reread.Archive(_copied(tmp_path, version)).restore(to=tmp_path / "claude")
    return tmp_path / "home"


def test_stars_and_notes_are_shown_and_changed(home: Path, version: str) -> None:
    found = {header.id: (header.starred, header.note) for header in reread.sessions()}
    assert (found[GROWN], found[REWRITTEN]) == ((True, f"said in {version}"), (False, "only a note"))
    assert Annotations().change(GROWN, note="said now", was=f"said in {version}")
    Annotations().change(REWRITTEN, starred=True)
    assert Annotations(home).all() == {
        GROWN: Annotation(starred=True, note="said now"),
        REWRITTEN: Annotation(starred=True, note="only a note"),
    }


def test_decisions_hold_and_change_and_what_was_shared_is_undone(home: Path, version: str, tmp_path: Path) -> None:
    def shared(*options: str) -> str:
        done = run("share", WITH_SECRETS, *options, "-o", str(tmp_path / "x.md"), home=tmp_path / "claude")
        assert done.returncode == 0, done.stderr
        return (tmp_path / "x.md").read_text()

    text = shared()
    assert ("hunter2" in text, "kQ8vT2" in text) == (False, True)
    store = DecisionStore()
    store.decide_everywhere([store.id_of("kQ8vT2mZx0bL9sRw4Yp1")], "replace")
    assert "kQ8vT2" not in shared()
    back = run("share", "--undo", str(FIXTURES / f"v{version}" / "shared.md"), "-o", str(tmp_path / "back.md"))
    assert back.returncode == 0 and "hunter2-blue-harbor-77" in (tmp_path / "back.md").read_text(), back.stderr
    (home / "share" / "decisions.json").unlink()
    review = json.loads((FIXTURES / f"v{version}" / "review.json").read_text())
    for finding, decision in zip(review["findings"], ("keep", "replace"), strict=True):
        finding["decision"] = decision
    (tmp_path / "review.json").write_text(json.dumps(review))
    text = shared("--review", str(tmp_path / "review.json"))
    assert ("hunter2" in text, "kQ8vT2" in text) == (True, False)


def test_a_captured_conversation_is_read_and_continued(home: Path, version: str) -> None:
    path = home / "conversations" / "default" / "default" / "talk.jsonl"
    written = path.read_bytes()
    line = '{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"two"}]}}'
    with reread.capture([sys.executable, "-c", f"print({line!r})"], conversation="talk") as capture:
        assert len(list(capture)) == 1
    assert path.read_bytes().startswith(written)
    talk = reread.open("talk")
    assert (talk.title, [message.text for message in talk.messages if message.role == "assistant"]) == (
        f"Said in {version}",
        ["answer 1", "two"],
    )
    assert run("replay", "talk", "--speed=instant").stdout.splitlines()[-1] == line


@only_03
def test_what_is_in_the_trash_is_put_back(home: Path, tmp_path: Path) -> None:
    prompts = tmp_path / "claude" / "history.jsonl"
    assert TRASHED[:8] in run("ls", "--only", "trash", home=tmp_path / "claude").stdout
    done = run("delete", "--undo", home=tmp_path / "claude")
    assert done.returncode == 0, done.stderr
    assert numbers(tmp_path / "claude" / PROJECT / f"{TRASHED}.jsonl") == list(range(6))
    assert next((tmp_path / "claude" / "file-history" / TRASHED).iterdir()).read_text() == "before\n"
    assert [json.loads(line)["display"] for line in prompts.read_text().splitlines()] == [
        "line 0 of 3333",
        "line 0 of 6666",
        "another of 3333",
    ]
    assert list((home / "trash").glob("*")) == []


@only_03
def test_what_is_in_the_trash_is_deleted_for_good(home: Path, tmp_path: Path) -> None:
    done = run("delete", TRASHED, "--now", "--yes", home=tmp_path / "claude")
    assert done.returncode == 0, done.stderr
    assert list((home / "trash").glob("*")) == []


@only_03
@pytest.mark.usefixtures("home")
def test_budgets_hold_and_change(tmp_path: Path) -> None:
    run("budget", "remove", "day", home=tmp_path / "claude")
    run("budget", "set", "5/week", home=tmp_path / "claude")
    found = {(one.per, one.amount_usd, one.project, one.model, one.team) for one in stored_budgets()}
    assert found == {
        ("week", 5, None, None, None),
        ("month", 200, "harbor", "opus", None),
        ("month", 2000, None, None, "shop"),
    }


@only_03
@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("again", [False, True])
def test_a_status_line_is_removed(again: bool, tmp_path: Path) -> None:
    if again:
        run("statusline", "--install", "--format", "{cost}", "--yes", home=tmp_path / "claude")
    done = run("statusline", "--uninstall", home=tmp_path / "claude")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "claude" / "settings.json").read_text()) == {"model": "opus"}


def test_git_notes_name_sessions_that_are_gone(tmp_path: Path) -> None:
    for words in (
        ["init", "-q"],
        ["fetch", "-q", str(V03 / "harbor.bundle"), "refs/*:refs/*"],
        ["checkout", "-q", "main"],
    ):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True)
    done = run("blame", str(tmp_path / "light.py"), "--json", home=tmp_path / "claude")
    lines = json.loads(done.stdout)
    assert [(line["session"], line["turn"], line["evidence"]) for line in lines] == [(WRITER, 1, "note")] * 2


def test_the_figures_of_a_team_are_read_and_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(V03 / "bucket", tmp_path / "bucket")
    shutil.copytree(V03 / "team", tmp_path / "team")
    use_folder(monkeypatch, tmp_path / "bucket")
    bucket = "s3://team/figures"
    monkeypatch.setenv("REREAD_TEAM", "shop")
    monkeypatch.setenv("REREAD_TEAM_KEY", "0123456789abcdef" * 2)
    machines = {person: tmp_path / "team" / person for person in ("ann", "ben", "cat")}

    def assert_counted_once() -> None:
        report, own = reread.team(bucket).usage(by=()), reread.usage(root=[*machines.values()], cache=False).totals
        assert (report.totals.people, report.totals.machines, report.totals.responses) == (3, 3, 15)
        assert report.totals["output_tokens"] == own.output_tokens == 1522
        assert report.totals["cost_usd"] == pytest.approx(own.cost_usd)
        assert reread.team(bucket).stats(by=()).totals["calls"] == 15
        assert reread.team(bucket).sessions(by=()).totals["sessions"] == 4
        assert reread.team(bucket).verify() == []

    assert_counted_once()
    for keep_deleted in (True, False):
        for person, root in machines.items():
            monkeypatch.setenv("REREAD_PERSON", person)
            monkeypatch.setenv("REREAD_MACHINE", f"{person}-1")
            reread.tables(root=root).write(bucket, figures=True, keep_deleted=keep_deleted)
            if person in ("ann", "cat"):  # what both versions wrote, and then only this one
                assert_counted_once()


def _copied(tmp_path: Path, version: str) -> Path:
    shutil.copytree(FIXTURES / f"v{version}" / "archive", tmp_path / "archive")
    return tmp_path / "archive"
