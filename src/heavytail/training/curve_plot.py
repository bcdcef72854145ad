"""Draw the curve of a run: reward against time and, in an MDP, the regret."""

from typing import TYPE_CHECKING

import numpy as np

from heavytail.arrays import Floats, Ints
from heavytail.errors import InputError
from heavytail.planning.best_rewards import best_rates, best_rewards
from heavytail.training.curve import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MEAN, DRAWN, BEST = "#0072B2", "#9AA3AD", "#009E73"  # Okabe and Ito's blue and green, and a grey
GREY = "#444444"
SHOWN = (0.05, 0.95)  # quantiles of the drawn rewards that must be in the picture
MARGIN = 0.08  # of the height, above and below


def draw_curve(curve: Curve) -> "Figure":
    """Draw reward by episode, or by step, between checkpoints, beside the regret where it is known."""
    from matplotlib.figure import Figure  # here, because importing Matplotlib takes a while

    if not len(curve.at):
        raise InputError("plot: this curve has no checkpoint yet; learn for longer")
    panels = 2 if curve.mdp is not None else 1
    figure = Figure(figsize=(5.2 * panels, 3.6), layout="constrained")
    rewards, *others = np.atleast_1d(figure.subplots(1, panels))
    _draw_rewards(rewards, curve)
    for axes in others:
        axes.plot(curve.at, curve.regret, color=MEAN, linewidth=1.8)
        _finish(axes, curve.unit, "regret")
    return figure


def _draw_rewards(axes: "Axes", curve: Curve) -> None:
    drawn, expected = (_rates(curve.at, total) for total in (curve.realised_reward, curve.mean_reward))
    finite = drawn[np.isfinite(drawn)]
    lines = [np.quantile(finite, SHOWN)] if len(finite) else []
    if known := not np.isnan(expected).any():
        axes.plot(curve.at, expected, color=MEAN, linewidth=1.8, label="expected", zorder=3)
        lines.append(expected)
    if curve.mdp is not None:
        best = _rates(curve.at, best_rewards(curve.mdp, best_rates(curve.mdp), curve.at))
        axes.plot(
            curve.at, best, color=BEST, linewidth=1.2, linestyle=(0, (4, 2)), label="of the best policy"
        )
        lines.append(best)
    hidden = _show_all_of(axes, np.concatenate([*lines, []]), drawn)
    label = f"drawn ({hidden} beyond the picture)" if hidden else "drawn"
    axes.plot(curve.at, drawn, ".", color=DRAWN if known else MEAN, markersize=4, label=label)
    _finish(axes, curve.unit, f"reward of {'an episode' if curve.unit == 'episodes' else 'a step'}")
    if known or hidden:
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, fontsize=8, frameon=False)


def _rates(at: Ints, total: Floats) -> Floats:
    """The average since the checkpoint before; at the first, since the learner began."""
    with np.errstate(invalid="ignore"):  # infinite rewards of both signs
        return np.diff(total, prepend=0.0) / np.diff(at, prepend=0)


def _show_all_of(axes: "Axes", shown: Floats, points: Floats) -> int:
    """Choose the height such that lines are seen, whatever outliers do; count the points outside."""
    low, high = (float(shown.min()), float(shown.max())) if len(shown) else (0.0, 1.0)
    margin = MARGIN * (high - low or abs(high) or 1.0)
    axes.set_ylim(low - margin, high + margin)
    return int((~((points >= low - margin) & (points <= high + margin))).sum())


def _finish(axes: "Axes", unit: str, label: str) -> None:
    axes.set_xlabel(unit)
    axes.set_ylabel(label)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.grid(color="#E6E6E6", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=GREY, labelsize=8)
