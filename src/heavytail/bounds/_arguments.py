"""The arguments of bounds: numbers or arrays of them, checked by their names."""

from collections.abc import Callable
from typing import Any

import numpy as np

from heavytail.arrays import Bools, Floats
from heavytail.checks import as_floats
from heavytail.errors import InputError, suggestion

_COUNT: tuple[Callable[[Floats], Bools], str] = (
    lambda x: (x >= 1) & (x == np.floor(x)),
    "a whole number, at least 1",
)
_POSITIVE: tuple[Callable[[Floats], Bools], str] = lambda x: x > 0, "above 0"
_NOT_NEGATIVE: tuple[Callable[[Floats], Bools], str] = lambda x: x >= 0, "0 or more"

RULES: dict[str, tuple[Callable[[Floats], Bools], str]] = {
    "S": _COUNT,
    "A": _COUNT,
    "H": _COUNT,
    "changes": _COUNT,
    "T": (lambda x: x >= 1, "1 or more"),
    "diameter": _NOT_NEGATIVE,
    "reward_range": _NOT_NEGATIVE,
    "r_max": _NOT_NEGATIVE,
    "moment": _NOT_NEGATIVE,
    "settling": _NOT_NEGATIVE,
    "accuracy": _POSITIVE,
    "gap": _POSITIVE,
    "epsilon": (lambda x: (x > 0) & (x <= 1), "above 0 and at most 1"),
    "delta": (lambda x: (x > 0) & (x < 1), "above 0 and below 1"),
}


def given(where: str, **values: Any) -> tuple[Floats, ...]:
    """Arguments as arrays that go together, in the order given.

    >>> given("regret", T=[10, 100], delta=0.05)
    (array([ 10., 100.]), array(0.05))
    >>> given("regret", T=0)
    Traceback (most recent call last):
    heavytail.errors.InputError: regret: T must be 1 or more, got 0.0
    """
    arrays = {name: as_floats(f"{where}: {name}", value) for name, value in values.items()}
    for name, array in arrays.items():
        holds, words = RULES[name]
        wrong = array[~(np.isfinite(array) & holds(array))]
        if wrong.size:
            raise InputError(
                f"{where}: {name} must be {words if np.isfinite(wrong[0]) else 'finite'}, got {wrong[0]}"
            )
    try:
        np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in arrays.items() if array.ndim)
        raise InputError(f"{where}: arrays must have shapes that go together, got {shapes}") from None
    return tuple(arrays.values())


def chosen(where: str, name: str, value: str, choices: tuple[str, ...]) -> None:
    """Check a choice among names."""
    if value not in choices:
        raise InputError(f"{where}: {name} is {value!r}; {suggestion(str(value), choices)}")


def chosen_constants(where: str, value: str) -> bool:
    """Whether the constants are the tight ones."""
    chosen(where, "constants", value, ("paper", "tight"))
    return value == "tight"
