"""Several tasks at once, as rliable does it: every task resampled by itself (Agarwal et al. 2021).

A *task* is an environment with the runs of each agent in it. Rewards of different tasks do not compare,
unless they are shares of something; who beats whom does. `winning_shares` is the probability that a run of an
agent beats a run of another agent in the same task, averaged over tasks: only the order of runs matters, so
that no tail is too heavy and no scale too large.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from heavytail.arrays import Floats
from heavytail.statistics.inputs import Interval, as_open_fraction, as_resamples, as_runs, at_once, check_rng
from heavytail.statistics.location import Statistic, find_statistic, location_of

Name = TypeVar("Name", bound=Hashable)


def stratified_interval(
    tasks: Sequence[npt.ArrayLike],
    statistic: Statistic = "interquartile_mean",
    *,
    rng: np.random.Generator,
    confidence: float = 0.95,
    resamples: int = 10_000,
) -> Interval:
    """A statistic over the runs of all tasks and its bootstrap interval, runs being drawn within their task.

    Args:
        tasks: [run] of each, of at least two runs; their numbers may differ.
        statistic: "mean", "median", "interquartile_mean" or another registered one.
        rng: draws the resamples.
        confidence: how often the interval should hold the truth.
        resamples: how many.

    >>> interval = stratified_interval([range(101), range(101)], "median", rng=np.random.default_rng(0))
    >>> [round(float(x)) for x in interval]
    [50, 43, 57]
    """
    runs = [as_runs(f"tasks[{i}]", values, least=2, curves=False) for i, values in enumerate(tasks)]
    location, number = find_statistic(statistic), as_resamples(resamples, confidence)
    check_rng(rng)
    step, replicates = at_once(sum(map(len, runs))), np.empty(number)
    for done in range(0, number, step):
        count = min(step, number - done)
        drawn = [each[rng.integers(0, len(each), (count, len(each)))] for each in runs]
        replicates[done : done + count] = location.compute(np.concatenate(drawn, axis=1))
    return _to_interval(location_of(np.concatenate(runs), statistic), replicates, confidence)


def winning_shares(
    tasks: Sequence[Mapping[Name, npt.ArrayLike]],
    *,
    rng: np.random.Generator,
    confidence: float = 0.95,
    resamples: int = 10_000,
) -> dict[Name, Interval]:
    """Estimate how often a run of each agent beats another agent's in the same task, averaged over tasks.

    Equal runs beat each other by half. 0.5 is as good as the others on the whole. Larger is better: for
    regret, change the sign.

    Args:
        tasks: of each, [run] by agent; agents need not have run everywhere, nor equally often.
        rng: draws the resamples.
        confidence: how often intervals should hold the truth.
        resamples: how many.

    Returns:
        By agent; agents that were always alone are left out. Without two runs there is no interval.

    >>> shares = winning_shares([{"a": [3.0, 4.0], "b": [1.0, 3.0]}], rng=np.random.default_rng(0))
    >>> float(shares["a"].estimate), float(shares["b"].estimate)
    (0.875, 0.125)
    """
    number = as_resamples(resamples, confidence)
    check_rng(rng)
    met: dict[Name, list[tuple[float, Floats]]] = {}
    for i, task in enumerate(tasks):
        names = list(task)
        runs = [as_runs(f"tasks[{i}]", task[name], curves=False, infinite=True) for name in names]
        if len(runs) > 1:
            ones, drawn = np.ones((1, sum(map(len, runs)))), _draw_weights(runs, number, rng)
            estimates, replicates = _win(runs, ones)[:, 0], _win(runs, drawn)
            for name, estimate, each in zip(names, estimates.tolist(), replicates, strict=True):
                met.setdefault(name, []).append((estimate, each))
    repeated = any(len(np.atleast_1d(values)) > 1 for task in tasks for values in task.values())
    return {
        name: _to_interval(
            np.mean([estimate for estimate, _ in some]),
            np.mean([each for _, each in some], axis=0) if repeated else np.full(number, np.nan),
            confidence,
        )
        for name, some in met.items()
    }


def _draw_weights(runs: Sequence[Floats], number: int, rng: np.random.Generator) -> Floats:
    """Count how often each run is in each resample [resample, run], agent after agent."""
    counts = [rng.multinomial(len(each), np.full(len(each), 1.0 / len(each)), number) for each in runs]
    return np.concatenate(counts, axis=1).astype(np.float64)


def _win(runs: Sequence[Floats], weights: Floats) -> Floats:
    """The shares of won pairs [agent, resample], runs counting as often as their weights say.

    In sorted order, a run beats as many as there are before it. Among the runs of one agent half of all
    pairs are won, so that they can be counted with the others and left out at the end.
    """
    pooled, sizes = np.concatenate(runs), [len(each) for each in runs]
    order = np.sort(pooled)
    first, last = np.searchsorted(order, pooled, "left"), np.searchsorted(order, pooled, "right")
    shares = np.empty((len(runs), len(weights)))
    step, ends = at_once(len(pooled)), np.cumsum([0, *sizes])
    for done in range(0, len(weights), step):
        some = weights[done : done + step]
        below = np.zeros((len(some), len(pooled) + 1))
        np.cumsum(some[:, np.argsort(pooled, kind="stable")], axis=1, out=below[:, 1:])
        beaten = some * (below[:, first] + below[:, last])
        for i, n in enumerate(sizes):
            won = 0.5 * beaten[:, ends[i] : ends[i + 1]].sum(axis=1) - 0.5 * n * n
            shares[i, done : done + step] = won / (n * (len(pooled) - n))
    return shares


def _to_interval(estimate: Floats | np.floating[Any], replicates: Floats, confidence: float) -> Interval:
    tail = 0.5 * (1.0 - as_open_fraction("confidence", confidence))
    low, high = np.quantile(replicates, [tail, 1.0 - tail])
    return Interval(np.asarray(estimate, np.float64)[()], low, high)
