"""Location and spread of rewards, by estimates that exist for every law with a mean.

The *robust mean* and the probability of a skewed law are those of the sketch
(`heavytail.estimators.sketch`), as agents have it: docs/tails.md says how often its interval holds. The
*scale* is

    (E sqrt|r - median|)^2 / 0.676,

the standard deviation, if the law is normal. It exists for every law with a mean, and is above 0 also where
most rewards are equal. The *share of the largest* is max |r| / sum |r|: it goes to 0 as 1 / n if the mean is
finite and the tails are light, slowly if they are heavy, and not at all if the mean is infinite.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats
from heavytail.checks import as_finite_floats
from heavytail.errors import InputError
from heavytail.estimators.estimator import LOG_CONFIDENCE, Estimator
from heavytail.estimators.sketch import Sketch, is_constant, renew, sketch, skewness
from heavytail.kernels.compiling import entry
from heavytail.kernels.verbs import interval

NORMAL_SPREAD = math.sqrt(2.0) * math.gamma(0.75) ** 2 / math.pi  # (E sqrt|z|)^2 of a standard normal z


class RobustMean(NamedTuple):
    """A mean with its 95% interval, for a law with heavy tails."""

    mean: float
    low: float
    high: float
    skewed: float  # the probability that symmetry is not relied upon


class Filled(NamedTuple):
    """A sketch of samples over a unit, and what it says."""

    record: Sketch
    unit: float
    mean: RobustMean


def robust_mean(samples: npt.ArrayLike) -> RobustMean:
    """Estimate the mean of a heavy-tailed law, without prior knowledge.

    Args:
        samples: one or more finite numbers, in the order of arrival.

    Raises:
        InputError: there is none, or one is not a finite number.

    >>> import heavytail as ht
    >>> found = robust_mean(ht.laws.student_t(df=1.5, loc=2.0).sample(1000, seed=0))
    >>> found.low < 2.0 < found.high and found.skewed < 0.5
    True
    """
    samples = as_finite_floats("samples", samples, "sample").ravel()
    if not samples.size:
        raise InputError("samples is empty; a mean needs one at least")
    return fill_sketch(samples).mean


def fill_sketch(samples: Floats) -> Filled:
    """Sketch samples in a power of two, by which nothing is rounded: a sketch knows no sizes beyond 1e250."""
    unit = math.ldexp(1.0, math.frexp(float(np.abs(samples).max()))[1] - 1)
    filled = Estimator(sketch())
    filled.push(samples / unit)
    centre, low, high, skewed = entry(_describe, filled.record)(filled.record)
    return Filled(filled.record, unit, RobustMean(centre * unit, low * unit, high * unit, skewed))


def _describe(record: Sketch) -> tuple[float, float, float, float]:
    skewed = 0.0 if is_constant(record, 0) else skewness(record, renew(record, 0))
    centre, low, high = interval(record, 0, LOG_CONFIDENCE)
    return centre, low, high, skewed


def spread_around(centre: float, samples: Floats) -> float:
    """Compute the scale of samples around a centre.

    >>> round(spread_around(0.0, np.random.default_rng(0).normal(size=100_000)), 2)
    1.0
    """
    return float(np.sqrt(np.abs(samples - centre)).mean()) ** 2 / NORMAL_SPREAD


def largest_share(samples: Floats) -> float:
    """Compute the share of the largest sample in the sum, both without their signs.

    >>> largest_share(np.array([1.0, -2.0, 1.0]))
    0.5
    """
    sizes = np.abs(samples)
    largest = sizes.max()
    return float(1.0 / (sizes / largest).sum()) if largest > 0.0 else 0.0
