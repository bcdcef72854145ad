"""A compiled environment as an outside package would ship it."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from heavytail.deep.envs import Environment
from heavytail.registry import register


class Walker(NamedTuple):
    position: jax.Array


def reset(key: jax.Array) -> Walker:
    return Walker(jax.random.uniform(key, (), jnp.float32, -0.1, 0.1))


def step(walker: Walker, action: jax.Array) -> tuple[Walker, jax.Array, jax.Array]:
    """Move a tenth to the left or to the right; the episode ends at the right end."""
    position = jnp.maximum(walker.position + 0.2 * action - 0.1, -1.0)
    return Walker(position), jnp.float32(-1.0), position >= 1.0


def observe(walker: Walker) -> jax.Array:
    return walker.position[None]


@register("deep_env", "corridor")
def corridor() -> Environment:
    """Walk to the right end of a corridor."""
    return Environment(
        name="corridor",
        n_actions=2,
        low=(-1.0,),
        high=(1.0,),
        max_episode_steps=30,
        reset=reset,
        step=step,
        observe=observe,
    )
