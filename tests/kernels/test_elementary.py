"""Elementary functions and powers of counts against Python's decimals, exact to forty digits here."""

import importlib.util
import math
from collections.abc import Callable
from decimal import Decimal, getcontext, localcontext
from typing import Any

import numpy as np
import pytest

from heavytail.arrays import Floats
from heavytail.kernels import compiling, elementary
from heavytail.kernels.compiling import entry
from heavytail.kernels.count_powers import count_power, make_count_powers

DIGITS = 40
N = 1000


@pytest.fixture(autouse=True)
def _many_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getcontext(), "prec", DIGITS)


def exact_sin(x: float) -> Decimal:
    square = Decimal(x) ** 2
    term = total = Decimal(x)
    k = 1
    while abs(term) > abs(total) * Decimal(10) ** -DIGITS:
        term *= -square / ((k + 1) * (k + 2))
        total += term
        k += 2
    return total


def exact_expm1(x: float) -> Decimal:
    with localcontext(prec=DIGITS + 300):  # the 1 that is taken away is so much larger than the smallest x
        return Decimal(x).exp() - 1


def last_places(value: float, exact: Decimal) -> float:
    """The error, in units of the last place of the exact value."""
    return float(abs(Decimal(value) - exact) / Decimal(math.ulp(float(exact))))


def spread(lower: float, upper: float, *extremes: float) -> list[float]:
    return [*np.random.default_rng(1).uniform(lower, upper, N).tolist(), *extremes]


HALF_PI = 0.5 * math.pi
SINES = spread(-HALF_PI, HALF_PI, -HALF_PI, HALF_PI, 1e-300, -1e-9, math.pi * 2.0**-53)
LOGS = [
    *spread(0.0, 1.0, 2.0**-53, 1.0 - 2.0**-53, 1.0, math.nextafter(1.0, 2.0), 2.0**-1022, 1.7e308),
    *(10.0**x for x in spread(-300.0, 300.0)),
    *(math.sqrt(0.5) * (1.0 + k * 2.0**-52) for k in range(-3, 4)),  # where the exponent changes
]
MAX_ARGUMENT = math.nextafter(709.0, 0.0)
EXPM1S = [
    *spread(0.0, 1.0),
    *spread(0.0, MAX_ARGUMENT),
    *(10.0**x for x in spread(-300.0, math.log10(MAX_ARGUMENT))),
    1e-300,
    2.0**-53,
    MAX_ARGUMENT,
]
EXPS = spread(-708.0, 709.0, -708.0, math.nextafter(709.0, 0.0), 0.0, 1e-20, -1e-20, *spread(-1.0, 1.0))


@pytest.mark.parametrize(
    ("name", "points", "exact", "within"),
    [
        ("sin", SINES, exact_sin, 2.0),
        ("log", LOGS, lambda x: Decimal(x).ln(), 1.0),
        ("exp", EXPS, lambda x: Decimal(x).exp(), 1.0),
        ("expm1", EXPM1S, exact_expm1, 3.0),
    ],
)
def test_errors_are_within_one_to_three_units_in_the_last_place(
    name: str, points: list[float], exact: Callable[[float], Decimal], within: float
) -> None:
    function = getattr(elementary, name)
    assert max(last_places(function(x), exact(x)) for x in points if x != 0.0 and exact(x) != 0) <= within


BASES = [*(10.0**x for x in spread(-300.0, 300.0)), *spread(0.5, 2.0), *map(float, range(1, 600))]


@pytest.mark.parametrize("p", [0.05 / 1.05, 0.5, 1.0, 1.05, 2.0, 22.0])
def test_the_error_of_a_power_grows_with_the_exponent(p: float) -> None:
    """The logarithm is within a unit and its product with p within half a one more.

    In the last places of the power these count twice at most, and `exp` adds its own.
    """
    ordinary = [x for x in BASES if -708.0 < p * math.log(x) < MAX_ARGUMENT]
    errors = [last_places(elementary.power(x, p), Decimal(x) ** Decimal(p)) for x in ordinary]
    assert all(error <= 1.0 + 3.0 * abs(p * math.log(x)) for x, error in zip(ordinary, errors, strict=True))


def test_powers_at_the_ends_of_the_range() -> None:
    for p in (0.3, 1.0, 1.05):
        assert elementary.power(0.0, p) == 0.0
        assert elementary.power(1.0, p) == 1.0
    for p in (1.0, 1.05, 2.0):
        assert elementary.power(math.inf, p) == math.inf
        assert elementary.power(5e-324, p) == 0.0


def test_what_is_exact() -> None:
    assert elementary.log(1.0) == 0.0
    assert elementary.exp(0.0) == 1.0
    assert elementary.sin(0.0) == elementary.expm1(0.0) == 0.0
    assert elementary.sin(-0.25) == -elementary.sin(0.25)


def test_exp_is_infinite_above_and_zero_below() -> None:
    assert [elementary.exp(x) for x in (709.0, 1e300, math.inf)] == [math.inf] * 3
    assert [elementary.exp(x) for x in (math.nextafter(-708.0, -709.0), -1e300, -math.inf)] == [0.0] * 3
    assert [elementary.expm1(x) for x in (709.0, 1e300, math.inf)] == [math.inf] * 3


def _all_sin(x: Floats, out: Floats) -> None:
    for i in range(x.size):
        out[i] = elementary.sin(x[i])


def _all_log(x: Floats, out: Floats) -> None:
    for i in range(x.size):
        out[i] = elementary.log(x[i])


def _all_exp(x: Floats, out: Floats) -> None:
    for i in range(x.size):
        out[i] = elementary.exp(x[i])


def _all_expm1(x: Floats, out: Floats) -> None:
    for i in range(x.size):
        out[i] = elementary.expm1(x[i])


def _all_power(x: Floats, out: Floats) -> None:
    for i in range(x.size):
        out[i] = elementary.power(x[i], ORDER)


@pytest.fixture(scope="module")
def plain() -> Any:
    """The module once more, with kernels that are plain Python, and so are those inside them."""
    spec = importlib.util.find_spec("heavytail.kernels.elementary")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(compiling, "kernel", lambda function: function)
        spec.loader.exec_module(module)
    return module


ORDER = 1.05
BEYOND = [1e300, -1e300, math.inf]


@pytest.mark.parametrize(
    ("loop", "points", "more"),
    [
        (_all_sin, SINES, ()),
        (_all_log, LOGS, ()),
        (_all_exp, [*EXPS, *BEYOND], ()),
        (_all_expm1, [*EXPM1S, 0.0, 709.0, math.inf], ()),
        (_all_power, [*BASES, 0.0, 5e-324, math.inf], (ORDER,)),
    ],
)
def test_a_vector_of_them_has_the_bits_of_plain_python(
    loop: Callable[[Floats, Floats], None], points: list[float], more: tuple[float, ...], plain: Any
) -> None:
    x = np.array(points)
    vector, alone = np.empty_like(x), np.empty_like(x)
    entry(loop)(x, vector)
    function = getattr(plain, loop.__name__.removeprefix("_all_"))
    with np.errstate(all="ignore"):
        alone[:] = [function(float(value), *more) for value in x]
    assert vector.tobytes() == alone.tobytes()


def counts() -> list[float]:
    large = 2.0 ** np.random.default_rng(2).uniform(0.0, 53.0, N)
    return [*map(float, range(1, 600)), *np.floor(large).tolist(), *(2.0**k for k in range(63))]


@pytest.mark.parametrize("p", [-0.5, -0.25, -0.05 / 1.05, -1e-6])
def test_powers_are_within_three_units_in_the_last_place(p: float) -> None:
    powers = make_count_powers(p)
    assert max(last_places(count_power(powers, t), Decimal(t) ** Decimal(p)) for t in counts()) <= 3.0


def test_powers_of_plain_python_have_the_same_bits() -> None:
    powers, plain = make_count_powers(-0.3), getattr(count_power, "py_func", count_power)
    assert [count_power(powers, t) for t in counts()] == [plain(powers, t) for t in counts()]


def test_one_to_any_power_is_about_one() -> None:
    assert count_power(make_count_powers(-0.5), 1.0) == pytest.approx(1.0, rel=1e-15)
