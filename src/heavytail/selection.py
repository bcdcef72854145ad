"""Order statistics in place, for kernels, which may not allocate."""

from heavytail.arrays import Floats
from heavytail.compiling import kernel


@kernel
def select(values: Floats, n: int, k: int) -> float:
    """The k-th smallest (from 0) of the first n values, which it reorders: Hoare's selection, middle pivot."""
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
    """The median of the first n values, which it reorders; of an even number the midpoint of the two in the middle. No value may be NaN."""
    upper = select(values, n, n // 2)
    if n % 2 == 1:
        return upper
    lower = values[0]  # selection has put the smaller half in front
    for i in range(1, n // 2):
        if values[i] > lower:  # noqa: PLR1730 - see rows.max_row
            lower = values[i]
    return 0.5 * (lower + upper)
