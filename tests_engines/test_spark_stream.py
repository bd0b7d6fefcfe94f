"""A stream of Spark over a growing folder: stopped, started again, and with files that are rewritten."""

import os
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from bucket import Bucket
from pyspark.errors import StreamingQueryException

import reread
from reread.addons.spark.files import FilePart, transcripts_below
from reread.disk.sources import FileSource
from reread.storage import bucket_mirror

REPOSITORY = Path(__file__).parents[1]
REAL = Path(os.environ.get("REREAD_REAL_CLIENT", REPOSITORY / "tests" / "real"))


class Stream:
    """A query from a folder to Parquet that goes on from its checkpoint each time it is started."""

    def __init__(self, spark: Any, table: str, folder: Path | str, out: Path) -> None:
        self.spark, self.table, self.folder, self.out = spark, table, folder, out

    def start(self, trigger: dict[str, Any], **options: str) -> Any:
        frame = self.spark.readStream.format("reread").options(table=self.table, **options).load(str(self.folder))
        writer = frame.writeStream.format("parquet").option("checkpointLocation", str(self.out / "checkpoint"))
        return writer.trigger(**trigger).start(str(self.out / "rows"))

    def catch_up(self, **options: str) -> None:
        """Read what is there, and start again if Spark gave up on a worker that did not start within ten seconds."""
        for _ in range(20):
            query = self.start({"availableNow": True}, **options)
            try:
                assert query.awaitTermination(400)
                return
            except StreamingQueryException as error:
                if "failed to connect back" not in str(error):
                    raise
        pytest.fail("No worker starts.")

    def rows(self) -> list[dict[str, Any]]:
        return self.spark.read.parquet(str(self.out / "rows")).toArrow().to_pylist()

    def records(self) -> Counter[tuple[str, int]]:
        return Counter((row["path"], row["offset"]) for row in self.rows())


def expected(folder: Path) -> Counter[tuple[str, int]]:
    rows = reread.tables(root=str(folder))["records"].read_all().to_pylist()
    return Counter((row["path"], row["offset"]) for row in rows)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of Claude Code with real sessions, each written to its half, in the middle of a line."""
    monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "cache"))
    target = tmp_path / "claude" / "projects" / "-p"
    target.mkdir(parents=True)
    for path in sorted(REAL.rglob("projects/*/*.jsonl"), key=lambda path: -path.stat().st_size)[:12]:
        content = path.read_bytes()
        (target / path.name).write_bytes(content[: len(content) // 2])
        shutil.copyfile(path, tmp_path / path.name)
    return tmp_path / "claude"


def finish(folder: Path) -> None:
    """Append the rest of each session, byte for byte."""
    for path in (folder / "projects" / "-p").iterdir():
        with path.open("ab") as file:
            file.write((folder.parent / path.name).read_bytes()[path.stat().st_size :])


def test_every_line_comes_once_over_restarts(
    spark: Any, folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    stream = Stream(spark, "records", folder, tmp_path / "out")
    stream.catch_up()
    first = stream.records()
    assert 20 < sum(first.values()) < sum(expected(folder).values()), "a last line without an end waits"
    finish(folder)
    query = stream.start({"processingTime": "0 seconds"}, maxBytesPerTrigger="20000", taskBytes="5000")
    deadline = time.monotonic() + 300
    while query.lastProgress is None and query.isActive and time.monotonic() < deadline:
        time.sleep(0.2)
    query.stop()  # in the middle of a batch, most likely
    stream.catch_up()
    wanted = expected(folder)
    assert stream.records() == wanted and set(wanted.values()) == {1}
    path = next(path for path in (folder / "projects" / "-p").iterdir())
    path.write_bytes(b'{"type":"summary","summary":"rewritten"}\n')
    stream.catch_up()
    assert stream.records() - wanted == Counter({(str(path), 0): 1}), "what is new at the start of the file"


def test_usage_comes_as_responses_end(spark: Any, folder: Path, tmp_path: Path) -> None:
    stream = Stream(spark, "usage", folder, tmp_path / "out")
    stream.catch_up()
    finish(folder)
    stream.catch_up()
    names = ("message", "request", "input_tokens", "output_tokens", "cache_read_tokens")
    found = Counter(tuple(row[name] for name in names) for row in stream.rows())
    assert sum(found.values()) > 10
    settled = reread.tables(root=str(folder))["usage"].read_all().to_pylist()
    own = {(*(row[name] for name in names), row["unconfirmed_responses"]) for row in settled if row["responses"]}
    assert set(found) <= {row[:-1] for row in own}
    assert {row[:-1] for row in own if not row[-1]} <= set(found)


def test_a_worker_sees_what_the_driver_saw(bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = min(bucket.sources.glob("projects/*/*.jsonl"))
    for _ in range(2):  # at once: a mirror is taken as it is for ten seconds
        monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "driver"))
        monkeypatch.setattr(bucket_mirror, "FRESH_SECONDS", 0.0)
        reread.keep(to=bucket.url)
        found = {Path(path).name: path for path in transcripts_below(bucket.url).states}
        path = next(path for name, path in found.items() if name.startswith(source.name))
        part = FilePart.of(path, 0, source.stat().st_size)
        monkeypatch.setattr(bucket_mirror, "FRESH_SECONDS", 10.0)
        monkeypatch.setenv("REREAD_CACHE", str(tmp_path / "worker"))
        assert FileSource(part.local()).read(0, part.end + 1) == source.read_bytes()
        with source.open("ab") as file:
            file.write(b'{"type":"summary","summary":"more"}\n')


def test_a_bucket_is_followed(spark: Any, bucket: Bucket, folder: Path, tmp_path: Path) -> None:
    stream = Stream(spark, "records", bucket.url, tmp_path / "out")

    def catch_up() -> Counter[tuple[str, int]]:
        reread.keep(to=bucket.url, root=folder)
        stream.catch_up()  # at once: the workers know the bucket as it was before
        return Counter((row["session"], row["offset"]) for row in stream.rows())

    def written() -> Counter[tuple[str, int]]:
        rows = reread.tables(root=str(folder))["records"].read_all().to_pylist()
        return Counter((row["session"], row["offset"]) for row in rows)

    first = catch_up()
    assert 20 < sum(first.values()) < sum(written().values())
    finish(folder)
    assert catch_up() == written()
    assert catch_up() == written(), "nothing comes twice"


def test_tables_that_need_a_whole_session_are_not_streamed(spark: Any, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="Cannot stream sessions; use one of records, calls, usage"):
        Stream(spark, "sessions", folder, tmp_path / "out").catch_up()
