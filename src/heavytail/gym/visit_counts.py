"""How often a state and action were visited.

Exactly where observations are discrete, by a hash where they are not, or by any function of yours.

*SimHash* (Charikar 2002; Tang et al. 2017, "#Exploration") gives observations that look alike one code: the
signs of k random projections,

    code(s) = sgn(A g(s)),   A in R^(k x (D+1)) with independent N(0, 1) entries,

where g scales each of the D numbers of the observation by its bounds to [-1, 1] and appends a 1. Both matter:
a velocity between -0.07 and 0.07 beside a position between -1.2 and 0.6 would hardly tilt any projection, and
without the 1 all hyperplanes pass through the origin, so that two numbers would be told apart by their angle
alone.

A number without a bound on either side cannot be scaled by it. It is squashed first, x / (1 + |x|), which
takes the whole line to (-1, 1) and sees best what is about 1 in size, as CartPole's velocities are. (Bounds
learnt on the way would be no use: whenever they grew, old observations would get new codes, and their counts
be lost.) Where you know better, say so: ``SimHash(space, bounds=(low, high))``. What is beyond its bounds is
taken to be at them.

>>> import gymnasium
>>> cart_pole = gymnasium.make("CartPole-v1")
>>> counter = visit_counter(cart_pole.observation_space, cart_pole.action_space)
>>> observation, _ = cart_pole.reset(seed=0)
>>> code = counter.code(observation)
>>> counter.visit(code, 1), counter.visit(code, 1), counter.visit(code, 0)
(1, 2, 1)
>>> counter.code(observation + 1e-6) == code
True
"""

import ast
from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import Space, spaces
from gymnasium.spaces.utils import flatten, flatten_space

from heavytail.arrays import Bools, Floats
from heavytail.checks import Count, as_floats, cast_value
from heavytail.errors import InputError, short_repr, suggestion
from heavytail.files import Arrays

BITS = 32
COUNTERS = ("auto", "exact", "simhash")
UNBOUNDED = 1e10  # bounds beyond this, such as the largest float, say as little as infinite ones

Code: TypeAlias = Callable[[Any], Hashable]


class Projection(NamedTuple):
    """All that a SimHash is, as arrays. The scaling of observations is part of the matrix and its offset."""

    matrix: Floats  # [k, D]
    offset: Floats  # [k]
    squashed: Bools  # [D]; which numbers lack a bound
    low: Floats  # [D]; after squashing
    high: Floats  # [D]; after squashing


def squash(x: Floats) -> Floats:
    """The whole line in (-1, 1), as x / (1 + |x|), and infinities at its ends.

    >>> squash(np.array([-np.inf, -1.0, 0.0, 3.0])).tolist()
    [-1.0, -0.5, 0.0, 0.75]
    """
    return np.copysign(1.0 - 1.0 / (1.0 + np.abs(x)), x)


def projection_for(draws: Floats, low: Floats, high: Floats) -> Projection:
    """The projection of observations with these bounds [D], with random numbers [k, D + 1] of which the last column belongs to the constant.

    A number whose bounds coincide tells nothing and is left out.
    """
    squashed = ~((np.abs(low) < UNBOUNDED) & (np.abs(high) < UNBOUNDED))
    low, high = (np.where(squashed, squash(end), end) for end in (low, high))
    width = high - low
    slope = np.where(width > 0, 2.0 / np.where(width > 0, width, 1.0), 0.0)
    matrix = draws[:, :-1] * slope  # of what is left of an observation: slope * (x - middle) is in [-1, 1]
    return Projection(matrix, draws[:, -1] - matrix @ (0.5 * (low + high)), squashed, low, high)


def simhash_signs(projection: Projection, observation: Floats) -> Bools:
    """The k signs [..., k] of observations [..., D]: true where the projection is above 0."""
    x = np.where(projection.squashed, squash(observation), observation)
    x = np.minimum(np.maximum(x, projection.low), projection.high)
    return np.asarray(x @ projection.matrix.T + projection.offset > 0)


class SimHash:
    """Observations that look alike get one whole number of k bits; bit i is the sign of projection i.

    Args:
        space: of the observations; any that Gymnasium can flatten.
        bits: k. More bits tell more observations apart.
        seed: draws the projections. It is no run's seed: codes stay what they are.
        bounds: the low and the high end of the (flattened) observations, instead of the space's own.

    Attributes:
        projection: the arrays that it consists of.

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
        low, high = _bounds(space) if bounds is None else _declared(bounds, len(_bounds(space)[0]))
        rows, entropy = cast_value(bits, Count, "bits"), cast_value(seed, int, "seed")
        if entropy < 0:
            raise InputError(f"seed is {entropy}; it must be at least 0")
        self.projection = projection_for(
            np.random.default_rng(entropy).standard_normal((rows, len(low) + 1)), low, high
        )

    def __call__(self, observation: Any) -> int:
        """The code of an observation."""
        flat = observation if isinstance(self.space, spaces.Box) else flatten(self.space, observation)
        signs = simhash_signs(self.projection, np.asarray(flat, np.float64).reshape(-1))
        return int.from_bytes(np.packbits(signs, bitorder="little").tobytes(), "little")


class ExactCode:
    """Discrete observations, each with a code of its own.

    Args:
        space: Discrete, MultiDiscrete, MultiBinary, Text, a Box of whole numbers, or a Tuple or Dict of such.

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
        """The code of an observation."""
        return _exact(self.space, observation)


class VisitCounter:
    """Counts of pairs of an observation and an action.

    Args:
        observation_code: from an observation to its code: any value that Python can hash, such as a whole
            number, a string or a tuple.
        action_code: the same for actions.

    Attributes:
        counts: how often each pair of codes was visited.

    >>> counter = VisitCounter(lambda observation: round(float(observation[0]), 1))
    >>> code = counter.code([0.12, 7.0])
    >>> code, counter.visit(code, 0), counter.visit(code, 0), counter.count(code, 1)
    (0.1, 1, 2, 0)
    """

    def __init__(self, observation_code: Code, action_code: Code | None = None) -> None:
        self.observation_code = observation_code
        self.action_code: Code = _plain if action_code is None else action_code
        self.counts: dict[tuple[Hashable, Hashable], int] = {}

    def code(self, observation: Any) -> Hashable:
        """The code of an observation."""
        code = _plain(self.observation_code(observation))
        try:
            hash(code)
        except TypeError:
            raise InputError(
                f"counter gave {short_repr(code)}, a {type(code).__name__}, for an observation; it must"
                " be hashable, such as a number, a string or a tuple"
            ) from None
        return code

    def visit(self, code: Hashable, action: Any) -> int:
        """Count a visit, and tell the number of visits with this one included."""
        key = code, self.action_code(action)
        n = self.counts[key] = self.counts.get(key, 0) + 1
        return n

    def count(self, code: Hashable, action: Any) -> int:
        """The visits so far."""
        return self.counts.get((code, self.action_code(action)), 0)

    def state_dict(self) -> Arrays:
        """The counts, and the projections of hashes, as arrays.

        >>> counter = VisitCounter(str)
        >>> counter.visit("here", 0), counter.visit("there", 1), counter.visit("here", 0)
        (1, 1, 2)
        >>> {name: array.tolist() for name, array in counter.state_dict().items()}
        {'observations': ["'here'", "'there'"], 'actions': [0, 1], 'counts': [2, 1]}
        """
        codes, actions = zip(*self.counts, strict=True) if self.counts else ((), ())
        state: Arrays = {
            "observations": _codes_to_array(codes),
            "actions": _codes_to_array(actions),
            "counts": np.array(list(self.counts.values()), np.int64),
        }
        for name, hashed in self._hashes().items():
            state |= {f"{name}/{field}": array.copy() for field, array in hashed.projection._asdict().items()}
        return state

    def load_state_dict(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Count on from saved counts; those until now are forgotten."""
        hashes = self._hashes()
        if stray := {name.split("/")[0] for name in arrays if "/" in name} - set(hashes):
            raise InputError(
                f"the counts were made with a SimHash, {' and '.join(sorted(stray))}, that this"
                " counter does not have"
            )
        counts = _like("counts", arrays, np.zeros(1, np.int64), same_shape=False)
        if (counts < 1).any():
            raise InputError("counts must be at least 1 each")
        codes, actions = (_array_to_codes(name, arrays, len(counts)) for name in ("observations", "actions"))
        projections = {
            name: Projection(
                *(_like(f"{name}/{field}", arrays, old) for field, old in hashed.projection._asdict().items())
            )
            for name, hashed in hashes.items()
        }
        # Nothing is wrong with them, so now they are taken; and the projections too, without which the counts
        # would mean nothing.
        for name, hashed in hashes.items():
            hashed.projection = projections[name]
        self.counts = dict(zip(zip(codes, actions, strict=True), counts.tolist(), strict=True))

    def _hashes(self) -> dict[str, SimHash]:
        codes = {"observation_hash": self.observation_code, "action_hash": self.action_code}
        return {name: code for name, code in codes.items() if isinstance(code, SimHash)}


def visit_counter(
    observation_space: Space[Any],
    action_space: Space[Any],
    counter: str | Code | VisitCounter = "auto",
    bits: int = BITS,
    seed: int = 0,
) -> VisitCounter:
    """A counter for these spaces.

    Actions are told apart exactly where they are discrete; others get a SimHash of their own.

    Args:
        observation_space: of a single environment.
        action_space: of a single environment.
        counter: "exact", "simhash", "auto" (exact where observations are discrete, else SimHash), a function
            from an observation to its code, or a counter, which is then shared.
        bits: of each SimHash.
        seed: of each SimHash.

    >>> discrete, box = spaces.Discrete(4), spaces.Box(-1.0, 1.0, (3,))
    >>> for space in (discrete, box):
    ...     type(visit_counter(space, discrete).observation_code).__name__
    'ExactCode'
    'SimHash'
    """
    if isinstance(counter, VisitCounter):
        return counter
    actions = _code("auto", action_space, bits, seed)
    if callable(counter):
        return VisitCounter(counter, actions)
    if not isinstance(counter, str):
        raise InputError(
            f"counter is {short_repr(counter)}; it must be {', '.join(map(repr, COUNTERS))}, a function"
            " from an observation to its code, or a VisitCounter"
        )
    if counter not in COUNTERS:
        raise InputError(f"counter is {counter!r}; {suggestion(counter, COUNTERS)}")
    return VisitCounter(_code(counter, observation_space, bits, seed), actions)


def is_exact(space: Space[Any]) -> bool:
    """Whether observations of a space can be told apart exactly, and come back.

    >>> is_exact(spaces.Tuple([spaces.Discrete(3), spaces.MultiBinary(2)])), is_exact(spaces.Box(0.0, 1.0, (2,)))
    (True, False)
    """
    if isinstance(space, spaces.Tuple | spaces.Dict):
        return all(is_exact(part) for part in _parts(space))
    whole = isinstance(space, spaces.Box) and space.dtype is not None and space.dtype.kind in "biu"
    return whole or isinstance(
        space, spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary | spaces.Text
    )


def _code(counter: str, space: Space[Any], bits: int, seed: int) -> Code:
    # Whole numbers in a Box are mostly pictures, which hardly ever come back; whoever counts them exactly
    # says so.
    exact = counter == "exact" or (counter == "auto" and is_exact(space) and not _has_box(space))
    return ExactCode(space) if exact else SimHash(space, bits, seed)


def _parts(space: Any) -> list[Space[Any]]:
    return list(space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces)


def _has_box(space: Space[Any]) -> bool:
    return (
        any(map(_has_box, _parts(space)))
        if isinstance(space, spaces.Tuple | spaces.Dict)
        else isinstance(space, spaces.Box)
    )


def _exact(space: Space[Any], value: Any) -> Hashable:
    if isinstance(space, spaces.Discrete):
        return int(np.asarray(value).item())
    if isinstance(space, spaces.Tuple):
        return tuple(_exact(part, v) for part, v in zip(space.spaces, value, strict=True))
    if isinstance(space, spaces.Dict):
        return tuple(_exact(part, value[key]) for key, part in space.spaces.items())
    if isinstance(space, spaces.Text):
        return str(value)
    return tuple(np.asarray(value).reshape(-1).tolist())


def _plain(code: Any) -> Any:
    """NumPy's scalars as Python's own, which are their equals but read better and can be saved."""
    return (
        code.item()
        if isinstance(code, np.generic) or (isinstance(code, np.ndarray) and code.ndim == 0)
        else code
    )


# Bounds


def _bounds(space: Space[Any]) -> tuple[Floats, Floats]:
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


def _declared(bounds: Any, size: int) -> tuple[Floats, Floats]:
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise InputError(
            f"bounds is {short_repr(bounds)}; it must be two: the low and the high end"
        ) from None
    low, high = _each("bounds: low", low, size), _each("bounds: high", high, size)
    if not (low <= high).all():
        raise InputError("bounds: low must nowhere be above high")
    return low, high


def _each(name: str, value: Any, size: int) -> Floats:
    array = as_floats(name, value)
    if array.shape not in ((), (1,), (size,)):
        raise InputError(f"{name} must be {size} numbers or one, got {list(array.shape)}")
    return np.broadcast_to(array, (size,))


# Codes as arrays: whole numbers as such, anything else as Python would write it


def _codes_to_array(codes: tuple[Hashable, ...]) -> npt.NDArray[Any]:
    if all(type(code) is int and 0 <= code < 2**64 for code in codes):
        return np.array(codes, np.uint64)
    for code in codes:
        if not _can_be_read_back(code):
            raise InputError(
                f"the code {short_repr(code)} cannot be saved; codes of numbers, strings and tuples of them can"
            )
    return np.array([repr(code) for code in codes])


def _can_be_read_back(code: Hashable) -> bool:
    try:
        return bool(ast.literal_eval(repr(code)) == code)
    except (ValueError, SyntaxError, TypeError):
        return False


def _array_to_codes(name: str, arrays: Mapping[str, npt.NDArray[Any]], length: int) -> list[Hashable]:
    array = arrays.get(name)
    if array is None or array.shape != (length,) or array.dtype.kind not in "uU":
        raise InputError(
            f"{name} must be {length} codes,"
            f" {'and is missing' if array is None else f'got {array.dtype}{list(array.shape)}'}"
        )
    try:
        codes: list[Hashable] = (
            array.tolist() if array.dtype.kind == "u" else [ast.literal_eval(code) for code in array.tolist()]
        )
        hash(tuple(codes))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise InputError(f"{name} has a code that cannot be read") from None
    return codes


def _like(
    name: str, arrays: Mapping[str, npt.NDArray[Any]], old: npt.NDArray[Any], *, same_shape: bool = True
) -> npt.NDArray[Any]:
    if name not in arrays:
        raise InputError(f"{name} is missing")
    new = arrays[name]
    if new.dtype != old.dtype or new.ndim != old.ndim or (same_shape and new.shape != old.shape):
        wanted = list(old.shape) if same_shape else "[n]"
        raise InputError(f"{name} is {new.dtype}{list(new.shape)} where {old.dtype}{wanted} is expected")
    return np.array(new)
