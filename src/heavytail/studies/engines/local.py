"""The engine `local`: processes that keep all cores of this machine busy.

Workers never see the script that started the study: it needs no ``if __name__ == "__main__"``. What it
registered they find by importing the same modules. They are forked from a process that has imported what all
of them need and does nothing else, so that the second worker, or the second study, starts at once.
"""

import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import get_context, resource_tracker
from multiprocessing.context import BaseContext
from multiprocessing.util import get_temp_dir
from pathlib import Path
from queue import Empty, SimpleQueue
from types import ModuleType

from heavytail.checks import Count
from heavytail.errors import InputError
from heavytail.registry import register
from heavytail.studies.engines import Event, Message, PartProgress, Result
from heavytail.studies.engines._scheduling import run_scheduled
from heavytail.studies.engines._worker import begin_worker, plugins_for, run_part_in_worker
from heavytail.studies.plan import Part
from heavytail.training.interrupts import deferred_interrupts

SECONDS_BETWEEN_UPDATES = 0.5
PRELOADED = "heavytail.studies.engines._preloaded"
MAX_TEMPORARY_FOLDER = 80  # characters of its path; that of a socket in it has at most 107


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
        plugins, context = plugins_for(parts), _starting_context()
        done: SimpleQueue[Future[Result]] = SimpleQueue()
        updates = context.SimpleQueue()
        pool = ProcessPoolExecutor(
            self._processes(parts),
            mp_context=context,
            initializer=begin_worker,
            initargs=(updates, dict(os.environ)),
        )

        def submit(part: Part) -> Future[Result]:
            with _starting_processes():
                future = pool.submit(run_part_in_worker, part.model_dump_json(), plugins, str(resume_folder))
            future.add_done_callback(done.put)
            return future

        def next_done(_: Iterable[Future[Result]]) -> list[Future[Result]]:
            return sorted(all_of(done), key=lambda future: future.exception() is not None)

        def latest() -> Iterator[PartProgress | Message]:
            while not updates.empty():
                if self.is_news(update := updates.get()):
                    yield update

        try:
            yield from run_scheduled(
                parts, self.workers, submit, next_done, lambda future: future.result(), latest
            )
        except BrokenProcessPool:
            raise InputError(
                "a worker died, perhaps for lack of memory; what is done is kept, go on with:"
                " heavytail resume"
            ) from None
        finally:
            _stop(pool)

    def is_news(self, update: PartProgress | Message) -> bool:
        """Tell whether no worker said this before: that it compiles, each of them says."""
        if isinstance(update, PartProgress):
            return True
        new = update.words not in self._said
        self._said.add(update.words)
        return new

    def _processes(self, parts: Sequence[Part]) -> int:
        """Count the processes that can work at once; a process that computes all parts compiles once."""
        return 1 if all(part.backend.is_exclusive for part in parts) else min(self.workers, len(parts))


def all_of(done: SimpleQueue[Future[Result]]) -> Iterator[Future[Result]]:
    """Yield what is done, after waiting for it for a while.

    Not by `concurrent.futures.wait`: Ctrl-C within Python's own conditions may end in "release unlocked
    lock". This queue is in C, where Ctrl-C comes before or after it.
    """
    with suppress(Empty):
        yield done.get(timeout=SECONDS_BETWEEN_UPDATES)
        while True:
            yield done.get_nowait()


def _starting_context() -> BaseContext:
    """How processes start: forked, or afresh where the path of the socket that asks for them is too long."""
    context = get_context("forkserver" if len(get_temp_dir()) <= MAX_TEMPORARY_FOLDER else "spawn")
    context.set_forkserver_preload([PRELOADED])
    return context


@contextmanager
def _starting_processes() -> Iterator[None]:
    """Start processes that ignore Ctrl-C and do not run the script that started the study.

    Ctrl-C reaches the whole process group, and the study decides what happens. Blocked signals stay blocked
    in a new process from its start. Here it waits until the process is there: another thread may receive it,
    and a process that is half started would complain.
    """
    with deferred_interrupts():
        resource_tracker.ensure_running()  # now: when it starts, it lets Ctrl-C through
        main, mask = sys.modules["__main__"], signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _stop(pool: ProcessPoolExecutor) -> None:
    """Stop the workers at once, without waiting for their parts.

    It returns when the pool's thread has ended: Python, when it exits, would write into a pipe that this
    thread may be closing.
    """
    # There is no public way before Python 3.14.
    for process in list((pool._processes or {}).values()):  # noqa: SLF001
        process.terminate()
    # Else the thread would wait for the rest of a result whose sender is no more.
    pool._result_queue._writer.close()  # type: ignore[attr-defined]  # noqa: SLF001
    pool.shutdown(cancel_futures=True)
