"""Backward induction against plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heavytail as ht
from heavytail import planning
from support import mdps
from support.planning_twins import (
    FEW_EXAMPLES,
    MANY_EXAMPLES,
    Model,
    models,
    naive_values,
    stochastic,
)


@given(models(episodic=True, staged=True))
@MANY_EXAMPLES
def test_optimal_values_equal_loops(model: Model) -> None:
    plan = planning.episodic_plan(model.mdp())
    np.testing.assert_allclose(plan.values, naive_values(model, lambda h, s, q: max(q)), rtol=0, atol=1e-12)
    assert planning.optimal_value(model.mdp()) == pytest.approx(
        float(model.start @ plan.values[0]), abs=1e-12
    )


@given(models(episodic=True, staged=True))
@FEW_EXAMPLES
def test_the_optimal_policy_earns_the_optimal_values(model: Model) -> None:
    plan = planning.episodic_plan(model.mdp())
    np.testing.assert_allclose(
        planning.policy_values(model.mdp(), plan.policy), plan.values, rtol=0, atol=1e-12
    )
    assert planning.policy_value(model.mdp(), plan.policy) == pytest.approx(
        planning.optimal_value(model.mdp()), abs=1e-12
    )


@given(models(episodic=True, staged=True), st.integers(0, 2**32), st.booleans())
@MANY_EXAMPLES
def test_values_of_stochastic_policies_equal_loops(model: Model, seed: int, each_step: bool) -> None:
    policy = stochastic(model, seed, model.horizon if each_step else 0)
    by_step = np.broadcast_to(policy, (model.horizon, *model.r.shape[-2:]))
    naive = naive_values(model, lambda h, s, q: sum(w * x for w, x in zip(by_step[h, s], q, strict=True)))
    np.testing.assert_allclose(planning.policy_values(model.mdp(), policy), naive, rtol=0, atol=1e-12)


@given(models(episodic=True, staged=True), st.integers(0, 2**32), st.booleans())
@FEW_EXAMPLES
def test_values_of_deterministic_policies_equal_loops(model: Model, seed: int, each_step: bool) -> None:
    shape = (model.horizon, model.r.shape[-2]) if each_step else model.r.shape[-2:-1]
    policy = np.random.default_rng(seed).integers(model.r.shape[-1], size=shape)
    by_step = np.broadcast_to(policy, (model.horizon, model.r.shape[-2]))
    naive = naive_values(model, lambda h, s, q: q[by_step[h, s]])
    np.testing.assert_allclose(planning.policy_values(model.mdp(), policy), naive, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        planning.policy_values(model.mdp(), policy.astype(np.uint8)), naive, rtol=0, atol=1e-12
    )


def test_the_first_of_equally_good_actions_is_taken() -> None:
    mdp = ht.mdp_from_arrays([[[1.0]] * 3], [[1.0, 2.0, 2.0]], horizon=2)
    assert planning.episodic_plan(mdp).policy.tolist() == [[1], [1]]


def test_rewards_by_law_and_successor_count_with_their_means() -> None:
    mdp = mdps.mixed()
    S, A = mdp.n_states, mdp.n_actions
    model = Model(
        mdp.transitions,
        mdp.mean_rewards.reshape(S, A),
        mdp.start,
        np.array([False, False, True]),
        mdp.horizon,
    )
    np.testing.assert_allclose(
        planning.episodic_plan(mdp).values, naive_values(model, lambda h, s, q: max(q)), atol=1e-12
    )
