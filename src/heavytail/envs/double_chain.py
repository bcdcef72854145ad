"""DoubleChain, the paper's own environment: a short safe chain and a longer heavy-tailed one."""

from typing import Literal

import numpy as np

from heavytail.checks import Count, OpenProbability
from heavytail.laws import Law
from heavytail.laws.alpha_stable import alpha_stable
from heavytail.laws.constant import constant
from heavytail.laws.normal import normal
from heavytail.mdp import MDP
from heavytail.mdp.builders import mdp_from_slots, require_memory_for_slots
from heavytail.registry import register

LEFT, RIGHT = 0, 1


@register("env", "double_chain")
def double_chain(
    *,
    length: Count = 3,
    p: OpenProbability = 0.8,
    symmetric: bool = False,
    head: Literal["hub", "self"] = "hub",
    law: Law | None = None,
    horizon: Count | None = 10,
) -> MDP:
    """Two chains that leave a hub, one to a light-tailed reward of 0.5, one to a heavy-tailed one of 1.

    States:
        0 is the hub; 1 to l the upper chain; l + 1 to 2l + 1 the lower one, which is one longer (2l + 2
        states), or as long where `symmetric`.
    Actions:
        0 (dashed in the paper's figure) and 1 (solid).
    Transitions:
        In the hub 0 leads to the upper chain and 1 to the lower. Elsewhere 0 goes one step left, towards
        the hub; 1 goes right with probability p and left with 1 - p; at the end of a chain right means
        staying.
    Rewards:
        For the state that is left, whatever the action: upper chain N(0, 0.1**2), its end N(0.5, 0.1**2);
        lower chain N(-0.1, 0.01**2), its end 1 on average, by `law`; the hub 0.
    Start:
        The hub.
    Optimum:
        The lower chain: value 3.1611 in 10 steps (the upper one gives at most 2.41), gain 0.7265, diameter
        8.7812.

        >>> import heavytail as ht
        >>> mdp = ht.make_mdp("double_chain")
        >>> [round(f(mdp), 4) for f in (ht.planning.optimal_value, ht.planning.gain, ht.planning.diameter)]
        [3.1611, 0.7265, 8.7812]

    Source:
        Zhuang and Sui (2021), figure 2 and appendix D. Its text speaks of two chains of length l, its figure
        and its rewards of 2l + 2 states: the figure is followed by default. No edge is drawn for a solid
        action that fails in the first state of a chain; it leads to the hub by default.

    Args:
        length: l, the length of the upper chain.
        p: how often action 1 succeeds.
        symmetric: make the lower chain as short as the upper one.
        head: where action 1 leads when it fails in the first state of a chain: the "hub", or the state itself
            ("self").
        law: of the reward at the end of the lower chain, moved to mean 1; symmetric alpha-stable with alpha =
            1.1 and scale 1 if not given.
        horizon: steps in an episode, or None for a continuing problem.
    """
    require_memory_for_slots("double_chain", 6 * length)
    upper = list(range(1, length + 1))
    lower = list(range(length + 1, 2 * length + (1 if symmetric else 2)))
    slots = [(LEFT, upper[0], 1.0), (RIGHT, lower[0], 1.0)]  # (row, successor, probability)
    for chain in (upper, lower):
        for k, s in enumerate(chain):
            left = chain[k - 1] if k else 0
            back = s if k == 0 and head == "self" else left
            slots += [
                (2 * s + LEFT, left, 1.0),
                (2 * s + RIGHT, back, 1.0 - p),
                (2 * s + RIGHT, chain[min(k + 1, len(chain) - 1)], p),
            ]
    rows, successors, probabilities = zip(*sorted(slots), strict=True)
    n = 1 + len(upper) + len(lower)
    law_of_state = np.full(n, 3)
    law_of_state[[0, *upper]] = [0] + [1] * len(upper)
    law_of_state[upper[-1]], law_of_state[lower[-1]] = 2, 4
    heavy = alpha_stable(1.1) if law is None else law
    return mdp_from_slots(
        rows,
        successors,
        probabilities,
        laws=[constant(0.0), normal(0.0, 0.1), normal(0.5, 0.1), normal(-0.1, 0.01), heavy.with_mean(1.0)],
        law=law_of_state[np.array(rows) // 2],
        n_states=n,
        n_actions=2,
        horizon=horizon,
    )
