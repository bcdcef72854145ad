r"""Extended value iteration: planning in the best of all plausible MDPs.

Jaksch, Ortner and Auer, "Near-optimal regret bounds for reinforcement learning", JMLR 2010.

Plausible transitions of a cell are those within an L1 distance d of the observed frequencies. The best of
them for values V moves a mass of d/2 to the state of the largest value, taking it from the successors of the
lowest. What is left of the expectation is

    sum_s' p(s') V(s') + m max V - (the integral of V over the mass m of the lowest successors),
    m = min(d/2, 1 - p(best)),

which needs the observed successors only, and no sorting: the lowest mass is found as a median is, by
partitioning. Before a cell's first visit anything is plausible, and the best state follows.

`plan_episode`: H backups. `plan_average`: backups V' of V until max(V' - V) - min(V' - V) is below a
tolerance; the policy is then optimal up to it. Value iteration converges only where the optimistic chain is
aperiodic, so values move 0.9 of the way to their backup, which is value iteration in the chain that stays
where it is with probability 0.1. It starts from the values of the last plan, and stops after `MAX_BACKUPS` in
any case.
"""

import math

from heavytail.agents._transition_counts import TransitionCounts
from heavytail.arrays import Floats, Indices, U
from heavytail.kernels.array_ops import as_int
from heavytail.kernels.compiling import kernel

SMALL_N = 8  # up to so many successors the lowest are selected one after the other
STEP_SIZE = 0.9  # the aperiodicity transform: how far values move towards their backup
MAX_BACKUPS = 10_000
RESOLUTION = 1e-12  # of floats, relative to the largest reward: no tolerance is below it


@kernel
def lowest_mass(keys: Floats, weights: Floats, n: int, mass: float) -> float:
    """Integrate the first n keys over the lowest `mass` of their weights; both arrays are reordered."""
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
    # Select the lowest of a few one after the other: these comparisons compile to conditional moves, where
    # partitioning would mispredict every other branch.
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
    """Return the largest plausible expectation of values[row] after a cell.

    `half` is half the L1 distance, `best` the state of the largest value.
    """
    c = U(cell)
    highest = values[U(row), U(best)]
    n = model.visits[c]
    if n == 0:
        return highest
    start, size, total, at_best = model.start[c], model.size[c], 0.0, 0.0
    for k in range(size):
        s_next, weight = as_int(model.successor[U(start + k)]), model.counts[U(start + k)] / n
        value = values[U(row), U(s_next)]
        keys[U(k)], weights[U(k)] = value, weight
        total += weight * value
        if s_next == best:
            at_best = weight
    if half >= 1.0 - at_best:
        return highest
    return total + half * highest - lowest_mass(keys, weights, size, half)


@kernel
def best_state(model: TransitionCounts, values: Floats, row: int) -> int:
    """Return the first state of the largest value; the end is among the candidates once it was seen."""
    best = 0
    for s in range(1, model.n_states + model.saw_terminal[0]):
        if values[U(row), U(s)] > values[U(row), U(best)]:
            best = s
    return best


@kernel
def backup(
    model: TransitionCounts,
    rewards: Floats,
    half_widths: Floats,
    values: Floats,
    row: int,
    policy: Indices,
    h: int,
    keys: Floats,
    weights: Floats,
) -> None:
    """Compute values[1 - row] and policy[h] from values[row]."""
    S, A = model.n_states, model.visits.size // model.n_states
    best = best_state(model, values, row)
    for s in range(S):
        largest, chosen = -math.inf, 0
        for a in range(A):
            cell = s * A + a
            q = rewards[U(cell)] + optimistic_value(
                model, cell, values, row, best, half_widths[U(cell)], keys, weights
            )
            if q > largest:
                largest, chosen = q, a
        values[U(1 - row), U(s)] = largest
        policy[U(h), U(s)] = chosen


@kernel
def plan_episode(
    model: TransitionCounts,
    rewards: Floats,
    half_widths: Floats,
    values: Floats,
    policy: Indices,
    keys: Floats,
    weights: Floats,
) -> None:
    """Compute the optimistic policy of each step, policy [H, S].

    `rewards` and `half_widths` are the optimistic reward and half the L1 distance of each cell;
    values [2, S + 1] is scratch.
    """
    values[0, :] = 0.0
    values[1, :] = 0.0
    row = 0
    for h in range(policy.shape[0] - 1, -1, -1):
        backup(model, rewards, half_widths, values, row, policy, h, keys, weights)
        row = 1 - row


@kernel
def plan_average(
    model: TransitionCounts,
    rewards: Floats,
    half_widths: Floats,
    values: Floats,
    policy: Indices,
    keys: Floats,
    weights: Floats,
    tolerance: float,
) -> int:
    """Compute the optimistic policy[0] for the average reward; return how many backups it took.

    It starts from values[0], and leaves there what the next plan starts from.
    """
    S, largest = model.n_states, 0.0
    for cell in range(rewards.size):
        largest = max(largest, abs(rewards[cell]))
    tolerance = max(tolerance, RESOLUTION * largest)
    for i in range(MAX_BACKUPS):
        backup(model, rewards, half_widths, values, 0, policy, 0, keys, weights)
        low, high = math.inf, -math.inf
        for s in range(S):
            change = values[1, s] - values[0, s]
            low = min(low, change)
            high = max(high, change)
        # The value of the first state stays 0, so that none grows without bound.
        shift = STEP_SIZE * values[1, 0] + (1.0 - STEP_SIZE) * values[0, 0]
        for s in range(S):
            values[0, s] = STEP_SIZE * values[1, s] + (1.0 - STEP_SIZE) * values[0, s] - shift
        if not high - low >= tolerance:
            return i + 1
    return MAX_BACKUPS
