r"""The value of a bound at a number of steps: its terms, their sum, and whether it is vacuous.

Terms are exp(scale) T^power (log T + offset)^log_power, in logarithms against overflow: with x = log T a term
is scale + power x + log_power log(x + offset). Two questions are asked of such terms. From which T on is one
of them the larger one? And from which T on is their sum at most lambda T? Both are answered by bisection in
x, for whole arrays at once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Bools, Floats
from heavytail.bounds.quantities import Case

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


TERMS = ("transitions", "heavy_tail", "lower_order", "remainder")
LOG_10 = float(np.log(10.0))


@dataclass(frozen=True)
class Steps:
    """A number of steps that may be too large for a float: by its natural logarithm.

    Of steps until the average regret is small also those until each part of it is at most half of that.
    """

    log: Floats
    transitions: "Steps | None" = None
    heavy_tail: "Steps | None" = None

    @property
    def steps(self) -> Floats:
        """The number itself, infinite beyond the largest float."""
        return exp(self.log)[()]

    @property
    def log10(self) -> Floats:
        """Its decimal logarithm."""
        return np.asarray(self.log / LOG_10)[()]


@dataclass(frozen=True)
class Bound:
    """A bound on regret after T steps, by the natural logarithms of its terms; arrays of one shape."""

    log_transitions: Floats  # what not knowing the transitions costs
    log_heavy_tail: Floats  # what not knowing the mean rewards costs, their tails being heavy
    log_lower_order: Floats  # terms of lower order in T
    log_remainder: Floats  # what else the statement has, as its function says
    log_trivial: Floats  # R T: no agent has a larger regret; infinite for a lower bound
    # T from which on the heavy tail is above the transitions; infinite: never; NaN: open
    log_crossing: Floats
    holds: Bools  # whether the conditions of the statement are met
    kind: Literal["bound", "order"]  # "order": the statement leaves its constant open, and 1 stands for it

    @property
    def transitions(self) -> Floats:
        """The regret from not knowing the transitions."""
        return exp(self.log_transitions)[()]

    @property
    def heavy_tail(self) -> Floats:
        """The regret from not knowing the mean rewards of heavy-tailed laws."""
        return exp(self.log_heavy_tail)[()]

    @property
    def lower_order(self) -> Floats:
        """The terms of lower order in T."""
        return exp(self.log_lower_order)[()]

    @property
    def remainder(self) -> Floats:
        """The remaining terms of the statement."""
        return exp(self.log_remainder)[()]

    @property
    def log_total(self) -> Floats:
        """The natural logarithm of the sum of all terms."""
        main = np.logaddexp(self.log_transitions, self.log_heavy_tail)
        return np.asarray(np.logaddexp(main, np.logaddexp(self.log_lower_order, self.log_remainder)))[()]

    @property
    def log10_total(self) -> Floats:
        """The decimal logarithm of the sum of all terms: finite where the sum itself is not."""
        return np.asarray(self.log_total / LOG_10)[()]

    @property
    def total(self) -> Floats:
        """The sum of all terms."""
        return exp(self.log_total)[()]

    @property
    def vacuous(self) -> Bools:
        """True if the bound says no more than that the regret is at most R T."""
        return np.asarray(self.log_total >= self.log_trivial)[()]

    @property
    def is_lower(self) -> bool:
        """True for a lower bound."""
        return bool(np.isposinf(self.log_trivial).all())

    @property
    def crossing(self) -> Floats:
        """The T from which on the heavy-tail term is above that of the transitions; infinite if never."""
        return exp(self.log_crossing)[()]

    @property
    def log10_crossing(self) -> Floats:
        """Its decimal logarithm."""
        return np.asarray(self.log_crossing / LOG_10)[()]

    @property
    def rules(self) -> npt.NDArray[np.str_]:
        """The name of the largest term."""
        logs = np.stack(np.broadcast_arrays(*(getattr(self, f"log_{name}") for name in TERMS)))
        return np.array(TERMS)[logs.argmax(axis=0)]


def bound_at(
    statement: Statement,
    case: Case,
    *,
    holds: Bools | bool = True,
    kind: Literal["bound", "order"] = "bound",
) -> Bound:
    """Evaluate a statement at the T of a case."""
    x = log(case.T)
    logs = [log_sum(getattr(statement, name), x) for name in TERMS]
    crossing = log_crossing(statement.heavy_tail, statement.transitions)
    return make_bound(logs, log(case.reward_range) + x, crossing, holds=holds, kind=kind)


def make_bound(
    logs: list[Floats],
    log_trivial: Number,
    crossing: Number,
    *,
    holds: Bools | bool = True,
    kind: Literal["bound", "order"] = "bound",
) -> Bound:
    """Make a bound of these four terms, all of one shape."""
    *arrays, condition = (np.array(a)[()] for a in np.broadcast_arrays(*logs, log_trivial, crossing, holds))
    transitions, heavy_tail, lower_order, remainder, trivial, cross = arrays
    holds = condition.astype(np.bool_)
    return Bound(transitions, heavy_tail, lower_order, remainder, trivial, cross, holds, kind)


def steps_until(statement: Statement, accuracy: Floats, start: Floats) -> Steps:
    """Find when the average of a statement is at most `accuracy`, and each part's at most half of it.

    Averages must fall from `start` on.
    """
    half, heavy_tail = log(accuracy / 2.0), Statement(heavy_tail=statement.heavy_tail)
    return Steps(
        log_steps(statement, log(accuracy), start),
        transitions=Steps(log_steps(statement._replace(heavy_tail=()), half, start)),
        heavy_tail=Steps(log_steps(heavy_tail, half, start)),
    )
