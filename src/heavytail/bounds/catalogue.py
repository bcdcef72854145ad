"""Every bound for a given MDP: what is exactly true of it goes into the formulas."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from heavytail.bounds import baselines, changing, gap, heavy_q_learning, heavy_ucrl2, lower, sample_sizes
from heavytail.bounds.bound import Bound, Constants, SampleSize, Steps
from heavytail.bounds.quantities import Quantities, quantities_of
from heavytail.mdp import MDP


@dataclass(frozen=True)
class Collection:
    """Every bound that applies to an MDP, and why others do not."""

    quantities: Quantities
    regret: dict[str, Bound]
    steps: dict[str, Steps | SampleSize]
    left_out: dict[str, str]


def bounds_of(
    mdp: MDP,
    T: npt.ArrayLike,
    delta: npt.ArrayLike = 0.05,
    epsilon: float | None = None,
    *,
    accuracy: npt.ArrayLike = 0.1,
    changes: npt.ArrayLike = 2,
    constants: Constants = "tight",
) -> Collection:
    """Every bound for an MDP, its exact quantities put in.

    Args:
        mdp: the MDP. In episodes the bounds of UCRL2 read it as continuing, with the end of an episode
            leading back to the start.
        T: steps.
        delta: one minus the confidence.
        epsilon: rewards have a moment of order 1 + epsilon; by default halfway to their tail index, at most
            1.
        accuracy: lambda, the average regret for which sample sizes are asked, and that of theorem 2.
        changes: l of theorem 3.
        constants: "tight" or "paper".

    >>> import heavytail as ht
    >>> found = bounds_of(ht.make_mdp("two_state"), 1e9)
    >>> sorted(found.regret)
    ['changing', 'heavy_ucrl2', 'heavy_ucrl2_expected', 'heavy_ucrl2_gap', 'lower_bound', 'ucrl2']
    """
    return bounds_at(
        quantities_of(mdp, epsilon), T, delta, accuracy=accuracy, changes=changes, constants=constants
    )


def bounds_at(
    quantities: Quantities,
    T: npt.ArrayLike,
    delta: npt.ArrayLike = 0.05,
    *,
    accuracy: npt.ArrayLike = 0.1,
    changes: npt.ArrayLike = 2,
    constants: Constants = "tight",
) -> Collection:
    """Every bound for what is known of an MDP; see `bounds_of`."""
    q = quantities
    sure: dict[str, Any] = {"delta": delta}
    size: dict[str, Any] = {"S": q.S, "A": q.A, "constants": constants}
    rewards: dict[str, Any] = {"moment": q.raw_moment, "epsilon": q.epsilon}
    length: dict[str, Any] = {"H": q.H}
    world: dict[str, Any] = {**size, "diameter": q.diameter, "reward_range": q.r_max - q.r_min}
    episode: dict[str, Any] = {**size, **length, "r_max": max(q.r_max, 0.0) - min(q.r_min, 0.0)}
    heavy, watched = {**world, **rewards}, {**episode, "reward_range": q.r_max - q.r_min}
    of_gap: dict[str, Any] = {"gap": q.gap, "settling": q.settling}
    hq, hq_size = heavy_q_learning.heavy_q_learning_regret, sample_sizes.heavy_q_learning_sample_size
    asked: dict[str, partial[Bound]] = {
        "heavy_ucrl2": partial(heavy_ucrl2.heavy_ucrl2_regret, T, **heavy, **sure),
        "heavy_ucrl2_gap": partial(gap.heavy_ucrl2_gap_regret, T, accuracy=accuracy, **heavy, **sure),
        "heavy_ucrl2_expected": partial(gap.heavy_ucrl2_expected_regret, T, **of_gap, **heavy),
        "changing": partial(changing.changing_regret, T, changes=changes, **heavy, **sure),
        "ucrl2": partial(baselines.ucrl2_regret, T, **world, **sure),
        "lower_bound": partial(lower.lower_bound, T, **size, **rewards),
        "heavy_q_hoeffding": partial(hq, T, **watched, **rewards, **sure),
        "heavy_q_bernstein": partial(hq, T, bonus="bernstein", **watched, **rewards, **sure),
        "q_learning": partial(baselines.q_learning_regret, T, **watched, **sure),
        "ucbvi": partial(baselines.ucbvi_regret, T, **watched, **sure),
        "episodic_lower_bound": partial(lower.episodic_lower_bound, T, **size, **rewards, **length),
    }
    wanted: dict[str, partial[Steps] | partial[SampleSize]] = {
        "heavy_ucrl2_sample_size": partial(sample_sizes.heavy_ucrl2_sample_size, accuracy, **heavy, **sure),
        "heavy_tail_condition": partial(gap.heavy_tail_condition, **heavy, **sure),
        "heavy_q_learning_sample_size": partial(hq_size, accuracy, **episode, **rewards, **sure),
        "hard_instance_steps": partial(lower.hard_instance_steps, S=q.S, A=q.A, epsilon=q.epsilon),
    }
    reasons = {
        name: reason for name, ask in {**asked, **wanted}.items() if (reason := _missing(q, ask.keywords))
    }
    return Collection(
        quantities,
        {name: ask() for name, ask in asked.items() if name not in reasons},
        {name: ask() for name, ask in wanted.items() if name not in reasons},
        reasons,
    )


def _missing(q: Quantities, used: dict[str, Any]) -> str:
    """Why a bound that uses these arguments does not apply, or nothing."""
    if "H" in used and q.H is None:
        return "the problem is continuing"
    if "diameter" in used and q.diameter is None:
        return "there is no long run" if q.gain is None else "too many states for the diameter"
    if "diameter" in used and not np.isfinite(q.diameter or 0.0):
        return "some states cannot be reached from others: the diameter is infinite"
    if "gap" in used and not q.gap:
        return "too many policies to find the gap" if q.gap is None else "all policies are optimal"
    return ""
