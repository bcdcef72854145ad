"""The Q-network: dense layers with rectifiers, Xavier's uniform initialisation, as Dopamine's for classic control."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

Parameters = tuple[tuple[jax.Array, jax.Array], ...]


def new_network(key: jax.Array, sizes: Sequence[int]) -> Parameters:
    """Weights and biases of each layer."""
    layers = []
    for key_of_layer, fan_in, fan_out in zip(
        jax.random.split(key, len(sizes) - 1), sizes[:-1], sizes[1:], strict=True
    ):
        bound = (6.0 / (fan_in + fan_out)) ** 0.5
        layers.append(
            (
                jax.random.uniform(key_of_layer, (fan_in, fan_out), jnp.float32, -bound, bound),
                jnp.zeros(fan_out),
            )
        )
    return tuple(layers)


def q_values(network: Parameters, scaled: jax.Array) -> jax.Array:
    """The value of each action, for one observation or many."""
    x = scaled
    for weights, bias in network[:-1]:
        x = jax.nn.relu(product(x, weights) + bias)
    weights, bias = network[-1]
    return product(x, weights) + bias


@jax.custom_vjp
def product(x: jax.Array, weights: jax.Array) -> jax.Array:
    """``x @ weights``.

    Its derivative is written out because JAX's own gives that of the weights transposed. With an axis of runs
    the compiler does not undo this, and reading 512 x 512 numbers across takes longer than the product
    itself.
    """
    return x @ weights


def _product_and_factors(x: jax.Array, weights: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    return x @ weights, (x, weights)


def _pull_back(factors: tuple[jax.Array, jax.Array], gradient: jax.Array) -> tuple[jax.Array, jax.Array]:
    x, weights = factors
    return gradient @ weights.T, x.T @ gradient


product.defvjp(_product_and_factors, _pull_back)
