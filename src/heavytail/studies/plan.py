"""From a spec to work: which runs there are, and how they are packed into parts.

A *run* is one agent with its parameters in one environment for so many episodes (or steps), on one seed. A *part* is a few runs that differ in nothing but the seed: what one
worker does at a time, and what one file holds. The plan alone decides what a part is, so it is the same whoever computes it. A part's id is a digest of all that its
results depend on.

Tuning and evaluation draw on seeds of their own: a run's seed is the study's, then the phase, then the replicate.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict

from heavytail.arrays import Record
from heavytail.errors import InputError, suggestion
from heavytail.mdp import MDP
from heavytail.problem import problem_of
from heavytail.registry import find
from heavytail.reward_moments import reward_moments
from heavytail.studies.spec import AgentSpec, EnvSpec, Spec, canonical, place_of, points, shown
from heavytail.verbs import counter_names

RESULTS_VERSION = 2  # raised by hand when results change; tests/golden says when they do
STEPS_PER_PART = 25_000_000  # a second or two of most agents
LEAST_TUNING = 10  # episodes or steps of a run, however small the share
TRUE = "true"  # as the value of `moment`: what is exactly so of the environment

Phase: TypeAlias = Literal["tuning", "evaluation"]
PHASES: dict[Phase, int] = {"tuning": 0, "evaluation": 1}
Choices: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Any]]]  # agent -> environment -> point of its grid


class Part(BaseModel):
    """Some runs that differ in their seed only."""

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
    replicates: tuple[int, ...]

    @cached_property
    def id(self) -> str:
        """A digest of everything that the results depend on."""
        return _digest(self.model_dump(mode="json"))

    @property
    def combination(self) -> str:
        """What is compiled for it: agents whose words are the same have the same kernels."""
        words = {key: value for key, value in self.parameters.items() if isinstance(value, (str, bool, dict))}
        return canonical([self.agent, words])

    def run_id(self, replicate: int) -> str:
        """The id of one of its runs."""
        return _digest(self.model_copy(update={"replicates": (replicate,)}).model_dump(mode="json"))

    def seed_of(self, replicate: int) -> np.random.SeedSequence:
        """The seed of one of its runs."""
        return np.random.SeedSequence(self.seed, spawn_key=(PHASES[self.phase], replicate))


def _digest(value: Any) -> str:
    return sha256(canonical([RESULTS_VERSION, value]).encode()).hexdigest()[:20]


class Cell(BaseModel):
    """All runs of one agent, with one choice of parameters, in one environment."""

    model_config = ConfigDict(frozen=True)

    agent: str  # keys of the spec
    env: str
    point: dict[str, Any]  # of the agent's grid
    parts: tuple[Part, ...]


def tuning_cells(spec: Spec) -> list[Cell]:
    """Every point of every grid, for a share of the length."""
    return [
        _cell(spec, key, env, point, "tuning")
        for key, agent in spec.agents.items()
        if agent.grid
        for env in envs_of(spec, agent)
        for point in points(agent.grid)
    ]


def evaluation_cells(spec: Spec, choices: Choices) -> list[Cell]:
    """Every agent at its chosen point, at full length."""
    return [
        _cell(spec, key, env, dict(choices[key][env]) if agent.grid else {}, "evaluation")
        for key, agent in spec.agents.items()
        for env in envs_of(spec, agent)
    ]


def envs_of(spec: Spec, agent: AgentSpec) -> list[str]:
    """Where an agent runs."""
    return [key for key in spec.envs if agent.envs is None or key in agent.envs]


def parts_of(cells: Sequence[Cell]) -> list[Part]:
    """The parts of all cells, each once: two agents of a study may share a point."""
    return list({part.id: part for cell in cells for part in cell.parts}.values())


def check_plan(spec: Spec, where: str = "spec") -> None:
    """Build every environment, and every agent in it, with every value of its grid once: mistakes show before the work starts."""
    for key, env_spec in spec.envs.items():
        with _one_line(f"{where}: envs.{key}"):
            _length(spec, key, env_spec, mdp_of(env_spec))
    for key, agent in spec.agents.items():
        for env in envs_of(spec, agent):
            for point in _one_value_each(agent.grid):
                record = _built(spec, key, env, point, where)
                _check_counters(spec, key, counter_names(record), where)


def _built(spec: Spec, key: str, env: str, point: dict[str, Any], where: str) -> Record:
    place = ", ".join(f"{place_of([name])} = {shown(value)}" for name, value in point.items())
    with _one_line(f"{where}: agents.{key}{f' ({place})' if place else ''} on {env}"):
        parameters = _resolved_cell(spec, key, env, point, "evaluation").parameters
        return find("agent", spec.agents[key].agent).builder(problem_of(mdp_of(spec.envs[env])), **parameters)


@contextmanager
def _one_line(where: str) -> Iterator[None]:
    """Whatever a builder says of the spec's values, it is one line with their place."""
    try:
        yield
    except Exception as error:
        said = " ".join(str(error).split())
        said = said if isinstance(error, InputError) else f"it cannot be built ({type(error).__name__}: {said})"
        raise InputError(f"{where}: {said}") from error


def _check_counters(spec: Spec, key: str, names: Sequence[str], where: str) -> None:
    for i, claim in enumerate(spec.claims):
        for j, condition in enumerate(claim.conditions):
            if condition.counter and key in (condition.agent, condition.than) and condition.counter not in names:
                raise InputError(
                    f"{where}: claims.{i}.conditions.{j}.counter: {key} counts no {condition.counter!r}; {suggestion(condition.counter, names)}"
                )


def _one_value_each(grid: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    first = {name: values[0] for name, values in grid.items()}
    yield first
    for name, values in grid.items():
        for value in values[1:]:
            yield {**first, name: value}


def _cell(spec: Spec, key: str, env: str, point: dict[str, Any], phase: Phase) -> Cell:
    first = _resolved_cell(spec, key, env, point, phase)
    seeds = spec.tuning.seeds if phase == "tuning" else spec.seeds
    per_part = max(1, STEPS_PER_PART // first.steps)
    starts = range(0, seeds, per_part)
    parts = tuple(first.model_copy(update={"replicates": tuple(range(k, min(k + per_part, seeds)))}) for k in starts)
    return Cell(agent=key, env=env, point=point, parts=parts)


def _resolved_cell(spec: Spec, key: str, env_key: str, point: dict[str, Any], phase: Phase) -> Part:
    """What all parts of a cell have in common, as a part without runs."""
    agent, env = spec.agents[key], spec.envs[env_key]
    mdp = mdp_of(env)
    units = length = _length(spec, env_key, env, mdp)
    if phase == "tuning":
        units = min(length, max(LEAST_TUNING, round(spec.tuning.share * length)))
    steps = units * max(mdp.horizon, 1)
    return Part(
        env=env.env,
        env_parameters=env.parameters,
        agent=agent.agent,
        parameters=resolved(agent.agent, {**agent.parameters, **point}, mdp, steps),
        units=units,
        steps=steps,
        checkpoints=min(spec.checkpoints, units),
        spacing=spec.spacing,
        seed=spec.seed,
        phase=phase,
        replicates=(),
    )


def _length(spec: Spec, key: str, env: EnvSpec, mdp: MDP) -> int:
    unit = "episodes" if mdp.horizon else "steps"
    given = getattr(env, unit) or getattr(spec, unit)
    if given is None:
        raise InputError(f"it counts {unit}, and the study does not say how many; give {unit}= for envs.{key} or for the study")
    return int(given)


_mdps: dict[str, MDP] = {}


def mdp_of(env: EnvSpec) -> MDP:
    """The MDP of an environment, built once."""
    from heavytail.envs import make_mdp

    name = canonical([env.env, env.parameters])
    if name not in _mdps:
        _mdps[name] = make_mdp(env.env, **env.parameters)
    return _mdps[name]


def resolved(agent: str, parameters: Mapping[str, Any], mdp: MDP, steps: int) -> dict[str, Any]:
    """An agent's parameters, complete: T is what will be run, and ``moment = "true"`` is computed from the environment."""
    found, given = find("agent", agent), dict(parameters)
    if "planned_steps" in found.parameters and "planned_steps" not in given:
        given["planned_steps"] = steps
    if given.get("moment") == TRUE:
        given["moment"] = true_moment(agent, given, mdp)
    complete = found.arguments(problem_of(mdp), **given)
    del complete["problem"]
    return complete


def true_moment(agent: str, parameters: Mapping[str, Any], mdp: MDP) -> float:
    """The largest moment of an environment's rewards, of the order and the kind that the agent wants."""
    found = find("agent", agent)
    built = found.builder(problem_of(mdp), **{**parameters, "moment": 1.0})
    if "epsilon" not in found.parameters:
        raise InputError(f"moment is 'true', but {agent} has no epsilon that would say of which order; give a number")
    kinds = set(_moment_kinds(built))
    order = 1.0 + float(parameters.get("epsilon", found.parameters["epsilon"].default))
    moment = float(reward_moments(mdp, order, "central" if "central" in kinds else "raw").max())
    if not np.isfinite(moment):
        raise InputError(f"moment is 'true', and the rewards have no finite moment of order {order}; epsilon must be smaller")
    return moment


def _moment_kinds(record: Any) -> Iterator[str]:
    """What the estimators in a record, and in the records in it, take a moment to be."""
    if hasattr(record, "moment_kind"):
        yield record.moment_kind()
    elif isinstance(record, tuple):
        for inner in record:
            yield from _moment_kinds(inner)
