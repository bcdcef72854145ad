"""The sweeps of a spec, its tables ``[maps.KEY]``: an agent at every point of a fine grid."""

import math
from collections.abc import Sequence
from typing import Annotated, Any

from annotated_types import Ge, Le
from pydantic import Field

from heavytail.checks import is_number
from heavytail.errors import InputError, key_path, short_repr
from heavytail.studies.specs.envs import Frozen, Parameters, Seeds
from heavytail.training.true_values import TRUE

MAX_CELLS = 1_000_000  # points of a sweep
DIMENSIONS = (2, 3)  # of a sweep


class SweepSpec(Frozen):
    """A sweep at full length, drawn as a map.

    The first axis goes to the right, the second up; the third has a panel for each value.
    """

    agent: str = ""  # the agent's id; its key in the file if left out
    label: str = ""
    parameters: Parameters = Field(default_factory=dict)
    envs: Annotated[list[str], Field(min_length=1)] | None = None  # where it runs; everywhere if left out
    seeds: Seeds | None = None  # the study's if left out
    checkpoints: Annotated[int, Ge(10), Le(100_000)] = 10  # just enough for the last tenth
    axes: dict[str, list[Any]]


def check_axes(sweep: SweepSpec) -> None:
    """Raise InputError unless axes are two or three lists of numbers, which the parameters leave free."""
    if len(sweep.axes) not in DIMENSIONS:
        raise InputError(f"axes has {len(sweep.axes)} of them; a map has two or three")
    for name, values in sweep.axes.items():
        _check_axis(name, values)
        if name in sweep.parameters:
            raise InputError(
                f"{key_path([name])} is both in its parameters and an axis; leave one of them out"
            )
    if TRUE in (sweep.parameters.get("moment"), *sweep.axes.get("moment", [])) and "epsilon" in sweep.axes:
        raise InputError(
            "moment is 'true', but of which order depends on epsilon, which is an axis; give numbers"
        )
    if math.prod(len(values) for values in sweep.axes.values()) > MAX_CELLS:
        raise InputError(f"axes have more than {MAX_CELLS:,} points; they must have fewer values")


def _check_axis(name: str, values: Sequence[Any]) -> None:
    where = key_path(["axes", name])
    if not values:
        raise InputError(f"{where} is empty; it must list at least one value")
    for value in values:
        if not is_number(value) and (name, value) != ("moment", TRUE):
            raise InputError(
                f"{where} has {short_repr(value)}; it must be a number, since what is none may need"
                " another program: a map of its own"
            )
    seen: set[Any] = set()
    for value in values:
        if value in seen:
            raise InputError(f"{where} has {short_repr(value)} twice; once will do")
        seen.add(value)
