"""Q-learning, UCBVI and PSRL on SixArms, beside rlberry's.

rlberry lives in an environment of its own, which ``make peers`` makes; without it there is no peer. Each turn
is a process of rlberry's Python and the same agents of heavytail, fused.
"""

import json
import subprocess
from typing import Any

import heavytail as ht
from costs import Case
from fused import new_learner, problem
from peers import H
from report import HERE, nanoseconds, print_table, scaled
from trained import advance

PYTHON = HERE.parent / ".venv-rlberry" / "bin" / "python"
OURS = {"OptQL": "q_learning", "UCBVI": "ucbvi", "PSRL": "psrl"}
EPISODES, THEIR_EPISODES, REPEATS = 40_000, 2_000, 3
Costs = dict[str, dict[str, float]]  # by rlberry's name of the agent and by noise: nanoseconds of a step


def their_costs(episodes: int) -> Costs:
    """What rlberry's agents take."""
    done = subprocess.run(
        [PYTHON, HERE / "under_rlberry.py", str(episodes)], capture_output=True, text=True, check=True
    )
    found: Costs = json.loads(done.stdout)
    return found


def own_cost(name: str, noise: bool, episodes: int) -> float:
    """What ours takes."""
    mdp = problem(noise)
    learner = (
        new_learner(mdp)
        if name == "q_learning"
        else ht.make_agent(name, mdp, seed=1, **Case(name).parameters())
    )
    advance(learner, 1)  # compiles, or loads
    return advance(learner, episodes) / (episodes * H) * 1e9


def own_costs(episodes: int) -> Costs:
    """What all of ours take."""
    return {
        theirs: {noise: own_cost(ours, noise == "on", episodes) for noise in ("off", "on")}
        for theirs, ours in OURS.items()
    }


def least(turns: list[Costs]) -> Costs:
    """The least of each figure."""
    return {
        name: {noise: min(turn[name][noise] for turn in turns) for noise in found}
        for name, found in turns[0].items()
    }


def measure(quick: bool) -> tuple[Costs, Costs]:
    """Ours and theirs; they take turns."""
    ours, theirs = scaled(EPISODES, quick), scaled(THEIR_EPISODES, quick)
    turns = [(own_costs(ours), their_costs(theirs)) for _ in range(scaled(REPEATS, quick))]
    return least([own for own, _ in turns]), least([their for _, their in turns])


def row(name: str, noise: str, ours: float, theirs: float) -> list[str]:
    """One line of the table."""
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
        for name, found in theirs.items()
        for noise, peer in found.items()
    ]
    print_table(
        "Agents on SixArms, beside rlberry's",
        ["one core", "ns/step", "steps/s", "rlberry: ns/step", "steps/s", "ratio"],
        rows,
    )
    return {"ns": ours, "rlberry_ns": theirs}
