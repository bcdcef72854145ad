"""The Q-network: dense layers with ReLU and Xavier's uniform initialisation.

As in Dopamine's agents for classic control. Its outputs are the values of actions, or quantiles of the return
instead of its mean: QR-DQN (Dabney et al. 2018), but with the middle ones only. The mean of all quantiles is
the mean of the return, which heavy tails spoil: outer quantiles are large and hardly known. Here the value of
an action is the mean of the middle half.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

Parameters = tuple[tuple[jax.Array, jax.Array], ...]


def init_network(key: jax.Array, sizes: Sequence[int]) -> Parameters:
    """Draw the weights of each layer, and set its biases to 0."""
    layers = []
    keys = jax.random.split(key, len(sizes) - 1)
    for layer_key, fan_in, fan_out in zip(keys, sizes[:-1], sizes[1:], strict=True):
        bound = (6.0 / (fan_in + fan_out)) ** 0.5
        weights = jax.random.uniform(layer_key, (fan_in, fan_out), jnp.float32, -bound, bound)
        layers.append((weights, jnp.zeros(fan_out)))
    return tuple(layers)


def q_values(network: Parameters, scaled: jax.Array) -> jax.Array:
    """Calculate the value of each action, for one scaled observation or many."""
    x = scaled
    for weights, bias in network[:-1]:
        x = jax.nn.relu(matmul(x, weights) + bias)
    weights, bias = network[-1]
    return matmul(x, weights) + bias


def scale_output(network: Parameters, factor: jax.Array) -> Parameters:
    """Multiply all outputs of a network."""
    *layers, (weights, bias) = network
    return (*layers, (factor * weights, factor * bias))


@jax.custom_vjp
def matmul(x: jax.Array, weights: jax.Array) -> jax.Array:
    """Multiply ``x @ weights``, with a custom derivative.

    JAX's derivative uses the transposed weights. With an axis of runs the compiler does not undo this, and
    reading 512 x 512 numbers across takes longer than the product itself.
    """
    return x @ weights


def _matmul_forward(x: jax.Array, weights: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    return x @ weights, (x, weights)


def _matmul_backward(
    factors: tuple[jax.Array, jax.Array], gradient: jax.Array
) -> tuple[jax.Array, jax.Array]:
    x, weights = factors
    return gradient @ weights.T, x.T @ gradient


matmul.defvjp(_matmul_forward, _matmul_backward)


# Quantiles of the return


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
