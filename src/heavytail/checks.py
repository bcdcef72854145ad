"""Cast arguments to the type that a signature names, or refuse them in one line."""

import inspect
import math
import numbers
import operator
import os
import re
import resource
import types
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache, wraps
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    ParamSpec,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from annotated_types import Ge, Gt, Le, Lt

from heavytail.arrays import Bools, Floats, Ints
from heavytail.errors import InputError, short_repr, short_text, show_bytes, suggestion

P = ParamSpec("P")
R = TypeVar("R")


def is_number(value: Any) -> bool:
    """Return whether a value is a Python number, as read from a file; True and False are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def as_floats(name: str, value: Any) -> Floats:
    """Cast an argument to an array of numbers."""
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.array("ragged")
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} must be a regular array of numbers, got {short_repr(value)}")
    floats = array.astype(np.float64)
    if np.ma.is_masked(value):  # masked entries are missing, and their numbers arbitrary
        floats[np.ma.getmaskarray(value)] = np.nan
    return floats


def as_finite_floats(name: str, value: Any, each: str = "reward") -> Floats:
    """Cast an argument to an array of finite numbers; errors call an entry `each`."""
    array = as_floats(name, value)
    for place in np.argwhere(~np.isfinite(array))[:1]:
        raise InputError(
            f"{name}[{', '.join(map(str, place))}] is {array[tuple(place)]}; every {each} must be a"
            " finite number"
        )
    return array


def as_ints(name: str, value: Any) -> Ints:
    """Cast an argument to an array of whole numbers."""
    array = as_floats(name, value)
    if not (np.isfinite(array).all() and (array == np.floor(array)).all()):
        raise InputError(f"{name} must be whole numbers, got {short_repr(value)}")
    return array.astype(np.int64)


def as_count(name: str, value: Any) -> int:
    """Cast an argument to one whole number, at least 1."""
    number = as_ints(name, value)
    if number.ndim != 0 or number < 1:
        raise InputError(f"{name} must be a whole number, at least 1, got {short_repr(value)}")
    return int(number)


def as_bool(name: str, value: Any) -> bool:
    """Cast an argument to a bool: Python's or NumPy's True or False, or 0 or 1."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    with suppress(InputError):
        number = as_floats(name, value)
        if number.ndim == 0 and number in (0, 1):
            return bool(number)
    raise InputError(f"{name} must be True or False, got {short_repr(value)}")


def as_bools(name: str, value: Any, n: int) -> Bools:
    """Cast an argument to an array of `n` booleans."""
    array = np.asarray(value)
    if array.shape != (n,) or not np.isin(array, (0, 1)).all():
        raise InputError(f"{name} must be {n} booleans, got {short_repr(value)}")
    return array.astype(np.bool_)


# Memory

CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")  # of a container


def require_memory(what: str, n_bytes: float) -> None:
    """Raise InputError if `what` would take more memory than there is; call it before allocating.

    >>> require_memory("a table of 10 numbers", 80)
    """
    if n_bytes > (most := max_memory()):
        raise InputError(f"{what} would take {show_bytes(n_bytes)} of memory; there is {show_bytes(most)}")


def max_memory() -> int:
    """Return the bytes of memory this process may use: the machine's, or its own limit if lower."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        limits.append(soft)
    with suppress(OSError, ValueError):  # no such file, or it says "max"
        limits.append(int(CGROUP_LIMIT.read_text()))
    return min(limits)


# Types of parameters, and checking arguments against them

Positive: TypeAlias = Annotated[float, Gt(0)]
NonNegative: TypeAlias = Annotated[float, Ge(0)]
Probability: TypeAlias = Annotated[float, Ge(0), Le(1)]
OpenProbability: TypeAlias = Annotated[float, Gt(0), Lt(1)]
MomentOrder: TypeAlias = Annotated[float, Gt(0), Le(1)]  # epsilon: rewards have a moment of order 1 + epsilon
MAX_COUNT = 2**62  # of anything: compiled code counts in 64 bits
Count: TypeAlias = Annotated[int, Ge(1), Le(MAX_COUNT)]
Count32: TypeAlias = Annotated[int, Ge(1), Lt(2**31)]  # for JAX, which counts in 32 bits


def checked_builder(name: str, builder: Callable[P, R]) -> Callable[P, R]:
    """Wrap a builder so that its arguments are checked against its annotations and cast."""

    @wraps(builder)
    def build(*args: P.args, **kwargs: P.kwargs) -> R:
        return call_bound(name, builder, bind_arguments(name, builder, args, kwargs))

    return build


def call_bound(name: str, builder: Callable[..., R], bound: inspect.BoundArguments) -> R:
    """Call a builder with checked arguments."""
    try:
        return builder(*bound.args, **bound.kwargs)
    except MemoryError as error:
        raise InputError(f"{name} does not fit in memory: {str(error) or 'there is none left'}") from None


def bind_arguments(
    name: str, builder: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> inspect.BoundArguments:
    """Bind arguments to a builder's signature: checked, cast and with the defaults filled in."""
    signature = inspect.signature(builder)
    # A builder that passes its arguments on to another has **kwargs and takes any name.
    open_ended = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    for key in kwargs:
        if key not in signature.parameters and not open_ended:
            others = list(signature.parameters)[len(args) :]  # to be given by name
            remedy = suggestion(key, others) if others else "it takes none"
            raise InputError(f"{name} has no parameter {short_repr(key)}; {remedy}")
    if missing := _find_missing(signature, len(args), kwargs):
        raise InputError(_describe_missing(name, inspect.getdoc(builder) or "", missing))
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise InputError(f"{name}: {error}; its parameters are {', '.join(signature.parameters)}") from None
    bound.apply_defaults()
    hints = _hints(builder)
    for key, value in bound.arguments.items():
        if signature.parameters[key].kind is not inspect.Parameter.VAR_KEYWORD:
            bound.arguments[key] = cast_value(value, hints.get(key, Any), f"{name}: {key}")
    return bound


def _find_missing(signature: inspect.Signature, n_given: int, kwargs: Mapping[str, Any]) -> list[str]:
    named = [p for p in signature.parameters.values() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    return [
        p.name
        for i, p in enumerate(named)
        if p.default is p.empty and p.name not in kwargs and (i >= n_given or p.kind is p.KEYWORD_ONLY)
    ]


def _describe_missing(name: str, doc: str, missing: list[str]) -> str:
    """Describe the missing parameters, with their meanings from the builder's docstring."""
    texts = parameter_texts(doc)
    meanings = [
        f"{key}= ({short_text(texts[key].rstrip('.'))})" if key in texts else f"{key}=" for key in missing
    ]
    return f"{name} needs {' and '.join(meanings)}; `heavytail list {name}` explains its parameters"


def parameter_texts(doc: str) -> dict[str, str]:
    r"""Return the text for each parameter in a docstring (from `inspect.getdoc`), each on one line.

    >>> parameter_texts("Draw.\n\nArgs:\n    mean: of the\n        law.\n    **others: its own.\n")
    {'mean': 'of the law.', 'others': 'its own.'}
    """
    section = re.search(r"^Args:\n((?: .*\n?|\n)*)", doc, re.MULTILINE)
    entries = re.split(r"^ {4}\*{0,2}(\w+):", section.group(1) if section else "", flags=re.MULTILINE)[1:]
    return {name: " ".join(text.split()) for name, text in zip(entries[::2], entries[1::2], strict=True)}


@cache
def _hints(builder: Callable[..., Any]) -> dict[str, Any]:
    return get_type_hints(builder, include_extras=True)


def cast_value(value: Any, hint: Any, where: str) -> Any:
    """Cast a value to the type of its annotation, or raise a one-line error.

    >>> cast_value(1, float, "scale")
    1.0
    >>> cast_value(1e7, int, "planned_steps")
    10000000
    """
    origin = get_origin(hint)
    if origin is Annotated:
        base, *bounds = get_args(hint)
        return _within(cast_value(value, base, where), bounds, where)
    if origin in (Union, types.UnionType):
        inner = next(h for h in get_args(hint) if h is not types.NoneType)
        return None if value is None else cast_value(value, inner, where)
    if origin is Literal:
        return _choice(value, get_args(hint), where)
    if origin is tuple:
        return _tuple(value, get_args(hint)[0], where)
    if origin is dict and not isinstance(value, dict):
        raise InputError(f"{where} must be a table of names and values, got {short_repr(value)}")
    if hint in _CASTS:
        return _CASTS[hint](value, where)
    if isinstance(hint, type) and hint.__module__.startswith("heavytail.") and not isinstance(value, hint):
        raise InputError(f"{where} must be a {hint.__name__}, got {short_repr(value)}")
    return value


def _choice(value: Any, choices: tuple[Any, ...], where: str) -> Any:
    if value not in choices:
        raise InputError(f"{where} is {short_repr(value)}; {suggestion(str(value), map(str, choices))}")
    return value


def _tuple(value: Any, hint: Any, where: str) -> tuple[Any, ...]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise InputError(f"{where} must be a list, got {short_repr(value)}")
    return tuple(cast_value(each, hint, f"{where}[{i}]") for i, each in enumerate(value))


def _float(value: Any, where: str) -> float:
    if isinstance(value, (bool, str)) or not isinstance(value, numbers.Real):
        raise InputError(f"{where} must be a number, got {short_repr(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{where} must be finite, got {number}")
    return number


def _int(value: Any, where: str) -> int:
    number = _float(value, where)
    if number != int(number):
        raise InputError(f"{where} must be a whole number, got {short_repr(value)}")
    return int(value)


def _bool(value: Any, where: str) -> bool:
    if not isinstance(value, (bool, numbers.Integral)) or value not in (0, 1):
        raise InputError(f"{where} must be True or False, got {short_repr(value)}")
    return bool(value)


def _str(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{where} must be a string, got {short_repr(value)}")
    return value


_CASTS: dict[Any, Callable[[Any, str], Any]] = {float: _float, int: _int, bool: _bool, str: _str}


def _within(value: Any, bounds: list[Any], where: str) -> Any:
    if value is not None:
        for bound in map(read_bound, bounds):
            if not bound.holds(value, bound.limit):
                raise InputError(f"{where} must be {bound.words} {bound.limit}, got {short_repr(value)}")
    return value


class Bound(NamedTuple):
    """A bound of an annotation."""

    holds: Callable[[Any, Any], bool]
    words: str
    limit: Any


def read_bound(bound: Any) -> Bound:
    """Read one of the bounds that annotations may have."""
    match bound:
        case Gt(gt=limit):
            return Bound(operator.gt, "above", limit)
        case Ge(ge=limit):
            return Bound(operator.ge, "at least", limit)
        case Lt(lt=limit):
            return Bound(operator.lt, "below", limit)
        case Le(le=limit):
            return Bound(operator.le, "at most", limit)
    raise TypeError(f"an annotation has the bound {bound!r}, which is not one of Gt, Ge, Lt, Le")
