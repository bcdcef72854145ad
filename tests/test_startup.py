import gc
from pathlib import Path

import pytest

from heavytail.guards import gc_paused
from support.processes import python


def test_sparing_numba_its_probe_takes_nothing_from_other_code(tmp_path: Path) -> None:
    """Matrix products and correlations, which use a BLAS, still compile, and SciPy still imports."""
    script = """
    import sys, heavytail as ht
    ht.make_mdp("six_arms")
    assert "scipy.linalg" not in sys.modules
    import numpy as np
    from numba import njit
    x = np.arange(4.0)
    assert njit(lambda a: np.dot(a, a))(x) == 14.0
    assert njit(lambda a: np.correlate(a, a))(x)[0] == 14.0
    assert njit(lambda a: np.linalg.inv(a))(2 * np.eye(2))[0, 0] == 0.5
    import scipy.linalg
    assert scipy.linalg.inv(2 * np.eye(2))[0, 0] == 0.5
    """
    python(script, folder=tmp_path)


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
