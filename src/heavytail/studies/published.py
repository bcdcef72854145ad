"""The studies that come with heavytail: `studies/` in the repository, `published/` in an installed package."""

from pathlib import Path

from heavytail.errors import InputError, suggestion

_HERE = Path(__file__).resolve()
PLACES = (_HERE.parents[1] / "published", _HERE.parents[3] / "studies")


def published(name: str) -> Path:
    """The spec of a study that comes with heavytail.

    >>> published("paper").name
    'spec.toml'
    """
    found = {folder.parent.name: folder for place in PLACES for folder in place.glob("*/spec.toml")}
    if name not in found:
        raise InputError(f"there is no published study {name!r}; {suggestion(name, found)}")
    return found[name]
