"""Deep agents in JAX, heavytail's extra ``deep``. JAX is imported on first use.

An environment, an agent and its training are pure functions over records of arrays; a whole training run is
one compiled loop, and a batch of runs (seeds and hyperparameters side by side) is the same loop with one more
axis. `complete_parameters` needs no JAX, so that runs can be planned without it.
"""

from importlib import import_module
from sys import modules
from typing import TYPE_CHECKING, Any

from heavytail.deep.agents import heavy_dqn, qr_dqn, require_jax, robust_dqn
from heavytail.deep.settings import complete_parameters

if TYPE_CHECKING:
    from heavytail.deep.curve import DeepCurve
    from heavytail.deep.learner import DeepLearner

__all__ = [
    "DeepCurve",
    "DeepLearner",
    "complete_parameters",
    "heavy_dqn",
    "qr_dqn",
    "robust_dqn",
]

_HOME = {"DeepCurve": "curve", "DeepLearner": "learner"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"heavytail.deep has no {name!r}", name=name, obj=modules[__name__])
    require_jax()
    return getattr(import_module(f"heavytail.deep.{_HOME[name]}"), name)
