"""Resume files of a deep part: arrays, settings, owners and bytes changed.

Whatever a file holds, the part begins: from the file, or anew, with the file set aside.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from fuzz.mutation import Generator, mutate_array, mutate_bytes, mutate_tree
from heavytail.agent_file import METADATA, AgentFile, read_agent_file, write_agent_file
from heavytail.deep import DeepLearner
from heavytail.errors import InputError
from heavytail.files import write_arrays
from heavytail.studies.backends import backend_of
from heavytail.studies.backends.backend import SET_ASIDE, WorkContext
from heavytail.studies.backends.deep import DeepBackend
from heavytail.studies.part import Part
from heavytail.studies.plan import evaluation_cells
from heavytail.studies.specs.reading import make_spec

SHARE = 0.5
HALF = 300  # of the steps
TINY = {"hidden": [4], "replay": 100, "start": 100, "batch": 8, "bits": 4}
RAW = {
    "name": "deep",
    "steps": 600,
    "seeds": 2,
    "envs": {"mountain_car": {"parameters": {"cap": 20}}},
    "agents": {"heavy_dqn": {"parameters": TINY}},
}


def start(folder: Path) -> Callable[[Generator], None]:
    """Leave a part half done, and take it up again."""
    (part,) = evaluation_cells(make_spec(RAW), {})[0].parts
    path = folder / f"{part.id}.npz"
    learner, marks = begin(part, path), backend_of(part).checkpoints(part)
    learner.learn(HALF, at=marks[marks <= HALF].tolist())
    learner.save(path)
    file = read_agent_file(path)
    if begin(part, path).steps != HALF:
        raise AssertionError("a file as it was left is not taken up")
    return partial(try_one, part, path, file)


def begin(part: Part, path: Path, say: Callable[[str], None] = lambda words: None) -> DeepLearner:
    """Begin a part as a worker does."""
    backend = backend_of(part)
    assert isinstance(backend, DeepBackend)
    return backend._begin(part, WorkContext(lambda share: None, path, say))


def try_one(part: Part, path: Path, file: AgentFile, rng: Generator) -> None:
    """Write a file with something wrong in it, and begin the part."""
    metadata, arrays = file
    match int(rng.integers(3)):
        case 0:
            text = json.dumps(mutate_tree(metadata, rng)).encode()
            write_arrays(path, {METADATA: np.frombuffer(text, np.uint8), **arrays})
        case 1:
            name = list(arrays)[int(rng.integers(len(arrays)))]
            write_agent_file(path, AgentFile(metadata, {**arrays, name: mutate_array(arrays[name], rng)}))
        case _:
            write_agent_file(path, file)
            path.write_bytes(mutate_bytes(path.read_bytes(), rng))
    told: list[str] = []
    begin(part, path, told.append)
    aside = path.with_name(path.name + SET_ASIDE)
    assert aside.exists() == bool(told)
    assert all(len(words.splitlines()) == 1 for words in told)
    aside.unlink(missing_ok=True)
    if told:
        raise InputError(told[0])
