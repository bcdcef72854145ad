"""What the tasks of both halves are built from: laws by shape, and MDPs from lists of moves."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from statistics import NormalDist
from typing import Annotated, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from annotated_types import Ge

from heavytail import laws
from heavytail.laws.law import Law
from heavytail.mdp import MDP
from heavytail.mdp.builders import mdp_from_slots

Shape: TypeAlias = Literal[
    "none", "normal", "student", "stable_up", "stable_down", "pareto_up", "pareto_down", "multiplied"
]
Seed: TypeAlias = Annotated[int, Ge(0)]
Mix: TypeAlias = Literal["all", "left", "up"]
MIXES: dict[Mix, tuple[Shape, ...]] = {
    "all": ("student", "pareto_up", "normal", "multiplied", "pareto_down", "stable_up", "stable_down"),
    "left": ("pareto_down", "stable_down", "student", "normal"),
    "up": ("pareto_up", "stable_up", "student", "normal"),
}
SIGMA = 1.0  # of the logarithm of what multiplies a reward
QUANTILES = (np.arange(2000) + 0.5) / 2000  # of laws that are turned round, which heavytail has as data only


class Noise(NamedTuple):
    """How rewards vary around their means, and what is added to all of them."""

    shape: Shape
    spread: float
    shift: float = 0.0

    def law(self, mean: float) -> Law:
        """Return the law of a reward of this mean."""
        return shaped(self.shape, round(mean, 9), self.spread, self.shift)

    def sure(self, mean: float) -> Law:
        """Return the law of a reward that is always the same."""
        return shaped("none", round(mean, 9), self.spread, self.shift)


@cache
def shaped(shape: Shape, mean: float, spread: float, shift: float) -> Law:
    """Make a law of a shape; the same object for the same arguments."""
    if shape == "none" or (shape == "multiplied" and mean == 0.0):
        return laws.constant(mean + shift)
    law = multiplied(mean) if shape == "multiplied" else ADDED[shape](spread)
    return law.with_mean(mean + shift)


@cache
def pareto_samples() -> tuple[float, ...]:
    """Return quantiles of the Pareto law of index 1.5."""
    return tuple((QUANTILES ** (-1.0 / 1.5)).tolist())


@cache
def log_normal_samples() -> tuple[float, ...]:
    """Return quantiles of the log-normal law, scaled to mean 1."""
    values = np.exp(SIGMA * np.array([NormalDist().inv_cdf(float(u)) for u in QUANTILES]))
    return tuple((values / values.mean()).tolist())


def multiplied(mean: float) -> Law:
    """Make a law of a log-normal variable times a number, of this mean."""
    if mean < 0.0:
        return laws.empirical(log_normal_samples(), scale=mean)
    return laws.log_normal(SIGMA, scale=mean * math.exp(-SIGMA * SIGMA / 2.0))


ADDED: dict[Shape, Callable[[float], Law]] = {
    "normal": lambda spread: laws.normal(0.0, spread),
    "student": lambda spread: laws.student_t(1.5, scale=spread),
    "stable_up": lambda spread: laws.alpha_stable(1.2, beta=0.5, scale=spread),
    "stable_down": lambda spread: laws.alpha_stable(1.2, beta=-0.5, scale=spread),
    "pareto_up": lambda spread: laws.pareto(1.5, scale=spread / 3.0),
    "pareto_down": lambda spread: laws.empirical(pareto_samples(), scale=-spread / 3.0),
}  # by their spread; they are still to be moved to their means


class Move(NamedTuple):
    """One thing that may follow an action."""

    s: int
    a: int
    s_next: int
    p: float
    law: Law
    ends: bool = False


def build(
    n_states: int,
    n_actions: int,
    moves: Iterable[Move],
    *,
    horizon: int | None,
    start: npt.ArrayLike = 0,
) -> MDP:
    """Build the MDP of these moves; equal ones are added up, impossible ones left out."""
    index: dict[int, int] = {}  # by identity, since hashing a law of data reads all of it
    used: list[Law] = []
    chances: dict[tuple[int, int, int, bool], float] = {}
    for move in moves:
        if move.p > 0.0:
            law = index.setdefault(id(move.law), len(used))
            used += [move.law] * (law == len(used))
            key = (move.s * n_actions + move.a, move.s_next, law, move.ends)
            chances[key] = chances.get(key, 0.0) + move.p
    slots = sorted(chances)
    return mdp_from_slots(
        [row for row, _, _, _ in slots],
        [s_next for _, s_next, _, _ in slots],
        [chances[slot] for slot in slots],
        laws=used,
        law=[law for _, _, law, _ in slots],
        ends=[ends for _, _, _, ends in slots],
        n_states=n_states,
        n_actions=n_actions,
        start=start,
        horizon=horizon,
    )


def build_contexts(cells: Sequence[Sequence[Law]]) -> MDP:
    """Build a bandit for each context, with the laws of its arms; contexts come up equally often."""
    n = len(cells)
    moves = (
        Move(s, a, to, 1.0 / n, law) for s in range(n) for a, law in enumerate(cells[s]) for to in range(n)
    )
    return build(n, len(cells[0]), moves, horizon=1, start=np.full(n, 1.0 / n))


def outcomes(*chances: float) -> Iterable[tuple[tuple[bool, ...], float]]:
    """List what independent events may do together, with probabilities.

    >>> list(outcomes(0.25))
    [((False,), 0.75), ((True,), 0.25)]
    """
    if not chances:
        yield (), 1.0
        return
    for first, p in ((False, 1.0 - chances[0]), (True, chances[0])):
        for others, q in outcomes(*chances[1:]):
            yield (first, *others), p * q
