"""Speed-up of a study by more workers, beside what the machine itself allows.

The ceiling is a loop in independent processes, first one and then one on each core: cores share cache, memory
and power, and some are two threads of one. A study stays below it by the start of the workers, whatever the
study's length; it is measured with a study of almost no work. The first study of a process waits a second
longer, for the imports that its workers share; that is done here before anything is measured.

Wall-clock time is measured, so the figures say little on a busy machine.
"""

import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from typing import IO, Any

import heavytail as ht
from _figures import best_of, print_table, scaled

CORES = len(os.sched_getaffinity(0))
REPEATS, SEEDS = 2, 5
EPISODES, ALMOST_NONE = 500_000, 10  # of a run; two of the long ones are a part
LOOP_EPISODES = 1_000_000
SCALES = {"transition_scale": 0.01, "reward_scale": 0.001}
HEAVY = {"epsilon": 0.05, "moment": 1.0, **SCALES}
AGENTS = {
    "heavy_q_learning": HEAVY,
    "heavy_ucrl2": HEAVY,
    "ucrl2": SCALES,
    "q_learning": {"transition_scale": 0.01},
}
LOOP = """
import sys, time
import heavytail as ht
mdp = ht.make_mdp("six_arms")
learner = ht.make_agent(mdp, "heavy_q_learning", seed=0, planned_steps=10**9, **{parameters})
learner.learn(100)
print("ready", flush=True)
sys.stdin.readline()
started = time.perf_counter()
learner.learn({episodes})
print(time.perf_counter() - started)
"""


def study_seconds(workers: int, episodes: int) -> float:
    """Return the seconds of a study in a new folder."""
    agents = {name: {"parameters": parameters} for name, parameters in AGENTS.items()}
    lengths = {"episodes": episodes, "seeds": SEEDS}
    spec = {"name": "workers", **lengths, "envs": {"six_arms": {}}, "agents": agents}
    with tempfile.TemporaryDirectory() as folder:
        study, started = ht.Study(spec, folder), time.perf_counter()
        study.run(engine="local", workers=workers)
        return time.perf_counter() - started


def loop_seconds(processes: int, episodes: int) -> float:
    """Return the seconds of the slowest of so many independent processes, which start together."""
    command = [sys.executable, "-c", LOOP.format(parameters=HEAVY, episodes=episodes)]
    running = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    for process in running:
        _pipe(process.stdout).readline()  # it is ready
    for process in running:
        _pipe(process.stdin).write("go\n")
        _pipe(process.stdin).flush()
    return max(float(process.communicate()[0]) for process in running)


def _pipe(pipe: IO[str] | None) -> IO[str]:
    """Return a pipe that exists, because it was asked for."""
    assert pipe is not None
    return pipe


def measure(quick: bool) -> dict[str, float]:
    """Measure everything in turns; return the least seconds, by name and number of workers."""
    study_seconds(CORES, ALMOST_NONE)  # compiles, or loads
    kinds = {
        "study": partial(study_seconds, episodes=scaled(EPISODES, quick)),
        "start": partial(study_seconds, episodes=ALMOST_NONE),
        "loop": partial(loop_seconds, episodes=scaled(LOOP_EPISODES, quick)),
    }
    turns = {
        f"{name}, {workers}": partial(seconds, workers)
        for name, seconds in kinds.items()
        for workers in (1, CORES)
    }
    return best_of(scaled(REPEATS, quick), turns)


def section(quick: bool) -> dict[str, Any]:
    """Measure, print, and return the figures."""
    if CORES == 1:
        print("\nThere is one core, so there is nothing to say about more workers.")
        return {}
    seconds = measure(quick)
    one, all_cores, start_one, start_all, loop_one, loop_all = seconds.values()
    working = (one - start_one) / (all_cores - start_all)
    rows = [
        ["a study", f"{one:.2f}", f"{all_cores:.2f}", f"{one / all_cores:.2f}"],
        ["of which the start", f"{start_one:.2f}", f"{start_all:.2f}", ""],
        ["and the work", f"{one - start_one:.2f}", f"{all_cores - start_all:.2f}", f"{working:.2f}"],
        [
            "a loop in independent processes, each as much",
            f"{loop_one:.2f}",
            f"{loop_all:.2f}",
            f"{CORES * loop_one / loop_all:.2f}",
        ],
    ]
    print_table(
        "Workers of a study", ["seconds", "1 worker", f"{CORES} workers", "times the throughput"], rows
    )
    return {
        "cores": CORES,
        "seconds": seconds,
        "throughput": one / all_cores,
        "of_the_work": working,
        "ceiling": CORES * loop_one / loop_all,
    }
