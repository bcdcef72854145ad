"""Environments of gymnax (Lange 2022), where it is installed: ``heavy_dqn("gymnax/CartPole-v1")``.

Only their dynamics are taken: episodes begin anew and end at the cap as in ours, so gymnax's own restarts and
time limits are left out.
"""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from heavytail.deep.envs.environment import GENERATOR, Environment
from heavytail.errors import InputError, suggestion

NEVER = 2**30  # steps until gymnax would end an episode


class GymnaxState(NamedTuple):
    """A state of gymnax's, what is seen of it, and the key of the episode."""

    game: Any
    observation: jax.Array
    key: jax.Array


@cache
def gymnax_environment(name: str) -> Environment:
    """The environment of this name, always the same object, so that it is compiled once."""
    env, parameters = _make(name)
    seen, actions = env.observation_space(parameters), env.action_space(parameters)
    if not (hasattr(seen, "low") and hasattr(actions, "n")):
        raise InputError(
            f"gymnax/{name} has observations {type(seen).__name__} and actions"
            f" {type(actions).__name__}; they must be Box and Discrete"
        )
    low, high = (
        tuple(np.broadcast_to(np.asarray(end, np.float64), seen.shape).ravel().tolist())
        for end in (seen.low, seen.high)
    )
    endless = parameters.replace(max_steps_in_episode=NEVER)

    def reset(key: jax.Array) -> GymnaxState:
        first, later = jax.random.split(key)
        observation, game = env.reset_env(first, endless)
        return GymnaxState(_fixed(game), _flat(observation), jax.random.key_data(later))

    def step(world: GymnaxState, action: jax.Array) -> tuple[GymnaxState, jax.Array, jax.Array]:
        key = jax.random.fold_in(
            jax.random.wrap_key_data(world.key, impl=GENERATOR), world.game.time
        )  # costs nothing where chance plays no part
        observation, game, reward, terminated, _ = env.step_env(key, world.game, action, endless)
        return (
            GymnaxState(_fixed(game), _flat(observation), world.key),
            jnp.asarray(reward, jnp.float32),
            jnp.asarray(terminated, bool),
        )

    return Environment(
        f"gymnax/{name}", int(actions.n), low, high, reset, step, lambda world: world.observation
    )


def cap_of(name: str) -> int:
    """After how many steps gymnax ends an episode."""
    return int(_make(name)[1].max_steps_in_episode)


def _fixed(game: Any) -> Any:
    """The state with arrays where gymnax has numbers of Python's, so that it is of one kind at all steps."""
    return jax.tree.map(lambda part: jax.lax.convert_element_type(part, jnp.asarray(part).dtype), game)


def _flat(observation: Any) -> jax.Array:
    return jnp.asarray(observation, jnp.float32).reshape(-1)


def _make(name: str) -> Any:
    if find_spec("gymnax") is None:
        raise InputError(f"gymnax/{name} needs gymnax; install it with: pip install 'heavytail[gymnax]'")
    gymnax = import_module("gymnax")
    if name not in gymnax.registered_envs:
        raise InputError(f"gymnax has no environment {name!r}; {suggestion(name, gymnax.registered_envs)}")
    return gymnax.make(name)
