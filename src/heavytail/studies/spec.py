"""A study as its author writes it: ``spec.toml``, or the same as a dictionary, into frozen models.

Every mistake is one line that names the file, the key, the value and what would be right. What an environment or an agent takes is not repeated here: their
builders' signatures say it, and parameters are checked against those.
"""

import itertools
import json
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from heavytail.errors import InputError, suggestion
from heavytail.registry import Registered, find

MOST_POINTS = 10_000  # of a grid
DEEPEST = 20  # tables in tables
LARGEST = 2**1023  # whole numbers below it are also floats

Name: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$", max_length=80)]
Whole: TypeAlias = Annotated[int, Ge(1), Le(2**53)]
Seeds: TypeAlias = Annotated[int, Ge(1), Le(100_000)]
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
    envs: Annotated[list[str], Field(min_length=1)] | None = None  # where it runs; everywhere if left out


class TuningSpec(Frozen):
    """How grids are searched: shorter runs, on seeds that are never used again."""

    share: Annotated[float, Gt(0), Le(1)] = 0.1
    seeds: Seeds = 5


class StatisticsSpec(Frozen):
    """How runs are summed up."""

    confidence: Annotated[float, Gt(0), Lt(1)] = 0.95
    resamples: Whole = 2000
    permutations: Whole = 20_000
    significance: Annotated[float, Gt(0), Lt(1)] = 0.05


Metric: TypeAlias = Literal["final_regret", "last_tenth", "first_tenth", "first_hundredth", "counter"]


class Condition(Frozen):
    """One thing that must hold for a claim, on every environment it names.

    "better": `agent` beats `than`; "no_gain": it does not, by more than `margin` of the optimum; "at_least" and "at_most": its median reaches `value`, as a share of the
    optimum (of a counter: as it is).
    """

    test: Literal["better", "no_gain", "at_least", "at_most"]
    agent: str
    than: str = ""
    envs: Annotated[list[str], Field(min_length=1)] | None = None
    metric: Metric = "last_tenth"
    counter: str = ""
    value: float | None = None
    margin: Annotated[float, Ge(0)] = 0.01


class Claim(Frozen):
    """A sentence that the study puts to the test."""

    claim: str
    place: str = ""
    note: str = ""
    conditions: Annotated[list[Condition], Field(min_length=1)]


class Spec(Frozen):
    """A study."""

    name: Name
    title: str = ""
    description: str = ""
    episodes: Whole | None = None
    steps: Whole | None = None
    seeds: Seeds = 10
    seed: Annotated[int, Ge(0), Le(2**63 - 1)] = 0
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
    except RecursionError:
        raise InputError(f"{where} is no TOML: it is nested too deeply") from None
    except ValueError as error:  # a TOMLDecodeError, or a number with thousands of digits
        raise InputError(f"{where} is no TOML: {error}") from None
    return spec_of(raw, where=str(where), quick=quick)


def spec_of(raw: Mapping[str, Any], *, where: str = "spec", quick: bool = False) -> Spec:
    """The study that a dictionary describes; `quick`: with the changes that its table [quick] makes, which are checked in any case.

    >>> spec_of({"name": "mine", "episodes": 100, "envs": {"six_arms": {}}, "agents": {"random": {}}}).agents["random"].agent
    'random'
    """
    if not isinstance(raw, Mapping):
        raise InputError(f"{where} must be a table of keys, got {shown(raw)}")
    plain = _plain(raw, where)
    spec = _validated(plain, where)
    if not spec.quick:
        return spec
    short = _validated({**_with_changes(plain, spec.quick), "quick": {}}, f"{where} with [quick]")
    return short if quick else spec


def _validated(raw: dict[str, Any], where: str) -> Spec:
    try:
        spec = Spec.model_validate(raw)
    except ValidationError as error:
        raise InputError(_one_line(error, where)) from None
    return _check(_with_names(spec), where)


def _with_changes(raw: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`raw` with some of its values replaced, table by table."""
    changed = dict(raw)
    for key, value in changes.items():
        old = raw.get(key)
        changed[key] = _with_changes(old, value) if isinstance(value, Mapping) and isinstance(old, Mapping) else value
    return changed


def _with_names(spec: Spec) -> Spec:
    """The spec with what it leaves to its keys filled in."""
    envs = {k: e.model_copy(update={"env": e.env or k, "label": e.label or k}) for k, e in spec.envs.items()}
    agents = {k: a.model_copy(update={"agent": a.agent or k, "label": a.label or k}) for k, a in spec.agents.items()}
    return spec.model_copy(update={"envs": envs, "agents": agents})


def _one_line(error: ValidationError, where: str) -> str:
    """The first complaint of pydantic, in one line."""
    first = error.errors(include_url=False)[0]
    place = [str(part) for part in first["loc"] if part != "[key]"]
    name = place_of(place)
    match first["type"]:
        case "extra_forbidden":
            return f"{where}: there is no key {name}; {suggestion(place[-1], _keys_of(place[:-1]))}"
        case "missing":
            return f"{where}: the key {name} is missing"
        case kind:
            must = _MUST[kind].format(**first.get("ctx", {})) if kind in _MUST else first["msg"].removeprefix("Input should ")
            return f"{where}: {name} is {shown(first['input'])}; it must {must}"


_MUST = {
    "dict_type": "be a table of keys",
    "model_type": "be a table of keys",
    "list_type": "be a list",
    "string_type": "be a string",
    "int_type": "be a whole number",
    "float_type": "be a number",
    "greater_than_equal": "be at least {ge}",
    "less_than_equal": "be at most {le}",
    "greater_than": "be above {gt}",
    "less_than": "be below {lt}",
    "too_short": "not be empty",
    "string_pattern_mismatch": "be made of letters, digits, '_', '-' and '.', and not begin with the last two",
    "string_too_long": "have at most {max_length} characters",
    "literal_error": "be {expected}",
}


def place_of(keys: Iterable[str]) -> str:
    """Where something stands in a file: its keys with dots between, quoted where they need it."""
    return ".".join(key if re.fullmatch(r"[\w-]+", key) else f"{key!r:.60}" for key in keys)


def shown(value: Any) -> str:
    """A value in a message: short, on one line."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number with thousands of digits, a list that holds itself
        text = f"a {type(value).__name__} too large to show"
    return " ".join(text.split())[:60]


def _keys_of(place: list[str]) -> list[str]:
    """The keys of the model at a place."""
    inside: dict[str, type[Frozen]] = {
        "envs": EnvSpec,
        "agents": AgentSpec,
        "tuning": TuningSpec,
        "statistics": StatisticsSpec,
        "claims": Claim,
    }
    model = inside.get(place[0], Spec) if place else Spec
    if model is Claim and "conditions" in place:
        model = Condition
    return list(model.model_fields)


# What the models cannot see


def _check(spec: Spec, where: str) -> Spec:
    if not spec.envs or not spec.agents:
        raise InputError(f"{where}: a study needs at least one environment under [envs.NAME] and one agent under [agents.NAME]")
    for key, env in spec.envs.items():
        _within(f"{where}: envs.{key}", partial(find, "env", env.env))
    for key, agent in spec.agents.items():
        _check_agent(spec, key, agent, where)
    for i, claim in enumerate(spec.claims):
        for j, condition in enumerate(claim.conditions):
            _check_condition(spec, condition, f"{where}: claims.{i}.conditions.{j}")
    return spec


def _check_agent(spec: Spec, key: str, agent: AgentSpec, where: str) -> None:
    found = _within(f"{where}: agents.{key}", partial(find, "agent", agent.agent))
    _known(agent.envs or [], spec.envs, f"{where}: agents.{key}.envs")
    open_ended = any(p.kind is p.VAR_KEYWORD for p in found.parameters.values())
    for table, names in (("parameters", agent.parameters), ("grid", agent.grid)):
        if not open_ended:
            _known(names, [name for name in found.parameters if name != "problem"], f"{where}: agents.{key}.{table}")
    for name, values in agent.grid.items():
        if not values:
            raise InputError(f"{where}: agents.{key}.grid.{place_of([name])} is empty; it must list at least one value")
        if name in agent.parameters:
            raise InputError(f"{where}: agents.{key} has {place_of([name])} both in its parameters and in its grid; leave one of them out")
    if math.prod(len(values) for values in agent.grid.values()) > MOST_POINTS:
        raise InputError(f"{where}: agents.{key}.grid has more than {MOST_POINTS:,} points; it must have fewer values")


def _check_condition(spec: Spec, condition: Condition, where: str) -> None:
    _known([condition.agent], spec.agents, f"{where}.agent")
    _known(condition.envs or [], spec.envs, f"{where}.envs")
    if condition.than or condition.test in ("better", "no_gain"):
        _known([condition.than], spec.agents, f"{where}.than")
    both = [key for key in (condition.agent, condition.than) if key]
    common = set(spec.envs).intersection(*(spec.agents[key].envs or spec.envs for key in both))
    if not common:
        raise InputError(f"{where}: {' and '.join(both)} run in no environment together")
    _known(condition.envs or [], common, f"{where}.envs: where {' and '.join(both)} run")
    if condition.test in ("at_least", "at_most") and condition.value is None:
        raise InputError(f"{where}: {condition.test!r} needs value=, a share of the optimum")
    if (condition.metric == "counter") != bool(condition.counter):
        raise InputError(
            f"{where}: metric is {condition.metric!r} and counter is {condition.counter!r}; name a counter if, and only if, the metric is one"
        )


def _known(names: Any, choices: Any, where: str) -> None:
    for name in names:
        if name not in choices:
            raise InputError(f"{where}: there is no {name!r}; {suggestion(str(name), choices)}")


def _within(where: str, call: Callable[[], Registered]) -> Registered:
    try:
        return call()
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _plain(value: Any, where: str, place: tuple[str, ...] = ()) -> Any:
    """Only what JSON can hold goes into a study: no dates, no infinities."""
    if len(place) > DEEPEST:
        raise InputError(f"{where}: {place_of(place[:3])} is nested too deeply; {DEEPEST} tables or lists in each other must do")
    match value:
        case Mapping():
            for key in value:
                if not isinstance(key, str):
                    raise InputError(f"{where}: {place_of((*place, str(key)))} is no key; it must be a string")
            return {key: _plain(each, where, (*place, key)) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each, where, (*place, str(i))) for i, each in enumerate(value)]
        case bool() | str() | None:
            return value
        case int() if abs(value) < LARGEST:
            return value
        case float() if math.isfinite(value):
            return value
    raise InputError(
        f"{where}: {place_of(place)} is {shown(value)}; it must be a finite number, a string, true or false, or a list or table of them"
    )


def points(grid: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Every point of a grid, the last key fastest; of none, the one point without coordinates.

    >>> list(points({"a": [1, 2], "b": [3]}))
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
    """
    for values in itertools.product(*grid.values()):
        yield dict(zip(grid, values, strict=True))
