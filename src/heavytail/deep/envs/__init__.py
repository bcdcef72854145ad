"""Compiled environments of deep agents, one per file, found by name.

A file registers a builder of its `Environment` under its own name, as `mountain_car.py` does. It gets JAX
from this module, which imports it on first use, so that names and episode limits are known without JAX. A
plugin registers its environment in the same way, and may import JAX as usual.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from heavytail.errors import InputError, short_repr, suggestion
from heavytail.gym.observation_codes import make_scaling
from heavytail.registry import find, is_registered, registered

__all__ = [
    "GENERATOR",
    "GYMNAX",
    "Array",
    "Environment",
    "State",
    "environment_names",
    "find_environment",
    "is_environment",
    "jax",
    "jnp",
    "scale_observation",
]

GENERATOR = "threefry2x32"  # of all random keys, however JAX is configured
GYMNAX = "gymnax/"  # prefix of gymnax's environments


class _LazyModule:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
    from jax import Array
else:
    jax, jnp = _LazyModule("jax"), _LazyModule("jax.numpy")
    Array = Any

State: TypeAlias = Any  # a NamedTuple of arrays, the environment's own


class Environment(NamedTuple):
    """The pure functions and constants of an environment, for one run; training adds the axis of runs."""

    name: str
    n_actions: int
    low: tuple[float, ...]  # bounds of observations, for scaling them to [-1, 1]; may be infinite
    high: tuple[float, ...]
    max_episode_steps: int | None  # unless the parameter `cap` is given
    reset: Callable[[Array], State]  # key -> state
    step: Callable[[State, Array], tuple[State, Array, Array]]  # state, action -> state, reward, terminated
    observe: Callable[[State], Array]


def scale_observation(env: Environment, observation: Array) -> Array:
    """Scale an observation to [-1, 1] by the environment's bounds, as `heavytail.gym.SimHash` does."""
    squashed, low, high, slope = make_scaling(np.array(env.low), np.array(env.high))
    x = jnp.where(squashed, jnp.copysign(1.0 - 1.0 / (1.0 + jnp.abs(observation)), observation), observation)
    return jnp.float32(slope) * (x - jnp.float32(0.5 * (low + high)))


def environment_names() -> list[str]:
    """List the names of all compiled environments except gymnax's."""
    return [entry.name for entry in registered("deep_env")]


def is_environment(name: str) -> bool:
    """Return whether a compiled environment has this name; any name after "gymnax/" is assumed to exist."""
    return name.startswith(GYMNAX) or is_registered("deep_env", name)


def find_environment(name: str) -> Environment:
    """Build the environment with this name: a registered one, or one of gymnax's after "gymnax/"."""
    if not isinstance(name, str) or not is_environment(name):
        raise InputError(
            f"there is no compiled environment {short_repr(name)};"
            f" {suggestion(str(name), environment_names())}"
        )
    if name.startswith(GYMNAX):
        from heavytail.deep.envs._gymnax import gymnax_environment  # here, because gymnax is an extra

        return gymnax_environment(name.removeprefix(GYMNAX))
    environment: Environment = find("deep_env", name).builder()
    return environment
