"""Check a plan before work starts: build every environment, and every agent in it, once."""

from collections.abc import Sequence

from heavytail.errors import InputError, suggestion
from heavytail.studies.plan import (
    PHASES,
    CellRequest,
    Phase,
    backend_in,
    bare_part,
    phase_length,
    sweep_axes,
)
from heavytail.studies.specs.messages import describe_point, one_line_errors
from heavytail.studies.specs.spec import Spec, env_kind, envs_for, one_at_a_time, single_point


def check_plan(spec: Spec, where: str = "spec") -> None:
    """Build every environment, and every agent in it, so that mistakes show before work starts.

    Agents are built with every value of their grids, and of the axes of sweeps, once.
    """
    for key in spec.envs:
        with one_line_errors(f"{where}: envs.{key}"):
            _check_length(spec, key)
            _check_bounds(spec, key)
    for key, agent in spec.agents.items():
        for env in envs_for(spec, agent):
            for point in one_at_a_time(agent.grid):
                place = f"{where}: agents.{key}{describe_point(point)} on {env}"
                counters = _counter_names(spec, CellRequest(key, env, point), "evaluation", place)
                _check_claims(spec, key, env, counters, where)
    for key, sweep in spec.maps.items():
        for env in envs_for(spec, sweep):
            for point in one_at_a_time(sweep.axes):
                place = f"{where}: maps.{key}{describe_point(point)} on {env}"
                _counter_names(spec, CellRequest(key, env, point), "map", place)
            with one_line_errors(f"{where}: maps.{key} on {env}"):
                sweep_axes(spec, key, env)


def _check_length(spec: Spec, key: str) -> None:
    """The first hundredth, or the last tenth, of a run must hold something that can be scored."""
    backend = backend_in(spec, key)
    metrics = {condition.metric for claim in spec.claims for condition in claim.conditions}
    least = backend.longest_episode * (100 if "first_hundredth" in metrics else 10)
    for phase in PHASES:
        if phase == "tuning" and not has_tuning(spec, key):
            continue
        units = phase_length(spec, key, phase)
        if backend.longest_episode > 1 and units < least:
            raise InputError(
                f"runs of {units:,} {backend.unit}s in the {phase} are too short to be scored, as an"
                f" episode may have {backend.longest_episode}; they need {least:,}"
            )


def _check_bounds(spec: Spec, key: str) -> None:
    """An environment must have the bounds that it shows, and show those that claims name."""
    bounds = spec.envs[key].bounds
    if bounds is not None:
        from heavytail.studies.bound_lines import check_bounds  # here, because few studies have bounds

        check_bounds(spec.envs[key])
    shown = bounds.shown if bounds else []
    for claim in spec.claims:
        for condition in claim.conditions:
            envs = condition.envs or envs_for(spec, spec.agents[condition.agent])
            if condition.of and key in envs and condition.of not in shown:
                raise InputError(
                    f"a claim compares regret with the bound {condition.of!r}, which is not among"
                    " those it shows; name it in bounds.shown"
                )


def has_tuning(spec: Spec, env: str) -> bool:
    """Tell whether any grid is searched in an environment."""
    return any(
        single_point(agent.grid) is None and env in envs_for(spec, agent) for agent in spec.agents.values()
    )


def _counter_names(spec: Spec, request: CellRequest, phase: Phase, where: str) -> Sequence[str]:
    """The counters of an agent, which is built for that."""
    with one_line_errors(where):
        part = bare_part(spec, request, phase)
        return part.backend.counter_names(part.agent, part.parameters)


def _check_claims(spec: Spec, key: str, env: str, counters: Sequence[str], where: str) -> None:
    for i, claim in enumerate(spec.claims):
        for j, condition in enumerate(claim.conditions):
            if key not in (condition.agent, condition.than):
                continue
            if condition.counter and condition.counter not in counters:
                raise InputError(
                    f"{where}: claims.{i}.conditions.{j}.counter: {key} counts no"
                    f" {condition.counter!r}; {suggestion(condition.counter, counters)}"
                )
            if (
                condition.metric == "final_regret"
                and env in (condition.envs or [env])
                and env_kind(spec.envs[env].env) == "deep"
            ):
                raise InputError(
                    f"{where}: claims.{i}.conditions.{j}.metric is 'final_regret', but nobody knows"
                    f" the best policy of {env}; take 'last_tenth'"
                )
