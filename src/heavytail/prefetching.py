"""Asking for memory before it is needed.

On a GPU the tables of all lanes do not fit the caches, and a thread that reads its own waits for as long as half a step takes to compute. So it asks beforehand, and draws a reward meanwhile. A core of
a CPU finds the tables of its one run in its caches: there, asking does nothing. (`heavytail.lanes.kernels` says what a GPU does instead.)
"""

from heavytail.arrays import Floats, Ints
from heavytail.compiling import kernel


@kernel
def ask_for(table: Floats | Ints, h: int, s: int, a: int) -> None:
    """Have table[h, s, a] brought nearer, without waiting for it."""
