r"""Counts of observed transitions: for each state and action, which successors followed and how often.

Only what was observed is stored, so memory and planning cost what the observed successors cost, never S
squared. The successors of a cell lie together in a pool, in ascending order; when their block is full they
move to a block of twice the size. Blocks left behind are not used again: together they are smaller than those
that replaced them.

Nothing follows a terminal state: reaching one counts as successor number S, *the end*, whose value is
always 0.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats, Indices, Ints, U
from heavytail.kernels.array_ops import as_int
from heavytail.kernels.compiling import kernel
from heavytail.kernels.elementary import log
from heavytail.kernels.verbs import full, reset
from heavytail.ranges import COUNT, FLAG, Fact, Range, below, blocks_fit

MIN_CAPACITY = 4  # of a cell's block


class TransitionCounts(NamedTuple):
    """Counts of observed transitions. A cell is s * A + a."""

    visits: Ints  # [S*A]
    start: Ints  # [S*A] where a cell's block starts in the pool
    capacity: Ints  # [S*A] length of the block
    size: Ints  # [S*A] how many successors are in it
    successor: Indices  # [pool]
    counts: Ints  # [pool] how often each successor was seen
    pool_used: Ints  # [1] length of the pool that belongs to blocks
    max_capacity: Ints  # [1] of all cells
    saw_terminal: Ints  # [1] whether the end was ever seen
    n_states: int

    def pools(self) -> tuple[str, ...]:
        """Name the arrays that may grow: successors and their counts."""
        return ("successor", "counts")

    def ranges(self) -> dict[str, Range]:
        """Declare which arrays hold indices and counts."""
        place = Range(0, len(self.counts))
        return {
            "visits": COUNT,
            "start": place,
            "capacity": place,
            "size": place,
            "successor": below(self.n_states + 1),
            "counts": COUNT,
            "pool_used": place,
            "max_capacity": place,
            "saw_terminal": FLAG,
        }

    def facts(self) -> Iterator[Fact]:
        """Check the blocks of the pool and their contents."""
        yield "a block has more successors than places", (self.size <= self.capacity).all()
        yield "blocks overlap", blocks_fit(self.start, self.capacity, self.pool_used[0])
        largest = max(self.capacity.max(), MIN_CAPACITY // 2)
        yield "the largest block is another", self.max_capacity[0] == largest
        cell = np.repeat(np.arange(self.size.size), self.size)
        first = np.repeat(self.start - np.concatenate([[0], np.cumsum(self.size)[:-1]]), self.size)
        places = first + np.arange(cell.size)
        ascends = np.diff(cell * (self.n_states + 1) + self.successor[places]) > 0
        yield "successors do not ascend", ascends.all()
        seen = np.zeros_like(self.visits)
        np.add.at(seen, cell, self.counts[places])
        yield "visits and counts of successors differ", (seen == self.visits).all()


def new_transition_counts(n_states: int, n_actions: int) -> TransitionCounts:
    """Make the counts of an environment not yet seen."""
    cells = n_states * n_actions
    pool = 4 * MIN_CAPACITY
    return TransitionCounts(
        visits=np.zeros(cells, np.int64),
        start=np.zeros(cells, np.int64),
        capacity=np.zeros(cells, np.int64),
        size=np.zeros(cells, np.int64),
        successor=np.zeros(pool, np.uint32),
        counts=np.zeros(pool, np.int64),
        pool_used=np.zeros(1, np.int64),
        max_capacity=np.full(1, MIN_CAPACITY // 2),
        saw_terminal=np.zeros(1, np.int64),
        n_states=n_states,
    )


@full.method(TransitionCounts)
def _full(record: TransitionCounts) -> bool:
    return record.pool_used[0] + 2 * record.max_capacity[0] > record.counts.size


@kernel
def observe(model: TransitionCounts, cell: int, s_next: int, terminated: bool) -> None:
    """Count a transition."""
    model.visits[U(cell)] += 1
    if terminated:
        model.saw_terminal[0] = 1
        s_next = model.n_states
    where = _find(model, cell, s_next)
    end = model.start[U(cell)] + model.size[U(cell)]
    if where == end or as_int(model.successor[U(where)]) != s_next:
        where = _insert(model, cell, s_next, where - model.start[U(cell)])
    model.counts[U(where)] += 1


@kernel
def _find(model: TransitionCounts, cell: int, s_next: int) -> int:
    """Find the index of a successor in the pool, or the index at which to insert it."""
    low, high = model.start[U(cell)], model.start[U(cell)] + model.size[U(cell)]
    while low < high:
        middle = (low + high) >> 1
        if as_int(model.successor[U(middle)]) < s_next:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _insert(model: TransitionCounts, cell: int, s_next: int, offset: int) -> int:
    """Insert a successor with count 0 at an offset in its cell's block; return its index in the pool."""
    i = U(cell)
    if model.size[i] == model.capacity[i]:
        _move_to_larger_block(model, cell)
    start = model.start[i]
    for k in range(model.size[i], offset, -1):
        model.successor[start + k] = model.successor[start + k - 1]
        model.counts[start + k] = model.counts[start + k - 1]
    model.successor[start + offset] = s_next
    model.counts[start + offset] = 0
    model.size[i] += 1
    return start + offset


@kernel
def _move_to_larger_block(model: TransitionCounts, cell: int) -> None:
    i = U(cell)
    old, new = model.start[i], model.pool_used[0]
    for k in range(model.size[i]):
        model.successor[new + k] = model.successor[old + k]
        model.counts[new + k] = model.counts[old + k]
    model.start[i] = new
    model.capacity[i] = max(2 * model.capacity[i], MIN_CAPACITY)
    model.pool_used[0] += model.capacity[i]
    model.max_capacity[0] = max(model.max_capacity[0], model.capacity[i])


@kernel
def total_value(model: TransitionCounts, cell: int, values: Floats, row: int) -> float:
    """Sum values[row] over the successors of a cell, each as often as it was seen."""
    start, total = model.start[U(cell)], 0.0
    for k in range(start, start + model.size[U(cell)]):
        total += model.counts[U(k)] * values[U(row), U(model.successor[U(k)])]
    return total


@kernel
def expected(model: TransitionCounts, cell: int, values: Floats, row: int) -> float:
    """Average values[row] over the successors of a cell, by their counts; 0 before the first visit."""
    return total_value(model, cell, values, row) / max(model.visits[U(cell)], 1)


@kernel
def uniformity(model: TransitionCounts) -> float:
    """Measure how evenly actions were played: 1 for uniform play, 0 for one action throughout.

    It is the entropy of the actions of each state over its largest value log A, weighted by visits.
    """
    A, entropy, steps = model.visits.size // model.n_states, 0.0, 0
    for s in range(model.n_states):
        visits = 0
        for a in range(A):
            visits += model.visits[s * A + a]
        for a in range(A):
            n = model.visits[s * A + a]
            if n > 0:
                entropy -= n * log(n / visits)
        steps += visits
    return entropy / (steps * log(float(A))) if steps > 0 and A > 1 else 1.0


@reset.method(TransitionCounts)
def _reset(record: TransitionCounts) -> None:
    record.visits[:] = 0
    record.start[:] = 0
    record.capacity[:] = 0
    record.size[:] = 0
    record.successor[:] = 0
    record.counts[:] = 0
    record.pool_used[0] = 0
    record.max_capacity[0] = MIN_CAPACITY // 2
    record.saw_terminal[0] = 0
