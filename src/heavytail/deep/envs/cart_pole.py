"""CartPole: Barto, Sutton and Anderson (1983), as Gymnasium's ``CartPole-v1`` has it.

Reward 1 a step until the pole falls.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

from heavytail.deep.envs.environment import Environment

GRAVITY, CART_MASS, POLE_MASS, HALF_LENGTH, FORCE, TAU = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
MASS, MOMENT = CART_MASS + POLE_MASS, POLE_MASS * HALF_LENGTH
EDGE, MAX_ANGLE = 2.4, 12 * 2 * math.pi / 360
FAST = 3.0  # Gymnasium has no bounds for velocities; episodes rarely see more


class Cart(NamedTuple):
    """The cart and its pole."""

    x: jax.Array
    speed: jax.Array
    angle: jax.Array
    spin: jax.Array


def reset(key: jax.Array) -> Cart:
    """Nearly upright, nearly at rest."""
    return Cart(*jax.random.uniform(key, (4,), jnp.float32, -0.05, 0.05))


def step(cart: Cart, action: jax.Array) -> tuple[Cart, jax.Array, jax.Array]:
    """Push left or right; one step of Euler's method."""
    force = jnp.where(action == 1, FORCE, -FORCE)
    cosine, sine = jnp.cos(cart.angle), jnp.sin(cart.angle)
    pull = (force + MOMENT * jnp.square(cart.spin) * sine) / MASS
    turning = (GRAVITY * sine - cosine * pull) / (
        HALF_LENGTH * (4.0 / 3.0 - POLE_MASS * jnp.square(cosine) / MASS)
    )
    driving = pull - MOMENT * turning * cosine / MASS
    moved = Cart(
        cart.x + TAU * cart.speed,
        cart.speed + TAU * driving,
        cart.angle + TAU * cart.spin,
        cart.spin + TAU * turning,
    )
    return moved, jnp.float32(1.0), (jnp.abs(moved.x) > EDGE) | (jnp.abs(moved.angle) > MAX_ANGLE)


def observe(cart: Cart) -> jax.Array:
    """Everything."""
    return jnp.stack(cart)


_BOUNDS = (2 * EDGE, FAST, 2 * MAX_ANGLE, FAST)
CART_POLE = Environment("cart_pole", 2, tuple(-b for b in _BOUNDS), _BOUNDS, reset, step, observe)
