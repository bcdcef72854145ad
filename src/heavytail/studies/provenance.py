"""Provenance: where the parts of a study were computed, with what, and how long it took."""

import os
import platform
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import heavytail
from heavytail.studies.part import Part

PER_PART = frozenset({"sha256", "bytes", "part", "seconds", "parts"})
HARMLESS = frozenset({"host", "cpus", "machine"})  # may differ between the parts of a study


def total_seconds(sidecars: Sequence[Mapping[str, Any]]) -> float:
    """Sum the computing time of these parts, of all workers together."""
    return float(sum(sidecar.get("seconds", 0.0) for sidecar in sidecars))


def count_values(sidecars: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """By key, the number of parts that have each value."""
    counts: dict[str, dict[str, int]] = {}
    for sidecar in sidecars:
        for key in sidecar.keys() - PER_PART:
            values, value = counts.setdefault(key, {}), str(sidecar[key])
            values[value] = values.get(value, 0) + count_parts(sidecar)
    return {key: dict(sorted(values.items())) for key, values in sorted(counts.items())}


def mixed(sidecars: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Find the values that should be the same in all parts and are not."""
    return {
        key: values
        for key, values in count_values(sidecars).items()
        if len(values) > 1 and key not in HARMLESS
    }


def count_parts(sidecar: Mapping[str, Any]) -> int:
    """Count the parts that a sidecar describes: those of a sweep are merged."""
    return int(sidecar.get("parts", 1))


@cache
def _code_digest() -> str:
    """Compute a digest of heavytail's own code as it is installed here."""
    root = Path(heavytail.__file__).parent
    return sha256(b"".join(path.read_bytes() for path in sorted(root.rglob("*.py")))).hexdigest()[:16]


def part_versions(part: Part) -> dict[str, Any]:
    """Return the versions that computed a part, which its id does not include."""
    return {"results_version": part.results_version, **code_versions()}


@cache
def code_versions() -> dict[str, Any]:
    """Return the versions and the machine that compute here."""
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
