"""Exact facts about a Markov chain with rewards, by its recurrent classes and sparse linear systems.

In a recurrent class c the gain g_c and the bias h solve g_c + h = r + P h, which leaves h free by a constant:
one state of the class is the *reference*, its place among the unknowns is taken by g_c, and afterwards h is
shifted so that its long-run average is 0. So shifted, h is what a state earns in total above the gain, the
same whichever state was the reference. Gain and bias of the transient states follow from one more linear
system.

*Accuracy.* I - P is built from the probabilities of leaving, never as one less the probability of staying, so
that small ones keep their digits. What can still go wrong is a chain that takes very long from one part of a
class to another, or out of its transient states: the inverse of the system is as large as the longest mean
time this takes, and multiplies rounding by it. One more solve gives that time, and beyond MAX_MEAN_TIME an
ArithmeticError is raised. A state that is hardly ever visited takes long to reach from anywhere, so the
reference is one that is visited often.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from heavytail.arrays import Bools, Floats, Ints
from heavytail.planning.linear_systems import Solver, make_solver

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

REFERENCE_STEPS = 64
EFFECTIVE_HORIZON = 1e9  # steps; the mean length of a run that ends at random
MAX_MEAN_TIME = 1e11  # steps; rounding times this is 2e-5, and errors seen were below a tenth of that


class Classes(NamedTuple):
    """The recurrent classes of a chain."""

    label: Ints  # [S] the class of each recurrent state, numbered from 0; -1 where transient
    reference: Ints  # [C] an often visited state of each class


class FactorisedChain(NamedTuple):
    """A chain with its linear systems factorised: every further vector of rewards costs a substitution."""

    chain: Any  # [S, S] sparse
    classes: Classes
    recurrent: Ints
    transient: Ints
    frequency: Floats  # [S] how often a recurrent state is visited, once in its class
    within: Solver  # of the recurrent states' system
    before: Any  # the same of the transient states'; None if there are none


# Recurrent classes


def find_classes(chain: "csr_matrix") -> Classes:
    """Find the recurrent classes of a chain.

    >>> from scipy.sparse import csr_matrix
    >>> find_classes(csr_matrix([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])).label
    array([-1,  0,  0])
    """
    from scipy.sparse.csgraph import connected_components

    n, component = connected_components(chain, directed=True, connection="strong")
    sources, targets = chain.nonzero()
    leaves = np.zeros(n, np.bool_)
    leaves[component[sources[component[sources] != component[targets]]]] = True
    numbered = np.where(leaves, -1, np.cumsum(~leaves) - 1)
    label = numbered[component]
    return Classes(label, _most_visited(label, _visits(chain)))


def _visits(chain: "csr_matrix") -> Floats:
    """Estimate how often states are visited: where some steps lead from everywhere."""
    mass, arrivals = np.full(chain.shape[0], 1.0 / chain.shape[0]), chain.T.tocsr()
    for _ in range(REFERENCE_STEPS):
        mass = 0.5 * (mass + arrivals @ mass)  # half a step, so that a periodic chain settles too
    return mass


def _most_visited(label: Ints, visits: Floats) -> Ints:
    """Find the state of each class with the most visits."""
    order = np.lexsort((-visits, label))
    _, first = np.unique(label[order], return_index=True)
    states: Ints = order[first]
    return states[label[states] >= 0]


# Gain and bias


def gain_and_bias(chain: "csr_matrix", rewards: Floats) -> tuple[Floats, Floats]:
    """Compute the long-run average reward [S] and the bias [S] of each state.

    >>> from scipy.sparse import csr_matrix
    >>> gain, bias = gain_and_bias(csr_matrix([[0.0, 1.0], [1.0, 0.0]]), np.array([1.0, 0.0]))
    >>> gain.tolist(), bias.tolist()
    ([0.5, 0.5], [0.25, -0.25])
    """
    return evaluate(factorise(chain), rewards)


def factorise(chain: "csr_matrix") -> FactorisedChain:
    """Factorise a chain; an ArithmeticError if it is too slow for double precision."""
    classes = find_classes(chain)
    recurrent, transient = np.flatnonzero(classes.label >= 0), np.flatnonzero(classes.label < 0)
    leaving = _leaving(chain)
    within, frequency = _within(leaving, classes, recurrent)
    better = _most_visited(classes.label, frequency)
    if (frequency[better] > 2.0 * frequency[classes.reference]).any():
        classes = classes._replace(reference=better)
        within, frequency = _within(leaving, classes, recurrent)
    _check_within(within, frequency, classes, recurrent)
    before = _solver_of(leaving[transient][:, transient]) if transient.size else None
    if before is not None:
        _check_times(before.solve(np.ones(transient.size)))
    return FactorisedChain(chain, classes, recurrent, transient, frequency, within, before)


def evaluate(factors: FactorisedChain, rewards: Floats) -> tuple[Floats, Floats]:
    """Compute gain [S] and bias [S] for rewards [S]."""
    label, recurrent, transient = factors.classes.label, factors.recurrent, factors.transient
    middle = 0.5 * (rewards.min() + rewards.max())  # subtracted, so that a large common part costs no digits
    gain, bias, above = np.zeros(len(rewards)), np.zeros(len(rewards)), rewards - middle
    bias[recurrent] = factors.within.solve(above[recurrent])
    gains = bias[factors.classes.reference]
    bias[factors.classes.reference] = 0.0
    gain[recurrent] = gains[label[recurrent]]
    means = np.bincount(label[recurrent], (factors.frequency * bias)[recurrent])
    bias[recurrent] -= means[label[recurrent]]
    if transient.size:
        entering = factors.chain[transient][:, recurrent]
        # Relative to the first class's gain: if all classes earn the same, transient states do so exactly.
        gain[transient] = gains[0] + factors.before.solve(entering @ (gain[recurrent] - gains[0]))
        earned = above[transient] - gain[transient] + entering @ bias[recurrent]
        bias[transient] = factors.before.solve(earned)
    return gain + middle, bias


def _leaving(chain: "csr_matrix") -> "csr_matrix":
    """Build I - P, with the sum of the probabilities of leaving on its diagonal.

    One less the probability of staying would lose the small ones.
    """
    from scipy.sparse import csr_matrix, diags_array

    elsewhere = csr_matrix(chain - diags_array(chain.diagonal()))
    return csr_matrix(diags_array(np.asarray(elsewhere.sum(axis=1)).ravel()) - elsewhere)


def _within(leaving: "csr_matrix", classes: Classes, states: Ints) -> tuple[Solver, Floats]:
    """Factorise the equations of the recurrent states; also return how often each state is visited."""
    from scipy.sparse import coo_matrix, diags_array

    label, place = classes.label[states], np.full(len(classes.label), -1)
    place[states] = np.arange(states.size)
    columns = place[classes.reference]
    keep, totals = np.ones(states.size), np.zeros(states.size)
    keep[columns], totals[columns] = 0.0, 1.0
    gains = coo_matrix(
        (np.ones(states.size), (np.arange(states.size), columns[label])), shape=(states.size, states.size)
    )
    inside = leaving[states][:, states]
    factors = _solver_of(inside @ diags_array(keep) + gains, inside)
    # The transposed system is the balance equation pi (I - P) = 0, in which the total of a class replaces the
    # equation of its reference.
    frequency = np.zeros(len(classes.label))
    frequency[states] = np.maximum(factors.solve(totals, "T"), 0.0)
    return factors, frequency


def _solver_of(system: Any, graph: "csr_matrix | None" = None) -> Solver:
    try:
        return make_solver(system, system if graph is None else graph)
    except ArithmeticError as singular:  # in exact numbers none of these systems is
        raise ArithmeticError(_too_slow()) from singular


def _check_within(within: Solver, frequency: Floats, classes: Classes, states: Ints) -> None:
    """Check the mean times to the references, by a reward of 1 there.

    The gain is then their frequency, and the bias of a state is less by that for every step to a reference.
    """
    at_reference = np.zeros(len(frequency))
    at_reference[classes.reference] = 1.0
    solution = np.zeros(len(frequency))
    solution[states] = within.solve(at_reference[states])
    frequencies = solution[classes.reference]
    solution[classes.reference] = 0.0
    if not (frequencies > 0.0).all():
        raise ArithmeticError(_too_slow())
    with np.errstate(over="ignore"):
        _check_times(-solution[states] / frequencies[classes.label[states]])


def _check_times(times: Floats) -> None:
    if not (float(times.min()) > -1.0 and float(times.max()) <= MAX_MEAN_TIME):  # so written, NaN fails too
        raise ArithmeticError(_too_slow())


def _too_slow() -> str:
    return (
        f"parts of this Markov chain are more than {MAX_MEAN_TIME:.0e} steps apart on average, too far for"
        " double precision"
    )


# Visits


def stationary(chain: "csr_matrix", start: Floats) -> Floats:
    """Compute how often each state is visited in the long run, from a distribution over first states.

    >>> from scipy.sparse import csr_matrix
    >>> chain = csr_matrix([[0.5, 0.1, 0.4], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> stationary(chain, np.array([1.0, 0.0, 0.0])).round(6).tolist()
    [0.0, 0.2, 0.8]
    """
    factors = factorise(chain)
    label, recurrent = factors.classes.label, factors.recurrent
    weights, distribution = _class_weights(factors, start), np.zeros(len(start))
    distribution[recurrent] = weights[label[recurrent]] * factors.frequency[recurrent]
    normalised: Floats = distribution / distribution.sum()
    return normalised


def _class_weights(factors: FactorisedChain, start: Floats) -> Floats:
    """Compute how likely the start leads into each class."""
    visits = np.zeros(len(start))
    if factors.transient.size:
        visits[factors.transient] = np.maximum(factors.before.solve(start[factors.transient], "T"), 0.0)
    entered = start + factors.chain.T @ visits
    recurrent: Bools = factors.classes.label >= 0
    weight: Floats = np.bincount(factors.classes.label[recurrent], entered[recurrent]).astype(np.float64)
    return weight


def hitting_times(chain: "csr_matrix", states: Ints) -> Floats:
    """Compute the expected number of steps until the chain leaves these states, which must be certain.

    >>> from scipy.sparse import csr_matrix
    >>> hitting_times(csr_matrix([[0.75, 0.25], [0.0, 1.0]]), np.array([0])).tolist()
    [4.0]
    """
    times: Floats = _solver_of(_leaving(chain)[states][:, states]).solve(np.ones(states.size))
    _check_times(times)
    return times


def attraction_basin(chain: "csr_matrix", rewards: Floats) -> Bools:
    """Find the states around the one that earns most over a long time, for chains too slow to factorise.

    They are those from which the chain reaches it within that time, more likely than not. The time ends at
    random, with the same probability after every step (`EFFECTIVE_HORIZON`).

    >>> from scipy.sparse import csr_matrix
    >>> slow = csr_matrix([[0.5, 0.5, 0.0], [0.5, 0.5 - 1e-15, 1e-15], [0.0, 1e-15, 1 - 1e-15]])
    >>> attraction_basin(slow, np.array([0.0, 1.0, 0.9])).tolist()
    [False, False, True]
    """
    from scipy.sparse import csr_matrix, diags_array

    n = len(rewards)
    system = csr_matrix(_leaving(chain) + diags_array(np.full(n, 1.0 / EFFECTIVE_HORIZON)))
    best = int(_solver_of(system).solve(rewards - rewards.min()).argmax())
    others = np.flatnonzero(np.arange(n) != best)
    arriving = np.ones(n)
    if others.size:
        towards = -system[others][:, [best]].toarray()[:, 0]
        arriving[others] = _solver_of(system[others][:, others]).solve(towards)
    near: Bools = arriving >= 0.5
    return near
