"""Painting a composed graph: circles, arrows, words, and the key to them."""

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Patch, Polygon

from heavytail.arrays import Floats
from heavytail.mdp.diagram.arrows import RADIUS
from heavytail.mdp.diagram.compose import Drawing
from heavytail.mdp.diagram.contents import END, PAYS, Arrow
from heavytail.mdp.diagram.labels import FONT_SIZE, LINE, Label
from heavytail.mdp.diagram.style import ANY, FILL, MEANING, SEVERAL, Style, action_style

HEAD_LENGTH, HEAD_WIDTH = 0.11, 0.085
RING = 0.045


def paint(axes: Axes, drawing: Drawing) -> None:
    """Paint everything; the data coordinates of the axes are inches."""
    axes.set_axis_off()
    axes.set_aspect("equal")
    for arrow, curve in zip(drawing.arrows, drawing.routes.curves, strict=True):
        _paint_arrow(axes, curve, action_style(arrow.actions, drawing.n_actions), _name(arrow))
        if arrow.target == END:
            _paint_end(axes, curve)
    for s, curve in drawing.routes.starts.items():
        _paint_arrow(axes, curve, ANY, f"start-{s}")
    for s in range(len(drawing.centers)):
        _paint_state(axes, drawing, s)
    for label, place in zip(drawing.labels, drawing.places, strict=True):
        _paint_label(axes, label, place)


def _name(arrow: Arrow) -> str:
    target = "end" if arrow.target == END else str(arrow.target)
    return f"arrow-{arrow.source}-{target}-by-{'-'.join(map(str, arrow.actions))}"


def _paint_arrow(axes: Axes, curve: Floats, style: Style, name: str) -> None:
    tip = curve[-1]
    behind = next((point for point in curve[::-1] if ((tip - point) ** 2).sum() >= HEAD_LENGTH**2), curve[0])
    along = (tip - behind) / max(float(((tip - behind) ** 2).sum()) ** 0.5, 1e-9)
    across = 0.5 * HEAD_WIDTH * along[[1, 0]] * (-1.0, 1.0)
    base = tip - HEAD_LENGTH * along
    shaft = [point for point in curve if ((tip - point) ** 2).sum() > (0.8 * HEAD_LENGTH) ** 2] or [base]
    line = Line2D(
        *zip(*shaft, strict=True),
        color=style.colour,
        linestyle=style.dashes,
        linewidth=1.1,
        zorder=1,
        gid=name,
        snap=False,
    )
    axes.add_line(line)
    axes.add_patch(
        Polygon([tip, base + across, base - across], closed=True, color=style.colour, linewidth=0, zorder=2)
    )


def _paint_end(axes: Axes, curve: Floats) -> None:
    """A dot in a ring behind the tip of a straight arrow."""
    place = curve[-1] + 0.07 * (curve[-1] - curve[0]) / np.linalg.norm(curve[-1] - curve[0])
    axes.add_patch(Circle(tuple(place), 0.07, facecolor="white", edgecolor="black", linewidth=0.9, zorder=3))
    axes.add_patch(Circle(tuple(place), 0.04, color="black", linewidth=0, zorder=3))


def _paint_state(axes: Axes, drawing: Drawing, s: int) -> None:
    x, y = drawing.centers[s]
    axes.add_patch(
        Circle((x, y), RADIUS, facecolor=FILL[drawing.pays[s]], edgecolor="black", linewidth=1.1, zorder=4)
    )
    if s in drawing.terminal:
        axes.add_patch(
            Circle((x, y), RADIUS - RING, facecolor="none", edgecolor="black", linewidth=0.9, zorder=5)
        )
    axes.text(x, y, str(s), ha="center", va="center", fontsize=10.5, zorder=6, gid=f"state-{s}")


def _paint_label(axes: Axes, label: Label, place: Floats) -> None:
    """Line by line, because each may have its colour."""
    x, y = place
    for k, line in enumerate(label.lines):
        colour = label.colours[min(k, len(label.colours) - 1)]
        middle = y + LINE * ((len(label.lines) - 1) / 2 - k)
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.1, "alpha": 0.9}
        axes.text(
            x, middle, line, ha="center", va="center", fontsize=FONT_SIZE, color=colour, bbox=box, zorder=3
        )


def key(drawing: Drawing) -> list[list[Artist]]:
    """What the lines mean, and what the tints and dots.

    Handles for two legends, of which either may be missing.
    """
    used = {arrow.actions for arrow in drawing.arrows}
    lines = [
        _line(action_style((a,), drawing.n_actions), f"a{a}")
        for a in range(drawing.n_actions)
        if (a,) in used
    ]
    if drawing.n_actions > 1 and tuple(range(drawing.n_actions)) in used:
        lines.append(_line(ANY, "any action"))
    if any(1 < len(actions) < drawing.n_actions for actions in used):
        lines.append(_line(SEVERAL, "as named"))
    marks: list[Artist] = [
        Patch(facecolor=FILL[pay], edgecolor="black", linewidth=0.8, label=MEANING[pay])
        for pay in PAYS[1:]
        if pay in drawing.pays
    ]
    if any(arrow.target == END for arrow in drawing.arrows):
        marks.append(
            Line2D([], [], linestyle="", marker="o", color="black", markersize=4, label="end of the episode")
        )
    if drawing.terminal:
        marks.append(
            Line2D([], [], linestyle="", marker="$◎$", color="black", markersize=9, label="terminal state")
        )
    return [part for part in (list[Artist](lines), marks) if part]


def _line(style: Style, label: str) -> Line2D:
    return Line2D([], [], color=style.colour, linestyle=style.dashes, linewidth=1.4, label=label)
