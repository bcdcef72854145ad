"""Beliefs of models of the reward along a run: mean reward, scale of residuals, share of outliers.

There is one figure each, with a panel for every environment and family; a line is then a member.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from heavytail.report.figures.figure import AgentCurve, Axis, Curves, Figure, SmallMultiples, Styles
from heavytail.report.theme import AgentStyle, assign_styles
from heavytail.studies.families import Family
from heavytail.studies.results import Agent, Task

BELIEFS = "beliefs"  # id of the section


class Belief(NamedTuple):
    """A counter of models of the reward, and how it is shown."""

    counter: str
    name: str
    title: str
    caption: str
    axis: Axis


SHOWN = (
    Belief(
        "predicted_reward",
        "predicted",
        "Predicted reward",
        "Mean reward that models of the reward predict for what they have seen",
        Axis("predicted reward"),
    ),
    Belief(
        "residual_scale",
        "residuals",
        "Scale of residuals",
        "Median distance of rewards from the predictions of models of the reward",
        Axis("median |residual|"),
    ),
    Belief(
        "outlier_share",
        "outliers",
        "Outliers",
        "Rewards more than ten times as far from the predictions; none if noise is normal",
        Axis("share of rewards", percent=True),
    ),
)


class Line(NamedTuple):
    """The runs of a model in one environment, with their name in a panel."""

    name: str
    label: str
    task: Task
    agent: Agent


def make_belief_figures(tasks: Sequence[Task], families: Sequence[Family], styles: Styles) -> list[Figure]:
    """Make the figures of all beliefs; none if there are no models of the reward.

    Args:
        tasks: environments in no family.
        families: the families of the study.
        styles: the styles of agents.
    """
    panels = [(task.label, list(_list_agents(task))) for task in tasks]
    panels += [(family.label, list(_list_members(family))) for family in families]
    panels = [(title, lines) for title, lines in panels if lines]
    looks = {**styles, **assign_member_styles(families)}
    return [_make_figure(belief, panels, looks) for belief in SHOWN] if panels else []


def assign_member_styles(families: Sequence[Family]) -> dict[str, AgentStyle]:
    """Give each member of a family its style; members at the same place look alike in all families."""
    names = dict.fromkeys(line.name for family in families for line in _list_members(family))
    return assign_styles((name, "member") for name in names)


def _list_agents(task: Task) -> Iterator[Line]:
    for agent in task.agents:
        if _is_model(agent):
            yield Line(agent.key, agent.label, task, agent)


def _list_members(family: Family) -> Iterator[Line]:
    """Yield the models in every member, with their names if there are several."""
    models = {agent.key for task in family.members for agent in task.agents if _is_model(agent)}
    for task, at in zip(family.members, family.at.tolist(), strict=True):
        for line in _list_agents(task):
            name = f"{family.axis} {at:g}" if len(models) == 1 else f"{line.label}, {family.axis} {at:g}"
            yield line._replace(name=name, label=name)


def _is_model(agent: Agent) -> bool:
    return all(belief.counter in agent.runs.counters for belief in SHOWN)


def _make_figure(belief: Belief, panels: Sequence[tuple[str, list[Line]]], styles: Styles) -> Figure:
    aggregation, unit = panels[0][1][0].task.aggregation, panels[0][1][0].task.unit
    caption = f"{belief.caption}: median over seeds with its {aggregation.confidence:.0%} bootstrap interval."
    curves = [
        (title, Curves(Axis(f"{unit}s"), belief.axis, [_make_curve(belief, line, styles) for line in lines]))
        for title, lines in panels
    ]
    return Figure(belief.title, caption, SmallMultiples(curves), name=belief.name)


def _make_curve(belief: Belief, line: Line, styles: Styles) -> AgentCurve:
    middle, low, high = line.task.aggregation.median(line.agent.runs.counters[belief.counter])
    return AgentCurve(line.name, line.label, styles[line.name], line.agent.runs.at, middle, low, high)
