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
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from heavytail.errors import InputError
from heavytail.registry import FOLDERS, Kind, find, registered
from heavytail.studies.plan import Part
from heavytail.studies.spec import kind_of_env
from heavytail.studies.worlds import Desk

SECONDS_BETWEEN_NEWS = 0.5
Result: TypeAlias = tuple[bytes, float, dict[str, str]]  # the bytes of a part, seconds, where and with what
H = TypeVar("H")  # what an engine knows a part by while it is being done


class Done(NamedTuple):
    """A part, done."""

    part: Part
    content: bytes
    seconds: float
    about: dict[str, str]  # where it was done, and with what


class Going(NamedTuple):
    """A part that is being done."""

    part: str  # its id
    share: float  # of it that is done


class Said(NamedTuple):
    """Something that whoever watches should know."""

    words: str


Event: TypeAlias = Done | Going | Said


class Engine(Protocol):
    """What a study needs of an engine."""

    workers: int

    def run(self, parts: Sequence[Part], drawers: Path) -> Iterator[Event]:
        """Do these parts; each is given back as soon as it is done. In the folder `drawers` long parts keep what they have come to."""


def timed_part(part_json: str, modules: Sequence[str] = (), drawers: str | None = None) -> Result:
    """Do a part, given as JSON; what a worker is asked to do."""
    from heavytail.studies.work import do_part

    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise InputError(f"a worker cannot import {module}, in which something is registered: {error}") from None
    started, part = time.perf_counter(), Part.model_validate_json(part_json)
    desk = Desk(lambda share: _tell(Going(part.id, share)), Path(drawers) / f"{part.id}.npz" if drawers else None)
    content = do_part(part, desk)
    return content, time.perf_counter() - started, {"host": os.uname().nodename, **part.world.made_with()}


_listener: Any = None  # in a worker, where it tells how it goes


def _tell(news: Going) -> None:
    if _listener is not None:
        _listener.put(news)


def modules_for(parts: Sequence[Part]) -> list[str]:
    """The modules outside heavytail that register something: workers import them first."""
    tabular = [part for part in parts if kind_of_env(part.env) == "tabular"]
    for part in tabular:
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

    def run(self, parts: Sequence[Part], drawers: Path) -> Iterator[Event]:
        """Do these parts."""
        for part in parts:
            yield Done(part, *timed_part(part.model_dump_json(), (), str(drawers)))


class Local:
    """Processes on this machine."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or len(os.sched_getaffinity(0))

    def run(self, parts: Sequence[Part], drawers: Path) -> Iterator[Event]:
        """Do these parts."""
        modules, spawn = modules_for(parts), get_context("spawn")
        news = spawn.SimpleQueue()
        pool = ProcessPoolExecutor(self._processes(parts), mp_context=spawn, initializer=_begin_worker, initargs=(news,))

        def submit(part: Part) -> Future[Result]:
            with _spawning():
                return pool.submit(timed_part, part.model_dump_json(), modules, str(drawers))

        def next_done(busy: Iterable[Future[Result]]) -> list[Future[Result]]:
            done = wait(busy, SECONDS_BETWEEN_NEWS, return_when=FIRST_COMPLETED).done
            return sorted(done, key=lambda future: future.exception() is not None)

        def latest() -> Iterator[Going]:
            while not news.empty():
                yield news.get()

        try:
            yield from scheduled(parts, self.workers, submit, next_done, lambda future: future.result(), latest)
        except BrokenProcessPool:
            raise InputError("a worker died, perhaps for lack of memory; what is done is kept, go on with: heavytail resume") from None
        finally:
            _stop(pool)

    def _processes(self, parts: Sequence[Part]) -> int:
        """As many as can be at work at once; a process that does all parts compiles once."""
        return 1 if all(part.world.alone for part in parts) else min(self.workers, len(parts))


def scheduled(
    parts: Sequence[Part],
    workers: int,
    submit: Callable[[Part], H],
    next_done: Callable[[Iterable[H]], Iterable[H]],
    result: Callable[[H], Result],
    latest: Callable[[], Iterable[Going]] = tuple,
    one_machine: bool = True,
) -> Iterator[Event]:
    """Do parts, so many at a time. What a part needs compiled is compiled by one worker while the others do something else.

    Args:
        parts: what to do.
        workers: how many at a time.
        submit: starts a part; what it gives stands for it.
        next_done: waits until one or more of these are done, or for a while.
        result: of one that is.
        latest: what has been heard of parts that are being done.
        one_machine: whether all of it is done on one machine, which a part may want for itself.
    """
    waiting, compiled, busy = list(parts), set[str](), dict[H, Part]()
    while waiting or busy:
        while len(busy) < workers and (part := next_part(waiting, compiled, list(busy.values()), one_machine)):
            waiting.remove(part)
            busy[submit(part)] = part
        for handle in next_done(list(busy)):
            part = busy.pop(handle)
            yield Done(part, *result(handle))
            compiled.add(part.combination)
        yield from latest()


def next_part(waiting: Sequence[Part], compiled: set[str], busy: Sequence[Part], one_machine: bool = True) -> Part | None:
    """The first part whose kernels are there, or are not being made by someone else right now. One that wants its machine for itself waits for it, and others for that."""
    if one_machine and any(part.world.alone for part in busy):
        return None
    compiling = {part.combination for part in busy}
    free = (part for part in waiting if not (busy and one_machine and part.world.alone))
    return next((part for part in free if part.combination in compiled or part.combination not in compiling), None)


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


def _begin_worker(news: Any) -> None:
    global _listener  # noqa: PLW0603 - a worker has one, from its beginning
    _listener = news
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
