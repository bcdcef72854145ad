"""The moments of an MDP's rewards: the exact u and v that robust agents need a bound on, and the largest.

A moment is an integral that takes milliseconds, so of up to a million laws few are computed. Laws that differ
in `loc` only are a *family*, and for p of at least 1 the moment E|loc + Z - center|**p is a convex function
of loc - center: the chord between its least and its largest argument bounds it. Rows are computed in the
order of their bounds, until the next bound is below what was found.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np

from heavytail.arrays import Floats, Ints
from heavytail.checks import Positive, cast_value
from heavytail.errors import InputError, short_repr
from heavytail.laws.law import Law, laws_from_table
from heavytail.laws.table import LawTable, law_code
from heavytail.mdp import MDP

Kind = Literal["raw", "central"]


def reward_moments(mdp: MDP, p: float, kind: Kind = "raw") -> Floats:
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
    return moments_of_rows(mdp, p, kind, np.arange(len(mdp.row_means))).reshape(mdp.mean_rewards.shape)


def moments_of_rows(mdp: MDP, p: float, kind: Kind, rows: Ints) -> Floats:
    """Compute E|r|**p of some rows."""
    starts = mdp.offsets[rows].astype(np.int64)
    lengths = mdp.offsets[rows + 1] - starts
    ends = np.cumsum(lengths)
    slots = np.arange(ends[-1]) + np.repeat(starts - ends + lengths, lengths)
    place = np.repeat(np.arange(len(rows)), lengths)
    centers = mdp.row_means[rows][place] if kind == "central" else np.zeros(len(slots))
    moments = slot_moments(mdp, p, slots, centers)
    before = np.where(slots == starts[place], 0.0, mdp.cumulative[slots - 1])
    weights = mdp.cumulative[slots] - before
    with np.errstate(invalid="ignore"):  # an infinite moment that never occurs
        weighted = np.where(weights > 0, weights * moments, 0.0)
    return np.asarray(np.bincount(place, weights=weighted, minlength=len(rows)), np.float64)


def slot_moments(mdp: MDP, p: float, slots: Ints, centers: Floats) -> Floats:
    """Return E|r - center|**p of some slots, each with its center.

    An MDP from a log has a law of its own in each slot: laws of samples are read from the table, and none
    becomes an object.
    """
    law = mdp.law[slots].astype(np.int64)
    order = np.lexsort((centers, law))
    new = (np.diff(law[order], prepend=-1) != 0) | (np.diff(centers[order], prepend=np.nan) != 0.0)
    first, laws = order[new], laws_by_row(mdp.laws, np.unique(law))
    different = zip(law[first].tolist(), centers[first].tolist(), strict=True)
    known = np.array([_law_moment(mdp.laws, laws, i, p, center) for i, center in different])
    moments = np.empty(len(slots))
    moments[order] = known[np.cumsum(new) - 1]
    return moments


def _law_moment(table: LawTable, laws: dict[int, Law], i: int, p: float, center: float) -> float:
    if i in laws:
        return _moment(laws[i], p, center)
    loc, scale, *_, first, length = table.parameters[i].tolist()
    samples = table.samples[int(first) : int(first) + int(length)]
    with np.errstate(over="ignore"):
        return float(np.add.reduce(np.abs(loc + scale * samples - center) ** p) / len(samples))


def laws_by_row(table: LawTable, rows: Ints) -> dict[int, Law]:
    """Return the laws in some rows of a table, without those that are samples, which may be a million."""
    rows = rows[table.code[rows] != law_code("empirical")]
    laws = laws_from_table(LawTable(table.code[rows], table.parameters[rows], table.samples))
    return dict(zip(rows.tolist(), laws, strict=True))


@lru_cache(maxsize=4096)
def _moment(law: Law, p: float, center: float) -> float:
    """Remember moments: each is an integral, and MDPs and studies ask for the same few again."""
    return law.moment(p, center)


# The largest moment


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
    return np.arange(len(columns))  # a plugin's law may keep `loc` elsewhere


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
