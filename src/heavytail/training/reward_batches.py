"""Batches of rewards: standard variates of stable and normal laws, drawn before they are needed.

A loop over 256 draws becomes vector code and costs a quarter of 256 single draws. So the fused loop takes
rewards in batches of 256 steps, and the variates of all pairs of a batch may be prepared at its start. This
changes no result: the k-th reward is made from the k-th pair of the stream by the same operations as in
`heavytail.mdp.mdp.reward`, and when a chunk ends, `rewind` sets the stream back to the last pair that was
used. So results do not depend on the size of a batch or where it begins, and batches are not saved.

Laws that differ only in location and scale share a standard variate: all normal laws do, and so do the stable
laws with the index and skewness of most stable slots. Other laws draw one at a time. A family is prepared
only while a good part of the rewards belongs to it: otherwise single draws are cheaper.
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
MIN_SHARE = 0.25  # a family is prepared if more than this share of the previous batch belonged to it
STABLE, NORMAL, OTHER, FIXED = 0, 1, 2, 3  # families; variates can be prepared for the first two only


class RewardBatch(NamedTuple):
    """A batch of B pairs of random numbers, and the variates made from them."""

    start: Stream  # [4] the stream where the batch begins
    used: Ints  # [1] how many pairs are used up
    demand: Ints  # [4] how many of them each family used
    prepared: Ints  # [4] whether a family's variates are prepared
    prefilled: Ints  # [1] whether all pairs are drawn, and the stream is at the end of the batch
    first: Stream  # [B] the raw draws of the pairs
    second: Stream  # [B]
    exponentials: Floats  # [B] of the pairs
    fronts: Floats  # [B] first factors of stable variates
    reduced: Floats  # [B] arguments of the series of logarithms and exponentials
    series: Floats  # [B] values of these series
    variates: Floats  # [2, B] of the first two families
    family: Ints  # [M] of each row of the table of laws
    alpha: float  # of the stable family
    shift: float
    inverse: float


def new_reward_batch(mdp: MDP) -> RewardBatch:
    """Make an MDP's batch, with nothing prepared yet."""
    laws = mdp.laws
    stable = _commonest_stable(laws, np.bincount(mdp.law, minlength=len(laws.code)))
    family = np.select(
        [stable, laws.code == law_code("normal"), laws.code == CONSTANT], [STABLE, NORMAL, FIXED], OTHER
    )
    shape = laws.parameters[np.argmax(stable)]
    return RewardBatch(
        start=np.zeros(4, np.uint64),
        used=np.full(1, BATCH),
        demand=BATCH * np.isin([STABLE, NORMAL, OTHER, FIXED], family),
        prepared=np.zeros(4, np.int64),
        prefilled=np.zeros(1, np.int64),
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
    """Select the stable rows with the index and skewness of most slots."""
    stable = (table.code == law_code("alpha_stable")) & (table.parameters[:, 2] != 1.0)
    if not stable.any():
        return stable
    _, shape = np.unique(table.parameters[:, 2:4], axis=0, return_inverse=True)
    most = np.argmax(np.bincount(shape.reshape(-1), weights=slots * stable))
    return stable & (shape.reshape(-1) == most)


@kernel
def refill(batch: RewardBatch, rewards: Stream) -> None:
    """Start the next batch, preparing the variates that the demand of the last one suggests."""
    batch.used[0], batch.prefilled[0] = 0, 0
    for family in range(OTHER):
        batch.prepared[family] = 1 if batch.demand[family] > MIN_SHARE * batch.first.size else 0
        batch.prefilled[0] |= batch.prepared[family]
        batch.demand[family] = 0
    if batch.prefilled[0] == 1:
        for i in range(4):
            batch.start[i] = rewards[i]
        fill_pairs(rewards, batch.first, batch.second)
        _prepare(batch)


@kernel
def _prepare(batch: RewardBatch) -> None:
    """Prepare the variates of all pairs, in short loops whose iterations the processor overlaps."""
    B, variates = batch.first.size, batch.variates[STABLE]
    for k in range(B):
        batch.exponentials[k] = to_open_uniform(batch.second[k])
    _to_logs(batch.exponentials, batch.reduced, batch.series, -1.0)
    if batch.prepared[NORMAL] == 1:
        for k in range(B):
            batch.variates[NORMAL, k] = to_normal(to_open_uniform(batch.first[k]), batch.exponentials[k])
    if batch.prepared[STABLE] == 1:
        for k in range(B):
            u = to_open_uniform(batch.first[k])
            batch.fronts[k], variates[k] = cms_factor_and_ratio(
                batch.alpha, batch.shift, u, batch.exponentials[k]
            )
        _to_logs(variates, batch.reduced, batch.series, batch.inverse - 1.0)
        _to_exps(variates, batch.reduced, batch.series, batch.fronts)


@kernel
def _to_logs(x: Floats, reduced: Floats, series: Floats, factor: float) -> None:
    """Replace each number by its logarithm times a factor: `log` as three loops, which overlap better."""
    for k in range(x.size):
        reduced[k] = artanh_argument(x[k])
    for k in range(x.size):
        series[k] = artanh_series(reduced[k])
    for k in range(x.size):
        x[k] = factor * log_from(x[k], reduced[k], series[k])


@kernel
def _to_exps(x: Floats, reduced: Floats, series: Floats, factors: Floats) -> None:
    """Replace each number by its exponential times its factor: `exp` as three loops."""
    for k in range(x.size):
        reduced[k] = exp_remainder(x[k])
    for k in range(x.size):
        series[k] = exp_series(reduced[k])
    for k in range(x.size):
        x[k] = factors[k] * exp_from(x[k], reduced[k], series[k])


@kernel
def rewind(batch: RewardBatch, rewards: Stream) -> None:
    """Set the stream to where it would be without batches, and discard the rest of the batch."""
    if batch.prefilled[0] == 1:
        for i in range(4):
            rewards[i] = batch.start[i]
        for _ in range(batch.used[0]):
            skip_pair(rewards)
    batch.used[0], batch.prefilled[0] = batch.first.size, 0


@kernel
def reward_in_batch(
    mdp: MDP, slot: int, batch: RewardBatch, prefilled: bool, k: int, rewards: Stream
) -> float:
    """Return a slot's reward, made from pair k of the batch."""
    i = as_int(mdp.law[slot])
    family = U(batch.family[i])
    if family == FIXED:
        if not prefilled:
            skip_pair(rewards)
        return mdp.laws.parameters[i, 0]
    batch.demand[family] += 1
    if batch.prepared[family] == 1:
        return mdp.laws.parameters[i, 0] + mdp.laws.parameters[i, 1] * batch.variates[family, U(k)]
    if prefilled:
        first, second = batch.first[U(k)], batch.second[U(k)]
    else:
        first, second = bits(rewards), bits(rewards)
    return draw_law(mdp.laws.code[i], mdp.laws, i, to_open_uniform(first), -log(to_open_uniform(second)))


@kernel
def step_in_batch(
    mdp: MDP,
    s: int,
    a: int,
    h: int,
    transitions: Stream,
    batch: RewardBatch,
    prefilled: bool,
    k: int,
    rewards: Stream,
) -> tuple[int, float, bool, float]:
    """Make a step like `heavytail.mdp.mdp.step`, with the reward from pair k of the batch."""
    row, slot = locate_slot(mdp, s, a, h, transitions)
    return (
        as_int(mdp.successors[slot]),
        reward_in_batch(mdp, slot, batch, prefilled, k, rewards),
        mdp.ends[slot],
        mdp.row_means[U(row)],
    )
