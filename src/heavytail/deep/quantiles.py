"""Quantiles of the return in the place of its mean: QR-DQN (Dabney et al. 2018), with the middle ones only.

The mean of all quantiles is the mean of the return, which heavy tails spoil: outer quantiles are large and
hardly known. Here an action is worth the mean of the middle half.
"""

import jax
import jax.numpy as jnp


def split_quantiles(output: jax.Array, quantiles: int) -> jax.Array:
    """Split the outputs of a network [..., A * quantiles] by actions [..., A, quantiles]."""
    return output.reshape(*output.shape[:-1], -1, quantiles)


def middle_mean(split: jax.Array) -> jax.Array:
    """Calculate the mean of the middle half of the quantiles [..., A]."""
    cut = split.shape[-1] // 4
    return jnp.mean(split[..., cut : split.shape[-1] - cut], axis=-1)


def best_quantiles(split: jax.Array) -> jax.Array:
    """Choose the quantiles of the best action [..., quantiles]."""
    best = jnp.argmax(middle_mean(split), axis=-1)
    return jnp.take_along_axis(split, best[..., None, None], axis=-2)[..., 0, :]


def quantile_loss(quantiles: jax.Array, goals: jax.Array) -> jax.Array:
    """Calculate the mean of Huber's quantile loss over all pairs of a quantile and a goal.

    Args:
        quantiles: [batch, K], of levels in the middle of K equal parts.
        goals: [batch, K] samples of the return.
    """
    n = quantiles.shape[-1]
    levels = (jnp.arange(n, dtype=jnp.float32)[:, None] + 0.5) / n
    off = goals[:, None, :] - quantiles[:, :, None]  # [batch, quantile, goal]
    size = jnp.abs(off)
    huber = jnp.where(size <= 1.0, 0.5 * jnp.square(off), size - 0.5)
    return jnp.mean(jnp.sum(jnp.abs(levels - (off < 0.0)) * huber, axis=1))
