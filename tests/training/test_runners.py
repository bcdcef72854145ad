"""Learning in Gymnasium environments, and MDPs that come from them."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Discrete

import heavytail as ht
from heavytail.agent_file import read_agent_file, write_agent_file
from heavytail.errors import InputError
from heavytail.mdp.builders import mdp_with_horizon
from heavytail.mdp.from_gymnasium import mdp_from_table
from heavytail.training.runners import GymRunner

P = ht.planning


def test_q_learning_solves_the_dry_lake() -> None:
    """FrozenLake without slipping, shortened to ten steps.

    The goal is six away, and the agent ends up reaching it every time.
    """
    env = gymnasium.make("FrozenLake-v1", is_slippery=False)
    learner = ht.make_agent(env, "q_learning", seed=0, horizon=10, r_max=1.0, transition_scale=0.003)
    curve = learner.learn(episodes=5000)
    last = curve.realised_reward[-1] - curve.realised_reward[-11]
    assert last >= 0.95 * 500
    assert np.isnan(curve.mean_reward).all()  # Gymnasium does not tell it


def test_q_learning_walks_along_the_cliff() -> None:
    env = gymnasium.make("CliffWalking-v1")
    learner = ht.make_agent(env, "q_learning", seed=0, horizon=15, r_max=0.0)
    curve = learner.learn(episodes=3000)
    assert (curve.realised_reward[-1] - curve.realised_reward[-2]) / 30 > -20


def test_taxi_runs_and_its_curve_is_that_of_its_rewards() -> None:
    """Every reward goes into the curve once: random play is a Markov chain of rewards -1, -10 and 20."""
    env = gymnasium.make("Taxi-v4")
    learner = ht.make_agent(env, "random", seed=3)
    curve = learner.learn(episodes=20, checkpoints=[1, 20])
    assert learner.problem == ht.Problem(500, 6, 200, None)
    assert learner.run_state.steps[0] <= 20 * 200
    assert curve.realised_reward[0] == round(curve.realised_reward[0])
    assert -20 * 200 * 10 < curve.realised_reward[-1] < -20 * 190


def test_a_seed_repeats_a_run_and_another_does_not() -> None:
    def rewards(seed: int) -> Any:
        env = gymnasium.make("FrozenLake-v1")
        return ht.make_agent(env, "random", seed=seed).learn(episodes=50, checkpoints=50).realised_reward

    np.testing.assert_array_equal(rewards(1), rewards(1))
    assert not np.array_equal(rewards(1), rewards(2))


def test_one_of_our_own_learns_the_same_in_gymnasium_as_fused() -> None:
    """The environment seeds its streams as the learner does, so even the bits agree."""
    fused = ht.make_agent(ht.make_mdp("double_chain"), "q_learning", seed=5)
    stepped = ht.make_agent(gymnasium.make("heavytail/DoubleChain-v0"), "q_learning", seed=5)
    left, right = fused.learn(100), stepped.learn(100)
    np.testing.assert_array_equal(left.realised_reward, right.realised_reward)
    np.testing.assert_array_equal(left.mean_reward, right.mean_reward)
    np.testing.assert_array_equal(fused.agent.q, stepped.agent.q)


BAD_STARTS = [{"first_state": start, "first_action": 0} for start in ("5", 1.5, None, 10**30, [1])]


class Shifted(gymnasium.Env[Any, Any]):
    """Observations 5 and 6, actions 1 and 2; action 2 in 6 pays 1."""

    observation_space = Discrete(2, start=5)
    action_space = Discrete(2, start=1)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.state = 5
        return self.state, {}

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(np.int64(action))
        reward = float(self.state == 6 and action == 2)
        self.state = 6 if action == 2 else 5
        return self.state, reward, False, False, {"mean_reward": reward}


def test_spaces_need_not_start_at_zero() -> None:
    learner = ht.make_agent(Shifted(), "q_learning", horizon=4, r_max=1.0, transition_scale=0.01, seed=0)
    curve = learner.learn(500)
    assert curve.mean_reward[-1] - curve.mean_reward[-2] == 15
    assert learner.predict(6, 1) == 2
    with pytest.raises(
        InputError, match=r"1 is not an observation of this environment, Discrete\(2, start=5\)"
    ):
        learner.predict(1)


def test_a_time_limit_around_any_environment_is_its_horizon() -> None:
    """Also where no id, and hence no spec, says so, and below other wrappers; the shortest counts."""
    limited: gymnasium.Env[Any, Any] = gymnasium.wrappers.TimeLimit(Shifted(), 7)
    limited = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.wrappers.TimeLimit(limited, 9))
    assert ht.make_agent(limited, "random", seed=0).problem.horizon == 7


def test_a_file_goes_on_in_the_environment_it_is_given(tmp_path: Path) -> None:
    learner = ht.make_agent(Shifted(), "q_learning", horizon=4, r_max=1.0, seed=0)
    learner.learn(50)
    learner.save(tmp_path / "agent.npz")
    loaded = ht.Learner.load(tmp_path / "agent.npz", Shifted())
    np.testing.assert_array_equal(loaded.agent.q, learner.agent.q)
    np.testing.assert_array_equal(loaded.learn(50).realised_reward, learner.learn(50).realised_reward)
    with pytest.raises(
        InputError,
        match=r"it is for \(2, 2, 4\) states, actions and steps, but the environment has \(16, 4, 4\)",
    ):
        ht.Learner.load(tmp_path / "agent.npz", gymnasium.make("FrozenLake-v1"))
    with pytest.raises(InputError, match="this learner is in a Gymnasium environment"):
        loaded.mdp  # noqa: B018 - the look-up is the test


def test_without_its_environment_a_loaded_learner_predicts_and_does_not_learn(tmp_path: Path) -> None:
    learner = ht.make_agent(Shifted(), "q_learning", horizon=4, r_max=1.0, transition_scale=0.01, seed=0)
    learner.learn(500)
    learner.save(tmp_path / "agent.npz")
    alone = ht.Learner.load(tmp_path / "agent.npz")
    assert alone.predict(6, 1) == learner.predict(6, 1) == 2
    np.testing.assert_array_equal(alone.policy(), learner.policy())
    assert alone.evaluate(3, env=Shifted()).mean == learner.evaluate(3).mean
    for impossible in (lambda: alone.learn(1), lambda: alone.evaluate(1)):
        with pytest.raises(InputError, match=r"can only predict; to learn, load it with one: ht\.load"):
            impossible()
    alone.save(tmp_path / "again.npz")
    again = ht.Learner.load(tmp_path / "again.npz", Shifted())
    np.testing.assert_array_equal(again.learn(50).realised_reward, learner.learn(50).realised_reward)


@pytest.mark.parametrize("spaces", [None, [], {}, {"first_state": 5}, "first", *BAD_STARTS, "no key"])
def test_spaces_that_are_none_are_one_line(spaces: Any, tmp_path: Path) -> None:
    """Older versions wrote no such key."""
    path, message = tmp_path / "agent.npz", "cannot be used"
    ht.make_agent(Shifted(), "random", horizon=4, seed=0).save(path)
    file = read_agent_file(path)
    file.metadata["spaces"] = spaces
    if spaces == "no key":
        del file.metadata["spaces"]
        message = r"it was saved in a Gymnasium environment; give that to ht\.load"
    write_agent_file(path, file)
    with pytest.raises(InputError, match=message):
        ht.Learner.load(path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: ht.make_agent(gymnasium.make("CartPole-v1"), "random"),
            r"the observations of this environment are Box.*make them discrete with a wrapper",
        ),
        (
            lambda: ht.make_agent(gymnasium.make_vec("FrozenLake-v1", num_envs=3), "random"),
            "env is a vector of 3 environments; a tabular agent learns in a single one",
        ),
        (lambda: ht.make_agent(Shifted(), "random"), "this environment has no step limit; give horizon="),
        (
            lambda: ht.make_agent(gymnasium.make("FrozenLake-v1"), "random", horizon=200),
            "horizon is 200, but the environment cuts its episodes after 100 steps",
        ),
        (
            lambda: ht.make_agent(gymnasium.make("FrozenLake-v1"), "ucrl2", clip_optimism=True),
            "ucrl2 needs r_max=, the largest expected reward",
        ),
        (
            lambda: ht.make_agent(ht.make_mdp("six_arms"), "random", horizon=3),
            "horizon is 3, but an MDP has its own, 25",
        ),
        (
            lambda: ht.make_agent("FrozenLake-v1", "random"),
            "env is a str; it must be an MDP, such as make_mdp",
        ),
        (
            lambda: ht.mdp_from_gymnasium(gymnasium.make("CartPole-v1")),
            "CartPoleEnv shows no table P of its transitions",
        ),
        (
            lambda: ht.mdp_from_gymnasium(gymnasium.make("CliffWalking-v1").unwrapped),
            "CliffWalkingEnv has no step limit; give horizon=",
        ),
        (
            lambda: ht.mdp_from_gymnasium(gymnasium.make("Taxi-v4", fickle_passenger=True)),
            "Taxi with fickle_passenger=True is not the MDP of its table",
        ),
        (
            lambda: ht.make_agent(gymnasium.make("FrozenLake-v1"), "random", horizon=0),
            "horizon is 0; it must be a whole number, at least 1",
        ),
        (
            lambda: mdp_from_table({1: {0: [(1.0, 0, 0.0, False)]}}, horizon=2),
            "must list every state from 0 on",
        ),
        (
            lambda: mdp_from_table({0: {0: [(1.0, 0, 0.0)]}}, horizon=2),  # type: ignore[list-item]
            "each with .probability, next state, reward, terminated.",
        ),
        (lambda: mdp_with_horizon(ht.make_mdp("deep_sea"), None), "terminal states need episodes"),
        (lambda: mdp_with_horizon(ht.make_mdp("heavy_chain"), 7), "its horizon cannot become 7"),
    ],
)
def test_what_cannot_be_learnt_says_why(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


class Stray(Shifted):
    """Shows an observation that its space does not have."""

    def step(self, action: Any) -> Any:
        return 10**8, 0.0, False, False, {}


def test_a_stray_observation_is_an_error() -> None:
    with pytest.raises(InputError, match="100000000 is not an observation"):
        ht.make_agent(Stray(), "random", horizon=3).learn(1)


def test_what_wrappers_do_to_rewards_is_known_or_not_believed() -> None:
    plain = gymnasium.make("heavytail/SixArms-v0")
    moved = ht.gym.AddRewardNoise(gymnasium.make("heavytail/SixArms-v0"), ht.laws.normal(10.0, 1.0))
    scaled = gymnasium.wrappers.TransformReward(
        gymnasium.make("heavytail/SixArms-v0"), lambda r: 100 * float(r)
    )
    assert ht.make_agent(plain, "random", seed=0).problem.r_max == 2.0
    assert ht.make_agent(moved, "random", seed=0).problem.r_max == 12.0
    learner = ht.make_agent(scaled, "random", seed=0)
    assert learner.problem.r_max is None
    assert np.isnan(learner.learn(3).mean_reward).all()


def test_a_loaded_learner_meets_new_noise(tmp_path: Path) -> None:
    learner = ht.make_agent(gymnasium.make("FrozenLake-v1"), "random", seed=np.int64(0))
    learner.learn(40)
    learner.save(tmp_path / "agent.npz")
    again = ht.Learner.load(tmp_path / "agent.npz", gymnasium.make("FrozenLake-v1"))
    assert isinstance(again.runner, GymRunner)
    assert again.runner._seed not in (0, None)
    assert len(again.learn(40, checkpoints=40).at) == 40


# MDPs from tables


def test_known_optima_of_toy_text() -> None:
    """CliffWalking needs 13 steps.

    On the slippery lake 14/17 is the chance to arrive if time does not matter; on the dry one it is 1. Taxi's
    best is 7.93 on average.
    """
    cliff = ht.mdp_from_gymnasium(gymnasium.make("CliffWalking-v1"), horizon=60)
    assert P.optimal_value(cliff) == -13
    lake = ht.mdp_from_gymnasium(gymnasium.make("FrozenLake-v1"), horizon=20_000)
    assert P.optimal_value(lake) == pytest.approx(14 / 17, abs=1e-9)
    dry = ht.mdp_from_gymnasium(gymnasium.make("FrozenLake-v1", is_slippery=False))
    assert P.optimal_value(dry) == 1
    taxi = ht.mdp_from_gymnasium(gymnasium.make("Taxi-v4"))
    assert P.optimal_value(taxi) == pytest.approx(7.93, abs=0.005)


def test_a_table_agrees_with_the_environment_it_came_from() -> None:
    """The share of episodes that random play wins on the lake.

    Exact evaluation against 20,000 episodes of Gymnasium, five standard errors (one in two million).
    """
    env = gymnasium.make("FrozenLake-v1")
    mdp = ht.mdp_from_gymnasium(env)
    exact = P.policy_value(mdp, np.full((16, 4), 0.25))
    played = ht.make_agent(env, "random", seed=8).learn(episodes=20_000).realised_reward[-1] / 20_000
    assert abs(played - exact) < 5 * np.sqrt(exact * (1 - exact) / 20_000)


def test_a_successor_may_be_listed_twice_with_two_rewards() -> None:
    table = {0: {0: [(0.25, 0, 1.0, False), (0.25, 0, 3.0, False), (0.5, 0, 10.0, True)]}}
    mdp = mdp_from_table(table, horizon=2)
    assert mdp.transitions.tolist() == [[[1.0]]]
    assert mdp.mean_rewards.tolist() == [[6.0]]
    assert P.optimal_value(mdp) == 6.0 + 0.5 * 6.0
    rewards = {
        float(ht.make_agent(mdp, "random", seed=seed).learn(1).realised_reward[0]) for seed in range(60)
    }
    assert {10.0, 11.0, 13.0} <= rewards


# Changing MDPs


def _two(best: int, horizon: int | None = None) -> ht.MDP:
    return ht.make_mdp("two_state", best=best, delta=0.3, gap=0.3, horizon=horizon)


def test_a_change_comes_when_it_should_and_the_state_stays() -> None:
    """One ring of states turning one way, then the other."""
    ring = np.roll(np.eye(5), 1, axis=1)
    forth, back = (
        ht.mdp_from_arrays(p[:, None, :], np.full((5, 1), r)) for p, r in ((ring, 1.0), (ring.T, 10.0))
    )
    learner = ht.make_agent(ht.changing_mdp([forth, back, forth], at=[7, 10]), "random", seed=0)
    curve = learner.learn(steps=12, checkpoints=12)
    assert np.diff(curve.mean_reward, prepend=0.0).tolist() == [1.0] * 7 + [10.0] * 3 + [1.0] * 2
    assert int(learner.run_state.state[0]) == (7 - 3 + 2) % 5


@pytest.mark.parametrize("parts", [[100], [1, 99], [30, 30, 40]])
def test_learning_through_a_change_in_parts_equals_learning_at_once(parts: list[int], tmp_path: Path) -> None:
    changing = ht.changing_mdp([_two(0, 5), _two(1, 5)], at=[50])
    learner = ht.make_agent(changing, "q_learning", seed=2)
    for part in parts:
        learner.learn(part)
        learner.save(tmp_path / "agent.npz")
        learner = ht.Learner.load(tmp_path / "agent.npz")
    whole = ht.make_agent(changing, "q_learning", seed=2)
    whole.learn(100)
    np.testing.assert_array_equal(learner.agent.q, whole.agent.q)
    np.testing.assert_array_equal(learner.run_state.totals, whole.run_state.totals)


@pytest.mark.parametrize(
    ("mdps", "at", "message"),
    [
        ([_two(0)], [5], "1 MDPs need 0 change points, got 1"),
        ([], [], "mdps must be a sequence of MDPs, at least one"),
        ([_two(0), _two(0, 5)], [5], "all MDPs need the same states, actions and horizon"),
        ([_two(0)] * 3, [5, 5], "change points must be ascending whole numbers from 1"),
        ([_two(0)] * 2, [0], "change points must be ascending whole numbers from 1"),
        ([_two(0)] * 2, [2.5], "change points must be ascending whole numbers from 1"),
    ],
)
def test_bad_changes_are_one_line(mdps: Any, at: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ht.changing_mdp(mdps, at)
