r"""Heavy-UCRL2: UCRL2 (`heavytail.agents.ucrl2`) with a robust mean estimator for rewards.

Zhuang and Sui (2021), algorithm 1.

The log-confidence L = 7 log(2 S A t_k / delta) goes into the radius and into the estimate itself: it sets the
truncation thresholds and the number of blocks, and grows from phase to phase. The truncated mean needs a
bound on raw moments, the median of means one on central moments; the paper writes v for both.

As in the paper's algorithm, optimistic rewards are not cut. Its theorem 1 has a factor (r_max - r_min) D that
is proved only if they are cut at r_max (``clip_optimism=True``); but at every scale at which anything is
learnt, cutting ties all arms at r_max, and the agent stays with the first.
"""

import math
from typing import Any

from heavytail.agents._defaults import (
    SKETCH,
    Constants,
    Scales,
    choose_estimator,
    choose_scales,
    exact_constants,
)
from heavytail.agents.ucrl2 import MAX_STEPS, PRACTICAL_OF_SKETCH, UCRL2, new_ucrl2, reward_log_confidence
from heavytail.checks import MomentOrder, NonNegative, OpenProbability, Positive
from heavytail.estimators.estimator import build_estimator
from heavytail.mdp.problem import Problem, require_r_max
from heavytail.registry import register

PRACTICAL = Scales(transitions=0.03, rewards=0.1)


@register("agent", "heavy_ucrl2", version=2, example={"epsilon": 0.05, "moment": 14.25})
def heavy_ucrl2(
    problem: Problem,
    *,
    epsilon: MomentOrder | None = None,
    moment: Positive | None = None,
    estimator: str = "truncated_mean",
    estimator_options: dict[str, Any] | None = None,
    r_max: float | None = None,
    delta: OpenProbability = 0.05,
    transition_scale: NonNegative | None = None,
    reward_scale: NonNegative | None = None,
    bonus_scale: NonNegative = 1.0,
    clip_optimism: bool = False,
    constants: Constants = "practical",
) -> UCRL2:
    """Heavy-UCRL2 (Zhuang and Sui 2021), for episodes or continuing, and heavy-tailed rewards.

    Args:
        problem: the environment's sizes.
        epsilon: rewards have a finite moment of order 1 + epsilon; by default from the MDP's laws.
        moment: a bound on it: on the raw moments E|r|**(1 + epsilon) for the truncated mean, on the central
            ones for the median of means; by default from the MDP's laws. Without an MDP, and with neither
            given, the estimator is the sketch, which learns what it needs.
        estimator: the id of a mean estimator; the paper's experiments use the truncated mean.
        estimator_options: further parameters of the estimator.
        r_max: the largest expected reward, for `clip_optimism`; known for an MDP.
        delta: one minus the confidence; 0.05 throughout heavytail, as the paper gives none.
        transition_scale: multiplies the distance of plausible transitions. The paper searched "within
            [1e-2, 1]" without saying what it found.
        reward_scale: multiplies the radius of rewards; likewise.
        bonus_scale: multiplies both.
        clip_optimism: cut optimistic rewards at r_max, which theorem 1 needs and the algorithm as published
            does not do.
        constants: "practical" for scales that work; "tight" for scales of 1, as in theory, and the exact
            constants of the estimator, "paper" for the paper's.
    """
    choice = choose_estimator("heavy_ucrl2", problem, estimator, epsilon, moment)
    record = build_estimator(
        "heavy_ucrl2",
        choice.name,
        problem.n_states * problem.n_actions + 1,
        estimator_options,
        epsilon=choice.epsilon,
        moment=choice.bound,
        constants=exact_constants(constants),
        strict=False,
        max_log_confidence=reward_log_confidence(problem, MAX_STEPS, delta),
    )
    largest = require_r_max("heavy_ucrl2", problem, r_max) if clip_optimism else math.inf
    practical = PRACTICAL_OF_SKETCH if choice.name == SKETCH else PRACTICAL
    scales = choose_scales(constants, practical, transition_scale, reward_scale, bonus_scale)
    return new_ucrl2(problem, record, delta, scales, largest)
