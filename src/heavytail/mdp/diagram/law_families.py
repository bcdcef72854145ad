"""The reward laws of an MDP, read from its table.

Which are alike, where they pay, and how they are distributed.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats, Stream
from heavytail.kernels.compiling import entry
from heavytail.kernels.rng import pair, stream
from heavytail.laws.table import COLUMNS, LawTable, draw_law
from heavytail.mdp.diagram.contents import (
    TAILS,
    Pay,
    actions_in_words,
    kinds_of_laws,
    number_in_words,
    numbers_in_words,
    pays_of_laws,
    slots_of,
)
from heavytail.mdp.mdp import MDP

DRAWS = 100_000
MAX_MEANS = 6
MAX_ATOMS = 20


class Family(NamedTuple):
    """Laws that differ in their location only."""

    kind: str
    laws: list[int]  # rows of the table, by ascending mean
    means: list[float]  # those that the MDP tells
    tail: float | None  # the tail index, None where it is not known
    pay: Pay
    states: list[str]  # where they pay, and by which actions if not by all


def families_of(mdp: MDP) -> list[Family]:
    """The random laws of the first stage, heavy ones first."""
    kinds, pays, means, cells = kinds_of_laws(mdp), pays_of_laws(mdp), _means(mdp), _cells(mdp)
    alike: dict[tuple[str, bytes], list[int]] = defaultdict(list)
    for i in sorted(cells):
        if kinds[i] != "constant":
            alike[kinds[i], _shape(mdp.laws, i)].append(i)
    families = []
    for (kind, _), laws in alike.items():
        laws.sort(key=lambda i: means.get(i, math.inf))
        tail = TAILS[kind](mdp.laws.parameters[laws[0]]) if kind in TAILS else None
        states = _states([cell for i in laws for cell in cells[i]], mdp.n_actions)
        distinct = sorted({round(means[i], 12) for i in laws if i in means})
        families.append(Family(kind, laws, distinct, tail, pays[laws[0]], states))
    return sorted(families, key=lambda family: (family.pay != "heavy", family.laws[0]))


def _shape(table: LawTable, i: int) -> bytes:
    """What is left of a law without its location, which is the first parameter of all of heavytail's own."""
    row = table.parameters[i]
    start, length = (int(x) for x in row[COLUMNS - 2 :])
    given_by_data = 0 < length == row[-1] and 0 <= start == row[-2] and start + length <= len(table.samples)
    data = table.samples[start : start + length].tobytes() if given_by_data else row[COLUMNS - 2 :].tobytes()
    return row[1 : COLUMNS - 2].tobytes() + data


def _cells(mdp: MDP) -> dict[int, list[tuple[int, int]]]:
    """The (state, action) that pay by each law."""
    slots = slots_of(mdp)
    cells: dict[int, set[tuple[int, int]]] = defaultdict(set)
    for s, a, i in zip(slots.state, slots.action, slots.law, strict=True):
        cells[i].add((s, a))
    return {i: sorted(each) for i, each in cells.items()}


def _means(mdp: MDP) -> dict[int, float]:
    """The means of the laws that are alone in some row: exact, whatever the law."""
    law, offsets = mdp.law.astype(np.int64), mdp.offsets[:-1].astype(np.int64)
    lowest, highest = np.minimum.reduceat(law, offsets), np.maximum.reduceat(law, offsets)
    alone = lowest == highest
    return dict(zip(lowest[alone].tolist(), mdp.row_means[alone].tolist(), strict=True))


def _states(cells: Sequence[tuple[int, int]], n_actions: int) -> list[str]:
    by_state: dict[int, list[int]] = defaultdict(list)
    for s, a in sorted(cells):
        by_state[s].append(a)
    whole = numbers_in_words(s for s, actions in by_state.items() if len(actions) == n_actions)
    partly = [
        f"{s} ({actions_in_words(actions, n_actions)})"
        for s, actions in by_state.items()
        if len(actions) < n_actions
    ]
    return [*(whole.split(", ") if whole else []), *partly]


def states_in_words(states: Sequence[str], most: int) -> str:
    """Where a family pays.

    >>> states_in_words(["1–3", "5 (a0)"], 2), states_in_words(["1", "2", "3"], 2)
    ('in states 1–3, 5 (a0)', 'in states 1, 2 and others')
    """
    several = len(states) > 1 or "–" in states[0].split()[0]
    return (
        f"in state{'s' if several else ''}"
        f" {', '.join(states[:most])}{' and others' if len(states) > most else ''}"
    )


def means_in_words(means: Sequence[float]) -> str:
    """The means of a family.

    >>> means_in_words([1.2, 1.4]), means_in_words([k / 10 for k in range(9)])
    ('means 1.2, 1.4', '9 means, 0 to 0.8')
    """
    if len(means) > MAX_MEANS:
        return f"{len(means)} means, {number_in_words(means[0])} to {number_in_words(means[-1])}"
    return f"mean{'s' if len(means) > 1 else ''} {', '.join(map(number_in_words, means))}" if means else ""


def tail_in_words(tail: float | None) -> str:
    """What a tail index means."""
    if tail is None:
        return ""
    if tail == math.inf:
        return "all moments finite"
    return f"tail index {number_in_words(tail)}" + (", infinite variance" if tail <= 2.0 else "")


# Distributions


def sample_law(table: LawTable, i: int, size: int = DRAWS) -> Floats:
    """Finite draws from row `i` of a table, always the same ones."""
    out = np.empty(size)
    entry(_fill_from, table)(table, i, stream(0), out)
    return out[np.isfinite(out)]


def _fill_from(table: LawTable, i: int, rng: Stream, out: Floats) -> None:
    for k in range(out.size):
        u, e = pair(rng)
        out[k] = draw_law(table.code[i], table, i, u, e)


def atoms_of(table: LawTable, i: int, kind: str) -> tuple[Floats, Floats] | None:
    """The values of a discrete law and their probabilities; None for a law that has too many of them."""
    if kind == "bernoulli":
        loc, scale, p = table.parameters[i, :3]
        return np.array([loc, loc + scale]), np.array([1.0 - p, p])
    values, counts = np.unique(sample_law(table, i), return_counts=True)
    return None if len(values) > MAX_ATOMS else (values, counts / max(counts.sum(), 1))


def density(samples: Floats, lower: float, upper: float) -> tuple[Floats, Floats]:
    """A smoothed histogram between two numbers."""
    quartiles = np.quantile(samples, [0.25, 0.75])
    edges = np.linspace(lower, upper, 401)
    counts, _ = np.histogram(samples, edges)
    cell = edges[1] - edges[0]
    bandwidth = max(0.7 * float(quartiles[1] - quartiles[0]) * len(samples) ** -0.2, 0.5 * cell)
    reach = int(min(4 * bandwidth / cell + 1, 200))
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) * cell / bandwidth) ** 2)
    smooth = np.convolve(counts, weights / weights.sum(), mode="full")[reach:-reach]
    return (edges[1:] + edges[:-1]) / 2, smooth / (len(samples) * cell)
