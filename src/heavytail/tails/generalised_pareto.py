r"""The generalised Pareto law of excesses: fitted by maximum likelihood, with profile likelihoods.

Beyond a threshold far enough out, the excesses y of almost any law are generalised Pareto (Balkema and de
Haan 1974; Pickands 1975): with shape xi and scale sigma

    P(Y > y) = (1 + xi y / sigma)^(-1/xi),    exp(-y / sigma) at xi = 0.

The tail index is alpha = 1 / xi: moments of order alpha and above are infinite. A shape of 0 is that of an
exponential tail, a negative one that of a tail which ends; both have the index infinity.

**Profile.** Of k excesses, and given xi, the best sigma solves

    (1 + xi) sum y / (sigma + xi y) = k,

whose left side falls in sigma; Newton's method finds it within a bracket. What remains is a function of xi
alone, the profile log-likelihood l(xi), of the slope

    l'(xi) = (sum log(1 + xi y / sigma) - k xi) / xi^2.

Its maximum is the estimate, and its signed root

    r(xi) = sign(xi - estimate) sqrt(2 (l(estimate) - l(xi)))

is nearly standard normal at the true xi: the interval is where |r| <= 1.96, and Phi(r(x)) is the confidence
that the shape is below x. Unlike an estimate with a standard error, the interval is as asymmetric as the
likelihood (Davison and Smith 1990, "Models for exceedances over high thresholds").

Shapes are looked for between `MIN_SHAPE`, beyond which there is no maximum, and `MAX_SHAPE`, an index of 0.1.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats, U
from heavytail.checks import as_finite_floats
from heavytail.errors import InputError, short_repr
from heavytail.kernels.compiling import entry, kernel, subroutine
from heavytail.kernels.elementary import log

MIN_SHAPE, MAX_SHAPE = -0.9, 10.0
NORMAL_QUANTILE = 1.959963984540054  # of the level 0.975: intervals hold with probability 95%
SMALLEST_SHAPE = 1e-6  # smaller ones are 0
NEAREST_SHAPE = 1e-4  # to 0, at which a slope is computed
STEPS = 60  # at most, to find a root; about eight are needed
PRECISION = 1e-7  # of a shape,
SCALE_PRECISION = 1e-7  # and of the logarithm of a scale


@dataclass(frozen=True, slots=True)
class GeneralisedPareto:
    """A generalised Pareto law fitted to excesses over a threshold."""

    shape: float  # xi
    scale: float  # sigma
    shape_low: float  # the ends of the 95% interval of xi
    shape_high: float
    log_likelihood: float  # of the excesses over their mean

    @property
    def index(self) -> float:
        """The tail index alpha = 1 / xi, infinite where the tail is not a power law."""
        return index_of(self.shape)

    def survival(self, y: Floats) -> Floats:
        """Compute P(Y > y)."""
        if abs(self.shape) < SMALLEST_SHAPE:
            return np.exp(-y / self.scale)
        return np.maximum(1.0 + self.shape * y / self.scale, 0.0) ** (-1.0 / self.shape)


def index_of(shape: float) -> float:
    """Turn a shape into a tail index.

    >>> index_of(0.5), index_of(-0.2)
    (2.0, inf)
    """
    return 1.0 / shape if shape > 0.0 else math.inf


def fit_excesses(excesses: npt.ArrayLike) -> GeneralisedPareto:
    """Fit positive excesses, at least two of them and in any order.

    Args:
        excesses: by how much samples lie beyond a threshold.

    Raises:
        InputError: there are fewer, one is below 0, or all are 0.

    >>> y = np.random.default_rng(0).pareto(2.0, 1000)
    >>> fit = fit_excesses(y)
    >>> fit.shape_low < 0.5 < fit.shape_high
    True
    """
    given = as_finite_floats("excesses", excesses, "excess").ravel()
    if given.size < 2 or given.min() < 0.0 or not given.any():
        raise InputError(f"excesses are {short_repr(excesses)}; they must be two or more numbers above 0")
    unit = float(given.mean())
    y = given / unit
    shape, scale, low, high, most = entry(_fit)(y, float(y.max()))
    return GeneralisedPareto(shape, scale * unit, low, high, most)


def fit_shape(excesses: Floats) -> float:
    """Fit the shape alone, which is quicker."""
    y = excesses / excesses.mean()
    return entry(_fit_shape)(y, float(y.max()))


def confidence_below(excesses: Floats, fit: GeneralisedPareto, shape: float) -> float:
    """Return the confidence, from 0 to 1, that the shape is below this one."""
    y = excesses / excesses.mean()
    at = min(max(shape, MIN_SHAPE), MAX_SHAPE)
    drop = max(fit.log_likelihood - entry(_profile)(y, float(y.max()), at), 0.0)
    return 0.5 * (1.0 + math.copysign(math.erf(math.sqrt(drop)), at - fit.shape))


def _fit(y: Floats, largest: float) -> tuple[float, float, float, float, float]:
    shape = _most_likely_shape(y, largest)
    most = _log_likelihood(y, largest, shape)
    low = _where_it_drops(y, largest, shape, MIN_SHAPE, most)
    high = _where_it_drops(y, largest, shape, MAX_SHAPE, most)
    return shape, _best_scale(y, largest, shape), low, high, most


def _fit_shape(y: Floats, largest: float) -> float:
    return _most_likely_shape(y, largest)


def _profile(y: Floats, largest: float, shape: float) -> float:
    return _log_likelihood(y, largest, shape)


# Roots are found by false position, Illinois' variant: an end that stays put for long counts half.


@subroutine
def _most_likely_shape(y: Floats, largest: float) -> float:
    """Find where the profile's slope is 0, or the end towards which it rises."""
    low, high = MIN_SHAPE, MAX_SHAPE
    at_low, at_high = _slope(y, largest, low), _slope(y, largest, high)
    if at_low <= 0.0 or at_high >= 0.0:
        return low if at_low <= 0.0 else high
    shape, before = low, high
    for _ in range(STEPS):
        shape, before = (low * at_high - high * at_low) / (at_high - at_low), shape
        if abs(shape - before) < PRECISION:
            break
        slope = _slope(y, largest, shape)
        low, at_low, high, at_high = _narrow(low, at_low, high, at_high, shape, slope, before)
    return shape


@subroutine
def _where_it_drops(y: Floats, largest: float, estimate: float, end: float, most: float) -> float:
    """Find the end of the interval: where the signed root is 1.96, or else the last shape looked at."""
    away = NORMAL_QUANTILE * (1.0 + max(estimate, -0.5)) / math.sqrt(y.size)
    inside, at_inside, outside, at_outside = estimate, -NORMAL_QUANTILE, estimate, -1.0
    while at_outside < 0.0:
        if outside == end:
            return end
        inside, at_inside = outside, min(at_outside, -SMALLEST_SHAPE)
        outside = min(outside + away, end) if end > estimate else max(outside - away, end)
        at_outside = _root(y, largest, outside, most)
        away *= 2.0
    shape, before = inside, outside
    for _ in range(STEPS):
        shape, before = (inside * at_outside - outside * at_inside) / (at_outside - at_inside), shape
        if abs(shape - before) < PRECISION:
            break
        root = _root(y, largest, shape, most)
        inside, at_inside, outside, at_outside = _narrow(
            inside, at_inside, outside, at_outside, shape, root, before
        )
    return shape


@kernel
def _narrow(
    a: float, at_a: float, b: float, at_b: float, x: float, at_x: float, before: float
) -> tuple[float, float, float, float]:
    """Replace that end of an interval around a root whose sign is that of x.

    The other end's value is halved if x replaces the last x (the Illinois form of false position).
    """
    if at_x != 0.0 and (at_x > 0.0) == (at_a > 0.0):
        return x, at_x, b, at_b * (0.5 if a == before else 1.0)
    return a, at_a * (0.5 if b == before else 1.0), x, at_x


@kernel
def _root(y: Floats, largest: float, shape: float, most: float) -> float:
    """Compute how far the signed root exceeds 1.96, without its sign."""
    return math.sqrt(2.0 * max(most - _log_likelihood(y, largest, shape), 0.0)) - NORMAL_QUANTILE


@kernel
def _slope(y: Floats, largest: float, shape: float) -> float:
    """Compute the slope of the profile for one excess."""
    if abs(shape) < NEAREST_SHAPE:
        shape = NEAREST_SHAPE if shape >= 0.0 else -NEAREST_SHAPE
    return (_sum_logs(y, shape / _best_scale(y, largest, shape)) / y.size - shape) / (shape * shape)


@subroutine
def _log_likelihood(y: Floats, largest: float, shape: float) -> float:
    """Compute the log-likelihood of a shape with its best scale."""
    scale = _best_scale(y, largest, shape)
    if abs(shape) < SMALLEST_SHAPE:
        return -y.size * (log(scale) + 1.0)
    return -y.size * log(scale) - (1.0 + 1.0 / shape) * _sum_logs(y, shape / scale)


@subroutine
def _sum_logs(y: Floats, rate: float) -> float:
    logs = 0.0
    for i in range(y.size):
        logs += log(1.0 + rate * y[U(i)])
    return logs


@subroutine
def _best_scale(y: Floats, largest: float, shape: float) -> float:
    """Find the best scale of a shape, for excesses of mean 1."""
    low = max(-shape * largest, 0.0)
    high = low + 1.0 + shape
    scale = 0.5 * (low + high) if low > 0.0 else min(1.0, high)
    for _ in range(STEPS):
        value, slope = 0.0, 0.0
        for i in range(y.size):
            ratio = y[U(i)] / (scale + shape * y[U(i)])
            value += ratio
            slope += ratio / (scale + shape * y[U(i)])
        excess = (1.0 + shape) * value - y.size
        if excess > 0.0:
            low = scale
        else:
            high = scale
        # Newton's step of the logarithm of the scale, or halfway where it leaves the bracket
        step = excess / ((1.0 + shape) * slope * scale)
        following = scale * (1.0 + step) if step < 1.0 else 2.0 * scale
        if not low < following < high:
            following = 0.5 * (low + high)
        if abs(following - scale) < SCALE_PRECISION * scale:
            return following
        scale = following
    return scale
