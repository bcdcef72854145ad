"""Draw bounds against the number of steps, on logarithmic axes."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from heavytail.arrays import Floats
from heavytail.bounds.bound import LOG_10, Bound
from heavytail.bounds.catalogue import Bounds, bounds_at, theorems
from heavytail.bounds.quantities import Quantities

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 161
DECADES = 4  # on either side of T
HEADROOM = 3.0  # decades above R T that are shown
GREY = "#444444"
DASHED = (0, (4, 2))


def draw_bounds(
    quantities: Quantities,
    T: float,
    delta: float = 0.05,
    *,
    accuracy: float = 0.1,
    changes: int = 2,
    title: str = "",
) -> "Figure":
    """Draw the bounds that apply to an MDP around T steps.

    Solid lines are tight, dashed ones those of the paper; in the grey area a bound is vacuous.
    """
    from matplotlib.figure import Figure  # here, because importing Matplotlib takes a while

    steps = 10.0 ** np.linspace(max(np.log10(T) - DECADES, 0.0), np.log10(T) + DECADES, POINTS)
    tight = bounds_at(quantities, steps, delta, accuracy=accuracy, changes=changes)
    paper = bounds_at(quantities, steps, delta, accuracy=accuracy, changes=changes, constants="paper")
    entries = theorems()
    panels = list(dict.fromkeys(entries[name].panel for name in tight.regret))
    figure = Figure(figsize=(5.6 * len(panels), 5.4), layout="constrained")
    values = f"ε = {quantities.epsilon:g}, δ = {delta:g}, λ = {accuracy:g}, ℓ = {changes}"
    figure.suptitle(f"{title}:  {values}".lstrip(": "), fontsize=11)
    x, trivial = np.log10(steps), np.log10(np.maximum(quantities.r_max - quantities.r_min, 1e-300) * steps)
    for axes, panel in zip(np.atleast_1d(figure.subplots(1, len(panels), sharey=True)), panels, strict=True):
        _set_up_axes(axes, x, trivial, _lowest(tight, float(trivial[0])))
        _draw_lines(axes, x, (name for name in tight.regret if entries[name].panel == panel), tight, paper)
        axes.axvline(np.log10(T), color=GREY, linewidth=0.8, linestyle=":")
        axes.set_title(panel, fontsize=10)
        axes.plot([], [], color=GREY, linewidth=1.0, linestyle=DASHED, label="dashed: as published")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), fontsize=8, frameon=False)
    return figure


def _set_up_axes(axes: "Axes", x: Floats, trivial: Floats, bottom: float) -> None:
    """Limits, ticks and names of the axes, and the area where bounds are vacuous."""
    from matplotlib.ticker import MaxNLocator

    top = float(trivial[-1]) + HEADROOM
    axes.fill_between(x, trivial, top, color="#EEEEEE", zorder=0, linewidth=0)
    axes.plot(x, trivial, color=GREY, linewidth=1.0, label="r_max − r_min each step: vacuous above it")
    axes.set_xlim(x[0], x[-1])
    axes.set_ylim(bottom, top)
    axes.set_xlabel("steps T")
    axes.set_ylabel("regret")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True, nbins=9))
        axis.set_major_formatter(lambda value, _: f"$10^{{{value:.0f}}}$")


def _draw_lines(axes: "Axes", x: Floats, names: Iterable[str], tight: Bounds, paper: Bounds) -> None:
    entries, top = theorems(), axes.get_ylim()[1]
    for name in names:
        heights, colour = _heights(tight.regret[name]), entries[name].colour
        order = " (order only)" if tight.regret[name].kind == "order" else ""
        above = "" if np.nanmin(heights, initial=np.inf) < top else ": above this picture"
        axes.plot(x, heights, color=colour, linewidth=1.6, label=entries[name].label + order + above)
        axes.plot(x, _heights(paper.regret[name]), color=colour, linewidth=1.0, linestyle=DASHED)


def _heights(bound: Bound) -> Floats:
    """Decimal logarithms, with gaps where a lower bound is 0."""
    heights = np.asarray(bound.log_total / LOG_10)
    return np.where(np.isfinite(heights), heights, np.nan)


def _lowest(tight: Bounds, trivial: float) -> float:
    """The lower end of the axis: below all lower bounds."""
    lower = [_heights(bound) for bound in tight.regret.values() if bound.is_lower]
    return min([trivial, *(float(np.nanmin(h)) for h in lower if np.isfinite(h).any())]) - 0.5
