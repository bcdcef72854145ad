"""Checks that the models of a spec cannot make: names, grids, sweeps, claims, and existing results."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from heavytail.checks import is_number
from heavytail.deep.settings import agent_parameters
from heavytail.errors import InputError, key_path, short_repr, suggestion
from heavytail.registry import find
from heavytail.studies.specs.messages import error_prefix
from heavytail.studies.specs.spec import (
    Condition,
    Spec,
    SweepSpec,
    VariedAgent,
    agent_kind,
    canonical,
    env_kind,
    envs_for,
)
from heavytail.training.make_agent import TRUE

MAX_POINTS = 10_000  # of a grid
MAX_SWEEP_POINTS = 1_000_000
DIMENSIONS = (2, 3)  # of a sweep


def check_spec(spec: Spec, where: str) -> Spec:
    """Return the spec if everything it names exists, else raise InputError."""
    if not spec.envs or not spec.agents:
        raise InputError(
            f"{where}: a study needs at least one environment under [envs.NAME] and one agent under"
            " [agents.NAME]"
        )
    for key, env in spec.envs.items():
        if env_kind(env.env) == "tabular":
            with error_prefix(f"{where}: envs.{key}"):
                find("env", env.env)
        elif spec.regret == "gaps":
            raise InputError(
                f'{where}: regret is "gaps", which are known of MDPs only, and not of envs.{key}'
            )
    for key, agent in spec.agents.items():
        _check_agent(spec, agent, f"{where}: agents.{key}")
    for key, sweep in spec.maps.items():
        _check_agent(spec, sweep, f"{where}: maps.{key}")
    for i, claim in enumerate(spec.claims):
        for j, condition in enumerate(claim.conditions):
            _check_condition(spec, condition, f"{where}: claims.{i}.conditions.{j}")
    return spec


def _check_agent(spec: Spec, agent: VariedAgent, where: str) -> None:
    """Check that an agent exists, runs in environments of its kind, and knows its parameters."""
    with error_prefix(where):
        known = _parameter_names(agent.agent)
    _require_known(agent.envs or [], spec.envs, f"{where}.envs")
    if len(possible := envs_for(spec, agent)) < len(agent.envs or [""]):
        others = ", ".join(env for env in agent.envs or spec.envs if env not in possible)
        raise InputError(
            f"{where} is {agent_kind(agent.agent)} and cannot learn in {others}; name other environments"
        )
    table = "axes" if isinstance(agent, SweepSpec) else "grid"
    for part, names in (("parameters", agent.parameters), (table, agent.varied)):
        _require_known(names, names if known is None else known, f"{where}.{part}")
    _check_points(agent, f"{where}.{table}")
    for name in agent.varied:
        if name in agent.parameters:
            raise InputError(
                f"{where} has {key_path([name])} both in its parameters and in its {table}; leave one of"
                " them out"
            )
    if isinstance(agent, SweepSpec):
        with error_prefix(where):
            _check_axes(agent)


def _check_points(agent: VariedAgent, where: str) -> None:
    for name, values in agent.varied.items():
        if not values:
            raise InputError(f"{where}.{key_path([name])} is empty; it must list at least one value")
    most = MAX_SWEEP_POINTS if isinstance(agent, SweepSpec) else MAX_POINTS
    if math.prod(len(values) for values in agent.varied.values()) > most:
        raise InputError(f"{where} has more than {most:,} points; it must have fewer values")


def _check_axes(sweep: SweepSpec) -> None:
    """Check that the axes of a sweep are two or three lists of different numbers."""
    if agent_kind(sweep.agent) == "deep":
        raise InputError(f"{sweep.agent} is a deep agent; maps are of tabular ones")
    if len(sweep.axes) not in DIMENSIONS:
        raise InputError(f"axes has {len(sweep.axes)} of them; a map has two or three")
    for name, values in sweep.axes.items():
        _check_axis(name, values)
    if TRUE in (sweep.parameters.get("moment"), *sweep.axes.get("moment", [])) and "epsilon" in sweep.axes:
        raise InputError("moment is 'true', but its order depends on epsilon, which is an axis; give numbers")


def _check_axis(name: str, values: Sequence[Any]) -> None:
    where = key_path(["axes", name])
    seen: set[Any] = set()
    for value in values:
        if not is_number(value) and (name, value) != ("moment", TRUE):
            raise InputError(
                f"{where} has {short_repr(value)}; it must be a number, since other values may need"
                " another program: make a separate map"
            )
        if value in seen:
            raise InputError(f"{where} has {short_repr(value)} twice; once will do")
        seen.add(value)


def _check_condition(spec: Spec, condition: Condition, where: str) -> None:
    with error_prefix(f"{where}.test"):
        kind = find("claim", condition.test).builder()
    _require_known([condition.agent], spec.agents, f"{where}.agent")
    _require_known(condition.envs or [], spec.envs, f"{where}.envs")
    if condition.than or kind.compares:
        _require_known([condition.than], spec.agents, f"{where}.than")
    both = [key for key in (condition.agent, condition.than) if key]
    common = set(spec.envs).intersection(*(envs_for(spec, spec.agents[key]) for key in both))
    if not common:
        raise InputError(f"{where}: {' and '.join(both)} run in no environment together")
    _require_known(condition.envs or [], common, f"{where}.envs: where {' and '.join(both)} run")
    with error_prefix(where):
        kind.check(condition)
    if (condition.metric == "counter") != bool(condition.counter):
        raise InputError(
            f"{where}: metric is {condition.metric!r} and counter is {condition.counter!r}; name a"
            " counter if, and only if, the metric is one"
        )
    for env in condition.envs or sorted(common):
        if condition.metric == "final_regret" and env_kind(spec.envs[env].env) == "deep":
            raise InputError(
                f"{where}.metric is 'final_regret', but the best policy of {env} is unknown; use 'last_tenth'"
            )
        bounds = spec.envs[env].bounds
        if condition.of and condition.of not in (bounds.shown if bounds else []):
            raise InputError(
                f"{where} compares regret with the bound {condition.of!r}, which is not among those that"
                f" {env} shows; name it in its bounds.shown"
            )


def _require_known(names: Any, choices: Any, where: str) -> None:
    for name in names:
        if name not in choices:
            raise InputError(f"{where}: there is no {name!r}; {suggestion(str(name), choices)}")


def _parameter_names(agent: str) -> list[str] | None:
    """Return the parameters that an agent takes; None if that depends on their values."""
    if agent_kind(agent) == "deep":
        return list(agent_parameters(agent))
    parameters = find("agent", agent).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return None
    return [name for name in parameters if name != "problem"]


# Against the spec that results were computed with


def require_same_results(stored: Spec, spec: Spec, folder: Path) -> None:
    """Raise InputError if a spec differs from a folder's in anything that affects results.

    Words, claims and statistics may change at any time.
    """
    old, new = (result_relevant(each.model_dump(mode="json")) for each in (stored, spec))
    if different := list_differences(old, new):
        raise InputError(
            f"{folder} holds another study: {'; '.join(different[:3])}"
            f"{' and more' if len(different) > 3 else ''}. Nothing was started; choose another folder"
            f" with --out (--reuse {folder} takes over what it has), or continue the old one with: heavytail"
            f" resume {folder}"
        )


def result_relevant(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Select the parts of a spec that affect results.

    Words, claims, statistics, bounds and the grouping of environments do not.
    """
    words = {"title", "description", "claims", "statistics", "quick", "families", "plugins"}
    work = {key: value for key, value in spec.items() if key not in words}
    inside = {"label", "setting", "bounds", "family", "at"}
    for table in ("envs", "agents", "maps"):
        work[table] = {
            name: {k: v for k, v in each.items() if k not in inside}
            for name, each in spec.get(table, {}).items()
        }
    return work


def list_differences(old: Any, new: Any, where: str = "") -> list[str]:
    """Describe the differences between two specs."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = dict.fromkeys([*old, *new])
        return [
            line
            for key in keys
            for line in list_differences(old.get(key), new.get(key), f"{where}.{key}" if where else key)
        ]
    return [] if old == new else [f"{where} was {_shorten(old)} and is {_shorten(new)}"]


def _shorten(value: Any) -> str:
    text = "not there" if value is None else canonical(value)
    return text if len(text) <= 60 else text[:57] + "..."
