"""The gap between the best and the second best policy, by enumerating all policies."""

import numpy as np

from heavytail.arrays import Floats, Ints
from heavytail.errors import InputError
from heavytail.mdp import MDP
from heavytail.planning.average_reward import RELATIVE_TOLERANCE
from heavytail.planning.markov_chains import gain_and_bias
from heavytail.planning.matrices import ROUNDING, require_stationary, transition_matrix

MAX_POLICIES = 2_000_000
POLICIES_AT_ONCE = 4096


def policy_gap(mdp: MDP) -> float:
    """Compute the gain of the best policy less that of the next best.

    Over all deterministic stationary policies and all states to start from; 0 where every policy is optimal.
    By enumeration, so for small MDPs.
    """
    count = require_stationary(mdp).n_actions ** mdp.n_states
    if count > MAX_POLICIES:
        raise InputError(
            f"policy_gap goes through all {mdp.n_actions}**{mdp.n_states} policies of this MDP; it"
            f" takes up to {MAX_POLICIES:,}"
        )
    starts = range(0, count, POLICIES_AT_ONCE)
    parts = [np.unique(all_gains(mdp, n, min(n + POLICIES_AT_ONCE, count))) for n in starts]
    gains = np.unique(np.concatenate(parts))
    spread, largest = float(np.ptp(mdp.row_means)), float(np.abs(mdp.row_means).max())
    tolerance = RELATIVE_TOLERANCE * spread + ROUNDING * largest
    worse = gains[gains < gains[-1] - tolerance]
    return float(gains[-1] - worse[-1]) if worse.size else 0.0


def all_gains(mdp: MDP, first: int, last: int) -> Floats:
    """Compute the gains [n, S] of the deterministic policies numbered from `first` to before `last`.

    The actions of a policy are the digits of its number.

    >>> import heavytail as ht
    >>> ht.planning.all_gains(ht.mdp_from_arrays([[[1.0], [1.0]]], [[0.0, 3.0]]), 0, 2).tolist()
    [[0.0], [3.0]]
    """
    count = require_stationary(mdp).n_actions ** mdp.n_states
    if not 0 <= first <= last <= count:
        raise InputError(
            f"the policies of this MDP are numbered from 0 to {mdp.n_actions}**{mdp.n_states}; got"
            f" {first} to {last}"
        )
    if mdp.n_actions == 1:  # one policy, of any number of states
        return gain_and_bias(transition_matrix(mdp, restart=True), mdp.row_means)[0][None][: last - first]
    states, base = np.arange(mdp.n_states), float(mdp.row_means.mean())
    actions = _digits(first, last, mdp.n_actions, mdp.n_states)
    dense = transition_matrix(mdp, restart=True).toarray().reshape(mdp.n_states, mdp.n_actions, mdp.n_states)
    limit = 0.5 * (np.eye(mdp.n_states) + dense[states, actions])  # half a step: periodic chains converge too
    for _ in range(60):  # 2**60 steps
        limit = limit @ limit
        limit /= limit.sum(axis=-1, keepdims=True)
    return base + np.einsum("nij,nj->ni", limit, mdp.mean_rewards[states, actions] - base)


def _digits(first: int, last: int, base: int, n: int) -> Ints:
    """Write the numbers from `first` to before `last` by their digits, the lowest first."""
    digits = np.zeros((last - first, n), np.int64)
    rest = np.arange(last - first, dtype=object) + first if last > 2**62 else np.arange(first, last)
    for k in range(n):
        digits[:, k] = rest % base
        rest = rest // base
    return digits
