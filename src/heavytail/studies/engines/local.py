"""The engine `local`: processes that keep all cores of this machine busy.

Workers never see the script that started the study: it needs no ``if __name__ == "__main__"``. What it
registered they find by importing the same modules. They are forked from a process that has imported what all
of them need and does nothing else, so that the second worker, or the second study, starts at once. Where one
dies, another takes over what it was computing.
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

# imported before workers are forked: it takes longer than many a part
PRELOADED = ["pandas", "scipy.sparse", __name__]
MAX_TEMPORARY_FOLDER = 80  # characters of its path; that of a socket in it has at most 107
ATTEMPTS = 2  # processes that may die over one task


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
                " of memory; all others are done and kept, go on with: heavytail resume"
            )

    def _is_news(self, event: Event) -> bool:
        """Tell whether no worker said this before: that it compiles, each of them says."""
        if not isinstance(event, Message):
            return True
        new = event.words not in self._said
        self._said.add(event.words)
        return new


def count_cores() -> int:
    """Count the cores that this process may use; where the system does not tell, all of them."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Worker:
    """A process that does one task after the other, and the connection to it."""

    def __init__(self, context: ForkServerContext | SpawnContext) -> None:
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs, dict(os.environ)))
        self.process.start()
        theirs.close()  # the process has the only one: when it ends, the connection does

    def give(self, task: Task) -> None:
        """Let it do a task; if it is dead, that shows in the answer."""
        with suppress(OSError):
            self.connection.send(task)

    def hear(self) -> object:
        """What it says next, or None if it has died."""
        try:
            return self.connection.recv() if self.connection.poll() else None
        except (EOFError, OSError):  # also in the middle of what it was saying
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
    """As many workers as there were tasks at once; all end with `stop`."""

    def __init__(self) -> None:
        fits = len(get_temp_dir()) <= MAX_TEMPORARY_FOLDER
        # forked, or afresh where the path of the socket that asks for processes would be too long
        self._context = get_context("forkserver") if fits else get_context("spawn")
        self._context.set_forkserver_preload(PRELOADED)
        self._workers: list[Worker] = []
        self._idle: list[Worker] = []
        self.given_up = 0  # tasks over which workers died

    def submit(self, task: Task) -> Job:
        """Let a worker do a task."""
        job = Job(task, self._idle.pop() if self._idle else self._start())
        job.worker.give(task)
        return job

    def listen(self, jobs: Sequence[Job]) -> Iterator[Finished | PartProgress | Message]:
        """Wait until some of these jobs have news, and yield them; what a worker raised is raised here."""
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
        """Let another worker do what one died over; give it up if that happens again and again."""
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


# In a worker


def work(connection: Connection, environment: Mapping[str, str]) -> None:
    """Do the tasks that come through a connection, one after the other, until it is closed.

    This process was forked from one that may have started before the study's environment variables were set.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of Ctrl-C the study hears, and decides
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
            except Exception:  # noqa: BLE001 - a mistake of the program's, which the study raises
                send(RuntimeError(f"a worker failed:\n{traceback.format_exc()}"))


def _send_logs(log: logging.Logger, send: Send) -> None:
    """Send what is logged in this worker to its study, which shows it where the user looks."""

    class ToStudy(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            send(Message(record.getMessage()))

    log.setLevel(logging.INFO)
    log.addHandler(ToStudy())
    log.propagate = False


def _end_with_parent() -> None:
    """End this worker when its study was killed, whatever it is computing."""
    if parent := parent_process():
        parent.join()
    os._exit(1)
