"""The picture that answers a study's question, at the top of its report.

The spec decides which: a study with sweeps asks where its agents work, so it gets a map; one with families
asks what happens along their axes, so it gets curves over them, a panel for each family. Any other study asks
who does best: it gets each agent's reward with its interval, a panel for each environment, or one for all of
them if there are many.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from heavytail.report.figures.figure import (
    Axis,
    Curves,
    Figure,
    Row,
    Rows,
    SmallMultiples,
    Styles,
)
from heavytail.report.leaderboard import Standing
from heavytail.studies.families import Family
from heavytail.studies.results import Agent, Task, final_reward

FIRST = "first"  # name of the figure
MAX_PANELS = 16


def choose_first_figure(
    figures: Mapping[str, Sequence[Figure]],
    families: Sequence[Family],
    tasks: Sequence[Task],
    styles: Styles,
    leaderboard: Sequence[Standing],
) -> Figure | None:
    """Choose the first figure of a study without sweeps; None if no run has results.

    Args:
        figures: the figures of families, by their ids in the page.
        families: the families of the study.
        tasks: environments in no family.
        styles: the styles of agents.
        leaderboard: the leaderboard of the study.
    """
    if 0 < len(families) <= MAX_PANELS:
        return _join_families([(family, figures[family.html_id][0]) for family in families])
    shown = [task for task in tasks if task.agents]
    if 0 < len(shown) <= MAX_PANELS:
        return _compare_in_each(shown, styles, [standing.agent for standing in leaderboard])
    return _compare_over_all(leaderboard, styles) if leaderboard else None


def _join_families(families: Sequence[tuple[Family, Figure]]) -> Figure:
    """Place the first figures of all families side by side."""
    panels = [
        (family.label, figure.content) for family, figure in families if isinstance(figure.content, Curves)
    ]
    first = families[0][1]
    return Figure(first.title, first.caption, SmallMultiples(panels), name=FIRST)


def _compare_in_each(tasks: Sequence[Task], styles: Styles, order: Sequence[str]) -> Figure:
    """Show what each agent earns in the end, in each environment, in the order of the leaderboard."""
    shares = all(task.optimum is not None and task.optimum > 0 for task in tasks)
    what = f"{tasks[0].reward} per {tasks[0].per} in the last tenth"
    axis = Axis("of the optimum", percent=True) if shares else Axis(what)
    panels = [
        (
            task.label,
            Rows(
                axis,
                [
                    _make_row(task, agent, styles, task.optimum if shares and task.optimum else 1.0)
                    for agent in sorted(task.agents, key=lambda agent: _place(agent.key, order))
                ],
                1.0 if shares else task.optimum,
            ),
        )
        for task in tasks
    ]
    confidence = f"{tasks[0].aggregation.confidence:.0%}"
    caption = f"Median {what} with its {confidence} bootstrap interval over seeds."
    if any(panel.reference is not None for _, panel in panels):
        caption += " The thin line is the best policy."
    return Figure("What each agent earns in the end", caption, SmallMultiples(panels), name=FIRST)


def _make_row(task: Task, agent: Agent, styles: Styles, whole: float) -> Row:
    median = task.aggregation.median(final_reward(agent.runs))
    estimate, low, high = (float(x) / whole for x in median)
    return Row(agent.key, agent.label, styles[agent.key], estimate, low, high)


def _place(agent: str, order: Sequence[str]) -> float:
    return order.index(agent) if agent in order else np.inf


def _compare_over_all(leaderboard: Sequence[Standing], styles: Styles) -> Figure:
    rows = []
    for each in leaderboard:
        estimate, low, high = map(float, each.share)
        rows.append(Row(each.agent, each.label, styles[each.agent], estimate, low, high))
    caption = (
        "How often a run of an agent earns more in its last tenth than a run of another agent in the same"
        " environment, over all environments, with its bootstrap interval."
    )
    content = Rows(Axis("runs of other agents that are beaten", percent=True), rows, 0.5)
    return Figure("Who beats whom", caption, content, name=FIRST)
