"""Results in the form that other tools take."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from heavytail.arrays import Floats
from heavytail.report.curves import between, runs_in

if TYPE_CHECKING:
    import pandas as pd


def score_matrices(curves: "pd.DataFrame", envs: Sequence[str]) -> dict[str, Floats]:
    """For each agent the rewards of its runs in their last tenth, as a share of the optimum where that is known: [run, environment].

    Agents that did not run everywhere are left out, and so are seeds that failed anywhere: rliable wants whole matrices.
    """
    scores = {}
    for agent, frame in curves.groupby("agent_key", sort=False):
        by_env = {env: _scores(part) for env, part in frame.groupby("env_key")}
        if set(by_env) == set(envs) and (seeds := sorted(set.intersection(*(set(found) for found in by_env.values())))):
            scores[str(agent)] = np.array([[by_env[env][seed] for env in envs] for seed in seeds])
    return scores


def _scores(frame: "pd.DataFrame") -> dict[int, float]:
    """Of each seed that scored in the end, how much of the optimum it earned there; where nobody knows the optimum, how much it earned."""
    runs = runs_in(frame)
    if not len(runs.replicates):
        return {}
    optimum = (runs.regret[0, -1] + runs.mean_reward[0, -1]) / runs.at[-1]
    earned = between(runs, 0.9, 1.0) / (1.0 if np.isnan(optimum) else optimum)
    return {seed: value for seed, value in zip(runs.replicates.tolist(), earned.tolist(), strict=True) if np.isfinite(value)}
