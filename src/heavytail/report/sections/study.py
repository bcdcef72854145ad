"""The sections of one study, in the order of the page."""

from collections.abc import Iterator, Sequence

from heavytail.report.figures.figure import Curves, SmallMultiples
from heavytail.report.figures.reward_beliefs import BELIEFS
from heavytail.report.figures.sweep_maps import WORKS, SweepMap
from heavytail.report.findings import count_verdicts, find_sentences
from heavytail.report.leaderboard import Standing
from heavytail.report.number_format import duration, number, p_value, percent
from heavytail.report.report_data import SWEEPS, ReportData, StudySection
from heavytail.report.sections.claims import CLAIMS, claims_id
from heavytail.report.sections.environments import make_environment_section, make_family_section
from heavytail.report.sections.provenance import describe_mixed
from heavytail.report.sections.section import LegendEntry, LegendGroup, Section, make_legend, place_figure
from heavytail.report.tables import Table, TableCell, make_agent_cell, make_number_cell, make_text_cell
from heavytail.studies.provenance import total_seconds

FAILURE_HEADINGS = ["Agent", "Environment", "Phase", "Point", "Seed", "Error"]


def summary_id(data: ReportData) -> str:
    """Return the id of a study's first figure in the page."""
    return f"{data.prefix}summary"


def make_opening_section(study: StudySection, link: str, *, alone: bool) -> Section:
    """Make the section with which a study begins: its findings, then a description of the study.

    Args:
        study: the study.
        link: its name at the top of the page.
        alone: whether the page has no other study.
    """
    data, place = study.data, summary_id(study.data)
    content = {
        "findings": find_sentences(data),
        "verdicts": count_verdicts(data.claims),
        "claims": CLAIMS if alone else claims_id(data),
        "env": place,
        "legend": _make_first_legend(data),
        "leaderboard": _make_leaderboard_table(data),
        "paragraphs": [" ".join(part.split()) for part in study.words.split("\n\n") if part.strip()],
        "numbers": _count_everything(data),
        "mixed": describe_mixed(data.all_sidecars),
    }
    figures = [place_figure(place, data.first)] if data.first else []
    return Section(f"{data.prefix}study", link, study.title, "opening", content, figures)


def _make_first_legend(data: ReportData) -> list[LegendGroup]:
    """Make the legend of the first figure if it has curves; other figures name agents directly."""
    content = data.first.content if data.first else None
    panels = content.panels if isinstance(content, SmallMultiples) else []
    drawn = {curve.agent for _, panel in panels if isinstance(panel, Curves) for curve in panel.curves}
    agents = {agent.key: agent for family in data.families for agent in family.agents if agent.key in drawn}
    return make_legend(list(agents.values()), data.styles)


def make_study_sections(data: ReportData, title_prefix: str = "") -> Iterator[Section]:
    """Make the sections of a single study; `title_prefix` begins their titles."""
    if data.matrices:
        yield _make_matrix_section(data, "Agents × environments", title_prefix)
    for task in data.single_tasks:
        yield make_environment_section(data, task, title_prefix)
    for family in data.families:
        yield make_family_section(data, family, title_prefix)
    if f"{data.prefix}{BELIEFS}" in data.figures:
        yield _make_beliefs_section(data, "What models of the reward believe", title_prefix)
    if data.sweep_maps:
        yield _make_sweeps_section(data, "Where it works", title_prefix)
    if data.failures:
        title = "Runs that failed"
        table = Table(FAILURE_HEADINGS, [[make_text_cell(value) for value in row] for row in data.failures])
        yield Section(f"{data.prefix}failures", title, f"{title_prefix}{title}", "failures", {"table": table})


def _count_everything(data: ReportData) -> dict[str, str]:
    summary = data.results.sweep_summary
    return {
        "agents × environments": f"{len(data.spec.agents)} × {len(data.spec.envs)}",
        "seeds": str(data.spec.seeds),
        "per run": _describe_lengths(data),
        **({"runs on maps": f"{sum(summary.table['runs'].to_pylist()):,}"} if summary else {}),
        "of computing": duration(total_seconds(data.all_sidecars)),
    }


def _describe_lengths(data: ReportData) -> str:
    """Describe the lengths of runs, in their units."""
    by_unit: dict[str, set[int]] = {}
    for cell in data.cells:
        by_unit.setdefault(data.tasks[cell.env].unit, set()).add(cell.parts[0].units)
    ends = {unit: sorted({min(lengths), max(lengths)}) for unit, lengths in by_unit.items()}
    return " / ".join(f"{' to '.join(f'{n:,}' for n in both)} {unit}s" for unit, both in ends.items())


# The leaderboard


def _make_leaderboard_table(data: ReportData) -> Table | None:
    """Make the table of the leaderboard; None if fewer than two agents met."""
    if not data.leaderboard:
        return None
    known = any(each.of_optimum for each in data.leaderboard)
    headings = [
        "#",
        "Agent",
        "Beats another's run",
        *(["Of the optimum"] if known else []),
        "Not told from the best in",
        "Against the first",
    ]
    rows = [
        [
            make_number_cell(str(i), i),
            make_agent_cell(data.styles[each.agent], each.label),
            make_number_cell(percent(*map(float, each.share)), float(each.share.estimate)),
            *([_make_optimum_cell(each)] if known else []),
            make_number_cell(f"{each.level} of {each.envs}", each.level),
            _make_test_cell(i, each, data.spec.statistics.significance),
        ]
        for i, each in enumerate(data.leaderboard, 1)
    ]
    return Table(headings, rows, f"{data.prefix}leaderboard")


def _make_optimum_cell(each: Standing) -> TableCell:
    if each.of_optimum is None:
        return make_number_cell("–", -1.0)
    return make_number_cell(percent(*map(float, each.of_optimum)), float(each.of_optimum.estimate))


def _make_test_cell(i: int, each: Standing, significance: float) -> TableCell:
    """Make the cell that says whether the first is significantly better; empty for the first itself."""
    if each.p_value is None:
        return make_text_cell("" if i == 1 else "never met")
    words = "worse" if each.p_value <= significance else "not told apart"
    return make_number_cell(f"{words} (p {p_value(each.p_value)})", each.p_value)


# Agents against environments, models of the reward, and where agents work


def _make_matrix_section(data: ReportData, title: str, title_prefix: str) -> Section:
    place = f"{data.prefix}map"
    figures = [place_figure(place, matrix.make_figure()) for matrix in data.matrices]
    return Section(place, title, f"{title_prefix}{title}", "matrices", {}, figures)


def _make_beliefs_section(data: ReportData, title: str, title_prefix: str) -> Section:
    """Make the section of beliefs: a figure for each, and one legend for all."""
    place = f"{data.prefix}{BELIEFS}"
    figures = [place_figure(place, figure) for figure in data.figures[place]]
    content = {"env": place, "legend": _make_beliefs_legend(data)}
    return Section(f"models-{place}", title, f"{title_prefix}{title}", "beliefs", content, figures)


def _make_beliefs_legend(data: ReportData) -> list[LegendGroup]:
    """Make the legend of all agents and members of families drawn, each once."""
    entries: dict[str, LegendEntry] = {}
    for figure in data.figures[f"{data.prefix}{BELIEFS}"]:
        panels = figure.content.panels if isinstance(figure.content, SmallMultiples) else []
        for _, panel in panels:
            for curve in panel.curves if isinstance(panel, Curves) else []:
                entries[curve.agent] = LegendEntry(curve.agent, curve.label, curve.style)
    return [LegendGroup("", list(entries.values()))]


def _make_sweeps_section(data: ReportData, title: str, title_prefix: str) -> Section:
    """Make the section of sweeps: how wide the region is in which each agent works, then the maps."""
    place, summary = f"{data.prefix}{SWEEPS}", data.results.sweep_summary
    content = {
        "works": f"{WORKS:.0%}",
        "command": summary.command if summary else "",
        "table": _make_sweeps_table(data.sweep_maps),
    }
    figures = [place_figure(place, figure) for figure in data.figures[place]]
    return Section(f"{place}-it-works", title, f"{title_prefix}{title}", "sweeps", content, figures)


def _make_sweeps_table(maps: Sequence[SweepMap]) -> Table:
    labels = list(dict.fromkeys(mark.label for sweep_map in maps for mark in sweep_map.marks))
    headings = ["Map", "Share of points that work", "Works around the best point", "Best point", *labels]
    return Table(headings, [_make_sweep_row(sweep_map, labels) for sweep_map in maps])


def _make_sweep_row(sweep_map: SweepMap, labels: Sequence[str]) -> list[TableCell]:
    works, peak = sweep_map.works, sweep_map.peak
    best = [
        f"{axis.name} {number(float(axis.values[i]), 3)}"
        for axis, i in zip(sweep_map.axes, peak, strict=True)
        if axis.name
    ]
    marks = {mark.label: mark for mark in sweep_map.marks}
    return [
        make_text_cell(sweep_map.title),
        _make_share_cell(float(works.mean()), [f"{works.sum():,} of {works.size:,}"]),
        TableCell(sweep_map.describe_ranges() if works[peak] else ["nowhere"], float(works[peak])),
        _make_share_cell(float(sweep_map.last_tenth[peak]), best),
        *(
            _make_share_cell(marks[label].earns, marks[label].describe())
            if label in marks
            else make_text_cell("–")
            for label in labels
        ),
    ]


def _make_share_cell(share: float, notes: Sequence[str]) -> TableCell:
    return make_number_cell(percent(share), share)._replace(notes=notes)
