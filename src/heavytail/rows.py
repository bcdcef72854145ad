"""Reductions over the last axis of a table, or over a part of it, without taking a slice."""

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


def argmax_row_at_once(table: Floats, h: int, s: int) -> int:
    """`argmax_row` without a branch, for processors that do not guess."""
    best, where = table[U(h), U(s), 0], 0
    for a in range(1, table.shape[2]):
        value = table[U(h), U(s), a]
        larger = value > best
        best, where = value if larger else best, a if larger else where
    return where


@kernel
def max_part(table: Floats, h: int, first: int, n: int) -> float:
    """The largest of the n entries of table[h] from `first` on."""
    best = table[U(h), U(first)]
    for i in range(first + 1, first + n):
        if table[U(h), U(i)] > best:  # noqa: PLR1730 - see max_row
            best = table[U(h), U(i)]
    return best


@kernel
def argmax_part(table: Floats, h: int, first: int, n: int) -> int:
    """The first place, counted from `first`, of an entry that is not below the largest of these n."""
    best, where = max_part(table, h, first, n), 0
    while table[U(h), U(first + where)] < best:
        where += 1
    return where
