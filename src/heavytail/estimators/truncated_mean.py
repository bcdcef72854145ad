r"""The truncated mean: Bubeck, Cesa-Bianchi and Lugosi (2013), lemma 1.

    (1/n) sum_j X_j 1{|X_j| <= B_j},   B_j = (u j / L)^(1/(1+epsilon)),   |estimate - mean| <= K
    u^(1/(1+epsilon)) (L/n)^(epsilon/(1+epsilon))

on each side with probability at least 1 - e^-L, if u bounds the raw moment E|X|^(1+epsilon). The paper's K is
4 (as a c of 4^((1+epsilon)/epsilon), which overflows); the proof gives K = 1 + epsilon + sqrt(2) + 1/3, which
is the default.

**Exact without the stream.** An agent's L grows with time, so that thresholds shrink and samples that counted
stop counting. Sample j counts as long as L <= l_j = u j / |X_j|^(1+epsilon). Once l_j is above the largest L
that will ever be asked for, the sample is safe and joins a running sum. The few others are *held*, in a
linked list for each cell, whose nodes lie in one pool; an estimate adds up what is held and lets go of what
no longer counts. By Markov's inequality at most L_max (1 + log n) samples are ever held, on average; eleven
at once were the most seen in 200,000 stable ones. Adding them up anew, instead of subtracting from a sum what
drops out, leaves no rounding behind.

``thresholds="at_arrival"`` fixes B_j when X_j arrives, by the L last asked for; ``"fixed"`` uses the largest
L throughout, and its radius too. Both hold nothing.
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from heavytail.arrays import Floats, Ints
from heavytail.checks import Count, MomentOrder, Positive
from heavytail.kernels.array_ops import SURE
from heavytail.kernels.compiling import kernel
from heavytail.kernels.elementary import power
from heavytail.kernels.verbs import full, mean, push, radius, reset, write_counters
from heavytail.registry import register

EXACT, AT_ARRIVAL, FIXED = 0, 1, 2
FIRST_POOL = 64


class TruncatedMean(NamedTuple):
    """What the truncated mean remembers."""

    n: Ints  # [cells]
    safe: Floats  # [cells] sum of the samples that count for good
    asked: Floats  # [cells] the largest log-confidence asked for
    first: Ints  # [cells] the first held sample, -1 if none
    value: Floats  # [pool] held samples
    level: Floats  # [pool] l_j: the log-confidence up to which a held sample counts
    following: Ints  # [pool] the next held sample of its cell, or the next free node
    free: Ints  # [1] the first node that was given back, -1 if none
    used: Ints  # [1] nodes ever in use
    truncated: Ints  # [1] how many samples do not count
    moment: float
    order: float  # 1 + epsilon
    b: float
    factor: float  # K u**(1/(1+epsilon))
    largest: float  # the largest log-confidence that will be asked for
    thresholds: int

    def moment_kind(self) -> str | None:
        """It needs a raw moment."""
        return "raw"

    def pools(self) -> tuple[str, ...]:
        """Held samples."""
        return ("value", "level", "following")

    def counter_names(self) -> tuple[str, ...]:
        """How many samples do not count."""
        return ("truncated",)


@register("estimator", "truncated_mean", example={"epsilon": 0.5, "moment": 10.0})
def truncated_mean(
    n_cells: Count = 1,
    *,
    epsilon: MomentOrder,
    moment: Positive,
    max_log_confidence: Positive = 500.0,
    thresholds: Literal["exact", "at_arrival", "fixed"] = "exact",
    constants: Literal["tight", "paper"] = "tight",
) -> TruncatedMean:
    """The truncated mean, for samples with a raw moment of order 1 + epsilon.

    Args:
        n_cells: how many means are estimated side by side.
        epsilon: samples have a moment of order 1 + epsilon.
        moment: u, a bound on the raw moments E|X|**(1 + epsilon).
        max_log_confidence: the largest log-confidence that will be asked for; a larger one is answered as
            this one.
        thresholds: "exact" for any log-confidence that grows; "at_arrival" or "fixed" to hold no samples.
        constants: "tight" or the "paper"'s.
    """
    a, b = 1.0 / (1.0 + epsilon), epsilon / (1.0 + epsilon)
    constant = 1.0 + epsilon + math.sqrt(2.0) + 1.0 / 3.0 if constants == "tight" else 4.0
    return TruncatedMean(
        n=np.zeros(n_cells, np.int64),
        safe=np.zeros(n_cells),
        asked=np.zeros(n_cells),
        first=np.full(n_cells, -1),
        value=np.zeros(FIRST_POOL),
        level=np.zeros(FIRST_POOL),
        following=np.zeros(FIRST_POOL, np.int64),
        free=np.full(1, -1),
        used=np.zeros(1, np.int64),
        truncated=np.zeros(1, np.int64),
        moment=moment,
        order=1.0 + epsilon,
        b=b,
        factor=constant * moment**a,
        largest=max_log_confidence,
        thresholds={"exact": EXACT, "at_arrival": AT_ARRIVAL, "fixed": FIXED}[thresholds],
    )


@full.method(TruncatedMean)
def _full(record: TruncatedMean) -> bool:
    return record.free[0] < 0 and record.used[0] == record.value.size


@kernel
def _new_node(estimator: TruncatedMean) -> int:
    node = estimator.free[0]
    if node >= 0:
        estimator.free[0] = estimator.following[node]
    else:
        node = estimator.used[0]
        estimator.used[0] += 1
    return node


@push.method(TruncatedMean)
def _push(estimator: TruncatedMean, cell: int, x: float) -> None:
    estimator.n[cell] += 1
    # |x|^(1+epsilon) is at most the larger of |x| and x*x: mostly no power is needed to see that a sample is
    # safe.
    if estimator.largest * max(abs(x), x * x) <= SURE * estimator.moment * estimator.n[cell]:
        estimator.safe[cell] += x
        return
    size = power(abs(x), estimator.order)
    level = math.inf if size == 0.0 else estimator.moment * estimator.n[cell] / size
    needed = estimator.largest if estimator.thresholds == FIXED else estimator.asked[cell]
    if level < needed or level == 0.0:
        estimator.truncated[0] += 1
        return
    if level >= estimator.largest or estimator.thresholds != EXACT:
        estimator.safe[cell] += x
        return
    node = _new_node(estimator)
    estimator.value[node], estimator.level[node], estimator.following[node] = x, level, estimator.first[cell]
    estimator.first[cell] = node


@mean.method(TruncatedMean)
def _mean(estimator: TruncatedMean, cell: int, log_confidence: float) -> float:
    asked = max(estimator.asked[cell], min(log_confidence, estimator.largest))
    estimator.asked[cell] = asked
    total, before, node = estimator.safe[cell], -1, estimator.first[cell]
    while node >= 0:
        following = estimator.following[node]
        if estimator.level[node] < asked:  # counts no more: take it out of the list, and give its node back
            if before < 0:
                estimator.first[cell] = following
            else:
                estimator.following[before] = following
            estimator.following[node] = estimator.free[0]
            estimator.free[0] = node
            estimator.truncated[0] += 1
        else:
            total += estimator.value[node]
            before = node
        node = following
    return total / max(estimator.n[cell], 1)


@radius.method(TruncatedMean)
def _radius(estimator: TruncatedMean, cell: int, log_confidence: float) -> float:
    n = estimator.n[cell]
    if n == 0:
        return math.inf
    level = estimator.largest if estimator.thresholds == FIXED else min(log_confidence, estimator.largest)
    return estimator.factor * power(level / n, estimator.b)


@write_counters.method(TruncatedMean)
def _write_counters(agent: TruncatedMean, out: Floats) -> None:
    out[0] = agent.truncated[0]


@reset.method(TruncatedMean)
def _reset(record: TruncatedMean) -> None:
    record.n[:] = 0
    record.safe[:] = 0.0
    record.asked[:] = 0.0
    record.first[:] = -1
    record.value[:] = 0.0
    record.level[:] = 0.0
    record.following[:] = 0
    record.free[0] = -1
    record.used[0] = 0
    record.truncated[0] = 0
