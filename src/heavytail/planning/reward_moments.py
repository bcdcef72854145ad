"""The moments of the rewards of an MDP: the exact u and v of which robust agents need a bound."""

from functools import lru_cache
from typing import Literal

import numpy as np

from heavytail.arrays import Floats
from heavytail.errors import InputError, short_repr
from heavytail.laws.law import Law, laws_from_table
from heavytail.mdp import MDP


def reward_moments(mdp: MDP, p: float, kind: Literal["raw", "central"] = "raw") -> Floats:
    """Compute E|r|**p of each state and action, [S, A] or [H, S, A] as `mdp.mean_rewards`.

    "central" moments are those of the reward less its mean.

    >>> import heavytail as ht
    >>> mdp = ht.make_mdp("six_arms")
    >>> round(float(reward_moments(mdp, 1.05).max()), 2)
    14.24
    """
    if kind not in ("raw", "central"):
        raise InputError(f"reward_moments: kind is {short_repr(kind)}; it must be 'raw' or 'central'")
    laws, rows = laws_from_table(mdp.laws), mdp.rows()
    centers = mdp.row_means[rows] if kind == "central" else np.zeros(len(rows))
    slots = zip(mdp.law.tolist(), centers.tolist(), strict=True)
    moments = np.array([_moment(laws[i], p, center) for i, center in slots])
    weights = mdp.probabilities()
    with np.errstate(invalid="ignore"):  # an infinite moment that never occurs
        weighted = np.where(weights > 0, weights * moments, 0.0)
    total = np.bincount(rows, weights=weighted, minlength=len(mdp.row_means))
    return np.asarray(total, np.float64).reshape(mdp.mean_rewards.shape)


def usable_epsilon(mdp: MDP) -> float:
    """Return an epsilon for which moments of order 1 + epsilon are finite and not almost infinite.

    With the least tail index alpha of the laws it is 1 where there is a variance (alpha > 2), and else
    (alpha - 1) / 2, halfway to the first infinite moment: 0.05 for the paper's alpha = 1.1.

    >>> import heavytail as ht
    >>> round(usable_epsilon(ht.make_mdp("six_arms")), 3)
    0.05
    """
    index = min(law.tail_index for law in laws_from_table(mdp.laws))
    return 1.0 if index > 2.0 else 0.5 * (index - 1.0)


@lru_cache(maxsize=4096)
def _moment(law: Law, p: float, center: float) -> float:
    """Remember moments: each is an integral, and MDPs and studies ask for the same few again."""
    return law.moment(p, center)
