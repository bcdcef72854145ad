"""Draws of the mean of one cell from its skewed posterior (`heavytail.estimators.sketch`)."""

import math

from heavytail.arrays import Stream, U
from heavytail.estimators.sketch import BODY_COUNT, BODY_ERROR, BODY_MEAN, ORIGIN, SCALE, Sketch
from heavytail.estimators.sketch_indices import draw_excesses
from heavytail.estimators.sketch_tails import EDGE, LEFT, RIGHT, TAIL_COUNT
from heavytail.kernels.compiling import kernel
from heavytail.kernels.rng import gamma, normal

NORMAL_FREEDOM = 100.0  # from which on Student's t is a normal
WEIGHT_PRIOR = 0.5  # samples, added to a tail's


@kernel
def student(rng: Stream, freedom: float) -> float:
    """Draw a Student t variate."""
    if freedom >= NORMAL_FREEDOM:
        return normal(rng)
    return normal(rng) * math.sqrt(0.5 * freedom / max(gamma(rng, 0.5 * freedom), 1e-300))


@kernel
def draw_skewed(sketch: Sketch, block: int, rng: Stream) -> float:
    """Draw a mean from the skewed posterior."""
    tails, b = sketch.tails, U(block)
    count = sketch.summary[b, BODY_COUNT]
    total = sketch.summary[b, BODY_MEAN] + sketch.summary[b, BODY_ERROR] * student(rng, max(count - 1.0, 1.0))
    if tails[b, RIGHT, TAIL_COUNT] + tails[b, LEFT, TAIL_COUNT] > 0.0:
        weight = gamma(rng, count)
        total *= weight
        right, left = draw_excesses(sketch.common, tails, block, rng)
        for side in range(2):
            k = tails[b, U(side), TAIL_COUNT]
            if k > 0.0:
                w = gamma(rng, k + WEIGHT_PRIOR)
                total += w * (tails[b, U(side), EDGE] + (right if side == RIGHT else -left))
                weight += w
        total /= weight
    return sketch.summary[b, ORIGIN] + sketch.summary[b, SCALE] * total
