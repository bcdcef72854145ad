"""Code shared by engines: the order in which parts are computed, and how a worker computes one."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from heavytail.errors import InputError
from heavytail.registry import find
from heavytail.studies.backends import backend_of
from heavytail.studies.backends.backend import WorkContext
from heavytail.studies.engines import Event, Message, PartDone, PartProgress, Result
from heavytail.studies.part import Part
from heavytail.studies.part_table import run_part
from heavytail.studies.plugins import import_located, locate_plugins
from heavytail.studies.specs import given_mdps
from heavytail.studies.specs.spec import env_kind

H = TypeVar("H")  # an engine's handle of a part in progress
Send: TypeAlias = Callable[[PartProgress | Message], object]


class Finished(NamedTuple):
    """A part that an engine is done with."""

    handle: Any
    result: Result | None  # None: it was given up


def run_scheduled(
    parts: Sequence[Part],
    workers: int,
    submit: Callable[[Part], H],
    listen: Callable[[list[H]], Iterable[Finished | PartProgress | Message]],
    one_machine: bool = True,
) -> Iterator[Event]:
    """Compute parts, `workers` at a time.

    If a part needs compiling, one worker does it while the others do something else.

    Args:
        parts: the parts to compute.
        workers: the number of parts at a time.
        submit: starts a part and returns a handle.
        listen: waits until these handles have news, and yields them.
        one_machine: whether all parts run on one machine, which a part may need for itself.
    """
    waiting, compiled, busy = largest_first(parts), set[str](), dict[H, Part]()

    def begin_parts() -> None:
        while len(busy) < workers and (
            part := next_part(waiting, compiled, list(busy.values()), one_machine)
        ):
            waiting.remove(part)
            busy[submit(part)] = part

    begin_parts()
    while busy:
        for news in listen(list(busy)):
            if not isinstance(news, Finished):
                yield news
                continue
            part = busy.pop(news.handle)
            compiled.add(part.combination)
            try:
                begin_parts()  # before this one is written, so that no worker waits for the disk
            finally:
                if news.result is not None:
                    yield PartDone(part, *news.result)  # whatever happened to the next


def largest_first(parts: Sequence[Part]) -> list[Part]:
    """Sort parts by steps, the largest first: the smallest fill the time while others finish."""
    return sorted(parts, key=lambda part: part.steps * len(part.replicates), reverse=True)


def next_part(
    waiting: Sequence[Part], compiled: set[str], busy: Sequence[Part], one_machine: bool = True
) -> Part | None:
    """Return the first part whose kernels are compiled, or are not being compiled by another worker.

    If there is none, return the first part: its worker waits for the kernels, not for the other's whole part.
    A part that needs the machine for itself waits for it, and other parts wait for that part.
    """
    if one_machine and any(backend_of(part).is_exclusive for part in busy):
        return None
    compiling = {part.combination for part in busy}
    free = [part for part in waiting if not (busy and one_machine and backend_of(part).is_exclusive)]
    ready = (part for part in free if part.combination in compiled or part.combination not in compiling)
    return next(ready, free[0] if free else None)


# In a worker


class Task(NamedTuple):
    """The work for a worker: one part."""

    part_json: str
    plugins: Mapping[str, str] = {}  # modules and the folders they are in
    # where a long part saves its state; it lies in the study's folder
    resume_folder: str | None = None
    # the part's environment, where it was given as an object and the study's folder cannot be seen
    mdp: bytes | None = None


def run_part_in_worker(task: Task, send: Send = lambda update: None) -> Result:
    """Compute a part after importing the plugins; progress goes to `send`."""
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
