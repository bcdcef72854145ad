"""The spec of a study as models, and what follows from it by itself: kinds, places and grid points."""

import itertools
import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Annotated, Any, Literal, TypeAlias

from annotated_types import Ge, Gt, Le, Lt
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from heavytail.deep.envs import is_environment
from heavytail.deep.settings import AGENTS
from heavytail.statistics.inputs import MAX_RESAMPLES
from heavytail.studies.specs.claims import Claim
from heavytail.studies.specs.envs import EnvSpec, FamilySpec, Frozen, Name, Parameters, Seeds, Whole

Kind: TypeAlias = Literal["tabular", "deep"]  # of environments and of the agents that learn there


Regret: TypeAlias = Literal["rewards", "gaps"]  # what it is measured by; see heavytail.planning.regret


class VariedAgent(Frozen):
    """An agent at the points of a grid."""

    agent: str = ""  # the agent's id; its key in the file if left out
    label: str = ""
    parameters: Parameters = Field(default_factory=dict)
    envs: Annotated[list[str], Field(min_length=1)] | None = None  # where it runs; everywhere if left out

    @property
    @abstractmethod
    def varied(self) -> dict[str, list[Any]]:
        """The parameters that vary, and their values."""


class AgentSpec(VariedAgent):
    """An agent of a study; with a grid, the best point for each environment is found on tuning seeds."""

    setting: str = ""  # a name for a group of agents that is reported together
    grid: dict[str, list[Any]] = Field(default_factory=dict)

    @property
    def varied(self) -> dict[str, list[Any]]:
        """The grid."""
        return self.grid


class SweepSpec(VariedAgent):
    """A sweep at full length, a table ``[maps.KEY]``: every point is evaluated, and drawn as a map.

    The first axis goes to the right, the second up; the third has a panel for each value.
    """

    seeds: Seeds | None = None  # the study's if left out
    checkpoints: Annotated[int, Ge(10), Le(100_000)] = 10  # just enough for the last tenth
    axes: dict[str, list[Any]]

    @property
    def varied(self) -> dict[str, list[Any]]:
        """The axes."""
        return self.axes


class TuningSpec(Frozen):
    """The search of grids: shorter runs, on seeds that are never used again."""

    share: Annotated[float, Gt(0), Le(1)] = 0.1
    seeds: Seeds = 5


class StatisticsSpec(Frozen):
    """The statistics by which runs are summarised and tested."""

    confidence: Annotated[float, Gt(0), Lt(1)] = 0.95
    resamples: Annotated[int, Ge(1), Le(MAX_RESAMPLES)] = 2000
    permutations: Annotated[int, Ge(1), Le(MAX_RESAMPLES)] = 20_000
    significance: Annotated[float, Gt(0), Lt(1)] = 0.05


class Spec(Frozen):
    """All that a study says."""

    name: Name
    title: str = ""
    description: str = ""
    episodes: Whole | None = None
    steps: Whole | None = None
    seeds: Seeds = 10
    seed: Annotated[int, Ge(0), Le(2**63 - 1)] = 0
    checkpoints: Annotated[int, Ge(10), Le(100_000)] = 100
    spacing: Literal["even", "log"] = "even"
    regret: Regret = "rewards"  # by expected rewards, or by gaps, without the luck of transitions
    envs: dict[Name, EnvSpec] = Field(default_factory=dict)
    families: dict[Name, FamilySpec] = Field(default_factory=dict)  # their members are environments too
    agents: dict[Name, AgentSpec]
    maps: dict[Name, SweepSpec] = Field(default_factory=dict)
    tuning: TuningSpec = TuningSpec()
    statistics: StatisticsSpec = StatisticsSpec()
    claims: list[Claim] = Field(default_factory=list)
    quick: dict[str, Any] = Field(default_factory=dict)
    plugins: list[str] = Field(default_factory=list)  # modules that register what the study uses

    @model_serializer(mode="wrap")
    def _without_empty(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what most studies do without: those keep their digest."""
        values: dict[str, Any] = serialise(self)
        defaults: dict[str, Any] = {"maps": {}, "plugins": [], "regret": "rewards"}
        return {key: value for key, value in values.items() if key not in defaults or value != defaults[key]}

    def digest(self) -> str:
        """A digest of all that the study says."""
        return sha256(canonical(self.model_dump(mode="json")).encode()).hexdigest()[:16]


def canonical(value: Any) -> str:
    """JSON in which equal values are equal strings."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def env_kind(name: str) -> Kind:
    """Tell an MDP from a compiled environment for deep agents."""
    return "deep" if is_environment(name) else "tabular"


def agent_kind(name: str) -> Kind:
    """Tell a tabular agent from a deep one."""
    return "deep" if name in AGENTS else "tabular"


def envs_for(spec: Spec, agent: VariedAgent) -> list[str]:
    """List the environments of an agent: all of its kind, unless it names some."""
    kind = agent_kind(agent.agent)
    return [
        key
        for key, env in spec.envs.items()
        if env_kind(env.env) == kind and (agent.envs is None or key in agent.envs)
    ]


def single_point(grid: Mapping[str, list[Any]]) -> dict[str, Any] | None:
    """The only point of a grid that has one, so that nothing is searched; None if there are more.

    >>> single_point({"a": [1], "b": [3]}), single_point({}), single_point({"a": [1, 2]})
    ({'a': 1, 'b': 3}, {}, None)
    """
    if any(len(values) != 1 for values in grid.values()):
        return None
    return {name: values[0] for name, values in grid.items()}


def grid_points(grid: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Every point of a grid, the last key fastest; of an empty one, the point without coordinates.

    >>> list(grid_points({"a": [1, 2], "b": [3]}))
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
    """
    for values in itertools.product(*grid.values()):
        yield dict(zip(grid, values, strict=True))


def one_at_a_time(grid: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Points of a grid that together have each of its values: the first, and those that differ in one.

    >>> list(one_at_a_time({"a": [1, 2], "b": [3, 4]}))
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}, {'a': 1, 'b': 4}]
    """
    first = {name: values[0] for name, values in grid.items()}
    yield first
    for name, values in grid.items():
        for value in values[1:]:
            yield {**first, name: value}
