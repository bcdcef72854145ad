"""A replay memory: a ring of transitions."""

from typing import NamedTuple

import jax
import jax.numpy as jnp


class Replay(NamedTuple):
    """Transitions, in arrays. Observations are scaled."""

    observation: jax.Array  # [size, D]
    action: jax.Array  # [size]
    reward: jax.Array  # [size]
    following: jax.Array  # [size, D]
    terminated: jax.Array  # [size]
    code: jax.Array  # [size] the hashed observation, for transforming rewards when they are replayed


def new_replay(size: int, dimension: int) -> Replay:
    """An empty one."""
    return Replay(
        jnp.zeros((size, dimension)),
        jnp.zeros(size, jnp.int8),
        jnp.zeros(size),
        jnp.zeros((size, dimension)),
        jnp.zeros(size, bool),
        jnp.zeros(size, jnp.int32),
    )


def store(replay: Replay, t: jax.Array, transition: Replay) -> Replay:
    """The t-th transition, over the oldest one."""
    where = t % replay.action.shape[0]
    return jax.tree.map(lambda ring, new: jax.lax.dynamic_update_index_in_dim(ring, new.astype(ring.dtype), where, 0), replay, transition)


def sample(replay: Replay, t: jax.Array, key: jax.Array, n: int) -> Replay:
    """N of the transitions stored in the first t steps, with replacement."""
    rows = jax.random.randint(key, (n,), 0, jnp.minimum(t, replay.action.shape[0]))
    return jax.tree.map(lambda ring: ring[rows], replay)
