"""The data of a report: the results read from a finished study, and everything that the report shows."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from heavytail.report.figures import make_figures
from heavytail.report.figures.families import make_family_figures
from heavytail.report.figures.figure import Figure
from heavytail.report.figures.heat_maps import HeatMaps, TuningGrid, make_env_maps, make_tuning_grids
from heavytail.report.figures.reward_beliefs import BELIEFS, make_belief_figures
from heavytail.report.figures.sweep_maps import SweepMap, make_sweep_maps
from heavytail.report.first_figure import FIRST, choose_first_figure
from heavytail.report.leaderboard import Standing, make_leaderboard
from heavytail.report.theme import AgentStyle, assign_styles
from heavytail.studies.backends import backend_for
from heavytail.studies.claims import ClaimResult, evaluate_claims, tested_envs
from heavytail.studies.families import Family, bound_lines, make_families
from heavytail.studies.part import Phase
from heavytail.studies.plan import Cell, Choices, Sweep, run_length, unique_parts
from heavytail.studies.provenance import total_seconds
from heavytail.studies.results import Aggregation, Task, gather_runs, summarise_agent
from heavytail.studies.specs.spec import AgentSpec, Spec
from heavytail.studies.study import Study
from heavytail.studies.sweeps import Summary
from heavytail.studies.tuning import GridScore

if TYPE_CHECKING:
    import pandas as pd

SWEEPS = "where"  # id of the sweep maps in the page
FAILURE_COLUMNS = ["agent_key", "env_key", "phase", "point", "replicate", "error"]


class Results(NamedTuple):
    """All results that a report reads from a finished study."""

    spec: Spec
    cells: dict[Phase, list[Cell]]  # of tuning and evaluation
    curves: dict[Phase, "pd.DataFrame"]  # of those that were run
    scores: list[GridScore]
    choices: Choices
    sidecars: dict[Phase, dict[str, dict[str, Any]]]  # by the id of their part
    metadata: dict[str, Any]
    sweeps: list[Sweep]
    sweep_summary: Summary | None  # of them


def read_results(study: Study) -> Results:
    """Read the results of a study with all its parts done."""
    scores = study.scores()
    curves: dict[Phase, pd.DataFrame] = {"evaluation": study.curves()}
    if scores:
        curves["tuning"] = study.curves("tuning")
    cells: dict[Phase, list[Cell]] = {"tuning": study.cells("tuning"), "evaluation": study.cells()}
    parts = {phase: unique_parts(some) for phase, some in cells.items()}
    sidecars = {
        phase: dict(zip([part.id for part in some], study.store.sidecars(some), strict=True))
        for phase, some in parts.items()
    }
    return Results(
        spec=study.spec,
        cells=cells,
        curves=curves,
        scores=scores,
        choices=study.choices(),
        sidecars=sidecars,
        metadata=study.store.metadata(),
        sweeps=study.sweeps,
        sweep_summary=study.maps() if study.sweeps else None,
    )


class ReportData(NamedTuple):
    """Everything that a report says of a study."""

    prefix: str  # begins the names of all that is its own in a page with other studies
    results: Results
    tasks: dict[str, Task]
    styles: dict[str, AgentStyle]
    claims: list[ClaimResult]
    families: list[Family]
    matrices: list[HeatMaps]  # agents against environments
    grids: list[TuningGrid]
    sidecars: dict[Phase, list[dict[str, Any]]]
    seconds: dict[tuple[str, str], dict[Phase, float]]  # by agent and environment
    failures: list[list[str]]  # by FAILURE_COLUMNS
    figures: dict[str, list[Figure]]  # by the id of their environment, family or section in the page
    leaderboard: list[Standing]
    sweep_maps: list[SweepMap]
    first: Figure | None  # at the top of the report

    @property
    def spec(self) -> Spec:
        """The study's."""
        return self.results.spec

    @property
    def cells(self) -> list[Cell]:
        """All agents at their chosen points in every environment."""
        return self.results.cells["evaluation"]

    @property
    def single_tasks(self) -> list[Task]:
        """The environments with their own section, those in no family."""
        return [task for key, task in self.tasks.items() if not self.spec.envs[key].family]

    @property
    def all_sidecars(self) -> list[dict[str, Any]]:
        """The sidecars of all phases."""
        return [sidecar for sidecars in self.sidecars.values() for sidecar in sidecars]


class StudySection(NamedTuple):
    """A study as a page shows it."""

    data: ReportData
    title: str
    words: str
    command: str


def collect_report_data(study: Study, prefix: str = "") -> ReportData:
    """Collect the results of a study; `prefix` begins the ids of its elements in the page."""
    return make_report_data(read_results(study), prefix)


def make_report_data(results: Results, prefix: str = "") -> ReportData:
    """Make the report's data from the results of a study."""
    spec, curves, summary = results.spec, results.curves["evaluation"], results.sweep_summary
    tasks = {key: _make_task(spec, key, curves, prefix) for key in spec.envs}
    single = [task for key, task in tasks.items() if not spec.envs[key].family]
    families, styles = make_families(spec, tasks), assign_agent_styles(spec)
    leaderboard = make_leaderboard(spec, tasks.values())
    evaluation = results.cells["evaluation"]
    maps = make_sweep_maps(spec, summary, results.sweeps, evaluation, tasks) if summary else []
    places = {
        **{task.html_id.removeprefix(prefix): make_figures(task, styles) for task in single},
        **{each.html_id.removeprefix(prefix): make_family_figures(each, styles) for each in families},
        BELIEFS: make_belief_figures(single, families, styles),
        SWEEPS: [each.make_figure() for each in maps],
    }
    figures = {f"{prefix}{place}": some for place, some in places.items() if some}
    if maps:
        first: Figure | None = figures[f"{prefix}{SWEEPS}"][0]._replace(name=FIRST)
    else:
        first = choose_first_figure(figures, families, single, styles, leaderboard)
    sidecars = {phase: list(some.values()) for phase, some in results.sidecars.items() if some}
    failed = [*results.curves.values(), *([summary.failures()] if summary else [])]
    return ReportData(
        prefix=prefix,
        results=results,
        tasks=tasks,
        styles=styles,
        claims=evaluate_claims(
            spec, curves, {key: task.optimum for key, task in tasks.items()}, _bounds_at_end(spec)
        ),
        families=families,
        matrices=make_env_maps(spec, tasks),
        grids=make_tuning_grids(spec, results.scores, results.choices),
        sidecars=sidecars | ({"map": summary.sidecars} if summary else {}),
        seconds=_sum_seconds(results),
        failures=[row for rows in failed for row in _list_failures(rows)],
        figures=figures,
        leaderboard=leaderboard,
        sweep_maps=maps,
        first=first,
    )


def assign_agent_styles(spec: Spec) -> dict[str, AgentStyle]:
    """Give each agent of a study its style."""
    return assign_styles((key, _style_kind(agent)) for key, agent in spec.agents.items())


def _style_kind(agent: AgentSpec) -> str:
    """Return the kind by which an agent is drawn; deep ones differ by their transform of rewards."""
    return f"{agent.agent} {agent.parameters.get('transform', '')}"


def _sum_seconds(results: Results) -> dict[tuple[str, str], dict[Phase, float]]:
    """Sum the seconds by agent and environment; a run shared by two agents counts for both."""
    seconds: dict[tuple[str, str], dict[Phase, float]] = {}
    for phase, cells in results.cells.items():
        for cell in cells:
            spent = seconds.setdefault((cell.agent, cell.env), {})
            spent[phase] = spent.get(phase, 0.0) + sum(
                cell.share_in(part) * total_seconds([results.sidecars[phase][part.id]]) for part in cell.parts
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
