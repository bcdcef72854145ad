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

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Record
from heavytail.errors import InputError
from heavytail.kernels.pools import constant_fields
from heavytail.ranges import Fact, Range

ROUNDING = 1e-6  # relative: other machines round otherwise, and an altered constant differs by more


def check_record(path: str, record: Record, built: Record) -> None:
    """Raise a one-line error if a record is not valid; `built` is the same record as its builder makes it."""
    changing = {}
    for name, value, own in zip(record._fields, record, built, strict=True):
        if hasattr(own, "_fields"):
            check_record(f"{path}/{name}", value, own)
        elif isinstance(own, np.ndarray) and name not in constant_fields(record):
            changing[name] = value
        elif not _same(np.asarray(value), np.asarray(own)):
            shown = f" is {value}, and" if np.ndim(value) == 0 else ""
            raise InputError(f"{path}/{name}{shown} differs from what this agent is built with")
    ranges: Mapping[str, Range] = record.ranges() if hasattr(record, "ranges") else {}
    for name, array in changing.items():
        if name in ranges:
            _check_range(f"{path}/{name}", array, ranges[name])
        elif array.dtype.kind in "iu":
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


def _same(value: npt.NDArray[Any], built: npt.NDArray[Any]) -> bool:
    if built.dtype.kind != "f":
        return np.array_equal(value, built)
    largest = np.abs(built[np.isfinite(built)]).max(initial=0.0)
    return np.allclose(value, built, rtol=ROUNDING, atol=ROUNDING * largest, equal_nan=True)
