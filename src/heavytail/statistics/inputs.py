"""Check the arguments of statistics: numbers by run, or one line that says what they should be."""

import math
from typing import Any, NamedTuple

import numpy as np

from heavytail.arrays import Floats
from heavytail.checks import as_count, as_floats
from heavytail.errors import InputError, show_count

MAX_VALUES = 2**21  # 16 MiB of floats
MAX_RESAMPLES = 10_000_000  # and permutations: more would show in no digit


class Interval(NamedTuple):
    """An estimate and its confidence interval.

    Of one number per run three floats, of [run, checkpoint] three arrays [checkpoint].
    """

    estimate: Floats
    low: Floats
    high: Floats


def as_runs(name: str, values: Any, *, least: int = 1, curves: bool = True, infinite: bool = False) -> Floats:
    """Numbers by run, a copy: [run], or with `curves` also [run, checkpoint].

    Args:
        name: what to call them in an error.
        values: one row per run.
        least: how many runs there must be.
        curves: whether there may be several numbers per run.
        infinite: whether they may be infinite.

    >>> as_runs("returns", [1, 2, 3])
    array([1., 2., 3.])
    """
    array = as_floats(name, values)
    if array.ndim != 1 and not (curves and array.ndim == 2):
        shapes = "[run] or [run, checkpoint]" if curves else "[run]"
        raise InputError(f"{name} has shape {array.shape}; it must be {shapes}")
    if array.size == 0 or len(array) < least:
        runs = f"{least} run{'s' * (least > 1)}"
        raise InputError(
            f"{name} has shape {array.shape}; there must be at least {runs}, each with its numbers"
        )
    for index in np.argwhere(np.isnan(array) if infinite else ~np.isfinite(array))[:1]:
        value, sent_to = array[tuple(index)], "it must be finite, or see heavytail.statistics.heavy"
        remedy = "no value may be missing" if np.isnan(value) else sent_to
        raise InputError(f"{name}[{', '.join(map(str, index))}] is {value}; {remedy}")
    return array


def as_open_fraction(name: str, value: Any) -> float:
    """A number strictly between 0 and 1: a confidence, or the level of a quantile.

    >>> as_open_fraction("confidence", 0.95)
    0.95
    """
    number = as_floats(name, value)
    if number.ndim != 0:
        raise InputError(f"{name} has shape {number.shape}; it must be one number above 0 and below 1")
    if not 0.0 < number < 1.0:
        percent = f"; {value} percent is {value / 100}" if 1.0 < number < 100.0 else ""
        raise InputError(f"{name} is {value}; it must be above 0 and below 1{percent}")
    return float(number)


def as_probabilities(name: str, values: Any) -> Floats:
    """One or more numbers from 0 to 1, a copy: p-values, or the levels of quantiles.

    >>> as_probabilities("levels", [0, 0.5])
    array([0. , 0.5])
    """
    array = as_floats(name, values)
    if array.ndim != 1 or not array.size:
        raise InputError(
            f"{name} has shape {array.shape}; it must be a list of one or more numbers from 0 to 1"
        )
    for i in np.flatnonzero(~((array >= 0.0) & (array <= 1.0)))[:1]:
        raise InputError(f"{name}[{i}] is {array[i]}; it must be from 0 to 1")
    return array


def as_resamples(resamples: Any, confidence: float) -> int:
    """A number of resamples that suffices for this confidence: at least one beyond each end.

    >>> as_resamples(10_000, 0.95)
    10000
    """
    number, least = as_number_of_resamples(resamples), math.ceil(round(2.0 / (1.0 - confidence), 6))
    if number < least:
        raise InputError(f"resamples is {number}; a confidence of {confidence} takes at least {least}")
    return number


def as_number_of_resamples(resamples: Any) -> int:
    """A number of resamples that can be drawn in a lifetime."""
    number = as_count("resamples", resamples)
    if number > MAX_RESAMPLES:
        raise InputError(f"resamples is {show_count(number)}; it must be at most {MAX_RESAMPLES:,}")
    return number


def check_rng(rng: Any) -> None:
    """Refuse anything but a generator, such as a seed."""
    if not isinstance(rng, np.random.Generator):
        raise InputError(
            f"rng is of type {type(rng).__name__}; it must be a numpy.random.Generator, such as"
            " numpy.random.default_rng(0)"
        )


def at_once(size: int) -> int:
    """Count the rows of so many values to hold in memory together; results never depend on it."""
    return max(1, MAX_VALUES // size)
