"""One self-contained page: style, figures and plotly.js inside it, nothing fetched from anywhere.

Sections are plain records; all HTML is in the folder ``templates``.
"""

from collections.abc import Sequence
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from heavytail.report.report_data import StudySection
from heavytail.report.sections.claims import make_claims_section
from heavytail.report.sections.provenance import make_origin_section
from heavytail.report.sections.section import Section
from heavytail.report.sections.study import make_head, make_opening_section, make_study_sections
from heavytail.report.theme import DARK, LIGHT, STROKES


def render_page(studies: Sequence[StudySection]) -> str:
    """Render the report of one or more studies as HTML."""
    from plotly.offline import get_plotlyjs  # here: it reads five megabytes

    rows = _make_rows(studies)
    sections = [section for row in rows for section in row]
    figures = {
        placed.plot_id: {
            "env": placed.env,
            "traces": placed.rendered.traces,
            "layout": placed.rendered.layout,
        }
        for section in sections
        for placed in section.figures
    }
    return (
        _load_templates()
        .get_template("page.html.j2")
        .render(
            title=studies[0].title,
            head=make_head(studies[0]),
            rows=rows,
            sections=sections,
            figures=figures,
            plotly=get_plotlyjs(),
        )
    )


def _make_rows(studies: Sequence[StudySection]) -> list[list[Section]]:
    """All sections of the page; at its top each study has a row of links to them."""
    first, *others = studies
    rows = [[make_claims_section(studies), *make_study_sections(first.data)]]
    for study in others:
        sections = make_study_sections(study.data, f"{study.title}: ")
        rows.append([make_opening_section(study), *sections])
    rows[-1].append(make_origin_section(studies))
    return rows


@cache
def _load_templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("heavytail.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.globals.update(light=LIGHT, dark=DARK, strokes=STROKES)
    # Inside a script element: tojson escapes what could end it. Order and bytes are those of the figures.
    templates.policies["json.dumps_kwargs"] = {
        "separators": (",", ":"),
        "allow_nan": False,
        "ensure_ascii": False,
    }
    return templates
