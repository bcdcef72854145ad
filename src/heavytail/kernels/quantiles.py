"""Normal and Student quantiles at a log-confidence L, where the probability beyond is exp(-L)."""

import math

from heavytail.kernels.compiling import kernel
from heavytail.kernels.elementary import exp, log

MAX_EXPONENT = 200.0  # so that squares of quantiles are finite


@kernel
def normal_quantile(log_confidence: float) -> float:
    """Return the z that a standard normal exceeds with probability exp(-L), from the median on.

    Within 5e-4 (Abramowitz and Stegun 1964, 26.2.23).
    """
    t = math.sqrt(2.0 * max(log_confidence, math.log(2.0)))
    above = 2.515517 + t * (0.802853 + t * 0.010328)
    return max(t - above / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))), 0.0)


@kernel
def mills_ratio(z: float) -> float:
    """Return the probability beyond z of a standard normal over its density at z, for z from 0 on.

    Within 0.3% (Börjesson and Sundberg 1979).
    """
    return 1.0 / (0.661 * z + 0.339 * math.sqrt(z * z + 5.51))


@kernel
def normal_survival(z: float) -> float:
    """Return the probability that a standard normal exceeds z, to 0.3% above 0."""
    beyond = 0.3989422804014327 * exp(-0.5 * z * z) * mills_ratio(abs(z))
    return beyond if z >= 0.0 else 1.0 - beyond


@kernel
def student_quantile(z: float, freedom: float) -> float:
    """Return the quantile of Student's t law where the normal one is z (Wallace 1959)."""
    y = z * (8.0 * freedom + 3.0) / (8.0 * freedom + 1.0)
    t = math.sqrt(freedom * (exp(min(y * y / freedom, MAX_EXPONENT)) - 1.0))
    return t if z >= 0.0 else -t


@kernel
def student_score(t: float, freedom: float) -> float:
    """Return the normal quantile where that of Student's t law is t."""
    z = math.sqrt(freedom * log(1.0 + t * t / freedom)) * (8.0 * freedom + 1.0) / (8.0 * freedom + 3.0)
    return z if t >= 0.0 else -z
