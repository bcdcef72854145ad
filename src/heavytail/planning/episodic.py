"""Values and optimal policies of episodic problems, by backward induction."""

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats, Ints
from heavytail.checks import require_memory
from heavytail.errors import show_duration
from heavytail.mdp import MDP
from heavytail.planning.matrices import (
    checked_policy,
    mixed_values,
    require_episodes,
    transition_matrix,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

LONG = 5_000_000  # steps
SECONDS_PER_STEP = 1.5e-5  # about, in a small MDP


class EpisodicPlan(NamedTuple):
    """Values and actions at each step of an episode."""

    values: Floats  # [H + 1, S]
    policy: Ints  # [H, S]


def episodic_plan(mdp: MDP) -> EpisodicPlan:
    """Compute the optimal values and policy of every step; of equally good actions the first.

    >>> import heavytail as ht
    >>> plan = ht.planning.episodic_plan(ht.make_mdp("six_arms"))
    >>> plan.values.shape, plan.policy.shape
    ((26, 7), (25, 7))
    """
    values = np.zeros((_checked_horizon(mdp) + 1, mdp.n_states))
    policy = np.zeros((mdp.horizon, mdp.n_states), np.int64)
    for h, transitions, means in _backwards(mdp):
        q = (means + transitions @ values[h + 1]).reshape(mdp.n_states, mdp.n_actions)
        policy[h] = q.argmax(axis=1)
        values[h] = mixed_values(q, policy[h])
    return EpisodicPlan(values, policy)


def optimal_value(mdp: MDP) -> float:
    """Compute the best expected total reward of an episode, from the start.

    >>> import heavytail as ht
    >>> round(ht.planning.optimal_value(ht.make_mdp("six_arms")), 2)
    40.06
    """
    return float(mdp.start @ episodic_plan(mdp).values[0])


def policy_values(mdp: MDP, policy: npt.ArrayLike) -> Floats:
    """Compute the expected total rewards [H + 1, S] under a policy.

    The policy is actions [S] or [H, S], or probabilities [S, A] or [H, S, A].

    >>> import heavytail as ht
    >>> mdp = ht.make_mdp("six_arms")
    >>> ht.planning.policy_values(mdp, [0] * 7)[0].round(2).tolist()
    [28.8, 30.0, 27.6, 27.6, 27.6, 27.6, 27.6]
    """
    values = np.zeros((_checked_horizon(mdp) + 1, mdp.n_states))
    steps = checked_policy(mdp, policy, (mdp.horizon,))
    for h, transitions, means in _backwards(mdp):
        q = (means + transitions @ values[h + 1]).reshape(mdp.n_states, mdp.n_actions)
        values[h] = mixed_values(q, steps[h])
    return values


def policy_value(mdp: MDP, policy: npt.ArrayLike) -> float:
    """Compute the expected total reward of an episode under a policy, from the start.

    >>> import heavytail as ht
    >>> mdp = ht.make_mdp("six_arms")
    >>> round(ht.planning.policy_value(mdp, ht.planning.episodic_plan(mdp).policy), 2)
    40.06
    """
    return float(mdp.start @ policy_values(mdp, policy)[0])


def _checked_horizon(mdp: MDP) -> int:
    """Return the horizon of an MDP with episodes, whose values at every step fit the memory."""
    horizon = require_episodes(mdp)
    require_memory(f"planning {horizon:,} steps in {mdp.n_states:,} states", 16 * horizon * mdp.n_states)
    if horizon > LONG:
        seconds = show_duration(SECONDS_PER_STEP * horizon)
        warnings.warn(f"planning an episode of {horizon:,} steps takes about {seconds}", stacklevel=3)
    return horizon


def _backwards(mdp: MDP) -> Iterator[tuple[int, "csr_matrix", Floats]]:
    """Yield every step from the last to the first, with its transitions and mean rewards."""
    alive, n = transition_matrix(mdp, restart=False), mdp.n_states * mdp.n_actions
    for h in reversed(range(mdp.horizon)):
        if mdp.n_stages == 1:  # a slice would be a copy
            yield h, alive, mdp.row_means
        else:
            yield h, alive[h * n : (h + 1) * n], mdp.row_means[h * n : (h + 1) * n]
