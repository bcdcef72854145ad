"""The engine `local`: processes that keep all cores of this machine busy.

Workers never see the script that started the study: it needs no ``if __name__ == "__main__"``. What it
registered they find by importing the same modules. They are forked from a process that has imported what all
of them need and does nothing else, so that the second worker, or the second study, starts at once.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from heavytail.checks import Count
from heavytail.errors import InputError
from heavytail.registry import register
from heavytail.studies.engines import Event, Message
from heavytail.studies.engines._pool import Job, Pool
from heavytail.studies.engines._scheduling import run_scheduled
from heavytail.studies.engines._worker import Task, plugins_for
from heavytail.studies.part import Part


@register("engine", "local")
def local(workers: Count | None = None) -> "LocalEngine":
    """Processes on this machine, `workers` at a time; all cores if left out.

    Args:
        workers: how many at a time.
    """
    return LocalEngine(workers)


class LocalEngine:
    """Processes on this machine."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or len(os.sched_getaffinity(0))
        self._said: set[str] = set()  # by workers

    def run(self, parts: Sequence[Part], resume_folder: Path) -> Iterator[Event]:
        """Compute these parts."""
        plugins, pool = plugins_for(parts), Pool()

        def submit(part: Part) -> Job:
            return pool.submit(Task(part.model_dump_json(), plugins, str(resume_folder)))

        try:
            yield from filter(self._is_news, run_scheduled(parts, self.workers, submit, pool.listen))
        finally:
            pool.stop()
        if pool.given_up:
            raise InputError(
                f"workers died again and again over {pool.given_up} of {len(parts)} parts, perhaps for lack"
                " of memory; all others are done and kept, go on with: heavytail resume"
            )

    def _is_news(self, event: Event) -> bool:
        """Tell whether no worker said this before: that it compiles, each of them says."""
        if not isinstance(event, Message):
            return True
        new = event.words not in self._said
        self._said.add(event.words)
        return new
