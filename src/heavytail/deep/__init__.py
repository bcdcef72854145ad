"""Deep agents in JAX: ``pip install 'heavytail[deep]'``. Nothing here is imported unless it is used.

An environment, an agent and its training are pure functions over records of arrays; a whole training run is one compiled loop, and a batch of runs (seeds and
hyperparameters side by side) is the same loop with one more axis.
"""

from heavytail.deep.learner import DeepCurve, DeepLearner, heavy_dqn

__all__ = ["DeepCurve", "DeepLearner", "heavy_dqn"]
