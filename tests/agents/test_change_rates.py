"""How often random cells change: counted by hand, and drawn by their posterior."""

import numpy as np
import pytest

from heavytail.agents._change_rates import (
    RATES,
    TABLE,
    ChangeRates,
    draw_rate,
    learn_rates,
    new_change_rates,
    same_again,
)
from heavytail.agents._index_list import IndexList
from heavytail.agents._transition_counts import TransitionCounts, new_transition_counts, observe
from heavytail.arrays import Floats, Stream
from heavytail.kernels.compiling import entry
from heavytail.kernels.pools import with_larger_pools
from heavytail.kernels.rng import stream
from support.index_lists import index_list

P = 2.0 ** -(np.arange(RATES) + 0.5)


def _observe(model: TransitionCounts, cell: int, s_next: int) -> None:
    observe(model, cell, s_next, False)


def model_of(*cells: list[int]) -> TransitionCounts:
    """A model in which the n-th state's only action has led to these successors."""
    model = new_transition_counts(len(cells), 1)
    for s, successors in enumerate(cells):
        for s_next in successors:
            model = with_larger_pools(model)
            entry(_observe, model)(model, s, s_next)
    return model


def _learn(rates: ChangeRates, model: TransitionCounts, tried: IndexList) -> None:
    learn_rates(rates, model, tried)


def learnt(*cells: list[int]) -> ChangeRates:
    rates, model, tried = new_change_rates(), model_of(*cells), index_list(range(len(cells)))
    entry(_learn, rates, model, tried)(rates, model, tried)
    return rates


def likelihoods(rates: ChangeRates, n: int) -> Floats:
    return rates.weights * (1.0 - P) ** (n - 1)


def test_before_any_cell_has_changed_a_rate_is_about_uniform() -> None:
    """A random cell then does the same n times with probability 1 / n, as far as the grid is fine."""
    rates = learnt([0, 0, 0], [1])
    assert rates.weights.sum() == pytest.approx(1.0)
    for n in (1, 2, 3, 10, 30, 100):
        assert same_again(rates, n) == pytest.approx(1.0 / n, rel=0.35)


def test_weights_are_those_of_the_cells_that_changed() -> None:
    """Rates of 1/10, 1/2 and 2/3 beside one cell of the prior; the certain one does not count."""
    rates = learnt([0] * 9 + [1], [0, 1], [0, 1, 2], [3, 3, 3])
    prior = 2.0 ** -np.arange(1.0, RATES + 1.0)
    prior[-1] *= 2.0
    expected = prior.copy()
    expected[3] += 1.0  # between 1/16 and 1/8
    expected[0] += 2.0  # at least 1/2
    np.testing.assert_allclose(rates.weights, expected / 4.0)


@pytest.mark.parametrize("n", [1, 2, TABLE, TABLE + 1, 10_000])
def test_the_same_again_is_a_mean_over_rates_in_the_table_and_beyond(n: int) -> None:
    rates = learnt([0] * 9 + [1], [0, 1])
    assert same_again(rates, n) == pytest.approx(likelihoods(rates, n).sum(), rel=1e-9)


def _draw(rates: ChangeRates, n: int, rng: Stream, out: Floats) -> None:
    for i in range(out.size):
        out[i] = draw_rate(rates, n, rng)


@pytest.mark.parametrize("n", [1, 5, 100])
def test_rates_are_drawn_by_their_posterior(n: int) -> None:
    """Shares of 20,000 draws in each octave, within 5 standard errors."""
    rates, out = learnt([0] * 9 + [1], [0, 1]), np.zeros(20_000)
    entry(_draw, rates, n)(rates, n, stream(1), out)
    weights = likelihoods(rates, n)
    weights /= weights.sum()
    drawn = np.bincount(np.floor(-np.log2(out)).astype(int), minlength=RATES) / out.size
    assert (np.abs(drawn - weights) <= 5.0 * np.sqrt(weights * (1.0 - weights) / out.size) + 1e-12).all()
