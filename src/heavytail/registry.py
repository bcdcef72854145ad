"""Names for what can be built: ``@register("agent", "q_learning")`` on a builder is all that a new agent, law, estimator or environment needs.

A builder is a plain function; its signature is the schema. A registered builder checks every argument against its annotation and casts it to
that one type, so that ``alpha=1`` and ``alpha=1.0`` compile to the same code, and says in one line what is wrong. Bounds are written as
``Annotated[float, Gt(0)]``; `Positive` and its neighbours below are the usual ones.

Modules are found, not listed: ``build("agent", "q_learning")`` imports ``heavytail.agents.q_learning``. Packages elsewhere name their
modules as entry points of the group ``heavytail.plugins``; a module that is imported by hand registers too.
"""

import importlib
import inspect
import math
import numbers
import pkgutil
import types
from collections.abc import Callable, Mapping
from functools import cache, wraps
from typing import Annotated, Any, Literal, NamedTuple, ParamSpec, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt

from heavytail.errors import InputError, suggestion

P = ParamSpec("P")
R = TypeVar("R")

Kind: TypeAlias = Literal["agent", "env", "estimator", "law"]
FOLDERS: dict[str, str] = {"agent": "agents", "env": "envs", "estimator": "estimators", "law": "laws"}
PLUGINS = "heavytail.plugins"

Positive: TypeAlias = Annotated[float, Gt(0)]
NonNegative: TypeAlias = Annotated[float, Ge(0)]
Probability: TypeAlias = Annotated[float, Ge(0), Le(1)]
OpenProbability: TypeAlias = Annotated[float, Gt(0), Lt(1)]
MomentOrder: TypeAlias = Annotated[float, Gt(0), Le(1)]  # epsilon: rewards have a moment of order 1 + epsilon
Count: TypeAlias = Annotated[int, Ge(1)]


class Registered(NamedTuple):
    """One thing that can be built by name."""

    kind: str
    name: str
    builder: Callable[..., Any]
    doc: str
    example: Mapping[str, Any]  # values for the parameters that have no default

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The builder's parameters, with their defaults."""
        return dict(inspect.signature(self.builder).parameters)

    def arguments(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """What the builder would be called with: checked, cast and with the defaults filled in."""
        bound = _bind(self.name, inspect.unwrap(self.builder), args, kwargs)
        return {**dict(zip(bound.signature.parameters, bound.args, strict=False)), **bound.kwargs}


_table: dict[tuple[str, str], Registered] = {}


def register(kind: Kind, name: str, *, example: Mapping[str, Any] | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Register the decorated builder, and check its arguments from now on.

    Args:
        kind: what it builds.
        name: its id.
        example: values for the parameters that have no default, with which tests and lists build it.
    """
    if kind not in FOLDERS:
        raise InputError(f"there is no kind {kind!r}; {suggestion(str(kind), FOLDERS)}")

    def decorate(builder: Callable[P, R]) -> Callable[P, R]:
        if (kind, name) in _table and _table[kind, name].builder.__module__ != builder.__module__:
            raise TypeError(f"the {kind} {name!r} is registered already, by {_table[kind, name].builder.__module__}")
        checked = _checked(name, builder)
        _table[kind, name] = Registered(kind, name, checked, inspect.getdoc(builder) or "", dict(example or {}))
        return checked

    return decorate


def find(kind: Kind, name: str) -> Registered:
    """What is registered under this name; an unknown one is an error that suggests the nearest."""
    if not isinstance(name, str):
        raise InputError(f"the name of a {kind} must be a string, got {name!r:.60}")
    if (kind, name) not in _table and name in _own_modules(kind):
        importlib.import_module(f"heavytail.{FOLDERS[kind]}.{name}")
    if (kind, name) not in _table:
        _import_plugins()
    if (kind, name) not in _table:
        what = "environment" if kind == "env" else kind
        raise InputError(f"there is no {what} {name!r}; {suggestion(name, (r.name for r in registered(kind)))}")
    return _table[kind, name]


def registered(kind: Kind) -> list[Registered]:
    """Everything of a kind, sorted by name: heavytail's own, the plugins', and what was imported by hand."""
    if kind not in FOLDERS:
        raise InputError(f"there is no kind {kind!r}; {suggestion(str(kind), FOLDERS)}")
    own_builders(kind)
    _import_plugins()
    return sorted((r for r in _table.values() if r.kind == kind), key=lambda r: r.name)


def own_builders(kind: Kind) -> dict[str, Callable[..., Any]]:
    """The builders of heavytail's own modules of a kind, by name."""
    home = f"heavytail.{FOLDERS[kind]}."
    for module in _own_modules(kind):
        importlib.import_module(home + module)
    return {name: r.builder for (k, name), r in _table.items() if k == kind and r.builder.__module__.startswith(home)}


@cache
def _own_modules(kind: Kind) -> tuple[str, ...]:
    package = importlib.import_module(f"heavytail.{FOLDERS[kind]}")
    return tuple(m.name for m in pkgutil.iter_modules(package.__path__))


@cache
def _import_plugins() -> None:
    from importlib.metadata import entry_points  # here, because reading every package's metadata takes a while

    for point in entry_points(group=PLUGINS):
        point.load()


# Checking arguments against annotations


def _checked(name: str, builder: Callable[P, R]) -> Callable[P, R]:
    @wraps(builder)
    def build(*args: P.args, **kwargs: P.kwargs) -> R:
        bound = _bind(name, builder, args, kwargs)
        return builder(*bound.args, **bound.kwargs)

    return build


def _bind(name: str, builder: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> inspect.BoundArguments:
    signature = inspect.signature(builder)
    open_ended = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())  # as of a builder that hands them on to another
    for given in kwargs:
        if given not in signature.parameters and not open_ended:
            raise InputError(f"{name} has no parameter {given!r}; {suggestion(given, signature.parameters)}")
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


@cache
def _hints(builder: Callable[..., Any]) -> dict[str, Any]:
    return get_type_hints(builder, include_extras=True)


def cast_value(value: Any, hint: Any, where: str) -> Any:
    """`value` as its annotation says, or a one-line error.

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
        return None if value is None else cast_value(value, next(h for h in get_args(hint) if h is not types.NoneType), where)
    if origin is Literal:
        return _choice(value, get_args(hint), where)
    if origin is dict and not isinstance(value, dict):
        raise InputError(f"{where} must be a table of names and values, got {value!r:.60}")
    if hint in _CASTS:
        return _CASTS[hint](value, where)
    if isinstance(hint, type) and hint.__module__.startswith("heavytail.") and not isinstance(value, hint):
        raise InputError(f"{where} must be a {hint.__name__}, got {value!r:.60}")
    return value


def _choice(value: Any, choices: tuple[Any, ...], where: str) -> Any:
    if value not in choices:
        raise InputError(f"{where} is {value!r}; {suggestion(str(value), map(str, choices))}")
    return value


def _float(value: Any, where: str) -> float:
    if isinstance(value, (bool, str)) or not isinstance(value, numbers.Real):
        raise InputError(f"{where} must be a number, got {value!r}")
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
        raise InputError(f"{where} must be a whole number, got {value!r}")
    return int(value)


def _bool(value: Any, where: str) -> bool:
    if not isinstance(value, (bool, numbers.Integral)) or value not in (0, 1):
        raise InputError(f"{where} must be True or False, got {value!r}")
    return bool(value)


def _str(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{where} must be a string, got {value!r}")
    return value


_CASTS: dict[Any, Callable[[Any, str], Any]] = {float: _float, int: _int, bool: _bool, str: _str}


def _within(value: Any, bounds: list[Any], where: str) -> Any:
    if value is not None:
        for bound in bounds:
            holds, words = _bound(value, bound)
            if not holds:
                raise InputError(f"{where} must be {words}, got {value!r}")
    return value


def _bound(value: Any, bound: Any) -> tuple[bool, str]:
    match bound:
        case Gt(gt=limit):
            return value > limit, f"above {limit}"
        case Ge(ge=limit):
            return value >= limit, f"at least {limit}"
        case Lt(lt=limit):
            return value < limit, f"below {limit}"
        case Le(le=limit):
            return value <= limit, f"at most {limit}"
    raise TypeError(f"an annotation has the bound {bound!r}, which is none of Gt, Ge, Lt, Le")
