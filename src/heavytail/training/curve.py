"""The curve of a run: cumulative rewards at checkpoints."""

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
    from matplotlib.figure import Figure

Spacing = Literal["even", "log"]


@dataclass(frozen=True, repr=False)
class Curve:
    """Cumulative rewards at checkpoints, counted from the start of the learner's life.

    `mean_reward` sums the expected rewards of what was done, which is what regret is measured with;
    `realised_reward` sums the rewards that were drawn.
    """

    unit: Literal["episodes", "steps"]
    at: Ints
    mean_reward: Floats
    realised_reward: Floats
    counters: Mapping[str, Floats]
    mdp: ChangingMDP | None = field(default=None, compare=False)  # in which it was learnt, where there is one

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

        Known in an MDP, which is planned when this is first read.

        >>> import heavytail as ht
        >>> curve = ht.make_agent(ht.make_mdp("six_arms"), "optimal").learn(episodes=1000, checkpoints=2)
        >>> bool(abs(curve.regret[-1]) < 5000)
        True
        """
        if self._best_reward is None:
            raise InputError(
                "regret: nobody knows the best policy of this environment; learn in an MDP, such as"
                " mdp_from_gymnasium makes of toy_text environments"
            )
        return self._best_reward - self.mean_reward

    def plot(self) -> "Figure":
        """Draw the rewards, and the regret where it is known; notebooks show the figure.

        ``curve.plot().savefig("curve.png")`` writes it to a file.
        """
        from heavytail.training.curve_plot import draw_curve  # here, because it needs Matplotlib

        return draw_curve(self.unit, self.at, self.realised_reward, self.mean_reward, self._best_reward)

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
    """Make the curve as far as it is recorded."""
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
            f"checkpoints must be a number of them, or whole numbers that ascend from {first + 1} to"
            f" at most {last}"
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
