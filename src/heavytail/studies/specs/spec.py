"""The spec of a study as models, and its kinds, places, grid points and seeds."""

import itertools
import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from hashlib import sha256
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from heavytail.deep.envs import is_environment
from heavytail.registry import is_registered
from heavytail.statistics.inputs import MAX_RESAMPLES

Name: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$", max_length=80)]
Whole: TypeAlias = Annotated[int, Ge(1), Le(2**53)]
Seeds: TypeAlias = Annotated[int, Ge(1), Le(100_000)]
Parameters: TypeAlias = dict[str, Any]
Kind: TypeAlias = Literal["tabular", "deep"]  # of environments and of the agents that learn there
Regret: TypeAlias = Literal["rewards", "gaps"]  # how it is measured; see heavytail.planning.regret
Metric: TypeAlias = Literal["final_regret", "last_tenth", "first_tenth", "first_hundredth", "counter"]
LENGTHS = ("steps", "episodes")


class Frozen(BaseModel):
    """A model that does not change, and refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class BoundsSpec(Frozen):
    """The bounds of `heavytail.bounds` that are drawn beside the regret of agents."""

    shown: Annotated[list[str], Field(min_length=1)]
    # rewards have a moment of order 1 + epsilon; by default halfway to their tail index
    epsilon: Annotated[float, Gt(0), Le(1)] | None = None
    delta: Annotated[float, Gt(0), Lt(1)] = 0.05


class EnvSpec(Frozen):
    """An environment of a study."""

    env: str = ""  # the environment's id; its key in the file if left out
    label: str = ""
    parameters: Parameters = {}
    episodes: Whole | None = None  # the study's if left out
    steps: Whole | None = None
    seeds: Seeds | None = None  # the study's if left out
    bounds: BoundsSpec | None = None
    family: str = ""  # the key of the family that it belongs to
    at: float | None = None  # its value on the axis of the family


class FamilySpec(EnvSpec):
    """Environments that differ in one number; others may vary with it."""

    # lists of one length: parameters, steps or episodes; the first is the axis
    vary: Annotated[dict[str, list[Any]], Field(min_length=1)]
    over_gap: bool = False  # whether regret is also shown over what the second best policy would lose

    @property
    def axis(self) -> str:
        """The name of what its members differ in."""
        return next(iter(self.vary))


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
    """The settings for summarising and testing runs."""

    confidence: Annotated[float, Gt(0), Lt(1)] = 0.95
    resamples: Annotated[int, Ge(1), Le(MAX_RESAMPLES)] = 2000
    permutations: Annotated[int, Ge(1), Le(MAX_RESAMPLES)] = 20_000
    significance: Annotated[float, Gt(0), Lt(1)] = 0.05


class Condition(Frozen):
    """One thing that must hold for a claim, on every environment it names.

    `test` is a kind of claim (`heavytail.studies.claims`). "better": `agent` beats `than`; "no_gain": it does
    not, by more than `margin` of the optimum; "no_worse": `agent` is at least as good, but for `margin` of
    what the other reaches; "at_least" and "at_most": its median reaches `value`, a share of the optimum (for
    a counter the number itself), or a multiple of a bound on regret, if `of` names one; "rate_at_least" and
    "rate_at_most": the share of runs whose counter is above 0; "ratio_at_most": its median or mean regret is
    at most `value` times that of `than`; "stuck_at_most": the share of runs that end below 1 - `margin` of
    the optimum.
    """

    test: str
    agent: str
    than: str = ""
    envs: Annotated[list[str], Field(min_length=1)] | None = None
    metric: Metric = "last_tenth"
    counter: str = ""
    value: float | None = None
    of: str = ""  # a bound that the environment shows; the value is then 1 if left out
    # what must reach the value, by its name among `heavytail.statistics`: the mean where theory speaks of
    # expected regret
    statistic: str = "median"
    margin: Annotated[float, Ge(0)] = 0.01


class Found(Frozen):
    """A plain sentence for each verdict on a claim, for the top of the report."""

    reproduced: str
    not_reproduced: str
    undecided: str


class Claim(Frozen):
    """A sentence that the study tests."""

    claim: str
    place: str = ""  # in a paper; such a claim is reproduced, one of the study's own is supported
    note: str = ""
    conditions: Annotated[list[Condition], Field(min_length=1)]
    found: Found | None = None

    @model_serializer(mode="wrap")
    def _without_nothing(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out an empty `found`: studies without it keep their digest."""
        values: dict[str, Any] = serialise(self)
        return {key: value for key, value in values.items() if key != "found" or value is not None}


class Spec(Frozen):
    """The whole spec of a study."""

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
        """Leave out fields that most studies do not use: those studies keep their digest."""
        values: dict[str, Any] = serialise(self)
        defaults: dict[str, Any] = {"maps": {}, "plugins": [], "regret": "rewards"}
        return {key: value for key, value in values.items() if key not in defaults or value != defaults[key]}

    def digest(self) -> str:
        """Return a digest of the whole spec."""
        return sha256(canonical(self.model_dump(mode="json")).encode()).hexdigest()[:16]


def canonical(value: Any) -> str:
    """Write JSON in which equal values are equal strings."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def env_kind(name: str) -> Kind:
    """Return whether an environment is tabular, an MDP, or a compiled one for deep agents."""
    return "deep" if is_environment(name) else "tabular"


def agent_kind(name: str) -> Kind:
    """Return whether an agent is tabular or deep."""
    return "deep" if is_registered("deep_agent", name) else "tabular"


def envs_for(spec: Spec, agent: VariedAgent) -> list[str]:
    """List the environments of an agent: by default all of its kind."""
    kind = agent_kind(agent.agent)
    return [
        key
        for key, env in spec.envs.items()
        if env_kind(env.env) == kind and (agent.envs is None or key in agent.envs)
    ]


def single_point(grid: Mapping[str, list[Any]]) -> dict[str, Any] | None:
    """Return the only point of a grid that has one, so that nothing is searched; None if there are more.

    >>> single_point({"a": [1], "b": [3]}), single_point({}), single_point({"a": [1, 2]})
    ({'a': 1, 'b': 3}, {}, None)
    """
    if any(len(values) != 1 for values in grid.values()):
        return None
    return {name: values[0] for name, values in grid.items()}


def grid_points(grid: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Yield every point of a grid, the last key fastest; for an empty one, the point without coordinates.

    >>> list(grid_points({"a": [1, 2], "b": [3]}))
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
    """
    for values in itertools.product(*grid.values()):
        yield dict(zip(grid, values, strict=True))


def one_at_a_time(grid: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Yield points of a grid that cover each of its values: the first, and those that differ in one.

    >>> list(one_at_a_time({"a": [1, 2], "b": [3, 4]}))
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}, {'a': 1, 'b': 4}]
    """
    first = {name: values[0] for name, values in grid.items()}
    yield first
    for name, values in grid.items():
        for value in values[1:]:
            yield {**first, name: value}


# Seeds


class SpawnKey(IntEnum):
    """The purposes of a study's random streams: the seed is spawned once for each, so they never overlap.

    The numbers are part of every result and do not change. Sweeps and claims share one: sweeps spawn it by
    replicate (a second key), claims by claim, condition and environment (three more keys).
    """

    TUNING = 0
    EVALUATION = 1
    SWEEPS = 2
    CLAIMS = 2
    MEDIANS = 3
    FAMILY_MEANS = 4
    GROWTH = 5
    CHOICES = 6
    LEADERBOARD = 7


def spawn_seed(seed: int, key: SpawnKey, *place: int) -> np.random.SeedSequence:
    """Return the seed of one purpose; `place` distinguishes separate streams within it.

    >>> spawn_seed(7, SpawnKey.EVALUATION, 3).spawn_key
    (1, 3)
    """
    return np.random.SeedSequence(seed, spawn_key=(int(key), *place))


def make_rng(seed: int, key: SpawnKey, *place: int) -> np.random.Generator:
    """Make a generator of random numbers for one purpose."""
    return np.random.default_rng(spawn_seed(seed, key, *place))
