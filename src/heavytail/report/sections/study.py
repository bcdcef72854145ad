"""The sections of one study, in the order of the page."""

from collections.abc import Iterator
from typing import Any

from heavytail.report.number_format import duration
from heavytail.report.report_data import ReportData, StudySection
from heavytail.report.sections.claims import claims_id
from heavytail.report.sections.environments import make_environment_section, make_family_section
from heavytail.report.sections.heat_maps import make_matrix_section
from heavytail.report.sections.provenance import describe_mixed
from heavytail.report.sections.section import Section
from heavytail.report.sections.sweeps import make_sweeps_section
from heavytail.report.tables import Table, make_text_cell
from heavytail.studies.claims import Verdict
from heavytail.studies.provenance import total_seconds

FAILURE_HEADINGS = ["Agent", "Environment", "Phase", "Point", "Seed", "Error"]


def make_head(study: StudySection) -> dict[str, Any]:
    """Describe a study in a few words and numbers."""
    return {
        "paragraphs": [" ".join(part.split()) for part in study.words.split("\n\n") if part.strip()],
        "numbers": _count_everything(study.data),
        "mixed": describe_mixed(study.data.all_sidecars),
    }


def make_opening_section(study: StudySection) -> Section:
    """Make the section with which a study begins that is not the first of the page."""
    content = {"head": make_head(study), "claims": claims_id(study.data)}
    return Section(f"{study.data.prefix}study", study.title, study.title, "opening", content)


def make_study_sections(data: ReportData, title_prefix: str = "") -> Iterator[Section]:
    """Make the sections that each study has for itself; `title_prefix` begins their titles."""
    if data.matrices:
        yield make_matrix_section(data, "Agents × environments", title_prefix)
    for task in data.single_tasks:
        yield make_environment_section(data, task, title_prefix)
    for family in data.families:
        yield make_family_section(data, family, title_prefix)
    if data.sweep_summary:
        yield make_sweeps_section(data, "Where it works", title_prefix)
    if data.failures:
        title = "Runs that failed"
        table = Table(FAILURE_HEADINGS, [[make_text_cell(value) for value in row] for row in data.failures])
        yield Section(f"{data.prefix}failures", title, f"{title_prefix}{title}", "failures", {"table": table})


def _count_everything(data: ReportData) -> dict[str, str]:
    verdicts = [claim.verdict for claim in data.claims]
    words: tuple[Verdict, ...] = ("reproduced", "not reproduced", "undecided") if verdicts else ()
    summary = data.sweep_summary
    return {
        **{f"claims {word}": str(verdicts.count(word)) for word in words},
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
