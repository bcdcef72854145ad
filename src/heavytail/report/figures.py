"""The figures of a task, as the page draws them."""

from collections.abc import Callable, Mapping

from heavytail.report import curves_shown, curves_strips
from heavytail.report.curves import TRUNCATED, Task
from heavytail.report.curves_shown import Shown
from heavytail.report.theme import Look

DRAWN: Mapping[str, Callable[[Task, Mapping[str, Look]], Shown]] = {
    "regret": curves_shown.regret_figure,
    "reward": curves_shown.reward_figure,
    "pace": curves_shown.pace_figure,
    "log-log": curves_shown.log_log_figure,
    "realised": curves_shown.realised_figure,
    "last-tenth": curves_strips.last_tenth_strips,
    "final-regret": curves_strips.final_regret_strips,
    TRUNCATED: curves_shown.truncated_figure,
}


def figures_of(task: Task, looks: Mapping[str, Look]) -> list[Shown]:
    """In the order of the page."""
    return [DRAWN[name](task, looks) for name in task.figures]
