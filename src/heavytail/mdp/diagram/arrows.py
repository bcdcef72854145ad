"""The way each arrow of a picture takes, in inches.

Apart from the others, around the states, loops where there is room.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats
from heavytail.mdp.diagram.contents import END, Arrow
from heavytail.mdp.diagram.layouts import Layout

RADIUS = 0.25  # of a state
GAP = 0.27  # between arrows that connect the same states
POINTS = 40
LOOP_HEIGHT = 0.5
STUB = 0.4  # length of the arrow into a start state
ARROW_WIDTH, STUB_WIDTH, LOOP_WIDTH = 8.0, 20.0, 24.0  # half the angle that each takes at its state


class Routes(NamedTuple):
    """Points [POINTS, 2] along every arrow, and the arrows into the start states."""

    curves: list[Floats]
    starts: dict[int, Floats]


def route(arrows: Sequence[Arrow], layout: Layout, starts: Sequence[int]) -> Routes:
    """Straight or bent arrows first; then loops, ends and starts where these leave room."""
    curves: dict[int, Floats] = {}
    for i, bend in _bends(arrows):
        curves[i] = _clear(layout.positions, arrows[i], bend)
    room = _Room(layout, curves, arrows)
    stubs = {s: room.stub(s, layout.outward[s] + 180.0 if layout.name == "tree" else 180.0) for s in starts}
    loops: dict[int, list[int]] = defaultdict(list)
    for i, arrow in enumerate(arrows):
        if arrow.target in (END, arrow.source):
            loops[arrow.source].append(i)
    for s, indices in loops.items():
        for k, i in enumerate(indices):
            angle = layout.outward[s] + 62.0 * ((len(indices) - 1) / 2 - k)
            curves[i] = room.stub(s, angle)[::-1] if arrows[i].target == END else room.loop(s, angle)
    return Routes([curves[i] for i in range(len(arrows))], stubs)


def unit(angle: float) -> Floats:
    """The direction of an angle in degrees."""
    return np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])


# Between two states


def _bends(arrows: Sequence[Arrow]) -> Iterator[tuple[int, float]]:
    """For each arrow between two states how far it bends to its own left, so that all between the same two lie side by side."""
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


def _clear(positions: Floats, arrow: Arrow, bend: float) -> Floats:
    """A curve with about this bend that meets no third state."""
    others = np.delete(positions, list(arrow[:2]), axis=0)
    side = -1.0 if bend < 0 else 1.0
    extra = [0.0, *(sign * size for size in (0.3, 0.6, 0.9, 1.3, 1.8, 2.5) for sign in (side, -side))]
    for more in extra:
        curve = _bent(positions[arrow.source], positions[arrow.target], bend + more)
        if not len(others) or np.linalg.norm(curve[:, None] - others[None], axis=2).min() > RADIUS + 0.12:
            return curve
    return _bent(positions[arrow.source], positions[arrow.target], bend)


def _bent(start: Floats, end: Floats, bend: float) -> Floats:
    """A parabola from one circle to the other."""
    along = (end - start) / np.linalg.norm(end - start)
    control = (start + end) / 2 + 2 * bend * np.array([-along[1], along[0]])
    return _outside(_bezier(start, control, end), start, end)


def _bezier(*controls: Floats) -> Floats:
    t = np.linspace(0.0, 1.0, 400)[:, None]
    n = len(controls) - 1
    return np.sum(
        [math.comb(n, k) * t**k * (1 - t) ** (n - k) * point for k, point in enumerate(controls)], axis=0
    )


def _outside(curve: Floats, start: Floats, end: Floats) -> Floats:
    """The part of a curve outside the circles at its ends."""
    kept = np.flatnonzero(
        (np.linalg.norm(curve - start, axis=1) > RADIUS + 0.01)
        & (np.linalg.norm(curve - end, axis=1) > RADIUS + 0.03)
    )
    return curve[np.linspace(kept[0], kept[-1], POINTS).round().astype(int)]


# At one state


class _Room:
    """Which directions at each state are taken."""

    def __init__(self, layout: Layout, curves: dict[int, Floats], arrows: Sequence[Arrow]) -> None:
        self.positions = layout.positions
        self.taken: dict[int, list[tuple[float, float]]] = defaultdict(list)
        self.points = np.concatenate([np.empty((0, 2)), *curves.values()])
        for i, curve in curves.items():
            for s, point in ((arrows[i].source, curve[0]), (arrows[i].target, curve[-1])):
                x, y = point - self.positions[s]
                self.taken[s].append((math.degrees(math.atan2(y, x)), ARROW_WIDTH))

    def stub(self, s: int, wanted: float) -> Floats:
        """A short arrow towards the state."""
        angle = self._free(s, wanted, STUB_WIDTH, STUB)
        lengths = np.linspace(RADIUS + STUB, RADIUS + 0.03, POINTS)
        return self._take(self.positions[s] + lengths[:, None] * unit(angle))

    def loop(self, s: int, wanted: float) -> Floats:
        """An arrow that leaves the state and comes back."""
        angle = self._free(s, wanted, LOOP_WIDTH, LOOP_HEIGHT)
        others = [abs((angle - at + 180.0) % 360.0 - 180.0) - width for at, width in self.taken[s][:-1]]
        spread = min(34.0, max(13.0, 1.4 * min(others, default=34.0)))
        center, reach = (
            self.positions[s],
            (RADIUS + LOOP_HEIGHT) / 0.75 / math.cos(math.radians(spread)) - 0.2,
        )
        curve = _bezier(
            center, center + reach * unit(angle + spread), center + reach * unit(angle - spread), center
        )
        return self._take(_outside(curve, center, center))

    def _take(self, curve: Floats) -> Floats:
        self.points = np.concatenate([self.points, curve])
        return curve

    def _free(self, s: int, wanted: float, width: float, length: float) -> float:
        """The direction nearest to the wanted one in which something of this width and length is in nobody's way."""
        reach = RADIUS + length + 0.25
        points = self.points[(np.abs(self.points - self.positions[s]) < reach).all(axis=1)]
        others = np.delete(self.positions, s, axis=0)

        def cost(angle: float) -> float:
            crowded = sum(
                max(0.0, width + other - abs((angle - at + 180.0) % 360.0 - 180.0))
                for at, other in self.taken[s]
            )
            tips = self.positions[s] + np.outer([RADIUS + 0.5 * length, RADIUS + length], unit(angle))
            near = (np.linalg.norm(points[:, None] - tips[None], axis=2) < 0.2).sum()
            hit = (np.linalg.norm(others[:, None] - tips[None], axis=2) < RADIUS + 0.15).sum()
            return crowded + 3.0 * float(near) + 100.0 * float(hit)

        turns = sorted(np.arange(-180.0, 180.0, 7.5), key=lambda turn: (abs(turn), turn))
        best = min(turns, key=lambda turn: cost(wanted + turn) + 0.12 * abs(turn))
        self.taken[s].append((wanted + best, width))
        return float(wanted + best)
