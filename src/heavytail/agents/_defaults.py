"""Default parameters of agents: scales of bonuses, and the order and bound of a moment.

*Scales.* The theorems' constants make bonuses so wide that agents learn nothing in any practical time. So
with ``constants="practical"``, the default, a scale that is not given is one chosen on eight environments
(`studies/default-scales`; `benchmarks/bench_scales.py` prints the choice, and what it is worth on eight
others). No theorem holds then. With ``constants="tight"`` or ``"paper"`` it is 1.

*Moments.* An MDP with known laws tells both: the order by
`heavytail.planning.reward_moments.usable_epsilon`, and the largest moment of that order.
"""

import math
from typing import Literal, NamedTuple

from heavytail.errors import InputError
from heavytail.estimators.estimator import moment_kind_of
from heavytail.mdp.problem import Problem
from heavytail.planning.reward_moments import largest_moment, usable_epsilon

Constants = Literal["practical", "tight", "paper"]
SKETCH = "sketch"


class Scales(NamedTuple):
    """The factors of the two parts of a bonus."""

    transitions: float
    rewards: float


def choose_scales(
    constants: Constants,
    practical: Scales,
    transition_scale: float | None,
    reward_scale: float | None,
    bonus_scale: float,
) -> Scales:
    """Return the scales that were given, and fill in the others.

    >>> choose_scales("practical", Scales(0.03, 0.1), None, 0.5, 1.0)
    Scales(transitions=0.03, rewards=0.5)
    >>> choose_scales("tight", Scales(0.03, 0.1), None, None, 2.0)
    Scales(transitions=2.0, rewards=2.0)
    """
    default = practical if constants == "practical" else Scales(1.0, 1.0)
    transitions = default.transitions if transition_scale is None else transition_scale
    rewards = default.rewards if reward_scale is None else reward_scale
    return Scales(bonus_scale * transitions, bonus_scale * rewards)


def exact_constants(constants: Constants) -> Literal["tight", "paper"]:
    """Return which formulas to use; practical scales multiply the tight ones."""
    return "paper" if constants == "paper" else "tight"


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
