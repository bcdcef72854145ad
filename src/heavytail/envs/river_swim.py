"""RiverSwim (Strehl and Littman 2008): a small reward nearby, a large one upstream."""

from typing import Annotated

import numpy as np
from annotated_types import Ge

from heavytail.checks import Count
from heavytail.laws import Law
from heavytail.laws.constant import constant
from heavytail.mdp import MDP
from heavytail.mdp.builders import mdp_from_slots, require_memory_for_slots
from heavytail.registry import register


@register("env", "river_swim")
def river_swim(
    *, n_states: Annotated[int, Ge(2)] = 6, law: Law | None = None, horizon: Count | None = 20
) -> MDP:
    """A chain against the current: swimming right mostly fails, left always works, and both ends pay.

    States:
        0 (downstream) to n - 1 (upstream).
    Actions:
        0 swims left, 1 right.
    Transitions:
        Left always succeeds. Right moves on with probability 0.35, stays with 0.6, falls back with 0.05; in
        state 0 it moves on with 0.4, in the last state it stays with 0.6 and falls back with 0.4.
    Rewards:
        0.005 for left in state 0; 1 on average, by `law`, for right in the last state.
    Start:
        State 0.
    Optimum:
        Always right, given time for it: value 3.0645 in 20 steps, gain 0.4286, diameter 15.6945.

        >>> import heavytail as ht
        >>> mdp = ht.make_mdp("river_swim")
        >>> [round(f(mdp), 4) for f in (ht.planning.optimal_value, ht.planning.gain, ht.planning.diameter)]
        [3.0645, 0.4286, 15.6945]

    Source:
        Strehl and Littman (2008), with the numbers of Osband, Russo and Van Roy (2013).

    Args:
        n_states: how long the river is.
        law: of the reward upstream, moved to mean 1; constant if not given.
        horizon: steps in an episode, or None for a continuing problem.
    """
    require_memory_for_slots("river_swim", 4 * n_states)
    n, s = n_states, np.arange(n_states)
    left, right = np.maximum(s - 1, 0), np.minimum(s + 1, n - 1)
    back, stay, on = np.full(n, 0.05), np.full(n, 0.6), np.full(n, 0.35)
    back[0], stay[0], on[0] = 0.0, 0.6, 0.4
    back[-1], stay[-1], on[-1] = 0.4, 0.6, 0.0
    rows = np.stack([2 * s, 2 * s + 1, 2 * s + 1, 2 * s + 1], axis=1).ravel()
    heavy = (constant(1.0) if law is None else law).with_mean(1.0)
    return mdp_from_slots(
        rows=rows,
        successors=np.stack([left, left, s, right], axis=1).ravel(),
        probabilities=np.stack([np.ones(n), back, stay, on], axis=1).ravel(),
        laws=[constant(0.0), constant(0.005), heavy],
        law=np.where(rows == 0, 1, np.where(rows == 2 * n - 1, 2, 0)),
        n_states=n,
        n_actions=2,
        horizon=horizon,
    )
