"""Heavy-UCBVI: UCBVI with a robust mean estimator for rewards.

`heavytail.agents.ucbvi`, changed as the conclusion of Zhuang and Sui (2021) suggests. The log-confidence is
the same throughout, so the truncated mean stores no samples: its thresholds are fixed.
"""

from typing import Any

from heavytail.agents._defaults import (
    SKETCH,
    Constants,
    Scales,
    choose_estimator,
    choose_scales,
    exact_constants,
)
from heavytail.agents.ucbvi import PRACTICAL_OF_SKETCH, UCBVI, new_ucbvi, reward_log_confidence
from heavytail.checks import Count, MomentOrder, NonNegative, OpenProbability, Positive
from heavytail.estimators.estimator import build_estimator
from heavytail.mdp.problem import Problem, known_r_max
from heavytail.registry import register

PRACTICAL = Scales(transitions=0.003, rewards=0.1)


@register("agent", "heavy_ucbvi", version=2, example={"epsilon": 0.05, "moment": 14.25})
def heavy_ucbvi(
    problem: Problem,
    *,
    epsilon: MomentOrder | None = None,
    moment: Positive | None = None,
    estimator: str = "truncated_mean",
    estimator_options: dict[str, Any] | None = None,
    r_max: float | None = None,
    delta: OpenProbability = 0.05,
    planned_steps: Count = 10_000_000,
    transition_scale: NonNegative | None = None,
    reward_scale: NonNegative | None = None,
    bonus_scale: NonNegative = 1.0,
    clip_optimism: bool = False,
    constants: Constants = "practical",
) -> UCBVI:
    """UCBVI with a robust mean estimator, for episodes and heavy-tailed rewards.

    Args:
        problem: the environment's sizes.
        epsilon: rewards have a finite moment of order 1 + epsilon; by default from the MDP's laws.
        moment: a bound on it: on the raw moments E|r|**(1 + epsilon) for the truncated mean, on the central
            ones for the median of means; by default from the MDP's laws. Without an MDP, and with neither
            given, the estimator is the sketch, which learns what it needs.
        estimator: the id of a mean estimator; the truncated mean, as in the paper's other agents.
        estimator_options: further parameters of the estimator.
        r_max: the largest expected reward; known for an MDP, learnt otherwise.
        delta: one minus the confidence; 0.05 throughout heavytail.
        planned_steps: the T inside the logarithm.
        transition_scale: multiplies the bonus for transitions.
        reward_scale: multiplies the radius of rewards.
        bonus_scale: multiplies both.
        clip_optimism: never let Q grow or exceed its cap, as published for UCBVI; off, because with intervals
            this wide it ties all actions at the cap and never corrects a Q that noise made too small.
        constants: "practical" for scales that work; "tight" for scales of 1 and what optimism needs, "paper"
            for the published ones.
    """
    choice = choose_estimator("heavy_ucbvi", problem, estimator, epsilon, moment)
    record = build_estimator(
        "heavy_ucbvi",
        choice.name,
        problem.n_states * problem.n_actions,
        estimator_options,
        epsilon=choice.epsilon,
        moment=choice.bound,
        constants=exact_constants(constants),
        strict=False,
        thresholds="fixed",
        max_log_confidence=reward_log_confidence(problem, planned_steps, delta),
    )
    largest = known_r_max(problem, r_max)
    practical = PRACTICAL_OF_SKETCH if choice.name == SKETCH else PRACTICAL
    scales = choose_scales(constants, practical, transition_scale, reward_scale, bonus_scale)
    return new_ucbvi(problem, record, largest, delta, planned_steps, scales, clip_optimism, constants)
