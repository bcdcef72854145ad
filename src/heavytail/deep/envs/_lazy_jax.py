"""JAX, imported when it is first used, so that names and limits of environments are read without it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["Array", "jax", "jnp"]


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
