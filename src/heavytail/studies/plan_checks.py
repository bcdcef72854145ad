"""Checks of a plan before work starts: count its runs, and build every environment and agent once."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from heavytail.checks import max_memory
from heavytail.errors import InputError, show_bytes, show_count, show_duration, suggestion
from heavytail.registry import find
from heavytail.studies.backends import backend_of
from heavytail.studies.part import PHASES, Phase
from heavytail.studies.plan import (
    Planned,
    backend_in,
    bare_part,
    count_seeds,
    list_planned,
    phase_length,
    sweep_axes,
)
from heavytail.studies.specs.messages import describe_point, one_line_errors
from heavytail.studies.specs.spec import Kind, Spec, VariedAgent, agent_kind, one_at_a_time

# Estimates of the time of one core, and of the memory of the process that plans and reports.
SECONDS_PER_STEP: dict[Kind, float] = {"tabular": 5e-8, "deep": 1e-5}
SECONDS_PER_WEIGHT = 3.7e-9  # of a step of a deep agent, updates included
SECONDS_PER_RUN = 5e-4  # of planning it and of reading its results
BYTES_PER_RUN, BYTES_PER_CHECKPOINT = 1000, 1000
BYTES_PER_SWEEP_RUN = 200  # of which only final values are read


class PhaseSize(NamedTuple):
    """The size of a phase of a study."""

    phase: Phase
    runs: int
    steps: int  # of all runs together, at most
    memory: int  # bytes of its plan and its results, about
    seconds: float  # on one core, about

    def __str__(self) -> str:
        work = f"{show_count(self.runs)} runs, {self.steps:.3g} steps, {show_bytes(self.memory)} of memory"
        return f"{self.phase}: {work}, about {show_duration(self.seconds)} on one core"


def plan_sizes(spec: Spec, where: str = "spec") -> list[PhaseSize]:
    """Count the runs of each phase of a study; a one-line error if they do not fit into memory.

    They are counted, not made, so that the error comes before anything is allocated.
    """
    groups = [_group_size(spec, planned, where) for planned in list_planned(spec)]
    sizes = [_total(phase, [group for group in groups if group.phase == phase]) for phase in PHASES]
    for size in sizes:
        if size.memory > (most := max_memory()):
            raise InputError(
                f"{where}: the {size.phase} would be {show_count(size.runs)} runs, which take"
                f" {show_bytes(size.memory)} of memory to plan and to report; there are {show_bytes(most)};"
                " use fewer points, seeds or checkpoints"
            )
    return [size for size in sizes if size.runs]


def _group_size(spec: Spec, planned: Planned, where: str) -> PhaseSize:
    """Count the runs of one agent in one environment."""
    phase, key, env, varied = planned
    with one_line_errors(f"{where}: envs.{env}"):
        units = phase_length(spec, env, phase)
        steps = units * backend_in(spec, env).horizon
    points = 1 if phase == "evaluation" else math.prod(map(len, varied.values()))
    runs = points * count_seeds(spec, planned)
    curve = BYTES_PER_RUN + BYTES_PER_CHECKPOINT * min(spec.checkpoints, units)
    agent = spec.maps[key] if phase == "map" else spec.agents[key]
    return PhaseSize(
        phase,
        runs,
        steps=runs * steps,
        memory=runs * (BYTES_PER_SWEEP_RUN if phase == "map" else curve),
        seconds=runs * (SECONDS_PER_RUN + steps * _seconds_per_step(agent)),
    )


def _seconds_per_step(agent: VariedAgent) -> float:
    kind = agent_kind(agent.agent)
    if kind == "tabular":
        return SECONDS_PER_STEP[kind]
    given = {name: value for name, value in agent.parameters.items() if name == "hidden"}
    widths = find("deep_agent", agent.agent).arguments(**given)["hidden"]
    return SECONDS_PER_STEP[kind] + SECONDS_PER_WEIGHT * sum(n * m for n, m in pairwise(widths))


def _total(phase: Phase, groups: list[PhaseSize]) -> PhaseSize:
    return PhaseSize(
        phase,
        runs=sum(group.runs for group in groups),
        steps=sum(group.steps for group in groups),
        memory=sum(group.memory for group in groups),
        seconds=sum(group.seconds for group in groups),
    )


def check_plan(spec: Spec, where: str = "spec") -> None:
    """Build every environment, and every agent in it, so that mistakes show before work starts.

    Agents are built with every value of their grids, and of the axes of sweeps, once.
    """
    for key, env in spec.envs.items():
        with one_line_errors(f"{where}: envs.{key}"):
            _check_length(spec, key, "evaluation")
            if env.bounds is not None:
                from heavytail.studies.families import check_bounds  # here, because few studies have bounds

                check_bounds(env)
    for planned in list_planned(spec):
        if planned.phase != "tuning":
            _check_agent(spec, planned, where)
            continue
        with one_line_errors(f"{where}: envs.{planned.env}"):
            _check_length(spec, planned.env, "tuning")  # its agents are those of the evaluation


def _check_length(spec: Spec, env: str, phase: Phase) -> None:
    """Check that the first hundredth, or the last tenth, of a run holds something that can be scored."""
    backend, units = backend_in(spec, env), phase_length(spec, env, phase)
    metrics = {condition.metric for claim in spec.claims for condition in claim.conditions}
    least = backend.longest_episode * (100 if "first_hundredth" in metrics else 10)
    if backend.longest_episode > 1 and units < least:
        raise InputError(
            f"runs of {units:,} {backend.unit}s in the {phase} are too short to be scored, as an episode may"
            f" have {backend.longest_episode}; they need {least:,}"
        )


def _check_agent(spec: Spec, planned: Planned, where: str) -> None:
    phase, key, env, varied = planned
    table = "maps" if phase == "map" else "agents"
    for point in one_at_a_time(varied):
        with one_line_errors(f"{where}: {table}.{key}{describe_point(point)} on {env}"):
            part = bare_part(spec, planned, point)
            counters = backend_of(part).counter_names(part.agent, part.parameters)
        if phase == "evaluation":
            _check_counters(spec, key, counters, where)
    if phase == "map":
        with one_line_errors(f"{where}: maps.{key} on {env}"):
            sweep_axes(spec, planned)


def _check_counters(spec: Spec, key: str, counters: Sequence[str], where: str) -> None:
    """Check that an agent has the counters that claims name."""
    for i, claim in enumerate(spec.claims):
        for j, condition in enumerate(claim.conditions):
            missing = condition.counter not in ("", *counters)
            if missing and key in (condition.agent, condition.than):
                raise InputError(
                    f"{where}: claims.{i}.conditions.{j}.counter: {key} counts no"
                    f" {condition.counter!r}; {suggestion(condition.counter, counters)}"
                )
