"""Regret by gaps: the same on average, and without luck."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heavytail as ht
from heavytail import planning
from support.planning_twins import FEW_EXAMPLES, Model, models


@given(models(episodic=True, staged=True), st.integers(0, 2**32 - 1))
@FEW_EXAMPLES
def test_every_policy_of_episodes_earns_the_same(model: Model, seed: int) -> None:
    mdp = model.mdp()
    (recorded,) = planning.regret_by_gaps(mdp).recorded
    policy = np.random.default_rng(seed).integers(0, mdp.n_actions, (mdp.horizon, mdp.n_states))
    assert planning.policy_value(recorded, policy) == pytest.approx(
        planning.policy_value(mdp, policy), abs=1e-9
    )
    assert planning.optimal_value(recorded) == pytest.approx(planning.optimal_value(mdp), abs=1e-9)


@pytest.mark.parametrize("env", ["six_arms", "river_swim", "double_chain", "two_state"])
def test_every_policy_in_the_long_run_earns_the_same(env: str) -> None:
    mdp = ht.make_mdp(env, horizon=None)
    (recorded,) = planning.regret_by_gaps(mdp).recorded
    rng = np.random.default_rng(0)
    for _ in range(10):
        policy = rng.dirichlet(np.ones(mdp.n_actions), mdp.n_states)  # every action, so one recurrent class
        assert planning.policy_gain(recorded, policy) == pytest.approx(
            planning.policy_gain(mdp, policy), abs=1e-9
        )


@pytest.mark.parametrize("env", ["six_arms", "deep_sea", "two_state"])
@pytest.mark.parametrize("agent", ["heavy_psrl", "q_learning", "ucrl2", "random"])
def test_agents_do_the_same_and_lose_what_gaps_say(env: str, agent: str) -> None:
    mdp = ht.make_mdp(env, **({} if env == "deep_sea" else {"horizon": 10}))
    by_rewards, by_gaps = (
        ht.make_agent(each, agent, seed=1).learn(episodes=200, checkpoints=200)
        for each in (mdp, planning.regret_by_gaps(mdp))
    )
    np.testing.assert_array_equal(by_gaps.realised_reward, by_rewards.realised_reward)
    assert np.all(np.diff(by_gaps.regret, prepend=0.0) > -1e-9)


def test_regrets_agree_on_average() -> None:
    mdp = ht.make_mdp("river_swim")
    regrets = np.array(
        [
            [ht.make_agent(each, "psrl", seed=seed).learn(episodes=1000).regret[-1] for seed in range(100)]
            for each in (mdp, planning.regret_by_gaps(mdp))
        ]
    )
    differences = regrets[0] - regrets[1]
    # six standard errors: one in a billion
    assert abs(differences.mean()) < 6.0 * differences.std(ddof=1) / 10.0
    assert regrets[1].std() < 0.5 * regrets[0].std()


def test_each_mdp_of_a_changing_one_has_its_own_gaps() -> None:
    mdps = [ht.make_mdp("two_state", best=best, horizon=5) for best in (0, 1)]
    changing = planning.regret_by_gaps(ht.changing_mdp(mdps, at=[50]))
    regret = ht.make_agent(changing, "random", seed=0).learn(episodes=100, checkpoints=100).regret
    assert np.all(np.diff(regret, prepend=0.0) > -1e-9)


def test_a_saved_learner_goes_on_with_gaps(tmp_path: Path) -> None:
    learner = ht.make_agent(planning.regret_by_gaps(ht.make_mdp("river_swim")), "psrl", seed=3)
    learner.learn(episodes=20)
    learner.save(tmp_path / "learner.npz")
    loaded = ht.Learner.load(tmp_path / "learner.npz")
    np.testing.assert_array_equal(
        loaded.learn(episodes=20).mean_reward, learner.learn(episodes=20).mean_reward
    )


def test_the_file_of_an_mdp_holds_no_gaps(tmp_path: Path) -> None:
    with pytest.raises(ht.InputError, match="record gaps"):
        planning.regret_by_gaps(ht.make_mdp("two_state")).save(tmp_path / "mdp.npz")


def test_two_long_runs_have_no_gap() -> None:
    apart = ht.mdp_from_arrays(np.eye(2)[:, None, :], [[0.0], [1.0]])
    with pytest.raises(ht.InputError, match="differs between states"):
        planning.regret_by_gaps(apart)
