"""Names for what can be built.

``@register("agent", "q_learning")`` on a builder is all that a new agent, law, estimator or environment
needs.

A builder is a plain function; its signature is the schema. A registered builder checks every argument against
its annotation and casts it to that one type, so that ``alpha=1`` and ``alpha=1.0`` compile to the same code,
and says in one line what is wrong. Bounds are written as ``Annotated[float, Gt(0)]``; `Positive` and its
neighbours below are the usual ones.

Modules are found, not listed: ``build("agent", "q_learning")`` imports ``heavytail.agents.q_learning``.
Packages elsewhere name their modules as entry points of the group ``heavytail.plugins``; a module that is
imported by hand registers too.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias

from heavytail.checks import (
    Count,
    MomentOrder,
    NonNegative,
    OpenProbability,
    P,
    Positive,
    Probability,
    R,
    bind_arguments,
    cast_value,
    checked_builder,
)
from heavytail.errors import InputError, suggestion

Kind: TypeAlias = Literal[
    "agent", "env", "estimator", "law", "statistic", "bound", "deep_env", "engine", "claim", "figure"
]
FOLDERS: dict[str, str] = {  # where heavytail's own of each kind are, one per file
    "agent": "agents",
    "env": "envs",
    "estimator": "estimators",
    "law": "laws",
    "statistic": "statistics",
    "bound": "bounds",
    "deep_env": "deep.envs",
    "engine": "studies.engines",
    "claim": "studies.claims",
    "figure": "report.figures",
}
PLUGINS = "heavytail.plugins"

__all__ = [
    "Count",
    "Kind",
    "MomentOrder",
    "NonNegative",
    "OpenProbability",
    "Positive",
    "Probability",
    "Registered",
    "cast_value",
    "find",
    "own_builders",
    "plugin_modules",
    "register",
    "registered",
]


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
        bound = bind_arguments(self.name, inspect.unwrap(self.builder), args, kwargs)
        return {**dict(zip(bound.signature.parameters, bound.args, strict=False)), **bound.kwargs}


_table: dict[tuple[str, str], Registered] = {}


def register(
    kind: Kind, name: str, *, example: Mapping[str, Any] | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
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
            raise TypeError(
                f"the {kind} {name!r} is registered already, by {_table[kind, name].builder.__module__}"
            )
        checked = checked_builder(name, builder)
        _table[kind, name] = Registered(
            kind, name, checked, inspect.getdoc(builder) or "", dict(example or {})
        )
        return checked

    return decorate


def find(kind: Kind, name: str) -> Registered:
    """What is registered under this name; an unknown one is an error that suggests the nearest."""
    if not isinstance(name, str):
        raise InputError(f"the name of a {kind} must be a string, got {name!r:.60}")
    if (kind, name) not in _table and name in _own_modules(kind):
        importlib.import_module(f"heavytail.{FOLDERS[kind]}.{name}")
    if (kind, name) not in _table:
        own_builders(kind)
        _import_plugins()
    if (kind, name) not in _table:
        what = "environment" if kind == "env" else kind
        raise InputError(
            f"there is no {what} {name!r}; {suggestion(name, (r.name for r in registered(kind)))}"
        )
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
    return {
        name: r.builder
        for (k, name), r in _table.items()
        if k == kind and r.builder.__module__.startswith(home)
    }


def plugin_modules() -> list[str]:
    """List the modules outside heavytail that have registered something: other processes import them first."""
    _import_plugins()
    modules = {entry.builder.__module__ for entry in _table.values()}
    return sorted(name for name in modules if name != "__main__" and not name.startswith("heavytail."))


@cache
def _own_modules(kind: Kind) -> tuple[str, ...]:
    package = importlib.import_module(f"heavytail.{FOLDERS[kind]}")
    return tuple(m.name for m in pkgutil.iter_modules(package.__path__) if not m.name.startswith("_"))


@cache
def _import_plugins() -> None:
    from importlib.metadata import (
        entry_points,
    )  # here, because reading every package's metadata takes a while

    for point in entry_points(group=PLUGINS):
        point.load()
