"""Heavy-Q-Learning on SixArms, beside the same in C++.

It is timed once it has settled on the heavy arm, where every step draws a stable reward, truncates it and
pays a bonus with two parts.
"""

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import heavytail as ht
from _figures import best_of, nanoseconds, print_table, scaled, verdict
from _floor import BATCHES, EXACT, FAST, HEAVY, TABLES, TEXTBOOK, compile_floor, run_floor
from _peers import H
from _trained import Trained
from bench_fused import Measure, check_totals, describe_difference

TRAINED, EPISODES, REPEATS = 60_000, 40_000, 15
LIMIT = 1.0
PARAMETERS: dict[str, Any] = {"epsilon": 0.05, "moment": 1.0, "transition_scale": 0.01, "reward_scale": 0.001}
LAST, ENOUGH = 5_000, 0.9  # in its last episodes it must earn so much of what is possible
SAME_DRAWS = "C++ with tables, the same draws one by one"
PROGRAMS: dict[str, tuple[str, ...]] = {
    SAME_DRAWS: (TABLES, HEAVY),
    "C++ with tables, textbook draws": (TABLES, HEAVY, TEXTBOOK),
    "C++ hard-coded, the same draws one by one": (HEAVY,),
    "C++ hard-coded, SIMD batches, -ffast-math": (HEAVY, BATCHES, FAST),
}


def new_learner() -> ht.Learner:
    """Make a learner with the tuned parameters."""
    return ht.make_agent(ht.make_mdp("six_arms", horizon=H), "heavy_q_learning", seed=0, **PARAMETERS)


def floor_cost(program: Path, episodes: int) -> float:
    """Return the nanoseconds per step of the C++ program."""
    seconds = run_floor(program, new_learner(), episodes, noise=True, trained=TRAINED).seconds
    return seconds / (episodes * H) * 1e9


def own_cost(trained: Trained, episodes: int) -> float:
    """Return the nanoseconds per step of the fused loop."""
    return trained.seconds(episodes) / (episodes * H) * 1e9


def settled() -> Trained:
    """Train a learner, and check that it plays the heavy arm, worth a third more than the light one."""
    learner = new_learner()
    learner.learn(TRAINED - LAST)
    before = float(learner.run_state.totals[0])
    trained = Trained(learner, LAST)
    gained = (float(learner.run_state.totals[0]) - before) / LAST
    if gained < ENOUGH * ht.planning.optimal_value(learner.mdp):
        raise SystemExit(
            f"after {TRAINED:,} episodes heavy_q_learning earns {gained:.1f}: it is not on the heavy"
            " arm, which is to be timed"
        )
    return trained


def measure(folder: Path, episodes: int) -> tuple[dict[str, float], str]:
    """Measure the nanoseconds per step of all programs, and compare their totals."""
    turns: dict[str, Measure] = {"heavytail": partial(own_cost, settled(), episodes)}
    for name, switches in PROGRAMS.items():
        if program := compile_floor(folder, *switches):
            turns[name] = partial(floor_cost, program, episodes)
    checked = "C++: no g++ on this machine, so its rows are left out."
    if exact := compile_floor(folder, *PROGRAMS[SAME_DRAWS], EXACT):
        difference = check_totals(exact, new_learner, TRAINED + episodes, noise=True)
        checked = (
            f"{SAME_DRAWS}: mean and realised totals of {TRAINED + episodes:,} episodes are"
            f" {describe_difference(difference)}."
        )
    return best_of(REPEATS, turns), checked


def section(quick: bool) -> dict[str, Any]:
    """Measure, print, and return the figures."""
    with tempfile.TemporaryDirectory() as name:
        costs, checked = measure(Path(name), scaled(EPISODES, quick))
    ours = costs["heavytail"]
    rows = [
        [peer, nanoseconds(ours), nanoseconds(cost), f"{ours / cost:.2f}", verdict(ours / cost, LIMIT)]
        for peer, cost in costs.items()
        if peer in PROGRAMS
    ]
    header = ["ns/step", "heavytail", "peer", "ratio", f"<= {LIMIT}"]
    print_table(f"Heavy-Q-Learning on SixArms, on the heavy arm after {TRAINED:,} episodes", header, rows)
    print(checked)
    return {"ns": costs, "totals_checked": checked, "limit_to_cpp": LIMIT}
