"""The plan of a study: its runs, and how they are packed into parts.

Only the plan decides what a part is, so that parts are the same wherever they are computed.
"""

import itertools
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from heavytail.errors import InputError, key_path
from heavytail.studies.backends import backend_for, backend_of
from heavytail.studies.backends.backend import Backend
from heavytail.studies.part import Part, Phase
from heavytail.studies.specs.spec import Spec, envs_for, grid_points, one_at_a_time, single_point

STEPS_PER_PART = 25_000_000  # a second or two of most agents
SWEEP_STEPS_PER_PART = 1_600_000_000  # about a minute of one core; 128 runs at the paper's length
MAX_SWEEP_RUNS = 4096  # in a part
MIN_TUNING_UNITS = 10  # episodes or steps of a run, however small the share
T = TypeVar("T")
Choices: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Any]]]  # agent -> environment -> point


class Cell(NamedTuple):
    """All runs of one agent, with one choice of parameters, in one environment."""

    agent: str  # keys of the spec
    env: str
    point: dict[str, Any]  # of the agent's grid
    runs: tuple[str, ...]  # ids
    parts: tuple[Part, ...]  # that hold these runs, perhaps beside others

    def share_in(self, part: Part) -> float:
        """Return the share of a part's runs that belong to this cell."""
        mine = set(self.runs)
        return sum(run.id in mine for run in part.runs) / len(part.runs)

    def parameters(self) -> dict[str, Any]:
        """Return the agent's parameters, complete."""
        return next(run.parameters for part in self.parts for run in part.runs if run.id == self.runs[0])


class Sweep(NamedTuple):
    """All runs of a sweep in one environment, point by point, the last axis fastest."""

    agent: str  # key of the sweep
    env: str
    axes: dict[str, tuple[float, ...]]  # in the order in which points are counted; values ascend
    seeds: int  # runs of each point
    parts: tuple[Part, ...]


class Planned(NamedTuple):
    """An agent, or a sweep, in one environment and in one of its phases."""

    phase: Phase
    key: str  # of the agent, or of the sweep
    env: str
    varied: dict[str, list[Any]]  # its grid, or its axes


def list_planned(spec: Spec) -> Iterator[Planned]:
    """Yield everything that a study does; grids of one point need no tuning."""
    for key, agent in spec.agents.items():
        for env in envs_for(spec, agent):
            if single_point(agent.grid) is None:
                yield Planned("tuning", key, env, agent.grid)
            yield Planned("evaluation", key, env, agent.grid)
    for key, sweep in spec.maps.items():
        yield from (Planned("map", key, env, sweep.axes) for env in envs_for(spec, sweep))


def tuning_cells(spec: Spec) -> list[Cell]:
    """List every point of every grid that has more than one, for a share of the length."""
    requests = [
        (planned, point)
        for planned in list_planned(spec)
        if planned.phase == "tuning"
        for point in grid_points(planned.varied)
    ]
    return _pack_cells(spec, requests)


def evaluation_cells(spec: Spec, choices: Choices) -> list[Cell]:
    """List every agent at its chosen point, at full length."""
    requests = [
        (each, dict(choices[each.key][each.env]) if only is None else only)
        for each in list_planned(spec)
        if each.phase == "evaluation"
        for only in [single_point(each.varied)]
    ]
    return _pack_cells(spec, requests)


def plan_sweeps(spec: Spec) -> list[Sweep]:
    """List every sweep in every environment, at full length.

    A sweep has hundreds of thousands of runs that differ only in numbers; so its parts are larger than those
    of tuning and evaluation, and their runs differ in their point as well as in their seed. Its plan names
    only parts: the ids of runs are made where they are computed.
    """
    return [_plan_sweep(spec, planned) for planned in list_planned(spec) if planned.phase == "map"]


def _plan_sweep(spec: Spec, planned: Planned) -> Sweep:
    axes, seeds = sweep_axes(spec, planned), count_seeds(spec, planned)
    bare, _ = _split(bare_part(spec, planned, next(one_at_a_time(planned.varied))), axes)
    runs = ((replicate, point) for point in grid_points(axes) for replicate in range(seeds))
    most = max(1, min(MAX_SWEEP_RUNS, SWEEP_STEPS_PER_PART // bare.steps))
    parts = [
        bare.changed(replicates=replicates, variants=variants, keys=((planned.key, planned.env),))
        for replicates, variants in (zip(*some, strict=True) for some in _chunks(runs, most))
    ]
    return Sweep(planned.key, planned.env, axes, seeds, tuple(parts))


def sweep_axes(spec: Spec, planned: Planned) -> dict[str, tuple[float, ...]]:
    """Return the axes of a sweep as ascending numbers, by name.

    Their order in the spec affects only how they are drawn, not the runs.
    """
    axes = planned.varied
    first = next(one_at_a_time(axes))

    def numbers(name: str) -> tuple[float, ...]:
        points = [{**first, name: value} for value in axes[name]]
        values = sorted(bare_part(spec, planned, point).parameters[name] for point in points)
        if twice := [value for value, following in itertools.pairwise(values) if value == following]:
            raise InputError(f"{key_path(['axes', name])} comes to {twice[0]:g} twice; leave one of them out")
        return tuple(values)

    return {name: numbers(name) for name in sorted(axes)}


def unique_parts(cells: Sequence[Cell] | Sequence[Sweep]) -> list[Part]:
    """List the parts of all cells, each once: cells may share them."""
    return list({part.id: part for cell in cells for part in cell.parts}.values())


# Packing


def _pack_cells(spec: Spec, requests: Sequence[tuple[Planned, dict[str, Any]]]) -> list[Cell]:
    """Make cells with their parts, for agents at points of their grids.

    Runs that can be computed together are packed in the order of the requests.
    """
    bare = [
        _split(part, backend_of(part).varying) for part in (bare_part(spec, *request) for request in requests)
    ]
    shared: dict[str, Part] = {}  # parts without runs, by id
    members: dict[str, dict[str, _Member]] = {}  # id -> run -> its member
    ids = []
    for (planned, _), (part, variant) in zip(requests, bare, strict=True):
        runs = {part.run_id(r, variant): r for r in range(count_seeds(spec, planned))}
        known = members.setdefault(part.id, {})
        for run, r in runs.items():
            known.setdefault(run, _Member(r, variant, {}, {})).share_with(planned)
        shared[part.id] = part
        ids.append(tuple(runs))
    packed = {name: _pack(shared[name], list(runs.values())) for name, runs in members.items()}
    return [
        Cell(planned.key, planned.env, point, runs, _with_runs(packed[part.id], runs))
        for (planned, point), (part, _), runs in zip(requests, bare, ids, strict=True)
    ]


class _Member(NamedTuple):
    """A run of a part, and its owners."""

    replicate: int
    variant: dict[str, Any]
    agents: dict[str, None]  # keys, in the order of the spec
    envs: dict[str, None]

    def share_with(self, planned: Planned) -> None:
        self.agents[planned.key] = self.envs[planned.env] = None

    def keys(self) -> tuple[str, str]:
        return ",".join(self.agents), ",".join(self.envs)


def _split(bare: Part, varying: Container[str]) -> tuple[Part, dict[str, Any]]:
    """Split off the parameters in which runs of one part may differ."""
    shared = {key: value for key, value in bare.parameters.items() if key not in varying}
    variant = {key: value for key, value in bare.parameters.items() if key in varying}
    return bare.changed(parameters=shared), variant


def _pack(bare: Part, runs: Sequence[_Member]) -> tuple[Part, ...]:
    per_part = backend_of(bare).max_runs or max(1, STEPS_PER_PART // bare.steps)
    return tuple(
        bare.changed(
            replicates=tuple(run.replicate for run in chunk),
            variants=tuple(run.variant for run in chunk) if backend_of(bare).varying else (),
            keys=_once_if_same([run.keys() for run in chunk]),
        )
        for chunk in _chunks(runs, per_part)
    )


def _chunks(runs: Iterable[T], most: int) -> Iterator[list[T]]:
    """Split runs into lists of `most`; the last may be shorter."""
    left = iter(runs)
    while chunk := list(itertools.islice(left, most)):
        yield chunk


def _once_if_same(keys: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple(keys[:1] if len(set(keys)) == 1 else keys)


def _with_runs(parts: Sequence[Part], runs: Sequence[str]) -> tuple[Part, ...]:
    wanted = set(runs)
    return tuple(part for part in parts if any(run.id in wanted for run in part.runs))


def bare_part(spec: Spec, planned: Planned, point: Mapping[str, Any]) -> Part:
    """Make the part that all runs of a cell share, without runs."""
    phase, env = planned.phase, spec.envs[planned.env]
    sweep = spec.maps[planned.key] if phase == "map" else None
    agent = sweep or spec.agents[planned.key]
    backend, units = backend_in(spec, planned.env), phase_length(spec, planned.env, phase)
    steps = units * backend.horizon
    return Part(
        env=env.env,
        env_parameters=env.parameters,
        agent=agent.agent,
        parameters=backend.resolve_parameters(agent.agent, {**agent.parameters, **point}, steps),
        units=units,
        steps=steps,
        checkpoints=min(sweep.checkpoints if sweep else spec.checkpoints, units),
        spacing="even" if sweep else spec.spacing,
        seed=spec.seed,
        phase=phase,
        replicates=(),
        regret=spec.regret,
    )


def count_seeds(spec: Spec, planned: Planned) -> int:
    """Count the runs of each point."""
    if planned.phase == "tuning":
        return spec.tuning.seeds
    own = spec.maps[planned.key].seeds if planned.phase == "map" else None
    return own or spec.envs[planned.env].seeds or spec.seeds


def backend_in(spec: Spec, key: str) -> Backend:
    """Return the backend of one of a study's environments."""
    return backend_for(spec.envs[key].env, spec.envs[key].parameters)


def phase_length(spec: Spec, key: str, phase: Phase) -> int:
    """Return the length of a run of this phase, in episodes or steps."""
    length = run_length(spec, key)
    if phase != "tuning":
        return length
    return min(length, max(MIN_TUNING_UNITS, round(spec.tuning.share * length)))


def run_length(spec: Spec, key: str) -> int:
    """Return the length of a run, in episodes or steps."""
    env, unit = spec.envs[key], f"{backend_in(spec, key).unit}s"
    given = getattr(env, unit) or getattr(spec, unit)
    if given is None:
        raise InputError(
            f"it counts {unit}, and the study does not say how many; give {unit}= for envs.{key} or"
            " for the study"
        )
    return int(given)
