r"""The backups that a plan must repeat, among those made by the plan before it.

The backup of a cell at step h depends on what was seen in the cell and on the values of its successors at
step h + 1. So, from the last step to the first, those are due of the cells visited since the last plan, and
of the cells that were seen to lead to states whose values have changed one step later. All others would give
the same numbers, to the last bit.

The cells that lead to a state are a linked list. Where the lists of one step are so long that a sweep over
all cells is quicker, it is made instead; from there on, since changes spread towards the first step.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from heavytail.arrays import Indices, Ints, U
from heavytail.kernels.array_ops import as_int
from heavytail.kernels.compiling import kernel
from heavytail.kernels.verbs import full, reset
from heavytail.ranges import COUNT, Fact, Range, below

INITIAL_POOL = 16
SWEEP = 8  # a sweep takes less time than the backups of one cell in so many, found by lists
ENTRIES, VISITED, CELLS, STATES = range(4)  # of `sizes`


class DueBackups(NamedTuple):
    """Changes since the last plan. A cell is s * A + a; entries are counted from 1, 0 is none."""

    last: Indices  # [S] the last entry in the list of cells that lead to a state
    cell: Indices  # [pool] of an entry
    before: Indices  # [pool] the entry before it in its list
    cells: Indices  # [S*A] the cells that are due; first those visited since the last plan
    states: Indices  # [S] the states whose values have changed
    sizes: Ints  # [4] of the lists, see above
    listed: Ints  # [S*A] the number of the last list of cells in which a cell was
    changed: Ints  # [S] likewise of states
    number: Ints  # [1] of the present list

    def pools(self) -> tuple[str, ...]:
        """Name the arrays that may grow: the entries."""
        return ("cell", "before")

    def ranges(self) -> dict[str, Range]:
        """Declare which arrays hold cells, states and entries."""
        states, cells, entry = len(self.states), len(self.cells), Range(0, len(self.cell))
        return {
            "last": entry,
            "cell": below(cells),
            "before": entry,
            "cells": below(cells),
            "states": below(states),
            "sizes": COUNT,
            "listed": COUNT,
            "changed": COUNT,
            "number": COUNT,
        }

    def facts(self) -> Iterator[Fact]:
        """Check the length of lists, and that they end."""
        lengths = [len(self.cell), len(self.cells), len(self.cells), len(self.states)]
        yield "a list is longer than its array", (self.sizes <= lengths).all()
        yield "a list has no end", (self.before <= np.arange(len(self.before))).all()
        visited, present = np.sort(self.cells[: self.sizes[VISITED]]), self.listed == self.number[0]
        yield "visited cells are not listed once each", np.array_equal(visited, np.flatnonzero(present))


def new_due_backups(n_states: int, n_actions: int) -> DueBackups:
    """Make the lists of an environment not yet seen."""
    return DueBackups(
        last=np.zeros(n_states, np.uint32),
        cell=np.zeros(INITIAL_POOL, np.uint32),
        before=np.zeros(INITIAL_POOL, np.uint32),
        cells=np.zeros(n_states * n_actions, np.uint32),
        states=np.zeros(n_states, np.uint32),
        sizes=np.zeros(4, np.int64),
        listed=np.zeros(n_states * n_actions, np.int64),
        changed=np.zeros(n_states, np.int64),
        number=np.ones(1, np.int64),
    )


@full.method(DueBackups)
def _full(record: DueBackups) -> bool:
    return record.sizes[ENTRIES] == record.cell.size


@kernel
def add_visit(due: DueBackups, cell: int) -> None:
    """Mark a cell as changed by a visit."""
    if due.listed[U(cell)] != due.number[0]:
        due.listed[U(cell)] = due.number[0]
        due.cells[U(due.sizes[VISITED])] = cell
        due.sizes[VISITED] += 1


@kernel
def add_predecessor(due: DueBackups, s: int, cell: int) -> None:
    """Record that a cell leads to a state; called once per pair."""
    entry = due.sizes[ENTRIES]
    due.cell[U(entry)] = cell
    due.before[U(entry)] = due.last[U(s)]
    due.last[U(s)] = entry + 1
    due.sizes[ENTRIES] = entry + 1


@kernel
def add_change(due: DueBackups, s: int) -> None:
    """Mark the value of a state as possibly changed."""
    if due.changed[U(s)] != due.number[0]:
        due.changed[U(s)] = due.number[0]
        due.states[U(due.sizes[STATES])] = s
        due.sizes[STATES] += 1


@kernel
def list_due_cells(due: DueBackups) -> bool:
    """List the cells due at a step, given the states changed at the next; False if they are too many."""
    n, most = due.sizes[VISITED], due.cells.size // SWEEP
    if n > most:
        return False
    due.number[0] += 1
    for i in range(n):
        due.listed[U(due.cells[U(i)])] = due.number[0]
    left = most
    for i in range(due.sizes[STATES]):
        entry = as_int(due.last[U(due.states[U(i)])])
        while entry > 0:
            if left == 0:
                return False
            left -= 1
            cell = as_int(due.cell[U(entry - 1)])
            if due.listed[U(cell)] != due.number[0]:
                due.listed[U(cell)] = due.number[0]
                due.cells[U(n)] = cell
                n += 1
            entry = as_int(due.before[U(entry - 1)])
    due.sizes[CELLS] = n
    due.sizes[STATES] = 0
    return True


@kernel
def begin_plan(due: DueBackups) -> None:
    """Begin at the last step, where values after it never change."""
    due.sizes[STATES] = 0


@kernel
def end_plan(due: DueBackups) -> None:
    """Begin a new list of visits."""
    due.sizes[VISITED] = 0
    due.number[0] += 1


@reset.method(DueBackups)
def _reset(record: DueBackups) -> None:
    record.last[:] = 0
    record.cell[:] = 0
    record.before[:] = 0
    record.cells[:] = 0
    record.states[:] = 0
    record.sizes[:] = 0
    record.listed[:] = 0
    record.changed[:] = 0
    record.number[0] = 1
