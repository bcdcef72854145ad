"""Mistakes are one line each, and importing is light."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heavytail import statistics as s
from heavytail.errors import InputError
from heavytail.statistics.location import location_of
from support.processes import python

RNG = np.random.default_rng(0)
X = np.arange(6.0)
NAN, INF, CUBE = [0.0, np.nan], [[0.0, 1.0], [2.0, np.inf]], np.zeros((2, 2, 2))

TAKE_VALUES: dict[str, Callable[[Any], Any]] = {
    "median": s.median,
    "interquartile_mean": s.interquartile_mean,
    "mean_and_deviation": s.mean_and_deviation,
    "location_of": lambda x: location_of(x, "mean"),
    "quantiles": lambda x: s.quantiles(x, [0.5]),
    "bootstrap_interval": lambda x: s.bootstrap_interval(x, rng=RNG),
    "heavy.median": s.heavy.median,
    "heavy.quantile_interval": lambda x: s.heavy.quantile_interval(x, 0.3),
}
TAKE_TWO: dict[str, Callable[[Any, Any], Any]] = {
    "probability_of_improvement": s.probability_of_improvement,
    "permutation_test": lambda a, b: s.permutation_test(a, b, rng=RNG),
    "paired_permutation_test": lambda a, b: s.paired_permutation_test(a, b, rng=RNG),
}


@pytest.mark.parametrize("function", TAKE_VALUES.values(), ids=TAKE_VALUES.keys())
def test_what_is_no_sample_is_refused(function: Callable[[Any], Any]) -> None:
    for values, message in (
        (NAN, r"^values\[1\] is nan; no value may be missing$"),
        ([], r"^values has shape \(0,\); there must be at least [12] runs?, each with its numbers$"),
        (np.empty((3, 0)), r"^values has shape \(3, 0\); there must be at least"),
        (CUBE, r"^values has shape \(2, 2, 2\); it must be \[run\] or \[run, checkpoint\]$"),
        (1.0, r"^values has shape \(\); it must be \[run\]"),
        (["a"], r"^values must be a regular array of numbers"),
    ):
        with pytest.raises(InputError, match=message):
            function(values)


def test_more_resamples_than_can_be_drawn_are_refused() -> None:
    for call in (
        lambda: s.bootstrap_interval(X, rng=RNG, resamples=2**53),
        lambda: s.growth_exponent(np.ones((3, 4)), [1, 2, 3, 4], rng=RNG, resamples=2**53),
        lambda: s.permutation_test(X, X, rng=RNG, resamples=2**53),
        lambda: s.paired_permutation_test(X, X, rng=RNG, resamples=2**53),
    ):
        with pytest.raises(InputError, match=r"^resamples is 9.01e\+15; it must be at most 10,000,000$"):
            call()


@pytest.mark.parametrize("name", [n for n in TAKE_VALUES if not n.startswith("heavy")])
def test_infinite_values_are_sent_elsewhere(name: str) -> None:
    with pytest.raises(
        InputError, match=r"^values\[1, 1\] is inf; it must be finite, or see heavytail\.statistics\.heavy$"
    ):
        TAKE_VALUES[name](INF)


@pytest.mark.parametrize("function", TAKE_TWO.values(), ids=TAKE_TWO.keys())
def test_what_are_no_two_samples_is_refused(function: Callable[[Any, Any], Any]) -> None:
    for a, b, message in (
        (NAN, X, r"^a\[1\] is nan; no value may be missing$"),
        (X, NAN, r"^b\[1\] is nan; no value may be missing$"),
        (X, [], r"^b has shape \(0,\); there must be at least"),
        (CUBE, X, r"^a has shape \(2, 2, 2\); it must be \[run\]"),
    ):
        with pytest.raises(InputError, match=message):
            function(a, b)


MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: location_of(X, "medain"), r"there is no statistic 'medain'; did you mean 'median'\?"),
    (
        lambda: s.bootstrap_interval(X, "std", rng=RNG),
        "there is no statistic 'std'; choose from: interquartile_mean, mean, median",
    ),
    (lambda: s.permutation_test(X, X, np.median, rng=RNG), "there is no statistic <function median"),  # type: ignore[arg-type]
    (
        lambda: s.bootstrap_interval(X, rng=RNG, confidence=95),
        "confidence is 95; it must be above 0 and below 1; 95 percent is 0.95",
    ),
    (
        lambda: s.bootstrap_interval(X, rng=RNG, confidence=1.0),
        "confidence is 1.0; it must be above 0 and below 1",
    ),
    (
        lambda: s.bootstrap_interval(X, rng=RNG, confidence=0.0),
        "confidence is 0.0; it must be above 0 and below 1",
    ),
    (
        lambda: s.heavy.median_interval(X, confidence=np.nan),
        "confidence is nan; it must be above 0 and below 1",
    ),
    (
        lambda: s.heavy.quantile(X, [0.1, 0.2]),  # type: ignore[arg-type]
        r"level has shape \(2,\); it must be one number above 0 and below 1",
    ),
    (
        lambda: s.bootstrap_interval(X, rng=0),  # type: ignore[arg-type]
        r"rng is of type int; it must be a numpy\.random\.Generator, such as numpy\.random\.default_rng\(0\)",
    ),
    (lambda: s.permutation_test(X, X, rng=np.random), "rng is of type module; it must be a numpy"),  # type: ignore[arg-type]
    (
        lambda: s.bootstrap_interval(X, rng=RNG, resamples=0),
        "resamples must be a whole number, at least 1, got 0",
    ),
    (
        lambda: s.bootstrap_interval(X, rng=RNG, resamples=39),
        "resamples is 39; a confidence of 0.95 takes at least 40",
    ),
    (lambda: s.permutation_test(X, X, rng=RNG, resamples=1.5), "resamples must be whole numbers, got 1.5"),  # type: ignore[arg-type]
    (
        lambda: s.bootstrap_interval([1.0], rng=RNG),
        r"values has shape \(1,\); there must be at least 2 runs, each with its numbers",
    ),
    (lambda: s.mean_and_deviation([1.0]), r"values has shape \(1,\); there must be at least 2 runs"),
    (
        lambda: s.probability_of_improvement(X, X[:, None]),
        r"a has shape \(6,\) and b has shape \(6, 1\); they may differ in the number of runs only",
    ),
    (lambda: s.permutation_test(X[:, None], X, rng=RNG), r"a has shape \(6, 1\); it must be \[run\]"),
    (
        lambda: s.paired_permutation_test(X, X[1:], rng=RNG),
        "a has 6 runs and b has 5; paired runs must be as many",
    ),
    (lambda: s.quantiles(X, [0.5, 1.5]), r"levels\[1\] is 1.5; it must be from 0 to 1"),
    (
        lambda: s.quantiles(X, 0.5),
        r"levels has shape \(\); it must be a list of one or more numbers from 0 to 1",
    ),
    (lambda: s.holm([0.5, np.nan]), r"p_values\[1\] is nan; it must be from 0 to 1"),
    (lambda: s.holm([]), r"p_values has shape \(0,\); it must be a list of one or more numbers from 0 to 1"),
]


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_mistakes_are_one_line(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}") as caught:
        call()
    assert "\n" not in str(caught.value)


def test_arguments_are_left_as_they_were() -> None:
    x = np.array([[3.0, 1.0], [1.0, 2.0], [2.0, 0.0]])
    kept = x.copy()
    for function in TAKE_VALUES.values():
        function(x)
    for name, test in TAKE_TWO.items():
        test(x, x) if "permutation" not in name else test(x[:, 0], x[:, 1])
    np.testing.assert_array_equal(x, kept)


def test_importing_is_light_and_names_are_sorted(tmp_path: Path) -> None:
    script = (
        "import sys, heavytail.statistics; print([m for m in ('scipy', 'numba', 'pandas') if m in"
        " sys.modules])"
    )
    assert python(script, folder=tmp_path) == "[]"
    assert s.__all__ == sorted(s.__all__)
    assert all(hasattr(s, name) for name in s.__all__)
