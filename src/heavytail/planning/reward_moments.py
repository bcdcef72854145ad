"""The moments of an MDP's rewards: the exact u and v that robust agents need a bound on."""

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
