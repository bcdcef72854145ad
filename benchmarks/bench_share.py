"""The share of planning in the time of Heavy-UCRL2, at the length of the paper's runs.

A plan is timed by itself: the phase that follows the run, intervals and extended value iteration, over and
over on the record that the run left. The share is the number of phases times that, over the time of the run.
It is an upper estimate, since no earlier plan had more successors or samples to look at.
"""

from typing import Any, NamedTuple

import heavytail as ht
from _figures import cpu_seconds, print_table, scaled, verdict
from _trained import advance
from bench_costs import TASKS, UCRL2, UCRL2_BLOCKS, Case
from heavytail.agents.ucrl2 import new_phase
from heavytail.arrays import Record
from heavytail.kernels.compiling import entry

EPISODES = 500_000
PLANS, REPEATS = 200, 5
LIMIT = 0.5


class Share(NamedTuple):
    """The figures of a run."""

    seconds: float
    phases: int
    plan_seconds: float  # of one plan

    @property
    def share(self) -> float:
        """Return the share of planning in the time of the run."""
        return self.phases * self.plan_seconds / self.seconds


def plan_often(agent: Record, times: int) -> None:
    """Start so many phases, one after the other."""
    for _ in range(times):
        new_phase(agent)


def plan_cost(agent: Record, plans: int) -> float:
    """Return the seconds of one plan."""
    compiled = entry(plan_often, agent)
    compiled(agent, 1)
    best = float("inf")
    for _ in range(REPEATS):
        started = cpu_seconds()
        compiled(agent, plans)
        best = min(best, (cpu_seconds() - started) / plans)
    return best


def measure(case: Case, task: str, quick: bool) -> Share:
    """Measure a run, and one plan at its end."""
    learner = ht.make_agent(ht.make_mdp(task), case.agent, seed=0, **case.parameters())
    advance(learner, 1)  # compiles, or loads
    seconds = advance(learner, scaled(EPISODES, quick))
    phases = int(learner.agent.phases[0])
    return Share(seconds, phases, plan_cost(learner.agent, scaled(PLANS, quick)))


def section(quick: bool) -> dict[str, Any]:
    """Measure, print, and return the figures."""
    shares = {(task, case): measure(case, task, quick) for task in TASKS for case in (UCRL2, UCRL2_BLOCKS)}
    rows = [
        [
            f"{task}, {case.label}",
            f"{x.seconds:.2f}",
            f"{x.phases:,}",
            f"{1e6 * x.plan_seconds:.1f}",
            f"{100 * x.share:.2f} %",
            verdict(x.share, LIMIT),
        ]
        for (task, case), x in shares.items()
    ]
    header = ["task and agent", "run, s", "phases", "one plan, us", "planning", f"<= {100 * LIMIT:.0f} %"]
    print_table(
        f"Planning in runs of {scaled(EPISODES, quick):,} episodes: phases x one plan, over the whole",
        header,
        rows,
    )
    return {f"{task}, {case.label}": {**x._asdict(), "share": x.share} for (task, case), x in shares.items()}
