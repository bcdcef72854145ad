"""The program of a process that compiles functions of a `Stepwise` agent, which `compile_aside` starts."""

import json
import sys

from heavytail.mdp.problem import Problem
from heavytail.training.make_stepwise import make_stepwise


def main() -> None:
    """Compile what the last argument says."""
    task = json.loads(sys.argv[-1])
    agent = make_stepwise(task["name"], Problem(**task["problem"]), **task["parameters"])
    for function in task["functions"]:
        agent._compile(function)  # noqa: SLF001 - for this program
