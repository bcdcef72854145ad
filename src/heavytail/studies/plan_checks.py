"""Check a study before it starts: build every environment, and every agent in it, once."""

from collections.abc import Sequence
from typing import Any

from heavytail.errors import InputError, suggestion
from heavytail.studies.plan import PHASES, CellRequest, _units, _whole_cell, backend_in
from heavytail.studies.specs.messages import describe_point, one_line_errors
from heavytail.studies.specs.spec import Spec, env_kind, envs_for, one_at_a_time, single_point
from heavytail.studies.sweeps.plan import check_maps


def check_plan(spec: Spec, where: str = "spec") -> None:
    """Build every environment, and every agent in it, with every value of its grid or of a map's axes once: mistakes show before the work starts."""
    for key in spec.envs:
        with one_line_errors(f"{where}: envs.{key}"):
            _check_length(spec, key)
            _check_bounds(spec, key)
    for key, agent in spec.agents.items():
        for env in envs_for(spec, agent):
            for point in one_at_a_time(agent.grid):
                _check_claims(spec, key, env, _counters(spec, key, env, point, where), where)
    check_maps(spec, where)


def _check_length(spec: Spec, key: str) -> None:
    """The first hundredth, or the last tenth, of a run must hold something that can be scored."""
    backend, metrics = (
        backend_in(spec, key),
        {condition.metric for claim in spec.claims for condition in claim.conditions},
    )
    least = backend.longest * (100 if "first_hundredth" in metrics else 10)
    units = {
        phase: _units(spec, key, phase) for phase in PHASES if phase != "tuning" or has_tuning(spec, key)
    }
    for phase, found in units.items():
        if backend.longest > 1 and found < least:
            raise InputError(
                f"runs of {found:,} {backend.unit}s in the {phase} are too short to be scored, as an"
                f" episode may have {backend.longest}; they need {least:,}"
            )


def _check_bounds(spec: Spec, key: str) -> None:
    """Bounds must be there, and those that claims name among them."""
    if (said := spec.envs[key].bounds) is not None:
        from heavytail.studies.bound_lines import check_bounds

        check_bounds(spec.envs[key])
    for claim in spec.claims:
        for condition in claim.conditions:
            if (
                condition.of
                and key in (condition.envs or envs_for(spec, spec.agents[condition.agent]))
                and condition.of not in (said.shown if said else [])
            ):
                raise InputError(
                    f"a claim compares regret with the bound {condition.of!r}, which is not among"
                    " those it shows; name it in bounds.shown"
                )


def has_tuning(spec: Spec, env: str) -> bool:
    """Whether anything is searched in an environment."""
    return any(
        single_point(agent.grid) is None and env in envs_for(spec, agent) for agent in spec.agents.values()
    )


def _counters(spec: Spec, key: str, env: str, point: dict[str, Any], where: str) -> Sequence[str]:
    with one_line_errors(f"{where}: agents.{key}{describe_point(point)} on {env}"):
        part = _whole_cell(spec, CellRequest(key, env, point), "evaluation")
        return part.backend.counters(part.agent, part.parameters)


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
