"""Lists of indices that grow."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heavytail.agents._index_list import append, item, new_index_list
from heavytail.kernels.verbs import reset


@given(st.permutations(range(12)), st.integers(0, 12))
def test_a_list_holds_what_was_added_in_its_order(indices: list[int], n: int) -> None:
    made = new_index_list(12)
    for index in indices[:n]:
        append(made, index)
    assert [item(made, k) for k in range(made.size[0])] == indices[:n]
    where = np.isin(np.arange(12), indices[:n])
    assert made.holds_exactly(where)
    where[0] = not where[0]
    assert not made.holds_exactly(where)
    reset(made)
    assert made.size[0] == 0


def test_a_list_that_names_one_index_twice_is_not_exact() -> None:
    made = new_index_list(3)
    append(made, 1)
    append(made, 1)
    assert not made.holds_exactly(np.array([False, True, False]))
