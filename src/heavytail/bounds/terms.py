r"""The terms of bounds, exp(scale) T^power (log T + offset)^log_power, in logarithms against overflow.

With x = log T a term is scale + power x + log_power log(x + offset). Two questions are asked of such terms.
From which T on is one of them the larger one? And from which T on is their sum at most lambda T? Both are
answered by bisection in x, for whole arrays at once.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from heavytail.arrays import Bools, Floats

Number: TypeAlias = Floats | float
HALVINGS = 120
DOUBLINGS = 1000  # log T up to 1e300


class Term(NamedTuple):
    """exp(scale) T^power (log T + offset)^log_power."""

    scale: Number
    power: Number = 0.0
    log_power: Number = 0.0
    offset: Number = 1.0
    floor: Number = 1e-300  # of log T + offset

    def log(self, x: Number) -> Floats:
        """The logarithm of the term at T = exp(x)."""
        inside = np.maximum(x + np.asarray(self.offset, np.float64), self.floor)
        return np.asarray(
            self.scale + self.power * np.asarray(x) + self.log_power * np.log(inside), np.float64
        )


Terms: TypeAlias = tuple[Term, ...]


class Statement(NamedTuple):
    """A bound as a function of T."""

    transitions: Terms = ()
    heavy_tail: Terms = ()
    lower_order: Terms = ()
    remainder: Terms = ()

    def log_total(self, x: Number) -> Floats:
        """The logarithm of the sum of all terms at T = exp(x)."""
        return log_sum((*self.transitions, *self.heavy_tail, *self.lower_order, *self.remainder), x)


def log(value: Number) -> Floats:
    """The natural logarithm; of 0, minus infinity."""
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(value, np.float64))


def exp(value: Number) -> Floats:
    """The exponential, infinite beyond the largest float."""
    with np.errstate(over="ignore"):
        return np.exp(np.asarray(value, np.float64))


def log_sum(terms: Terms, x: Number) -> Floats:
    """The logarithm of the sum of some terms at T = exp(x)."""
    total = np.full(np.shape(x), -np.inf)
    for term in terms:
        total = np.logaddexp(total, term.log(x))
    return total


def log_crossing(above: Terms, below: Terms) -> Floats:
    """The least log T, 0 or more, from which on `above` stays above `below`; infinite if there is none.

    The difference of their logarithms falls and then rises, or only rises, if `below` has the larger power of
    a logarithm and the smaller offset, or none at all: as all bounds here have.
    """
    if not above:
        return np.array(np.inf)
    if not below:
        return np.array(0.0)
    (up,), (down,) = above, below
    with np.errstate(invalid="ignore"):  # two terms of 0 cross nowhere
        ahead = np.subtract(up.scale, down.scale)
    slope, slower = np.subtract(up.power, down.power), np.subtract(up.log_power, down.log_power)
    shape = np.broadcast_shapes(*map(np.shape, (*up, *down)))
    searched = np.isfinite(ahead) & ((slope > 0) | ((slope == 0) & (slower > 0)))

    def rise(x: Floats) -> Floats:
        derivative = slope + up.log_power / (x + up.offset) - down.log_power / (x + down.offset)
        return np.where(searched, derivative, 0.0)

    def difference(x: Floats) -> Floats:
        rising = ahead + slope * x + up.log_power * np.log(x + up.offset)
        return np.where(searched, rising - down.log_power * np.log(x + down.offset), 0.0)

    lowest = least(rise, np.zeros(shape))
    crossing = least(difference, lowest)
    crossing = np.where(crossing == lowest, 0.0, crossing)  # where it is lowest it is above already
    always = np.isposinf(ahead) | ((slope == 0) & (slower == 0) & (ahead >= 0))
    return np.where(searched, crossing, np.where(always, 0.0, np.inf))


def log_steps(statement: Statement, log_accuracy: Number, start: Number) -> Floats:
    """The least log T, `start` or more, from which on the statement is at most exp(log_accuracy) T.

    Its average must fall from `start` on.
    """

    def slack(x: Floats) -> Floats:
        return log_accuracy + x - statement.log_total(x)

    shape = np.broadcast_shapes(
        np.shape(start), np.shape(log_accuracy), np.shape(statement.log_total(np.asarray(start)))
    )
    return least(slack, np.array(np.broadcast_to(start, shape), np.float64))


def least(f: Callable[[Floats], Floats], start: Floats) -> Floats:
    """The least x, `start` or more, with f(x) >= 0, for an f that increases; infinite beyond 1e300."""
    low, step = start.copy(), np.ones(start.shape)
    high = np.where(f(low) >= 0, low, low + step)
    for _ in range(DOUBLINGS):
        short: Bools = f(high) < 0
        if not short.any():
            break
        low, step = np.where(short, high, low), np.where(short, 2.0 * step, step)
        high = np.where(short, high + step, high)
    short = f(high) < 0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if ((middle == low) | (middle == high)).all():
            break
        enough = f(middle) >= 0
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(short, np.inf, high)
