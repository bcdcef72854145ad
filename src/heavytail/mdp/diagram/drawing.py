"""Drawing of a laid-out graph: circles, arrows, labels, and the legend."""

import math
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyArrowPatch, Patch, PathPatch
from matplotlib.path import Path

from heavytail.arrays import Floats
from heavytail.mdp.diagram.arrows import RADIUS
from heavytail.mdp.diagram.compose import Diagram
from heavytail.mdp.diagram.contents import END, REWARD_KINDS, Arrow
from heavytail.mdp.diagram.labels import FONT_SIZE, LINE_HEIGHT, Label, measure_width
from heavytail.mdp.diagram.style import ANY, REWARD_STYLES, SEVERAL, Style, action_style

CODES = {2: Path.LINETO, 3: Path.CURVE3, 4: Path.CURVE4}  # by the number of control points
HEAD = "-|>,head_length=8,head_width=3"  # in points
HIDDEN = 0.08  # from the end of a shaft to the tip of its head, in inches
RING = 0.045
BOX = {"facecolor": "white", "edgecolor": "none", "pad": 1.1, "alpha": 0.9}
LABEL: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": FONT_SIZE, "bbox": BOX, "zorder": 3}
HANDLE = 0.55  # width of the sign and the gaps of an entry of the legend, in inches


def draw_diagram(axes: Axes, diagram: Diagram) -> None:
    """Draw a graph on axes whose data coordinates are inches."""
    axes.set_axis_off()
    axes.set_aspect("equal")
    for arrow, curve in zip(diagram.arrows, diagram.edges.curves, strict=True):
        _draw_arrow(axes, curve, action_style(arrow.actions, diagram.n_actions), _name_arrow(arrow))
        if arrow.target == END:
            _draw_end(axes, curve)
    for s, curve in diagram.edges.starts.items():
        _draw_arrow(axes, curve, ANY, f"start-{s}")
    for s in range(len(diagram.centers)):
        _draw_state(axes, diagram, s)
    for label, place in zip(diagram.labels, diagram.places, strict=True):
        _draw_label(axes, label, place)


def _name_arrow(arrow: Arrow) -> str:
    target = "end" if arrow.target == END else str(arrow.target)
    return f"arrow-{arrow.source}-{target}-by-{'-'.join(map(str, arrow.actions))}"


def _draw_arrow(axes: Axes, curve: Floats, style: Style, name: str) -> None:
    """Draw the shaft and the head apart, because matplotlib would dash the outline of the head too."""
    shaft, back = curve.copy(), curve[-2] - curve[-1]
    shaft[-1] += HIDDEN * back / np.linalg.norm(back)
    codes = [Path.MOVETO] + [CODES[len(curve)]] * (len(curve) - 1)
    line = PathPatch(Path(shaft, codes), fill=False, edgecolor=style.colour, linestyle=style.dashes)
    line.set(linewidth=1.1, capstyle="butt", zorder=1, gid=name, snap=False)
    axes.add_patch(line)
    head = FancyArrowPatch(path=Path(curve[-2:]), arrowstyle=HEAD, mutation_scale=1.0)
    head.set(color=style.colour, linewidth=0.0)
    axes.add_patch(head)


def _draw_end(axes: Axes, curve: Floats) -> None:
    """Draw a dot in a ring behind the tip of a straight arrow."""
    center = curve[-1] + 0.07 * (curve[-1] - curve[0]) / np.linalg.norm(curve[-1] - curve[0])
    _draw_circle(axes, center, 0.07, "white", zorder=3, linewidth=0.9)
    _draw_circle(axes, center, 0.04, "black", zorder=3, linewidth=0.0)


def _draw_state(axes: Axes, diagram: Diagram, s: int) -> None:
    (x, y), fill = diagram.centers[s], REWARD_STYLES[diagram.kinds[s]].fill
    _draw_circle(axes, diagram.centers[s], RADIUS, fill, zorder=4, linewidth=1.1)
    if s in diagram.terminal:
        _draw_circle(axes, diagram.centers[s], RADIUS - RING, "none", zorder=5, linewidth=0.9)
    axes.text(x, y, str(s), ha="center", va="center", fontsize=10.5, zorder=6, gid=f"state-{s}")


def _draw_circle(axes: Axes, center: Floats, radius: float, fill: str, zorder: int, linewidth: float) -> None:
    x, y = center
    circle = Circle((x, y), radius, facecolor=fill, edgecolor="black", linewidth=linewidth, zorder=zorder)
    axes.add_patch(circle)


def _draw_label(axes: Axes, label: Label, place: Floats) -> None:
    """Draw a label line by line, because each may have its colour."""
    x, y = place
    for k, line in enumerate(label.lines):
        colour = label.colours[min(k, len(label.colours) - 1)]
        axes.text(x, y + LINE_HEIGHT * ((len(label.lines) - 1) / 2 - k), line, color=colour, **LABEL)


# The legend


class Legend(NamedTuple):
    """Entries of a legend, and how they are arranged."""

    handles: list[Artist]
    columns: int
    rows: int


def list_legends(diagram: Diagram, width: float) -> list[Legend]:
    """Return the legends of lines, of fills and marks and of states, as wide as given, where not empty."""
    legends = (_list_lines(diagram), _list_marks(diagram), _list_states(diagram))
    return [_arrange(handles, width) for handles in legends if handles]


def _arrange(handles: list[Artist], width: float) -> Legend:
    widths = [measure_width(str(handle.get_label())) + HANDLE for handle in handles]
    columns = len(handles) if sum(widths) < width else max(1, int(width / max(widths)))
    by_columns = [handle for k in range(columns) for handle in handles[k::columns]]
    return Legend(by_columns, columns, math.ceil(len(handles) / columns))


def _list_lines(diagram: Diagram) -> list[Artist]:
    n, used = diagram.n_actions, {arrow.actions for arrow in diagram.arrows}
    named = bool(diagram.action_names)  # then each is listed: other labels say only a0, a1, ...
    names = [f"a{a}: {name}" for a, name in enumerate(diagram.action_names)] or [f"a{a}" for a in range(n)]
    entries = [(action_style((a,), n), names[a]) for a in range(n) if named or (a,) in used]
    if n > 1 and tuple(range(n)) in used:
        entries.append((ANY, "any action"))
    if any(1 < len(actions) < n for actions in used):
        entries.append((SEVERAL, "as named"))
    return [Line2D([], [], color=c, linestyle=dashes, linewidth=1.4, label=x) for (c, dashes), x in entries]


def _list_marks(diagram: Diagram) -> list[Artist]:
    styles = [REWARD_STYLES[kind] for kind in REWARD_KINDS[1:] if kind in diagram.kinds]
    marks: list[Artist] = [
        Patch(facecolor=style.fill, edgecolor="black", linewidth=0.8, label=style.meaning) for style in styles
    ]
    if any(arrow.target == END for arrow in diagram.arrows):
        marks.append(_make_mark("o", 4, "end of the episode"))
    if diagram.terminal:
        marks.append(_make_mark("$◎$", 9, "terminal state"))
    return marks


def _list_states(diagram: Diagram) -> list[Artist]:
    return [_make_mark(f"${s}$", 4.0 + 2.5 * len(str(s)), name) for s, name in enumerate(diagram.state_names)]


def _make_mark(marker: str, size: float, label: str) -> Line2D:
    return Line2D([], [], linestyle="", marker=marker, color="black", markersize=size, label=label)
