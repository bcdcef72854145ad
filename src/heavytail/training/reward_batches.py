"""Rewards made ahead: standard variates of the stable and of the normal law, in batches.

A loop over 256 draws becomes vector code and costs a quarter of 256 single ones. So the fused loop goes in
stretches of at most 256 steps, and before a stretch the variates of all its pairs may be prepared. Nobody
else notices: the k-th reward is made of the k-th pair of the stream by the very same operations as in
`heavytail.mdp.mdp.reward`, and when a chunk ends, `rewind` sets the stream back to the last pair that was
used. So the size of a batch, and where it begins, are no part of a result, and no file holds one.

Laws that differ in place and scale alone share a standard variate: all normal ones do, and of the stable ones
those that have the index and the skewness of most stable slots. Other laws draw by themselves. A family is
prepared only while a good part of the rewards are of it: single draws are cheaper where most are not.
"""

from typing import NamedTuple

import numpy as np

from heavytail.arrays import Bools, Floats, Ints, Stream, U
from heavytail.kernels.array_ops import as_int
from heavytail.kernels.compiling import kernel
from heavytail.kernels.elementary import (
    artanh_argument,
    artanh_series,
    exp_from,
    exp_remainder,
    exp_series,
    log,
    log_from,
)
from heavytail.kernels.rng import bits, fill_pairs, skip_pair, to_normal, to_open_uniform
from heavytail.laws.alpha_stable import cms_factor_and_ratio
from heavytail.laws.constant import CONSTANT
from heavytail.laws.table import LawTable, draw_law, law_code
from heavytail.mdp import MDP, locate_slot

BATCH = 256
MIN_SHARE = 0.25  # a family is prepared if this part of the stretch before was of it
STABLE, NORMAL, OTHER, FIXED = 0, 1, 2, 3  # families; only the first two have variates that can be prepared


class RewardBatch(NamedTuple):
    """A stretch of B pairs."""

    start: Stream  # [4] the stream where the stretch begins
    taken: Ints  # [1] how many pairs are used up
    wanted: Ints  # [4] how many of them for each family
    prepared: Ints  # [4] whether a family's variates are
    drawn: Ints  # [1] whether the stream is at the end of the stretch already
    first: Stream  # [B] the raw draws of the pairs
    second: Stream  # [B]
    exponentials: Floats  # [B] of the pairs
    fronts: Floats  # [B] on the way to stable variates
    reduced: Floats  # [B] what the series of logarithms and exponentials are of
    series: Floats  # [B] their values
    variates: Floats  # [2, B] of the first two families
    family: Ints  # [M] of each row of the table of laws
    alpha: float  # of the stable family
    shift: float
    inverse: float


def new_reward_batch(mdp: MDP) -> RewardBatch:
    """Nothing is prepared yet for this MDP."""
    laws = mdp.laws
    stable = _commonest_stable(laws, np.bincount(mdp.law, minlength=len(laws.code)))
    family = np.select(
        [stable, laws.code == law_code("normal"), laws.code == CONSTANT], [STABLE, NORMAL, FIXED], OTHER
    )
    shape = laws.parameters[np.argmax(stable)]
    return RewardBatch(
        start=np.zeros(4, np.uint64),
        taken=np.full(1, BATCH),
        wanted=BATCH * np.isin([STABLE, NORMAL, OTHER, FIXED], family),
        prepared=np.zeros(4, np.int64),
        drawn=np.zeros(1, np.int64),
        first=np.zeros(BATCH, np.uint64),
        second=np.zeros(BATCH, np.uint64),
        exponentials=np.zeros(BATCH),
        fronts=np.zeros(BATCH),
        reduced=np.zeros(BATCH),
        series=np.zeros(BATCH),
        variates=np.zeros((2, BATCH)),
        family=family,
        alpha=float(shape[2]),
        shift=float(shape[3]),
        inverse=float(shape[4]),
    )


def _commonest_stable(table: LawTable, slots: Ints) -> Bools:
    """The stable rows that have the index and the skewness of most slots."""
    stable = (table.code == law_code("alpha_stable")) & (table.parameters[:, 2] != 1.0)
    if not stable.any():
        return stable
    _, shape = np.unique(table.parameters[:, 2:4], axis=0, return_inverse=True)
    most = np.argmax(np.bincount(shape.reshape(-1), weights=slots * stable))
    return stable & (shape.reshape(-1) == most)


@kernel
def refill(ahead: RewardBatch, rewards: Stream) -> None:
    """Decide what to prepare for the next stretch, and do."""
    ahead.taken[0], ahead.drawn[0] = 0, 0
    for family in range(OTHER):
        ahead.prepared[family] = 1 if ahead.wanted[family] > MIN_SHARE * ahead.first.size else 0
        ahead.drawn[0] |= ahead.prepared[family]
        ahead.wanted[family] = 0
    if ahead.drawn[0] == 1:
        for i in range(4):
            ahead.start[i] = rewards[i]
        fill_pairs(rewards, ahead.first, ahead.second)
        _prepare(ahead)


@kernel
def _prepare(ahead: RewardBatch) -> None:
    """The variates of the pairs, in many short loops.

    The processor has many turns of each under way at once.
    """
    B, variates = ahead.first.size, ahead.variates[STABLE]
    for k in range(B):
        ahead.exponentials[k] = to_open_uniform(ahead.second[k])
    _to_logs(ahead.exponentials, ahead.reduced, ahead.series, -1.0)
    if ahead.prepared[NORMAL] == 1:
        for k in range(B):
            ahead.variates[NORMAL, k] = to_normal(to_open_uniform(ahead.first[k]), ahead.exponentials[k])
    if ahead.prepared[STABLE] == 1:
        for k in range(B):
            u = to_open_uniform(ahead.first[k])
            ahead.fronts[k], variates[k] = cms_factor_and_ratio(
                ahead.alpha, ahead.shift, u, ahead.exponentials[k]
            )
        _to_logs(variates, ahead.reduced, ahead.series, ahead.inverse - 1.0)
        _to_exps(variates, ahead.reduced, ahead.series, ahead.fronts)


@kernel
def _to_logs(x: Floats, reduced: Floats, series: Floats, factor: float) -> None:
    """Replace each by its logarithm, times a factor.

    `log` in three loops, each of which the processor can have more turns of under way.
    """
    for k in range(x.size):
        reduced[k] = artanh_argument(x[k])
    for k in range(x.size):
        series[k] = artanh_series(reduced[k])
    for k in range(x.size):
        x[k] = factor * log_from(x[k], reduced[k], series[k])


@kernel
def _to_exps(x: Floats, reduced: Floats, series: Floats, factors: Floats) -> None:
    """Replace each by its exponential, times its factor: `exp` in three loops."""
    for k in range(x.size):
        reduced[k] = exp_remainder(x[k])
    for k in range(x.size):
        series[k] = exp_series(reduced[k])
    for k in range(x.size):
        x[k] = factors[k] * exp_from(x[k], reduced[k], series[k])


@kernel
def rewind(ahead: RewardBatch, rewards: Stream) -> None:
    """Set the stream to where it would be if nothing had been drawn ahead.

    What is left of the stretch is forgotten.
    """
    if ahead.drawn[0] == 1:
        for i in range(4):
            rewards[i] = ahead.start[i]
        for _ in range(ahead.taken[0]):
            skip_pair(rewards)
    ahead.taken[0], ahead.drawn[0] = ahead.first.size, 0


@kernel
def reward_ahead(mdp: MDP, slot: int, ahead: RewardBatch, drawn: bool, k: int, rewards: Stream) -> float:
    """The reward of a slot, from pair k of the stretch."""
    i = as_int(mdp.law[slot])
    family = U(ahead.family[i])
    if family == FIXED:
        if not drawn:
            skip_pair(rewards)
        return mdp.laws.parameters[i, 0]
    ahead.wanted[family] += 1
    if ahead.prepared[family] == 1:
        return mdp.laws.parameters[i, 0] + mdp.laws.parameters[i, 1] * ahead.variates[family, U(k)]
    if drawn:
        first, second = ahead.first[U(k)], ahead.second[U(k)]
    else:
        first, second = bits(rewards), bits(rewards)
    return draw_law(mdp.laws.code[i], mdp.laws, i, to_open_uniform(first), -log(to_open_uniform(second)))


@kernel
def step_ahead(
    mdp: MDP,
    s: int,
    a: int,
    h: int,
    transitions: Stream,
    ahead: RewardBatch,
    drawn: bool,
    k: int,
    rewards: Stream,
) -> tuple[int, float, bool, float]:
    """`heavytail.mdp.mdp.step`, with the reward from pair k of the stretch."""
    row, slot = locate_slot(mdp, s, a, h, transitions)
    return (
        as_int(mdp.successors[slot]),
        reward_ahead(mdp, slot, ahead, drawn, k, rewards),
        mdp.ends[slot],
        mdp.row_means[U(row)],
    )
