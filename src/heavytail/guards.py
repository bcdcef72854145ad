"""Guards around long calls: deferred Ctrl-C, one learning thread at a time, paused garbage collection."""

import gc
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

from heavytail.errors import InputError

# One for all learners, held for an instant: a lock in each could be neither copied nor pickled.
_claiming = threading.Lock()


@contextmanager
def deferred_interrupts() -> Iterator[Callable[[], None]]:
    """Defer Ctrl-C; yield a function to call where stopping is safe, which raises a deferred one.

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


class Owned(Protocol):
    """An object that one thread at a time may use."""

    in_use: bool


@contextmanager
def one_thread(owned: Owned) -> Iterator[None]:
    """Refuse at once a second thread, or a nested call of `learn`."""
    with _claiming:
        if owned.in_use:
            raise InputError(
                "this learner is already learning, in another thread or in an outer call; make one for each"
                " thread"
            )
        owned.in_use = True
    try:
        yield
    finally:
        owned.in_use = False


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause garbage collection inside the block, so that the first run in a process starts sooner.

    Importing numba makes half a million objects that stay; scanning them takes a tenth of the import.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
