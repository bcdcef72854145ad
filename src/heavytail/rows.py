"""Reductions over the last axis of a table, without a slice: a slice costs a reference count at every step."""

from heavytail.arrays import Floats
from heavytail.compiling import kernel


@kernel
def argmax_row(table: Floats, h: int, s: int) -> int:
    """The first index of the largest entry of table[h, s]."""
    best, where = table[h, s, 0], 0
    for a in range(1, table.shape[2]):
        if table[h, s, a] > best:
            best, where = table[h, s, a], a
    return where


@kernel
def max_row(table: Floats, h: int, s: int) -> float:
    """The largest entry of table[h, s]."""
    best = table[h, s, 0]
    for a in range(1, table.shape[2]):
        best = max(best, table[h, s, a])
    return best
