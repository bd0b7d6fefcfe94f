"""Byte stores: folders and buckets hold the same laws; and what happens to who is interrupted, cut off or killed."""

import errno
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow
import pytest
from folder_bucket import FolderSystem, use_folder

import reread
from reread.dataset.manifest import TablesManifest, newest_manifest, write_manifest
from reread.dataset.table_files import TableFiles, table_files
from reread.errors import Misuse, Unreadable
from reread.storage import bucket as bucket_module
from reread.storage import kept_manifest, manifest
from reread.storage.bucket import BucketStore
from reread.storage.byte_store import ByteStore, StoreError
from reread.storage.folder import FolderStore
from reread.storage.user_paths import bucket_url, expand_path, is_bucket_url, typed_path

KINDS = ("folder", "bucket", "shows unfinished objects", "lists no folders")


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ByteStore:
    """A folder, and a bucket on each kind of service."""
    if request.param == "folder":
        return FolderStore(tmp_path)
    kind = KINDS.index(request.param)
    (tmp_path / "team").mkdir()
    use_folder(monkeypatch, tmp_path, puts_whole=kind != 2, lists_folders=kind != 3)
    return BucketStore("s3://team/below")


def test_a_store_returns_what_was_put(store: ByteStore) -> None:
    assert list(store.list("")) == list(store.folders("a")) == [] and store.stat(["a/b/x"]) == {}
    with pytest.raises(FileNotFoundError):
        store.read_whole("a/b/x", 99)
    with pytest.raises(FileNotFoundError):
        store.delete("a/b/x")
    store.put_whole("a/b/x", [b"first"])
    store.put_whole("a/b/x", [b"01234", b"56789"])
    store.put_whole("a/y", [b""])
    assert [(one.name, one.size) for one in store.list("")] == [("a/b/x", 10), ("a/y", 0)]
    assert [one.name for one in store.list("a/b")] == ["a/b/x"]
    (state,) = store.stat(["a/b/x", "a/none"]).values()
    assert (state.name, state.size) == ("a/b/x", 10) and abs(state.modified / 1e9 - time.time()) < 3600
    assert store.read("a/b/x", 3, 4) == b"3456" and store.read("a/b/x", 8, 99) == b"89"
    assert store.read_whole("a/b/x", 10) == b"0123456789"
    assert store.location("a/y").endswith("/a/y")
    store.delete("a/b/x")
    assert [one.name for one in store.list("")] == ["a/y"]
    store.close()


def test_folders_are_listed(store: ByteStore) -> None:
    if isinstance(store, BucketStore):
        store.mark_folder("machines/ann")
        if not store._service.lists_folders:
            assert list(store.folders("machines")) == ["ann"], "by its mark alone"
    store.put_whole("machines/ann/manifest", [b"x"])
    assert list(store.folders("machines")) == ["ann"]


def test_more_than_the_largest_is_not_read(store: ByteStore) -> None:
    store.put_whole("x", [b"0123456789"])
    with pytest.raises(OSError, match="too large"):
        store.read_whole("x", 9)


def test_a_name_is_created_once(store: ByteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_module, "CLAIM_PAUSE", 0.001)
    with ThreadPoolExecutor(4) as pool:
        made = [*pool.map(lambda number: store.create("m/1", b"%d" % number), range(4))]
    assert sum(made) == 1 and store.read_whole("m/1", 9) == b"%d" % made.index(True)
    assert not store.create("m/1", b"late")
    assert [one.name for one in store.list("m")] == ["m/1"]


def test_a_put_that_fails_leaves_nothing_half(store: ByteStore) -> None:
    def cut() -> Iterator[bytes]:
        yield b"half"
        raise OSError(5, "no connection")

    store.put_whole("x", [b"before"])
    for name in ("x", "new"):
        with pytest.raises(OSError, match="no connection"):
            store.put_whole(name, cut())
    assert "new" not in store.stat(["new"]) and [one.name for one in store.list("")] in (["x"], [])
    if isinstance(store, FolderStore):
        assert store.read_whole("x", 9) == b"before"


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs a signal to one thread")
def test_an_interrupt_does_not_cut_a_put(store: ByteStore) -> None:
    """What has the name is what was there before, or all of the new bytes."""

    def interrupted() -> Iterator[bytes]:
        yield b"0123"
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        time.sleep(0.05)
        yield b"4567"

    store.put_whole("x", [b"before"])
    with pytest.raises(KeyboardInterrupt):
        store.put_whole("x", interrupted())
    assert store.read_whole("x", 9) in (b"before", b"01234567")
    assert [one.name for one in store.list("")] == ["x"]


def test_an_object_that_is_shown_unfinished_gets_its_name_when_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "team").mkdir()
    use_folder(monkeypatch, tmp_path, puts_whole=False)
    store, seen, beside = BucketStore("s3://team"), list[bytes](), list[str]()

    def pieces() -> Iterator[bytes]:
        for piece in (b"new ", b"content"):
            yield piece
            seen.append(store.read_whole("x", 99))
            beside.extend(state.name for state in store.list("") if state.name != "x")

    store.put_whole("x", [b"before"])
    store.put_whole("x", pieces())
    assert seen == [b"before", b"before"] and store.read_whole("x", 99) == b"new content"
    assert all(re.fullmatch(r"x\.tmp-[0-9a-f]{12}/sent", name) for name in beside) and len(set(beside)) == 1
    assert [path.name for path in (tmp_path / "team").iterdir()] == ["x"]


def test_the_claim_of_a_killed_writer_is_old_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "team" / "m").mkdir(parents=True)
    use_folder(monkeypatch, tmp_path)
    store, left = BucketStore("s3://team"), tmp_path / "team" / "m" / "1.claim-left"
    left.touch()
    monkeypatch.setattr(bucket_module, "CLAIM_WAIT", 0.2)
    monkeypatch.setattr(bucket_module, "CLAIM_PAUSE", 0.01)
    assert not store.create("m/1", b"x") and left.exists(), "its writer may be at work"
    then = time.time() - bucket_module.CLAIM_SECONDS - 5
    os.utime(left, (then, then))
    assert store.create("m/1", b"x") and not left.exists()


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ("Failed to get token from DefaultAzureCredential", errno.EIO),
        ("When reading key 'ACCESS_DENIED' in bucket 'b': AWS Error UNKNOWN", errno.EIO),
        ("When reading key 'x' in bucket 'b': AWS Error ACCESS_DENIED during HeadObject", errno.EACCES),
    ],
)
@pytest.mark.parametrize("kind", [OSError, pyarrow.ArrowException])
def test_whatever_a_client_raises_is_an_error_of_the_store(
    kind: type[Exception], said: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise kind(said)

    use_folder(monkeypatch, tmp_path)
    monkeypatch.setattr(FolderSystem, "get_file_info", refused, raising=False)
    with pytest.raises(StoreError) as caught:
        BucketStore("s3://team").stat(["x"])
    assert caught.value.errno == number


@pytest.mark.parametrize("kind", [OSError, ValueError])
def test_an_object_that_is_gone_since_it_was_opened_is_missing(
    kind: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Opened:
        def read_at(self, *_: int) -> bytes:
            raise kind("Failed to flush response stream")

    (tmp_path / "team").mkdir()
    use_folder(monkeypatch, tmp_path)
    store = BucketStore("s3://team")
    store.put_whole("x", [b"bytes"])
    monkeypatch.setattr(FolderSystem, "open_input_file", lambda *_: Opened(), raising=False)
    with pytest.raises(StoreError, match="flush"):
        store.read("x", 0, 5)
    store.delete("x")
    with pytest.raises(FileNotFoundError):
        store.read("x", 0, 5)


HOLDER = """
import sys, time
from pathlib import Path
from reread.storage.folder import FolderStore
with FolderStore(Path(sys.argv[1])).locked("lock", 0) as held:
    print(held, flush=True)
    time.sleep(60)
"""


def test_the_lock_of_a_dead_process_is_free(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"True\n"
        with store.locked("lock", 0) as held:
            assert not held
        holder.kill()
        holder.wait()
    with store.locked("lock", 5) as held:
        assert held


def archived() -> kept_manifest.MachineManifest:
    piece = kept_manifest.ManifestPiece("machines/ann/objects/x", bytes(80))
    return kept_manifest.MachineManifest(
        1, "ann", (kept_manifest.ManifestFile(b"projects/-p/x.jsonl", 1, 0, (piece,)),)
    )


def test_a_manifest_that_was_cut_is_damaged(store: ByteStore) -> None:
    whole, name = kept_manifest.encode_manifest(archived()), kept_manifest.manifest_name("ann")
    for end in range(len(whole)):
        store.put_whole(name, [whole[:end]])
        with pytest.raises(OSError, match="it is damaged"):
            kept_manifest.read_kept_manifest(store, "ann")
    store.put_whole(name, [whole])
    assert kept_manifest.read_kept_manifest(store, "ann") == (archived(), whole)


def test_a_manifest_of_tables_that_was_cut_is_damaged(tmp_path: Path) -> None:
    files = TableFiles(tmp_path)
    assert write_manifest(files, TablesManifest("here", 1))
    path = next(tmp_path.rglob("*.json"))
    whole = path.read_bytes()
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        with pytest.raises(Unreadable, match="not a manifest of tables"):
            newest_manifest(files, "here")


def test_a_manifest_that_is_too_large_is_neither_read_nor_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "team").mkdir()
    use_folder(monkeypatch, tmp_path)
    path = tmp_path / "team" / "machines" / "ann" / "manifest"
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.truncate(manifest.LARGEST_MANIFEST + 1)
    with pytest.raises(Unreadable, match="too large"):
        list(reread.sessions(root="s3://team"))
    monkeypatch.setattr(manifest, "LARGEST_MANIFEST", 20)
    with pytest.raises(OSError, match="too large"):
        write_manifest(table_files("s3://team/tables"), TablesManifest("here", 1))
    assert list((tmp_path / "team").rglob("*.json")) == []


def test_a_manifest_that_unpacks_to_too_much_is_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = kept_manifest.encode_manifest(archived())
    monkeypatch.setattr(kept_manifest, "LARGEST_RAW", 20)
    assert kept_manifest.decode_manifest(whole) is None


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("s3a://b-1/x/", "s3://b-1/x"),
        ("gs://b_1/x/y", "gs://b_1/x/y"),
        ("gcs:/b-1", "gs://b-1"),
        ("abfs://box@acc/x", "abfs://box@acc.dfs.core.windows.net/x"),
        ("abfss://box@acc.dfs.core.windows.net", "abfs://box@acc.dfs.core.windows.net"),
        ("az://box/x", "abfs://box@mine.dfs.core.windows.net/x"),
    ],
)
def test_an_address_has_one_form(typed: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "mine")
    assert is_bucket_url(typed) and bucket_url(typed) == url
    assert typed_path(expand_path(typed)) == url


@pytest.mark.parametrize(
    "typed", ["gs://", "gs://B/x", "gs://ok/..", "abfs://box@/x", "abfs://b@acc/x", "az://box@a c"]
)
def test_what_names_no_bucket_is_refused(typed: str) -> None:
    with pytest.raises(Misuse, match="Invalid address"):
        bucket_url(typed)


def test_a_container_needs_an_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT", raising=False)
    with pytest.raises(Misuse, match="AZURE_STORAGE_ACCOUNT"):
        bucket_url("az://box/x")
