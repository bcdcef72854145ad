"""Acrobot: Sutton (1996), as in Gymnasium's ``Acrobot-v1`` ("book" dynamics).

Reward -1 a step until the tip is above the bar, 0 then.
"""

import math
from typing import NamedTuple

from heavytail.deep.envs import Array, Environment, jax, jnp
from heavytail.registry import register

LENGTH, MASS, CENTRE, INERTIA, GRAVITY, DT = 1.0, 1.0, 0.5, 1.0, 9.8, 0.2
MAX_SPEED_1, MAX_SPEED_2 = 4 * math.pi, 9 * math.pi
BOUNDS = (1.0, 1.0, 1.0, 1.0, MAX_SPEED_1, MAX_SPEED_2)


class Arm(NamedTuple):
    """Angles of the two links and their velocities."""

    angles: Array  # [4]: theta1, theta2, and their derivatives


def reset(key: Array) -> Arm:
    """Start hanging, nearly at rest."""
    return Arm(jax.random.uniform(key, (4,), jnp.float32, -0.1, 0.1))


def _derivative(y: Array, torque: Array) -> Array:
    """Evaluate the equations of motion of Sutton and Barto's book."""
    theta1, theta2, spin1, spin2 = y
    cos2, sin2 = jnp.cos(theta2), jnp.sin(theta2)
    d1 = MASS * CENTRE**2 + MASS * (LENGTH**2 + CENTRE**2 + 2 * LENGTH * CENTRE * cos2) + 2 * INERTIA
    d2 = MASS * (CENTRE**2 + LENGTH * CENTRE * cos2) + INERTIA
    phi2 = MASS * CENTRE * GRAVITY * jnp.cos(theta1 + theta2 - math.pi / 2)
    phi1 = (
        -MASS * LENGTH * CENTRE * spin2**2 * sin2
        - 2 * MASS * LENGTH * CENTRE * spin2 * spin1 * sin2
        + (MASS * CENTRE + MASS * LENGTH) * GRAVITY * jnp.cos(theta1 - math.pi / 2)
        + phi2
    )
    drive = torque + d2 / d1 * phi1 - MASS * LENGTH * CENTRE * spin1**2 * sin2 - phi2
    acceleration2 = drive / (MASS * CENTRE**2 + INERTIA - d2**2 / d1)
    return jnp.stack([spin1, spin2, -(d2 * acceleration2 + phi1) / d1, acceleration2])


def step(arm: Arm, action: Array) -> tuple[Arm, Array, Array]:
    """Apply torque -1, 0 or 1 at the joint; one step of the fourth-order Runge-Kutta method."""
    torque, y = (action - 1).astype(jnp.float32), arm.angles
    k1 = _derivative(y, torque)
    k2 = _derivative(y + DT / 2 * k1, torque)
    k3 = _derivative(y + DT / 2 * k2, torque)
    k4 = _derivative(y + DT * k3, torque)
    y = y + DT / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    angles = (y[:2] + math.pi) % (2 * math.pi) - math.pi
    max_speeds = jnp.array([MAX_SPEED_1, MAX_SPEED_2])
    speeds = jnp.clip(y[2:], -max_speeds, max_speeds)
    up = -jnp.cos(angles[0]) - jnp.cos(angles[0] + angles[1]) > 1.0
    return Arm(jnp.concatenate([angles, speeds])), jnp.where(up, 0.0, -1.0).astype(jnp.float32), up


def observe(arm: Arm) -> Array:
    """Observe cosines and sines of the angles, and the velocities."""
    theta1, theta2, spin1, spin2 = arm.angles
    return jnp.stack([jnp.cos(theta1), jnp.sin(theta1), jnp.cos(theta2), jnp.sin(theta2), spin1, spin2])


@register("deep_env", "acrobot")
def acrobot() -> Environment:
    """Swing up a two-link arm, as Gymnasium's Acrobot-v1."""
    return Environment(
        name="acrobot",
        n_actions=3,
        low=tuple(-bound for bound in BOUNDS),
        high=BOUNDS,
        max_episode_steps=500,
        reset=reset,
        step=step,
        observe=observe,
    )
