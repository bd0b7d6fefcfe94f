"""What a stream reads of a growing folder, batch by batch: every whole line once. No Spark is needed for that."""

import os
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from reread.accounting.digest import SIDECHAIN
from reread.addons.spark.appended import APPENDED
from reread.addons.spark.files import FilePart
from reread.addons.spark.offsets import FileOffset, FolderProgress, Offset, new_ranges
from reread.dataset.schema import TABLES
from reread.dataset.transcripts import TranscriptFile
from reread.dataset.usage_rows import settled_rows
from reread.disk.file_set import find_files
from reread.errors import Unreadable

REAL = sorted((Path(__file__).parent / "real").rglob("projects/*/*.jsonl"))
USAGE = TABLES["usage"].names(text=False)
AGENT, AGENT_TYPE, RESPONSES, UNCONFIRMED = map(
    USAGE.index, ("agent", "agent_type", "responses", "unconfirmed_responses")
)
LINE = b'{"type":"summary","summary":"one"}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of Claude Code with one project."""
    (tmp_path / "claude" / "projects" / "-p").mkdir(parents=True)
    return tmp_path / "claude"


def sizes(offset: Offset) -> dict[str, int]:
    return {name: FileOffset.parse(text).size for files in offset.values() for name, text in files.items()}


def rows_between(folder: Path, table: str, start: Offset, end: Offset) -> list[Any]:
    parts = [
        FilePart.of(str(folder / name), first, after.size) for name, (first, after) in new_ranges(start, end).items()
    ]
    return [row for part in parts for row in APPENDED[table](part, "m", text=False, numbered=True)]


def test_only_whole_lines_are_read(folder: Path) -> None:
    path, progress = folder / "projects" / "-p" / "a.jsonl", FolderProgress(str(folder))
    assert progress.latest({}) == {}
    path.write_bytes(LINE[:-1])
    assert progress.latest({}) == {}, "a line without an end may go on"
    path.write_bytes(LINE + LINE[:9])
    first = progress.latest({})
    assert list(first) == [os.path.join("projects", "-p")] and sizes(first) == {"a.jsonl": len(LINE)}
    assert progress.latest(first) == first
    path.write_bytes(LINE * 2)
    second = progress.latest(first)
    assert sizes(second) == {"a.jsonl": 2 * len(LINE)}
    [(start, after)] = new_ranges(first, second).values()
    assert (start, after.size) == (len(LINE), 2 * len(LINE))


def test_a_batch_has_at_most_so_many_bytes_but_a_whole_line(folder: Path) -> None:
    for name in "abc":
        (folder / "projects" / "-p" / f"{name}.jsonl").write_bytes(LINE * 3)
        os.utime(folder / "projects" / "-p" / f"{name}.jsonl", (1000, 1000))
    progress, offset, steps = FolderProgress(str(folder)), Offset(), []
    while (after := progress.latest(offset, 2 * len(LINE) + 5)) != offset:
        steps.append(sum(sizes(after).values()) // len(LINE))
        offset = after
    assert steps[-1] == 9 and all(1 <= after - before <= 2 for before, after in pairwise([0, *steps]))
    assert sum(sizes(progress.latest({}, 3)).values()) == len(LINE)


def test_a_stream_that_reads_what_is_there_reads_nothing_newer(folder: Path) -> None:
    path, progress = folder / "projects" / "-p" / "a.jsonl", FolderProgress(str(folder))
    path.write_bytes(LINE)
    progress.stop_here()
    path.write_bytes(LINE * 2)
    path.with_name("b.jsonl").write_bytes(LINE)
    offset = progress.latest({})
    assert sizes(offset) == {"a.jsonl": len(LINE)} == sizes(progress.latest(offset))


@pytest.mark.parametrize(
    "content", [LINE[:20] + b"\n", LINE.replace(b"one", b"two") * 2, LINE.replace(b"one", b"2") * 9]
)
def test_a_file_that_was_rewritten_is_read_again_and_said(
    folder: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "projects" / "-p" / "a.jsonl"
    path.write_bytes(LINE * 2)
    for progress in (FolderProgress(str(folder)), None):
        path.write_bytes(LINE * 2)
        before = (progress or FolderProgress(str(folder))).latest({})
        path.write_bytes(content)
        os.utime(path, (5000, 5000))
        after = (progress or FolderProgress(str(folder))).latest(before)
        [(start, end)] = new_ranges(before, after).values()
        assert (start, end.size, end.generation) == (0, len(content), 1)
        assert "was rewritten after 70 of its bytes" in capsys.readouterr().err
    with pytest.raises(Unreadable, match="was rewritten"):
        FolderProgress(str(folder), fail_on_loss=True).latest(before)


def test_a_file_that_is_gone_leaves_the_offset(folder: Path) -> None:
    path, progress = folder / "projects" / "-p" / "a.jsonl", FolderProgress(str(folder))
    path.write_bytes(LINE)
    offset = progress.latest({})
    path.unlink()
    assert progress.latest(offset) == {}
    assert new_ranges(offset, {}) == {}


def test_batches_of_a_growing_file_have_its_rows_once(folder: Path) -> None:
    chance = random.Random(5)
    seen = dict.fromkeys(APPENDED, 0)
    for source in REAL[:: max(1, len(REAL) // 25)]:
        path, content = folder / "projects" / "-p" / source.name, source.read_bytes()
        path.write_bytes(b"")
        progress, offset = FolderProgress(str(folder)), Offset()
        found: dict[str, list[Any]] = {table: [] for table in APPENDED}
        for cut in [*sorted(chance.choices(range(len(content) + 1), k=4)), len(content)]:
            path.write_bytes(content[:cut])
            after = progress.latest(offset)
            for table, rows in found.items():
                rows += rows_between(folder, table, offset, after)
            offset = after
        whole = TranscriptFile(path, "m")
        line = TABLES["records"].names(text=False).index("line")
        wanted = [row for _, row in whole.rows(["records"])]
        assert [row[line:5] for row in found["records"]] == [row[line:5] for row in wanted], source
        names = TABLES["calls"].names(text=False)
        keys = [names.index(name) for name in ("id", "tool", "state", "result_line")]
        calls = {tuple(row[key] for key in keys) for _, row in whole.rows(["calls"])}
        streamed = [tuple(row[key] for key in keys) for row in found["calls"]]
        assert len(streamed) == len(set(streamed)), source
        assert set(streamed) == {call for call in calls if call[3] is not None}, source
        ids = [(row[8], row[9]) for row in found["usage"]]
        assert len(ids) == len(set(ids)), source
        for table, rows in found.items():
            seen[table] += len(rows)
        path.unlink()
    assert all(count > 20 for count in seen.values()), seen


def test_streamed_usage_is_that_of_the_report(folder: Path) -> None:
    for source in REAL[:: max(1, len(REAL) // 25)]:
        path = folder / "projects" / "-p" / source.name
        path.write_bytes(source.read_bytes())
        streamed = {
            row[8:10]: list(row) for row in rows_between(folder, "usage", {}, FolderProgress(str(folder)).latest({}))
        }
        settled = {row[8:10]: list(row) for row in settled_rows(find_files([folder]), "m", cache=False)}
        for row in [*streamed.values(), *settled.values()]:
            row[AGENT_TYPE] = None  # a stream does not know the call that started an agent
        for key, row in streamed.items():  # nor what agent it was, if an old client wrote it into the session's file
            settled[key][AGENT] = SIDECHAIN if row[AGENT] == SIDECHAIN and settled[key][AGENT] else settled[key][AGENT]
        assert streamed == {key: settled[key] for key in streamed}, source
        late = [row for key, row in settled.items() if key not in streamed and row[RESPONSES] and row[AGENT] is None]
        assert all(row[UNCONFIRMED] for row in late[-1:]) and len(late) <= 1, (source, late)
        path.unlink()
