r"""All policies of a small MDP.

The gap g between the best and the next best, and how long each takes to show its gain.

T_pi is the least T' such that for all T >= T' and from every state the expected average reward of T steps is
closer than g/2 to the gain (Jaksch et al. 2010, theorem 4; the paper uses T_pi without saying what it is).
With the bias h of pi the average of T steps is off by |h - P^T h| / T, so that T_pi is at most 1 + 2 span(h)
/ g, and one need not look further.

Actions that do the same in a state count once: of the 6^7 policies of SixArms 384 are left.
"""

import math
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats, Ints
from heavytail.errors import InputError
from heavytail.mdp import MDP
from heavytail.planning.average_reward import RELATIVE_TOLERANCE, ROUNDING
from heavytail.planning.matrices import require_stationary, transition_matrix

MAX_POLICIES = 100_000
AT_ONCE = 1024
BLOCK = 256  # steps at once; a power of two
LONGEST = 1_000_000
SQUARINGS = 60
FORGOTTEN = 1e-14


class Choices(NamedTuple):
    """The different things that can be done in each state."""

    classes: Ints  # [S, A] the number of what an action does there
    transitions: list[Floats]  # of each state: [n, S]
    means: list[Floats]  # of each state: [n]

    @property
    def counts(self) -> tuple[int, ...]:
        """How many there are in each state."""
        return tuple(len(each) for each in self.means)


def choices_of(mdp: MDP) -> Choices:
    """What can be done in each state."""
    S, A = require_stationary(mdp).n_states, mdp.n_actions
    rows = np.concatenate(
        [transition_matrix(mdp, restart=True).toarray(), mdp.row_means[:, None]], axis=1
    ).reshape(S, A, S + 1)
    found = [np.unique(each, axis=0, return_inverse=True) for each in rows]
    return Choices(
        np.array([which.ravel() for _, which in found]),
        [each[:, :-1] for each, _ in found],
        [each[:, -1] for each, _ in found],
    )


def count_policies(mdp: MDP) -> int:
    """How many policies differ in what they do."""
    return math.prod(choices_of(mdp).counts)


class PolicyFacts(NamedTuple):
    """What is true of all policies together."""

    gap: float  # 0 if all are optimal
    settling_times: Ints  # [S, A]: the largest T_pi of the policies with pi(s) = a; empty if all are optimal
    settling: float  # sum over (s, a) of ceil(1 + log2 T) T for these times T, as theorem 2 has it


def policy_facts(mdp: MDP) -> PolicyFacts:
    """The policy gap and the times T_pi, by going through all policies, so for small MDPs.

    >>> import heavytail as ht
    >>> facts = policy_facts(ht.make_mdp("two_state"))
    >>> round(facts.gap, 6), facts.settling_times.tolist()
    (0.1, [[49, 51], [51, 51]])
    """
    choices = choices_of(mdp)
    count = math.prod(choices.counts)
    if count > MAX_POLICIES:
        raise InputError(
            f"policy_facts goes through all policies, and this MDP has {count:,}; it takes up to"
            f" {MAX_POLICIES:,}"
        )
    parts = [_solve(choices, n, min(n + AT_ONCE, count)) for n in range(0, count, AT_ONCE)]
    gains = np.unique(np.concatenate([part.gain.ravel() for part in parts]))
    worse = gains[
        gains
        < gains[-1]
        - RELATIVE_TOLERANCE * float(np.ptp(mdp.row_means))
        - ROUNDING * float(np.abs(mdp.row_means).max())
    ]
    if not worse.size:
        return PolicyFacts(0.0, np.zeros((0, 0), np.int64), 0.0)
    gap = float(gains[-1] - worse[-1])
    latest = [np.zeros(n, np.int64) for n in choices.counts]
    for part in parts:
        times = _settling_times(part, gap)
        for s, best in enumerate(latest):
            np.maximum.at(best, part.actions[:, s], times)
    by_action = np.array([latest[s][choices.classes[s]] for s in range(len(latest))])
    return PolicyFacts(gap, by_action, float((np.ceil(1.0 + np.log2(by_action)) * by_action).sum()))


class _Policies(NamedTuple):
    actions: Ints  # [n, S]
    chains: Floats  # [n, S, S]
    gain: Floats  # [n, S]
    bias: Floats  # [n, S]


def _solve(choices: Choices, first: int, last: int) -> _Policies:
    actions = np.stack(np.unravel_index(np.arange(first, last), choices.counts), axis=1)
    chains = np.stack([rows[actions[:, s]] for s, rows in enumerate(choices.transitions)], axis=1)
    rewards = np.stack([means[actions[:, s]] for s, means in enumerate(choices.means)], axis=1)
    base = float(rewards.mean())
    limit = _limit(chains)
    above = np.einsum("nij,nj->ni", limit, rewards - base)
    bias = np.linalg.solve(np.eye(chains.shape[1]) - chains + limit, (rewards - base - above)[:, :, None])[
        :, :, 0
    ]
    return _Policies(actions, chains, base + above, bias)


def _limit(chains: Floats) -> Floats:
    """Where each chain is in the long run, on average; by half steps, so that periodic ones settle too."""
    limit = 0.5 * (np.eye(chains.shape[1]) + chains)
    for _ in range(SQUARINGS):
        following = limit @ limit
        following /= following.sum(axis=-1, keepdims=True)
        if np.array_equal(following, limit):
            break
        limit = following
    return limit


def _settling_times(policies: _Policies, gap: float) -> Ints:
    """T_pi of each policy [n]: one more than the last T at which |h - P^T h| is not below T g / 2.

    Beyond `LONGEST` steps what it is at most.
    """
    half, bias = 0.5 * gap * (1.0 - 1e-12), policies.bias
    largest, spans = np.abs(bias).max(axis=1), np.ptp(bias, axis=1)
    last, active, t = np.zeros(len(bias), np.int64), np.arange(len(bias)), np.arange(1, BLOCK + 1)
    moved, leap = _block(policies.chains, bias)
    while active.size and t[0] <= LONGEST:
        off = np.abs(bias[active, :, None] - moved).max(axis=1)
        last[active] = np.maximum(last[active], (t * (off >= half * t)).max(axis=1))
        forgotten = (
            np.abs(moved[:, :, -1]).max(axis=1) <= FORGOTTEN * largest[active]
        )  # from now on h - P^T h is h
        last[active[forgotten]] = np.maximum(
            last[active[forgotten]], (largest[active[forgotten]] / half).astype(np.int64)
        )
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
