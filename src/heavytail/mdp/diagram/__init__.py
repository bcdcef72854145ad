"""Diagrams of small MDPs: the graph of the transitions, and beside it the reward laws.

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

from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from heavytail.errors import InputError, short_text
from heavytail.mdp.diagram.contents import END, START
from heavytail.mdp.diagram.graph import FONT_SIZE, Graph, draw_graph, make_graph, measure
from heavytail.mdp.diagram.laws import LAW_HEIGHT, LAW_WIDTH, add_axes, draw_family, group_laws, pool_laws
from heavytail.mdp.diagram.style import ANY, FILLS, MEANINGS, SEVERAL, action_style
from heavytail.mdp.logged_mdp import LoggedMDP
from heavytail.mdp.mdp import MDP

__all__ = ["draw_mdp"]

MAX_STATES = 40
MAX_FAMILIES = 6
MAX_NAME = 24  # characters of a label
EDGE, HEADER, LEGEND_ROW = 0.15, 0.45, 0.23  # inches
LEGEND: dict[str, Any] = {"loc": "lower left", "frameon": False, "fontsize": FONT_SIZE, "borderaxespad": 0.0}


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
    log, mdp = (mdp, mdp.mdp) if isinstance(mdp, LoggedMDP) else (None, mdp)
    if mdp.n_states > MAX_STATES:
        raise InputError(f"this MDP has {mdp.n_states:,} states; a picture shows at most {MAX_STATES}")
    graph, families = make_graph(mdp, layout), group_laws(pool_laws(log) if log else mdp)
    if mdp.n_stages > 1:
        title = f"{title} (step 0 of {mdp.n_stages})" if title else f"step 0 of {mdp.n_stages}"
    subtitle = _describe(mdp, graph, len(families))
    lower, upper = graph.bounds()
    width, height = (upper - lower).tolist()
    # Texts are measured in the size of labels; a title is larger and bold.
    laws_left = EDGE + max(width, 2.0 * float(measure(title)[0]), 1.1 * float(measure(subtitle)[0]))
    shown = families[:MAX_FAMILIES]
    rows = max(1, int(height / LAW_HEIGHT), min(len(shown), 3))
    sheet_width = laws_left + LAW_WIDTH * math.ceil(len(shown) / rows) + EDGE
    legend = _arrange_legend(_list_handles(graph, mdp.n_actions, log), sheet_width)
    top = legend.height + max(height, min(rows, len(shown)) * LAW_HEIGHT)

    figure = Figure((sheet_width, top + HEADER))
    ruler: dict[str, Any] = {"transform": figure.dpi_scale_trans}
    figure.text(EDGE, top + HEADER - EDGE, title, fontsize=12.0, weight="bold", va="top", **ruler)
    figure.text(EDGE, top, subtitle, fontsize=FONT_SIZE, color="#555555", **ruler)
    draw_graph(add_axes(figure, EDGE, top - height, width, height), graph, mdp.n_actions)
    for k, family in enumerate(shown):
        column, row = divmod(k, rows)
        draw_family(figure, family, laws_left + LAW_WIDTH * column, top - LAW_HEIGHT * row)
    ruler = {"bbox_to_anchor": (EDGE, EDGE), "bbox_transform": figure.dpi_scale_trans}
    figure.legend(handles=legend.handles, ncols=legend.columns, **ruler, **LEGEND)
    return figure


def _describe(mdp: MDP, graph: Graph, n_families: int) -> str:
    more = n_families - MAX_FAMILIES
    parts = [
        f"{_count(mdp.n_states, 'state')}, {_count(mdp.n_actions, 'action')}",
        f"episodes of {_count(mdp.horizon, 'step')}" if mdp.horizon else "continuing",
        "" if n_families else "all rewards are fixed",
        f"where nothing is noted: {', '.join(graph.common.splitlines())}" if graph.common else "",
        f"{more} more kinds of laws are not drawn" if more > 0 else "",
    ]
    return "; ".join(filter(None, parts))


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n > 1)}"


# The legend


class _Legend(NamedTuple):
    handles: list[Artist]
    columns: int
    height: float  # with an edge above and below


def _arrange_legend(handles: list[Artist], width: float) -> _Legend:
    widest = max(float(measure(str(handle.get_label()))[0]) for handle in handles) + 0.6
    columns = max(1, int(width / widest))
    return _Legend(handles, columns, LEGEND_ROW * math.ceil(len(handles) / columns) + 2 * EDGE)


def _list_handles(graph: Graph, n: int, log: LoggedMDP | None) -> list[Artist]:
    """Return the lines of actions, of all where they have labels; the marks; and the labels of states."""
    used = {arrow.actions for arrow in graph.arrows if arrow.source != START}
    names = [f"a{a}{name}" for a, name in enumerate(_short_names(log.actions) if log else [""] * n)]
    lines = [(action_style((a,), n), names[a]) for a in range(n) if log or (a,) in used]
    if n > 1 and tuple(range(n)) in used:
        lines.append((ANY, "any action"))
    if any(1 < len(actions) < n for actions in used):
        lines.append((SEVERAL, "as named"))
    handles: list[Artist] = [
        Line2D([], [], color=colour, linestyle=dashes, label=x) for (colour, dashes), x in lines
    ]
    for kind, meaning in MEANINGS.items():
        if kind in graph.kinds:
            handles.append(Patch(facecolor=FILLS[kind], edgecolor="black", label=meaning))
    if any(arrow.target == END for arrow in graph.arrows):
        handles.append(_make_mark("o", "end of the episode"))
    if graph.terminal:
        handles.append(_make_mark("$◎$", "terminal state"))
    return handles + [
        _make_mark(f"${s}$", name[2:]) for s, name in enumerate(_short_names(log.states) if log else ())
    ]


def _short_names(labels: Sequence[Hashable]) -> list[str]:
    """Write labels as a legend can show them, which takes a dollar for mathematics."""
    texts = [", ".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in labels]
    return [": " + short_text(text, MAX_NAME).replace("$", r"\$") for text in texts]


def _make_mark(marker: str, label: str) -> Line2D:
    return Line2D([], [], linestyle="", marker=marker, color="black", markersize=8, label=label)
