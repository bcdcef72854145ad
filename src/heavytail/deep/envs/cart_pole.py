"""CartPole: Barto, Sutton and Anderson (1983), as in Gymnasium's ``CartPole-v1``.

Reward 1 a step until the pole falls.
"""

import math
from typing import NamedTuple

from heavytail.deep.envs import Array, Environment, jax, jnp
from heavytail.registry import register

GRAVITY, CART_MASS, POLE_MASS, HALF_LENGTH, FORCE, TAU = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
MASS, MOMENT = CART_MASS + POLE_MASS, POLE_MASS * HALF_LENGTH
MAX_POSITION, MAX_ANGLE = 2.4, 12 * 2 * math.pi / 360
TYPICAL_SPEED = 3.0  # bounds velocities, which Gymnasium leaves unbounded; episodes rarely exceed it
BOUNDS = (2 * MAX_POSITION, TYPICAL_SPEED, 2 * MAX_ANGLE, TYPICAL_SPEED)


class Cart(NamedTuple):
    """Positions and velocities of the cart and its pole."""

    x: Array
    speed: Array
    angle: Array
    spin: Array


def reset(key: Array) -> Cart:
    """Start nearly upright, nearly at rest."""
    return Cart(*jax.random.uniform(key, (4,), jnp.float32, -0.05, 0.05))


def step(cart: Cart, action: Array) -> tuple[Cart, Array, Array]:
    """Push left or right; one step of Euler's method."""
    force = jnp.where(action == 1, FORCE, -FORCE)
    cosine, sine = jnp.cos(cart.angle), jnp.sin(cart.angle)
    pull = (force + MOMENT * jnp.square(cart.spin) * sine) / MASS
    inertia = HALF_LENGTH * (4.0 / 3.0 - POLE_MASS * jnp.square(cosine) / MASS)
    angular_acceleration = (GRAVITY * sine - cosine * pull) / inertia
    acceleration = pull - MOMENT * angular_acceleration * cosine / MASS
    moved = Cart(
        cart.x + TAU * cart.speed,
        cart.speed + TAU * acceleration,
        cart.angle + TAU * cart.spin,
        cart.spin + TAU * angular_acceleration,
    )
    fallen = (jnp.abs(moved.x) > MAX_POSITION) | (jnp.abs(moved.angle) > MAX_ANGLE)
    return moved, jnp.float32(1.0), fallen


def observe(cart: Cart) -> Array:
    """Observe the whole state."""
    return jnp.stack(cart)


@register("deep_env", "cart_pole")
def cart_pole() -> Environment:
    """Balance a pole on a cart, as Gymnasium's CartPole-v1."""
    return Environment(
        name="cart_pole",
        n_actions=2,
        low=tuple(-bound for bound in BOUNDS),
        high=BOUNDS,
        max_episode_steps=500,
        reset=reset,
        step=step,
        observe=observe,
    )
