"""Gain and bias against enumeration of all policies and linear programming."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heavytail as ht
from heavytail import planning
from support.planning_twins import (
    FEW_EXAMPLES,
    MANY_EXAMPLES,
    Model,
    cesaro,
    every_gain_and_bias,
    lp_gain_by_frequencies,
    lp_gains,
    models,
    naive_gain_and_bias,
    policies,
    stochastic,
)


@given(models())
@MANY_EXAMPLES
def test_gain_and_bias_equal_the_best_of_all_policies(model: Model) -> None:
    """The bias is the largest among the policies whose gain is the largest in every state."""
    plan, (gains, biases) = planning.average_plan(model.mdp()), every_gain_and_bias(model)
    np.testing.assert_allclose(plan.gain, gains.max(axis=0), rtol=0, atol=1e-9)
    optimal = (gains >= gains.max(axis=0) - 1e-9).all(axis=1)
    np.testing.assert_allclose(plan.bias, biases[optimal].max(axis=0), rtol=0, atol=1e-7)
    assert planning.span(model.mdp()) == pytest.approx(np.ptp(biases[optimal].max(axis=0)), abs=1e-7)
    assert planning.gain(model.mdp()) == pytest.approx(float(model.start @ plan.gain), abs=1e-12)


@given(models(most_states=6))
@FEW_EXAMPLES
def test_gain_equals_linear_programming(model: Model) -> None:
    np.testing.assert_allclose(planning.average_plan(model.mdp()).gain, lp_gains(model), rtol=0, atol=1e-6)


@given(models(most_states=7, kinds=["dense"]))
@FEW_EXAMPLES
def test_gain_of_communicating_mdps_equals_linear_programming_over_frequencies(model: Model) -> None:
    gain = planning.average_plan(model.mdp()).gain
    reached = ~model.terminal if not model.terminal.all() else np.zeros(len(gain), np.bool_)
    np.testing.assert_allclose(gain[reached], lp_gain_by_frequencies(model), rtol=0, atol=1e-6)


@given(models(most_states=6))
@MANY_EXAMPLES
def test_the_plan_solves_the_optimality_equations_and_its_policy_earns_it(model: Model) -> None:
    plan, p = planning.average_plan(model.mdp()), model.continued()
    later = p @ plan.gain
    np.testing.assert_allclose(later.max(axis=1), plan.gain, rtol=0, atol=1e-10)
    keeping = later >= plan.gain[:, None] - 1e-10
    now = np.where(keeping, model.r + p @ plan.bias, -np.inf)
    np.testing.assert_allclose(now.max(axis=1), plan.gain + plan.bias, rtol=0, atol=1e-9)
    gain, bias = planning.policy_gain_and_bias(model.mdp(), plan.policy)
    np.testing.assert_allclose(gain, plan.gain, rtol=0, atol=1e-12)
    np.testing.assert_allclose(bias, plan.bias, rtol=0, atol=1e-10)


@given(models(), st.integers(0, 2**32))
@MANY_EXAMPLES
def test_gain_and_bias_of_stochastic_policies(model: Model, seed: int) -> None:
    policy = stochastic(model, seed)
    chain, rewards = np.einsum("sa,sat->st", policy, model.continued()), (policy * model.r).sum(axis=1)
    gain, bias = planning.policy_gain_and_bias(model.mdp(), policy)
    naive_gain, naive_bias = naive_gain_and_bias(chain, rewards)
    # What the twin rounds grows with the time the chain takes to settle, and its bias with that time squared.
    settling = max(1.0, float(np.abs(bias).max()))
    np.testing.assert_allclose(gain, naive_gain, rtol=0, atol=1e-11 * settling)
    np.testing.assert_allclose(bias, naive_bias, rtol=0, atol=1e-11 * settling**2)
    assert planning.policy_gain(model.mdp(), policy) == pytest.approx(float(model.start @ gain), abs=1e-12)


@pytest.mark.parametrize("leaving", [2.0**-7, 2.0**-14, 2.0**-20, 2.0**-27])
def test_a_slow_chain_has_the_bias_of_its_closed_form(leaving: float) -> None:
    """Two states, left with probability p and 2 p, which the twin would solve to half of the digits."""
    p = np.array([[[1 - leaving, leaving]], [[2 * leaving, 1 - 2 * leaving]]])
    gain, bias = planning.policy_gain_and_bias(ht.mdp_from_arrays(p, [[0.0], [-3.0]]), [0, 0])
    np.testing.assert_allclose(gain, -1.0, rtol=1e-12)
    np.testing.assert_allclose(bias, [1 / (3 * leaving), -2 / (3 * leaving)], rtol=1e-12)


@given(models())
@FEW_EXAMPLES
def test_gain_and_bias_of_deterministic_policies(model: Model) -> None:
    states, p = np.arange(len(model.r)), model.continued()
    for policy in itertools.islice(policies(model), 8):
        naive_gain, naive_bias = naive_gain_and_bias(p[states, list(policy)], model.r[states, list(policy)])
        gain, bias = planning.policy_gain_and_bias(model.mdp(), policy)
        np.testing.assert_allclose(gain, naive_gain, rtol=0, atol=1e-9)
        np.testing.assert_allclose(bias, naive_bias, rtol=0, atol=1e-7)


@given(models(), st.integers(0, 2**32))
@MANY_EXAMPLES
def test_the_stationary_distribution_equals_the_average_of_all_powers(model: Model, seed: int) -> None:
    policy = stochastic(model, seed)
    chain = np.einsum("sa,sat->st", policy, model.continued())
    found = planning.stationary_distribution(model.mdp(), policy)
    np.testing.assert_allclose(found, model.start @ cesaro(chain), rtol=0, atol=1e-9)
    np.testing.assert_allclose(found @ chain, found, rtol=0, atol=1e-12)
    assert found @ (policy * model.r).sum(axis=1) == pytest.approx(
        planning.policy_gain(model.mdp(), policy), abs=1e-9
    )


@given(models(kinds=["dense"]), st.integers(0, 2**32))
@FEW_EXAMPLES
def test_the_stationary_distribution_of_a_dense_chain_is_its_eigenvector(model: Model, seed: int) -> None:
    policy = stochastic(model, seed)
    values, vectors = np.linalg.eig(np.einsum("sa,sat->st", policy, model.continued()).T)
    vector = np.real(vectors[:, np.argmin(np.abs(values - 1.0))])
    np.testing.assert_allclose(
        planning.stationary_distribution(model.mdp(), policy), vector / vector.sum(), rtol=0, atol=1e-10
    )


def test_of_several_optimal_policies_the_one_with_the_largest_bias_is_found() -> None:
    """Both states may stay for 1; leaving pays nothing. Whoever moves first loses 1, though no gain."""
    mdp = ht.mdp_from_arrays([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]], [[1.0, 0.0], [1.0, 0.0]])
    plan = planning.average_plan(mdp)
    assert plan.policy.tolist() == [0, 0]
    assert plan.bias.tolist() == [0.0, 0.0]
    assert planning.span(mdp) == 0.0


def test_a_large_reward_on_the_way_to_a_lower_gain_tempts_nobody() -> None:
    """As before, and a third state that may go to the first or, for 100, to a fourth that never pays."""
    hop = np.eye(4)[[[0, 1], [0, 1], [0, 3], [3, 3]]]
    mdp = ht.mdp_from_arrays(hop, [[1.0, 0.0], [0.0, 1.0], [0.0, 100.0], [0.0, 0.0]])
    plan = planning.average_plan(mdp)
    assert plan.gain.tolist() == [1.0, 1.0, 1.0, 0.0]
    assert plan.bias.tolist() == [0.0, 0.0, -1.0, 0.0]
    assert plan.policy[:3].tolist() == [0, 1, 0]


def test_classes_with_equal_gain_do_not_make_a_state_between_them_cycle() -> None:
    """From state 0 two equally good cycles can be entered, each at its better or its worse half."""
    hop = np.zeros((5, 4, 5))
    hop[0, range(4), [1, 2, 3, 4]] = 1.0
    hop[1, :, 2] = hop[2, :, 1] = hop[3, :, 4] = hop[4, :, 3] = 1.0
    rewards = np.array([0.0, 3.0, 1.0, 2.5, 1.5])[:, None] * np.ones(4)
    plan = planning.average_plan(ht.mdp_from_arrays(hop, rewards[None, :, :, None]))
    assert plan.policy[0] == 0
    np.testing.assert_allclose(plan.gain, 2.0, rtol=1e-15)
    np.testing.assert_allclose(plan.bias, [-1.5, 0.5, -0.5, 0.25, -0.25], rtol=0, atol=1e-15)


def test_the_terminal_state_of_an_episode_leads_back_to_the_start() -> None:
    """Two steps to the goal and the next is the first again: the goal itself is never visited."""
    forward = [[[0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]], [[0.0, 0.0, 1.0]]]
    mdp = ht.mdp_from_arrays(forward, [[0.0], [6.0], [100.0]], horizon=9, terminal=[False, False, True])
    assert planning.gain(mdp) == 3.0
    assert planning.stationary_distribution(mdp, [0, 0, 0]).tolist() == [0.5, 0.5, 0.0]
    assert planning.optimal_value(mdp) == 6.0
    assert planning.diameter(mdp) == np.inf
