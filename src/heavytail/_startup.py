"""Make the first run in a process start sooner: numba's import does much that kernels do not need."""

import gc
import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any


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


def skip_blas_probe() -> None:
    """Import numba's array functions without scipy.linalg, which is a fifth of the start-up time.

    Numba imports it to find out whether there is a BLAS for its own matrix products. The answer is filled in
    as numba would have found it, so that other code compiled in this process misses nothing. Where numba or
    SciPy are not as expected, nothing is done.
    """
    probe = "scipy.linalg"
    if probe in sys.modules or "numba.np.arraymath" in sys.modules or find_spec("scipy") is None:
        return
    sys.modules[probe] = None  # type: ignore[assignment]  # makes the import inside the probe fail at once
    try:
        arraymath: Any = importlib.import_module("numba.np.arraymath")
    finally:
        del sys.modules[probe]
    if hasattr(arraymath, "_HAVE_BLAS"):
        arraymath._HAVE_BLAS = True  # noqa: SLF001 - see above
