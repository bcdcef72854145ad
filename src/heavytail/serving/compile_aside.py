"""Compile functions of an agent in another process, which keeps them for all.

The process that needs them goes on meanwhile, and one that ends early leaves them to the next. With
``HEAVYTAIL_COMPILE=here`` in the environment there is no such process.
"""

import atexit
import json
import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numba
import numpy as np

from heavytail.arrays import record_bytes
from heavytail.kernels.compiling import cache_root, record_classes
from heavytail.mdp.problem import Problem
from heavytail.serving.session import Session

log = logging.getLogger("heavytail")
Process = subprocess.Popen[bytes]
MAX_STATES = 2  # of the agent that is built there: what is compiled does not hang on sizes
MAX_BYTES = 2**25  # of an agent; each call that is interpreted copies it
PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); from heavytail.serving.compile_agent import main; main()"
)
_started: dict[Any, Process] = {}  # by what they compile
_starting = Lock()


def compile_aside(
    name: str, parameters: dict[str, Any], problem: Problem, session: Session, functions: Sequence[str]
) -> Process | None:
    """Start a process that compiles functions of an `OnlineAgent`, once for each type of session.

    Returns None where they must be compiled here: among others for agents from elsewhere, since only of
    heavytail's own tests say that plain Python does the same until then.
    """
    own = all(cls.__module__.startswith("heavytail.") for cls in record_classes(session))
    is_python = bool(sys.executable) and not hasattr(sys, "frozen")
    if not (own and is_python and problem.mdp is None and record_bytes(session) <= MAX_BYTES):
        return None
    if os.environ.get("HEAVYTAIL_COMPILE") == "here":
        return None
    typeof: Any = numba.typeof
    key = typeof(session), *functions
    with _starting:
        if key not in _started:
            try:
                _started[key] = _start(name, parameters, problem, functions)
            except (OSError, TypeError):  # there may be no more processes, or a parameter is not for JSON
                return None
        return _started[key]


def _start(name: str, parameters: dict[str, Any], problem: Problem, functions: Sequence[str]) -> Process:
    sizes = problem._replace(n_states=min(problem.n_states, MAX_STATES))._asdict()
    task = {"name": name, "parameters": parameters, "problem": sizes, "functions": functions}
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # noqa: SLF001
    process = subprocess.Popen(  # noqa: S603 - this Python, on a program of ours
        [sys.executable, *flags, "-P", "-c", PROGRAM, str(Path(__file__).parents[2]), _to_json(task)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C does not end it
    )
    log.warning(
        "heavytail: another process compiles %s, for some seconds; until then it is slower. Kept for next"
        " time in %s",
        name,
        cache_root(),
    )
    return process


def _to_json(task: dict[str, Any]) -> str:
    def plain(value: Any) -> Any:
        if isinstance(value, np.generic):
            return value.item()
        raise TypeError(f"{type(value).__name__} is not for JSON")

    return json.dumps(task, default=plain)


@atexit.register
def _let_go() -> None:
    """Leave processes that still compile to themselves; Python would warn of them."""
    for process in _started.values():
        if process.poll() is None:
            process.returncode = 0
