r"""The truncated mean: Bubeck, Cesa-Bianchi and Lugosi (2013), lemma 1.

    estimate = (1/n) sum_j X_j 1{|X_j| <= B_j},   B_j = (u j / L)^(1/(1+epsilon)),

    |estimate - mean| <= K u^(1/(1+epsilon)) (L/n)^(epsilon/(1+epsilon))

on each side with probability at least 1 - e^-L, if u bounds the raw moment E|X|^(1+epsilon). The paper's K is
4 (as a c of 4^((1+epsilon)/epsilon), which overflows); the proof gives K = 1 + epsilon + sqrt(2) + 1/3, which
is the default.

**Exact without the stream.** An agent's L grows with time, so that thresholds shrink and samples that counted
stop counting. Sample j counts as long as L <= l_j = u j / |X_j|^(1+epsilon). Once l_j is above the largest L
that will ever be asked for, the sample is safe and joins a running sum. The few others are *held*, in a
linked list for each cell, whose nodes lie in one pool; an estimate adds up what is held and releases what no
longer counts. By Markov's inequality at most L_max (1 + log n) samples are ever held, on average; in 200,000
stable ones never more than eleven were held at once. They are added up anew, since subtracting from a sum
what drops out would accumulate rounding.

``thresholds="at_arrival"`` fixes B_j when X_j arrives, by the L last asked for; ``"fixed"`` uses the largest
L throughout, and its radius too. Both hold nothing.
"""

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from heavytail.arrays import Floats, Ints
from heavytail.checks import Count, MomentOrder, Positive
from heavytail.kernels.array_ops import SURE
from heavytail.kernels.compiling import kernel
from heavytail.kernels.elementary import power
from heavytail.kernels.verbs import full, mean, push, radius, reset, write_counters
from heavytail.ranges import COUNT, NUMBER, Fact, Range
from heavytail.registry import register

EXACT, AT_ARRIVAL, FIXED = 0, 1, 2
INITIAL_POOL = 64


class TruncatedMean(NamedTuple):
    """The state of the truncated mean."""

    n: Ints  # [cells]
    safe: Floats  # [cells] sum of the samples that count for good
    asked: Floats  # [cells] the largest log-confidence asked for
    head: Ints  # [cells] the node of the first held sample, -1 if none
    value: Floats  # [pool] held samples
    level: Floats  # [pool] l_j: the log-confidence up to which a held sample counts
    next_node: Ints  # [pool] that of the next held sample of the cell, or the next free node; -1 if none
    free_node: Ints  # [1] the first node that was released, -1 if none
    nodes_used: Ints  # [1] nodes ever in use
    truncated: Ints  # [1] how many samples do not count
    moment: float
    order: float  # 1 + epsilon
    b: float
    factor: float  # K u**(1/(1+epsilon))
    max_level: float  # the largest log-confidence that will be asked for
    thresholds: int

    def moment_kind(self) -> str | None:
        """It needs a raw moment."""
        return "raw"

    def pools(self) -> tuple[str, ...]:
        """The nodes of held samples."""
        return ("value", "level", "next_node")

    def counter_names(self) -> tuple[str, ...]:
        """The number of samples that do not count."""
        return ("truncated",)

    def ranges(self) -> dict[str, Range]:
        """Declare which arrays hold nodes and which hold counts."""
        node = Range(-1, int(self.nodes_used[0]) - 1)
        return {
            "n": COUNT,
            "safe": NUMBER,
            "asked": Range(0.0, self.max_level),
            "head": node,
            "value": NUMBER,
            "level": NUMBER,
            "next_node": Range(-1, len(self.value) - 1),
            "free_node": node,
            "nodes_used": Range(0, len(self.value)),
            "truncated": COUNT,
        }

    def facts(self) -> Iterator[Fact]:
        """Declare that lists end: if no node follows two, no reachable one is in a cycle."""
        following = self.next_node[: self.nodes_used[0]]
        yield "a list goes on beyond the nodes in use", (following < self.nodes_used[0]).all()
        pointers = np.concatenate([self.head, self.free_node, following])
        nodes = pointers[pointers >= 0]
        yield "a node is in two lists, or twice in one", np.unique(nodes).size == nodes.size


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
        epsilon: samples have a moment of order 1 + epsilon, which is below their tail index.
        moment: u, a bound on the raw moments E|X|**(1 + epsilon); ``law.moment(1 + epsilon)`` of a known law.
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
        head=np.full(n_cells, -1),
        value=np.zeros(INITIAL_POOL),
        level=np.zeros(INITIAL_POOL),
        next_node=np.zeros(INITIAL_POOL, np.int64),
        free_node=np.full(1, -1),
        nodes_used=np.zeros(1, np.int64),
        truncated=np.zeros(1, np.int64),
        moment=moment,
        order=1.0 + epsilon,
        b=b,
        factor=constant * moment**a,
        max_level=max_log_confidence,
        thresholds={"exact": EXACT, "at_arrival": AT_ARRIVAL, "fixed": FIXED}[thresholds],
    )


@full.method(TruncatedMean)
def _full(record: TruncatedMean) -> bool:
    return record.free_node[0] < 0 and record.nodes_used[0] == record.value.size


@kernel
def _new_node(estimator: TruncatedMean) -> int:
    node = estimator.free_node[0]
    if node >= 0:
        estimator.free_node[0] = estimator.next_node[node]
    else:
        node = estimator.nodes_used[0]
        estimator.nodes_used[0] += 1
    return node


@push.method(TruncatedMean)
def _push(estimator: TruncatedMean, cell: int, x: float) -> None:
    estimator.n[cell] += 1
    # |x|^(1+epsilon) is at most the larger of |x| and x*x: mostly this shows, without a power, that x is
    # safe.
    if estimator.max_level * max(abs(x), x * x) <= SURE * estimator.moment * estimator.n[cell]:
        estimator.safe[cell] += x
        return
    size = power(abs(x), estimator.order)
    level = math.inf if size == 0.0 else estimator.moment * estimator.n[cell] / size
    needed = estimator.max_level if estimator.thresholds == FIXED else estimator.asked[cell]
    if level < needed or level == 0.0:
        estimator.truncated[0] += 1
        return
    if level >= estimator.max_level or estimator.thresholds != EXACT:
        estimator.safe[cell] += x
        return
    node = _new_node(estimator)
    estimator.value[node], estimator.level[node], estimator.next_node[node] = x, level, estimator.head[cell]
    estimator.head[cell] = node


@mean.method(TruncatedMean)
def _mean(estimator: TruncatedMean, cell: int, log_confidence: float) -> float:
    asked = max(estimator.asked[cell], min(log_confidence, estimator.max_level))
    estimator.asked[cell] = asked
    total, previous, node = estimator.safe[cell], -1, estimator.head[cell]
    while node >= 0:
        successor = estimator.next_node[node]
        if estimator.level[node] < asked:  # counts no more: remove and release its node
            if previous < 0:
                estimator.head[cell] = successor
            else:
                estimator.next_node[previous] = successor
            estimator.next_node[node] = estimator.free_node[0]
            estimator.free_node[0] = node
            estimator.truncated[0] += 1
        else:
            total += estimator.value[node]
            previous = node
        node = successor
    return total / max(estimator.n[cell], 1)


@radius.method(TruncatedMean)
def _radius(estimator: TruncatedMean, cell: int, log_confidence: float) -> float:
    n = estimator.n[cell]
    if n == 0:
        return math.inf
    level = estimator.max_level if estimator.thresholds == FIXED else min(log_confidence, estimator.max_level)
    return estimator.factor * power(level / n, estimator.b)


@write_counters.method(TruncatedMean)
def _write_counters(agent: TruncatedMean, out: Floats) -> None:
    out[0] = agent.truncated[0]


@reset.method(TruncatedMean)
def _reset(record: TruncatedMean) -> None:
    record.n[:] = 0
    record.safe[:] = 0.0
    record.asked[:] = 0.0
    record.head[:] = -1
    record.value[:] = 0.0
    record.level[:] = 0.0
    record.next_node[:] = 0
    record.free_node[0] = -1
    record.nodes_used[0] = 0
    record.truncated[0] = 0
