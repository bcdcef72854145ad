"""Files of agents for your own loop: values, shapes, labels and other metadata, bytes."""

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import heavytail as ht
from fuzz.mutation import Generator
from fuzz.targets.agent_files import write_mutated
from heavytail.agent_file import AgentFile, read_agent_file

SHARE = 1
LEARNT = 150  # updates before the file is written
MORE = 20  # and after it was read
STATES, ACTIONS = list(itertools.product("ab", (1, None))), ["left", "right"]


def start(folder: Path) -> Callable[[Generator], None]:
    """Write a file of a few agents, and use what is read from it, so that all is compiled."""
    files = []
    for i, agent in enumerate(agents()):
        drive(agent.warm_up(), LEARNT)
        path = folder / f"{i}.npz"
        agent.save(path)
        files.append(read_agent_file(path))
        use(path)
    return partial(try_one, files, folder / "hostile.npz")


def agents() -> Iterator[ht.OnlineAgent[Any]]:
    """Make agents with labels and without, with an end and without."""
    yield ht.make_online(STATES, ACTIONS, seed=0)
    yield ht.make_online(4, ACTIONS, "q_learning", seed=0, horizon=3)
    yield ht.make_online(STATES, 2, "heavy_q_learning", seed=0, horizon=1)


def try_one(files: list[AgentFile], path: Path, rng: Generator) -> None:
    """Write a file with something wrong in it, and use it."""
    write_mutated(path, files[int(rng.integers(len(files)))], rng)
    use(path)


def use(path: Path) -> None:
    """Load an agent, and do all that one can do with it."""
    agent = ht.OnlineAgent.load(path)
    if not set(agent.policy().reshape(-1)) <= set(agent.actions):
        raise AssertionError("there is no such action")
    drive(agent, MORE)
    agent.save(path)
    drive(ht.OnlineAgent.load(path), 1)


def drive(agent: ht.OnlineAgent[Any], updates: int) -> None:
    """Show it so many random transitions; the infinities of hostile numbers are no fault."""
    rng, states = np.random.default_rng(0), list(agent.states)
    with np.errstate(all="ignore"):
        for _ in range(updates):
            s, s_next = (states[int(i)] for i in rng.integers(len(states), size=2))
            agent.update(s, agent.act(s), float(rng.standard_t(1.5)), s_next)
