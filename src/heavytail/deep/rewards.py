r"""Heavy-tailed noise, visit counts and reward transforms, compiled; `heavytail.reward_transforms` and `heavytail.counting` say the same in NumPy.

A transform is a number, so that runs of one batch may differ in it. The adaptive threshold is (C n)^(1/(1+epsilon)), n counting the visits of the hashed observation and the
action, this one included: Zhuang and Sui (2021), section 3.4.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

NONE, CLIP, SIGN, TRUNCATE, TRUNCATE_CLIP = range(5)
TRANSFORMS = {"none": NONE, "clip": CLIP, "sign": SIGN, "zero": TRUNCATE, "truncate_clip": TRUNCATE_CLIP}


class Treatment(NamedTuple):
    """What is done to rewards in one run: arrays, so that runs of a batch may differ."""

    transform: jax.Array
    coefficient: jax.Array  # C
    epsilon: jax.Array
    clip: jax.Array  # the fixed range, for "clip"
    noise_scale: jax.Array
    noise_alpha: jax.Array


def stable_noise(key: jax.Array, alpha: jax.Array, scale: jax.Array) -> jax.Array:
    """A symmetric alpha-stable draw (Chambers, Mallows and Stuck), in float32."""
    one, two = jax.random.split(key)
    u = jax.random.uniform(one, (), jnp.float32) + 2.0**-24  # an odd multiple of 2^-24, never 0 nor 1
    angle, cosine = jnp.pi * (u - 0.5), jnp.sin(jnp.pi * jnp.minimum(u, 1.0 - u))  # no rounding makes this cosine negative
    e = jnp.maximum(jax.random.exponential(two, (), jnp.float32), 1e-30)
    x = jnp.sin(alpha * angle) / cosine ** (1.0 / alpha) * (jnp.cos((1.0 - alpha) * angle) / e) ** ((1.0 - alpha) / alpha)
    return scale * x


def hash_code(projection: jax.Array, scaled: jax.Array) -> jax.Array:
    """SimHash: the signs of random projections of an observation in [-1, 1] with a constant appended, as one number of k bits."""
    bits = projection @ jnp.append(scaled, 1.0) > 0
    return jnp.sum(bits * (1 << jnp.arange(projection.shape[0])))


def threshold(n: jax.Array, treatment: Treatment) -> jax.Array:
    """Beyond which an adaptive transform lets nothing through."""
    return (treatment.coefficient * n) ** (1.0 / (1.0 + treatment.epsilon))


def transformed(reward: jax.Array, n: jax.Array, treatment: Treatment) -> tuple[jax.Array, jax.Array]:
    """The reward that the agent learns from at its n-th visit, and whether it differs from what came."""
    bound = threshold(n, treatment)
    outcomes = jnp.stack(
        [
            reward,
            jnp.clip(reward, -treatment.clip, treatment.clip),
            jnp.sign(reward),
            jnp.where(jnp.abs(reward) > bound, 0.0, reward),
            jnp.clip(reward, -bound, bound),
        ]
    )
    chosen = outcomes[treatment.transform]
    return chosen, chosen != reward
