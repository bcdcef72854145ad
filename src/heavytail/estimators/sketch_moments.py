r"""The size of rewards in a sketch: (E|x|^p)^(1/p), for p between 1 and 2, with the fitted tails.

The body counts as it is. A tail is x = u + s Y with excesses Y that are generalised Pareto with rate b and
index alpha, so that x = (u - s/b) + s W/b with W = 1 + b Y of E W^p = alpha / (alpha - p), and by Minkowski's
inequality

    (E|x|^p)^(1/p)  <=  |u - s/b| + (alpha / (alpha - p))^(1/p) / b;

that of a light tail is at most |u| + 3/2 E Y, as of an exponential law. So it is a bound, and one sample does
not decide about it as it would about the mean of |x|^p.
"""

import math

from heavytail.arrays import Floats, U
from heavytail.estimators._histogram import COUNT, LEFT, RIGHT, X, list_atoms
from heavytail.estimators.sketch import MIDDLE, SCALE, Sketch, is_constant, renew
from heavytail.estimators.sketch_tails import EDGE, ETA, EXCESS, LIGHT, LOG_EXCESS, TAIL_COUNT
from heavytail.kernels.compiling import kernel, subroutine
from heavytail.kernels.elementary import exp, power

MIN_GAP = 0.1  # between the order of a moment and the index of a tail
LIGHT_FACTOR = 1.5  # above Gamma(p + 1)^(1/p) for all p up to 2


@subroutine
def moment_size(sketch: Sketch, cell: int, order: float) -> float:
    """Bound (E|x|^p)^(1/p) of a cell that has samples, for p = `order`."""
    if is_constant(sketch, cell):
        return abs(sketch.histogram.first[U(cell)])
    block = renew(sketch, cell)
    b, atoms, tails = U(block), list_atoms(sketch.histogram, cell), sketch.tails
    scale, middle = sketch.summary[b, SCALE], sketch.summary[b, MIDDLE]
    low = -tails[b, LEFT, EDGE] if tails[b, LEFT, TAIL_COUNT] > 0.0 else -math.inf
    high = tails[b, RIGHT, EDGE] if tails[b, RIGHT, TAIL_COUNT] > 0.0 else math.inf
    total, count = 0.0, 0.0
    for k in range(atoms.size):
        x = atoms.origin + atoms.scale * sketch.histogram.atoms[LEFT, X, U(k)]
        if low <= (x - middle) / scale <= high:
            total += sketch.histogram.atoms[LEFT, COUNT, U(k)] * power(abs(x) / scale, order)
            count += sketch.histogram.atoms[LEFT, COUNT, U(k)]
    for side in range(2):
        k = tails[b, U(side), TAIL_COUNT]
        if k > 0.0:
            total += k * power(_tail_size(tails, block, side, middle / scale, order), order)
            count += k
    return scale * power(total / count, 1.0 / order)


@kernel
def _tail_size(tails: Floats, block: int, side: int, middle: float, order: float) -> float:
    b, sign = U(block), 1.0 if side == RIGHT else -1.0
    edge, light = middle + sign * tails[b, U(side), EDGE], tails[b, U(side), LIGHT]
    size = light * (abs(edge) + LIGHT_FACTOR * tails[b, U(side), EXCESS])
    if light < 1.0:
        alpha = max(1.0 + exp(tails[b, U(side), ETA]), order + MIN_GAP)
        inverse_rate = exp(tails[b, U(side), LOG_EXCESS]) * (alpha - 1.0)
        stretch = power(alpha / (alpha - order), 1.0 / order)
        size += (1.0 - light) * (abs(edge - sign * inverse_rate) + stretch * inverse_rate)
    return size
