"""Tuning: choose a point of each grid.

It is the one whose median final regret over the tuning seeds is smallest, the first of equals. Where the best
policy is unknown there is no regret: then it is the one whose median reward in the last tenth is largest.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from heavytail.errors import InputError
from heavytail.studies.parts import to_frame
from heavytail.studies.plan import Cell
from heavytail.studies.results import final_reward, gather_runs


class GridScore(BaseModel):
    """The score of a point of a grid."""

    model_config = ConfigDict(frozen=True)

    agent: str
    env: str
    point: dict[str, Any]
    measure: Literal["regret", "reward"]
    value: float | None  # the median over seeds; None if every run failed
    runs: tuple[float | None, ...] = ()  # of which it is the median, seed by seed; None where one failed

    @property
    def cost(self) -> float:
        """A number that is smaller for better points."""
        if self.value is None:
            return np.inf
        return self.value if self.measure == "regret" else -self.value


def score_cells(cells: Sequence[Cell], table: pa.Table) -> list[GridScore]:
    """The score of every point."""
    regrets, rewards = final_regrets(table), last_tenths(table)
    return [_score(cell, regrets, rewards) for cell in cells]


def _score(cell: Cell, regrets: Mapping[str, float], rewards: Mapping[str, float]) -> GridScore:
    measure: Literal["regret", "reward"] = "reward" if any(run in rewards for run in cell.runs) else "regret"
    known = rewards if measure == "reward" else regrets
    runs = tuple(known.get(run) for run in cell.runs)
    values = [value for value in runs if value is not None]
    return GridScore(
        agent=cell.agent,
        env=cell.env,
        point=cell.point,
        measure=measure,
        value=float(np.median(values)) if values else None,
        runs=runs,
    )


def final_regrets(table: pa.Table) -> dict[str, float]:
    """The final regret of each run that has one."""
    runs, regret = table["run"].to_pylist(), table["regret"].to_pylist()
    return {run: value for run, value in zip(runs, regret, strict=True) if value is not None}


def last_tenths(table: pa.Table) -> dict[str, float]:
    """The mean reward in the last tenth of each complete run that has no regret."""
    import pyarrow.compute as pc

    without = to_frame(table.filter(pc.and_(pc.is_null(table["regret"]), pc.is_null(table["error"]))))
    return {str(run): float(final_reward(gather_runs(frame))[0]) for run, frame in without.groupby("run")}


def choose(scores: Sequence[GridScore]) -> dict[str, dict[str, dict[str, Any]]]:
    """Choose the best point of each agent in each environment."""
    best: dict[tuple[str, str], GridScore] = {}
    for score in scores:
        old = best.get((score.agent, score.env))
        if old is None or score.cost < old.cost:
            best[score.agent, score.env] = score
    chosen: dict[str, dict[str, dict[str, Any]]] = {}
    for (agent, env), score in best.items():
        if score.value is None:
            raise InputError(
                f"tuning: every run of {agent} on {env} failed, so that nothing can be chosen; see"
                " heavytail status"
            )
        chosen.setdefault(agent, {})[env] = score.point
    return chosen
