"""The curve of a run: cumulative rewards at checkpoints, and a picture of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from heavytail.arrays import Floats, Ints
from heavytail.errors import InputError, short_repr
from heavytail.mdp.changing import ChangingMDP
from heavytail.planning.regret import best_rates, best_rewards
from heavytail.training.fused import FIRST_COUNTER, MEAN, REALISED, Checkpoints

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Spacing = Literal["even", "log"]
EXPECTED, DRAWN, BEST = "#0072B2", "#9AA3AD", "#009E73"  # Okabe and Ito's blue and green, and a grey
GREY = "#444444"
SHOWN = (0.05, 0.95)  # quantiles of the drawn rewards that must be visible
MARGIN = 0.08  # of the height, above and below


@dataclass(frozen=True, repr=False)
class Curve:
    """Cumulative rewards at checkpoints, counted from the start of the learner's life.

    `mean_reward` sums the expected rewards of the actions taken, from which regret is computed;
    `realised_reward` sums the rewards that were drawn.
    """

    unit: Literal["episodes", "steps"]
    at: Ints
    mean_reward: Floats
    realised_reward: Floats
    counters: Mapping[str, Floats]
    mdp: ChangingMDP | None = field(default=None, compare=False)  # the MDP it was learnt in, if any

    def __repr__(self) -> str:
        if not len(self.at):
            return f"Curve(no checkpoint, in {self.unit})"
        reward = f"realised_reward={self.realised_reward[-1]:.6g}"
        if not np.isnan(self.mean_reward[-1]):  # as in most Gymnasium environments
            reward = f"mean_reward={self.mean_reward[-1]:.6g}, {reward}"
        return f"Curve({self.unit}={self.at[-1]:,}, checkpoints={len(self.at)}, {reward})"

    @property
    def episodes(self) -> Ints:
        """Return the checkpoints, in episodes."""
        return self._in("episodes")

    @property
    def steps(self) -> Ints:
        """Return the checkpoints, in steps."""
        return self._in("steps")

    def _in(self, unit: str) -> Ints:
        if self.unit != unit:
            raise InputError(f"this curve counts {self.unit}, not {unit}; read curve.{self.unit}")
        return self.at

    @cached_property
    def regret(self) -> Floats:
        """Compute the regret: what the best policy would have earned on average, less `mean_reward`.

        It is known in an MDP; the optimal policy is planned when this is first read.

        >>> import heavytail as ht
        >>> curve = ht.make_agent(ht.make_mdp("six_arms"), "optimal").learn(episodes=1000, checkpoints=2)
        >>> bool(abs(curve.regret[-1]) < 5000)
        True
        """
        if self._best_reward is None:
            raise InputError(
                "regret: the best policy of this environment is unknown; learn in an MDP, such as"
                " mdp_from_gymnasium makes from toy_text environments"
            )
        return self._best_reward - self.mean_reward

    def plot(self) -> "Figure":
        """Draw the rewards, and the regret where it is known; notebooks show the figure.

        ``curve.plot().savefig("curve.png")`` writes it to a file.
        """
        return _draw_curve(self, self._best_reward)

    @cached_property
    def _best_reward(self) -> Floats | None:
        return None if self.mdp is None else best_rewards(self.mdp, best_rates(self.mdp), self.at)

    def to_frame(self) -> "pd.DataFrame":
        """Make a pandas DataFrame, one row per checkpoint."""
        import pandas as pd  # here, because it is slow to import

        rewards = {"mean_reward": self.mean_reward, "realised_reward": self.realised_reward}
        return pd.DataFrame({self.unit: self.at, **rewards, **self.counters})


def make_curve(
    checkpoints: Checkpoints,
    unit: Literal["episodes", "steps"],
    counter_names: Sequence[str],
    mdp: ChangingMDP | None,
) -> Curve:
    """Make the curve from the checkpoints recorded so far."""
    n = int(checkpoints.reached[0])
    values = checkpoints.values[:n].copy()
    counters = {name: values[:, FIRST_COUNTER + i] for i, name in enumerate(counter_names)}
    return Curve(unit, checkpoints.at[:n].copy(), values[:, MEAN], values[:, REALISED], counters, mdp)


def place_checkpoints(first: int, last: int, checkpoints: int | Sequence[int], spacing: Spacing) -> Ints:
    """Choose where to record between units `first` + 1 and `last`, which is always a checkpoint.

    >>> place_checkpoints(0, 1000, 4, "even")
    array([ 250,  500,  750, 1000])
    >>> place_checkpoints(0, 1000, 4, "log")
    array([   1,   10,  100, 1000])
    """
    if isinstance(checkpoints, (int, np.integer)):
        return _space_checkpoints(first, last, int(checkpoints), spacing)
    try:
        given = np.asarray(checkpoints, np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    whole = given.ndim == 1 and np.isfinite(given).all() and (given == np.floor(given)).all()
    at = given.astype(np.int64) if whole else np.empty(0, np.int64)
    if not len(at) or (np.diff(at) <= 0).any() or at[0] <= first or at[-1] > last:
        raise InputError(
            f"checkpoints must be a count, or ascending whole numbers between {first + 1} and {last}"
        )
    return np.union1d(at, [last])


def _space_checkpoints(first: int, last: int, count: int, spacing: Spacing) -> Ints:
    if count < 1:
        raise InputError(f"checkpoints is {count}; it must be at least 1")
    n = last - first
    if spacing == "even":
        at = first + np.ceil(n * np.arange(1, count + 1) / count)
    elif spacing == "log":
        at = first + np.rint(np.geomspace(1, n, count)) if count > 1 else np.array([last])
    else:
        raise InputError(f"spacing is {short_repr(spacing)}; it must be 'even' or 'log'")
    return np.unique(at.astype(np.int64))


# The picture


def _draw_curve(curve: Curve, best: Floats | None) -> "Figure":
    """Draw the reward per episode or step, and the regret if the best policy is known."""
    from matplotlib.figure import Figure  # here, because importing Matplotlib takes a while

    at, drawn, expected = curve.at, curve.realised_reward, curve.mean_reward
    if not len(at):
        raise InputError("plot: this curve has no checkpoint yet; learn for longer")
    panels = 1 if best is None else 2
    figure = Figure(figsize=(5.2 * panels, 3.6), layout="constrained")
    rewards, *others = np.atleast_1d(figure.subplots(1, panels))
    rates = [_rates(at, total) for total in (drawn, expected, best) if total is not None]
    _draw_rewards(rewards, at, *rates)
    if best is not None:
        others[0].plot(at, best - expected, color=EXPECTED, linewidth=1.8)
        _finish(others[0], curve.unit, "regret")
    _finish(rewards, curve.unit, f"reward of {'an episode' if curve.unit == 'episodes' else 'a step'}")
    if len(rewards.lines) > 1:
        rewards.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, fontsize=8, frameon=False)
    return figure


def _rates(at: Ints, total: Floats) -> Floats:
    """Return the averages since the previous checkpoint; for the first, since the learner began."""
    with np.errstate(invalid="ignore"):  # infinite rewards of both signs
        return np.diff(total, prepend=0.0) / np.diff(at, prepend=0)


def _draw_rewards(
    axes: "Axes", at: Ints, drawn: Floats, expected: Floats, best: Floats | None = None
) -> None:
    """Draw all rewards, scaled so that the lines stay visible whatever the outliers."""
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
