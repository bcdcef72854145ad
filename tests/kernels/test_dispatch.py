import inspect
from typing import Any, NamedTuple

import numpy as np
import pytest

from heavytail.arrays import Floats, Ints
from heavytail.kernels import verbs
from heavytail.kernels.compiling import entry
from heavytail.kernels.dispatch import _choose_among, generic, switch


class Square(NamedTuple):
    side: float


class Framed(NamedTuple):
    inner: Square
    border: float


@generic()
def area(shape: Any) -> float:  # type: ignore[empty-body]
    """The area."""


@generic(optional=True)
def corners(shape: Any) -> int:
    """How many corners there are; most shapes have four."""
    return 4


@area.method(Square)
def _square(shape: Any) -> float:
    return shape.side * shape.side


@area.method(Framed)
def _framed(shape: Any) -> float:
    return area(shape.inner) + shape.border


@corners.method(Framed)
def _framed_corners(shape: Any) -> int:
    return 8


def _both(shape: Any, out: Floats) -> None:
    out[0], out[1] = area(shape), corners(shape)


@pytest.mark.parametrize(("shape", "expected"), [(Square(3.0), [9, 4]), (Framed(Square(3.0), 1.0), [10, 8])])
def test_the_method_is_chosen_by_class_in_python_and_compiled(shape: Any, expected: list[float]) -> None:
    out: Floats = np.zeros(2)
    entry(_both, shape)(shape, out)
    assert [area(shape), corners(shape)] == out.tolist() == expected


class Shapeless(NamedTuple):
    x: float


def test_a_missing_method_says_what_to_write() -> None:
    with pytest.raises(TypeError, match=r"area: no method for Shapeless; write one under @area\.method"):
        area(Shapeless(1.0))


def test_a_method_must_have_the_verbs_parameters() -> None:
    with pytest.raises(
        TypeError, match=r"area of Shapeless: parameters are \('thing',\), they must be \('shape',\)"
    ):
        area.method(Shapeless)(lambda thing: 0.0)


def test_a_method_cannot_be_registered_twice() -> None:
    with pytest.raises(TypeError, match="area of Square is already registered"):
        area.method(Square)(lambda shape: 0.0)


@switch
def coin(code: int, x: float) -> float:  # type: ignore[empty-body]
    """Chosen by a number."""


@coin.case(7)
def _heads(x: float) -> float:
    return x + 1.0


@coin.case(3)
def _tails(x: float) -> float:
    return -x


def _tossed(codes: Ints, x: float, out: Floats) -> None:
    for k in range(codes.size):
        out[k] = coin(codes[k], x)


def test_a_switch_is_chosen_by_number_and_knows_what_it_does_not_know() -> None:
    codes, out = np.array([7, 3, 5]), np.zeros(3)
    entry(_tossed)(codes, 2.0, out)
    np.testing.assert_array_equal(out, [3.0, -2.0, np.nan])
    np.testing.assert_array_equal([coin(code, 2.0) for code in (7, 3, 5)], out)


@pytest.mark.parametrize("n", range(9))
def test_a_switch_finds_each_of_n_cases_and_nothing_else(n: int) -> None:
    cases = {3 * k + 1: float(k) for k in range(n)}
    kernels: dict[int, Any] = {code: lambda x, k=k: x + k for code, k in cases.items()}
    choose = _choose_among(kernels, inspect.signature(lambda code, x: 0.0))
    found = [choose(code, 0.5) for code in range(3 * n + 3)]
    np.testing.assert_array_equal(found, [cases.get(code, np.nan) + 0.5 for code in range(3 * n + 3)])


def test_a_case_cannot_be_added_twice_nor_after_the_first_call() -> None:
    @switch
    def fresh(code: int) -> float:  # type: ignore[empty-body]
        """One more."""

    fresh.case(1)(lambda: 1.0)
    with pytest.raises(TypeError, match="case 1 is already registered"):
        fresh.case(1)(lambda: 2.0)
    assert fresh(1) == 1.0
    with pytest.raises(TypeError, match="before the first run"):
        fresh.case(2)(_heads)


def test_the_verbs_and_their_signatures() -> None:
    signatures = {
        "begin": ("agent", "s", "rng"),
        "act": ("agent", "s", "h", "rng"),
        "update": ("agent", "s", "a", "r", "s_next", "h", "terminated", "rng"),
        "reset": ("record",),
        "push": ("estimator", "cell", "x"),
        "mean": ("estimator", "cell", "log_confidence"),
        "radius": ("estimator", "cell", "log_confidence"),
    }
    for name, parameters in signatures.items():
        verb = getattr(verbs, name)
        assert verb.parameters == parameters
        assert verb.__doc__


def test_optional_verbs_have_defaults() -> None:
    nobody, out = Shapeless(1.0), np.full(2, 9.0)
    rng = np.ones(4, np.uint64)
    assert verbs.begin(nobody, 0, rng) is None
    assert verbs.full(nobody) is False
    assert verbs.write_counters(nobody, out) is None
    assert out.tolist() == [9.0, 9.0]
    for required in (verbs.act, verbs.update, verbs.reset, verbs.push, verbs.mean, verbs.radius):
        with pytest.raises(TypeError, match="no method for Shapeless"):
            required(nobody, *range(len(required.parameters) - 1))
