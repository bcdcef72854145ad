"""Maps as a reader sees them.

Where an agent works, how far that reaches, and where the study's own agents lie on them.
"""

import math
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heavytail.arrays import Floats
from heavytail.report.figures.sweep_axes import Axis
from heavytail.report.figures.sweep_maps import WORKS, Mark, SweepMap
from heavytail.report.html_tables import Cell, numeric, table, text
from heavytail.report.number_format import number, percent
from heavytail.studies.plan import Cell as Study_cell
from heavytail.studies.plan import Sweep
from heavytail.studies.results import Task, final_regret, mean_reward_in
from heavytail.studies.specs.spec import Spec
from heavytail.studies.sweeps.summary import Summary

PLACE = "where"  # of the maps in the page


def landscapes_of(
    spec: Spec,
    summary: Summary,
    sheets: Sequence[Sweep],
    cells: Sequence[Study_cell],
    tasks: Mapping[str, Task],
) -> list[SweepMap]:
    """Every map in every environment.

    Args:
        spec: the study's.
        summary: of its maps.
        sheets: what they are made of.
        cells: of the evaluation, for the agents that are marked.
        tasks: what these did, by environment.
    """
    return [
        _landscape(spec, summary.table, sheet, _marks(spec, sheet, cells, tasks[sheet.env]))
        for sheet in sheets
    ]


def _landscape(spec: Spec, every: pa.Table, sheet: Sweep, marks: list[Mark]) -> SweepMap:
    rows = every.filter(pc.and_(pc.equal(every["map"], sheet.agent), pc.equal(every["env"], sheet.env)))
    names = list(spec.maps[sheet.agent].axes)
    axes = [Axis(name, np.array(sheet.axes[name])) for name in names] + [Axis("", np.ones(1))] * (
        3 - len(names)
    )
    order = [list(sheet.axes).index(name) for name in names]

    def values(column: str) -> Floats:
        found = rows[column].to_numpy().reshape([len(values) for values in sheet.axes.values()])
        return np.asarray(found.transpose(order).reshape([len(axis.values) for axis in axes]), np.float64)

    return SweepMap(
        name=f"{sheet.agent}-{sheet.env}",
        title=f"{spec.maps[sheet.agent].label}, {spec.envs[sheet.env].label}",
        axes=(axes[0], axes[1], axes[2]),
        best=float(rows["best"][0].as_py()),
        regret=values("regret_median"),
        low=values("regret_q25"),
        high=values("regret_q75"),
        last_tenth=values("last_tenth"),
        runs=sheet.seeds,
        marks=marks,
    )


def _marks(spec: Spec, sheet: Sweep, cells: Sequence[Study_cell], task: Task) -> list[Mark]:
    """The agents that differ from the map's in nothing but its axes."""
    shared, found = sheet.parts[0].parameters, []
    done = {agent.key: agent for agent in task.agents}
    for cell in cells:
        if (
            cell.env != sheet.env
            or cell.agent not in done
            or spec.agents[cell.agent].agent != spec.maps[sheet.agent].agent
        ):
            continue
        complete = cell.parameters()
        if {name: value for name, value in complete.items() if name not in sheet.axes} == shared:
            runs, optimum = done[cell.agent].runs, task.optimum or math.nan
            earns, regret = (
                float(np.median(mean_reward_in(runs, 0.9, 1.0))) / optimum,
                float(np.median(final_regret(runs))),
            )
            at = {name: float(complete[name]) for name in spec.maps[sheet.agent].axes}
            found.append(Mark(done[cell.agent].label, at, earns, regret / (optimum * float(runs.at[-1]))))
    return found


def landscapes_section(landscapes: Sequence[SweepMap], figures: Sequence[str], summary: Summary) -> str:
    """The chapter: a table of how wide the region is, then the maps.

    Args:
        landscapes: every map in every environment.
        figures: the same as the page draws them.
        summary: where they come from.
    """
    words = (
        "Every point of each map is an agent of its own, run at full length on seeds that neither tuning nor evaluation uses. It works where the median run earns at"
        f" least {WORKS:.0%} of what the best policy earns in the last tenth of the run; percentages of points are what their median run earns there. The best point has the"
        " smallest median regret, of those that work if any do, and ranges around it leave the other parameters as they are there."
    )
    command = (
        f"<p class=quiet>Runs done with: <code>{escape(summary.command)}</code></p>\n"
        if summary.command
        else ""
    )
    return (
        f"<p>{escape(words)}</p>\n{_table(landscapes)}{command}"
        f'<div class="figures landscapes">{"".join(figures)}</div>\n'
    )


def _table(landscapes: Sequence[SweepMap]) -> str:
    labels = list(dict.fromkeys(mark.label for each in landscapes for mark in each.marks))
    headings = ["Map", "Share of points that work", "Works around the best point", "Best point", *labels]
    return table(headings, [_row(each, labels) for each in landscapes])


def _row(landscape: SweepMap, labels: Sequence[str]) -> list[Cell]:
    works, peak = landscape.works, landscape.peak
    best = [
        f"{axis.name} {number(float(axis.values[i]), 3)}"
        for axis, i in zip(landscape.axes, peak, strict=True)
        if axis.name
    ]
    marks = {mark.label: mark for mark in landscape.marks}
    return [
        text(landscape.title),
        _share(float(works.mean()), [f"{works.sum():,} of {works.size:,}"]),
        Cell(_lines(landscape.ranges()) if works[peak] else "nowhere", float(works[peak])),
        _share(float(landscape.last_tenth[peak]), best),
        *(
            _share(marks[label].earns, marks[label].words()) if label in marks else text("–")
            for label in labels
        ),
    ]


def _share(share: float, below: Sequence[str]) -> Cell:
    """A share, and some words about it below."""
    return numeric(percent(share), share)._replace(
        html=f"{escape(percent(share))}<small>{_lines(below)}</small>"
    )


def _lines(words: Sequence[str]) -> str:
    return "<br>".join(map(escape, words))
