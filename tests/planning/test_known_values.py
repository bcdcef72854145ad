"""Planning in environments whose values are known: the paper's, rivers and grids."""

import numpy as np
import pytest

import heavytail as ht
from heavytail import planning
from heavytail.mdp import MDP
from heavytail.planning.matrices import transition_matrix
from support.planning_twins import river, river_gain, river_times

# Numbers of the page of readings


@pytest.mark.parametrize(("probabilities", "value"), [("strehl", 28.8), ("episodic", 40.06), ("ones", 48.0)])
def test_values_of_six_arms(probabilities: str, value: float) -> None:
    assert round(planning.optimal_value(ht.make_mdp("six_arms", probabilities=probabilities)), 2) == value


@pytest.mark.parametrize("probabilities", ["strehl", "episodic", "ones"])
def test_in_the_long_run_the_sixth_arm_is_the_best(probabilities: str) -> None:
    for horizon in (25, None):
        mdp = ht.make_mdp("six_arms", probabilities=probabilities, horizon=horizon)
        plan = planning.average_plan(mdp)
        np.testing.assert_allclose(plan.gain, 2.0, rtol=1e-12)
        assert plan.policy[0] == plan.policy[6] == 5


def test_values_of_the_arms_with_strehls_probabilities() -> None:
    mdp = ht.make_mdp("six_arms", probabilities="strehl")
    values = [round(planning.policy_value(mdp, [arm] * 7), 2) for arm in range(6)]
    assert values == [28.8, 22.14, 22.01, 16.88, 13.02, 5.56]
    assert [round(planning.policy_gain(mdp, [arm] * 7), 9) for arm in range(6)] == [
        1.2,
        1.2,
        1.4,
        1.6,
        1.8,
        2.0,
    ]


@pytest.mark.parametrize(
    ("symmetric", "head", "value", "gain"),
    [
        (False, "hub", 3.1611, 0.7265),
        (False, "self", 3.3228, 0.7282),
        (True, "hub", 4.4357, 0.7311),
        (True, "self", 4.6530, 0.7381),
    ],
)
def test_values_and_gains_of_double_chain(symmetric: bool, head: str, value: float, gain: float) -> None:
    mdp = ht.make_mdp("double_chain", symmetric=symmetric, head=head)
    assert round(planning.optimal_value(mdp), 4) == value
    assert round(planning.gain(mdp), 4) == gain
    assert (
        planning.episodic_plan(mdp).policy[0, 0] == planning.average_plan(mdp).policy[0] == 1
    )  # to the lower chain


def test_the_upper_chain_of_double_chain_is_worth_less_than_what_is_stated() -> None:
    """Never the lower chain: from 2.41 to 2.52."""
    for symmetric in (False, True):
        for head, most in (("hub", 2.41), ("self", 2.52)):
            mdp = ht.make_mdp("double_chain", symmetric=symmetric, head=head)
            n = mdp.n_states
            hub, upper = (np.arange(n) == 0)[:, None, None], mdp.transitions[:, :1].repeat(2, axis=1)
            only_upper = ht.mdp_from_arrays(
                np.where(hub, upper, mdp.transitions), mdp.mean_rewards, horizon=10
            )
            assert round(planning.optimal_value(only_upper), 2) == most


# Rivers


@pytest.mark.parametrize("n", [6, 50, 100_000])
def test_the_gain_and_span_of_a_river(n: int) -> None:
    """Always right; the bias is less than the end's by the gain for every step there, its reward aside."""
    plan = planning.average_plan(river(n))
    assert plan.policy.tolist() == [1] * n
    np.testing.assert_allclose(plan.gain, river_gain(n), rtol=1e-12)
    np.testing.assert_allclose(plan.bias[-1] - plan.bias, river_gain(n) * river_times(n), rtol=1e-9)


@pytest.mark.parametrize("n", [6, 50, 100_000])
def test_times_along_a_river(n: int) -> None:
    np.testing.assert_allclose(planning.times_to(river(n), n - 1), river_times(n), rtol=1e-9)
    np.testing.assert_allclose(planning.times_to(river(n), 0), np.arange(n), rtol=1e-9)


@pytest.mark.parametrize("n", [6, 14, 50, 100_000])
@pytest.mark.parametrize("reward", [0.9, 2.0])
def test_where_the_left_end_is_better_the_river_is_left_though_a_half_improved_policy_would_take_ages(
    n: int, reward: float
) -> None:
    """Only the left end improved, the others still swimming right: it would take 7**n steps to get there."""
    plan = planning.average_plan(river(n, left_reward=reward))
    np.testing.assert_allclose(plan.gain, reward, rtol=1e-12)
    assert plan.policy[: n // 2].tolist() == [0] * (n // 2)
    still = plan.policy == 0
    np.testing.assert_allclose(plan.bias[still], -reward * np.arange(n)[still], rtol=1e-9)


def test_a_long_river_in_episodes_equals_two_short_ones() -> None:
    """In 40 steps nobody comes from one end to the other."""
    H, n, few = 40, 100_000, 100
    long, short = (
        planning.episodic_plan(river(n, horizon=H)),
        planning.episodic_plan(river(2 * few, horizon=H)),
    )
    np.testing.assert_allclose(long.values[:, :few], short.values[:, :few], rtol=1e-13)
    np.testing.assert_allclose(long.values[:, -few:], short.values[:, -few:], rtol=1e-13)
    assert not long.values[:, few:-few].any()
    policy_values = planning.policy_values(river(n, horizon=H), long.policy)
    np.testing.assert_allclose(policy_values, long.values, rtol=1e-13)


def test_a_random_walk_along_a_long_river_is_uniform() -> None:
    n = 100_000
    s = np.arange(n)
    ends = np.stack([np.maximum(s - 1, 0), np.minimum(s + 1, n - 1)], axis=1).ravel()
    mdp = ht.mdp_from_slots(
        np.arange(2 * n), ends, np.ones(2 * n), np.repeat(s, 2) / n, n_states=n, n_actions=2
    )
    np.testing.assert_allclose(
        planning.stationary_distribution(mdp, np.full((n, 2), 0.5)), 1.0 / n, rtol=1e-6
    )
    assert planning.policy_gain(mdp, np.full((n, 2), 0.5)) == pytest.approx((n - 1) / (2 * n), rel=1e-8)
    assert planning.gain(mdp) == pytest.approx((n - 1) / n, rel=1e-12)


def test_river_swim_is_as_stated() -> None:
    mdp = ht.make_mdp("river_swim", n_states=50, horizon=None)
    assert planning.gain(mdp) == pytest.approx(3.0 / 7.0, rel=1e-9)


def grid(n: int, noise: float, seed: int) -> MDP:
    """Four moves on n by n squares, each going astray in every direction with probability `noise`."""
    s = np.arange(n * n)
    x, y = s // n, s % n
    around = [
        np.maximum(x - 1, 0) * n + y,
        np.minimum(x + 1, n - 1) * n + y,
        x * n + np.maximum(y - 1, 0),
        x * n + np.minimum(y + 1, n - 1),
    ]
    successors = np.repeat(np.stack(around, axis=1)[:, None, :], 4, axis=1).ravel()
    p = np.tile((noise + (1.0 - 4.0 * noise) * np.eye(4)).ravel(), n * n)
    rewards = np.repeat(np.random.default_rng(seed).random(4 * n * n), 4)
    return ht.mdp_from_slots(
        np.repeat(np.arange(4 * n * n), 4), successors, p, rewards, n_states=n * n, n_actions=4
    )


@pytest.mark.parametrize("noise", [0.05, 0.01, 0.002])
@pytest.mark.parametrize("seed", range(3))
def test_a_grid_is_solved_though_improved_policies_would_settle_in_many_places(
    noise: float, seed: int
) -> None:
    """On the way to the best policy are some that stay in several good places, 1e11 steps apart.

    Between bounds that value iteration gives.
    """
    mdp = grid(20, noise, seed)
    p, values = transition_matrix(mdp, restart=True), np.zeros(400)
    for _ in range(5000):
        now = (mdp.row_means + p @ values).reshape(400, 4).max(axis=1)
        change, values = now - values, 0.5 * (values + now)
        values -= values[0]
    gain = planning.average_plan(mdp).gain
    assert change.max() - change.min() < 2e-3
    assert change.min() - 1e-12 <= gain.min() <= gain.max() <= change.max() + 1e-12
