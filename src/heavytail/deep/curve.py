"""`DeepCurve`: results of a batch of runs at its checkpoints, counted from the start of training."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heavytail.arrays import Floats, Ints


@dataclass(frozen=True, repr=False)
class DeepCurve:
    """Cumulative results at checkpoints. Clean returns are without noise and of episodes that have ended.

    >>> curve = DeepCurve(
    ...     steps=np.array([50, 100]),
    ...     episodes=np.array([[1, 3]]),
    ...     clean_return=np.array([[-20.0, -50.0]]),
    ...     truncated=np.array([[5, 5]]),
    ... )
    >>> curve.mean_return, curve.truncated_share
    (array([[-20., -15.]]), array([[0.1 , 0.05]]))
    """

    steps: Ints  # [checkpoint]
    episodes: Ints  # [run, checkpoint] that ended
    clean_return: Floats  # [run, checkpoint] of all of them, summed
    truncated: Ints  # [run, checkpoint] rewards that the transform changed

    def __repr__(self) -> str:
        runs, checkpoints = self.episodes.shape
        return f"DeepCurve(steps={max(self.steps, default=0):,}, checkpoints={checkpoints}, runs={runs})"

    @property
    def mean_return(self) -> Floats:
        """Return per episode that ended since the checkpoint before [run, checkpoint]; NaN where none did."""
        ended, gained = (np.diff(total, axis=1, prepend=0) for total in (self.episodes, self.clean_return))
        return np.divide(gained, ended, out=np.full(gained.shape, np.nan), where=ended > 0)

    @property
    def truncated_share(self) -> Floats:
        """Share of all rewards so far that the transform changed [run, checkpoint]."""
        return self.truncated / np.maximum(self.steps, 1)


def make_deep_curve(steps: Sequence[int], totals: Sequence[Floats], runs: int) -> DeepCurve:
    """Make the curve of so many runs from their totals at these steps.

    Each element of `totals` is [3, run]: episodes, clean returns and truncated rewards.
    """
    # The row of zeros keeps the shape where there is no checkpoint yet.
    episodes, returns, truncated = np.array([np.zeros((3, runs)), *totals])[1:].transpose(1, 2, 0)
    return DeepCurve(
        np.array(steps, np.int64), episodes.astype(np.int64), returns, truncated.astype(np.int64)
    )
