"""How fast regret grows, beside how fast theory says it may: a table of exponents."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats
from heavytail.report.html_tables import Cell, named, numeric, table
from heavytail.report.number_format import interval, number, percent
from heavytail.report.theme import AgentStyle
from heavytail.statistics import exponent_of, growth_exponent
from heavytail.studies.bound_lines import BoundLine
from heavytail.studies.families import Family
from heavytail.studies.results import Agent, Aggregation, Task
from heavytail.studies.seeds import SpawnKey, make_rng


class Growing(NamedTuple):
    """The regret of an agent along an axis."""

    agent: Agent
    values: Floats  # [run, point]


def growth_of_task(task: Task, styles: Mapping[str, AgentStyle]) -> str:
    """The exponents of curves along a run, if theory has a word on them."""
    if not task.bounds:
        return ""
    words = (
        "Exponent of the mean regret over the last two decades of the run, with its bootstrap interval"
        " over seeds; of a bound, there and in the limit."
    )
    rows = [Growing(agent, agent.runs.regret) for agent in task.agents]
    at = task.agents[0].runs.at.astype(np.float64) if task.agents else np.empty(0)
    return _section(words, _growth(at, rows, task.bounds, styles, task.aggregation))


def growth_of_family(family: Family, styles: Mapping[str, AgentStyle]) -> str:
    """The exponents of final regrets along the axis of a family.

    Where that is not the length of runs, which member is worst.
    """
    rows = [Growing(agent, family.regrets(agent.key)) for agent in family.agents]
    if family.grows:
        words = (
            "Exponent of the mean final regret over the last two decades, each length with runs of its"
            " own, with its bootstrap interval over seeds; of a bound, there and in the limit."
        )
        return _section(
            words, _growth(family.at, rows, family.bounds, styles, family.members[-1].aggregation)
        )
    return _section(f"The largest mean final regret over all {family.axis}.", _worst(family, rows, styles))


def _section(words: str, content: str) -> str:
    return f"<h3>Growth</h3>\n<p class=quiet>{escape(words)}</p>\n{content}"


def _growth(
    at: Floats,
    rows: Sequence[Growing],
    bounds: Sequence[BoundLine],
    styles: Mapping[str, AgentStyle],
    aggregation: Aggregation,
) -> str:
    at_stake = next((bound.at_stake for bound in bounds if np.isfinite(bound.at_stake)), np.nan)
    agents = [_agent(at, row, styles[row.agent.key], aggregation, at_stake) for row in rows]
    return table(
        ["", "Exponent", "Mean regret at the end", "Of all that can be lost"],
        [*agents, *(_bound(each, at_stake) for each in bounds)],
    )


def _agent(
    at: Floats, row: Growing, look: AgentStyle, aggregation: Aggregation, at_stake: float
) -> list[Cell]:
    rng = make_rng(aggregation.seed, SpawnKey.GROWTH)
    found = growth_exponent(
        at, row.values, rng=rng, confidence=aggregation.confidence, resamples=aggregation.resamples
    )
    exponent = [float(x) for x in found]
    return [
        named(look, row.agent.label),
        numeric(interval(*exponent, digits=2), exponent[0]),
        *_end(float(row.values[:, -1].mean()), at_stake),
    ]


def _bound(line: BoundLine, at_stake: float) -> list[Cell]:
    here = exponent_of(line.at, line.values)
    exponent = numeric(number(here, 2), here, f"{number(line.limit, 2)} in the limit")
    return [Cell(escape(line.label), line.label), exponent, *_end(float(line.values[-1]), at_stake)]


def _end(regret: float, at_stake: float) -> list[Cell]:
    return [numeric(number(regret), regret), numeric(percent(regret / at_stake), regret / at_stake)]


def _worst(family: Family, rows: Sequence[Growing], styles: Mapping[str, AgentStyle]) -> str:
    agents = [
        [named(styles[row.agent.key], row.agent.label), *_largest(family, row.values.mean(axis=0))]
        for row in rows
    ]
    bounds = [
        [Cell(escape(line.label), line.label), *_largest(family, line.values)] for line in family.bounds
    ]
    return table(["", "Largest regret", f"at {family.axis}", "Over gap × length there"], [*agents, *bounds])


def _largest(family: Family, regrets: Floats) -> list[Cell]:
    """Of one number for each member the largest, and where it is."""
    where = int(regrets.argmax())
    regret, at = float(regrets[where]), float(family.at[where])
    share = np.nan if family.at_stake is None else regret / float(family.at_stake[where])
    return [numeric(number(regret), regret), numeric(number(at), at), numeric(number(share, 2), share)]
