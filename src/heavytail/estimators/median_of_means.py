r"""The median of means: Bubeck, Cesa-Bianchi and Lugosi (2013), lemma 2.

The samples are cut into k = min(floor(8 L + 1), n/2) blocks (at least one), and the median of their means
taken. If v bounds the central moment E|X - mean|^(1+epsilon),

    |estimate - mean| <= (12 v)^(1/(1+epsilon)) (16 (L + 1/8) / n)^(epsilon/(1+epsilon))

on each side with probability at least 1 - e^-L, provided that n >= 16 (L + 1/8). With fewer samples k is cut
short and the bound is false (with epsilon = 1, n = 2 and L = log 10^6 it can fail 300 times more often than
it promises), so that the radius is infinite there, unless ``strict=False``. The paper states the bound for
all n, and writes N for the number of blocks k.

**Streaming.** Blocks are never cut again. Samples fill blocks of equal size; when there are 2 k_max of them,
neighbours are joined and the size doubles, k_max being the k of the largest L. Asked for k <= k_max blocks,
groups of floor(m/k) neighbours out of m serve, and what is left over is not used. The proof only needs groups
of at least n/(2k) samples, and floor(m/k) >= (m+1)/(2k) whenever m >= k: the bound holds as it stands, in
memory O(L) and constant time per sample. A cell's blocks are allocated as it needs them, from one pool; space
that became too small is not used again, and all of that is together smaller than what replaced it.

A block with infinities of both signs counts as infinite.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats, Ints
from heavytail.checks import Count, MomentOrder, Positive
from heavytail.kernels.array_ops import median
from heavytail.kernels.compiling import kernel
from heavytail.kernels.elementary import power
from heavytail.kernels.verbs import full, mean, push, radius, reset
from heavytail.ranges import COUNT, MAX_COUNT, NUMBER, Fact, Range, blocks_fit
from heavytail.registry import register

MIN_CAPACITY = 8


class MedianOfMeans(NamedTuple):
    """The state of the median of means."""

    n: Ints  # [cells]
    blocks: Floats  # [pool] sums of full blocks; a cell's are contiguous
    start: Ints  # [cells] where a cell's blocks start
    capacity: Ints  # [cells] for how many blocks there is space
    n_blocks: Ints  # [cells] how many blocks are full
    pool_used: Ints  # [1] how much of the pool is allocated
    block_size: Ints  # [cells] samples in a block
    partial: Floats  # [cells] sum of the block that is being filled
    filled: Ints  # [cells] samples in it
    scratch: Floats  # [k_max]
    factor: float  # (12 v)**(1/(1+epsilon))
    b: float
    strict: bool

    def moment_kind(self) -> str | None:
        """It needs a central moment."""
        return "central"

    def pools(self) -> tuple[str, ...]:
        """The sums of blocks."""
        return ("blocks",)

    def ranges(self) -> dict[str, Range]:
        """Declare which arrays hold places in the pool and which hold counts."""
        place, k_max = Range(0, len(self.blocks)), len(self.scratch)
        return {
            "n": COUNT,
            "blocks": NUMBER,
            "start": place,
            "capacity": Range(0, 2 * k_max),
            "n_blocks": Range(0, 2 * k_max - 1),
            "pool_used": place,
            "block_size": Range(1, MAX_COUNT),
            "partial": NUMBER,
            "filled": COUNT,
        }

    def facts(self) -> Iterator[Fact]:
        """Declare how blocks lie in the pool, and how samples fill them."""
        yield "a cell has more blocks than places", (self.n_blocks <= self.capacity).all()
        yield "places overlap", blocks_fit(self.start, self.capacity, self.pool_used[0])
        yield "a block is full and not closed", (self.filled < self.block_size).all()
        closed = self.n_blocks * self.block_size.astype(np.float64)  # which cannot overflow
        yield "samples and blocks differ", (closed + self.filled == self.n).all()
        yield (
            "blocks were joined too early",
            ((self.block_size == 1) | (self.n_blocks >= len(self.scratch))).all(),
        )


@register("estimator", "median_of_means", example={"epsilon": 0.5, "moment": 10.0})
def median_of_means(
    n_cells: Count = 1,
    *,
    epsilon: MomentOrder,
    moment: Positive,
    max_log_confidence: Positive = 50.0,
    strict: bool = True,
) -> MedianOfMeans:
    """The median of means, for samples with a central moment of order 1 + epsilon.

    Args:
        n_cells: how many means are estimated side by side.
        epsilon: samples have a moment of order 1 + epsilon, which is below their tail index.
        moment: v, a bound on the central moments E|X - mean|**(1 + epsilon); of a known law
            ``law.moment(1 + epsilon, law.mean())``.
        max_log_confidence: the largest log-confidence that will be asked for; a larger one is answered with
            the blocks of this one. Memory grows with it.
        strict: give an infinite radius where the bound does not hold; False gives the formula everywhere, for
            agents, which cannot plan with infinity.
    """
    k_max = math.floor(8.0 * max_log_confidence + 1.0)
    return MedianOfMeans(
        n=np.zeros(n_cells, np.int64),
        blocks=np.zeros(8 * k_max),  # enough for a cell, the space it outgrew included
        start=np.zeros(n_cells, np.int64),
        capacity=np.zeros(n_cells, np.int64),
        pool_used=np.zeros(1, np.int64),
        n_blocks=np.zeros(n_cells, np.int64),
        block_size=np.ones(n_cells, np.int64),
        partial=np.zeros(n_cells),
        filled=np.zeros(n_cells, np.int64),
        scratch=np.zeros(k_max),
        factor=(12.0 * moment) ** (1.0 / (1.0 + epsilon)),
        b=epsilon / (1.0 + epsilon),
        strict=strict,
    )


@full.method(MedianOfMeans)
def _full(record: MedianOfMeans) -> bool:
    return record.pool_used[0] + 2 * record.scratch.size > record.blocks.size


@kernel
def _enlarge(estimator: MedianOfMeans, cell: int) -> None:
    """Move a cell's blocks to space for twice as many, at most for 2 k_max."""
    old, new = estimator.start[cell], estimator.pool_used[0]
    for i in range(estimator.n_blocks[cell]):
        estimator.blocks[new + i] = estimator.blocks[old + i]
    estimator.start[cell] = new
    capacity = min(max(2 * estimator.capacity[cell], MIN_CAPACITY), 2 * estimator.scratch.size)
    estimator.capacity[cell] = capacity
    estimator.pool_used[0] += capacity


@kernel
def _join_neighbours(estimator: MedianOfMeans, cell: int) -> None:
    """Join neighbouring blocks: half as many, of twice the size."""
    start = estimator.start[cell]
    estimator.n_blocks[cell] //= 2
    estimator.block_size[cell] *= 2
    for i in range(estimator.n_blocks[cell]):
        joined = estimator.blocks[start + 2 * i] + estimator.blocks[start + 2 * i + 1]
        estimator.blocks[start + i] = math.inf if math.isnan(joined) else joined


@push.method(MedianOfMeans)
def _push(estimator: MedianOfMeans, cell: int, x: float) -> None:
    estimator.n[cell] += 1
    total = estimator.partial[cell] + x
    estimator.partial[cell] = math.inf if math.isnan(total) else total
    estimator.filled[cell] += 1
    if estimator.filled[cell] < estimator.block_size[cell]:
        return
    if estimator.n_blocks[cell] == estimator.capacity[cell]:
        _enlarge(estimator, cell)
    estimator.blocks[estimator.start[cell] + estimator.n_blocks[cell]] = estimator.partial[cell]
    estimator.n_blocks[cell] += 1
    estimator.partial[cell] = 0.0
    estimator.filled[cell] = 0
    if estimator.n_blocks[cell] == 2 * estimator.scratch.size:
        _join_neighbours(estimator, cell)


@mean.method(MedianOfMeans)
def _mean(estimator: MedianOfMeans, cell: int, log_confidence: float) -> float:
    n, m, start = estimator.n[cell], estimator.n_blocks[cell], estimator.start[cell]
    if n == 0:
        return 0.0
    k = max(1, min(int(8.0 * log_confidence + 1.0), n // 2, estimator.scratch.size))
    group = m // k
    for i in range(k):
        total = 0.0
        for j in range(start + i * group, start + (i + 1) * group):
            total += estimator.blocks[j]
        estimator.scratch[i] = math.inf if math.isnan(total) else total / (group * estimator.block_size[cell])
    return median(estimator.scratch, k)


@radius.method(MedianOfMeans)
def _radius(estimator: MedianOfMeans, cell: int, log_confidence: float) -> float:
    n, needed = estimator.n[cell], 16.0 * (log_confidence + 0.125)
    if n == 0 or (estimator.strict and n < needed):
        return math.inf
    return estimator.factor * power(needed / n, estimator.b)


@reset.method(MedianOfMeans)
def _reset(record: MedianOfMeans) -> None:
    record.n[:] = 0
    record.blocks[:] = 0.0
    record.start[:] = 0
    record.capacity[:] = 0
    record.pool_used[0] = 0
    record.n_blocks[:] = 0
    record.block_size[:] = 1
    record.partial[:] = 0.0
    record.filled[:] = 0
    record.scratch[:] = 0.0
