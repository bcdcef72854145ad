"""The final values of the runs of a sweep, read from parts by columns, since rows are millions."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from heavytail.arrays import Floats, Ints
from heavytail.errors import InputError
from heavytail.studies.plan import Part, Sweep
from heavytail.studies.results import LAST_TENTH

COLUMNS = ("run", "replicate", "at", "mean_reward", "regret", "counters", "error")


class FinalValues(NamedTuple):
    """The final values of some runs [run]; NaN where one failed."""

    regret: Floats
    last_tenth: Floats  # as a share of what the best policy earns there
    counters: dict[str, Floats]
    errors: list[str | None]


def final_values(sweep: Sweep, tables: Iterable[pa.Table]) -> FinalValues:
    """The final values of all runs of a sweep, in its order.

    Args:
        sweep: whose runs.
        tables: of its parts, in their order, with at least `COLUMNS`.
    """
    pieces = [
        _part_values(part, table.combine_chunks()) for part, table in zip(sweep.parts, tables, strict=True)
    ]
    names = dict.fromkeys(name for piece in pieces for name in piece.counters)

    def join(name: str) -> Floats:
        return np.concatenate([p.counters.get(name, np.full(len(p.regret), np.nan)) for p in pieces])

    return FinalValues(
        np.concatenate([piece.regret for piece in pieces]),
        np.concatenate([piece.last_tenth for piece in pieces]),
        {name: join(name) for name in names},
        [error for piece in pieces for error in piece.errors],
    )


def _part_values(part: Part, table: pa.Table) -> FinalValues:
    """The final values of a part's runs; rows of one run lie together, the last one is its end."""
    run = table["run"].combine_chunks().dictionary_encode().indices.to_numpy()
    last = np.flatnonzero(np.diff(run, append=-1))
    if not np.array_equal(_column(table, "replicate")[last], part.replicates):
        raise InputError(
            f"part {part.id} does not hold the runs that it should; delete it, and heavytail resume"
            " does it again"
        )
    final = table.take(last)
    errors = final["error"].to_pylist()
    done = np.array([error is None for error in errors])
    complete = table.filter(table["error"].is_null())
    return FinalValues(
        _column(final, "regret").astype(np.float64),
        _scatter(_last_tenths(part, complete, int(done.sum())), done),
        {name: _scatter(values, done) for name, values in _counters(final.filter(pa.array(done))).items()},
        errors,
    )


def _last_tenths(part: Part, table: pa.Table, n_runs: int) -> Floats:
    """The mean reward of complete runs [run] in their last tenth, as a share of the best policy's.

    Cumulative rewards are interpolated linearly between checkpoints.
    """
    if n_runs == 0:
        return np.zeros(0)
    at = _column(table, "at").reshape(n_runs, -1)[0]
    best = part.backend.best(at)
    assert best is not None  # sweeps are of tabular agents, where it is known
    weights = _gained_weights(at, *LAST_TENTH)
    return np.asarray(_column(table, "mean_reward").reshape(n_runs, -1) @ weights / (best @ weights))


def _gained_weights(at: Ints, first: float, last: float) -> Floats:
    """Weights of cumulative sums that give what was gained from one share of the run to another.

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
    """Counters by name, of rows that all have the same names."""
    pairs = table["counters"].combine_chunks()
    if len(pairs) == 0 or len(pairs[0]) == 0:
        return {}
    names = [name for name, _ in pairs[0].as_py()]
    values = pairs.items.to_numpy(zero_copy_only=False).reshape(len(pairs), len(names))
    return {name: values[:, i].astype(np.float64) for i, name in enumerate(names)}


def _scatter(values: Floats, done: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Floats:
    """Put the values of complete runs at their places among all."""
    scattered = np.full(len(done), np.nan)
    scattered[done] = values
    return scattered


def _column(table: pa.Table, name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.asarray(table[name].to_numpy())
