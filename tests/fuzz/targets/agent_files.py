"""Agent files: every registered agent, with every estimator that it takes; values, shapes, metadata, bytes.

What can be loaded must go on: predict, tell its beliefs, learn, be saved and be loaded again.
"""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import heavytail as ht
from fuzz.mutation import Generator, mutate_array, mutate_bytes, mutate_tree
from heavytail.agent_file import METADATA, AgentFile, read_agent_file, write_agent_file
from heavytail.errors import InputError
from heavytail.files import write_arrays
from heavytail.registry import Registered
from support.mdps import MDPS

SHARE = 6
LEARNT = 150  # episodes or steps before the file is written: enough for pools to grow
MORE = 4  # episodes or steps after it was read
UNREAD = ("streams", "mdp0")  # arrays that are mutated less often: there is little to get wrong in them


def start(folder: Path) -> Callable[[Generator], None]:
    """Write a file of each kind of agent, and use what is read from it, so that all is compiled."""
    files = []
    for i, learner in enumerate(learners()):
        learn(learner, LEARNT)
        path = folder / f"{i}.npz"
        learner.save(path)
        files.append(read_agent_file(path))
        use(path)
    return partial(try_one, files, folder / "hostile.npz")


def learners() -> Iterator[ht.Learner]:
    """Make each registered agent in episodes and in a continuing problem, and each estimator in one of them.

    All agents with all estimators would take minutes to compile, and hold no other arrays.
    """
    for mdp in (MDPS["mixed"](), MDPS["continuing"]()):
        for agent in ht.registered("agent"):
            for parameters in variants(agent):
                try:
                    yield ht.make_agent(mdp, agent.name, seed=1, **parameters)
                except InputError as error:
                    if "continuing" not in str(error):
                        raise


def variants(agent: Registered) -> list[dict[str, Any]]:
    """List the parameters with which an agent is built: its example, and for one agent each estimator."""
    if agent.name != "heavy_ucrl2":
        return [dict(agent.example)]
    return [{**agent.example, "estimator": found.name} for found in ht.registered("estimator")]


def try_one(files: list[AgentFile], path: Path, rng: Generator) -> None:
    """Write a file with something wrong in it, and use it."""
    write_mutated(path, files[int(rng.integers(len(files)))], rng)
    use(path)


def write_mutated(path: Path, file: AgentFile, rng: Generator) -> None:
    """Write a file with something wrong in its bytes, its description or its arrays."""
    metadata, arrays = file
    match rng.random():
        case x if x < 0.1:
            write_agent_file(path, AgentFile(metadata, arrays))
            path.write_bytes(mutate_bytes(path.read_bytes(), rng))
        case x if x < 0.3:
            text = json.dumps(mutate_tree(metadata, rng)).encode()
            text = mutate_bytes(text, rng) if x < 0.12 else b"[" * 10**5 if x < 0.13 else text
            write_arrays(path, {METADATA: np.frombuffer(text, np.uint8), **arrays})
        case _:
            write_agent_file(path, AgentFile(metadata, _mutate_some(arrays, rng)))


def _mutate_some(arrays: dict[str, Any], rng: Generator) -> dict[str, Any]:
    often = [name for name in arrays if not name.startswith(UNREAD)]
    for _ in range(int(rng.geometric(0.6))):
        names = often if rng.random() < 0.9 else list(arrays)
        name = names[int(rng.integers(len(names)))]
        arrays = {**arrays, name: mutate_array(arrays[name], rng)}
    return arrays


def use(path: Path) -> None:
    """Load an agent, and do all that one can do with it."""
    learner = ht.Learner.load(path)
    for s in range(learner.problem.n_states):
        if not 0 <= learner.predict(s) < learner.problem.n_actions:
            raise AssertionError("there is no such action")
    if hasattr(learner.agent, "beliefs"):
        learner.beliefs()
    learn(learner, MORE)
    learner.save(path)
    learn(ht.Learner.load(path), 1)


def learn(learner: ht.Learner, units: int) -> None:
    """Learn for so many episodes or steps; the infinities of hostile numbers are no fault."""
    with np.errstate(all="ignore"):
        if learner.unit == "episodes":
            learner.learn(units)
        else:
            learner.learn(steps=units)
