r"""Any agent, restarted on a schedule, for environments that change.

Zhuang and Sui (2021), theorem 3; after Jaksch et al. (2010), section 2.4.

If the MDP changes up to l times, the agent forgets everything at the steps

    ceil(i^((1 + 2 epsilon)/epsilon) / l^((1 + epsilon)/epsilon)),    i = 1, 2, 3, ...,

each once, and works at confidence 1 - delta / l^2. With a variance (epsilon = 1) that is i^3 / l^2. With
epsilon small the times between restarts grow fast: for epsilon = 0.05 and l = 5 restarts come at steps 5,
277, 8,200, 154,743 and 2.07 million. (The theorem holds for T large, as an order from below; the paper states
it the other way round.)

A restart may fall within an episode: the agent then begins in the current state and plays the rest of it.
"""

import math
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from heavytail.arrays import Floats, Ints, Record, Stream
from heavytail.checks import MomentOrder, OpenProbability
from heavytail.errors import InputError
from heavytail.kernels.compiling import kernel
from heavytail.kernels.elementary import MAX_EXPONENT, log, power
from heavytail.kernels.verbs import act, begin, counter_names, reset, update, write_counters
from heavytail.mdp.problem import Problem
from heavytail.ranges import COUNT, Fact, Range
from heavytail.registry import find, register

ROUNDING = 1e-13  # so that 5^22 / 5^21 is at most 5 before it is rounded up
MAX_CHANGES = 1_000_000  # with more, finding the next restart would take longer than learning
EXACT = 2.0**53  # beyond it every float is a whole number


class Restarting(NamedTuple):
    """An agent, and when to restart it next."""

    agent: Record
    steps: Ints  # [1]
    stage: Ints  # [1] the i of the next restart
    next_restart: Floats  # [1] its step; a float, as it may be far beyond the largest integer
    restarts: Ints  # [1]
    power: float  # (1 + 2 epsilon) / epsilon
    divisor: float  # l**((1 + epsilon) / epsilon)

    def counter_names(self) -> tuple[str, ...]:
        """Name its counters: restarts, and those of the agent since the last one."""
        return ("restarts", *counter_names(self.agent))

    def ranges(self) -> dict[str, Range]:
        """Declare which arrays hold counts."""
        return {"steps": COUNT, "stage": COUNT, "restarts": COUNT}

    def facts(self) -> Iterator[Fact]:
        """Check the time of the next restart; an overdue one would be searched for step by step."""
        yield "a restart is overdue", self.next_restart[0] > self.steps[0] + 1.0
        scheduled = restart_step(int(self.stage[0]), self.power, self.divisor)
        yield "the next restart is not on the schedule", self.next_restart[0] == scheduled


@register(
    "agent", "restarting", example={"agent": "heavy_ucrl2", "changes": 5, "epsilon": 0.5, "moment": 10.0}
)
def restarting(
    problem: Problem,
    *,
    agent: str,
    changes: Annotated[int, Ge(1), Le(MAX_CHANGES)],
    epsilon: MomentOrder,
    delta: OpenProbability = 0.05,
    **parameters: Any,
) -> Restarting:
    """Any agent, restarted on the schedule for an MDP that changes (Zhuang and Sui 2021, theorem 3).

    Args:
        problem: the environment's sizes.
        agent: the id of the agent.
        changes: l, how often the MDP may change.
        epsilon: rewards have a finite moment of order 1 + epsilon; for the schedule, and for the agent if it
            needs it.
        delta: one minus the confidence; 0.05 throughout heavytail. The agent works at delta / l^2, as the
            theorem says.
        **parameters: the agent's own.

    >>> import heavytail as ht
    >>> mdp = ht.make_mdp("six_arms")
    >>> ht.make_agent(mdp, "restarting", agent="heavy_q_learning", changes=5, epsilon=0.05, moment=1.0)
    Learner('restarting', episodes=0, steps=0)
    """
    entry = find("agent", agent)
    shared = {"epsilon": epsilon, "delta": delta / changes**2}
    known = {key: value for key, value in shared.items() if key in entry.parameters}
    inner = entry.builder(problem, **known, **parameters)
    exponent, divisor = schedule_powers(epsilon, changes)
    stage, step = restart_steps(epsilon, changes, 2)[1]
    return Restarting(
        agent=inner,
        steps=np.zeros(1, np.int64),
        stage=np.full(1, stage),
        next_restart=np.full(1, step),
        restarts=np.zeros(1, np.int64),
        power=exponent,
        divisor=divisor,
    )


def schedule_powers(epsilon: float, changes: int) -> tuple[float, float]:
    """Return (1 + 2 epsilon)/epsilon and l^((1 + epsilon)/epsilon)."""
    exponent, order = (1.0 + 2.0 * epsilon) / epsilon, (1.0 + epsilon) / epsilon
    if order * math.log(changes) > MAX_EXPONENT:
        raise InputError(
            f"restarting: with epsilon {epsilon} and changes {changes} there would never be a restart;"
            " epsilon must be larger"
        )
    return exponent, float(changes) ** order


def restart_step(i: int, exponent: float, divisor: float) -> float:
    """Return the step of the i-th start; infinite where it would overflow."""
    if exponent * log(float(i)) > MAX_EXPONENT:
        return math.inf
    step = power(float(i), exponent) / divisor * (1.0 - ROUNDING)
    return float(math.ceil(step)) if step < EXACT else step


def restart_steps(epsilon: float, changes: int, n: int) -> list[tuple[int, float]]:
    """List the first n starts, each as (i, step), the first at step 1 and no step twice.

    >>> [step for _, step in restart_steps(0.05, 5, 6)]
    [1.0, 5.0, 277.0, 8200.0, 154743.0, 2065215.0]
    """
    exponent, divisor = schedule_powers(epsilon, changes)
    steps: list[tuple[int, float]] = []
    i = 0
    while len(steps) < n:
        i += 1
        step = restart_step(i, exponent, divisor)
        if not steps or step > steps[-1][1] or step == math.inf:
            steps.append((i, step))
    return steps


_compiled_step = kernel(restart_step)


@kernel
def _schedule_next(agent: Restarting) -> None:
    """Set the next restart: the first start of the schedule after the coming step."""
    while agent.next_restart[0] <= agent.steps[0] + 1.0:
        agent.stage[0] += 1
        agent.next_restart[0] = _compiled_step(agent.stage[0], agent.power, agent.divisor)


@begin.method(Restarting)
def _begin(agent: Restarting, s: int, rng: Stream) -> None:
    begin(agent.agent, s, rng)


@act.method(Restarting)
def _act(agent: Restarting, s: int, h: int, rng: Stream) -> int:
    return act(agent.agent, s, h, rng)


@update.method(Restarting)
def _update(
    agent: Restarting, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Stream
) -> None:
    update(agent.agent, s, a, r, s_next, h, terminated, rng)
    agent.steps[0] += 1
    if agent.steps[0] + 1.0 >= agent.next_restart[0]:
        agent.restarts[0] += 1
        _schedule_next(agent)
        reset(agent.agent)
        begin(agent.agent, s_next, rng)


@write_counters.method(Restarting)
def _write_counters(agent: Restarting, out: Floats) -> None:
    out[0] = agent.restarts[0]
    write_counters(agent.agent, out[1:])


@reset.method(Restarting)
def _reset(record: Restarting) -> None:
    reset(record.agent)
    record.steps[0] = 0
    record.restarts[0] = 0
    record.stage[0] = 1
    record.next_restart[0] = 1.0
    _schedule_next(record)
