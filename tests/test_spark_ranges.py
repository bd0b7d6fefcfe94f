"""Ranges of a transcript have its records, each in exactly one of them. No Spark is needed for that."""

import os
import random
import sys
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reread
from reread.addons.spark.files import FilePart
from reread.addons.spark.ranges import MOST_RANGES, head_origin, range_records, split_ranges
from reread.dataset.transcripts import TranscriptFile
from reread.disk.sources import FileSource, MemorySource
from reread.errors import Misuse
from reread.records.decode import Decoder, Record

FOLDER = Path(os.environ.get("REREAD_REAL_CLIENT", Path(__file__).parent / "real"))
REAL = sorted(path for path in FOLDER.rglob("*.jsonl") if path.is_file())
LINES = st.sampled_from(
    [
        b'{"type":"user","sessionId":"s"}',
        b'{"type":"summary"}',
        b'{"type":"us',
        b"",
        b"\0\0",
        b" ",
        b"{}{}",
        b'"\\ud800"',
    ]
)


def all_of(data: bytes) -> list[tuple[int, int, bytes]]:
    decoder = Decoder()
    return positions(iter([*decoder.feed(data), *decoder.flush()]))


def positions(records: Iterator[Record]) -> list[tuple[int, int, bytes]]:
    return [(record.line, record.offset, record.body) for record in records]


@given(st.lists(LINES, min_size=1), st.sampled_from([b"\n", b"\r\n"]), st.booleans(), st.data())
def test_any_ranges_have_all_records_in_order(lines: list[bytes], end: bytes, torn: bool, data: st.DataObject) -> None:
    content = b"{}\n" + end.join(lines) + (b"" if torn else end)
    cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=6))
    edges = [0, *sorted(cuts), len(content)]
    read = MemorySource(content).read
    found = [one for start, stop in pairwise(edges) for one in positions(range_records(read, start, stop))]
    assert found == all_of(content)


def test_a_line_of_many_chunks_belongs_to_the_range_in_which_it_begins() -> None:
    long = b'{"type":"user","x":"' + random.Random(2).randbytes(1 << 20).hex().encode() + b'"}\n'
    content = b"{}\n" + long + b'{"type":"summary"}\n' * 3
    read = MemorySource(content).read
    ranges = split_ranges(len(content), len(content) // 7)
    assert len(ranges) == 7
    found = [positions(range_records(read, *one)) for one in ranges]
    assert list(chain.from_iterable(found)) == all_of(content)
    assert found[0][-1][2] == long and found[1:6] == [[]] * 5


def test_lines_are_counted_only_if_asked_for() -> None:
    read = MemorySource(b'{"type":"summary"}\n' * 10).read
    assert [record.line for record in range_records(read, 100, 190)] == [7, 8, 9, 10]
    assert [record.line for record in range_records(read, 100, 190, numbered=False)] == [1, 2, 3, 4]


@pytest.mark.parametrize("module", [None, ModuleType("older")])
def test_without_pyspark_one_sentence_says_what_to_install(
    module: ModuleType | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pyspark", "pyspark.sql", "pyspark.sql.datasource"):
        monkeypatch.setitem(sys.modules, name, module)
    with pytest.raises(
        Misuse, match=r"^Spark needs pyspark 4\.1 or newer; install it with `pip install 'reread\[spark\]'`\.$"
    ):
        reread.spark.register(None)


@pytest.mark.parametrize(("size", "task", "count"), [(0, 10, 1), (14, 10, 1), (16, 10, 2), (10**6, 10, MOST_RANGES)])
def test_ranges_cover_a_file(size: int, task: int, count: int) -> None:
    ranges = split_ranges(size, task)
    assert len(ranges) == count
    assert [ranges[0][0], *(end for _, end in ranges)] == [start for start, _ in ranges] + [size]


def test_the_first_bytes_tell_what_the_whole_file_tells() -> None:
    transcripts = untold = 0
    for path in REAL:
        origin = head_origin(path, "m", FileSource(path).read)
        assert origin is None or origin == TranscriptFile(path, "m").origin, path
        transcripts += "projects" in path.parts
        untold += "projects" in path.parts and origin is None
    assert untold < 0.1 * transcripts


def test_parts_have_the_rows_of_the_file() -> None:
    for path in REAL[::5]:
        rows = [row for _, row in TranscriptFile(path, "m").rows(["records"], text=True)]
        size = path.stat().st_size
        parts = [FilePart.of(str(path), *one) for one in split_ranges(size, max(1, size // 3))]
        assert [row for part in parts for row in part.rows("records", "m", text=True)] == rows, path
