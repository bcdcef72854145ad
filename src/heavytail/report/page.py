"""One self-contained page: style and figures inside it, nothing fetched from anywhere.

Sections are plain records; all HTML is in the folder ``templates``.
"""

from collections.abc import Sequence
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from heavytail.report.report_data import StudySection
from heavytail.report.sections.claims import make_claims_section
from heavytail.report.sections.provenance import make_origin_section
from heavytail.report.sections.section import Section
from heavytail.report.sections.study import make_opening_section, make_study_sections
from heavytail.report.theme import DARK, LIGHT, MARKERS, STROKES


def render_page(studies: Sequence[StudySection]) -> str:
    """Render the report of one or more studies as HTML."""
    rows = _make_rows(studies)
    sections = [section for row in rows for section in row]
    page = load_templates().get_template("page.html.j2")
    return page.render(title=studies[0].title, rows=rows, sections=sections)


def _make_rows(studies: Sequence[StudySection]) -> list[list[Section]]:
    """All sections of the page; at its top each study has a row of links to them."""
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
