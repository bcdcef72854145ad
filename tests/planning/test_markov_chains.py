"""Chains against exact rational arithmetic: elimination on fractions leaves nothing to rounding."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from heavytail.arrays import Floats, Ints
from heavytail.planning import markov_chains
from support.examples import examples

Matrix = list[list[Fraction]]


def solved(matrix: Matrix, right: list[Fraction]) -> list[Fraction]:
    """Gauss-Jordan elimination."""
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    for k in range(len(rows)):
        pivot = next(i for i in range(k, len(rows)) if rows[i][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(len(rows)):
            if i != k and rows[i][k] != 0:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


def exact_gain_and_bias(chain: Floats, rewards: Floats) -> tuple[Floats, Floats]:
    """Of a chain with one recurrent class that contains state 0.

    What a state keeps is what it does not give away.
    """
    n = len(rewards)
    leaving = [[-Fraction(chain[i, j]) if i != j else Fraction(0) for j in range(n)] for i in range(n)]
    for i in range(n):
        leaving[i][i] = -sum(leaving[i], Fraction(0))
    with_gain = [[Fraction(1), *row[1:]] for row in leaving]
    gain, *bias = solved(with_gain, [Fraction(x) for x in rewards])
    balance = [list(column) for column in zip(*leaving, strict=True)]
    balance[0] = [Fraction(1)] * n
    frequency = solved(balance, [Fraction(1)] + [Fraction(0)] * (n - 1))
    mean = sum((f * h for f, h in zip(frequency, [Fraction(0), *bias], strict=True)), Fraction(0))
    return np.full(n, float(gain)), np.array([float(h - mean) for h in [Fraction(0), *bias]])


def two_halves(slip: float, rng: np.random.Generator, n: int = 3) -> Floats:
    """Two groups of n states that mix at once, and rarely change sides."""
    chain = np.zeros((2 * n, 2 * n))
    chain[:n, :n], chain[n:, n:] = rng.dirichlet(np.ones(n), n), rng.dirichlet(np.ones(n), n)
    chain[n - 1, n], chain[n, 0] = slip * rng.random(), slip * rng.random()
    return chain / chain.sum(axis=1, keepdims=True)


def river(n: int, right: float = 0.35, left: float = 0.05) -> Any:
    """A chain that drifts to the right."""
    s = np.arange(n)
    rows, columns = (
        np.concatenate([s, s, s]),
        np.concatenate([s, np.minimum(s + 1, n - 1), np.maximum(s - 1, 0)]),
    )
    return csr_matrix((np.repeat([1.0 - right - left, right, left], n), (rows, columns)), shape=(n, n))


@given(st.integers(0, 2**32), st.integers(-16, 0))
@examples(150)
def test_a_nearly_cut_chain_is_right_or_refused(seed: int, exponent: int) -> None:
    rng = np.random.default_rng(seed)
    chain, rewards = two_halves(10.0**exponent, rng), rng.random(6)
    gain, bias = exact_gain_and_bias(chain, rewards)
    try:
        found = markov_chains.gain_and_bias(csr_matrix(chain), rewards)
    except ArithmeticError:
        assert exponent <= -8  # either outcome is right, this one only for chains that are slow
        return
    np.testing.assert_allclose(found[0], gain, rtol=0, atol=1e-5)
    np.testing.assert_allclose(found[1], bias, rtol=0, atol=1e-5 * np.abs(bias).max())


@pytest.mark.parametrize("slip", [1e-14, 1e-17, 1e-30])
def test_a_chain_that_is_all_but_cut_is_refused_in_one_line(slip: float) -> None:
    chain = csr_matrix(two_halves(slip, np.random.default_rng(0)))
    for ask in (
        lambda: markov_chains.gain_and_bias(chain, np.arange(6.0)),
        lambda: markov_chains.stationary(chain, np.full(6, 1 / 6)),
    ):
        with pytest.raises(
            ArithmeticError, match=r"more than 1e\+11 steps apart on average, too far for double precision$"
        ):
            ask()


@pytest.mark.parametrize("slip", [1e-13, 1e-30])
def test_the_better_half_of_a_chain_that_is_all_but_cut_is_found(slip: float) -> None:
    chain = csr_matrix(two_halves(slip, np.random.default_rng(0)))
    assert (
        markov_chains.attraction_basin(chain, np.array([0.0, 0.0, 9.0, 1.0, 1.0, 1.0])).tolist()
        == [True] * 3 + [False] * 3
    )
    assert (
        markov_chains.attraction_basin(chain, np.array([0.0, 0.0, 9.0, 8.0, 8.0, 8.0])).tolist()
        == [False] * 3 + [True] * 3
    )


def test_transient_states_that_are_all_but_a_trap_are_refused() -> None:
    chain = csr_matrix([[0.5, 0.5, 0.0], [0.5, 0.5 - 1e-13, 1e-13], [0.0, 0.0, 1.0]])
    with pytest.raises(ArithmeticError, match="steps apart"):
        markov_chains.gain_and_bias(chain, np.arange(3.0))
    with pytest.raises(ArithmeticError, match="steps apart"):
        markov_chains.hitting_times(chain, np.array([0, 1]))


def test_never_leaving_is_refused() -> None:
    with pytest.raises(ArithmeticError, match="steps apart"):
        markov_chains.hitting_times(csr_matrix([[1.0, 0.0], [0.0, 1.0]]), np.array([0]))


@pytest.mark.parametrize("slip", [1e-3, 1e-6, 1e-9])
def test_a_small_probability_of_leaving_keeps_its_digits(slip: float) -> None:
    """One less 1 - 1e-9 would have eight digits left."""
    chain = csr_matrix([[1.0 - slip, slip], [slip / 3.0, 1.0 - slip / 3.0]])
    gain, bias = markov_chains.gain_and_bias(chain, np.array([4.0, 0.0]))
    np.testing.assert_allclose(gain, 1.0, rtol=1e-13)
    np.testing.assert_allclose(bias, np.array([3.0, -1.0]) / (slip * 4.0 / 3.0), rtol=1e-13)


def test_a_reference_that_only_looked_often_visited_is_replaced() -> None:
    """From 300 states one falls to the left end of a river and stays there for a while.

    It takes more than the few steps that were looked at to
    see that all ends at the right. From there to the left end it would be 7**19 steps.
    """
    n, others = 20, 300
    chain = np.zeros((n + others, n + others))
    chain[:n, :n] = river(n).toarray()
    chain[0, :2] = 0.99, 0.01
    chain[n:, 0] = 1.0
    assert markov_chains.find_classes(csr_matrix(chain)).reference.tolist() == [0]
    gain, bias = markov_chains.gain_and_bias(csr_matrix(chain), np.arange(n + others) == n - 1.0)
    np.testing.assert_allclose(gain, 6.0 / 7.0, rtol=1e-12)
    np.testing.assert_allclose(gain + bias - chain @ bias, np.arange(n + others) == n - 1, rtol=0, atol=1e-12)


def test_what_all_rewards_have_in_common_changes_no_bit_of_the_bias() -> None:
    rewards = np.random.default_rng(0).integers(-512, 512, size=50) / 256.0
    gain, bias = markov_chains.gain_and_bias(river(50), rewards)
    shifted_gain, shifted_bias = markov_chains.gain_and_bias(river(50), rewards + 2.0**30)
    np.testing.assert_array_equal(shifted_bias, bias)
    np.testing.assert_allclose(shifted_gain - 2.0**30, gain, rtol=0, atol=1e-6)


def test_the_reference_is_an_often_visited_state() -> None:
    assert markov_chains.find_classes(river(1000)).reference.tolist() == [999]


@pytest.mark.parametrize(
    ("chain", "groups"),
    [
        ([[1.0]], [[0]]),
        ([[0.0, 1.0], [1.0, 0.0]], [[0, 1]]),
        ([[1.0, 0.0], [0.0, 1.0]], [[0], [1]]),
        ([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.5, 0.5]], [[1, 2]]),
        (
            [[0.0, 0.5, 0.5, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0]],
            [[1, 3], [2]],
        ),
    ],
)
def test_recurrent_classes(chain: list[list[float]], groups: list[list[int]]) -> None:
    classes = markov_chains.find_classes(csr_matrix(chain))
    found = [np.flatnonzero(classes.label == c).tolist() for c in range(len(classes.reference))]
    assert sorted(found) == groups
    assert all(reference in group for reference, group in zip(classes.reference, found, strict=True))


def test_bias_is_the_total_above_the_gain() -> None:
    """Summed over ten thousand steps of an aperiodic chain with two classes and a transient state."""
    chain = np.array([[0.2, 0.3, 0.5, 0.0], [0.0, 0.6, 0.0, 0.4], [0.0, 0.0, 1.0, 0.0], [0.0, 0.7, 0.0, 0.3]])
    rewards = np.array([5.0, 1.0, -2.0, 0.5])
    gain, bias = markov_chains.gain_and_bias(csr_matrix(chain), rewards)
    now, total = rewards, np.zeros(4)
    for _ in range(10_000):
        total += now - gain
        now = chain @ now
    np.testing.assert_allclose(now, gain, rtol=1e-12)
    np.testing.assert_allclose(total, bias, rtol=0, atol=1e-9)


def test_where_all_classes_earn_the_same_transient_states_do_to_the_last_bit() -> None:
    chain = csr_matrix([[0.1, 0.3, 0.6], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    gain, _ = markov_chains.gain_and_bias(chain, np.array([7.0, 0.1, 0.1]))
    assert gain.tolist() == [gain[0]] * 3


@pytest.mark.parametrize("n", [5, 100, 100_000])
def test_hitting_times_of_a_random_walk(n: int) -> None:
    """From s down to 0 with a reflecting end: s (2n - 1 - s) steps; ten billion of them in the largest."""
    states: Ints = np.arange(1, n)
    times = markov_chains.hitting_times(river(n, 0.5, 0.5), states)
    np.testing.assert_allclose(times, states * (2.0 * n - 1.0 - states), rtol=1e-7)


def test_the_stationary_distribution_of_a_river_is_geometric() -> None:
    n = 100_000
    found = markov_chains.stationary(river(n), np.full(n, 1.0 / n))
    np.testing.assert_allclose(found[-12:], 6.0 / 7.0 * 7.0 ** -np.arange(11.0, -1.0, -1.0), rtol=1e-12)
    assert found.min() >= 0.0
    assert found.sum() == pytest.approx(1.0, abs=1e-12)


def test_classes_are_weighed_by_how_likely_the_start_leads_to_them() -> None:
    """The gambler's ruin: from 2 of 6, to the top once in three games."""
    chain = np.eye(7)
    for s in range(1, 6):
        chain[s] = 0.5 * (np.eye(7)[s - 1] + np.eye(7)[s + 1])
    np.testing.assert_allclose(
        markov_chains.stationary(csr_matrix(chain), np.eye(7)[2]), [2 / 3, 0, 0, 0, 0, 0, 1 / 3], atol=1e-15
    )
    np.testing.assert_allclose(
        markov_chains.gain_and_bias(csr_matrix(chain), np.arange(7.0))[0], np.arange(7.0), rtol=1e-14
    )
