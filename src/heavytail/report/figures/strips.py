"""Strips: every seed a point, so that a reader need not trust a summary."""

from collections.abc import Callable

from heavytail.arrays import Floats
from heavytail.registry import register
from heavytail.report.figures.figure import Axis, Figure, Strip, Strips, Styles
from heavytail.studies.results import Runs, Task, final_regret, final_reward


@register("figure", "last-tenth")
def last_tenth(task: Task, styles: Styles) -> Figure:
    """Mean reward per unit of each run in its last tenth."""
    what = f"mean {task.reward} per {task.per}"
    best = ", the thin line the best policy" if task.optimum is not None else ""
    caption = (
        f"{what.capitalize()} in the last tenth of the run, one point per seed; the bar is the median{best}."
    )
    strips = _make_strips(task, styles, final_reward)
    content = Strips(Axis(f"{what}, last tenth"), strips, task.optimum)
    return Figure("Where each seed ended up", caption, content, order=6)


@register("figure", "final-regret")
def final_regrets(task: Task, styles: Styles) -> Figure | None:
    """The regret of each run."""
    if task.optimum is None:
        return None
    caption = "Regret of the whole run, one point per seed; the bar is the median."
    strips = _make_strips(task, styles, final_regret)
    return Figure(
        "Final regret of each seed", caption, Strips(Axis("final regret (reward)"), strips), order=7
    )


def _make_strips(task: Task, styles: Styles, values: Callable[[Runs], Floats]) -> list[Strip]:
    return [Strip(agent.key, agent.label, styles[agent.key], values(agent.runs)) for agent in task.agents]
