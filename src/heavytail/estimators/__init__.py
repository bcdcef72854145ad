"""Mean estimators, one per file.

How to take samples in, the estimate at a confidence, and how far from the mean it may be.

>>> import heavytail as ht
>>> estimator = ht.estimators.truncated_mean(epsilon=0.05, moment=14.25)
>>> estimator.push(ht.laws.alpha_stable(alpha=1.1, loc=2.0).sample(10_000, seed=0))
>>> abs(estimator.mean(14.0) - 2.0) < estimator.radius(14.0)
True

Inside an agent the same record serves many cells, through the verbs `push`, `mean` and `radius`.
"""

from typing import Any

from heavytail.estimators.estimator import Estimator, alone
from heavytail.registry import find, own_builders, registered

__all__ = ["Estimator"]

# A file is named after its builder, so importing it binds the name to the module; from here on it builds an
# estimator for use by itself.
globals().update({name: alone(builder) for name, builder in own_builders("estimator").items()})


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return alone(find("estimator", name).builder)
    except ValueError as error:
        raise AttributeError(str(error)) from None


def __dir__() -> list[str]:
    return sorted([*__all__, *(r.name for r in registered("estimator"))])
