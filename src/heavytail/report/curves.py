"""The runs of a study as arrays: what every figure and every table of a report is made of.

A *cell* is an agent in an environment: `Runs` are its curves, one row per seed, one column per checkpoint. `Task` holds all cells of one environment.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from heavytail import statistics
from heavytail.arrays import Floats, Ints
from heavytail.statistics import Interval

if TYPE_CHECKING:
    import pandas as pd

OWN = ("mean_reward", "realised_reward", "regret")
FIXED = frozenset(
    ["run", "agent_key", "env_key", "point", "phase", "env", "env_parameters", "agent", "parameters", "replicate", "at", *OWN, "error"]
)


class Runs(NamedTuple):
    """The runs of a cell that came to their end; rewards and regret are cumulative."""

    replicates: Ints  # [run]
    at: Ints  # [checkpoint], in episodes or steps
    mean_reward: Floats  # [run, checkpoint]
    realised_reward: Floats
    regret: Floats
    counters: Mapping[str, Floats]
    failed: int  # how many runs did not


class Agent(NamedTuple):
    """An agent as a report names it, with its runs in one environment."""

    key: str
    label: str
    setting: str
    runs: Runs  # at least one
    regret: Interval  # the median [checkpoint]
    pace: Interval  # the median reward per unit since the checkpoint before [checkpoint]


class Task(NamedTuple):
    """An environment with everybody who ran in it."""

    key: str
    label: str
    unit: str  # "episode" or "step"
    horizon: int  # 1 in a continuing problem
    optimum: float  # the best mean reward per unit
    agents: list[Agent]
    summing: "Summing"


def runs_in(frame: "pd.DataFrame") -> Runs:
    """The curves of one cell, from rows of `Study.curves`."""
    whole = frame[frame["error"].isna()].sort_values(["replicate", "at"])
    replicates = np.unique(whole["replicate"].to_numpy(np.int64))
    at = np.unique(whole["at"].to_numpy(np.int64))

    def curves(name: str) -> Floats:
        return whole[name].to_numpy(np.float64).reshape(len(replicates), len(at))

    counters = {str(name): curves(str(name)) for name in whole.columns if name not in FIXED and whole[name].notna().any()}
    failed = int(frame["error"].notna().sum())
    return Runs(replicates, at, curves("mean_reward"), curves("realised_reward"), curves("regret"), counters, failed)


def between(runs: Runs, first: float, last: float) -> Floats:
    """The mean reward per unit [run] from one share of the run to another; between checkpoints, cumulative rewards are taken as straight.

    >>> runs = Runs(np.array([0]), np.array([50, 100]), np.array([[10.0, 60.0]]), np.zeros((1, 2)), np.zeros((1, 2)), {}, 0)
    >>> float(between(runs, 0.0, 0.1)[0]), float(between(runs, 0.9, 1.0)[0])
    (0.2, 1.0)
    """
    length = runs.at[-1]
    ends = np.array([first, last]) * length
    at = np.concatenate([[0], runs.at])
    sums = np.array([np.interp(ends, at, np.concatenate([[0.0], row])) for row in runs.mean_reward])
    return (sums[:, 1] - sums[:, 0]) / (ends[1] - ends[0])


def paces(runs: Runs) -> Floats:
    """The mean reward per unit [run, checkpoint] since the checkpoint before."""
    return np.diff(runs.mean_reward, axis=1, prepend=0.0) / np.diff(runs.at, prepend=0)


def final(runs: Runs) -> Floats:
    """The regret of the whole run [run]."""
    return runs.regret[:, -1]


class Summing(NamedTuple):
    """How runs are summed up: the same words, the same seed and so the same numbers wherever a report shows them."""

    confidence: float
    resamples: int
    seed: int

    def median(self, values: Floats) -> Interval:
        """The median over runs with its bootstrap interval; a single run has none."""
        if len(values) < 2:
            nothing = np.full(values.shape[1:], np.nan)[()]
            return Interval(np.median(values, axis=0), nothing, nothing)
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(3,)))
        return statistics.bootstrap_interval(values, "median", rng=rng, confidence=self.confidence, resamples=self.resamples)


def agent_of(key: str, label: str, setting: str, runs: Runs, summing: Summing) -> Agent:
    """An agent with its curves summed up."""
    return Agent(key, label, setting, runs, summing.median(runs.regret), summing.median(paces(runs)))


def counter_names(agents: Sequence[Agent]) -> list[str]:
    """Everything that any of them counts."""
    return list(dict.fromkeys(name for agent in agents for name in agent.runs.counters))


def plain(value: Any) -> Any:
    """Arrays as lists for JSON, with six digits, which is more than a screen shows; what is not finite is left out of a curve."""
    return [float(f"{x:.6g}") if np.isfinite(x) else None for x in np.asarray(value, np.float64).tolist()]
