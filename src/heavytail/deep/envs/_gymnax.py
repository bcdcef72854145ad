"""Environments of gymnax (Lange 2022), if it is installed: ``heavy_dqn("gymnax/CartPole-v1")``.

Only their dynamics are used. Episodes restart and end at the cap as in heavytail's own environments, so
gymnax's restarts and time limits are ignored.
"""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from heavytail.deep.envs import GENERATOR, Array, Environment, jax, jnp
from heavytail.errors import InputError, install_extra, short_repr, suggestion

NEVER = 2**30  # steps until gymnax would end an episode


class GymnaxState(NamedTuple):
    """A gymnax state, its observation, and the key of the episode."""

    game: Any
    observation: Array
    key: Array


@cache  # always the same object, so that it is compiled once
def gymnax_environment(name: str) -> Environment:
    """Adapt the environment with this name."""
    env, parameters = _make(name)
    observations, actions = env.observation_space(parameters), env.action_space(parameters)
    if not (hasattr(observations, "low") and hasattr(actions, "n")):
        raise InputError(
            f"gymnax/{name} has observations {type(observations).__name__} and actions"
            f" {type(actions).__name__}; they must be Box and Discrete"
        )
    low, high = (
        tuple(np.broadcast_to(np.asarray(end, np.float64), observations.shape).ravel().tolist())
        for end in (observations.low, observations.high)
    )
    endless = parameters.replace(max_steps_in_episode=NEVER)

    def reset(key: Array) -> GymnaxState:
        first, later = jax.random.split(key)
        observation, game = env.reset_env(first, endless)
        return GymnaxState(_as_arrays(game), _flatten(observation), jax.random.key_data(later))

    def step(state: GymnaxState, action: Array) -> tuple[GymnaxState, Array, Array]:
        # If the dynamics are deterministic, the compiler removes this key.
        key = jax.random.fold_in(jax.random.wrap_key_data(state.key, impl=GENERATOR), state.game.time)
        observation, game, reward, terminated, _ = env.step_env(key, state.game, action, endless)
        next_state = GymnaxState(_as_arrays(game), _flatten(observation), state.key)
        return next_state, jnp.asarray(reward, jnp.float32), jnp.asarray(terminated, bool)

    return Environment(
        name=f"gymnax/{name}",
        n_actions=int(actions.n),
        low=low,
        high=high,
        max_episode_steps=int(parameters.max_steps_in_episode),
        reset=reset,
        step=step,
        observe=lambda state: state.observation,
    )


def _as_arrays(game: Any) -> Any:
    """Turn the Python numbers in a state into arrays, so that its types are the same at all steps."""
    return jax.tree.map(lambda part: jax.lax.convert_element_type(part, jnp.asarray(part).dtype), game)


def _flatten(observation: Any) -> Array:
    return jnp.asarray(observation, jnp.float32).reshape(-1)


def _make(name: str) -> Any:
    if find_spec("gymnax") is None:
        raise InputError(f"gymnax/{name} needs gymnax; {install_extra('gymnax')}")
    gymnax = import_module("gymnax")
    if name not in gymnax.registered_envs:
        raise InputError(
            f"gymnax has no environment {short_repr(name)}; {suggestion(name, gymnax.registered_envs)}"
        )
    return gymnax.make(name)
