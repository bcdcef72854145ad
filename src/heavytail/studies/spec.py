"""A study as its author writes it: ``spec.toml``, or the same as a dictionary, into frozen models.

Every mistake is one line that names the file, the key, the value and what would be right. What an environment or an agent takes is not repeated here: their
builders' signatures say it, and parameters are checked against those.
"""

import itertools
import json
import math
import tomllib
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, TypeAlias

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from heavytail.errors import InputError, suggestion
from heavytail.registry import find

MOST_POINTS = 10_000  # of a grid

Name: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$", max_length=80)]
Whole: TypeAlias = Annotated[int, Ge(1), Le(2**53)]
Parameters: TypeAlias = dict[str, Any]


class Frozen(BaseModel):
    """Models do not change, and know every key they may have."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class EnvSpec(Frozen):
    """An environment of a study."""

    env: str = ""  # the environment's id; its key in the file if left out
    label: str = ""
    parameters: Parameters = {}
    episodes: Whole | None = None  # the study's if left out
    steps: Whole | None = None


class AgentSpec(Frozen):
    """An agent of a study. With a grid, each environment's best point of it is found on tuning seeds."""

    agent: str = ""  # the agent's id; its key in the file if left out
    label: str = ""
    setting: str = ""  # a name for a group of agents that is reported together
    parameters: Parameters = {}
    grid: dict[str, list[Any]] = {}
    envs: list[str] | None = None  # where it runs; everywhere if left out


class TuningSpec(Frozen):
    """How grids are searched: shorter runs, on seeds that are never used again."""

    share: Annotated[float, Gt(0), Le(1)] = 0.1
    seeds: Whole = 5


class StatisticsSpec(Frozen):
    """How runs are summed up."""

    confidence: Annotated[float, Gt(0), Lt(1)] = 0.95
    resamples: Whole = 2000
    permutations: Whole = 20_000
    significance: Annotated[float, Gt(0), Lt(1)] = 0.05


Metric: TypeAlias = Literal["final_regret", "last_tenth", "first_tenth", "counter"]


class Condition(Frozen):
    """One thing that must hold for a claim, on every environment it names.

    "better": `agent` beats `than`; "no_gain": it does not, by more than `margin` of the optimum; "at_least" and "at_most": its median reaches `value`, as a share of the
    optimum (of a counter: as it is).
    """

    test: Literal["better", "no_gain", "at_least", "at_most"]
    agent: str
    than: str = ""
    envs: list[str] | None = None
    metric: Metric = "last_tenth"
    counter: str = ""
    value: float | None = None
    margin: Annotated[float, Ge(0)] = 0.01


class Claim(Frozen):
    """A sentence that the study puts to the test."""

    claim: str
    place: str = ""
    note: str = ""
    conditions: list[Condition]


class Spec(Frozen):
    """A study."""

    name: Name
    title: str = ""
    description: str = ""
    episodes: Whole | None = None
    steps: Whole | None = None
    seeds: Whole = 10
    seed: Annotated[int, Ge(0)] = 0
    checkpoints: Annotated[int, Ge(10), Le(100_000)] = 100
    spacing: Literal["even", "log"] = "even"
    envs: dict[Name, EnvSpec]
    agents: dict[Name, AgentSpec]
    tuning: TuningSpec = TuningSpec()
    statistics: StatisticsSpec = StatisticsSpec()
    claims: list[Claim] = []
    quick: dict[str, Any] = {}

    def digest(self) -> str:
        """A name for what the study says."""
        return sha256(canonical(self.model_dump(mode="json")).encode()).hexdigest()[:16]


def canonical(value: Any) -> str:
    """JSON in which equal values are equal strings."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def read_spec(path: str | Path, *, quick: bool = False) -> Spec:
    """The study that a TOML file describes; `quick`: with the changes that its table [quick] makes."""
    where = Path(path)
    try:
        text = where.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{where} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where} is no TOML: {error}") from None
    return spec_of(raw, where=str(where), quick=quick)


def spec_of(raw: Mapping[str, Any], *, where: str = "spec", quick: bool = False) -> Spec:
    """The study that a dictionary describes.

    >>> spec_of({"name": "mine", "episodes": 100, "envs": {"six_arms": {}}, "agents": {"random": {}}}).agents["random"].agent
    'random'
    """
    if not isinstance(raw, Mapping):
        raise InputError(f"{where} must be a table of keys, got {raw!r:.60}")
    try:
        spec = Spec.model_validate(_with_changes(raw, raw.get("quick", {}), where) if quick else dict(raw))
    except ValidationError as error:
        _one_line(error, where)
    return _check(_with_names(spec), where)


def _with_changes(raw: Mapping[str, Any], changes: Any, where: str) -> dict[str, Any]:
    """`raw` with some of its values replaced, table by table."""
    if not isinstance(changes, Mapping):
        raise InputError(f"{where}: quick must be a table of keys, got {changes!r:.60}")
    changed = {**raw, "quick": {}}
    for key, value in changes.items():
        old = raw.get(key)
        changed[key] = _with_changes(old, value, where) if isinstance(value, Mapping) and isinstance(old, Mapping) else value
        if isinstance(changed[key], dict):
            changed[key].pop("quick", None)
    return changed


def _with_names(spec: Spec) -> Spec:
    """The spec with what it leaves to its keys filled in."""
    envs = {k: e.model_copy(update={"env": e.env or k, "label": e.label or k}) for k, e in spec.envs.items()}
    agents = {k: a.model_copy(update={"agent": a.agent or k, "label": a.label or k}) for k, a in spec.agents.items()}
    return spec.model_copy(update={"envs": envs, "agents": agents})


def _one_line(error: ValidationError, where: str) -> NoReturn:
    """The first complaint of pydantic, in one line."""
    first = error.errors(include_url=False)[0]
    place = [str(part) for part in first["loc"]]
    if first["type"] == "extra_forbidden":
        known = _keys_of(place[:-1])
        raise InputError(f"{where}: there is no key {'.'.join(place)}; {suggestion(place[-1], known)}") from None
    if first["type"] == "missing":
        raise InputError(f"{where}: the key {'.'.join(place)} is missing") from None
    message = first["msg"].removeprefix("Input ")
    raise InputError(f"{where}: {'.'.join(place)} is {first['input']!r:.60}; it {message[0].lower()}{message[1:]}") from None


def _keys_of(place: list[str]) -> list[str]:
    """The keys of the model at a place."""
    inside: dict[str, type[Frozen]] = {
        "envs": EnvSpec,
        "agents": AgentSpec,
        "tuning": TuningSpec,
        "statistics": StatisticsSpec,
        "claims": Claim,
    }
    model = Condition if "conditions" in place else inside.get(place[0], Spec) if place else Spec
    return list(model.model_fields)


# What the models cannot see


def _check(spec: Spec, where: str) -> Spec:
    if not spec.envs or not spec.agents:
        raise InputError(f"{where}: a study needs at least one environment under [envs.NAME] and one agent under [agents.NAME]")
    for key, env in spec.envs.items():
        _within(f"{where}: envs.{key}", lambda env=env: find("env", env.env))  # type: ignore[misc]
    for key, agent in spec.agents.items():
        _check_agent(spec, key, agent, where)
    for i, claim in enumerate(spec.claims):
        for j, condition in enumerate(claim.conditions):
            _check_condition(spec, condition, f"{where}: claims.{i}.conditions.{j}")
    canonical(_finite(spec.model_dump(), where))
    return spec


def _check_agent(spec: Spec, key: str, agent: AgentSpec, where: str) -> None:
    found = _within(f"{where}: agents.{key}", lambda: find("agent", agent.agent))
    _known(agent.envs or [], spec.envs, f"{where}: agents.{key}.envs")
    open_ended = any(p.kind is p.VAR_KEYWORD for p in found.parameters.values())
    for table, names in (("parameters", agent.parameters), ("grid", agent.grid)):
        if not open_ended:
            _known(names, [name for name in found.parameters if name != "problem"], f"{where}: agents.{key}.{table}")
    for name, values in agent.grid.items():
        if not values:
            raise InputError(f"{where}: agents.{key}.grid.{name} is empty; it must list at least one value")
        if name in agent.parameters:
            raise InputError(f"{where}: agents.{key} has {name} both in its parameters and in its grid; leave one of them out")
    if math.prod(len(values) for values in agent.grid.values()) > MOST_POINTS:
        raise InputError(f"{where}: agents.{key}.grid has more than {MOST_POINTS:,} points; it must have fewer values")


def _check_condition(spec: Spec, condition: Condition, where: str) -> None:
    _known([condition.agent], spec.agents, f"{where}.agent")
    _known(condition.envs or [], spec.envs, f"{where}.envs")
    if condition.test in ("better", "no_gain"):
        _known([condition.than], spec.agents, f"{where}.than")
    elif condition.value is None:
        raise InputError(f"{where}: {condition.test!r} needs value=, a share of the optimum")
    if (condition.metric == "counter") != bool(condition.counter):
        raise InputError(
            f"{where}: metric is {condition.metric!r} and counter is {condition.counter!r}; name a counter if, and only if, the metric is one"
        )


def _known(names: Any, choices: Any, where: str) -> None:
    for name in names:
        if name not in choices:
            raise InputError(f"{where}: there is no {name!r}; {suggestion(str(name), choices)}")


def _within(where: str, call: Any) -> Any:
    try:
        return call()
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _finite(value: Any, where: str) -> Any:
    """Only what JSON can hold goes into a study: no dates, no infinities."""
    match value:
        case dict():
            return {str(key): _finite(each, f"{where}.{key}") for key, each in value.items()}
        case list() | tuple():
            return [_finite(each, f"{where}.{i}") for i, each in enumerate(value)]
        case bool() | int() | str() | None:
            return value
        case float() if math.isfinite(value):
            return value
    raise InputError(f"{where} is {value!r:.60}; it must be a finite number, a string, true or false, or a list or table of them")


def points(grid: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Every point of a grid, the last key fastest; of none, the one point without coordinates.

    >>> list(points({"a": [1, 2], "b": [3]}))
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
    """
    for values in itertools.product(*grid.values()):
        yield dict(zip(grid, values, strict=True))
