"""The quantities in bounds: exact facts of an MDP, and the parameters of a question."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from heavytail import planning
from heavytail.arrays import Bools, Floats
from heavytail.checks import as_floats, cast_value
from heavytail.errors import InputError
from heavytail.laws.law import laws_from_table
from heavytail.mdp import MDP
from heavytail.planning.hitting_times import MAX_TARGETS
from heavytail.planning.policy_enumeration import MAX_DISTINCT, PolicyFacts, count_policies, policy_facts
from heavytail.planning.reward_moments import largest_moment

MAX_STATES = 300  # with more there are too many policies, unless there is one action
Constants: TypeAlias = Literal["tight", "paper"]
EstimatorName: TypeAlias = Literal["truncated_mean", "median_of_means"]
Quantity: TypeAlias = Any  # a number, or an array of them; None where it is unknown or there is none


@dataclass(frozen=True)
class Quantities:
    """The exact quantities of an MDP, or given numbers and arrays that broadcast together.

    Those of the long run (`gain` to `settling`) are None where transitions or rewards depend on the step.
    """

    S: Quantity = None
    A: Quantity = None
    H: Quantity = None  # steps of an episode; None: continuing
    value: Quantity = None  # the best expected total reward of an episode
    gain: Quantity = None  # the best long-run average reward
    span: Quantity = None  # of the optimal bias
    # the largest expected time between two states, by the best policy; infinite if some state cannot be
    # reached from another; None: too many states
    diameter: Quantity = None
    gap: Quantity = None  # of the gains of the best and the next best policy; 0: all are best; None: too many
    settling: Quantity = None  # how long policies take to show their gains, as theorem 2 counts it
    r_min: Quantity = 0.0  # the smallest and the largest mean reward
    r_max: Quantity = None
    tail_index: Quantity = None  # of the heaviest reward
    epsilon: Quantity = None  # rewards have a moment of order 1 + epsilon
    raw_moment: Quantity = None  # u, the largest E|r|**(1 + epsilon)
    central_moment: Quantity = None  # v, the largest E|r - mean|**(1 + epsilon)


@dataclass(frozen=True)
class Case(Quantities):
    """Quantities, and the parameters of a question."""

    T: Quantity = None  # steps
    delta: Quantity = 0.05  # one minus the confidence
    accuracy: Quantity = 0.1  # lambda, the average regret of sample sizes and of theorem 2
    changes: Quantity = 2  # l of theorem 3, one more than the number of changes
    estimator: EstimatorName = "truncated_mean"  # of Heavy-UCRL2
    constants: Constants = "tight"  # "paper": the statement as printed

    @property
    def reward_range(self) -> Quantity:
        """R, the largest mean reward less the smallest."""
        return self.r_max - self.r_min

    @property
    def value_range(self) -> Quantity:
        """The range of mean rewards, 0 included: r_max of the agents that learn in episodes."""
        return np.maximum(self.r_max, 0.0) - np.minimum(self.r_min, 0.0)

    @property
    def moment(self) -> Quantity:
        """The moment that the estimator needs."""
        return self.raw_moment if self.estimator == "truncated_mean" else self.central_moment

    @property
    def tight(self) -> bool:
        """True for the tight constants, False for those of the paper."""
        return self.constants == "tight"


class Rule(NamedTuple):
    """The condition that every element of a quantity must satisfy."""

    holds: Callable[[Floats], Bools]
    words: str


_COUNT = Rule(lambda x: (x >= 1) & (x == np.floor(x)), "a whole number, at least 1")
_POSITIVE = Rule(lambda x: x > 0, "above 0")
_NON_NEGATIVE = Rule(lambda x: x >= 0, "0 or more")
_FINITE = Rule(np.isfinite, "finite")
RULES = {
    "T": Rule(lambda x: x >= 1, "1 or more"),
    "S": _COUNT,
    "A": _COUNT,
    "H": _COUNT,
    "diameter": _NON_NEGATIVE,
    "r_min": _FINITE,
    "r_max": _FINITE,
    "raw_moment": _NON_NEGATIVE,
    "central_moment": _NON_NEGATIVE,
    "epsilon": Rule(lambda x: (x > 0) & (x <= 1), "above 0 and at most 1"),
    "delta": Rule(lambda x: (x > 0) & (x < 1), "above 0 and below 1"),
    "accuracy": _POSITIVE,
    "changes": _COUNT,
    "gap": _NON_NEGATIVE,
    "settling": _NON_NEGATIVE,
}
MAY_BE_INFINITE = {"diameter"}  # which leaves bounds out


def checked(case: Case, where: str) -> Case:
    """Check the known quantities and make arrays of them, which must broadcast together.

    >>> checked(Case(T=[10, 100]), "regret").T
    array([ 10., 100.])
    >>> checked(Case(T=0), "regret")
    Traceback (most recent call last):
    heavytail.errors.InputError: regret: T must be 1 or more, got 0.0
    """
    known = {name: getattr(case, name) for name in RULES if getattr(case, name) is not None}
    arrays: dict[str, Any] = {name: _check_numbers(where, name, value) for name, value in known.items()}
    try:
        np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in arrays.items() if array.ndim)
        raise InputError(f"{where}: arrays must have shapes that go together, got {shapes}") from None
    words: dict[str, Any] = {
        name: cast_value(getattr(case, name), hint, f"{where}: {name}")
        for name, hint in (("estimator", EstimatorName), ("constants", Constants))
    }
    if "r_max" in arrays and (arrays["r_max"] < arrays["r_min"]).any():
        raise InputError(f"{where}: r_max must not be below r_min")
    return replace(case, **arrays, **words)


def _check_numbers(where: str, name: str, value: Any) -> Floats:
    array, rule = as_floats(f"{where}: {name}", value), RULES[name]
    finite = np.isfinite(array) | (np.isposinf(array) & (name in MAY_BE_INFINITE))
    wrong = array[~(finite & rule.holds(array))]
    if wrong.size:
        words = rule.words if np.isfinite(wrong[0]) else "finite"
        raise InputError(f"{where}: {name} must be {words}, got {wrong[0]}")
    return array


def quantities_of(mdp: MDP, epsilon: float | None = None) -> Quantities:
    """Compute the quantities of an MDP, by default at an epsilon halfway to the tail index, and at most 1.

    >>> import heavytail as ht
    >>> q = quantities_of(ht.make_mdp("six_arms"))
    >>> q.S, q.A, q.H, round(q.epsilon, 3), round(q.raw_moment, 2), round(q.gap, 3)
    (7, 6, 25, 0.05, 14.24, 0.2)
    """
    tail = _tail_index(mdp)
    order = float(min(1.0, (tail - 1.0) / 2.0 if tail <= 2.0 else 1.0) if epsilon is None else epsilon)
    if not 0.0 < order <= 1.0:
        raise InputError(f"bounds_of: epsilon must be above 0 and at most 1, got {order:g}")
    (_, raw), (_, central) = (largest_moment([mdp], order, kind) for kind in ("raw", "central"))
    if not np.isfinite(raw):
        raise InputError(
            f"bounds_of: epsilon is {order:g}, and rewards of this MDP have no moment of order"
            f" {1 + order:g}; it must be below {tail - 1:g}"
        )
    long_run = mdp.n_stages == 1
    plan = planning.average_plan(mdp) if long_run else None
    facts = _facts(mdp) if long_run else None
    return Quantities(
        S=mdp.n_states,
        A=mdp.n_actions,
        H=mdp.horizon or None,
        value=planning.optimal_value(mdp) if mdp.horizon else None,
        gain=None if plan is None else float(mdp.start @ plan.gain),
        span=None if plan is None else float(np.ptp(plan.bias)),
        diameter=planning.diameter(mdp) if long_run and mdp.n_states <= MAX_TARGETS else None,
        gap=None if facts is None else facts.gap,
        settling=None if facts is None else facts.settling,
        r_min=float(mdp.row_means.min()),
        r_max=float(mdp.row_means.max()),
        tail_index=tail,
        epsilon=order,
        raw_moment=raw,
        central_moment=central,
    )


def _facts(mdp: MDP) -> PolicyFacts | None:
    small = mdp.n_actions == 1 or mdp.n_states <= MAX_STATES
    return policy_facts(mdp) if small and count_policies(mdp) <= MAX_DISTINCT else None


def _tail_index(mdp: MDP) -> float:
    used = np.unique(mdp.law[mdp.probabilities() > 0])
    laws = laws_from_table(mdp.laws)
    return min(laws[int(i)].tail_index for i in used)
