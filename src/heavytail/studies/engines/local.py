"""The engine `local`: processes that keep all cores of this machine busy.

Workers never see the script that started the study, so it needs no ``if __name__ == "__main__"``. They import
the same modules to find what it registered. They are forked from a process that has only imported what all of
them need, so that the second worker, or the second study, starts at once. If a worker dies, another takes
over its work.
"""

import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.util import get_temp_dir
from pathlib import Path
from types import ModuleType

from heavytail.checks import Count
from heavytail.errors import InputError
from heavytail.guards import deferred_interrupts
from heavytail.registry import register
from heavytail.studies.engines import Event, Message, PartProgress, Result
from heavytail.studies.engines._parts import (
    Finished,
    Send,
    Task,
    plugins_for,
    run_part_in_worker,
    run_scheduled,
)
from heavytail.studies.part import Part

# imported before workers are forked: it takes longer than many parts do
PRELOADED = ["pandas", "scipy.sparse", __name__]
MAX_TEMPORARY_FOLDER = 80  # characters of its path; that of a socket in it has at most 107
ATTEMPTS = 2  # processes that may die over one task


@register("engine", "local")
def local(workers: Count | None = None) -> "LocalEngine":
    """Processes on this machine, by default one per core.

    Args:
        workers: the number of processes.
    """
    return LocalEngine(workers)


class LocalEngine:
    """Processes on this machine."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or count_cores()
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
                " of memory; all others are done and kept, continue with: heavytail resume"
            )

    def _is_news(self, event: Event) -> bool:
        """Return whether an event is new: every worker reports that it compiles."""
        if not isinstance(event, Message):
            return True
        new = event.words not in self._said
        self._said.add(event.words)
        return new


def count_cores() -> int:
    """Count the cores that this process may use, or all of them if the system cannot tell."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Worker:
    """A process that does one task after the other, and the connection to it."""

    def __init__(self, context: ForkServerContext | SpawnContext) -> None:
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs, dict(os.environ)))
        self.process.start()
        theirs.close()  # only the process keeps one: when it ends, so does the connection

    def give(self, task: Task) -> None:
        """Give it a task; if it is dead, the answer will show it."""
        with suppress(OSError):
            self.connection.send(task)

    def hear(self) -> object:
        """Return its next message, or None if it has died."""
        try:
            return self.connection.recv() if self.connection.poll() else None
        except (EOFError, OSError):  # perhaps in the middle of a message
            return None

    def stop(self) -> None:
        """End it at once, whatever it is doing."""
        self.process.kill()
        self.process.join()
        self.connection.close()


class Job:
    """A task, and the worker that does it."""

    def __init__(self, task: Task, worker: Worker) -> None:
        self.task, self.worker, self.deaths = task, worker, 0


class Pool:
    """A pool of as many workers as there were concurrent tasks; all end with `stop`."""

    def __init__(self) -> None:
        fits = len(get_temp_dir()) <= MAX_TEMPORARY_FOLDER
        # forked, or spawned if the path of the fork server's socket would be too long
        self._context = get_context("forkserver") if fits else get_context("spawn")
        self._context.set_forkserver_preload(PRELOADED)
        self._workers: list[Worker] = []
        self._idle: list[Worker] = []
        self.given_up = 0  # tasks over which workers died

    def submit(self, task: Task) -> Job:
        """Give a task to a worker."""
        job = Job(task, self._idle.pop() if self._idle else self._start())
        job.worker.give(task)
        return job

    def listen(self, jobs: Sequence[Job]) -> Iterator[Finished | PartProgress | Message]:
        """Wait until some of these jobs have news, and yield them; a worker's exception is raised here."""
        ends = {job: (job.worker.connection, job.worker.process.sentinel) for job in jobs}
        ready = wait([end for both in ends.values() for end in both])
        for job, both in ends.items():
            if any(end in ready for end in both):
                yield from self._news(job)

    def _news(self, job: Job) -> Iterator[Finished | PartProgress | Message]:
        match job.worker.hear():
            case None:
                yield from self._replace(job)
            case Result() as result:
                self._idle.append(job.worker)
                yield Finished(job, result)
            case PartProgress() | Message() as said:
                yield said
            case Exception() as error:
                raise error

    def _replace(self, job: Job) -> Iterator[Finished]:
        """Give a dead worker's task to another; give it up if that happens again and again."""
        self._workers.remove(job.worker)
        job.worker.stop()
        job.deaths += 1
        if job.deaths == ATTEMPTS:
            self.given_up += 1
            yield Finished(job, None)
        else:
            job.worker = self._start()
            job.worker.give(job.task)

    def _start(self) -> Worker:
        with _starting_processes():
            worker = Worker(self._context)
            self._workers.append(worker)
        return worker

    def stop(self) -> None:
        """End all workers at once, without waiting for their tasks."""
        with deferred_interrupts():
            for worker in self._workers:
                worker.stop()


@contextmanager
def _starting_processes() -> Iterator[None]:
    """Start processes that ignore Ctrl-C and do not run the script that started the study.

    Ctrl-C reaches the whole process group, and the study decides what happens. Blocked signals stay blocked
    in a new process from its start. Here Ctrl-C waits until the process has started: another thread may
    receive it, and a half-started process would complain.
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


# In a worker


def work(connection: Connection, environment: Mapping[str, str]) -> None:
    """Do the tasks that come through a connection, one after the other, until it is closed.

    This process was forked from one that may have started before the study's environment variables were set.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the study handles Ctrl-C
    os.environ.clear()
    os.environ.update(environment)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    one_at_a_time = threading.Lock()  # any thread may log

    def send(said: object) -> None:
        with one_at_a_time:
            connection.send(said)

    _send_logs(logging.getLogger("heavytail"), send)
    with suppress(EOFError, ConnectionError):  # the study is gone
        while True:
            task = connection.recv()
            try:
                send(run_part_in_worker(task, send))
            except InputError as error:
                send(error)
            except Exception:  # noqa: BLE001 - a bug, which the study raises
                send(RuntimeError(f"a worker failed:\n{traceback.format_exc()}"))


def _send_logs(log: logging.Logger, send: Send) -> None:
    """Send this worker's log to its study, which shows it to the user."""

    class ToStudy(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            send(Message(record.getMessage()))

    log.setLevel(logging.INFO)
    log.addHandler(ToStudy())
    log.propagate = False


def _end_with_parent() -> None:
    """End this worker when its study is killed, whatever it is computing."""
    if parent := parent_process():
        parent.join()
    os._exit(1)
