r"""What was seen of an environment: for each state and action, which successors followed and how often.

Only what was observed is kept, so memory and planning cost what the observed successors cost, never S
squared. A cell's successors stand together in a pool, in ascending order; when their place is full they move
to one of twice the size. Places left behind are not used again: together they are smaller than those that
replaced them.

After a terminal state nothing follows: that is the successor number S, *the end*, whose value is always 0.
"""

from typing import NamedTuple

import numpy as np

from heavytail.arrays import Floats, Indices, Ints, U
from heavytail.kernels.array_ops import as_int
from heavytail.kernels.compiling import kernel
from heavytail.kernels.elementary import log
from heavytail.kernels.verbs import full, reset

FIRST_ROOM = 4


class TransitionCounts(NamedTuple):
    """Counts of observed transitions. A cell is s * A + a."""

    visits: Ints  # [S*A]
    first: Ints  # [S*A] where a cell's successors start
    room: Ints  # [S*A] for how many there is room
    used: Ints  # [S*A] how many there are
    successor: Indices  # [pool]
    times: Ints  # [pool] how often each was seen
    top: Ints  # [1] how much of the pool is given away
    widest: Ints  # [1] the most room that a cell has
    ended: Ints  # [1] whether the end was ever seen
    n_states: int

    def pools(self) -> tuple[str, ...]:
        """Successors and their counts."""
        return ("successor", "times")


def new_model(n_states: int, n_actions: int) -> TransitionCounts:
    """A model that has seen nothing."""
    cells = n_states * n_actions
    pool = 4 * FIRST_ROOM
    return TransitionCounts(
        visits=np.zeros(cells, np.int64),
        first=np.zeros(cells, np.int64),
        room=np.zeros(cells, np.int64),
        used=np.zeros(cells, np.int64),
        successor=np.zeros(pool, np.uint32),
        times=np.zeros(pool, np.int64),
        top=np.zeros(1, np.int64),
        widest=np.full(1, FIRST_ROOM // 2),
        ended=np.zeros(1, np.int64),
        n_states=n_states,
    )


@full.method(TransitionCounts)
def _full(record: TransitionCounts) -> bool:
    return record.top[0] + 2 * record.widest[0] > record.times.size


@kernel
def observe(model: TransitionCounts, cell: int, s_next: int, terminated: bool) -> None:
    """Count a transition."""
    model.visits[U(cell)] += 1
    if terminated:
        model.ended[0] = 1
        s_next = model.n_states
    where = _find(model, cell, s_next)
    end = model.first[U(cell)] + model.used[U(cell)]
    if where == end or as_int(model.successor[U(where)]) != s_next:
        where = _insert(model, cell, s_next, where - model.first[U(cell)])
    model.times[U(where)] += 1


@kernel
def _find(model: TransitionCounts, cell: int, s_next: int) -> int:
    """Where a successor stands, or would."""
    low, high = model.first[U(cell)], model.first[U(cell)] + model.used[U(cell)]
    while low < high:
        middle = (low + high) >> 1
        if as_int(model.successor[U(middle)]) < s_next:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _insert(model: TransitionCounts, cell: int, s_next: int, place: int) -> int:
    """Make room for a successor at a place among those of its cell; its count is 0."""
    i = U(cell)
    if model.used[i] == model.room[i]:
        old, new = model.first[i], model.top[0]
        for k in range(model.used[i]):
            model.successor[new + k] = model.successor[old + k]
            model.times[new + k] = model.times[old + k]
        model.first[i] = new
        model.room[i] = max(2 * model.room[i], FIRST_ROOM)
        model.top[0] += model.room[i]
        model.widest[0] = max(model.widest[0], model.room[i])
    first = model.first[i]
    for k in range(model.used[i], place, -1):
        model.successor[first + k] = model.successor[first + k - 1]
        model.times[first + k] = model.times[first + k - 1]
    model.successor[first + place] = s_next
    model.times[first + place] = 0
    model.used[i] += 1
    return first + place


@kernel
def expected(model: TransitionCounts, cell: int, values: Floats, row: int) -> float:
    """The mean of values[row] over the successors seen so far, each as often as it was.

    0 before the first.
    """
    first, total = model.first[U(cell)], 0.0
    for k in range(first, first + model.used[U(cell)]):
        total += model.times[U(k)] * values[U(row), U(model.successor[U(k)])]
    return total / max(model.visits[U(cell)], 1)


@kernel
def uniformity(model: TransitionCounts) -> float:
    """How evenly actions were played.

    The entropy of the actions of each state over its largest value log A, weighted by visits; 1 for uniform
    play, 0 for one action throughout.
    """
    A, entropy, steps = model.visits.size // model.n_states, 0.0, 0
    for s in range(model.n_states):
        here = 0
        for a in range(A):
            here += model.visits[s * A + a]
        for a in range(A):
            n = model.visits[s * A + a]
            if n > 0:
                entropy -= n * log(n / here)
        steps += here
    return entropy / (steps * log(float(A))) if steps > 0 and A > 1 else 1.0


@reset.method(TransitionCounts)
def _reset(record: TransitionCounts) -> None:
    record.visits[:] = 0
    record.first[:] = 0
    record.room[:] = 0
    record.used[:] = 0
    record.successor[:] = 0
    record.times[:] = 0
    record.top[0] = 0
    record.widest[0] = FIRST_ROOM // 2
    record.ended[0] = 0
