"""A study as its author writes it: ``spec.toml``, or the same as a dictionary, into frozen models.

Every mistake is one line that names the file, the key, the value and what would be right. What an environment or an agent takes is not repeated here: their
builders' signatures say it, and parameters are checked against those.
"""

import itertools
import json
import math
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from annotated_types import Ge, Gt, Le, Lt
from pydantic import Field, SerializerFunctionWrapHandler, ValidationError, model_serializer

from heavytail.deep import parameters as deep
from heavytail.errors import InputError, suggestion
from heavytail.registry import find
from heavytail.studies.claim_specs import Claim, Condition
from heavytail.studies.env_specs import EnvSpec, FamilySpec, Frozen, Name, Parameters, Seeds, Whole, members_of, with_members
from heavytail.studies.map_specs import MapSpec, check_axes
from heavytail.studies.wording import place_of, shown

MOST_POINTS = 10_000  # of a grid
DEEPEST = 20  # tables in tables
LARGEST = 2**1023  # whole numbers below it are also floats

T = TypeVar("T")
Kind: TypeAlias = Literal["tabular", "deep"]  # of environments and of the agents that learn there


class AgentSpec(Frozen):
    """An agent of a study. With a grid, each environment's best point of it is found on tuning seeds."""

    agent: str = ""  # the agent's id; its key in the file if left out
    label: str = ""
    setting: str = ""  # a name for a group of agents that is reported together
    parameters: Parameters = Field(default_factory=dict)
    grid: dict[str, list[Any]] = Field(default_factory=dict)
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
    families: dict[Name, FamilySpec] = Field(default_factory=dict)  # their members are environments too
    agents: dict[Name, AgentSpec]
    maps: dict[Name, MapSpec] = Field(default_factory=dict)
    tuning: TuningSpec = TuningSpec()
    statistics: StatisticsSpec = StatisticsSpec()
    claims: list[Claim] = Field(default_factory=list)
    quick: dict[str, Any] = Field(default_factory=dict)

    @model_serializer(mode="wrap")
    def _without_nothing(self, serialised: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Most studies have no maps, and those from before there were any keep their digest and their files."""
        said: dict[str, Any] = serialised(self)
        return said if self.maps else {key: value for key, value in said.items() if key != "maps"}

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
    with _placed(where):
        spec = _with_families(Spec.model_validate(raw))
    return _check(_with_names(spec), where)


def _with_changes(raw: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`raw` with some of its values replaced, table by table."""
    changed = dict(raw)
    for key, value in changes.items():
        old = raw.get(key)
        changed[key] = _with_changes(old, value) if isinstance(value, Mapping) and isinstance(old, Mapping) else value
    return changed


def _with_families(spec: Spec) -> Spec:
    """The spec with the members of its families among its environments, and in place of the families wherever these are named."""
    members = {key: _within(f"families.{key}", partial(members_of, key, family)) for key, family in spec.families.items()}
    if both := sorted({*members} & {*spec.envs}):
        raise InputError(f"{both[0]} is the key of an environment and of a family; it must be of one of them")
    agents = {k: a.model_copy(update={"envs": a.envs and with_members(a.envs, members)}) for k, a in spec.agents.items()}
    maps = {k: m.model_copy(update={"envs": m.envs and with_members(m.envs, members)}) for k, m in spec.maps.items()}
    claims = [
        claim.model_copy(
            update={"conditions": [c.model_copy(update={"envs": c.envs and with_members(c.envs, members)}) for c in claim.conditions]}
        )
        for claim in spec.claims
    ]
    envs = {**spec.envs, **{name: env for every in members.values() for name, env in every.items()}}
    return spec.model_copy(update={"envs": envs, "agents": agents, "maps": maps, "claims": claims})


def _with_names(spec: Spec) -> Spec:
    """The spec with what it leaves to its keys filled in."""
    envs = {k: e.model_copy(update={"env": e.env or k, "label": e.label or k}) for k, e in spec.envs.items()}
    agents = {k: a.model_copy(update={"agent": a.agent or k, "label": a.label or k}) for k, a in spec.agents.items()}
    maps = {k: m.model_copy(update={"agent": m.agent or k, "label": m.label or k}) for k, m in spec.maps.items()}
    return spec.model_copy(update={"envs": envs, "agents": agents, "maps": maps})


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


def _keys_of(place: list[str]) -> list[str]:
    """The keys of the model at a place."""
    inside: dict[str, type[Frozen]] = {
        "envs": EnvSpec,
        "families": FamilySpec,
        "agents": AgentSpec,
        "maps": MapSpec,
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
        if kind_of_env(env.env) == "tabular":
            _within(f"{where}: envs.{key}", partial(find, "env", env.env))
    for key, agent in spec.agents.items():
        _check_agent(spec, agent, f"{where}: agents.{key}")
        _check_grid(agent, f"{where}: agents.{key}")
    for key, each in spec.maps.items():
        _check_map(spec, each, f"{where}: maps.{key}")
    for i, claim in enumerate(spec.claims):
        for j, condition in enumerate(claim.conditions):
            _check_condition(spec, condition, f"{where}: claims.{i}.conditions.{j}")
    return spec


def kind_of_env(name: str) -> Kind:
    """Whether an environment is an MDP or a compiled one for deep agents."""
    return "deep" if deep.is_environment(name) else "tabular"


def kind_of_agent(name: str) -> Kind:
    """Whether an agent is tabular or deep."""
    return "deep" if name in deep.AGENTS else "tabular"


def envs_of(spec: Spec, agent: AgentSpec | MapSpec) -> list[str]:
    """Where an agent runs: in all environments of its kind, unless it says where."""
    kind = kind_of_agent(agent.agent)
    return [key for key, env in spec.envs.items() if kind_of_env(env.env) == kind and (agent.envs is None or key in agent.envs)]


def _check_agent(spec: Spec, agent: AgentSpec | MapSpec, where: str) -> None:
    """What runs must be there, in environments of its kind, and know its parameters."""
    known = _within(where, partial(_parameters_of, agent.agent))
    _known(agent.envs or [], spec.envs, f"{where}.envs")
    if len(there := envs_of(spec, agent)) < len(agent.envs or [""]):
        others = ", ".join(env for env in agent.envs or spec.envs if env not in there)
        raise InputError(f"{where} is {kind_of_agent(agent.agent)} and cannot learn in {others}; name other environments")
    table, varied = ("axes", agent.axes) if isinstance(agent, MapSpec) else ("grid", agent.grid)
    for part, names in (("parameters", agent.parameters), (table, varied)):
        _known(names, names if known is None else known, f"{where}.{part}")


def _check_grid(agent: AgentSpec, where: str) -> None:
    for name, values in agent.grid.items():
        if not values:
            raise InputError(f"{where}.grid.{place_of([name])} is empty; it must list at least one value")
        if name in agent.parameters:
            raise InputError(f"{where} has {place_of([name])} both in its parameters and in its grid; leave one of them out")
    if math.prod(len(values) for values in agent.grid.values()) > MOST_POINTS:
        raise InputError(f"{where}.grid has more than {MOST_POINTS:,} points; it must have fewer values")


def _check_map(spec: Spec, said: MapSpec, where: str) -> None:
    _check_agent(spec, said, where)
    if kind_of_agent(said.agent) == "deep":
        raise InputError(f"{where} is of {said.agent}, a deep agent; maps are of tabular ones")
    _within(where, partial(check_axes, said))


def _check_condition(spec: Spec, condition: Condition, where: str) -> None:
    _known([condition.agent], spec.agents, f"{where}.agent")
    _known(condition.envs or [], spec.envs, f"{where}.envs")
    if condition.than or condition.test in ("better", "no_gain"):
        _known([condition.than], spec.agents, f"{where}.than")
    both = [key for key in (condition.agent, condition.than) if key]
    common = set(spec.envs).intersection(*(envs_of(spec, spec.agents[key]) for key in both))
    if not common:
        raise InputError(f"{where}: {' and '.join(both)} run in no environment together")
    _known(condition.envs or [], common, f"{where}.envs: where {' and '.join(both)} run")
    if condition.test not in ("better", "no_gain") and condition.value is None and not condition.of:
        raise InputError(f"{where}: {condition.test!r} needs value=, a share of {'runs' if 'rate' in condition.test else 'the optimum'}")
    if "rate" in condition.test and condition.metric != "counter":
        raise InputError(f'{where}: {condition.test!r} is for counters; say metric = "counter" and which')
    if condition.of and (condition.metric != "final_regret" or condition.test not in ("at_least", "at_most")):
        raise InputError(
            f"{where}: of is {condition.of!r}, a bound on regret; that is for 'at_least' and 'at_most' of metric = \"final_regret\""
        )
    if (condition.metric == "counter") != bool(condition.counter):
        raise InputError(
            f"{where}: metric is {condition.metric!r} and counter is {condition.counter!r}; name a counter if, and only if, the metric is one"
        )


def _known(names: Any, choices: Any, where: str) -> None:
    for name in names:
        if name not in choices:
            raise InputError(f"{where}: there is no {name!r}; {suggestion(str(name), choices)}")


def _parameters_of(agent: str) -> list[str] | None:
    """What an agent may be given; None if that depends on more."""
    if kind_of_agent(agent) == "deep":
        return list(deep.DEFAULTS)
    found = find("agent", agent).parameters
    return None if any(p.kind is p.VAR_KEYWORD for p in found.values()) else [name for name in found if name != "problem"]


def _within(where: str, call: Callable[[], T]) -> T:
    with _placed(where):
        return call()


@contextmanager
def _placed(where: str) -> Iterator[None]:
    """What goes wrong says where."""
    try:
        yield
    except ValidationError as error:
        raise InputError(_one_line(error, where)) from None
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


def only_point(grid: Mapping[str, list[Any]]) -> dict[str, Any] | None:
    """The point of a grid that has but one, so that nothing is to be searched; None if there are more.

    >>> only_point({"a": [1], "b": [3]}), only_point({}), only_point({"a": [1, 2]})
    ({'a': 1, 'b': 3}, {}, None)
    """
    return {name: values[0] for name, values in grid.items()} if all(len(values) == 1 for values in grid.values()) else None


def points(grid: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Every point of a grid, the last key fastest; of none, the one point without coordinates.

    >>> list(points({"a": [1, 2], "b": [3]}))
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
    """
    for values in itertools.product(*grid.values()):
        yield dict(zip(grid, values, strict=True))
