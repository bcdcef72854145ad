"""The sections of environments and of their families: tables, growth, figures, tuning."""

from collections.abc import Sequence
from typing import Any

from heavytail.report.report_data import ReportData
from heavytail.report.sections.agents import make_agents_table, make_counters
from heavytail.report.sections.growth import make_family_growth, make_task_growth
from heavytail.report.sections.section import Section, make_legend, place_figure
from heavytail.studies.families import Family
from heavytail.studies.results import Agent, Task


def make_environment_section(data: ReportData, task: Task, title_prefix: str) -> Section:
    """Make the section of an environment."""
    content = {
        "optimum": None if task.optimum is None else f"{task.optimum:.4g}",
        "per": task.per,
        "horizon": task.horizon,
        "agents": make_agents_table(data, task),
        "growth": make_task_growth(task, data.styles),
        "counters": make_counters(data, task),
        "tuning": _make_tuning_content(data, task),
    }
    section = Section(
        f"env-{task.html_id}", task.label, f"{title_prefix}{task.label}", "environment", content
    )
    return _with_figures(section, data, task.html_id, task.agents)


def make_family_section(data: ReportData, family: Family, title_prefix: str) -> Section:
    """Make the section of a family."""
    content: dict[str, Any] = {
        "members": len(family.members),
        "axis": family.axis,
        "agents": make_agents_table(data, family.members[-1]),
        "growth": make_family_growth(family, data.styles),
    }
    section = Section(
        f"family-{family.html_id}", family.label, f"{title_prefix}{family.label}", "family", content
    )
    return _with_figures(section, data, family.html_id, family.agents)


def _with_figures(section: Section, data: ReportData, html_id: str, agents: Sequence[Agent]) -> Section:
    """A section with its figures, and the legend that is for all of them."""
    placed = [place_figure(html_id, figure) for figure in data.figures[html_id]]
    legend = {"env": html_id, "legend": make_legend(agents, data.styles)}
    return section._replace(content={**section.content, **legend}, figures=placed)


def _make_tuning_content(data: ReportData, task: Task) -> dict[str, Any] | None:
    """Describe the grids of one environment; None if there are none."""
    grids = [grid for grid in data.grids if grid.env == task.key]
    if not grids:
        return None
    measure, tuning = grids[0].heat_maps.measure, data.spec.tuning
    return {
        "words": measure.words.capitalize(),
        "seeds": tuning.seeds,
        "share": f"{tuning.share:.0%}",
        "scale": "a scale" if measure.large_is_good else "a logarithmic scale",
        "grids": [
            {
                "style": data.styles[grid.agent],
                "label": grid.label,
                "figure": place_figure(task.html_id, grid.heat_maps.make_figure()),
                "change": None if grid.review.change is None else f"{grid.review.change:.0%}",
                "remarks": list(grid.review.remarks()),
            }
            for grid in grids
        ],
    }
