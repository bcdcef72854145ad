"""Processes that compute parts; where one dies, another takes over what it was computing."""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.util import get_temp_dir
from types import ModuleType

from heavytail.guards import deferred_interrupts
from heavytail.studies.engines import Message, PartProgress, Result
from heavytail.studies.engines._scheduling import Finished
from heavytail.studies.engines._worker import Task, work

PRELOADED = "heavytail.studies.engines._preloaded"
MAX_TEMPORARY_FOLDER = 80  # characters of its path; that of a socket in it has at most 107
ATTEMPTS = 2  # processes that may die over one task


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
        self._context.set_forkserver_preload([PRELOADED])
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
