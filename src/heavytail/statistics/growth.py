"""How fast something grows: the exponent p in values ~ c T^p, over the last decades of T.

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
from heavytail.statistics._inputs import Interval, as_open_fraction, as_resamples, as_runs, check_rng

DECADES = 2.0
POINTS = 21  # curves are read at most at so many, about evenly in log T
MIN_FOUND = 0.9  # of resamples with an exponent


def growth_exponent(
    at: npt.ArrayLike,
    values: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    confidence: float = 0.95,
    resamples: int = 2000,
) -> Interval:
    """The exponent of growth over the last two decades and its bootstrap interval, each NaN where there is none.

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
    runs, number, tail = (
        as_runs("values", values),
        as_resamples(resamples, confidence),
        0.5 * (1.0 - as_open_fraction("confidence", confidence)),
    )
    read, weights = _reading(at, runs)
    estimate = _slopes(runs[:, read].mean(axis=0, keepdims=True), weights)[0]
    n = len(runs)
    drawn = rng.multinomial(n, np.full(n, 1.0 / n), size=number)  # how often each run is in each resample
    slopes = _slopes(drawn @ runs[:, read] / n, weights)
    found = slopes[np.isfinite(slopes)]
    if n < 2 or np.isnan(estimate) or len(found) <= MIN_FOUND * number:
        return Interval(*np.array([estimate, np.nan, np.nan]))
    return Interval(*np.array([estimate, *np.quantile(found, [tail, 1.0 - tail])]))


def exponent_of(at: npt.ArrayLike, values: npt.ArrayLike) -> float:
    """The same of one curve [point], without an interval.

    >>> round(exponent_of([1e3, 1e4, 1e5], [1.0, 4.0, 16.0]), 3)
    0.602
    """
    curve = as_runs("values", values)[None]
    read, weights = _reading(at, curve)
    return float(_slopes(curve[:, read], weights)[0])


def _reading(at: npt.ArrayLike, runs: Floats) -> tuple[Ints, Floats]:
    """At which points of the last decades curves are read, and what takes their logarithms there to a slope."""
    T = as_floats("at", at)
    if runs.ndim != 2 or T.shape != runs.shape[1:] or len(T) < 2 or not (np.diff(T, prepend=0.0) > 0).all():
        raise InputError(
            f"at has shape {T.shape} and values {runs.shape}; they must be [point] from above 0"
            " upwards and [run, point], of two points or more"
        )
    x = np.log(T)
    grid = np.linspace(max(x[0], x[-1] - DECADES * np.log(10.0)), x[-1], POINTS)
    read = np.unique(np.abs(x - grid[:, None]).argmin(axis=1))
    centred = x[read] - x[read].mean()
    return read, centred / (centred @ centred)


def _slopes(values: Floats, weights: Floats) -> Floats:
    """The slope of each row's logarithms; NaN if one of them has none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes: Floats = np.log(values) @ weights
    return np.where(np.isfinite(slopes), slopes, np.nan)
