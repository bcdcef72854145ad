"""Where results come from: who computed the parts of a study, with what, and how long it took."""

import os
import platform
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import heavytail
from heavytail.studies.plan import Part

PER_PART = frozenset({"sha256", "bytes", "part", "seconds", "parts"})
HARMLESS = frozenset({"host", "cpus", "machine"})  # may differ in one study without a word


def seconds_of(sidecars: Sequence[Mapping[str, Any]]) -> float:
    """Work in these parts, all workers together."""
    return float(sum(page.get("seconds", 0.0) for page in sidecars))


def values_of(sidecars: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """By key, in how many parts each value is found."""
    found: dict[str, dict[str, int]] = {}
    for page in sidecars:
        for key in page.keys() - PER_PART:
            values = found.setdefault(key, {})
            values[str(page[key])] = values.get(str(page[key]), 0) + _parts(page)
    return {key: dict(sorted(values.items())) for key, values in sorted(found.items())}


def mixed(sidecars: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """What should be the same in all parts and is not."""
    return {
        key: values for key, values in values_of(sidecars).items() if len(values) > 1 and key not in HARMLESS
    }


def _parts(page: Mapping[str, Any]) -> int:
    """Of how many parts it speaks: of a map, sidecars that say the same are one."""
    return int(page.get("parts", 1))


@cache
def _code_digest() -> str:
    """A name for heavytail's own code as it is installed here."""
    root = Path(heavytail.__file__).parent
    return sha256(b"".join(path.read_bytes() for path in sorted(root.rglob("*.py")))).hexdigest()[:16]


def part_versions(part: Part) -> dict[str, Any]:
    """What computed a part: provenance, no part of its id."""
    return {"results_version": part.results_version, **code_versions()}


@cache
def code_versions() -> dict[str, Any]:
    """What computes here."""
    from importlib.metadata import version

    return {
        "heavytail": heavytail.__version__,
        "code": _code_digest(),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
        "pyarrow": version("pyarrow"),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
    }
