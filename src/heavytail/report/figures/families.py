"""Families of environments that differ in one number, such as the length of a run.

Final regret against that number.

An exponent of T that theory gives for the worst MDP, or for an MDP that changes a given number of times, is
not that of a curve along a run: each T has its own environment and its own runs.
"""

from collections.abc import Callable, Mapping

import numpy as np

from heavytail.arrays import Floats
from heavytail.report.figures.curves import FigureSpec
from heavytail.report.figures.render_plotly import Lines, Traces, band, bound_line, layout, line, positive
from heavytail.report.theme import AgentStyle
from heavytail.studies.bound_lines import in_words
from heavytail.studies.families import Family
from heavytail.studies.results import Agent


def family_figures(family: Family, styles: Mapping[str, AgentStyle]) -> list[FigureSpec]:
    """In the order of the page."""
    if family.at_stake is None:
        return [regret_figure(family, styles)]
    return [regret_figure(family, styles), share_figure(family, styles, family.at_stake)]


def regret_figure(family: Family, styles: Mapping[str, AgentStyle]) -> FigureSpec:
    """Final regret along the axis, on logarithmic axes, with the bounds that the study names."""
    caption = (
        "Mean final regret over seeds, each point an environment of its own; the band is its"
        f" {_confidence(family)} bootstrap interval."
    )
    caption += in_words(family.bounds)
    shown = _figure(
        family,
        styles,
        "regret",
        f"Final regret against {family.axis}",
        caption,
        lambda a: family.regrets(a.key),
        "final regret",
    )
    shown.layout["yaxis"].update(type="log", exponentformat="power", dtick=1)
    return shown._replace(traces=[*positive(shown.traces), *map(bound_line, family.bounds)])


def share_figure(family: Family, styles: Mapping[str, AgentStyle], at_stake: Floats) -> FigureSpec:
    """Final regret as a share of what the second best policy would lose."""
    caption = (
        "Mean final regret over what the second best policy would lose in a whole run, with its"
        f" {_confidence(family)} bootstrap interval. Who learns nothing is near 1."
    )
    return _figure(
        family,
        styles,
        "share",
        "Regret over gap times length",
        caption,
        lambda a: family.regrets(a.key) / at_stake,
        "regret / (gap × length)",
    )


def _confidence(family: Family) -> str:
    return f"{family.members[-1].aggregation.confidence:.0%}"


def _figure(
    family: Family,
    styles: Mapping[str, AgentStyle],
    name: str,
    title: str,
    caption: str,
    values: Callable[[Agent], Floats],
    y: str,
) -> FigureSpec:
    traces: Traces = []
    for agent in family.agents:
        found = Lines(*family.mean(values(agent)))
        if np.isfinite(found.low).any():
            traces.append(band(agent, styles[agent.key], family.at, found))
        traces.append(line(agent, styles[agent.key], family.at, found.middle))
    made = layout(family.axis, y)
    made["xaxis"].update(type="log", exponentformat="power", dtick=1)
    return FigureSpec(name, title, caption, traces, made)
