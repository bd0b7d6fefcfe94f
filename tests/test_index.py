"""The search index: what is derived equals what is made anew, whatever happened to the files and to the writer."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from batches import table
from damage import replace_bytes
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from indexes import index_folder, open_reader
from making import (
    SESSION,
    answer,
    attachment,
    event,
    jsonl,
    printed,
    progress,
    reply,
    result,
    state,
    system,
    thinking,
    told,
    use,
    user,
    write,
)

import reread
from reread.disk.file_set import find_files
from reread.errors import Misuse, Unwritable
from reread.index import index_files, segments, stale_files, store, update
from reread.index.documents import is_own_call
from reread.index.find import DAMAGED, NEWEST, RELEVANCE, find
from reread.index.hits import Hit
from reread.index.search_process import Searcher, SearchRequest
from reread.index.store import BrokenIndex, IndexReader
from reread.index.update import refresh
from reread.render.search_results import read_command
from reread.storage.lock import lock

KILLS = int(os.environ.get("REREAD_KILLS", "6"))
"""How many times the writer is killed; 500 in a long run."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root/projects/p").mkdir(parents=True)
    return tmp_path / "root"


def hits(root: Path, query: str, **options: Any) -> list[Hit]:
    return list(reread.search(query, root=root, **options))


def texts(root: Path, query: str, **options: Any) -> list[str]:
    return sorted(f"{hit.before}{hit.match}{hit.after}" for hit in hits(root, query, **options))


def dump() -> set[tuple[object, ...]]:
    """Everything in the index: the place of each unit, with each word that finds it."""
    reader = open_reader()
    assert reader is not None
    found: set[tuple[object, ...]] = set()
    for field in ("text", "pieces", "tool", "path", "model", "branch"):
        for term, _ in reader.searcher.terms_with_prefix(field, ""):
            query = store.tantivy.Query.term_query(reader.schema, field, term)
            addresses = [address for _, address in reader.searcher.search(query, 10_000).hits]
            found |= {(field, term, reader.path_of(place.file), *place) for place in reader.places(addresses)}
    return found


def rebuilt(root: Path, monkeypatch: pytest.MonkeyPatch, folder: Path) -> set[tuple[object, ...]]:
    """What an index that is made anew has."""
    with monkeypatch.context() as patch:
        patch.setenv("REREAD_CACHE", str(folder))
        refresh(find_files([root]))
        return dump()


def test_every_kind_of_unit_is_found_where_it_is(root: Path) -> None:
    path = write(
        root,
        user("a prompt about apples"),
        reply(
            thinking("thinking of bananas"),
            "an answer about cherries",
            use("t1", "Read", file_path="/src/dates.py"),
            {"type": "later", "words": "a new block about papayas"},
        ),
        answer(result("t1", "1\tfile with elderberries"), data={"file": {"filePath": "/src/dates.py"}}),
        system("informational", "a notice about figs"),
        state("custom-title", customTitle="A title with grapes"),
        state("run", run={"id": "r1", "argv": ["claude", "-p", "a run about honeydew"]}),
        state("queue-operation", operation="enqueue", content="waiting for limes"),
        state("last-prompt", lastPrompt="the last one about mangoes"),
        state("run", run={"argv": "a run about nectarines"}),
    )
    for word, kind, line in [
        ("apples", "prompt", 1),
        ("bananas", "thinking", 2),
        ("cherries", "text", 2),
        ("dates", "input", 2),
        ("papayas", "text", 2),
        ("elderberries", "result", 3),
        ("figs", "notice", 4),
        ("grapes", "title", 5),
        ("honeydew", "prompt", 6),
        ("limes", "prompt", 7),
        ("mangoes", "prompt", 8),
    ]:
        found = [hit for hit in hits(root, word) if hit.kind == kind]
        assert [(hit.line, hit.match.lower(), hit.path) for hit in found] == [(line, word, str(path))], word
        assert found[0].session == SESSION
        assert found[0].title == "A title with grapes"
    read = next(hit for hit in hits(root, "elderberries"))
    assert (read.tool, read.call, read.turn, read.file) == ("Read", "t1", 1, "/src/dates.py")
    assert read.link.startswith("#/s/a?call=t1")


def test_filters_choose_by_kind_tool_file_error_model_branch_project_and_time(root: Path) -> None:
    write(
        root,
        user("needle", cwd="/home/me/shop", gitBranch="feat/login"),
        reply(
            "needle",
            use("t1", "Bash", command="needle"),
            use("t2", "mcp__github__create_issue", path="src/app.py", q="needle"),
        ),
        answer(result("t1", "needle", is_error=True)),
    )
    write(root, user("needle, too", cwd="/home/me/other"), name="b", project="q")
    kinds = {
        "in:prompts": 2,
        "in:text": 1,
        "kind:input,result": 3,
        "tool:bash": 2,
        "tool:github": 1,
        "tool:create_issue": 1,
        "file:app.py": 1,
        "file:src/app.py": 1,
        "file:other.py": 0,
        "is:error": 1,
        "model:x": 3,
        "branch:feat/login": 1,
        "project:/home/me/shop": 4 + 1,
        "project:/home/me/other": 1,
        "before:2025-01-29": 0,
        "after:2025-01-28 before:2025-02-01": 6,
        "since:2025-01-30": 0,
        "session:a": 5,
        "-in:prompts": 4,
        "is:error OR in:prompts": 3,
    }
    for query, count in kinds.items():
        assert len(hits(root, f"needle {query}")) == count, query
    assert len(hits(root, "needle", kinds="prompts", project="/home/me/shop")) == 1
    assert len(hits(root, "needle", tool=["Bash"], errors=True)) == 1
    assert len(hits(root, "needle", path="app.py", model="x", since="2025-01-01", until="2025-01-29")) == 1
    assert len(hits(root, "needle", limit=2)) == 2
    with pytest.raises(Misuse):
        hits(root, "needle", kinds="nothing")


def test_agents_branches_and_what_a_compaction_hid_are_found(root: Path) -> None:
    path = write(
        root,
        user("first"),
        reply("before the rewind", id="m1"),
        user("abandoned needle"),
        reply("gone", id="m2"),
        user("continued", parentUuid="u2"),
        reply(use("t1", "Task", prompt="go"), id="m3"),
        answer(result("t1", "done"), data={"agentId": "x1", "status": "completed"}),
        system("compact_boundary", "Conversation compacted"),
        user("last"),
    )
    agent = path.with_suffix("") / "subagents/agent-x1.jsonl"
    agent.parent.mkdir(parents=True)
    records = told(user("go"), reply("the agent's needle"))
    agent.write_bytes(jsonl(*({**record, "isSidechain": True, "agentId": "x1"} for record in records)))
    found = {hit.agent: hit for hit in hits(root, "needle")}
    assert found.keys() == {None, "x1"}
    assert (found["x1"].session, found["x1"].path, found["x1"].turn) == (SESSION, str(agent), 2)
    assert "/a/x1?" in found["x1"].link
    assert found[None].branch is not None
    assert f"branch={found[None].branch}" in found[None].link


def test_agents_in_progress_records_and_streams_are_found(root: Path) -> None:
    inner = told(reply("a retold needle"))[0]
    write(root, user("go"), progress("agent_progress", {"message": inner, "agentId": "z9"}))
    assert [hit.agent for hit in hits(root, "retold needle")] == ["z9"]
    stream = [
        printed({"type": "system", "subtype": "init", "cwd": "/x"}),
        printed(event("message_start", message={"id": "m1"})),
        printed(event("content_block_start", index=0, content_block={"type": "text", "text": ""})),
        printed(event("content_block_delta", index=0, delta={"type": "text_delta", "text": "a streamed "})),
        printed(event("content_block_delta", index=0, delta={"type": "text_delta", "text": 5})),
        printed(event("content_block_delta", index=0, delta={"type": "text_delta", "text": "needle"})),
    ]
    path = root / "projects/p/s.jsonl"
    path.write_bytes(jsonl(*stream))
    assert texts(root, '"streamed needle"') == ["a streamed needle"]
    assert [hit.kind for hit in hits(root, '"streamed needle"')] == ["text"]
    with path.open("ab") as file:
        file.write(jsonl(printed(reply("a streamed needle", id="m1"))))
    assert [hit.line for hit in hits(root, '"streamed needle"')] == [7]


def test_calls_to_reread_are_left_out(root: Path) -> None:
    write(
        root,
        user("go"),
        reply(use("t1", command="cd x && reread search needle"), use("t2", "mcp__reread__search", query="needle")),
        answer(result("t1", "needle"), result("t2", "needle")),
        reply(use("t3", command="grep needle reread.py"), id="m2"),
    )
    assert [hit.call for hit in hits(root, "needle")] == ["t3"]


@table(
    ("command", "own"),
    [
        ("reread ls", True),
        ("cd x\n\n  reread ls", True),
        ("uv run  reread ls", True),
        ("python -m reread search x", True),
        ("(reread)", False),
        ("echo; reread", True),
        ("git add reread", False),
        ("prune reread x", False),
    ],
)
def test_commands_that_call_reread(command: str, own: bool) -> None:
    assert is_own_call("Bash", {"command": command}) is own


def test_a_word_glued_to_an_escape_code_is_found(root: Path) -> None:
    write(root, user("x"), reply(use("t1", command="ls")), answer(result("t1", "\x1b[31mneedle\x1b[0m")))
    assert len(hits(root, "needle")) == 1


def test_a_torn_last_line_is_found_and_replaced_when_it_is_complete(root: Path) -> None:
    path = write(root, user("one"), user("two needle"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert len(hits(root, "needle")) == 1
    path.write_bytes(whole[:-30])
    assert hits(root, "two") == []
    with path.open("ab") as file:
        file.write(whole[-30:] + jsonl(*told(user("three needle"))))
    assert len(hits(root, "needle")) == 2


def test_relevance_and_newest(root: Path) -> None:
    old, new = "2020-01-01T00:00:00.000Z", "2025-01-01T00:00:00.000Z"
    write(root, user("needle needle needle", timestamp=old), user("needle and much else " + "x " * 50, timestamp=new))
    assert [hit.line for hit in hits(root, "needle")] == [1, 2]
    assert [hit.line for hit in hits(root, "needle", order="newest")] == [2, 1]
    with pytest.raises(Misuse):
        hits(root, "needle", order="oldest")


@pytest.mark.parametrize("order", [RELEVANCE, NEWEST])
def test_equal_hits_have_one_order_whenever_they_were_indexed(
    root: Path, order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> list[tuple[str, int]]:
        return [(hit.path, hit.line) for hit in hits(root, "same", order=order, limit=5)]

    monkeypatch.setattr(update, "LEAST", 0)
    for name in ("b", "d", "a", "c"):
        same = [user(f"same words {name}", timestamp="2026-11-01T10:00:00.000Z")] * 2
        write(root, *same, name=name)
        found()
    updated = found()
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "other"))
    assert found() == updated and len(updated) == 5


@pytest.mark.parametrize("order", [RELEVANCE, NEWEST])
def test_a_limit_may_be_any_number(root: Path, order: str) -> None:
    write(root, user("one"), user("one more"))
    for limit in (10**6, 2**63 - 1, 10**30):
        assert len(hits(root, "one", order=order, limit=limit)) == 2
    assert dump()  # the index is not taken for broken


def test_a_file_that_is_one_array_is_found(root: Path) -> None:
    path = root / "projects/p/array.jsonl"
    path.write_bytes(b"[" + b",\n".join(jsonl(record).strip() for record in told(user("needle"), user("x"))) + b"]")
    assert [hit.kind for hit in hits(root, "needle")] == ["prompt"]
    path.write_bytes(b"[" + b",\n".join(jsonl(record).strip() for record in told(user("other"))) + b"]")
    assert hits(root, "needle") == []


def test_what_is_deleted_is_forgotten(root: Path) -> None:
    path = write(root, user("a secretneedle"))
    write(root, user("other"), name="b")
    assert len(hits(root, "secretneedle")) == 1
    path.unlink()
    assert hits(root, "other")
    assert hits(root, "secretneedle") == []
    reader = open_reader()
    assert reader is not None
    assert str(path) not in reader.cursors


def test_an_index_of_which_much_was_deleted_is_built_anew(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "FEW_DOCUMENTS", 3)
    monkeypatch.setattr(update, "LEAST", 0)
    path = write(root, *(user(f"a secretneedle {n}") for n in range(9)))
    write(root, user("other"), name="b")
    assert hits(root, "secretneedle")
    path.unlink()
    assert hits(root, "other")
    write(root, user("third"), name="c")
    assert len(hits(root, "third OR other")) == 2
    assert all(b"secretneedle" not in file.read_bytes() for file in index_folder().iterdir() if file.is_file())


def test_a_search_below_one_root_finds_nothing_of_another(root: Path, tmp_path: Path) -> None:
    write(root, user("needle"))
    write(tmp_path / "other", user("needle"))
    assert len(hits(tmp_path / "other", "needle")) == len(hits(root, "needle")) == 1
    refresh(find_files([root]))
    readers = [store.open_reader(find_files([folder]).name) for folder in (root, tmp_path / "other")]
    assert [len(reader.cursors) for reader in readers if reader is not None] == [1, 1]
    assert len(hits(tmp_path / "other", "needle")) == len(hits(root, "needle")) == 1


RECORDS = st.lists(
    st.sampled_from(
        [
            user("alpha beta"),
            user([{"type": "text", "text": "<system-reminder>gamma</system-reminder>delta"}]),
            reply("camelCase epsilon", use("t1", "Edit", file_path="/a/zeta.py"), id=None),
            reply(use("t2", command="reread ls"), id=None),
            answer(result("t1", "eta", is_error=True)),
            answer(result("t2", "theta")),
            attachment("file", {"content": "iota"}),
            progress("bash_progress", {"output": "kappa"}, toolUseID="t1"),
            state("ai-title", aiTitle="lambda"),
            event("message_start", message={"id": "m"}),
            event("content_block_start", index=0, content_block={"type": "text"}),
            event("content_block_delta", index=0, delta={"text": "mu"}),
        ]
    ),
    max_size=6,
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["append", "tear", "rewrite", "rename", "delete", "touch", "index"]), st.integers(0, 2), RECORDS
    ),
    max_size=12,
)


@settings(max_examples=examples(25))
@given(STEPS)
def test_derived_equals_made_anew(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, list[Any]]]
) -> None:
    folder = tmp_path_factory.mktemp("law")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REREAD_CACHE", str(folder / "cache"))
        paths = [folder / f"root/projects/p/{name}.jsonl" for name in "abc"]
        paths[0].parent.mkdir(parents=True)
        for number, (action, at, records) in enumerate(steps):
            perform(action, paths[at], paths[(at + 1) % 3], jsonl(*told(*records)), number)
            if action == "index":
                refresh(find_files([folder / "root"]))
        refresh(find_files([folder / "root"]))
        assert dump() == rebuilt(folder / "root", patch, folder / "other")


def perform(action: str, path: Path, other: Path, data: bytes, number: int) -> None:
    if action in ("append", "tear"):
        with path.open("ab") as file:
            file.write(data[: len(data) // 2] if action == "tear" else data)
    elif action == "rewrite":
        path.write_bytes(data)
    elif path.exists() and action == "rename":
        path.replace(other)
    elif path.exists() and action == "delete":
        path.unlink()
    if path.exists():
        os.utime(path, ns=(number, 10**18 + number))


def test_a_rewritten_file_that_is_not_yet_indexed_again_has_its_new_texts_only(root: Path) -> None:
    write(root, user("other"), name="b")
    path = write(root, user("needle before"), name="a")
    assert [hit.match for hit in reread.search("before", root=root)] == ["before"]
    path.write_bytes(jsonl(*told(user("needle behind"))))
    assert list(reread.search("before", root=root)) == []
    assert [hit.match for hit in reread.search("behind", root=root)] == ["behind"]


WRITER = """
import sys
from reread.disk.file_set import find_files
from reread.index.update import refresh
for _ in range(1000):
    refresh(find_files([sys.argv[1]]), wait=5)
    with open(sys.argv[2], "ab") as file:
        file.write(sys.argv[3].encode() + b"\\n")
"""


def test_a_killed_writer_leaves_an_index_equal_to_a_rebuilt_one(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abcdefgh":
        write(root, *(user(f"needle {name} {n} " + "words " * 50) for n in range(50)), name=name)
    line = jsonl(*told(user("appended needle"))).decode().strip()
    chance = Random(1)
    for _ in range(KILLS):
        command = [sys.executable, "-c", WRITER, str(root), str(root / "projects/p/a.jsonl"), line]
        writer = subprocess.Popen(command, env=dict(os.environ))
        time.sleep(0.3 + chance.random() * 0.5)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    with (root / "projects/p/a.jsonl").open("ab") as file:
        file.write(b"\n")
    refresh(find_files([root]))
    assert dump() == rebuilt(root, monkeypatch, tmp_path / "other")
    reader = open_reader()
    assert reader is not None
    live = {file.name.partition(".")[0] for file in index_folder().iterdir() if len(file.name.partition(".")[0]) == 32}
    named = set(re.findall(r'"segment_id": ?"([0-9a-f-]+)"', (index_folder() / "meta.json").read_text()))
    assert live == {name.replace("-", "") for name in named}


def test_two_processes_at_once(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abcdef":
        write(root, *(user(f"needle {name} {n}") for n in range(40)), name=name)
    code = f"import reread; print(len(list(reread.search('needle', root={str(root)!r}, limit=None))))"
    runs = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert {run.communicate()[0].strip() for run in runs} == {"240"}
    assert dump() == rebuilt(root, monkeypatch, tmp_path / "other")


BREAKAGES = {
    "no meta": lambda folder: (folder / "meta.json").unlink(),
    "garbage in meta": lambda folder: (folder / "meta.json").write_text("{"),
    "a segment is cut": lambda folder: [replace_bytes(file, file.read_bytes()[:20]) for file in folder.glob("*.idx")],
    "segments are gone": lambda folder: [file.unlink() for file in folder.glob("*.*") if len(file.stem) == 32],
    "a file instead of a folder": lambda folder: (shutil.rmtree(folder), folder.write_text("")),
    "another schema": lambda folder: (
        shutil.rmtree(folder),
        folder.mkdir(),
        store.tantivy.Index(store.tantivy.SchemaBuilder().add_text_field("x").build(), str(folder)),
    ),
}


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_a_broken_index_is_built_anew(root: Path, breakage: str) -> None:
    write(root, user("needle"))
    assert len(hits(root, "needle")) == 1
    BREAKAGES[breakage](index_folder())
    assert len(hits(root, "needle")) == 1
    write(root, user("needle"), name="b")
    assert len(hits(root, "needle")) == 2


def test_a_byte_that_was_flipped_is_noticed(root: Path) -> None:
    write(root, user("needle"))
    assert len(hits(root, "needle")) == 1
    IndexReader(index_folder())
    file = max(index_folder().glob("*.store"), key=lambda path: path.stat().st_size)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    replace_bytes(file, bytes(data))
    with pytest.raises(BrokenIndex, match="is not as it was written"):
        IndexReader(index_folder())
    assert len(hits(root, "needle")) == 1


def test_a_searcher_notices_damage_to_the_index_that_it_has_open(root: Path) -> None:
    write(root, user("needle"))
    searcher, request = Searcher(), SearchRequest("needle", 0, 5, False, find_files([root]))
    replies = [searcher.search(request, lambda: None) for _ in range(2)]
    BREAKAGES["a segment is cut"](index_folder())
    replies += [searcher.search(request, lambda: None) for _ in range(2)]
    assert [(len(reply.hits), reply.note) for reply in replies] == [(1, ""), (1, ""), (1, DAMAGED), (1, "")]


@pytest.mark.parametrize("free", [store.HEAP, store.HEAP + 1])
def test_an_index_that_cannot_be_written_goes_unless_the_disk_is_full(
    root: Path, monkeypatch: pytest.MonkeyPatch, free: int
) -> None:
    write(root, user("needle"))
    refresh(find_files([root]))
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=free))
    with pytest.raises(Unwritable), store.open_update(find_files([root]).name):
        raise Unwritable("no")
    assert index_folder().exists() == (free == store.HEAP)


def test_indexes_of_other_formats_are_removed(root: Path) -> None:
    other = store.indexes_folder().with_name("search-0")
    other.mkdir(parents=True)
    write(root, user("needle"))
    notes = [reread.search("needle", root=root).note for _ in range(2)]
    assert notes == ["The search index of another version of reread was built anew.", ""]
    assert not other.exists()


OTHER_VERSION = """
import sys
from reread.disk.file_set import find_files
from reread.index import store
store.FORMAT = 0
with store.open_update(find_files([sys.argv[1]]).name) as update:
    update.commit()
    print("writing", flush=True)
    sys.stdin.read()
"""


def test_an_index_that_another_version_writes_is_left_until_it_ends_or_is_killed(root: Path) -> None:
    write(root, user("needle"))
    words = [sys.executable, "-c", OTHER_VERSION, str(root)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None and writer.stdout.readline().strip() == b"writing"
        other = store.indexes_folder().with_name("search-0")
        assert len(hits(root, "needle")) == 1, "nobody waits for another format"
        assert list(other.glob("*/meta.json"))
        writer.kill()
    write(root, user("needle"), name="b")
    assert refresh(find_files([root])).state == update.CURRENT and not other.exists()


@pytest.mark.parametrize("name", ["search-3.lock", "search-3/own.lock"], ids=["0.2", "inside"])
def test_locks_of_earlier_formats_are_heeded(root: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = write(root, user("needle"))
    monkeypatch.setattr(store, "FORGET_SECONDS", 0.05)
    old = store.indexes_folder().with_name("search-3")
    old.mkdir(parents=True)
    with (old.parent / name).open("wb") as file:
        assert lock(file.fileno())
        assert hits(root, "needle") and old.exists()
        with pytest.raises(Unwritable, match="another process is writing there"):
            store.drop_indexes_with(lambda name: name == str(path))
    store.drop_indexes_with(lambda name: name == str(path))
    assert not old.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no permission bits")
def test_nobody_else_can_read_the_index(root: Path) -> None:
    write(root, user("needle"))
    hits(root, "needle")
    assert index_folder().stat().st_mode & 0o777 == 0o700


def test_without_an_index_the_files_are_searched(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, user("needle"), reply("needle", use("t1", file_path="/x/app.py", command="x")))
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "file"))
    found = find("needle", roots=[root])
    assert (found.total, len(list(found))) == (2, 2)
    assert "searched" in found.note
    assert [hit.kind for hit in hits(root, "file:app.py")] == ["input"]
    assert len(hits(root, "needl.", regex=True)) == 2


def test_without_an_engine_the_files_are_searched(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, user("needle"))
    monkeypatch.setattr(store, "tantivy", None)
    found = find("needle", roots=[root])
    assert (found.total, [hit.kind for hit in found]) == (1, ["prompt"])
    assert "no search engine" in found.note


@contextmanager
def locked_index() -> Generator[None]:
    """Hold the only index as a process does that updates it."""
    descriptor = os.open(store._beside(index_folder(), ".lock"), os.O_RDWR)
    try:
        assert lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def test_files_are_found_while_another_process_indexes_others(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update, "BRIEFLY", 0.05)
    monkeypatch.setattr(update, "LEAST", 0)
    write(root, user("needle"))
    assert hits(root, "needle")
    write(root, user("needle"), name="b")
    other = tmp_path / "other"
    write(other, user("needle"))
    with locked_index():
        monkeypatch.setattr("reread.index.find.WAIT_SECONDS", 3600)  # whoever waits, waits for ever
        found = find("needle", roots=[root])  # the little that is new is searched as it is
        assert (found.total, found.note, found.unsearched) == (2, "", 0)
        found = find("needle", roots=[other])  # has an index of its own
        assert (found.total, found.note, found.unsearched) == (1, "", 0)
        assert refresh(find_files([other])).state == update.CURRENT


def test_indexes_that_nobody_searches_any_more_are_deleted(root: Path, tmp_path: Path) -> None:
    write(root, user("needle"))
    assert hits(root, "needle")
    unused = index_folder()
    os.utime(unused / segments.CHECKED, (1, 1))
    other = tmp_path / "other"
    write(other, user("needle"))
    assert hits(other, "needle") and not unused.exists()
    assert hits(root, "needle")


def test_an_index_that_knows_a_deleted_file_is_dropped_under_its_lock(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(root, user("needle"))
    assert hits(root, "needle")
    made = index_folder()
    old = store.indexes_folder().with_name("search-0")
    old.mkdir()
    monkeypatch.setattr(store, "FORGET_SECONDS", 0.05)
    with locked_index(), pytest.raises(Unwritable, match="another process is writing there"):
        store.drop_indexes_with(lambda name: name == str(path))
    assert made.exists() and not old.exists()
    store.drop_indexes_with(lambda name: name == str(tmp_path))
    assert made.exists()
    store.drop_indexes_with(lambda name: name == str(path))
    assert not made.exists()
    assert hits(root, "needle")


def test_an_answer_that_is_incomplete_says_so(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reread.index.find.WAIT_SECONDS", 0.05)
    monkeypatch.setattr(update, "LEAST", 0)
    monkeypatch.setattr(update, "SCANNED", 0)
    write(root, user("needle"))
    assert hits(root, "needle")
    write(root, user("needle again"), name="b")
    with locked_index():
        found = find("needle", roots=[root])
        assert (found.total, found.unsearched) == (1, 1)
        assert "incomplete: 1 of 2 files" in found.note
    found = find("needle", roots=[root])
    assert (found.total, found.unsearched, found.note) == (2, 0, "")


def test_an_unreadable_file_does_not_stop_the_others(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, user("needle"))
    write(root, user("needle"), name="b")
    monkeypatch.setattr(stale_files, "is_readable", lambda path: not path.endswith("b.jsonl"))
    assert len(hits(root, "needle")) == 1


def test_a_long_update_is_committed_in_parts_and_goes_on_after_a_kill(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reread.index.file_pass.CHUNK", 2000)
    monkeypatch.setattr(index_files, "COMMIT_BYTES", 4000)
    write(root, *(user(f"needle {n} " + "word " * 20) for n in range(100)))
    read: list[int] = []

    class Stop(Exception):
        pass

    def stop(count: int) -> None:
        read.append(count)
        if len(read) == 6:
            raise Stop

    with pytest.raises(Stop):
        refresh(find_files([root]), progress=stop)
    reader = open_reader()
    assert reader is not None
    assert 0 < reader.searcher.num_docs < 100
    refresh(find_files([root]))
    assert dump() == rebuilt(root, monkeypatch, tmp_path / "other")


@pytest.mark.skipif(sys.platform != "linux", reason="file names are Unicode there")
def test_a_file_may_have_a_name_that_is_not_unicode(root: Path) -> None:
    path = write(root, user("needle", sessionId="-x"))
    agent = root / "projects/p/a/subagents"
    agent.mkdir(parents=True)
    odd = Path(os.fsdecode(os.fsencode(path.parent) + b"/caf\xe9.jsonl"))
    odd.write_bytes(path.read_bytes())
    Path(os.fsdecode(os.fsencode(agent) + b"/agent-\xe9.jsonl")).write_bytes(path.read_bytes())
    for _ in range(2):
        found = find("needle", roots=[root])
        hits = list(found)
        assert found.total == 2 and found.note == ""
        assert [hit.copies for hit in hits if hit.key in ("a", "caf\ufffd")] == [1, 1]
        assert all(hit.link.encode() for hit in hits)


def test_the_command_for_a_hit_does_not_take_its_session_for_an_option() -> None:
    hit = Hit(
        session="--raw",
        title="",
        project="",
        path="",
        line=1,
        turn=2,
        kind="prompt",
        before="",
        match="",
        after="",
        link="",
    )
    assert read_command(hit, ["reread"], hit.session) == ["reread", "show", "--", "--raw:2"]


def test_a_long_update_lets_another_process_go_first(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        write(root, user(f"needle {name}"), name=name)
    monkeypatch.setattr(index_files, "TURN_BYTES", 1)
    folder = store.index_folder(find_files([root]).name)
    folder.parent.mkdir(parents=True, exist_ok=True)
    store._ask_for_turn(folder)
    free: list[bool] = []

    def wait(_: float) -> None:
        descriptor = os.open(store._beside(folder, ".lock"), os.O_RDWR)
        free.append(lock(descriptor))
        os.close(descriptor)

    filled: list[str] = []
    fill = index_files.SessionPass.fill

    def note(self: Any, main: str) -> None:
        filled.append(Path(main).stem)
        fill(self, main)

    monkeypatch.setattr(index_files.SessionPass, "fill", note)
    monkeypatch.setattr(update.time, "sleep", wait)
    assert refresh(find_files([root])).state == update.CURRENT
    assert free == [True]
    assert {*filled} == {"a", "b", "c"}, "also the session after which the other process had its turn"
    assert {hit.key for hit in hits(root, "needle")} == {"a", "b", "c"}


def test_an_old_request_for_a_turn_is_ignored(root: Path) -> None:
    write(root, user("needle"))
    refresh(find_files([root]))
    folder = index_folder()
    store._ask_for_turn(folder)
    os.utime(store._waiting_file(folder), (1, 1))
    assert not store.take_request(folder) and not store.take_request(folder)


def test_files_that_were_replaced_are_indexed_again(root: Path) -> None:
    path = write(root, *(user(f"needle {n} " + "filler " * 200) for n in range(100)))
    assert refresh(find_files([root])).state == update.CURRENT
    other = path.with_suffix(".new")
    other.write_bytes(path.read_bytes())
    other.rename(path)
    files = find_files([root])
    assert update.pending_bytes(open_reader(), files) == path.stat().st_size
    assert refresh(files, least=update.LEAST).state == update.CURRENT
