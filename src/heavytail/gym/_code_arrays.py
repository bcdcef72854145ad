"""Codes of observations and actions, and the hashes that gave them, as arrays for a file.

Codes are integers, or else Python literals.
"""

import ast
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from heavytail.agent_file import find_array
from heavytail.errors import InputError, short_repr
from heavytail.files import Arrays
from heavytail.gym.observation_codes import Projection, SimHash


def codes_to_array(codes: Sequence[Hashable]) -> npt.NDArray[Any]:
    """Write codes as an array."""
    if all(type(code) is int and 0 <= code < 2**64 for code in codes):
        return np.array(codes, np.uint64)
    for code in codes:
        if not _is_literal(code):
            raise InputError(
                f"the code {short_repr(code)} cannot be saved; codes of numbers, strings and tuples of them"
                " can"
            )
    return np.array([repr(code) for code in codes])


def _is_literal(code: Hashable) -> bool:
    try:
        return bool(ast.literal_eval(repr(code)) == code)
    except (ValueError, SyntaxError, TypeError):
        return False


def codes_from_array(name: str, arrays: Mapping[str, npt.NDArray[Any]], length: int) -> list[Hashable]:
    """Read so many codes from the array of this name."""
    array = arrays.get(name)
    if array is None or array.shape != (length,) or array.dtype.kind not in "uU":
        got = "and is missing" if array is None else f"got {array.dtype}{list(array.shape)}"
        raise InputError(f"{name} must be {length} codes, {got}")
    codes: list[Hashable] = array.tolist()
    try:
        if array.dtype.kind == "U":
            codes = [ast.literal_eval(code) for code in array.tolist()]
        hash(tuple(codes))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise InputError(f"{name} has a code that cannot be read") from None
    return codes


def hashes_to_arrays(hashes: Mapping[str, SimHash]) -> Arrays:
    """Write the projections of hashes as arrays."""
    return {
        f"{name}/{field}": array.copy()
        for name, hashed in hashes.items()
        for field, array in hashed.projection._asdict().items()
    }


def read_projections(
    hashes: Mapping[str, SimHash], arrays: Mapping[str, npt.NDArray[Any]]
) -> dict[str, Projection]:
    """Read the projections of such hashes."""
    return {name: _check_projection(name, arrays, hashed) for name, hashed in hashes.items()}


def _check_projection(name: str, arrays: Mapping[str, npt.NDArray[Any]], hashed: SimHash) -> Projection:
    fields = hashed.projection._asdict().items()
    found = Projection(*(find_array(f"{name}/{field}", arrays, old).copy() for field, old in fields))
    if not all(np.isfinite(array).all() for array in found) or not (found.low <= found.high).all():
        raise InputError(f"{name} has a number that is not finite, or a low end above the high one")
    return found
