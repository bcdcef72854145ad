"""Where the states of a picture stand, in inches, chosen by how they hang together."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats
from heavytail.errors import InputError, suggestion
from heavytail.mdp.diagram.contents import END, Arrow

STEP = 1.55  # between neighbours
NODE = 0.85  # of which a state and the visible ends of an arrow take so much
MAX_ROW = 8

Pairs = frozenset[tuple[int, int]]


class Layout(NamedTuple):
    """The centres of the states, and two directions of each in degrees.

    Where there is room for loops, and where for words.
    """

    name: str
    positions: Floats  # [S, 2]
    outward: Floats  # [S]
    words: Floats  # [S]


def lay_out(arrows: Sequence[Arrow], n_states: int, name: str | None = None, room: float = 0.0) -> Layout:
    """The layout of this name, or the one that fits.

    Args:
        arrows: what connects the states.
        n_states: how many there are.
        name: one of `LAYOUTS`, or None.
        room: the width that words on an arrow need; neighbours in a row stand at least so far apart.

    >>> from heavytail.report.reading import Arrow
    >>> hub = [Arrow(0, k, (k - 1,), 1.0, 1.0) for k in range(1, 5)]
    >>> lay_out(hub, 5).name
    'star'
    """
    pairs = frozenset((a.source, a.target) for a in arrows if a.target not in (END, a.source))
    if name is None:
        name = next(each for each, (fits, _) in LAYOUTS.items() if fits(pairs, n_states))
    if name not in LAYOUTS:
        raise InputError(f"there is no layout {name!r}; {suggestion(name, LAYOUTS)}")
    positions, outward = LAYOUTS[name][1](pairs, n_states)
    centers, loops = np.array(positions, np.float64).reshape(n_states, 2), np.array(outward, np.float64)
    if name in ROWS:
        centers[:, 0] *= max(1.0, (room + NODE) / ROWS[name])
    words = {"chain": np.full(n_states, 270.0), "double_chain": np.where(centers[:, 1] > 0, 90.0, 270.0)}
    return Layout(name, centers, loops, words.get(name, loops))


Placed = tuple[Sequence[tuple[float, float]], Sequence[float]]


def _around(n: int, radius: float, first: float = 90.0) -> Placed:
    """`n` places on a circle, clockwise."""
    angles = [first - 360.0 * k / n for k in range(n)]
    return [(radius * math.cos(math.radians(t)), radius * math.sin(math.radians(t))) for t in angles], angles


# A chain, folded where it is long


def _is_chain(pairs: Pairs, n: int) -> bool:
    return all(abs(s - t) <= 1 for s, t in pairs)


def _chain(pairs: Pairs, n: int) -> Placed:
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


def _star(pairs: Pairs, n: int) -> Placed:
    hub = _hub(pairs, n)
    positions, outward = _around(
        max(n - 1, 1), max(1.35 * STEP, 0.55 * STEP / math.sin(math.pi / max(n - 1, 2)))
    )
    return [*positions[:hub], (0.0, 0.0), *positions[hub : n - 1]], [
        *outward[:hub],
        0.0,
        *outward[hub : n - 1],
    ]


# Two chains that leave state 0


def _second_chain(pairs: Pairs, n: int) -> int | None:
    """The first state of the second chain."""
    heads = sorted({s + t for s, t in pairs if 0 in (s, t)})
    if len(heads) != 2 or heads[0] != 1:
        return None
    within = all(abs(s - t) == 1 and heads[1] != max(s, t) for s, t in pairs if 0 not in (s, t))
    return heads[1] if within else None


def _double_chain(pairs: Pairs, n: int) -> Placed:
    second = _second_chain(pairs, n) or (n + 1) // 2
    positions, outward = [(0.0, 0.0)], [180.0]
    for s in range(1, n):
        upper = s < second
        last = s in (second - 1, n - 1)
        positions.append(
            (0.85 * STEP + STEP * (s - (1 if upper else second)), 0.75 * STEP if upper else -0.75 * STEP)
        )
        outward.append(0.0 if last else 90.0 if upper else 270.0)
    return positions, outward


# A square board, row by row


def _is_grid(pairs: Pairs, n: int) -> bool:
    """Every step leads to the next row, or to a neighbour.

    On a board of four all are neighbours, so that says nothing there.
    """
    size = math.isqrt(n)
    if size * size != n:
        return False
    near = all(max(abs(s // size - t // size), abs(s % size - t % size)) <= 1 for s, t in pairs)
    return (near and size > 2) or all(t // size == s // size + 1 for s, t in pairs)


def _grid(pairs: Pairs, n: int) -> Placed:
    size = math.ceil(math.sqrt(n))
    positions = [(0.75 * STEP * (s % size), -0.75 * STEP * (s // size)) for s in range(n)]
    return positions, [270.0 if s // size == (n - 1) // size else 90.0 for s in range(n)]


# A tree, its root in the middle


def _depths(pairs: Pairs, n: int) -> list[int]:
    """Steps from state 0; states that are never reached count as one beyond."""
    depths, level = {0: 0}, [0]
    while level:
        level = sorted({t for s, t in pairs if s in level and t not in depths})
        depths |= dict.fromkeys(level, max(depths.values()) + 1)
    return [depths.get(s, max(depths.values()) + 1) for s in range(n)]


def _is_tree(pairs: Pairs, n: int) -> bool:
    depths = _depths(pairs, n)
    return all(t == 0 or depths[t] == depths[s] + 1 for s, t in pairs) and max(depths) > 1


def _tree(pairs: Pairs, n: int) -> Placed:
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
    turns = np.radians([angles[s] for s in range(n)])
    radii = ring * np.array(depths)
    return [(float(r * math.cos(t)), float(r * math.sin(t))) for r, t in zip(radii, turns, strict=True)], [
        angles[s] for s in range(n)
    ]


# A circle


def _circle(pairs: Pairs, n: int) -> Placed:
    dense = 1.0 if len(pairs) <= 2 * n else 1.35
    return _around(n, dense * 0.5 * STEP / math.sin(math.pi / n) if n > 1 else 0.0)


LAYOUTS: dict[str, tuple[Callable[[Pairs, int], bool], Callable[[Pairs, int], Placed]]] = {
    "chain": (_is_chain, _chain),
    "star": (_is_star, _star),
    "double_chain": (lambda pairs, n: _second_chain(pairs, n) is not None, _double_chain),
    "grid": (_is_grid, _grid),
    "tree": (_is_tree, _tree),
    "circle": (lambda pairs, n: True, _circle),
}
ROWS = {
    "chain": STEP,
    "double_chain": STEP,
    "grid": 0.75 * STEP,
}  # in which neighbours stand in rows, and how far apart
