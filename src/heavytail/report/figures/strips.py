"""Strips: a point for every seed, so that a reader need not trust a summary."""

from collections.abc import Callable

import numpy as np

from heavytail.arrays import Floats
from heavytail.registry import register
from heavytail.report.figures.figure import Axis, Figure, Row, Rows, Styles
from heavytail.studies.results import Runs, Task, final_regret, final_reward


@register("figure", "last-tenth")
def last_tenth(task: Task, styles: Styles) -> Figure:
    """Mean reward per unit of each run in its last tenth."""
    what = f"mean {task.reward} per {task.per}"
    best = ", the thin line the best policy" if task.optimum is not None else ""
    caption = (
        f"{what.capitalize()} in the last tenth of the run, one point per seed; the bar is the median{best}."
    )
    content = Rows(Axis(f"{what}, last tenth"), _make_rows(task, styles, final_reward), task.optimum)
    return Figure("Where each seed ended up", caption, content, order=6)


@register("figure", "final-regret")
def final_regrets(task: Task, styles: Styles) -> Figure | None:
    """The regret of each run."""
    if task.optimum is None:
        return None
    caption = "Regret of the whole run, one point per seed; the bar is the median."
    content = Rows(Axis("final regret (reward)"), _make_rows(task, styles, final_regret))
    return Figure("Final regret of each seed", caption, content, order=7)


def _make_rows(task: Task, styles: Styles, measure: Callable[[Runs], Floats]) -> list[Row]:
    rows = []
    for agent in task.agents:
        values = measure(agent.runs)
        rows.append(Row(agent.key, agent.label, styles[agent.key], float(np.median(values)), values=values))
    return rows
