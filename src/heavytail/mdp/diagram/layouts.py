"""Positions of the states of a diagram, in inches, chosen by how they are connected."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats
from heavytail.errors import InputError, short_repr, suggestion
from heavytail.mdp.diagram.contents import END, START, Arrow

STEP = 1.55  # between neighbours
MAX_ROW = 8

Pairs = frozenset[tuple[int, int]]  # states that an arrow connects
# positions, and outward directions in degrees
Placement = tuple[Sequence[tuple[float, float]], Sequence[float]]


class Layout(NamedTuple):
    """The centres of the states, and for each a direction in degrees in which there is room."""

    name: str
    positions: Floats  # [S, 2]
    outward: Floats  # [S]


def choose_layout(arrows: Sequence[Arrow], n_states: int, name: str | None = None) -> Layout:
    """Return the layout of this name, or the first that fits.

    >>> hub = [Arrow(0, k, (k - 1,), 1.0, 1.0) for k in range(1, 5)]
    >>> choose_layout(hub, 5).name
    'star'
    """
    pairs = frozenset(
        (a.source, a.target) for a in arrows if a.source != START and a.target not in (END, a.source)
    )
    if name is None:
        name = next(candidate for candidate, (fits, _) in LAYOUTS.items() if fits(pairs, n_states))
    if name not in LAYOUTS:
        raise InputError(f"there is no layout {short_repr(name)}; {suggestion(name, LAYOUTS)}")
    positions, angles = LAYOUTS[name][1](pairs, n_states)
    centers, outward = np.array(positions, np.float64).reshape(n_states, 2), np.array(angles, np.float64)
    return Layout(name, centers, outward)


def _around(n: int, radius: float, first: float = 90.0) -> Placement:
    """Place `n` states on a circle, clockwise."""
    angles = [first - 360.0 * k / n for k in range(n)]
    return [_polar(radius, angle) for angle in angles], angles


def _polar(radius: float, angle: float) -> tuple[float, float]:
    return radius * math.cos(math.radians(angle)), radius * math.sin(math.radians(angle))


# A chain, folded where it is long


def _is_chain(pairs: Pairs, n: int) -> bool:
    return all(abs(s - t) <= 1 for s, t in pairs)


def _chain(pairs: Pairs, n: int) -> Placement:
    length = math.ceil(n / math.ceil(n / MAX_ROW))
    positions, outward = [], []
    for s in range(n):
        row, column = divmod(s, length)
        x = column if row % 2 == 0 else length - 1 - column
        positions.append((STEP * x, -1.3 * STEP * row))
        at_end = n > 1 and s in (0, n - 1)
        outward.append((180.0 if x == 0 else 0.0) if at_end else 90.0)
    return positions, outward


# A hub and its arms


def _hub(pairs: Pairs, n: int) -> int:
    touching = [sum(s in pair for pair in pairs) for s in range(n)]
    return int(np.argmax(touching))


def _is_star(pairs: Pairs, n: int) -> bool:
    hub = _hub(pairs, n)
    arms = {s for pair in pairs for s in pair if s != hub}
    return len(arms) == n - 1 and all(hub in pair for pair in pairs)


def _star(pairs: Pairs, n: int) -> Placement:
    hub = _hub(pairs, n)
    radius = max(1.35 * STEP, 0.55 * STEP / math.sin(math.pi / max(n - 1, 2)))
    places, angles = _around(max(n - 1, 1), radius)
    positions, outward = list(places[: n - 1]), list(angles[: n - 1])
    positions.insert(hub, (0.0, 0.0))
    outward.insert(hub, 0.0)
    return positions, outward


# Two chains that leave state 0


def _second_chain(pairs: Pairs, n: int) -> int | None:
    """Return the first state of the second chain."""
    heads = sorted({s + t for s, t in pairs if 0 in (s, t)})
    if len(heads) != 2 or heads[0] != 1:
        return None
    within = all(abs(s - t) == 1 and heads[1] != max(s, t) for s, t in pairs if 0 not in (s, t))
    return heads[1] if within else None


def _double_chain(pairs: Pairs, n: int) -> Placement:
    second = _second_chain(pairs, n) or (n + 1) // 2
    positions, outward = [(0.0, 0.0)], [180.0]
    for s in range(1, n):
        first, side = (1, 1.0) if s < second else (second, -1.0)
        positions.append((STEP * (0.85 + s - first), side * 0.75 * STEP))
        outward.append(0.0 if s in (second - 1, n - 1) else side * 90.0)
    return positions, outward


# A square board, row by row


def _is_grid(pairs: Pairs, n: int) -> bool:
    """Return whether every step leads to the next row, or to a neighbour.

    On a board of four all states are neighbours, so only the first counts there.
    """
    size = math.isqrt(n)
    if size * size != n:
        return False
    near = all(max(abs(s // size - t // size), abs(s % size - t % size)) <= 1 for s, t in pairs)
    return (near and size > 2) or all(t // size == s // size + 1 for s, t in pairs)


def _grid(pairs: Pairs, n: int) -> Placement:
    size = math.ceil(math.sqrt(n))
    positions = [(0.75 * STEP * (s % size), -0.75 * STEP * (s // size)) for s in range(n)]
    return positions, [270.0 if s // size == (n - 1) // size else 90.0 for s in range(n)]


# A tree, its root in the middle


def _depths(pairs: Pairs, n: int) -> list[int]:
    """Return the steps from state 0 to each state; one more than the maximum if never reached."""
    depths, level = {0: 0}, [0]
    while level:
        level = sorted({t for s, t in pairs if s in level and t not in depths})
        depths |= dict.fromkeys(level, max(depths.values()) + 1)
    return [depths.get(s, max(depths.values()) + 1) for s in range(n)]


def _is_tree(pairs: Pairs, n: int) -> bool:
    depths = _depths(pairs, n)
    return all(t == 0 or depths[t] == depths[s] + 1 for s, t in pairs) and max(depths) > 1


def _tree(pairs: Pairs, n: int) -> Placement:
    depths = _depths(pairs, n)
    parents = {
        t: min((s for s, u in pairs if u == t and depths[s] == depths[t] - 1), default=0)
        for _, t in pairs
        if depths[t] > 0
    }
    leaves = [s for s in range(n) if s not in parents.values()]
    angles = dict(zip(leaves, _around(len(leaves), 1.0, first=180.0 - 180.0 / len(leaves))[1], strict=True))
    for s in sorted(set(range(n)) - set(leaves), key=lambda s: -depths[s]):
        angles[s] = float(np.mean([angles[t] for t, parent in parents.items() if parent == s]))
    ring = max(STEP, 0.5 * STEP / math.sin(math.pi / max(len(leaves), 2)) / max(*depths, 1))
    return [_polar(ring * depths[s], angles[s]) for s in range(n)], [angles[s] for s in range(n)]


# A circle


def _circle(pairs: Pairs, n: int) -> Placement:
    dense = 1.0 if len(pairs) <= 2 * n else 1.35
    return _around(n, dense * 0.5 * STEP / math.sin(math.pi / n) if n > 1 else 0.0)


LAYOUTS: dict[str, tuple[Callable[[Pairs, int], bool], Callable[[Pairs, int], Placement]]] = {
    "chain": (_is_chain, _chain),
    "star": (_is_star, _star),
    "double_chain": (lambda pairs, n: _second_chain(pairs, n) is not None, _double_chain),
    "grid": (_is_grid, _grid),
    "tree": (_is_tree, _tree),
    "circle": (lambda pairs, n: True, _circle),
}
