"""Pausing the garbage collector."""

import gc
import os
from pathlib import Path

import pytest

import reread
from reread.base.gc_pause import gc_paused
from reread.cli._options import SAMPLES


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


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts the open files of this process")
def test_sessions_that_nobody_needs_are_closed() -> None:
    path = next(SAMPLES.glob("projects/*/d2a94e17*.jsonl"))
    most = 0
    for _ in range(60):
        assert reread.open(path).agents
        most = max(most, len(os.listdir("/proc/self/fd")))
    assert most < len(os.listdir("/proc/self/fd")) + 100
