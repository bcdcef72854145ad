"""Ctrl-C that waits for a moment at which nothing is half done."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred_interrupts() -> Iterator[Callable[[], None]]:
    """Hold Ctrl-C back; gives a function to call where stopping is safe, which lets a held one through.

    Only the main thread receives Ctrl-C, so in other threads there is nothing to hold.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    held: list[tuple[int, FrameType | None]] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: held.append((number, frame)))

    def let_through() -> None:
        if held:
            number, frame = held.pop()
            held.clear()
            if callable(before):
                before(number, frame)
            elif (
                before is not signal.SIG_IGN
            ):  # no handler of Python's: let the signal do what it would have done
                signal.signal(signal.SIGINT, signal.SIG_DFL)
                signal.raise_signal(signal.SIGINT)

    try:
        yield let_through
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
    let_through()
