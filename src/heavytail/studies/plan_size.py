"""The size of a plan: counted, not made, so that what cannot fit is known before anything is allocated."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from heavytail.checks import max_memory
from heavytail.deep.settings import DEFAULTS, check_widths
from heavytail.errors import InputError, show_bytes, show_count, show_duration
from heavytail.studies.plan import PHASES, Phase, backend_in, phase_length
from heavytail.studies.specs.messages import one_line_errors
from heavytail.studies.specs.spec import AgentSpec, Kind, Spec, agent_kind, envs_for, single_point

# About: so much of one core, and of the memory of the process that plans and reports.
SECONDS_PER_STEP: dict[Kind, float] = {"tabular": 5e-8, "deep": 1e-5}
SECONDS_PER_WEIGHT = 3.7e-9  # of a step of a deep agent, updates included
SECONDS_PER_RUN = 5e-4  # of planning it and of reading its results
BYTES_PER_RUN, BYTES_PER_CHECKPOINT = 1000, 1000
BYTES_PER_SWEEP_RUN = 200  # of which only final values are read


class PhaseSize(NamedTuple):
    """How much a phase of a study is."""

    phase: Phase
    runs: int
    steps: int  # of all runs together, at most
    memory: int  # bytes of its plan and its results, about
    seconds: float  # on one core, about

    def __str__(self) -> str:
        work = f"{show_count(self.runs)} runs, {self.steps:.3g} steps, {show_bytes(self.memory)} of memory"
        return f"{self.phase}: {work}, about {show_duration(self.seconds)} on one core"


def plan_sizes(spec: Spec, where: str = "spec") -> list[PhaseSize]:
    """Count the runs of each phase that a study has; one line if they cannot fit the memory."""
    groups = list(_groups(spec, where))
    sizes = [_total(phase, [group for group in groups if group.phase == phase]) for phase in PHASES]
    for size in sizes:
        if size.memory > (most := max_memory()):
            raise InputError(
                f"{where}: the {size.phase} would be {show_count(size.runs)} runs, which take"
                f" {show_bytes(size.memory)} of memory to plan and to report; here are {show_bytes(most)}, so"
                " that there must be fewer points, seeds or checkpoints"
            )
    return [size for size in sizes if size.runs]


class _Group(NamedTuple):
    """Runs of one agent in one environment."""

    phase: Phase
    runs: int
    steps: int  # of a run
    step_seconds: float
    memory: int  # of a run


def _groups(spec: Spec, where: str) -> Iterator[_Group]:
    for agent in spec.agents.values():
        points, seconds = _count(agent.grid), _seconds_per_step(agent)
        for env in envs_for(spec, agent):
            if single_point(agent.grid) is None:
                units, steps = _length(spec, "tuning", env, where)
                yield _Group("tuning", points * spec.tuning.seeds, steps, seconds, _curve_bytes(spec, units))
            units, steps = _length(spec, "evaluation", env, where)
            seeds = spec.envs[env].seeds or spec.seeds
            yield _Group("evaluation", seeds, steps, seconds, _curve_bytes(spec, units))
    for sweep in spec.maps.values():
        for env in envs_for(spec, sweep):
            runs = _count(sweep.axes) * (sweep.seeds or spec.envs[env].seeds or spec.seeds)
            steps = _length(spec, "map", env, where)[1]
            yield _Group("map", runs, steps, SECONDS_PER_STEP["tabular"], BYTES_PER_SWEEP_RUN)


def _seconds_per_step(agent: AgentSpec) -> float:
    kind = agent_kind(agent.agent)
    if kind == "tabular":
        return SECONDS_PER_STEP[kind]
    widths = check_widths(agent.parameters.get("hidden", DEFAULTS["hidden"]), agent.agent)
    return SECONDS_PER_STEP[kind] + SECONDS_PER_WEIGHT * sum(n * m for n, m in pairwise(widths))


def _count(grid: Mapping[str, Sequence[Any]]) -> int:
    """Count the points of a grid."""
    return math.prod(map(len, grid.values()))


def _curve_bytes(spec: Spec, units: int) -> int:
    return BYTES_PER_RUN + BYTES_PER_CHECKPOINT * min(spec.checkpoints, units)


def _length(spec: Spec, phase: Phase, env: str, where: str) -> tuple[int, int]:
    """The length of a run in episodes or steps, and in steps."""
    with one_line_errors(f"{where}: envs.{env}"):
        units = phase_length(spec, env, phase)
        return units, units * backend_in(spec, env).horizon


def _total(phase: Phase, groups: Sequence[_Group]) -> PhaseSize:
    return PhaseSize(
        phase,
        runs=sum(group.runs for group in groups),
        steps=sum(group.runs * group.steps for group in groups),
        memory=sum(group.runs * group.memory for group in groups),
        seconds=sum(g.runs * (SECONDS_PER_RUN + g.steps * g.step_seconds) for g in groups),
    )
