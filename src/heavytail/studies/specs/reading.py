"""Reading a spec: TOML or a dictionary into models, or a one-line error with the fault and its place."""

import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from heavytail.checks import is_number
from heavytail.errors import InputError, key_path, short_repr
from heavytail.studies.plugins import import_plugins
from heavytail.studies.specs.checks import check_spec
from heavytail.studies.specs.given_mdps import with_given_envs
from heavytail.studies.specs.messages import error_prefix
from heavytail.studies.specs.spec import LENGTHS, AgentSpec, Condition, EnvSpec, FamilySpec, Spec, SweepSpec

M = TypeVar("M", AgentSpec, SweepSpec, Condition)  # tables that name environments
MAX_DEPTH = 20  # tables in tables
MAX_INT = 2**1023  # whole numbers below it are also floats
SURROGATES = re.compile("[\ud800-\udfff]")  # halves of characters, which JSON can hold but files cannot


def read_spec(path: str | Path, *, quick: bool = False) -> Spec:
    """Read the spec in a TOML file; `quick` applies the changes of its table [quick]."""
    where = Path(path)
    try:
        text = where.read_text(encoding="utf-8")
    except IsADirectoryError:
        raise InputError(
            f"{where} is a folder; a spec is a .toml file. To continue a study: heavytail resume {where}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{where} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    try:
        raw = tomllib.loads(text)
    except RecursionError:
        raise InputError(f"{where} is not valid TOML: it is nested too deeply") from None
    except ValueError as error:  # a TOMLDecodeError, or a number with thousands of digits
        raise InputError(f"{where} is not valid TOML: {error}") from None
    return _make(raw, str(where), where.parent, quick=quick)


def make_spec(raw: Mapping[str, Any], *, where: str = "spec", quick: bool = False) -> Spec:
    """Make a spec from a dictionary.

    Its environments may also be objects, which become names (`specs.given_mdps`). `quick` applies the changes
    of its table [quick], which are checked in any case.

    >>> raw = {"name": "mine", "episodes": 100, "envs": {"six_arms": {}}, "agents": {"random": {}}}
    >>> make_spec(raw).agents["random"].agent
    'random'
    """
    return _make(raw, where, quick=quick)


def _make(raw: Mapping[str, Any], where: str, folder: Path | None = None, *, quick: bool) -> Spec:
    if not isinstance(raw, Mapping):
        raise InputError(f"{where} must be a table of keys, got {short_repr(raw)}")
    plain = _plain(with_given_envs(raw, where, folder or Path()), where)
    spec = _validated(plain, where, folder)
    if not spec.quick:
        return spec
    changed = {**_with_changes(plain, spec.quick), "quick": {}}
    quick_spec = _validated(changed, f"{where} with [quick]", folder)  # checked in any case
    return quick_spec if quick else spec


def _validated(raw: dict[str, Any], where: str, folder: Path | None) -> Spec:
    with error_prefix(where):
        spec = _with_families(Spec.model_validate(raw))
        import_plugins(spec.plugins, folder)
    return check_spec(_with_names(spec), where)


def _with_changes(raw: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Replace some values of `raw`, table by table."""
    changed = dict(raw)
    for key, value in changes.items():
        old = raw.get(key)
        changed[key] = (
            _with_changes(old, value) if isinstance(value, Mapping) and isinstance(old, Mapping) else value
        )
    return changed


def _with_families(spec: Spec) -> Spec:
    """Add the members of families to the environments, and replace the families' names by them."""
    members = {}
    for key, family in spec.families.items():
        with error_prefix(f"families.{key}"):
            members[key] = expand_family(key, family)
    if both := sorted({*members} & {*spec.envs}):
        raise InputError(f"{both[0]} is the key of an environment and of a family; rename one")

    def expand(table: M) -> M:
        return table.model_copy(update={"envs": table.envs and with_members(table.envs, members)})

    claims = [
        claim.model_copy(update={"conditions": [expand(condition) for condition in claim.conditions]})
        for claim in spec.claims
    ]
    changes = {
        "envs": {**spec.envs, **{name: env for family in members.values() for name, env in family.items()}},
        "agents": {key: expand(agent) for key, agent in spec.agents.items()},
        "maps": {key: expand(sweep) for key, sweep in spec.maps.items()},
        "claims": claims,
    }
    return spec.model_copy(update=changes)


def expand_family(key: str, family: FamilySpec) -> dict[str, EnvSpec]:
    """Make the environments of a family, by their keys.

    >>> vary = {"steps": [1000, 4000], "planned_steps": [1000, 4000]}
    >>> members = expand_family("hard", FamilySpec(env="heavy_bandit", vary=vary))
    >>> [(name, env.steps, env.parameters) for name, env in members.items()]
    [('hard.1000', 1000, {'planned_steps': 1000}), ('hard.4000', 4000, {'planned_steps': 4000})]
    """
    axis = family.vary[family.axis]
    if len({len(values) for values in family.vary.values()}) > 1 or len(axis) < 2:
        raise InputError("vary must hold lists of one length, of two values or more")
    if not all(is_number(x) and x >= 0 for x in axis) or sorted(set(axis)) != axis:
        raise InputError(f"vary.{family.axis} is the axis, and must be numbers of at least 0 that ascend")
    rows = [{name: values[i] for name, values in family.vary.items()} for i in range(len(axis))]
    return {
        f"{key}.{at:g}" if isinstance(at, float) else f"{key}.{at}": _member(key, family, row)
        for at, row in zip(axis, rows, strict=True)
    }


def _member(key: str, family: FamilySpec, row: Mapping[str, Any]) -> EnvSpec:
    varied = {name: value for name, value in row.items() if name not in LENGTHS}
    fields = {
        **{name: getattr(family, name) for name in EnvSpec.model_fields},
        **{name: value for name, value in row.items() if name in LENGTHS},
        "env": family.env or key,
        "label": f"{family.label or key}, {family.axis} {row[family.axis]:,}",
        "parameters": {**family.parameters, **varied},
        "family": key,
        "at": float(row[family.axis]),
    }
    return EnvSpec.model_validate(fields)


def with_members(names: Iterable[str], members: Mapping[str, Iterable[str]]) -> list[str]:
    """Replace names of families by those of their members, and ``FAMILY.last`` by the last of them.

    >>> with_members(["a", "b", "c.last"], {"b": ["b.1", "b.2"], "c": ["c.1", "c.2"]})
    ['a', 'b.1', 'b.2', 'c.2']
    """
    known = {**members, **{f"{family}.last": [*keys][-1:] for family, keys in members.items()}}
    return [key for name in names for key in known.get(name, [name])]


def _with_names(spec: Spec) -> Spec:
    """Fill in what the spec leaves to its keys: ids and labels."""
    tables: dict[str, tuple[str, Mapping[str, Any]]] = {
        "envs": ("env", spec.envs),
        "agents": ("agent", spec.agents),
        "maps": ("agent", spec.maps),
    }
    changes = {
        name: {
            key: each.model_copy(update={field: getattr(each, field) or key, "label": each.label or key})
            for key, each in table.items()
        }
        for name, (field, table) in tables.items()
    }
    return spec.model_copy(update=changes)


def _plain(value: Any, where: str, place: tuple[str, ...] = ()) -> Any:
    """Check that there are only values that JSON can hold: no dates, no infinities."""
    if len(place) > MAX_DEPTH:
        raise InputError(
            f"{where}: {key_path(place[:3])} is nested too deeply; {MAX_DEPTH} tables or lists in"
            " each other must do"
        )
    match value:
        case Mapping():
            for key in value:
                if not isinstance(key, str):
                    raise InputError(
                        f"{where}: {key_path((*place, str(key)))} is no key; it must be a string"
                    )
            return {key: _plain(each, where, (*place, key)) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each, where, (*place, str(i))) for i, each in enumerate(value)]
        case str() if not SURROGATES.search(value):
            return value
        case bool() | None:
            return value
        case int() if abs(value) < MAX_INT:
            return value
        case float() if math.isfinite(value):
            return value
    raise InputError(
        f"{where}: {key_path(place)} is {short_repr(value)}; it must be a finite number, a string,"
        " true or false, or a list or table of them"
    )
