"""A plugin as an outside package would ship it: one agent, one law, one environment.

Tests import it in processes of their own: its law is compiled into every loop of the process that knows it,
and no other process could use these.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

from heavytail.arrays import Floats, Stream
from heavytail.kernels.verbs import act, reset, update
from heavytail.laws.law import Law
from heavytail.laws.table import LawTable, sampler
from heavytail.mdp import MDP
from heavytail.mdp.builders import mdp_from_arrays
from heavytail.mdp.problem import Problem
from heavytail.registry import register


class Stubborn(NamedTuple):
    action: int


@register("agent", "stubborn")
def stubborn(problem: Problem, *, action: int = 0) -> Stubborn:
    """Always the same `action`."""
    return Stubborn(action)


@act.method(Stubborn)
def _act(agent: Stubborn, s: int, h: int, rng: Stream) -> int:
    return agent.action


@update.method(Stubborn)
def _update(
    agent: Stubborn, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Stream
) -> None:
    pass


@reset.method(Stubborn)
def _reset(record: Stubborn) -> None:
    pass


@dataclass(frozen=True)
class Triangular(Law):
    name: ClassVar[str] = "triangular"
    loc: float

    def mean(self) -> float:
        return self.loc

    @property
    def tail_index(self) -> float:
        return math.inf

    def row(self) -> tuple[float, ...]:
        return (self.loc,)

    @classmethod
    def from_row(cls, row: Floats, data: Floats) -> Self:
        return cls(float(row[0]))

    def _moment(self, p: float, center: float) -> float:
        """Only around its mean: the integral of |x|**p (1 - |x|)."""
        return 2.0 / ((p + 1.0) * (p + 2.0)) if center == self.loc else math.nan


@register("law", "triangular")
def triangular(loc: float = 0.0) -> Triangular:
    """The sum of two uniforms on (-1/2, 1/2), around `loc`."""
    return Triangular(loc)


@sampler("triangular")
def _draw(table: LawTable, i: int, u: float, e: float) -> float:
    return table.parameters[i, 0] + u - math.exp(-e)


@register("env", "triangle")
def triangle(*, law: Any) -> MDP:
    """One state, two actions, the second pays by `law`."""
    return mdp_from_arrays([[[1.0], [1.0]]], laws=[[0.0, law]], horizon=1)
