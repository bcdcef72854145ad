r"""Pictures of tails: survival with its fit, the index against the threshold, the share of the largest.

The last is the ratio of the maximum to the sum of abs(r - median)^p over the first n rewards: it goes to 0 if
and only if the moment of order p is finite (O'Brien 1980; Embrechts, Klueppelberg and Mikosch 1997, section
6.2.6).
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from heavytail.arrays import Floats
from heavytail.tails.tail import MIN_EXCESSES, NORMAL_QUANTILE, Tail

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from heavytail.tails.diagnosis import Diagnosis

UPPER, LOWER = "#0072B2", "#D55E00"  # of Okabe and Ito's set, for all kinds of colour vision
GREY = "#444444"
PADDING = 0.12  # inches around a panel, so that labels of axes do not touch the next one
POINTS = 300  # of a curve
THRESHOLDS = 25
SHAPES = (1.5, -0.5)  # the ends of the axis of indices, which is one of shapes: infinity has its place there
INDICES = (0.75, 1.0, 1.5, 2.0, 3.0, 5.0, math.inf)  # its ticks
LEGEND: dict[str, Any] = {"fontsize": 9, "facecolor": "white", "edgecolor": "none", "framealpha": 0.7}
BEHIND_TEXT = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.6}


def draw_diagnoses(diagnoses: Mapping[str, "Diagnosis"]) -> "Figure":
    """Draw diagnoses, a row of three panels for each, under their titles."""
    from matplotlib.figure import Figure  # here, because importing Matplotlib takes a while

    figure = Figure(figsize=(13.0, 3.9 * len(diagnoses)))
    figure.set_layout_engine("constrained", w_pad=PADDING, h_pad=PADDING)
    rows = figure.subplots(len(diagnoses), 3, squeeze=False)
    for row, (title, found) in zip(rows, diagnoses.items(), strict=True):
        samples = np.sort(found.rewards)
        _draw_survival(row[0], found, samples)
        _draw_indices(row[1], found, samples)
        _draw_shares(row[2], found)
        heading = f"{found.n:,} rewards"
        row[0].set_title(f"{title}: {heading}" if title else heading, loc="left", fontsize=11)
        for axes in row:
            axes.grid(which="major", color="#E6E6E6", linewidth=0.6)
            axes.spines[["top", "right"]].set_visible(False)
    return figure


def _sides(found: "Diagnosis", samples: Floats) -> list[tuple[str, str, Tail, Floats, float]]:
    """List the sides: name, colour, tail, samples that ascend towards its end, and the sign of rewards."""
    return [
        ("upper", UPPER, found.upper, samples, 1.0),
        ("lower", LOWER, found.lower, -samples[::-1], -1.0),
    ]


def _draw_survival(axes: "Axes", found: "Diagnosis", samples: Floats) -> None:
    """Draw how many rewards are farther from the median, on logarithmic axes: a power law is a line."""
    n = len(samples)
    ranks = np.unique(np.geomspace(1, n, POINTS).astype(np.int64))  # from the outside
    for name, colour, tail, ascending, sign in _sides(found, samples):
        distance = ascending[n - ranks] - sign * found.median
        seen = distance > 0.0
        label = f"{name} tail"
        axes.plot(distance[seen], ranks[seen] / n, ".", color=colour, markersize=3.5, alpha=0.6, label=label)
        if has_law(tail):
            _draw_fit(axes, found, tail, sign, colour)
    axes.set(xscale="log", yscale="log", xlabel="distance from the median", ylabel="share of rewards beyond")
    axes.legend(**LEGEND)


def has_law(tail: Tail) -> bool:
    """Return whether a law was fitted to a tail."""
    return not (tail.unknown or tail.ends)


def _draw_fit(axes: "Axes", found: "Diagnosis", tail: Tail, sign: float, colour: str) -> None:
    start = sign * (tail.threshold - found.median)
    last = sign * ((found.rewards.max() if sign > 0 else found.rewards.min()) - found.median)
    if 0.0 < start < last:
        x = np.geomspace(start, last, POINTS)
        y = tail.excesses / found.n * tail.survival(x - start)
        shown = y > 0.1 / found.n
        label = f"fit, index {tail.index:.3g}"
        axes.plot(x[shown], y[shown], color=colour, linewidth=1.6, label=label)
        axes.axvline(start, color=colour, linewidth=0.8, linestyle=":")


def _draw_indices(axes: "Axes", found: "Diagnosis", samples: Floats) -> None:
    """Draw Hill's index of distances from the median against their number, and the index of each tail."""
    n = len(samples)
    for name, colour, tail, ascending, sign in _sides(found, samples):
        if not has_law(tail):
            continue
        distance = ascending[::-1] - sign * found.median
        logs = np.log(distance[distance > 0.0][: max(2 * n // 5, 2)])
        sizes = np.arange(1, len(logs))
        shapes = np.cumsum(logs[:-1]) / sizes - logs[1:]
        shown = np.unique(
            np.geomspace(MIN_EXCESSES, max(len(sizes), MIN_EXCESSES), THRESHOLDS).astype(np.int64)
        )
        shown = shown[shown <= len(sizes)] - 1
        reach = NORMAL_QUANTILE * shapes[shown] / np.sqrt(sizes[shown])
        axes.fill_between(
            sizes[shown], shapes[shown] - reach, shapes[shown] + reach, color=colour, alpha=0.15, linewidth=0
        )
        axes.plot(sizes[shown], shapes[shown], color=colour, linewidth=1.0, label=f"{name} tail, Hill's")
        own = [1.0 / index for index in (tail.index, tail.index_high, tail.index_low)]
        span = [[own[0] - own[1]], [own[2] - own[0]]]
        axes.errorbar([tail.excesses], own[:1], span, fmt="o", color=colour, label=f"{name} tail")
    for p, meaning in ((1.0, "mean"), (2.0, "variance")):
        axes.axhline(1.0 / p, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)))
        text: dict[str, Any] = {"fontsize": 8, "color": GREY, "va": "top", "ha": "right", "bbox": BEHIND_TEXT}
        axes.text(
            0.995,
            1.0 / p,
            f"below it the {meaning} is infinite",
            transform=axes.get_yaxis_transform(),
            **text,
        )
    axes.set(xscale="log", ylim=SHAPES, xlabel="rewards beyond the threshold", ylabel="tail index")
    axes.set_yticks([1.0 / index for index in INDICES], ["∞" if i == math.inf else f"{i:g}" for i in INDICES])
    if has_law(found.upper) or has_law(found.lower):
        axes.legend(**LEGEND, loc="lower right")
    else:
        axes.text(0.5, 0.6, "no tail to fit", transform=axes.transAxes, ha="center", color=GREY)


def _draw_shares(axes: "Axes", found: "Diagnosis") -> None:
    """Draw the share of the largest deviation in the sum, and of its square."""
    sizes = np.abs(found.rewards - found.median)
    sizes /= sizes.max()  # so that squares do not overflow
    places = np.unique(np.geomspace(1, found.n, POINTS).astype(np.int64)) - 1
    for p, meaning, style in ((1, "mean", "-"), (2, "variance", (0, (4, 2)))):
        powers = sizes if p == 1 else sizes * sizes
        with np.errstate(invalid="ignore"):  # 0 / 0 while all rewards are the median
            shares = (np.maximum.accumulate(powers) / np.cumsum(powers))[places]
        axes.plot(places + 1, shares, color=GREY, linewidth=1.6, linestyle=style, label=f"{meaning}: p = {p}")
    axes.set(xscale="log", ylim=(0.0, 1.02), xlabel="rewards so far", ylabel="largest / sum of |r − median|ᵖ")
    axes.legend(**LEGEND, title="goes to 0 if finite:", title_fontsize=9)
