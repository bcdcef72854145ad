"""Specs: every published study and some small ones, with values, keys, tables and bytes changed.

What is read of a small one must be counted and checked as `run` does before it begins, and planned.
"""

import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from fuzz.mutation import Generator, mutate_bytes, mutate_tree
from heavytail.studies import Study
from heavytail.studies.specs.reading import make_spec, read_spec

SHARE = 6
STUDIES = Path(__file__).parents[3] / "studies"
MAX_RUNS = 200  # that are planned
CHECKED = 0.1  # share of small specs that are more than read: that takes ten times as long

SMALL = """
name = "small"
title = "[/x]"
episodes = 60
steps = 1000
seeds = 3
checkpoints = 10

[envs.six_arms]
parameters = {law = "student_t", df = 1.5}
bounds = {shown = ["heavy_ucrl2"], epsilon = 0.4}
[envs.changing]
env = "changing_bandits"
parameters = {changes = 3, planned_steps = 1000}
[envs.garnet]
parameters = {n_states = 5, n_actions = 2, branching = 2, seed = 1, horizon = 4}
[families.chain]
env = "double_chain"
vary = {length = [2, 3, 4]}
[envs.car]
env = "mountain_car"
parameters = {noise_scale = 1.0, cap = 20}

[agents.random]
[agents.q_learning]
grid = {transition_scale = [0.01, 0.1]}
envs = ["six_arms", "chain", "garnet"]
[agents.restarting]
parameters = {agent = "heavy_ucrl2", changes = "true", epsilon = 0.5, moment = 2.0}
envs = ["changing"]
[agents.heavy]
agent = "heavy_q_learning"
parameters = {epsilon = 0.4, moment = "true"}
envs = ["six_arms"]
[agents.dqn]
agent = "heavy_dqn"
parameters = {hidden = [8], replay = 100, start = 100, batch = 16}

[maps.heavy_q_learning]
envs = ["six_arms"]
axes = {moment = [0.3, "true"], reward_scale = [1e-5, 1e-3]}
parameters = {epsilon = 0.4}
seeds = 2

[tuning]
seeds = 2
[statistics]
resamples = 100

[[claims]]
claim = "One is better."
conditions = [
    {test = "better", agent = "q_learning", than = "random", envs = ["six_arms"]},
    {test = "at_most", agent = "random", metric = "final_regret", value = 2.0, envs = ["chain.last"]},
]

[quick]
episodes = 20
"""


def start(folder: Path) -> Callable[[Generator], None]:
    """Read the specs as they are, and check each once, so that all is compiled."""
    use(make_spec(tomllib.loads(SMALL)), folder)
    return partial(try_one, [path.read_text() for path in sorted(STUDIES.glob("*/spec.toml"))], folder)


def try_one(published: list[str], folder: Path, rng: Generator) -> None:
    """Change a spec, and do with it what `run` does before it begins."""
    is_small = bool(rng.random() < 0.7)
    text = SMALL if is_small else published[int(rng.integers(len(published)))]
    if rng.random() < 0.3:
        path = folder / "spec.toml"
        path.write_bytes(mutate_bytes(text.encode(), rng))
        spec = read_spec(path, quick=bool(rng.integers(2)))
    else:
        raw: Any = tomllib.loads(text)
        for _ in range(int(rng.geometric(0.6))):
            raw = mutate_tree(raw, rng)
        spec = make_spec(raw, quick=bool(rng.integers(2)))
    if is_small and rng.random() < CHECKED:
        use(spec, folder)


def use(spec: Any, folder: Path) -> None:
    """Count and check a study, and plan it if it is small."""
    study = Study(spec, folder / "study")
    if sum(size.runs for size in study.check()) < MAX_RUNS:
        assert study.tuning_cells is not None
        assert study.sweeps is not None
