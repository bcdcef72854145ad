"""The report of a finished study: one page, and the same figures for paper in a folder beside it.

The page holds claims, curves, tables, grids and where all of it comes from. The same study gives the same bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from heavytail.errors import InputError
from heavytail.planning import gain, optimal_value
from heavytail.report import curves_shown
from heavytail.report.curves import Summing, Task, agent_of, runs_in
from heavytail.report.curves_shown import Shown
from heavytail.report.curves_strips import final_regret_strips, last_tenth_strips
from heavytail.report.page import figure, page, paragraphs, section, tiles
from heavytail.report.page_numbers import duration
from heavytail.report.tables import legend, table, text
from heavytail.report.theme import Look, looks
from heavytail.studies.agents_table import agents_table, counters_table
from heavytail.studies.claims import Judged, judge
from heavytail.studies.claims_table import claims_section
from heavytail.studies.grids import Grid, grids_of, grids_section
from heavytail.studies.pictures import PICTURES, picture_name, write_pictures
from heavytail.studies.plan import Cell, Part, Phase, evaluation_cells, mdp_of, parts_of, tuning_cells
from heavytail.studies.provenance import origin, seconds_of, warning
from heavytail.studies.spec import Spec
from heavytail.studies.study import Study
from heavytail.studies.tune import choose

if TYPE_CHECKING:
    import pandas as pd


class Findings(NamedTuple):
    """Everything that a report says."""

    spec: Spec
    tasks: dict[str, Task]
    looks: dict[str, Look]
    judged: list[Judged]
    grids: list[Grid]
    cells: list[Cell]
    sidecars: dict[Phase, list[dict[str, Any]]]
    seconds: dict[tuple[str, str], dict[Phase, float]]  # by agent and environment
    failures: list[list[str]]
    about: dict[str, Any]


def write_report(study: Study, path: str | Path, *, command: str = "") -> Path:
    """Write the report of a finished study.

    Args:
        study: with all its parts done.
        path: of the page; the folder ``figures`` beside it gets every figure as SVG.
        command: with which it can be done again, shown in the page.

    Returns:
        The path of the page.
    """
    target, found = Path(path), findings(study)
    content = page_of(found, command)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_pictures(target.parent / PICTURES, found.tasks, found.looks, found.grids)
        target.write_text(content, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}") from None
    return target


def findings(study: Study) -> Findings:
    """What came out of a study, summed up."""
    spec, scores, curves = study.spec, study.scores(), study.curves()
    choices = choose(scores)
    cells: dict[Phase, list[Cell]] = {"tuning": tuning_cells(spec), "evaluation": evaluation_cells(spec, choices)}
    pages = {part.id: page for every in cells.values() for part, page in _sidecars(study, parts_of(every))}
    tasks = {key: _task(spec, key, curves) for key in spec.envs}
    return Findings(
        spec,
        tasks,
        looks((key, agent.agent) for key, agent in spec.agents.items()),
        judge(spec, curves, {key: task.optimum for key, task in tasks.items()}),
        grids_of(spec, scores, choices),
        cells["evaluation"],
        {phase: [pages[part.id] for part in parts_of(every)] for phase, every in cells.items() if every},
        _seconds(cells, pages),
        _failed(curves, study.curves("tuning") if scores else curves[:0]),
        study.store.about(),
    )


def _sidecars(study: Study, parts: list[Part]) -> Iterator[tuple[Part, dict[str, Any]]]:
    return zip(parts, study.store.sidecars(parts), strict=True)


def _seconds(cells: Mapping[Phase, list[Cell]], pages: Mapping[str, dict[str, Any]]) -> dict[tuple[str, str], dict[Phase, float]]:
    """By agent and environment; a part that two agents share counts for both."""
    seconds: dict[tuple[str, str], dict[Phase, float]] = {}
    for phase, every in cells.items():
        for cell in every:
            spent = seconds.setdefault((cell.agent, cell.env), {})
            spent[phase] = spent.get(phase, 0.0) + seconds_of([pages[part.id] for part in cell.parts])
    return seconds


def _failed(*phases: "pd.DataFrame") -> list[list[str]]:
    columns = ["agent_key", "env_key", "phase", "point", "replicate", "error"]
    return [[str(value) for value in row] for rows in phases for row in rows[rows["error"].notna()][columns].itertuples(index=False)]


def page_of(found: Findings, command: str = "") -> str:
    """The report as HTML."""
    spec = found.spec
    title = spec.title or spec.name
    figures = {key: figures_of(task, found.looks) for key, task in found.tasks.items()}
    parts = [("claims", "Claims", claims_section(spec, found.judged, found.tasks))]
    parts += [(f"env-{key}", task.label, _environment(found, task, figures[key])) for key, task in found.tasks.items()]
    if found.failures:
        parts.append(("failures", "Runs that failed", _failures(found.failures)))
    parts.append(("origin", "How this was made", origin(spec, found.about, found.sidecars, command)))
    every = [page for pages in found.sidecars.values() for page in pages]
    head = f"<h1>{escape(title)}</h1>\n{paragraphs(spec.description)}{tiles(_numbers(found))}{warning(every)}"
    body = head + "".join(section(name, words, content) for name, words, content in parts)
    return page(title, [(name, words) for name, words, _ in parts], body, figures)


def figures_of(task: Task, look: Mapping[str, Look]) -> list[Shown]:
    """The figures of an environment, in the order of the page."""
    drawn = [
        curves_shown.regret_figure,
        curves_shown.reward_figure,
        curves_shown.pace_figure,
        curves_shown.log_log_figure,
        curves_shown.realised_figure,
    ]
    return [*(draw(task, look) for draw in drawn), last_tenth_strips(task, look), final_regret_strips(task, look)]


def _task(spec: Spec, key: str, curves: "pd.DataFrame") -> Task:
    mdp = mdp_of(spec.envs[key])
    rows = {str(agent): frame for agent, frame in curves[curves["env_key"] == key].groupby("agent_key")}
    runs = {name: runs_in(rows[name]) for name in spec.agents if name in rows}
    summing = Summing(spec.statistics.confidence, spec.statistics.resamples, spec.seed)
    there = [name for name in runs if len(runs[name].replicates)]
    agents = [agent_of(name, spec.agents[name].label, spec.agents[name].setting, runs[name], summing) for name in there]
    optimum = float(optimal_value(mdp) if mdp.horizon else gain(mdp))
    return Task(key, spec.envs[key].label, "episode" if mdp.horizon else "step", max(mdp.horizon, 1), optimum, agents, summing)


def _numbers(found: Findings) -> dict[str, str]:
    verdicts = [each.verdict for each in found.judged]
    claims = {f"claims {word}": str(verdicts.count(word)) for word in ("reproduced", "not reproduced", "undecided")} if verdicts else {}
    lengths = {f"{cell.parts[0].units:,} {found.tasks[cell.env].unit}s": None for cell in found.cells}
    every = [page for pages in found.sidecars.values() for page in pages]
    return {
        **claims,
        "agents × environments": f"{len(found.spec.agents)} × {len(found.spec.envs)}",
        "seeds": str(found.spec.seeds),
        "per run": " / ".join(lengths),
        "of computing": duration(seconds_of(every)),
    }


def _environment(found: Findings, task: Task, figures: Sequence[Shown]) -> str:
    steps = f"{task.horizon} steps each" if task.horizon > 1 else ""
    facts = f"<p>The best policy earns {task.optimum:.4g} per {task.unit}{f' ({steps})' if steps else ''}.</p>\n"
    drawn = "".join(figure(task.key, shown, f"{PICTURES}/{picture_name(task.key, shown.name)}") for shown in figures)
    return (
        facts
        + agents_table(task, found.looks, found.spec, found.cells, found.seconds)
        + legend(task.key, [(a.key, a.label, a.setting) for a in task.agents], found.looks)
        + f'<div class="figures">{drawn}</div>\n'
        + counters_table(task, found.looks)
        + grids_section([grid for grid in found.grids if grid.env == task.key], found.looks, found.spec)
    )


def _failures(failures: list[list[str]]) -> str:
    rows = [[text(value) for value in row] for row in failures]
    return f"<p>They are left out of all numbers.</p>\n{table(['Agent', 'Environment', 'Phase', 'Point', 'Seed', 'Error'], rows)}"
