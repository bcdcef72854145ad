"""Panels of reward laws: the density where most draws are, and how slowly the tail falls."""

from statistics import NormalDist
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from heavytail.arrays import Floats
from heavytail.laws.law import Law
from heavytail.mdp.diagram.labels import measure_width
from heavytail.mdp.diagram.law_families import LawFamily
from heavytail.mdp.diagram.style import REWARD_STYLES
from heavytail.mdp.diagram.text import format_means, format_number, format_states, format_tail_index

WIDTH, HEIGHT = 4.9, 2.0  # of one family, in inches
HEADER, FOOTER = 0.6, 0.45
DENSITY_WIDTH, TAIL_WIDTH = 2.75, 1.35
MAX_CURVES = 8
MAX_ATOMS = 20
MAX_NAMED_ATOMS = 4
DRAWS = 100_000
CELLS = 400  # of the histogram behind a density
FONT_SIZE = 7.5
TITLE: dict[str, Any] = {"fontsize": FONT_SIZE - 0.5, "pad": 2.0}
ATOM_LABEL: dict[str, Any] = {"textcoords": "offset points", "fontsize": FONT_SIZE, "va": "center"}


def draw_family(figure: Figure, family: LawFamily, left: float, top: float) -> None:
    """Draw one family of laws in a rectangle whose upper left corner is given in inches."""
    colour = REWARD_STYLES[family.kind].ink
    _write_header(figure, family, colour, left, top)
    atoms = _find_atoms(family.laws[0])
    if atoms is not None:
        _draw_atoms(_add_axes(figure, left + 0.4, top, WIDTH - 0.9), *atoms, family, colour)
        return
    samples = [_sample(law) for law in _choose_evenly(family.laws)]
    _draw_densities(_add_axes(figure, left + 0.05, top, DENSITY_WIDTH), samples, family, colour)
    _draw_tail(_add_axes(figure, left + WIDTH - TAIL_WIDTH, top, TAIL_WIDTH), samples[0], colour)


def _write_header(figure: Figure, family: LawFamily, colour: str, left: float, top: float) -> None:
    width, height = figure.get_size_inches()
    law = family.laws[0]
    told = f"{n:,} samples" if (n := len(law.data())) else format_tail_index(law.tail_index)
    heading = f"{law.name}, {told}"
    x, y = left / width, (top - 0.06) / height
    figure.text(x, y, heading, fontsize=9.0, color=colour, va="top", weight="bold")
    figure.text(x, y - 0.2 / height, _describe(family), fontsize=FONT_SIZE, va="top")


def _describe(family: LawFamily) -> str:
    """Return the means, and as many of the states as there is room for."""
    limits = range(len(family.states), 0, -1)
    texts = [f"{format_means(family.means)}; {format_states(family.states, limit)}" for limit in limits]
    return next((text for text in texts if measure_width(text, FONT_SIZE) < WIDTH), texts[-1])


def _add_axes(figure: Figure, left: float, top: float, width: float) -> Axes:
    inches = np.array([left, top - HEIGHT + FOOTER, width, HEIGHT - HEADER - FOOTER])
    axes = figure.add_axes(tuple(inches / np.tile(figure.get_size_inches(), 2)))
    axes.tick_params(labelsize=FONT_SIZE - 0.5, length=2, pad=1.5)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _choose_evenly(laws: list[Law]) -> list[Law]:
    """Choose at most eight laws."""
    return [laws[k] for k in np.linspace(0, len(laws) - 1, min(len(laws), MAX_CURVES)).round().astype(int)]


# Distributions


def _sample(law: Law) -> Floats:
    """Return finite draws, always the same ones."""
    draws = law.sample(DRAWS)
    return draws[np.isfinite(draws)]


def _find_atoms(law: Law) -> tuple[Floats, Floats] | None:
    """Return the values of a discrete law and their probabilities; None for a law with too many of them."""
    if (atoms := law.atoms()) is None:
        values, counts = np.unique(_sample(law), return_counts=True)
        atoms = values, counts / counts.sum()
    return atoms if len(atoms[0]) <= MAX_ATOMS else None


def _estimate_density(samples: Floats, lower: float, upper: float) -> tuple[Floats, Floats]:
    """Return a smoothed histogram between two numbers."""
    quarter, three_quarters = np.quantile(samples, [0.25, 0.75]).tolist()
    counts, edges = np.histogram(samples, CELLS, (lower, upper))
    cell = float(edges[1] - edges[0])
    bandwidth = max(0.7 * (three_quarters - quarter) * len(samples) ** -0.2, 0.5 * cell)
    reach = int(min(4 * bandwidth / cell + 1, CELLS / 2))
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) * cell / bandwidth) ** 2)
    smooth = np.convolve(counts, weights / weights.sum(), mode="full")[reach:-reach]
    return (edges[1:] + edges[:-1]) / 2, smooth / (len(samples) * cell)


def _central_range(samples: Floats) -> tuple[float, float]:
    """Return the range in which most of the draws lie."""
    low, quarter, median, three_quarters, high = np.quantile(
        samples, [0.001, 0.25, 0.5, 0.75, 0.999]
    ).tolist()
    spread = three_quarters - quarter or high - low or 1.0  # most draws may be equal
    return max(low, median - 3.2 * spread) - 0.1 * spread, min(high, median + 3.2 * spread) + 0.1 * spread


# Axes


def _draw_densities(axes: Axes, samples: list[Floats], family: LawFamily, colour: str) -> None:
    """Draw the densities where most of the draws are, and say how many are beyond."""
    lower, upper = _central_range(np.concatenate(samples))
    for k, each in enumerate(samples):
        x, y = _estimate_density(each, lower, upper)
        alpha = 0.45 + 0.55 * (k + 1) / len(samples)
        axes.plot(x, y, color=colour, alpha=alpha, linewidth=1.2)
        axes.fill_between(x, y, color=colour, alpha=0.12 / len(samples), linewidth=0)
    for mean in family.means if len(family.means) <= MAX_CURVES else []:
        if lower < mean < upper:
            axes.axvline(mean, color="#888888", linewidth=0.6, linestyle=":")
    axes.set(xlim=(lower, upper), ylim=(0.0, None), yticks=[])
    axes.set_title("density", loc="left", **TITLE)
    outside = float(np.mean((samples[0] < lower) | (samples[0] > upper)))
    text = f"reward ({100 * outside:.0f} % of draws lie outside)" if outside >= 0.005 else "reward"
    more = f"; {len(samples)} of {len(family.laws)} laws drawn" if len(samples) < len(family.laws) else ""
    axes.set_xlabel(text + more, fontsize=FONT_SIZE, labelpad=1.5)


def _draw_tail(axes: Axes, samples: Floats, colour: str) -> None:
    """Draw the probability of being farther from the median than x, beside that of a normal law as wide."""
    distances = np.sort(np.abs(samples - np.median(samples)))[::-1]
    n = len(distances)
    levels = np.geomspace(min(0.5, np.count_nonzero(distances) / n), 10 / n, 60)
    x = distances[(levels * n).astype(int) - 1]
    axes.loglog(x, levels, color=colour, linewidth=1.4, zorder=3)
    if levels[0] == 0.5:
        _draw_normal_tail(axes, float(x[0]), levels.tolist())
    axes.set_xlim(0.8 * float(x[0]), max(2.0 * float(x[-1]), 30.0 * float(x[0])))
    axes.set_ylim(0.4 * float(levels[-1]), 0.7)
    axes.minorticks_off()
    axes.set_title("P(|reward − median| > x)", **TITLE)
    axes.set_xlabel("x", fontsize=FONT_SIZE, labelpad=0.0)


def _draw_normal_tail(axes: Axes, half_width: float, levels: list[float]) -> None:
    """Draw the tail of the normal law with half its draws within `half_width` of the median."""
    normal = NormalDist(sigma=half_width / NormalDist().inv_cdf(0.75))
    x = [normal.inv_cdf(1.0 - level / 2) for level in levels]
    axes.plot(x, levels, color="#999999", linewidth=1.0, linestyle="--")
    axes.text(x[-1], levels[-1], " normal", fontsize=FONT_SIZE - 1, color="#777777", va="bottom")


def _draw_atoms(axes: Axes, values: Floats, probabilities: Floats, family: LawFamily, colour: str) -> None:
    """Draw the values of a discrete law, on a logarithmic axis because the rare ones matter."""
    floor = 0.3 * float(probabilities[probabilities > 0].min())
    axes.vlines(values, floor, probabilities, color=colour, linewidth=2)
    axes.semilogy(values, probabilities, "o", color=colour, markersize=4)
    for value, p in zip(values, probabilities, strict=True) if len(values) <= MAX_NAMED_ATOMS else ():
        text = f"{format_number(value)} with probability {format_number(p)}"
        side, align = (6, "left") if value <= values.mean() else (-6, "right")
        axes.annotate(text, (value, p), (side, 0), ha=align, **ATOM_LABEL)
    margin = 0.05 * max(float(np.ptp(values)), 1e-9)
    axes.set(xlim=(float(values.min()) - margin, float(values.max()) + margin), ylim=(floor, 2.0))
    axes.minorticks_off()
    axes.set_title("probability", loc="left", **TITLE)
    which = f" (one of {len(family.laws)} laws drawn, with the smallest mean)" if len(family.laws) > 1 else ""
    axes.set_xlabel(f"reward{which}", fontsize=FONT_SIZE, labelpad=1.5)
