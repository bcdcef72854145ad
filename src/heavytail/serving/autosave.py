"""When to save an agent that works without end."""

import atexit
import os
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from heavytail.checks import Count, Positive, cast_value
from heavytail.errors import InputError

LOOKS_PER_SAVE = 8  # how often to look at the clock between two saves


class Autosave:
    """Saves every so many updates, or every so many seconds.

    Looking at the clock takes longer than an update, so it is looked at after as many updates as an eighth of
    the time is worth at the present rate.
    """

    def __init__(
        self, path: str | os.PathLike[str], updates: int | None, seconds: float | None, done: int
    ) -> None:
        if (updates is None) == (seconds is None):
            raise InputError("autosave: give updates= or seconds=, one of them")
        self.path = Path(path).absolute()  # a daemon may change its folder
        if not self.path.parent.is_dir():  # now, and not at the first save
            raise InputError(f"autosave: there is no folder {self.path.parent}")
        self.updates = None if updates is None else cast_value(updates, Count, "autosave: updates")
        self.seconds = None if seconds is None else cast_value(seconds, Positive, "autosave: seconds")
        self.is_on = True
        self.saved_updates, self.saved_time = done, time.monotonic()
        self.seen_updates, self.seen_time = done, self.saved_time

    def next_due(self, updates: int, save: Callable[[Path], None]) -> int:
        """Save if it is time, and return at which update to ask again."""
        now = time.monotonic()
        if self.updates is not None:
            if updates >= self.saved_updates + self.updates:
                self._save(updates, now, save)
            return self.saved_updates + self.updates
        assert self.seconds is not None
        new, elapsed = updates - self.seen_updates, now - self.seen_time
        if now - self.saved_time >= self.seconds:
            self._save(updates, now, save)
        self.seen_updates, self.seen_time = updates, now
        wanted = self.seconds / LOOKS_PER_SAVE
        return updates + max(1, min(2 * new, int(new * wanted / max(elapsed, 1e-9))))

    def _save(self, updates: int, now: float, save: Callable[[Path], None]) -> None:
        self.saved_updates, self.saved_time = updates, now  # first: a full disk is not tried at each update
        save(self.path)

    def save_at_exit(self, agent: Any) -> None:
        """Save what is new when Python exits, if the agent lives until then."""
        reference = weakref.ref(agent)

        def save() -> None:
            alive = reference()
            if self.is_on and alive is not None and alive.updates > self.saved_updates:
                alive.save(self.path)

        atexit.register(save)
