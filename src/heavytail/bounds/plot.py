"""Bounds against the number of steps, on logarithmic axes."""

from typing import TYPE_CHECKING

import numpy as np

from heavytail.bounds.bound import LOG_10, Bound
from heavytail.bounds.catalogue import Collection, bounds_at
from heavytail.bounds.quantities import Quantities

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

POINTS = 161
DECADES = 4  # on either side of T
HEADROOM = 3.0  # decades above R T that are shown
PANELS = {
    "in the long run": (
        "heavy_ucrl2",
        "heavy_ucrl2_gap",
        "heavy_ucrl2_expected",
        "changing",
        "ucrl2",
        "lower_bound",
    ),
    "in episodes": ("heavy_q_hoeffding", "heavy_q_bernstein", "q_learning", "ucbvi", "episodic_lower_bound"),
}
STYLES = {
    "heavy_ucrl2": ("#C22F00", "Heavy-UCRL2"),
    "heavy_ucrl2_gap": ("#B0528A", "Heavy-UCRL2, any λ"),
    "heavy_ucrl2_expected": ("#7A5CC8", "Heavy-UCRL2, expected, by the gap"),
    "changing": ("#B35900", "Heavy-UCRL2, changing MDP"),
    "ucrl2": ("#0072B2", "UCRL2, were tails light"),
    "lower_bound": ("#00875F", "no agent is below on all MDPs of this size"),
    "heavy_q_hoeffding": ("#C22F00", "Heavy-Q-Learning, Hoeffding"),
    "heavy_q_bernstein": ("#B0528A", "Heavy-Q-Learning, Bernstein"),
    "q_learning": ("#0072B2", "Q-learning, were rewards known"),
    "ucbvi": ("#7A5CC8", "UCBVI, were rewards known"),
    "episodic_lower_bound": ("#00875F", "no agent is below on all MDPs of this size"),
}


def draw_bounds(
    quantities: Quantities,
    T: float,
    delta: float = 0.05,
    *,
    accuracy: float = 0.1,
    changes: int = 2,
    title: str = "",
) -> "Figure":
    """The bounds that apply to an MDP around T steps.

    Solid the tight ones, dashed those of the paper; grey is where a bound says nothing.
    """
    from matplotlib.figure import Figure

    steps = 10.0 ** np.linspace(max(np.log10(T) - DECADES, 0.0), np.log10(T) + DECADES, POINTS)
    tight = bounds_at(quantities, steps, delta, accuracy=accuracy, changes=changes)
    paper = bounds_at(quantities, steps, delta, accuracy=accuracy, changes=changes, constants="paper")
    panels = [name for name, members in PANELS.items() if any(each in tight.regret for each in members)]
    figure = Figure(figsize=(5.6 * len(panels), 5.4), layout="constrained")
    figure.suptitle(
        f"{title}:  ε = {quantities.epsilon:g}, δ = {delta:g}, λ = {accuracy:g}, ℓ = {changes}".lstrip(": "),
        fontsize=11,
    )
    for axes, name in zip(np.atleast_1d(figure.subplots(1, len(panels), sharey=True)), panels, strict=True):
        _panel(axes, name, quantities, steps, T, tight, paper)
    return figure


def _panel(
    axes: "Axes", name: str, q: Quantities, steps: np.ndarray, T: float, tight: Collection, paper: Collection
) -> None:
    x, trivial = np.log10(steps), np.log10(np.maximum(q.r_max - q.r_min, 1e-300) * steps)
    top, bottom = float(trivial[-1]) + HEADROOM, _bottom(tight, float(trivial[0]))
    axes.fill_between(x, trivial, top, color="#EEEEEE", zorder=0, linewidth=0)
    axes.plot(
        x, trivial, color="#444444", linewidth=1.0, label="r_max − r_min each step: above it nothing is said"
    )
    for member in (each for each in PANELS[name] if each in tight.regret):
        own, (colour, words) = _heights(tight.regret[member]), STYLES[member]
        words += " (order only)" if tight.regret[member].kind == "order" else ""
        off = "" if own.min() < top else ": above this picture"
        axes.plot(x, own, color=colour, linewidth=1.6, label=words + off)
        axes.plot(x, _heights(paper.regret[member]), color=colour, linewidth=1.0, linestyle=(0, (4, 2)))
    axes.axvline(np.log10(T), color="#444444", linewidth=0.8, linestyle=":")
    axes.set_xlim(x[0], x[-1])
    axes.set_ylim(bottom, top)
    axes.set_title(name, fontsize=10)
    axes.set_xlabel("steps T")
    axes.set_ylabel("regret")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(_locator())
        axis.set_major_formatter(lambda value, _: f"$10^{{{value:.0f}}}$")
    axes.plot([], [], color="#444444", linewidth=1.0, linestyle=(0, (4, 2)), label="dashed: as published")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), fontsize=8, frameon=False)


def _locator() -> "MaxNLocator":
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(integer=True, nbins=9)


def _heights(bound: Bound) -> np.ndarray:
    """Decimal logarithms, with gaps where a lower bound says nothing."""
    heights = np.asarray(bound.log_total / LOG_10)
    return np.where(np.isfinite(heights), heights, np.nan)


def _bottom(tight: Collection, trivial: float) -> float:
    lows = [
        float(np.nanmin(_heights(bound)))
        for name, bound in tight.regret.items()
        if name.endswith("lower_bound") and np.isfinite(bound.log_total).any()
    ]
    return min([trivial, *lows]) - 0.5
