"""Writes the type stubs of the packages whose names are found and not listed, such as ``heavytail.laws``; run by ``make stubs``, checked by a test."""

from pathlib import Path

import heavytail
from heavytail.registry import FOLDERS, Kind, own_builders

SOURCE = Path(heavytail.__file__).parent
NAMES: dict[Kind, str] = {"law": "from heavytail.laws.law import Law as Law"}


def stub(kind: Kind) -> str:
    """What a type checker and an editor should know of a package."""
    folder = FOLDERS[kind]
    lines = [f"from heavytail.{folder}.{name} import {name} as {name}" for name in sorted(own_builders(kind))]
    return "\n".join(["# Made by `make stubs`.", "", *sorted([*lines, NAMES[kind]])]) + "\n"


def path(kind: Kind) -> Path:
    """Where the stub of a kind lies."""
    return SOURCE / FOLDERS[kind] / "__init__.pyi"


if __name__ == "__main__":
    for kind in NAMES:
        path(kind).write_text(stub(kind))
