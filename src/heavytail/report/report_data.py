"""The data of a report, collected from a finished study: everything that a report says of it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from heavytail.report.figures import make_figures
from heavytail.report.figures.families import make_family_figures
from heavytail.report.figures.figure import Figure
from heavytail.report.figures.heat_maps import EnvMap, TuningGrid, make_env_maps, make_tuning_grids
from heavytail.report.figures.reward_beliefs import BELIEFS, make_belief_figures
from heavytail.report.figures.sweep_maps import SweepMap, make_sweep_maps
from heavytail.report.first_figure import FIRST, choose_first_figure
from heavytail.report.leaderboard import Standing, make_leaderboard
from heavytail.report.theme import AgentStyle, assign_styles
from heavytail.studies.backends import backend_for
from heavytail.studies.claims import ClaimResult, evaluate_claims, tested_envs
from heavytail.studies.families import Family, bound_lines, make_families
from heavytail.studies.part import Phase
from heavytail.studies.plan import Cell, run_length, unique_parts
from heavytail.studies.provenance import total_seconds
from heavytail.studies.results import Aggregation, Task, gather_runs, summarise_agent
from heavytail.studies.specs.spec import AgentSpec, Spec
from heavytail.studies.study import Study
from heavytail.studies.sweeps import Summary

if TYPE_CHECKING:
    import pandas as pd

SWEEPS = "where"  # id of the sweep maps in the page
FAILURE_COLUMNS = ["agent_key", "env_key", "phase", "point", "replicate", "error"]


class ReportData(NamedTuple):
    """Everything that a report says of a study."""

    prefix: str  # begins the names of all that is its own in a page with other studies
    spec: Spec
    tasks: dict[str, Task]
    styles: dict[str, AgentStyle]
    claims: list[ClaimResult]
    families: list[Family]
    matrices: list[EnvMap]
    grids: list[TuningGrid]
    cells: list[Cell]
    sidecars: dict[Phase, list[dict[str, Any]]]
    seconds: dict[tuple[str, str], dict[Phase, float]]  # by agent and environment
    failures: list[list[str]]  # by FAILURE_COLUMNS
    metadata: dict[str, Any]
    figures: dict[str, list[Figure]]  # by the id of their environment, family or sweep in the page
    leaderboard: list[Standing]
    first: Figure | None  # what the report begins with
    sweep_summary: Summary | None = None
    sweep_maps: Sequence[SweepMap] = ()

    @property
    def single_tasks(self) -> list[Task]:
        """The environments that have a section of their own, being in no family."""
        return [task for key, task in self.tasks.items() if not self.spec.envs[key].family]

    @property
    def all_sidecars(self) -> list[dict[str, Any]]:
        """Those of all phases."""
        return [sidecar for sidecars in self.sidecars.values() for sidecar in sidecars]


class StudySection(NamedTuple):
    """A study as a page shows it."""

    data: ReportData
    title: str
    words: str
    command: str


def collect_report_data(study: Study, prefix: str = "") -> ReportData:
    """Collect what came out of a study; `prefix` begins the ids of its elements in the page."""
    spec, scores, curves = study.spec, study.scores(), study.curves()
    evaluation = study.cells()
    cells: dict[Phase, list[Cell]] = {"tuning": study.cells("tuning"), "evaluation": evaluation}
    sidecars = _read_sidecars(study, cells)
    tasks = {key: _make_task(spec, key, curves, prefix) for key in spec.envs}
    optima = {key: task.optimum for key, task in tasks.items()}
    summary = study.maps() if study.sweeps else None
    tuning_curves = study.curves("tuning") if scores else curves[:0]
    styles = assign_agent_styles(spec)
    single = {key: task for key, task in tasks.items() if not spec.envs[key].family}
    families = make_families(spec, tasks)
    leaderboard = make_leaderboard(spec, tasks.values())
    figures = {task.html_id: make_figures(task, styles) for task in single.values()}
    figures |= {family.html_id: make_family_figures(family, styles) for family in families}
    if beliefs := make_belief_figures(list(single.values()), families, styles):
        figures[f"{prefix}{BELIEFS}"] = beliefs
    data = ReportData(
        prefix=prefix,
        spec=spec,
        tasks=tasks,
        styles=styles,
        claims=evaluate_claims(spec, curves, optima, _bounds_at_end(spec)),
        families=families,
        matrices=make_env_maps(spec, tasks),
        grids=make_tuning_grids(spec, scores, study.choices()),
        cells=evaluation,
        sidecars={phase: list(by_part.values()) for phase, by_part in sidecars.items() if by_part},
        seconds=_sum_seconds(cells, sidecars),
        failures=[*_list_failures(curves), *_list_failures(tuning_curves)],
        metadata=study.store.metadata(),
        figures=figures,
        leaderboard=leaderboard,
        first=choose_first_figure(figures, families, list(single.values()), styles, leaderboard),
    )
    return data if summary is None else _with_sweeps(data, study, summary)


def _with_sweeps(data: ReportData, study: Study, summary: Summary) -> ReportData:
    maps = make_sweep_maps(data.spec, summary, study.sweeps, data.cells, data.tasks)
    drawn = [each.make_figure() for each in maps]
    return data._replace(
        sidecars={**data.sidecars, "map": summary.sidecars},
        failures=[*data.failures, *_list_failures(summary.failures())],
        figures={**data.figures, f"{data.prefix}{SWEEPS}": drawn},
        first=drawn[0]._replace(name=FIRST),
        sweep_summary=summary,
        sweep_maps=maps,
    )


def assign_agent_styles(spec: Spec) -> dict[str, AgentStyle]:
    """Give each agent of a study its style."""
    return assign_styles((key, _style_kind(agent)) for key, agent in spec.agents.items())


def _style_kind(agent: AgentSpec) -> str:
    """Agents of one kind are drawn alike; deep ones are of the kind of what they do to rewards."""
    return f"{agent.agent} {agent.parameters.get('transform', '')}"


def _read_sidecars(study: Study, cells: Mapping[Phase, list[Cell]]) -> dict[Phase, dict[str, dict[str, Any]]]:
    """The sidecars of each phase by the id of their part."""
    parts = {phase: unique_parts(some) for phase, some in cells.items()}
    return {
        phase: dict(zip([part.id for part in some], study.store.sidecars(some), strict=True))
        for phase, some in parts.items()
    }


def _sum_seconds(
    cells: Mapping[Phase, list[Cell]], sidecars: Mapping[Phase, Mapping[str, dict[str, Any]]]
) -> dict[tuple[str, str], dict[Phase, float]]:
    """Seconds by agent and environment; a run that two agents share counts for both."""
    seconds: dict[tuple[str, str], dict[Phase, float]] = {}
    for phase, some in cells.items():
        for cell in some:
            spent = seconds.setdefault((cell.agent, cell.env), {})
            spent[phase] = spent.get(phase, 0.0) + sum(
                cell.share_in(part) * total_seconds([sidecars[phase][part.id]]) for part in cell.parts
            )
    return seconds


def _list_failures(rows: "pd.DataFrame") -> list[list[str]]:
    failed = rows[rows["error"].notna()][FAILURE_COLUMNS]
    return [[str(value) for value in row] for row in failed.itertuples(index=False)]


def _make_task(spec: Spec, key: str, curves: "pd.DataFrame", prefix: str) -> Task:
    env = spec.envs[key]
    backend, length = backend_for(env.env, env.parameters), run_length(spec, key)
    aggregation = Aggregation(spec.statistics.confidence, spec.statistics.resamples, spec.seed)
    rows = {str(agent): frame for agent, frame in curves[curves["env_key"] == key].groupby("agent_key")}
    runs = {name: gather_runs(rows[name]) for name in spec.agents if name in rows}
    agents = [
        summarise_agent(name, spec.agents[name].label, spec.agents[name].setting, some, aggregation)
        for name, some in runs.items()
        if len(some.replicates)
    ]
    best = backend.best(np.array([length]))
    return Task(
        key=key,
        html_id=f"{prefix}{env.family or key}",
        label=env.label,
        unit=backend.unit,
        per="episode" if best is None else backend.unit,
        horizon=backend.horizon,
        optimum=None if best is None else float(best[0]) / length,
        agents=agents,
        aggregation=aggregation,
        regret=spec.regret,
        bounds=bound_lines(env, agents[0].runs.at.astype(np.float64)) if agents and not env.family else (),
    )


def _bounds_at_end(spec: Spec) -> dict[str, dict[str, float]]:
    """Bounds at the end of runs, for the environments in which a claim names one."""
    named = {
        env
        for claim in spec.claims
        for condition in claim.conditions
        if condition.of
        for env in tested_envs(spec, condition)
    }
    lines = {key: bound_lines(spec.envs[key], np.array([run_length(spec, key)], np.float64)) for key in named}
    return {key: {line.name: float(line.values[-1]) for line in some} for key, some in lines.items()}
