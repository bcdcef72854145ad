"""The agent that knows its MDP and plays its best policy, computed exactly."""

from typing import NamedTuple

from heavytail.arrays import Indices, Stream, U
from heavytail.errors import InputError
from heavytail.kernels.array_ops import as_int
from heavytail.kernels.verbs import act, reset, update
from heavytail.mdp.problem import Problem
from heavytail.planning.average_reward import average_plan
from heavytail.planning.episodic import episodic_plan
from heavytail.registry import register


class Optimal(NamedTuple):
    """A fixed policy."""

    policy: Indices  # [H or 1, S]

    def constant_fields(self) -> tuple[str, ...]:
        """Name the fields that never change: all, as it learns nothing."""
        return self._fields


@register("agent", "optimal")
def optimal(problem: Problem) -> Optimal:
    """The best policy, for an episode or for the average reward.

    A reference that knows its MDP and learns nothing.

    Args:
        problem: the environment's sizes, and the MDP itself.
    """
    if problem.mdp is None:
        raise InputError(
            "optimal needs to know its MDP, but this environment is not an MDP, or one that changes;"
            " give it an MDP such as make_mdp('six_arms')"
        )
    plan = episodic_plan(problem.mdp) if problem.horizon else average_plan(problem.mdp)
    return Optimal(plan.policy.reshape(max(problem.horizon, 1), problem.n_states).astype("uint32"))


@act.method(Optimal)
def _act(agent: Optimal, s: int, h: int, rng: Stream) -> int:
    return as_int(agent.policy[U(h), U(s)])


@update.method(Optimal)
def _update(
    agent: Optimal, s: int, a: int, r: float, s_next: int, h: int, terminated: bool, rng: Stream
) -> None:
    pass


@reset.method(Optimal)
def _reset(record: Optimal) -> None:
    pass
