"""Visits are counted, saved and restored, for every space of Gymnasium and for codes of one's own."""

import copy
import math
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

import heavytail as ht
from heavytail.gym.observation_codes import ExactCode, Projection, SimHash, is_exact
from heavytail.gym.visit_counts import VisitCounter, visit_counter

DISCRETE = spaces.Discrete(5)
EXACT: dict[str, spaces.Space[Any]] = {
    "Discrete": DISCRETE,
    "Discrete from -2": spaces.Discrete(5, start=-2),
    "MultiDiscrete": spaces.MultiDiscrete([3, 4]),
    "MultiBinary": spaces.MultiBinary(3),
    "Text": spaces.Text(3),
    "Tuple": spaces.Tuple([spaces.Discrete(3), spaces.MultiBinary(2)]),
    "Dict": spaces.Dict({"a": spaces.Discrete(3), "b": spaces.Tuple([spaces.Discrete(2)])}),
}
HASHED: dict[str, spaces.Space[Any]] = {
    "Box": spaces.Box(-1.0, 1.0, (3,)),
    "a picture": spaces.Box(0, 255, (4, 4, 3), np.uint8),
    "without bounds": spaces.Box(-np.inf, np.inf, (2,)),
    "half bounds": spaces.Box(np.array([0.0, -np.inf]), np.array([np.inf, 0.0]), dtype=np.float64),
    "Tuple": spaces.Tuple([spaces.Discrete(3), spaces.Box(0.0, 1.0, (2,))]),
    "Dict": spaces.Dict({"a": spaces.MultiBinary(3), "b": spaces.Box(0.0, 1.0, ())}),
}


# Exactly


@pytest.mark.parametrize("name", EXACT)
def test_discrete_observations_are_told_apart_exactly(name: str) -> None:
    space = EXACT[name]
    counter = visit_counter(space, DISCRETE)
    assert isinstance(counter.observation_code, ExactCode)
    space.seed(0)
    seen: Counter[Any] = Counter()
    for _ in range(200):
        observation = space.sample()
        key = repr(observation)
        seen[key] += 1
        assert counter.visit(counter.code(observation), 1) == seen[key]
    assert len(counter.counts) == len(seen) > 1
    assert all(counter.count(code, 0) == 0 for code, _ in counter.counts)


def test_whole_numbers_in_a_box_are_exact_on_demand() -> None:
    picture = HASHED["a picture"]
    assert is_exact(picture)
    assert isinstance(visit_counter(picture, DISCRETE).observation_code, SimHash)
    counter = visit_counter(picture, DISCRETE, "exact")
    one, other = np.zeros((2, 4, 4, 3), np.uint8)
    other[0, 0, 0] = 1
    assert counter.code(one) != counter.code(other)


@pytest.mark.parametrize("observation", [3, np.int64(3), np.array(3), np.array([3])])
def test_an_observation_is_the_same_in_whatever_form(observation: Any) -> None:
    assert visit_counter(DISCRETE, DISCRETE).code(observation) == 3


# By a hash


@pytest.mark.parametrize("name", HASHED)
def test_every_space_that_can_be_flattened_can_be_hashed(name: str) -> None:
    space = HASHED[name]
    counter = visit_counter(space, DISCRETE)
    assert isinstance(counter.observation_code, SimHash)
    space.seed(0)
    codes = {counter.code(space.sample()) for _ in range(50)}
    assert len(codes) > 1
    assert all(isinstance(code, int) and 0 <= code < 2**32 for code in codes)


# Actions, and codes of one's own


def test_counts_are_per_action() -> None:
    counter = visit_counter(DISCRETE, spaces.MultiDiscrete([2, 2]))
    assert [counter.visit(0, a) for a in ([0, 1], [1, 0], np.array([0, 1]))] == [1, 1, 2]


def test_actions_that_are_not_discrete_are_hashed() -> None:
    counter = visit_counter(DISCRETE, spaces.Box(-2.0, 2.0, (1,)))
    assert [counter.visit(0, a) for a in ([-1.9], [1.9], np.array([1.9001]))] == [1, 1, 2]


def test_any_function_may_say_what_is_the_same() -> None:
    counter = visit_counter(HASHED["Box"], DISCRETE, lambda observation: np.round(observation[0], 1))
    assert counter.code(np.array([0.52, 0, 0])) == 0.5
    assert type(counter.code(np.array([0.52, 0, 0]))) is float


# Saving


def counters() -> dict[str, VisitCounter]:
    box = HASHED["Box"]
    return {
        **{name: visit_counter(space, DISCRETE) for name, space in EXACT.items()},
        **{f"hashed {name}": visit_counter(space, DISCRETE) for name, space in HASHED.items()},
        "70 bits": visit_counter(box, DISCRETE, bits=70),
        "hashed actions": visit_counter(DISCRETE, box),
        "other actions": visit_counter(box, EXACT["Dict"]),
    }


def used(counter: VisitCounter, space: spaces.Space[Any], actions: spaces.Space[Any]) -> VisitCounter:
    space.seed(1)
    actions.seed(1)
    for _ in range(50):
        counter.visit(counter.code(space.sample()), actions.sample())
    return counter


def spaces_of(counter: VisitCounter) -> tuple[Any, Any]:
    observation, action = counter.observation_code, counter.action_code
    assert isinstance(observation, SimHash | ExactCode)
    assert isinstance(action, SimHash | ExactCode)
    return observation.space, action.space


@pytest.mark.parametrize("name", counters())
def test_counts_are_saved_as_arrays_and_restored(name: str) -> None:
    counter = used(counters()[name], *spaces_of(counters()[name]))
    arrays = counter.state_dict()
    assert all(array.dtype.kind in "biufU" for array in arrays.values())
    again = counters()[name]
    for code in (again.observation_code, again.action_code):
        if isinstance(code, SimHash):  # as if it had been drawn by another version of NumPy
            code.projection = Projection(code.projection.matrix[::-1], *code.projection[1:])
    again.load_state_dict(arrays)
    assert again.counts == counter.counts
    space, actions = spaces_of(counter)
    space.seed(2)
    for _ in range(20):
        observation, action = space.sample(), actions.sample()
        assert again.visit(again.code(observation), action) == counter.visit(
            counter.code(observation), action
        )


def test_codes_of_one_s_own_are_restored() -> None:
    codes = [0, -1, 2**70, 1.5, "it's\n\0", b"\x00\xff", None, True, (1, ("a", 2.5)), ()]
    counter = VisitCounter(lambda observation: codes[observation])
    for i in range(len(codes)):
        counter.visit(counter.code(i), i)
    again = VisitCounter(lambda observation: codes[observation])
    again.load_state_dict(counter.state_dict())
    assert again.counts == counter.counts
    assert [type(code) for code, _ in again.counts] == [type(code) for code, _ in counter.counts]


def test_nothing_counted_is_saved_and_restored_too() -> None:
    counter = used(visit_counter(DISCRETE, DISCRETE), DISCRETE, DISCRETE)
    counter.load_state_dict(visit_counter(DISCRETE, DISCRETE).state_dict())
    assert counter.counts == {}


def test_a_counter_can_be_copied_and_sent() -> None:
    counter = used(visit_counter(HASHED["Box"], DISCRETE), HASHED["Box"], DISCRETE)
    for again in (copy.deepcopy(counter), pickle.loads(pickle.dumps(counter))):  # noqa: S301 - our own
        assert again.counts == counter.counts
        assert again.counts is not counter.counts
        assert again.code([0.1, 0.2, 0.3]) == counter.code([0.1, 0.2, 0.3])


# Mistakes


def unhashable(observation: Any) -> Any:
    return [observation]


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (
            lambda: visit_counter(HASHED["Box"], DISCRETE, "exact"),
            (
                "counter is 'exact', but Box(-1.0, 1.0, (3,), float32) is not discrete, so no count"
                " would ever grow; take 'simhash' or a function"
            ),
        ),
        (lambda: visit_counter(DISCRETE, DISCRETE, "exat"), "counter is 'exat'; did you mean 'exact'?"),
        (
            lambda: visit_counter(DISCRETE, DISCRETE, 3),  # type: ignore[arg-type]
            (
                "counter is 3; it must be 'auto', 'exact', 'simhash', a function from an observation to"
                " its code, or a VisitCounter"
            ),
        ),
        (lambda: visit_counter(HASHED["Box"], DISCRETE, bits=0), "bits must be at least 1, got 0"),
        (lambda: visit_counter(HASHED["Box"], DISCRETE, seed=-1), "seed must be at least 0, got -1"),
        (
            lambda: visit_counter(spaces.Sequence(DISCRETE), DISCRETE),
            (
                "Sequence(Discrete(5), stack=False) cannot be hashed by projection; give a counter: a"
                " function from an observation to its code"
            ),
        ),
        (
            lambda: VisitCounter(unhashable).code(1),
            (
                "counter gave [1], a list, for an observation; it must be hashable, such as a number, a"
                " string or a tuple"
            ),
        ),
        (lambda: SimHash(HASHED["Box"], bounds=(1.0, 0.0)), "bounds: low must nowhere be above high"),
        (
            lambda: SimHash(HASHED["Box"], bounds=(1.0, [1.0, 2.0])),
            "bounds: high must be 3 numbers or one, got 2",
        ),
        (
            lambda: SimHash(HASHED["Box"], bounds=1.0),  # type: ignore[arg-type]
            "bounds is 1.0; it must be two: the low and the high end",
        ),
    ],
)
def test_mistakes_are_said_in_one_line(what: Any, message: str) -> None:
    with pytest.raises(ht.InputError) as caught:
        what()
    assert str(caught.value) == message


def test_a_code_that_cannot_be_read_back_is_not_saved() -> None:
    for code in (frozenset([1]), math.inf, object):
        counter = VisitCounter({0: code}.__getitem__)
        counter.visit(counter.code(0), 0)
        with pytest.raises(
            ht.InputError,
            match=r"^the code .* cannot be saved; codes of numbers, strings and tuples of them can$",
        ):
            counter.state_dict()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": None}, "counts is missing"),
        ({"counts": np.array([1.0])}, "counts is float64[1] where int64[n] is expected"),
        ({"counts": np.array([0] * 5)}, "counts must be at least 1 and at most 9007199254740992 each"),
        ({"actions": None}, "actions must be 5 codes, and is missing"),
        ({"actions": np.array([1], np.uint64)}, "actions must be 5 codes, got uint64[1]"),
        (
            {"observations": np.array(["1", "2", "3", "4", "__import__('os')"])},
            "observations has a code that cannot be read",
        ),
        (
            {"observations": np.array(["1", "2", "3", "4", "[]"])},
            "observations has a code that cannot be read",
        ),
        (
            {"observation_hash/matrix": np.zeros((3, 3))},
            "it was made with a SimHash, observation_hash, and this wrapper has none",
        ),
    ],
)
def test_counts_that_do_not_fit_are_refused_and_nothing_changes(change: dict[str, Any], message: str) -> None:
    counter = VisitCounter(int)
    for i in range(5):
        counter.visit(i, i)
    arrays = {name: array for name, array in (counter.state_dict() | change).items() if array is not None}
    with pytest.raises(ht.InputError) as caught:
        counter.load_state_dict(arrays)
    assert str(caught.value) == message
    assert counter.counts == {(i, i): 1 for i in range(5)}


def test_counts_of_another_hash_are_refused() -> None:
    box = HASHED["Box"]
    with pytest.raises(
        ht.InputError,
        match=r"^observation_hash/matrix is float64\[16, 3\] where float64\[32, 3\] is expected$",
    ):
        visit_counter(box, DISCRETE).load_state_dict(visit_counter(box, DISCRETE, bits=16).state_dict())
    with pytest.raises(ht.InputError, match=r"^observation_hash/matrix is missing$"):
        visit_counter(box, DISCRETE).load_state_dict(visit_counter(DISCRETE, DISCRETE).state_dict())
