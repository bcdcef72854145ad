"""A compiled environment: pure functions of its state.

And the scaling of observations, as `heavytail.gym.visit_counts` has it in NumPy.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from heavytail.gym.visit_counts import UNBOUNDED, squash

GENERATOR = "threefry2x32"  # of the random numbers behind all keys, whatever JAX is set to

State = Any  # a NamedTuple of arrays, the environment's own


class Environment(NamedTuple):
    """What training needs of an environment. Functions are of one run; training adds the axis of runs."""

    name: str
    n_actions: int
    low: tuple[float, ...]  # of observations, for scaling them to [-1, 1]; may be infinite
    high: tuple[float, ...]
    reset: Callable[[jax.Array], State]  # from a key
    step: Callable[
        [State, jax.Array], tuple[State, jax.Array, jax.Array]
    ]  # state, action -> state, reward, terminated
    observe: Callable[[State], jax.Array]


def scaled(env: Environment, observation: jax.Array) -> jax.Array:
    """An observation, in [-1, 1] by the environment's bounds.

    A number without bounds is squashed first, one that can have a single value tells nothing and is 0.
    """
    low, high = np.array(env.low), np.array(env.high)
    squashed = ~((np.abs(low) < UNBOUNDED) & (np.abs(high) < UNBOUNDED))
    low, high = (np.where(squashed, squash(end), end) for end in (low, high))
    slope = np.divide(2.0, high - low, out=np.zeros(low.shape), where=high > low)
    x = jnp.where(squashed, jnp.copysign(1.0 - 1.0 / (1.0 + jnp.abs(observation)), observation), observation)
    return jnp.float32(slope) * (x - jnp.float32(0.5 * (low + high)))
