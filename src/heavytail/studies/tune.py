"""The choice of a point of each grid: the one whose median final regret over the tuning seeds is smallest, the first of equals."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from heavytail.errors import InputError
from heavytail.studies.plan import Cell


class Scored(BaseModel):
    """A point of a grid and how it did."""

    model_config = ConfigDict(frozen=True)

    agent: str
    env: str
    point: dict[str, Any]
    regret: float | None  # the median of final regrets; None if no run of it came to its end


def scores(cells: Sequence[Cell], table: pa.Table) -> list[Scored]:
    """How every point did."""
    final = final_regrets(table)
    return [Scored(agent=cell.agent, env=cell.env, point=cell.point, regret=_median(cell, final)) for cell in cells]


def choose(scored: Sequence[Scored]) -> dict[str, dict[str, dict[str, Any]]]:
    """The best point of each agent in each environment."""
    best: dict[tuple[str, str], Scored] = {}
    for each in scored:
        old = best.get((each.agent, each.env))
        if each.regret is not None and (old is None or old.regret is None or each.regret < old.regret):
            best[each.agent, each.env] = each
    for each in scored:
        if (each.agent, each.env) not in best:
            raise InputError(f"tuning: every run of {each.agent} on {each.env} failed, so that nothing can be chosen; see heavytail status")
    chosen: dict[str, dict[str, dict[str, Any]]] = {}
    for (agent, env), each in best.items():
        chosen.setdefault(agent, {})[env] = each.point
    return chosen


def final_regrets(table: pa.Table) -> dict[str, float]:
    """The last regret of each run."""
    runs, regret = table["run"].to_pylist(), table["regret"].to_pylist()
    return {run: value for run, value in zip(runs, regret, strict=True) if value is not None}


def _median(cell: Cell, final: dict[str, float]) -> float | None:
    values = [final[run] for part in cell.parts for run in map(part.run_id, part.replicates) if run in final]
    return float(np.median(values)) if values else None
