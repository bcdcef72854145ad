"""Everything that a run leaves behind, for comparing two runs bit for bit.

Also a script: it prints the traces of a list of runs as one npz file.
"""

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

import heavytail as ht
from heavytail.agent_file import flatten
from heavytail.registry import find
from heavytail.serving.online_agent import OnlineAgent
from heavytail.training import fused, step_loop
from heavytail.training.learner import Learner
from support.mdps import MDPS

Trace = dict[str, npt.NDArray[Any]]

LENGTHS = {"episodes": 60, "steps": 200}


def new_learner(agent: str, mdp: str, seed: int = 3) -> Learner:
    return ht.make_agent(MDPS[mdp](), agent, seed=seed, **find("agent", agent).example)


def make_trace(learner: Learner, recorded: fused.Checkpoints) -> Trace:
    records = {
        "agent": learner.agent,
        "run_state": learner.run_state,
        "streams": learner.streams,
        "recorded": recorded,
    }
    return {
        path: array.copy()
        for name, record in records.items()
        for path, array in flatten(name, record).items()
    }


def learn(learner: Learner, units: int) -> ht.Curve:
    return learner.learn(units) if learner.unit == "episodes" else learner.learn(steps=units)


def run_fused(agent: str, mdp: str) -> Trace:
    learner, recorded, until = _start(agent, mdp)
    learner.agent = fused.run(learner.agent, learner.mdp, learner.streams, learner.run_state, recorded, until)
    return make_trace(learner, recorded)


def one_by_one(agent: str, mdp: str) -> Trace:
    learner, recorded, until = _start(agent, mdp)
    steps: OnlineAgent[int] = OnlineAgent(learner.agent, learner.streams.agent, learner.problem)
    step_loop.run(
        steps,
        step_loop.MDPStepper(learner.mdp, learner.streams),
        learner.mdp.horizon,
        learner.run_state,
        recorded,
        until,
    )
    learner.agent = steps.agent
    return make_trace(learner, recorded)


def _start(agent: str, mdp: str) -> tuple[Learner, fused.Checkpoints, int]:
    learner = new_learner(agent, mdp)
    until = LENGTHS[learner.unit]
    return learner, fused.new_checkpoints(np.array([1, 7, until]), learner.agent), until


def assert_same(left: Trace, right: Trace) -> None:
    assert left.keys() == right.keys()
    for path in left:
        np.testing.assert_array_equal(left[path], right[path], err_msg=path, strict=True)


if __name__ == "__main__":
    pairs = [name.split(":") for name in sys.argv[2:]]
    arrays: dict[str, Any] = {
        f"{agent}:{mdp}:{path}": array
        for agent, mdp in pairs
        for path, array in run_fused(agent, mdp).items()
    }
    np.savez(sys.argv[1], **arrays)
