"""Reward laws, one per file: sampling, mean, absolute moments and tail index.

>>> import heavytail as ht
>>> law = ht.laws.alpha_stable(alpha=1.1, loc=1.0)
>>> law.mean(), law.tail_index
(1.0, 1.1)
>>> round(law.moment(1.05, center=1.0), 4)
13.2626
>>> law.sample(3, seed=0).shape
(3,)

A law that a plugin registered is an attribute too.
"""

from typing import Any

from heavytail.laws.alpha_stable import alpha_stable
from heavytail.laws.bernoulli import bernoulli
from heavytail.laws.constant import constant
from heavytail.laws.empirical import empirical
from heavytail.laws.law import Law
from heavytail.laws.log_normal import log_normal
from heavytail.laws.normal import normal
from heavytail.laws.pareto import pareto
from heavytail.laws.student_t import student_t
from heavytail.registry import find, own_builders, registered

__all__ = [
    "Law",
    "alpha_stable",
    "bernoulli",
    "constant",
    "empirical",
    "log_normal",
    "normal",
    "pareto",
    "student_t",
]

# The names above are for type checkers and readers. Every file here is found; its name gives its builder.
globals().update(own_builders("law"))


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return find("law", name).builder
    except ValueError as error:
        raise AttributeError(str(error)) from None


def __dir__() -> list[str]:
    return sorted({*__all__, *(entry.name for entry in registered("law"))})
