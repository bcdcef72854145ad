"""The growth of regret beside the growth that theory allows: a table of exponents."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats
from heavytail.report.figures.figure import Styles
from heavytail.report.number_format import interval, number, percent
from heavytail.report.tables import Table, TableCell, make_agent_cell, make_number_cell, make_text_cell
from heavytail.report.theme import AgentStyle
from heavytail.statistics import growth_exponent
from heavytail.statistics.growth import exponent_of
from heavytail.studies.families import Family
from heavytail.studies.results import Agent, Aggregation, BoundLine, Task
from heavytail.studies.specs.spec import SpawnKey, make_rng


class Growth(NamedTuple):
    """A table, and a description of it."""

    words: str
    table: Table


class RegretAlongAxis(NamedTuple):
    """The regret of an agent along an axis."""

    agent: Agent
    values: Floats  # [run, point]


def make_task_growth(task: Task, styles: Styles) -> Growth | None:
    """Make the table of exponents along a run; None where the study names no bounds."""
    if not task.bounds:
        return None
    words = (
        "Exponent of the mean regret over the last two decades of the run, with its bootstrap interval"
        " over seeds; of a bound, there and in the limit."
    )
    rows = [RegretAlongAxis(agent, agent.runs.regret) for agent in task.agents]
    at = task.agents[0].runs.at.astype(np.float64) if task.agents else np.empty(0)
    return Growth(words, _make_exponents(at, rows, task.bounds, styles, task.aggregation))


def make_family_growth(family: Family, styles: Styles) -> Growth | None:
    """Make the table of exponents of final regrets along the axis of a family; None without regret.

    If the axis is not the length of runs, the table shows the worst member instead.
    """
    if not family.has_optimum:
        return None
    rows = [RegretAlongAxis(agent, family.regrets(agent.key)) for agent in family.agents]
    if not family.grows:
        words = f"The largest mean final regret over all {family.axis}."
        return Growth(words, _make_worst(family, rows, styles))
    words = (
        "Exponent of the mean final regret over the last two decades, each length with runs of its"
        " own, with its bootstrap interval over seeds; of a bound, there and in the limit."
    )
    aggregation = family.members[-1].aggregation
    return Growth(words, _make_exponents(family.at, rows, family.bounds, styles, aggregation))


def _make_exponents(
    at: Floats,
    rows: Sequence[RegretAlongAxis],
    bounds: Sequence[BoundLine],
    styles: Styles,
    aggregation: Aggregation,
) -> Table:
    at_stake = next((bound.at_stake for bound in bounds if np.isfinite(bound.at_stake)), np.nan)
    agents = [_make_agent_row(at, row, styles[row.agent.key], aggregation, at_stake) for row in rows]
    headings = ["", "Exponent", "Mean regret at the end", "Share of the possible loss"]
    return Table(headings, [*agents, *(_make_bound_row(bound, at_stake) for bound in bounds)])


def _make_agent_row(
    at: Floats, row: RegretAlongAxis, style: AgentStyle, aggregation: Aggregation, at_stake: float
) -> list[TableCell]:
    rng = make_rng(aggregation.seed, SpawnKey.GROWTH)
    estimate = growth_exponent(
        at, row.values, rng=rng, confidence=aggregation.confidence, resamples=aggregation.resamples
    )
    exponent = [float(x) for x in estimate]
    return [
        make_agent_cell(style, row.agent.label),
        make_number_cell(interval(*exponent, digits=2), exponent[0]),
        *_make_end_cells(float(row.values[:, -1].mean()), at_stake),
    ]


def _make_bound_row(line: BoundLine, at_stake: float) -> list[TableCell]:
    here = exponent_of(line.at, line.values)
    exponent = make_number_cell(number(here, 2), here, f"{number(line.limit, 2)} in the limit")
    return [make_text_cell(line.label), exponent, *_make_end_cells(float(line.values[-1]), at_stake)]


def _make_end_cells(regret: float, at_stake: float) -> list[TableCell]:
    share = regret / at_stake
    return [make_number_cell(number(regret), regret), make_number_cell(percent(share), share)]


def _make_worst(family: Family, rows: Sequence[RegretAlongAxis], styles: Styles) -> Table:
    agents = [
        [
            make_agent_cell(styles[row.agent.key], row.agent.label),
            *_make_largest_cells(family, row.values.mean(axis=0)),
        ]
        for row in rows
    ]
    bounds = [
        [make_text_cell(line.label), *_make_largest_cells(family, line.values)] for line in family.bounds
    ]
    return Table(["", "Largest regret", f"at {family.axis}", "Over gap × length there"], [*agents, *bounds])


def _make_largest_cells(family: Family, regrets: Floats) -> list[TableCell]:
    """Make the cells of the largest of the members' numbers, and of where it is."""
    where = int(regrets.argmax())
    regret, at = float(regrets[where]), float(family.at[where])
    share = np.nan if family.at_stake is None else regret / float(family.at_stake[where])
    return [
        make_number_cell(number(regret), regret),
        make_number_cell(number(at), at),
        make_number_cell(number(share, 2), share),
    ]
