"""MountainCar: Moore (1990), as Gymnasium's ``MountainCar-v0`` has it.

Reward -1 a step until the flag is reached.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from heavytail.deep.envs.environment import Environment

LEFT, RIGHT, GOAL = -1.2, 0.6, 0.5
MAX_SPEED, FORCE, GRAVITY = 0.07, 0.001, 0.0025


class Car(NamedTuple):
    """Where it is and how fast."""

    position: jax.Array
    velocity: jax.Array


def reset(key: jax.Array) -> Car:
    """At rest near the bottom."""
    return Car(jax.random.uniform(key, (), jnp.float32, -0.6, -0.4), jnp.float32(0.0))


def step(car: Car, action: jax.Array) -> tuple[Car, jax.Array, jax.Array]:
    """Push left, not at all, or right."""
    velocity = car.velocity + (action - 1) * FORCE - jnp.cos(3.0 * car.position) * GRAVITY
    velocity = jnp.clip(velocity, -MAX_SPEED, MAX_SPEED)
    position = jnp.clip(car.position + velocity, LEFT, RIGHT)
    velocity = jnp.where((position == LEFT) & (velocity < 0), 0.0, velocity)
    return Car(position, velocity), jnp.float32(-1.0), (position >= GOAL) & (velocity >= 0)


def observe(car: Car) -> jax.Array:
    """Position and velocity."""
    return jnp.stack([car.position, car.velocity])


MOUNTAIN_CAR = Environment("mountain_car", 3, (LEFT, -MAX_SPEED), (RIGHT, MAX_SPEED), reset, step, observe)
