"""Pausing the garbage collector."""

import gc
from pathlib import Path

import pytest

import reread
from reread.base.gc_pause import gc_paused
from reread.base.paths import SAMPLES


def test_collection_is_off_inside_and_on_again_after_an_error() -> None:
    with pytest.raises(KeyError), gc_paused():
        assert not gc.isenabled()
        raise KeyError
    assert gc.isenabled()


def test_a_nested_pause_does_not_end_the_outer_one() -> None:
    with gc_paused():
        with gc_paused():
            pass
        assert not gc.isenabled()


FILES = Path("/proc/self/fd")


@pytest.mark.skipif(not FILES.is_dir(), reason="counts the open files of this process")
def test_sessions_that_nobody_needs_are_closed() -> None:
    path = next(SAMPLES.glob("projects/*/d2a94e17*.jsonl"))
    before = most = len([*FILES.iterdir()])
    for _ in range(60):
        assert reread.open(path).agents
        most = max(most, len([*FILES.iterdir()]))
    assert most < before + 100
