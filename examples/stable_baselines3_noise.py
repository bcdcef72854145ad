"""Stable-Baselines3 where rewards are mostly noise
================================================

PPO balances a pole, and is paid 1 for each step, plus noise whose variance is infinite: most rewards are off
by five, some by thousands. A wrapper between the environment and the learner removes the noise; nothing has
to be chosen, and the learner is as it was.

It needs Stable-Baselines3: ``pip install stable-baselines3``.
"""

from collections.abc import Callable
from typing import Any

import gymnasium
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import heavytail as ht

ENVS = 8
NOISE = ht.laws.alpha_stable(alpha=1.1, scale=5.0)
WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "as it is paid": lambda venv: venv,
    "clipped to [-1, 1]": lambda venv: ht.gym.TruncateReward(venv, mode="clip", limit=1.0),
    "DenoiseReward": ht.gym.DenoiseReward,
}


def learn(wrap: Callable[[Any], Any], steps: int, seed: int) -> tuple[Any, Any]:
    """Train PPO; return at which step episodes ended, and their returns without noise."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv

    monitors = [Monitor(gymnasium.make("CartPole-v1")) for _ in range(ENVS)]
    noisy = [
        ht.gym.AddRewardNoise(env, NOISE) for env in monitors
    ]  # above the monitors, which see none of it
    venv = DummyVecEnv([lambda env=env: env for env in noisy])
    venv.seed(seed)
    PPO(
        "MlpPolicy", wrap(venv), n_steps=128, batch_size=256, learning_rate=1e-3, seed=seed, device="cpu"
    ).learn(steps)
    ends = np.concatenate([np.cumsum(env.get_episode_lengths()) for env in monitors]) * ENVS
    returns = np.concatenate([env.get_episode_rewards() for env in monitors])
    return ends, returns


def main(steps: int = 30_000, runs: int = 3) -> Figure:
    """Learn with each wrapper, and draw the returns."""
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    edges = np.linspace(0, steps, 21)
    for name, wrap in WRAPPERS.items():
        ends, returns = map(
            np.concatenate, zip(*(learn(wrap, steps, seed) for seed in range(runs)), strict=True)
        )
        bins = np.digitize(ends, edges)
        means = [returns[bins == i].mean() if (bins == i).any() else np.nan for i in range(1, len(edges))]
        axes.plot(edges[1:], means, label=name)
    axes.set(xlabel="steps", ylabel="return of an episode, without the noise")
    axes.legend()
    return figure


# %%
# With the rewards as they are paid nothing is learnt: one outlier outweighs everything else in its batch.
# Clipping helps, where one knows to which range. Without the noise it is the task that PPO was made for.
if __name__ == "__main__":
    main()
    plt.show()
