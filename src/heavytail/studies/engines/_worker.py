"""The work of one worker process: compute a part, time it, report progress."""

import logging
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple, TypeAlias

from heavytail.errors import InputError
from heavytail.registry import find
from heavytail.studies.backends import backend_of
from heavytail.studies.backends.backend import WorkContext
from heavytail.studies.engines import Message, PartProgress, Result
from heavytail.studies.part import Part
from heavytail.studies.part_table import run_part
from heavytail.studies.plugins import import_located, locate_plugins
from heavytail.studies.specs import given_mdps
from heavytail.studies.specs.spec import env_kind

Send: TypeAlias = Callable[[PartProgress | Message], None]


def _tell_nobody(update: PartProgress | Message) -> None:
    pass


class Task(NamedTuple):
    """What a worker is asked to compute."""

    part_json: str
    plugins: Mapping[str, str] = {}  # modules and the folders they are in
    # where a long part saves its state; it lies in the study's folder
    resume_folder: str | None = None
    # the part's environment, where it was given as an object and the study's folder cannot be seen
    mdp: bytes | None = None


def run_part_in_worker(task: Task, send: Send = _tell_nobody) -> Result:
    """Compute a part after importing the plugins; `send` is told how it goes on."""
    import_located(task.plugins)
    started, part = time.perf_counter(), Part.model_validate_json(task.part_json)
    if part.env.startswith(given_mdps.PREFIX):
        _take_mdp(part.env, task.resume_folder, task.mdp)
    context = WorkContext(
        lambda share: send(PartProgress(part.id, share)),
        Path(task.resume_folder) / f"{part.id}.npz" if task.resume_folder else None,
        lambda words: send(Message(words)),
    )
    content = run_part(part, context)
    about = {"host": os.uname().nodename, **_made_with(part)}
    return Result(content, time.perf_counter() - started, about)


def _made_with(part: Part) -> dict[str, str]:
    try:
        return backend_of(part).made_with()
    except Exception:  # noqa: BLE001 - it cannot be built, which is what its runs have recorded
        return {}


def _take_mdp(name: str, resume_folder: str | None, content: bytes | None) -> None:
    if content is not None:
        given_mdps.take(name, content, name)
    elif resume_folder is not None:
        given_mdps.take_from_folder(name, Path(resume_folder).parent)


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


def plugins_for(parts: Sequence[Part]) -> dict[str, str]:
    """Return the modules outside heavytail that register something, which workers import first."""
    tabular = [part for part in parts if env_kind(part.env) == "tabular"]
    for part in tabular:
        for entry in (find("agent", part.agent), find("env", part.env)):
            if entry.builder.__module__ == "__main__":
                raise InputError(
                    f"the {entry.kind} {entry.name!r} is registered in the script itself, where other"
                    " processes cannot find it; put it into a module that the script imports, or use"
                    " engine='inline'"
                )
    return locate_plugins()
