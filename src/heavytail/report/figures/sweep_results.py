"""Sweep maps from the results of a study: the numbers of every point, and the agents that lie on them."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heavytail.arrays import Floats
from heavytail.report.figures.sweep_axes import SweepAxis
from heavytail.report.figures.sweep_maps import Mark, SweepMap
from heavytail.studies.plan import Cell, Sweep
from heavytail.studies.results import Agent, Task, final_regret, final_reward
from heavytail.studies.specs.spec import Spec
from heavytail.studies.sweeps import Summary


def make_sweep_maps(
    spec: Spec,
    summary: Summary,
    sweeps: Sequence[Sweep],
    cells: Sequence[Cell],
    tasks: Mapping[str, Task],
) -> list[SweepMap]:
    """Make the map of every sweep in every environment.

    Args:
        spec: the study's.
        summary: of its sweeps.
        sweeps: what they are made of.
        cells: of the evaluation, for the agents that are marked.
        tasks: what these did, by environment.
    """
    return [
        _make_map(spec, summary.table, sweep, _find_marks(spec, sweep, cells, tasks[sweep.env]))
        for sweep in sweeps
    ]


def _make_map(spec: Spec, table: pa.Table, sweep: Sweep, marks: list[Mark]) -> SweepMap:
    rows = table.filter(pc.and_(pc.equal(table["map"], sweep.agent), pc.equal(table["env"], sweep.env)))
    names = list(spec.maps[sweep.agent].axes)
    axes = [SweepAxis(name, np.array(sweep.axes[name])) for name in names]
    axes += [SweepAxis("", np.ones(1))] * (3 - len(names))
    order = [list(sweep.axes).index(name) for name in names]

    def values(column: str) -> Floats:
        points = rows[column].to_numpy().reshape([len(values) for values in sweep.axes.values()])
        return np.asarray(points.transpose(order).reshape([len(axis.values) for axis in axes]), np.float64)

    return SweepMap(
        name=f"{sweep.agent}-{sweep.env}",
        title=f"{spec.maps[sweep.agent].label}, {spec.envs[sweep.env].label}",
        axes=(axes[0], axes[1], axes[2]),
        best=float(rows["best"][0].as_py()),
        regret=values("regret_median"),
        low=values("regret_q25"),
        high=values("regret_q75"),
        last_tenth=values("last_tenth"),
        runs=sweep.seeds,
        marks=marks,
    )


def _find_marks(spec: Spec, sweep: Sweep, cells: Sequence[Cell], task: Task) -> list[Mark]:
    """The agents that differ from the sweep's in nothing but its axes."""
    agents, shared = {agent.key: agent for agent in task.agents}, sweep.parts[0].parameters
    marks = []
    for cell in cells:
        same_env = cell.env == sweep.env and cell.agent in agents
        if not same_env or spec.agents[cell.agent].agent != spec.maps[sweep.agent].agent:
            continue
        parameters = cell.parameters()
        others = {name: value for name, value in parameters.items() if name not in sweep.axes}
        place = {name: parameters[name] for name in spec.maps[sweep.agent].axes}
        if others == shared and None not in place.values():  # a parameter left out has no place on its axis
            at = {name: float(value) for name, value in place.items()}
            marks.append(_make_mark(agents[cell.agent], at, task.optimum or math.nan))
    return marks


def _make_mark(agent: Agent, at: dict[str, float], optimum: float) -> Mark:
    runs = agent.runs
    earns = float(np.median(final_reward(runs))) / optimum
    regret = float(np.median(final_regret(runs))) / (optimum * float(runs.at[-1]))
    return Mark(agent.label, at, earns, regret)
