"""The moments of the rewards of an MDP: the exact u and v of which robust agents need a bound."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np

from heavytail.arrays import Floats
from heavytail.checks import Positive, cast_value
from heavytail.errors import InputError, short_repr
from heavytail.laws.law import Law, laws_from_table
from heavytail.laws.table import LawTable, law_code
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
    p = cast_value(p, Positive, "reward_moments: p")
    rows = mdp.rows()
    centers = mdp.row_means[rows] if kind == "central" else np.zeros(len(rows))
    moments = _slot_moments(mdp, p, centers)
    weights = mdp.probabilities()
    with np.errstate(invalid="ignore"):  # an infinite moment that never occurs
        weighted = np.where(weights > 0, weights * moments, 0.0)
    total = np.bincount(rows, weights=weighted, minlength=len(mdp.row_means))
    return np.asarray(total, np.float64).reshape(mdp.mean_rewards.shape)


def largest_moment(
    mdps: Sequence[MDP], epsilon: float | None, kind: Literal["raw", "central"] = "raw"
) -> tuple[float, float]:
    """Return the order 1 + epsilon, and the largest moment of that order that rewards of these MDPs have.

    Where epsilon is None, it is one that all of them can use.
    """
    order = 1.0 + (min(map(usable_epsilon, mdps)) if epsilon is None else float(epsilon))
    return order, max(float(reward_moments(mdp, order, kind).max()) for mdp in mdps)


def usable_epsilon(mdp: MDP) -> float:
    """Return an epsilon for which moments of order 1 + epsilon are finite and not almost infinite.

    With the least tail index alpha of the laws it is 1 where there is a variance (alpha > 2), and else
    (alpha - 1) / 2, halfway to the first infinite moment: 0.05 for the paper's alpha = 1.1.

    >>> import heavytail as ht
    >>> round(usable_epsilon(ht.make_mdp("six_arms")), 3)
    0.05
    """
    index = min((law.tail_index for law in _formulas(mdp.laws).values()), default=math.inf)
    return 1.0 if index > 2.0 else 0.5 * (index - 1.0)


def _slot_moments(mdp: MDP, p: float, centers: Floats) -> Floats:
    """Return E|r - center|**p of each slot.

    An MDP from a log has a law of its own in each slot: laws of samples are read from the table, and none
    becomes an object.
    """
    table, formulas = mdp.laws, _formulas(mdp.laws)

    def moment(i: int, center: float) -> float:
        if i in formulas:
            return _moment(formulas[i], p, center)
        loc, scale, *_, first, length = table.parameters[i].tolist()
        samples = table.samples[int(first) : int(first) + int(length)]
        with np.errstate(over="ignore"):
            return float(np.add.reduce(np.abs(loc + scale * samples - center) ** p) / len(samples))

    pairs = list(zip(mdp.law.tolist(), centers.tolist(), strict=True))
    known = {pair: moment(*pair) for pair in dict.fromkeys(pairs)}
    return np.array([known[pair] for pair in pairs])


def _formulas(table: LawTable) -> dict[int, Law]:
    """Return the laws of a table that are no samples, by their rows."""
    rows = np.flatnonzero(table.code != law_code("empirical"))
    laws = laws_from_table(LawTable(table.code[rows], table.parameters[rows], table.samples))
    return dict(zip(rows.tolist(), laws, strict=True))


@lru_cache(maxsize=4096)
def _moment(law: Law, p: float, center: float) -> float:
    """Remember moments: each is an integral, and MDPs and studies ask for the same few again."""
    return law.moment(p, center)
