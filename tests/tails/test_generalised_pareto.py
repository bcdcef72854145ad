import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heavytail.arrays import Floats
from heavytail.errors import InputError
from heavytail.tails.generalised_pareto import (
    MAX_SHAPE,
    MIN_SHAPE,
    GeneralisedPareto,
    confidence_below,
    fit_excesses,
    fit_shape,
)
from support.examples import examples


def draw(shape: float, k: int, seed: int) -> Floats:
    u = np.random.default_rng(seed).uniform(size=k)
    return -np.log(u) if abs(shape) < 1e-6 else (u**-shape - 1.0) / shape


def log_likelihood(y: Floats, shape: float, scale: float) -> float:
    from scipy.stats import genpareto

    return float(genpareto.logpdf(y, shape, scale=scale).sum())


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.3, 0.9, 2.0])
def test_no_other_fit_is_more_likely(shape: float) -> None:
    from scipy.stats import genpareto

    y = draw(shape, 200, seed=1)
    ours = fit_excesses(y)
    theirs = genpareto.fit(y, ours.shape, floc=0.0, scale=ours.scale)
    assert log_likelihood(y, ours.shape, ours.scale) >= log_likelihood(y, theirs[0], theirs[2]) - 1e-6
    assert fit_shape(y) == ours.shape


@examples(50)
@given(shape=st.floats(-0.4, 3.0), k=st.integers(10, 300), seed=st.integers(0, 2**32))
def test_the_estimate_is_a_maximum_within_its_interval(shape: float, k: int, seed: int) -> None:
    y = draw(shape, k, seed)
    fit = fit_excesses(y)
    assert MIN_SHAPE <= fit.shape_low <= fit.shape <= fit.shape_high <= MAX_SHAPE
    if MIN_SHAPE < fit.shape < MAX_SHAPE:
        assert confidence_below(y, fit, fit.shape) == pytest.approx(0.5, abs=1e-3)
        best = log_likelihood(y, fit.shape, fit.scale)
        for factor in (0.99, 1.01):
            assert log_likelihood(y, fit.shape, fit.scale * factor) <= best + 1e-7
    if fit.shape_low > MIN_SHAPE:
        assert confidence_below(y, fit, fit.shape_low) == pytest.approx(0.025, abs=1e-4)
    if fit.shape_high < MAX_SHAPE:
        assert confidence_below(y, fit, fit.shape_high) == pytest.approx(0.975, abs=1e-4)


@examples(20)
@given(unit=st.floats(1e-100, 1e100), seed=st.integers(0, 2**32))
def test_the_shape_does_not_depend_on_the_unit(unit: float, seed: int) -> None:
    y = draw(0.5, 50, seed)
    fit, scaled = fit_excesses(y), fit_excesses(unit * y)
    assert scaled.shape == pytest.approx(fit.shape, abs=1e-5)
    assert scaled.scale == pytest.approx(unit * fit.scale, rel=1e-4)


def test_a_tail_that_ends_has_no_power() -> None:
    fit = fit_excesses(np.random.default_rng(0).uniform(size=200))
    assert fit.index == math.inf
    assert fit.shape_high < -0.2


@pytest.mark.parametrize("shape", [-0.5, 0.0, 0.5])
def test_survival_is_that_of_the_law(shape: float) -> None:
    from scipy.stats import genpareto

    y = np.linspace(0.0, 5.0, 20)
    ours = GeneralisedPareto(shape, 2.0, 0.0, 0.0, 0.0).survival(y)
    assert ours == pytest.approx(genpareto.sf(y, shape, scale=2.0))


def test_confidence_is_what_it_says() -> None:
    """The confidence that the shape is below the truth is uniform: 400 samples, Kolmogorov's test at 0.1%."""
    from scipy.stats import kstest

    found = []
    for seed in range(400):
        y = draw(0.5, 200, seed)
        found.append(confidence_below(y, fit_excesses(y), 0.5))
    assert kstest(found, "uniform").pvalue > 0.001


@pytest.mark.parametrize("excesses", [[1.0], [], [-1.0, 2.0], [0.0, 0.0]])
def test_what_no_law_of_excesses_fits_is_refused(excesses: list[float]) -> None:
    with pytest.raises(InputError, match="they must be two or more numbers above 0"):
        fit_excesses(excesses)
