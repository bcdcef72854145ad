"""`DeepCurve`: results of a batch of runs at its checkpoints, counted from the start of training."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heavytail.arrays import Floats, Ints


@dataclass(frozen=True)
class RewardBeliefs:
    """Beliefs of models of the reward at the checkpoints, averaged over the last thousand updates."""

    predicted_reward: Floats  # [run, checkpoint] mean over replayed transitions
    residual_scale: Floats  # [run, checkpoint] median distance of rewards from predictions
    outlier_share: Floats  # [run, checkpoint] share of rewards at least ten times as far


@dataclass(frozen=True, repr=False)
class DeepCurve:
    """Cumulative results at checkpoints. Clean returns are without noise, of episodes that have ended.

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
    beliefs: RewardBeliefs | None = None  # if there is a model of the reward

    def __repr__(self) -> str:
        runs, checkpoints = self.episodes.shape
        return f"DeepCurve(steps={max(self.steps, default=0):,}, checkpoints={checkpoints}, runs={runs})"

    @property
    def mean_return(self) -> Floats:
        """Mean return of episodes ended since the previous checkpoint [run, checkpoint]; NaN if none did."""
        ended, gained = (np.diff(total, axis=1, prepend=0) for total in (self.episodes, self.clean_return))
        return np.divide(gained, ended, out=np.full(gained.shape, np.nan), where=ended > 0)

    @property
    def truncated_share(self) -> Floats:
        """Share of all rewards so far that the transform changed [run, checkpoint]."""
        return self.truncated / np.maximum(self.steps, 1)


def make_deep_curve(steps: Sequence[int], rows: Sequence[Floats], runs: int) -> DeepCurve:
    """Make the curve of `runs` runs from its rows at these steps.

    Each row is [3, run]: episodes, clean returns and truncated rewards; or [6, run], followed by the beliefs
    of a model of the reward.
    """
    # The row of zeros keeps the shape if there is no checkpoint yet.
    template = rows[0] if rows else np.zeros((3, runs))
    columns = np.array([np.zeros_like(template), *rows])[1:].transpose(1, 2, 0)
    episodes, returns, truncated = columns[:3]
    beliefs = RewardBeliefs(*columns[3:]) if len(columns) > 3 else None
    return DeepCurve(
        np.array(steps, np.int64), episodes.astype(np.int64), returns, truncated.astype(np.int64), beliefs
    )
