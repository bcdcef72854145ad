"""The figures of families for paper."""

from collections.abc import Callable, Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from heavytail.arrays import Floats
from heavytail.report.figures.render_matplotlib import draw_bound, draw_line, dress, single
from heavytail.report.figures.render_plotly import Lines
from heavytail.report.theme import AgentStyle
from heavytail.studies.families import Family
from heavytail.studies.results import Agent


def paper_family_figures(family: Family, styles: Mapping[str, AgentStyle]) -> dict[str, Figure]:
    """All figures of a family by the names that they have in the page."""

    def drawn(values: Callable[[Agent], Floats], y: str, *, log: bool) -> Figure:
        return single(family.agents, styles, lambda axes: _draw(axes, family, styles, values, y, log=log))

    found = {"regret": drawn(lambda agent: family.regrets(agent.key), "final regret", log=True)}
    if (stake := family.at_stake) is not None:
        found["share"] = drawn(
            lambda agent: family.regrets(agent.key) / stake, "regret / (gap × length)", log=False
        )
    return found


def _draw(
    axes: Axes,
    family: Family,
    styles: Mapping[str, AgentStyle],
    values: Callable[[Agent], Floats],
    y: str,
    *,
    log: bool,
) -> None:
    for agent in family.agents:
        draw_line(axes, styles[agent.key], family.at, Lines(*family.mean(values(agent))))
    axes.set_xscale("log")
    if log:
        axes.set_yscale("log")
        for bound in family.bounds:
            draw_bound(axes, bound)
    dress(axes, family.axis, y)
