"""Defer Ctrl-C until stopping is safe."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred_interrupts() -> Iterator[Callable[[], None]]:
    """Defer Ctrl-C; yields a function to call where stopping is safe, which raises a deferred one.

    Only the main thread receives Ctrl-C, so in other threads this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    deferred: list[tuple[int, FrameType | None]] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: deferred.append((number, frame)))

    def raise_deferred() -> None:
        if deferred:
            number, frame = deferred.pop()
            deferred.clear()
            if callable(before):
                before(number, frame)
            elif before is not signal.SIG_IGN:  # the handler is not Python's: let the signal take its course
                signal.signal(signal.SIGINT, signal.SIG_DFL)
                signal.raise_signal(signal.SIGINT)

    try:
        yield raise_deferred
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
    raise_deferred()
