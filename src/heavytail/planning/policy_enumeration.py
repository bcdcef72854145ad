r"""All deterministic policies of a small MDP: the gap between the best and the next best, and settling times.

T_pi is the least T' such that for all T >= T' and from every state the expected average reward of T steps is
closer than g/2 to the gain, g being the gap (Jaksch et al. 2010, theorem 4; the paper uses T_pi without
defining it). With the bias h of pi the average of T steps is off by |h - P^T h| / T, so that T_pi is at most
1 + 2 span(h) / g, and one need not look further.

For these, actions that do the same in a state count once: of the 6^7 policies of SixArms 384 are left.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats, Ints
from heavytail.errors import InputError
from heavytail.mdp import MDP
from heavytail.planning.average_reward import RELATIVE_TOLERANCE
from heavytail.planning.markov_chains import gain_and_bias
from heavytail.planning.matrices import ROUNDING, require_stationary, transition_matrix

MAX_POLICIES, POLICIES_AT_ONCE = 2_000_000, 4096
MAX_DISTINCT, CHUNK = 100_000, 1024  # policies that differ in what they do
BLOCK = 256  # steps at once; a power of two
MAX_STEPS = 1_000_000  # that are examined
MAX_SQUARINGS = 60  # 2**60 steps
FORGOTTEN = 1e-14  # the share of the bias that is left of the start


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
    return _gap_between(mdp, [np.unique(all_gains(mdp, n, min(n + POLICIES_AT_ONCE, count))) for n in starts])


def _gap_between(mdp: MDP, parts: Sequence[Floats]) -> float:
    """Return how far the best of these gains is above the next, by more than rounding."""
    gains, means = np.unique(np.concatenate([gains.ravel() for gains in parts])), mdp.row_means
    best = gains[-1] - RELATIVE_TOLERANCE * float(np.ptp(means)) - ROUNDING * float(np.abs(means).max())
    worse = gains[gains < best]
    return float(gains[-1] - worse[-1]) if worse.size else 0.0


def all_gains(mdp: MDP, first: int, last: int) -> Floats:
    """Compute the gains [n, S] of the deterministic policies numbered from `first` to before `last`.

    The actions of a policy are the digits of its number.

    >>> import heavytail as ht
    >>> all_gains(ht.mdp_from_arrays([[[1.0], [1.0]]], [[0.0, 3.0]]), 0, 2).tolist()
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
    limit = _limit(dense[states, actions])
    return base + np.einsum("nij,nj->ni", limit, mdp.mean_rewards[states, actions] - base)


def _digits(first: int, last: int, base: int, n: int) -> Ints:
    """Write the numbers from `first` to before `last` by their digits, the lowest first."""
    digits = np.zeros((last - first, n), np.int64)
    rest = np.arange(last - first, dtype=object) + first if last > 2**62 else np.arange(first, last)
    for k in range(n):
        digits[:, k] = rest % base
        rest = rest // base
    return digits


# Settling times


class DistinctActions(NamedTuple):
    """The actions of each state that differ in what they do."""

    classes: Ints  # [S, A] the index of the distinct action that an action is
    transitions: list[Floats]  # of each state: [n, S]
    means: list[Floats]  # of each state: [n]

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of distinct actions in each state."""
        return tuple(len(means) for means in self.means)


def distinct_actions(mdp: MDP) -> DistinctActions:
    """Find the actions of each state that differ in their transitions or mean rewards."""
    S, A = require_stationary(mdp).n_states, mdp.n_actions
    transitions = transition_matrix(mdp, restart=True).toarray()
    rows = np.concatenate([transitions, mdp.row_means[:, None]], axis=1).reshape(S, A, S + 1)
    unique = [np.unique(actions, axis=0, return_inverse=True) for actions in rows]
    classes = np.array([inverse.ravel() for _, inverse in unique])
    return DistinctActions(classes, [row[:, :-1] for row, _ in unique], [row[:, -1] for row, _ in unique])


def count_policies(mdp: MDP) -> int:
    """Count the policies that differ in what they do."""
    return math.prod(distinct_actions(mdp).counts)


class PolicyFacts(NamedTuple):
    """The gap between policies, and how long they take to show their gains."""

    gap: float  # 0 if all are optimal
    settling_times: Ints  # [S, A]: the largest T_pi of the policies with pi(s) = a; empty if all are optimal
    settling: float  # sum over (s, a) of ceil(1 + log2 T) T for these times T, as theorem 2 has it


def policy_facts(mdp: MDP) -> PolicyFacts:
    """Compute the policy gap and the times T_pi from all policies, so for small MDPs.

    >>> import heavytail as ht
    >>> facts = policy_facts(ht.make_mdp("two_state"))
    >>> round(facts.gap, 6), facts.settling_times.tolist()
    (0.1, [[49, 51], [51, 51]])
    """
    actions = distinct_actions(mdp)
    count = math.prod(actions.counts)
    if count > MAX_DISTINCT:
        raise InputError(
            f"policy_facts goes through all policies, and this MDP has {count:,}; it takes up to"
            f" {MAX_DISTINCT:,}"
        )
    chunks = [_solve(actions, n, min(n + CHUNK, count)) for n in range(0, count, CHUNK)]
    gap = _gap_between(mdp, [chunk.gain for chunk in chunks])
    if gap == 0.0:
        return PolicyFacts(0.0, np.zeros((0, 0), np.int64), 0.0)
    latest = [np.zeros(n, np.int64) for n in actions.counts]
    for chunk in chunks:
        times = _settling_times(chunk, gap)
        for s, largest in enumerate(latest):
            np.maximum.at(largest, chunk.actions[:, s], times)
    by_action = np.array([latest[s][actions.classes[s]] for s in range(len(latest))])
    return PolicyFacts(gap, by_action, float((np.ceil(1.0 + np.log2(by_action)) * by_action).sum()))


class _Policies(NamedTuple):
    actions: Ints  # [n, S]
    chains: Floats  # [n, S, S]
    gain: Floats  # [n, S]
    bias: Floats  # [n, S]


def _solve(distinct: DistinctActions, first: int, last: int) -> _Policies:
    """Gain and bias of the policies number `first` to `last`."""
    actions = np.stack(np.unravel_index(np.arange(first, last), distinct.counts), axis=1)
    chains = np.stack([rows[actions[:, s]] for s, rows in enumerate(distinct.transitions)], axis=1)
    rewards = np.stack([means[actions[:, s]] for s, means in enumerate(distinct.means)], axis=1)
    base = float(rewards.mean())
    limit = _limit(chains)
    above = np.einsum("nij,nj->ni", limit, rewards - base)
    right = (rewards - base - above)[:, :, None]
    bias = np.linalg.solve(np.eye(chains.shape[1]) - chains + limit, right)[:, :, 0]
    return _Policies(actions, chains, base + above, bias)


def _limit(chains: Floats) -> Floats:
    """The long-run average of each chain; by half steps, so that periodic chains converge too."""
    limit = 0.5 * (np.eye(chains.shape[1]) + chains)
    for _ in range(MAX_SQUARINGS):
        squared = limit @ limit
        squared /= squared.sum(axis=-1, keepdims=True)
        if np.array_equal(squared, limit):
            break
        limit = squared
    return limit


def _settling_times(policies: _Policies, gap: float) -> Ints:
    """T_pi of each policy [n]: one more than the last T at which |h - P^T h| is not below T g / 2.

    Beyond `MAX_STEPS` an upper bound of it.
    """
    half, bias = 0.5 * gap * (1.0 - 1e-12), policies.bias
    largest, spans = np.abs(bias).max(axis=1), np.ptp(bias, axis=1)
    last, active, t = np.zeros(len(bias), np.int64), np.arange(len(bias)), np.arange(1, BLOCK + 1)
    moved, leap = _block(policies.chains, bias)
    while active.size and t[0] <= MAX_STEPS:
        off = np.abs(bias[active, :, None] - moved).max(axis=1)
        last[active] = np.maximum(last[active], (t * (off >= half * t)).max(axis=1))
        forgotten = np.abs(moved[:, :, -1]).max(axis=1) <= FORGOTTEN * largest[active]
        done = active[forgotten]  # for them h - P^T h is h from now on
        last[done] = np.maximum(last[done], (largest[done] / half).astype(np.int64))
        going_on = ~forgotten & (spans[active] >= half * t[-1])
        active, moved, leap, t = active[going_on], leap[going_on] @ moved[going_on], leap[going_on], t + BLOCK
    last[active] = (spans[active] / half).astype(np.int64)
    return last + 1


def _block(chains: Floats, bias: Floats) -> tuple[Floats, Floats]:
    """P h to P^BLOCK h side by side [n, S, BLOCK], and P^BLOCK."""
    leap, moved = chains, chains @ bias[:, :, None]
    while moved.shape[2] < BLOCK:
        moved, leap = np.concatenate([moved, leap @ moved], axis=2), leap @ leap
    return moved, leap
