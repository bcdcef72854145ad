r"""The sample mean, with two radii.

``interval="sub_gaussian"``: scale sqrt(L / (2 n)), Hoeffding's for samples in an interval of length `scale`.
Light-tailed agents use it. With heavy tails it is wrong: the mean lies outside far more often than it says.

``interval="heavy"``: (3 v e^L / n^epsilon)^(1/(1+epsilon)), the best that holds for the sample mean under a
central moment v of order 1 + epsilon (Bubeck, Cesa-Bianchi and Lugosi 2013, lemma 3). It is polynomial in the
confidence, so at any confidence that an agent needs it is useless; it is here to show that.
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from heavytail.arrays import Floats, Ints
from heavytail.checks import Count, MomentOrder, Positive
from heavytail.kernels.elementary import exp, log
from heavytail.kernels.verbs import mean, push, radius, reset
from heavytail.ranges import COUNT, Range
from heavytail.registry import register


class SampleMean(NamedTuple):
    """The state of the sample mean."""

    n: Ints  # [cells]
    average: Floats  # [cells]
    scale: float  # of the sub-Gaussian radius; 0 for the heavy one
    log_moment: float  # log(3 v) / (1 + epsilon)
    a: float
    b: float

    def moment_kind(self) -> str | None:
        """The heavy radius needs a central moment, the other none."""
        return None if self.scale > 0 else "central"

    def ranges(self) -> dict[str, Range]:
        """Declare which array holds counts."""
        return {"n": COUNT}


@register("estimator", "sample_mean")
def sample_mean(
    n_cells: Count = 1,
    *,
    interval: Literal["sub_gaussian", "heavy"] = "sub_gaussian",
    scale: Positive = 1.0,
    epsilon: MomentOrder = 1.0,
    moment: Positive = 1.0,
) -> SampleMean:
    """The sample mean, with the radius of light tails or the far larger one that holds for heavy tails.

    Args:
        n_cells: how many means are estimated side by side.
        interval: "sub_gaussian", valid for light tails only, or "heavy".
        scale: for "sub_gaussian", the length of the interval in which samples lie.
        epsilon: for "heavy", samples have a moment of order 1 + epsilon.
        moment: for "heavy", a bound v on the central moments E|X - mean|**(1 + epsilon).
    """
    a, b = 1.0 / (1.0 + epsilon), epsilon / (1.0 + epsilon)
    used_scale = scale if interval == "sub_gaussian" else 0.0
    return SampleMean(
        np.zeros(n_cells, np.int64), np.zeros(n_cells), used_scale, a * math.log(3.0 * moment), a, b
    )


@push.method(SampleMean)
def _push(estimator: SampleMean, cell: int, x: float) -> None:
    estimator.n[cell] += 1
    estimator.average[cell] += (x - estimator.average[cell]) / estimator.n[cell]


@mean.method(SampleMean)
def _mean(estimator: SampleMean, cell: int, log_confidence: float) -> float:
    return estimator.average[cell]


@radius.method(SampleMean)
def _radius(estimator: SampleMean, cell: int, log_confidence: float) -> float:
    n = estimator.n[cell]
    if n == 0:
        return math.inf
    if estimator.scale > 0.0:
        return estimator.scale * math.sqrt(log_confidence / (2.0 * n))
    return exp(estimator.log_moment + estimator.a * log_confidence - estimator.b * log(float(n)))


@reset.method(SampleMean)
def _reset(record: SampleMean) -> None:
    record.n[:] = 0
    record.average[:] = 0.0
