"""Moments where quadrature is hard, and properties that hold for the moments of all laws."""

import math
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from heavytail.laws.alpha_stable import alpha_stable
from heavytail.laws.bernoulli import bernoulli
from heavytail.laws.constant import constant
from heavytail.laws.empirical import empirical
from heavytail.laws.law import Law
from heavytail.laws.log_normal import log_normal
from heavytail.laws.normal import normal
from heavytail.laws.pareto import pareto
from heavytail.laws.student_t import student_t
from support.examples import examples

CLOSED = 1e-12
INF = math.inf


# Where quadrature is hard


@pytest.mark.parametrize("loc", [1e3, 1e6, 1e9])
@pytest.mark.parametrize(
    ("make", "deviation"),
    [
        (normal, 1.0),
        (lambda loc: student_t(5.0, loc), math.sqrt(5.0 / 3.0)),
        (lambda loc: pareto(4.0, loc), math.sqrt(2.0) / 3.0),
        (lambda loc: pareto(4.0, loc, symmetric=True), math.sqrt(2.0)),
        (lambda loc: log_normal(0.5, loc), math.sqrt(math.expm1(0.25) * math.exp(0.25))),
    ],
    ids=["normal", "student_t", "pareto", "symmetric_pareto", "log_normal"],
)
def test_far_from_the_center_a_moment_is_the_power_of_the_mean_distance(
    make: Callable[[float], Law], deviation: float, loc: float
) -> None:
    """To second order, E|X|**p = mean**p (1 + p (p - 1) / 2 (deviation / mean)**2).

    The third order is below 1e-9 (1e3 / mean)**3 / 4.
    """
    law, p = make(loc), 1.5
    second = 0.5 * p * (p - 1.0) * (deviation / law.mean()) ** 2
    assert law.moment(p) / law.mean() ** p == pytest.approx(1.0 + second, rel=2e-12 + 0.25 * loc**-3.0)


@pytest.mark.parametrize("loc", [1e3, 1e6, 1e9])
def test_a_common_shift_of_law_and_center_costs_no_digits(loc: float) -> None:
    assert normal(loc).moment(1.5, loc) == normal().moment(1.5)
    assert student_t(2.0, loc).moment(1.5, loc) == student_t(2.0).moment(1.5)
    assert pareto(2.0, loc).moment(1.5, loc) == pytest.approx(4.0, rel=CLOSED)
    assert log_normal(1.0, loc).moment(1.5, loc) == pytest.approx(math.exp(1.125), rel=CLOSED)
    assert alpha_stable(1.5, 0.5, loc).moment(1.2, loc) == alpha_stable(1.5, 0.5).moment(1.2)


@pytest.mark.parametrize(
    ("law", "p", "rel"),
    [
        # Narrow, seen from afar: |X| is its mean, up to the square (or the power alpha) of scale / loc.
        (student_t(1.924809205583171, -1069.9119109902747, 0.003931225756419365), 0.23995768208011106, 1e-10),
        (student_t(8.014662498227542, -1893.3718869132538, 0.013952687457522317), 0.4633457444355454, 1e-10),
        (pareto(3.207873772847127, 2707.026124033799, 0.0053510183552771175), 0.3533333500763451, 1e-10),
        (
            pareto(12.715745185031901, -1666.489937253556, 0.0014957782496806849, symmetric=True),
            2.6394412193584205,
            1e-10,
        ),
        (log_normal(0.08276609584433467, 20373.555062241936, 4.3670716239485525), 1.1856825599648309, 1e-10),
        (alpha_stable(1.9, 0.5, 1e4, 1e-3), 1.5, 1e-10),
    ],
    ids=str,
)
def test_a_narrow_law_seen_from_afar_has_the_power_of_its_mean_as_moment(
    law: Law, p: float, rel: float
) -> None:
    assert law.moment(p) == pytest.approx(abs(law.mean()) ** p, rel=rel)


@pytest.mark.parametrize("sigma", [1e-3, 1e-6])
def test_a_narrow_log_normal_about_its_median_has_its_closed_form(sigma: float) -> None:
    """Rounding moves x by 1e-16, which is 1e-16 / sigma of the law's width."""
    expected = math.exp(0.5 * sigma**2) * math.erf(sigma / math.sqrt(2.0))
    assert log_normal(sigma).moment(1.0, 1.0) == pytest.approx(expected, rel=CLOSED + 1e-15 / sigma)


@pytest.mark.parametrize(
    "law",
    [
        log_normal(300.0),
        normal(scale=1e200),
        constant(1e200),
        bernoulli(0.5, scale=1e200),
        empirical([1e200]),
        alpha_stable(1.9, scale=1e200),
        student_t(3.0, scale=1e200),
        pareto(3.0, scale=1e200),
    ],
    ids=str,
)
def test_a_moment_beyond_the_floats_is_infinite(law: Law) -> None:
    assert law.moment(1.8) == INF


def test_a_mean_beyond_the_floats_is_infinite() -> None:
    assert log_normal(300.0).mean() == INF


# Properties of all moments

# Eighths, so that shifting and scaling by the numbers below is exact and what is compared is the same law.
eighths = st.integers(-80, 80).map(lambda k: k / 8)
shapes = st.sampled_from([0.3, 0.6, 0.9, 1.1, 1.3, 1.5, 1.9])
skews = st.sampled_from([-1.0, -0.5, 0.0, 0.7, 1.0])
Family = Callable[[float, float], Law]  # a law by its loc and scale

families: st.SearchStrategy[Family] = st.one_of(
    st.just(normal),
    shapes.map(lambda df: lambda loc, scale: student_t(2.0 * df, loc, scale)),
    st.builds(
        lambda alpha, symmetric: lambda loc, scale: pareto(2.0 * alpha, loc, scale, symmetric),
        shapes,
        st.booleans(),
    ),
    shapes.map(lambda sigma: lambda loc, scale: log_normal(sigma, loc, scale)),
    st.builds(lambda alpha, beta: lambda loc, scale: alpha_stable(alpha, beta, loc, scale), shapes, skews),
    st.just(lambda loc, scale: alpha_stable(1.0, 0.0, loc, scale)),
    st.builds(lambda p: lambda loc, scale: bernoulli(p, loc, scale), st.floats(0.0, 1.0)),
    st.builds(
        lambda data: lambda loc, scale: empirical(data, loc, scale), st.lists(eighths, min_size=1, max_size=5)
    ),
    st.just(lambda loc, scale: constant(loc)),
)
fractions = st.floats(0.02, 0.98)
steady = examples(150)


def power(law: Law, fraction: float) -> float:
    """A power at which the law has a moment."""
    return fraction * min(law.tail_index, 4.0)


@steady
@given(families, eighths, eighths, fractions, st.sampled_from([0.125, 0.5, 2.0, 64.0, 1024.0]))
def test_scaling_a_law_and_its_center_scales_the_moment(
    family: Family, loc: float, center: float, fraction: float, scale: float
) -> None:
    law = family(loc, 1.0)
    p = power(law, fraction)
    assert family(scale * loc, scale).moment(p, scale * center) == pytest.approx(
        scale**p * law.moment(p, center), rel=CLOSED, abs=0
    )


@steady
@given(families, eighths, eighths, fractions, st.integers(-1000, 1000))
def test_shifting_a_law_and_its_center_changes_no_moment(
    family: Family, loc: float, center: float, fraction: float, shift: int
) -> None:
    law = family(loc, 2.0)
    p = power(law, fraction)
    assert family(loc + shift, 2.0).moment(p, center + shift) == pytest.approx(
        law.moment(p, center), rel=1e-11, abs=0
    )


@steady
@given(families, eighths, eighths, fractions, fractions)
def test_the_norm_grows_with_the_power(
    family: Family, loc: float, center: float, first: float, second: float
) -> None:
    law = family(loc, 2.0)
    p, q = sorted((power(law, first), power(law, second)))
    # At equal powers, or of a constant, both sides are the same number, computed twice; 1 / p multiplies the
    # rounding.
    assert law.moment(p, center) ** (1.0 / p) <= law.moment(q, center) ** (1.0 / q) * (1.0 + CLOSED / p)


@steady
@given(families, eighths, eighths, st.floats(1.0, 4.0))
def test_from_power_one_on_a_moment_is_at_least_the_power_of_the_mean_distance(
    family: Family, loc: float, center: float, p: float
) -> None:
    law = family(loc, 2.0)
    assume(law.tail_index > p)
    assert law.moment(p, center) >= abs(law.mean() - center) ** p * (1.0 - CLOSED)


@steady
@given(st.lists(eighths, min_size=1, max_size=20), eighths, eighths, eighths, st.floats(0.05, 5.0))
def test_the_moment_of_data_is_the_plain_mean(
    data: list[float], loc: float, scale: float, center: float, p: float
) -> None:
    expected = math.fsum(abs(loc + scale * x - center) ** p for x in data) / len(data)
    assert empirical(data, loc, scale).moment(p, center) == pytest.approx(expected, rel=1e-14, abs=0)
