"""Means, tail indices and absolute moments, against closed forms and independent quadrature.

Where a closed form is known the relative tolerance is 1e-12: a few hundred roundings of quadrature. Where the
reference is itself a quadrature, the tolerance is what that reference is worth, and is said there.
"""

import math
from itertools import pairwise
from typing import Any

import pytest
import scipy.stats
from scipy.integrate import quad
from scipy.special import hyp1f1, ndtr

from heavytail.errors import InputError
from heavytail.laws.alpha_stable import alpha_stable
from heavytail.laws.bernoulli import bernoulli
from heavytail.laws.constant import constant
from heavytail.laws.empirical import empirical
from heavytail.laws.law import Law
from heavytail.laws.log_normal import log_normal
from heavytail.laws.normal import normal
from heavytail.laws.pareto import pareto
from heavytail.laws.student_t import student_t
from heavytail.registry import registered

CLOSED = 1e-12
NAN, INF = math.nan, math.inf

MEANS: list[tuple[Law, float]] = [
    (constant(2.5), 2.5),
    (normal(loc=-1.5, scale=4.0), -1.5),
    (bernoulli(p=0.25, loc=1.0, scale=8.0), 3.0),
    (empirical([1.0, 2.0, 6.0], loc=1.0, scale=2.0), 7.0),
    (log_normal(sigma=2.0, loc=1.0, scale=3.0), 1.0 + 3.0 * math.exp(2.0)),
    (student_t(df=1.5, loc=0.5, scale=7.0), 0.5),
    (student_t(df=1.0), NAN),
    (student_t(df=0.5), NAN),
    (pareto(alpha=1.5, loc=1.0, scale=2.0), 7.0),
    (pareto(alpha=1.0), INF),
    (pareto(alpha=0.5, loc=-1e9), INF),
    (pareto(alpha=1.5, loc=1.0, scale=2.0, symmetric=True), 1.0),
    (pareto(alpha=1.0, symmetric=True), NAN),
    (alpha_stable(alpha=1.1, beta=0.7, loc=2.0, scale=3.0), 2.0),
    (alpha_stable(alpha=2.0, loc=2.0), 2.0),
    (alpha_stable(alpha=1.0), NAN),
    (alpha_stable(alpha=1.0, beta=0.5), NAN),
    # The light side of a totally skewed law has a mean, so the heavy side decides, at alpha = 1 as below.
    (alpha_stable(alpha=1.0, beta=1.0), INF),
    (alpha_stable(alpha=1.0, beta=-1.0), -INF),
    (alpha_stable(alpha=0.7, beta=1.0), INF),
    (alpha_stable(alpha=0.7, beta=-1.0), -INF),
    (alpha_stable(alpha=0.7, beta=0.9), NAN),
]
TAIL_INDICES: list[tuple[Law, float]] = [
    (constant(2.5), INF),
    (normal(), INF),
    (bernoulli(p=0.25), INF),
    (empirical([1.0, 2.0]), INF),
    (log_normal(sigma=2.0), INF),
    (student_t(df=1.5), 1.5),
    (pareto(alpha=0.6), 0.6),
    (pareto(alpha=1.5, symmetric=True), 1.5),
    (alpha_stable(alpha=1.1), 1.1),
    (alpha_stable(alpha=0.5, beta=1.0), 0.5),
    (alpha_stable(alpha=1.0, beta=-1.0), 1.0),
    (alpha_stable(alpha=2.0), INF),
]
ONE_OF_EACH = list({law.name: law for law, _ in TAIL_INDICES}.values())


def own_laws() -> set[str]:
    return {r.name for r in registered("law") if r.builder.__module__.startswith("heavytail.laws.")}


# Means and tail indices


@pytest.mark.parametrize("table", [MEANS, TAIL_INDICES], ids=["means", "tail_indices"])
def test_every_registered_law_stands_in_the_table(table: list[tuple[Law, float]]) -> None:
    missing = own_laws() - {law.name for law, _ in table}
    assert not missing, f"add {', '.join(sorted(missing))} to the table"


@pytest.mark.parametrize(("law", "mean"), MEANS, ids=str)
def test_the_mean_is_what_it_should_be(law: Law, mean: float) -> None:
    assert law.mean() == pytest.approx(mean, rel=1e-15, abs=0, nan_ok=True)


@pytest.mark.parametrize(("law", "tail_index"), TAIL_INDICES, ids=str)
def test_the_tail_index_is_what_it_should_be(law: Law, tail_index: float) -> None:
    assert law.tail_index == tail_index


@pytest.mark.parametrize("law", [law for law, index in TAIL_INDICES if index < INF], ids=str)
def test_moments_are_infinite_exactly_from_the_tail_index_on(law: Law) -> None:
    below = law.moment(law.tail_index * (1.0 - 1e-9), center=0.3)
    assert math.isfinite(below)
    assert below > 1e6
    assert law.moment(law.tail_index, center=0.3) == INF
    assert law.moment(2.0 * law.tail_index, center=0.3) == INF


@pytest.mark.parametrize("law", [law for law, index in TAIL_INDICES if index == INF], ids=str)
def test_moments_of_light_laws_are_finite(law: Law) -> None:
    assert math.isfinite(law.moment(8.0, center=0.3))


@pytest.mark.parametrize("law", ONE_OF_EACH, ids=str)
@pytest.mark.parametrize(
    ("p", "center"), [(0.0, 0.0), (-1.0, 0.0), (NAN, 0.0), (INF, 0.0), (0.3, NAN), (0.3, INF), (0.3, -INF)]
)
def test_a_bad_power_or_center_is_refused(law: Law, p: float, center: float) -> None:
    with pytest.raises(
        InputError,
        match=f"{law.name}.moment: p must be above 0 and both numbers finite, got p={p}, center={center}",
    ):
        law.moment(p, center)


# Other closed forms


def normal_moment(loc: float, p: float) -> float:
    """E|Z + loc|**p by Kummer's function."""
    return float(
        2.0 ** (0.5 * p)
        * math.gamma(0.5 * (1.0 + p))
        / math.sqrt(math.pi)
        * hyp1f1(-0.5 * p, 0.5, -0.5 * loc * loc)
    )


@pytest.mark.parametrize("p", [0.01, 0.5, 1.0, 1.05, 2.0, 3.7, 8.0, 30.0])
@pytest.mark.parametrize("loc", [0.0, 1e-3, 0.06402830055511033, 1.0, 4.0])
def test_normal_moments_have_their_closed_form(loc: float, p: float) -> None:
    assert normal(2.0 + 3.0 * loc, 3.0).moment(p, 2.0) == pytest.approx(
        3.0**p * normal_moment(loc, p), rel=CLOSED
    )


def test_at_alpha_two_stable_is_normal_with_twice_the_variance() -> None:
    assert alpha_stable(2.0, 0.5, 1.0, 3.0).moment(2.5, 0.0) == normal(1.0, 3.0 * math.sqrt(2.0)).moment(
        2.5, 0.0
    )


@pytest.mark.parametrize(
    ("df", "p"),
    [
        (0.05, 0.0005),
        (0.05, 0.04995),
        (0.7, 0.35),
        (1.5, 1.05),
        (1.5, 1.4985),
        (3.0, 0.01),
        (3.0, 2.9),
        (20.0, 2.0),
        (20.0, 19.9),
        (50.0, 25.0),
    ],
)
def test_central_student_moments_have_their_closed_form(df: float, p: float) -> None:
    logarithm = (
        0.5 * p * math.log(df)
        + math.lgamma(0.5 * (p + 1.0))
        + math.lgamma(0.5 * (df - p))
        - math.lgamma(0.5 * df)
    )
    expected = 2.0**p * math.exp(logarithm) / math.sqrt(math.pi)
    assert student_t(df, 1.0, 2.0).moment(p, 1.0) == pytest.approx(expected, rel=CLOSED)


@pytest.mark.parametrize("loc", [0.3, -5.0, 100.0])
def test_second_student_moment_adds_the_square_of_the_shift(loc: float) -> None:
    assert student_t(3.5, loc, 2.0).moment(2.0) == pytest.approx(4.0 * 3.5 / 1.5 + loc * loc, rel=CLOSED)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize(
    ("alpha", "p"),
    [
        (0.05, 0.0005),
        (0.05, 0.04995),
        (0.6, 0.3),
        (1.5, 1.05),
        (1.5, 1.4985),
        (3.0, 0.01),
        (3.0, 2.9),
        (20.0, 2.0),
        (20.0, 19.9),
        (50.0, 2.0),
        (50.0, 25.0),
    ],
)
def test_pareto_moments_about_loc_have_their_closed_form(alpha: float, p: float, symmetric: bool) -> None:
    expected = 2.0**p * alpha / (alpha - p)
    assert pareto(alpha, 3.0, 2.0, symmetric).moment(p, 3.0) == pytest.approx(expected, rel=CLOSED)


def pareto_first_moment(alpha: float, center: float) -> float:
    """E|Y - center| of the one-sided law: the mean distance and twice what lies below."""
    below = (center - 1.0) - (1.0 - center ** (1.0 - alpha)) / (alpha - 1.0) if center > 1.0 else 0.0
    return alpha / (alpha - 1.0) - center + 2.0 * below


@pytest.mark.parametrize("alpha", [1.2, 2.5, 12.0])
@pytest.mark.parametrize("center", [-7.0, 0.0, 0.5, 1.0, 1.0001, 3.0, 1000.0])
def test_first_pareto_moments_about_any_point_have_their_closed_form(alpha: float, center: float) -> None:
    right, left = pareto_first_moment(alpha, center), pareto_first_moment(alpha, -center)
    assert pareto(alpha, 4.0, 2.0).moment(1.0, 4.0 + 2.0 * center) == pytest.approx(2.0 * right, rel=CLOSED)
    assert pareto(alpha, 4.0, 2.0, symmetric=True).moment(1.0, 4.0 + 2.0 * center) == pytest.approx(
        right + left, rel=CLOSED
    )


@pytest.mark.parametrize("center", [-7.0, 0.0, 1.0, 3.0])
def test_second_pareto_moments_about_any_point_have_their_closed_form(center: float) -> None:
    raw, mean = 2.5 / 0.5, 2.5 / 1.5
    assert pareto(2.5).moment(2.0, center) == pytest.approx(raw - 2.0 * mean * center + center**2, rel=CLOSED)
    assert pareto(2.5, symmetric=True).moment(2.0, center) == pytest.approx(raw + center**2, rel=CLOSED)


@pytest.mark.parametrize(
    ("sigma", "p"),
    [(0.1, 3.0), (1.0, 0.01), (1.0, 1.05), (1.0, 30.0), (3.0, 4.0), (10.0, 0.1), (10.0, 1.0), (0.05, 12.0)],
)
def test_log_normal_moments_about_loc_have_their_closed_form(sigma: float, p: float) -> None:
    assert log_normal(sigma, 3.0, 2.0).moment(p, 3.0) == pytest.approx(
        2.0**p * math.exp(0.5 * (p * sigma) ** 2), rel=CLOSED
    )


@pytest.mark.parametrize("sigma", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("center", [-7.0, 0.0, 0.2, 1.0, 1.6, 50.0])
def test_first_two_log_normal_moments_about_any_point_have_their_closed_form(
    sigma: float, center: float
) -> None:
    mean, square = math.exp(0.5 * sigma**2), math.exp(2.0 * sigma**2)
    below = (
        center * ndtr(math.log(center) / sigma) - mean * ndtr(math.log(center) / sigma - sigma)
        if center > 0
        else 0.0
    )
    assert log_normal(sigma, 4.0, 2.0).moment(1.0, 4.0 + 2.0 * center) == pytest.approx(
        2.0 * (mean - center + 2.0 * below), rel=CLOSED
    )
    assert log_normal(sigma).moment(2.0, center) == pytest.approx(
        square - 2.0 * mean * center + center**2, rel=CLOSED
    )


@pytest.mark.parametrize("p", [0.5, 1.05, 3.0])
@pytest.mark.parametrize("center", [-2.0, 1.0, 3.0, 7.0])
def test_moments_of_laws_with_atoms_are_plain_sums(center: float, p: float) -> None:
    assert constant(3.0).moment(p, center) == abs(3.0 - center) ** p
    assert bernoulli(0.25, 3.0, 4.0).moment(p, center) == pytest.approx(
        0.25 * abs(7.0 - center) ** p + 0.75 * abs(3.0 - center) ** p, rel=1e-15
    )


@pytest.mark.parametrize(
    ("law", "twin", "p", "center"),
    [
        (student_t(1.5), scipy.stats.t(1.5), 1.05, 0.8),
        (student_t(4.0), scipy.stats.t(4.0), 2.6, -3.0),
        (pareto(2.2), scipy.stats.pareto(2.2), 1.05, 2.2 / 1.2),
        (pareto(2.2), scipy.stats.pareto(2.2), 0.4, 1.5),
        (log_normal(1.0), scipy.stats.lognorm(1.0), 1.05, math.exp(0.5)),
        (log_normal(2.0), scipy.stats.lognorm(2.0), 0.6, 4.0),
    ],
)
def test_moments_between_the_whole_ones_agree_with_quadrature_over_the_density(
    law: Law, twin: Any, p: float, center: float
) -> None:
    """In x = center +- exp(t), where the kink is at t = -inf and power tails are exponential.

    Rel is what an infinite range costs quad.
    """

    def integrand(t: float) -> Any:
        return math.exp((p + 1.0) * t) * (twin.pdf(center + math.exp(t)) + twin.pdf(center - math.exp(t)))

    edge = math.log(center - twin.support()[0]) if math.isfinite(twin.support()[0]) else 0.0
    marks = [-60.0, edge - 20.0, edge - 5.0, edge, edge + 5.0, edge + 20.0, 150.0]
    expected = sum(quad(integrand, a, b, epsabs=0.0, epsrel=1e-11, limit=500)[0] for a, b in pairwise(marks))
    assert law.moment(p, center) == pytest.approx(expected, rel=1e-9)
