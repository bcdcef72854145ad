"""One self-contained page: style, figures and plotly.js inside it, nothing fetched from anywhere.

Sections are plain records; all HTML is in the folder ``templates``. Figures and plotly.js are compressed: the
page's script unpacks the former when it opens, and the latter when the first figure is looked at.
"""

import gzip
import json
from base64 import b85encode
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from heavytail.report.report_data import StudySection
from heavytail.report.sections.claims import make_claims_section
from heavytail.report.sections.provenance import make_origin_section
from heavytail.report.sections.section import Section
from heavytail.report.sections.study import make_opening_section, make_study_sections
from heavytail.report.theme import DARK, LIGHT, MARKERS, STROKES

WITHOUT_MARKUP = str.maketrans("<>&", ",.:")  # digits of Base85 that HTML would escape
LISTS = ("x", "y", "text")  # of a trace, which many of them have in common


def render_page(studies: Sequence[StudySection]) -> str:
    """Render the report of one or more studies as HTML."""
    rows = _make_rows(studies)
    sections = [section for row in rows for section in row]
    figures = {
        placed.plot_id: {
            "env": placed.env,
            "traces": placed.rendered.traces,
            "layout": placed.rendered.layout,
            "multiples": placed.rendered.multiples and placed.rendered.multiples._asdict(),
        }
        for section in sections
        for placed in section.figures
    }
    return (
        load_templates()
        .get_template("page.html.j2")
        .render(
            title=studies[0].title,
            rows=rows,
            sections=sections,
            figures=_compress(_to_json(figures)),
            plotly=_compress_plotly(),
        )
    )


def _to_json(figures: Mapping[str, Mapping[str, Any]]) -> str:
    """Write figures with each list of coordinates and names once; traces have its number in its place."""
    numbers: dict[str, int] = {}

    def share(trace: Mapping[str, Any]) -> dict[str, Any]:
        lists = {name: _dump(trace[name]) for name in LISTS if name in trace}
        return {**trace, **{name: numbers.setdefault(text, len(numbers)) for name, text in lists.items()}}

    shared = {
        plot: {**figure, "traces": [share(trace) for trace in figure["traces"]]}
        for plot, figure in figures.items()
    }
    return f'{{"figures":{_dump(shared)},"lists":[{",".join(numbers)}]}}'


def _dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


@cache
def _compress_plotly() -> str:
    from plotly.offline import get_plotlyjs  # here: it reads five megabytes

    return _compress(get_plotlyjs())


def _compress(text: str) -> str:
    """Compress a text to letters that need no escaping: gzip in Base85, the same every time."""
    return b85encode(gzip.compress(text.encode(), 9, mtime=0)).decode().translate(WITHOUT_MARKUP)


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
    templates.globals.update(light=LIGHT, dark=DARK, strokes=STROKES, markers=MARKERS)
    return templates
