"""Growth exponents: the exponent p in values ~ c T^p, over the last decades of T.

It is the slope of a straight line through logarithms, those of the mean over runs: of regret that counts mean
rewards, which is bounded, the mean is what theorems on expected regret speak of. The interval is a percentile
bootstrap over whole runs. Where the mean is not above 0 all the way there is no exponent; where that is so
for one in ten resamples, there is no interval.
"""

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats, Ints
from heavytail.checks import as_floats
from heavytail.errors import InputError
from heavytail.statistics.inputs import Interval, as_open_fraction, as_resamples, as_runs, check_rng

DECADES = 2.0
MAX_POINTS = 21  # at which curves are read, about evenly in log T
MIN_SHARE = 0.9  # of resamples that have an exponent


def growth_exponent(
    at: npt.ArrayLike,
    values: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    confidence: float = 0.95,
    resamples: int = 2000,
) -> Interval:
    """The exponent of growth over the last two decades, with its bootstrap interval; NaN if there is none.

    Args:
        at: [point] T, ascending from above 0; two decades or less are taken as they are.
        values: [run, point].
        rng: draws the resamples.
        confidence: how often the interval should hold the truth.
        resamples: how many.

    >>> T = np.geomspace(1e2, 1e6, 50)
    >>> curves = 3.0 * T**0.5 * np.array([[0.9], [1.0], [1.2]])
    >>> [round(float(x), 3) for x in growth_exponent(T, curves, rng=np.random.default_rng(0))]
    [0.5, 0.5, 0.5]
    """
    check_rng(rng)
    runs, number = as_runs("values", values), as_resamples(resamples, confidence)
    tail = 0.5 * (1.0 - as_open_fraction("confidence", confidence))
    points, weights = _points_and_weights(at, runs)
    estimate = _slopes(runs[:, points].mean(axis=0, keepdims=True), weights)[0]
    n = len(runs)
    counts = rng.multinomial(n, np.full(n, 1.0 / n), size=number)  # how often each run is in each resample
    slopes = _slopes(counts @ runs[:, points] / n, weights)
    finite = slopes[np.isfinite(slopes)]
    if n < 2 or np.isnan(estimate) or len(finite) <= MIN_SHARE * number:
        return Interval(*np.array([estimate, np.nan, np.nan]))
    return Interval(*np.array([estimate, *np.quantile(finite, [tail, 1.0 - tail])]))


def exponent_of(at: npt.ArrayLike, values: npt.ArrayLike) -> float:
    """The exponent of growth of one curve [point], without an interval.

    >>> round(exponent_of([1e3, 1e4, 1e5], [1.0, 4.0, 16.0]), 3)
    0.602
    """
    curve = as_runs("values", values)[None]
    points, weights = _points_and_weights(at, curve)
    return float(_slopes(curve[:, points], weights)[0])


def _points_and_weights(at: npt.ArrayLike, runs: Floats) -> tuple[Ints, Floats]:
    """The indices at which curves are read, and the weights that turn logarithms there into a slope."""
    T = as_floats("at", at)
    if runs.ndim != 2 or T.shape != runs.shape[1:] or len(T) < 2 or not (np.diff(T, prepend=0.0) > 0).all():
        raise InputError(
            f"at has shape {T.shape} and values {runs.shape}; they must be [point] from above 0 upwards and"
            " [run, point], of two points or more"
        )
    x = np.log(T)
    grid = np.linspace(max(x[0], x[-1] - DECADES * np.log(10.0)), x[-1], MAX_POINTS)
    points = np.unique(np.abs(x - grid[:, None]).argmin(axis=1))
    centred = x[points] - x[points].mean()
    return points, centred / (centred @ centred)


def _slopes(values: Floats, weights: Floats) -> Floats:
    """The slope of each row's logarithms; NaN where one of them is not finite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes: Floats = np.log(values) @ weights
    return np.where(np.isfinite(slopes), slopes, np.nan)
