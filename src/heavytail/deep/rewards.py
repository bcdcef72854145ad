"""Heavy-tailed noise, visit counts and reward transforms, compiled.

`heavytail.gym.reward_transforms` and `heavytail.gym.observation_codes` do the same without JAX. A transform
is the same record of four numbers as there, so that runs of a batch may differ in it.
"""

from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp

from heavytail.deep.settings import RunSettings
from heavytail.gym.reward_transforms import CLIP, SIGN, RewardTransform, fixed, none, sign, truncate

TRANSFORMS: Mapping[str, Callable[[RunSettings], RewardTransform]] = {
    "none": lambda run: none(),
    "clip": lambda run: fixed(run.clip, "clip"),
    "sign": lambda run: sign(),
    "zero": lambda run: truncate(run.epsilon, run.coefficient),
    "truncate_clip": lambda run: truncate(run.epsilon, run.coefficient, "clip"),
}


def stable_noise(u: jax.Array, w: jax.Array, alpha: jax.Array, scale: jax.Array) -> jax.Array:
    """Calculate symmetric alpha-stable numbers in float32 (Chambers, Mallows and Stuck).

    Args:
        u: uniform numbers in [0, 1), multiples of 2^-23.
        w: the same, independent of `u`.
        alpha: the tail index.
        scale: the scale.
    """
    u = u + 2.0**-24  # an odd multiple of 2^-24: never 0 nor 1, and without rounding
    angle = jnp.pi * (u - 0.5)
    cosine = jnp.sin(jnp.pi * jnp.minimum(u, 1.0 - u))  # of the angle; rounding never makes it negative
    e = jnp.maximum(-jnp.log1p(-w), 1e-30)
    x = (
        jnp.sin(alpha * angle)
        / cosine ** (1.0 / alpha)
        * (jnp.cos((1.0 - alpha) * angle) / e) ** ((1.0 - alpha) / alpha)
    )
    return scale * x


def student_noise(u: jax.Array, w: jax.Array, df: jax.Array, scale: jax.Array) -> jax.Array:
    """Calculate Student's t with `df` degrees of freedom, from uniform numbers as above (Bailey 1994)."""
    u = u + 2.0**-24
    radius = jnp.sqrt(df * jnp.expm1(-2.0 / df * jnp.log(u)))
    return scale * radius * jnp.cos(2.0 * jnp.pi * w)


def pareto_noise(u: jax.Array, w: jax.Array, alpha: jax.Array, scale: jax.Array) -> jax.Array:
    """Calculate Pareto's law less its mean, from uniform numbers as above; the second is not used."""
    return scale * ((u + 2.0**-24) ** (-1.0 / alpha) - alpha / (alpha - 1.0))


NOISES: Mapping[str, Callable[[jax.Array, jax.Array, jax.Array, jax.Array], jax.Array]] = {
    "alpha_stable": stable_noise,
    "student_t": student_noise,
    "pareto": pareto_noise,
}


def reward_noise(law: str, u: jax.Array, w: jax.Array, alpha: jax.Array, scale: jax.Array) -> jax.Array:
    """Calculate the noise of rewards from uniform numbers: none if its scale is 0, whatever is drawn."""
    return jnp.where(scale == 0.0, 0.0, NOISES[law](u, w, alpha, scale))


def hash_code(projection: jax.Array, scaled: jax.Array) -> jax.Array:
    """Hash an observation in [-1, 1] by SimHash to a number of k <= 31 bits.

    The bits are the signs of random projections of the observation with a constant appended. Components
    beyond their bounds are clipped to them, as in `heavytail.gym.observation_codes`.
    """
    bits = projection @ jnp.append(jnp.clip(scaled, -1.0, 1.0), 1.0) > 0
    return jnp.sum(bits * (1 << jnp.arange(projection.shape[0])))


def transform_reward(
    reward: jax.Array, n: jax.Array, transform: RewardTransform
) -> tuple[jax.Array, jax.Array]:
    """Transform the reward of the n-th visit; also return whether it was beyond the threshold.

    `heavytail.gym.reward_transforms.transform_reward`, compiled.
    """
    threshold = transform.limit * (transform.coefficient * n) ** transform.exponent
    beyond = jnp.abs(reward) > threshold
    cut = jnp.where(transform.mode == CLIP, jnp.copysign(threshold, reward), 0.0)
    return jnp.where(transform.mode == SIGN, jnp.sign(reward), jnp.where(beyond, cut, reward)), beyond
