"""The graph of an MDP, in inches: its arrows, a place for each label, and their drawing.

Every arrow is one Bézier curve, given by its control points: a straight stub has two, an arrow between states
three, a loop four.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.bezier import BezierSegment
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Circle, FancyArrowPatch
from matplotlib.path import Path
from matplotlib.textpath import TextPath

from heavytail.arrays import Floats
from heavytail.mdp.diagram.contents import (
    END,
    START,
    Arrow,
    find_terminal_states,
    format_arrow,
    list_arrows,
    list_rewards,
)
from heavytail.mdp.diagram.layouts import Layout, choose_layout
from heavytail.mdp.diagram.style import FILLS, INKS, RewardKind, action_style
from heavytail.mdp.mdp import MDP

RADIUS = 0.25  # of a state
TAIL, TIP = RADIUS + 0.01, RADIUS + 0.03  # from the centre of a state to where arrows start and end
STUB, LOOP = RADIUS + 0.4, RADIUS + 0.5  # from the centre of a state to the ends of stubs and beyond loops
GAP = 0.41  # between the control points of arrows that connect the same states
DETOURS = (0.0, 0.5, -0.5, 1.0, -1.0, 1.5, -1.5, 2.1, -2.1, 2.9, -2.9, 4.0)  # tried to get around a state
ROOM = 60.0  # degrees that a loop or a stub has to the next arrow, where there is room
POINTS = 60
CODES = {2: Path.LINETO, 3: Path.CURVE3, 4: Path.CURVE4}  # by the number of control points
FONT_SIZE = 8.0
EDGE = 0.16  # around everything, for lines and the dots at ends
MIN_COMMON = 8  # states with the same rewards, from which on these are written once


class Label(NamedTuple):
    """A text around its centre."""

    text: str
    colour: str
    center: Floats


class Graph(NamedTuple):
    """Everything in its place."""

    arrows: list[Arrow]
    curves: list[Floats]  # control points
    positions: Floats  # [S, 2]
    kinds: list[RewardKind]  # of the states
    terminal: set[int]
    labels: list[Label]
    common: str  # the rewards of many states, written once

    def bounds(self) -> tuple[Floats, Floats]:
        """Return the lower left and the upper right corner."""
        boxes = [(center, measure(text) / 2) for text, _, center in self.labels]
        boxes += [(center, np.full(2, RADIUS)) for center in self.positions]
        corners = [center + sign * half for center, half in boxes for sign in (-1, 1)]
        everything = np.concatenate([corners, *map(_sample, self.curves)])
        return everything.min(axis=0) - EDGE, everything.max(axis=0) + EDGE


def make_graph(mdp: MDP, layout_name: str | None) -> Graph:
    """Lay out the states of an MDP's first step, route its arrows, and place the labels."""
    arrows, (kinds, notes) = list_arrows(mdp), zip(*list_rewards(mdp), strict=True)
    texts = [format_arrow(arrow, mdp.n_actions) for arrow in arrows]
    widths = [measure(text)[0] for arrow, text in zip(arrows, texts, strict=True) if _connects(arrow)]
    layout = choose_layout(arrows, mdp.n_states, layout_name, max(widths, default=0.0))
    curves = _route_arrows(arrows, layout)
    common, count = Counter(notes).most_common(1)[0]
    common = common if count >= MIN_COMMON and all(notes) else ""
    places = _Places(layout, curves)
    labels = [
        Label(text, action_style(arrow.actions, mdp.n_actions).colour, places.on_arrow(i, arrow, text))
        for i, (arrow, text) in enumerate(zip(arrows, texts, strict=True))
        if text
    ]
    for s, (kind, note) in enumerate(zip(kinds, notes, strict=True)):
        if note not in ("", common):
            labels.append(Label(note, INKS[kind], places.beside_state(s, note)))
    return Graph(arrows, curves, layout.positions, list(kinds), find_terminal_states(mdp), labels, common)


def _connects(arrow: Arrow) -> bool:
    return START != arrow.source != arrow.target != END


# Arrows


def _route_arrows(arrows: Sequence[Arrow], layout: Layout) -> list[Floats]:
    """Return the control points of the arrows; loops and stubs are where those between states leave room."""
    curves = {i: _avoid_states(layout.positions, arrows[i], bend) for i, bend in _bends(arrows)}
    taken: dict[int, list[float]] = defaultdict(list)  # directions, in degrees
    for i, curve in curves.items():
        for s, point in ((arrows[i].source, curve[0]), (arrows[i].target, curve[-1])):
            x, y = point - layout.positions[s]
            taken[s].append(math.degrees(math.atan2(y, x)))
    for i, arrow in enumerate(arrows):
        if i not in curves:
            s = arrow.target if arrow.source == START else arrow.source
            angle, room = _find_room(taken[s], 180.0 if arrow.source == START else layout.outward[s])
            taken[s].append(angle)
            curves[i] = layout.positions[s] + _curve_at_state(arrow, angle, room)
    return [curves[i] for i in range(len(arrows))]


def _bends(arrows: Sequence[Arrow]) -> Iterator[tuple[int, float]]:
    """Yield for each arrow between two states how far its control point lies to its own left.

    All arrows between the same two states lie side by side.
    """
    between: dict[tuple[int, int], list[int]] = defaultdict(list)
    for i, arrow in enumerate(arrows):
        if _connects(arrow):
            between[min(arrow[:2]), max(arrow[:2])].append(i)
    for (first, _), indices in between.items():
        forward = [i for i in indices if arrows[i].source == first]
        back = [i for i in indices if arrows[i].source != first]
        for k, i in enumerate([*reversed(forward), *back]):
            offset = GAP * ((len(indices) - 1) / 2 - k)
            yield i, offset if arrows[i].source == first else -offset


def _avoid_states(positions: Floats, arrow: Arrow, bend: float) -> Floats:
    """Return a parabola from state to state with about this bend that meets no third state."""
    start, end = positions[arrow.source], positions[arrow.target]
    others = np.delete(positions, [arrow.source, arrow.target], axis=0)
    along = (end - start) / np.linalg.norm(end - start)
    for detour in DETOURS:
        control = (start + end) / 2 + (bend + math.copysign(detour, detour * bend)) * np.array(
            [-along[1], along[0]]
        )
        curve = np.array([_move(start, control, TAIL), control, _move(end, control, TIP)])
        if (np.linalg.norm(_sample(curve)[:, None] - others, axis=2) > RADIUS + 0.12).all():
            break
    return curve


def _move(point: Floats, target: Floats, distance: float) -> Floats:
    return point + distance * (target - point) / np.linalg.norm(target - point)


def _find_room(taken: Sequence[float], wanted: float) -> tuple[float, float]:
    """Return a direction near the wanted one with room, and how much it has."""

    def room(angle: float) -> float:
        return min([ROOM, *(abs((angle - other + 180.0) % 360.0 - 180.0) for other in taken)])

    turns = sorted(range(-180, 180, 15), key=abs)
    turn = max(turns, key=lambda turn: room(wanted + turn) - 0.1 * abs(turn))
    return wanted + turn, room(wanted + turn)


def _curve_at_state(arrow: Arrow, angle: float, room: float) -> Floats:
    if arrow.source != arrow.target:
        return np.outer([STUB, TIP] if arrow.source == START else [TAIL, STUB], _unit(angle))
    spread = min(27.0, max(10.0, 0.7 * room))
    leave, enter = _unit(angle + spread), _unit(angle - spread)
    reach = LOOP / math.cos(math.radians(spread))
    return np.array([TAIL * leave, reach * leave, reach * enter, TIP * enter])


def _unit(angle: float) -> Floats:
    return np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])


def _sample(controls: Floats) -> Floats:
    return BezierSegment(controls)(np.linspace(0.0, 1.0, POINTS))


# Labels


@cache
def measure(text: str) -> Floats:
    """Return the width and the height of a label in inches."""
    lines, font = text.split("\n"), FontProperties(size=FONT_SIZE)
    widths = [TextPath((0, 0), line, prop=font).get_extents().width if line else 0.0 for line in lines]
    return np.array([max(widths) + 4.5, (1.25 * len(lines)) * FONT_SIZE + 4.5]) / 72


class _Places:
    """What lies where; each label takes the first of its places that hides least of what is there."""

    def __init__(self, layout: Layout, curves: Sequence[Floats]) -> None:
        self.layout, self.centers = layout, layout.positions
        self.halves = np.full_like(self.centers, RADIUS)
        self.points = np.array([_sample(curve) for curve in curves])  # [arrows, points, 2]

    def on_arrow(self, i: int, arrow: Arrow, text: str) -> Floats:
        """Place the label of an arrow near its middle, or beyond that of a loop or a stub."""
        half, points = measure(text) / 2, self.points[i]
        if _connects(arrow):
            at = sorted(range(POINTS // 6, 5 * POINTS // 6), key=lambda k: abs(k - POINTS // 2))
            x, y = points[-1] - points[0]
            aside = np.array([-y, x]) / math.hypot(x, y)
            aside *= np.abs(aside) @ half + 0.05
            on_or_beside = np.concatenate([points[at], points[at] + aside, points[at] - aside])
            return self._take(on_or_beside, half, np.delete(self.points, i, axis=0))
        center = self.layout.positions[max(arrow.source, arrow.target)]
        far = max(points - center, key=np.linalg.norm)
        outward = far / np.linalg.norm(far)
        beyond = center + far + (np.abs(outward) @ half + (0.1 if arrow.target == END else 0.02)) * outward
        aside = 0.3 * np.array([-outward[1], outward[0]])
        return self._take(np.array([beyond, beyond + aside, beyond - aside]), half, self.points)

    def beside_state(self, s: int, text: str) -> Floats:
        """Place the label of a state around it, preferably in the outward direction."""
        half = measure(text) / 2
        directions = [_unit(self.layout.outward[s] + turn) for turn in sorted(range(-180, 180, 10), key=abs)]
        places = [
            self.layout.positions[s] + (RADIUS + gap + (half / np.maximum(np.abs(to), 1e-9)).min()) * to
            for gap in (0.02, 0.1, 0.2, 0.4)
            for to in directions
        ]
        inside = (self.points + self.points[:, ::-1]) / 2  # of loops, to which the label would seem to belong
        return self._take(np.array(places), half, np.concatenate([self.points, inside]))

    def _take(self, places: Floats, half: Floats, points: Floats) -> Floats:
        shared = np.clip(half + self.halves - np.abs(places[:, None] - self.centers), 0.0, None).prod(axis=2)
        covered = (np.abs(places[:, None] - points.reshape(-1, 2)) < half).all(axis=2).sum(axis=1)
        chosen: Floats = places[np.argmin((100 * (shared > 0) + 5000 * shared).sum(axis=1) + covered)]
        self.centers, self.halves = np.vstack([self.centers, chosen]), np.vstack([self.halves, half])
        return chosen


# Drawing


def draw_graph(axes: Axes, graph: Graph, n_actions: int) -> None:
    """Draw a graph on axes whose data coordinates are inches."""
    (left, lower), (right, upper) = graph.bounds()
    axes.set(xlim=(left, right), ylim=(lower, upper), aspect="equal", anchor="NW")
    axes.set_axis_off()
    for arrow, curve in zip(graph.arrows, graph.curves, strict=True):
        style = action_style(arrow.actions, n_actions)
        path = Path(curve, [Path.MOVETO] + [CODES[len(curve)]] * (len(curve) - 1))
        patch = FancyArrowPatch(path=path, arrowstyle="-|>,head_length=6,head_width=2.4", mutation_scale=1.0)
        patch.set(color=style.colour, linestyle=style.dashes, linewidth=1.1, zorder=1)
        axes.add_patch(patch)
        if arrow.target == END:
            behind = curve[-1] + 0.18 * (curve[-1] - curve[0])
            _draw_circle(axes, behind, 0.07, "white", zorder=3)
            _draw_circle(axes, behind, 0.04, "black", zorder=3)
    for s, ((x, y), kind) in enumerate(zip(graph.positions, graph.kinds, strict=True)):
        _draw_circle(axes, (x, y), RADIUS, FILLS[kind], zorder=4)
        if s in graph.terminal:
            _draw_circle(axes, (x, y), RADIUS - 0.045, "none", zorder=5)
        axes.text(x, y, str(s), ha="center", va="center", fontsize=10.5, zorder=6)
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.1, "alpha": 0.9}
    for text, colour, (x, y) in graph.labels:
        label = axes.text(x, y, text, color=colour, bbox=box, zorder=3)
        label.set(ha="center", va="center", fontsize=FONT_SIZE, linespacing=1.1)


def _draw_circle(axes: Axes, center: Sequence[float] | Floats, radius: float, fill: str, zorder: int) -> None:
    x, y = center
    axes.add_patch(Circle((x, y), radius, facecolor=fill, edgecolor="black", zorder=zorder))
