"""Guards around long calls; those around learning are tested with it."""

import gc

import pytest

from heavytail.guards import gc_paused


def test_the_collector_comes_back_also_after_an_error() -> None:
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), gc_paused():
        1 / gc.isenabled()  # off is 0
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with gc_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
