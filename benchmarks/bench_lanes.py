"""Agents on SixArms in lanes on a GPU: Heavy-Q-Learning in 65,536 runs of the paper's length, and all others.

The working point is the tuned one, so that runs end on the heavy arm and nearly every step draws a stable
reward. Seeds all differ: lanes with a seed in common are in the same states more often, and faster. The time
includes everything from the first kernel on, except compilation, which the first few steps have done.

All agents (``--agents``: only they) run for a moment from their start, at the parameters of `bench_costs`;
then half as long with one seed for all lanes, so that all are in the same state and plan at the same time:
where that is much faster, lanes lose by being different. A core of the CPU makes as many episodes.

Figures of a GPU are from another machine than the others, so they have a file of their own.
"""

import json
import multiprocessing
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

import heavytail as ht
from _figures import HERE, print_table, scaled
from _trained import advance
from bench_costs import HEAVY_Q, Case, cases
from heavytail.errors import InputError
from heavytail.kernels.rng import Streams, streams
from heavytail.mdp.changing import changing_mdp
from heavytail.training.lanes.batch import Lanes, bytes_per_lane, lanes_that_fit
from heavytail.training.lanes.device import Device, find_cuda, find_device
from heavytail.training.lanes.layout import Deduplicated

FIGURES = HERE / "lanes.json"
EPISODES, SHORT = 500_000, 20_000
LANES, OTHERS = 65_536, (1_024, 16_384, 262_144)
SECONDS, CPU_SECONDS = 1.5, 0.3  # of every agent
MANY = 10**9  # episodes, more than any agent makes in that time
TRAINED = 2_000  # episodes after which an agent's memory is read
MAX_BYTES = 15 * 10**9  # of all lanes of an agent: pools grow by way of the host's memory
turn: Any = None  # a lock: one process at a time uses the GPU


def different_seeds(lanes: int) -> list[Streams]:
    """Make the random streams of so many lanes."""
    return [streams(seed) for seed in range(lanes)]


def new_lanes(
    lanes: int,
    until: int,
    change: int | None = None,
    case: Case = HEAVY_Q,
    seeds_of_lanes: Sequence[Streams] | None = None,
) -> Lanes:
    """Make so many lanes, at the start of their runs; seeds differ unless given, one for all or for each.

    With a `change`, the MDP is replaced by itself there, so that a sequence of kernels ends.
    """
    mdp, alike = ht.make_mdp("six_arms"), np.zeros(lanes, np.int64)
    agent = ht.make_agent(mdp, case.agent, seed=0, **case.parameters()).agent
    changing = changing_mdp([mdp], []) if change is None else changing_mdp([mdp, mdp], [change])
    unique = different_seeds(lanes) if seeds_of_lanes is None else seeds_of_lanes
    seeds = Deduplicated(unique, np.arange(lanes) % len(unique))
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


# All agents


class Speed(NamedTuple):
    """The figures of an agent."""

    agent: str
    fit: int  # lanes, into the free memory of the GPU
    lanes: int  # as many as were used
    kilobytes: float  # a lane, after TRAINED episodes
    episodes: float  # that a lane made
    steps_per_second: float
    with_one_seed: float  # steps per second, where all lanes do the same
    on_a_core: float  # steps per second, on a core of the CPU


class _EnoughError(Exception):
    """So much time has passed."""


def measure_agents(memory: int, quick: bool) -> list[Speed]:
    """Measure all agents, and print each when it is done; they are compiled side by side and take turns."""
    chosen, spawning = cases(), multiprocessing.get_context("spawn")
    seconds, found = SECONDS / 10 if quick else SECONDS, list[Speed]()
    with ProcessPoolExecutor(len(chosen), spawning, take_turns, (spawning.Lock(),)) as pool:
        measured = {pool.submit(measure_agent, case, memory, seconds): case for case in chosen}
        for future in as_completed(measured):
            if (error := future.exception()) is not None:
                print(f"{measured[future].label} cannot run in lanes: {' '.join(str(error).split())[:200]}")
            else:
                found.append(future.result())
                print(" ".join(agent_row(found[-1])), flush=True)
    return sorted(found)


def take_turns(lock: Any) -> None:
    """Let this process wait for others that use the GPU."""
    globals()["turn"] = lock


def measure_agent(case: Case, memory: int, seconds: float) -> Speed:
    """Measure one agent."""
    learner = ht.make_agent(ht.make_mdp("six_arms"), case.agent, seed=0, **case.parameters())
    advance(learner, TRAINED)
    fit, needed = lanes_that_fit(memory, learner.agent, 1), bytes_per_lane(learner.agent, 1)
    lanes = min(LANES, fit, MAX_BYTES // needed)
    seeds = different_seeds(lanes)
    new_lanes(lanes, 2, case=case, seeds_of_lanes=seeds).run()  # compiles
    with turn:
        rate, episodes = speed_for(seconds, new_lanes(lanes, MANY, case=case, seeds_of_lanes=seeds))
        alike, _ = speed_for(seconds / 2, new_lanes(lanes, MANY, case=case, seeds_of_lanes=seeds[:1]))
    on_a_core = speed_on_a_core(case, max(1, round(episodes)))
    return Speed(case.label, fit, lanes, needed / 1e3, episodes, rate, alike, on_a_core)


def speed_for(seconds: float, batch: Lanes) -> tuple[float, float]:
    """Run lanes for so long; return steps per second, and episodes of a lane."""
    marks = list[tuple[float, int]]()

    def mark() -> None:
        marks.append((time.perf_counter(), batch.steps()))
        if marks[-1][0] - marks[0][0] > seconds:
            raise _EnoughError

    with suppress(_EnoughError):
        batch.run(mark)
    (begun, before), (ended, after) = marks[0], marks[-1]
    return (after - before) / (ended - begun), batch.share() * MANY


def speed_on_a_core(case: Case, episodes: int) -> float:
    """Return the steps per second of learners that make so many episodes each."""
    mdp, seconds, steps = ht.make_mdp("six_arms"), 0.0, 0
    while seconds < CPU_SECONDS:
        learner = ht.make_agent(mdp, case.agent, seed=steps, **case.parameters())
        seconds += advance(learner, episodes)
        steps += int(learner.run_state.steps[0])
    return steps / seconds


AGENT_HEADER = [
    "agent",
    "lanes that fit",
    "used",
    "kB a lane",
    "episodes",
    "steps a second",
    "with one seed",
    "a core of the CPU",
    "so many cores",
]


def agent_row(speed: Speed) -> list[str]:
    """Make a row of the table."""
    return [
        speed.agent,
        f"{speed.fit:,}",
        f"{speed.lanes:,}",
        f"{speed.kilobytes:.1f}",
        f"{speed.episodes:,.0f}",
        f"{speed.steps_per_second:.2g}",
        f"{speed.with_one_seed:.2g}",
        f"{speed.on_a_core:.2g}",
        f"{speed.steps_per_second / speed.on_a_core:.0f}",
    ]


def agents_section(device: Device, quick: bool) -> None:
    """Measure all agents and print their table; the other figures stay as they are."""
    speeds = measure_agents(device.free_bytes, quick)
    print_table(f"All agents in lanes, on {device.name}", AGENT_HEADER, list(map(agent_row, speeds)))
    figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    agents = {"quick": quick, "speeds": [speed._asdict() for speed in speeds]}
    FIGURES.write_text(json.dumps({**figures, "agents": agents}, indent=1) + "\n")


def section(quick: bool, *, only_agents: bool = False) -> dict[str, Any]:
    """Measure and print; on a machine without a GPU, say why not."""
    try:
        device = find_device()
    except InputError as error:
        print(f"\nLanes are not measured here: {error}")
        return {}
    if not only_agents:
        heavy_q_section(device.name, quick)
    agents_section(device, quick)
    return {}


def heavy_q_section(device: str, quick: bool) -> None:
    """Measure Heavy-Q-Learning in several numbers of lanes, and print the table."""
    learner = ht.make_agent(ht.make_mdp("six_arms"), HEAVY_Q.agent, seed=0, **HEAVY_Q.parameters())
    kilobytes = bytes_per_lane(learner.agent, 1) / 1e3
    results = {(lanes, SHORT): steps_per_second(lanes, scaled(SHORT, quick)) for lanes in (*OTHERS, LANES)}
    results |= {(LANES, EPISODES): steps_per_second(LANES, scaled(EPISODES, quick))}
    rows = [
        [f"{n:,}", f"{scaled(episodes, quick):,}", f"{rate:.3g}", f"{seconds:.1f}"]
        for (n, episodes), (rate, seconds) in results.items()
    ]
    print_table(
        f"Lanes, {kilobytes:.1f} kB each, on {device}",
        ["lanes", "episodes", "steps a second", "seconds"],
        rows,
    )
    figures = [
        {"lanes": n, "episodes": scaled(e, quick), "steps_per_second": rate, "seconds": s}
        for (n, e), (rate, s) in results.items()
    ]
    FIGURES.write_text(json.dumps({"device": device, "quick": quick, "figures": figures}, indent=1) + "\n")


if __name__ == "__main__":
    if "--profile" in sys.argv:
        show_to_profiler()
    else:
        section("--quick" in sys.argv, only_agents="--agents" in sys.argv)
