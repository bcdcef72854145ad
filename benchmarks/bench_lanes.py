"""Heavy-Q-Learning on SixArms in lanes on a GPU: 65,536 runs of the paper's length, and other numbers.

The working point is the tuned one, so that runs end on the heavy arm and nearly every step draws a stable
reward. Seeds all differ: lanes with a seed in common are in the same states more often, and faster. The time
includes everything from the first kernel on, except compilation, which the first few steps have done.

Figures of a GPU are from another machine than the others, so they have a file of their own.
"""

import json
import sys
import time
from typing import Any

import numpy as np

import heavytail as ht
from _figures import HERE, print_table, scaled
from heavytail.errors import InputError
from heavytail.kernels.rng import streams
from heavytail.mdp.changing import changing_mdp
from heavytail.training.lanes.batch import Lanes, bytes_per_lane
from heavytail.training.lanes.device import find_cuda, find_device
from heavytail.training.lanes.layout import Deduplicated

FIGURES = HERE / "lanes.json"
WORKING_POINT: dict[str, Any] = {
    "epsilon": 0.05,
    "moment": 1.0,
    "transition_scale": 0.01,
    "reward_scale": 0.001,
}
EPISODES, SHORT = 500_000, 20_000
LANES, OTHERS = 65_536, (1_024, 16_384, 262_144)


def new_lanes(lanes: int, until: int, change: int | None = None) -> Lanes:
    """Make so many lanes, at the start of their runs.

    With a `change`, the MDP is replaced by itself there, so that a sequence of kernels ends.
    """
    mdp, alike = ht.make_mdp("six_arms"), np.zeros(lanes, np.int64)
    agent = ht.make_agent("heavy_q_learning", mdp, **WORKING_POINT).agent
    changing = changing_mdp([mdp], []) if change is None else changing_mdp([mdp, mdp], [change])
    seeds = Deduplicated([streams(seed) for seed in range(lanes)], np.arange(lanes))
    return Lanes(Deduplicated([agent], alike), Deduplicated([changing], alike), seeds, np.array([until]))


def steps_per_second(lanes: int, episodes: int) -> tuple[float, float]:
    """Run so many lanes for so many episodes; return steps per second of all of them, and seconds."""
    new_lanes(lanes, 2).run()  # compiles
    batch = new_lanes(lanes, episodes)
    started = time.perf_counter()
    batch.run()
    seconds = time.perf_counter() - started
    return batch.steps() / seconds, seconds


def show_to_profiler(lanes: int = LANES, after: int = 60_000) -> None:
    """Show a profiler the kernels of a few episodes, after so many.

    With Nsight Compute: ``ncu --profile-from-start off --launch-count 1 --clock-control none --set full`` and
    then ``python benchmarks/bench_lanes.py --profile``.
    """
    batch = new_lanes(lanes, after + 20, change=after)

    def start_if_late() -> None:
        if batch.share() * (after + 20) > after - 1:  # at the end of the first MDP, up to rounding
            find_cuda().profile_start()

    batch.run(start_if_late)


def section(quick: bool) -> dict[str, Any]:
    """Measure and print; on a machine without a GPU, say why not."""
    try:
        device = find_device()
    except InputError as error:
        print(f"\nLanes are not measured here: {error}")
        return {}
    learner = ht.make_agent("heavy_q_learning", ht.make_mdp("six_arms"), **WORKING_POINT)
    kilobytes = bytes_per_lane(learner.agent, 1) / 1e3
    results = {(lanes, SHORT): steps_per_second(lanes, scaled(SHORT, quick)) for lanes in (*OTHERS, LANES)}
    results |= {(LANES, EPISODES): steps_per_second(LANES, scaled(EPISODES, quick))}
    rows = [
        [f"{n:,}", f"{scaled(episodes, quick):,}", f"{rate:.3g}", f"{seconds:.1f}"]
        for (n, episodes), (rate, seconds) in results.items()
    ]
    print_table(
        f"Lanes, {kilobytes:.1f} kB each, on {device.name}",
        ["lanes", "episodes", "steps a second", "seconds"],
        rows,
    )
    figures = [
        {"lanes": n, "episodes": scaled(e, quick), "steps_per_second": rate, "seconds": s}
        for (n, e), (rate, s) in results.items()
    ]
    FIGURES.write_text(
        json.dumps({"device": device.name, "quick": quick, "figures": figures}, indent=1) + "\n"
    )
    return {}


if __name__ == "__main__":
    if "--profile" in sys.argv:
        show_to_profiler()
    else:
        section("--quick" in sys.argv)
