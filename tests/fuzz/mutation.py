"""Ways to damage bytes, numbers and arrays: what a careless or a hostile hand would do to a file."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Generator = np.random.Generator

INTS = (
    0,
    1,
    -1,
    2,
    3,
    7,
    63,
    64,
    255,
    256,
    2**31 - 1,
    2**31,
    2**32,
    2**52,
    2**53,
    2**62,
    2**63 - 1,
    -(2**63),
)
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-320, 1e300, -1e300, np.inf, -np.inf, np.nan, 2.0**53, 1e18)
TEXTS = ("", "x", "é" * 50, "../../x", "\n", "[/x]", "nan", "x" * 5000, "\x00", "1e999")


def mutate_bytes(data: bytes, rng: Generator) -> bytes:
    """Flip, cut, insert, repeat or remove some bytes."""
    changed = bytearray(data)
    for _ in range(1 + rng.geometric(0.5)):
        at, length = int(rng.integers(len(changed) + 1)), int(rng.geometric(0.1))
        match int(rng.integers(5)):
            case 0 if changed:
                changed[min(at, len(changed) - 1)] ^= 1 << int(rng.integers(8))
            case 1:
                del changed[at:]
            case 2:
                changed[at:at] = rng.bytes(length)
            case 3:
                changed[at:at] = changed[at : at + length]
            case _:
                del changed[at : at + length]
    return bytes(changed)


def odd_value(old: Any, rng: Generator) -> Any:
    """Return a value that a JSON or TOML file could hold in place of another."""
    odd = [
        int(rng.choice(np.array(INTS, object))),
        float(rng.choice(FLOATS)),
        str(rng.choice(TEXTS)),
        [old] * int(rng.integers(4)),
        {"x": old},
        bool(rng.integers(2)),
        None,
    ]
    return odd[int(rng.integers(len(odd)))]


def mutate_tree(tree: Any, rng: Generator) -> Any:
    """Return a tree of dicts and lists with one of its values, keys or branches changed."""
    if isinstance(tree, dict) and tree and rng.random() < 0.9:
        key = list(tree)[int(rng.integers(len(tree)))]
        match int(rng.integers(6)):
            case 0:
                return {k: v for k, v in tree.items() if k != key}
            case 1:
                return {**tree, str(rng.choice(TEXTS)): odd_value(tree[key], rng)}
            case _:
                return {**tree, key: mutate_tree(tree[key], rng)}
    if isinstance(tree, list) and tree and rng.random() < 0.9:
        i = int(rng.integers(len(tree)))
        return [*tree[:i], mutate_tree(tree[i], rng), *tree[i + 1 :]]
    return odd_value(tree, rng)


def mutate_array(array: Array, rng: Generator) -> Array:
    """Return an array with some entries, its order, its type or its shape changed."""
    changed: Array = np.array(array)
    way = int(rng.integers(len(_WAYS)))
    return _WAYS[way](changed, rng)


def _some(array: Array, rng: Generator) -> Array:
    """Choose one entry, or a few, of the flat array."""
    return rng.integers(array.size, size=1 if rng.random() < 0.7 else 3)


def _extreme(array: Array, rng: Generator) -> Array:
    if array.size:
        array.reshape(-1)[_some(array, rng)] = _cast(
            rng.choice(np.array([*INTS, *FLOATS], object)), array.dtype
        )
    return array


def _near(array: Array, rng: Generator) -> Array:
    """Change entries by a little: the errors that range checks alone miss."""
    if array.size and array.dtype.kind in "iuf":
        where = _some(array, rng)
        with np.errstate(all="ignore"):
            array.reshape(-1)[where] += _cast(int(rng.choice([-2, -1, 1, 2, 4])), array.dtype)
    return array


def _random(array: Array, rng: Generator) -> Array:
    return np.frombuffer(rng.bytes(array.nbytes), array.dtype).reshape(array.shape)


def _fill(array: Array, rng: Generator) -> Array:
    array[...] = _cast(rng.choice(np.array([*INTS, *FLOATS], object)), array.dtype)
    return array


def _small(array: Array, rng: Generator) -> Array:
    """Fill with small numbers, which are mostly in range one by one."""
    array[...] = rng.integers(-1, 1 + int(rng.integers(1, 40)), size=array.shape).astype(array.dtype)
    return array


def _swap(array: Array, rng: Generator) -> Array:
    if array.size > 1:
        flat = array.reshape(-1)
        i, j = rng.integers(array.size, size=2)
        flat[i], flat[j] = flat[j].copy(), flat[i].copy()
    return array


def _permute(array: Array, rng: Generator) -> Array:
    return rng.permutation(array.reshape(-1)).reshape(array.shape)


def _truncate(array: Array, rng: Generator) -> Array:
    return array[: int(rng.integers(len(array) + 1))] if array.ndim else array


def _lengthen(array: Array, rng: Generator) -> Array:
    return np.concatenate([array, array]) if array.ndim else array


def _retype(array: Array, rng: Generator) -> Array:
    kinds = ["U1", "U99"] if array.dtype.kind == "U" else ["f8", "i8", "u4", "u8", "?", "f4", "U3", "c16"]
    with np.errstate(all="ignore"):
        return array.astype(str(rng.choice(kinds)))


def _reshape(array: Array, rng: Generator) -> Array:
    return array.reshape(-1) if rng.random() < 0.5 else array[None]


_WAYS: list[Callable[[Array, Generator], Array]] = [
    _extreme,
    _extreme,
    _near,
    _near,
    _random,
    _fill,
    _small,
    _swap,
    _permute,
    _truncate,
    _lengthen,
    _retype,
    _reshape,
]


def _cast(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return the value in another type, wrapped or rounded as C would."""
    with np.errstate(all="ignore"):
        if dtype.kind in "iu" and not (isinstance(value, float) and not np.isfinite(value)):
            return np.array(int(value) & (2 ** (8 * dtype.itemsize) - 1), f"u{dtype.itemsize}").view(dtype)
        return np.array(value if np.isfinite(float(value)) or dtype.kind == "f" else 0).astype(dtype)
