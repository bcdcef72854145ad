"""The curves of the arrows, in inches: side by side, around the states, loops where there is room.

Every arrow is one Bézier curve, given by its control points: a straight stub has two, an arrow between states
three, a loop four. It starts and ends at the edges of the states, in the direction of their centres.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.bezier import BezierSegment

from heavytail.arrays import Floats
from heavytail.mdp.diagram.contents import END, Arrow
from heavytail.mdp.diagram.layouts import Layout

RADIUS = 0.25  # of a state
TAIL, HEAD = RADIUS + 0.01, RADIUS + 0.03  # from the centre of a state to where arrows start and end
GAP = 0.41  # between the control points of arrows that connect the same states
DETOURS = (0.5, 1.0, 1.5, 2.1, 2.9, 4.0)  # farther control points, tried to get around a state
POINTS = 60
LOOP_HEIGHT, LOOP_SPACING = 0.5, 62.0
STUB_LENGTH = 0.4  # of the arrow into a start state
ARROW_WIDTH, STUB_WIDTH, LOOP_WIDTH = 8.0, 20.0, 24.0  # half the angle that each takes at its state


class Edges(NamedTuple):
    """Control points [2 to 4, 2] of every arrow, and of the arrows into the start states."""

    curves: list[Floats]
    starts: dict[int, Floats]


def sample_curve(controls: Floats) -> Floats:
    """Return points [POINTS, 2] along a Bézier curve."""
    return BezierSegment(controls)(np.linspace(0.0, 1.0, POINTS))


def route_arrows(arrows: Sequence[Arrow], layout: Layout, starts: Sequence[int]) -> Edges:
    """Route the arrows between states first, then loops, ends and starts where these leave room."""
    curves = {i: _avoid_states(layout.positions, arrows[i], bend) for i, bend in _bends(arrows)}
    free = FreeAngles(layout.positions, arrows, curves)
    stubs = {
        s: free.place_stub(s, layout.outward[s] + 180.0 if layout.name == "tree" else 180.0) for s in starts
    }
    at_state: dict[int, list[int]] = defaultdict(list)
    for i, arrow in enumerate(arrows):
        if arrow.target in (END, arrow.source):
            at_state[arrow.source].append(i)
    for s, indices in at_state.items():
        for k, i in enumerate(indices):
            angle = layout.outward[s] + LOOP_SPACING * ((len(indices) - 1) / 2 - k)
            ends = arrows[i].target == END
            curves[i] = free.place_stub(s, angle)[::-1] if ends else free.place_loop(s, angle)
    return Edges([curves[i] for i in range(len(arrows))], stubs)


# Between two states


def _bends(arrows: Sequence[Arrow]) -> Iterator[tuple[int, float]]:
    """Yield for each arrow between two states how far its control point lies to its own left.

    All arrows between the same two states lie side by side.
    """
    between: dict[tuple[int, int], list[int]] = defaultdict(list)
    for i, arrow in enumerate(arrows):
        if arrow.target not in (END, arrow.source):
            between[min(arrow[:2]), max(arrow[:2])].append(i)
    for (first, _), indices in between.items():
        forward = [i for i in indices if arrows[i].source == first]
        back = [i for i in indices if arrows[i].source != first]
        for k, i in enumerate([*reversed(forward), *back]):
            offset = GAP * ((len(indices) - 1) / 2 - k)
            yield i, offset if arrows[i].source == first else -offset


def _avoid_states(positions: Floats, arrow: Arrow, bend: float) -> Floats:
    """Return a curve with about this bend that meets no third state."""
    start, end = positions[arrow.source], positions[arrow.target]
    others = np.delete(positions, [arrow.source, arrow.target], axis=0)
    side = -1.0 if bend < 0 else 1.0
    for detour in (0.0, *(sign * size for size in DETOURS for sign in (side, -side))):
        curve = _bend(start, end, bend + detour)
        if (_distances(sample_curve(curve), others) > RADIUS + 0.12).all():
            return curve
    return _bend(start, end, bend)


def _bend(start: Floats, end: Floats, bend: float) -> Floats:
    """Return a parabola from one circle to the other."""
    along = (end - start) / np.linalg.norm(end - start)
    control = (start + end) / 2 + bend * np.array([-along[1], along[0]])
    return np.array([_move(start, control, TAIL), control, _move(end, control, HEAD)])


def _move(point: Floats, target: Floats, distance: float) -> Floats:
    return point + distance * (target - point) / np.linalg.norm(target - point)


def _distances(points: Floats, others: Floats) -> Floats:
    return np.linalg.norm(points[:, None] - others[None], axis=2)


# At one state


class FreeAngles:
    """The directions at each state that arrows have not taken."""

    def __init__(self, positions: Floats, arrows: Sequence[Arrow], curves: Mapping[int, Floats]) -> None:
        self.positions = positions
        self.taken: dict[int, list[tuple[float, float]]] = defaultdict(list)  # angles and half their widths
        self.points = np.concatenate([np.empty((0, 2)), *map(sample_curve, curves.values())])
        for i, curve in curves.items():
            for s, point in ((arrows[i].source, curve[0]), (arrows[i].target, curve[-1])):
                x, y = point - positions[s]
                self.taken[s].append((math.degrees(math.atan2(y, x)), ARROW_WIDTH))

    def place_stub(self, s: int, wanted: float) -> Floats:
        """Return a short straight arrow towards a state, near the wanted angle."""
        angle = self._take_angle(s, wanted, STUB_WIDTH, STUB_LENGTH)
        return self._add(self.positions[s] + np.outer([RADIUS + STUB_LENGTH, HEAD], _unit(angle)))

    def place_loop(self, s: int, wanted: float) -> Floats:
        """Return an arrow that leaves a state and comes back, near the wanted angle."""
        others = self.taken[s].copy()
        angle = self._take_angle(s, wanted, LOOP_WIDTH, LOOP_HEIGHT)
        room = min((_turn(angle, other) - width for other, width in others), default=math.inf)
        spread = min(27.0, max(10.0, 1.1 * room))
        reach = (RADIUS + LOOP_HEIGHT) / math.cos(math.radians(spread))
        leave, enter = _unit(angle + spread), _unit(angle - spread)
        return self._add(
            self.positions[s] + np.array([TAIL * leave, reach * leave, reach * enter, HEAD * enter])
        )

    def _add(self, curve: Floats) -> Floats:
        self.points = np.concatenate([self.points, sample_curve(curve)])
        return curve

    def _take_angle(self, s: int, wanted: float, width: float, length: float) -> float:
        """Return the angle nearest to the wanted one at which something of this size meets least."""
        center, others = self.positions[s], np.delete(self.positions, s, axis=0)
        points = self.points[(np.abs(self.points - center) < RADIUS + length + 0.25).all(axis=1)]

        def cost(angle: float) -> float:
            crowded = sum(max(0.0, width + other - _turn(angle, at)) for at, other in self.taken[s])
            tips = center + np.outer([RADIUS + 0.5 * length, RADIUS + length], _unit(angle))
            near = np.count_nonzero(_distances(points, tips) < 0.2)
            hit = np.count_nonzero(_distances(others, tips) < RADIUS + 0.15)
            return crowded + 3.0 * near + 100.0 * hit

        turns = sorted(np.arange(-180.0, 180.0, 7.5).tolist(), key=lambda turn: (abs(turn), turn))
        best: float = wanted + min(turns, key=lambda turn: cost(wanted + turn) + 0.12 * abs(turn))
        self.taken[s].append((best, width))
        return best


def _unit(angle: float) -> Floats:
    """Return the direction of an angle in degrees."""
    return np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])


def _turn(one: float, other: float) -> float:
    """Return the angle between two directions, in degrees."""
    return abs((one - other + 180.0) % 360.0 - 180.0)
