"""Read a spec: TOML or a dictionary into models, or one line that says what is wrong and where."""

import importlib
import math
import tomllib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from heavytail.errors import InputError, key_path, short_repr
from heavytail.studies.specs.checks import _check
from heavytail.studies.specs.envs import (
    expand_family,
    with_members,
)
from heavytail.studies.specs.messages import _placed, _within
from heavytail.studies.specs.spec import Spec

MAX_DEPTH = 20  # tables in tables
MAX_INT = 2**1023  # whole numbers below it are also floats


def read_spec(path: str | Path, *, quick: bool = False) -> Spec:
    """Read the study that a TOML file describes; `quick`: with the changes that its table [quick] makes."""
    return read_both(path)[quick]


def read_both(path: str | Path) -> tuple[Spec, Spec]:
    """Read a study from a TOML file: as it is, and with the changes that its table [quick] makes."""
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
    return _make_both(raw, str(where))


def make_spec(raw: Mapping[str, Any], *, where: str = "spec", quick: bool = False) -> Spec:
    """Make the study that a dictionary describes.

    `quick`: with the changes that its table [quick] makes, which are checked in any case.

    >>> raw = {"name": "mine", "episodes": 100, "envs": {"six_arms": {}}, "agents": {"random": {}}}
    >>> make_spec(raw).agents["random"].agent
    'random'
    """
    return _make_both(raw, where)[quick]


def _make_both(raw: Mapping[str, Any], where: str) -> tuple[Spec, Spec]:
    if not isinstance(raw, Mapping):
        raise InputError(f"{where} must be a table of keys, got {short_repr(raw)}")
    plain = _plain(raw, where)
    spec = _validated(plain, where)
    if not spec.quick:
        return spec, spec
    return spec, _validated({**_with_changes(plain, spec.quick), "quick": {}}, f"{where} with [quick]")


def _validated(raw: dict[str, Any], where: str) -> Spec:
    with _placed(where):
        spec = _with_families(Spec.model_validate(raw))
        import_plugins(spec.plugins)
    return _check(_with_names(spec), where)


def import_plugins(modules: Sequence[str]) -> None:
    """Import modules that register something; what goes wrong there is one line."""
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception as error:  # whatever it is, the module is not ours
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise InputError(f"plugins: the module {module!r} cannot be imported ({reason})") from error


def _with_changes(raw: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`raw` with some of its values replaced, table by table."""
    changed = dict(raw)
    for key, value in changes.items():
        old = raw.get(key)
        changed[key] = (
            _with_changes(old, value) if isinstance(value, Mapping) and isinstance(old, Mapping) else value
        )
    return changed


def _with_families(spec: Spec) -> Spec:
    """The spec with the members of its families among its environments, and in place of the families wherever these are named."""
    members = {
        key: _within(f"families.{key}", partial(expand_family, key, family))
        for key, family in spec.families.items()
    }
    if both := sorted({*members} & {*spec.envs}):
        raise InputError(f"{both[0]} is the key of an environment and of a family; it must be of one of them")
    agents = {
        k: a.model_copy(update={"envs": a.envs and with_members(a.envs, members)})
        for k, a in spec.agents.items()
    }
    maps = {
        k: m.model_copy(update={"envs": m.envs and with_members(m.envs, members)})
        for k, m in spec.maps.items()
    }
    claims = [
        claim.model_copy(
            update={
                "conditions": [
                    c.model_copy(update={"envs": c.envs and with_members(c.envs, members)})
                    for c in claim.conditions
                ]
            }
        )
        for claim in spec.claims
    ]
    envs = {**spec.envs, **{name: env for every in members.values() for name, env in every.items()}}
    return spec.model_copy(update={"envs": envs, "agents": agents, "maps": maps, "claims": claims})


def _with_names(spec: Spec) -> Spec:
    """The spec with what it leaves to its keys filled in."""
    envs = {k: e.model_copy(update={"env": e.env or k, "label": e.label or k}) for k, e in spec.envs.items()}
    agents = {
        k: a.model_copy(update={"agent": a.agent or k, "label": a.label or k}) for k, a in spec.agents.items()
    }
    maps = {
        k: m.model_copy(update={"agent": m.agent or k, "label": m.label or k}) for k, m in spec.maps.items()
    }
    return spec.model_copy(update={"envs": envs, "agents": agents, "maps": maps})


def _plain(value: Any, where: str, place: tuple[str, ...] = ()) -> Any:
    """Only what JSON can hold goes into a study: no dates, no infinities."""
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
        case bool() | str() | None:
            return value
        case int() if abs(value) < MAX_INT:
            return value
        case float() if math.isfinite(value):
            return value
    raise InputError(
        f"{where}: {key_path(place)} is {short_repr(value)}; it must be a finite number, a string,"
        " true or false, or a list or table of them"
    )
