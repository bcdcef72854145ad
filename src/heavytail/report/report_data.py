"""What came out of a finished study, summed up: everything that a report says of it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from heavytail.report.figures.sweep_maps import SweepMap
from heavytail.report.sections.across import AgentEnvMatrix, across_of
from heavytail.report.sections.sweeps import landscapes_of
from heavytail.report.sections.tuning import Grid, grids_of
from heavytail.report.theme import AgentStyle, styles
from heavytail.studies.backends import backend_for
from heavytail.studies.bound_lines import bound_lines
from heavytail.studies.claims import ClaimResult, envs_under, evaluate_claims
from heavytail.studies.families import Family, families_of
from heavytail.studies.plan import Cell, Part, Phase, evaluation_cells, run_length, tuning_cells, unique_parts
from heavytail.studies.provenance import seconds_of
from heavytail.studies.results import Aggregation, Task, gather_runs, summarise_agent
from heavytail.studies.specs.spec import AgentSpec, Spec
from heavytail.studies.study import Study
from heavytail.studies.sweeps.summary import Summary
from heavytail.studies.tuning import choose

if TYPE_CHECKING:
    import pandas as pd


class ReportData(NamedTuple):
    """Everything that a report says of a study."""

    prefix: str  # begins the names of all that is its own in a page with other studies
    spec: Spec
    tasks: dict[str, Task]
    styles: dict[str, AgentStyle]
    judged: list[ClaimResult]
    families: list[Family]
    across: list[AgentEnvMatrix]
    grids: list[Grid]
    cells: list[Cell]
    sidecars: dict[Phase, list[dict[str, Any]]]
    seconds: dict[tuple[str, str], dict[Phase, float]]  # by agent and environment
    failures: list[list[str]]
    about: dict[str, Any]
    maps: Summary | None = None
    landscapes: Sequence[SweepMap] = ()

    @property
    def alone(self) -> list[Task]:
        """The environments that have a section of their own, being in no family."""
        return [task for key, task in self.tasks.items() if not self.spec.envs[key].family]

    @property
    def every_sidecar(self) -> list[dict[str, Any]]:
        """Those of all phases."""
        return [page for pages in self.sidecars.values() for page in pages]


def collect_report_data(study: Study, prefix: str = "") -> ReportData:
    """What came out of a study."""
    spec, scores, curves = study.spec, study.scores(), study.curves()
    choices = choose(scores)
    cells: dict[Phase, list[Cell]] = {
        "tuning": tuning_cells(spec),
        "evaluation": evaluation_cells(spec, choices),
    }
    pages = {
        part.id: page for every in cells.values() for part, page in _sidecars(study, unique_parts(every))
    }
    tasks = {key: _task(spec, key, curves, prefix) for key in spec.envs}
    maps = study.maps() if study.sweeps else None
    sidecars: dict[Phase, list[dict[str, Any]]] = {
        phase: [pages[part.id] for part in unique_parts(every)] for phase, every in cells.items() if every
    }
    return ReportData(
        prefix,
        spec,
        tasks,
        styles((key, _family(agent)) for key, agent in spec.agents.items()),
        evaluate_claims(spec, curves, {key: task.optimum for key, task in tasks.items()}, _ends(spec)),
        families_of(spec, tasks),
        across_of(spec, {key: task for key, task in tasks.items() if not spec.envs[key].family}),
        grids_of(spec, scores, choices),
        cells["evaluation"],
        sidecars | ({"map": maps.sidecars} if maps else {}),
        _seconds(cells, pages),
        _failed(curves, study.curves("tuning") if scores else curves[:0])
        + (_failed_of(maps) if maps else []),
        study.store.metadata(),
        maps,
        landscapes_of(spec, maps, study.sweeps, cells["evaluation"], tasks) if maps else (),
    )


def _family(agent: AgentSpec) -> str:
    """Agents of one kind are drawn alike; deep ones are of the kind of what they do to rewards."""
    return f"{agent.agent} {agent.parameters.get('transform', '')}"


def _sidecars(study: Study, parts: list[Part]) -> Iterator[tuple[Part, dict[str, Any]]]:
    return zip(parts, study.store.sidecars(parts), strict=True)


def _seconds(
    cells: Mapping[Phase, list[Cell]], pages: Mapping[str, dict[str, Any]]
) -> dict[tuple[str, str], dict[Phase, float]]:
    """By agent and environment; a run that two agents share counts for both."""
    seconds: dict[tuple[str, str], dict[Phase, float]] = {}
    for phase, every in cells.items():
        for cell in every:
            spent = seconds.setdefault((cell.agent, cell.env), {})
            spent[phase] = spent.get(phase, 0.0) + sum(
                cell.share_in(part) * seconds_of([pages[part.id]]) for part in cell.parts
            )
    return seconds


def _failed(*phases: "pd.DataFrame") -> list[list[str]]:
    columns = ["agent_key", "env_key", "phase", "point", "replicate", "error"]
    return [
        [str(value) for value in row]
        for rows in phases
        for row in rows[rows["error"].notna()][columns].itertuples(index=False)
    ]


def _failed_of(maps: Summary) -> list[list[str]]:
    """Of each point of a map the first that did."""
    rows = maps.failures()[["agent_key", "env_key", "phase", "point", "replicate", "error"]]
    return [[str(value) for value in row] for row in rows.itertuples(index=False)]


def _task(spec: Spec, key: str, curves: "pd.DataFrame", prefix: str) -> Task:
    env = spec.envs[key]
    world, length = backend_for(env.env, env.parameters), run_length(spec, key)
    rows = {str(agent): frame for agent, frame in curves[curves["env_key"] == key].groupby("agent_key")}
    runs = {name: gather_runs(rows[name]) for name in spec.agents if name in rows}
    aggregation = Aggregation(spec.statistics.confidence, spec.statistics.resamples, spec.seed)
    there = [name for name in runs if len(runs[name].replicates)]
    agents = [
        summarise_agent(name, spec.agents[name].label, spec.agents[name].setting, runs[name], aggregation)
        for name in there
    ]
    best = world.best(np.array([length]))
    per, optimum = ("episode", None) if best is None else (world.unit, float(best[0]) / length)
    bounds = bound_lines(env, agents[0].runs.at.astype(np.float64)) if agents and not env.family else ()
    return Task(
        key,
        f"{prefix}{env.family or key}",
        env.label,
        world.unit,
        per,
        world.horizon,
        optimum,
        agents,
        aggregation,
        bounds,
    )


def _ends(spec: Spec) -> dict[str, dict[str, float]]:
    """Bounds at the end of runs, for the environments in which a claim names one."""
    named = {
        env
        for claim in spec.claims
        for condition in claim.conditions
        if condition.of
        for env in envs_under(spec, condition)
    }
    lines = {key: bound_lines(spec.envs[key], np.array([run_length(spec, key)], np.float64)) for key in named}
    return {key: {line.name: float(line.values[-1]) for line in every} for key, every in lines.items()}
