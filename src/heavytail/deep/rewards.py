r"""Heavy-tailed noise, visit counts and reward transforms, compiled.

`heavytail.gym.reward_transforms` and `heavytail.gym.visit_counts` say the same in NumPy.

A transform is the same record of four numbers as there, so that runs of one batch may differ in it.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp

from heavytail.deep.settings import RunSettings
from heavytail.gym.reward_transforms import CLIP, SIGN, RewardTransform, clip, none, sign, truncate

TRANSFORMS: Mapping[str, Callable[[RunSettings], RewardTransform]] = {
    "none": lambda run: none(),
    "clip": lambda run: clip(run.clip),
    "sign": lambda run: sign(),
    "zero": lambda run: truncate(run.epsilon, run.coefficient),
    "truncate_clip": lambda run: truncate(run.epsilon, run.coefficient, "clip"),
}


class RewardModel(NamedTuple):
    """What is done to rewards in one run: arrays, so that runs of a batch may differ."""

    transform: RewardTransform
    noise_scale: jax.Array
    noise_alpha: jax.Array


def stable_noise(u: jax.Array, w: jax.Array, alpha: jax.Array, scale: jax.Array) -> jax.Array:
    """Symmetric alpha-stable numbers (Chambers, Mallows and Stuck) in float32, from independent uniform ones, multiples of 2^-23 in [0, 1)."""
    u = u + 2.0**-24  # an odd multiple of 2^-24: never 0 nor 1, and without rounding
    angle, cosine = (
        jnp.pi * (u - 0.5),
        jnp.sin(jnp.pi * jnp.minimum(u, 1.0 - u)),
    )  # no rounding makes this cosine negative
    e = jnp.maximum(-jnp.log1p(-w), 1e-30)
    x = (
        jnp.sin(alpha * angle)
        / cosine ** (1.0 / alpha)
        * (jnp.cos((1.0 - alpha) * angle) / e) ** ((1.0 - alpha) / alpha)
    )
    return scale * x


def hash_code(projection: jax.Array, scaled: jax.Array) -> jax.Array:
    """SimHash: the signs of random projections of an observation in [-1, 1] with a constant appended, as one number of k bits, at most 31.

    What is beyond its bounds is taken to be at them, as in `heavytail.gym.visit_counts`.
    """
    bits = projection @ jnp.append(jnp.clip(scaled, -1.0, 1.0), 1.0) > 0
    return jnp.sum(bits * (1 << jnp.arange(projection.shape[0])))


def transformed(reward: jax.Array, n: jax.Array, transform: RewardTransform) -> tuple[jax.Array, jax.Array]:
    """The reward that the agent learns from at its n-th visit, and whether it was beyond the threshold: `reward_transforms.transform_reward`, compiled."""
    threshold = transform.limit * (transform.coefficient * n) ** transform.exponent
    beyond = jnp.abs(reward) > threshold
    cut = jnp.where(transform.mode == CLIP, jnp.copysign(threshold, reward), 0.0)
    return jnp.where(transform.mode == SIGN, jnp.sign(reward), jnp.where(beyond, cut, reward)), beyond
