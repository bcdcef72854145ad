"""Check a study before it starts: build every environment, and every agent in it, once."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from pydantic import ValidationError

from heavytail.errors import InputError, key_path, short_repr, suggestion
from heavytail.studies.specs.claims import Claim, Condition
from heavytail.studies.specs.envs import (
    EnvSpec,
    FamilySpec,
    Frozen,
)
from heavytail.studies.specs.spec import AgentSpec, Spec, StatisticsSpec, TuningSpec
from heavytail.studies.specs.sweeps import SweepSpec


def describe_point(point: Mapping[str, Any]) -> str:
    """Where in a grid something is, in brackets; nothing if there is none.

    >>> describe_point({"moment": "true"}), describe_point({})
    (" (moment = 'true')", '')
    """
    place = ", ".join(f"{key_path([name])} = {short_repr(value)}" for name, value in point.items())
    return f" ({place})" if place else ""


@contextmanager
def one_line_errors(where: str) -> Iterator[None]:
    """Whatever a builder says of the spec's values, it is one line with their place."""
    try:
        yield
    except Exception as error:
        said = " ".join(str(error).split())
        said = (
            said if isinstance(error, InputError) else f"it cannot be built ({type(error).__name__}: {said})"
        )
        raise InputError(f"{where}: {said}") from error


T = TypeVar("T")


def _one_line(error: ValidationError, where: str) -> str:
    """The first complaint of pydantic, in one line."""
    first = error.errors(include_url=False)[0]
    place = [str(part) for part in first["loc"] if part != "[key]"]
    name = key_path(place)
    match first["type"]:
        case "extra_forbidden":
            return f"{where}: there is no key {name}; {suggestion(place[-1], _keys_of(place[:-1]))}"
        case "missing":
            return f"{where}: the key {name} is missing"
        case kind:
            must = (
                _MUST[kind].format(**first.get("ctx", {}))
                if kind in _MUST
                else first["msg"].removeprefix("Input should ")
            )
            return f"{where}: {name} is {short_repr(first['input'])}; it must {must}"


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
        "maps": SweepSpec,
        "tuning": TuningSpec,
        "statistics": StatisticsSpec,
        "claims": Claim,
    }
    model = inside.get(place[0], Spec) if place else Spec
    if model is Claim and "conditions" in place:
        model = Condition
    return list(model.model_fields)


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
