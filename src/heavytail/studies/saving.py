"""Keeping what long work has come to: now and then, and not so often that it would take much of the time."""

import time
from collections.abc import Callable

SECONDS_BETWEEN_SAVES = 30.0
LEAST_WORK_PER_SAVE = 20.0  # times the time that saving takes


def now_and_then(save: Callable[[], object]) -> Callable[[], None]:
    """What may be called as often as one likes, and saves when it is due.

    >>> due = now_and_then(lambda: print("saved"))
    >>> due()
    """
    due = time.monotonic() + SECONDS_BETWEEN_SAVES

    def save_if_due() -> None:
        nonlocal due
        started = time.monotonic()
        if started < due:
            return
        save()
        ended = time.monotonic()
        due = ended + max(SECONDS_BETWEEN_SAVES, LEAST_WORK_PER_SAVE * (ended - started))

    return save_if_due
