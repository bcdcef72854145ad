"""Make the first run in a process start sooner."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Collect no garbage inside the block.

    Importing numba makes half a million objects that stay; going through them takes a tenth of the import.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
