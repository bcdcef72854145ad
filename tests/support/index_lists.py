"""Lists of indices, made of Python's."""

from collections.abc import Iterable

from heavytail.agents._index_list import IndexList, append, new_index_list


def index_list(indices: Iterable[int]) -> IndexList:
    """List these indices, of those up to the largest."""
    given = list(indices)
    made = new_index_list(max(given) + 1)
    for index in given:
        append(made, index)
    return made
