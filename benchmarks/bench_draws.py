"""Time of a random reward: prepared in batches, as in the fused loop, and drawn one by one."""

from functools import partial
from typing import Any

import numpy as np

import heavytail as ht
from _figures import best_of, cpu_seconds, nanoseconds, print_table, scaled, verdict
from heavytail.arrays import Stream
from heavytail.kernels.compiling import entry
from heavytail.kernels.rng import stream
from heavytail.laws.law import fill, law_table
from heavytail.training.reward_batches import RewardBatch, new_reward_batch, refill

DRAWS, REPEATS = 1_000_000, 15
LIMIT = 10.0
LAWS = {"alpha-stable": ht.laws.alpha_stable(1.1), "normal": ht.laws.normal()}


def one_family(batch: RewardBatch, rewards: Stream, times: int, family: int) -> None:
    """Prepare so many batches, as if every reward of the last one had been of this family."""
    for _ in range(times):
        batch.demand[family] = batch.first.size
        refill(batch, rewards)


def in_batches(law: ht.laws.Law, draws: int) -> float:
    """Return the nanoseconds per draw, including the random bits."""
    batch = new_reward_batch(ht.mdp_from_arrays([[[1.0]]], laws=[[law]], horizon=1))
    compiled, family, times = entry(one_family, batch), int(batch.family[0]), draws // batch.first.size
    compiled(batch, stream(0), 1, family)
    started = cpu_seconds()
    compiled(batch, stream(0), times, family)
    return (cpu_seconds() - started) / (times * batch.first.size) * 1e9


def one_by_one(law: ht.laws.Law, draws: int) -> float:
    """Return the nanoseconds of single draws."""
    table, out = law_table([law]), np.empty(draws)
    compiled = entry(fill, table)
    compiled(table, stream(0), out[:1])
    started = cpu_seconds()
    compiled(table, stream(0), out)
    return (cpu_seconds() - started) / draws * 1e9


def section(quick: bool) -> dict[str, Any]:
    """Measure, print, and return the figures."""
    draws, costs = scaled(DRAWS, quick), {}
    for name, law in LAWS.items():
        costs[name] = best_of(
            REPEATS, {"batches": partial(in_batches, law, draws), "single": partial(one_by_one, law, draws)}
        )
    rows = [
        [name, nanoseconds(x["batches"]), nanoseconds(x["single"]), verdict(x["batches"], LIMIT)]
        for name, x in costs.items()
    ]
    print_table("Random rewards", ["ns/draw", "in batches", "one by one", f"<= {LIMIT:.0f}"], rows)
    return {"ns": costs, "limit": LIMIT}
