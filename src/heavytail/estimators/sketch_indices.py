r"""One index for both tails of a law, where they may be alike: of stable laws, say, or of Student's.

The tails of `heavytail.estimators.sketch_tails` have a rate b and an index alpha each. If the index is one
for both, its posterior is

    p(alpha) ~ alpha^9 e^(-5 alpha) alpha^(k_R + k_L) I_R(alpha) I_L(alpha),

    I(alpha) = sum over the grid of b^k e^(-(alpha + 1) S(b)),    p(b | alpha) ~ b^k e^(-(alpha + 1) S(b)),

and what is uncertain of it mostly cancels in the mean of the law, to which the tails contribute with opposite
signs. Its probability is by the Bayes factor against two indices of their own, at even odds before.
"""

import math
from typing import NamedTuple

from heavytail.arrays import Floats, Stream, U
from heavytail.estimators.sketch_tails import (
    GRID,
    LEFT,
    LIGHT,
    LOG_ERROR,
    LOG_EXCESS,
    MIN_INDEX,
    PRIOR_COUNT,
    PRIOR_EVIDENCE,
    PRIOR_SUM,
    RATE,
    RIGHT,
    STEP,
    SUMS,
    TAIL_COUNT,
    draw_excess,
    index_moments,
)
from heavytail.kernels.compiling import kernel, subroutine
from heavytail.kernels.elementary import exp, log
from heavytail.kernels.rng import uniform

PROBABILITY = 0  # columns of a block's common index: that there is one, if both tails are heavy
COVARIANCE = 1  # of log E Y of the two tails, times that probability
FIRST_INDEX = 2  # of a grid of indices
INDEX_STEP = 3
INDEX_BELOW = 4  # the probability of this index or a smaller one
INDICES = 12
COMMON_COLUMNS = INDEX_BELOW + INDICES
GRID_REACH = 4.0  # of the grid, in standard deviations of the index
MIN_GRID_INDEX = 0.3


class RateMoments(NamedTuple):
    """Of the rates b of a tail with a given index: log I, and the mean and variance of log b."""

    log_integral: float
    centre: float
    variance: float


@kernel
def _log_gamma(x: float) -> float:
    """Return log Gamma(x) for x of at least 10, to 1e-8 (Stirling)."""
    inverse = 1.0 / x
    return (x - 0.5) * log(x) - x + 0.9189385332046727 + inverse * (1.0 / 12.0 - inverse * inverse / 360.0)


@kernel
def _log_evidence(tails: Floats, block: int, side: int) -> float:
    """Return the log evidence of a tail with an index of its own, up to the width of the grid of rates."""
    i, j = U(block), U(side)
    k, log_rate, log_step = tails[i, j, TAIL_COUNT], log(tails[i, j, RATE]), log(tails[i, j, STEP])
    most, total = -math.inf, 0.0
    for sweep in range(2):  # the largest term first, so that no other overflows
        for g in range(GRID):
            sums = tails[i, j, U(SUMS + g)]
            term = k * (log_rate + g * log_step) - (sums - PRIOR_SUM) - (k + PRIOR_COUNT) * log(sums)
            if sweep == 0:
                most = max(most, term)
            else:
                total += exp(term - most)
    return most + log(total) + PRIOR_EVIDENCE + _log_gamma(k + PRIOR_COUNT)


@kernel
def _rate_moments(tails: Floats, block: int, side: int, alpha: float) -> RateMoments:
    i, j = U(block), U(side)
    k, log_rate, log_step = tails[i, j, TAIL_COUNT], log(tails[i, j, RATE]), log(tails[i, j, STEP])
    most, total, first, second = -math.inf, 0.0, 0.0, 0.0
    for g in range(GRID):
        most = max(most, k * g * log_step - (alpha + 1.0) * tails[i, j, U(SUMS + g)])
    for g in range(GRID):
        weight = exp(k * g * log_step - (alpha + 1.0) * tails[i, j, U(SUMS + g)] - most)
        total += weight
        first += weight * g
        second += weight * g * g
    first /= total
    variance = max(second / total - first * first, 0.0) * log_step * log_step
    integral = most + log(total) + k * log_rate + (alpha + 1.0) * PRIOR_SUM
    return RateMoments(integral, log_rate + first * log_step, variance)


@subroutine
def fit_common_index(common: Floats, tails: Floats, block: int) -> None:
    """Find how probably two tails have one index, and mix its posterior into what is said of both."""
    b = U(block)
    common[b, PROBABILITY], common[b, COVARIANCE] = 0.0, 0.0
    for side in range(2):
        if tails[b, U(side), TAIL_COUNT] == 0.0 or tails[b, U(side), LIGHT] == 1.0:
            return
    mean_right, variance_right = index_moments(tails, block, RIGHT)
    mean_left, variance_left = index_moments(tails, block, LEFT)
    precision = 1.0 / variance_right + 1.0 / variance_left
    mean = (mean_right / variance_right + mean_left / variance_left) / precision
    reach = GRID_REACH / math.sqrt(precision)
    first = max(mean - reach, MIN_GRID_INDEX)
    step = (max(mean, first) + reach - first) / (INDICES - 1)
    common[b, FIRST_INDEX], common[b, INDEX_STEP] = first, step
    k = tails[b, RIGHT, TAIL_COUNT] + tails[b, LEFT, TAIL_COUNT]
    most = -math.inf
    for g in range(INDICES):
        alpha = first + g * step
        right, left = _rate_moments(tails, block, RIGHT, alpha), _rate_moments(tails, block, LEFT, alpha)
        weight = (k + PRIOR_COUNT - 1.0) * log(alpha) - PRIOR_SUM * alpha
        weight += right.log_integral + left.log_integral
        common[b, U(INDEX_BELOW + g)] = weight
        most = max(most, weight)
    total, usable = 0.0, 0.0
    for g in range(INDICES):
        weight = exp(common[b, U(INDEX_BELOW + g)] - most)
        total += weight
        usable += weight if first + g * step > MIN_INDEX else 0.0
        common[b, U(INDEX_BELOW + g)] = usable
    if not usable > 0.0:
        return
    for g in range(INDICES):
        common[b, U(INDEX_BELOW + g)] /= usable
    odds = most + log(total * step) + PRIOR_EVIDENCE
    odds -= _log_evidence(tails, block, RIGHT) + _log_evidence(tails, block, LEFT)
    common[b, PROBABILITY] = 1.0 / (1.0 + exp(-odds))
    _mix(common, tails, block)


@kernel
def _mix(common: Floats, tails: Floats, block: int) -> None:
    """Mix the moments of log E Y under one index with those of two."""
    b, before, right, left, product = U(block), 0.0, 0.0, 0.0, 0.0
    squares_right, squares_left = 0.0, 0.0
    for g in range(INDICES):
        p = common[b, U(INDEX_BELOW + g)] - before
        before = common[b, U(INDEX_BELOW + g)]
        if p > 0.0:
            alpha = common[b, FIRST_INDEX] + g * common[b, INDEX_STEP]
            of_right, of_left = (
                _rate_moments(tails, block, RIGHT, alpha),
                _rate_moments(tails, block, LEFT, alpha),
            )
            x, y = -of_right.centre - log(alpha - 1.0), -of_left.centre - log(alpha - 1.0)
            right += p * x
            left += p * y
            product += p * x * y
            squares_right += p * (x * x + of_right.variance)
            squares_left += p * (y * y + of_left.variance)
    share = common[b, PROBABILITY]
    common[b, COVARIANCE] = share * (product - right * left)
    for side in range(2):
        centre, squares = (right, squares_right) if side == RIGHT else (left, squares_left)
        own, error = tails[b, U(side), LOG_EXCESS], tails[b, U(side), LOG_ERROR]
        mixed = share * centre + (1.0 - share) * own
        second = share * squares + (1.0 - share) * (own * own + error * error)
        tails[b, U(side), LOG_EXCESS] = mixed
        tails[b, U(side), LOG_ERROR] = math.sqrt(max(second - mixed * mixed, 0.0))


# Drawing


@kernel
def draw_excesses(common: Floats, tails: Floats, block: int, rng: Stream) -> tuple[float, float]:
    """Draw the mean excesses of the right and the left tail."""
    b = U(block)
    light_right, light_left = uniform(rng) < tails[b, RIGHT, LIGHT], uniform(rng) < tails[b, LEFT, LIGHT]
    if not light_right and not light_left and uniform(rng) < common[b, PROBABILITY]:
        alpha = _draw_index(common, block, rng)
        right = _draw_excess_of_index(tails, block, RIGHT, alpha, rng)
        return right, _draw_excess_of_index(tails, block, LEFT, alpha, rng)
    right = draw_excess(tails, block, RIGHT, light_right, rng)
    return right, draw_excess(tails, block, LEFT, light_left, rng)


@kernel
def _draw_index(common: Floats, block: int, rng: Stream) -> float:
    """Draw an index from the posterior of one that is common."""
    u, g = uniform(rng), 0
    while g < INDICES - 1 and u >= common[U(block), U(INDEX_BELOW + g)]:
        g += 1
    return common[U(block), FIRST_INDEX] + g * common[U(block), INDEX_STEP]


@kernel
def _draw_excess_of_index(tails: Floats, block: int, side: int, alpha: float, rng: Stream) -> float:
    """Draw the mean excess of a tail of this index."""
    i, j = U(block), U(side)
    k, log_step, most, total = tails[i, j, TAIL_COUNT], log(tails[i, j, STEP]), -math.inf, 0.0
    for g in range(GRID):
        most = max(most, k * g * log_step - (alpha + 1.0) * tails[i, j, U(SUMS + g)])
    for g in range(GRID):
        total += exp(k * g * log_step - (alpha + 1.0) * tails[i, j, U(SUMS + g)] - most)
    u, b, g = uniform(rng) * total, tails[i, j, RATE], 0
    u -= exp(-(alpha + 1.0) * tails[i, j, SUMS] - most)
    while g < GRID - 1 and u >= 0.0:
        g += 1
        u -= exp(k * g * log_step - (alpha + 1.0) * tails[i, j, U(SUMS + g)] - most)
        b *= tails[i, j, STEP]
    return 1.0 / (b * (alpha - 1.0))
