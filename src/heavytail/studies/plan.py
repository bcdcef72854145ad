"""From a spec to work: which runs there are, and how they are packed into parts.

A *run* is one agent with its parameters in one environment for so many episodes (or steps), on one seed. A *part* is a few runs that differ in their seed, and, where the
world runs them side by side, in some parameters: what one worker does at a time, and what one file holds. The plan alone decides what a part is, so it is the same whoever
computes it. A part's id is a digest of all that its results depend on.

Tuning, evaluation and maps draw on seeds of their own: a run's seed is the study's, then the phase, then the replicate.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict

from heavytail.errors import InputError, suggestion
from heavytail.studies.spec import Kind, Spec, canonical, envs_of, kind_of_env, only_point, points
from heavytail.studies.wording import place_of, shown
from heavytail.studies.worlds import World, world_of

RESULTS_VERSION: dict[Kind, int] = {"tabular": 3, "deep": 1}  # raised by hand when results change; tests/golden says when they do
STEPS_PER_PART = 25_000_000  # a second or two of most agents
LEAST_TUNING = 10  # episodes or steps of a run, however small the share

Phase: TypeAlias = Literal["tuning", "evaluation", "map"]
PHASES: dict[Phase, int] = {"tuning": 0, "evaluation": 1, "map": 2}
Choices: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Any]]]  # agent -> environment -> point of its grid


class Run(NamedTuple):
    """One run of a part."""

    id: str
    replicate: int
    parameters: dict[str, Any]


class Part(BaseModel):
    """Some runs that are done together."""

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
    variants: tuple[dict[str, Any], ...] = ()  # where runs differ in parameters too: in which, run by run

    @cached_property
    def id(self) -> str:
        """A digest of everything that the results depend on."""
        return self._digest(self.model_dump(mode="json", exclude_defaults=True))  # a field that most parts do without changes no id

    @cached_property
    def shared(self) -> dict[str, Any]:
        """What is the same for all its runs."""
        return self.model_dump(mode="json", exclude={"replicates", "variants"})

    def _digest(self, said: Mapping[str, Any]) -> str:
        return sha256(canonical([self.results_version, said]).encode()).hexdigest()[:20]

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """Its runs."""
        variants = self.variants or ({},) * len(self.replicates)
        return tuple(
            Run(self.run_id(r, variant), r, {**self.parameters, **variant}) for r, variant in zip(self.replicates, variants, strict=True)
        )

    @property
    def results_version(self) -> int:
        """Of its kind of runs."""
        return RESULTS_VERSION[kind_of_env(self.env)]

    @cached_property
    def world(self) -> World:
        """Where its runs are done."""
        return world_of(self.env, self.env_parameters)

    @cached_property
    def combination(self) -> str:
        """What is compiled for it: agents whose words are the same have the same kernels. Deep ones are compiled by each process for itself."""
        if kind_of_env(self.env) == "deep":
            return self.id
        words = {key: value for key, value in self.parameters.items() if isinstance(value, (str, bool, dict))}
        return canonical([self.agent, words])

    def changed(self, **changes: Any) -> "Part":
        """The same but for some fields; `model_copy` would copy the cached id too."""
        return Part.model_construct(**{**{name: getattr(self, name) for name in Part.model_fields}, **changes})

    def run_id(self, replicate: int, variant: Mapping[str, Any] | None = None) -> str:
        """The id of one of its runs: that of a part with this run only."""
        return self._digest({**self.shared, "replicates": [replicate], "parameters": {**self.parameters, **(variant or {})}})

    def seed_of(self, replicate: int) -> np.random.SeedSequence:
        """The seed of one of its runs."""
        return np.random.SeedSequence(self.seed, spawn_key=(PHASES[self.phase], replicate))


class Cell(BaseModel):
    """All runs of one agent, with one choice of parameters, in one environment."""

    model_config = ConfigDict(frozen=True)

    agent: str  # keys of the spec
    env: str
    point: dict[str, Any]  # of the agent's grid
    runs: tuple[str, ...]  # ids
    parts: tuple[Part, ...]  # in which these runs are, perhaps beside others

    def share_of(self, part: Part) -> float:
        """How many of a part's runs are of this cell."""
        mine = set(self.runs)
        return sum(run.id in mine for run in part.runs) / len(part.runs)

    def parameters(self) -> dict[str, Any]:
        """The agent's parameters, complete."""
        return next(run.parameters for part in self.parts for run in part.runs if run.id == self.runs[0])


class Sheet(NamedTuple):
    """All runs of a map in one environment, point by point, the last axis fastest."""

    agent: str  # key of the map
    env: str
    axes: dict[str, tuple[float, ...]]  # in the order in which points are counted; values ascend
    seeds: int  # runs of each point
    parts: tuple[Part, ...]


def tuning_cells(spec: Spec) -> list[Cell]:
    """Every point of every grid that has more than one, for a share of the length."""
    wanted = [
        Wanted(key, env, point)
        for key, agent in spec.agents.items()
        if only_point(agent.grid) is None
        for env in envs_of(spec, agent)
        for point in points(agent.grid)
    ]
    return _cells(spec, wanted, "tuning")


def evaluation_cells(spec: Spec, choices: Choices) -> list[Cell]:
    """Every agent at its chosen point, at full length."""
    wanted = []
    for key, agent in spec.agents.items():
        only = only_point(agent.grid)
        wanted += [Wanted(key, env, dict(choices[key][env]) if only is None else only) for env in envs_of(spec, agent)]
    return _cells(spec, wanted, "evaluation")


def parts_of(cells: Sequence[Cell] | Sequence[Sheet]) -> list[Part]:
    """The parts of all cells, each once: cells may share them."""
    return list({part.id: part for cell in cells for part in cell.parts}.values())


def check_plan(spec: Spec, where: str = "spec") -> None:
    """Build every environment, and every agent in it, with every value of its grid or of a map's axes once: mistakes show before the work starts."""
    for key in spec.envs:
        with one_line(f"{where}: envs.{key}"):
            _check_length(spec, key)
            _check_bounds(spec, key)
    for key, agent in spec.agents.items():
        for env in envs_of(spec, agent):
            for point in one_value_each(agent.grid):
                _check_claims(spec, key, env, _counters(spec, key, env, point, where), where)
    from heavytail.studies.map_plan import check_maps  # here, because it builds on this module

    check_maps(spec, where)


def _check_length(spec: Spec, key: str) -> None:
    """The first hundredth, or the last tenth, of a run must hold something that can be scored."""
    world, metrics = world_in(spec, key), {condition.metric for claim in spec.claims for condition in claim.conditions}
    least = world.longest * (100 if "first_hundredth" in metrics else 10)
    units = {phase: _units(spec, key, phase) for phase in PHASES if phase != "tuning" or tunes(spec, key)}
    for phase, found in units.items():
        if world.longest > 1 and found < least:
            raise InputError(
                f"runs of {found:,} {world.unit}s in the {phase} are too short to be scored, as an episode may have {world.longest}; they need {least:,}"
            )


def _check_bounds(spec: Spec, key: str) -> None:
    """Bounds must be there, and those that claims name among them."""
    if (said := spec.envs[key].bounds) is not None:
        from heavytail.studies.theory_lines import check_bounds

        check_bounds(spec.envs[key])
    for claim in spec.claims:
        for condition in claim.conditions:
            if (
                condition.of
                and key in (condition.envs or envs_of(spec, spec.agents[condition.agent]))
                and condition.of not in (said.shown if said else [])
            ):
                raise InputError(
                    f"a claim compares regret with the bound {condition.of!r}, which is not among those it shows; name it in bounds.shown"
                )


def tunes(spec: Spec, env: str) -> bool:
    """Whether anything is searched in an environment."""
    return any(only_point(agent.grid) is None and env in envs_of(spec, agent) for agent in spec.agents.values())


def _counters(spec: Spec, key: str, env: str, point: dict[str, Any], where: str) -> Sequence[str]:
    with one_line(f"{where}: agents.{key}{at_point(point)} on {env}"):
        part = _whole_cell(spec, Wanted(key, env, point), "evaluation")
        return part.world.counters(part.agent, part.parameters)


def at_point(point: Mapping[str, Any]) -> str:
    """Where in a grid something is, in brackets; nothing if there is none.

    >>> at_point({"moment": "true"}), at_point({})
    (" (moment = 'true')", '')
    """
    place = ", ".join(f"{place_of([name])} = {shown(value)}" for name, value in point.items())
    return f" ({place})" if place else ""


@contextmanager
def one_line(where: str) -> Iterator[None]:
    """Whatever a builder says of the spec's values, it is one line with their place."""
    try:
        yield
    except Exception as error:
        said = " ".join(str(error).split())
        said = said if isinstance(error, InputError) else f"it cannot be built ({type(error).__name__}: {said})"
        raise InputError(f"{where}: {said}") from error


def _check_claims(spec: Spec, key: str, env: str, counters: Sequence[str], where: str) -> None:
    for i, claim in enumerate(spec.claims):
        for j, condition in enumerate(claim.conditions):
            if key not in (condition.agent, condition.than):
                continue
            if condition.counter and condition.counter not in counters:
                raise InputError(
                    f"{where}: claims.{i}.conditions.{j}.counter: {key} counts no {condition.counter!r}; {suggestion(condition.counter, counters)}"
                )
            if condition.metric == "final_regret" and env in (condition.envs or [env]) and kind_of_env(spec.envs[env].env) == "deep":
                raise InputError(
                    f"{where}: claims.{i}.conditions.{j}.metric is 'final_regret', but nobody knows the best policy of {env}; take 'last_tenth'"
                )


def one_value_each(grid: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Points of a grid in which each of its values is found."""
    first = {name: values[0] for name, values in grid.items()}
    yield first
    for name, values in grid.items():
        for value in values[1:]:
            yield {**first, name: value}


# Packing


class Wanted(NamedTuple):
    """A cell, before its runs are packed into parts."""

    agent: str  # keys of the spec
    env: str
    point: dict[str, Any]


def _cells(spec: Spec, wanted: Sequence[Wanted], phase: Phase) -> list[Cell]:
    """Cells with their parts: runs that can be done together are packed in the order in which they are wanted."""
    split = [_split(_whole_cell(spec, each, phase)) for each in wanted]
    together: dict[str, dict[str, tuple[int, dict[str, Any]]]] = {}  # part without runs -> run -> its replicate and variant
    firsts: dict[str, Part] = {}
    ids = []
    for each, (first, variant) in zip(wanted, split, strict=True):
        runs = {first.run_id(r, variant): (r, variant) for r in range(_seeds(spec, each.env, phase))}
        together.setdefault(first.id, {}).update(runs)
        firsts[first.id] = first
        ids.append(tuple(runs))
    packed = {name: _packed(firsts[name], list(runs.values())) for name, runs in together.items()}
    return [
        Cell(agent=each.agent, env=each.env, point=each.point, runs=runs, parts=_with_runs(packed[first.id], runs))
        for each, (first, _), runs in zip(wanted, split, ids, strict=True)
    ]


def _split(whole: Part) -> tuple[Part, dict[str, Any]]:
    """What all runs of a part have in common, and in what those of this cell may differ from others."""
    varying = whole.world.varying
    shared = {key: value for key, value in whole.parameters.items() if key not in varying}
    return whole.changed(parameters=shared), {key: value for key, value in whole.parameters.items() if key in varying}


def _packed(first: Part, runs: Sequence[tuple[int, dict[str, Any]]]) -> tuple[Part, ...]:
    per_part = first.world.most_runs or max(1, STEPS_PER_PART // first.steps)
    chunks = [runs[k : k + per_part] for k in range(0, len(runs), per_part)]
    return tuple(
        first.changed(replicates=tuple(r for r, _ in chunk), variants=tuple(v for _, v in chunk) if first.world.varying else ())
        for chunk in chunks
    )


def _with_runs(parts: Sequence[Part], runs: Sequence[str]) -> tuple[Part, ...]:
    wanted = set(runs)
    return tuple(part for part in parts if any(run.id in wanted for run in part.runs))


def _whole_cell(spec: Spec, wanted: Wanted, phase: Phase) -> Part:
    """What all runs of a cell have in common, as a part without runs."""
    agent, env = spec.agents[wanted.agent], spec.envs[wanted.env]
    world, units = world_in(spec, wanted.env), _units(spec, wanted.env, phase)
    steps = units * world.horizon
    return Part(
        env=env.env,
        env_parameters=env.parameters,
        agent=agent.agent,
        parameters=world.resolved(agent.agent, {**agent.parameters, **wanted.point}, steps),
        units=units,
        steps=steps,
        checkpoints=min(spec.checkpoints, units),
        spacing=spec.spacing,
        seed=spec.seed,
        phase=phase,
        replicates=(),
    )


def _seeds(spec: Spec, key: str, phase: Phase) -> int:
    """How many runs there are of each agent."""
    return spec.tuning.seeds if phase == "tuning" else spec.envs[key].seeds or spec.seeds


def world_in(spec: Spec, key: str) -> World:
    """The world of one of a study's environments."""
    return world_of(spec.envs[key].env, spec.envs[key].parameters)


def _units(spec: Spec, key: str, phase: Phase) -> int:
    """How many episodes or steps a run of this phase has."""
    length = length_of(spec, key)
    return length if phase != "tuning" else min(length, max(LEAST_TUNING, round(spec.tuning.share * length)))


def length_of(spec: Spec, key: str) -> int:
    """How many episodes or steps a run has."""
    env, unit = spec.envs[key], f"{world_in(spec, key).unit}s"
    given = getattr(env, unit) or getattr(spec, unit)
    if given is None:
        raise InputError(f"it counts {unit}, and the study does not say how many; give {unit}= for envs.{key} or for the study")
    return int(given)
