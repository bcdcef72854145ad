"""What models of the reward believe: a section of its own, where there are such models."""

from heavytail.report.figures.figure import Curves, SmallMultiples
from heavytail.report.figures.reward_beliefs import BELIEFS
from heavytail.report.report_data import ReportData
from heavytail.report.sections.section import LegendEntry, LegendGroup, Section, place_figure


def make_beliefs_section(data: ReportData, title: str, title_prefix: str) -> Section:
    """Make the section: a figure for each belief, and one legend for all."""
    place = f"{data.prefix}{BELIEFS}"
    figures = [place_figure(place, figure) for figure in data.figures[place]]
    content = {"env": place, "legend": _make_legend(data)}
    return Section(f"models-{place}", title, f"{title_prefix}{title}", "beliefs", content, figures)


def _make_legend(data: ReportData) -> list[LegendGroup]:
    """All that is drawn, agents and members of families, each once."""
    entries: dict[str, LegendEntry] = {}
    for figure in data.figures[f"{data.prefix}{BELIEFS}"]:
        panels = figure.content.panels if isinstance(figure.content, SmallMultiples) else []
        for _, panel in panels:
            for curve in panel.curves if isinstance(panel, Curves) else []:
                entries[curve.agent] = LegendEntry(curve.agent, curve.label, curve.style)
    return [LegendGroup("", list(entries.values()))]
