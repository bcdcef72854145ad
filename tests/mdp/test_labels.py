"""Labels of states and actions."""

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from heavytail.errors import InputError
from heavytail.mdp.labels import make_labels

SCALARS = st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False)
HASHABLE = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6)


@given(st.lists(HASHABLE, min_size=1, max_size=20, unique=True))
def test_each_label_has_a_number_and_each_number_a_label(given_labels: list[Any]) -> None:
    labels = make_labels(given_labels, "states")
    assert [labels.code(label, "state") for label in given_labels] == list(range(len(given_labels)))
    assert list(labels) == given_labels


@pytest.mark.parametrize(
    "space",
    [
        spaces.Discrete(5, start=-2),
        spaces.MultiDiscrete([3, 4]),
        spaces.MultiDiscrete(np.array([[2, 2], [3, 2]])),
        spaces.MultiBinary(3),
        spaces.Tuple([spaces.Discrete(3), spaces.MultiBinary(2)]),
    ],
)
def test_every_sample_of_a_discrete_space_is_a_label(space: Any) -> None:
    labels = make_labels(space, "states")
    space.seed(0)
    codes = {labels.code(_flat(space.sample()), "state") for _ in range(500)}
    assert codes == set(range(len(labels)))


def _flat(sample: Any) -> Any:
    return sample.reshape(-1) if isinstance(sample, np.ndarray) else sample


def test_an_array_is_the_tuple_of_its_entries() -> None:
    labels = make_labels(spaces.MultiDiscrete([3, 4]), "states")
    assert (
        labels.code(np.array([2, 1]), "state")
        == labels.code((2, 1), "state")
        == labels.code([2, 1], "s")
        == 9
    )


@pytest.mark.parametrize(
    ("given_labels", "message"),
    [
        (0, "states is 0; it must be from 1 to 10,000,000"),
        (10**12, "states is 1000000000000; it must be"),
        ("abc", "states is 'abc'; it must be their number, a list of them, or a discrete space"),
        (None, "states is None; it must be their number"),
        (True, "states is True; it must be their number"),
        ([], "states: there are no labels"),
        (["a", "b", "a"], "states: two labels are equal"),
        ([1, True], "states: two labels are equal"),
        ([{}], "states: unhashable type: 'dict'; a label must be hashable"),
        (
            spaces.Box(0.0, 1.0, (2,)),
            "states is Box.*it must be Discrete, MultiDiscrete, MultiBinary or a Tuple",
        ),
        (spaces.MultiDiscrete([1000] * 5), r"states: .* has 1e\+15 elements, more than 10,000,000"),
    ],
)
def test_what_cannot_be_labels_is_one_line(given_labels: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        make_labels(given_labels, "states")
    assert "\n" not in str(caught.value)


def test_an_unknown_label_says_which_there_are() -> None:
    with pytest.raises(InputError, match=r"^there is no state 'x'; states are 'a', 'b', 'c', \.\.\.$"):
        make_labels(["a", "b", "c", "d"], "states").code("x", "state")
    with pytest.raises(InputError, match=r"^there is no state \[1\]; states are whole numbers from 0 to 2$"):
        make_labels(3, "states").code([1], "state")
