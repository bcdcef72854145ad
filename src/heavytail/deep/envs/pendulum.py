"""Pendulum with three torques: Gymnasium's ``Pendulum-v1``, whose torque is a number between -2 and 2.

The reward is minus a cost that grows with the angle from upright, the speed and the torque.
"""

import math
from typing import NamedTuple

from heavytail.deep.envs import Array, Environment, jax, jnp
from heavytail.registry import register

GRAVITY, MASS, LENGTH, DT = 10.0, 1.0, 1.0, 0.05
MAX_SPEED, MAX_TORQUE = 8.0, 2.0


class Pendulum(NamedTuple):
    """Angle from upright, and its velocity."""

    angle: Array  # from -pi to pi, where 32 bits are precise
    speed: Array


def reset(key: Array) -> Pendulum:
    """Start at any angle, slowly."""
    angle, speed = jax.random.uniform(key, (2,), jnp.float32, -1.0, 1.0)
    return Pendulum(math.pi * angle, speed)


def step(pendulum: Pendulum, action: Array) -> tuple[Pendulum, Array, Array]:
    """Apply torque -2, 0 or 2; one step of the semi-implicit Euler method."""
    angle, speed = pendulum
    torque = MAX_TORQUE * (action - 1)
    cost = jnp.square(angle) + 0.1 * jnp.square(speed) + 0.001 * jnp.square(torque)
    pull = 1.5 * GRAVITY / LENGTH * jnp.sin(angle) + 3.0 / (MASS * LENGTH**2) * torque
    speed = jnp.clip(speed + DT * pull, -MAX_SPEED, MAX_SPEED)
    angle = (angle + DT * speed + math.pi) % (2 * math.pi) - math.pi
    return Pendulum(angle, speed), -cost, jnp.bool_(False)


def observe(pendulum: Pendulum) -> Array:
    """Observe cosine and sine of the angle, and the velocity."""
    return jnp.stack([jnp.cos(pendulum.angle), jnp.sin(pendulum.angle), pendulum.speed])


@register("deep_env", "pendulum")
def pendulum() -> Environment:
    """Swing up a pendulum and hold it, as Gymnasium's Pendulum-v1 with torques -2, 0 and 2."""
    return Environment(
        name="pendulum",
        n_actions=3,
        low=(-1.0, -1.0, -MAX_SPEED),
        high=(1.0, 1.0, MAX_SPEED),
        max_episode_steps=200,
        reset=reset,
        step=step,
        observe=observe,
    )
