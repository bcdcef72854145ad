"""Build MDPs from Gymnasium environments and from the transition tables of its toy_text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy.typing as npt

from heavytail.errors import InputError
from heavytail.mdp.builders import mdp_from_slots, mdp_with_horizon
from heavytail.mdp.mdp import MDP

Table: TypeAlias = Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]]


def mdp_from_table(table: Table, *, horizon: int | None, start: npt.ArrayLike = 0) -> MDP:
    """Build an MDP from a transition table as in Gymnasium's toy_text.

    ``table[s][a]`` lists (probability, next state, reward, terminated). A state may be listed twice as a
    successor, with two rewards; rewards and ends belong to the transition.

    >>> table = {0: {0: [(0.5, 0, 0.0, False), (0.5, 1, 1.0, True)]}, 1: {0: [(1.0, 1, 0.0, True)]}}
    >>> mdp_from_table(table, horizon=3).mean_rewards
    array([[0.5],
           [0. ]])
    """
    _check_table(table)
    n_states, n_actions = len(table), len(table[0])
    cells = [(s, a) for s in range(n_states) for a in range(n_actions)]
    slots = [(s * n_actions + a, *slot) for s, a in cells for slot in table[s][a]]
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


def _check_table(table: Table) -> None:
    states = set(range(len(table)))
    if not states or set(table) != states or len({tuple(sorted(row)) for row in table.values()}) > 1:
        raise InputError(
            "a table of transitions must list every state from 0 on, with the same actions in each"
        )
    lengths = {len(slot) for row in table.values() for slots in row.values() for slot in slots}
    if set(table[0]) != set(range(len(table[0]))) or lengths - {4}:
        raise InputError(
            "a table of transitions must list every action from 0 on, each with (probability, next"
            " state, reward, terminated)"
        )


def mdp_from_gymnasium(env: Any, *, horizon: int | None = None) -> MDP:
    """Return the MDP of a Gymnasium environment with a table `P`, as in toy_text, or of heavytail's own.

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
            "Taxi with fickle_passenger=True is not the MDP of its table P, which ignores it; make it without"
        )
    limit = max_episode_steps(env) if horizon is None else horizon
    if limit is None:
        raise InputError(f"{type(inner).__name__} has no step limit; give horizon=")
    return mdp_from_table(inner.P, horizon=limit, start=getattr(inner, "initial_state_distrib", 0))


def max_episode_steps(env: Any) -> int | None:
    """Return the number of steps after which a Gymnasium environment ends an episode; None if it does not."""
    own = getattr(getattr(env, "unwrapped", env), "mdp", None)
    limits = [getattr(own, "horizon", None), getattr(getattr(env, "spec", None), "max_episode_steps", None)]
    return min((limit for limit in (*limits, *_wrapped_limits(env)) if limit), default=None)


def _wrapped_limits(env: Any) -> Iterator[int | None]:
    """Yield the limits of the TimeLimits around an environment, which has no spec unless made by id."""
    while (inner := getattr(env, "env", None)) is not None:
        yield getattr(env, "_max_episode_steps", None)
        env = inner
