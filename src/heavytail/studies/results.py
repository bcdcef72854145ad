"""The results of a study as arrays, from which a report makes its figures and tables.

A *cell* is an agent in an environment: `Runs` are its curves, one row per seed, one column per checkpoint.
`Task` holds all cells of one environment.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from heavytail import statistics
from heavytail.arrays import Floats, Ints
from heavytail.statistics import Interval
from heavytail.studies.backends.backend import EPISODES, TRUNCATED
from heavytail.studies.specs.spec import Regret, SpawnKey, make_rng

if TYPE_CHECKING:
    import pandas as pd

# the columns of `Study.curves` that are not counters
SPEC_COLUMNS = {"agent_key", "env_key", "point", "phase", "env", "env_parameters", "agent", "parameters"}
RUN_COLUMNS = {"run", "replicate", "at", "mean_reward", "realised_reward", "regret", "error"}

LAST_TENTH = (0.9, 1.0)  # of a run, in which an agent shows what it has learnt


class Runs(NamedTuple):
    """The complete runs of a cell; rewards and regret are cumulative."""

    replicates: Ints  # [run]
    at: Ints  # [checkpoint], in episodes or steps
    scored: Floats  # [run, checkpoint]; the number of episodes or steps behind the rewards so far
    mean_reward: Floats  # [run, checkpoint]
    realised_reward: Floats  # NaN if it is not recorded
    regret: Floats  # NaN if the best policy is unknown
    counters: Mapping[str, Floats]
    failed: int  # number of runs that raised


class Agent(NamedTuple):
    """An agent as a report names it, with its runs in one environment."""

    key: str
    label: str
    setting: str
    runs: Runs  # at least one
    regret: Interval  # the median [checkpoint]
    pace: Interval  # the median reward per unit since the previous checkpoint [checkpoint]


class BoundLine(NamedTuple):
    """A bound on regret, along a run or from environment to environment."""

    name: str  # as `heavytail.bounds` has it
    label: str
    at: Floats  # [point]
    values: Floats  # [point]
    # at the last point, as a share of the possible loss: from 1 on it is vacuous; NaN for a lower bound
    share: float
    limit: float  # the exponent of its growth in the limit

    @property
    def at_stake(self) -> float:
        """All that can be lost by the last point; NaN if it is unknown."""
        return float(self.values[-1]) / self.share

    @property
    def dash(self) -> str:
        """The style of its line: solid for upper bounds."""
        return "dash" if np.isnan(self.share) else "solid"


class Task(NamedTuple):
    """An environment, with all agents that ran in it."""

    key: str
    html_id: str  # its key in the page and its files: studies in one report may share keys
    label: str
    unit: str  # "episode" or "step": the unit of runs
    per: str  # "episode" or "step": the unit of rewards
    horizon: int  # 1 if the unit is a step
    optimum: float | None  # the best mean reward per unit; None if it is unknown
    agents: list[Agent]
    aggregation: "Aggregation"
    regret: Regret = "rewards"  # how it is measured
    bounds: tuple[BoundLine, ...] = ()  # on regret, along the run

    @property
    def reward(self) -> str:
        """The word for what agents earn: if noise is added to rewards, clean returns."""
        return "reward" if self.optimum is not None else "clean return"

    @property
    def truncating(self) -> list[Agent]:
        """Agents that truncated rewards in at least half of their runs."""
        counting = [agent for agent in self.agents if TRUNCATED in agent.runs.counters]
        return [agent for agent in counting if np.median(agent.runs.counters[TRUNCATED], axis=0).any()]


def gather_runs(frame: "pd.DataFrame") -> Runs:
    """Gather the curves of one cell from rows of `Study.curves`."""
    rows = frame[frame["error"].isna()].sort_values(["replicate", "at"])
    replicates = np.unique(rows["replicate"].to_numpy(np.int64))
    at = np.unique(rows["at"].to_numpy(np.int64))

    def curves(name: str) -> Floats:
        return rows[name].to_numpy(np.float64).reshape(len(replicates), len(at))

    counters = {
        str(name): curves(str(name))
        for name in rows.columns
        if name not in SPEC_COLUMNS | RUN_COLUMNS and rows[name].notna().any()
    }
    failed = int(frame["error"].notna().sum())
    scored = counters.get(EPISODES, np.broadcast_to(at.astype(np.float64), (len(replicates), len(at))))
    return Runs(
        replicates,
        at,
        scored,
        curves("mean_reward"),
        curves("realised_reward"),
        curves("regret"),
        counters,
        failed,
    )


def mean_reward_in(runs: Runs, first: float, last: float) -> Floats:
    """Compute the mean reward per unit [run] from one share of the run to another.

    Cumulative rewards are interpolated linearly between checkpoints.

    >>> at, zeros = np.array([50, 100]), np.zeros((1, 2))
    >>> runs = Runs(np.array([0]), at, at[None] * 1.0, np.array([[10.0, 60.0]]), zeros, zeros, {}, 0)
    >>> float(mean_reward_in(runs, 0.0, 0.1)[0]), float(mean_reward_in(runs, 0.9, 1.0)[0])
    (0.2, 1.0)
    """
    ends = np.array([first, last]) * runs.at[-1]
    at = np.concatenate([[0], runs.at])

    def gained(sums: Floats) -> Floats:
        return np.array([np.diff(np.interp(ends, at, np.concatenate([[0.0], row])))[0] for row in sums])

    return _per(gained(runs.mean_reward), gained(runs.scored))


def reward_rates(runs: Runs) -> Floats:
    """Compute the mean reward per unit [run, checkpoint] since the previous checkpoint.

    If no episode ended since, it is that of the last ones.
    """
    rates = _per(np.diff(runs.mean_reward, axis=1, prepend=0.0), np.diff(runs.scored, axis=1, prepend=0.0))
    latest = np.maximum.accumulate(np.where(np.isnan(rates), 0, np.arange(rates.shape[1])), axis=1)
    return np.take_along_axis(rates, latest, axis=1)


def truncated_shares(runs: Runs, horizon: int) -> Floats:
    """Compute the share of all steps so far whose reward was truncated [run, checkpoint].

    >>> zeros, counters = np.zeros((1, 2)), {"truncated": np.array([[1.0, 4.0]])}
    >>> runs = Runs(np.array([0]), np.array([5, 10]), zeros, zeros, zeros, zeros, counters, 0)
    >>> truncated_shares(runs, horizon=2)
    array([[0.1, 0.2]])
    """
    return runs.counters[TRUNCATED] / (runs.at * horizon)


def _per(rewards: Floats, scored: Floats) -> Floats:
    """Divide rewards by scored units; NaN if nothing was scored, as before the first episode ends."""
    return np.divide(rewards, scored, out=np.full(rewards.shape, np.nan), where=scored > 0)


def final_reward(runs: Runs) -> Floats:
    """Compute the mean reward per unit in the last tenth of the run [run]."""
    return mean_reward_in(runs, *LAST_TENTH)


def final_regret(runs: Runs) -> Floats:
    """Compute the regret of the whole run [run]."""
    return runs.regret[:, -1]


class Aggregation(NamedTuple):
    """The settings for aggregating runs, with one seed, so that numbers agree everywhere."""

    confidence: float
    resamples: int
    seed: int

    def median(self, values: Floats) -> Interval:
        """Compute the median over runs with its bootstrap interval; a single run has no interval.

        If a run has no value, there is no median either.
        """
        columns = values.reshape(len(values), -1)
        complete = ~np.isnan(columns).any(axis=0)
        medians = np.full((3, columns.shape[1]), np.nan)
        if complete.any():
            medians[:, complete] = self._complete_median(columns[:, complete])
        return Interval(*medians.reshape(3, *values.shape[1:]))

    def _complete_median(self, values: Floats) -> Interval:
        if len(values) < 2:
            nothing = np.full(values.shape[1], np.nan)
            return Interval(np.median(values, axis=0), nothing, nothing)
        rng = make_rng(self.seed, SpawnKey.MEDIANS)
        return statistics.bootstrap_interval(
            values, "median", rng=rng, confidence=self.confidence, resamples=self.resamples
        )


def summarise_agent(key: str, label: str, setting: str, runs: Runs, aggregation: Aggregation) -> Agent:
    """Aggregate the curves of an agent."""
    return Agent(
        key, label, setting, runs, aggregation.median(runs.regret), aggregation.median(reward_rates(runs))
    )


def counter_names(agents: Sequence[Agent]) -> list[str]:
    """Return the names of all counters of these agents."""
    return list(dict.fromkeys(name for agent in agents for name in agent.runs.counters))


def describe_bounds(bounds: Sequence[BoundLine]) -> str:
    """Describe the lines of bounds, for a caption.

    >>> describe_bounds([BoundLine("ucrl2", "bound of UCRL2", np.ones(1), np.ones(1), 0.3, 0.5)])
    ' Grey: bound of UCRL2 (solid).'
    """
    return f" Grey: {', '.join(f'{bound.label} ({bound.dash})' for bound in bounds)}." if bounds else ""


def score_matrices(curves: "pd.DataFrame", envs: Sequence[str]) -> dict[str, Floats]:
    """Compute the score of each run in each environment, by agent: [run, environment].

    A score is the mean reward in the last tenth of a run, as a share of the optimum if that is known. Agents
    that did not run everywhere are left out, and so are seeds that failed anywhere: rliable needs complete
    matrices.
    """
    scores = {}
    for agent, frame in curves.groupby("agent_key", sort=False):
        by_env = {env: _scores(rows) for env, rows in frame.groupby("env_key")}
        if set(by_env) != set(envs):
            continue
        if seeds := sorted(set.intersection(*map(set, by_env.values()))):
            scores[str(agent)] = np.array([[by_env[env][seed] for env in envs] for seed in seeds])
    return scores


def _scores(frame: "pd.DataFrame") -> dict[int, float]:
    """Compute the score of each seed that has one."""
    runs = gather_runs(frame)
    if not len(runs.replicates):
        return {}
    optimum = (runs.regret[0, -1] + runs.mean_reward[0, -1]) / runs.at[-1]
    earned = final_reward(runs) / (1.0 if np.isnan(optimum) else optimum)
    scores = zip(runs.replicates.tolist(), earned.tolist(), strict=True)
    return {seed: score for seed, score in scores if np.isfinite(score)}
