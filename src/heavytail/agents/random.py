"""The agent that learns nothing: it plays every action with equal probability."""

from typing import NamedTuple

from heavytail.arrays import Stream
from heavytail.kernels.rng import integer
from heavytail.kernels.verbs import act, reset, update
from heavytail.mdp.problem import Problem
from heavytail.registry import register


class Random(NamedTuple):
    """The number of actions; there is nothing to learn."""

    n_actions: int


@register("agent", "random")
def random(problem: Problem) -> Random:
    """Every action with equal probability: a reference that learns nothing, in episodes or continuing.

    Args:
        problem: the environment's sizes.
    """
    return Random(problem.n_actions)


@act.method(Random)
def _act(agent: Random, s: int, h: int, rng: Stream) -> int:
    return integer(rng, agent.n_actions)


@update.method(Random)
def _update(
    agent: Random, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Stream
) -> None:
    pass


@reset.method(Random)
def _reset(record: Random) -> None:
    pass
