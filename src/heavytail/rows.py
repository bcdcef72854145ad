"""Reductions over the last axis of a table, without taking a slice of it."""

from heavytail.arrays import Floats, U
from heavytail.compiling import kernel


@kernel
def max_row(table: Floats, h: int, s: int) -> float:
    """The largest entry of table[h, s]."""
    best = table[U(h), U(s), 0]
    for a in range(1, table.shape[2]):
        if table[U(h), U(s), a] > best:  # noqa: PLR1730 - `max` of a NaN depends on who computes it
            best = table[U(h), U(s), a]
    return best


@kernel
def argmax_row(table: Floats, h: int, s: int) -> int:
    """The first index of table[h, s] whose entry is not below the largest."""
    best, where = max_row(table, h, s), 0
    while table[U(h), U(s), U(where)] < best:  # a branch, which the processor can guess; an index kept with the maximum must be waited for
        where += 1
    return where
