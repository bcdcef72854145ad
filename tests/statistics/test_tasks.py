"""Several tasks at once: against the obvious computation, and what changes nothing."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heavytail.errors import InputError
from heavytail.statistics import bootstrap_interval, stratified_interval, winning_shares

VALUES = st.lists(st.sampled_from([-math.inf, -1.0, 0.0, 0.5, 2.0, 1e300]), min_size=1, max_size=6)
TASK = st.dictionaries(st.sampled_from("abcd"), VALUES, min_size=2)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def beats(x: float, y: float) -> float:
    return 0.5 if x == y else float(x > y)


@given(st.lists(TASK, min_size=1, max_size=3))
def test_shares_are_those_of_all_pairs(tasks: list[dict[str, list[float]]]) -> None:
    shares = winning_shares(tasks, rng=rng(), resamples=50)
    for name in {name for task in tasks for name in task}:
        by_task = []
        for task in tasks:
            others = [y for other, values in task.items() if other != name for y in values]
            if name in task:
                by_task.append(np.mean([beats(x, y) for x, y in product(task[name], others)]))
        assert float(shares[name].estimate) == pytest.approx(np.mean(by_task))


@given(TASK)
def test_only_the_order_of_runs_matters(task: dict[str, list[float]]) -> None:
    cubed = {name: [float(np.cbrt(x)) for x in values] for name, values in task.items()}
    plain, changed = (winning_shares([each], rng=rng(), resamples=50) for each in (task, cubed))
    assert plain.keys() == changed.keys()
    np.testing.assert_array_equal([*plain.values()], [*changed.values()])


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Of 100 samples at 95 %; fewer than 87 has probability 0.001, were they not a little short."""
    held = 0
    for seed in range(100):
        draw = rng(seed)
        tasks = [{"a": draw.normal(0.5, 1.0, 25), "b": draw.normal(0.0, 1.0, 25)} for _ in range(3)]
        _, low, high = winning_shares(tasks, rng=draw, resamples=200)["a"]
        held += bool(low <= 0.638163 <= high)  # P(N(0.5, 2) > 0)
    assert held >= 87


def test_an_agent_alone_has_no_share_and_single_runs_no_interval() -> None:
    shares = winning_shares([{"a": [1.0], "b": [0.0]}, {"c": [1.0, 2.0]}][:1], rng=rng())
    assert shares.keys() == {"a", "b"}
    assert math.isnan(shares["a"].low)
    assert winning_shares([{"c": [1.0, 2.0]}], rng=rng()) == {}


def test_one_task_is_the_plain_bootstrap() -> None:
    values = rng(1).standard_cauchy(40)
    plain = bootstrap_interval(values, "interquartile_mean", rng=rng())
    assert np.allclose(stratified_interval([values], rng=rng()), plain)


def test_runs_are_drawn_within_their_task() -> None:
    """Two tasks that differ, without any noise: nothing to resample."""
    interval = stratified_interval([[0.0] * 5, [1.0] * 5], "mean", rng=rng())
    assert [float(x) for x in interval] == [0.5, 0.5, 0.5]


def test_mistakes_are_one_line() -> None:
    with pytest.raises(InputError, match=r"tasks\[1\] has shape \(1,\); there must be at least 2 runs"):
        stratified_interval([[1.0, 2.0], [1.0]], rng=rng())
    with pytest.raises(InputError, match=r"tasks\[0\]\[1\] is nan"):
        winning_shares([{"a": [1.0, math.nan], "b": [0.0]}], rng=rng())
