"""Bandits whose best arms change, at times spread evenly over a run."""

from typing import Annotated

from annotated_types import Ge, Gt, Le

from heavytail.checks import Count
from heavytail.envs.bandits import bandits
from heavytail.errors import InputError
from heavytail.laws import Law
from heavytail.mdp.changing import ChangingMDP, changing_mdp
from heavytail.registry import register

MAX_PERIODS = 100_000


@register("env", "changing_bandits")
def changing_bandits(
    *,
    changes: Annotated[int, Ge(1), Le(MAX_PERIODS)] = 2,
    planned_steps: Count = 10_000,
    n_states: Count = 2,
    n_actions: Annotated[int, Ge(2)] = 2,
    gap: Annotated[float, Gt(0), Le(1)] = 0.5,
    law: Law | None = None,
) -> ChangingMDP:
    """The bandits of `bandits`, whose best arm becomes the next one in every state at each change.

    States:
        0 to n_states - 1.
    Actions:
        The arms of the bandit of this state.
    Transitions:
        To every state with equal probability, whatever the action.
    Rewards:
        By `law`: 1 on average for the best arm, 1 - gap for the others. In the i-th of the l = `changes`
        periods, counted from 0, arm (s + i) mod n_actions of state s is best.
    Start:
        Every state with equal probability.
    Optimum:
        The best arm of the period: 1 at every step.

        >>> import heavytail as ht
        >>> changing = ht.make_mdp("changing_bandits", changes=3, planned_steps=3000)
        >>> changing.at, [mdp.mean_rewards.argmax(axis=1).tolist() for mdp in changing.mdps]
        ((1000, 2000), [[0, 1], [1, 0], [0, 1]])

    Source:
        Ours, for theorem 3 of Zhuang and Sui (2021), who do not give an example.

    Args:
        changes: l of the theorem: the number of periods, one more than the number of changes.
        planned_steps: the number of steps over which they are spread.
        n_states: how many bandits there are.
        n_actions: arms of each bandit.
        gap: how much less the other arms pay.
        law: of the rewards, moved to these means; constant if not given.
    """
    if planned_steps < changes:
        raise InputError(
            f"changing_bandits: planned_steps is {planned_steps:,}; for {changes:,} periods it"
            f" must be at least {changes:,}"
        )
    different = [
        bandits(n_states=n_states, n_actions=n_actions, gap=gap, best=i, law=law)
        for i in range(min(changes, n_actions))
    ]
    periods = [different[i % n_actions] for i in range(changes)]
    return changing_mdp(periods, at=[i * planned_steps // changes for i in range(1, changes)])
