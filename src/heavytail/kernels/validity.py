"""What makes a record valid. Compiled code trusts records, so those that come from a file are checked.

A record says it beside its fields, in two methods that are plain Python:

- ``ranges()``: a dictionary from the names of its arrays to the `Range` of their entries. Every array of
  whole numbers must be in it, since kernels use them as indices and counts; of other arrays those for which
  it matters.
- ``facts()``, where ranges do not say all: pairs of what is wrong otherwise and whether all is well, such as
  ``yield "blocks overlap", blocks_fit(...)``. Each is asked for when all ranges and all facts before it hold,
  also those of the records inside.

Nothing need be said of the rest: numbers and what ``constant_fields()`` names must be as the record's builder
makes them, up to rounding, and all types and shapes as well, but for the length of pools.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Bools, Ints, Record
from heavytail.errors import InputError
from heavytail.kernels.pools import constant_fields

Fact: TypeAlias = tuple[str, bool | np.bool_]
ROUNDING = 1e-6  # relative: other machines round otherwise, and an altered constant differs by more


class Range(NamedTuple):
    """The least and the largest number that an array may hold; NaN is in no range."""

    low: float
    high: float

    def holds(self, array: npt.NDArray[Any]) -> Bools:
        """Tell for each entry whether it is in the range."""
        return np.asarray((array >= self.low) & (array <= self.high))


MAX_COUNT = 2**53  # whole numbers up to it are floats too, and far from those that overflow
COUNT = Range(0, MAX_COUNT)
FLAG = Range(0, 1)
NUMBER = Range(-math.inf, math.inf)  # anything but NaN
FINITE = Range(-np.finfo(np.float64).max, np.finfo(np.float64).max)


def below(n: float) -> Range:
    """Return the range of indices into n things."""
    return Range(0, n - 1)


def blocks_fit(start: Ints, length: Ints, used: int) -> bool:
    """Tell whether blocks lie within the first `used` places of a pool, and none of them overlap.

    >>> blocks_fit(np.array([4, 0]), np.array([2, 4]), used=6)
    True
    >>> blocks_fit(np.array([3, 0]), np.array([2, 4]), used=6)
    False
    """
    order = np.argsort(start, kind="stable")
    first, end = start[order], (start + length)[order]
    first, end = first[end > first], end[end > first]
    return bool((end[:-1] <= first[1:]).all() and end.max(initial=0) <= used)


def check_record(path: str, record: Record, built: Record) -> None:
    """Raise a one-line error if a record is not valid; `built` is the same record as its builder makes it."""
    ranges: Mapping[str, Range] = record.ranges() if hasattr(record, "ranges") else {}
    for name, value, own in zip(record._fields, record, built, strict=True):
        if hasattr(own, "_fields"):
            check_record(f"{path}/{name}", value, own)
        elif not isinstance(own, np.ndarray) or name in constant_fields(record):
            _check_constant(f"{path}/{name}", value, own)
        elif name in ranges:
            _check_range(f"{path}/{name}", value, ranges[name])
        elif own.dtype.kind in "iu":
            raise InputError(
                f"{path}/{name} cannot be trusted: {type(record).__name__} does not say what it may hold; its"
                f" method ranges() must name {name}"
            )
    facts: Callable[[], Iterator[Fact]] = getattr(record, "facts", lambda: iter(()))
    for message, holds in facts():
        if not holds:
            raise InputError(f"{path} does not fit together: {message}")


def _check_range(path: str, array: npt.NDArray[Any], allowed: Range) -> None:
    outside = array[~allowed.holds(array)]
    if outside.size:
        raise InputError(
            f"{path} holds {outside.flat[0]}; what it holds must be between {allowed.low} and {allowed.high}"
        )


def _check_constant(path: str, value: Any, built: Any) -> None:
    if not _same(np.asarray(value), np.asarray(built)):
        shown = f" is {value}, and" if np.ndim(value) == 0 else ""
        raise InputError(f"{path}{shown} differs from what this agent is built with")


def _same(value: npt.NDArray[Any], built: npt.NDArray[Any]) -> bool:
    if built.dtype.kind != "f":
        return np.array_equal(value, built)
    largest = np.abs(built[np.isfinite(built)]).max(initial=0.0)
    return np.allclose(value, built, rtol=ROUNDING, atol=ROUNDING * largest, equal_nan=True)
