"""The heavy bandit in episodes: a different one at each step, as in the episodic lower bound."""

from typing import Annotated

import numpy as np
from annotated_types import Ge

from heavytail.checks import Count, MomentOrder
from heavytail.envs.heavy_bandit import hard_law, hardest_gap
from heavytail.laws import Law
from heavytail.mdp import MDP
from heavytail.mdp.builders import mdp_from_arrays, require_memory_for_slots
from heavytail.registry import register


@register("env", "heavy_chain")
def heavy_chain(
    *,
    horizon: Count = 5,
    n_states: Count = 2,
    n_actions: Annotated[int, Ge(2)] = 2,
    epsilon: MomentOrder = 0.5,
    planned_steps: Count = 10_000,
    seed: Annotated[int, Ge(0)] = 0,
    law: Law | None = None,
) -> MDP:
    """A different heavy-tailed bandit at every step and in every state.

    What is learnt at one step says nothing about the others.

    States:
        0 to n_states - 1.
    Actions:
        The arms of the bandit of this step and state.
    Transitions:
        To every state with equal probability, whatever the action.
    Rewards:
        Those of `heavy_bandit` with K = horizon * n_states * n_actions arms: 2 Delta for the best arm, which
        `seed` draws for each step and state, Delta for the others.
    Start:
        Every state with equal probability.
    Optimum:
        The best arm everywhere: value 2 Delta horizon.

        >>> import heavytail as ht
        >>> round(ht.planning.optimal_value(ht.make_mdp("heavy_chain")), 4)
        1.2599

    Source:
        Zhuang and Sui (2021), section 4.4: "we can concatenate H of these MDPs together into a chain, as in"
        Jin et al. (2018). That each step is a separate bandit over random states is our reading.

    Args:
        horizon: steps in an episode.
        n_states: how many states there are.
        n_actions: arms in each of them.
        epsilon: rewards have a moment of order 1 + epsilon.
        planned_steps: the number T of steps for which the gap is the hardest.
        seed: of the draw of the best arms.
        law: instead of the scaled Bernoulli laws, any law, moved to the same means.
    """
    require_memory_for_slots("heavy_chain", horizon * n_states * n_actions * n_states)
    delta, gamma = hardest_gap("heavy_chain", horizon * n_states * n_actions, epsilon, planned_steps)
    best = np.random.default_rng(seed).integers(n_actions, size=(horizon, n_states))
    good, poor = (hard_law(delta, gamma, epsilon, law, is_best=flag) for flag in (True, False))
    laws = [
        [[[good if a == best[h, s] else poor] for a in range(n_actions)] for s in range(n_states)]
        for h in range(horizon)
    ]
    anywhere = np.full(n_states, 1.0 / n_states)
    transitions = np.broadcast_to(anywhere, (horizon, n_states, n_actions, n_states))
    return mdp_from_arrays(transitions, laws=laws, horizon=horizon, start=anywhere)
