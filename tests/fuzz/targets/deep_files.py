"""Files of deep learners: settings, shapes, numbers, bytes. What can be loaded must predict and be saved.

It learns only now and then, since other settings are another program, which takes seconds to compile.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import heavytail as ht
from fuzz.mutation import Generator, mutate_array, mutate_bytes, mutate_tree
from heavytail.agent_file import METADATA, AgentFile, read_agent_file, write_agent_file
from heavytail.files import write_arrays

SHARE = 1
SMALL: dict[str, Any] = {
    "total_steps": 200,
    "hidden": (4,),
    "replay": 20,
    "start": 20,
    "batch": 4,
    "bits": 3,
    "target_every": 10,
}


def start(folder: Path) -> Callable[[Generator], None]:
    """Write a file of two runs, and use what is read from it, so that all is compiled."""
    path = folder / "deep.npz"
    learner = ht.deep.heavy_dqn("cart_pole", runs=[{"seed": 0}, {"seed": 1, "transform": "clip"}], **SMALL)
    learner.learn(50, checkpoints=2)
    learner.save(path)
    file = read_agent_file(path)
    use(path, learns=True)
    return partial(try_one, file, folder / "hostile.npz")


def try_one(file: AgentFile, path: Path, rng: Generator) -> None:
    """Write a file with something wrong in it, and use it."""
    metadata, arrays = file
    way = rng.random()
    if way < 0.15:
        write_agent_file(path, file)
        path.write_bytes(mutate_bytes(path.read_bytes(), rng))
    elif way < 0.6:
        text = json.dumps(mutate_tree(metadata, rng)).encode()
        write_arrays(path, {METADATA: np.frombuffer(text, np.uint8), **arrays})
    else:
        name = list(arrays)[int(rng.integers(len(arrays)))]
        write_agent_file(path, AgentFile(metadata, {**arrays, name: mutate_array(arrays[name], rng)}))
    use(path, learns=way >= 0.6)


def use(path: Path, *, learns: bool) -> None:
    """Load a learner, and do with it what one can."""
    learner = ht.deep.DeepLearner.load(path)
    if not 0 <= learner.predict(np.zeros(4)) < 2:
        raise AssertionError("there is no such action")
    if learns and learner.steps < learner.settings.total_steps:
        learner.learn(learner.settings.target_every, checkpoints=1)
    learner.save(path)
    ht.deep.DeepLearner.load(path)
