"""Short texts: numbers, durations, sizes, money, times, plurals, and columns with wide characters."""

import json
import math
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from batches import table
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from reread.accounting.prices import model_text
from reread.base.format import (
    date_text,
    duration_ms_text,
    duration_text,
    money_text,
    number_text,
    share_text,
    size_text,
    time_text,
    tokens_text,
    utc_text,
)
from reread.base.text import as_text, as_title, cell_width, home_text, one_line, pad, plural, truncate
from reread.cli import reread as command

FORMATTERS = {
    "duration": duration_text,
    "size": size_text,
    "tokens": tokens_text,
    "money": money_text,
    "lower_bound": partial(money_text, lower_bound=True),
    "share": share_text,
    "number": number_text,
}
CASES = json.loads((Path(__file__).parent / "fixtures" / "format.json").read_text())
"""The web UI's own tests read the same file."""
EVERY_FORMATTER = [*FORMATTERS.values(), duration_ms_text, utc_text]
HARD_VALUES = [math.nan, math.inf, -math.inf, -1, -0.0, 10**4000, -(10**4000), 10**5000, True, None, "12", [1], {}]
WIDE = ["日本語", "é", "👍", "👩‍👩‍👧", "한국어 text", "a", ""]


@table(("kind", "value", "text"), [(kind, *case) for kind, cases in CASES.items() for case in cases])
def test_a_value_is_written_as_in_the_browser(kind: str, value: Any, text: str) -> None:
    named = {"folder": home_text, "model": model_text, "turns": partial(plural, noun="turn")}
    assert {**FORMATTERS, **named}[kind](value) == text


@table("value", HARD_VALUES)
def test_no_value_raises(value: Any) -> None:
    for formatter in EVERY_FORMATTER:
        assert isinstance(formatter(value), str)
    assert isinstance(plural(value, "turn"), str)


@given(st.floats() | st.integers() | st.integers(-(10**30), 10**30))
def test_every_number_has_a_short_text(value: float) -> None:
    for formatter in EVERY_FORMATTER:
        assert len(formatter(value)) <= 30


def test_numbers_that_cannot_be_written_are_empty() -> None:
    for value in (math.nan, 10**4000, None, "12", True):
        assert number_text(value) == size_text(value) == duration_text(value) == ""
    assert duration_text(-1) == size_text(-1) == ""
    assert tokens_text(10**400) == tokens_text(10**15)
    assert (tokens_text(-12), money_text(-1.5)) == ("-12", "-$1.50")


def test_milliseconds_are_seconds() -> None:
    assert (duration_ms_text(1500), duration_ms_text(50)) == ("1.5 s", "50 ms")
    assert utc_text(1_738_160_130_123) == "2025-01-29 14:15:30 UTC"
    assert utc_text(0) == utc_text(10**15) == utc_text("now") == ""


@pytest.mark.parametrize("when", [datetime.min, datetime.max.replace(tzinfo=UTC), datetime(2026, 11, 15, tzinfo=UTC)])
def test_every_time_has_a_text(when: datetime) -> None:
    assert len(time_text(when)) == 5
    assert date_text(when).endswith(time_text(when))
    assert time_text(None) == date_text(None) == ""


@table(
    ("count", "noun", "text"),
    [
        (1, "search", "1 search"),
        (2310, "search", "2,310 searches"),
        (0, "turn", "0 turns"),
        (2, "entry", "2 entries"),
        (2, "day", "2 days"),
        (2, "class", "2 classes"),
        ([1, 2], "file", "2 files"),
        ("two", "file", ""),
        (math.nan, "file", ""),
    ],
)
def test_a_plural(count: object, noun: str, text: str) -> None:
    assert plural(count, noun) == text


def test_one_line() -> None:
    assert one_line(" a\n\tb ") == "a b"
    assert one_line("x" * 120) == "x" * 120
    assert one_line("x" * 121) == "x" * 119 + "…"
    assert one_line("word word", 5) == "word…"
    assert (one_line(None), one_line({"a": [1]}), as_text(None), as_text(5)) == ("", '{"a":[1]}', "", "5")


def test_a_title_has_at_most_120_characters() -> None:
    assert as_title(" a\n b ") == "a b"
    assert as_title("word " * 200) == ("word " * 200)[:119].rstrip() + "…"
    assert as_title("x" * 200) == "x" * 119 + "…"
    assert as_title("some " + "words " * 18 + "unbreakable") == ("some " + "words " * 18).strip() + "…"
    assert as_title("a" * 120) == "a" * 120
    assert len(as_title("wörter " * 99)) <= 120


@pytest.mark.parametrize("text", WIDE)
def test_a_padded_text_takes_its_columns(text: str) -> None:
    assert cell_width(text) == cell_len(text)
    assert cell_len(pad(text, 20)) == cell_len(pad(text, 20, right=True)) == 20
    assert pad(text, 20).startswith(text) and pad(text, 20, right=True).endswith(text)
    assert pad(text, 0) == text


@given(st.lists(st.sampled_from([*WIDE, " ", "\u0301"])).map("".join), st.integers(1, 30), st.booleans())
def test_a_truncated_text_fits(text: str, width: int, keep_end: bool) -> None:
    cut = truncate(text, width, keep_end=keep_end)
    assert cell_len(cut) <= width
    if cell_len(text) <= width:
        assert cut == text
    else:
        kept = cut.removeprefix("…") if keep_end else cut.removesuffix("…")
        assert kept != cut
        assert text.endswith(kept) if keep_end else text.startswith(kept)


def test_a_text_is_cut_where_the_columns_end() -> None:
    assert truncate("日本語テキスト", 7) == "日本語…"
    assert truncate("日本語テキスト", 6) == "日本…"
    assert truncate("/a/日本語", 6, keep_end=True) == "…本語"
    assert truncate("日本語", 3, ellipsis="") == "日"


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    """A root with sessions whose projects and titles have wide characters."""
    for number, (project, prompt) in enumerate(
        [
            ("/home/sam/plain", "Fix it"),
            ("/home/sam/日本語", "バグを直してください" * 9),
            ("/home/sam/👍👍", "👍 ship it"),
        ]
    ):
        record = {"sessionId": f"s{number}", "cwd": project, "gitBranch": "main", "timestamp": "2026-11-15T09:30:00Z"}
        usage = {"input_tokens": 10**number, "output_tokens": 5}
        message = {
            "id": f"m{number}",
            "model": "claude-opus-5-5",
            "content": [],
            "stop_reason": "end_turn",
            "usage": usage,
        }
        lines = [
            {"type": "user", "uuid": "u", "message": {"role": "user", "content": prompt}, **record},
            {"type": "assistant", "uuid": "a", "parentUuid": "u", "requestId": "r", "message": message, **record},
        ]
        folder = tmp_path / "projects" / f"p{number}"
        folder.mkdir(parents=True)
        (folder / f"s{number}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def test_the_columns_of_ls_line_up(sessions: Path) -> None:
    done = CliRunner().invoke(command, ["ls", "--root", str(sessions)])
    rows = [line for line in done.output.splitlines() if line.startswith("  ")]
    assert len(rows) == 3 and any("バグ" in row for row in rows)
    assert len({cell_len(row[: row.index("main")]) for row in rows}) == 1


def test_the_columns_of_usage_line_up(sessions: Path) -> None:
    for width in ("60", "100"):
        done = CliRunner().invoke(
            command,
            ["usage", "--root", str(sessions), "--by", "project"],
            env={"COLUMNS": width, "REREAD_CACHE": str(sessions / "cache")},
        )
        rows = [line for line in done.output.splitlines() if "$" in line]
        assert len(rows) == 4 and any("日本語" in row for row in rows)
        costs = [row.index("$") + len(row[row.index("$") :].split()[0]) for row in rows]
        assert len({cell_len(row[:end]) for row, end in zip(rows, costs, strict=True)}) == 1
