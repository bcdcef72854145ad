"""Figures as SVG inside a page: small, in the colours of its theme, with unique ids.

matplotlib draws for a separate file. In a page its header, unused ids of groups, fonts and sixth decimals are
dead weight; colours become names of the style sheet.
"""

import io
import re
from typing import NamedTuple

from matplotlib.figure import Figure as MatplotlibFigure

from heavytail.files import write_figure
from heavytail.report.theme import CSS_NAMES

STYLE = r' style="([^"]*)"'
AGENT = re.compile(r"""<g id=(["'])agent:(.*?)\n(.*?)\1>""")  # in the quotes that are not in it
LONG = 1000  # letters of a path; markers are shorter
GEOMETRY = re.compile(r' (d|x|y|width|height|transform)="([^"]*)"')


class Drawing(NamedTuple):
    """The contents of an SVG element, and the size of its view in points."""

    width: float
    height: float
    content: str

    def __html__(self) -> str:
        """Return the markup for a template, which must not escape it: matplotlib has escaped its text."""
        return self.content


def make_drawing(figure: MatplotlibFigure, name: str) -> Drawing:
    """Draw a figure for a page, where its name is unique."""
    out = io.BytesIO()
    figure.patch.set_visible(False)
    for axes in figure.axes:
        axes.patch.set_visible(False)
    # the salt makes ids differ between figures
    write_figure(figure, out, "svg", {"svg.fonttype": "none", "svg.hashsalt": name})
    content = re.split(r"<svg[^>]*>|</svg>", out.getvalue().decode())[1]
    width, height = (round(72.0 * float(inches), 2) for inches in figure.get_size_inches())
    return Drawing(width, height, _shorten(content.strip()))


def _shorten(content: str) -> str:
    content = re.sub(r"<(metadata|style).*?</\1>", "", content, flags=re.DOTALL)
    content = re.sub(r">\s+<", "><", content).replace("<defs></defs>", "")
    content = re.sub(r'<g id="[^"]*"/>', "", content)
    content = AGENT.sub(r"<g data-agent=\1\2\1><title>\3</title>", content)
    content = _drop_groups(re.sub(r'<g id="[^"]*">', "<g>", content))
    content = re.sub(r' transform="rotate\(-0 [^)]*\)"', "", content.replace("xlink:href", "href"))
    content = re.sub(r" font-family: [^;\"]*;?", "", content)
    content = GEOMETRY.sub(lambda match: f' {match[1]}="{_round_numbers(match[2])}"', content)
    return _name_colours(_style_markers(content))


def _drop_groups(content: str) -> str:
    """Leave out groups that have no attribute.

    >>> _drop_groups('<g><g data-agent="q"><g><path d="M0 0"/></g></g></g>')
    '<g data-agent="q"><path d="M0 0"/></g>'
    """
    kept: list[bool] = []

    def drop(match: re.Match[str]) -> str:
        if match[0] == "</g>":
            return match[0] if kept.pop() else ""
        kept.append(match[0] != "<g>")
        return match[0] if kept[-1] else ""

    return re.sub(r"<g(?: [^>]*[^/>])?>|</g>", drop, content)


def _round_numbers(text: str) -> str:
    """Round to hundredths of a point, in curves to tenths, and leave out unneeded spaces.

    >>> _round_numbers("M 57.128906 136.3 L 60 120.0001 z")
    'M57.13 136.3L60 120z'
    """
    digits = 1 if len(text) > LONG else 2

    def shorten(match: re.Match[str]) -> str:
        return f"{float(match[0]):.{digits}f}".rstrip("0").rstrip(".")

    text = re.sub(r"\d+\.\d{2,}", shorten, text)
    return re.sub(r"\s*([MLQCz])\s*", r"\1", text.strip())


def _style_markers(content: str) -> str:
    """Style each marker at its definition, not at every use."""
    used = re.compile(rf'(<use href="#(\w+)"[^>]*?){STYLE}')
    styles = {match[2]: match[3] for match in used.finditer(content)}
    content = used.sub(r"\1", content)
    return re.sub(
        rf'<path id="(\w+)" (d="[^"]*")(?:{STYLE})?',
        lambda match: f'<path id="{match[1]}" {match[2]} style="{styles.get(match[1], match[3])}"',
        content,
    )


def _name_colours(content: str) -> str:
    """Replace colours by their names in the style sheet."""
    return re.sub(
        STYLE,
        lambda match: re.sub(
            r"#[0-9a-f]{6}",
            lambda colour: f"var({CSS_NAMES[colour[0]]})" if colour[0] in CSS_NAMES else colour[0],
            match[0],
        ),
        content,
    )
