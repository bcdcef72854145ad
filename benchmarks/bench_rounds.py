"""What a round of many runs takes, two steps and an update, and which of JAX's kernels take it.

The batch of the paper's figure 2c: 72 runs, layers of 512. It is for a GPU; elsewhere the times are those of
a CPU, and no kernels are listed. ``--runs 24 --width 64`` for another batch.

DQN is measured in one kernel, where there is one for the batch and the GPU, and by XLA's kernels. Beside them
the floor of the latter: what a round must move, at the speed at which the memory serves what Adam's
arithmetic needs.
"""

import argparse
import gzip
import json
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax
import jax.numpy as jnp

import heavytail as ht
from _figures import print_table

STEPS, WARM_UP, PROFILED = 10_000, 1_000, 200
LISTED = 12  # kernels
REPEATS = 300  # of the floor's arithmetic

# How often a round reads or writes as many numbers as the network has: two steps read it, the update reads
# it twice (values, and their derivative) and the target once, Adam reads and writes it and its two moments.
MOVED = 2 + 2 + 1 + 6


def kernels(trace: Path) -> tuple[Counter[str], int]:
    """Return the microseconds of each kernel in a trace of JAX, and how many were started."""
    (file,) = trace.rglob("*.trace.json.gz")
    with gzip.open(file) as opened:
        events = json.load(opened)["traceEvents"]
    names = {
        (e["pid"], e.get("tid")): e["args"]["name"] for e in events if str(e.get("name")).endswith("_name")
    }
    spent: Counter[str] = Counter()
    started = 0
    for e in events:
        if e.get("ph") == "X" and "Stream" in names.get((e["pid"], e.get("tid")), ""):
            spent[e["name"]] += e["dur"]
            started += 1
    return spent, started


def measure(agent: str, runs: int, width: int, steps: int, by_xla: bool = False) -> None:
    """Print the time of a round of an agent, and its kernels."""
    make: Any = getattr(ht.deep, agent)
    seeds = [{"seed": i} for i in range(runs)]
    learner = make("mountain_car", hidden=(width, width), replay=500_000, noise_scale=5.0, runs=seeds)
    if by_xla:
        learner.kernel = None
    learner.learn(WARM_UP, checkpoints=1)
    begun = time.perf_counter()
    learner.learn(steps, checkpoints=1)
    per_round = learner.settings.update_every / steps * (time.perf_counter() - begun)
    with TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            learner.learn(PROFILED, checkpoints=1)
        spent, started = kernels(Path(folder))
    rounds = PROFILED // learner.settings.update_every
    rows = [[name, f"{microseconds / rounds:.1f}"] for name, microseconds in spent.most_common(LISTED)]
    how = "XLA" if learner.kernel is None else "one kernel"
    whole = learner.settings.total_steps / learner.settings.update_every * per_round
    title = f"{agent}, {how}, {runs} runs, {width} x {width}: {1e3 * per_round:.3f} ms a round"
    title += f", {whole:.1f} s for {learner.settings.total_steps:,} steps"
    print_table(f"{title}, {started / rounds:.0f} kernels", ["kernel", "us a round"], rows)
    if memory := (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use"):
        print(f"Memory so far: {memory / 1e6:,.0f} MB at most.")


def memory_speed(numbers: int) -> float:
    """Measure the bytes a second that are read and written by arithmetic like Adam's."""

    def step(_: int, arrays: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        weights, mean, square = arrays
        mean, square = 0.9 * mean + 0.1 * weights, 0.999 * square + 0.001 * weights**2
        return weights - 1e-4 * mean / (jnp.sqrt(square) + 1e-4), mean, square

    many_steps = jax.jit(lambda arrays: jax.lax.fori_loop(0, REPEATS, step, arrays), donate_argnums=0)
    arrays = many_steps(tuple(jnp.ones((3, numbers))))
    arrays[0].block_until_ready()
    begun = time.perf_counter()
    many_steps(arrays)[0].block_until_ready()
    return REPEATS * 6 * 4 * numbers / (time.perf_counter() - begun)


def print_floor(runs: int, width: int) -> None:
    """Print what a round must move, and the time it takes at the memory's speed."""
    numbers = runs * width * width
    moved, speed = MOVED * 4 * numbers, memory_speed(numbers)
    rate = f"{moved / 1e9:.2f} GB at {speed / 1e12:.2f} TB/s"
    print(f"Floor of a round by XLA: {rate}, {1e3 * moved / speed:.3f} ms.")


def main() -> None:
    """Measure DQN, and DQN with a model of the reward."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=72)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--steps", type=int, default=STEPS)
    arguments = parser.parse_args()
    print(f"On {jax.devices()[0].device_kind}")
    print_floor(arguments.runs, arguments.width)
    batch = (arguments.runs, arguments.width, arguments.steps)
    measure("heavy_dqn", *batch)
    measure("heavy_dqn", *batch, by_xla=True)
    measure("robust_dqn", *batch)


if __name__ == "__main__":
    main()
