"""The record of a compiled environment, and the scaling of its observations."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from heavytail.deep.envs._lazy_jax import Array, jnp
from heavytail.gym.observation_codes import UNBOUNDED, squash

GENERATOR = "threefry2x32"  # behind all random keys, whatever JAX is configured to use

State = Any  # a NamedTuple of arrays, the environment's own


class Environment(NamedTuple):
    """Pure functions and constants of an environment, for one run; training adds the axis of runs."""

    name: str
    n_actions: int
    low: tuple[float, ...]  # bounds of observations, for scaling them to [-1, 1]; may be infinite
    high: tuple[float, ...]
    max_episode_steps: int | None  # unless the parameter `cap` is given
    reset: Callable[[Array], State]  # key -> state
    step: Callable[[State, Array], tuple[State, Array, Array]]  # state, action -> state, reward, terminated
    observe: Callable[[State], Array]


def scale_observation(env: Environment, observation: Array) -> Array:
    """Scale an observation to [-1, 1] by the environment's bounds.

    A component without bounds is squashed first; one whose bounds coincide carries no information and becomes
    0. `heavytail.gym.observation_codes` does the same in NumPy.
    """
    low, high = np.array(env.low), np.array(env.high)
    squashed = ~((np.abs(low) < UNBOUNDED) & (np.abs(high) < UNBOUNDED))
    low, high = (np.where(squashed, squash(end), end) for end in (low, high))
    slope = np.divide(2.0, high - low, out=np.zeros(low.shape), where=high > low)
    x = jnp.where(squashed, jnp.copysign(1.0 - 1.0 / (1.0 + jnp.abs(observation)), observation), observation)
    return jnp.float32(slope) * (x - jnp.float32(0.5 * (low + high)))
