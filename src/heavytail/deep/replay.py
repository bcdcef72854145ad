"""A replay memory: a ring of transitions.

A transition is one row of 32-bit words, the numbers of its parts bit by bit, so that storing one is one write
and a batch is one read.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

WORDS = 4  # of a row, beside those of two observations


class Transition(NamedTuple):
    """One, or many with their axes in front. Observations are scaled."""

    observation: jax.Array  # [D]
    following: jax.Array  # [D]
    reward: jax.Array
    terminated: jax.Array
    action: jax.Array
    code: jax.Array  # the hashed observation, for transforming rewards when they are replayed


def new_replay(size: int, dimension: int) -> jax.Array:
    """An empty one: [size, words]."""
    return jnp.zeros((size, 2 * dimension + WORDS), jnp.int32)


def packed(transition: Transition) -> jax.Array:
    """A transition as a row [words]."""
    floats = jnp.concatenate([transition.observation, transition.following, transition.reward[None]]).astype(
        jnp.float32
    )
    whole = jnp.stack(
        [
            transition.terminated.astype(jnp.int32),
            transition.action.astype(jnp.int32),
            transition.code.astype(jnp.int32),
        ]
    )
    return jnp.concatenate([jax.lax.bitcast_convert_type(floats, jnp.int32), whole])


def unpacked(rows: jax.Array) -> Transition:
    """The transitions in rows [..., words]."""
    dimension = (rows.shape[-1] - WORDS) // 2
    floats = jax.lax.bitcast_convert_type(rows[..., : 2 * dimension + 1], jnp.float32)
    terminated, action, code = (rows[..., 2 * dimension + 1 + i] for i in range(3))
    return Transition(
        floats[..., :dimension], floats[..., dimension:-1], floats[..., -1], terminated != 0, action, code
    )


def store(replay: jax.Array, t: jax.Array, transition: Transition) -> jax.Array:
    """The t-th transition, over the oldest one."""
    return jax.lax.dynamic_update_index_in_dim(replay, packed(transition), t % replay.shape[0], 0)


def sample(replay: jax.Array, t: jax.Array, bits: jax.Array) -> Transition:
    """Of the transitions stored in the first t steps, one for each of these random whole numbers (32 bits)."""
    stored = jnp.minimum(t, replay.shape[0]).astype(jnp.uint32)
    return unpacked(replay[(bits % stored).astype(jnp.int32)])
