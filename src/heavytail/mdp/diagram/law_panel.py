"""The panel of reward laws: how each is distributed in the middle, and how slowly its tail falls."""

from statistics import NormalDist

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from heavytail.arrays import Floats
from heavytail.laws.table import LawTable
from heavytail.mdp.diagram.contents import number_in_words
from heavytail.mdp.diagram.labels import width_of
from heavytail.mdp.diagram.law_families import (
    Family,
    atoms_of,
    density,
    means_in_words,
    sample_law,
    states_in_words,
    tail_in_words,
)
from heavytail.mdp.diagram.style import INK

WIDTH, HEIGHT = 4.9, 2.0  # of one family, in inches
HEADER, FOOTER = 0.6, 0.45
MIDDLE, TAIL = 2.75, 1.35  # widths of the two axes
MAX_CURVES = 8
SMALL = 7.5


def draw_family(figure: Figure, table: LawTable, family: Family, left: float, top: float) -> None:
    """One family of laws, in a rectangle whose upper left corner is given in inches."""
    figure_width, figure_height = figure.get_size_inches()

    def axes(x: float, width: float) -> Axes:
        bottom, height = top - HEIGHT + FOOTER, HEIGHT - HEADER - FOOTER
        made = figure.add_axes(
            (x / figure_width, bottom / figure_height, width / figure_width, height / figure_height)
        )
        made.tick_params(labelsize=SMALL - 0.5, length=2, pad=1.5)
        made.spines[["top", "right"]].set_visible(False)
        return made

    for k, (text, size, colour) in enumerate(
        [(_heading(family), 9.0, INK[family.pay]), (_details(family), SMALL, "black")]
    ):
        y = (top - 0.06 - 0.2 * k) / figure_height
        figure.text(
            left / figure_width,
            y,
            text,
            fontsize=size,
            color=colour,
            va="top",
            weight="bold" if k == 0 else "normal",
        )
    atoms = atoms_of(table, family.laws[0], family.kind)
    if atoms is not None and not len(atoms[0]):
        figure.text(
            left / figure_width,
            (top - HEADER) / figure_height,
            "every draw is infinite",
            fontsize=SMALL,
            va="top",
        )
    elif atoms is not None:
        _draw_atoms(axes(left + 0.4, WIDTH - 0.9), *atoms, family)
    else:
        shown = _some(family.laws)
        _draw_middle(axes(left + 0.05, MIDDLE), [sample_law(table, i) for i in shown], family)
        _draw_tail(axes(left + WIDTH - TAIL, TAIL), sample_law(table, shown[0]), family)


def _heading(family: Family) -> str:
    return ", ".join(part for part in (family.kind, tail_in_words(family.tail)) if part)


def _details(family: Family) -> str:
    """The means, and as many of the states as there is room for."""
    means = means_in_words(family.means)
    texts = [
        "; ".join(part for part in (means, states_in_words(family.states, most)) if part)
        for most in range(len(family.states), 0, -1)
    ]
    return next((text for text in texts if width_of(text, SMALL) < WIDTH), texts[-1])


def _some(laws: list[int]) -> list[int]:
    """At most eight, evenly chosen."""
    return [laws[k] for k in np.linspace(0, len(laws) - 1, min(len(laws), MAX_CURVES)).round().astype(int)]


def _draw_middle(axes: Axes, samples: list[Floats], family: Family) -> None:
    """The densities where most of the draws are, and how many are beyond."""
    lower, upper = _middle(np.concatenate(samples))
    for k, each in enumerate(samples):
        x, y = density(each, lower, upper)
        strength = 0.45 + 0.55 * (k + 1) / len(samples)
        axes.plot(x, y, color=INK[family.pay], alpha=strength, linewidth=1.2)
        axes.fill_between(x, y, color=INK[family.pay], alpha=0.12 / len(samples), linewidth=0)
    for mean in family.means if len(family.means) <= MAX_CURVES else []:
        if lower < mean < upper:
            axes.axvline(mean, color="#888888", linewidth=0.6, linestyle=":")
    axes.set_xlim(lower, upper)
    axes.set_ylim(bottom=0.0)
    axes.set_yticks([])
    axes.set_title("density", fontsize=SMALL - 0.5, pad=2.0, loc="left")
    beyond = float(np.mean((samples[0] < lower) | (samples[0] > upper)))
    more = f"; {len(samples)} of {len(family.laws)} laws drawn" if len(samples) < len(family.laws) else ""
    outside = f" ({100 * beyond:.0f} % of draws lie outside)" if beyond >= 0.005 else ""
    axes.set_xlabel(f"reward{outside}{more}", fontsize=SMALL, labelpad=1.5)


def _middle(samples: Floats) -> tuple[float, float]:
    low, quarter, median, three, high = np.quantile(samples, [0.001, 0.25, 0.5, 0.75, 0.999]).tolist()
    spread = (
        three - quarter or high - low or 1.0
    )  # where most draws are equal there is nothing between the quarters
    return max(low, median - 3.2 * spread) - 0.1 * spread, min(high, median + 3.2 * spread) + 0.1 * spread


def _draw_tail(axes: Axes, samples: Floats, family: Family) -> None:
    """The probability of being farther from the median than x, beside that of a normal law as wide."""
    distances = np.sort(np.abs(samples - np.median(samples)))[::-1]
    n = len(distances)
    levels = np.geomspace(min(0.5, np.count_nonzero(distances) / n), 10 / n, 60)
    x = distances[(levels * n).astype(int) - 1]
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.plot(x, levels, color=INK[family.pay], linewidth=1.4, zorder=3)
    if levels[0] == 0.5:
        spread = float(x[0]) / NormalDist().inv_cdf(0.75)
        normal = [spread * NormalDist().inv_cdf(1.0 - level / 2) for level in levels.tolist()]
        axes.plot(normal, levels, color="#999999", linewidth=1.0, linestyle="--")
        axes.text(
            normal[-1],
            float(levels[-1]),
            " normal",
            fontsize=SMALL - 1,
            color="#777777",
            va="bottom",
            ha="left",
        )
    axes.set_xlim(0.8 * float(x[0]), max(2.0 * float(x[-1]), 30.0 * float(x[0])))
    axes.set_ylim(0.4 * float(levels[-1]), 0.7)
    axes.minorticks_off()
    axes.set_title("P(|reward − median| > x)", fontsize=SMALL - 0.5, pad=2.0)
    axes.set_xlabel("x", fontsize=SMALL, labelpad=0.0)


def _draw_atoms(axes: Axes, values: Floats, chances: Floats, family: Family) -> None:
    """The values of a discrete law, on a logarithmic axis: the rare ones matter."""
    colour = INK[family.pay]
    floor = 0.3 * float(chances[chances > 0].min())
    axes.vlines(values, floor, chances, color=colour, linewidth=2)
    axes.plot(values, chances, "o", color=colour, markersize=4)
    if len(values) <= 4:
        for value, chance in zip(values, chances, strict=True):
            words = f"{number_in_words(value)} with probability {number_in_words(chance)}"
            left = value <= values.mean()
            axes.annotate(
                words,
                (value, chance),
                (6 if left else -6, 0),
                textcoords="offset points",
                fontsize=SMALL,
                ha="left" if left else "right",
                va="center",
            )
    reach = max(float(np.ptp(values)), 1e-9)
    axes.set_xlim(float(values.min()) - 0.05 * reach, float(values.max()) + 0.05 * reach)
    axes.set_yscale("log")
    axes.set_ylim(floor, 2.0)
    axes.set_title("probability", fontsize=SMALL - 0.5, pad=2.0, loc="left")
    axes.minorticks_off()
    which = f" (one of {len(family.laws)} laws drawn, with the smallest mean)" if len(family.laws) > 1 else ""
    axes.set_xlabel(f"reward{which}", fontsize=SMALL, labelpad=1.5)
