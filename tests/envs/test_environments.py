"""What is particular to each environment."""

from typing import Any

import numpy as np
import pytest

import heavytail as ht
from heavytail.envs.garnet import choose_without_replacement
from heavytail.envs.heavy_bandit import hard_law, hardest_gap
from heavytail.errors import InputError

P = ht.planning


def test_six_arms_is_a_hub_with_spokes() -> None:
    mdp = ht.make_mdp("six_arms", probabilities=[1, 0.9, 0.8, 0.7, 0.6, 0.5])
    for arm in range(6):
        assert mdp.transitions[0, arm, arm + 1] == pytest.approx([1, 0.9, 0.8, 0.7, 0.6, 0.5][arm])
        assert mdp.transitions[arm + 1, arm, arm + 1] == 1
        assert (mdp.transitions[arm + 1, np.arange(6) != arm, 0] == 1).all()
    assert mdp.mean_rewards.max(axis=1).tolist() == [0, 1.2, 1.2, 1.4, 1.6, 1.8, 2.0]
    assert (mdp.mean_rewards > 0).sum() == 6


def test_with_strehls_probabilities_the_light_arm_is_best_in_25_steps_and_the_last_in_the_long_run() -> None:
    mdp = ht.make_mdp("six_arms", probabilities="strehl")
    assert P.optimal_value(mdp) == pytest.approx(28.8)
    assert P.episodic_plan(mdp).policy[0, 0] == 0
    assert P.average_plan(mdp).policy[0] == 5


@pytest.mark.parametrize(
    ("symmetric", "head", "value", "gain", "states"),
    [
        (False, "hub", 3.1611, 0.7265, 8),
        (False, "self", 3.3228, 0.7282, 8),
        (True, "hub", 4.4357, 0.7311, 7),
        (True, "self", 4.6530, 0.7381, 7),
    ],
)
def test_double_chain_has_the_optima_of_its_four_readings(
    symmetric: bool, head: str, value: float, gain: float, states: int
) -> None:
    mdp = ht.make_mdp("double_chain", symmetric=symmetric, head=head)
    assert round(P.optimal_value(mdp), 4) == value
    assert round(P.gain(mdp), 4) == gain
    assert mdp.n_states == states
    assert P.episodic_plan(mdp).policy[0, 0] == 1  # the lower chain


def test_the_upper_chain_alone_gives_at_most_what_the_page_says() -> None:
    mdp = ht.make_mdp("double_chain")
    upper = ht.mdp_from_arrays(_upper(mdp), mdp.mean_rewards[:4], horizon=10)
    assert round(P.optimal_value(upper), 2) == 2.41


def _upper(mdp: ht.MDP) -> Any:
    """The MDP without its lower chain: action 1 in the hub leads up as well."""
    transitions = mdp.transitions[:4, :, :4].copy()
    transitions[0, 1] = transitions[0, 0]
    return transitions


def test_the_two_states_have_the_gain_of_the_formula() -> None:
    for delta, gap in ((0.1, 0.05), (0.3, 0.3), (0.01, 0.002)):
        mdp = ht.make_mdp("two_state", delta=delta, gap=gap, n_actions=3, best=2)
        assert P.gain(mdp) == pytest.approx((delta + gap) / (2 * delta + gap))
        assert P.average_plan(mdp).policy[0] == 2
        assert P.diameter(mdp) == pytest.approx(1 / delta)


@pytest.mark.parametrize("epsilon", [0.3, 0.5, 1.0])
def test_the_arms_of_the_lower_bound_have_raw_moments_of_at_most_one(epsilon: float) -> None:
    delta, gamma = hardest_gap("x", 12, epsilon, 1_000_000)
    best, other = (hard_law(delta, gamma, epsilon, None, is_best=b) for b in (True, False))
    assert best.mean() == pytest.approx(2 * delta)
    assert other.mean() == pytest.approx(delta)
    assert best.moment(1 + epsilon) == pytest.approx(1.0)
    assert other.moment(1 + epsilon) < 1.0


@pytest.mark.parametrize(
    ("n_leaves", "n_actions", "depth"), [(1, 5, 0), (2, 2, 1), (4, 2, 2), (5, 2, 3), (9, 3, 2)]
)
def test_every_arm_of_the_bandit_can_be_best_and_be_reached(
    n_leaves: int, n_actions: int, depth: int
) -> None:
    for best in range(n_leaves * n_actions):
        mdp = ht.make_mdp(
            "heavy_bandit", n_leaves=n_leaves, n_actions=n_actions, best=best, planned_steps=10**6
        )
        delta, _ = hardest_gap("x", n_leaves * n_actions, 0.5, 10**6)
        assert P.gain(mdp) == pytest.approx(2 * delta / (depth + 1))


def test_the_chain_of_bandits_draws_its_best_arms_from_the_seed() -> None:
    one, two = (
        ht.make_mdp("heavy_chain", seed=seed, horizon=6).mean_rewards.argmax(axis=2) for seed in (1, 2)
    )
    assert not np.array_equal(one, two)
    mdp = ht.make_mdp("heavy_chain")
    assert P.optimal_value(mdp) == pytest.approx(2 * hardest_gap("x", 5 * 2 * 2, 0.5, 10_000)[0] * 5)


def test_deep_sea_rewards_only_the_diagonal() -> None:
    for seed in (None, 3):
        mdp = ht.make_mdp("deep_sea", size=6, seed=seed)
        plan = P.episodic_plan(mdp)
        assert plan.values[0, 0] == pytest.approx(0.99)
        random_play = P.policy_value(mdp, np.full((36, 2), 0.5))
        assert random_play == pytest.approx(2.0**-6 - 6 * 0.5 * 0.01 / 6)
    assert ht.make_mdp("deep_sea", size=6, seed=3).transitions[0].argmax(-1).tolist() in ([6, 7], [7, 6])


@pytest.mark.parametrize(("n", "k"), [(1, 1), (10, 3), (10, 10), (10_001, 30), (10_001, 201)])
def test_garnet_chooses_successors_as_numpy_does_one_by_one(n: int, k: int) -> None:
    together, one_by_one = np.random.default_rng(n), np.random.default_rng(n)
    chosen = choose_without_replacement(together, n, k, 20)
    expected = [np.sort(one_by_one.choice(n, k, replace=False)) for _ in range(20)]
    np.testing.assert_array_equal(np.sort(chosen, axis=1), expected)
    assert together.random() == one_by_one.random()


def test_garnet_has_its_branching_and_its_seed() -> None:
    mdp = ht.make_mdp("garnet", n_states=12, branching=4, seed=5)
    assert ((mdp.transitions > 0).sum(axis=-1) == 4).all()
    assert not np.array_equal(
        mdp.transitions, ht.make_mdp("garnet", n_states=12, branching=4, seed=6).transitions
    )


def test_chains_and_trees_are_built_large_without_a_dense_array() -> None:
    assert ht.make_mdp("double_chain", length=20_000).n_states == 40_002
    assert ht.make_mdp("heavy_bandit", n_leaves=10_000, planned_steps=10**9).n_states > 10_000


def test_river_swim_is_built_large_without_a_dense_array() -> None:
    mdp = ht.make_mdp("river_swim", n_states=100_000)
    assert P.gain(mdp) == pytest.approx(P.gain(ht.make_mdp("river_swim", n_states=40)), abs=1e-9)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        (
            "six_arms",
            {"probabilities": [1, 2]},
            "six_arms: probabilities must be six numbers above 0 and at most 1",
        ),
        ("six_arms", {"law": "student_t", "df": 0.9}, "has no finite mean, so it cannot be moved to one"),
        (
            "six_arms",
            {"law": "student_tt", "df": 1.5},
            "there is no law 'student_tt'; did you mean 'student_t'",
        ),
        (
            "six_arms",
            {"law": "student_t", "dff": 1.5},
            "neither six_arms nor student_t has a parameter 'dff'; did you mean 'df'",
        ),
        ("double_chain", {"head": "tail"}, "double_chain: head is 'tail'; choose from: hub, self"),
        ("double_chain", {"p": 1.0}, "double_chain: p must be below 1"),
        ("two_state", {"delta": 0.6, "gap": 0.5}, "two_state: best must be below n_actions and delta"),
        (
            "heavy_bandit",
            {"planned_steps": 10},
            "heavy_bandit: planned_steps is 10; with 4 arms and epsilon=0.5 it must be at least 32",
        ),
        ("heavy_bandit", {"best": 4}, "heavy_bandit: best is 4; the 4 arms are numbered from 0 to 3"),
        ("garnet", {"branching": 11}, "garnet: branching is 11; with 10 states it must be at most 10"),
        ("river_swim", {"n_states": 1}, "river_swim: n_states must be at least 2, got 1"),
    ],
)
def test_bad_parameters_are_one_line(name: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        ht.make_mdp(name, **parameters)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
