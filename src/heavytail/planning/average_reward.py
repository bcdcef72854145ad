"""Gain, bias and optimal policies of continuing problems, by policy iteration."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats, Ints
from heavytail.mdp import MDP
from heavytail.planning.hitting_times import policy_towards, predecessor_graph
from heavytail.planning.markov_chains import attraction_basin, evaluate, factorise, gain_and_bias, stationary
from heavytail.planning.matrices import (
    better_actions,
    make_chain,
    require_stationary,
    select_chain,
    transition_matrix,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

RELATIVE_TOLERANCE = 1e-9
MAX_IMPROVEMENTS = 10_000


class AveragePlan(NamedTuple):
    """Gain, bias and actions of an optimal policy."""

    gain: Floats  # [S]; the same everywhere if every state can be reached from every other
    bias: Floats  # [S]; of all policies with this gain the largest
    policy: Ints  # [S]


def average_plan(mdp: MDP) -> AveragePlan:
    """Compute optimal gain, bias and policy in the long run.

    >>> import heavytail as ht
    >>> plan = ht.planning.average_plan(ht.make_mdp("six_arms", probabilities="strehl"))
    >>> round(float(plan.gain[0]), 6)
    2.0
    """
    means = require_stationary(mdp).row_means
    matrix = transition_matrix(mdp, restart=True)
    policy, seen, best = _towards_best_cell(matrix, means), set[int](), None
    for _ in range(MAX_IMPROVEMENTS):
        try:
            step = _improve(matrix, means, policy)
        except ArithmeticError:
            # Improved in single states, a policy may leave no way between the places where it now stays. To
            # lead all states to the best of them is better still.
            step = _improve(matrix, means, _towards_best_basin(matrix, means, policy))
        best = step if best is None else max(best, step, key=_rank)
        if np.array_equal(step.better, step.policy):
            return AveragePlan(step.gain, step.bias, step.policy)
        key = hash(step.policy.tobytes())
        if key in seen:  # a cycle, as among policies that differ by rounding only
            return _best_of_cycle(best, means)
        seen.add(key)
        policy = step.better
    raise RuntimeError(f"policy iteration did not settle within {MAX_IMPROVEMENTS} improvements")


def gain(mdp: MDP) -> float:
    """Compute the best long-run average reward, from the start.

    >>> import heavytail as ht
    >>> round(ht.planning.gain(ht.make_mdp("six_arms")), 6)
    2.0
    """
    return float(mdp.start @ average_plan(mdp).gain)


def span(mdp: MDP) -> float:
    """Compute the difference between the largest and the smallest optimal bias.

    In SixArms it takes one step to the hub and five from there on average, at 2 each.

    >>> import heavytail as ht
    >>> round(ht.planning.span(ht.make_mdp("six_arms")), 6)
    12.0
    """
    return float(np.ptp(average_plan(mdp).bias))


def policy_gain_and_bias(mdp: MDP, policy: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Compute gain [S] and bias [S] of a stationary policy: actions [S] or probabilities [S, A].

    >>> import heavytail as ht
    >>> gain, _ = ht.planning.policy_gain_and_bias(ht.make_mdp("six_arms"), [0] * 7)
    >>> round(float(gain[0]), 6)
    1.2
    """
    return gain_and_bias(*make_chain(mdp, policy))


def policy_gain(mdp: MDP, policy: npt.ArrayLike) -> float:
    """Compute the long-run average reward of a stationary policy, from the start."""
    return float(mdp.start @ policy_gain_and_bias(mdp, policy)[0])


def stationary_distribution(mdp: MDP, policy: npt.ArrayLike) -> Floats:
    """Compute how often each state [S] is visited in the long run under a stationary policy.

    Where it has several recurrent classes, they are weighted by how likely the start leads to each.
    """
    chain, _ = make_chain(mdp, policy)
    return stationary(chain, mdp.start)


class _Improvement(NamedTuple):
    policy: Ints
    gain: Floats
    bias: Floats
    better: Ints  # a better policy; the same if there is none
    improvement: float  # of gain or bias, over all states the largest; 0 if only the second bias improves


def _rank(step: _Improvement) -> tuple[bool, float]:
    return step.improvement == 0.0, float(step.gain.sum())


def _best_of_cycle(step: _Improvement, means: Floats) -> AveragePlan:
    if step.improvement > RELATIVE_TOLERANCE * float(np.abs(means).max()):
        raise ArithmeticError("which policies of this MDP are better than others is beyond double precision")
    return AveragePlan(step.gain, step.bias, step.policy)


def _improve(matrix: "csr_matrix", means: Floats, policy: Ints) -> _Improvement:
    """Evaluate a policy and look for a better one.

    An action is better if it is by more than rounding; else the policy's own action stays, so that ties do
    not cycle. The equations that hold for the policy itself show how much rounding there is.
    """
    shape, scale = (len(policy), len(means) // len(policy)), float(np.abs(means).max())
    chain, rewards = select_chain(matrix, means, policy)
    factorised = factorise(chain)
    gain, bias = evaluate(factorised, rewards)
    better, tied, improvement = better_actions(policy, (matrix @ gain).reshape(shape), gain, scale)
    if improvement > 0.0:
        return _Improvement(policy, gain, bias, better, improvement)
    scale = max(scale, float(np.abs(bias).max()))
    values = np.where(tied, (means + matrix @ bias).reshape(shape), -np.inf)
    better, tied, improvement = better_actions(policy, values, gain + bias, scale)
    if improvement > 0.0:
        return _Improvement(policy, gain, bias, better, improvement)
    _, second_bias = evaluate(factorised, -bias)
    scale = max(scale, float(np.abs(second_bias).max()))
    values = np.where(tied, (matrix @ second_bias).reshape(shape), -np.inf)
    better, _, _ = better_actions(policy, values, bias + second_bias, scale)
    return _Improvement(policy, gain, bias, better, 0.0)


def _towards_best_cell(matrix: "csr_matrix", means: Floats) -> Ints:
    """Choose a first policy: go to the cell with the largest reward, and stay.

    A good guess spares a large MDP most of the improvements.
    """
    greedy = means.reshape(matrix.shape[1], -1).argmax(axis=1)
    target = np.arange(matrix.shape[1]) == means.argmax() // (len(means) // len(greedy))
    towards = policy_towards(matrix, predecessor_graph(matrix), target, otherwise=greedy)
    return np.where(target, greedy, towards)


def _towards_best_basin(matrix: "csr_matrix", means: Floats, policy: Ints) -> Ints:
    """Keep the policy around the state where it earns most; lead there, where possible, from elsewhere."""
    basin = attraction_basin(*select_chain(matrix, means, policy))
    return np.where(basin, policy, policy_towards(matrix, predecessor_graph(matrix), basin, otherwise=policy))
