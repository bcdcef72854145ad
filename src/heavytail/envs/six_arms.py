"""SixArms (Strehl and Littman 2008), with the reward laws of the paper."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from heavytail.checks import Count
from heavytail.errors import InputError, short_repr, suggestion
from heavytail.laws import Law
from heavytail.laws.alpha_stable import alpha_stable
from heavytail.laws.constant import constant
from heavytail.laws.normal import normal
from heavytail.mdp import MDP
from heavytail.mdp.builders import mdp_from_arrays
from heavytail.registry import register

PROBABILITIES = {
    "strehl": (1.0, 0.15, 0.1, 0.05, 0.03, 0.01),
    "episodic": (1.0, 0.2, 0.2, 0.2, 0.2, 0.2),
    "ones": (1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
}
ARMS = 6


@register("env", "six_arms")
def six_arms(*, probabilities: Any = "episodic", law: Law | None = None, horizon: Count | None = 25) -> MDP:
    """A hub with six arms: those that pay more may be harder to reach, and all but one are heavy-tailed.

    States:
        0 is the hub, 1 to 6 are the arms.
    Actions:
        0 to 5: action i is for arm i + 1.
    Transitions:
        In the hub action i leads to arm i + 1 with probability p_i and else stays. In arm i + 1 action i
        stays; any other leads back to the hub.
    Rewards:
        Only for staying in an arm. Arm 1 pays N(1.2, 0.1**2); arms 2 to 6 pay 1.2, 1.4, 1.6, 1.8 and 2 on
        average, by `law`.
    Start:
        The hub.
    Optimum:
        With the default p arm 6: value 40.06 in 25 steps (arm 1: 28.8), gain 2, diameter 6.

        >>> import heavytail as ht
        >>> mdp = ht.make_mdp("six_arms")
        >>> [round(f(mdp), 4) for f in (ht.planning.optimal_value, ht.planning.gain, ht.planning.diameter)]
        [40.0576, 2.0, 6.0]

    Source:
        Strehl and Littman (2008), with the laws of Zhuang and Sui (2021), appendix D. The paper says nothing
        of its own p, so they are a parameter. With Strehl and Littman's and 25 steps the light-tailed arm 1
        is optimal (28.8; the arms that pay more are reached too late), so that the paper's claim, that
        light-tailed agents end on a worse arm, could not show there. Its text also gives arm 1 two laws; it
        has the normal one here.

    Args:
        probabilities: p, six numbers or a preset: "episodic" (1, .2, .2, .2, .2, .2), under which arm 6 is
            best in 25 steps; "strehl" (1, .15, .1, .05, .03, .01); "ones".
        law: of the rewards of arms 2 to 6, moved to their means; symmetric alpha-stable with alpha = 1.1 and
            scale 1 if not given.
        horizon: steps in an episode, or None for a continuing problem.
    """
    p, heavy = _probabilities(probabilities), alpha_stable(1.1) if law is None else law
    transitions = np.zeros((ARMS + 1, ARMS, ARMS + 1))
    transitions[1:, :, 0] = 1.0
    laws: list[list[Law]] = [[constant(0.0)] * ARMS for _ in range(ARMS + 1)]
    for arm in range(ARMS):
        transitions[0, arm, [arm + 1, 0]] = p[arm], 1.0 - p[arm]
        transitions[arm + 1, arm] = np.eye(ARMS + 1)[arm + 1]
        laws[arm + 1][arm] = normal(1.2, 0.1) if arm == 0 else heavy.with_mean(1.0 + 0.2 * arm)
    return mdp_from_arrays(transitions, laws=laws, horizon=horizon)


def _probabilities(given: str | Sequence[float]) -> Sequence[float]:
    if isinstance(given, str):
        if given not in PROBABILITIES:
            raise InputError(
                f"six_arms: probabilities is {short_repr(given)}; {suggestion(given, PROBABILITIES)}"
            )
        return PROBABILITIES[given]
    p = np.asarray(given, np.float64)
    if p.shape != (ARMS,) or not ((p > 0) & (p <= 1)).all():
        raise InputError(
            "six_arms: probabilities must be six numbers above 0 and at most 1, or one of"
            f" {', '.join(PROBABILITIES)}; got {short_repr(given)}"
        )
    return [float(x) for x in p]
