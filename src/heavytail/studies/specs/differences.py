"""How two specs differ, in what results depend on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heavytail.errors import InputError
from heavytail.studies.specs.spec import Spec, canonical


def require_same_results(stored: Spec, spec: Spec, folder: Path) -> None:
    """Raise InputError if results depend on what differs from the spec that a folder has.

    Words, claims and statistics may change at any time.
    """
    old, new = (result_relevant(each.model_dump(mode="json")) for each in (stored, spec))
    if different := list_differences(old, new):
        raise InputError(
            f"{folder} holds another study: {'; '.join(different[:3])}"
            f"{' and more' if len(different) > 3 else ''}. Nothing was started; choose another folder"
            f" with --out (--reuse {folder} takes over what it has), or go on with the old one by: heavytail"
            f" resume {folder}"
        )


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
