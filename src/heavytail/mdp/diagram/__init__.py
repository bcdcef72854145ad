"""Diagrams of small MDPs: the graph of the transitions, and beside or below it the reward laws.

>>> import heavytail as ht
>>> from heavytail.mdp.diagram import draw_mdp
>>> figure = draw_mdp(ht.make_mdp("two_state"), title="two_state")
>>> type(figure).__name__
'Figure'

Neither pyplot nor global state is used: it works without a screen and in threads.
"""

import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from heavytail.errors import InputError, short_text
from heavytail.files import save_figure
from heavytail.mdp.diagram.compose import Diagram, layout_diagram
from heavytail.mdp.diagram.drawing import Legend, draw_diagram, list_legends
from heavytail.mdp.diagram.labels import measure_width
from heavytail.mdp.diagram.law_families import LawFamily, group_laws
from heavytail.mdp.diagram.law_panel import HEIGHT, WIDTH, draw_family
from heavytail.mdp.diagram.pooled_laws import pool_laws
from heavytail.mdp.logged_mdp import LoggedMDP
from heavytail.mdp.mdp import MDP

__all__ = ["draw_mdp", "save_figure"]

MAX_STATES = 40
MAX_FAMILIES = 6
MAX_NAME = 24  # characters of a label
EDGE, BETWEEN, ABOVE_LEGEND = 0.15, 0.25, 0.1
LEGEND_ROW, TITLE, SUBTITLE = 0.23, 0.27, 0.25
MIN_WIDTH = 3.6
RATIO = 1.6  # of the width of a figure to its height, ideally
FONT_SIZE, TITLE_SIZE = 8.0, 12.0
LEGEND: dict[str, Any] = {"fontsize": FONT_SIZE, "frameon": False, "borderpad": 0.0, "borderaxespad": 0.0}
LEGEND |= {"handlelength": 2.2, "columnspacing": 1.4, "handletextpad": 0.5}


def draw_mdp(mdp: MDP | LoggedMDP, *, title: str = "", layout: str | None = None) -> Figure:
    """Draw the transitions and the reward laws of an MDP.

    States are circles, tinted where they give rewards; a short arrow leads into each start state, and an
    episode ends at a double ring or a dot. Each action has its line; actions with the same successor and
    probability share an arrow, which names them. Certain transitions carry no number.

    Args:
        mdp: an MDP of at most 40 states; of one that depends on the step, the first step is drawn. One from a
            log has its labels in the legend.
        title: above the picture.
        layout: "chain", "star", "double_chain", "grid", "tree" or "circle"; None chooses by how the states
            are connected.
    """
    logged = mdp if isinstance(mdp, LoggedMDP) else None
    mdp = mdp.mdp if isinstance(mdp, LoggedMDP) else mdp
    if mdp.n_states > MAX_STATES:
        raise InputError(f"this MDP has {mdp.n_states:,} states; a picture shows at most {MAX_STATES}")
    diagram, families = layout_diagram(mdp, layout), group_laws(mdp if logged is None else pool_laws(logged))
    if logged is not None:
        diagram = diagram._replace(
            state_names=_short_names(logged.states), action_names=_short_names(logged.actions)
        )
    if mdp.n_stages > 1:
        title = f"{title} (step 0 of {mdp.n_stages})" if title else f"step 0 of {mdp.n_stages}"
    shown, subtitle = families[:MAX_FAMILIES], _describe(mdp, diagram, families)
    graph = _Graph.measure(diagram)
    sheet = _arrange(graph, len(shown), top=(TITLE if title else 0.0) + SUBTITLE + EDGE)
    text_width = max(1.15 * measure_width(title, TITLE_SIZE), measure_width(subtitle, FONT_SIZE))
    figure = Figure(figsize=(max(sheet.width, text_width + 2 * EDGE), sheet.height))
    _write_title(figure, title, subtitle)
    _draw_graph(figure, diagram, graph, sheet.graph_top)
    for family, (left, top) in zip(shown, sheet.corners, strict=True):
        draw_family(figure, family, left, top)
    return figure


def _short_names(labels: Sequence[Hashable]) -> tuple[str, ...]:
    """Write labels as a legend can show them, which takes a dollar for mathematics."""
    texts = [", ".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in labels]
    return tuple(short_text(text, MAX_NAME).replace("$", r"\$") for text in texts)


def _describe(mdp: MDP, diagram: Diagram, families: list[LawFamily]) -> str:
    more = len(families) - MAX_FAMILIES
    parts = [
        f"{_count(mdp.n_states, 'state')}, {_count(mdp.n_actions, 'action')}",
        f"episodes of {_count(mdp.horizon, 'step')}" if mdp.horizon else "continuing",
        "" if families else "all rewards are fixed",
        diagram.common,
        f"{more} more kinds of laws are not drawn" if more > 0 else "",
    ]
    return "; ".join(filter(None, parts))


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n > 1)}"


# The arrangement, in inches from the lower left corner


class _Graph(NamedTuple):
    """The size of the graph with its legends below it."""

    width: float
    height: float
    legends: list[Legend]

    @classmethod
    def measure(cls, diagram: Diagram) -> "_Graph":
        lower, upper = diagram.bounds()
        width, height = np.maximum(upper - lower, [MIN_WIDTH, 0.0]).tolist()
        legends = list_legends(diagram, width)
        return cls(
            width, height + ABOVE_LEGEND + LEGEND_ROW * sum(legend.rows for legend in legends), legends
        )


class _Sheet(NamedTuple):
    """The size of the figure, the top of its graph, and the upper left corners of its families of laws."""

    width: float
    height: float
    graph_top: float
    corners: list[tuple[float, float]]

    def waste(self) -> float:
        """Return the area, more for an unusual shape."""
        return self.width * self.height * (1.0 + 0.5 * abs(math.log(self.width / self.height / RATIO)))


def _arrange(graph: _Graph, n: int, top: float) -> _Sheet:
    """Arrange `n` families beside the graph or below it, in as many columns as make a compact sheet."""
    sheets = [
        _make_sheet(graph, n, top, columns, beside=beside)
        for beside in (True, False)
        for columns in range(1, max(n, 1) + 1)
    ]
    return min(sheets, key=_Sheet.waste)


def _make_sheet(graph: _Graph, n: int, top: float, columns: int, *, beside: bool) -> _Sheet:
    gap = BETWEEN if n else 0.0
    panel_width = columns * (WIDTH + BETWEEN) - BETWEEN if n else 0.0
    panel_height = math.ceil(n / columns) * HEIGHT
    if beside:
        width, height = graph.width + gap + panel_width, max(graph.height, panel_height)
    else:
        width, height = max(graph.width, panel_width), graph.height + gap + panel_height
    graph_top = height + EDGE
    left, first = (EDGE + graph.width + gap, graph_top) if beside else (EDGE, graph_top - graph.height - gap)
    corners = [(left + (WIDTH + BETWEEN) * (k % columns), first - HEIGHT * (k // columns)) for k in range(n)]
    return _Sheet(width + 2 * EDGE, graph_top + top, graph_top, corners)


# Drawing


def _write_title(figure: Figure, title: str, subtitle: str) -> None:
    width, height = figure.get_size_inches()
    if title:
        figure.text(EDGE / width, 1.0 - EDGE / height, title, fontsize=TITLE_SIZE, weight="bold", va="top")
    y = 1.0 - (EDGE + (TITLE if title else 0.0)) / height
    figure.text(EDGE / width, y, subtitle, fontsize=FONT_SIZE, color="#555555", va="top")


def _draw_graph(figure: Figure, diagram: Diagram, graph: _Graph, top: float) -> None:
    """Draw the graph at one inch to the inch, and its legends."""
    (left, lower), (right, upper) = (corner.tolist() for corner in diagram.bounds())
    width, height = figure.get_size_inches()
    y = top - (upper - lower)
    axes = figure.add_axes((EDGE / width, y / height, (right - left) / width, (upper - lower) / height))
    axes.set(xlim=(left, right), ylim=(lower, upper))
    draw_diagram(axes, diagram)
    y -= ABOVE_LEGEND
    for handles, columns, rows in graph.legends:
        corner = EDGE / width, y / height
        figure.legend(handles=handles, ncols=columns, loc="upper left", bbox_to_anchor=corner, **LEGEND)
        y -= LEGEND_ROW * rows
