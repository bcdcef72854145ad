"""The value of a bound at a number of steps: its terms, their sum, and whether it is vacuous."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Bools, Floats
from heavytail.bounds.quantities import Case
from heavytail.bounds.terms import Number, Statement, exp, log, log_crossing, log_steps, log_sum

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
