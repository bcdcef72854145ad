"""The rewards of the best policies in an MDP that may change: the yardstick of regret."""

from collections.abc import Sequence

import numpy as np

from heavytail.arrays import Floats, Ints
from heavytail.mdp.changing import ChangingMDP
from heavytail.planning.average_reward import gain
from heavytail.planning.episodic import optimal_value

MAX_VALUES = 2**24  # numbers in memory at once


def best_rates(mdp: ChangingMDP) -> list[float]:
    """Compute what the best policy of each MDP earns on average in an episode, or a step.

    >>> import heavytail as ht
    >>> [round(rate, 2) for rate in best_rates(ht.make_changing_mdp("six_arms"))]
    [40.06]
    """
    different = {id(each): each for each in mdp.mdps}
    best = {key: optimal_value(each) if each.horizon else gain(each) for key, each in different.items()}
    return [best[id(each)] for each in mdp.mdps]


def best_rewards(mdp: ChangingMDP, rates: Sequence[float], at: Ints) -> Floats:
    """Compute the mean cumulative reward [C] of the best policy of each MDP while it lasts.

    Args:
        mdp: the MDPs, and when each begins.
        rates: what `best_rates` says of them.
        at: [C] episodes, or steps in a continuing problem.

    >>> import heavytail as ht
    >>> two = [ht.make_mdp("two_state", best=best) for best in (0, 1)]
    >>> best_rewards(ht.changing_mdp(two, at=[100]), [0.5, 2.0], [100, 101]).tolist()
    [50.0, 52.0]
    """
    begins, ends = np.array([0, *mdp.at], np.float64), np.array([*mdp.at, np.inf])
    rows, few = np.asarray(at, np.float64)[:, None], max(1, MAX_VALUES // len(begins))
    pieces = (np.clip(rows[k : k + few], begins, ends) - begins for k in range(0, len(rows), few))
    return np.concatenate([within @ np.array(rates) for within in pieces])  # within: [checkpoint, MDP]
