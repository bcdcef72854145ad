"""Quantiles at a log-confidence L, where the probability beyond is exp(-L)."""

import math

from heavytail.kernels.compiling import kernel
from heavytail.kernels.elementary import exp


@kernel
def normal_quantile(log_confidence: float) -> float:
    """Return the z that a standard normal exceeds with probability exp(-L), from the median on.

    Within 5e-4 (Abramowitz and Stegun 1964, 26.2.23).
    """
    t = math.sqrt(2.0 * max(log_confidence, math.log(2.0)))
    above = 2.515517 + t * (0.802853 + t * 0.010328)
    return max(t - above / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))), 0.0)


@kernel
def student_quantile(z: float, freedom: float) -> float:
    """Return the quantile of Student's t law where the normal one is z (Wallace 1959)."""
    y = z * (8.0 * freedom + 3.0) / (8.0 * freedom + 1.0)
    return math.sqrt(freedom * (exp(y * y / freedom) - 1.0))
