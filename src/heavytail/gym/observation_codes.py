"""Codes of observations, used to count visits: exact codes, or a hash.

*SimHash* (Charikar 2002; Tang et al. 2017, "#Exploration") gives similar observations the same code: the
signs of k random projections,

    code(s) = sgn(A g(s)),   A in R^(k x (D+1)) with independent N(0, 1) entries,

where g scales each of the D components of the observation by its bounds to [-1, 1] and appends a 1. Both
matter: a velocity between -0.07 and 0.07 beside a position between -1.2 and 0.6 would hardly affect any
projection, and without the 1 all hyperplanes would pass through the origin, so that only angles could be
distinguished.

A component that lacks a bound is squashed first, x / (1 + |x|), which maps the whole line to (-1, 1) and
resolves best values of size about 1, such as CartPole's velocities. (Bounds learnt from data would not work:
whenever they grew, old observations would get new codes, and their counts would be lost.) If you know better
bounds, pass them: ``SimHash(space, bounds=(low, high))``. Components beyond their bounds are clipped to them.
"""

import ast
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le
from gymnasium import Space, spaces
from gymnasium.spaces.utils import flatten, flatten_space

from heavytail.agent_file import find_array
from heavytail.arrays import Bools, Floats
from heavytail.checks import as_floats, cast_value, require_memory
from heavytail.errors import InputError, short_repr
from heavytail.files import Arrays

BITS = 32
MAX_BITS = 65_536  # a file may ask for any number
HASHES = ("observation_hash", "action_hash")  # begin the names of their arrays in a file
UNBOUNDED = 1e10  # larger bounds, such as the largest float, are as uninformative as infinite ones

Code: TypeAlias = Callable[[Any], Hashable]


class Projection(NamedTuple):
    """A SimHash as arrays. The scaling of observations is part of the matrix and its offset."""

    matrix: Floats  # [k, D]
    offset: Floats  # [k]
    squashed: Bools  # [D]; which components lack a bound
    low: Floats  # [D]; after squashing
    high: Floats  # [D]; after squashing


def squash(x: Floats) -> Floats:
    """Map the whole line to (-1, 1), as x / (1 + |x|), and infinities to its ends.

    >>> squash(np.array([-np.inf, -1.0, 0.0, 3.0])).tolist()
    [-1.0, -0.5, 0.0, 0.75]
    """
    return np.copysign(1.0 - 1.0 / (1.0 + np.abs(x)), x)


class Scaling(NamedTuple):
    """The scaling of each component of an observation to [-1, 1], by its bounds."""

    squashed: Bools  # [D]; which components lack a bound
    low: Floats  # [D]; after squashing
    high: Floats  # [D]; after squashing
    slope: Floats  # [D]; 0 where the bounds coincide, since such a component carries no information


def make_scaling(low: Floats, high: Floats) -> Scaling:
    """Make the scaling of observations with these bounds [D]."""
    squashed = ~((np.abs(low) < UNBOUNDED) & (np.abs(high) < UNBOUNDED))
    low, high = (np.where(squashed, squash(end), end) for end in (low, high))
    slope = np.divide(2.0, high - low, out=np.zeros(low.shape), where=high > low)
    return Scaling(squashed, low, high, slope)


def make_projection(draws: Floats, low: Floats, high: Floats) -> Projection:
    """Make the projection of observations with these bounds [D].

    The random numbers are [k, D + 1], the last column for the constant.
    """
    squashed, low, high, slope = make_scaling(low, high)
    matrix = draws[:, :-1] * slope
    offset = draws[:, -1] - matrix @ (0.5 * (low + high))  # slope * (x - middle) is in [-1, 1]
    return Projection(matrix, offset, squashed, low, high)


def simhash_signs(projection: Projection, observation: Floats) -> Bools:
    """Calculate the k signs [..., k] of observations [..., D]: true where the projection is above 0."""
    x = np.where(projection.squashed, squash(observation), observation)
    x = np.minimum(np.maximum(x, projection.low), projection.high)
    return np.asarray(x @ projection.matrix.T + projection.offset > 0)


class SimHash:
    """A hash that gives similar observations the same k-bit number: the signs of k projections.

    Args:
        space: of the observations; any that Gymnasium can flatten.
        bits: k. More bits distinguish more observations.
        seed: of the random projections, the same in all runs by default, so that codes stay the same.
        bounds: the low and the high end of the (flattened) observations, instead of the space's own.

    Attributes:
        projection: the hash as arrays.

    >>> hashed = SimHash(spaces.Box(-1.0, 1.0, (2,)), bits=8)
    >>> hashed([0.5, 0.5]) in range(256)
    True
    """

    def __init__(
        self,
        space: Space[Any],
        bits: int = BITS,
        seed: int = 0,
        bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    ) -> None:
        self.space = space
        low, high = _space_bounds(space)
        if bounds is not None:
            low, high = check_bounds("bounds", _as_pair(bounds), len(low))
        rows = cast_value(bits, Annotated[int, Ge(1), Le(MAX_BITS)], "bits")
        entropy = cast_value(seed, Annotated[int, Ge(0)], "seed")
        require_memory(f"a hash of {rows:,} bits", 16.0 * rows * (len(low) + 1))
        draws = np.random.default_rng(entropy).standard_normal((rows, len(low) + 1))
        self.projection = make_projection(draws, low, high)

    def __call__(self, observation: Any) -> int:
        """Return the code of an observation."""
        flat = observation if isinstance(self.space, spaces.Box) else flatten(self.space, observation)
        signs = simhash_signs(self.projection, np.asarray(flat, np.float64).reshape(-1))
        return int.from_bytes(np.packbits(signs, bitorder="little").tobytes(), "little")


class ExactCode:
    """A separate code for each discrete observation.

    Args:
        space: Discrete, MultiDiscrete, MultiBinary, Text, a Box of integers, or a Tuple or Dict of such.

    >>> ExactCode(spaces.MultiDiscrete([3, 4]))(np.array([2, 1]))
    (2, 1)
    """

    def __init__(self, space: Space[Any]) -> None:
        if not is_exact(space):
            raise InputError(
                f"counter is 'exact', but {short_repr(space)} is not discrete, so no count would ever"
                " grow; take 'simhash' or a function"
            )
        self.space = space

    def __call__(self, observation: Any) -> Hashable:
        """Return the code of an observation."""
        return _exact_code(self.space, observation)


def make_code(counter: str, space: Space[Any], bits: int, seed: int) -> Code:
    """Make the code for a space by a counter's name: "auto", "exact" or "simhash"."""
    # Integers in a Box are mostly images, which hardly ever recur; "auto" does not count them exactly.
    exact = counter == "exact" or (counter == "auto" and is_exact(space) and not _has_box(space))
    return ExactCode(space) if exact else SimHash(space, bits, seed)


def is_exact(space: Space[Any]) -> bool:
    """Return whether observations of a space can be distinguished exactly, and recur.

    >>> is_exact(spaces.Tuple([spaces.Discrete(3), spaces.MultiBinary(2)]))
    True
    >>> is_exact(spaces.Box(0.0, 1.0, (2,)))
    False
    """
    if isinstance(space, spaces.Tuple | spaces.Dict):
        return all(is_exact(part) for part in _parts(space))
    if isinstance(space, spaces.Box):
        return space.dtype is not None and space.dtype.kind in "biu"
    return isinstance(space, spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary | spaces.Text)


def _parts(space: Any) -> list[Space[Any]]:
    return list(space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces)


def _has_box(space: Space[Any]) -> bool:
    if isinstance(space, spaces.Tuple | spaces.Dict):
        return any(map(_has_box, _parts(space)))
    return isinstance(space, spaces.Box)


def _exact_code(space: Space[Any], value: Any) -> Hashable:
    if isinstance(space, spaces.Discrete):
        return int(np.asarray(value).item())
    if isinstance(space, spaces.Tuple):
        return tuple(_exact_code(part, v) for part, v in zip(space.spaces, value, strict=True))
    if isinstance(space, spaces.Dict):
        return tuple(_exact_code(part, value[key]) for key, part in space.spaces.items())
    if isinstance(space, spaces.Text):
        return str(value)
    return tuple(np.asarray(value).reshape(-1).tolist())


def _space_bounds(space: Space[Any]) -> tuple[Floats, Floats]:
    try:
        flat: Any = flatten_space(space)
    except NotImplementedError:
        flat = space
    if not isinstance(flat, spaces.Box):
        raise InputError(
            f"{short_repr(space)} cannot be hashed by projection; give a counter: a function from an"
            " observation to its code"
        )
    return np.asarray(flat.low, np.float64).reshape(-1), np.asarray(flat.high, np.float64).reshape(-1)


def _as_pair(bounds: Any) -> tuple[npt.ArrayLike, npt.ArrayLike]:
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise InputError(
            f"bounds is {short_repr(bounds)}; it must be two: the low and the high end"
        ) from None
    return low, high


def check_bounds(where: str, bounds: tuple[npt.ArrayLike, npt.ArrayLike], size: int) -> tuple[Floats, Floats]:
    """Return the low and the high ends [D] of `size` components; each may be one number for all."""
    ends = []
    for name, end in zip(("low", "high"), bounds, strict=True):
        array = as_floats(f"{where}: {name}", end).reshape(-1)
        if len(array) not in (1, size):
            raise InputError(f"{where}: {name} must be {size} numbers or one, got {len(array)}")
        ends.append(np.broadcast_to(array, (size,)))
    low, high = ends
    if not (low <= high).all():
        raise InputError(f"{where}: low must nowhere be above high")
    return low, high


# Codes in a file: integers, or else Python literals


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
    """Read `length` codes from the array of this name."""
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


def hashes_to_arrays(codes: tuple[Code, Code]) -> Arrays:
    """Write the projections of the codes, of observations and of actions, that are hashes."""
    return {
        f"{name}/{field}": array.copy()
        for name, code in _hashes(codes).items()
        for field, array in code.projection._asdict().items()
    }


def read_projections(
    codes: tuple[Code, Code], arrays: Mapping[str, npt.NDArray[Any]]
) -> list[tuple[SimHash, Projection]]:
    """Read a projection for each of these codes that is a hash. The hashes stay as they are."""
    hashes = _hashes(codes)
    for name in HASHES:
        if name not in hashes and any(path.startswith(f"{name}/") for path in arrays):
            raise InputError(f"it was made with a SimHash, {name}, and this wrapper has none")
    return [(code, _read_projection(name, arrays, code)) for name, code in hashes.items()]


def _hashes(codes: tuple[Code, Code]) -> dict[str, SimHash]:
    return {name: code for name, code in zip(HASHES, codes, strict=True) if isinstance(code, SimHash)}


def _read_projection(name: str, arrays: Mapping[str, npt.NDArray[Any]], hashed: SimHash) -> Projection:
    fields = hashed.projection._asdict().items()
    found = Projection(*(find_array(f"{name}/{field}", arrays, old).copy() for field, old in fields))
    if not all(np.isfinite(array).all() for array in found) or not (found.low <= found.high).all():
        raise InputError(f"{name} has a number that is not finite, or a low end above the high one")
    return found
