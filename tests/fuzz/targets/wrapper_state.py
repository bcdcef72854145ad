"""State of the wrappers that filter rewards: counts, exact and by a hash, a coefficient, estimates."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium

from fuzz.mutation import Generator, mutate_array, mutate_bytes
from heavytail.files import Arrays, read_arrays, write_arrays
from heavytail.gym import AddRewardNoise, DenoiseReward, TruncateReward
from heavytail.loading import load

Wrapper = TruncateReward | DenoiseReward

SHARE = 3
STEPS = 60


def wrappers() -> list[Wrapper]:
    """Make the wrappers, each with another kind of state."""
    lake, pole = (partial(gymnasium.make, name) for name in ("FrozenLake-v1", "CartPole-v1"))
    return [
        TruncateReward(lake(), epsilon=0.5, coefficient=1.0),
        TruncateReward(pole(), epsilon=0.5, coefficient="auto", warm_up=30),
        TruncateReward(
            pole(), epsilon=0.5, coefficient=1.0, counter=lambda x: tuple(round(v, 1) for v in x.tolist())
        ),
        TruncateReward(pole(), mode="clip", limit=1.0),
        DenoiseReward(lake()),
        DenoiseReward(AddRewardNoise(pole(), "alpha_stable", alpha=1.5)),
    ]


def start(folder: Path) -> Callable[[Generator], None]:
    """Save the state of each wrapper after some steps."""
    files = []
    for i, env in enumerate(wrappers()):
        walk(env, STEPS)
        env.save(folder / f"{i}.npz")
        files.append(read_arrays(folder / f"{i}.npz", "wrapper file"))
    return partial(try_one, wrappers(), files, folder / "hostile.npz")


def try_one(envs: list[Wrapper], files: list[Arrays], path: Path, rng: Generator) -> None:
    """Write state with something wrong in it, load it and go on."""
    i = int(rng.integers(len(files)))
    arrays, env = files[i], envs[i if rng.random() < 0.95 else int(rng.integers(len(envs)))]
    name = list(arrays)[int(rng.integers(len(arrays)))]
    write_arrays(path, {**arrays, name: mutate_array(arrays[name], rng)})
    if rng.random() < 0.15:
        path.write_bytes(mutate_bytes(path.read_bytes(), rng))
    if rng.random() < 0.5:
        again: Any = load(path, env.env)
        env = again
    else:
        env.load(path)
    walk(env, 3)
    env.save(path)
    env.load(path)


def walk(env: Wrapper, steps: int) -> None:
    """Make some steps of the first action."""
    env.reset(seed=0)
    for _ in range(steps):
        *_, terminated, truncated, _ = env.step(0)
        if terminated or truncated:
            env.reset()
