"""Compile functions of an agent in another process, which keeps them for all.

The process that needs them goes on meanwhile, and one that ends early leaves them to the next.
"""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heavytail.arrays import Record
from heavytail.kernels.compiling import cache_root, record_classes
from heavytail.mdp.problem import Problem

log = logging.getLogger("heavytail")
Process = subprocess.Popen[bytes]
MAX_STATES = 2  # of the agent that is built there: what is compiled does not hang on sizes
PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); from heavytail.training.compile_agent import main; main()"
)
_started: dict[str, Process] = {}  # by what they compile


def can_compile_aside(agent: Record) -> bool:
    """Tell whether another process may compile for this agent.

    For heavytail's own alone: tests say of those that plain Python does the same until then. With
    ``HEAVYTAIL_COMPILE=here`` for none.
    """
    own = all(cls.__module__.startswith("heavytail.") for cls in record_classes(agent))
    is_python = bool(sys.executable) and not hasattr(sys, "frozen")
    return own and is_python and os.environ.get("HEAVYTAIL_COMPILE") != "here"


def compile_aside(
    name: str, parameters: dict[str, Any], problem: Problem, functions: Sequence[str]
) -> Process:
    """Start a process that compiles functions of a `Stepwise` agent, once for each kind of agent."""
    sizes = problem._replace(mdp=None, n_states=min(problem.n_states, MAX_STATES))._asdict()
    task = json.dumps({"name": name, "parameters": parameters, "problem": sizes, "functions": functions})
    if task not in _started:
        folder = str(Path(__file__).parents[2])  # of heavytail
        _started[task] = subprocess.Popen(  # noqa: S603 - this Python, on a program of ours
            [sys.executable, "-P", "-c", PROGRAM, folder, task],
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
    return _started[task]
