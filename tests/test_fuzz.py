"""Mutated transcripts of the real client: whatever they hold, every verb and view reads them.

`make fuzz` runs many more mutations, of more files if REREAD_REAL_CLIENT names some. What it finds is kept in
`tests/fixtures/fuzz`.
"""

import os
import time
from pathlib import Path

import pytest
from effort import one_in
from mutations import Mutator, copy_mutated, one_of_each_kind, read_everything, records_of, transcripts, with_extremes

HERE = Path(__file__).parent
LARGER = os.environ.get("REREAD_REAL_CLIENT")
RUNS = int(os.environ.get("REREAD_FUZZ", "120"))
FIRST = int(os.environ.get("REREAD_FUZZ_SEED", "0"))
SECONDS = 8 if "REREAD_FUZZ" not in os.environ else float("inf")
"""After which the mutations stop, on a slow machine."""
ROOTS = [HERE / "real", *([Path(LARGER) / "data"] if LARGER else [])]
FILES = [path for path in transcripts(*ROOTS) if path.stat().st_size]
SLICES = 32
"""Into how many parts the files are divided of which all values are replaced."""
FOUND = sorted((HERE / "fixtures" / "fuzz").glob("*.jsonl"))


@one_in(3)
@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_was_found_is_read(path: Path) -> None:
    read_everything(path)


def test_no_mutation_makes_a_verb_or_a_view_fail(tmp_path: Path) -> None:
    until = time.monotonic() + SECONDS
    for seed in range(FIRST, FIRST + RUNS):
        mutator = Mutator(seed)
        original = mutator.random.choice(FILES)
        try:
            read_everything(copy_mutated(original, tmp_path, mutator))
        except Exception as error:
            error.add_note(f"seed {seed}, {original}")
            raise
        if time.monotonic() > until:
            break


@one_in(0)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + max(1, RUNS // 80)))
def test_every_number_may_be_extreme_and_every_text_hostile(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "extreme.jsonl"
    chosen = one_of_each_kind(FILES)
    records = [record for original in chosen[seed % SLICES :: SLICES] for record in records_of(original)]
    path.write_bytes(with_extremes(records, seed))
    read_everything(path)
