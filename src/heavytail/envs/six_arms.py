"""SixArms (Strehl and Littman 2008), with the reward laws of the paper."""

from typing import Literal

import numpy as np

from heavytail.laws.alpha_stable import alpha_stable
from heavytail.laws.constant import constant
from heavytail.laws.law import Law
from heavytail.laws.normal import normal
from heavytail.mdp import MDP, mdp_from_arrays
from heavytail.registry import Count, register

PROBABILITIES = {
    "strehl": (1.0, 0.15, 0.1, 0.05, 0.03, 0.01),
    "episodic": (1.0, 0.2, 0.2, 0.2, 0.2, 0.2),
    "ones": (1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
}
ARMS = 6


@register("env", "six_arms")
def six_arms(*, probabilities: Literal["strehl", "episodic", "ones"] = "episodic", alpha: float = 1.1, horizon: Count | None = 25) -> MDP:
    """A hub and six arms around it; the better an arm pays, the harder it may be to reach, and all but the first pay with heavy tails.

    Action i in the hub (state 0) leads to state i + 1 with probability p_i and else stays. In state i + 1 action i stays and pays; any other action
    leads back to the hub and pays nothing. The first arm pays N(1.2, 0.1**2); the others pay 1.2, 1.4, 1.6, 1.8 and 2 with symmetric alpha-stable noise.

    Args:
        probabilities: the preset of p_i. The paper's own are unknown. With Strehl and Littman's ("strehl") and 25 steps the light-tailed first arm
            is optimal, so the paper's claim could not show; with "episodic" the sixth arm is.
        alpha: the stability index of the noise.
        horizon: steps in an episode, or None for a continuing problem.
    """
    p = PROBABILITIES[probabilities]
    transitions = np.zeros((ARMS + 1, ARMS, ARMS + 1))
    transitions[1:, :, 0] = 1.0
    laws: list[list[Law]] = [[constant(0.0)] * ARMS for _ in range(ARMS + 1)]
    for arm in range(ARMS):
        transitions[0, arm, [arm + 1, 0]] = p[arm], 1.0 - p[arm]
        transitions[arm + 1, arm] = np.eye(ARMS + 1)[arm + 1]
        laws[arm + 1][arm] = normal(1.2, 0.1) if arm == 0 else alpha_stable(alpha, loc=1.0 + 0.2 * arm)
    return mdp_from_arrays(transitions, laws=laws, horizon=horizon)
