"""The studies that come with heavytail, and the results that come with some of them.

They are in `studies/` of the repository, and in `published/` of an installed package. Studies that need a GPU
are computed once, and their results are packed beside the spec, in ``results.parquet`` or, if too large for a
package, in ``results-large.parquet``. On other machines such a study runs at its quick scale, and the
published result is shown beside it.
"""

from importlib.util import find_spec
from pathlib import Path

from heavytail.errors import InputError, suggestion
from heavytail.studies.backends.deep import gpu_there
from heavytail.studies.packed import find_results
from heavytail.studies.plugins import PLACES
from heavytail.studies.specs.reading import read_spec
from heavytail.studies.specs.spec import env_kind
from heavytail.studies.study import Study

COMPANIONS = {"paper": ("paper-deep",)}  # studies that are reproduced and reported together with another


def published(name: str) -> Path:
    """Return the spec of a study that comes with heavytail.

    >>> published("paper").name
    'spec.toml'
    """
    specs = {path.parent.name: path for place in PLACES for path in place.glob("*/spec.toml")}
    if name not in specs:
        raise InputError(f"there is no published study {name!r}; {suggestion(name, specs)}")
    return specs[name]


def published_result(name: str) -> Study | None:
    """Return the study with the results that come with heavytail, if any."""
    path = _results(name)
    return Study.open(path) if path else None


def to_reproduce(name: str, folder: Path, *, quick: bool) -> list[Study]:
    """Return a study and its companions, in separate folders, each at the scale that this machine allows.

    Args:
        name: the name of the study.
        folder: the folder of its results; those of companions lie in it.
        quick: always use the quick scale.
    """
    studies = [Study.from_toml(published(name), folder, quick=quick or not _fits_here(name))]
    for companion in COMPANIONS.get(name, ()):
        if companion not in left_out(name):
            small = quick or not _fits_here(companion)
            place = folder / (f"{companion}-quick" if small else companion)
            studies.append(Study.from_toml(published(companion), place, quick=small))
    return studies


def left_out(name: str) -> list[str]:
    """List the companions of a study that cannot run here, because JAX is missing."""
    return [each for each in COMPANIONS.get(name, ()) if _is_deep(each) and not find_spec("jax")]


def _results(name: str) -> Path | None:
    return find_results(published(name).parent)


def _is_deep(name: str) -> bool:
    return any(env_kind(env.env) == "deep" for env in read_spec(published(name)).envs.values())


def _fits_here(name: str) -> bool:
    """Return whether a study can run in full here: without a GPU, deep studies and sweeps take days."""
    is_large = _results(name) is not None and (_is_deep(name) or bool(read_spec(published(name)).maps))
    return not is_large or gpu_there()
