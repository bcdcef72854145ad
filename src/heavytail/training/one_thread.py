"""One thread at a time: two that learn with one learner would overwrite what the other has learnt."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Protocol

from heavytail.errors import InputError

# One for all learners, held for an instant: a lock in each could be neither copied nor pickled.
_lock = Lock()


class Owned(Protocol):
    """What one thread at a time may use."""

    in_use: bool


@contextmanager
def one_thread(owned: Owned) -> Iterator[None]:
    """Refuse a second thread, or a call of `learn` from inside another, at once."""
    with _lock:
        if owned.in_use:
            raise InputError(
                "this learner is learning already, in another thread or further up; make one for each thread"
            )
        owned.in_use = True
    try:
        yield
    finally:
        owned.in_use = False
