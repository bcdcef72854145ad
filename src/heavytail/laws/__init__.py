"""Reward laws, one per file: how to sample it, its mean, its absolute moments, its tail index.

>>> import heavytail as ht
>>> law = ht.laws.alpha_stable(alpha=1.1, loc=1.0)
>>> law.mean(), law.tail_index
(1.0, 1.1)
>>> round(law.moment(1.05, center=1.0), 4)
13.2626
>>> law.sample(3, seed=0).shape
(3,)
"""

from typing import Any

from heavytail.laws.law import Law
from heavytail.registry import find, own_builders, registered

__all__ = ["Law"]

# A file is named after its builder, so importing it binds the name to the module; from here on it is the
# builder.
globals().update(own_builders("law"))


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return find("law", name).builder
    except ValueError as error:
        raise AttributeError(str(error)) from None


def __dir__() -> list[str]:
    return sorted([*__all__, *(r.name for r in registered("law"))])
