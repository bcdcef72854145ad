"""Mean estimators, one per file: add samples, ask for the estimate at a confidence and for its interval.

>>> import heavytail as ht
>>> estimator = ht.estimators.truncated_mean(epsilon=0.05, moment=14.25)
>>> estimator.push(ht.laws.alpha_stable(alpha=1.1, loc=2.0).sample(10_000, seed=0))
>>> low, high = estimator.interval(0.95)
>>> low < 2.0 < high
True

Inside an agent, `build_estimator` makes a record for many cells, for the verbs `push`, `mean` and `radius`.
An estimator that a plugin registered is an attribute too.
"""

from typing import Any

from heavytail.estimators import median_of_means as _median_of_means
from heavytail.estimators import sample_mean as _sample_mean
from heavytail.estimators import sketch as _sketch
from heavytail.estimators import truncated_mean as _truncated_mean
from heavytail.estimators.estimator import Estimator, build_estimator, standalone
from heavytail.registry import find, own_builders, registered

__all__ = ["Estimator", "build_estimator", "median_of_means", "sample_mean", "sketch", "truncated_mean"]

# A file is named after its builder of records; here the name means the builder of an estimator by itself.
median_of_means = standalone(_median_of_means.median_of_means)
sample_mean = standalone(_sample_mean.sample_mean)
sketch = standalone(_sketch.sketch)
truncated_mean = standalone(_truncated_mean.truncated_mean)
# The names above are for type checkers and readers. Every file here is found.
globals().update({name: standalone(builder) for name, builder in own_builders("estimator").items()})


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return standalone(find("estimator", name).builder)
    except ValueError as error:
        raise AttributeError(str(error)) from None


def __dir__() -> list[str]:
    return sorted({*__all__, *(entry.name for entry in registered("estimator"))})
