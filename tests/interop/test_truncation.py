"""Stable-Baselines3 learns from truncated rewards, and better where they are heavy-tailed.

Run by ``make test-interop``.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

import heavytail as ht
from heavytail.gym import AddRewardNoise, MDPEnv, TruncateReward
from heavytail.gym.ids import register_ids
from heavytail.statistics import permutation_test

torch.set_num_threads(1)  # tests run side by side, and networks this small only lose by sharing cores
register_ids()
HEAVY = ht.laws.alpha_stable(alpha=1.1, scale=5.0)
GROWING: dict[str, Any] = {"epsilon": 0.05, "coefficient": 0.5}
OPTIONS: dict[str, dict[str, Any]] = {
    "growing": GROWING,
    "auto": {"epsilon": 0.05, "coefficient": "auto", "mode": "clip"},
    "sign": {"mode": "sign"},
}
ALGORITHMS: dict[str, Callable[[Any], Any]] = {
    "DQN": lambda env: DQN("MlpPolicy", env, learning_starts=50, train_freq=4, seed=0, device="cpu"),
    "PPO": lambda env: PPO("MlpPolicy", env, n_steps=64, batch_size=32, n_epochs=2, seed=0, device="cpu"),
}


# It learns


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1", "heavytail/SixArms-v0"])
def test_stable_baselines3_finds_nothing_to_complain_about(env_id: str, options: str) -> None:
    check_env(TruncateReward(AddRewardNoise(gymnasium.make(env_id), HEAVY), **OPTIONS[options]), warn=True)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("env_id", ["CartPole-v1", "heavytail/SixArms-v0"])
def test_it_learns(algorithm: str, env_id: str, options: str) -> None:
    noise = {"wrapper_class": AddRewardNoise, "wrapper_kwargs": {"law": HEAVY}}
    for env in (
        TruncateReward(AddRewardNoise(gymnasium.make(env_id), HEAVY), **OPTIONS[options]),
        TruncateReward(make_vec_env(env_id, n_envs=2, seed=0, **noise), **OPTIONS[options]),
    ):
        model = ALGORITHMS[algorithm](env).learn(300)
        assert model.num_timesteps >= 300
        assert 0 < env.truncated_fraction < 1
        parameters = model.get_parameters()["policy"]
        assert all(np.isfinite(tensor.numpy()).all() for tensor in parameters.values())


# Vectors


def test_the_environments_of_a_vector_share_one_count() -> None:
    """Its vectors reset within the step that ends an episode.

    The next step is then in the state that follows the reset.
    """
    vector = make_vec_env(
        "heavytail/SixArms-v0",
        n_envs=2,
        seed=5,
        env_kwargs={"horizon": 4},
        wrapper_class=AddRewardNoise,
        wrapper_kwargs={"law": HEAVY},
    )
    venv = TruncateReward(vector, **GROWING)
    venv.reset()
    singles = [AddRewardNoise(MDPEnv("six_arms", horizon=4), HEAVY) for _ in range(2)]
    states = [env.reset(seed=5 + i)[0] for i, env in enumerate(singles)]
    counts: dict[Any, int] = {}
    for actions in np.random.default_rng(0).integers(6, size=(50, 2)):
        observations, rewards, dones, infos = venv.step(actions)
        for i, a in enumerate(actions.tolist()):
            n = counts[states[i], a] = counts.get((states[i], a), 0) + 1
            states[i], raw, terminated, truncated, _ = singles[i].step(a)
            threshold = (0.5 * n) ** (1 / 1.05)
            assert rewards[i] == np.float32(raw if abs(raw) <= threshold else 0.0)
            assert dones[i] == (terminated or truncated)
            assert infos[i]["raw_reward"] == np.float32(raw)
            assert infos[i]["reward_threshold"] == pytest.approx(threshold)
            assert infos[i]["reward_truncated"] == (abs(raw) > threshold)
            assert infos[i]["TimeLimit.truncated"] == truncated
            if dones[i]:
                states[i] = singles[i].reset()[0]
        assert observations.tolist() == states
    assert venv.counter is not None
    assert venv.counter.counts == counts
    assert rewards.dtype == np.float32


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
def test_counts_are_saved_and_restored(env_id: str, tmp_path: Path) -> None:
    def steps(venv: Any) -> list[Any]:
        venv.seed(3)
        venv.reset()
        rng = np.random.default_rng(0)
        shape = (2, *venv.action_space.shape)
        return [venv.step(rng.integers(0, 2, shape).astype(venv.action_space.dtype)) for _ in range(50)]

    one, other = (
        TruncateReward(make_vec_env(env_id, n_envs=2), epsilon=0.05, coefficient="auto") for _ in range(2)
    )
    steps(one)
    one.save(tmp_path / "counts.npz")
    expected = steps(one)
    other.load(tmp_path / "counts.npz")
    for restored, original in zip(steps(other), expected, strict=True):
        np.testing.assert_equal(restored[:3], original[:3])
        thresholds = [[info["reward_threshold"] for info in step[3]] for step in (restored, original)]
        assert thresholds[0] == thresholds[1]


def test_wrappers_of_stable_baselines3_go_on_top_and_find_it_beneath() -> None:
    venv = VecNormalize(
        TruncateReward(make_vec_env("CartPole-v1", n_envs=2, seed=0), **GROWING), norm_reward=True
    )
    venv.reset()
    venv.step(np.array([0, 1]))
    assert venv.truncated_fraction == 1.0  # 1 is beyond 0.5 ** (1 / 1.05)
    assert venv.venv.counter.counts.values()


def test_logs_show_what_was_paid_where_the_monitor_is_beneath() -> None:
    """Stable-Baselines3 puts a Monitor outside only where there is none at all."""
    law = ht.laws.constant(100.0)
    returns = {}
    for place, env in {
        "beneath all": TruncateReward(
            AddRewardNoise(Monitor(MDPEnv("six_arms", horizon=4)), law), mode="sign"
        ),
        "between": TruncateReward(Monitor(AddRewardNoise(MDPEnv("six_arms", horizon=4), law)), mode="sign"),
        "none": TruncateReward(AddRewardNoise(MDPEnv("six_arms", horizon=4), law), mode="sign"),
    }.items():
        model = ALGORITHMS["PPO"](env).learn(64)
        returns[place] = [info["r"] for info in model.ep_info_buffer]
    assert max(returns["beneath all"]) < 100
    assert min(returns["between"]) >= 400
    assert set(returns["none"]) == {4.0}


# It learns better


class Ladder(gymnasium.Env[Any, Any]):
    """Climb a ladder of eight rungs; every step costs 1 until the top is reached, or 100 steps are over.

    On each rung one of two actions is the right one, not the same everywhere; it fails one time in ten.
    Whatever else is done, one falls to the ground.
    """

    right, limit = (0, 1, 1, 0, 1, 0, 0, 1), 100

    def __init__(self) -> None:
        self.observation_space, self.action_space = (
            gymnasium.spaces.Discrete(len(self.right) + 1),
            gymnasium.spaces.Discrete(2),
        )
        self.rung = self.t = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.rung = self.t = 0
        return self.rung, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.t += 1
        self.rung = self.rung + 1 if action == self.right[self.rung] and self.np_random.random() < 0.9 else 0
        at_top = self.rung == len(self.right)
        return self.rung, -1.0, at_top, not at_top and self.t >= self.limit, {}


def mean_return(algorithm: str, seed: int, steps: int, options: dict[str, Any] | None) -> float:
    """The mean of all returns while learning, without the noise, as in the paper."""
    monitors = [Monitor(Ladder()) for _ in range(8 if algorithm == "PPO" else 1)]
    noisy = [AddRewardNoise(env, "alpha_stable", alpha=1.1, scale=1.0) for env in monitors]
    venv: Any = DummyVecEnv([lambda env=env: env for env in noisy])
    venv = venv if options is None else TruncateReward(venv, **options)
    shared: dict[str, Any] = {"learning_rate": 1e-3, "gamma": 0.98, "seed": seed, "device": "cpu"}
    if algorithm == "DQN":
        model: Any = DQN(
            "MlpPolicy",
            venv,
            buffer_size=50_000,
            learning_starts=200,
            train_freq=2,
            target_update_interval=100,
            exploration_fraction=0.1,
            exploration_final_eps=0.02,
            policy_kwargs={"net_arch": [64, 64]},
            **shared,
        )
    else:
        shared |= {"n_steps": 64, "batch_size": 128, "n_epochs": 5, "gae_lambda": 0.9}
        model = PPO("MlpPolicy", venv, policy_kwargs={"net_arch": [64]}, **shared)
    model.learn(steps)
    return float(np.mean([r for env in monitors for r in env.get_episode_rewards()]))


@pytest.mark.parametrize(
    ("algorithm", "steps", "options"),
    [
        ("DQN", 4_000, {"epsilon": 0.05, "coefficient": "auto"}),
        ("PPO", 10_000, {"epsilon": 0.05, "coefficient": 0.0015, "mode": "clip"}),
    ],
    ids=["DQN", "PPO"],
)
@pytest.mark.filterwarnings("ignore:of the first")  # that most rewards are truncated, as they should be here
def test_where_rewards_have_heavy_tails_truncation_helps(
    algorithm: str, steps: int, options: dict[str, Any]
) -> None:
    """Task, coefficient and mode were chosen on seeds 0 to 7; these are others.

    If truncation did nothing, one in a hundred such tests would say it helps.

    Not every choice helps everywhere. DQN, whose Huber loss bears outliers by itself, gains from the zeros:
    where visits are few nothing seems to cost anything, so it explores, and there is no noise to lead it
    astray. PPO learns from fresh rewards only and never averages over all visits, so that its threshold must
    grow slowly. Tasks tried before this one: a ladder of six rungs (DQN: +36, p = 0.005, seeds 2000 to 2009)
    and a hill with one way up (DQN: +16, p = 0.02, seeds 1000 to 1015).
    """
    seeds = range(3000, 3008)
    truncated, raw = ([mean_return(algorithm, seed, steps, how) for seed in seeds] for how in (options, None))
    result = permutation_test(truncated, raw, "mean", rng=np.random.default_rng(0))
    # What is shown if it fails.
    print(f"{algorithm}: {np.round(truncated)} against {np.round(raw)}: {result}")  # noqa: T201
    assert result.effect > 20
    assert result.p_value < 0.01
