r"""Rates at which random cells do something unusual, learnt from those that did.

A cell is random with a rate p of doing something else than the first time. The rates of a grid,

    p_k = 2^-(k + 1/2),  k = 0 to 7,

have weights by how many random cells there are of each: n visits, m of them with the most frequent successor,
make a rate of 1 - m / n. The prior is one cell with a rate that is uniform between 0 and 1. So a cell that is
random does the same n times with probability

    L(n) = sum of w_k (1 - p_k)^(n - 1),

which is about 1 / n as long as no cell was seen to change.
"""

from typing import NamedTuple

import numpy as np

from heavytail.agents._index_list import IndexList, item
from heavytail.agents._transition_counts import TransitionCounts
from heavytail.arrays import Floats, Stream, U
from heavytail.kernels.compiling import kernel, subroutine
from heavytail.kernels.elementary import exp
from heavytail.kernels.rng import uniform
from heavytail.kernels.verbs import reset

RATES = 8
FIRST_RATE = 2.0**-0.5
TABLE = 64  # visits for which L(n) is kept
LOG_2 = 0.6931471805599453


class ChangeRates(NamedTuple):
    """The rates at which random cells change."""

    weights: Floats  # [RATES]
    same: Floats  # [TABLE] L(n) of n = 1, 2, ...
    logs: Floats  # [RATES] log(1 - p)

    def constant_fields(self) -> tuple[str, ...]:
        """Name what never changes."""
        return ("logs",)


def new_change_rates() -> ChangeRates:
    """Make the rates of an environment not yet seen."""
    rates = FIRST_RATE * 0.5 ** np.arange(RATES)
    return ChangeRates(np.zeros(RATES), np.zeros(TABLE), np.log1p(-rates))


@reset.method(ChangeRates)
def _reset(record: ChangeRates) -> None:
    record.weights[:] = 0.0
    record.same[:] = 0.0


@subroutine
def learn_rates(rates: ChangeRates, model: TransitionCounts, tried: IndexList) -> None:
    """Weigh the rates by all cells of several successors."""
    for k in range(RATES):
        rates.weights[k] = 0.0
    cells = 1.0
    for j in range(tried.size[0]):
        i = U(item(tried, j))
        if model.size[i] > 1:
            most = 0
            for place in range(model.start[i], model.start[i] + model.size[i]):
                most = max(most, model.counts[U(place)])
            changed, k, edge = 1.0 - most / model.visits[i], 0, 0.5
            while k < RATES - 1 and changed < edge:
                k += 1
                edge *= 0.5
            rates.weights[k] += 1.0
            cells += 1.0
    part, left = 0.5, 1.0  # of the prior
    for k in range(RATES):
        left -= part
        rates.weights[k] = (rates.weights[k] + part) / cells
        part = 0.5 * part if k < RATES - 2 else left
    for n in range(TABLE):
        rates.same[n] = _same(rates, n + 1.0)


@kernel
def _same(rates: ChangeRates, n: float) -> float:
    total = 0.0
    for k in range(RATES):
        total += rates.weights[k] * exp((n - 1.0) * rates.logs[k])
    return total


@kernel
def same_again(rates: ChangeRates, n: int) -> float:
    """Return L(n), the probability that a random cell does the same n times."""
    return rates.same[U(n - 1)] if n <= TABLE else _same(rates, float(n))


@subroutine
def draw_rate(rates: ChangeRates, n: int, rng: Stream) -> float:
    """Draw the rate of a random cell that did the same n times."""
    u, k, rate = uniform(rng) * same_again(rates, n), 0, FIRST_RATE
    u -= rates.weights[0] * exp((n - 1.0) * rates.logs[0])
    while k < RATES - 1 and u >= 0.0:
        k += 1
        rate *= 0.5
        u -= rates.weights[U(k)] * exp((n - 1.0) * rates.logs[U(k)])
    return rate * exp(LOG_2 * (uniform(rng) - 0.5))
