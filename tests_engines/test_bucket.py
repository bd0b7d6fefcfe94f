"""Sessions in a bucket: kept, read, verified, restored; by several machines, and when things go wrong."""

import json
import os
import random
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from bucket import Bucket, run, start, tree

import reread
from reread.archive import archive as archive_module
from reread.archive.verify import KeptEntry, KeptProblem
from reread.errors import Misuse, Unreadable, Unwritable
from reread.session.session import threads_of
from reread.storage import bucket_mirror as mirror
from reread.storage import kept_bucket, kept_manifest
from reread.storage.bucket import BucketStore
from reread.storage.byte_store import ObjectState, StoreError
from reread.storage.frames import FRAME_SIZE

REAL = Path(os.environ.get("REREAD_REAL_CLIENT", Path(__file__).parents[1] / "tests" / "real"))


@pytest.fixture(autouse=True)
def fresh_mirrors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask the bucket each time; the ten seconds that a mirror is taken as it is are too long for a test."""
    monkeypatch.setattr(mirror, "FRESH_SECONDS", 0.0)


def errors(url: str) -> list[KeptProblem]:
    """Return what is damaged in an archive."""
    return [one for one in reread.Archive(url).verify() if isinstance(one, KeptProblem) and one.level == "error"]


def first(folder: Path) -> Path:
    """Return the first session below a folder."""
    return min(folder.glob("projects/*/*.jsonl"))


def test_every_verb_reads_from_a_bucket_what_it_reads_from_the_folder(bucket: Bucket) -> None:
    report = reread.keep(to=bucket.url)
    assert report.count("new") == len(report.files) > 10 and not report.problems
    assert reread.keep(to=bucket.url).count("unchanged") == len(report.files)
    here, there = str(bucket.sources), bucket.url
    for verb in ("usage --json", "stats --json", "ls --json", "search --json ceiling", "check --json"):
        local, remote = (json.loads(run("--root", root, *verb.split())) for root in (here, there))
        assert _plain(remote) == _plain(local), verb
    for session in reread.sessions(root=here):
        ours, theirs = (json.loads(run("--root", root, "show", "-f", "json", session.id)) for root in (here, there))
        assert _plain(ours) == _plain(theirs), session.id


def _plain(value: object) -> object:
    """Return a value of JSON without what differs between a file and its copy."""
    if isinstance(value, dict):
        skipped = ("path", "file", "kept", "kept_as", "link", "command", "modified")
        return {name: _plain(inner) for name, inner in value.items() if name not in skipped}
    if isinstance(value, list):
        return sorted((_plain(inner) for inner in value), key=repr)
    return value.rsplit("/", 1)[-1] if isinstance(value, str) else value


def test_real_sessions_come_back_byte_for_byte(bucket: Bucket, tmp_path: Path) -> None:
    target = bucket.sources / "projects" / "-real"
    for number, path in enumerate(sorted(REAL.rglob("*.jsonl"))[:150]):
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


def test_the_objects_of_a_file_are_together_the_kept_file(bucket: Bucket, tmp_path: Path) -> None:
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


def test_a_grown_session_is_continued_by_what_was_derived_from_it(bucket: Bucket) -> None:
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


def test_one_body_of_a_large_session_fetches_little(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    project = bucket.sources / "projects" / "-large"
    project.mkdir()
    noise = random.Random(2)
    with (project / "large.jsonl").open("wb") as file:
        for _ in range(64):
            file.write(b'{"type":"user","pad":"' + noise.randbytes(FRAME_SIZE // 2).hex().encode() + b'"}\n')
    monkeypatch.setattr(kept_bucket, "PIECE_SIZE", 8 << 20)
    reread.keep(project / "large.jsonl", to=bucket.url)
    assert len(bucket.objects("machines/laptop/objects")) == 5
    fetched = 0
    read = BucketStore.read

    def counted(self: BucketStore, name: str, offset: int, length: int) -> bytes:
        nonlocal fetched
        data = read(self, name, offset, length)
        fetched += len(data)
        return data

    monkeypatch.setattr(BucketStore, "read", counted)
    path = next(iter(reread.disk.layout.session_files([bucket.url])))
    source = reread.disk.sources.FileSource(path)
    assert source.read(40 << 20, 100) == (project / "large.jsonl").read_bytes()[40 << 20 :][:100]
    assert 0 < fetched < 2 * FRAME_SIZE


def test_a_killed_upload_leaves_nothing_half(bucket: Bucket) -> None:
    chance = random.Random(3)
    for number in range(int(os.environ.get("REREAD_KILLS", "6"))):
        project = bucket.sources / "projects" / f"-kill{number}"
        project.mkdir()
        for name in range(8):
            (project / f"s{name}.jsonl").write_bytes(first(bucket.sources).read_bytes() * (name + 1))
        process = start("keep", "-q", "--to", bucket.url)
        time.sleep(0.5 + chance.random() * 2)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert errors(bucket.url) == []
    assert reread.keep(to=bucket.url).problems == []
    assert errors(bucket.url) == []
    assert sum(isinstance(one, KeptEntry) for one in reread.Archive(bucket.url).verify()) == len(tree(bucket.sources))


def test_an_exception_in_an_upload_names_nothing(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_two_machines_write_while_a_third_reads(bucket: Bucket, tmp_path: Path) -> None:
    writers = [
        start("keep", "-q", "--to", bucket.url, REREAD_MACHINE=name, REREAD_CACHE=str(tmp_path / name))
        for name in ("ann", "bob")
    ]
    seen: list[int] = []
    while any(writer.poll() is None for writer in writers):
        seen.append(len(list(reread.sessions(root=bucket.url))))
    for writer in writers:
        assert writer.wait() == 0, writer.communicate()
        writer.communicate()
    sessions = list(reread.sessions(root=bucket.url))
    count = len(list(reread.sessions(root=bucket.sources)))
    assert seen == sorted(seen) and len(sessions) == 2 * count
    by_machine: dict[str, set[str]] = defaultdict(set)
    for session in sessions:
        by_machine[Path(session.path).parents[2].name].add(session.id)
    assert by_machine["ann"] == by_machine["bob"] and len(by_machine["ann"]) == count
    assert len(list(reread.sessions(root=f"{bucket.url}/machines/ann"))) == count
    assert reread.usage(root=bucket.url).totals == reread.usage(root=bucket.sources).totals  # each response counts once
    objects = len(bucket.objects())
    run("keep", "-q", "--to", bucket.url, REREAD_MACHINE="ann", REREAD_CACHE=str(tmp_path / "new"))
    assert len(bucket.objects()) == objects, "a machine that lost its cache puts nothing twice"
    assert errors(bucket.url) == []
    reread.Archive(bucket.url).restore(to=tmp_path / "restored")
    for name in ("ann", "bob"):
        assert tree(tmp_path / "restored" / name) == tree(bucket.sources)


def test_two_machines_with_one_name_lose_nothing(bucket: Bucket, tmp_path: Path) -> None:
    (tmp_path / "other" / "projects" / "-p").mkdir(parents=True)
    (tmp_path / "other" / "projects" / "-p" / "x.jsonl").write_bytes(first(bucket.sources).read_bytes())
    other = {"REREAD_CACHE": str(tmp_path / "there"), "CLAUDE_CONFIG_DIR": str(tmp_path / "other")}
    writers = [start("keep", "-q", "--to", bucket.url), start("keep", "-q", "--to", bucket.url, **other)]
    for writer in writers:
        assert writer.wait(timeout=120) == 0, writer.communicate()
        writer.communicate()
    run("keep", "-q", "--to", bucket.url, **other)
    run("keep", "-q", "--to", bucket.url)
    assert len(list(reread.sessions(root=bucket.url))) == len(list(reread.sessions(root=bucket.sources))) + 1
    assert errors(bucket.url) == []


def test_machines_that_one_may_not_read_are_left_out(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ann", "bob"):
        run("keep", "-q", "--to", bucket.url, REREAD_MACHINE=name, REREAD_CACHE=f"{bucket.sources}-cache")
    stat = BucketStore.stat

    def denied(self: BucketStore, names: Iterable[str]) -> dict[str, ObjectState]:
        names = list(names)
        if any("bob" in name for name in names):
            raise StoreError(13, "access denied", self.url)
        return stat(self, names)

    monkeypatch.setattr(BucketStore, "stat", denied)
    assert {Path(session.path).parents[2].name for session in reread.sessions(root=bucket.url)} == {"ann"}


def test_verify_names_what_was_changed(bucket: Bucket) -> None:
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


def test_prune_deletes_generations_and_sessions(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_prune_keeps_what_a_damaged_object_had(bucket: Bucket) -> None:
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


def test_a_prune_deletes_nothing_if_another_process_has_put_a_manifest(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
        run("keep", "-q", "--to", bucket.url, REREAD_CACHE=str(tmp_path / "other"))
        return decide(*arguments)

    monkeypatch.setattr(archive_module, "decide", deciding)
    with pytest.raises(Unwritable, match="try again"):
        archive.prune()
    assert numbers(archive, source) == [1, 2] and numbers(archive, other) == [1] and errors(bucket.url) == []


def test_what_was_pruned_meanwhile_is_not_named_again(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = first(bucket.sources)
    reread.keep(to=bucket.url)
    source.write_bytes(b"\n" + source.read_bytes())
    reread.keep(to=bucket.url)
    (bucket.sources / "projects" / "-new").mkdir()
    (bucket.sources / "projects" / "-new" / "new.jsonl").write_bytes(source.read_bytes())
    flush = kept_bucket.KeptBucket.flush

    def flushing(self: kept_bucket.KeptBucket) -> None:
        run("keep", "--prune", "--yes", "--to", bucket.url, REREAD_CACHE=str(tmp_path / "other"))
        flush(self)

    monkeypatch.setattr(kept_bucket.KeptBucket, "flush", flushing)
    assert reread.keep(to=bucket.url).count("new") == 1
    assert numbers(reread.Archive(bucket.url), source) == [2]
    assert errors(bucket.url) == []
    assert numbers(reread.Archive(bucket.url), Path("new.jsonl")) == [1]


def test_names_that_are_no_text_or_very_long(bucket: Bucket, tmp_path: Path) -> None:
    project = bucket.sources / "projects" / ("-a b+ü%?" + "x" * 200)
    inner = project / "s" / "tool-results" / ("ü" * 100) / ("ß" * 100) / ("é" * 100)
    inner.mkdir(parents=True)
    Path(os.fsdecode(os.fsencode(project) + b"/\xff.jsonl")).write_bytes(first(bucket.sources).read_bytes())
    (project / "s.jsonl").write_bytes(b"")
    (inner / "t.txt").write_bytes(b"result")
    assert reread.keep(to=bucket.url).problems == []
    reread.Archive(bucket.url).restore(to=tmp_path / "restored")
    assert tree(tmp_path / "restored") == tree(bucket.sources)


def test_a_manifest_writes_nowhere_else(bucket: Bucket, tmp_path: Path) -> None:
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


def test_a_stub_elsewhere_is_not_followed(bucket: Bucket, tmp_path: Path) -> None:
    reread.keep(to=bucket.url)
    stub = next(reread.Archive(bucket.url).folder.rglob("*.jsonl.zst"))
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / stub.name).write_bytes(stub.read_bytes())
    with pytest.raises(Unreadable, match="no whole frame"):
        reread.open(str(tmp_path / "given" / stub.name))


def test_the_reader_serves_a_bucket(bucket: Bucket) -> None:
    import urllib.request

    reread.keep(to=bucket.url)
    before = bucket.objects()
    with start("serve", "--root", bucket.url, "--port", "0", "--no-open") as server:
        try:
            assert server.stdout is not None
            line = next(line.decode() for line in server.stdout if b"http://" in line)
            address = line[line.index("http://") :].split()[0]
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            browser.open(address, timeout=60).close()
            with browser.open(f"{address.partition('?')[0].rstrip('/')}/api/library", timeout=60) as answer:
                listing = answer.read().decode()
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=60)
    assert "Make the time axis readable" in listing
    assert bucket.objects() == before


@pytest.mark.parametrize("address", ["s3://", "s3:///x", "s3://UPPER/x", "s3://b/../x", "s3://b/a//c"])
def test_an_address_that_names_no_bucket(bucket: Bucket, address: str) -> None:
    with pytest.raises(Misuse, match="s3://BUCKET"):
        reread.keep(to=address)


def test_what_is_wrong_is_said(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unwritable, match="no such bucket"):
        reread.keep(to="s3://nobody-has-this-bucket/x")
    with pytest.raises(Unreadable, match="no such bucket"):
        list(reread.sessions(root="s3://nobody-has-this-bucket/x"))
    assert list(reread.sessions(root=bucket.url)) == []
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert "no connection; check the network" in run("ls", "--root", bucket.url, code=2)
    code = "import sys; sys.modules['pyarrow'] = None; import reread; reread.keep(to='s3://x-y-z')"
    monkeypatch.setattr(sys, "argv", ["x"])
    import subprocess

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert "pip install 'reread[tables]'" in done.stderr
