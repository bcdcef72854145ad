r"""The mean rewards that Heavy-PSRL draws, from the two posteriors of the sketch and what cells share.

A cell is drawn as *symmetric* or *skewed*. Skewed with probability

    light + (1 - light) P',    P' of odds P / (1 - P) times (N + a) / (M + a),

where the sketch gives `light`, the probability of light tails, by which the mean is known without symmetry
and rare losses are losses, and P, that symmetry is not relied upon; N and M count how many heavy-tailed cells
are skewed and symmetric, of those with samples enough to show it. One uniform number decides for all cells,
so that none is favoured by luck. Of fewer than `MIN_JUDGED` samples nothing is believed but their Student t:
`light` is 0 and P one half.

A light-tailed skewed cell is drawn from its own skewed posterior. Heavy-tailed ones are *pooled*: few samples
miss the tail, and a good cell would never be tried again, but cells are often of one shape. With a trimmed
mean m_c, the spread sigma_c and the offset of the mean in spreads,

    o_c = (skewed mean - m_c) / sigma_c,    o_c ~ N(o, tau^2),    log sigma_c ~ N(log sigma, omega^2),

errors of both at least as a pooled sample leaves them, the variances between cells by the method of moments
(DerSimonian and Laird 1986). The drawn mean is

    B (draw of its own) + (1 - B) (m_c + s t + sigma' (o + tau z)),    B = tau^2 / (tau^2 + e_c^2),

which has the mean and the variance of the posterior of a normal hierarchical model (Lindley and Smith 1972).
The common offset o is the mean of draws of the cells' own offsets, so that it is as skewed as they are. It is
drawn once for all cells, and what is uncertain of it cancels in comparisons.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

from heavytail.agents._index_list import item
from heavytail.arrays import Stream, U
from heavytail.estimators.sketch import (
    MIDDLE,
    OFFSET,
    OFFSET_ERROR,
    SPREAD,
    SPREAD_ERROR,
    Sketch,
    draw_skewed,
    draw_symmetric,
    lightness,
    renew,
    skewness,
)
from heavytail.kernels.compiling import kernel, subroutine
from heavytail.kernels.elementary import exp, log
from heavytail.kernels.rng import normal, uniform

if TYPE_CHECKING:
    from heavytail.agents.heavy_psrl import HeavyPSRL

SYMMETRIC, ALONE, POOLED = range(3)  # what a cell is drawn as; the last two are skewed
MIN_JUDGED = 8  # samples from which on they say whether tails are light, and the law is skewed
MIN_TESTED = 1000  # samples from which on skewness would have shown
SKEW_PRIOR = 0.3  # a, in cells
MAX_LIGHT = 0.5  # the probability of light tails up to which a cell is pooled
MIN_POOLED_CELLS = 2  # fewer have nothing in common
MIN_NOISE = 1e-12  # the variance that a sample leaves: what is smaller counts as this
OFFSETS, SPREADS = range(2)  # what is measured of a cell


class Effect(NamedTuple):
    """How cells differ in what is measured of them."""

    noise: float  # the variance that one sample leaves
    centre: float  # of all cells
    variance: float  # between cells


@kernel
def is_judged(sketch: Sketch, cell: int) -> bool:
    """Return whether the samples say of which kind the law is; few do if the middle half of them is equal."""
    block = sketch.histogram.block[U(cell)]
    return sketch.histogram.n[U(cell)] >= MIN_JUDGED or skewness(sketch, block) == 1.0


@subroutine
def draw_kinds(agent: "HeavyPSRL", rng: Stream) -> int:
    """Renew all summaries, and draw which cells are skewed; return how many are pooled."""
    sketch, skewed, symmetric, pooled = agent.sketch, SKEW_PRIOR, SKEW_PRIOR, 0
    for k in range(agent.tried.size[0]):
        cell = item(agent.tried, k)
        if sketch.histogram.block[U(cell)] >= 0:
            block = renew(sketch, cell)
            if sketch.histogram.n[U(cell)] >= MIN_TESTED and lightness(sketch, block) <= MAX_LIGHT:
                skewed += skewness(sketch, block)
                symmetric += 1.0 - skewness(sketch, block)
    odds, u = skewed / symmetric, uniform(rng)
    for k in range(agent.tried.size[0]):
        i = U(item(agent.tried, k))
        block = sketch.histogram.block[i]
        agent.kinds[i] = SYMMETRIC
        if block >= 0:
            light, p = 0.0, 0.5
            if is_judged(sketch, item(agent.tried, k)):
                light, p = lightness(sketch, block), skewness(sketch, block)
            if u < light + (1.0 - light) * odds * p / (odds * p + 1.0 - p):
                agent.kinds[i] = POOLED if light <= MAX_LIGHT else ALONE
                pooled += 1 if light <= MAX_LIGHT else 0
    return pooled


@kernel
def measure(sketch: Sketch, cell: int, what: int) -> tuple[float, float]:
    """Return the offset or the log spread of a cell, and its variance as the cell alone has it."""
    b = U(sketch.histogram.block[U(cell)])
    error = sketch.summary[b, OFFSET_ERROR if what == OFFSETS else SPREAD_ERROR]
    y = sketch.summary[b, OFFSET] if what == OFFSETS else log(sketch.summary[b, SPREAD])
    return y, error * error


@kernel
def variance_of(sketch: Sketch, cell: int, what: int, noise: float) -> float:
    """Return the variance of what is measured of a cell: few samples miss the tail, and look too certain."""
    alone = measure(sketch, cell, what)[1] if what == OFFSETS else 0.0
    return max(alone, noise / sketch.histogram.n[U(cell)])


@subroutine
def find_effect(agent: "HeavyPSRL", what: int) -> Effect:
    """Find how the pooled cells differ."""
    sketch, cells, samples, noise, origin, precision = agent.sketch, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(agent.tried.size[0]):
        cell = item(agent.tried, k)
        if agent.kinds[U(cell)] == POOLED:
            n, (y, variance) = float(sketch.histogram.n[U(cell)]), measure(sketch, cell, what)
            cells, samples = cells + 1.0, samples + n
            noise += n * n * variance
            precision += 1.0 / variance if what == OFFSETS else 0.0
            origin += n * y
    noise, origin = max(noise / samples, MIN_NOISE), origin / samples
    if what == OFFSETS:
        noise = samples / precision
    w, ww, wy, wyy = 0.0, 0.0, 0.0, 0.0
    for k in range(agent.tried.size[0]):
        cell = item(agent.tried, k)
        if agent.kinds[U(cell)] == POOLED:
            x, y = 1.0 / variance_of(sketch, cell, what, noise), measure(sketch, cell, what)[0] - origin
            w, ww, wy, wyy = w + x, ww + x * x, wy + x * y, wyy + x * y * y
    freedom = w - ww / w
    between = max(wyy - wy * wy / w - (cells - 1.0), 0.0) / freedom if freedom > 0.0 else 0.0
    w, wy = 0.0, 0.0
    for k in range(agent.tried.size[0]):
        cell = item(agent.tried, k)
        if agent.kinds[U(cell)] == POOLED:
            x = 1.0 / (variance_of(sketch, cell, what, noise) + between)
            w, wy = w + x, wy + x * (measure(sketch, cell, what)[0] - origin)
    return Effect(noise, origin + wy / w, between)


@subroutine
def draw_offset(agent: "HeavyPSRL", offsets: Effect, rng: Stream) -> float:
    """Draw the common offset: the mean of what is drawn of each cell."""
    sketch, tau, weights, total = agent.sketch, math.sqrt(offsets.variance), 0.0, 0.0
    for k in range(agent.tried.size[0]):
        cell = item(agent.tried, k)
        if agent.kinds[U(cell)] == POOLED:
            block = sketch.histogram.block[U(cell)]
            apart = draw_skewed(sketch, block, rng) - sketch.summary[U(block), MIDDLE]
            x = 1.0 / (variance_of(sketch, cell, OFFSETS, offsets.noise) + offsets.variance)
            weights += x
            total += x * (apart / sketch.summary[U(block), SPREAD] + tau * normal(rng))
    return total / weights


@kernel
def draw_spread(sketch: Sketch, cell: int, spreads: Effect, rng: Stream) -> float:
    """Draw the spread of a cell, which counts as much as it is measured, and else as those of others."""
    variance = variance_of(sketch, cell, SPREADS, spreads.noise)
    own = spreads.variance / (spreads.variance + variance)
    centre = own * measure(sketch, cell, SPREADS)[0] + (1.0 - own) * spreads.centre
    return exp(centre + math.sqrt(own * variance) * normal(rng))


@kernel
def draw_pooled(
    sketch: Sketch, cell: int, offset: float, offsets: Effect, spreads: Effect, rng: Stream
) -> float:
    """Draw the mean of a pooled cell."""
    block, tau2 = sketch.histogram.block[U(cell)], offsets.variance
    own = tau2 / (tau2 + variance_of(sketch, cell, OFFSETS, offsets.noise))
    if not is_judged(sketch, cell):
        own = 0.0
    shared = draw_symmetric(sketch, block, rng)
    shared += draw_spread(sketch, cell, spreads, rng) * (offset + math.sqrt(tau2) * normal(rng))
    return own * draw_skewed(sketch, block, rng) + (1.0 - own) * shared


@subroutine
def draw_means(agent: "HeavyPSRL", rng: Stream) -> None:
    """Draw the mean reward of every cell that was tried."""
    pooled = draw_kinds(agent, rng) >= MIN_POOLED_CELLS
    offset, offsets, spreads = 0.0, Effect(0.0, 0.0, 0.0), Effect(0.0, 0.0, 0.0)
    if pooled:
        offsets, spreads = find_effect(agent, OFFSETS), find_effect(agent, SPREADS)
        offset = draw_offset(agent, offsets, rng)
    for k in range(agent.tried.size[0]):
        cell = item(agent.tried, k)
        i, block = U(cell), agent.sketch.histogram.block[U(cell)]
        if block < 0:
            agent.rewards[i] = agent.sketch.histogram.first[i]
        elif pooled and agent.kinds[i] == POOLED:
            agent.rewards[i] = draw_pooled(agent.sketch, cell, offset, offsets, spreads, rng)
        elif agent.kinds[i] == SYMMETRIC or not is_judged(agent.sketch, cell):
            agent.rewards[i] = draw_symmetric(agent.sketch, block, rng)
        else:
            agent.rewards[i] = draw_skewed(agent.sketch, block, rng)
