"""An agent of one's own, in a module of one's own: heavytail's own agents are files like this one.

It plays the action whose rewards look best to a robust estimator, and now and then another one. To try it::

    import heavytail as ht, my_agent
    ht.make_agent("greedy", ht.make_mdp("six_arms"), epsilon=0.05, moment=14.25).learn(episodes=1000)
"""

from typing import NamedTuple

import numpy as np

from heavytail import Problem, register
from heavytail.arrays import Floats, Record, Stream
from heavytail.checks import MomentOrder, Positive, Probability
from heavytail.estimators import build_estimator
from heavytail.kernels import act, argmax_row, integer, mean, push, reset, uniform, update


class Greedy(NamedTuple):
    """The agent's state: arrays, numbers and other such records."""

    estimator: Record  # a mean for each state and action; any estimator will do
    means: Floats  # [1, S, A]
    exploration: float


@register("agent", "greedy", example={"epsilon": 0.05, "moment": 14.25})
def greedy(
    problem: Problem,
    *,
    epsilon: MomentOrder,
    moment: Positive,
    estimator: str = "truncated_mean",
    exploration: Probability = 0.1,
) -> Greedy:
    """Play the action with the best estimate, and with probability `exploration` any action."""
    S, A = problem.n_states, problem.n_actions
    record = build_estimator("greedy", estimator, S * A, None, epsilon=epsilon, moment=moment)
    return Greedy(record, np.zeros((1, S, A)), exploration)


@act.method(Greedy)
def _act(agent: Greedy, s: int, h: int, rng: Stream) -> int:
    if uniform(rng) < agent.exploration:
        return integer(rng, agent.means.shape[2])
    return argmax_row(agent.means, 0, s)


@update.method(Greedy)
def _update(
    agent: Greedy, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Stream
) -> None:
    cell = s * agent.means.shape[2] + a
    push(agent.estimator, cell, r)
    agent.means[0, s, a] = mean(agent.estimator, cell, 5.0)


@reset.method(Greedy)
def _reset(record: Greedy) -> None:
    reset(record.estimator)
    record.means[:] = 0.0
