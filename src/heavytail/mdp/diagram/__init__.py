"""A picture of a small MDP, as in a paper.

The graph of its transitions, and beside or below it its reward laws.

>>> import heavytail as ht
>>> from heavytail.report.graph import draw_mdp
>>> figure = draw_mdp(ht.make_mdp("two_state"), title="two_state")
>>> type(figure).__name__
'Figure'

No pyplot and no global state: it works without a screen and in threads.
"""

import math
from typing import NamedTuple

from matplotlib.artist import Artist
from matplotlib.figure import Figure

from heavytail.errors import InputError
from heavytail.files import save_figure
from heavytail.mdp.diagram.compose import Drawing, compose
from heavytail.mdp.diagram.labels import width_of
from heavytail.mdp.diagram.law_families import Family, families_of
from heavytail.mdp.diagram.law_panel import HEIGHT, WIDTH, draw_family
from heavytail.mdp.diagram.paint import key, paint
from heavytail.mdp.mdp import MDP

__all__ = ["draw_mdp", "save_figure"]

MAX_STATES = 40
MAX_FAMILIES = 6
EDGE, BETWEEN = 0.15, 0.25
KEY_LINE, TITLE, SUBTITLE = 0.23, 0.27, 0.25
MIN_WIDTH = 3.6
SMALL, TITLE_SIZE = 8.0, 12.0


def draw_mdp(mdp: MDP, *, title: str = "", layout: str | None = None) -> Figure:
    """Draw the transitions and the reward laws of an MDP.

    States are circles, tinted where they pay; a short arrow from nowhere leads into the first one, and an
    episode ends at a double ring or a dot. Each action has its line; actions with the same successor and
    probability share an arrow, which names them. Certain transitions carry no number.

    Args:
        mdp: an MDP of at most 40 states; of one that depends on the step, the first step is drawn.
        title: above the picture.
        layout: "chain", "star", "double_chain", "grid", "tree" or "circle"; None chooses by how the states
            hang together.
    """
    if mdp.n_states > MAX_STATES:
        raise InputError(f"this MDP has {mdp.n_states:,} states; a picture shows at most {MAX_STATES}")
    drawing, families = compose(mdp, layout), families_of(mdp)
    if mdp.n_stages > 1:
        title = f"{title} (step 0 of {mdp.n_stages})" if title else f"step 0 of {mdp.n_stages}"
    shown, words = families[:MAX_FAMILIES], _in_words(mdp, drawing, families)
    sheet = _arrange(_graph_size(drawing), len(shown), top=(TITLE if title else 0.0) + SUBTITLE + EDGE)
    least = 2 * EDGE + max(1.15 * width_of(title, TITLE_SIZE), width_of(words, SMALL))
    figure = Figure(figsize=(max(sheet.width, least), sheet.height))
    _write_title(figure, title, words)
    _draw_graph(figure, drawing, sheet.graph_top)
    for family, (left, top) in zip(shown, sheet.corners, strict=True):
        draw_family(figure, mdp.laws, family, left, top)
    return figure


def _in_words(mdp: MDP, drawing: Drawing, families: list[Family]) -> str:
    parts = [
        f"{mdp.n_states} state{'s' * (mdp.n_states > 1)}, {mdp.n_actions} action{'s' * (mdp.n_actions > 1)}",
        f"episodes of {mdp.horizon} step{'s' * (mdp.horizon > 1)}" if mdp.horizon else "continuing",
        "" if families else "all rewards are fixed",
        drawing.common,
        f"{len(families) - MAX_FAMILIES} more kinds of laws are not drawn"
        if len(families) > MAX_FAMILIES
        else "",
    ]
    return "; ".join(part for part in parts if part)


# Where things are, in inches from the lower left corner


class _Sheet(NamedTuple):
    """The size of the figure, the top of its graph, and the upper left corners of its families of laws."""

    width: float
    height: float
    graph_top: float
    corners: list[tuple[float, float]]


def _graph_size(drawing: Drawing) -> tuple[float, float]:
    """With its key below it."""
    lower, upper = drawing.bounds()
    width = max(float(upper[0] - lower[0]), MIN_WIDTH)
    return width, float(upper[1] - lower[1]) + 0.1 + KEY_LINE * sum(
        rows for _, _, rows in _keys(drawing, width)
    )


def _keys(drawing: Drawing, width: float) -> list[tuple[list[Artist], int, int]]:
    """Each part of the key, with its columns and rows."""
    parts = []
    for handles in key(drawing):
        widest = max(width_of(str(handle.get_label())) for handle in handles)
        in_one_row = sum(width_of(str(handle.get_label())) + 0.55 for handle in handles) < width
        columns = len(handles) if in_one_row else max(1, int(width / (widest + 0.55)))
        by_rows = [
            handle for k in range(columns) for handle in handles[k::columns]
        ]  # a legend fills its columns first
        parts.append((by_rows, columns, math.ceil(len(handles) / columns)))
    return parts


def _arrange(graph: tuple[float, float], n: int, top: float) -> _Sheet:
    """The laws beside the graph or below it, in as many columns as make a compact sheet."""
    sheets = [
        _sheet(graph, n, top, columns, beside=beside)
        for beside in (True, False)
        for columns in range(1, max(n, 1) + 1)
    ]
    return min(
        sheets, key=lambda s: s.width * s.height * (1.0 + 0.5 * abs(math.log(s.width / s.height / 1.6)))
    )


def _sheet(graph: tuple[float, float], n: int, top: float, columns: int, *, beside: bool) -> _Sheet:
    rows = math.ceil(n / columns)
    panel = (columns * (WIDTH + BETWEEN) - BETWEEN, rows * HEIGHT) if n else (0.0, 0.0)
    gap = BETWEEN if n else 0.0
    inner = (
        (graph[0] + gap + panel[0], max(graph[1], panel[1]))
        if beside
        else (max(graph[0], panel[0]), graph[1] + gap + panel[1])
    )
    height = inner[1] + top + EDGE
    left, first = (EDGE + graph[0] + gap, height - top) if beside else (EDGE, height - top - graph[1] - gap)
    corners = [(left + (WIDTH + BETWEEN) * (k % columns), first - HEIGHT * (k // columns)) for k in range(n)]
    return _Sheet(inner[0] + 2 * EDGE, height, height - top, corners)


# Drawing


def _write_title(figure: Figure, title: str, words: str) -> None:
    width, height = figure.get_size_inches()
    if title:
        figure.text(EDGE / width, 1.0 - EDGE / height, title, fontsize=TITLE_SIZE, weight="bold", va="top")
    y = 1.0 - (EDGE + (TITLE if title else 0.0)) / height
    figure.text(EDGE / width, y, words, fontsize=SMALL, color="#555555", va="top")


def _draw_graph(figure: Figure, drawing: Drawing, top: float) -> None:
    """The graph at one inch to the inch, and its key."""
    (left, low), (right, high) = (corner.tolist() for corner in drawing.bounds())
    width, height = figure.get_size_inches()
    across, down = right - left, high - low
    axes = figure.add_axes((EDGE / width, (top - down) / height, across / width, down / height))
    axes.set_xlim(left, right)
    axes.set_ylim(low, high)
    paint(axes, drawing)
    y = top - down - 0.1
    for handles, columns, rows in _keys(drawing, max(across, MIN_WIDTH)):
        figure.legend(
            handles=handles, ncols=columns, loc="upper left", bbox_to_anchor=(EDGE / width, y / height), fontsize=SMALL,
            frameon=False, borderpad=0.0, borderaxespad=0.0, handlelength=2.2, columnspacing=1.4, handletextpad=0.5,
        )  # fmt: skip
        y -= KEY_LINE * rows
