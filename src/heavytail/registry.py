"""The registry of names: one decorator on one function in one file adds one thing to build.

``@register(kind, name)`` on a builder is all that a new thing needs. The kinds, and the folder in which
heavytail's own modules of each kind are found (`FOLDERS`):

    agent      agents/            a tabular algorithm: (problem, *, parameters) -> record with verbs
    env        envs/              an environment: (*, parameters) -> MDP, or ChangingMDP
    estimator  estimators/        a mean estimator: (n_cells, *, parameters) -> record with verbs
    law        laws/              a reward law: (parameters) -> Law
    statistic  statistics/        one number that summarises the runs of a sample
    bound      bounds/            a theorem's bound on regret
    deep_agent deep/agents.py     a deep agent: (env, *, parameters) -> DeepLearner
    deep_env   deep/envs/         an environment compiled with JAX, for deep agents
    engine     studies/engines/   a way to run the parts of a study
    claim      studies/claims/    a kind of claim that a study can test
    figure     report/figures/    a figure of a report

A builder is a plain function; its signature is the schema. A registered builder checks every argument against
its annotation and casts it to that type, so that ``alpha=1`` and ``alpha=1.0`` compile to the same code, and
raises a one-line error if something is wrong. Bounds are written as ``Annotated[float, Gt(0)]``;
`heavytail.checks` has the usual ones, such as `Positive`.

Modules are found, not listed: looking up the agent "q_learning" imports ``heavytail.agents.q_learning``, and
listing a kind imports every module of its folder whose name does not begin with an underscore. Code outside
heavytail registers in the same way, as soon as its module is imported: as an entry point of the group
``heavytail.plugins`` of an installed package (at the first listing, or the first lookup of a name that
heavytail does not have), through ``plugins = ["module"]`` in the spec of a study, or by an ``import`` in a
script. Worker processes import `plugin_modules` first.
"""

import importlib
import inspect
import pkgutil
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias

from heavytail.checks import P, R, bind_arguments, call_bound, checked_builder
from heavytail.errors import InputError, short_repr, suggestion

Kind: TypeAlias = Literal[
    "agent",
    "env",
    "estimator",
    "law",
    "statistic",
    "bound",
    "deep_agent",
    "deep_env",
    "engine",
    "claim",
    "figure",
]
FOLDERS: dict[Kind, str] = {
    "agent": "agents",
    "env": "envs",
    "estimator": "estimators",
    "law": "laws",
    "statistic": "statistics",
    "bound": "bounds",
    "deep_agent": "deep.agents",  # a module, which registers all of them
    "deep_env": "deep.envs",
    "engine": "studies.engines",
    "claim": "studies.claims",
    "figure": "report.figures",
}
PLUGINS = "heavytail.plugins"


class Registered(NamedTuple):
    """One thing that can be built by name."""

    kind: str
    name: str
    builder: Callable[..., Any]
    doc: str
    example: Mapping[str, Any]  # values for the parameters that have no default
    version: int = 1  # of what it computes

    def __repr__(self) -> str:
        return f"Registered({self.kind!r}, {self.name!r})"

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The builder's parameters, with their defaults."""
        return dict(inspect.signature(self.builder).parameters)

    def build(self, *args: Any, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """Build it; return it and its arguments: checked, cast and with the defaults filled in."""
        builder = inspect.unwrap(self.builder)
        bound = bind_arguments(self.name, builder, args, kwargs)
        return call_bound(self.name, builder, bound), _by_name(bound)

    def arguments(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return the arguments the builder would be called with."""
        return _by_name(bind_arguments(self.name, inspect.unwrap(self.builder), args, kwargs))


def _by_name(bound: inspect.BoundArguments) -> dict[str, Any]:
    return {**dict(zip(bound.signature.parameters, bound.args, strict=False)), **bound.kwargs}


_table: dict[tuple[str, str], Registered] = {}
_given: dict[tuple[str, str], Registered] = {}  # found by `find`, but never listed


def register(
    kind: Kind, name: str, *, example: Mapping[str, Any] | None = None, version: int = 1
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Register the decorated builder, and check its arguments from now on.

    Args:
        kind: what it builds.
        name: its id.
        example: values for the parameters that have no default, with which tests and lists build it.
        version: of an agent, raised by hand when its results change; stored results of others are kept.
    """
    _check_kind(kind)

    def decorate(builder: Callable[P, R]) -> Callable[P, R]:
        owner = _table[kind, name].builder.__module__ if (kind, name) in _table else builder.__module__
        if owner != builder.__module__:
            raise TypeError(f"the {kind} {name!r} is registered already, by {owner}")
        checked, doc = checked_builder(name, builder), inspect.getdoc(builder) or ""
        _table[kind, name] = Registered(kind, name, checked, doc, dict(example or {}), version)
        return checked

    return decorate


def give(kind: Kind, name: str, value: Any) -> None:
    """Let `find` return an already built value, in this process; lists leave it out."""
    _check_kind(kind)

    def build() -> Any:
        return value

    _given[kind, name] = Registered(kind, name, checked_builder(name, build), "", {})


def is_given(kind: Kind, name: str) -> bool:
    """Return whether a value was given under a name."""
    return (kind, name) in _given


def find(kind: Kind, name: str) -> Registered:
    """Return what is registered under a name; for an unknown one, raise an error with a suggestion."""
    if not isinstance(name, str):
        raise InputError(f"the name of a {kind} must be a string, got {short_repr(name)}")
    if (kind, name) in _given:
        return _given[kind, name]
    _import_module_of(kind, name)
    if not is_registered(kind, name):
        what = "environment" if kind == "env" else kind.replace("_", " ")
        names = (entry.name for entry in registered(kind))
        broken = "".join(f"; {reason}" for reason in _import_plugins())
        raise InputError(f"there is no {what} {short_repr(name)}; {suggestion(name, names)}{broken}")
    return _table[kind, name]


def version_of(kind: Kind, name: str) -> int:
    """Return the version of what is registered under a name; 1 if there is nothing."""
    _import_module_of(kind, name)
    return _table[kind, name].version if (kind, name) in _table else 1


def _import_module_of(kind: Kind, name: str) -> None:
    if (kind, name) not in _table and name in _own_modules(kind):
        importlib.import_module(f"heavytail.{FOLDERS[kind]}.{name}")


def is_registered(kind: Kind, name: str) -> bool:
    """Return whether something of a kind has this name."""
    if (kind, name) not in _table:
        _import_own(kind)
        _import_plugins()
    return (kind, name) in _table


def registered(kind: Kind) -> list[Registered]:
    """List everything of a kind by name: heavytail's own, the plugins', and manually imported ones."""
    _check_kind(kind)
    _import_own(kind)
    _import_plugins()
    return sorted((entry for entry in _table.values() if entry.kind == kind), key=lambda entry: entry.name)


def own_builders(kind: Kind) -> dict[str, Callable[..., Any]]:
    """Return the builders of heavytail's own modules of a kind, by name."""
    _import_own(kind)
    home = f"heavytail.{FOLDERS[kind]}."
    own = (r for r in _table.values() if r.kind == kind and f"{r.builder.__module__}.".startswith(home))
    return {entry.name: entry.builder for entry in own}


def plugin_modules() -> list[str]:
    """List the modules outside heavytail that registered something: other processes import them first."""
    _import_plugins()
    modules = {entry.builder.__module__ for entry in _table.values()}
    return sorted(name for name in modules if name != "__main__" and not name.startswith("heavytail."))


def _check_kind(kind: str) -> None:
    if kind not in FOLDERS:
        raise InputError(f"there is no kind {short_repr(kind)}; {suggestion(str(kind), FOLDERS)}")


@cache
def _own_modules(kind: Kind) -> tuple[str, ...]:
    folder = getattr(importlib.import_module(f"heavytail.{FOLDERS[kind]}"), "__path__", ())
    return tuple(m.name for m in pkgutil.iter_modules(folder) if not m.name.startswith("_"))


@cache
def _import_own(kind: Kind) -> None:
    for module in _own_modules(kind):
        importlib.import_module(f"heavytail.{FOLDERS[kind]}.{module}")


@cache
def _import_plugins() -> tuple[str, ...]:
    """Import the plugins of installed packages; warn about failures, and return the messages."""
    from importlib.metadata import entry_points  # here, because it reads the metadata of every package

    broken = []
    for point in entry_points(group=PLUGINS):
        try:
            point.load()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - not our code; others still load
            reason = short_repr(error)
            broken.append(f"the plugin {point.name} ({point.value}) cannot be imported: {reason}")
            warnings.warn(broken[-1], stacklevel=2)
    return tuple(broken)
