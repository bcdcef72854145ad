"""Time and memory of every agent on the paper's two tasks.

The paper remarks that Q-learning is cheaper than UCRL2 in both, and that the median of means needs all
samples, so that its cost grows with T. Here both agents and both estimators stand in one table, with the
bytes of the whole agent after 1e5, 1e6 and 1e7 steps.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import heavytail as ht
from _figures import amount_of_bytes, nanoseconds, print_table, scaled, verdict
from _trained import advance
from heavytail.arrays import record_bytes
from heavytail.registry import find, registered

TASKS, ONE_ARM = ("six_arms", "double_chain"), "one arm"
MOMENTS = (100_000, 1_000_000, 10_000_000)  # steps at which memory is read
EARLY_TURNS, TURNS = 3, 9  # into which a measurement is cut; the best of them is the time per step
SCALES = {"transition_scale": 0.01, "reward_scale": 0.1}  # at 1 no agent learns anything
# Agents for which other scales are better, or the example of the registry is not for these tasks
CHOSEN: dict[str, dict[str, Any]] = {
    "heavy_q_learning": {"reward_scale": 0.001},
    "psrl": {"reward_scale": 1.0},
    "restarting": {**SCALES, "epsilon": 0.05, "moment": 14.25},
}
TRUNCATED, BLOCKS = "truncated_mean", "median_of_means"
ESTIMATORS = {"heavy_ucrl2": (TRUNCATED, BLOCKS)}
PSRL_LIMIT = 600.0  # ns


class Case(NamedTuple):
    """An agent, and the estimator in it: one row of the table."""

    agent: str
    estimator: str | None = None

    @property
    def label(self) -> str:
        """Return the name in the table."""
        return self.agent if self.estimator is None else f"{self.agent}, {self.estimator}"

    def parameters(self) -> dict[str, Any]:
        """Return the example of the registry, with scales at which it learns."""
        entry = find("agent", self.agent)
        scales = {key: value for key, value in SCALES.items() if key in entry.parameters}
        chosen = {} if self.estimator is None else {"estimator": self.estimator}
        return {**entry.example, **scales, **CHOSEN.get(self.agent, {}), **chosen}


PAPERS = HEAVY_Q, UCRL2, UCRL2_BLOCKS = (
    Case("heavy_q_learning"),
    Case("heavy_ucrl2", TRUNCATED),
    Case("heavy_ucrl2", BLOCKS),
)


def cases() -> list[Case]:
    """List every registered agent, Heavy-UCRL2 with both estimators of the paper."""
    return [
        Case(entry.name, estimator)
        for entry in registered("agent")
        for estimator in ESTIMATORS.get(entry.name, (None,))
    ]


class Cost(NamedTuple):
    """The figures of a case."""

    early_ns: float  # per step, up to the second moment
    ns: float  # per step, after it
    bytes: list[int]  # at each of the moments
    earned: float  # after the second moment, as a share of the best policy's value


class Running:
    """A learner, and its memory at each moment."""

    def __init__(self, case: Case, mdp: ht.MDP) -> None:
        self.learner = ht.make_agent(mdp, case.agent, seed=0, **case.parameters())
        self.bytes: list[int] = []

    def go_on(self, steps: int) -> float:
        """Make so many more steps; return nanoseconds per step."""
        horizon = self.learner.problem.horizon
        return advance(self.learner, steps // horizon) / (steps // horizon * horizon) * 1e9

    def weigh(self) -> None:
        """Read the memory of the agent."""
        self.bytes.append(record_bytes(self.learner.agent))

    def so_far(self) -> tuple[int, float]:
        """Return episodes, and their total expected rewards."""
        return int(self.learner.run_state.episodes_or_steps[0]), float(self.learner.run_state.totals[0])


def in_turns(running: Mapping[Case, Running], steps: int, turns: int) -> dict[Case, float]:
    """Return the best nanoseconds per step of each; they take turns."""
    costs = [{case: run.go_on(steps // turns) for case, run in running.items()} for _ in range(turns)]
    for run in running.values():
        run.weigh()
    return {case: min(cost[case] for cost in costs) for case in running}


def measure(mdp: ht.MDP, chosen: Sequence[Case], quick: bool) -> dict[Case, Cost]:
    """Measure some agents on a task."""
    first, second, third = (scaled(moment, quick) for moment in MOMENTS)
    running = {case: Running(case, mdp) for case in chosen}
    in_turns(running, first, 1)  # compiles
    early = in_turns(running, second - first, EARLY_TURNS)
    before = {case: run.so_far() for case, run in running.items()}
    late = in_turns(running, third - second, TURNS)
    best = ht.planning.optimal_value(mdp)
    costs = {}
    for case, run in running.items():
        episodes, total = np.subtract(run.so_far(), before[case])
        costs[case] = Cost(early[case], late[case], run.bytes, float(total / episodes / best))
    return costs


def one_arm() -> ht.MDP:
    """Make an MDP with nothing to choose, so that all agents do the same."""
    return ht.mdp_from_arrays([[[1.0]]], laws=[[ht.laws.alpha_stable(1.1, loc=2.0)]], horizon=25)


def row(case: Case, cost: Cost) -> list[str]:
    """Make a row of the table."""
    return [
        case.label,
        nanoseconds(cost.early_ns),
        nanoseconds(cost.ns),
        *map(amount_of_bytes, cost.bytes),
        f"{100 * cost.earned:.0f} %",
    ]


def header(quick: bool) -> list[str]:
    """Return the names of the columns."""
    moments = [f"{scaled(moment, quick):.0e}".replace("e+0", "e") for moment in MOMENTS]
    return [
        "agent",
        f"ns/step to {moments[1]}",
        f"to {moments[2]}",
        f"memory at {moments[0]}",
        *moments[1:],
        "of the best value",
    ]


def remarks(costs: Mapping[str, Mapping[Case, Cost]], steps: int) -> list[str]:
    """State what the figures say about the paper's remarks."""
    q, planned, blocks = (costs[ONE_ARM][case] for case in PAPERS)
    lines = [
        (
            f"Time of {HEAVY_Q.label} on one arm: {q.ns / planned.ns:.2f} of {UCRL2.label}'s; the rest"
            " of the tables depends on what they play."
        )
    ]
    for task in TASKS:
        ratio = costs[task][HEAVY_Q].bytes[-1] / costs[task][UCRL2].bytes[-1]
        lines.append(f"Memory of {HEAVY_Q.label} on {task}: {ratio:.2f} of {UCRL2.label}'s.")
    growth = max(
        cost.bytes[-1] / cost.bytes[-2] for task in costs.values() for cost in task.values() if cost.bytes[-2]
    )
    largest = max(costs[task][UCRL2_BLOCKS].bytes[-1] for task in TASKS)
    lines += [
        (
            f"{BLOCKS} on one arm: {blocks.ns / planned.ns:.2f} of the time that {TRUNCATED} takes, and"
            f" {blocks.ns / blocks.early_ns:.2f} of its own before."
        ),
        (
            f"{BLOCKS} keeps {amount_of_bytes(largest)} at most; all {steps:,} rewards would be"
            f" {amount_of_bytes(8 * steps)}."
        ),
        f"With ten times the steps no agent grows by more than {growth:.2f}.",
    ]
    return lines


def section(quick: bool) -> dict[str, Any]:
    """Measure, print, and return the figures."""
    costs = {task: measure(ht.make_mdp(task), cases(), quick) for task in TASKS} | {
        ONE_ARM: measure(one_arm(), PAPERS, quick)
    }
    for task, by_case in costs.items():
        print_table(
            f"Agents on {task}: time per step and memory of the whole agent",
            header(quick),
            [row(*item) for item in by_case.items()],
        )
    print("\n".join(remarks(costs, scaled(MOMENTS[-1], quick))))
    psrl = costs["six_arms"][Case("psrl")].ns
    print(f"psrl on six_arms: {psrl:.0f} ns a step, <= {PSRL_LIMIT:.0f} {verdict(psrl, PSRL_LIMIT)}.")
    return {
        task: {case.label: cost._asdict() for case, cost in by_case.items()}
        for task, by_case in costs.items()
    }
