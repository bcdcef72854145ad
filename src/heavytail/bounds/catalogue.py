"""The catalogue of bounds, computed from the exact quantities of an MDP or from given numbers.

A file that registers a theorem adds it to `bounds_of`, the plot, ``heavytail bounds`` and the bounds that
studies can show::

    @theorem("by definition", ("r_max",), panel="in the long run", label="R T")
    def trivial(case: Case) -> Bound:
        ...

A bound is left out if a quantity that it needs is not known.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from heavytail.bounds.bound import Bound, Steps
from heavytail.bounds.quantities import Case, Constants, Quantities, checked, quantities_of
from heavytail.errors import InputError, suggestion
from heavytail.mdp import MDP
from heavytail.registry import register, registered

Compute: TypeAlias = Callable[[Case], Any]  # gives a Bound, or with no panel Steps
LONG_RUN, EPISODES = "in the long run", "in episodes"  # panels


class Theorem(NamedTuple):
    """A bound as the catalogue lists it."""

    compute: Compute
    where: str  # it is stated in the literature
    needs: tuple[str, ...]  # the fields of a `Case` that must be known
    rank: int = 1000  # order in tables and legends
    panel: str = ""  # of the plot; empty for a number of steps
    label: str = ""  # in legends
    colour: str = "#6B6B00"


def theorem(where: str, needs: tuple[str, ...], **listed: Any) -> Callable[[Compute], Compute]:
    """Register the decorated function as the bound of its name; `Theorem` explains the arguments."""

    def add(compute: Compute) -> Compute:
        entry = Theorem(compute, where, needs, **listed)

        def build() -> Theorem:
            return entry

        build.__module__, build.__doc__ = compute.__module__, compute.__doc__
        register("bound", compute.__name__)(build)
        return compute

    return add


@dataclass(frozen=True)
class Bounds:
    """Every bound that applies to an MDP, and why others do not."""

    quantities: Quantities
    regret: dict[str, Bound]
    steps: dict[str, Steps]
    left_out: dict[str, str]


def theorems() -> dict[str, Theorem]:
    """Collect all registered bounds by name, in the order of tables and legends.

    >>> theorems()["changing"].where
    'theorem 3'
    """
    entries: dict[str, Theorem] = {entry.name: entry.builder() for entry in registered("bound")}
    return dict(sorted(entries.items(), key=lambda item: (item[1].rank, item[0])))


def compute_bound(name: str, T: npt.ArrayLike | None = None, **quantities: Any) -> Any:
    """Compute one bound from numbers or arrays: a `Bound` on regret, or `Steps`.

    Args:
        name: as ``heavytail bounds`` has it.
        T: steps, of a bound on regret.
        **quantities: fields of `heavytail.bounds.Quantities`, and delta (0.05), accuracy (0.1), changes (2),
            constants ("tight" or "paper") and estimator ("truncated_mean" or "median_of_means").

    >>> world = {"S": 2, "A": 2, "diameter": 2, "r_max": 1, "raw_moment": 1, "epsilon": 0.5}
    >>> bound = compute_bound("heavy_ucrl2", [1e6, 1e12], **world)
    >>> bound.rules.tolist(), bound.vacuous.tolist(), f"{bound.crossing[0]:.0e}"
    (['heavy_tail', 'heavy_tail'], [True, False], '1e+02')
    """
    every = theorems()
    if name not in every:
        raise InputError(f"there is no bound {name!r}; {suggestion(name, every)}")
    fields_of_case = [field.name for field in fields(Case)]
    if unknown := sorted({*quantities} - {*fields_of_case}):
        raise InputError(f"there is no quantity {unknown[0]!r}; {suggestion(unknown[0], fields_of_case)}")
    case = checked(Case(T=T, **quantities), name)
    if reason := _missing(name, every[name], case):
        raise InputError(f"{name} needs {', '.join(every[name].needs)}: {reason}")
    return every[name].compute(case)


def bounds_of(
    mdp: MDP,
    T: npt.ArrayLike,
    delta: npt.ArrayLike = 0.05,
    epsilon: float | None = None,
    *,
    accuracy: npt.ArrayLike = 0.1,
    changes: npt.ArrayLike = 2,
    constants: Constants = "tight",
) -> Bounds:
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
) -> Bounds:
    """Compute every bound from the quantities of an MDP; see `bounds_of`."""
    case = Case(**vars(quantities), T=T, delta=delta, accuracy=accuracy, changes=changes, constants=constants)
    case = checked(case, "bounds_of")
    found = Bounds(quantities, {}, {}, {})
    for name, entry in theorems().items():
        if reason := _missing(name, entry, case):
            found.left_out[name] = reason
        elif entry.panel:
            found.regret[name] = entry.compute(case)
        else:
            found.steps[name] = entry.compute(case)
    return found


def _missing(name: str, entry: Theorem, case: Case) -> str:
    """Return the reason why a bound does not apply; empty if it does."""
    needs = (*entry.needs, "T") if entry.panel else entry.needs
    for need in needs:
        if not hasattr(Case, need):
            known = ", ".join(sorted(field.name for field in fields(case)))
            raise InputError(f"the bound {name!r} needs {need!r}; bounds are given {known}")
    return next(filter(None, (_why_unknown(need, case) for need in needs)), "")


def _why_unknown(name: str, case: Case) -> str:
    value = getattr(case, name)
    if value is None:
        reasons = {
            "H": "the problem is continuing",
            "diameter": "there is no long run" if case.gain is None else "too many states for the diameter",
            "gap": "too many policies to find the gap",
            "moment": f"the moment that the {case.estimator} needs is not known",
        }
        return reasons.get(name, f"{name} is not known")
    if name == "diameter" and not np.isfinite(value).all():
        return "some states cannot be reached from others: the diameter is infinite"
    return "all policies are optimal" if name == "gap" and not np.all(value) else ""
