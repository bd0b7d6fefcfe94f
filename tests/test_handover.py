"""Taking a session up again elsewhere: what is put where Claude Code looks, byte for byte, and what stays untouched."""

import errno
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from folder_bucket import use_folder
from killing import killed
from session_home import ID, Machine, line, write

import reread
from reread.base import jsontext
from reread.cli import reread as command
from reread.errors import Misuse, NotFound, Unreadable, Unwritable
from reread.handover.cut import with_slug
from reread.handover.session_files import running
from reread.storage.atomic import NewFile
from reread.storage.kept_names import SESSION_UUID, generation_path

STEPS = ("os.link", "os.rename", "os.mkdir", "os.remove", "open")


@pytest.fixture
def first(tmp_path: Path) -> Path:
    config = tmp_path / "first" / "claude"
    write(config)
    return config


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    yield Machine(tmp_path / "second", monkeypatch)


def expected(own: dict[str, bytes], machine: Machine) -> dict[str, bytes]:
    slug = machine.target().parent.name
    return {name.replace("projects/-first/", f"projects/{slug}/"): data for name, data in own.items()}


@pytest.mark.parametrize("place", ["folder", "file", "archive", "bucket", "archive of a moved session"])
def test_all_of_a_session_is_put_where_the_client_looks_byte_for_byte(
    place: str, first: Path, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = write(first)
    kept: str | Path = tmp_path / "kept"
    if place == "bucket":
        (tmp_path / "buckets" / "team").mkdir(parents=True)
        use_folder(monkeypatch, tmp_path / "buckets")
        kept = "s3://team/sessions"
    if place == "folder":
        done = reread.resume("5e55", root=first)
    elif place == "file":
        done = reread.resume(first / "projects" / "-first" / f"{ID}.jsonl")
    else:
        reread.keep(root=first, to=kept)
        if place.endswith("moved session"):
            moved = first / "projects" / "-second"
            moved.mkdir()
            (first / "projects" / "-first" / f"{ID}.jsonl").rename(moved / f"{ID}.jsonl")
            reread.keep(root=first, to=kept)
        done = reread.resume("5e55", root=kept)
    assert machine.files() == expected(own, machine)
    assert (done.session, done.cwd) == (ID, os.path.realpath(machine.project))
    assert done.command == ("claude", "--resume", ID)
    assert len(done.written) == len(own)
    again = reread.resume("5e55", root=first) if place == "folder" else reread.resume(machine.target())
    assert again.written == [] and machine.files() == expected(own, machine)


def test_a_session_that_the_client_deleted_comes_back_from_where_it_is_kept(first: Path, machine: Machine) -> None:
    own = write(machine.config)
    reread.keep()
    shutil.rmtree(machine.config)
    before = reread.resume("5e55", dry_run=True)
    assert machine.files() == {} and len(before.written) == len(own)
    reread.resume("5e55")
    assert machine.files() == expected(own, machine)


def test_an_earlier_generation_and_a_superseded_file_are_taken(machine: Machine, tmp_path: Path) -> None:
    source, kept = tmp_path / "source", tmp_path / "kept"
    path = source / "projects" / "-first" / f"{ID}.jsonl"
    path.parent.mkdir(parents=True)
    for state in (line(1) + line(2), line(7)):
        path.write_bytes(state)
        reread.keep(root=source, to=kept)
    reread.resume("5e55", root=kept, generation=1)
    assert machine.target().read_bytes() == line(1) + line(2)
    machine.target().unlink()
    reread.resume(generation_path(kept / "projects" / "-first" / f"{ID}.jsonl", 1))
    assert machine.target().read_bytes() == line(1) + line(2)
    machine.target().unlink()
    path.rename(f"{path}.superseded-1700000000000")
    reread.resume(f"{path}.superseded-1700000000000")
    assert machine.target().read_bytes() == line(7)


def test_what_is_there_is_continued_but_nothing_newer_or_other_is_replaced(first: Path, machine: Machine) -> None:
    own = write(first)
    target, data = machine.target(), own[f"projects/-first/{ID}.jsonl"]
    target.parent.mkdir(parents=True)

    def there(state: bytes, age: float = 3600) -> None:
        target.write_bytes(state)
        os.utime(target, (time.time() - age,) * 2)

    there(line(1))
    assert next(iter(reread.resume("5e55", root=first).files)).outcome == "grown"
    assert target.read_bytes() == data
    for state, said in ((data + line(9), "has gone on there"), (line(8), "is another one")):
        there(state)
        with pytest.raises(Misuse, match=said):
            reread.resume("5e55", root=first)
        assert target.read_bytes() == state
    there(line(1), age=1)
    with pytest.raises(Misuse, match="was written 1 second ago"):
        reread.resume("5e55", root=first)
    there(line(1))
    registry = machine.config / "sessions" / f"{os.getpid()}.json"
    registry.parent.mkdir()
    registry.write_text(json.dumps({"pid": os.getpid(), "sessionId": ID}))
    with pytest.raises(Misuse, match=f"running it, as process {os.getpid()}"):
        reread.resume("5e55", root=first)
    registry.rename(registry.with_name("1073741823.json"))  # no process has this number
    assert not running(ID, machine.config)
    assert target.read_bytes() == line(1)


def test_todos_and_plans_that_are_there_stay(first: Path, machine: Machine) -> None:
    plan = machine.config / "plans" / "old-blue-fox.md"
    plan.parent.mkdir(parents=True)
    plan.write_bytes(b"# A later plan")
    done = reread.resume("5e55", root=first)
    assert plan.read_bytes() == b"# A later plan"
    assert [file.path for file in done.files if file.outcome == "left"] == [str(plan)]


def test_a_session_of_its_own_folder_stays_unless_it_is_to_run_elsewhere(machine: Machine) -> None:
    ran_in, new = (machine.folder / name for name in ("ran", "a-new_one"))
    for folder in (ran_in, ran_in / "inner", new):
        folder.mkdir()
    path = machine.target(project=ran_in)
    path.parent.mkdir(parents=True)
    path.write_bytes(line(1, cwd=str(ran_in)) + line(2, cwd=str(ran_in / "inner")))
    done = reread.resume("5e55")
    assert (done.files, done.cwd, done.ran_in) == ((), str(ran_in), None)
    os.utime(path, (1, 1))
    done = reread.resume("5e55", into=new)
    copy = machine.target(project=new)
    assert [file.path for file in done.written] == [str(copy)] and done.cwd == os.path.realpath(new)
    for turn in (b"", line(3, cwd=str(new)), line(4, cwd=str(new / "inner"))):
        with copy.open("ab") as file:
            file.write(turn)
        said = [reread.resume(name).cwd for name in ("5e55", ID, copy, *(["latest"] if turn else []))]
        assert {*said} == {os.path.realpath(new)}, "the newest file counts, and where it lies"
        assert reread.resume(path).cwd == str(ran_in)
    with pytest.raises(Misuse, match="No folder"):
        reread.resume("5e55", into=machine.folder / "none")


def test_a_generation_is_taken_from_where_it_is_kept_or_is_an_error(machine: Machine) -> None:
    other = machine.folder / "other"
    other.mkdir()
    path = machine.target(project=other)
    path.parent.mkdir(parents=True)
    for state in (line(1) + line(2), line(7)):
        path.write_bytes(state)
        reread.keep()
    reread.resume("5e55", generation=1)
    assert machine.target().read_bytes() == line(1) + line(2) and path.read_bytes() == line(7)
    with pytest.raises(Misuse, match="is another one"):
        reread.resume(path, generation=1, into=other)
    for name in (ID, path):
        with pytest.raises(Misuse, match="kept are 1, 2"):
            reread.resume(name, generation=7)
    shutil.rmtree(machine.folder / "reread" / "archive")
    with pytest.raises(Misuse, match="nothing is kept"):
        reread.resume(path, generation=1)


def test_a_superseded_file_of_its_own_folder_is_put_back(machine: Machine) -> None:
    old = machine.target(f"{ID}.jsonl.superseded-1700000000000", machine.folder / "other")
    old.parent.mkdir(parents=True)
    old.write_bytes(line(1))
    done = reread.resume(old)
    assert machine.target().read_bytes() == line(1) and [file.path for file in done.written] == [str(machine.target())]


def test_a_damaged_copy_and_a_full_disk_are_clear_errors_and_leave_nothing(
    first: Path, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept"
    reread.keep(root=first, to=kept)

    def full(new: NewFile, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(NewFile, "write", full)
        with pytest.raises(Unwritable, match="No space left"):
            reread.resume("5e55", root=kept)
    assert machine.files() == {}
    frames = next(kept.rglob("toolu_1.txt.zst"))
    data = bytearray(frames.read_bytes())
    data[-1] ^= 1
    frames.write_bytes(data)
    with pytest.raises(Unreadable, match="toolu_1"):
        reread.resume("5e55", root=kept)
    assert machine.files() == {}


def test_a_run_that_is_killed_at_any_step_shows_nothing_or_all(first: Path, machine: Machine) -> None:
    own = write(first)
    whole = expected(own, machine)
    for step in range(0, 400, 7):
        was_killed = killed(lambda: reread.resume("5e55", root=first), step, machine.config, STEPS)
        found = machine.files()
        visible = {name: data for name, data in found.items() if ".reread-" not in name}
        assert all(whole[name] == data for name, data in visible.items())
        if machine.target().exists():
            assert visible == whole
        if not was_killed:
            break
        if step % 2:
            shutil.rmtree(machine.config, ignore_errors=True)
    assert not was_killed and step > 20
    reread.resume("5e55", root=first)
    assert {name: data for name, data in machine.files().items() if ".reread-" not in name} == whole


def test_two_at_once_put_it_once(first: Path, machine: Machine) -> None:
    own = write(first)
    said = f"import reread; reread.resume('5e55', root={str(first)!r})"
    both = [subprocess.Popen([sys.executable, "-c", said]) for _ in range(2)]
    assert [one.wait(timeout=120) for one in both] == [0, 0]
    assert machine.files() == expected(own, machine)


def test_only_prompts_and_no_session_are_errors(machine: Machine) -> None:
    machine.config.mkdir()
    prompt = {"display": "hi", "timestamp": 1, "project": "/p", "sessionId": ID}
    (machine.config / "history.jsonl").write_text(json.dumps(prompt) + "\n")
    with pytest.raises(Misuse, match="only its prompts are left"):
        reread.resume(ID)
    with pytest.raises(NotFound):
        reread.resume("nothing")


RUN_FILES = ("agent-wf_1.jsonl", "agent-wf_1.meta.json", "journal.jsonl")


class TestCut:
    """A new session that ends after a turn: the same records under an id of its own, and the other untouched."""

    @pytest.fixture
    def session(self, machine: Machine) -> Path:
        path = machine.target()
        (path.with_suffix("") / "tool-results").mkdir(parents=True)
        (path.with_suffix("") / "subagents").mkdir()
        cwd = str(machine.project)
        answer = lambda n, parent, *blocks: {  # noqa: E731
            "type": "assistant",
            "uuid": f"a{n}",
            "parentUuid": parent,
            "sessionId": ID,
            "message": {"id": f"m{n}", "role": "assistant", "content": list(blocks)},
        }
        use = lambda id: {"type": "tool_use", "id": id, "name": "Task", "input": {"sessionId": ID}}  # noqa: E731
        result = {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "tool-results/x.txt"}],
        }
        text = {"type": "text", "text": f"I am {ID}"}
        records = [
            {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {"b": {"backupFileName": "abc@v1"}}},
            json.loads(line(1, cwd=cwd)),
            answer(1, "u1", use("t1")),
            {"type": "user", "uuid": "r1", "parentUuid": "a1", "sessionId": ID, "message": result}
            | {"toolUseResult": {"agentId": "a1"}},
            answer(2, "r1", text),
            {"type": "last-prompt", "leafUuid": "a2", "sessionId": ID},
            {"type": "queue-operation", "operation": "enqueue", "content": "say 2", "sessionId": ID},
            json.loads(line(2, cwd=cwd, parentUuid="a2")),
            answer(3, "u2", text, use("t2")),
            answer(4, "a3", use("t3")),
            {"type": "file-history-snapshot", "messageId": "u3", "snapshot": {"b": {"backupFileName": "abc@v2"}}},
            json.loads(line(3, cwd=cwd, parentUuid="a4")),
            answer(5, "u3", text),
            json.loads(line(4, cwd=cwd, parentUuid="a2")),
            answer(6, "u4", text),
        ]
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        agent = {"type": "user", "uuid": "s1", "sessionId": ID, "agentId": "a1", "isSidechain": True}
        for name in ("a1", "zz"):
            data = json.dumps(agent | {"agentId": name, "message": {"role": "user", "content": "look"}}) + "\n"
            (path.with_suffix("") / "subagents" / f"agent-{name}.jsonl").write_text(data)
        for run, call in (("wf_1", "t1"), ("wf_2", "t2")):
            folder = path.with_suffix("") / "subagents" / "workflows" / run
            folder.mkdir(parents=True)
            (folder / "journal.jsonl").write_text("{}\n")
            (folder / f"agent-{run}.jsonl").write_text(json.dumps(agent | {"agentId": run}) + "\n")
            (folder / f"agent-{run}.meta.json").write_text(json.dumps({"toolUseId": call}))
        for name in ("x.txt", "y.txt"):
            (path.with_suffix("") / "tool-results" / name).write_text(name)
        backups = machine.config / "file-history" / ID
        backups.mkdir(parents=True)
        for name in ("abc@v1", "abc@v2"):
            (backups / name).write_text(name)
        return path

    def made(self, machine: Machine, before: dict[str, bytes], id: str) -> dict[str, bytes]:
        now = machine.files()
        assert {name: now[name] for name in before} == before, "the session itself was changed"
        new = {name: data for name, data in now.items() if name not in before}
        assert all(id in name for name in new)
        return {name.replace(id, "NEW"): data for name, data in new.items()}

    def test_it_ends_after_the_turn_with_its_agents_results_and_backups(self, session: Path, machine: Machine) -> None:
        before = machine.files()
        done = reread.resume(ID, at=1, path=0)
        slug = machine.target().parent.name
        new = self.made(machine, before, done.session)
        assert SESSION_UUID.fullmatch(done.session) and done.cut_from == ID
        assert {*new} == {
            f"projects/{slug}/NEW.jsonl",
            f"projects/{slug}/NEW/subagents/agent-a1.jsonl",
            *(f"projects/{slug}/NEW/subagents/workflows/wf_1/{name}" for name in RUN_FILES),
            f"projects/{slug}/NEW/tool-results/x.txt",
            "file-history/NEW/abc@v1",
        }
        lines = [json.loads(one) for one in new[f"projects/{slug}/NEW.jsonl"].splitlines()]
        assert [one.get("uuid") for one in lines] == [None, "u1", "a1", "r1", "a2"]
        assert {one["sessionId"] for one in lines[1:]} == {done.session}
        assert lines[2]["message"]["content"][0]["input"] == {"sessionId": ID}, "what was said stays"
        assert lines[4]["message"]["content"][0]["text"] == f"I am {ID}"
        with reread.open(done.session) as opened:
            assert [turn.prompt.text for turn in opened.turns if turn.prompt] == ["say 1"]
            assert {*opened.agents} == {"a1", "wf_1"} and opened.calls[0].agent is not None
            assert not [finding for finding in reread.check(opened) if finding.level == "error"]

    def test_an_error_leaves_nothing_of_it(
        self, session: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before, link = sorted(machine.config.rglob("*")), os.link

        def full(source: Path, target: Path) -> None:
            if target.suffix == ".jsonl" and target.parent == session.parent:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
            link(source, target)

        monkeypatch.setattr(os, "link", full)
        monkeypatch.setattr(Path, "rename", full)
        with pytest.raises(Unwritable, match="No space left"):
            reread.resume(ID, at=1, path=0)
        after = [path for path in sorted(machine.config.rglob("*")) if path not in before]
        assert after == []

    def test_its_plans_are_its_own(self, session: Path, machine: Machine) -> None:
        plans = machine.config / "plans"
        plans.mkdir(exist_ok=True)
        kept = {"old-blue-fox.md": "# Plan", "old-blue-fox-agent-a1.md": "# Of an agent", "another.md": "x"}
        for name, text in kept.items():
            (plans / name).write_text(text)
        rows = [{**json.loads(one), "slug": "old-blue-fox"} for one in session.read_text().splitlines()]
        session.write_text("".join(json.dumps(row) + "\n" for row in rows))
        done = reread.resume(ID, at=1, path=0)
        own = f"old-blue-fox-{done.session[:8]}"
        assert {path.name: path.read_text() for path in plans.iterdir()} == {
            **kept,
            f"{own}.md": "# Plan",
            f"{own}-agent-a1.md": "# Of an agent",
        }
        lines = [json.loads(one) for one in Path(done.files[0].path).read_text().splitlines()]
        assert {one["slug"] for one in lines} == {own}

    def test_a_turn_of_a_branch_has_no_call_without_its_result(self, session: Path, machine: Machine) -> None:
        before = machine.files()
        done = reread.resume(ID, at=3, path=0)
        lines = [json.loads(one) for one in Path(done.files[0].path).read_text().splitlines()]
        assert [one.get("uuid") for one in lines if one["type"] in ("user", "assistant")] == [
            *("u1", "a1", "r1", "a2", "u2", "a3", "u3", "a5")
        ]
        assert [block["type"] for one in lines if one.get("uuid") == "a3" for block in one["message"]["content"]] == [
            "text"
        ]
        assert next(one["parentUuid"] for one in lines if one.get("uuid") == "u3") == "a3"
        assert self.made(machine, before, done.session)["file-history/NEW/abc@v2"] == b"abc@v2"
        other = reread.resume(ID, at=2)
        prompts = [
            one["message"]["content"]
            for one in map(json.loads, Path(other.files[0].path).read_text().splitlines())
            if one["type"] == "user" and isinstance(one["message"]["content"], str)
        ]
        assert prompts == ["say 1", "say 4"]

    @pytest.mark.parametrize("odd", ["NaN", "-Infinity", '"\\ud800"', "1" * 5000, "[" * 5000 + "]" * 5000, "1e999"])
    def test_a_record_with_a_value_that_json_does_not_have_is_taken_over(
        self, session: Path, machine: Machine, odd: str
    ) -> None:
        first, *rest = session.read_text().splitlines(keepends=True)
        session.write_text("".join([first.rstrip()[:-1] + f',"odd":{odd},"slug":"fox","sessionId":"{ID}"}}\n', *rest]))
        done = reread.resume(ID, at=1, path=0)
        lines = [jsontext.loads(one) for one in Path(done.files[0].path).read_bytes().splitlines()]
        own = next(one for one in lines if "odd" in one)
        assert own["slug"] == f"fox-{done.session[:8]}"
        assert {one["sessionId"] for one in [own, *lines] if "sessionId" in one} == {done.session}

    @pytest.mark.parametrize("slug", [5, "", None, ["a"]])
    def test_a_slug_that_is_no_text_stays(self, slug: Any) -> None:
        written = json.dumps({"slug": slug}).encode()
        assert with_slug(written, "new") == written

    def test_a_turn_or_branch_that_is_not_there_is_an_error(self, session: Path, machine: Machine) -> None:
        before = machine.files()
        for options, said in (({"at": 9}, "has 2"), ({"at": 1, "path": 7}, "No path 7"), ({"path": 1}, "SESSION@2:4")):
            with pytest.raises(Misuse, match=said):
                reread.resume(ID, **options)  # pyright: ignore[reportArgumentType]
        assert reread.resume(ID, at=1, dry_run=True).written and machine.files() == before


class TestRenamedProjects:
    """A project whose folder was renamed, as the configuration says."""

    @pytest.fixture
    def renamed(self, machine: Machine) -> Path:
        new = machine.folder / "new" / "inner"
        new.mkdir(parents=True)
        path = machine.target(project=machine.folder / "old" / "inner")
        path.parent.mkdir(parents=True)
        path.write_bytes(line(1, cwd=f"{machine.folder}/old/inner"))
        config = machine.folder / "reread" / "config.json"
        config.parent.mkdir()
        moved = {f"{machine.folder}/old": f"{machine.folder}/new", "/x": 1, "": "/y"}
        config.write_text(json.dumps({"settings": {"moved": moved}}))
        return new

    def test_a_session_is_continued_where_its_project_is_now(self, renamed: Path, machine: Machine) -> None:
        done = reread.resume(ID)
        assert done.cwd == str(renamed) and Path(done.written[0].path).parent.name.endswith("-new-inner")

    def test_it_is_listed_there_with_where_it_was(self, renamed: Path, machine: Machine) -> None:
        (header,) = reread.sessions(project=renamed.parent)
        assert (header.project, header.moved_from) == (str(renamed), f"{machine.folder}/old/inner")
        assert [one.id for one in reread.sessions(project=f"{machine.folder}/old")] == [ID]
        said = CliRunner().invoke(command, ["ls"]).stdout
        assert f"{renamed} (was {machine.folder}/old/inner)" in " ".join(said.split())
