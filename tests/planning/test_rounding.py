"""Planning with numbers large and small, and chains that are nearly cut."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heavytail as ht
from heavytail import planning
from heavytail.mdp import MDP
from support.planning_twins import (
    FEW_EXAMPLES,
    KINDS,
    MANY_EXAMPLES,
    Model,
    models,
    transitions,
)


@given(models(staged=True, episodic=True), st.sampled_from([2.0**30, 2.0**-30]))
@FEW_EXAMPLES
def test_powers_of_two_scale_episodes_to_the_last_bit(model: Model, scale: float) -> None:
    plan, scaled = (
        planning.episodic_plan(model.mdp()),
        planning.episodic_plan(model._replace(r=model.r * scale).mdp()),
    )
    np.testing.assert_array_equal(scaled.values, plan.values * scale)
    np.testing.assert_array_equal(scaled.policy, plan.policy)


@given(models(), st.sampled_from([2.0**30, 2.0**-30]))
@FEW_EXAMPLES
def test_powers_of_two_scale_the_long_run_to_the_last_bit(model: Model, scale: float) -> None:
    plan, scaled = (
        planning.average_plan(model.mdp()),
        planning.average_plan(model._replace(r=model.r * scale).mdp()),
    )
    np.testing.assert_array_equal(scaled.gain, plan.gain * scale)
    np.testing.assert_array_equal(scaled.bias, plan.bias * scale)
    np.testing.assert_array_equal(scaled.policy, plan.policy)


@given(models(ties=False), st.sampled_from([1e9, 1e-9]))
@FEW_EXAMPLES
def test_scaled_rewards_scale_gain_and_bias_and_keep_the_policy(model: Model, scale: float) -> None:
    plan, scaled = (
        planning.average_plan(model.mdp()),
        planning.average_plan(model._replace(r=model.r * scale).mdp()),
    )
    np.testing.assert_allclose(scaled.gain / scale, plan.gain, rtol=0, atol=1e-10)
    np.testing.assert_allclose(scaled.bias / scale, plan.bias, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(scaled.policy, plan.policy)


@given(models(), st.sampled_from([-3.0, 1024.0, 2.0**30]))
@MANY_EXAMPLES
def test_shifted_rewards_shift_the_gain_and_keep_the_bias(model: Model, shift: float) -> None:
    rounded = model._replace(r=np.round(model.r * 256.0) / 256.0)  # so that the shift is exact
    plan, shifted = (
        planning.average_plan(rounded.mdp()),
        planning.average_plan(rounded._replace(r=rounded.r + shift).mdp()),
    )
    np.testing.assert_allclose(shifted.gain - shift, plan.gain, rtol=0, atol=1e-12 * abs(shift) + 1e-11)
    np.testing.assert_allclose(shifted.bias, plan.bias, rtol=0, atol=1e-4 if shift > 1e6 else 1e-8)


@given(models(most_states=5))
@FEW_EXAMPLES
def test_rewards_that_are_all_zero_or_all_the_same(model: Model) -> None:
    for level in (0.0, 0.1, -1e9):
        plan = planning.average_plan(model._replace(r=np.full_like(model.r, level)).mdp())
        np.testing.assert_allclose(plan.gain, level, rtol=1e-14)
        np.testing.assert_allclose(plan.bias, 0.0, atol=1e-13 * abs(level))


def test_one_state() -> None:
    mdp = ht.mdp_from_arrays([[[1.0], [1.0]]], [[3.0, -1.0]])
    plan = planning.average_plan(mdp)
    assert (plan.gain.tolist(), plan.bias.tolist(), plan.policy.tolist()) == ([3.0], [0.0], [0])
    assert planning.diameter(mdp) == planning.span(mdp) == 0.0
    assert planning.policy_gap(mdp) == 4.0
    assert planning.times_to(mdp, 0).tolist() == [0.0]
    assert planning.stationary_distribution(mdp, [1]).tolist() == [1.0]


def test_a_gap_is_zero_where_every_policy_is_optimal() -> None:
    assert planning.policy_gap(ht.mdp_from_arrays(np.full((3, 2, 3), 1 / 3), np.ones((3, 2)))) == 0.0


@pytest.mark.parametrize("noise", [0.0, 1e-16, 1e-14, 1e-12, 1e-10])
def test_many_tied_policies_do_not_cycle(noise: float) -> None:
    """Every cell pays the same but for noise, on 200 random MDPs.

    Any policy is within the noise of the best.
    """
    for seed in range(200):
        rng = np.random.default_rng(seed)
        kind = KINDS[seed % len(KINDS)]
        r = 1.0 + noise * rng.normal(size=(5, 3))
        plan = planning.average_plan(ht.mdp_from_arrays(transitions(kind, (5, 3, 5), rng), r))
        np.testing.assert_allclose(plan.gain, 1.0, rtol=0, atol=10.0 * noise + 1e-14)


def halves(slip: float) -> MDP:
    """Two pairs of states; within a pair one mixes at once, between them one slips."""
    p = np.zeros((4, 2, 4))
    p[:2, :, :2] = p[2:, :, 2:] = 0.5
    p[1, :, 2] = p[2, :, 1] = slip
    p[1, :, 1] = p[2, :, 2] = 0.5 - slip
    return ht.mdp_from_arrays(p, [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0]])


@pytest.mark.parametrize("slip", [1e-3, 1e-6, 1e-9])
def test_an_mdp_that_is_hardly_cut_is_solved(slip: float) -> None:
    np.testing.assert_allclose(
        planning.average_plan(halves(slip)).gain, 0.5, rtol=0, atol=1e-15 / slip + 1e-12
    )
    assert planning.diameter(halves(slip)) == pytest.approx(2.0 / slip, rel=1e-15 / slip + 10.0 * slip)


@pytest.mark.parametrize("slip", [1e-12, 1e-14, 1e-16])
def test_an_mdp_that_is_all_but_cut_raises_rather_than_to_answer_nonsense(slip: float) -> None:
    asked: list[Callable[[], Any]] = [
        lambda: planning.gain(halves(slip)),
        lambda: planning.policy_gain(halves(slip), [0, 0, 0, 0]),
        lambda: planning.stationary_distribution(halves(slip), [0, 0, 0, 0]),
        lambda: planning.diameter(halves(slip)),
    ]
    for ask in asked:
        with pytest.raises(
            ArithmeticError, match=r"^parts of this Markov chain are more than 1e\+11 steps apart"
        ):
            ask()


def leak(slip: float, trap: float) -> MDP:
    """State 0 leads to state 1, where every step pays 1, or stays for 2 and slips into state 2 at last.

    There every step pays `trap`.
    """
    p = np.zeros((3, 2, 3))
    p[0, 0, 1] = p[1, :, 1] = p[2, :, 2] = 1.0
    p[0, 1, [0, 2]] = 1.0 - slip, slip
    return ht.mdp_from_arrays(p, [[0.0, 2.0], [1.0, 1.0], [trap, trap]])


@pytest.mark.parametrize("slip", [1e-3, 1e-6, 1e-9, 1e-10])
def test_a_rare_slip_into_a_trap_is_seen(slip: float) -> None:
    plan = planning.average_plan(leak(slip, trap=0.0))
    assert plan.policy[0] == 0
    np.testing.assert_allclose(plan.gain, [1.0, 1.0, 0.0], atol=1e-14)


def test_a_slip_too_rare_to_be_seen_raises() -> None:
    with pytest.raises(ArithmeticError, match=r"more than 1e\+11 steps apart"):
        planning.average_plan(leak(1e-14, trap=0.0))
    with pytest.raises(
        ArithmeticError, match="which policies of this MDP are better than others is beyond double precision"
    ):
        planning.average_plan(
            leak(5e-11, trap=1.0 - 1e-4)
        )  # within rounding no loss at one step, and at last 1e-4 for ever
