"""Validation of records from files, because compiled code trusts the records it is given.

A record declares what is valid beside its fields, in two methods that are plain Python:

- ``ranges()``: a dictionary from the names of its arrays to the `Range` of their entries. Every array of
  whole numbers must be in it, since kernels use them as indices and counts; other arrays only where it
  matters.
- ``facts()``, for conditions that ranges cannot express: pairs of an error message and whether all is well,
  such as ``yield "blocks overlap", blocks_fit(...)``. Each is evaluated after all ranges and all facts before
  it hold, including those of the records inside.

The rest needs no declaration: numbers and the arrays named by ``constant_fields()`` must equal those that the
record's builder makes, up to rounding, and all types and shapes must match, except for the length of pools.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from heavytail.agent_file import find_array
from heavytail.arrays import Record
from heavytail.errors import InputError
from heavytail.files import Arrays
from heavytail.kernels.pools import constant_fields, pool_fields
from heavytail.ranges import Fact, Range

ROUNDING = 1e-6  # relative: machines round differently, but an altered constant differs by more


def restore_valid(prefix: str, built: Record, arrays: Arrays) -> Record:
    """Make a valid record from the arrays of a file, like `built`, fresh from its builder."""
    record = restore(prefix, built, arrays, same_shape=True)
    check_record(prefix, record, built)
    return record


def restore(prefix: str, template: Record, arrays: Arrays, *, same_shape: bool) -> Record:
    """Make a record like `template` from the arrays of a file, without checking their contents.

    They must have the same types and, where `same_shape`, the same shapes except for pools, which may grow.
    """
    values, pools = [], pool_fields(template)
    _check_pool_lengths(prefix, pools, arrays)
    for name, old in zip(template._fields, template, strict=True):
        path = f"{prefix}/{name}"
        if hasattr(old, "_fields"):
            values.append(restore(path, old, arrays, same_shape=same_shape))
        else:
            new = find_array(path, arrays, np.asarray(old), same_shape=same_shape, grows=name in pools)
            values.append(np.ascontiguousarray(new) if isinstance(old, np.ndarray) else type(old)(new[()]))
    return type(template)(*values)


def _check_pool_lengths(prefix: str, pools: tuple[str, ...], arrays: Arrays) -> None:
    paths = [f"{prefix}/{name}" for name in pools]
    if len({len(arrays[path]) for path in paths if path in arrays and arrays[path].ndim}) > 1:
        raise InputError(f"the pools {', '.join(pools)} of {prefix} have different lengths")


def check_record(path: str, record: Record, built: Record) -> None:
    """Raise a one-line error if a record is not valid; `built` is the same record fresh from its builder."""
    changing = {}
    for name, value, own in zip(record._fields, record, built, strict=True):
        if hasattr(own, "_fields"):
            check_record(f"{path}/{name}", value, own)
        elif isinstance(own, np.ndarray) and name not in constant_fields(record):
            changing[name] = value
        elif not _same(np.asarray(value), np.asarray(own)):
            shown = f" is {value}, and" if np.ndim(value) == 0 else ""
            raise InputError(f"{path}/{name}{shown} differs from the value this agent is built with")
    ranges: Mapping[str, Range] = record.ranges() if hasattr(record, "ranges") else {}
    for name, array in changing.items():
        if name in ranges:
            _check_range(f"{path}/{name}", array, ranges[name])
        elif array.dtype.kind in "iu":
            raise InputError(
                f"{path}/{name} cannot be checked: {type(record).__name__} does not declare its range; its"
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
            f"{path} holds {outside.flat[0]}; its entries must be between {allowed.low} and {allowed.high}"
        )


def _same(value: npt.NDArray[Any], built: npt.NDArray[Any]) -> bool:
    if built.dtype.kind != "f":
        return np.array_equal(value, built)
    largest = np.abs(built[np.isfinite(built)]).max(initial=0.0)
    return np.allclose(value, built, rtol=ROUNDING, atol=ROUNDING * largest, equal_nan=True)
