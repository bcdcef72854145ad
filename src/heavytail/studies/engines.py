"""Who does the work: an engine takes parts and gives back their bytes, in any order.

The engine decides nothing about results. `Local` keeps all cores of this machine busy with processes; `heavytail.studies.on_ray` has one for a Ray cluster.
"""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import NamedTuple, Protocol

from heavytail.errors import InputError
from heavytail.studies.plan import Part


class Done(NamedTuple):
    """A part, done."""

    part: Part
    content: bytes
    seconds: float
    host: str


class Engine(Protocol):
    """What a study needs of an engine."""

    workers: int

    def run(self, parts: Sequence[Part]) -> Iterator[Done]:
        """Do these parts; each is given back as soon as it is done."""


def timed_part(part_json: str) -> tuple[bytes, float, str]:
    """Do a part, given as JSON; what a worker is asked to do."""
    from heavytail.studies.work import do_part

    started = time.perf_counter()
    content = do_part(Part.model_validate_json(part_json))
    return content, time.perf_counter() - started, os.uname().nodename


class Inline:
    """In this process, one part after the other; for debuggers."""

    workers = 1

    def run(self, parts: Sequence[Part]) -> Iterator[Done]:
        """Do these parts."""
        for part in parts:
            yield Done(part, *timed_part(part.model_dump_json()))


class Local:
    """Processes on this machine."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or os.process_cpu_count() if hasattr(os, "process_cpu_count") else workers or len(os.sched_getaffinity(0))

    def run(self, parts: Sequence[Part]) -> Iterator[Done]:
        """Do these parts. What a part needs compiled is compiled by one worker while the others do something else."""
        waiting, compiled, busy = list(parts), set[str](), dict[Future[tuple[bytes, float, str]], Part]()
        pool = ProcessPoolExecutor(min(self.workers, max(len(waiting), 1)), mp_context=get_context("spawn"), initializer=_ignore_interrupts)
        try:
            while waiting or busy:
                while len(busy) < self.workers and (part := next_part(waiting, compiled, [p.combination for p in busy.values()])):
                    waiting.remove(part)
                    busy[pool.submit(timed_part, part.model_dump_json())] = part
                for future in wait(busy, return_when=FIRST_COMPLETED).done:
                    part = busy.pop(future)
                    yield Done(part, *future.result())
                    compiled.add(part.combination)
        except BrokenProcessPool:
            raise InputError("a worker died, perhaps for lack of memory; what is done is kept, go on with: heavytail resume") from None
        finally:
            _stop(pool)


def next_part(waiting: Sequence[Part], compiled: set[str], compiling: Sequence[str]) -> Part | None:
    """The first part whose kernels are there, or are not being made by someone else right now."""
    return next((part for part in waiting if part.combination in compiled or part.combination not in compiling), None)


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the study decides what happens


def _stop(pool: ProcessPoolExecutor) -> None:
    """At once: parts that are under way are not worth waiting for."""
    processes = list((pool._processes or {}).values())  # noqa: SLF001 - there is no public way before Python 3.14
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
    for process in processes:
        process.join()
