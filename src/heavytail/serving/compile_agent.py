"""The program of a process that compiles functions of an `OnlineAgent`, which `compile_aside` starts."""

import json
import sys

from heavytail.mdp.problem import Problem
from heavytail.serving.make_online import make_online


def main() -> None:
    """Compile what the last argument says."""
    task = json.loads(sys.argv[-1])
    problem = Problem(**task["problem"])
    sizes, horizon = (problem.n_states, problem.n_actions), problem.horizon or None
    agent = make_online(*sizes, task["name"], horizon=horizon, **task["parameters"])
    for function in task["functions"]:
        agent._compile(function)  # noqa: SLF001 - for this program
