r"""Extended value iteration.

Planning in the best of all plausible MDPs (Jaksch, Ortner and Auer, "Near-optimal regret bounds for
reinforcement learning", 2010).

Plausible transitions of a cell are those within an L1 distance d of the observed frequencies. The best of
them for values V moves a mass of d/2 to the state of the largest value, taking it from the successors of the
lowest. What is left of the expectation is

    sum_s' p(s') V(s') + m max V - (the integral of V over the mass m of the lowest successors),      m =
    min(d/2, 1 - p(best)),

which needs the observed successors only, and no sorting: the lowest mass is found as a median is, by
partitioning. Before a cell's first visit anything is plausible, and the best state follows.

`plan_episode`: H backups. `plan_average`: backups V' of V until max(V' - V) - min(V' - V) is below a
tolerance; the policy is then optimal up to it. Value iteration converges only where the optimistic chain is
aperiodic, so values move 0.9 of the way to their backup, which is the chain that stays where it is with
probability 0.1. It starts from the values of the plan before, and stops after `MAX_BACKUPS` in any case.
"""

import math

from heavytail.agents._transition_counts import TransitionCounts
from heavytail.arrays import Floats, Indices, U
from heavytail.kernels.array_ops import as_int
from heavytail.kernels.compiling import kernel

SMALL_N = 8  # successors, of which the lowest are found one after the other
STEP_SIZE = 0.9  # the aperiodicity transform: how far values move towards their backup
MAX_BACKUPS = 10_000
RESOLUTION = 1e-12  # of floats, relative to the largest reward: no tolerance is below it


@kernel
def lowest_mass(keys: Floats, weights: Floats, n: int, mass: float) -> float:
    """The integral of the first n keys over the lowest `mass` of their weights; both arrays are reordered."""
    low, high, taken = 0, n - 1, 0.0
    while high - low >= SMALL_N:
        pivot, i, j = keys[(low + high) >> 1], low, high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while pivot < keys[j]:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                weights[i], weights[j] = weights[j], weights[i]
                i += 1
                j -= 1
        cut, below, integral = max(j, low), 0.0, 0.0
        for k in range(low, cut + 1):
            below += weights[k]
            integral += weights[k] * keys[k]
        if below <= mass:
            mass -= below
            taken += integral
            low = cut + 1
        else:
            high = cut
    # Of a few the lowest one after the other: comparisons that become moves, where partitioning would guess
    # wrong every other time.
    while low < high:
        where = low
        for k in range(low + 1, high + 1):
            where = k if keys[U(k)] < keys[U(where)] else where
        key, weight = keys[U(where)], weights[U(where)]
        if mass <= weight:
            return taken + mass * key
        mass -= weight
        taken += weight * key
        keys[U(where)], weights[U(where)] = keys[U(low)], weights[U(low)]
        low += 1
    return taken + mass * keys[low]


@kernel
def optimistic_value(
    model: TransitionCounts,
    cell: int,
    values: Floats,
    row: int,
    best: int,
    half: float,
    keys: Floats,
    weights: Floats,
) -> float:
    """The largest plausible expectation of values[row] after a cell, `half` being half the L1 distance and `best` the state of the largest value."""
    c = U(cell)
    highest = values[U(row), U(best)]
    n = model.visits[c]
    if n == 0:
        return highest
    first, used, total, at_best = model.first[c], model.used[c], 0.0, 0.0
    for k in range(used):
        s_next, weight = as_int(model.successor[U(first + k)]), model.times[U(first + k)] / n
        value = values[U(row), U(s_next)]
        keys[U(k)], weights[U(k)] = value, weight
        total += weight * value
        if s_next == best:
            at_best = weight
    if half >= 1.0 - at_best:
        return highest
    return total + half * highest - lowest_mass(keys, weights, used, half)


@kernel
def best_state(model: TransitionCounts, values: Floats, row: int) -> int:
    """The first state of the largest value; the end counts among them once it was seen."""
    best = 0
    for s in range(1, model.n_states + model.ended[0]):
        if values[U(row), U(s)] > values[U(row), U(best)]:
            best = s
    return best


@kernel
def backup(
    model: TransitionCounts,
    rewards: Floats,
    halves: Floats,
    values: Floats,
    row: int,
    policy: Indices,
    h: int,
    keys: Floats,
    weights: Floats,
) -> None:
    """values[1 - row] and policy[h] out of values[row]."""
    S, A = model.n_states, model.visits.size // model.n_states
    best = best_state(model, values, row)
    for s in range(S):
        largest, chosen = -math.inf, 0
        for a in range(A):
            cell = s * A + a
            q = rewards[U(cell)] + optimistic_value(
                model, cell, values, row, best, halves[U(cell)], keys, weights
            )
            if q > largest:
                largest, chosen = q, a
        values[U(1 - row), U(s)] = largest
        policy[U(h), U(s)] = chosen


@kernel
def plan_episode(
    model: TransitionCounts,
    rewards: Floats,
    halves: Floats,
    values: Floats,
    policy: Indices,
    keys: Floats,
    weights: Floats,
) -> None:
    """The optimistic policy of each step, policy [H, S], for optimistic rewards and half distances of each cell; values [2, S + 1] is scratch."""
    values[0, :] = 0.0
    values[1, :] = 0.0
    row = 0
    for h in range(policy.shape[0] - 1, -1, -1):
        backup(model, rewards, halves, values, row, policy, h, keys, weights)
        row = 1 - row


@kernel
def plan_average(
    model: TransitionCounts,
    rewards: Floats,
    halves: Floats,
    values: Floats,
    policy: Indices,
    keys: Floats,
    weights: Floats,
    tolerance: float,
) -> int:
    """The optimistic policy[0] for the average reward, from values[0] on, which the next plan starts from; how many backups it took."""
    S, largest = model.n_states, 0.0
    for cell in range(rewards.size):
        largest = max(largest, abs(rewards[cell]))
    tolerance = max(tolerance, RESOLUTION * largest)
    for i in range(MAX_BACKUPS):
        backup(model, rewards, halves, values, 0, policy, 0, keys, weights)
        low, high = math.inf, -math.inf
        for s in range(S):
            change = values[1, s] - values[0, s]
            low = min(low, change)
            high = max(high, change)
        shift = (
            STEP_SIZE * values[1, 0] + (1.0 - STEP_SIZE) * values[0, 0]
        )  # the values of the first state stay 0, so that none grows without end
        for s in range(S):
            values[0, s] = STEP_SIZE * values[1, s] + (1.0 - STEP_SIZE) * values[0, s] - shift
        if not high - low >= tolerance:
            return i + 1
    return MAX_BACKUPS
