"""Two groups of runs are found where they are, and rarely where they are not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heavytail.statistics.location import two_groups

LAWS: dict[str, Callable[[np.random.Generator, Any], Any]] = {
    "normal": lambda rng, size: rng.normal(size=size),
    "uniform": lambda rng, size: rng.random(size),
    "exponential": lambda rng, size: rng.exponential(size=size),
    "log-normal": lambda rng, size: rng.lognormal(size=size),
    "student": lambda rng, size: rng.standard_t(2.0, size=size),
    "pareto": lambda rng, size: rng.pareto(1.5, size=size),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [4, 5, 10, 20])
def test_one_law_is_seldom_split(law: str, n: int) -> None:
    """At most 6% as the docstring says: more than 30 of 300 samples then come with probability 0.002."""
    samples = LAWS[law](np.random.default_rng(0), (300, n))
    assert sum(two_groups(sample) is not None for sample in samples) <= 30


@pytest.mark.parametrize("n", [5, 10, 20])
def test_runs_that_got_stuck_are_told_from_others(n: int) -> None:
    """With two in five stuck at thirty times the deviation: nearly always."""
    rng, stuck = np.random.default_rng(1), np.arange(n) < 2 * n // 5
    found = [two_groups(rng.normal(size=n) + 30.0 * stuck) for _ in range(100)]
    sizes = [(len(split[0]), len(split[1])) for split in found if split is not None]
    assert set(sizes) == {(n - stuck.sum(), stuck.sum())}
    assert len(sizes) >= 80


@given(st.lists(st.floats(-1e9, 1e9), max_size=30))
def test_groups_are_all_values_with_a_gap_between(values: list[float]) -> None:
    found = two_groups(values)
    if found is not None:
        low, high = found
        assert [*low, *high] == sorted(values)
        assert high[0] - low[-1] > 0.1 * max(map(abs, values))
        assert min(len(low), len(high)) >= max(2, 0.2 * len(values))


def test_differences_that_matter_to_nobody_and_infinite_values_are_no_groups() -> None:
    assert two_groups([100.0, 100.0, 101.0, 101.0]) is None
    assert two_groups([1.0, 1.0, np.inf, np.inf]) is None
    assert two_groups([1.0, 1.0, 2.0, 2.0]) is not None
