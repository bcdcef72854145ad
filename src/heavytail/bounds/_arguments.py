"""Check the arguments of bounds: numbers or arrays of them, each by the rule for its name."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from heavytail.arrays import Bools, Floats
from heavytail.checks import as_floats, cast_value
from heavytail.errors import InputError

Constants: TypeAlias = Literal["tight", "paper"]
EstimatorName: TypeAlias = Literal["truncated_mean", "median_of_means"]
Bonus: TypeAlias = Literal["hoeffding", "bernstein"]
UNKNOWN: Floats = np.array(np.nan)


class Arguments(NamedTuple):
    """The checked arguments of a bound; those that it does not take are NaN."""

    T: Floats = UNKNOWN
    S: Floats = UNKNOWN
    A: Floats = UNKNOWN
    H: Floats = UNKNOWN
    diameter: Floats = UNKNOWN
    reward_range: Floats = UNKNOWN
    r_max: Floats = UNKNOWN
    moment: Floats = UNKNOWN
    epsilon: Floats = UNKNOWN
    delta: Floats = UNKNOWN
    accuracy: Floats = UNKNOWN
    changes: Floats = UNKNOWN
    gap: Floats = UNKNOWN
    settling: Floats = UNKNOWN
    estimator: EstimatorName = "truncated_mean"
    bonus: Bonus = "hoeffding"
    constants: Constants = "tight"

    @property
    def tight(self) -> bool:
        """True for the tight constants, False for those of the paper."""
        return self.constants == "tight"


class Rule(NamedTuple):
    """The condition that every element of an argument must satisfy."""

    holds: Callable[[Floats], Bools]
    words: str


_COUNT = Rule(lambda x: (x >= 1) & (x == np.floor(x)), "a whole number, at least 1")
_POSITIVE = Rule(lambda x: x > 0, "above 0")
_NON_NEGATIVE = Rule(lambda x: x >= 0, "0 or more")
RULES = {
    "T": Rule(lambda x: x >= 1, "1 or more"),
    "S": _COUNT,
    "A": _COUNT,
    "H": _COUNT,
    "diameter": _NON_NEGATIVE,
    "reward_range": _NON_NEGATIVE,
    "r_max": _NON_NEGATIVE,
    "moment": _NON_NEGATIVE,
    "epsilon": Rule(lambda x: (x > 0) & (x <= 1), "above 0 and at most 1"),
    "delta": Rule(lambda x: (x > 0) & (x < 1), "above 0 and below 1"),
    "accuracy": _POSITIVE,
    "changes": _COUNT,
    "gap": _POSITIVE,
    "settling": _NON_NEGATIVE,
}
CHOICES = {"constants": Constants, "estimator": EstimatorName, "bonus": Bonus}


def check_arguments(where: str, values: Mapping[str, Any]) -> Arguments:
    """Check the arguments of a bound and make arrays of them, whose shapes must go together.

    Args:
        where: the name of the function, for errors.
        values: all its arguments by name: its `locals()`, on its first line. A `reward_range` of None is
            `r_max`.

    >>> checked = check_arguments("regret", {"T": [10, 100], "delta": 0.05})
    >>> checked.T, checked.delta, checked.tight
    (array([ 10., 100.]), array(0.05), True)
    >>> check_arguments("regret", {"T": 0})
    Traceback (most recent call last):
    heavytail.errors.InputError: regret: T must be 1 or more, got 0.0
    """
    choices = {
        name: cast_value(value, CHOICES[name], f"{where}: {name}")
        for name, value in values.items()
        if name in CHOICES
    }
    numbers = {name: value for name, value in values.items() if name not in CHOICES}
    if "reward_range" in numbers and numbers["reward_range"] is None:
        numbers["reward_range"] = numbers["r_max"]
    arrays: dict[str, Any] = {name: _check_numbers(where, name, value) for name, value in numbers.items()}
    try:
        np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in arrays.items() if array.ndim)
        raise InputError(f"{where}: arrays must have shapes that go together, got {shapes}") from None
    return Arguments(**arrays, **choices)


def _check_numbers(where: str, name: str, value: Any) -> Floats:
    array, rule = as_floats(f"{where}: {name}", value), RULES[name]
    wrong = array[~(np.isfinite(array) & rule.holds(array))]
    if wrong.size:
        words = rule.words if np.isfinite(wrong[0]) else "finite"
        raise InputError(f"{where}: {name} must be {words}, got {wrong[0]}")
    return array
