"""Errors of a spec as one line: what is wrong, where, and what would be right."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pydantic import ValidationError

from heavytail.errors import InputError, key_path, short_repr, suggestion
from heavytail.studies.specs.spec import (
    AgentSpec,
    Claim,
    Condition,
    EnvSpec,
    FamilySpec,
    Frozen,
    Spec,
    StatisticsSpec,
    SweepSpec,
    TuningSpec,
)


def describe_point(point: Mapping[str, Any]) -> str:
    """Write a point of a grid in brackets; nothing for the point without coordinates.

    >>> describe_point({"moment": "true"}), describe_point({})
    (" (moment = 'true')", '')
    """
    place = ", ".join(f"{key_path([name])} = {short_repr(value)}" for name, value in point.items())
    return f" ({place})" if place else ""


@contextmanager
def one_line_errors(where: str) -> Iterator[None]:
    """Turn any error of a builder into one line with its place in the spec."""
    try:
        yield
    except Exception as error:
        message = " ".join(str(error).split())
        if not isinstance(error, InputError):
            message = f"it cannot be built ({type(error).__name__}: {message})"
        raise InputError(f"{where}: {message}") from error


@contextmanager
def error_prefix(where: str) -> Iterator[None]:
    """Prefix the message of errors with their place."""
    try:
        yield
    except ValidationError as error:
        raise InputError(_one_line(error, where)) from None
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _one_line(error: ValidationError, where: str) -> str:
    """Return pydantic's first complaint in one line."""
    first = error.errors(include_url=False)[0]
    place = [str(part) for part in first["loc"] if part != "[key]"]
    name, kind = key_path(place), first["type"]
    if kind == "extra_forbidden":
        return f"{where}: there is no key {name}; {suggestion(place[-1], _keys_at(place[:-1]))}"
    if kind == "missing":
        return f"{where}: the key {name} is missing"
    if kind in _MUST:
        must = _MUST[kind].format(**first.get("ctx", {}))
    else:
        must = first["msg"].removeprefix("Input should ")
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
    "string_pattern_mismatch": (
        "be made of letters, digits, '_', '-' and '.', and not begin with the last two"
    ),
    "string_too_long": "have at most {max_length} characters",
    "literal_error": "be {expected}",
}


def _keys_at(place: list[str]) -> list[str]:
    """List the keys of the model at a place."""
    models: dict[str, type[Frozen]] = {
        "envs": EnvSpec,
        "families": FamilySpec,
        "agents": AgentSpec,
        "maps": SweepSpec,
        "tuning": TuningSpec,
        "statistics": StatisticsSpec,
        "claims": Claim,
    }
    model = models.get(place[0], Spec) if place else Spec
    if model is Claim and "conditions" in place:
        model = Condition
    return list(model.model_fields)
