"""The environments of a spec: one by one, or as families that differ in one number."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypeAlias

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ConfigDict, Field

from heavytail.checks import is_number
from heavytail.errors import InputError

Name: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$", max_length=80)]
Whole: TypeAlias = Annotated[int, Ge(1), Le(2**53)]
Seeds: TypeAlias = Annotated[int, Ge(1), Le(100_000)]
Parameters: TypeAlias = dict[str, Any]
LENGTHS = ("steps", "episodes")


class Frozen(BaseModel):
    """A model that does not change, and refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class BoundsSpec(Frozen):
    """The bounds of `heavytail.bounds` that are drawn beside the regret of agents."""

    shown: Annotated[list[str], Field(min_length=1)]
    # rewards have a moment of order 1 + epsilon; halfway to their tail index if left out
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
    same = {name: getattr(family, name) for name in EnvSpec.model_fields}
    rows = [{name: values[i] for name, values in family.vary.items()} for i in range(len(axis))]
    return {
        f"{key}.{at:g}" if isinstance(at, float) else f"{key}.{at}": _member(key, family, same, row)
        for at, row in zip(axis, rows, strict=True)
    }


def _member(key: str, family: FamilySpec, same: Mapping[str, Any], row: Mapping[str, Any]) -> EnvSpec:
    lengths = {name: value for name, value in row.items() if name in LENGTHS}
    parameters = {**family.parameters, **{name: value for name, value in row.items() if name not in LENGTHS}}
    place = {
        "env": family.env or key,
        "label": f"{family.label or key}, {family.axis} {row[family.axis]:,}",
        "family": key,
        "at": float(row[family.axis]),
    }
    return EnvSpec.model_validate({**same, **lengths, **place, "parameters": parameters})


def with_members(names: Iterable[str], members: Mapping[str, Iterable[str]]) -> list[str]:
    """Replace names of families by those of their members, and ``FAMILY.last`` by the last of them.

    >>> with_members(["a", "b", "c.last"], {"b": ["b.1", "b.2"], "c": ["c.1", "c.2"]})
    ['a', 'b.1', 'b.2', 'c.2']
    """
    known = {**members, **{f"{family}.last": [*keys][-1:] for family, keys in members.items()}}
    return [key for name in names for key in known.get(name, [name])]
