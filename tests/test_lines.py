"""Splitting bytes into lines, forwards and reverse_lines."""

import tempfile
from io import BytesIO
from pathlib import Path

import making  # noqa: F401  (the hypothesis profile)
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reread.disk import reverse_lines
from reread.disk.reverse_lines import lines_backwards
from reread.records.lines import IndexedLineSplitter, LineSplitter

TEXT = st.lists(st.sampled_from([b"", b"a", b"bc", b"\n", b"\n\n", b"\r\n", b"d" * 9]), max_size=12).map(b"".join)


def split(splitter: LineSplitter, data: bytes, size: int) -> list[bytes]:
    lines = [line for at in range(0, len(data), size) for line in splitter.feed(data[at : at + size])]
    tail = splitter.flush()
    return [*lines, tail] if tail else lines


@given(st.binary(max_size=100) | TEXT, st.integers(1, 20))
def test_lines_do_not_depend_on_chunks(data: bytes, size: int) -> None:
    assert split(LineSplitter(), data, size) == BytesIO(data).readlines()


@given(TEXT, st.integers(1, 20))
def test_offsets_are_those_of_the_lines(data: bytes, size: int) -> None:
    splitter = IndexedLineSplitter()
    lines = split(splitter, data, size)
    assert [data[start : start + len(line)] for start, line in zip(splitter.starts, lines, strict=True)] == lines
    assert splitter.offset == len(data)


@given(TEXT, st.integers(1, 5), st.integers(1, 8))
def test_a_bounded_splitter_returns_long_lines_in_pieces(data: bytes, size: int, bound: int) -> None:
    splitter = LineSplitter(bound)
    pieces = split(splitter, data, size)
    assert b"".join(pieces) == data
    assert all(len(piece) <= bound + size for piece in pieces)
    assert all(b"\n" not in piece[:-1] for piece in pieces)


def test_a_line_up_to_the_bound_stays_whole() -> None:
    splitter = LineSplitter(4)
    assert splitter.feed(b"abcd") == [] and splitter.feed(b"\n") == [b"abcd\n"]
    assert splitter.feed(b"abcde") == [b"abcde"] and splitter.feed(b"f\n") == [b"f\n"]


@given(TEXT, st.integers(1, 20))
def test_backwards_are_the_lines_in_reverse(data: bytes, size: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder, "file")
        path.write_bytes(data)
        patch.setattr(reverse_lines, "CHUNK", size)
        assert list(lines_backwards(path)) == data.split(b"\n")[::-1]
