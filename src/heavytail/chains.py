"""Exact facts about a Markov chain with rewards, by its recurrent classes and sparse linear systems.

In a recurrent class c the gain g_c and the bias h solve g_c + h = r + P h, which leaves h free by a constant: one state of the class is the
reference, its bias 0, and its place among the unknowns is taken by g_c. From transient states what is behind them follows from one more
linear system. The reference should be a state that the chain visits often: relative to a state that is hardly ever reached, biases would be the
differences of enormous numbers.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from heavytail.arrays import Bools, Floats, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

STEPS_TO_FIND_A_REFERENCE = 64
ACCURACY = 1e-6


class Classes(NamedTuple):
    """The recurrent classes of a chain."""

    label: Ints  # [S] the class of each recurrent state, numbered from 0; -1 where transient
    reference: Ints  # [C] an often visited state of each class


def classes_of(chain: "csr_matrix") -> Classes:
    """Which states the chain comes back to, and together with which."""
    from scipy.sparse.csgraph import connected_components

    n, component = connected_components(chain, directed=True, connection="strong")
    sources, targets = chain.nonzero()
    leaves = np.zeros(n, np.bool_)
    leaves[component[sources[component[sources] != component[targets]]]] = True
    numbered = np.where(leaves, -1, np.cumsum(~leaves) - 1)
    label = numbered[component]
    return Classes(label, _often_visited(chain, label))


def _often_visited(chain: "csr_matrix", label: Ints) -> Ints:
    mass = np.full(chain.shape[0], 1.0 / chain.shape[0])
    for _ in range(STEPS_TO_FIND_A_REFERENCE):
        mass = 0.5 * (mass + chain.T @ mass)  # half a step, so that a periodic chain settles too
    order = np.lexsort((-mass, label))
    _, first = np.unique(label[order], return_index=True)
    states: Ints = order[first]
    return states[label[states] >= 0]


def gain_and_bias(chain: "csr_matrix", rewards: Floats) -> tuple[Floats, Floats]:
    """The long-run average reward [S] and the bias [S] of each state."""
    classes = classes_of(chain)
    recurrent, transient = np.flatnonzero(classes.label >= 0), np.flatnonzero(classes.label < 0)
    gain, bias = np.zeros(len(rewards)), np.zeros(len(rewards))
    _solve_recurrent(chain, rewards, classes, recurrent, gain, bias)
    if transient.size:
        behind = chain[transient][:, recurrent]
        solve = _solver(chain, transient)
        gain[transient] = solve(behind @ gain[recurrent])
        bias[transient] = solve(rewards[transient] - gain[transient] + behind @ bias[recurrent])
    _check(chain, rewards, gain, bias)
    return gain, bias


def _solve_recurrent(chain: "csr_matrix", rewards: Floats, classes: Classes, states: Ints, gain: Floats, bias: Floats) -> None:
    from scipy.sparse import coo_matrix, diags_array, identity
    from scipy.sparse.linalg import splu

    place = np.full(len(rewards), -1)
    place[states] = np.arange(states.size)
    columns = place[classes.reference]
    keep = np.ones(states.size)
    keep[columns] = 0.0
    system = (identity(states.size) - chain[states][:, states]) @ diags_array(keep)
    gains = coo_matrix((np.ones(states.size), (np.arange(states.size), columns[classes.label[states]])), shape=system.shape)
    solution = splu((system + gains).tocsc()).solve(rewards[states])
    gain[states] = solution[columns][classes.label[states]]
    solution[columns] = 0.0
    bias[states] = solution


def _solver(chain: "csr_matrix", states: Ints):  # type: ignore[no-untyped-def]  # noqa: ANN202 - a method of scipy's
    """Solves (I - P) x = b among these states."""
    from scipy.sparse import identity
    from scipy.sparse.linalg import splu

    return splu((identity(states.size) - chain[states][:, states]).tocsc()).solve


def _check(chain: "csr_matrix", rewards: Floats, gain: Floats, bias: Floats) -> None:
    """A chain that is all but cut in two has no accurate bias in floating point; then nothing should rest on it."""
    residual = np.abs(gain + bias - rewards - chain @ bias)
    scale = max(float(np.abs(rewards).max()), 1e-300)
    if not float(residual.max()) <= ACCURACY * scale * max(1.0, float(np.abs(bias).max()) / scale * 1e-6):
        raise ArithmeticError("the chain mixes too slowly for its gain and bias to be computed in double precision")


def stationary(chain: "csr_matrix", start: Floats) -> Floats:
    """How often each state is visited in the long run, from a distribution over first states."""
    from scipy.sparse import coo_matrix, identity
    from scipy.sparse.linalg import splu

    classes = classes_of(chain)
    states = np.flatnonzero(classes.label >= 0)
    weight = _weight_of_classes(chain, classes, start)
    place = np.full(len(start), -1)
    place[states] = np.arange(states.size)
    rows = place[classes.reference]
    keep = np.ones(states.size)
    keep[rows] = 0.0
    # Balance, pi (I - P) = 0, with the equation of each reference replaced by the total of its class.
    balance = (identity(states.size) - chain[states][:, states]).T.multiply(keep[:, None])
    totals = coo_matrix((np.ones(states.size), (rows[classes.label[states]], np.arange(states.size))), shape=balance.shape)
    right = np.zeros(states.size)
    right[rows] = weight
    distribution = np.zeros(len(start))
    distribution[states] = splu((balance + totals).tocsc()).solve(right)
    return np.maximum(distribution, 0.0)


def _weight_of_classes(chain: "csr_matrix", classes: Classes, start: Floats) -> Floats:
    """How likely the start leads into each class."""
    transient, weight = np.flatnonzero(classes.label < 0), np.zeros(len(classes.reference))
    visits = np.zeros(len(start))
    if transient.size:
        visits[transient] = _solver(chain.T.tocsr(), transient)(start[transient])
    entered = start + chain.T @ visits
    recurrent: Bools = classes.label >= 0
    np.add.at(weight, classes.label[recurrent], entered[recurrent])
    return weight


def hitting_times(chain: "csr_matrix", states: Ints) -> Floats:
    """The expected number of steps until the chain, started in one of these states, has left them."""
    return np.asarray(_solver(chain, states)(np.ones(states.size)))
