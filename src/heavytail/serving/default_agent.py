"""The agent to start with, where only an environment or a problem is given."""

from typing import Any

from heavytail.errors import InputError, short_repr

DEFAULT_AGENT = "heavy_psrl"


def name_first(function: str, name: Any, other: Any) -> tuple[str, Any]:
    """Fill in the agent to start with, where `name` is left out and what follows stands in its place."""
    if isinstance(name, str) and other is None:
        raise InputError(
            f"{function}({short_repr(name)}) has no environment; give one after the agent's name"
        )
    if not isinstance(name, str) and other is not None:
        raise InputError(f"{function}: name is a {type(name).__name__}; it must be an agent's id")
    return (name, other) if isinstance(name, str) else (DEFAULT_AGENT, name)
