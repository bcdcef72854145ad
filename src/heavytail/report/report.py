"""Writing a report: one page, and every figure as a separate file for papers and slides.

The page is self-contained: it includes its style and figures, and fetches nothing. Sections are plain
records; all HTML is in the folder ``templates``.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from heavytail.files import make_folder, one_line_write_errors, save_figure, write_whole
from heavytail.report.figures.draw import draw_figure
from heavytail.report.figures.figure import Curves, Figure, SmallMultiples, figure_file
from heavytail.report.report_data import ReportData, StudySection, collect_report_data
from heavytail.report.sections.claims import make_claims_section
from heavytail.report.sections.provenance import make_origin_section
from heavytail.report.sections.section import FIGURE_FOLDER, Section
from heavytail.report.sections.study import make_opening_section, make_study_sections, summary_id
from heavytail.report.theme import DARK, LIGHT, MARKERS, STROKES
from heavytail.studies.published import COMPANIONS, published_result
from heavytail.studies.study import Study


class CompanionStudy(NamedTuple):
    """A finished study shown in the report of another."""

    study: Study
    title: str
    words: str  # where its results come from


def write_report(
    study: Study, path: str | Path, *, command: str = "", beside: Sequence[CompanionStudy] = ()
) -> Path:
    """Write the report of a finished study.

    Args:
        study: a study with all its parts done.
        path: the path of the page; the folder ``figures`` beside it gets every figure as SVG.
        command: the command that reproduces it, shown in the page.
        beside: finished studies that follow on the same page, their claims beside those of the first.

    Returns:
        The path of the page.
    """
    return write_studies(collect_studies(study, command, beside), path)


def write_studies(studies: Sequence[StudySection], path: str | Path) -> Path:
    """Write the page of collected studies, and every figure."""
    target, page = Path(path), render_page(studies)
    with one_line_write_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        for section in studies:
            write_figures(target.parent / FIGURE_FOLDER, section.data)
        write_whole(target, lambda out: out.write(page.encode()))
    return target


def collect_studies(
    study: Study, command: str = "", beside: Sequence[CompanionStudy] = ()
) -> list[StudySection]:
    """Collect the results of a study and of those beside it.

    Their ids in the page begin with a number and ``~``, which never occurs in a spec's names.
    """
    spec = study.spec
    first = StudySection(collect_report_data(study), spec.title or spec.name, spec.description, command)
    others = [
        StudySection(collect_report_data(companion.study, f"{i}~"), companion.title, companion.words, "")
        for i, companion in enumerate(beside, 2)
    ]
    return [first, *others]


def render_page(studies: Sequence[StudySection]) -> str:
    """Render the report of one or more studies as HTML."""
    rows = _make_rows(studies)
    sections = [section for row in rows for section in row]
    page = load_templates().get_template("page.html.j2")
    return page.render(title=studies[0].title, rows=rows, sections=sections)


def _make_rows(studies: Sequence[StudySection]) -> list[list[Section]]:
    """Make all sections of the page, a row for each study: its top links to them in rows."""
    rows = []
    for i, study in enumerate(studies):
        opening = make_opening_section(study, study.title if i else "Summary", alone=len(studies) == 1)
        claims = [] if i else [make_claims_section(studies)]
        prefix = f"{study.title}: " if i else ""
        rows.append([opening, *claims, *make_study_sections(study.data, prefix)])
    rows[-1].append(make_origin_section(studies))
    return rows


@cache
def load_templates() -> Environment:
    """Load the templates of all pages."""
    templates = Environment(
        loader=PackageLoader("heavytail.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.globals.update(light=LIGHT, dark=DARK, strokes=STROKES, markers=list(MARKERS))
    return templates


def write_figures(folder: Path, data: ReportData) -> None:
    """Write every figure of a study as SVG."""
    make_folder(folder)
    for name, figure in _name_figures(data):
        save_figure(draw_figure(figure), folder / name)


def _make_overview(data: ReportData) -> Figure | None:
    """Make the overview: for each environment the paper's figure, or reward per unit without an optimum."""
    panels = []
    for task in data.single_tasks:
        contents = {figure.name: figure.content for figure in data.figures[task.html_id]}
        content = contents.get("reward", contents["pace"])
        if isinstance(content, Curves):
            panels.append((task.label, content))
    return Figure("Overview", "", SmallMultiples(panels)) if panels else None


def _name_figures(data: ReportData) -> Iterator[tuple[str, Figure]]:
    """Yield every figure with the name of its file."""
    if overview := _make_overview(data):
        yield figure_file(f"{data.prefix}overview"), overview
    if data.first:
        yield figure_file(summary_id(data), data.first.name), data.first
    for html_id, figures in data.figures.items():
        for figure in figures:
            yield figure_file(html_id, figure.name), figure
    # for a family the last member, as in its table
    named = {task.html_id: task for task in data.tasks.values()}
    for grid in data.grids:
        task = data.tasks[grid.env]
        if named[task.html_id] is task:
            yield figure_file(task.html_id, grid.heat_maps.name), grid.heat_maps.make_figure()
    for matrix in data.matrices:
        yield figure_file(f"{data.prefix}map", matrix.name), matrix.make_figure()


def find_companions(name: str, fresh: Sequence[Study]) -> Iterator[CompanionStudy]:
    """Find the companions of the first of some fresh studies: the others, and published results."""
    for study in fresh[1:]:
        words = "Run here and now, at the scale that this machine allows."
        yield CompanionStudy(study, f"{study.spec.title}: run here", words)
    for published in (name, *COMPANIONS.get(name, ())):
        if result := published_result(published):
            words = (
                f"The result that comes with heavytail, at full scale, computed on {_list_devices(result)}"
                f" with: heavytail run studies/{published}/spec.toml"
            )
            yield CompanionStudy(result, f"{result.spec.title}: published result", words)


def _list_devices(study: Study) -> str:
    parts = [part for stage in study.stages() if stage.phase != "map" for part in stage.parts]
    sidecars = study.store.sidecars(parts) + (study.maps().sidecars if study.sweeps else [])
    return ", ".join(sorted({str(sidecar.get("device", "a CPU")) for sidecar in sidecars}))
