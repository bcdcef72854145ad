"""Who does the work: an engine takes parts and gives back their bytes, in any order.

The engine decides nothing about results. `Local` keeps all cores of this machine busy with processes; `heavytail.studies.on_ray` has one for a Ray cluster.

Workers are fresh processes that never see the script that started the study: it needs no ``if __name__ == "__main__"``. What it registered they find by importing the
same modules.
"""

import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from types import ModuleType
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from heavytail.errors import InputError
from heavytail.registry import FOLDERS, Kind, find, registered
from heavytail.studies.plan import Part

Result: TypeAlias = tuple[bytes, float, str]  # the bytes of a part, seconds, host
H = TypeVar("H")  # what an engine knows a part by while it is being done


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


def timed_part(part_json: str, modules: Sequence[str] = ()) -> Result:
    """Do a part, given as JSON; what a worker is asked to do."""
    from heavytail.studies.work import do_part

    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise InputError(f"a worker cannot import {module}, in which something is registered: {error}") from None
    started = time.perf_counter()
    content = do_part(Part.model_validate_json(part_json))
    return content, time.perf_counter() - started, os.uname().nodename


def modules_for(parts: Sequence[Part]) -> list[str]:
    """The modules outside heavytail that register something: workers import them first."""
    for part in parts:
        for found in (find("agent", part.agent), find("env", part.env)):
            if found.builder.__module__ == "__main__":
                raise InputError(
                    f"the {found.kind} {found.name!r} is registered in the script itself, where other processes cannot find it;"
                    " put it into a module that the script imports, or use engine='inline'"
                )
    kinds: list[Kind] = list(FOLDERS)  # type: ignore[arg-type]
    modules = {found.builder.__module__ for kind in kinds for found in registered(kind)}
    return sorted(module for module in modules if module != "__main__" and not module.startswith("heavytail."))


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
        self.workers = workers or len(os.sched_getaffinity(0))

    def run(self, parts: Sequence[Part]) -> Iterator[Done]:
        """Do these parts."""
        modules = modules_for(parts)
        pool = ProcessPoolExecutor(min(self.workers, max(len(parts), 1)), mp_context=get_context("spawn"), initializer=_begin_worker)

        def submit(part: Part) -> Future[Result]:
            with _spawning():
                return pool.submit(timed_part, part.model_dump_json(), modules)

        def next_done(busy: Iterable[Future[Result]]) -> list[Future[Result]]:
            return sorted(wait(busy, return_when=FIRST_COMPLETED).done, key=lambda future: future.exception() is not None)

        try:
            yield from scheduled(parts, self.workers, submit, next_done, lambda future: future.result())
        except BrokenProcessPool:
            raise InputError("a worker died, perhaps for lack of memory; what is done is kept, go on with: heavytail resume") from None
        finally:
            _stop(pool)


def scheduled(
    parts: Sequence[Part],
    workers: int,
    submit: Callable[[Part], H],
    next_done: Callable[[Iterable[H]], Iterable[H]],
    result: Callable[[H], Result],
) -> Iterator[Done]:
    """Do parts, so many at a time. What a part needs compiled is compiled by one worker while the others do something else.

    Args:
        parts: what to do.
        workers: how many at a time.
        submit: starts a part; what it gives stands for it.
        next_done: waits until one or more of these are done.
        result: of one that is.
    """
    waiting, compiled, busy = list(parts), set[str](), dict[H, Part]()
    while waiting or busy:
        while len(busy) < workers and (part := next_part(waiting, compiled, [p.combination for p in busy.values()])):
            waiting.remove(part)
            busy[submit(part)] = part
        for handle in next_done(list(busy)):
            part = busy.pop(handle)
            yield Done(part, *result(handle))
            compiled.add(part.combination)


def next_part(waiting: Sequence[Part], compiled: set[str], compiling: Sequence[str]) -> Part | None:
    """The first part whose kernels are there, or are not being made by someone else right now."""
    return next((part for part in waiting if part.combination in compiled or part.combination not in compiling), None)


@contextmanager
def _spawning() -> Iterator[None]:
    """Processes that are started now do not run the script that started the study, and are deaf to Ctrl-C.

    Ctrl-C reaches the whole group, and the study decides what happens. Blocked signals stay blocked in a new process, from its first moment on.
    """
    main, mask = sys.modules["__main__"], signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _begin_worker() -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A worker whose study was killed would wait for more for ever."""
    if parent := parent_process():
        parent.join()
    os._exit(1)


def _stop(pool: ProcessPoolExecutor) -> None:
    """At once: parts that are under way are not worth waiting for."""
    processes = list((pool._processes or {}).values())  # noqa: SLF001 - there is no public way before Python 3.14
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
    for process in processes:
        process.join()
