"""Pictures of a reward law: its density, or its values, and how fast its tail falls."""

import math
from statistics import NormalDist
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from heavytail.arrays import Floats

DRAWS = 100_000
MAX_VALUES = 20  # above this, a discrete law is not drawn value by value
HEAVY, LIGHT = "#C22F00", "#0060A0"


def plot_law(law: Any, figure: Any = None) -> Any:
    """Draw a law on a figure or part of one; on a new figure if none is given."""
    figure = Figure((5.0, 2.1)) if figure is None else figure
    figure.suptitle(repr(law), x=0.02, ha="left", fontsize=8.0)
    figure.subplots_adjust(left=0.09, right=0.97, bottom=0.23, top=0.68, wspace=0.35)
    draws, colour = law.sample(DRAWS), HEAVY if law.tail_index < math.inf else LIGHT
    values, counts = np.unique(draws, return_counts=True)
    values, probabilities = law.atoms() or (values, counts / DRAWS)
    if len(values) <= MAX_VALUES:
        _draw_values(figure.subplots(), values, probabilities, colour)
    else:
        density, tail = figure.subplots(1, 2, width_ratios=(2, 1))
        _draw_density(density, draws, colour)
        _draw_tail(tail, draws, colour)
    for axes in figure.axes:
        axes.tick_params(labelsize=7.0)
        axes.xaxis.label.set_size(7.5)
        axes.title.set_size(7.5)
    return figure


def _draw_density(axes: Axes, draws: Floats, colour: str) -> None:
    """Draw a histogram of the bulk of the draws, and label the share outside it."""
    low, quarter, half, three_quarters, high = np.quantile(draws, [0.001, 0.25, 0.5, 0.75, 0.999]).tolist()
    spread = three_quarters - quarter or high - low or 1.0  # most draws may be equal
    lower, upper = max(low, half - 3.2 * spread), min(high, half + 3.2 * spread)
    axes.stairs(*np.histogram(draws, 60, (lower, upper)), fill=True, color=colour, alpha=0.35)
    outside = np.mean((draws < lower) | (draws > upper))
    axes.set(xlim=(lower, upper), yticks=[], title="density", xlabel=f"reward ({outside:.1%} lie outside)")


def _draw_tail(axes: Axes, draws: Floats, colour: str) -> None:
    """Draw the probability of a distance above x from the median, beside an equally wide normal law's."""
    levels = np.geomspace(0.5, 1e-4, 60)
    x = np.quantile(np.abs(draws - np.median(draws)), 1.0 - levels)
    normal = np.array([NormalDist().inv_cdf(1.0 - level / 2) for level in levels])
    axes.loglog(x[x > 0], levels[x > 0], color=colour)
    axes.loglog(x[0] * normal / normal[0], levels, color="#999999", linestyle="--")
    axes.minorticks_off()
    axes.set(title="P(|reward − median| > x)", xlabel="x (dashed: normal)")


def _draw_values(axes: Axes, values: Floats, probabilities: Floats, colour: str) -> None:
    """Draw the values of a discrete law, on a logarithmic axis because the rare ones matter."""
    floor = float(probabilities[probabilities > 0].min()) / 3
    axes.stem(values, probabilities, linefmt=colour, basefmt=" ", bottom=floor)
    axes.set(yscale="log", ylim=(floor, 2.0), title="probability", xlabel="reward")
    axes.minorticks_off()
