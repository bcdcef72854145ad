r"""Learn the unit of rewards, for Q-learning where it is not known.

Q-learning needs the largest expected reward, Heavy-Q-Learning also a bound on moments; both are equivariant:
with rewards in another unit they do the same. So the agent is built for rewards of size 1 and given rewards
over a unit, which is renewed at steps 1, 2, 4, 8, ... from sketches of the rewards of each state and action:
the largest of (E|r|^p)^(1/p), with p = 1 + epsilon, or of the mean rewards where p is 0. What the agent has
learnt is then converted from the old unit into the new one; what it never visited stays at its optimistic
start.

A size is never below the mean, so that it bounds the largest expected reward as well.
"""

import math
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats, Ints, Record, Stream, U
from heavytail.estimators.sketch import Sketch, sketch
from heavytail.estimators.sketch_moments import moment_size
from heavytail.kernels.compiling import kernel, subroutine
from heavytail.kernels.dispatch import generic
from heavytail.kernels.verbs import act, counter_names, mean, push, reset, update, write_counters
from heavytail.mdp.problem import Problem
from heavytail.ranges import COUNT, FINITE, Range

MIN_UNIT = 1e-300
LEARNT_EPSILON = 0.05  # the sketch believes in no index below 1.05


@generic()
def change_unit(record: Record, ratio: float) -> None:
    """Multiply everything learnt in units of rewards by the ratio of the old unit to the new one."""


class LearntUnit(NamedTuple):
    """An agent that sees rewards in a learnt unit, and the sketches from which the unit is learnt."""

    agent: Record
    rewards: Sketch
    unit: Floats  # [1]
    steps: Ints  # [1]
    next_renewal: Ints  # [1] its step
    order: float  # 1 + epsilon; 0: the largest mean
    n_actions: int

    def counter_names(self) -> tuple[str, ...]:
        """Name its counters: the unit, and those of the agent."""
        return ("unit", *counter_names(self.agent))

    def ranges(self) -> dict[str, Range]:
        """Declare which arrays hold counts, and the divisor of rewards."""
        return {"steps": COUNT, "next_renewal": COUNT, "unit": Range(MIN_UNIT, FINITE.high)}


def with_learnt_unit(problem: Problem, agent: Record, order: float) -> LearntUnit:
    """Wrap an agent built for rewards of size 1, so that it sees rewards in a learnt unit."""
    return LearntUnit(
        agent=agent,
        rewards=sketch(problem.n_states * problem.n_actions),
        unit=np.ones(1),
        steps=np.zeros(1, np.int64),
        next_renewal=np.ones(1, np.int64),
        order=order,
        n_actions=problem.n_actions,
    )


@kernel
def _size(agent: LearntUnit, cell: int) -> float:
    if agent.order > 0.0:
        return moment_size(agent.rewards, cell, agent.order)
    return abs(mean(agent.rewards, cell, 0.0))


@subroutine
def _renew(agent: LearntUnit) -> None:
    largest = 0.0
    for cell in range(agent.rewards.histogram.n.size):
        if agent.rewards.histogram.n[U(cell)] > 0:
            size = _size(agent, cell)
            largest = max(largest, size) if size < math.inf else largest
    if largest > MIN_UNIT:
        change_unit(agent.agent, agent.unit[0] / largest)
        agent.unit[0] = largest
    agent.next_renewal[0] *= 2


@act.method(LearntUnit)
def _act(agent: LearntUnit, s: int, h: int, rng: Stream) -> int:
    return act(agent.agent, s, h, rng)


@update.method(LearntUnit)
def _update(
    agent: LearntUnit, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Stream
) -> None:
    push(agent.rewards, s * agent.n_actions + a, r)
    agent.steps[0] += 1
    if agent.steps[0] == agent.next_renewal[0]:
        _renew(agent)
    update(agent.agent, s, a, r / agent.unit[0], s_next, h, terminated, rng)


@write_counters.method(LearntUnit)
def _write_counters(agent: LearntUnit, out: Floats) -> None:
    out[0] = agent.unit[0]
    write_counters(agent.agent, out[1:])


@reset.method(LearntUnit)
def _reset(record: LearntUnit) -> None:
    reset(record.agent)
    reset(record.rewards)
    record.unit[0] = 1.0
    record.steps[0] = 0
    record.next_renewal[0] = 1
