"""Loads that do not make a GPU wait.

There a word takes a thousand cycles and more to arrive. So an agent asks for what its update will read before
the reward is drawn (`heavytail.kernels.prefetch`), and takes it afterwards::

    asked = start_load(table, cell, slot)
    ...
    wait_for_loads()
    value = loaded(table, asked, slot)

Meanwhile the word is copied into shared memory, where each thread has `SLOTS` words. What is taken is what
was there when it was asked for, so nothing in between may change it.

These are the versions for CPUs, which read at once; `heavytail.training.lanes.intrinsics` has the others.
"""

from typing import Any

import numpy.typing as npt

from heavytail.kernels.compiling import kernel

SLOTS = 6


@kernel
def start_load(table: npt.NDArray[Any], cell: tuple[Any, ...], slot: int) -> Any:
    """Ask for table[cell], whose size is 4 or 8 bytes; the cell is of unsigned numbers."""
    return table[cell]


@kernel
def wait_for_loads() -> None:
    """Wait until all is there that was asked for."""


@kernel
def loaded(table: npt.NDArray[Any], asked: Any, slot: int) -> Any:
    """Return what `start_load` with the same table and slot asked for; `asked` is what it returned."""
    return asked
