"""How two specs differ, in what results depend on."""

from collections.abc import Mapping
from typing import Any

from heavytail.studies.specs.spec import canonical


def result_relevant(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Select what results depend on in a spec.

    Not its words, claims, statistics and bounds, nor how environments are grouped.
    """
    words = {"title", "description", "claims", "statistics", "quick", "families", "plugins"}
    work = {key: value for key, value in spec.items() if key not in words}
    inside = {"label", "setting", "bounds", "family", "at"}
    for table in ("envs", "agents", "maps"):
        work[table] = {
            name: {k: v for k, v in each.items() if k not in inside}
            for name, each in spec.get(table, {}).items()
        }
    return work


def list_differences(old: Any, new: Any, where: str = "") -> list[str]:
    """Describe the differences between two specs."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = dict.fromkeys([*old, *new])
        return [
            line
            for key in keys
            for line in list_differences(old.get(key), new.get(key), f"{where}.{key}" if where else key)
        ]
    return [] if old == new else [f"{where} was {_shorten(old)} and is {_shorten(new)}"]


def _shorten(value: Any) -> str:
    text = "not there" if value is None else canonical(value)
    return text if len(text) <= 60 else text[:57] + "..."
