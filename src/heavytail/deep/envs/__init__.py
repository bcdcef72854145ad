"""Compiled environments of deep agents, one per file, found by name.

A file registers a builder of its `Environment` under its own name, as `mountain_car.py` does. It takes JAX
from `_lazy_jax`, so that names and episode limits are known without importing JAX. A module elsewhere
registers its environment in the same way, and may import JAX as usual.
"""

from heavytail.deep.envs._environment import Environment
from heavytail.errors import InputError, short_repr, suggestion
from heavytail.registry import find, is_registered, registered

__all__ = ["GYMNAX", "Environment", "environment_names", "find_environment", "is_environment"]

GYMNAX = "gymnax/"  # begins the names of gymnax's environments


def environment_names() -> list[str]:
    """List the names of all compiled environments but gymnax's."""
    return [entry.name for entry in registered("deep_env")]


def is_environment(name: str) -> bool:
    """Tell whether a compiled environment has this name; any name after "gymnax/" is taken to be one."""
    return name.startswith(GYMNAX) or is_registered("deep_env", name)


def find_environment(name: str) -> Environment:
    """Build the environment of this name: a registered one, or after "gymnax/" one of gymnax's."""
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
