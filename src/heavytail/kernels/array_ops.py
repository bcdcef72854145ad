"""Operations on short arrays inside kernels: maxima of rows, medians, exact integers."""

from typing import Any

import numpy as np

from heavytail.arrays import Floats, U
from heavytail.kernels.compiling import kernel

SURE = 1.0 - 1e-12  # a value this far below a threshold is below it despite rounding


@kernel
def as_int(x: int) -> int:
    """Convert an element of an array to an ordinary integer.

    `int` alone keeps an unsigned type when compiled, and differences would wrap.
    """
    return int(np.int64(x))


@kernel
def as_index(x: int | np.integer[Any]) -> int:
    """Return x, from 0 to 2**32 - 1, as a type that lets a GPU compute addresses in half the steps."""
    return int(np.int64(np.uint32(x)))


@kernel
def max_row(table: Floats, h: int, s: int) -> float:
    """Return the largest entry of table[h, s]."""
    best = table[U(h), U(s), 0]
    for a in range(1, table.shape[2]):
        if table[U(h), U(s), a] > best:  # noqa: PLR1730 - `max` of a NaN differs between Python and LLVM
            best = table[U(h), U(s), a]
    return best


@kernel
def argmax_row(table: Floats, h: int, s: int) -> int:
    """Return the first index of table[h, s] whose entry is not below the largest."""
    best, where = max_row(table, h, s), 0
    # A branch can be predicted; an index tracked with the maximum would have to be waited for.
    while table[U(h), U(s), U(where)] < best:
        where += 1
    return where


@kernel
def max_slice(table: Floats, h: int, first: int, n: int) -> float:
    """Return the largest of the n entries of table[h] from `first` on."""
    best = table[U(h), U(first)]
    for i in range(first + 1, first + n):
        if table[U(h), U(i)] > best:  # noqa: PLR1730 - see max_row
            best = table[U(h), U(i)]
    return best


@kernel
def argmax_slice(table: Floats, h: int, first: int, n: int) -> int:
    """Return the first index, from `first`, of an entry not below the largest of these n."""
    best, where = max_slice(table, h, first, n), 0
    while table[U(h), U(first + where)] < best:
        where += 1
    return where


@kernel
def select(values: Floats, n: int, k: int) -> float:
    """Return the k-th smallest (from 0) of the first n values, which it reorders.

    Hoare's selection, with the middle value as pivot.
    """
    low, high = 0, n - 1
    while low < high:
        pivot = values[(low + high) >> 1]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while pivot < values[j]:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


@kernel
def median(values: Floats, n: int) -> float:
    """Return the median of the first n values, which it reorders.

    For an even n it is the midpoint of the two middle values. No value may be NaN.
    """
    upper = select(values, n, n // 2)
    if n % 2 == 1:
        return upper
    lower = values[0]  # selection has put the smaller half in front
    for i in range(1, n // 2):
        if values[i] > lower:  # noqa: PLR1730 - see max_row
            lower = values[i]
    return 0.5 * (lower + upper)
