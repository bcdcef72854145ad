"""Acrobot: Sutton (1996), as Gymnasium's ``Acrobot-v1`` has it ("book" dynamics).

Reward -1 a step until the tip is above the bar, 0 then.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

from heavytail.deep.envs.environment import Environment

LENGTH, MASS, CENTRE, INERTIA, GRAVITY, DT = 1.0, 1.0, 0.5, 1.0, 9.8, 0.2
FASTEST_1, FASTEST_2 = 4 * math.pi, 9 * math.pi


class Arm(NamedTuple):
    """Two angles and their velocities."""

    angles: jax.Array  # [4]: theta1, theta2, and their derivatives


def reset(key: jax.Array) -> Arm:
    """Hanging, nearly at rest."""
    return Arm(jax.random.uniform(key, (4,), jnp.float32, -0.1, 0.1))


def _derivative(y: jax.Array, torque: jax.Array) -> jax.Array:
    """The equations of motion, as in Sutton and Barto's book."""
    one, two, spin1, spin2 = y
    d1 = MASS * CENTRE**2 + MASS * (LENGTH**2 + CENTRE**2 + 2 * LENGTH * CENTRE * jnp.cos(two)) + 2 * INERTIA
    d2 = MASS * (CENTRE**2 + LENGTH * CENTRE * jnp.cos(two)) + INERTIA
    phi2 = MASS * CENTRE * GRAVITY * jnp.cos(one + two - math.pi / 2)
    phi1 = (
        -MASS * LENGTH * CENTRE * spin2**2 * jnp.sin(two)
        - 2 * MASS * LENGTH * CENTRE * spin2 * spin1 * jnp.sin(two)
        + (MASS * CENTRE + MASS * LENGTH) * GRAVITY * jnp.cos(one - math.pi / 2)
        + phi2
    )
    push = torque + d2 / d1 * phi1 - MASS * LENGTH * CENTRE * spin1**2 * jnp.sin(two) - phi2
    turn2 = push / (MASS * CENTRE**2 + INERTIA - d2**2 / d1)
    return jnp.stack([spin1, spin2, -(d2 * turn2 + phi1) / d1, turn2])


def step(arm: Arm, action: jax.Array) -> tuple[Arm, jax.Array, jax.Array]:
    """Torque -1, 0 or 1 at the joint; one step of Runge and Kutta's method."""
    torque, y = (action - 1).astype(jnp.float32), arm.angles
    k1 = _derivative(y, torque)
    k2 = _derivative(y + DT / 2 * k1, torque)
    k3 = _derivative(y + DT / 2 * k2, torque)
    k4 = _derivative(y + DT * k3, torque)
    y = y + DT / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    turns = (y[:2] + math.pi) % (2 * math.pi) - math.pi
    spins = jnp.clip(y[2:], -jnp.array([FASTEST_1, FASTEST_2]), jnp.array([FASTEST_1, FASTEST_2]))
    up = -jnp.cos(turns[0]) - jnp.cos(turns[0] + turns[1]) > 1.0
    return Arm(jnp.concatenate([turns, spins])), jnp.where(up, 0.0, -1.0).astype(jnp.float32), up


def observe(arm: Arm) -> jax.Array:
    """Cosines and sines of the angles, and the velocities."""
    one, two, spin1, spin2 = arm.angles
    return jnp.stack([jnp.cos(one), jnp.sin(one), jnp.cos(two), jnp.sin(two), spin1, spin2])


_BOUNDS = (1.0, 1.0, 1.0, 1.0, FASTEST_1, FASTEST_2)
ACROBOT = Environment("acrobot", 3, tuple(-b for b in _BOUNDS), _BOUNDS, reset, step, observe)
