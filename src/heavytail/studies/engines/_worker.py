"""What a worker does: one part, timed, telling how far it is."""

import importlib
import os
import threading
import time
from collections.abc import Sequence
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

from heavytail.errors import InputError
from heavytail.registry import find, plugin_modules
from heavytail.studies.backends.backend import WorkContext
from heavytail.studies.engines import PartProgress, Result
from heavytail.studies.plan import Part
from heavytail.studies.specs.spec import env_kind


def run_part_in_worker(
    part_json: str, modules: Sequence[str] = (), resume_folder: str | None = None
) -> Result:
    """Do a part, given as JSON; what a worker is asked to do."""
    from heavytail.studies.parts import run_part

    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise InputError(
                f"a worker cannot import {module}, in which something is registered: {error}"
            ) from None
    started, part = time.perf_counter(), Part.model_validate_json(part_json)
    desk = WorkContext(
        lambda share: _tell(PartProgress(part.id, share)),
        Path(resume_folder) / f"{part.id}.npz" if resume_folder else None,
    )
    content = run_part(part, desk)
    return content, time.perf_counter() - started, {"host": os.uname().nodename, **part.backend.made_with()}


_listener: Any = None  # in a worker, where it tells how it goes


def _tell(news: PartProgress) -> None:
    if _listener is not None:
        _listener.put(news)


def _begin_worker(news: Any) -> None:
    global _listener  # noqa: PLW0603 - a worker has one, from its beginning
    _listener = news
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A worker whose study was killed would wait for more for ever."""
    if parent := parent_process():
        parent.join()
    os._exit(1)


def modules_for(parts: Sequence[Part]) -> list[str]:
    """The modules outside heavytail that register something: workers import them first."""
    tabular = [part for part in parts if env_kind(part.env) == "tabular"]
    for part in tabular:
        for found in (find("agent", part.agent), find("env", part.env)):
            if found.builder.__module__ == "__main__":
                raise InputError(
                    f"the {found.kind} {found.name!r} is registered in the script itself, where other processes cannot find it;"
                    " put it into a module that the script imports, or use engine='inline'"
                )
    return plugin_modules()
