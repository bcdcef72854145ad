"""Small functions that mean the same compiled and as plain Python, where the obvious ones would not."""

import numpy as np

from heavytail.compiling import kernel

SURE = 1.0 - 1e-12  # so far below a threshold rounding decides nothing


@kernel
def as_int(x: int) -> int:
    """An element of an array as an ordinary integer: `int` alone keeps an unsigned type when compiled, and differences would wrap."""
    return int(np.int64(x))
