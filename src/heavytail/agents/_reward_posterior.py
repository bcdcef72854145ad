r"""Draws of mean rewards from the posteriors of a sketch (`heavytail.estimators.sketch`).

By what it is drawn as (`heavytail.agents._common_shape`) the mean of a cell is

- *symmetric*: m + s t, the trimmed mean with its Student t;
- *skewed, alone*: drawn from its own skewed posterior, and at least its centre, as the common offset is;
- *skewed, pooled*: with what cells of one shape have in common, the offset o, tau and the spread sigma',

      B (draw of its own) + (1 - B) (m + s t + sigma' (o + tau z)),    B = tau^2 / (tau^2 + e_c^2),

  which has the mean and the variance of the posterior of a normal hierarchical model. The offset is drawn
  once for all cells, so that what is uncertain of it cancels in comparisons.
"""

from heavytail.agents._common_shape import POOLED, SYMMETRIC, CommonShape, draw_spread
from heavytail.agents._skewed_draw import draw_skewed, student
from heavytail.arrays import Stream, U
from heavytail.estimators.sketch import ERROR, FREEDOM, MIDDLE, OFFSET, OFFSET_ERROR, SPREAD, Sketch
from heavytail.kernels.compiling import kernel
from heavytail.kernels.rng import normal


@kernel
def draw_mean(sketch: Sketch, cell: int, kind: int, common: CommonShape, rng: Stream) -> float:
    """Draw the mean of a cell of at least two samples, of which the summary is up to date."""
    block = sketch.histogram.block[U(cell)]
    if block < 0:
        return sketch.histogram.first[U(cell)]
    b, mean = U(block), 0.0
    own = 0.0 if kind == SYMMETRIC else 1.0
    if kind == POOLED and common.known:
        error, tau = sketch.summary[b, OFFSET_ERROR], common.tau
        own = tau * tau / (tau * tau + error * error)
    if own < 1.0:
        mean = sketch.summary[b, MIDDLE] + sketch.summary[b, ERROR] * student(rng, sketch.summary[b, FREEDOM])
        if kind == POOLED:
            mean += draw_spread(sketch, cell, common, rng) * (common.offset + common.tau * normal(rng))
    if own == 0.0:
        return mean
    centre = sketch.summary[b, MIDDLE] + sketch.summary[b, SPREAD] * sketch.summary[b, OFFSET]
    return own * max(draw_skewed(sketch, block, rng), centre) + (1.0 - own) * mean
