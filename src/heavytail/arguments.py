"""Arguments as arrays of the right kind, or one line that says what they should be."""

from typing import Any

import numpy as np

from heavytail.arrays import Bools, Floats, Ints
from heavytail.errors import InputError


def numbers_of(name: str, value: Any) -> Floats:
    """An argument as an array of numbers."""
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.array("ragged")
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} must be a regular array of numbers, got {_short(value)}")
    return array.astype(np.float64)


def finite_numbers_of(name: str, value: Any) -> Floats:
    """An argument as an array of finite numbers."""
    array = numbers_of(name, value)
    for place in np.argwhere(~np.isfinite(array))[:1]:
        raise InputError(f"{name}[{', '.join(map(str, place))}] is {array[tuple(place)]}; every reward must be a finite number")
    return array


def whole_numbers_of(name: str, value: Any) -> Ints:
    """An argument as an array of whole numbers."""
    array = numbers_of(name, value)
    if not (np.isfinite(array).all() and (array == np.floor(array)).all()):
        raise InputError(f"{name} must be whole numbers, got {_short(value)}")
    return array.astype(np.int64)


def count_of(name: str, value: Any) -> int:
    """An argument as one whole number, at least 1."""
    number = whole_numbers_of(name, value)
    if number.ndim != 0 or number < 1:
        raise InputError(f"{name} must be a whole number, at least 1, got {_short(value)}")
    return int(number)


def flags_of(name: str, value: Any, n: int) -> Bools:
    """An argument as so many booleans."""
    array = np.asarray(value)
    if array.shape != (n,) or not np.isin(array, (0, 1)).all():
        raise InputError(f"{name} must be {n} booleans, got {_short(value)}")
    return array.astype(np.bool_)


def _short(value: Any) -> str:
    return " ".join(repr(value).split())[:60]
