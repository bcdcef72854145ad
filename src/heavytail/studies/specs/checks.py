"""Check what the models of a spec cannot see: names, grids, sweeps and claims, against each other."""

import math
from functools import partial
from typing import Any

from heavytail.deep.settings import agent_parameters
from heavytail.errors import InputError, key_path, suggestion
from heavytail.registry import find
from heavytail.studies.specs.claims import Condition
from heavytail.studies.specs.messages import call_with_prefix
from heavytail.studies.specs.spec import AgentSpec, Spec, agent_kind, env_kind, envs_for
from heavytail.studies.specs.sweeps import SweepSpec, check_axes

MAX_POINTS = 10_000  # of a grid


def check_spec(spec: Spec, where: str) -> Spec:
    """Return the spec if all that it names exists, else raise InputError."""
    if not spec.envs or not spec.agents:
        raise InputError(
            f"{where}: a study needs at least one environment under [envs.NAME] and one agent under"
            " [agents.NAME]"
        )
    for key, env in spec.envs.items():
        if env_kind(env.env) == "tabular":
            call_with_prefix(f"{where}: envs.{key}", partial(find, "env", env.env))
        elif spec.regret == "gaps":
            raise InputError(
                f'{where}: regret is "gaps", which are known of MDPs only, and not of envs.{key}'
            )
    for key, agent in spec.agents.items():
        _check_agent(spec, agent, f"{where}: agents.{key}")
        _check_grid(agent, f"{where}: agents.{key}")
    for key, sweep in spec.maps.items():
        _check_sweep(spec, sweep, f"{where}: maps.{key}")
    for i, claim in enumerate(spec.claims):
        for j, condition in enumerate(claim.conditions):
            _check_condition(spec, condition, f"{where}: claims.{i}.conditions.{j}")
    return spec


def _check_agent(spec: Spec, agent: AgentSpec | SweepSpec, where: str) -> None:
    """An agent must exist, run in environments of its kind, and know its parameters."""
    known = call_with_prefix(where, partial(_parameter_names, agent.agent))
    _require_known(agent.envs or [], spec.envs, f"{where}.envs")
    if len(possible := envs_for(spec, agent)) < len(agent.envs or [""]):
        others = ", ".join(env for env in agent.envs or spec.envs if env not in possible)
        raise InputError(
            f"{where} is {agent_kind(agent.agent)} and cannot learn in {others}; name other environments"
        )
    table, varied = ("axes", agent.axes) if isinstance(agent, SweepSpec) else ("grid", agent.grid)
    for part, names in (("parameters", agent.parameters), (table, varied)):
        _require_known(names, names if known is None else known, f"{where}.{part}")


def _check_grid(agent: AgentSpec, where: str) -> None:
    for name, values in agent.grid.items():
        if not values:
            raise InputError(f"{where}.grid.{key_path([name])} is empty; it must list at least one value")
        if name in agent.parameters:
            raise InputError(
                f"{where} has {key_path([name])} both in its parameters and in its grid; leave one"
                " of them out"
            )
    if math.prod(len(values) for values in agent.grid.values()) > MAX_POINTS:
        raise InputError(f"{where}.grid has more than {MAX_POINTS:,} points; it must have fewer values")


def _check_sweep(spec: Spec, sweep: SweepSpec, where: str) -> None:
    _check_agent(spec, sweep, where)
    if agent_kind(sweep.agent) == "deep":
        raise InputError(f"{where} is of {sweep.agent}, a deep agent; maps are of tabular ones")
    call_with_prefix(where, partial(check_axes, sweep))


def _check_condition(spec: Spec, condition: Condition, where: str) -> None:
    kind = call_with_prefix(f"{where}.test", partial(find, "claim", condition.test)).builder()
    _require_known([condition.agent], spec.agents, f"{where}.agent")
    _require_known(condition.envs or [], spec.envs, f"{where}.envs")
    if condition.than or kind.compares:
        _require_known([condition.than], spec.agents, f"{where}.than")
    both = [key for key in (condition.agent, condition.than) if key]
    common = set(spec.envs).intersection(*(envs_for(spec, spec.agents[key]) for key in both))
    if not common:
        raise InputError(f"{where}: {' and '.join(both)} run in no environment together")
    _require_known(condition.envs or [], common, f"{where}.envs: where {' and '.join(both)} run")
    call_with_prefix(where, partial(kind.check, condition))
    if (condition.metric == "counter") != bool(condition.counter):
        raise InputError(
            f"{where}: metric is {condition.metric!r} and counter is {condition.counter!r}; name a"
            " counter if, and only if, the metric is one"
        )


def _require_known(names: Any, choices: Any, where: str) -> None:
    for name in names:
        if name not in choices:
            raise InputError(f"{where}: there is no {name!r}; {suggestion(str(name), choices)}")


def _parameter_names(agent: str) -> list[str] | None:
    """The parameters that an agent takes; None if that depends on their values."""
    if agent_kind(agent) == "deep":
        return list(agent_parameters(agent))
    parameters = find("agent", agent).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return None
    return [name for name in parameters if name != "problem"]
