r"""What is exactly true of an MDP: optimal values, gain and bias, diameter, and the same for a given policy.

*In episodes*, backward induction: V_H = 0, Q_h(s, a) = r_h(s, a) + sum p_h(s' | s, a) V_{h+1}(s'), no value behind a terminal state.

*Continuing*, the gain rho(s) is the long-run average reward and the bias h solves rho + h = r + P h. Howard's policy iteration for multichain MDPs
(Puterman 1994, section 9.2): evaluate a policy exactly, by its recurrent classes and a sparse linear system; improve first the gain, then the bias; stop when
neither can be. Nothing is iterated to a limit, so periodic chains need no care. An episodic MDP is read as a continuing one that forgets its horizon and
in which the end of an episode leads back to the start.

Matrices are sparse throughout: 100,000 states of a chain plan in seconds.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats, Ints
from heavytail.chains import gain_and_bias, hitting_times, stationary
from heavytail.errors import InputError
from heavytail.mdp import MDP

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

RELATIVE_TOLERANCE = 1e-9
MOST_IMPROVEMENTS = 10_000
MOST_POLICIES = 2_000_000
MOST_TARGETS = 5_000


class EpisodicPlan(NamedTuple):
    """Values and actions at each step of an episode."""

    values: Floats  # [H + 1, S]
    policy: Ints  # [H, S]


class AveragePlan(NamedTuple):
    """Long-run average, bias and actions."""

    gain: Floats  # [S]; the same everywhere if every state can be reached from every other
    bias: Floats  # [S]
    policy: Ints  # [S]


# In episodes


def episodic_plan(mdp: MDP) -> EpisodicPlan:
    """Optimal values and policy of every step, by backward induction.

    >>> import heavytail as ht
    >>> plan = ht.planning.episodic_plan(ht.make_mdp("six_arms"))
    >>> plan.values.shape, plan.policy.shape
    ((26, 7), (25, 7))
    """
    values, policy = np.zeros((_horizon(mdp) + 1, mdp.n_states)), np.zeros((mdp.horizon, mdp.n_states), np.int64)
    alive, means = _matrix(mdp, restart=False), mdp.row_means
    for h in reversed(range(mdp.horizon)):
        q = _action_values(mdp, alive, means, values[h + 1], h)
        policy[h], values[h] = q.argmax(axis=1), q.max(axis=1)
    return EpisodicPlan(values, policy)


def optimal_value(mdp: MDP) -> float:
    """The best expected total reward of an episode, from the start.

    >>> import heavytail as ht
    >>> round(ht.planning.optimal_value(ht.make_mdp("six_arms")), 2)
    40.06
    """
    return float(mdp.start @ episodic_plan(mdp).values[0])


def policy_values(mdp: MDP, policy: npt.ArrayLike) -> Floats:
    """Expected total rewards [H + 1, S] under a policy: actions [S] or [H, S], or probabilities [S, A] or [H, S, A]."""
    H = _horizon(mdp)
    weights = _weights(mdp, policy, steps=H)
    alive, values = _matrix(mdp, restart=False), np.zeros((H + 1, mdp.n_states))
    for h in reversed(range(H)):
        q = _action_values(mdp, alive, mdp.row_means, values[h + 1], h)
        values[h] = (weights[h] * q).sum(axis=1)
    return values


def policy_value(mdp: MDP, policy: npt.ArrayLike) -> float:
    """The expected total reward of an episode under a policy, from the start.

    >>> import heavytail as ht
    >>> mdp = ht.make_mdp("six_arms")
    >>> round(ht.planning.policy_value(mdp, ht.planning.episodic_plan(mdp).policy), 2)
    40.06
    """
    return float(mdp.start @ policy_values(mdp, policy)[0])


def _action_values(mdp: MDP, matrix: "csr_matrix", means: Floats, after: Floats, h: int) -> Floats:
    """Q [S, A] at step h, from the values after it."""
    n = mdp.n_states * mdp.n_actions
    rows = slice(h * n, (h + 1) * n) if mdp.n_stages > 1 else slice(None)
    q: Floats = means[rows] + matrix[rows] @ after
    return q.reshape(mdp.n_states, mdp.n_actions)


# Continuing


def average_plan(mdp: MDP) -> AveragePlan:
    """Optimal gain, bias and policy in the long run.

    >>> import heavytail as ht
    >>> plan = ht.planning.average_plan(ht.make_mdp("six_arms", probabilities="strehl"))
    >>> round(float(plan.gain[0]), 6)
    2.0
    """
    matrix, means = _matrix(mdp, restart=True), _one_stage(mdp).row_means
    shape = (mdp.n_states, mdp.n_actions)
    tolerance = RELATIVE_TOLERANCE * max(np.abs(means).max(), np.finfo(float).tiny)
    policy = _towards(mdp, matrix, int(means.argmax()))
    for _ in range(MOST_IMPROVEMENTS):
        gain, bias = gain_and_bias(*_under(matrix, means, policy))
        later_gain = (matrix @ gain).reshape(shape)
        better = _improved(policy, later_gain, gain, tolerance)
        if np.array_equal(better, policy):
            near = later_gain >= later_gain.max(axis=1, keepdims=True) - tolerance
            now = np.where(near, means.reshape(shape) + (matrix @ bias).reshape(shape), -np.inf)
            better = _improved(policy, now, gain + bias, tolerance * max(1.0, float(np.abs(bias).max()) / max(np.abs(means).max(), 1e-300)))
        if np.array_equal(better, policy):
            return AveragePlan(gain, bias, policy)
        policy = better
    raise RuntimeError(f"policy iteration did not settle within {MOST_IMPROVEMENTS} improvements")


def gain(mdp: MDP) -> float:
    """The best long-run average reward, from the start.

    >>> import heavytail as ht
    >>> round(ht.planning.gain(ht.make_mdp("six_arms")), 6)
    2.0
    """
    return float(mdp.start @ average_plan(mdp).gain)


def span(mdp: MDP) -> float:
    """The difference between the largest and the smallest optimal bias."""
    return float(np.ptp(average_plan(mdp).bias))


def policy_gain_and_bias(mdp: MDP, policy: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Gain [S] and bias [S] of a stationary policy: actions [S] or probabilities [S, A]."""
    return gain_and_bias(*_chain(mdp, policy))


def policy_gain(mdp: MDP, policy: npt.ArrayLike) -> float:
    """The long-run average reward of a stationary policy, from the start."""
    return float(mdp.start @ policy_gain_and_bias(mdp, policy)[0])


def stationary_distribution(mdp: MDP, policy: npt.ArrayLike) -> Floats:
    """How often each state is visited in the long run under a stationary policy, from the start [S].

    Where the policy has several recurrent classes, they are weighed by how likely the start leads to each.
    """
    chain, _ = _chain(mdp, policy)
    return stationary(chain, mdp.start)


def diameter(mdp: MDP) -> float:
    """The largest expected time, over pairs of states, that the best policy needs to get from one to the other; infinite if it cannot.

    >>> import heavytail as ht
    >>> round(ht.planning.diameter(ht.make_mdp("six_arms")), 6)
    6.0
    """
    if mdp.n_states > MOST_TARGETS:
        raise InputError(f"diameter solves one problem per state, and this MDP has {mdp.n_states:,}; it takes up to {MOST_TARGETS:,}")
    matrix = _matrix(mdp, restart=True)
    return max(float(_times_to(mdp, matrix, target).max()) for target in range(mdp.n_states))


def times_to(mdp: MDP, target: int) -> Floats:
    """The least expected number of steps [S] from each state to `target`; infinite where it cannot be reached for sure."""
    return _times_to(mdp, _matrix(mdp, restart=True), target)


def _times_to(mdp: MDP, matrix: "csr_matrix", target: int) -> Floats:
    """Policy iteration for a stochastic shortest path, from a policy that surely arrives."""
    S, A = mdp.n_states, mdp.n_actions
    policy, sure = _towards_state(mdp, matrix, target)
    if not sure.all():
        return np.where(np.arange(S) == target, 0.0, np.inf)
    others = np.delete(np.arange(S), target)
    times = np.zeros(S)
    for _ in range(MOST_IMPROVEMENTS):
        if others.size:
            times[others] = hitting_times(matrix[np.arange(S) * A + policy], others)
        q = 1.0 + (matrix @ times).reshape(S, A)
        better = _improved(policy, -q, -times, RELATIVE_TOLERANCE * max(1.0, float(times.max())))
        better[target] = policy[target]
        if np.array_equal(better, policy):
            return times
        policy = better
    raise RuntimeError(f"policy iteration did not settle within {MOST_IMPROVEMENTS} improvements")


def policy_gap(mdp: MDP) -> float:
    """The gain of the best policy less that of the next best, over all deterministic stationary policies and all states to start from.

    0 where every policy is optimal. By enumeration, so for small MDPs.
    """
    count = mdp.n_actions**mdp.n_states
    if count > MOST_POLICIES:
        raise InputError(f"policy_gap goes through all {float(count):.3g} policies of this MDP; it takes up to {MOST_POLICIES:,}")
    gains = np.unique(np.concatenate([all_gains(mdp, first, min(first + 4096, count)).ravel() for first in range(0, count, 4096)]))
    best = gains[-1]
    worse = gains[gains < best - RELATIVE_TOLERANCE * max(1.0, float(np.abs(gains).max()))]
    return float(best - worse[-1]) if worse.size else 0.0


def all_gains(mdp: MDP, first: int, last: int) -> Floats:
    """The gains [n, S] of the deterministic policies numbered `first` to `last`, their actions being the digits of the number."""
    one = _one_stage(mdp)
    dense = _matrix(mdp, restart=True).toarray().reshape(mdp.n_states, mdp.n_actions, mdp.n_states)
    digits = np.arange(first, last)[:, None] // mdp.n_actions ** np.arange(mdp.n_states) % mdp.n_actions
    states = np.arange(mdp.n_states)
    limit = 0.5 * (np.eye(mdp.n_states) + dense[states, digits])  # half a step, so that periodic chains settle too
    for _ in range(60):  # 2**60 steps
        limit = limit @ limit
        limit /= limit.sum(axis=-1, keepdims=True)
    rewards = one.mean_rewards[states, digits]
    return np.einsum("nij,nj->ni", limit, rewards)


# Matrices and policies


def _matrix(mdp: MDP, *, restart: bool) -> "csr_matrix":
    """Transitions [rows, S]; what ends an episode leads nowhere, or back to the start."""
    from scipy.sparse import csr_matrix

    shape = (len(mdp.row_means), mdp.n_states)
    p = mdp.probabilities()
    alive = csr_matrix((np.where(mdp.ends, 0.0, p), mdp.successors.astype(np.int64), mdp.offsets.astype(np.int64)), shape=shape)
    alive.sum_duplicates()
    alive.eliminate_zeros()
    if restart and mdp.ends.any():
        ended = np.bincount(mdp.rows(), weights=p * mdp.ends, minlength=shape[0])
        alive = alive + csr_matrix(ended[:, None]) @ csr_matrix(mdp.start[None, :])
    return csr_matrix(alive)


def _one_stage(mdp: MDP) -> MDP:
    if mdp.n_stages > 1:
        raise InputError("transitions or rewards depend on the step of the episode, so there is no long run; ask for episodic values")
    return mdp


def _horizon(mdp: MDP) -> int:
    if mdp.horizon == 0:
        raise InputError("this problem is continuing, so it has no episodes; ask for its gain, or give it a horizon=")
    return mdp.horizon


def _weights(mdp: MDP, policy: npt.ArrayLike, steps: int | None) -> Floats:
    """A policy as probabilities [H, S, A], or [S, A] where `steps` is None."""
    S, A = mdp.n_states, mdp.n_actions
    given = np.asarray(policy)
    lead: Sequence[tuple[int, ...]] = [()] if steps is None else [(), (steps,)]
    if np.issubdtype(given.dtype, np.integer) and given.shape in [(*n, S) for n in lead]:
        if given.size and not 0 <= given.min() <= given.max() < A:
            raise InputError(f"a policy chooses action {given.max() if given.max() >= A else given.min()}; actions go from 0 to {A - 1}")
        weights: Floats = np.eye(A)[given]
    elif given.shape in [(*n, S, A) for n in lead] and (given >= 0).all() and np.allclose(given.sum(-1), 1.0, atol=1e-8):
        weights = given.astype(np.float64)
    else:
        raise InputError(
            f"a policy is actions [{S}] or probabilities [{S}, {A}], in episodes also one for each step; got {given.dtype}{list(given.shape)}"
        )
    return weights if steps is None else np.broadcast_to(weights, (steps, S, A))


def _chain(mdp: MDP, policy: npt.ArrayLike) -> tuple["csr_matrix", Floats]:
    """The Markov chain and its rewards under a stationary policy."""
    from scipy.sparse import csr_matrix

    _one_stage(mdp)
    weights = _weights(mdp, policy, None)
    S, A = weights.shape
    mix = csr_matrix((weights.ravel(), np.arange(S * A), np.arange(0, S * A + 1, A)), shape=(S, S * A))
    mix.eliminate_zeros()
    return csr_matrix(mix @ _matrix(mdp, restart=True)), mix @ mdp.row_means


def _under(matrix: "csr_matrix", means: Floats, policy: Ints) -> tuple["csr_matrix", Floats]:
    """The chain and the rewards of a deterministic policy."""
    rows = np.arange(len(policy)) * (len(means) // len(policy)) + policy
    return matrix[rows], means[rows]


def _improved(policy: Ints, values: Floats, now: Floats, tolerance: float) -> Ints:
    """The better actions, where they are better by more than rounding; else the ones at hand, so that ties cannot cycle."""
    best = values.argmax(axis=1)
    return np.where(values[np.arange(len(policy)), best] > now + tolerance, best, policy)


def _towards(mdp: MDP, matrix: "csr_matrix", row: int) -> Ints:
    """A first policy: to the cell with the largest reward, and stay. A good guess spares a large MDP most of the improvements."""
    s, a = divmod(row, mdp.n_actions)
    policy, _ = _towards_state(mdp, matrix, s)
    policy[s] = a
    return policy


def _towards_state(mdp: MDP, matrix: "csr_matrix", target: int) -> tuple[Ints, Any]:
    """In every state the action that may bring the target nearer, counted in steps if luck is good; and which states reach it at all."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import breadth_first_order

    S, A = mdp.n_states, mdp.n_actions
    rows, successors = matrix.nonzero()
    backwards = csr_matrix((np.ones(len(rows)), (successors, rows // A)), shape=(S, S))
    order, nearer = breadth_first_order(backwards, target, directed=True)
    reached = np.zeros(S, np.bool_)
    reached[order] = True
    policy = np.zeros(S, np.int64)
    helpful = nearer[rows // A] == successors
    policy[rows[helpful] // A] = rows[helpful] % A
    return policy, reached
