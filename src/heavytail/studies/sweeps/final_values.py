"""How the runs of a map ended.

Numbers by point and seed, read from parts column by column, since there are millions of rows.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from heavytail.arrays import Floats, Ints
from heavytail.errors import InputError
from heavytail.studies.plan import Part, Sweep

COLUMNS = ("run", "replicate", "at", "mean_reward", "regret", "counters", "error")


class FinalValues(NamedTuple):
    """The ends of some runs [run]; NaN where one failed."""

    regret: Floats
    last_tenth: Floats  # as a share of what the best policy earns there
    counters: dict[str, Floats]
    errors: list[str | None]


def final_values(sheet: Sweep, tables: Iterable[pa.Table]) -> FinalValues:
    """The ends of all runs of a sheet, in its order.

    Args:
        sheet: whose runs.
        tables: of its parts, in their order, with at least `COLUMNS`.
    """
    every = [_ends(part, table.combine_chunks()) for part, table in zip(sheet.parts, tables, strict=True)]
    names = dict.fromkeys(name for each in every for name in each.counters)
    return FinalValues(
        np.concatenate([each.regret for each in every]),
        np.concatenate([each.last_tenth for each in every]),
        {
            name: np.concatenate(
                [each.counters.get(name, np.full(len(each.regret), np.nan)) for each in every]
            )
            for name in names
        },
        [error for each in every for error in each.errors],
    )


def _ends(part: Part, table: pa.Table) -> FinalValues:
    """The ends of a part's runs; rows of one run lie together, the last one is its end."""
    run = table["run"].combine_chunks().dictionary_encode().indices.to_numpy()
    last = np.flatnonzero(np.diff(run, append=-1))
    if not np.array_equal(_column(table, "replicate")[last], part.replicates):
        raise InputError(
            f"part {part.id} does not hold the runs that it should; delete it, and heavytail resume"
            " does it again"
        )
    ended = table.take(last)
    errors = ended["error"].to_pylist()
    done = np.array([error is None for error in errors])
    kept = table.filter(table["error"].is_null())
    return FinalValues(
        _column(ended, "regret").astype(np.float64),
        _spread(_last_tenths(part, kept, int(done.sum())), done),
        {name: _spread(values, done) for name, values in _counters(ended.filter(pa.array(done))).items()},
        errors,
    )


def _last_tenths(part: Part, table: pa.Table, n_runs: int) -> Floats:
    """The mean reward of whole runs [run] in their last tenth, as a share of the best policy's.

    Between checkpoints, sums are taken as straight.
    """
    if n_runs == 0:
        return np.zeros(0)
    at = _column(table, "at").reshape(n_runs, -1)[0]
    best = part.backend.best(at)
    assert best is not None  # maps are of tabular worlds, where everybody knows
    weights = _gained_weights(at, 0.9, 1.0)
    return np.asarray(_column(table, "mean_reward").reshape(n_runs, -1) @ weights / (best @ weights))


def _gained_weights(at: Ints, first: float, last: float) -> Floats:
    """What sums at checkpoints are weighted with to get what was gained from one share of the run to another.

    >>> _gained_weights(np.array([50, 100]), 0.9, 1.0).round(3)
    array([-0.2,  0.2])
    """
    known = np.concatenate([[0], at])
    return np.array(
        [
            np.diff(np.interp([first * at[-1], last * at[-1]], known, unit))[0]
            for unit in np.eye(len(known))[1:]
        ]
    )


def _counters(table: pa.Table) -> dict[str, Floats]:
    """Counters by name, of rows that all have the same."""
    pairs = table["counters"].combine_chunks()
    if len(pairs) == 0 or len(pairs[0]) == 0:
        return {}
    names = [name for name, _ in pairs[0].as_py()]
    values = pairs.items.to_numpy(zero_copy_only=False).reshape(len(pairs), len(names))
    return {name: values[:, i].astype(np.float64) for i, name in enumerate(names)}


def _spread(values: Floats, done: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Floats:
    """Values of the runs that came to their end, at their places among all."""
    every = np.full(len(done), np.nan)
    every[done] = values
    return every


def _column(table: pa.Table, name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.asarray(table[name].to_numpy())


def by_point(sheet: Sweep, values: Floats) -> Floats:
    """Values of runs as [point, seed]."""
    return values.reshape(-1, sheet.seeds)
