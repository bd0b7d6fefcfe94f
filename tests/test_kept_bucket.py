"""Sessions in a bucket: kept, read, verified, pruned and restored, and when things go wrong.

The bucket is a folder behind the interface of pyarrow; `tests_engines` tries the same on a real server.
"""

import os
import random
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from folder_bucket import FolderBucket, tree, use_folder

import reread
from reread.archive import archive as archive_module
from reread.archive.verify import KeptProblem
from reread.errors import Misuse, Unreadable, Unwritable
from reread.session.session import threads_of
from reread.storage import bucket_mirror as mirror
from reread.storage import kept_bucket, kept_manifest
from reread.storage.bucket import FOLDER_MARK, BucketStore, store_at
from reread.storage.byte_store import ObjectState, StoreError
from reread.storage.frames import FRAME_SIZE
from reread.storage.services import BY_SCHEME

REAL = Path(os.environ.get("REREAD_REAL_CLIENT", Path(__file__).parent / "real"))
SAMPLES = Path(reread.__file__).parent / "samples"


@pytest.fixture(name="bucket")
def _bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FolderBucket:
    """An empty bucket, and a folder of Claude Code with the samples."""
    for name, place in (("CLAUDE_CONFIG_DIR", "claude"), ("REREAD_HOME", "store"), ("REREAD_CACHE", "cache")):
        monkeypatch.setenv(name, str(tmp_path / place))
    monkeypatch.setenv("REREAD_MACHINE", "laptop")
    shutil.copytree(SAMPLES / "projects", tmp_path / "claude" / "projects", ignore=shutil.ignore_patterns("*.zst*"))
    (tmp_path / "buckets" / "team").mkdir(parents=True)
    use_folder(monkeypatch, tmp_path / "buckets")
    return FolderBucket(tmp_path / "buckets", "team", tmp_path / "claude")


@contextmanager
def elsewhere(**variables: str) -> Iterator[None]:
    """Be another machine, or one that lost its cache, during the block."""
    with patch.dict(os.environ, variables):
        yield


def errors(url: str) -> list[KeptProblem]:
    """Return what is damaged in an archive."""
    return [one for one in reread.Archive(url).verify() if isinstance(one, KeptProblem) and one.level == "error"]


def first(folder: Path) -> Path:
    """Return the first session below a folder."""
    return min(folder.glob("projects/*/*.jsonl"))


def test_real_sessions_come_back_byte_for_byte(bucket: FolderBucket, tmp_path: Path) -> None:
    target = bucket.sources / "projects" / "-real"
    for number, path in enumerate(sorted(REAL.rglob("*.jsonl"))[:40]):
        (target / f"p{number}").mkdir(parents=True)
        (target / f"p{number}" / path.name).write_bytes(path.read_bytes())
    strange = (
        b'{"type":"user","text":"\0"}\n{"lone":"\\ud800"}\n'
        + b'{"long":"'
        + random.Random(1).randbytes(6 << 20).hex().encode()
        + b'"}\n'
    )
    (target / "strange.jsonl").write_bytes(strange)
    report = reread.keep(to=bucket.url)
    assert not report.problems
    reread.Archive(bucket.url).restore(to=tmp_path / "restored")
    assert tree(tmp_path / "restored" / "projects") == tree(bucket.sources / "projects")
    assert errors(bucket.url) == []


def test_the_objects_of_a_file_are_together_the_kept_file(bucket: FolderBucket, tmp_path: Path) -> None:
    source = first(bucket.sources)
    for _ in range(4):
        with source.open("ab") as file:
            file.write(source.read_bytes()[:5000].rpartition(b"\n")[0] + b"\n")
        for to in (bucket.url, str(tmp_path / "local")):
            assert reread.keep(source, to=to).problems == []
    local = (tmp_path / "local" / source.relative_to(bucket.sources)).with_suffix(".jsonl.zst").read_bytes()
    pieces = bucket.objects(f"machines/laptop/objects/{source.relative_to(bucket.sources).as_posix()}")
    assert len(pieces) == 4 and b"".join(pieces.values()) == local
    assert source.stem in {session.id for session in reread.sessions(root=bucket.url)}


def test_a_grown_session_is_continued_by_what_was_derived_from_it(bucket: FolderBucket) -> None:
    source = first(bucket.sources)
    reread.keep(to=bucket.url)
    kept = mirror.mirrored_folders(reread.Archive(bucket.url).folder.parent)[0] / source.relative_to(bucket.sources)
    before = reread.storage.kept_file.stat_file(kept)
    with source.open("ab") as file:
        file.write(source.read_bytes()[-3000:].partition(b"\n")[2])
    reread.keep(to=bucket.url)
    after = reread.storage.kept_file.stat_file(kept)
    assert (before.st_ino, after.st_size) == (after.st_ino, source.stat().st_size)
    assert threads_of(reread.open(str(kept))).source.read(0, 1 << 30) == source.read_bytes()


def test_a_large_session_has_many_objects_and_one_body_of_it_fetches_little(
    bucket: FolderBucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, noise = bucket.sources / "projects" / "-large" / "large.jsonl", random.Random(2)
    path.parent.mkdir()
    path.write_bytes(b"".join(b'{"pad":"%s"}\n' % noise.randbytes(FRAME_SIZE // 2).hex().encode() for _ in range(8)))
    monkeypatch.setattr(kept_bucket, "PIECE_SIZE", FRAME_SIZE)
    (kept,) = reread.keep(path, to=bucket.url).files
    objects = bucket.objects("machines/laptop/objects/projects/-large")
    assert 3 <= len(objects) <= 8 and [int(key.split("-")[-2]) for key in objects] == [
        sum(len(data) for data in [*objects.values()][:n]) for n in range(len(objects))
    ], "each is named after its offset"
    assert (kept.added, kept.packed) == (path.stat().st_size, sum(map(len, objects.values())))
    fetched, read = list[int](), BucketStore.read

    def counted(self: BucketStore, name: str, offset: int, length: int) -> bytes:
        fetched.append(length)
        return read(self, name, offset, length)

    monkeypatch.setattr(BucketStore, "read", counted)
    (stub,) = reread.disk.layout.session_files([bucket.url])
    assert reread.disk.sources.FileSource(stub).read(5 * FRAME_SIZE, 100) == path.read_bytes()[5 * FRAME_SIZE :][:100]
    assert 0 < sum(fetched) < 2 * FRAME_SIZE
    reread.Archive(bucket.url).restore(to=tmp_path / "restored")
    assert (tmp_path / "restored" / path.relative_to(bucket.sources)).read_bytes() == path.read_bytes()


def test_a_service_without_folders_gets_a_mark_for_each_machine(
    bucket: FolderBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BY_SCHEME, "s3", BY_SCHEME["s3"]._replace(lists_folders=False))
    store_at.cache_clear()
    reread.keep(first(bucket.sources), to=bucket.url)
    [mark] = [key for key in bucket.objects() if key.endswith(FOLDER_MARK)]
    assert mark == f"sessions/machines/laptop{FOLDER_MARK}"
    bucket.delete(mark)
    assert reread.keep(to=bucket.url).count("new") > 1 and mark not in bucket.objects(), "it is made once"


def test_an_exception_in_an_upload_names_nothing(bucket: FolderBucket, monkeypatch: pytest.MonkeyPatch) -> None:
    put_whole, count = BucketStore.put_whole, 0

    def failing(self: BucketStore, name: str, pieces: Iterable[bytes]) -> None:
        nonlocal count
        count += 1
        if count == 5:
            raise StoreError(5, "no connection", self.url)
        put_whole(self, name, pieces)

    monkeypatch.setattr(BucketStore, "put_whole", failing)
    report = reread.keep(to=bucket.url)
    assert report.count("failed") == 1 and report.count("new") == 4
    assert errors(bucket.url) == []
    assert reread.keep(to=bucket.url).count("new") == len(tree(bucket.sources)) - 4


def test_verify_names_what_was_changed(bucket: FolderBucket) -> None:
    reread.keep(to=bucket.url)
    (one, good), (other, _), *_ = bucket.objects("machines/laptop/objects/projects").items()
    for at in (0, len(good) // 2, len(good) - 1):
        bucket.put(one, good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        assert len(errors(bucket.url)) == 1, at
    bucket.put(one, good)
    bucket.delete(other)
    assert [problem.path for problem in errors(bucket.url)] != []
    bucket.put("sessions/machines/laptop/objects/left.zst", b"x")
    left = [found for found in reread.Archive(bucket.url).verify() if "left.zst" in getattr(found, "path", "")]
    assert [problem.level for problem in left if isinstance(problem, KeptProblem)] == ["info"]


def test_prune_deletes_generations_and_sessions(bucket: FolderBucket, monkeypatch: pytest.MonkeyPatch) -> None:
    source = first(bucket.sources)
    records = source.read_bytes()
    reread.keep(to=bucket.url)
    for state in (records[100:], b"\n" + records, records[:-100]):
        source.write_bytes(state)
        assert reread.keep(to=bucket.url).count("rewritten") == 1
    archive = reread.Archive(bucket.url)
    assert [version.generation for version in archive.prunable()] == [1]
    assert [version.generation for version in archive.prune()] == [1]
    assert archive.prunable() == [] and errors(bucket.url) == []
    assert numbers(archive, source) == [2, 3, 4]
    source.write_bytes(b"\n" + source.read_bytes())
    assert reread.keep(to=bucket.url).count("rewritten") == 1
    assert numbers(archive, source) == [2, 3, 4, 5]
    assert [version.generation for version in archive.prune()] == [4]
    assert source.stem in {session.id for session in reread.sessions(root=bucket.url)}
    bucket.put("sessions/machines/laptop/objects/left.zst", b"x")
    archive.prune(source.stem)
    assert source.stem not in {session.id for session in reread.sessions(root=bucket.url)}
    left = bucket.objects("machines/laptop/objects")
    assert [name for name in left if source.stem in name and not name.endswith("/")] == []  # S3's folders are empty
    assert [name for name in left if "left" in name], "another process may have put it just now"
    monkeypatch.setattr(kept_bucket, "UNNAMED_NS", -(10**10))
    archive.prune()
    assert [name for name in bucket.objects("machines/laptop/objects") if "left" in name] == []
    assert errors(bucket.url) == []


def numbers(archive: reread.Archive, source: Path) -> list[int]:
    """Return the generations of a session."""
    return [version.generation for version in archive.versions() if version.name.endswith(source.name)]


def contents(bucket: FolderBucket) -> dict[str, bytes]:
    """Return all objects but the empty ones that pyarrow puts where a folder of S3 was."""
    return {key: data for key, data in bucket.objects().items() if not key.endswith("/")}


def test_delete_removes_every_object_of_a_session_and_no_other(bucket: FolderBucket) -> None:
    (source,) = bucket.sources.glob("projects/*/8c1f*.jsonl")
    reread.keep(to=bucket.url)
    before, here = bucket.objects(), tree(bucket.sources)
    own = {key for key in before if source.stem in key}
    with pytest.raises(Misuse, match="use --kept with --now"):
        reread.delete(source.stem, root=bucket.url, kept=True)
    with pytest.raises(Misuse, match="delete them with --kept"):
        reread.delete(source.stem, root=bucket.url)
    (planned,) = reread.delete(source.stem, root=bucket.url, kept=True, now=True, dry_run=True)
    with elsewhere(REREAD_MACHINE="other"), pytest.raises(Misuse, match="REREAD_MACHINE=laptop"):
        reread.delete(source.stem, root=bucket.url, kept=True, now=True)
    assert bucket.objects() == before
    (done,) = reread.delete(source.stem, root=bucket.url, kept=True, now=True)
    assert done.files == planned.files and all(file.startswith(bucket.url) for file in done.files)
    after = contents(bucket)
    changed = {key for key in after if after[key] != before[key]}
    assert before.keys() - after.keys() == own and len(own) > 0
    assert all("manifest" in key for key in changed) and tree(bucket.sources) == here
    assert source.stem not in {header.id for header in reread.sessions(root=bucket.url)} and errors(bucket.url) == []
    assert not reread.trash()
    assert reread.keep(to=bucket.url).count("new") >= 1


@pytest.mark.parametrize("step", ["before the manifest", "after the manifest", "between objects"])
def test_delete_finishes_in_a_bucket_what_a_killed_process_began(
    bucket: FolderBucket, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    one, other = (Path(header.path) for header in list(reread.sessions(root=bucket.sources))[:2])
    reread.keep(to=bucket.url)
    delete, put = BucketStore.delete, BucketStore.put_whole
    left = 1 if step == "between objects" else 0

    def killed(store: BucketStore, name: str, *pieces: Any) -> None:
        nonlocal left
        if one.stem in name or (step == "before the manifest" and name.endswith("manifest")):
            if not left:
                raise KeyboardInterrupt
            left -= 1
        put(store, name, *pieces) if pieces else delete(store, name)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(BucketStore, "put_whole" if step == "before the manifest" else "delete", killed)
        reread.delete(one.stem, root=bucket.url, kept=True, now=True)
    assert any(one.stem in key for key in contents(bucket))
    told = list[str]()
    with monkeypatch.context() as patched:
        patched.setattr(BucketStore, "list", unreachable)
        patched.setattr(BucketStore, "stat", unreachable)
        reread.delete(other, on_error=lambda error: told.append(str(error)))
    assert len(told) == 1 and "no connection" in told[0] and one.stem in told[0]
    reread.undo_delete()
    assert not [key for key in contents(bucket) if one.stem in key] and errors(bucket.url) == []


def unreachable(store: BucketStore, *_: object) -> None:
    raise StoreError(101, "no connection", store.url)


def test_prune_keeps_what_a_damaged_object_had(bucket: FolderBucket) -> None:
    source = first(bucket.sources)
    reread.keep(to=bucket.url)
    before = set(bucket.keys("machines/laptop/objects"))
    source.write_bytes(b"\n" + source.read_bytes())
    reread.keep(to=bucket.url)
    (added,) = set(bucket.keys("machines/laptop/objects")) - before
    good = bucket.objects()[added]
    bucket.put(added, good[:-9] + b"?" + good[-8:])
    archive = reread.Archive(bucket.url)
    (outcome,) = archive.prune_outcomes()
    assert outcome.outcome == "damaged" and before <= set(bucket.keys())
    bucket.put(added, good)
    assert len(archive.prune()) == 1


def test_names_that_are_no_text_or_very_long(bucket: FolderBucket, tmp_path: Path) -> None:
    project = bucket.sources / "projects" / ("-a b+ü%?" + "x" * 200)
    inner = project / "s" / "tool-results" / ("ü" * 100) / ("ß" * 100) / ("é" * 100)
    inner.mkdir(parents=True)
    Path(os.fsdecode(os.fsencode(project) + b"/\xff.jsonl")).write_bytes(first(bucket.sources).read_bytes())
    (project / "s.jsonl").write_bytes(b"")
    (inner / "t.txt").write_bytes(b"result")
    assert reread.keep(to=bucket.url).problems == []
    reread.Archive(bucket.url).restore(to=tmp_path / "restored")
    assert tree(tmp_path / "restored") == tree(bucket.sources)


def test_a_manifest_writes_nowhere_else(bucket: FolderBucket, tmp_path: Path) -> None:
    reread.keep(first(bucket.sources), to=bucket.url)
    key = "sessions/machines/laptop/manifest"
    own = kept_manifest.decode_manifest(bucket.objects()[key])
    assert own is not None
    names = [
        b"../../../evil.jsonl",
        b"/" + os.fsencode(tmp_path) + b"/evil.jsonl",
        b"projects/../../evil.jsonl",
        b".state/x",
        b"",
    ]
    files = tuple(kept_manifest.ManifestFile(name, 1, 0, own.files[0].pieces) for name in names)
    bucket.put(
        "sessions/machines/evil/manifest",
        kept_manifest.encode_manifest(kept_manifest.MachineManifest(1, "evil", files)),
    )
    bucket.put("sessions/machines/torn/manifest", b"no manifest")
    before = tree(tmp_path / "store")
    with pytest.raises(Unreadable, match="torn"):
        list(reread.sessions(root=bucket.url))
    bucket.delete("sessions/machines/torn/manifest")
    assert len(list(reread.sessions(root=bucket.url))) == 1
    assert not [path for path in tmp_path.rglob("*evil*") if path.is_file()]
    assert tree(tmp_path / "store") == before


def test_a_stub_elsewhere_is_not_followed(bucket: FolderBucket, tmp_path: Path) -> None:
    reread.keep(to=bucket.url)
    stub = next(reread.Archive(bucket.url).folder.rglob("*.jsonl.zst"))
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / stub.name).write_bytes(stub.read_bytes())
    with pytest.raises(Unreadable, match="no whole frame"):
        reread.open(str(tmp_path / "given" / stub.name))


@pytest.mark.parametrize("address", ["s3://", "s3:///x", "s3://UPPER/x", "s3://b/../x", "s3://b/a//c"])
def test_an_address_that_names_no_bucket(bucket: FolderBucket, address: str) -> None:
    with pytest.raises(Misuse, match="s3://BUCKET"):
        reread.keep(to=address)


def test_machines_that_one_may_not_read_are_left_out(bucket: FolderBucket, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ann", "bob"):
        with elsewhere(REREAD_MACHINE=name, REREAD_CACHE=f"{bucket.sources}-cache"):
            reread.keep(to=bucket.url)
    stat = BucketStore.stat

    def denied(self: BucketStore, names: Iterable[str]) -> dict[str, ObjectState]:
        names = list(names)
        if any("bob" in name for name in names):
            raise StoreError(13, "access denied", self.url)
        return stat(self, names)

    monkeypatch.setattr(BucketStore, "stat", denied)
    assert {Path(session.path).parents[2].name for session in reread.sessions(root=bucket.url)} == {"ann"}


def test_a_prune_deletes_nothing_if_another_process_has_put_a_manifest(
    bucket: FolderBucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two machines with one name have locks of their own: what one has proven, the other may have changed."""
    source = first(bucket.sources)
    reread.keep(to=bucket.url)
    source.write_bytes(b"\n" + source.read_bytes())
    reread.keep(to=bucket.url)
    archive, decide = reread.Archive(bucket.url), archive_module.decide
    other = bucket.sources / "projects" / "-new" / "new.jsonl"
    other.parent.mkdir()
    other.write_bytes(source.read_bytes())

    def deciding(*arguments: Any) -> Any:
        with elsewhere(REREAD_CACHE=str(tmp_path / "other")):
            reread.keep(to=bucket.url)
        return decide(*arguments)

    monkeypatch.setattr(archive_module, "decide", deciding)
    with pytest.raises(Unwritable, match="try again"):
        archive.prune()
    assert numbers(archive, source) == [1, 2] and numbers(archive, other) == [1] and errors(bucket.url) == []


def test_what_was_pruned_meanwhile_is_not_named_again(
    bucket: FolderBucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = first(bucket.sources)
    reread.keep(to=bucket.url)
    source.write_bytes(b"\n" + source.read_bytes())
    reread.keep(to=bucket.url)
    (bucket.sources / "projects" / "-new").mkdir()
    (bucket.sources / "projects" / "-new" / "new.jsonl").write_bytes(source.read_bytes())
    flush = kept_bucket.KeptBucket.flush

    def flushing(self: kept_bucket.KeptBucket) -> None:
        monkeypatch.setattr(kept_bucket.KeptBucket, "flush", flush)
        with elsewhere(REREAD_CACHE=str(tmp_path / "other")):
            reread.Archive(bucket.url).prune()
        flush(self)

    monkeypatch.setattr(kept_bucket.KeptBucket, "flush", flushing)
    assert reread.keep(to=bucket.url).count("new") == 1
    assert numbers(reread.Archive(bucket.url), source) == [2]
    assert errors(bucket.url) == []
    assert numbers(reread.Archive(bucket.url), Path("new.jsonl")) == [1]
