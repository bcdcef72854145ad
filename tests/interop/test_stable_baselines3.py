"""Stable-Baselines3 on heavytail's environments, in an environment of its own: ``make test-interop``."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv

import heavytail as ht
from heavytail.gym import AddRewardNoise, MDPEnv
from heavytail.gym.ids import register_ids

torch.set_num_threads(1)  # tests run side by side, and networks this small only lose by sharing cores
register_ids()
IDS = sorted(i for i in gymnasium.registry if i.startswith("heavytail/"))
HEAVY = ht.laws.alpha_stable(alpha=1.1, scale=5.0)
ALGORITHMS: dict[str, Callable[[Any], Any]] = {
    "DQN": lambda env: DQN("MlpPolicy", env, learning_starts=50, train_freq=4, seed=0, device="cpu"),
    "PPO": lambda env: PPO("MlpPolicy", env, n_steps=64, batch_size=32, n_epochs=2, seed=0, device="cpu"),
}


def noisy_cart_pole() -> AddRewardNoise[Any, Any]:
    return AddRewardNoise(gymnasium.make("CartPole-v1"), HEAVY)


@pytest.mark.parametrize("env_id", IDS)
def test_stable_baselines3_finds_nothing_to_complain_about(env_id: str) -> None:
    check_env(gymnasium.make(env_id), warn=True, skip_render_check=False)
    check_env(AddRewardNoise(gymnasium.make(env_id), HEAVY), warn=True, skip_render_check=False)


def test_nor_with_noise_on_an_environment_of_gymnasium() -> None:
    check_env(noisy_cart_pole(), warn=True)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    "env",
    [
        pytest.param(lambda: gymnasium.make("heavytail/SixArms-v0"), id="SixArms"),
        pytest.param(lambda: "heavytail/SixArms-v0", id="SixArms by its id"),
        pytest.param(noisy_cart_pole, id="CartPole with noise"),
    ],
)
def test_it_learns(algorithm: str, env: Callable[[], Any]) -> None:
    model = ALGORITHMS[algorithm](env()).learn(300)
    assert model.num_timesteps >= 300
    observation = model.get_env().reset()
    action, _ = model.predict(observation)
    assert model.action_space.contains(action[0])
    parameters = model.get_parameters()["policy"]
    assert all(np.isfinite(tensor.numpy()).all() for tensor in parameters.values())


def test_a_vector_of_stable_baselines3_sees_the_rewards_of_the_single_environments() -> None:
    """Its vectors reset within the step that ends an episode.

    Noise must neither be drawn twice nor be lost.
    """
    vector = make_vec_env(
        "heavytail/SixArms-v0",
        n_envs=2,
        seed=5,
        env_kwargs={"horizon": 4},
        wrapper_class=AddRewardNoise,
        wrapper_kwargs={"law": HEAVY},
    )
    assert isinstance(vector, DummyVecEnv)
    vector.reset()
    actions = np.random.default_rng(0).integers(6, size=(30, 2))
    steps = [vector.step(a) for a in actions]
    for i in range(2):
        env = AddRewardNoise(MDPEnv("six_arms", horizon=4), HEAVY)
        env.reset(seed=5 + i)
        for a, (_, rewards, dones, infos) in zip(actions[:, i], steps, strict=True):
            _, reward, terminated, truncated, info = env.step(a)
            assert rewards[i] == np.float32(reward)
            assert dones[i] == (terminated or truncated)
            assert infos[i]["reward_noise"] == info["reward_noise"]
            assert infos[i]["TimeLimit.truncated"] == truncated
            if dones[i]:
                env.reset()
