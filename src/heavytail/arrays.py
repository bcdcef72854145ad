"""Names for the arrays in records: one dtype each, so that one compiled signature is enough."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Indices: TypeAlias = npt.NDArray[np.uint32]
Bools: TypeAlias = npt.NDArray[np.bool_]
Stream: TypeAlias = npt.NDArray[np.uint64]
U = np.uint64  # with an index of this type, compiled code need not check for negative indices
Record: TypeAlias = Any
"""A NamedTuple of arrays, scalars and other such records; Python's types have no name for any NamedTuple."""


def record_bytes(record: Record) -> int:
    """Count the bytes of a record's arrays, and of the records inside it."""
    return sum(
        record_bytes(value) if hasattr(value, "_fields") else getattr(value, "nbytes", 0) for value in record
    )
