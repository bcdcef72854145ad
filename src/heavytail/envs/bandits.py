"""Several bandits, of which a random one comes up at every step.

Only the rewards are unknown, so regret is free of the noise of transitions.
"""

from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Le

from heavytail.checks import Count
from heavytail.laws import Law
from heavytail.laws.constant import constant
from heavytail.mdp import MDP
from heavytail.mdp.builders import mdp_from_arrays, require_memory_for_slots
from heavytail.registry import register


@register("env", "bandits")
def bandits(
    *,
    n_states: Count = 2,
    n_actions: Annotated[int, Ge(2)] = 2,
    gap: Annotated[float, Gt(0), Le(1)] = 0.5,
    best: Annotated[int, Ge(0)] = 0,
    law: Law | None = None,
    horizon: Count | None = None,
) -> MDP:
    """A bandit in every state; the next state is drawn uniformly at random.

    States:
        0 to n_states - 1.
    Actions:
        The arms of the bandit of this state.
    Transitions:
        To every state with equal probability, whatever the action.
    Rewards:
        By `law`: 1 on average for arm (s + best) mod n_actions of state s, 1 - gap for the others.
    Start:
        Every state with equal probability.
    Optimum:
        The best arm everywhere: gain 1, diameter n_states.

        >>> import heavytail as ht
        >>> mdp = ht.make_mdp("bandits", gap=0.25)
        >>> [round(f(mdp), 4) for f in (ht.planning.gain, ht.planning.diameter, ht.planning.policy_gap)]
        [1.0, 2.0, 0.125]

    Source:
        Ours; it has the transitions used to prove the tight lower bound of `heavytail.bounds.lower`. As all
        states are worth the same, regret counts only the plays of worse arms.

    Args:
        n_states: how many bandits there are.
        n_actions: arms of each bandit.
        gap: how much less the other arms pay.
        best: the shift of the best arms.
        law: of the rewards, moved to these means; constant if not given.
        horizon: steps in an episode, or None for a continuing problem.
    """
    require_memory_for_slots("bandits", n_states * n_actions * n_states)
    noise = constant(0.0) if law is None else law
    good, poor = noise.with_mean(1.0), noise.with_mean(1.0 - gap)
    laws = [
        [good if a == (s + best) % n_actions else poor for a in range(n_actions)] for s in range(n_states)
    ]
    anywhere = np.full(n_states, 1.0 / n_states)
    transitions = np.broadcast_to(anywhere, (n_states, n_actions, n_states))
    return mdp_from_arrays(transitions, laws=laws, horizon=horizon, start=anywhere)
