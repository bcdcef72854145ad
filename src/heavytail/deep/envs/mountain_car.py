"""MountainCar: Moore (1990), as in Gymnasium's ``MountainCar-v0``.

Reward -1 a step until the flag is reached.
"""

from typing import NamedTuple

from heavytail.deep.envs import Array, Environment, jax, jnp
from heavytail.registry import register

LEFT, RIGHT, GOAL = -1.2, 0.6, 0.5
MAX_SPEED, FORCE, GRAVITY = 0.07, 0.001, 0.0025


class Car(NamedTuple):
    """Position and velocity of the car."""

    position: Array
    velocity: Array


def reset(key: Array) -> Car:
    """Place the car at rest near the bottom."""
    return Car(jax.random.uniform(key, (), jnp.float32, -0.6, -0.4), jnp.float32(0.0))


def step(car: Car, action: Array) -> tuple[Car, Array, Array]:
    """Push left, not at all, or right."""
    velocity = car.velocity + (action - 1) * FORCE - jnp.cos(3.0 * car.position) * GRAVITY
    velocity = jnp.clip(velocity, -MAX_SPEED, MAX_SPEED)
    position = jnp.clip(car.position + velocity, LEFT, RIGHT)
    velocity = jnp.where((position == LEFT) & (velocity < 0), 0.0, velocity)
    return Car(position, velocity), jnp.float32(-1.0), (position >= GOAL) & (velocity >= 0)


def observe(car: Car) -> Array:
    """Observe position and velocity."""
    return jnp.stack([car.position, car.velocity])


@register("deep_env", "mountain_car")
def mountain_car() -> Environment:
    """Drive a weak car out of a valley, as Gymnasium's MountainCar-v0."""
    return Environment(
        name="mountain_car",
        n_actions=3,
        low=(LEFT, -MAX_SPEED),
        high=(RIGHT, MAX_SPEED),
        max_episode_steps=200,
        reset=reset,
        step=step,
        observe=observe,
    )
