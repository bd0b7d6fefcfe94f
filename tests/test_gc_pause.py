"""Pausing the garbage collector."""

import gc

import pytest

from reread.base.gc_pause import gc_paused


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


def test_what_was_made_meanwhile_is_old() -> None:
    with gc_paused():
        made = [[n] for n in range(1000)]
    young = {id(one) for generation in (0, 1) for one in gc.get_objects(generation)}
    assert young.isdisjoint(map(id, made))
