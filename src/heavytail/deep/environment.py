"""A compiled environment: pure functions of its state."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax

State = Any  # a NamedTuple of arrays, the environment's own


class Environment(NamedTuple):
    """What training needs of an environment. Functions are of one run; training adds the axis of runs."""

    name: str
    n_actions: int
    low: tuple[float, ...]  # of observations, for scaling them to [-1, 1]
    high: tuple[float, ...]
    cap: int  # steps after which Gymnasium ends an episode
    reset: Callable[[jax.Array], State]
    step: Callable[[State, jax.Array], tuple[State, jax.Array, jax.Array]]  # state, action -> state, reward, terminated
    observe: Callable[[State], jax.Array]
