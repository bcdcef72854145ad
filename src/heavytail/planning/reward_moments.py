"""The moments of the rewards of an MDP: the bounds u and v that robust agents ask for, exactly."""

from functools import lru_cache
from typing import Literal

import numpy as np

from heavytail.arrays import Floats
from heavytail.errors import InputError
from heavytail.laws.law import Law, laws_from_table
from heavytail.mdp import MDP


def reward_moments(mdp: MDP, p: float, kind: Literal["raw", "central"] = "raw") -> Floats:
    """E|r|**p of each state and action, [S, A] or [H, S, A] as `mdp.mean_rewards`.

    "central": of the reward less its mean.

    >>> import heavytail as ht
    >>> mdp = ht.make_mdp("six_arms")
    >>> round(float(reward_moments(mdp, 1.05).max()), 2)
    14.24
    """
    if kind not in ("raw", "central"):
        raise InputError(f"reward_moments: kind is {kind!r}; it must be 'raw' or 'central'")
    laws, rows = laws_from_table(mdp.laws), mdp.rows()
    centers = mdp.row_means[rows] if kind == "central" else np.zeros(len(rows))
    moments = np.array(
        [_moment(laws[i], p, center) for i, center in zip(mdp.law.tolist(), centers.tolist(), strict=True)]
    )
    weights = mdp.probabilities()
    with np.errstate(invalid="ignore"):  # an infinite moment that never occurs
        total = np.bincount(
            rows, weights=np.where(weights > 0, weights * moments, 0.0), minlength=len(mdp.row_means)
        )
    return np.asarray(total, np.float64).reshape(mdp.mean_rewards.shape)


@lru_cache(maxsize=4096)
def _moment(law: Law, p: float, center: float) -> float:
    """Each is an integral, and most MDPs and all studies ask for the same few again and again."""
    return law.moment(p, center)
