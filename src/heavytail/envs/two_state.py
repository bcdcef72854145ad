"""The two-state MDP of the paper's figure 1, whose transitions are hard to tell apart."""

from typing import Annotated

import numpy as np
from annotated_types import Ge

from heavytail.checks import Count, OpenProbability
from heavytail.errors import InputError
from heavytail.laws import Law
from heavytail.laws.constant import constant
from heavytail.mdp import MDP
from heavytail.mdp.builders import mdp_from_arrays, require_memory_for_slots
from heavytail.registry import register


@register("env", "two_state")
def two_state(
    *,
    n_actions: Annotated[int, Ge(2)] = 2,
    best: Annotated[int, Ge(0)] = 0,
    delta: OpenProbability = 0.1,
    gap: OpenProbability = 0.05,
    law: Law | None = None,
    horizon: Count | None = None,
) -> MDP:
    """A poor and a rich state; one action leads to the rich one a little more often than the others.

    States:
        0 is poor, 1 is rich.
    Actions:
        Any number; they differ in state 0 only, and there one is best.
    Transitions:
        From 0 to 1 with probability delta, by the best action delta + gap; from 1 to 0 with probability
        delta.
    Rewards:
        1 on average, by `law`, for every step that leaves state 1, whatever the action; 0 in state 0.
    Start:
        State 0.
    Optimum:
        The best action in state 0: gain (delta + gap) / (2 delta + gap), diameter 1 / delta.

        >>> import heavytail as ht
        >>> mdp = ht.make_mdp("two_state")
        >>> [round(f(mdp), 4) for f in (ht.planning.gain, ht.planning.diameter)]
        [0.6, 10.0]

    Source:
        Jaksch, Ortner and Auer (2010), section 6; figure 1 of Zhuang and Sui (2021), who call the gap lambda.
        Neither says where rewards are drawn: here in the rich state, as in the former.

    Args:
        n_actions: how many actions there are.
        best: which of them is best.
        delta: the probability of changing the state.
        gap: how much more likely the best action leaves the poor state; delta + gap is below 1.
        law: of the reward, moved to mean 1; constant if not given.
        horizon: steps in an episode, or None for a continuing problem.
    """
    if best >= n_actions or delta + gap >= 1:
        raise InputError(
            f"two_state: best must be below n_actions and delta + gap below 1, got best={best},"
            f" n_actions={n_actions}, delta={delta}, gap={gap}"
        )
    require_memory_for_slots("two_state", 4 * n_actions)
    transitions = np.empty((2, n_actions, 2))
    transitions[0], transitions[1] = [1.0 - delta, delta], [delta, 1.0 - delta]
    transitions[0, best] = [1.0 - delta - gap, delta + gap]
    rich = (constant(1.0) if law is None else law).with_mean(1.0)
    return mdp_from_arrays(transitions, laws=[[0.0] * n_actions, [rich] * n_actions], horizon=horizon)
