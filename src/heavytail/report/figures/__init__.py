"""The figures of a task, as the page draws them."""

from collections.abc import Callable, Mapping

from heavytail.report.figures import curves, strips
from heavytail.report.figures.curves import FigureSpec
from heavytail.report.theme import AgentStyle
from heavytail.studies.backends.backend import TRUNCATED
from heavytail.studies.results import Task

DRAWN: Mapping[str, Callable[[Task, Mapping[str, AgentStyle]], FigureSpec]] = {
    "regret": curves.regret_figure,
    "reward": curves.reward_figure,
    "pace": curves.pace_figure,
    "log-log": curves.log_log_figure,
    "realised": curves.realised_figure,
    "last-tenth": strips.last_tenth_strips,
    "final-regret": strips.final_regret_strips,
    TRUNCATED: curves.truncated_figure,
}


def figures_of(task: Task, styles: Mapping[str, AgentStyle]) -> list[FigureSpec]:
    """In the order of the page."""
    return [DRAWN[name](task, styles) for name in curves.figure_names(task)]
