"""Positions of the texts of a diagram: on their arrow or beside their state, and not on each other."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from heavytail.arrays import Floats, Ints
from heavytail.mdp.diagram.arrows import RADIUS

FONT_SIZE = 8.0
LINE_HEIGHT = 1.25 * FONT_SIZE / 72
MARGIN = 0.03
SWEEPS = 4
STATE_COST, LABEL_COST, POINT_COST = 200.0, 200.0, 2.0  # of lying on a state, a label, a point of an arrow
AREA_COST = 2000.0  # of a square inch that two labels share

Candidates = tuple[Floats, Floats]  # centres [K, 2] and costs [K]


class Label(NamedTuple):
    """Lines of text that may stand at any of some places, preferably at a cheap one."""

    lines: tuple[str, ...]
    colours: tuple[str, ...]
    places: Floats  # [K, 2] centres
    costs: Floats  # [K]
    curve: int  # the arrow on which it may lie, or -1


@cache
def measure_width(text: str, size: float = FONT_SIZE) -> float:
    """Return the width of a line of text in inches."""
    if not text.strip():
        return 0.0
    return float(TextPath((0, 0), text, prop=FontProperties(size=size)).get_extents().width) / 72


def measure_size(lines: Sequence[str]) -> Floats:
    """Return the width and the height of lines of text in inches."""
    return 2 * MARGIN + np.array([max(map(measure_width, lines)), LINE_HEIGHT * len(lines)])


def along_curve(points: Floats, lines: Sequence[str], *, loop: bool = False) -> Candidates:
    """Return places for the label of an arrow: on its middle, on it elsewhere, or beside it.

    The label of a loop stands preferably outside it.
    """
    n, half = len(points), measure_size(lines) / 2
    at = np.arange(int(0.2 * n), int(0.8 * n))
    slope = points[at + 1] - points[at - 1]
    normal = np.stack([-slope[:, 1], slope[:, 0]], axis=1) / np.linalg.norm(slope, axis=1)[:, None]
    shift = (np.abs(normal) @ half + 0.03)[:, None] * normal
    off_middle = 8.0 * np.abs(at / (n - 1) - 0.5)
    on, left, right = (2.0, 0.0, 2.0) if loop else (0.0, 2.0, 2.0)
    places = np.concatenate([points[at], points[at] + shift, points[at] - shift])
    return places, np.concatenate([off_middle + on, off_middle + left, off_middle + right])


def behind_arrow(points: Floats, lines: Sequence[str]) -> Candidates:
    """Return places for the label of a straight arrow: where it comes from, or beside it."""
    along = (points[0] - points[-1]) / np.linalg.norm(points[0] - points[-1])
    normal = np.array([-along[1], along[0]])
    half = measure_size(lines) / 2
    behind = points[0] + along * (np.abs(along) @ half + 0.02)
    beside = [points[len(points) // 3] + sign * normal * (np.abs(normal) @ half + 0.03) for sign in (1, -1)]
    return np.array([behind, *beside]), np.array([0.0, 1.0, 1.0])


def around_state(center: Floats, wanted: float, lines: Sequence[str]) -> Candidates:
    """Return places for the label of a state: as near as may be, preferably in the wanted direction."""
    half = measure_size(lines) / 2
    grid = np.meshgrid(np.arange(-180.0, 180.0, 10.0), [0.02, 0.06, 0.1, 0.15, 0.2, 0.3, 0.45, 0.6])
    turns, gaps = grid[0].ravel(), grid[1].ravel()
    angles = np.radians(wanted + turns)
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    to_edge = (half / np.maximum(np.abs(directions), 1e-9)).min(axis=1)
    places = center + (RADIUS + gaps + to_edge)[:, None] * directions
    return places, 0.02 * np.abs(turns) + 8.0 * gaps


def place_labels(labels: Sequence[Label], centers: Floats, curves: Sequence[Floats]) -> Floats:
    """Choose the centre of each label, [L, 2]: its cheapest place given all others, in a few sweeps."""
    halves = np.array([measure_size(label.lines) / 2 for label in labels]).reshape(-1, 2)
    points = np.concatenate([np.empty((0, 2)), *curves])
    owners = np.repeat(np.arange(len(curves)), [len(curve) for curve in curves])
    costs = [
        label.costs
        + STATE_COST * _count_states(label.places, half, centers)
        + POINT_COST * _count_points(label, half, points, owners)
        for label, half in zip(labels, halves, strict=True)
    ]
    cheapest = [label.places[np.argmin(cost)] for label, cost in zip(labels, costs, strict=True)]
    chosen = np.array(cheapest).reshape(-1, 2)
    for _ in range(SWEEPS):
        for i, label in enumerate(labels):
            shared = np.clip(halves[i] + halves - np.abs(label.places[:, None] - chosen[None]), 0.0, None)
            areas = shared.prod(axis=2)
            areas[:, i] = 0.0
            overlap = LABEL_COST * (areas > 0).sum(axis=1) + AREA_COST * areas.sum(axis=1)
            chosen[i] = label.places[np.argmin(costs[i] + overlap)]
    return chosen


def _count_states(places: Floats, half: Floats, centers: Floats) -> Ints:
    """Count for each place the states on which a label would lie."""
    gaps = np.clip(np.abs(places[:, None] - centers[None]) - half, 0.0, None)
    return (np.linalg.norm(gaps, axis=2) < RADIUS + 0.01).sum(axis=1)


def _count_points(label: Label, half: Floats, points: Floats, owners: Ints) -> Ints:
    """Count for each place the points of other arrows that a label would cover."""
    lower, upper = label.places.min(axis=0) - half, label.places.max(axis=0) + half
    reachable = ((points > lower) & (points < upper)).all(axis=1)
    foreign = points[reachable & (owners != label.curve)]
    return (np.abs(label.places[:, None] - foreign[None]) < half).all(axis=2).sum(axis=1)
