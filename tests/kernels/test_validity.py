import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heavytail as ht
from fuzz.targets.agent_files import learn, learners
from heavytail.arrays import Floats, Ints, Record
from heavytail.errors import InputError
from heavytail.estimators.truncated_mean import TruncatedMean
from heavytail.kernels.validity import check_record
from heavytail.ranges import COUNT, FINITE, NUMBER, Fact, Range, below, blocks_fit
from support import mdps
from support.examples import examples


class Inner(NamedTuple):
    place: Ints
    size: int

    def ranges(self) -> dict[str, Range]:
        return {"place": below(self.size)}


class Outer(NamedTuple):
    inner: Inner
    table: Floats
    free: Floats
    rate: float

    def constant_fields(self) -> tuple[str, ...]:
        return ("table",)

    def facts(self) -> Iterator[Fact]:
        # It may rely on the range of the place.
        yield "the place is of nothing", self.free[self.inner.place[0]] == self.free[self.inner.place[0]]


class Silent(NamedTuple):
    value: Floats
    place: Ints


def outer() -> Outer:
    return Outer(Inner(np.zeros(1, np.int64), 3), np.arange(3.0), np.ones(3), 0.1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inner": Inner(np.array([3]), 3)}, "agent/inner/place holds 3; .* between 0 and 2"),
        ({"inner": Inner(np.array([-1]), 3)}, "agent/inner/place holds -1"),
        ({"inner": Inner(np.array([3]), 4)}, "agent/inner/size is 4, and differs from the value"),
        ({"table": np.array([0.0, 1.0, 2.1])}, "agent/table differs from the value"),
        ({"table": np.array([0.0, 1.0, math.nan])}, "agent/table differs from the value"),
        ({"rate": 0.2}, "agent/rate is 0.2, and differs"),
        ({"free": np.array([math.nan, 0.0, 0.0])}, "agent does not fit together: the place is of nothing"),
    ],
)
def test_what_is_not_valid_is_one_line(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        check_record("agent", outer()._replace(**change), outer())
    assert "\n" not in str(caught.value)


def test_another_machines_rounding_is_valid() -> None:
    check_record("agent", outer()._replace(rate=0.1 + 1e-15, table=np.arange(3.0) + 1e-14), outer())


def test_whole_numbers_of_which_a_record_says_nothing_are_not_trusted() -> None:
    silent = Silent(np.zeros(2), np.zeros(2, np.int64))
    with pytest.raises(InputError, match=r"Silent does not declare its range; its method ranges\(\) must"):
        check_record("agent", silent, silent)


@pytest.mark.parametrize(
    ("allowed", "inside", "outside"),
    [
        (COUNT, [0, 1, 2**53], [-1, 2**53 + 1, -(2**63), 2**63 - 1]),
        (below(3), [0, 2], [3, -1]),
        (NUMBER, [0.0, math.inf, -math.inf], [math.nan]),
        (FINITE, [0.0, 1e308], [math.nan, math.inf, -math.inf]),
    ],
)
def test_ranges_hold_what_they_say(allowed: Range, inside: list[Any], outside: list[Any]) -> None:
    assert allowed.holds(np.array(inside)).all()
    assert not allowed.holds(np.array(outside)).any()


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 4)), max_size=6), st.integers(0, 16))
def test_blocks_fit_where_no_place_belongs_to_two(blocks: list[tuple[int, int]], used: int) -> None:
    places = [place for start, length in blocks for place in range(start, start + length)]
    fits = len(set(places)) == len(places) and all(place < used for place in places)
    start, length = np.array(blocks, np.int64).reshape(-1, 2).T
    assert blocks_fit(start, length, used) == fits


# The records of agents and estimators


def test_records_are_valid_at_any_time() -> None:
    for learner, built in zip(learners(), learners(), strict=True):
        for units in (0, 1, 3, 20, 300):
            if units:
                learn(learner, units)
            check_record(learner.name, learner.agent, built.agent)


@pytest.mark.parametrize("agent", ["heavy_psrl", "ucrl2", "psrl", "q_learning"])
def test_records_that_met_infinite_rewards_are_valid(agent: str) -> None:
    learner, built = (ht.make_agent(mdps.infinite(), agent, seed=1) for _ in range(2))
    learn(learner, 300)
    check_record(agent, learner.agent, built.agent)


def holding() -> TruncatedMean:
    """Make a truncated mean of three cells that holds some samples and has released some."""
    estimator = ht.estimators.truncated_mean(3, epsilon=0.5, moment=1.0, max_log_confidence=1000.0)
    samples = ht.laws.pareto(1.6, symmetric=True).sample(300, seed=1)
    for cell in range(3):
        estimator.push(samples[cell::3], cell)
    estimator.mean(30.0, 1)
    return estimator.record


def fresh() -> Record:
    return ht.estimators.truncated_mean(3, epsilon=0.5, moment=1.0, max_log_confidence=1000.0).record


@given(st.data())
@examples(200)
def test_lists_that_pass_have_an_end(data: st.DataObject) -> None:
    """Whatever pointers there are, a walk from any head ends within as many steps as there are nodes."""
    record = holding()
    used = int(record.nodes_used[0])
    assert used > 8
    assert record.free_node[0] >= 0
    for _ in range(data.draw(st.integers(1, 3))):
        array = data.draw(st.sampled_from([record.head, record.next_node, record.free_node]))
        array[data.draw(st.integers(0, min(array.size, used) - 1))] = data.draw(st.integers(-1, used))
    try:
        check_record("estimator", record, fresh())
    except InputError:
        return
    for first in (*record.head, record.free_node[0]):
        node, steps = int(first), 0
        while node >= 0:
            node, steps = int(record.next_node[node]), steps + 1
            assert steps <= used
