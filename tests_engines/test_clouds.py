"""Google Cloud Storage and Azure, as servers on this machine speak them: sessions and tables in a bucket."""

import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import clouds
import pytest
from bucket import run, start
from folder_bucket import tree

import reread
from reread.archive.verify import KeptEntry, KeptProblem
from reread.dataset.schema import TABLES
from reread.errors import Unreadable, Unwritable
from reread.storage import bucket_mirror
from reread.storage.bucket import BucketStore, store_at
from reread.storage.user_paths import bucket_url

SAMPLES = Path(reread.__file__).parent / "samples" / "projects"


@pytest.fixture(scope="module", params=["google", "azure"])
def server(request: pytest.FixtureRequest) -> Iterator[tuple[str, dict[str, str]]]:
    """The address of a bucket, and the variables that lead to it."""
    if reason := clouds.missing(request.param):
        pytest.skip(reason)
    with getattr(clouds, request.param)() as found:
        yield found


@pytest.fixture
def url(server: tuple[str, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an empty folder in a bucket; the environment leads to it, and to the samples as own sessions."""
    own = {"HOME": "home", "CLAUDE_CONFIG_DIR": "claude", "REREAD_HOME": "store", "REREAD_CACHE": "cache"}
    variables = {name: str(tmp_path / folder) for name, folder in own.items()} | {"REREAD_MACHINE": "laptop"}
    for name, value in (variables | server[1]).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(bucket_mirror, "FRESH_SECONDS", 0.0)
    store_at.cache_clear()
    shutil.copytree(SAMPLES, tmp_path / "claude" / "projects", ignore=shutil.ignore_patterns("*.zst*"))
    return f"{server[0]}/{tmp_path.name}"


def errors(url: str) -> list[KeptProblem]:
    """Return what is damaged in an archive."""
    return [one for one in reread.Archive(url).verify() if isinstance(one, KeptProblem) and one.level == "error"]


def test_sessions_are_kept_read_restored_and_pruned(url: str, tmp_path: Path) -> None:
    sources = tmp_path / "claude"
    report = reread.keep(to=url)
    assert report.count("new") == len(report.files) > 10 and not report.problems
    assert reread.keep(to=url).count("unchanged") == len(report.files)
    source = min(sources.glob("projects/*/*.jsonl"))
    with source.open("ab") as file:
        file.write(source.read_bytes()[-3000:].partition(b"\n")[2])
    assert reread.keep(to=url).count("grown") == 1
    assert reread.Archive(url).prune(source.stem)
    assert source.stem not in {header.id for header in reread.sessions(root=url)} and errors(url) == []
    assert reread.keep(to=url).count("new") >= 1
    run("keep", "-q", "--to", url, REREAD_MACHINE="other", REREAD_CACHE=str(tmp_path / "there"))
    assert reread.usage(root=url).totals == reread.usage(root=sources).totals
    assert len(list(reread.sessions(root=url))) == 2 * len(list(reread.sessions(root=sources)))
    reread.Archive(url).restore(to=tmp_path / "restored")
    for machine in ("laptop", "other"):
        assert tree(tmp_path / "restored" / machine) == tree(sources)
    assert errors(url) == []


def test_tables_are_written_and_asked(url: str, tmp_path: Path) -> None:
    tables = reread.tables(root=tmp_path / "claude")
    report = tables.write(url)
    assert tables.write(url).read == 0
    shutil.rmtree(tmp_path / "cache")
    for name in TABLES:
        assert reread.tables(url)[name].read_all().num_rows == report.rows[name], name
    query = "select sum(responses), sum(output_tokens) from usage"
    totals, found = reread.usage(root=tmp_path / "claude").totals, reread.tables(url).sql(query).read_all()
    assert list(found.to_pylist()[0].values()) == [totals.responses, totals.output_tokens]


def test_one_of_many_creates_a_name(url: str) -> None:
    stores = [BucketStore(bucket_url(url)) for _ in range(4)]
    with ThreadPoolExecutor(len(stores)) as pool:
        made = [*pool.map(lambda number: stores[number].create("m/1", b"%d" % number), range(4))]
    assert sum(made) == 1 and stores[0].read_whole("m/1", 9) == b"%d" % made.index(True)
    assert not stores[0].create("m/1", b"late")
    assert [state.name for state in stores[0].list("m")] == ["m/1"]


def test_nobody_sees_half_an_object(url: str) -> None:
    store, seen = BucketStore(bucket_url(url)), list[bytes]()

    def pieces() -> Iterator[bytes]:
        for _ in range(4):
            yield b"new" * 1000
            seen.append(store.read_whole("manifest", 1 << 20))

    store.put_whole("manifest", [b"old"])
    store.put_whole("manifest", pieces())
    assert seen == [b"old"] * 4 and store.read_whole("manifest", 1 << 20) == b"new" * 4000


def test_an_object_that_is_gone_since_it_was_opened_is_missing(url: str) -> None:
    store, other = BucketStore(bucket_url(url)), BucketStore(bucket_url(url))
    store.put_whole("x", [b"bytes"])
    assert store.read("x", 0, 2) == b"by"
    other.delete("x")
    with pytest.raises(FileNotFoundError):
        store.read("x", 2, 3)


def test_a_killed_run_leaves_nothing_half(url: str, tmp_path: Path) -> None:
    chance = random.Random(3)
    for number in range(int(os.environ.get("REREAD_KILLS", "3"))):
        project = tmp_path / "claude" / "projects" / f"-kill{number}"
        project.mkdir()
        for name in range(8):
            (project / f"s{name}.jsonl").write_bytes(min(SAMPLES.glob("*/*.jsonl")).read_bytes() * (name + 1))
        process = start("keep", "-q", "--to", url)
        time.sleep(0.5 + chance.random() * 2)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert errors(url) == []
    assert reread.keep(to=url).problems == []
    kept = [one for one in reread.Archive(url).verify() if isinstance(one, KeptEntry)]
    assert errors(url) == [] and len(kept) == len(tree(tmp_path / "claude"))


def test_what_is_wrong_is_said(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = url.replace("//team", "//nobody-has-this")
    with pytest.raises(Unwritable, match="no such"):
        reread.keep(to=nowhere)
    with pytest.raises(Unreadable, match="no such"):
        list(reread.sessions(root=nowhere))
    assert list(reread.sessions(root=url)) == []
    for variable in ("STORAGE_EMULATOR_HOST", "AZURE_STORAGE_ENDPOINT"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    assert "no connection; check the network" in run("ls", "--root", url, code=2)
