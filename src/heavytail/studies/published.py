"""The studies that come with heavytail.

`studies/` in the repository, `published/` in an installed package; and the results that come with some of
them.

What needs a GPU is computed once, and its results are kept beside the spec, in the folder `published`.
Elsewhere such a study is run afresh at its quick scale, and the published result is shown beside it.
"""

from importlib.util import find_spec
from pathlib import Path

from heavytail.errors import InputError, suggestion
from heavytail.studies.specs.reading import read_spec
from heavytail.studies.specs.spec import env_kind
from heavytail.studies.study import Study

_HERE = Path(__file__).resolve()
PLACES = (_HERE.parents[1] / "published", _HERE.parents[3] / "studies")
COMPANIONS = {"paper": ("paper-deep",)}  # studies that are reproduced and reported together with another


def published(name: str) -> Path:
    """The spec of a study that comes with heavytail.

    >>> published("paper").name
    'spec.toml'
    """
    found = {folder.parent.name: folder for place in PLACES for folder in place.glob("*/spec.toml")}
    if name not in found:
        raise InputError(f"there is no published study {name!r}; {suggestion(name, found)}")
    return found[name]


def published_result(name: str) -> Study | None:
    """The study with the results that come with heavytail, if there are any."""
    folder = published(name).parent / "published"
    return Study.open(folder) if (folder / "study.json").exists() else None


def to_reproduce(name: str, folder: Path, *, quick: bool) -> list[Study]:
    """A study and its companions, in folders of their own, each at the scale that this machine allows.

    Args:
        name: of the study.
        folder: for its results; those of companions lie in it.
        quick: at the quick scale in any case.
    """
    first = Study.from_toml(published(name), folder, quick=quick or not _fits_here(name))
    companions = [each for each in COMPANIONS.get(name, ()) if each not in left_out(name)]
    return [first, *(_companion(each, folder, quick=quick or not _fits_here(each)) for each in companions)]


def left_out(name: str) -> list[str]:
    """The companions of a study that cannot be run here, for want of JAX."""
    return [each for each in COMPANIONS.get(name, ()) if _is_deep(each) and not find_spec("jax")]


def _is_deep(name: str) -> bool:
    return any(env_kind(env.env) == "deep" for env in read_spec(published(name)).envs.values())


def _fits_here(name: str) -> bool:
    """Without a GPU the full scale of a deep study, or of a map, takes days."""
    from heavytail.studies.backends.deep import gpu_there

    return (
        published_result(name) is None
        or not (_is_deep(name) or read_spec(published(name)).maps)
        or gpu_there()
    )


def _companion(name: str, folder: Path, *, quick: bool) -> Study:
    return Study.from_toml(published(name), folder / (f"{name}-quick" if quick else name), quick=quick)
