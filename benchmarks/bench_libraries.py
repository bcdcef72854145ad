"""Q-learning, UCBVI and PSRL on SixArms, beside rlberry's.

rlberry lives in an environment of its own, which ``make peers`` makes; without it there is no peer. Each turn
is a process of rlberry's Python and the same agents of heavytail, fused.
"""

import json
import subprocess
from typing import Any

import heavytail as ht
from _figures import HERE, nanoseconds, print_table, scaled
from _peers import H
from _trained import advance
from bench_costs import Case
from bench_fused import new_learner, problem

PYTHON = HERE.parent / ".venv-rlberry" / "bin" / "python"
OURS = {"OptQL": "q_learning", "UCBVI": "ucbvi", "PSRL": "psrl"}
EPISODES, THEIR_EPISODES, REPEATS = 40_000, 2_000, 3
Costs = dict[str, dict[str, float]]  # by rlberry's name of the agent and by noise: nanoseconds of a step


def their_costs(episodes: int) -> Costs:
    """Measure rlberry's agents."""
    done = subprocess.run(
        [PYTHON, HERE / "_under_rlberry.py", str(episodes)], capture_output=True, text=True, check=True
    )
    costs: Costs = json.loads(done.stdout)
    return costs


def own_cost(name: str, noise: bool, episodes: int) -> float:
    """Return the nanoseconds per step of one of our agents."""
    mdp = problem(noise)
    if name == "q_learning":
        learner = new_learner(mdp)
    else:
        learner = ht.make_agent(mdp, name, seed=1, **Case(name).parameters())
    advance(learner, 1)  # compiles, or loads
    return advance(learner, episodes) / (episodes * H) * 1e9


def own_costs(episodes: int) -> Costs:
    """Measure all of our agents."""
    return {
        theirs: {noise: own_cost(ours, noise == "on", episodes) for noise in ("off", "on")}
        for theirs, ours in OURS.items()
    }


def least(turns: list[Costs]) -> Costs:
    """Return the least of each figure."""
    return {
        name: {noise: min(turn[name][noise] for turn in turns) for noise in by_noise}
        for name, by_noise in turns[0].items()
    }


def measure(quick: bool) -> tuple[Costs, Costs]:
    """Measure ours and theirs, in turns."""
    ours, theirs = scaled(EPISODES, quick), scaled(THEIR_EPISODES, quick)
    turns = [(own_costs(ours), their_costs(theirs)) for _ in range(scaled(REPEATS, quick))]
    return least([own for own, _ in turns]), least([their for _, their in turns])


def row(name: str, noise: str, ours: float, theirs: float) -> list[str]:
    """Make a row of the table."""
    speeds = [text for cost in (ours, theirs) for text in (nanoseconds(cost), f"{1e9 / cost:,.0f}")]
    return [f"{OURS[name]} beside {name}, noise {noise}", *speeds, f"1/{theirs / ours:.0f}"]


def section(quick: bool) -> dict[str, Any]:
    """Measure, print, and return the figures."""
    if not PYTHON.exists():
        print("\nrlberry is not installed, so it is left out; `make peers` installs it.")
        return {}
    ours, theirs = measure(quick)
    rows = [
        row(name, noise, ours[name][noise], peer)
        for name, by_noise in theirs.items()
        for noise, peer in by_noise.items()
    ]
    print_table(
        "Agents on SixArms, beside rlberry's",
        ["one core", "ns/step", "steps/s", "rlberry: ns/step", "steps/s", "ratio"],
        rows,
    )
    return {"ns": ours, "rlberry_ns": theirs}
