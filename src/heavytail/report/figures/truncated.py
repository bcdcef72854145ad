"""The share of truncated rewards along a run."""

import math

import numpy as np

from heavytail.arrays import Floats
from heavytail.registry import register
from heavytail.report.figures.curves import along_run
from heavytail.report.figures.figure import Axis, Figure, Styles
from heavytail.studies.results import Task, truncated_shares


@register("figure", "truncated")
def truncated(task: Task, styles: Styles) -> Figure | None:
    """Truncated rewards so far; the axis is logarithmic, since shares go from 1/2 to 1/1000 and below."""
    if not task.truncating:
        return None
    caption = (
        "Rewards that truncation left out or changed, as a share of all steps so far: median over seeds with"
        f" its {task.aggregation.confidence:.0%} bootstrap interval. The axis is logarithmic, and who"
        " truncated nothing is not on it."
    )
    shares = {agent.key: truncated_shares(agent.runs, task.horizon) for agent in task.truncating}
    low, high = find_decades(np.concatenate([np.median(values, axis=0) for values in shares.values()]))
    y = Axis("share of rewards truncated so far", log=True, percent=True, limits=(10.0**low, 10.0**high))
    content = along_run(
        task._replace(agents=task.truncating),
        styles,
        lambda agent: task.aggregation.median(shares[agent.key]),
        y,
    )
    return Figure("Truncated rewards", caption, content, order=8)


def find_decades(values: Floats) -> tuple[int, int]:
    """Find the powers of ten between which all positive values are: the ends of a logarithmic axis.

    >>> find_decades(np.array([0.0, 0.03, 0.96])), find_decades(np.array([0.1]))
    ((-2, 0), (-1, 0))
    """
    positive = values[values > 0]
    low = math.floor(math.log10(positive.min()))
    return low, max(math.ceil(math.log10(positive.max())), low + 1)
