"""The moments of the stable laws against closed forms and quadrature of another kind."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from heavytail.laws.alpha_stable import alpha_stable

CLOSED = 1e-12


# The reference numbers of the paper's experiments: symmetric stable, alpha 1.1, p 1.05, to the digits of the
# reading notes


@pytest.mark.parametrize(
    ("loc", "scale", "p", "center", "printed"),
    [
        (0.0, 1.0, 1.05, 0.0, "13.26256"),
        (1.7, 1.0, 1.05, 1.7, "13.26256"),
        (0.0, 5.0, 1.05, 0.0, "71.870"),
        (0.5, 1.0, 1.05, 0.0, "13.3414"),
        (1.0, 1.0, 1.05, 0.0, "13.5567"),
        (1.2, 1.0, 1.05, 0.0, "13.6717"),
        (1.4, 1.0, 1.05, 0.0, "13.7994"),
        (1.6, 1.0, 1.05, 0.0, "13.9377"),
        (1.8, 1.0, 1.05, 0.0, "14.0851"),
        (2.0, 1.0, 1.05, 0.0, "14.2402"),
        (-1.0, 5.0, 1.05, 0.0, "71.9397"),
        (0.0, 1.0, 1.01, 0.0, "7.42"),
        (0.0, 1.0, 1.03, 0.0, "9.50"),
        (0.0, 1.0, 1.08, 0.0, "33.0"),
        (0.0, 1.0, 1.095, 0.0, "131.7"),
        (0.0, 1.0, 1.099, 0.0, "658"),
    ],
)
def test_the_moments_of_the_papers_noise_are_the_printed_ones(
    loc: float, scale: float, p: float, center: float, printed: str
) -> None:
    digits = len(printed.partition(".")[2])
    assert f"{alpha_stable(1.1, 0.0, loc, scale).moment(p, center):.{digits}f}" == printed


def test_the_integral_that_cancels_near_zero_is_a_sixth_too_small() -> None:
    """With 1 - exp(-t**alpha) for -expm1(-t**alpha), all of the integral from t = 1e-15 down is lost."""
    alpha, p = 1.1, 1.05
    x = np.linspace(-200.0, 50.0, 2_000_001)
    naive = np.trapezoid((1.0 - np.exp(-np.exp(alpha * x))) * np.exp(-p * x), x)
    naive *= 2.0 / math.pi * math.gamma(1.0 + p) * math.sin(0.5 * math.pi * p)
    assert naive == pytest.approx(10.955, abs=0.04)  # by the last bit of exp: processors differ
    assert naive < 5 / 6 * alpha_stable(alpha).moment(p)


# Stable laws


def stable_about_loc(alpha: float, beta: float, p: float) -> float:
    """E|X|**p of S(alpha, beta; 1, 0), alpha other than 1.

    Samorodnitsky and Taqqu (1994), property 1.2.17, its integral in closed form.
    """
    skew = beta * math.tan(0.5 * math.pi * alpha)
    spread = 2.0 / math.pi * math.gamma(p) * math.sin(0.5 * math.pi * p) * math.gamma(1.0 - p / alpha)
    return spread * math.hypot(1.0, skew) ** (p / alpha) * math.cos(p / alpha * math.atan(skew))


@pytest.mark.parametrize("fraction", [0.01, 0.3, 0.7, 0.95, 0.999])
@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.8, 0.99, 1.01, 1.1, 1.5, 1.9, 1.999])
@pytest.mark.parametrize("beta", [-1.0, -0.4, 0.0, 0.5, 1.0])
def test_skewed_stable_moments_about_loc_have_their_closed_form(
    alpha: float, beta: float, fraction: float
) -> None:
    p = fraction * alpha
    expected = 1.7**p * stable_about_loc(alpha, beta, p)
    assert alpha_stable(alpha, beta, 0.25, 1.7).moment(p, 0.25) == pytest.approx(expected, rel=CLOSED)


def cauchy_moment(p: float, center: float) -> float:
    """|x|**p cos(pi p / 2) is the real part on the line of (-i z)**p, harmonic above it.

    Poisson's kernel is Cauchy's density.
    """
    return (
        (1.0 + center * center) ** (0.5 * p) * math.cos(p * math.atan(center)) / math.cos(0.5 * math.pi * p)
    )


@pytest.mark.parametrize("p", [0.01, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("center", [-1e4, -2.0, -0.1, 0.0, 1e-9, 1e-3, 1.0, 30.0, 1e6])
def test_cauchy_moments_about_any_point_have_their_closed_form(center: float, p: float) -> None:
    assert alpha_stable(1.0).moment(p, center) == pytest.approx(cauchy_moment(p, center), rel=CLOSED)


def test_cauchy_moments_about_uneven_points_have_their_closed_form() -> None:
    """QUADPACK's rule for cosines is wrong on intervals of certain lengths, which depends on the last bit."""
    rng = np.random.default_rng(0)
    for center, p in zip(np.exp(rng.uniform(-3.0, 10.0, 300)), rng.uniform(0.05, 0.95, 300), strict=True):
        assert alpha_stable(1.0).moment(p, center) == pytest.approx(cauchy_moment(p, center), rel=CLOSED), (
            center,
            p,
        )


def levy_moment(p: float, center: float) -> float:
    """E|1 / Z**2 - center|**p, Z standard normal, by rules for the powers at zero and at the kink."""

    def density(z: float) -> float:
        return 2.0 * math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)

    root = math.sqrt(abs(center))
    exact = {"epsabs": 0.0, "epsrel": 1e-12}
    if center < 0:
        near = quad(
            lambda z: density(z) * (1.0 + (root * z) ** 2) ** p,
            0.0,
            1.0,
            weight="alg",
            wvar=(-2.0 * p, 0.0),
            **exact,
        )[0]
        return float(
            near + quad(lambda z: density(z) * (z**-2 + root**2) ** p, 1.0, 40.0, limit=200, **exact)[0]
        )
    kink = 1.0 / root

    def side(z: float) -> float:
        """The integrand without z**(-2 p) |z - kink|**p."""
        return density(z) * (root * (1.0 + root * z)) ** p

    near = quad(side, 0.0, kink, weight="alg", wvar=(-2.0 * p, p), **exact)[0]
    return float(
        near
        + quad(
            lambda z: side(z) * z ** (-2.0 * p),
            kink,
            kink + 40.0,
            weight="alg",
            wvar=(p, 0.0),
            limit=200,
            **exact,
        )[0]
    )


@pytest.mark.parametrize("p", [0.05, 0.25, 0.45])
@pytest.mark.parametrize(
    "center", [-154.2842926599308, -30.0, -1.6879140432909827, 0.3, 1.0, 20.0, 35.19588335511502]
)
def test_levy_moments_about_any_point_agree_with_quadrature_over_a_normal(center: float, p: float) -> None:
    """The one law that is shifted, skewed and stable and has an elementary density.

    Rel is the reference's own.
    """
    assert alpha_stable(0.5, 1.0).moment(p, center) == pytest.approx(levy_moment(p, center), rel=1e-11)
    assert alpha_stable(0.5, -1.0).moment(p, -center) == pytest.approx(levy_moment(p, center), rel=1e-11)


def skewed_at_one_moment(beta: float, p: float, center: float) -> float:
    """E|X - center|**p of S(1, beta; 1, 0) as Chambers, Mallows and Stuck make X.

    A function of a uniform angle plus a multiple of a Gumbel variate.

    The angle is pi (u - 1/2) with u = 1 / (1 + exp(-z)): in z the integrand is analytic and falls like
    exp(-(1 - p) |z|), and the trapezoid is exact.
    """
    b, step = 2.0 * beta / math.pi, 1.0 / 32.0

    def given_angle(a: float) -> float:
        inner = lambda g: abs(a + b * g) ** p * math.exp(-g - math.exp(-g))  # noqa: E731 - a formula
        low, high = -5.0, 45.0
        kink = min(max(-a / b, low), high)
        return math.fsum(
            quad(inner, x, y, epsabs=0.0, epsrel=1e-10, limit=200)[0]
            for x, y in ((low, kink), (kink, high))
            if y > x
        )

    def term(z: float) -> float:
        u, v = 1.0 / (1.0 + math.exp(-z)), 1.0 / (1.0 + math.exp(z))
        edge = 0.5 * math.pi * (1.0 - abs(beta)) + math.pi * abs(beta) * (u if beta > 0 else v)
        cosine, sine = math.sin(math.pi * min(u, v)), math.copysign(math.cos(math.pi * min(u, v)), z)
        return (
            u
            * v
            * given_angle(
                (edge * sine / cosine - beta * math.log(0.5 * math.pi * cosine / edge)) / (0.5 * math.pi)
                - center
            )
        )

    ends = int(25.0 / (1.0 - p) / step)
    return step * math.fsum(term(step * k) for k in range(-ends, ends + 1))


@pytest.mark.parametrize(
    ("beta", "p", "center"),
    [(0.5, 0.3, 0.7), (-0.4, 0.6, -2.0), (-1.0, 0.5, 0.0), (1.0, 0.5, 3.0), (0.5, 0.5, 5.865902449404771)],
)
def test_skewed_moments_at_alpha_one_agree_with_quadrature_over_the_sampler(
    beta: float, p: float, center: float
) -> None:
    """Rel is that of the reference, of which exp(-25) is cut off at the ends."""
    assert alpha_stable(1.0, beta).moment(p, center) == pytest.approx(
        skewed_at_one_moment(beta, p, center), rel=1e-10
    )


def test_the_scale_of_a_skewed_law_at_alpha_one_also_shifts_it() -> None:
    """5 X has scale 5 and location 5 loc - (2/pi) beta 5 log 5 (Samorodnitsky and Taqqu, property 1.2.3)."""
    loc = 5.0 * 0.4 - 2.0 / math.pi * 0.5 * 5.0 * math.log(5.0)
    expected = 5.0**0.6 * alpha_stable(1.0, 0.5, 0.4, 1.0).moment(0.6, 1.1)
    assert alpha_stable(1.0, 0.5, loc, 5.0).moment(0.6, 5.0 * 1.1) == pytest.approx(expected, rel=CLOSED)


@pytest.mark.parametrize("loc", [1e6, 1e9])
@pytest.mark.parametrize(("alpha", "p"), [(1.1, 1.05), (1.5, 0.7), (0.8, 0.5), (1.9, 1.7)])
def test_far_from_the_center_a_stable_moment_is_the_power_of_the_distance_and_its_first_correction(
    alpha: float, p: float, loc: float
) -> None:
    """The correction is the transform of |t|**alpha, the first term of 1 - phi.

    The next is of order loc**(-2 alpha).
    """
    first = (
        2.0
        / math.pi
        * math.gamma(1.0 + p)
        * math.sin(0.5 * math.pi * p)
        * math.gamma(alpha - p)
        * math.cos(0.5 * math.pi * (alpha - p))
    )
    ratio = alpha_stable(alpha, 0.0, loc).moment(p) / loc**p
    assert ratio == pytest.approx(1.0 + first * loc**-alpha, rel=1e-13 + 2.0 * loc ** (-2.0 * alpha))


@pytest.mark.parametrize("alpha", [1.0001, 0.9999])
def test_close_to_alpha_one_a_skewed_moment_keeps_its_closed_form(alpha: float) -> None:
    assert alpha_stable(alpha, 0.5).moment(0.5) == pytest.approx(stable_about_loc(alpha, 0.5, 0.5), rel=1e-9)
