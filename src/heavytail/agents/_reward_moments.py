r"""The order and the bound of a moment, for agents of the paper that are not given them.

An MDP with known laws tells both: the order by `heavytail.planning.reward_moments.usable_epsilon`, and the
largest moment of that order.
"""

import math
from typing import Literal, NamedTuple

from heavytail.errors import InputError
from heavytail.estimators.estimator import moment_kind_of
from heavytail.mdp.problem import Problem
from heavytail.planning.reward_moments import largest_moment, usable_epsilon

SKETCH = "sketch"


class RewardMoment(NamedTuple):
    """A bound on moments of order 1 + epsilon."""

    epsilon: float
    bound: float


class EstimatorChoice(NamedTuple):
    """An estimator, and the moment that it is given."""

    name: str
    epsilon: float | None
    bound: float | None


def require_moment(
    agent: str,
    problem: Problem,
    epsilon: float | None,
    moment: float | None,
    kind: Literal["raw", "central"] = "raw",
) -> RewardMoment:
    """Return the given numbers, and derive the others from the MDP."""
    if epsilon is not None and moment is not None:
        return RewardMoment(epsilon, moment)
    if problem.mdp is None:
        missing = " and ".join(
            f"{name}=" for name, value in (("epsilon", epsilon), ("moment", moment)) if value is None
        )
        raise InputError(
            f"{agent} needs {missing}, for a bound on the moments E|r|**(1 + epsilon) of rewards: this"
            " environment does not tell their laws; leave both out to have it learnt, or take heavy_psrl"
        )
    epsilon = usable_epsilon(problem.mdp) if epsilon is None else epsilon
    if moment is None:
        order, moment = largest_moment([problem.mdp], epsilon, kind)
        if not math.isfinite(moment):
            raise InputError(
                f"{agent}: rewards have no finite moment of order {order:g}; epsilon must be smaller"
            )
    return RewardMoment(epsilon, max(moment, 1e-300))


def choose_estimator(
    agent: str, problem: Problem, estimator: str, epsilon: float | None, moment: float | None
) -> EstimatorChoice:
    """Choose the estimator that was asked for, or the sketch if the moment it needs is unknown."""
    try:
        kind = moment_kind_of(estimator)
    except InputError as error:
        raise InputError(f"{agent}: {error}") from None
    if kind is None:
        return EstimatorChoice(estimator, epsilon, moment)
    if epsilon is None and moment is None and problem.mdp is None:
        return EstimatorChoice(SKETCH, None, None)
    return EstimatorChoice(estimator, *require_moment(agent, problem, epsilon, moment, kind))
