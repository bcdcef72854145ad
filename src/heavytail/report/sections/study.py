"""The sections of one study, in the order of the page."""

from collections.abc import Iterator

from heavytail.report.figures.figure import Curves, SmallMultiples
from heavytail.report.figures.reward_beliefs import BELIEFS
from heavytail.report.findings import count_verdicts, find_sentences
from heavytail.report.number_format import duration
from heavytail.report.report_data import ReportData, StudySection
from heavytail.report.sections.beliefs import make_beliefs_section
from heavytail.report.sections.claims import CLAIMS, claims_id
from heavytail.report.sections.environments import make_environment_section, make_family_section
from heavytail.report.sections.heat_maps import make_matrix_section
from heavytail.report.sections.leaderboard import make_leaderboard_table
from heavytail.report.sections.provenance import describe_mixed
from heavytail.report.sections.section import LegendGroup, Section, make_legend, place_figure
from heavytail.report.sections.sweeps import make_sweeps_section
from heavytail.report.tables import Table, make_text_cell
from heavytail.studies.provenance import total_seconds

FAILURE_HEADINGS = ["Agent", "Environment", "Phase", "Point", "Seed", "Error"]


def summary_id(data: ReportData) -> str:
    """Name the place of the first figure of a study in the page."""
    return f"{data.prefix}summary"


def make_opening_section(study: StudySection, link: str, *, alone: bool) -> Section:
    """Make the section with which a study begins: what was found, then what the study is.

    Args:
        study: which.
        link: what the top of the page calls it.
        alone: whether the page has no other study.
    """
    data, place = study.data, summary_id(study.data)
    content = {
        "findings": find_sentences(data),
        "verdicts": count_verdicts(data.claims),
        "claims": CLAIMS if alone else claims_id(data),
        "env": place,
        "kind": "sweep-maps" if data.sweep_maps else "",
        "legend": _make_first_legend(data),
        "leaderboard": make_leaderboard_table(data),
        "paragraphs": [" ".join(part.split()) for part in study.words.split("\n\n") if part.strip()],
        "numbers": _count_everything(data),
        "mixed": describe_mixed(data.all_sidecars),
    }
    figures = [place_figure(place, data.first)] if data.first else []
    return Section(f"{data.prefix}study", link, study.title, "opening", content, figures)


def _make_first_legend(data: ReportData) -> list[LegendGroup]:
    """The legend of the first figure, where it has curves; elsewhere names stand beside what is theirs."""
    content = data.first.content if data.first else None
    panels = content.panels if isinstance(content, SmallMultiples) else []
    drawn = {curve.agent for _, panel in panels if isinstance(panel, Curves) for curve in panel.curves}
    agents = {agent.key: agent for family in data.families for agent in family.agents if agent.key in drawn}
    return make_legend(list(agents.values()), data.styles)


def make_study_sections(data: ReportData, title_prefix: str = "") -> Iterator[Section]:
    """Make the sections that each study has for itself; `title_prefix` begins their titles."""
    if data.matrices:
        yield make_matrix_section(data, "Agents × environments", title_prefix)
    for task in data.single_tasks:
        yield make_environment_section(data, task, title_prefix)
    for family in data.families:
        yield make_family_section(data, family, title_prefix)
    if f"{data.prefix}{BELIEFS}" in data.figures:
        yield make_beliefs_section(data, "What models of the reward believe", title_prefix)
    if data.sweep_summary:
        yield make_sweeps_section(data, "Where it works", title_prefix)
    if data.failures:
        title = "Runs that failed"
        table = Table(FAILURE_HEADINGS, [[make_text_cell(value) for value in row] for row in data.failures])
        yield Section(f"{data.prefix}failures", title, f"{title_prefix}{title}", "failures", {"table": table})


def _count_everything(data: ReportData) -> dict[str, str]:
    summary = data.sweep_summary
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
