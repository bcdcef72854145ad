"""The exact quantities of an MDP that bounds are made of."""

from dataclasses import dataclass

import numpy as np

from heavytail import planning
from heavytail.bounds.policies import MAX_POLICIES, PolicyFacts, count_policies, policy_facts
from heavytail.errors import InputError
from heavytail.laws.law import laws_from_table
from heavytail.mdp import MDP
from heavytail.planning.hitting_times import MAX_TARGETS
from heavytail.planning.largest_moment import largest_moment

MAX_STATES = 300  # with more there are too many policies, unless there is one action


@dataclass(frozen=True)
class Quantities:
    """The exact quantities of an MDP that bounds are made of.

    Those of the long run (`gain` to `settling`) are None where transitions or rewards depend on the step.
    """

    S: int
    A: int
    H: int | None  # None: continuing
    value: float | None  # the best expected total reward of an episode
    gain: float | None  # the best long-run average reward
    span: float | None  # of the optimal bias
    diameter: float | None  # infinite if some state cannot be reached from another; None: too many states
    gap: float | None  # of the gains of the best and the next best policy; 0: all are best; None: too many
    settling: float | None  # how long policies take to show their gains, as theorem 2 counts it
    r_min: float
    r_max: float
    tail_index: float  # of the heaviest reward
    epsilon: float
    raw_moment: float  # u, the largest E|r|**(1 + epsilon)
    central_moment: float  # v, the largest E|r - mean|**(1 + epsilon)


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
    return policy_facts(mdp) if small and count_policies(mdp) <= MAX_POLICIES else None


def _tail_index(mdp: MDP) -> float:
    used = np.unique(mdp.law[mdp.probabilities() > 0])
    laws = laws_from_table(mdp.laws)
    return min(laws[int(i)].tail_index for i in used)
