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
    select_chain,
    require_stationary,
    transition_matrix,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

RELATIVE_TOLERANCE = 1e-9
ROUNDING = 64 * float(np.finfo(np.float64).eps)
MAX_IMPROVEMENTS = 10_000


class AveragePlan(NamedTuple):
    """Long-run average, bias and actions."""

    gain: Floats  # [S]; the same everywhere if every state can be reached from every other
    bias: Floats  # [S]; of all policies with this gain the largest
    policy: Ints  # [S]


# Continuing
def average_plan(mdp: MDP) -> AveragePlan:
    """Optimal gain, bias and policy in the long run.

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
            step = _improvement(matrix, means, policy)
        except ArithmeticError:
            # Improved here and there, a policy may have no way left between the places where it now stays. To
            # lead all to the best of them is better still.
            step = _improvement(matrix, means, _towards_best_basin(matrix, means, policy))
        best = step if best is None else max(best, step, key=_rank)
        if np.array_equal(step.better, step.policy):
            return AveragePlan(step.gain, step.bias, step.policy)
        if (
            name := hash(step.policy.tobytes())
        ) in seen:  # in circles, as among policies that differ by rounding only
            return _best_of_circle(best, means)
        seen.add(name)
        policy = step.better
    raise RuntimeError(f"policy iteration did not settle within {MAX_IMPROVEMENTS} improvements")


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
    return gain_and_bias(*make_chain(mdp, policy))


def policy_gain(mdp: MDP, policy: npt.ArrayLike) -> float:
    """The long-run average reward of a stationary policy, from the start."""
    return float(mdp.start @ policy_gain_and_bias(mdp, policy)[0])


def stationary_distribution(mdp: MDP, policy: npt.ArrayLike) -> Floats:
    """How often each state is visited in the long run under a stationary policy, from the start [S].

    Where the policy has several recurrent classes, they are weighed by how likely the start leads to each.
    """
    chain, _ = make_chain(mdp, policy)
    return stationary(chain, mdp.start)


class _Improvement(NamedTuple):
    policy: Ints
    gain: Floats
    bias: Floats
    better: Ints  # a better policy; the same if there is none
    # how much better its actions are where gain or bias improve; 0 if only the term behind them does
    by: float


def _rank(step: _Improvement) -> tuple[bool, float]:
    return step.by == 0.0, float(step.gain.sum())


def _best_of_circle(step: _Improvement, means: Floats) -> AveragePlan:
    if step.by > RELATIVE_TOLERANCE * float(np.abs(means).max()):
        raise ArithmeticError("which policies of this MDP are better than others is beyond double precision")
    return AveragePlan(step.gain, step.bias, step.policy)


def _improvement(matrix: "csr_matrix", means: Floats, policy: Ints) -> _Improvement:
    """Evaluates a policy and looks for a better one.

    An action is better if it is by more than rounding, else the one at hand stays, so that ties do not cycle.
    How much rounding there is, is seen in the equations that hold for the policy itself.
    """
    shape, scale = (len(policy), len(means) // len(policy)), float(np.abs(means).max())
    chain, rewards = select_chain(matrix, means, policy)
    factors = factorise(chain)
    gain, bias = evaluate(factors, rewards)
    better, tied, by = better_actions(policy, (matrix @ gain).reshape(shape), gain, scale)
    if by > 0.0:
        return _Improvement(policy, gain, bias, better, by)
    scale = max(scale, float(np.abs(bias).max()))
    better, tied, by = better_actions(
        policy, np.where(tied, (means + matrix @ bias).reshape(shape), -np.inf), gain + bias, scale
    )
    if by > 0.0:
        return _Improvement(policy, gain, bias, better, by)
    _, behind = evaluate(factors, -bias)
    scale = max(scale, float(np.abs(behind).max()))
    better, _, _ = better_actions(
        policy, np.where(tied, (matrix @ behind).reshape(shape), -np.inf), bias + behind, scale
    )
    return _Improvement(policy, gain, bias, better, 0.0)


def _towards_best_cell(matrix: "csr_matrix", means: Floats) -> Ints:
    """A first policy: to the cell with the largest reward, and stay.

    A good guess spares a large MDP most of the improvements.
    """
    greedy = means.reshape(matrix.shape[1], -1).argmax(axis=1)
    there = np.arange(matrix.shape[1]) == means.argmax() // (len(means) // len(greedy))
    return np.where(there, greedy, policy_towards(matrix, predecessor_graph(matrix), there, otherwise=greedy))


def _towards_best_basin(matrix: "csr_matrix", means: Floats, policy: Ints) -> Ints:
    """The same policy around the place where it earns most; from elsewhere, if possible, to that place."""
    there = attraction_basin(*select_chain(matrix, means, policy))
    return np.where(there, policy, policy_towards(matrix, predecessor_graph(matrix), there, otherwise=policy))
