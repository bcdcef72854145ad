"""Plan a study: which runs there are, and how they are packed into parts.

A *run* is one agent with its parameters in one environment for so many episodes (or steps), on one seed. A
*part* is a few runs that differ in their seed, and, where the backend runs them side by side, in some
parameters: what one worker computes at a time, and what one file holds. The plan alone decides what a part
is, so that it is the same whoever computes it. A part's id is a digest of all that its results depend on.

Tuning, evaluation and sweeps have seeds of their own: a run's seed is the study's, then the phase, then the
replicate.
"""

import itertools
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict

from heavytail.errors import InputError, key_path
from heavytail.registry import version_of
from heavytail.studies.backends import backend_for
from heavytail.studies.backends.backend import Backend
from heavytail.studies.specs.spec import (
    Kind,
    Regret,
    SpawnKey,
    Spec,
    canonical,
    env_kind,
    envs_for,
    grid_points,
    one_at_a_time,
    single_point,
    spawn_seed,
)

# raised by hand when results change, tests/golden says when; of one agent only: `register(version=...)`
RESULTS_VERSION: dict[Kind, int] = {"tabular": 3, "deep": 1}
STEPS_PER_PART = 25_000_000  # a second or two of most agents
SWEEP_STEPS_PER_PART = 1_600_000_000  # about a minute of one core; 128 runs at the paper's length
MAX_SWEEP_RUNS = 4096  # in a part
MIN_TUNING_UNITS = 10  # episodes or steps of a run, however small the share
Phase: TypeAlias = Literal["tuning", "evaluation", "map"]
PHASES: dict[Phase, SpawnKey] = {
    "tuning": SpawnKey.TUNING,
    "evaluation": SpawnKey.EVALUATION,
    "map": SpawnKey.SWEEPS,
}
T = TypeVar("T")
Choices: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Any]]]  # agent -> environment -> point


class Run(NamedTuple):
    """One run of a part."""

    id: str
    replicate: int
    parameters: dict[str, Any]


class Part(BaseModel):
    """Some runs that are computed together."""

    model_config = ConfigDict(frozen=True)

    env: str
    env_parameters: dict[str, Any]
    agent: str
    parameters: dict[str, Any]
    units: int  # episodes, or steps in a continuing problem
    steps: int  # at most so many in a run
    checkpoints: int
    spacing: Literal["even", "log"]
    seed: int
    phase: Phase
    replicates: tuple[int, ...]  # one for each run
    regret: Regret = "rewards"
    variants: tuple[dict[str, Any], ...] = ()  # where runs differ in parameters too: in which, run by run
    # what the spec calls agent and environment, run by run, or once for all; no result depends on it
    keys: tuple[tuple[str, str], ...] = ()

    @cached_property
    def id(self) -> str:
        """A digest of everything that the results depend on."""
        # without defaults: a field that most parts do without changes no id
        return self._digest(self.model_dump(mode="json", exclude_defaults=True, exclude={"keys"}))

    @cached_property
    def shared(self) -> dict[str, Any]:
        """The fields that are the same for all its runs."""
        fields = self.model_dump(mode="json", exclude={"replicates", "variants", "keys"})
        if self.regret == "rewards":
            del fields["regret"]  # runs of older versions keep their ids
        return fields

    @property
    def run_keys(self) -> tuple[tuple[str, str], ...]:
        """The keys of agent and environment of each run; those of a run that several share, with commas."""
        return self.keys * len(self.replicates) if len(self.keys) == 1 else self.keys

    def _digest(self, fields: Mapping[str, Any]) -> str:
        if self.agent_versions:
            fields = {**fields, "agent_versions": self.agent_versions}
        return sha256(canonical([self.results_version, fields]).encode()).hexdigest()[:20]

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """Its runs."""
        variants = self.variants or ({},) * len(self.replicates)
        return tuple(
            Run(self.run_id(r, variant), r, {**self.parameters, **variant})
            for r, variant in zip(self.replicates, variants, strict=True)
        )

    @property
    def results_version(self) -> int:
        """The version of the results of its kind of runs."""
        return RESULTS_VERSION[env_kind(self.env)]

    @cached_property
    def agent_versions(self) -> dict[str, int]:
        """The versions of its agent, and of the one that this one may hold, where they are not the first."""
        names = [self.agent, self.parameters.get("agent")]
        versions = {name: version_of("agent", name) for name in names if isinstance(name, str)}
        return {name: version for name, version in versions.items() if version > 1}

    @cached_property
    def backend(self) -> Backend:
        """The backend that computes its runs."""
        return backend_for(self.env, self.env_parameters)

    @cached_property
    def combination(self) -> str:
        """A key of what is compiled for it.

        Agents whose parameters that are no numbers are the same have the same kernels; deep ones are
        compiled by each process for itself.
        """
        if env_kind(self.env) == "deep":
            return self.id
        words = {key: value for key, value in self.parameters.items() if isinstance(value, (str, bool, dict))}
        return canonical([self.agent, words])

    def changed(self, **changes: Any) -> "Part":
        """A copy with other values of some fields; `model_copy` would copy the cached id too."""
        fields = {name: getattr(self, name) for name in Part.model_fields}
        return Part.model_construct(**{**fields, **changes})

    def run_id(self, replicate: int, variant: Mapping[str, Any] | None = None) -> str:
        """The id of one of its runs: that of a part with this run only."""
        return self._digest(
            {**self.shared, "replicates": [replicate], "parameters": {**self.parameters, **(variant or {})}}
        )

    def seed_for(self, replicate: int) -> np.random.SeedSequence:
        """The seed of one of its runs."""
        return spawn_seed(self.seed, PHASES[self.phase], replicate)


class Cell(BaseModel):
    """All runs of one agent, with one choice of parameters, in one environment."""

    model_config = ConfigDict(frozen=True)

    agent: str  # keys of the spec
    env: str
    point: dict[str, Any]  # of the agent's grid
    runs: tuple[str, ...]  # ids
    parts: tuple[Part, ...]  # in which these runs are, perhaps beside others

    def share_in(self, part: Part) -> float:
        """The share of a part's runs that are of this cell."""
        mine = set(self.runs)
        return sum(run.id in mine for run in part.runs) / len(part.runs)

    def parameters(self) -> dict[str, Any]:
        """The agent's parameters, complete."""
        return next(run.parameters for part in self.parts for run in part.runs if run.id == self.runs[0])


class Sweep(NamedTuple):
    """All runs of a sweep in one environment, point by point, the last axis fastest."""

    agent: str  # key of the sweep
    env: str
    axes: dict[str, tuple[float, ...]]  # in the order in which points are counted; values ascend
    seeds: int  # runs of each point
    parts: tuple[Part, ...]


def tuning_cells(spec: Spec) -> list[Cell]:
    """Every point of every grid that has more than one, for a share of the length."""
    requests = [
        CellRequest(key, env, point)
        for key, agent in spec.agents.items()
        if single_point(agent.grid) is None
        for env in envs_for(spec, agent)
        for point in grid_points(agent.grid)
    ]
    return _pack_cells(spec, requests, "tuning")


def evaluation_cells(spec: Spec, choices: Choices) -> list[Cell]:
    """Every agent at its chosen point, at full length."""
    requests = []
    for key, agent in spec.agents.items():
        only = single_point(agent.grid)
        requests += [
            CellRequest(key, env, dict(choices[key][env]) if only is None else only)
            for env in envs_for(spec, agent)
        ]
    return _pack_cells(spec, requests, "evaluation")


def plan_sweeps(spec: Spec) -> list[Sweep]:
    """Every sweep in every environment, at full length.

    A sweep has hundreds of thousands of runs, which differ in nothing but numbers; so its parts are larger
    than those of tuning and evaluation, and their runs differ in their point as well as in their seed. Its
    plan names parts only: the ids of runs are made where they are computed.
    """
    return [_plan_sweep(spec, key, env) for key, sweep in spec.maps.items() for env in envs_for(spec, sweep)]


def _plan_sweep(spec: Spec, key: str, env: str) -> Sweep:
    sweep, axes = spec.maps[key], sweep_axes(spec, key, env)
    first, seeds = next(one_at_a_time(sweep.axes)), sweep.seeds or spec.envs[env].seeds or spec.seeds
    bare, _ = _split(bare_part(spec, CellRequest(key, env, first), "map"), sweep.axes)
    points = (dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values()))
    runs = ((replicate, point) for point in points for replicate in range(seeds))
    most = max(1, min(MAX_SWEEP_RUNS, SWEEP_STEPS_PER_PART // bare.steps))
    parts = [
        bare.changed(replicates=replicates, variants=variants, keys=((key, env),))
        for replicates, variants in (zip(*some, strict=True) for some in _chunks(runs, most))
    ]
    return Sweep(key, env, axes, seeds, tuple(parts))


def sweep_axes(spec: Spec, key: str, env: str) -> dict[str, tuple[float, ...]]:
    """The axes of a sweep as ascending numbers, by name.

    Their order in the file says how they are drawn, and no run depends on it.
    """
    axes = spec.maps[key].axes
    first = next(one_at_a_time(axes))

    def numbers(name: str) -> tuple[float, ...]:
        points = [{**first, name: value} for value in axes[name]]
        values = sorted(
            bare_part(spec, CellRequest(key, env, point), "map").parameters[name] for point in points
        )
        if twice := [value for value, following in itertools.pairwise(values) if value == following]:
            raise InputError(f"{key_path(['axes', name])} comes to {twice[0]:g} twice; leave one of them out")
        return tuple(values)

    return {name: numbers(name) for name in sorted(axes)}


def unique_parts(cells: Sequence[Cell] | Sequence[Sweep]) -> list[Part]:
    """The parts of all cells, each once: cells may share them."""
    return list({part.id: part for cell in cells for part in cell.parts}.values())


# Packing


class CellRequest(NamedTuple):
    """A cell, before its runs are packed into parts."""

    agent: str  # keys of the spec; of a sweep its own
    env: str
    point: dict[str, Any]


def _pack_cells(spec: Spec, requests: Sequence[CellRequest], phase: Phase) -> list[Cell]:
    """Make cells with their parts.

    Runs that can be computed together are packed in the order of the requests.
    """
    bare = [
        _split(part, part.backend.varying)
        for part in (bare_part(spec, request, phase) for request in requests)
    ]
    shared: dict[str, Part] = {}  # parts without runs, by id
    members: dict[str, dict[str, _Member]] = {}  # id -> run -> what is known of it
    ids = []
    for request, (part, variant) in zip(requests, bare, strict=True):
        runs = {part.run_id(r, variant): r for r in range(_seeds(spec, request.env, phase))}
        known = members.setdefault(part.id, {})
        for run, r in runs.items():
            known.setdefault(run, _Member(r, variant, {}, {})).share_with(request)
        shared[part.id] = part
        ids.append(tuple(runs))
    packed = {name: _pack(shared[name], list(runs.values())) for name, runs in members.items()}
    return [
        Cell(**request._asdict(), runs=runs, parts=_with_runs(packed[part.id], runs))
        for request, (part, _), runs in zip(requests, bare, ids, strict=True)
    ]


class _Member(NamedTuple):
    """A run of a part, and whose it is."""

    replicate: int
    variant: dict[str, Any]
    agents: dict[str, None]  # keys, in the order of the spec
    envs: dict[str, None]

    def share_with(self, request: CellRequest) -> None:
        self.agents[request.agent] = self.envs[request.env] = None

    def keys(self) -> tuple[str, str]:
        return ",".join(self.agents), ",".join(self.envs)


def _split(bare: Part, varying: Container[str]) -> tuple[Part, dict[str, Any]]:
    """Split off the parameters in which runs of one part may differ."""
    shared = {key: value for key, value in bare.parameters.items() if key not in varying}
    variant = {key: value for key, value in bare.parameters.items() if key in varying}
    return bare.changed(parameters=shared), variant


def _pack(bare: Part, runs: Sequence[_Member]) -> tuple[Part, ...]:
    per_part = bare.backend.max_runs or max(1, STEPS_PER_PART // bare.steps)
    return tuple(
        bare.changed(
            replicates=tuple(run.replicate for run in chunk),
            variants=tuple(run.variant for run in chunk) if bare.backend.varying else (),
            keys=_once_if_same([run.keys() for run in chunk]),
        )
        for chunk in _chunks(runs, per_part)
    )


def _chunks(runs: Iterable[T], most: int) -> Iterator[list[T]]:
    """Cut runs into lists of so many; the last may be shorter."""
    left = iter(runs)
    while chunk := list(itertools.islice(left, most)):
        yield chunk


def _once_if_same(keys: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple(keys[:1] if len(set(keys)) == 1 else keys)


def _with_runs(parts: Sequence[Part], runs: Sequence[str]) -> tuple[Part, ...]:
    wanted = set(runs)
    return tuple(part for part in parts if any(run.id in wanted for run in part.runs))


def bare_part(spec: Spec, request: CellRequest, phase: Phase) -> Part:
    """Make the part that all runs of a cell share, without runs."""
    env, sweep = spec.envs[request.env], spec.maps[request.agent] if phase == "map" else None
    agent = sweep or spec.agents[request.agent]
    backend, units = backend_in(spec, request.env), phase_length(spec, request.env, phase)
    steps = units * backend.horizon
    return Part(
        env=env.env,
        env_parameters=env.parameters,
        agent=agent.agent,
        parameters=backend.resolve_parameters(agent.agent, {**agent.parameters, **request.point}, steps),
        units=units,
        steps=steps,
        checkpoints=min(sweep.checkpoints if sweep else spec.checkpoints, units),
        spacing="even" if sweep else spec.spacing,
        seed=spec.seed,
        phase=phase,
        replicates=(),
        regret=spec.regret,
    )


def _seeds(spec: Spec, key: str, phase: Phase) -> int:
    """Count the runs of each agent."""
    return spec.tuning.seeds if phase == "tuning" else spec.envs[key].seeds or spec.seeds


def backend_in(spec: Spec, key: str) -> Backend:
    """The backend of one of a study's environments."""
    return backend_for(spec.envs[key].env, spec.envs[key].parameters)


def phase_length(spec: Spec, key: str, phase: Phase) -> int:
    """The length of a run of this phase, in episodes or steps."""
    length = run_length(spec, key)
    if phase != "tuning":
        return length
    return min(length, max(MIN_TUNING_UNITS, round(spec.tuning.share * length)))


def run_length(spec: Spec, key: str) -> int:
    """The length of a run, in episodes or steps."""
    env, unit = spec.envs[key], f"{backend_in(spec, key).unit}s"
    given = getattr(env, unit) or getattr(spec, unit)
    if given is None:
        raise InputError(
            f"it counts {unit}, and the study does not say how many; give {unit}= for envs.{key} or"
            " for the study"
        )
    return int(given)
