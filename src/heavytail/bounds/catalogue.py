"""Every bound for a given MDP: what is exactly true of it goes into the formulas.

A file that registers a bound adds it to `bounds_of`, the plot, ``heavytail bounds`` and the bounds that
studies can show::

    @register("bound", "trivial")
    def trivial() -> CatalogueEntry:
        return CatalogueEntry(trivial_regret, "by definition", panel="in the long run", label="R T")

    def trivial_regret(T, *, reward_range, constants="tight") -> Bound:
        ...

The parameters of the function say what it needs: T, delta, accuracy, changes, constants, any field of
`Quantities`, `reward_range` and `moment`. Where one of them is not known for an MDP, the bound is left out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from heavytail.bounds._arguments import Constants
from heavytail.bounds.bound import Bound, SampleSize, Steps
from heavytail.bounds.quantities import Quantities, quantities_of
from heavytail.errors import InputError
from heavytail.mdp import MDP
from heavytail.registry import registered


class CatalogueEntry(NamedTuple):
    """A bound as the catalogue lists it; builders of the kind "bound" return it."""

    function: Callable[..., Any]  # gives a Bound, or with no panel Steps or a SampleSize
    theorem: str  # where it is stated
    rank: int = 1000  # order in tables and legends
    panel: str = ""  # of the plot; empty for a number of steps
    label: str = ""  # in legends
    colour: str = "#6B6B00"


@dataclass(frozen=True)
class Collection:
    """Every bound that applies to an MDP, and why others do not."""

    quantities: Quantities
    regret: dict[str, Bound]
    steps: dict[str, Steps | SampleSize]
    left_out: dict[str, str]


def registered_bounds() -> dict[str, CatalogueEntry]:
    """Collect all registered bounds by name, in the order of tables and legends.

    >>> registered_bounds()["changing"].theorem
    'theorem 3'
    """
    entries: dict[str, CatalogueEntry] = {entry.name: entry.builder() for entry in registered("bound")}
    return dict(sorted(entries.items(), key=lambda item: (item[1].rank, item[0])))


def bounds_of(
    mdp: MDP,
    T: npt.ArrayLike,
    delta: npt.ArrayLike = 0.05,
    epsilon: float | None = None,
    *,
    accuracy: npt.ArrayLike = 0.1,
    changes: npt.ArrayLike = 2,
    constants: Constants = "tight",
) -> Collection:
    """Compute every bound for an MDP from its exact quantities.

    Args:
        mdp: the MDP. In episodes the bounds of UCRL2 read it as continuing, with the end of an episode
            leading back to the start.
        T: steps.
        delta: one minus the confidence.
        epsilon: rewards have a moment of order 1 + epsilon; by default halfway to their tail index, at most
            1.
        accuracy: lambda, the average regret for which sample sizes are asked, and that of theorem 2.
        changes: l of theorem 3.
        constants: "tight" or "paper".

    >>> import heavytail as ht
    >>> bounds = bounds_of(ht.make_mdp("two_state"), 1e9)
    >>> sorted(bounds.regret)
    ['changing', 'heavy_ucrl2', 'heavy_ucrl2_expected', 'heavy_ucrl2_gap', 'lower_bound', 'ucrl2']
    """
    return bounds_at(
        quantities_of(mdp, epsilon), T, delta, accuracy=accuracy, changes=changes, constants=constants
    )


def bounds_at(
    quantities: Quantities,
    T: npt.ArrayLike,
    delta: npt.ArrayLike = 0.05,
    *,
    accuracy: npt.ArrayLike = 0.1,
    changes: npt.ArrayLike = 2,
    constants: Constants = "tight",
) -> Collection:
    """Compute every bound from the quantities of an MDP; see `bounds_of`."""
    q = quantities
    known: dict[str, Any] = vars(q) | {
        "reward_range": q.r_max - q.r_min,
        "r_max": max(q.r_max, 0.0) - min(q.r_min, 0.0),
        "moment": q.raw_moment,
        "T": T,
        "delta": delta,
        "accuracy": accuracy,
        "changes": changes,
        "constants": constants,
    }
    collection = Collection(q, {}, {}, {})
    for name, entry in registered_bounds().items():
        arguments = _select_arguments(name, entry.function, known)
        reason = _missing(q, arguments)
        if reason:
            collection.left_out[name] = reason
        elif entry.panel:
            collection.regret[name] = entry.function(**arguments)
        else:
            collection.steps[name] = entry.function(**arguments)
    return collection


def _select_arguments(name: str, function: Callable[..., Any], known: dict[str, Any]) -> dict[str, Any]:
    """The arguments that a function's signature asks for."""
    parameters = signature(function).parameters
    for parameter in parameters.values():
        if parameter.name not in known and parameter.default is parameter.empty:
            raise InputError(
                f"the bound {name!r} needs {parameter.name!r}; bounds are given {', '.join(sorted(known))}"
            )
    return {parameter: known[parameter] for parameter in parameters if parameter in known}


def _missing(q: Quantities, arguments: dict[str, Any]) -> str:
    """Say why a bound with these arguments does not apply; empty if it does."""
    if "H" in arguments and q.H is None:
        return "the problem is continuing"
    if "diameter" in arguments and q.diameter is None:
        return "there is no long run" if q.gain is None else "too many states for the diameter"
    if "diameter" in arguments and not np.isfinite(q.diameter or 0.0):
        return "some states cannot be reached from others: the diameter is infinite"
    if "gap" in arguments and not q.gap:
        return "too many policies to find the gap" if q.gap is None else "all policies are optimal"
    unknown = [name for name, value in arguments.items() if value is None]
    return f"{unknown[0]} is not known" if unknown else ""
