"""The largest moment of an MDP's rewards, and an order that all laws have; for up to a million laws.

A moment is an integral of milliseconds, so few are computed. Laws that differ in `loc` only are a *family*,
and for p of at least 1 the moment E|loc + Z - center|**p is a convex function of loc - center: the chord
between its least and its largest argument bounds it. Rows are computed in the order of their bounds, until
the next bound is below what was found.
"""

import math
from collections.abc import Sequence

import numpy as np

from heavytail.arrays import Floats, Ints
from heavytail.laws.table import LawTable
from heavytail.mdp import MDP
from heavytail.planning.reward_moments import Kind, laws_by_row, moments_of_rows, slot_moments

ROUNDING = 1e-9  # by which a bound may be too small
MAX_TIED = 256  # rows that are equal but for rounding; of more, these are computed


def largest_moment(mdps: Sequence[MDP], epsilon: float | None, kind: Kind = "raw") -> tuple[float, float]:
    """Return the order 1 + epsilon, and the largest moment of that order that rewards of these MDPs have.

    Where epsilon is None, it is one that all of them can use.

    >>> import heavytail as ht
    >>> order, moment = largest_moment([ht.make_mdp("six_arms")], epsilon=0.05)
    >>> round(moment, 2)
    14.24
    """
    order = 1.0 + (min(map(usable_epsilon, mdps)) if epsilon is None else float(epsilon))
    return order, max(_largest(mdp, order, kind) for mdp in mdps)


def usable_epsilon(mdp: MDP) -> float:
    """Return an epsilon for which moments of order 1 + epsilon are finite and not almost infinite.

    With the least tail index alpha of the laws it is 1 where there is a variance (alpha > 2), and else
    (alpha - 1) / 2, halfway to the first infinite moment: 0.05 for the paper's alpha = 1.1.

    >>> import heavytail as ht
    >>> round(usable_epsilon(ht.make_mdp("six_arms")), 3)
    0.05
    """
    _, members = np.unique(law_families(mdp.laws), return_index=True)
    index = min((law.tail_index for law in laws_by_row(mdp.laws, members).values()), default=math.inf)
    return 1.0 if index > 2.0 else 0.5 * (index - 1.0)


def law_families(table: LawTable) -> Ints:
    """Number the families [M] of the laws of a table: those that differ in `loc` only are one."""
    columns = np.column_stack([table.code.astype(np.float64), table.parameters[:, 1:]])
    varying = columns[:, (columns != columns[:1]).any(axis=0)]
    family, members = np.zeros(len(columns), np.int64), np.zeros(1, np.int64)
    if varying.shape[1] > 0:
        _, members, family = np.unique(varying, axis=0, return_index=True, return_inverse=True)
    if all(law.loc == law.row()[0] for law in laws_by_row(table, members).values()):
        return family.reshape(-1)
    return np.arange(len(columns))  # a law of somebody's keeps `loc` elsewhere


def _largest(mdp: MDP, p: float, kind: Kind) -> float:
    bounds = _bounds(mdp, p, kind)
    largest, tied = -math.inf, 0
    for row in np.argsort(-bounds, kind="stable"):
        tied += bounds[row] <= largest * (1.0 + ROUNDING)
        if largest == math.inf or bounds[row] * (1.0 + ROUNDING) < largest or tied > MAX_TIED:
            break
        largest = max(largest, float(moments_of_rows(mdp, p, kind, np.array([row]))[0]))
    return largest


def _bounds(mdp: MDP, p: float, kind: Kind) -> Floats:
    """Return upper bounds on the moments of all rows."""
    rows, family = mdp.rows(), law_families(mdp.laws)[mdp.law]
    centers = mdp.row_means[rows] if kind == "central" else np.zeros(len(rows))
    at = mdp.laws.parameters[mdp.law, 0] - centers
    low, high = (_ends(family, sign * at) for sign in (1.0, -1.0))
    lower, upper = (slot_moments(mdp, p, ends, centers[ends]) for ends in (low, high))
    with np.errstate(invalid="ignore"):
        share = (at - at[low][family]) / np.maximum(at[high] - at[low], np.finfo(float).tiny)[family]
        chord = lower[family] + share * (upper - lower)[family]
    weighted = mdp.probabilities() * np.where(np.isfinite(chord), chord, math.inf)
    return np.asarray(np.bincount(rows, weighted, len(mdp.row_means)), np.float64)


def _ends(family: Ints, at: Floats) -> Ints:
    """Return for each family the slot at which it is least."""
    least = np.full(family.max() + 1, math.inf)
    np.minimum.at(least, family, at)
    slots = np.flatnonzero(at == least[family])[::-1]
    ends = np.zeros(len(least), np.int64)
    ends[family[slots]] = slots
    return ends
