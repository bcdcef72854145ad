"""Gymnasium's environments with heavy-tailed noise, and all that happens in them under random actions."""

from typing import Any

import gymnasium

import heavytail as ht
from heavytail.gym import AddRewardNoise

HEAVY = ht.laws.alpha_stable(alpha=1.1, scale=5.0)


def noisy(env_id: str = "CartPole-v1") -> gymnasium.Env[Any, Any]:
    return AddRewardNoise(gymnasium.make(env_id), HEAVY)


def rollout(env: gymnasium.Env[Any, Any], n: int, seed: int) -> list[Any]:
    """What resets return, and behind each action what its step returns."""
    env.action_space.seed(seed)
    seen: list[Any] = [env.reset(seed=seed)]
    for _ in range(n):
        action = env.action_space.sample()
        seen.append((action, *env.step(action)))
        if seen[-1][3] or seen[-1][4]:
            seen.append(env.reset())
    return seen
