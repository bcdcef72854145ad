"""One look for every figure and page: each agent has its colour, line and marker wherever it is shown.

Agents of one kind share a colour and differ by the line, so that a family is seen at a glance. Colours are
from Okabe and Ito's set for all kinds of colour vision and a few that keep apart from it; markers say the
same again without colour. In the page a colour is a name, ``@c0``, that the style sheet resolves by day and
by night.
"""

from collections.abc import Iterable
from typing import NamedTuple

from heavytail.mdp.diagram.style import Dashes

LIGHT = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#B5508C",
    "#B88700",
    "#6A51A3",
    "#5E7A00",
    "#6B7280",
    "#007C91",
    "#A50026",
)
DARK = (
    "#56B4E9",
    "#FF8F45",
    "#2CC79A",
    "#E58FC3",
    "#E6B93A",
    "#AE97F5",
    "#B7CC52",
    "#A6ADB8",
    "#45C4D6",
    "#FF7088",
)
MARKERS = (
    "circle",
    "square",
    "diamond",
    "triangle-up",
    "x",
    "triangle-down",
    "cross",
    "star",
    "pentagon",
    "hexagon",
)
PAPER_MARKERS = dict(zip(MARKERS, ("o", "s", "D", "^", "X", "v", "P", "*", "p", "h"), strict=True))
DASHES = ("solid", "dash", "dot", "dashdot")
PAPER_DASHES: dict[str, Dashes] = {
    "solid": "-",
    "dash": (0, (5, 2)),
    "dot": (0, (1.2, 1.4)),
    "dashdot": (0, (5, 1.5, 1.2, 1.5)),
}
STROKES = {
    "solid": "",
    "dash": "7 3",
    "dot": "2 2.5",
    "dashdot": "7 2.5 2 2.5",
}  # the same as an SVG draws it


class AgentStyle(NamedTuple):
    """How an agent is drawn."""

    colour: int  # index into LIGHT and DARK
    dash: str
    marker: str

    @property
    def token(self) -> str:
        """The colour's name in the page."""
        return f"@c{self.colour}"

    @property
    def paper(self) -> str:
        """The colour on paper."""
        return LIGHT[self.colour]


def styles(agents: Iterable[tuple[str, str]]) -> dict[str, AgentStyle]:
    """A look for each of some agents.

    A colour for a kind, a line for each of its kind, another colour when lines run out. Where all are of one
    kind, colours tell them apart.

    Args:
        agents: key and kind of each, in the order of the study.

    >>> found = styles([("q", "q_learning"), ("h", "heavy"), ("tuned", "heavy")])
    >>> [(look.colour, look.dash) for look in found.values()]
    [(0, 'solid'), (1, 'solid'), (1, 'dash')]
    >>> [(look.colour, look.dash) for look in styles([("a", "heavy"), ("b", "heavy")]).values()]
    [(0, 'solid'), (1, 'solid')]
    """
    known = list(agents)
    if len({kind for _, kind in known}) == 1:
        return {key: _look(i, i // len(LIGHT)) for i, (key, _) in enumerate(known)}
    seen: dict[str, int] = {}
    families: dict[tuple[str, int], int] = {}
    found: dict[str, AgentStyle] = {}
    for key, kind in known:
        before = seen.setdefault(kind, 0)
        seen[kind] += 1
        found[key] = _look(families.setdefault((kind, before // len(DASHES)), len(families)), before)
    return found


def _look(family: int, member: int) -> AgentStyle:
    return AgentStyle(family % len(LIGHT), DASHES[member % len(DASHES)], MARKERS[family % len(MARKERS)])


def style_sheet() -> str:
    """The colours as CSS, by day and by night."""
    day, night = (
        " ".join(f"--c{i}: {colour};" for i, colour in enumerate(colours)) for colours in (LIGHT, DARK)
    )
    dark = f"color-scheme: dark; {night}"
    return (
        f":root {{ color-scheme: light; {day} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root:not([data-theme=light]) {{ {dark} }} }}\n"
        f":root[data-theme=dark] {{ {dark} }}\n"
    )
