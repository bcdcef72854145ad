"""What the laws draw, against SciPy and against their own kernels.

Every statistical test has a fixed seed, so that it cannot fail by chance one day. `LEVEL` is its false alarm
rate: how likely a sound sampler would have been refused by the seed that was chosen.
"""

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.stats

from heavytail.arrays import Floats
from heavytail.errors import InputError
from heavytail.kernels.rng import pair, stream
from heavytail.laws.alpha_stable import alpha_stable
from heavytail.laws.bernoulli import bernoulli
from heavytail.laws.constant import constant
from heavytail.laws.empirical import empirical
from heavytail.laws.law import Law, law_table
from heavytail.laws.log_normal import log_normal
from heavytail.laws.normal import normal
from heavytail.laws.pareto import pareto
from heavytail.laws.student_t import student_t
from heavytail.laws.table import draw_law, law_code
from heavytail.registry import registered

LEVEL = 1e-4
N = 1_000_000
N_TAIL = 2_000_000
GRID = 400
SMALLEST_U, LARGEST_U = 2.0**-53, 1.0 - 2.0**-53
SMALLEST_E, LARGEST_E = 2.0**-53, 53.0 * math.log(2.0)

STABLE = [
    (1.1, 0.0, 0.0, 1.0), (1.5, 0.5, 0.0, 1.0), (1.5, 1.0, 0.0, 1.0), (0.8, -0.7, 0.0, 1.0),
    (1.0, 0.5, 0.0, 1.0), (1.0, -1.0, 0.0, 1.0), (2.0, 0.0, 0.0, 1.0), (0.5, 1.0, 0.0, 1.0),
    (1.9, -1.0, 0.0, 1.0), (1.0, 0.0, 0.3, 1.7), (1.0, 0.5, 0.3, 1.7), (1.3, -0.4, 0.3, 1.7),
]  # fmt: skip
DATA = (1.0, 4.0, 4.0, -2.5)


def stable_cdf(*given: float) -> Callable[[Floats], Floats]:
    twin = scipy.stats.levy_stable(*given)
    # Nearer to zeta than this SciPy gives the cdf of zeta itself; its own 0.005 makes the cdf wrong by 0.002,
    # which the test would blame on us.
    twin.dist.piecewise_x_tol_near_zeta = 1e-7
    return twin.cdf


def symmetric_pareto_cdf(alpha: float, loc: float, scale: float) -> Callable[[Floats], Floats]:
    one_sided = scipy.stats.pareto(alpha, 0.0, scale)
    return lambda x: 0.5 * (one_sided.cdf(x - loc) + one_sided.sf(loc - x))


# The SciPy twin of every law: the cdf of one that has a density, the atoms of one that has not.
CONTINUOUS: list[tuple[Law, Callable[[Floats], Floats]]] = [
    (normal(), scipy.stats.norm().cdf),
    (normal(loc=-2.0, scale=3.0), scipy.stats.norm(-2.0, 3.0).cdf),
    *((alpha_stable(*given), stable_cdf(*given)) for given in STABLE),
    *((student_t(df), scipy.stats.t(df).cdf) for df in (0.7, 1.5, 3.0)),
    (student_t(1.5, loc=4.0, scale=0.2), scipy.stats.t(1.5, 4.0, 0.2).cdf),
    (pareto(1.5), scipy.stats.pareto(1.5).cdf),
    (pareto(0.6, loc=-1.0, scale=2.0), scipy.stats.pareto(0.6, -1.0, 2.0).cdf),
    (pareto(1.5, symmetric=True), symmetric_pareto_cdf(1.5, 0.0, 1.0)),
    (pareto(1.2, loc=-1.0, scale=2.0, symmetric=True), symmetric_pareto_cdf(1.2, -1.0, 2.0)),
    (log_normal(), scipy.stats.lognorm(1.0).cdf),
    (log_normal(sigma=2.0, loc=-1.0, scale=3.0), scipy.stats.lognorm(2.0, -1.0, 3.0).cdf),
]
DISCRETE: list[tuple[Law, Any]] = [
    (constant(2.5), scipy.stats.rv_discrete(values=([2.5], [1.0]))),
    (bernoulli(p=0.3), scipy.stats.rv_discrete(values=([0.0, 1.0], [0.7, 0.3]))),
    (bernoulli(p=1e-3, loc=-1.0, scale=50.0), scipy.stats.rv_discrete(values=([-1.0, 49.0], [0.999, 0.001]))),
    (bernoulli(p=0.0), scipy.stats.rv_discrete(values=([0.0], [1.0]))),
    (bernoulli(p=1.0), scipy.stats.rv_discrete(values=([1.0], [1.0]))),
    (empirical(DATA), scipy.stats.rv_discrete(values=([-2.5, 1.0, 4.0], [0.25, 0.25, 0.5]))),
    (
        empirical(DATA, loc=10.0, scale=-2.0),
        scipy.stats.rv_discrete(values=([2.0, 8.0, 15.0], [0.5, 0.25, 0.25])),
    ),
]
VARYING = [law for law, _ in CONTINUOUS] + [law for law, twin in DISCRETE if len(twin.xk) > 1]
ALL = [law for law, _ in [*CONTINUOUS, *DISCRETE]]
EXTREME = [
    student_t(df=0.05),
    log_normal(sigma=300.0),
    pareto(alpha=0.01),
    pareto(alpha=0.01, symmetric=True),
    *(alpha_stable(alpha=0.05, beta=beta) for beta in (-1.0, -0.5, 0.0, 1.0)),
]


def plain_draw(law: Law) -> Any:
    """The law's kernel as plain Python."""
    return draw_law.cases[law_code(law.name)]


def drawn_by_hand(law: Law, size: int, seed: int) -> Floats:
    table, rng, draw = law_table([law]), stream(seed), plain_draw(law)
    with np.errstate(over="ignore"):  # compiled code wraps whole numbers and overflows floats silently
        return np.array([draw(table, 0, *pair(rng)) for _ in range(size)])


def test_every_registered_law_has_a_twin() -> None:
    own = {r.name for r in registered("law") if r.builder.__module__.startswith("heavytail.laws.")}
    missing = own - {law.name for law in ALL}
    assert not missing, f"add the SciPy twin of {', '.join(sorted(missing))} to CONTINUOUS or DISCRETE"


@pytest.mark.parametrize(("law", "cdf"), CONTINUOUS, ids=[str(law) for law, _ in CONTINUOUS])
def test_draws_follow_the_law_of_the_twin(law: Law, cdf: Callable[[Floats], Floats]) -> None:
    """Kolmogorov and Smirnov, with the distance taken at `GRID` points only.

    SciPy's stable cdf is slow, and a smaller distance alarms no oftener.
    """
    draws = np.sort(law.sample(N, seed=31))
    ranks = np.linspace(0, N - 1, GRID).astype(int)
    with warnings.catch_warnings(action="ignore"):  # SciPy's own, of its quadrature
        expected = cdf(draws[ranks])
    distance = np.maximum(expected - ranks / N, (ranks + 1) / N - expected).max()
    assert scipy.stats.kstwo(N).sf(distance) > LEVEL


@pytest.mark.parametrize(("law", "twin"), DISCRETE, ids=[str(law) for law, _ in DISCRETE])
def test_draws_take_the_values_of_the_twin_as_often(law: Law, twin: Any) -> None:
    values, counts = np.unique(law.sample(N, seed=32), return_counts=True)
    assert values.tolist() == twin.xk.tolist()
    assert len(values) == 1 or scipy.stats.chisquare(counts, N * twin.pk).pvalue > LEVEL


@pytest.mark.parametrize(("p", "scale"), [(0.5, 1.0), (1e-3, -7.0)])
def test_bernoulli_successes_are_binomial(p: float, scale: float) -> None:
    successes = np.count_nonzero(bernoulli(p=p, scale=scale).sample(N, seed=33) == scale)
    assert scipy.stats.binomtest(successes, N, p).pvalue > LEVEL


# Far tails


def stable_tail_terms(alpha: float, beta: float) -> list[float]:
    """The first factors of x**-alpha, x**(-2 alpha), ...

    In P(X > x), of Bergstrom's series for alpha other than 1; the first is the tail constant.
    """
    skew = beta * math.tan(0.5 * math.pi * alpha)
    size, angle = math.hypot(1.0, skew), 0.5 * math.pi * alpha + math.atan(skew)
    return [
        (-1) ** (k + 1) * math.gamma(alpha * k) / math.factorial(k) * size**k * math.sin(angle * k) / math.pi
        for k in (1, 2, 3, 4)
    ]


def stable_far_out(alpha: float, beta: float, tail: float) -> tuple[float, float]:
    """A threshold that is passed with a probability of about `tail`, and that probability.

    What the series leaves out is below 1e-7 of it.
    """
    terms = stable_tail_terms(alpha, beta)
    power = tail / terms[0]
    return power ** (-1.0 / alpha), math.fsum(c * power ** (k + 1) for k, c in enumerate(terms))


def far_out(twin: Any, tail: float) -> tuple[float, float]:
    return twin.isf(tail), tail


FAR: list[tuple[Law, Callable[[float], tuple[float, float]]]] = [
    *(
        (alpha_stable(alpha, beta), partial(stable_far_out, alpha, beta))
        for alpha, beta in ((1.1, 0.0), (1.5, 0.5), (0.8, -0.7), (0.5, 1.0))
    ),
    (student_t(1.5), partial(far_out, scipy.stats.t(1.5))),
    (pareto(1.5), partial(far_out, scipy.stats.pareto(1.5))),
]


@pytest.mark.parametrize("tail", [1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize(("law", "threshold"), FAR, ids=[str(law) for law, _ in FAR])
def test_the_far_tail_is_as_frequent_as_it_should_be(
    law: Law, threshold: Callable[[float], tuple[float, float]], tail: float
) -> None:
    x, probability = threshold(tail)
    lower, upper = scipy.stats.binom.interval(1.0 - LEVEL, N_TAIL, probability)
    assert lower <= np.count_nonzero(law.sample(N_TAIL, seed=34) > x) <= upper


@pytest.mark.parametrize("law", [alpha_stable(1.1), student_t(1.5), pareto(1.5, symmetric=True)], ids=str)
def test_both_far_tails_of_a_symmetric_law_are_equally_frequent(law: Law) -> None:
    draws = law.sample(N_TAIL, seed=35)
    far = np.quantile(np.abs(draws), 1.0 - 1e-3)
    above, below = np.count_nonzero(draws > far), np.count_nonzero(draws < -far)
    assert scipy.stats.binomtest(above, above + below, 0.5).pvalue > LEVEL


@pytest.mark.parametrize("u", [2.0**-53, 3.0 * 2.0**-53, 2.0**-40 + 2.0**-53, 2.0**-30 + 2.0**-53])
@pytest.mark.parametrize("alpha", [0.5, 1.1, 1.9])
def test_the_farthest_stable_draws_lie_on_the_power_of_the_tail(alpha: float, u: float) -> None:
    """At the edge only the power of the cosine varies.

    |X| is (pi u)**(-1/alpha) times a limit, up to terms of order u, of which alpha pi cot(pi alpha / 2) is
    the largest factor.
    """
    law, e = alpha_stable(alpha), 0.7
    table, draw = law_table([law]), plain_draw(law)
    limit = math.sin(0.5 * math.pi * alpha) * (math.cos(0.5 * math.pi * (1.0 - alpha)) / e) ** (
        1.0 / alpha - 1.0
    )
    assert -draw(table, 0, u, e) * (math.pi * u) ** (1.0 / alpha) == pytest.approx(
        limit, rel=50.0 * u + 1e-12
    )
    assert draw(table, 0, 1.0 - u, e) * (math.pi * u) ** (1.0 / alpha) == pytest.approx(
        limit, rel=50.0 * u + 1e-12
    )


# What a draw is made of


@pytest.mark.parametrize("law", ALL, ids=str)
def test_fewer_draws_are_the_first_of_more(law: Law) -> None:
    assert law.sample(100, seed=41)[:10].tobytes() == law.sample(10, seed=41).tobytes()


@pytest.mark.parametrize("law", [*ALL, *EXTREME], ids=str)
def test_draw_k_is_the_plain_python_kernel_on_pair_k_bit_for_bit(law: Law) -> None:
    assert law.sample(1000, seed=42).tobytes() == drawn_by_hand(law, 1000, seed=42).tobytes()


def test_laws_in_one_table_draw_as_each_alone() -> None:
    table = law_table(ALL)
    for i, law in enumerate(ALL):
        with np.errstate(over="ignore"):
            u, e = pair(stream(i))
        assert plain_draw(law)(table, i, u, e) == law.sample(1, seed=i)[0]


def test_a_code_that_no_law_has_draws_nan() -> None:
    assert math.isnan(draw_law(law_code("no such law"), law_table([normal()]), 0, 0.5, 1.0))


@pytest.mark.parametrize("law", ALL, ids=str)
def test_a_seed_gives_the_same_draws_each_time(law: Law) -> None:
    assert law.sample(100, seed=43).tobytes() == law.sample(100, seed=43).tobytes()
    assert law.sample(100, seed=43).tobytes() == law.sample(100, np.random.SeedSequence(43)).tobytes()


@pytest.mark.parametrize("law", VARYING, ids=str)
def test_different_seeds_give_different_draws(law: Law) -> None:
    assert law.sample(10_000, seed=44).tobytes() != law.sample(10_000, seed=45).tobytes()


# The ends of the range


def test_no_draws_may_be_asked_for() -> None:
    assert normal().sample(0).shape == (0,)


@pytest.mark.parametrize("law", ALL, ids=str)
def test_a_negative_number_of_draws_is_refused(law: Law) -> None:
    with pytest.raises(
        InputError, match=f"{law.name}.sample: size must be a whole number, at least 0, got -1"
    ):
        law.sample(-1)


def test_more_draws_than_fit_the_memory_are_refused() -> None:
    with pytest.raises(InputError, match=r"normal\.sample: 1,000,000,000,000 samples"):
        normal().sample(10**12)


@pytest.mark.parametrize("law", EXTREME, ids=str)
def test_extreme_parameters_give_infinities_but_no_nan(law: Law) -> None:
    assert not np.isnan(law.sample(N, seed=46)).any()


@pytest.mark.parametrize("law", [*ALL, *EXTREME], ids=str)
def test_the_extreme_pairs_give_no_nan(law: Law) -> None:
    table, draw = law_table([law]), plain_draw(law)
    with np.errstate(over="ignore"):
        for u in (SMALLEST_U, 0.5 - 2.0**-53, 0.5 + 2.0**-53, LARGEST_U):
            for e in (SMALLEST_E, LARGEST_E):
                assert not math.isnan(draw(table, 0, u, e)), (u, e)


@pytest.mark.parametrize(("u", "expected"), [(SMALLEST_U, DATA[0]), (LARGEST_U, DATA[-1])])
def test_the_extreme_uniforms_reach_the_first_and_the_last_of_the_data(u: float, expected: float) -> None:
    law = empirical(DATA)
    assert plain_draw(law)(law_table([empirical([7.0]), law]), 1, u, 1.0) == expected
