"""Garnet: random MDPs of a given size and branching (Archibald, McKinnon and Thomas 1995)."""

from typing import Annotated

import numpy as np
from annotated_types import Ge

from heavytail.arrays import Ints
from heavytail.checks import Count
from heavytail.errors import InputError
from heavytail.laws import Law
from heavytail.laws.constant import constant
from heavytail.mdp import MDP
from heavytail.mdp.builders import mdp_from_slots, require_memory_for_slots
from heavytail.registry import register

LARGE, SHARE = 10_000, 50  # of more than LARGE, NumPy chooses more than one in SHARE in another way
LAW = 3  # slots take as much memory as the law of a row


@register("env", "garnet")
def garnet(
    *,
    n_states: Count = 10,
    n_actions: Count = 3,
    branching: Count = 2,
    seed: Annotated[int, Ge(0)] = 0,
    law: Law | None = None,
    horizon: Count | None = 20,
) -> MDP:
    """A random MDP: from each state and action to a few random states, with random mean rewards.

    States:
        0 to n_states - 1.
    Actions:
        0 to n_actions - 1.
    Transitions:
        To `branching` different states, drawn at random, with probabilities that cut the unit interval at
        random points.
    Rewards:
        For each state and action a mean drawn uniformly from (0, 1), by `law`.
    Start:
        State 0.
    Optimum:
        Depends on the seed; value, gain and diameter of the default:

        >>> import heavytail as ht
        >>> mdp = ht.make_mdp("garnet")
        >>> [round(f(mdp), 4) for f in (ht.planning.optimal_value, ht.planning.gain, ht.planning.diameter)]
        [19.119, 0.9514, 7.3569]

    Source:
        Archibald, McKinnon and Thomas (1995), as simplified by Bhatnagar et al. (2009).

    Args:
        n_states: how many states there are.
        n_actions: how many actions there are.
        branching: successors of each state and action, at most n_states.
        seed: of everything that is random here.
        law: of every reward, moved to its mean; constant if not given.
        horizon: steps in an episode, or None for a continuing problem.
    """
    if branching > n_states:
        raise InputError(
            f"garnet: branching is {branching}; with {n_states} states it must be at most {n_states}"
        )
    require_memory_for_slots("garnet", n_states * n_actions * max(branching, LAW))
    rng = np.random.default_rng(seed)
    rows = n_states * n_actions
    successors = np.sort(choose_without_replacement(rng, n_states, branching, rows), axis=1)
    cuts = np.sort(rng.random((rows, branching - 1)), axis=1)
    probabilities = np.diff(cuts, prepend=0.0, append=1.0, axis=1)
    means = rng.random(rows)
    noise = constant(0.0) if law is None else law
    return mdp_from_slots(
        rows=np.repeat(np.arange(rows), branching),
        successors=successors.ravel(),
        probabilities=probabilities.ravel(),
        laws=[noise.with_mean(float(mean)) for mean in means],
        law=np.repeat(np.arange(rows), branching),
        n_states=n_states,
        n_actions=n_actions,
        horizon=horizon,
    )


def choose_without_replacement(rng: np.random.Generator, n: int, k: int, times: int) -> Ints:
    """Choose k of n, `times` times, [times, k]: the sets of `rng.choice(n, k, replace=False)`, at once.

    NumPy uses Floyd's algorithm, which draws from 0 to n - k, then from 0 to n - k + 1 and so on, and takes
    the largest if a number was drawn before; then it shuffles them, which takes draws too.
    """
    if n > LARGE and k > n // SHARE:
        return np.array([rng.choice(n, k, replace=False) for _ in range(times)])
    largest = np.concatenate([np.arange(n - k, n), np.arange(k - 1, 0, -1)]).astype(np.uint64)
    draws = rng.integers(0, np.broadcast_to(largest, (times, 2 * k - 1)), dtype=np.uint64, endpoint=True)
    chosen = draws[:, :k].astype(np.int64)
    for i in range(1, k):
        drawn_before = (chosen[:, :i] == chosen[:, i : i + 1]).any(axis=1)
        chosen[drawn_before, i] = n - k + i
    return chosen
