"""Q-learning on SixArms: the fused loop beside C++, stepwise calls, pure Python, NumPy and Gymnasium."""

import math
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import heavytail as ht
from _figures import best_of, cpu_seconds, nanoseconds, print_table, scaled, verdict
from _floor import EXACT, VARIANTS, compile_floor, run_floor
from _gymnasium_loop import OneByOne, TableAgent, learn
from _peers import H, numpy_q_learning, python_q_learning
from heavytail.serving.online_agent import OnlineAgent
from heavytail.training import fused, step_loop

EPISODES, SLOW_EPISODES = 200_000, 4_000
REPEATS, SLOW_REPEATS = 15, 5
LIMIT = 1.15
LAST_PLACES = 4  # how many units in the last place a total of millions of sums may be off
Measure = Callable[[], float]


def problem(noise: bool) -> ht.MDP:
    """Make SixArms, or the same with every reward at its mean."""
    mdp = ht.make_mdp("six_arms", horizon=H)
    return mdp if noise else ht.mdp_from_arrays(mdp.transitions, mdp.mean_rewards, horizon=H)


def new_learner(mdp: ht.MDP) -> ht.Learner:
    """Make the learner that all peers imitate."""
    return ht.make_agent(mdp, "q_learning", seed=1, transition_scale=0.01)


def per_step(run: Callable[[], object], steps: int) -> float:
    """Return the nanoseconds per step of a run."""
    started = cpu_seconds()
    run()
    return (cpu_seconds() - started) / steps * 1e9


def fused_cost(mdp: ht.MDP, episodes: int) -> float:
    """Measure the fused loop, as a user calls it."""
    learner = new_learner(mdp)
    return per_step(lambda: learner.learn(episodes), episodes * H)


def one_by_one(learner: ht.Learner) -> OnlineAgent[int]:
    """Return its agent for one transition at a time."""
    return OnlineAgent(learner.agent, learner.streams.agent, learner.problem)


def stepwise_cost(mdp: ht.MDP, episodes: int) -> float:
    """Measure one compiled call for each verb."""
    learner = new_learner(mdp)
    agent, env = one_by_one(learner), step_loop.MDPStepper(mdp, learner.streams)
    no_checkpoints = fused.new_checkpoints(np.zeros(0, np.int64), learner.agent)
    run = partial(step_loop.run, agent, env, H, learner.run_state, no_checkpoints, episodes)
    return per_step(run, episodes * H)


def gymnasium_cost(new_agent: Callable[[], OneByOne], mdp: ht.MDP, episodes: int) -> float:
    """Measure an agent in a loop over a Gymnasium environment, in the usual wrappers."""
    env, agent = gymnasium.make("heavytail/SixArms-v0", mdp=mdp), new_agent()
    env.reset(seed=1)
    return per_step(lambda: learn(env, agent, episodes), episodes * H)


def floor_cost(program: Path, mdp: ht.MDP, episodes: int, noise: bool) -> float:
    """Return the nanoseconds per step that the C++ program measured."""
    return run_floor(program, new_learner(mdp), episodes, noise).seconds / (episodes * H) * 1e9


def check_totals(program: Path, new: Callable[[], ht.Learner], episodes: int, noise: bool) -> float:
    """Return the relative difference of both totals; more than a few last places is an error."""
    floor, learner = run_floor(program, new(), episodes, noise), new()
    learner.learn(episodes)
    pairs = list(zip(learner.run_state.totals, (floor.mean_reward, floor.realised_reward), strict=True))
    if any(abs(ours - theirs) > LAST_PLACES * math.ulp(ours) for ours, theirs in pairs):
        raise SystemExit(
            f"{program.name} (noise {'on' if noise else 'off'}) learns something else than heavytail: {pairs}"
        )
    return max(abs(ours - theirs) / abs(ours) for ours, theirs in pairs)


def check_all(folder: Path, episodes: int) -> list[str]:
    """Check both programs, with noise and without; return a line for each."""
    lines = []
    for name, switches in VARIANTS.items():
        program = compile_floor(folder, *switches, EXACT)
        if program is not None:
            worst = max(
                check_totals(program, partial(new_learner, problem(noise)), episodes, noise)
                for noise in (False, True)
            )
            lines.append(
                f"{name}: mean and realised totals of {episodes:,} episodes, noise off and on, are"
                f" {describe_difference(worst)}."
            )
    return lines


def describe_difference(difference: float) -> str:
    """Describe how equal totals are, given what `check_totals` returned."""
    if difference == 0:
        return "equal to heavytail's, bit for bit"
    return f"heavytail's to {difference:.0e} (at most {LAST_PLACES} last places)"


def candidates(folder: Path, mdp: ht.MDP, episodes: int, noise: bool) -> dict[str, Measure]:
    """Return the measurements that are fast enough for the full length."""
    measures: dict[str, Measure] = {"heavytail": partial(fused_cost, mdp, episodes)}
    for name, switches in VARIANTS.items():
        if program := compile_floor(folder, *switches):
            measures[name] = partial(floor_cost, program, mdp, episodes, noise)
    return measures


def slow_candidates(mdp: ht.MDP, episodes: int, noise: bool) -> dict[str, Measure]:
    """Return the measurements of what a user would have instead."""
    return {
        "heavytail stepwise": partial(stepwise_cost, mdp, episodes),
        "pure Python": partial(per_step, partial(python_q_learning, episodes, noise), episodes * H),
        "NumPy": partial(per_step, partial(numpy_q_learning, episodes, noise), episodes * H),
        "heavytail in a Gymnasium loop": partial(
            gymnasium_cost, lambda: one_by_one(new_learner(mdp)), mdp, episodes
        ),
        "NumPy in a Gymnasium loop": partial(gymnasium_cost, TableAgent, mdp, episodes),
    }


def measure(folder: Path, noise: bool, quick: bool) -> dict[str, float]:
    """Measure the nanoseconds per step of everything, by name."""
    mdp, episodes, slow_episodes = problem(noise), scaled(EPISODES, quick), scaled(SLOW_EPISODES, quick)
    fused_cost(mdp, 10)  # compiles, or loads
    stepwise_cost(mdp, 10)
    fast = best_of(REPEATS, candidates(folder, mdp, episodes, noise))
    return fast | best_of(SLOW_REPEATS, slow_candidates(mdp, slow_episodes, noise))


def row(noise: bool, peer: str, ours: float, theirs: float) -> list[str]:
    """Make a row of the table."""
    ratio = ours / theirs
    wanted = verdict(ratio, LIMIT) if peer in VARIANTS else ""
    shown = f"{ratio:.2f}" if ratio > 0.1 else f"1/{1 / ratio:.0f}"
    return [
        f"noise {'on' if noise else 'off'}, {peer}",
        nanoseconds(ours),
        nanoseconds(theirs),
        shown,
        wanted,
    ]


def section(quick: bool) -> dict[str, Any]:
    """Measure, print, and return the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        checks = check_all(folder, scaled(EPISODES, quick))
        costs = {noise: measure(folder, noise, quick) for noise in (False, True)}
    rows = [
        row(noise, peer, c["heavytail"], c[peer])
        for noise, c in costs.items()
        for peer in c
        if peer != "heavytail"
    ]
    header = ["ns/step", "heavytail", "peer", "ratio", f"<= {LIMIT}"]
    print_table("Fused Q-learning on SixArms (7 states, 6 actions, H = 25)", header, rows)
    print("\n".join(checks) or "C++: no g++ on this machine, so its rows are left out.")
    print(
        f"Slow peers run {scaled(SLOW_EPISODES, quick):,} episodes, the others {scaled(EPISODES, quick):,}."
    )
    named = {"noise_off_ns": costs[False], "noise_on_ns": costs[True]}
    return {**named, "totals_checked": checks, "limit_to_cpp": LIMIT}
