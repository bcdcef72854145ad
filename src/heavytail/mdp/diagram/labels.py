"""Where the words of a picture stand: on their arrow or beside their state, and never on each other."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from heavytail.arrays import Floats, Ints
from heavytail.mdp.diagram.arrows import RADIUS

FONT_SIZE = 8.0
LINE = 1.25 * FONT_SIZE / 72
MARGIN = 0.03
SWEEPS = 4


class Label(NamedTuple):
    """Lines of text that may stand at any of some places, the cheap ones rather."""

    lines: tuple[str, ...]
    colours: tuple[str, ...]
    places: Floats  # [K, 2] centres
    costs: Floats  # [K]
    curve: int  # the arrow on which it may lie, or -1


@cache
def width_of(text: str, size: float = FONT_SIZE) -> float:
    """The width of a line of text in inches."""
    return (
        float(TextPath((0, 0), text, prop=FontProperties(size=size)).get_extents().width) / 72
        if text.strip()
        else 0.0
    )


def size_of(lines: Sequence[str]) -> Floats:
    """Width and height in inches."""
    return np.array([max(width_of(line) for line in lines) + 2 * MARGIN, LINE * len(lines) + 2 * MARGIN])


def along_curve(curve: Floats, lines: Sequence[str], *, loop: bool = False) -> tuple[Floats, Floats]:
    """Places for the label of an arrow: on its middle, on it elsewhere, or beside it.

    Of a loop rather outside it.
    """
    n, half = len(curve), size_of(lines) / 2
    at = np.arange(int(0.2 * n), int(0.8 * n))
    slope = curve[at + 1] - curve[at - 1]
    normal = np.stack([-slope[:, 1], slope[:, 0]], axis=1) / np.linalg.norm(slope, axis=1)[:, None]
    distance = np.abs(normal) @ half + 0.03
    off_middle = 8.0 * np.abs(at / (n - 1) - 0.5)
    places = np.concatenate(
        [curve[at], curve[at] + distance[:, None] * normal, curve[at] - distance[:, None] * normal]
    )
    return places, np.concatenate(
        [off_middle + (2.0 if loop else 0.0), off_middle + (0.0 if loop else 2.0), off_middle + 2.0]
    )


def behind_arrow(curve: Floats, lines: Sequence[str]) -> tuple[Floats, Floats]:
    """Places for the label of a short arrow: where it comes from, or beside it."""
    along = (curve[0] - curve[-1]) / np.linalg.norm(curve[0] - curve[-1])
    normal = np.array([-along[1], along[0]])
    half = size_of(lines) / 2
    behind = curve[0] + along * (np.abs(along) @ half + 0.02)
    beside = [curve[len(curve) // 3] + sign * normal * (np.abs(normal) @ half + 0.03) for sign in (1, -1)]
    return np.array([behind, *beside]), np.array([0.0, 1.0, 1.0])


def around_state(center: Floats, wanted: float, lines: Sequence[str]) -> tuple[Floats, Floats]:
    """Places for the label of a state: as near as may be, rather in the wanted direction."""
    half = size_of(lines) / 2
    turns, more = np.meshgrid(np.arange(-180.0, 180.0, 10.0), [0.02, 0.06, 0.1, 0.15, 0.2, 0.3, 0.45, 0.6])
    angles = np.radians(wanted + turns.ravel())
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    reach = (
        RADIUS
        + more.ravel()
        + np.minimum(
            half[0] / np.maximum(np.abs(directions[:, 0]), 1e-9),
            half[1] / np.maximum(np.abs(directions[:, 1]), 1e-9),
        )
    )
    return center + reach[:, None] * directions, 0.02 * np.abs(turns.ravel()) + 8.0 * more.ravel()


def place(labels: Sequence[Label], centers: Floats, curves: Sequence[Floats]) -> Floats:
    """The centre of each label, [L, 2]: the cheapest place, given all others.

    A few sweeps over all of them.
    """
    halves = np.array([size_of(label.lines) / 2 for label in labels]).reshape(-1, 2)
    points = np.concatenate([np.empty((0, 2)), *curves])
    owners = np.repeat(np.arange(len(curves)), [len(curve) for curve in curves])
    fixed = [
        label.costs
        + 200.0 * _on_circles(label.places, half, centers)
        + _on_curves(label, half, points, owners)
        for label, half in zip(labels, halves, strict=True)
    ]
    chosen = np.array(
        [label.places[np.argmin(cost)] for label, cost in zip(labels, fixed, strict=True)]
    ).reshape(-1, 2)
    for _ in range(SWEEPS):
        for i, label in enumerate(labels):
            apart = np.abs(label.places[:, None] - chosen[None]) - halves[i] - halves
            covered = np.clip(-apart, 0.0, None).prod(axis=2) * (apart < 0).all(axis=2)
            covered[:, i] = 0.0
            chosen[i] = label.places[
                np.argmin(fixed[i] + 200.0 * (covered > 0).sum(axis=1) + 2000.0 * covered.sum(axis=1))
            ]
    return chosen


def _on_circles(places: Floats, half: Floats, centers: Floats) -> Ints:
    gaps = np.clip(np.abs(places[:, None] - centers[None]) - half, 0.0, None)
    return (np.linalg.norm(gaps, axis=2) < RADIUS + 0.01).sum(axis=1)


def _on_curves(label: Label, half: Floats, points: Floats, owners: Ints) -> Floats:
    reachable = ((points > label.places.min(axis=0) - half) & (points < label.places.max(axis=0) + half)).all(
        axis=1
    )
    foreign = points[reachable & (owners != label.curve)]
    return 2.0 * (np.abs(label.places[:, None] - foreign[None]) < half).all(axis=2).sum(axis=1)
