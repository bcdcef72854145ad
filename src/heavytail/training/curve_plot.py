"""Draw the curve of a run: reward against time and, in an MDP, the regret."""

from typing import TYPE_CHECKING

import numpy as np

from heavytail.arrays import Floats, Ints
from heavytail.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EXPECTED, DRAWN, BEST = "#0072B2", "#9AA3AD", "#009E73"  # Okabe and Ito's blue and green, and a grey
GREY = "#444444"
SHOWN = (0.05, 0.95)  # quantiles of the drawn rewards that must be in the picture
MARGIN = 0.08  # of the height, above and below


def draw_curve(unit: str, at: Ints, drawn: Floats, expected: Floats, best: Floats | None) -> "Figure":
    """Draw the reward of an episode, or of a step, and the regret where it is known.

    Args:
        unit: "episodes" or "steps".
        at: the checkpoints.
        drawn: the cumulative rewards at them.
        expected: their means, NaN where they are not known.
        best: those of the best policy, where it is known.
    """
    from matplotlib.figure import Figure  # here, because importing Matplotlib takes a while

    if not len(at):
        raise InputError("plot: this curve has no checkpoint yet; learn for longer")
    panels = 1 if best is None else 2
    figure = Figure(figsize=(5.2 * panels, 3.6), layout="constrained")
    rewards, *others = np.atleast_1d(figure.subplots(1, panels))
    rates = [_rates(at, total) for total in (drawn, expected, best) if total is not None]
    _draw_rewards(rewards, at, *rates)
    if best is not None:
        others[0].plot(at, best - expected, color=EXPECTED, linewidth=1.8)
        _finish(others[0], unit, "regret")
    _finish(rewards, unit, f"reward of {'an episode' if unit == 'episodes' else 'a step'}")
    if len(rewards.lines) > 1:
        rewards.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, fontsize=8, frameon=False)
    return figure


def _rates(at: Ints, total: Floats) -> Floats:
    """The average since the checkpoint before; at the first, since the learner began."""
    with np.errstate(invalid="ignore"):  # infinite rewards of both signs
        return np.diff(total, prepend=0.0) / np.diff(at, prepend=0)


def _draw_rewards(
    axes: "Axes", at: Ints, drawn: Floats, expected: Floats, best: Floats | None = None
) -> None:
    """Draw all of them, at a height at which the lines are seen, whatever outliers there are."""
    known, finite = not np.isnan(expected).any(), drawn[np.isfinite(drawn)]
    lines = [line for line in (expected if known else None, best) if line is not None]
    shown = np.concatenate([np.quantile(finite, SHOWN) if len(finite) else [], *lines])
    low, high = (float(shown.min()), float(shown.max())) if len(shown) else (0.0, 1.0)
    margin = MARGIN * (high - low or abs(high) or 1.0)
    axes.set_ylim(low - margin, high + margin)
    hidden = len(drawn) - int(((drawn >= low - margin) & (drawn <= high + margin)).sum())
    if known:
        axes.plot(at, expected, color=EXPECTED, linewidth=1.8, label="expected", zorder=3)
    if best is not None:
        axes.plot(at, best, color=BEST, linewidth=1.2, linestyle=(0, (4, 2)), label="of the best policy")
    label = f"drawn ({hidden} beyond the picture)" if hidden else "drawn"
    axes.plot(at, drawn, ".", color=DRAWN if known else EXPECTED, markersize=4, label=label)


def _finish(axes: "Axes", unit: str, label: str) -> None:
    axes.set_xlabel(unit)
    axes.set_ylabel(label)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.grid(color="#E6E6E6", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=GREY, labelsize=8)
