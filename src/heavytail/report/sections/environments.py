"""The sections of environments and of their families: tables, growth, figures, tuning."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from heavytail.report.figures.figure import figure_id
from heavytail.report.number_format import duration, interval, percent
from heavytail.report.report_data import ReportData
from heavytail.report.sections.growth import make_family_growth, make_task_growth
from heavytail.report.sections.section import Section, make_legend, place_figure
from heavytail.report.tables import (
    Table,
    TableCell,
    format_parameters,
    make_agent_cell,
    make_number_cell,
    make_text_cell,
)
from heavytail.studies.backends.backend import EPISODES, TRUNCATED
from heavytail.studies.families import Family
from heavytail.studies.plan import Cell
from heavytail.studies.results import Agent, Task, counter_names, final_regret, final_reward

MEANINGS = {
    "phases": "how often a new policy was computed",
    "uniformity": "entropy of the actions played over its largest value; 1 is uniform play",
    EPISODES: "the number of episodes that ended",
    TRUNCATED: "rewards that truncation left out or changed, and their share of all steps",
    "cells_visited": "steps, states and actions ever tried",
    "restarts": "how often learning restarted",
    "predicted_reward": "the mean reward that the model predicts in the end",
    "residual_scale": "the median distance of rewards from the model's predictions",
    "outlier_share": "the share of rewards ten times as far from them",
}


class Counters(NamedTuple):
    """The agents' counters at the end of runs."""

    html_id: str
    meanings: str
    table: Table


def make_environment_section(data: ReportData, task: Task, title_prefix: str) -> Section:
    """Make the section of an environment."""
    content = {
        "optimum": None if task.optimum is None else f"{task.optimum:.4g}",
        "per": task.per,
        "horizon": task.horizon,
        "agents": _make_agents_table(data, task),
        "growth": make_task_growth(task, data.styles),
        "counters": _make_counters(data, task),
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
        "agents": _make_agents_table(data, family.members[-1]),
        "growth": make_family_growth(family, data.styles),
    }
    section = Section(
        f"family-{family.html_id}", family.label, f"{title_prefix}{family.label}", "family", content
    )
    return _with_figures(section, data, family.html_id, family.agents)


def _with_figures(section: Section, data: ReportData, html_id: str, agents: Sequence[Agent]) -> Section:
    """Add figures to a section, and one legend for all of them."""
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


# Tables of agents: parameters, results and counters


def _make_agents_table(data: ReportData, task: Task) -> Table:
    """Make the table of each agent's parameters and results."""
    cells = {cell.agent: cell for cell in data.cells if cell.env == task.key}
    headings = [
        "Agent",
        "Setting",
        "Parameters",
        *(["Final regret"] if task.optimum is not None else []),
        f"{task.reward.capitalize()} per {task.per}, last tenth",
        "Runs",
        "Time",
    ]
    rows = [_make_row(data, task, agent, cells[agent.key]) for agent in task.agents]
    return Table(headings, rows, f"{task.html_id}-agents")


def _make_row(data: ReportData, task: Task, agent: Agent, cell: Cell) -> list[TableCell]:
    seconds, runs = data.seconds[agent.key, task.key], len(agent.runs.replicates)
    failed = f"{agent.runs.failed} failed" if agent.runs.failed else ""
    tuning = f"tuning {duration(seconds['tuning'])}" if "tuning" in seconds else ""
    return [
        make_agent_cell(data.styles[agent.key], agent.label),
        make_text_cell(agent.setting),
        _make_parameters_cell(cell, data.spec.agents[agent.key].parameters),
        *([_make_regret_cell(agent, task)] if task.optimum is not None else []),
        _make_last_tenth_cell(agent, task),
        make_number_cell(str(runs), runs, failed),
        make_number_cell(duration(seconds["evaluation"]), seconds["evaluation"], tuning),
    ]


def _make_regret_cell(agent: Agent, task: Task) -> TableCell:
    median = [float(x) for x in task.aggregation.median(final_regret(agent.runs))]
    return make_number_cell(interval(*median), median[0])


def _make_last_tenth_cell(agent: Agent, task: Task) -> TableCell:
    """Make the cell of the reward, and its share of the optimum if known."""
    median = [float(x) for x in task.aggregation.median(final_reward(agent.runs))]
    share = f"{percent(*(x / task.optimum for x in median))} of the optimum" if task.optimum else ""
    return make_number_cell(interval(*median), median[0], share)


def _make_parameters_cell(cell: Cell, given: Mapping[str, Any]) -> TableCell:
    """Make the cell of the tuned parameters, those of the spec, and the defaults on demand."""
    full = cell.parameters()
    chosen = {name: _with_word(value, full.get(name)) for name, value in cell.point.items()}
    fixed = {name: _with_word(value, full.get(name)) for name, value in given.items()}
    defaults = {name: value for name, value in full.items() if name not in chosen and name not in fixed}
    notes = [format_parameters(fixed)] if fixed else []
    return TableCell([format_parameters(chosen)], kind="long", notes=notes, more=format_parameters(defaults))


def _with_word(given: Any, value: Any) -> Any:
    """Add to a value the word that stood for it in the spec."""
    return f"{value:.4g} ({given})" if isinstance(given, str) and isinstance(value, float) else value


def _make_counters(data: ReportData, task: Task) -> Counters | None:
    """Make the table of the agents' counters at the end of the run; None if they count nothing."""
    names = counter_names(task.agents)
    if not names:
        return None
    rows = [
        [make_agent_cell(data.styles[agent.key], agent.label)]
        + [_make_counter_cell(agent, task, name) for name in names]
        for agent in task.agents
        if agent.runs.counters
    ]
    meanings = "; ".join(f"{name}: {MEANINGS[name]}" for name in names if name in MEANINGS)
    return Counters(figure_id(task.html_id, "counters"), meanings, Table(["Agent", *names], rows))


def _make_counter_cell(agent: Agent, task: Task, name: str) -> TableCell:
    if name not in agent.runs.counters:
        return make_number_cell("–", -1.0)
    median = [float(x) for x in task.aggregation.median(agent.runs.counters[name][:, -1])]
    steps = int(agent.runs.at[-1]) * task.horizon
    share = f"{percent(median[0] / steps)} of {steps:,} steps" if name == TRUNCATED else ""
    return make_number_cell(interval(*median), median[0], share)
