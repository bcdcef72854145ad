"""One style for all figures and pages: each agent has its colour, line and marker everywhere.

Agents of one kind share a colour and differ by the line, so that a family is seen at a glance. Colours come
from Okabe and Ito's set for all kinds of colour vision, plus a few that are distinct from it; markers repeat
the information without colour. Figures are drawn in the colours of the light theme; in the page each is the
name of a colour in the style sheet (`CSS_NAMES`), so that figures follow the theme.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

Dashes: TypeAlias = Literal["-"] | tuple[float, tuple[float, ...]]  # as matplotlib takes them

AGENT_COLOURS = (  # for the light theme and paper, for the dark theme
    ("#0072B2", "#56B4E9"),
    ("#D55E00", "#FF8F45"),
    ("#009E73", "#2CC79A"),
    ("#B5508C", "#E58FC3"),
    ("#B88700", "#E6B93A"),
    ("#6A51A3", "#AE97F5"),
    ("#5E7A00", "#B7CC52"),
    ("#6B7280", "#A6ADB8"),
    ("#007C91", "#45C4D6"),
    ("#A50026", "#FF7088"),
)
LIGHT = tuple(light for light, _ in AGENT_COLOURS)
DARK = tuple(dark for _, dark in AGENT_COLOURS)
OUTLINE = "#d62728"  # around tiles
INK, MUTED, GRID = "#1b1f24", "#667080", "#e9ecf0"  # of the light theme
CSS_NAMES = {
    **{colour.lower(): f"--c{i}" for i, colour in enumerate(LIGHT)},
    INK: "--ink",
    MUTED: "--muted",
    GRID: "--grid",
}
MARKERS = {  # as matplotlib takes them
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "triangle-up": "^",
    "x": "X",
    "triangle-down": "v",
    "cross": "P",
    "star": "*",
    "pentagon": "p",
    "hexagon": "h",
}
DASHES: dict[str, Dashes] = {
    "solid": "-",
    "dash": (0, (5, 2)),
    "dot": (0, (1.2, 1.4)),
    "dashdot": (0, (5, 1.5, 1.2, 1.5)),
}
STROKES = {"solid": "", "dash": "7 3", "dot": "2 2.5", "dashdot": "7 2.5 2 2.5"}  # the same in an SVG


class AgentStyle(NamedTuple):
    """The style in which an agent is drawn."""

    colour: int  # index into LIGHT and DARK
    dash: str
    marker: str

    @property
    def paper(self) -> str:
        """The colour on paper."""
        return LIGHT[self.colour]


def assign_styles(agents: Iterable[tuple[str, str]]) -> dict[str, AgentStyle]:
    """Give each of some agents a style.

    Each kind gets a colour and each agent of a kind a line; when lines run out, another colour. If all are of
    one kind, colours tell them apart.

    Args:
        agents: the key and kind of each, in the order of the study.

    >>> styles = assign_styles([("q", "q_learning"), ("h", "heavy"), ("tuned", "heavy")])
    >>> [(style.colour, style.dash) for style in styles.values()]
    [(0, 'solid'), (1, 'solid'), (1, 'dash')]
    >>> [(style.colour, style.dash) for style in assign_styles([("a", "heavy"), ("b", "heavy")]).values()]
    [(0, 'solid'), (1, 'solid')]
    """
    agents = list(agents)
    if len({kind for _, kind in agents}) == 1:
        return {key: _make_style(i, i // len(LIGHT)) for i, (key, _) in enumerate(agents)}
    members: dict[str, int] = {}
    families: dict[tuple[str, int], int] = {}
    styles: dict[str, AgentStyle] = {}
    for key, kind in agents:
        member = members.get(kind, 0)
        members[kind] = member + 1
        family = families.setdefault((kind, member // len(DASHES)), len(families))
        styles[key] = _make_style(family, member)
    return styles


def _make_style(family: int, member: int) -> AgentStyle:
    dash, marker = list(DASHES)[member % len(DASHES)], list(MARKERS)[family % len(MARKERS)]
    return AgentStyle(family % len(LIGHT), dash, marker)
