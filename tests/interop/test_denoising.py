"""Stable-Baselines3 learns from rewards without their noise.

Run by ``make test-interop``.
"""

import importlib
import inspect
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from gymnasium.error import ResetNeeded
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecEnv

import heavytail as ht
from heavytail.gym import AddRewardNoise, DenoiseReward, TruncateReward
from heavytail.gym import denoise as core
from heavytail.gym.adapters import Visit
from heavytail.gym.ids import register_ids

torch.set_num_threads(1)  # tests run side by side, and networks this small only lose by sharing cores
register_ids()
HEAVY = ht.laws.alpha_stable(alpha=1.1, scale=5.0)
NOISE: dict[str, Any] = {"wrapper_class": AddRewardNoise, "wrapper_kwargs": {"law": HEAVY}}
ALGORITHMS: dict[str, Callable[[Any], Any]] = {
    "DQN": lambda env: DQN("MlpPolicy", env, learning_starts=50, train_freq=4, seed=0, device="cpu"),
    "PPO": lambda env: PPO("MlpPolicy", env, n_steps=64, batch_size=32, n_epochs=2, seed=0, device="cpu"),
}


@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1"])
def test_stable_baselines3_finds_nothing_to_complain_about(env_id: str) -> None:
    check_env(DenoiseReward(AddRewardNoise(gymnasium.make(env_id), HEAVY)), warn=True)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("vectored", [False, True])
@pytest.mark.parametrize("wrapper", [DenoiseReward, TruncateReward])
def test_a_model_learns_and_goes_on_from_its_files(
    wrapper: Any, algorithm: str, vectored: bool, tmp_path: Path
) -> None:
    def bare() -> Any:
        if vectored:
            return make_vec_env("CartPole-v1", n_envs=2, seed=0, **NOISE)
        return AddRewardNoise(gymnasium.make("CartPole-v1"), HEAVY)

    env = wrapper(bare())
    assert isinstance(env, VecEnv if vectored else gymnasium.Env)
    assert isinstance(env, wrapper)
    model = ALGORITHMS[algorithm](env).learn(300)  # warnings are errors
    assert all(np.isfinite(tensor.numpy()).all() for tensor in model.get_parameters()["policy"].values())
    model.save(tmp_path / "model.zip")
    env.save(tmp_path / "rewards.npz")
    again: Any = ht.load(tmp_path / "rewards.npz", bare())
    assert type(again) is type(env)
    np.testing.assert_equal(again.state_dict(), env.state_dict())
    type(model).load(tmp_path / "model.zip", env=again).learn(50)
    assert again.state_dict()["steps"][0] > env.state_dict()["steps"][0]


def test_a_vector_learns_from_all_its_environments_and_tells_goals_from_time_limits() -> None:
    venv = DenoiseReward(make_vec_env("CliffWalking-v1", 2, 5, env_kwargs={"max_episode_steps": 7}))
    states = venv.reset()
    denoiser = core.Denoiser(venv.observation_space, venv.action_space)
    for actions in np.random.default_rng(0).integers(4, size=(40, 2)):
        following, rewards, dones, infos = venv.step(actions)
        for i, info in enumerate(infos):
            end = bool(dones[i]) and not info["TimeLimit.truncated"]
            ((mean, added),) = denoiser.apply([Visit(int(states[i]), actions[i], info["raw_reward"], end)])
            assert rewards[i] == np.float32(mean)
            assert info["reward_samples"] == added["reward_samples"]
        states = following
    assert rewards.dtype == np.float32
    np.testing.assert_equal(venv.state_dict(), denoiser.state_dict())


def test_the_example_of_the_documentation_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _, example = inspect.getdoc(DenoiseReward).split("::\n\n")  # type: ignore[union-attr]
    exec(textwrap.dedent(example), {})  # noqa: S102 - the example is ours
    assert Path("rewards.npz").exists()


def test_the_example_ends_in_a_picture() -> None:
    mpl.use("agg")
    figure = importlib.import_module("stable_baselines3_noise").main(steps=2048, runs=1)
    assert all(axes.lines and axes.get_xlabel() for axes in figure.axes)
    plt.close(figure)


def test_a_vector_needs_a_reset() -> None:
    with pytest.raises(ResetNeeded, match="no episode has begun"):
        DenoiseReward(make_vec_env("CartPole-v1", n_envs=2)).step(np.array([0, 1]))
