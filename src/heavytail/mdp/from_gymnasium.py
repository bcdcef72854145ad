"""MDPs from Gymnasium environments and transition tables of toy_text."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from heavytail.errors import InputError
from heavytail.mdp.builders import mdp_from_slots, mdp_with_horizon
from heavytail.mdp.mdp import MDP


def mdp_from_table(
    table: Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]],
    *,
    horizon: int | None,
    start: npt.ArrayLike = 0,
) -> MDP:
    """An MDP from a table of Gymnasium's toy_text.

    ``table[s][a]`` lists (probability, next state, reward, terminated).

    A state may be listed twice as a successor, with two rewards; rewards and ends belong to the transition.

    >>> table = {0: {0: [(0.5, 0, 0.0, False), (0.5, 1, 1.0, True)]}, 1: {0: [(1.0, 1, 0.0, True)]}}
    >>> mdp_from_table(table, horizon=3).mean_rewards
    array([[0.5],
           [0. ]])
    """
    n_states = len(table)
    if (
        not n_states
        or set(table) != set(range(n_states))
        or len({tuple(sorted(row)) for row in table.values()}) > 1
    ):
        raise InputError(
            "a table of transitions must list every state from 0 on, with the same actions in each"
        )
    n_actions = len(table[0])
    if set(table[0]) != set(range(n_actions)) or any(
        len(slot) != 4 for row in table.values() for slots in row.values() for slot in slots
    ):
        raise InputError(
            "a table of transitions must list every action from 0 on, each with (probability, next"
            " state, reward, terminated)"
        )
    slots = [
        (s * n_actions + a, *slot) for s in range(n_states) for a in range(n_actions) for slot in table[s][a]
    ]
    rows, probabilities, successors, rewards, ends = zip(*slots, strict=True)
    return mdp_from_slots(
        rows,
        successors,
        probabilities,
        rewards,
        n_states=n_states,
        n_actions=n_actions,
        ends=ends,
        start=start,
        horizon=horizon,
    )


def mdp_from_gymnasium(env: Any, *, horizon: int | None = None) -> MDP:
    """The MDP behind a Gymnasium environment that shows it.

    One with a table `P`, as in toy_text, or one of heavytail's own.

    Args:
        env: the environment; wrappers around it are not part of the MDP.
        horizon: steps in an episode; the environment's own limit if not given.

    >>> import gymnasium, heavytail as ht
    >>> mdp = ht.mdp_from_gymnasium(gymnasium.make("CliffWalking-v1"), horizon=100)
    >>> ht.planning.optimal_value(mdp)
    -13.0
    """
    inner = getattr(env, "unwrapped", env)
    if isinstance(getattr(inner, "mdp", None), MDP):
        mdp: MDP = inner.mdp
        return mdp_with_horizon(mdp, max_episode_steps(env) if horizon is None else horizon)
    if not hasattr(inner, "P"):
        name = type(inner).__name__
        raise InputError(
            f"{name} shows no table P of its transitions; if its spaces are discrete, make_agent"
            " learns from its steps instead"
        )
    if getattr(inner, "fickle_passenger", False):
        raise InputError(
            "Taxi with fickle_passenger=True is not the MDP of its table P, which does not know of"
            " it; make it without"
        )
    limit = max_episode_steps(env) if horizon is None else horizon
    if limit is None:
        raise InputError(f"{type(inner).__name__} has no limit of steps; give horizon=")
    return mdp_from_table(inner.P, horizon=limit, start=getattr(inner, "initial_state_distrib", 0))


def max_episode_steps(env: Any) -> int | None:
    """After how many steps a Gymnasium environment ends an episode by itself."""
    own = getattr(getattr(env, "unwrapped", env), "mdp", None)
    limits = [getattr(own, "horizon", None), getattr(getattr(env, "spec", None), "max_episode_steps", None)]
    return min((limit for limit in limits if limit), default=None)
