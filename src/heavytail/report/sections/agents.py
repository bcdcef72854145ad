"""Agents in one environment as tables: with which parameters, how well, in what time.

And what they counted.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from heavytail.report.html_tables import Cell, named, numeric, parameters, table, text
from heavytail.report.number_format import duration, interval, percent
from heavytail.report.page import figure_id
from heavytail.report.theme import AgentStyle
from heavytail.studies.backends.backend import EPISODES, TRUNCATED
from heavytail.studies.plan import Cell as Study_cell
from heavytail.studies.plan import Phase
from heavytail.studies.results import Agent, Task, counter_names, final_regret, mean_reward_in
from heavytail.studies.specs.spec import Spec

MEANINGS = {
    "phases": "how often a new policy was computed",
    "uniformity": "entropy of the actions played over its largest value; 1 is uniform play",
    EPISODES: "how many ended",
    TRUNCATED: "rewards that truncation left out or changed, and their share of all steps",
    "cells_visited": "steps, states and actions ever tried",
    "restarts": "how often learning began anew",
}


def agents_table(
    task: Task,
    styles: Mapping[str, AgentStyle],
    spec: Spec,
    cells: Sequence[Study_cell],
    seconds: Mapping[tuple[str, str], Mapping[Phase, float]],
) -> str:
    """What each agent was and what it reached."""
    by_agent = {cell.agent: cell for cell in cells if cell.env == task.key}
    rows = [
        _row(agent, task, styles[agent.key], spec, by_agent[agent.key], seconds[agent.key, task.key])
        for agent in task.agents
    ]
    regret = ["Final regret"] if task.optimum is not None else []
    headings = [
        "Agent",
        "Setting",
        "Parameters",
        *regret,
        f"{task.reward.capitalize()} per {task.per}, last tenth",
        "Runs",
        "Time",
    ]
    return table(headings, rows, name=f"{task.place}-agents")


def _row(
    agent: Agent, task: Task, look: AgentStyle, spec: Spec, cell: Study_cell, seconds: Mapping[Phase, float]
) -> list[Cell]:
    failed = f"<small>{agent.runs.failed} failed</small>" if agent.runs.failed else ""
    tuning = f"<small>tuning {duration(seconds['tuning'])}</small>" if "tuning" in seconds else ""
    runs = len(agent.runs.replicates)
    return [
        named(look, agent.label),
        text(agent.setting),
        Cell(_parameters(cell, spec.agents[agent.key].parameters), kind="long"),
        *([_final_regret(agent, task)] if task.optimum is not None else []),
        _last_tenth(agent, task),
        Cell(f"{runs}{failed}", runs, "number"),
        Cell(f"{duration(seconds['evaluation'])}{tuning}", seconds["evaluation"], "number"),
    ]


def _final_regret(agent: Agent, task: Task) -> Cell:
    found = [float(x) for x in task.aggregation.median(final_regret(agent.runs))]
    return numeric(interval(*found), found[0])


def _last_tenth(agent: Agent, task: Task) -> Cell:
    """The reward itself, and where there is an optimum its share of it."""
    found = [float(x) for x in task.aggregation.median(mean_reward_in(agent.runs, 0.9, 1.0))]
    share = f"{percent(*(x / task.optimum for x in found))} of the optimum" if task.optimum else ""
    return numeric(interval(*found), found[0], share)


def _parameters(cell: Study_cell, given: Mapping[str, Any]) -> str:
    """What tuning chose, what the study says, and the rest on demand."""
    full = cell.parameters()
    chosen = {name: _with_word(value, full.get(name)) for name, value in cell.point.items()}
    fixed = {name: _with_word(value, full.get(name)) for name, value in given.items()}
    rest = {name: value for name, value in full.items() if name not in chosen and name not in fixed}
    said = f"<small>{escape(parameters(fixed))}</small>" if fixed else ""
    more = (
        f"<details><summary>defaults</summary><small>{escape(parameters(rest))}</small></details>"
        if rest
        else ""
    )
    return f"{escape(parameters(chosen))}{said}{more}"


def _with_word(said: Any, value: Any) -> Any:
    """A value, and the word that stood for it."""
    return f"{value:.4g} ({said})" if isinstance(said, str) and isinstance(value, float) else value


def counters_table(task: Task, styles: Mapping[str, AgentStyle]) -> str:
    """What agents counted by the end of the run; nothing if they count nothing."""
    names = counter_names(task.agents)
    if not names:
        return ""
    counting = [agent for agent in task.agents if agent.runs.counters]
    rows = [
        [named(styles[agent.key], agent.label), *(_counter(agent, task, name) for name in names)]
        for agent in counting
    ]
    meanings = "; ".join(f"{name}: {MEANINGS[name]}" for name in names if name in MEANINGS)
    words = (
        "<p class=quiet>By the end of the run, median over seeds with its interval."
        f" {escape(meanings)}.</p>\n"
    )
    place = escape(figure_id(task.place, "counters"))
    return f'<div id="{place}"><h3>What agents counted</h3>\n{words}{table(["Agent", *names], rows)}</div>\n'


def _counter(agent: Agent, task: Task, name: str) -> Cell:
    if name not in agent.runs.counters:
        return Cell("–", -1.0, "number")
    found = [float(x) for x in task.aggregation.median(agent.runs.counters[name][:, -1])]
    steps = int(agent.runs.at[-1]) * task.horizon
    return numeric(
        interval(*found),
        found[0],
        f"{percent(found[0] / steps)} of {steps:,} steps" if name == TRUNCATED else "",
    )
