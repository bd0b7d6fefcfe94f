"""Saved folds: what is restored is what was saved, in every attribute, and never trusted over the file."""

import os
import stat
import sys
from array import array
from pathlib import Path
from typing import Any

import msgspec
import pytest
from batches import table
from effort import one_in
from making import answer, event, jsonl, printed, reply, result, system, told, use, user

import reread
from reread.base.paths import SAMPLES
from reread.disk.sources import FileSource
from reread.session import fold_schema, saved_fold
from reread.session import loader as loading
from reread.session.fold_schema import PARTS, saved_attributes
from reread.session.loader import Loader
from reread.session.saved_fold import fold_path, forget_folds
from reread.session.session import Session, threads_of
from reread.storage.lock import lock

FOUND = [*SAMPLES.rglob("*.jsonl"), *(Path(__file__).parent / "real").rglob("*.jsonl")]
FILES = sorted(path for path in FOUND if path.stat().st_size)
COMPUTED = {
    "_kept",
    "_limits",
    "_leads",
    "_turns",
    "_branches",
    "_linked",
    "owner",
    "_tool_call",
    "_rows",
    "prints",
    "source",
    "_saved",
    "_saved_endings",
    "_made",
    "_asked",
}
"""What is computed when it is asked for, or belongs to one opening."""
PLAIN = (str, int, float, bytes, bytearray, array, set, type(None))


@pytest.fixture(autouse=True)
def _any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "SMALLEST", 0)


def loaded(path: Path) -> Loader:
    """Read a file, whatever was saved of it."""
    session = Session(FileSource(path))
    threads_of(session).restart()
    threads_of(session).load_rest()
    return threads_of(session).loader


def restored(path: Path) -> Loader | None:
    """Restore what was saved of a file, and read the rest."""
    session = Session(FileSource(path))
    threads_of(session).restart()
    loader = threads_of(session).loader
    found = loader if loader.restore() else None
    threads_of(session).load_rest()
    return found


def differences(one: Any, other: Any, path: str = "", seen: set[tuple[int, int]] | None = None) -> list[str]:
    """Return where two graphs of objects differ."""
    todo = [(one, other, path)]
    seen = seen or set()
    found: list[str] = []
    while todo:
        one, other, path = todo.pop()
        if (id(one), id(other)) in seen or callable(one):
            continue
        seen.add((id(one), id(other)))
        if isinstance(one, PLAIN):
            found += [] if one == other else [f"{path}: {one!r} is {other!r}"]
        elif isinstance(one, dict):
            found += [] if list(one) == list(other) else [f"{path}: keys"]
            todo += [(one[key], other.get(key), f"{path}[{key!r}]") for key in one]
        elif isinstance(one, list | tuple):
            found += [] if len(one) == len(other) else [f"{path}: length"]
            todo += [(a, b, f"{path}[{n}]") for n, (a, b) in enumerate(zip(one, other, strict=False))]
        elif type(one) is not type(other):
            found.append(f"{path}: {type(one)} is {type(other)}")
        else:
            names = one.__struct_fields__ if isinstance(one, msgspec.Struct) else vars(one)
            todo += [
                (getattr(one, name), getattr(other, name), f"{path}.{name}")
                for name in names
                if name not in COMPUTED and "_Recent" not in type(getattr(one, name)).__name__
            ]
    return found


@one_in(4)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name[:40])
def test_what_is_restored_is_what_was_saved(path: Path) -> None:
    whole = loaded(path)
    if not whole.save():
        assert has_partial(whole) or not path.read_bytes().endswith(b"\n")
        return
    again = restored(path)
    assert again is not None
    assert differences(whole, again) == []


@table("path", FILES[:12])
def test_a_session_that_was_counted_is_restored(path: Path) -> None:
    whole = loaded(path)
    usage = whole.conversation.usage
    if whole.save():
        again = restored(path)
        assert again is not None and again.conversation.usage == usage


@pytest.mark.parametrize("agent", [False, True])
def test_what_is_not_saved_is_there(tmp_path: Path, agent: bool) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(conversation())
    fold = loaded(path)._fold  # pyright: ignore[reportPrivateUsage]
    fold = next(iter(fold.agents.values())) if agent else fold
    for (name, others), (part, _) in zip(PARTS.items(), saved_attributes(fold), strict=True):
        own = {"call", "parent", "path", "meta"} if name == "conversation" and not agent else {"uuids"}
        assert set(others.split()) - vars(part).keys() <= own, name


def has_partial(loader: Loader) -> bool:
    conversations = [loader.conversation, *loader.conversation.inline_agents.values()]
    return any(message.partial is not None for one in conversations for message in one.messages)


def conversation(*more: Any) -> bytes:
    return jsonl(
        *told(
            user("start"),
            reply("one", use("t1", command="ls"), id="m1"),
            user("inner", isSidechain=True, parentUuid=None),
            reply("inner answer", isSidechain=True, id="m9"),
            answer(result("t1", "x")),
            user("again", parentUuid="u2"),
            system("compact_boundary", "Compacted"),
            reply("two", use("t2", command="pwd"), id="m2"),
            *more,
        )
    )


def test_a_session_that_grew_goes_on_where_it_was_saved(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    whole = conversation(answer(result("t2", "later")), reply("three", id="m2"), user("back", parentUuid="u1"))
    lines = whole.splitlines(keepends=True)
    for at in range(1, len(lines)):
        path.write_bytes(b"".join(lines[:at]))
        assert loaded(path).save()
        with path.open("ab") as file:
            file.write(b"".join(lines[at:]))
        again = restored(path)
        assert again is not None
        assert differences(loaded(path), again) == [], at


@pytest.mark.parametrize(
    "content", [b"", b"{}\n", conversation().replace(b"two", b"TWO"), conversation()[:-9] + b"x" * 99]
)
def test_a_fold_is_not_used_for_a_file_that_was_rewritten(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(conversation())
    assert loaded(path).save()
    path.write_bytes(content)
    os.utime(path, ns=(0, 1))
    assert restored(path) is None


def test_a_fold_of_other_code_and_a_broken_one_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(conversation())
    assert loaded(path).save()
    assert restored(path) is not None
    with monkeypatch.context() as patch:
        patch.setattr(saved_fold, "code_format", lambda: "other")
        assert restored(path) is None
    whole = fold_path(path).read_bytes()
    for data in (b"", b"garbage", whole[:-40], whole + b"x"):
        fold_path(path).write_bytes(data)
        assert restored(path) is None
        assert len(reread.open(path).messages) == len(loaded(path).conversation.messages)


def test_the_version_of_the_code_changes_with_its_modules_and_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fold_schema, "__file__", str(tmp_path / "session" / "fold_schema.py"))
    seen = {fold_schema.code_format.__wrapped__()}
    for name in ("model/a.py", "records/types/b.txt", "session/c.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        for text in ("x", "xy"):
            (tmp_path / name).write_text(text)
            seen.add(fold_schema.code_format.__wrapped__())
    assert len(seen) == 7
    (tmp_path / "model" / "a.pyc").write_text("x")
    assert fold_schema.code_format.__wrapped__() in seen


def test_a_fold_with_a_flipped_bit_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(conversation())
    whole = loaded(path)
    assert whole.save()
    data = fold_path(path).read_bytes()
    for at in range(0, len(data), 7):
        fold_path(path).write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        again = restored(path)
        assert again is None or differences(whole, again) == [], at  # a bit of a frame's head may mean nothing


def test_a_response_that_is_still_streamed_is_not_saved(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl(printed(event("message_start", message={"id": "m1"}))))
    assert not loaded(path).save()


def test_folds_stay_within_a_budget_and_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [tmp_path / f"{name}.jsonl" for name in "abc"]
    for number, path in enumerate(paths):
        path.write_bytes(conversation())
        assert loaded(path).save()
        os.utime(fold_path(path), (number, number))
    monkeypatch.setattr(saved_fold, "BUDGET", 2 * fold_path(paths[0]).stat().st_size + 99)
    fold_path(paths[2]).chmod(0o644)
    killed, writing = (fold_path(paths[0]).with_name(f".reread-{name}") for name in ("killed", "writing"))
    killed.touch()
    with writing.open("wb") as file:
        assert lock(file.fileno())
        assert loaded(paths[2]).save()
    assert [path.exists() for path in (*map(fold_path, paths), killed, writing)] == [False, True, True, False, True]
    if sys.platform != "win32":
        assert stat.S_IMODE(fold_path(paths[2]).stat().st_mode) == 0o600
    forget_folds([str(paths[2])])
    assert not fold_path(paths[2]).exists()


def test_small_sessions_are_neither_saved_nor_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "SMALLEST", 1 << 20)
    path = tmp_path / "a.jsonl"
    path.write_bytes(conversation())
    assert not loaded(path).save()
    monkeypatch.setattr(loading, "read_fold", lambda *_: pytest.fail("a fold was looked for"))
    assert len(reread.open(path).messages) > 0


def test_what_was_decoded_is_not_saved(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl(*told(user("go"), reply("an answer", use("t1", "Bash", command="ls")))))
    loader = loaded(path)
    blocks = loader.conversation.messages[-1].blocks
    assert loader.save()
    again = restored(path)
    assert again is not None
    assert again.conversation.messages[-1].blocks == blocks


def test_a_restored_session_knows_which_calls_plainly_succeeded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    records = told(
        user("go"),
        reply(use("t1", "Read", file_path="/a"), use("t2", "Read", file_path="/b"), use("t3", "Read", file_path="/c")),
        answer(result("t1", "text")),
        answer(result("t2", "No such file", is_error=True)),
    )
    path.write_bytes(jsonl(*records))
    monkeypatch.setattr(loading, "SMALLEST", 1)
    loader = loaded(path)
    assert loader.save()
    states = [call.state for call in loader.conversation.calls]
    assert states == ["done", "failed", "running"]
    assert not loader.save()
    is_done = loader.conversation.bodies.is_plainly_done
    assert [is_done(call.answer) for call in loader.conversation.calls if call.answer >= 0] == [True, False]
    monkeypatch.setattr(loading, "MANY_ENDINGS", 1)
    assert loader.save()
    assert not loader.save()
    again = restored(path)
    assert again is not None
    monkeypatch.setattr("reread.model.bodies.is_plainly_done", None)  # must not be needed
    assert [call.state for call in again.conversation.calls] == states


def test_uuids_are_read_once_records_are_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(conversation())
    assert loaded(path).save()
    read: list[bytes] = []
    monkeypatch.setattr(
        saved_fold, "_decode_uuids", lambda data, decode=saved_fold._decode_uuids: read.append(data) or decode(data)
    )
    session = Session(FileSource(path))
    assert session.turns and session.messages[-1].text and session.agents and not read
    with path.open("ab") as file:
        file.write(jsonl(*told(user("more", parentUuid="u1"))))
    threads_of(session).load_rest()
    assert len(read) == 1
