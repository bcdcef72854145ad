"""Lists of indices that grow: the states that were seen, say, in the order in which they were.

What loops over such a list costs what was seen, and not what there is.
"""

from typing import NamedTuple

import numpy as np

from heavytail.arrays import Indices, Ints, U
from heavytail.kernels.array_ops import as_int
from heavytail.kernels.compiling import kernel
from heavytail.kernels.verbs import reset
from heavytail.ranges import Range, below


class IndexList(NamedTuple):
    """Some of the indices 0 to n - 1, each at most once."""

    items: Indices  # [n]
    size: Ints  # [1] how many are in the list

    def ranges(self) -> dict[str, Range]:
        """Declare which arrays hold indices, and how many there may be."""
        return {"items": below(self.items.size), "size": Range(0, self.items.size)}

    def holds_exactly(self, where: np.ndarray) -> bool:
        """Return whether it lists the places at which an array [n] is true, each once."""
        return np.array_equal(np.sort(self.items[: self.size[0]]), np.flatnonzero(where))


def new_index_list(n: int) -> IndexList:
    """Make an empty list of indices below n."""
    return IndexList(np.zeros(n, np.uint32), np.zeros(1, np.int64))


@kernel
def append(indices: IndexList, index: int) -> None:
    """Add an index that is not in the list."""
    indices.items[U(indices.size[0])] = index
    indices.size[0] += 1


@kernel
def item(indices: IndexList, k: int) -> int:
    """Return the k-th index."""
    return as_int(indices.items[U(k)])


@reset.method(IndexList)
def _reset(record: IndexList) -> None:
    record.items[:] = 0
    record.size[0] = 0
