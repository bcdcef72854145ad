"""The heavy bandit of the lower bound: the hardest laws with a moment of order 1 + epsilon."""

import math
from typing import Annotated

import numpy as np
from annotated_types import Ge

from heavytail.checks import Count, MomentOrder
from heavytail.errors import InputError, show_count
from heavytail.laws import Law
from heavytail.laws.bernoulli import bernoulli
from heavytail.laws.constant import constant
from heavytail.mdp import MDP
from heavytail.mdp.builders import mdp_from_slots, require_memory_for_slots
from heavytail.registry import register

MAX_DOUBLINGS = 100  # of the least number of steps; beyond it, it is larger than any that can be given


@register("env", "heavy_bandit")
def heavy_bandit(
    *,
    n_leaves: Count = 1,
    n_actions: Annotated[int, Ge(2)] = 4,
    epsilon: MomentOrder = 0.5,
    planned_steps: Count = 10_000,
    best: Annotated[int, Ge(0)] = 0,
    law: Law | None = None,
    horizon: Count | None = None,
) -> MDP:
    """Arms at the leaves of a tree, which take about `planned_steps` pulls to be told apart.

    States:
        The inner nodes of a tree with `n_actions` branches, the root first, then its `n_leaves` leaves; with
        one leaf only that leaf, a plain bandit.
    Actions:
        In an inner node, which branch to take; in a leaf, which arm to pull.
    Transitions:
        Down the tree, and from a leaf back to the root, always. Branches that are missing lead to the last
        leaf.
    Rewards:
        In leaves only. With K = n_leaves * n_actions arms,

            Delta = (K / planned_steps)**(epsilon / (1 + epsilon)),    gamma = (2 Delta)**(1 / epsilon),

        the best arm pays 1 / gamma with probability gamma**(1 + epsilon), the others with probability
        gamma**(1 + epsilon) - Delta gamma: 2 Delta and Delta on average, with moments of order 1 + epsilon
        of at most 1.
    Start:
        The root.
    Optimum:
        The best arm, pulled at every visit of its leaf: gain 2 Delta / (depth + 1).

        >>> import heavytail as ht
        >>> mdp = ht.make_mdp("heavy_bandit")
        >>> round(ht.planning.gain(mdp), 4), round(ht.planning.policy_gap(mdp), 4)
        (0.1474, 0.0737)

    Source:
        Bubeck, Cesa-Bianchi and Lugosi (2013), theorem 2; Zhuang and Sui (2021), section 4.4, who do not say
        how arms become states and actions. The tree is ours. The construction needs Delta at most 1/2, that
        is planned_steps of at least K 2**((1 + epsilon) / epsilon).

    Args:
        n_leaves: how many states have arms.
        n_actions: arms in each of them.
        epsilon: rewards have a moment of order 1 + epsilon.
        planned_steps: the number T of pulls for which the gap is the hardest.
        best: the number of the best arm, counted from 0 through all leaves.
        law: instead of the scaled Bernoulli laws, any law, moved to the same means.
        horizon: steps in an episode, or None for a continuing problem.
    """
    require_memory_for_slots("heavy_bandit", 2 * n_leaves * n_actions)
    K = n_leaves * n_actions
    delta, gamma = hardest_gap("heavy_bandit", K, epsilon, planned_steps)
    if best >= K:
        raise InputError(f"heavy_bandit: best is {best}; the {K} arms are numbered from 0 to {K - 1}")
    down = np.array(_tree(n_leaves, n_actions), np.int64).reshape(-1, n_actions)
    successors = np.concatenate([down, np.zeros((n_leaves, n_actions), np.int64)])
    laws = [constant(0.0), *(hard_law(delta, gamma, epsilon, law, is_best=flag) for flag in (False, True))]
    law_of_row = np.repeat([0, 1], [down.size, K])
    law_of_row[down.size + best] = 2
    return mdp_from_slots(
        rows=np.arange(successors.size),
        successors=successors.ravel(),
        probabilities=np.ones(successors.size),
        laws=laws,
        law=law_of_row,
        n_states=len(successors),
        n_actions=n_actions,
        horizon=horizon,
    )


def hardest_gap(env: str, n_arms: int, epsilon: float, planned_steps: int) -> tuple[float, float]:
    """Return Delta and gamma of the construction."""
    doublings = (1 + epsilon) / epsilon
    least = math.ceil(n_arms * 2**doublings) if doublings < MAX_DOUBLINGS else 2**MAX_DOUBLINGS
    if planned_steps < least:
        raise InputError(
            f"{env}: planned_steps is {planned_steps:,}; with {n_arms:,} arms and epsilon={epsilon} it"
            f" must be at least {show_count(least)}"
        )
    delta = (n_arms / planned_steps) ** (epsilon / (1 + epsilon))
    return delta, (2 * delta) ** (1 / epsilon)


def hard_law(delta: float, gamma: float, epsilon: float, law: Law | None, *, is_best: bool) -> Law:
    """Make the law of one arm: `law` moved to the arm's mean, or else a scaled Bernoulli law."""
    if law is not None:
        return law.with_mean(2 * delta if is_best else delta)
    return bernoulli(gamma ** (1 + epsilon) - (0.0 if is_best else delta * gamma), scale=1 / gamma)


def _tree(n_leaves: int, n_actions: int) -> list[list[int]]:
    """List the children of each inner node of the smallest full tree with so many leaves.

    Nodes are numbered level by level, so that the leaves come last.
    """
    levels = [1]
    while levels[-1] < n_leaves:
        levels.append(min(levels[-1] * n_actions, n_leaves))
    starts = np.concatenate([[0], np.cumsum(levels)])
    return [
        [int(starts[depth + 1] + min(node * n_actions + a, levels[depth + 1] - 1)) for a in range(n_actions)]
        for depth in range(len(levels) - 1)
        for node in range(levels[depth])
    ]
