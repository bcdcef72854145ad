"""The work of one worker process: compute a part, time it, report progress."""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

from heavytail.errors import InputError
from heavytail.registry import find
from heavytail.studies import given_mdps
from heavytail.studies.backends.backend import WorkContext
from heavytail.studies.engines import Message, PartProgress, Result
from heavytail.studies.parts import run_part
from heavytail.studies.plan import Part
from heavytail.studies.plugins import import_located, locate_plugins
from heavytail.studies.specs.spec import env_kind


def run_part_in_worker(
    part_json: str,
    plugins: Mapping[str, str] | None = None,
    resume_folder: str | None = None,
    send: Callable[[PartProgress | Message], None] | None = None,
    mdp: bytes | None = None,
) -> Result:
    """Compute a part, given as JSON, after importing the plugins.

    Args:
        part_json: the part.
        plugins: modules and the folders they are in.
        resume_folder: where a long part saves its state; it lies in the study's folder.
        send: is told how it goes on; if left out, the process that started this worker.
        mdp: the part's environment, where it was given as an object and the study's folder cannot be seen.
    """
    send = send or _send
    import_located(plugins or {})
    started, part = time.perf_counter(), Part.model_validate_json(part_json)
    if part.env.startswith(given_mdps.PREFIX):
        _take_mdp(part.env, resume_folder, mdp)
    context = WorkContext(
        lambda share: send(PartProgress(part.id, share)),
        Path(resume_folder) / f"{part.id}.npz" if resume_folder else None,
        lambda words: send(Message(words)),
    )
    content = run_part(part, context)
    return content, time.perf_counter() - started, {"host": os.uname().nodename, **part.backend.made_with()}


def _take_mdp(name: str, resume_folder: str | None, content: bytes | None) -> None:
    if content is not None:
        given_mdps.take(name, content, name)
    elif resume_folder is not None:
        given_mdps.take_from_folder(name, Path(resume_folder).parent)


_updates: Any = None  # in a worker, the queue of what it tells


def _send(update: PartProgress | Message) -> None:
    if _updates is not None:
        _updates.put(update)


class _ToStudy(logging.Handler):
    """A handler that sends what is logged to the study, which shows it where the user looks."""

    def emit(self, record: logging.LogRecord) -> None:
        _send(Message(record.getMessage()))


def send_logs(log: logging.Logger) -> None:
    """Send what is logged in this worker to its study, and nowhere else: that it compiles, say."""
    log.setLevel(logging.INFO)
    log.addHandler(_ToStudy())
    log.propagate = False


def begin_worker(updates: Any, environment: Mapping[str, str]) -> None:
    """Prepare a new worker process, with the environment variables of the study's process.

    It was forked from a process that may have started before they were set.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of Ctrl-C the study hears, and decides
    os.environ.clear()
    os.environ.update(environment)
    global _updates  # noqa: PLW0603 - a worker has one, from its beginning
    _updates = updates
    send_logs(logging.getLogger("heavytail"))
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this worker when its study was killed; it would wait for ever."""
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
