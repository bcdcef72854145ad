"""An agent of one's own, in a module of one's own: what heavytail knows of agents it knows from files like this one.

It plays the action whose rewards had the larger average, and now and then another one. To try it::

    import heavytail as ht, my_agent
    ht.make_agent("greedy", ht.make_mdp("six_arms"), exploration=0.1).learn(episodes=1000)
"""

from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats, Ints, Stream
from heavytail.problem import Problem
from heavytail.registry import Probability, register
from heavytail.rng import integer, uniform
from heavytail.rows import argmax_row
from heavytail.verbs import act, reset, update


class Greedy(NamedTuple):
    """What the agent remembers: nothing but arrays and numbers."""

    means: Floats  # [1, S, A]
    visits: Ints  # [S, A]
    exploration: float


@register("agent", "greedy")
def greedy(problem: Problem, *, exploration: Probability = 0.1) -> Greedy:
    """The action with the best average reward so far, and with probability `exploration` any action."""
    S, A = problem.n_states, problem.n_actions
    return Greedy(np.zeros((1, S, A)), np.zeros((S, A), np.int64), exploration)


@act.method(Greedy)
def _act(agent: Greedy, s: int, h: int, rng: Stream) -> int:
    if uniform(rng) < agent.exploration:
        return integer(rng, agent.visits.shape[1])
    return argmax_row(agent.means, 0, s)


@update.method(Greedy)
def _update(agent: Greedy, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Stream) -> None:
    agent.visits[s, a] += 1
    agent.means[0, s, a] += (r - agent.means[0, s, a]) / agent.visits[s, a]


@reset.method(Greedy)
def _reset(record: Greedy) -> None:
    record.means[:] = 0.0
    record.visits[:] = 0
