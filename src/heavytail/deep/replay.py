"""A replay memory: a ring buffer of transitions.

A transition is one row of 32-bit words, the bits of its numbers, so that storing one is one write and
sampling a batch is one read.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

OTHER_WORDS = 4  # of a row, beside those of two observations


class Transition(NamedTuple):
    """One transition, or many with leading axes. Observations are scaled."""

    observation: jax.Array  # [D]
    next_observation: jax.Array  # [D]
    reward: jax.Array
    terminated: jax.Array
    action: jax.Array
    code: jax.Array  # the hashed observation, for transforming rewards when they are replayed


def init_replay(size: int, dimension: int) -> jax.Array:
    """Allocate an empty memory [size, words]."""
    return jnp.zeros((size, 2 * dimension + OTHER_WORDS), jnp.int32)


def pack(transition: Transition) -> jax.Array:
    """Write a transition as a row [words]."""
    observation, next_observation, reward, *others = transition
    floats = jnp.concatenate([observation, next_observation, reward[None]]).astype(jnp.float32)
    integers = jnp.stack([other.astype(jnp.int32) for other in others])
    return jnp.concatenate([jax.lax.bitcast_convert_type(floats, jnp.int32), integers])


def unpack(rows: jax.Array) -> Transition:
    """Read the transitions in rows [..., words]."""
    dimension = (rows.shape[-1] - OTHER_WORDS) // 2
    floats = jax.lax.bitcast_convert_type(rows[..., : 2 * dimension + 1], jnp.float32)
    terminated, action, code = (rows[..., 2 * dimension + 1 + i] for i in range(3))
    return Transition(
        floats[..., :dimension], floats[..., dimension:-1], floats[..., -1], terminated != 0, action, code
    )


def store(replay: jax.Array, t: jax.Array, transition: Transition) -> jax.Array:
    """Store the t-th transition, over the oldest one."""
    return jax.lax.dynamic_update_index_in_dim(replay, pack(transition), t % replay.shape[0], 0)


def sample(replay: jax.Array, t: jax.Array, bits: jax.Array, latest: int = 0) -> Transition:
    """Sample from the transitions of the first t steps, one for each random 32-bit number.

    The `latest` newest ones come first, newest first. One read of many rows is faster than many reads.
    """
    stored = jnp.minimum(t, replay.shape[0]).astype(jnp.uint32)
    newest = (t - 1 - jnp.arange(latest)) % replay.shape[0]
    return unpack(replay[jnp.concatenate([newest, (bits % stored).astype(jnp.int32)])])


def split_batch(batch: Transition, *at: int) -> list[Transition]:
    """Split a batch before these indices."""
    parts = zip(*(jnp.split(leaf, at) for leaf in batch), strict=True)
    return [Transition(*part) for part in parts]
