"""Makes numba's CUDA simulator wait for its threads instead of polling them.

Its scheduler asks all threads of a block in a tight loop whether they are alive, and thereby takes the
interpreter away from them most of the time: tests take nine times as long.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.cuda.simulator import kernel

BlockManager: Any = kernel.BlockManager  # neither has types
BlockThread: Any = kernel.BlockThread


def wait_for_threads(setattr_: Callable[[Any, str, Any], None] = setattr) -> None:
    """Replace the scheduler; `setattr_` may be that of a monkeypatch, which undoes it."""
    setattr_(BlockManager, "run", _run)
    setattr_(BlockThread, "syncthreads", _syncthreads)


def _run(block: Any, position: tuple[int, ...], *args: Any) -> None:
    """Start the threads of a block together and wait for all of them; an exception in one is raised."""
    threads = [
        BlockThread(lambda: block._f(*args), block, position, index, block._debug)
        for index in np.ndindex(*block._block_dim)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error, traceback in (thread.exception for thread in threads if thread.exception):
        raise error.with_traceback(traceback)


def _syncthreads(thread: Any) -> None:
    raise NotImplementedError("lanes never wait for each other; a kernel that does needs numba's scheduler")
