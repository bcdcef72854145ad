r"""What is exactly true of an MDP: optimal values, gain and bias, diameter, and the same for a given policy.

*In episodes*, backward induction: V_H = 0, Q_h(s, a) = r_h(s, a) + sum p_h(s' | s, a) V_{h+1}(s'), no value behind a terminal state.

*Continuing*, the gain rho(s) is the long-run average reward and the bias h(s) the total earned above it, so that rho + h = r + P h. Policy iteration for
multichain MDPs (Howard 1960, Veinott 1966; Puterman 1994, sections 9.2 and 10.4): evaluate a policy exactly, by its recurrent classes and a sparse linear
system; improve the gain, where that cannot be the bias, where that cannot be the term behind it; stop when none can be. The third term settles which of
several optimal policies has the largest bias, so that the optimal bias and its span are one number each. Nothing is iterated to a limit, so
periodic chains need no care. An episodic MDP is read as a continuing one that forgets its horizon and in which the end of an episode leads back to the
start; a terminal state is then never visited.

Matrices are sparse throughout: 100,000 states of a chain plan in seconds. A problem whose parts are so nearly cut off from each other that
double precision cannot tell raises an ArithmeticError.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats, Ints
from heavytail.chains import basin, evaluate, factorise, gain_and_bias, stationary
from heavytail.errors import InputError
from heavytail.matrices import better_actions, chain_of, chain_under, checked_policy, horizon_of, matrix_of, mixed_values, one_stage
from heavytail.mdp import MDP
from heavytail.paths import diameter, times_to, towards, ways_of

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = [
    "AveragePlan",
    "EpisodicPlan",
    "all_gains",
    "average_plan",
    "diameter",
    "episodic_plan",
    "gain",
    "optimal_value",
    "policy_gain",
    "policy_gain_and_bias",
    "policy_gap",
    "policy_value",
    "policy_values",
    "span",
    "stationary_distribution",
    "times_to",
]

RELATIVE_TOLERANCE = 1e-9
ROUNDING = 64 * float(np.finfo(np.float64).eps)
MOST_IMPROVEMENTS = 10_000
MOST_POLICIES = 2_000_000
POLICIES_AT_ONCE = 4096


class EpisodicPlan(NamedTuple):
    """Values and actions at each step of an episode."""

    values: Floats  # [H + 1, S]
    policy: Ints  # [H, S]


class AveragePlan(NamedTuple):
    """Long-run average, bias and actions."""

    gain: Floats  # [S]; the same everywhere if every state can be reached from every other
    bias: Floats  # [S]; of all policies with this gain the largest
    policy: Ints  # [S]


# In episodes


def episodic_plan(mdp: MDP) -> EpisodicPlan:
    """Optimal values and policy of every step, by backward induction; of equally good actions the first.

    >>> import heavytail as ht
    >>> plan = ht.planning.episodic_plan(ht.make_mdp("six_arms"))
    >>> plan.values.shape, plan.policy.shape
    ((26, 7), (25, 7))
    """
    values, policy = np.zeros((horizon_of(mdp) + 1, mdp.n_states)), np.zeros((mdp.horizon, mdp.n_states), np.int64)
    for h, transitions, means in _backwards(mdp):
        q = (means + transitions @ values[h + 1]).reshape(mdp.n_states, mdp.n_actions)
        policy[h] = q.argmax(axis=1)
        values[h] = mixed_values(q, policy[h])
    return EpisodicPlan(values, policy)


def optimal_value(mdp: MDP) -> float:
    """The best expected total reward of an episode, from the start.

    >>> import heavytail as ht
    >>> round(ht.planning.optimal_value(ht.make_mdp("six_arms")), 2)
    40.06
    """
    return float(mdp.start @ episodic_plan(mdp).values[0])


def policy_values(mdp: MDP, policy: npt.ArrayLike) -> Floats:
    """Expected total rewards [H + 1, S] under a policy: actions [S] or [H, S], or probabilities [S, A] or [H, S, A].

    >>> import heavytail as ht
    >>> mdp = ht.make_mdp("six_arms")
    >>> ht.planning.policy_values(mdp, [0] * 7)[0].round(2).tolist()
    [28.8, 30.0, 27.6, 27.6, 27.6, 27.6, 27.6]
    """
    values = np.zeros((horizon_of(mdp) + 1, mdp.n_states))
    steps = checked_policy(mdp, policy, (mdp.horizon,))
    for h, transitions, means in _backwards(mdp):
        q = (means + transitions @ values[h + 1]).reshape(mdp.n_states, mdp.n_actions)
        values[h] = mixed_values(q, steps[h])
    return values


def policy_value(mdp: MDP, policy: npt.ArrayLike) -> float:
    """The expected total reward of an episode under a policy, from the start.

    >>> import heavytail as ht
    >>> mdp = ht.make_mdp("six_arms")
    >>> round(ht.planning.policy_value(mdp, ht.planning.episodic_plan(mdp).policy), 2)
    40.06
    """
    return float(mdp.start @ policy_values(mdp, policy)[0])


def _backwards(mdp: MDP) -> Iterator[tuple[int, "csr_matrix", Floats]]:
    """Every step from the last to the first, with its transitions and mean rewards."""
    alive, n = matrix_of(mdp, restart=False), mdp.n_states * mdp.n_actions
    for h in reversed(range(mdp.horizon)):
        if mdp.n_stages == 1:  # a slice would be a copy
            yield h, alive, mdp.row_means
        else:
            yield h, alive[h * n : (h + 1) * n], mdp.row_means[h * n : (h + 1) * n]


# Continuing


def average_plan(mdp: MDP) -> AveragePlan:
    """Optimal gain, bias and policy in the long run.

    >>> import heavytail as ht
    >>> plan = ht.planning.average_plan(ht.make_mdp("six_arms", probabilities="strehl"))
    >>> round(float(plan.gain[0]), 6)
    2.0
    """
    means = one_stage(mdp).row_means
    matrix = matrix_of(mdp, restart=True)
    policy, seen, best = _towards_best_cell(matrix, means), set[int](), None
    for _ in range(MOST_IMPROVEMENTS):
        try:
            step = _improvement(matrix, means, policy)
        except ArithmeticError:
            # Improved here and there, a policy may have no way left between the places where it now stays. To lead all to the best of them is better still.
            step = _improvement(matrix, means, _towards_best_basin(matrix, means, policy))
        best = step if best is None else max(best, step, key=_rank)
        if np.array_equal(step.better, step.policy):
            return AveragePlan(step.gain, step.bias, step.policy)
        if (name := hash(step.policy.tobytes())) in seen:  # in circles, as among policies that differ by rounding only
            return _best_of_circle(best, means)
        seen.add(name)
        policy = step.better
    raise RuntimeError(f"policy iteration did not settle within {MOST_IMPROVEMENTS} improvements")


def gain(mdp: MDP) -> float:
    """The best long-run average reward, from the start.

    >>> import heavytail as ht
    >>> round(ht.planning.gain(ht.make_mdp("six_arms")), 6)
    2.0
    """
    return float(mdp.start @ average_plan(mdp).gain)


def span(mdp: MDP) -> float:
    """The difference between the largest and the smallest optimal bias.

    >>> import heavytail as ht
    >>> round(ht.planning.span(ht.make_mdp("six_arms")), 6)  # five steps on average from the hub, and one to get there, at 2 each
    12.0
    """
    return float(np.ptp(average_plan(mdp).bias))


def policy_gain_and_bias(mdp: MDP, policy: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Gain [S] and bias [S] of a stationary policy: actions [S] or probabilities [S, A].

    >>> import heavytail as ht
    >>> gain, _ = ht.planning.policy_gain_and_bias(ht.make_mdp("six_arms"), [0] * 7)
    >>> round(float(gain[0]), 6)
    1.2
    """
    return gain_and_bias(*chain_of(mdp, policy))


def policy_gain(mdp: MDP, policy: npt.ArrayLike) -> float:
    """The long-run average reward of a stationary policy, from the start."""
    return float(mdp.start @ policy_gain_and_bias(mdp, policy)[0])


def stationary_distribution(mdp: MDP, policy: npt.ArrayLike) -> Floats:
    """How often each state is visited in the long run under a stationary policy, from the start [S].

    Where the policy has several recurrent classes, they are weighed by how likely the start leads to each.
    """
    chain, _ = chain_of(mdp, policy)
    return stationary(chain, mdp.start)


class _Improvement(NamedTuple):
    policy: Ints
    gain: Floats
    bias: Floats
    better: Ints  # a better policy; the same if there is none
    by: float  # how much better its actions are where gain or bias improve; 0 if only the term behind them does


def _rank(step: _Improvement) -> tuple[bool, float]:
    return step.by == 0.0, float(step.gain.sum())


def _best_of_circle(step: _Improvement, means: Floats) -> AveragePlan:
    if step.by > RELATIVE_TOLERANCE * float(np.abs(means).max()):
        raise ArithmeticError("which policies of this MDP are better than others is beyond double precision")
    return AveragePlan(step.gain, step.bias, step.policy)


def _improvement(matrix: "csr_matrix", means: Floats, policy: Ints) -> _Improvement:
    """Evaluates a policy and looks for a better one.

    An action is better if it is by more than rounding, else the one at hand stays, so that ties do not cycle. How much rounding there is, is seen
    in the equations that hold for the policy itself.
    """
    shape, scale = (len(policy), len(means) // len(policy)), float(np.abs(means).max())
    chain, rewards = chain_under(matrix, means, policy)
    factors = factorise(chain)
    gain, bias = evaluate(factors, rewards)
    better, tied, by = better_actions(policy, (matrix @ gain).reshape(shape), gain, scale)
    if by > 0.0:
        return _Improvement(policy, gain, bias, better, by)
    scale = max(scale, float(np.abs(bias).max()))
    better, tied, by = better_actions(policy, np.where(tied, (means + matrix @ bias).reshape(shape), -np.inf), gain + bias, scale)
    if by > 0.0:
        return _Improvement(policy, gain, bias, better, by)
    _, behind = evaluate(factors, -bias)
    scale = max(scale, float(np.abs(behind).max()))
    better, _, _ = better_actions(policy, np.where(tied, (matrix @ behind).reshape(shape), -np.inf), bias + behind, scale)
    return _Improvement(policy, gain, bias, better, 0.0)


def _towards_best_cell(matrix: "csr_matrix", means: Floats) -> Ints:
    """A first policy: to the cell with the largest reward, and stay. A good guess spares a large MDP most of the improvements."""
    greedy = means.reshape(matrix.shape[1], -1).argmax(axis=1)
    there = np.arange(matrix.shape[1]) == means.argmax() // (len(means) // len(greedy))
    return np.where(there, greedy, towards(matrix, ways_of(matrix), there, otherwise=greedy))


def _towards_best_basin(matrix: "csr_matrix", means: Floats, policy: Ints) -> Ints:
    """The same policy around the place where it earns most; from elsewhere, if possible, to that place."""
    there = basin(*chain_under(matrix, means, policy))
    return np.where(there, policy, towards(matrix, ways_of(matrix), there, otherwise=policy))


# All policies


def policy_gap(mdp: MDP) -> float:
    """The gain of the best policy less that of the next best, over all deterministic stationary policies and all states to start from.

    0 where every policy is optimal. By enumeration, so for small MDPs.
    """
    count = one_stage(mdp).n_actions ** mdp.n_states
    if count > MOST_POLICIES:
        raise InputError(
            f"policy_gap goes through all {mdp.n_actions}**{mdp.n_states} policies of this MDP; it takes up to {MOST_POLICIES:,}"
        )
    parts = [np.unique(all_gains(mdp, n, min(n + POLICIES_AT_ONCE, count))) for n in range(0, count, POLICIES_AT_ONCE)]
    gains = np.unique(np.concatenate(parts))
    tolerance = RELATIVE_TOLERANCE * float(np.ptp(mdp.row_means)) + ROUNDING * float(np.abs(mdp.row_means).max())
    worse = gains[gains < gains[-1] - tolerance]
    return float(gains[-1] - worse[-1]) if worse.size else 0.0


def all_gains(mdp: MDP, first: int, last: int) -> Floats:
    """The gains [n, S] of the deterministic policies numbered from `first` to before `last`, their actions being the digits of the number.

    >>> import heavytail as ht
    >>> ht.planning.all_gains(ht.mdp_from_arrays([[[1.0], [1.0]]], [[0.0, 3.0]]), 0, 2).tolist()
    [[0.0], [3.0]]
    """
    count = one_stage(mdp).n_actions ** mdp.n_states
    if not 0 <= first <= last <= count:
        raise InputError(f"the policies of this MDP are numbered from 0 to {mdp.n_actions}**{mdp.n_states}; got {first} to {last}")
    if mdp.n_actions == 1:  # one policy, of any number of states
        return gain_and_bias(matrix_of(mdp, restart=True), mdp.row_means)[0][None][: last - first]
    states, base = np.arange(mdp.n_states), float(mdp.row_means.mean())
    actions = _digits(first, last, mdp.n_actions, mdp.n_states)
    dense = matrix_of(mdp, restart=True).toarray().reshape(mdp.n_states, mdp.n_actions, mdp.n_states)
    limit = 0.5 * (np.eye(mdp.n_states) + dense[states, actions])  # half a step, so that periodic chains settle too
    for _ in range(60):  # 2**60 steps
        limit = limit @ limit
        limit /= limit.sum(axis=-1, keepdims=True)
    return base + np.einsum("nij,nj->ni", limit, mdp.mean_rewards[states, actions] - base)


def _digits(first: int, last: int, base: int, n: int) -> Ints:
    """The numbers from `first` to before `last` by their digits, the smallest first."""
    digits = np.zeros((last - first, n), np.int64)
    rest = np.arange(last - first, dtype=object) + first if last > 2**62 else np.arange(first, last)
    for k in range(n):
        digits[:, k] = rest % base
        rest = rest // base
    return digits
